"""What RQ runs beside the live judgings ends, tells, and raises nothing."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from tests.worker.evaluation.recorded import INSTALLATION, children, events, judged, order, rubric, terms
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.verdict.ledger import LedgerEntry
from worker.evaluation.evaluate_jobs import EvaluationContext, perform_task
from worker.evaluation.rejudge import RejudgeTask
from worker.judge.rubric import load_rubric
from worker.scheduling.jobs import JOB_CONTEXT, JobContext
from worker.settings import Settings, ShadowSettings
from worker.wiring.rejudge import open_terms


@pytest.fixture
def made(here: Settings, store: Store, tmp_path: Path) -> Iterator[LedgerEntry]:
    """A verdict, in a process that takes jobs."""
    token = JOB_CONTEXT.set(JobContext(replace(here, data_dir=tmp_path), "nobody:opens", SystemClock(), store))
    yield judged(store, here, 1)
    JOB_CONTEXT.reset(token)


def performs(made: LedgerEntry, *, is_order: bool = False, **more: object) -> bool:
    """Whether the task about this verdict, or (not *is_order*) about its pull request, went well."""
    context, asked = JOB_CONTEXT.get(), order(made)
    if is_order:
        more = {"order": asked, "terms": terms(context.settings), **more}
    task = RejudgeTask.model_validate({"pull": asked.pull, **more})
    store = cast("Store", context.store)
    own = EvaluationContext(context.settings, context.clock, store)
    return perform_task([task.model_dump_json()], own, partial(open_terms, context.settings, store))


def failures(store: Store) -> list[str]:
    return [body["failure_mode"] for kind, body in events(store) if kind == "eval.failed"]


def test_an_order_is_done_and_once_more_changes_nothing(store: Store, made: LedgerEntry) -> None:
    assert performs(made, is_order=True)
    assert performs(made, is_order=True)
    assert len(children(store, made)) == 1


def test_a_bug_is_logged_and_told(store: Store, made: LedgerEntry, caplog: pytest.LogCaptureFixture) -> None:
    store.client.call("SET", keys.dossier(made.eval_id).name, "not what was sealed")
    assert not performs(made, is_order=True)
    assert failures(store) == ["judge_call_failed"]
    assert "re-evaluation failed" in caplog.text


def test_what_cant_even_be_told_is_logged(store: Store, made: LedgerEntry, caplog: pytest.LogCaptureFixture) -> None:
    store.client.call("DEL", keys.dossier(made.eval_id).name)
    store.client.call("SET", keys.events(INSTALLATION).name, "no stream")
    assert not performs(made, is_order=True)
    assert "evaluation job failed" in caplog.text


def test_without_a_canary_only_the_overturned_rejects_are_looked_at(store: Store, made: LedgerEntry) -> None:
    assert performs(made, looks=True)
    assert children(store, made) == []
    assert len(list(JOB_CONTEXT.get().settings.figures_folder.glob(f"{INSTALLATION}-*.sqlite3"))) == 1


def test_a_canary_that_cant_be_read_is_told_and_one_that_can_judges(
    store: Store, made: LedgerEntry, tmp_path: Path
) -> None:
    file = rubric(tmp_path)
    text = file.read_text()
    file.unlink()
    load_rubric.cache_clear()
    context = JOB_CONTEXT.get()
    settings = replace(context.settings, shadow=ShadowSettings(file))
    JOB_CONTEXT.set(JobContext(settings, context.app_factory, context.clock, context.store))
    assert not performs(made)
    assert failures(store) == ["rubric_invalid"]
    file.write_text(text)
    assert performs(made)
    assert len(children(store, made)) == 1
    never_judged = order(made).pull.model_copy(update={"number": 9})
    assert performs(made, pull=never_judged), "there is nothing to judge"
