"""Evaluation jobs: orders, canaries, and the demotion of signals whose rejects are overturned."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fcntl import LOCK_EX, flock
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from app.cli.doctor import doctor
from app.cli.parser import Exit, build_parser
from tests.worker.adapters.redis.store_samples import judge_request, pull_ref
from tests.worker.evaluation import live_judging as live
from tests.worker.evaluation.bench.samples import STUB
from tests.worker.evaluation.live_judging import INSTALLATION, AssayCommand
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.dossier import Policy
from worker.domain.model import EvalId, InstallationId
from worker.domain.ports import Clock
from worker.domain.verdict.events import Demotion, Event, EventKind, Outcome, OutcomeKind, RejectCounts, outcome_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.evaluation.evaluate_jobs import EvaluationJobs
from worker.evaluation.rejudge import RejudgeTask
from worker.evaluation.signal_demotion import demote_signals
from worker.evaluation.stats.cache import FiguresCache
from worker.evaluation.texts import promotion_text
from worker.judge.judge import form_opinion
from worker.judge.rubric import load_rubric
from worker.process import SystemClock
from worker.scheduling.jobs import JOB_CONTEXT, JobContext
from worker.scheduling.pipeline import assemble, with_demotions
from worker.settings import Settings, ShadowSettings
from worker.wiring.rejudge import open_terms


@pytest.fixture
def entry(settings: Settings, store: Store) -> Iterator[LedgerEntry]:
    """A live verdict, in a process that takes jobs."""
    token = JOB_CONTEXT.set(JobContext(settings, "no:app", SystemClock(), store))
    yield live.judge_live(store, settings, 1)
    JOB_CONTEXT.reset(token)


def perform(entry: LedgerEntry, *, is_order: bool = False, **more: object) -> bool:
    """Whether the task about this entry, or (not *is_order*) about its pull request, succeeds."""
    context, order_of_entry = JOB_CONTEXT.get(), live.order(entry)
    if is_order:
        more = {"order": order_of_entry, "terms": live.terms(context.settings), **more}
    task = RejudgeTask.model_validate({"pull": order_of_entry.pull, **more})
    store = cast("Store", context.store)
    open_judge = partial(open_terms, context.settings, store)
    return EvaluationJobs(context.settings, context.clock, store, open_judge).perform([task.model_dump_json()])


def failures(store: Store) -> list[str]:
    return [body["failure_mode"] for kind, body in live.events(store) if kind == "eval.failed"]


def test_order_is_executed_once(store: Store, entry: LedgerEntry) -> None:
    assert perform(entry, is_order=True)
    assert perform(entry, is_order=True)
    assert len(live.children(store, entry)) == 1


def test_bug_is_logged_and_published(store: Store, entry: LedgerEntry, caplog: pytest.LogCaptureFixture) -> None:
    store.client.call("SET", keys.dossier(entry.eval_id).name, "not sealed")
    assert not perform(entry, is_order=True)
    assert failures(store) == ["judge_call_failed"]
    assert "re-evaluation failed" in caplog.text


def test_unpublished_failure_is_logged(store: Store, entry: LedgerEntry, caplog: pytest.LogCaptureFixture) -> None:
    store.client.call("DEL", keys.dossier(entry.eval_id).name)
    store.client.call("SET", keys.events(INSTALLATION).name, "no stream")
    assert not perform(entry, is_order=True)
    assert "evaluation job failed" in caplog.text


def test_task_without_a_canary_only_counts_overturned_rejects(store: Store, entry: LedgerEntry) -> None:
    assert perform(entry, looks=True)
    assert live.children(store, entry) == []
    assert len(list(JOB_CONTEXT.get().settings.figures_folder.glob(f"{INSTALLATION}-*.sqlite3"))) == 1


def test_canary_judges_and_unreadable_one_is_rubric_invalid(store: Store, entry: LedgerEntry, tmp_path: Path) -> None:
    file = live.rubric(tmp_path)
    text = file.read_text()
    file.unlink()
    load_rubric.cache_clear()
    context = JOB_CONTEXT.get()
    settings = replace(context.settings, shadow=ShadowSettings(file))
    JOB_CONTEXT.set(JobContext(settings, context.app_factory, context.clock, context.store))
    assert not perform(entry)
    assert failures(store) == ["rubric_invalid"]
    file.write_text(text)
    assert perform(entry)
    assert len(live.children(store, entry)) == 1
    never_judged = live.order(entry).pull.model_copy(update={"number": 9})
    assert perform(entry, pull=never_judged), "no verdict is no error"


AT = datetime(2026, 11, 20, tzinfo=UTC)


class InAnHour(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(hours=2)


def demote(store: Store, here: Settings, clock: Clock | None = None) -> tuple[Demotion, ...]:
    figures = FiguresCache(here.figures_folder, store.events, store.event_retention)
    return demote_signals(store.demotions, figures, INSTALLATION, clock or SystemClock())


def live_reject_event(store: Store, here: Settings) -> dict[str, Any]:
    """The event of a reject by a fact."""
    entry = live.judge_live(store, here, 1000, STUB)
    (body,) = (body for _, body in live.events(store) if body.get("decision"))
    assert (body["decision"], body["eval_id"], len(body["facts"])) == ("reject", entry.eval_id, 1)
    return body


def publish_rejects(
    store: Store, body: dict[str, Any], count: int, overturned: int, *, first: int = 1, **more: Any
) -> None:
    """Publish *count* rejects of as many pull requests, of which *overturned* are overridden."""
    for number in range(first, first + count):
        changes = {"eval_id": id_of(body, number), "number": number, "subject_id": f"7/{number}/{'b' * 40}", **more}
        store.events.publish(INSTALLATION, f"e{number}{more}", Event(EventKind.COMPLETED, {**body, **changes}))
        if number - first < overturned:
            publish_outcomes(store, body, OutcomeKind.OVERRIDE, number)


def id_of(body: dict[str, Any], number: int) -> EvalId:
    return EvalId(f"{body['eval_id'][:-6]}{number:06d}")


def publish_outcomes(store: Store, body: dict[str, Any], kind: OutcomeKind, *numbers: int, name: str = "") -> None:
    for number in numbers:
        outcome = Outcome(kind=kind, eval_id=id_of(body, number), at=AT)
        store.events.publish(INSTALLATION, f"o{number}{kind}{name}", outcome_event(pull_ref(number), outcome))


def test_overturned_signal_is_demoted_once(store: Store, settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    body = live_reject_event(store, settings)
    publish_rejects(store, body, 39, 2)
    assert demote(store, settings) == (), "2 of 40 are 5 %"
    publish_rejects(store, body, 2, 1, first=100)
    (entry,) = demote(store, settings)
    assert (entry.signal, entry.tally) == (body["facts"][0], RejectCounts(rejects=42, overturned=3))
    assert store.demotions.list_demotions(INSTALLATION) == (entry,)
    assert "takes it back" in caplog.text
    assert demote(store, settings) == ()
    assert store.demotions.list_demotions(InstallationId(101)) == (), "other installations keep it"


def test_no_signal_is_demoted_while_figures_are_behind(store: Store, settings: Settings) -> None:
    publish_rejects(store, live_reject_event(store, settings), 50, 10)
    settings.figures_folder.mkdir()
    with (settings.figures_folder / f"{INSTALLATION}.lock").open("w") as builder:
        flock(builder, LOCK_EX)
        assert demote(store, settings) == ()
    assert len(demote(store, settings)) == 1


@pytest.mark.parametrize("is_checked_between", [True, False])
@pytest.mark.parametrize("kind", [OutcomeKind.CONTEST, OutcomeKind.OVERRIDE, OutcomeKind.CONTEST_UPHELD])
def test_reject_is_overturned_once_and_not_by_an_open_contest(
    store: Store, settings: Settings, kind: OutcomeKind, *, is_checked_between: bool
) -> None:
    body = live_reject_event(store, settings)
    publish_rejects(store, body, 39, 2)
    for number in (1, 2):
        publish_outcomes(store, body, kind, number, name="again")
        if is_checked_between:
            assert demote(store, settings) == ()
    publish_outcomes(store, body, OutcomeKind.CONTEST, 3)
    assert demote(store, settings) == (), "2 of 40 are 5 %"
    shutil.rmtree(settings.figures_folder)
    assert demote(store, settings) == ()
    publish_outcomes(store, body, OutcomeKind.CONTEST_UPHELD, 3)
    [entry] = demote(store, settings)
    assert entry.tally == RejectCounts(rejects=40, overturned=3)


def test_rejudgings_and_canaries_are_not_counted_as_rejects(store: Store, settings: Settings) -> None:
    body = live_reject_event(store, settings)
    publish_rejects(store, body, 45, 3, parent_eval_id=body["eval_id"], signals={"canary": True})
    assert demote(store, settings) == ()


def test_promotion_restarts_the_count_of_rejects(store: Store, settings: Settings) -> None:
    body = live_reject_event(store, settings)
    publish_rejects(store, body, 45, 10)
    (entry,) = demote(store, settings)
    assert store.demotions.promote(INSTALLATION, entry.signal)
    assert not store.demotions.promote(INSTALLATION, entry.signal)
    assert store.demotions.list_demotions(INSTALLATION) == ()
    assert demote(store, settings) == ()
    assert demote(store, settings, InAnHour()) == ()
    assert abs(store.demotions.promotion_times(INSTALLATION)[entry.signal].timestamp() - time.time()) < 60


def test_demoted_signal_is_a_suspicion_in_the_recorded_policy(store: Store, settings: Settings) -> None:
    entry = live.judge_live(store, settings, 1, STUB)
    fact = next(finding.signal for finding in entry.verdict.findings if finding.fact)
    lease = store.pulls.take_local_lease(judge_request(2))
    dependencies = live.local_dependencies(store, lease, live.dossier(1, STUB), demoted_signals=frozenset({fact}))
    assembled = assemble(judge_request(2), dependencies)
    assert assembled.policy == Policy(signals={fact: "suspicion"})
    assert fact in {finding.signal for finding in form_opinion(assembled, load_rubric()).findings}
    assert not any(finding.fact for finding in form_opinion(assembled, load_rubric()).findings)


def test_concurrent_demotions_record_one(store: Store) -> None:
    earlier, later = (Demotion(signal="a", tally=RejectCounts(rejects=n, overturned=9), at=AT) for n in (50, 60))
    assert [store.demotions.demote(INSTALLATION, each) for each in (earlier, later)] == [True, False]
    assert (store.demotions.list_demotions(INSTALLATION), store.demotions.signals(INSTALLATION)) == ((earlier,), {"a"})


def test_demotion_keeps_signals_that_are_off() -> None:
    policy = Policy(signals={"a": "off", "b": "suspicion"}, never_send=("x",))
    whole = live.dossier(1).model_copy(update={"policy": policy})
    assert with_demotions(whole, frozenset()) is whole
    changed = with_demotions(whole, frozenset({"a", "c"})).policy
    assert changed == Policy(signals={"a": "off", "b": "suspicion", "c": "suspicion"}, never_send=("x",))


def test_doctor_reports_a_demotion_and_promote_reverts_it(assay: AssayCommand) -> None:
    assay.judge_live(1)
    tally = RejectCounts(rejects=50, overturned=4)
    assay.store.demotions.demote(INSTALLATION, Demotion(signal="parameter_unused", tally=tally, at=AT))
    report = " ".join(doctor(build_parser("doctor").parse_args(["doctor"])).text.split())
    assert "ok Demoted signal parameter_unused is a suspicion since 2026-11-20: 4 of its 50 rejects" in report
    promote = ("rubric", "promote", "parameter_unused", "--installation", "100")
    assert assay.run(*promote)[:2] == (0, promotion_text("parameter_unused", 100, was_demoted=True))
    code, out, _ = assay.run(*promote)
    assert (code, "was no suspicion" in out) == (0, True)
    assert assay.run("rubric", "promote", "no_such", "--installation", "100")[0] == Exit.USAGE
    assert assay.store.demotions.list_demotions(INSTALLATION) == ()
