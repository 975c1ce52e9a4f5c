"""What RQ runs beside the live judgings ends, tells, and raises nothing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.worker.evaluation.recorded import judged, order, rubric, terms
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.evaluation.evaluate_jobs import perform_task
from worker.evaluation.rejudge import RejudgeTask
from worker.judge.rubric import load_rubric
from worker.scheduling.jobs import JOB_CONTEXT, JobContext
from worker.settings import Settings, ShadowSettings
from worker.wiring.rejudge import open_terms

HERE = InstallationId(100)


@pytest.fixture
def scene(here: Settings, store: Store, tmp_path: Path) -> Iterator[JobContext]:
    made = JobContext(replace(here, data_dir=tmp_path), "nobody:opens", SystemClock(), store)
    token = JOB_CONTEXT.set(made)
    yield made
    JOB_CONTEXT.reset(token)


def failures(store: Store) -> list[str]:
    bodies = [json.loads(one.raw) for one in store.events.read(HERE) if one.kind == b"eval.failed"]
    return [one["failure_mode"] for one in bodies]


def test_an_order_is_done_and_once_more_changes_nothing(scene: JobContext) -> None:
    made = order(judged(scene.store, scene.settings, 1))
    said = RejudgeTask(pull=made.pull, order=made, terms=terms(scene.settings)).model_dump_json()
    assert perform_task([said], open_terms)
    assert perform_task([said], open_terms)
    assert len(scene.store.ledger.entries(made.pull)) == 2


def test_a_bug_is_logged_and_told(scene: JobContext, caplog: pytest.LogCaptureFixture) -> None:
    made = order(judged(scene.store, scene.settings, 1))
    scene.store.client.call("SET", keys.dossier(made.eval_id).name, "not what was sealed")
    assert not perform_task(
        [RejudgeTask(pull=made.pull, order=made, terms=terms(scene.settings)).model_dump_json()], open_terms
    )
    assert failures(scene.store) == ["judge_call_failed"]
    assert "re-evaluation failed" in caplog.text


def test_what_cant_even_be_told_is_logged(scene: JobContext, caplog: pytest.LogCaptureFixture) -> None:
    made = order(judged(scene.store, scene.settings, 1))
    said = RejudgeTask(pull=made.pull, order=made, terms=terms(scene.settings))
    scene.store.client.call("DEL", keys.dossier(made.eval_id).name)
    scene.store.client.call("SET", keys.events(HERE).name, "no stream")
    assert not perform_task([said.model_dump_json()], open_terms)
    assert "evaluation job failed" in caplog.text


def test_without_a_canary_only_the_overturned_rejects_are_looked_at(scene: JobContext) -> None:
    made = order(judged(scene.store, scene.settings, 1))
    assert perform_task([json.dumps({"pull": made.pull.model_dump(mode="json"), "looks": True})], open_terms)
    assert len(scene.store.ledger.entries(made.pull)) == 1
    assert len(list(scene.settings.figures_folder.glob(f"{HERE}-*.sqlite3"))) == 1


def test_a_canary_that_cant_be_read_is_told_and_one_that_can_judges(scene: JobContext, tmp_path: Path) -> None:
    made, file = order(judged(scene.store, scene.settings, 1)), rubric(tmp_path)
    text = file.read_text()
    file.unlink()
    load_rubric.cache_clear()
    JOB_CONTEXT.set(
        JobContext(replace(scene.settings, shadow=ShadowSettings(file)), scene.app_factory, scene.clock, scene.store)
    )
    said = [RejudgeTask(pull=made.pull).model_dump_json()]
    assert not perform_task(said, open_terms)
    assert failures(scene.store) == ["rubric_invalid"]
    file.write_text(text)
    assert perform_task(said, open_terms)
    assert len(scene.store.ledger.entries(made.pull)) == 2
    assert perform_task([RejudgeTask(pull=made.pull.model_copy(update={"number": 9})).model_dump_json()], open_terms)
