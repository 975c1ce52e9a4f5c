"""What RQ runs beside the live judgings ends, tells, and raises nothing; signals whose rejects are taken back demote themselves."""

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
from tests.worker.evaluation.bench.samples import STUB
from tests.worker.evaluation.live_judging import (
    INSTALLATION,
    AssayCommand,
    children,
    dossier,
    events,
    judge_live,
    order,
    rubric,
    terms,
)
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier import Policy
from worker.domain.ids import EvalId, InstallationId
from worker.domain.ports import Clock
from worker.domain.verdict.events import Event, EventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Demotion, Outcome, OutcomeKind, RejectCounts, outcome_event
from worker.evaluation.evaluate_jobs import EvaluationContext, perform_task
from worker.evaluation.rejudge import RejudgeTask
from worker.evaluation.signal_demotion import demote_signals
from worker.evaluation.stats.cache import FiguresCache
from worker.judge.context import JudgeContext
from worker.judge.judge import form_opinion
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.jobs import JOB_CONTEXT, JobContext
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, NullStatusReporter, assemble, with_demotions
from worker.scheduling.record import VerdictRecorder
from worker.settings import Settings, ShadowSettings
from worker.wiring.cli import RecordedSource
from worker.wiring.rejudge import open_terms


@pytest.fixture
def made(settings: Settings, store: Store) -> Iterator[LedgerEntry]:
    """A verdict, in a process that takes jobs."""
    token = JOB_CONTEXT.set(JobContext(settings, "nobody:opens", SystemClock(), store))
    yield judge_live(store, settings, 1)
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


HERE = INSTALLATION
AT = datetime(2026, 11, 20, tzinfo=UTC)


class InAnHour(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(hours=2)


def demote(store: Store, here: Settings, clock: Clock | None = None) -> tuple[Demotion, ...]:
    figures = FiguresCache(here.figures_folder, store.events, store.event_retention)
    return demote_signals(store.demotions, figures, HERE, clock or SystemClock())


def template(store: Store, here: Settings) -> dict[str, Any]:
    """What the stream tells of a reject by a fact."""
    made = judge_live(store, here, 1000, STUB)
    (body,) = (body for _, body in events(store) if body.get("decision"))
    assert (body["decision"], body["eval_id"], len(body["facts"])) == ("reject", made.eval_id, 1)
    return body


def rejects(store: Store, body: dict[str, Any], count: int, overturned: int, *, first: int = 1, **more: Any) -> None:
    """So many rejects of as many pull requests, of which people took back some."""
    for number in range(first, first + count):
        changes = {"eval_id": named(body, number), "number": number, "subject_id": f"7/{number}/{'b' * 40}", **more}
        store.events.publish(HERE, f"e{number}{more}", Event(EventKind.COMPLETED, {**body, **changes}))
        if number - first < overturned:
            came(store, body, OutcomeKind.OVERRIDE, number)


def named(body: dict[str, Any], number: int) -> EvalId:
    return EvalId(f"{body['eval_id'][:-6]}{number:06d}")


def came(store: Store, body: dict[str, Any], kind: OutcomeKind, *numbers: int, name: str = "") -> None:
    for number in numbers:
        said = Outcome(kind=kind, eval_id=named(body, number), at=AT)
        store.events.publish(HERE, f"o{number}{kind}{name}", outcome_event(pull_ref(number), said))


def test_a_signal_whose_rejects_are_taken_back_too_often_is_demoted_once(
    store: Store, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    body = template(store, settings)
    rejects(store, body, 39, 2)
    assert demote(store, settings) == (), "2 of 40 are 5 %"
    rejects(store, body, 2, 1, first=100)
    (made,) = demote(store, settings)
    assert (made.signal, made.tally) == (body["facts"][0], RejectCounts(rejects=42, overturned=3))
    assert store.demotions.list_demotions(HERE) == (made,)
    assert "takes it back" in caplog.text
    assert demote(store, settings) == ()
    assert store.demotions.list_demotions(InstallationId(101)) == (), "others are not concerned"


def test_nothing_is_demoted_for_a_part_of_what_happened(store: Store, settings: Settings) -> None:
    rejects(store, template(store, settings), 50, 10)
    settings.figures_folder.mkdir()
    with (settings.figures_folder / f"{HERE}.lock").open("w") as builder:
        flock(builder, LOCK_EX)
        assert demote(store, settings) == ()
    assert len(demote(store, settings)) == 1


def test_contests_that_were_right_count_as_overrides_do(store: Store, settings: Settings) -> None:
    body = template(store, settings)
    rejects(store, body, 40, overturned=0)
    came(store, body, OutcomeKind.CONTEST_UPHELD, 1, 2, 3)
    [made] = demote(store, settings, InAnHour())
    assert (made.tally.rejects, made.tally.overturned) == (41, 3)


@pytest.mark.parametrize("is_looking", [True, False])
@pytest.mark.parametrize("kind", [OutcomeKind.CONTEST, OutcomeKind.OVERRIDE, OutcomeKind.CONTEST_UPHELD])
def test_a_reject_is_taken_back_once_however_often_that_is_said_and_a_contest_proves_nothing(
    store: Store, settings: Settings, kind: OutcomeKind, *, is_looking: bool
) -> None:
    body = template(store, settings)
    rejects(store, body, 39, 2)
    for number in (1, 2):
        came(store, body, kind, number, name="again")
        if is_looking:
            assert demote(store, settings) == ()
    came(store, body, OutcomeKind.CONTEST, 3)
    assert demote(store, settings) == (), "2 of 40 are 5 %"
    shutil.rmtree(settings.figures_folder)
    assert demote(store, settings) == ()
    came(store, body, OutcomeKind.CONTEST_UPHELD, 3)
    [made] = demote(store, settings)
    assert made.tally == RejectCounts(rejects=40, overturned=3)


def test_judgings_anew_and_canaries_are_no_rejects(store: Store, settings: Settings) -> None:
    body = template(store, settings)
    rejects(store, body, 45, 3, parent_eval_id=body["eval_id"], signals={"canary": True})
    assert demote(store, settings) == ()


def test_after_a_person_promoted_it_its_rejects_are_counted_anew(store: Store, settings: Settings) -> None:
    body = template(store, settings)
    rejects(store, body, 45, 10)
    (made,) = demote(store, settings)
    assert store.demotions.promote(HERE, made.signal)
    assert not store.demotions.promote(HERE, made.signal)
    assert store.demotions.list_demotions(HERE) == ()
    assert demote(store, settings) == ()
    assert demote(store, settings, InAnHour()) == ()
    assert abs(store.demotions.promotion_times(HERE)[made.signal].timestamp() - time.time()) < 60


def test_a_demoted_signal_is_a_suspicion_in_the_policy_that_is_recorded(store: Store, settings: Settings) -> None:
    made = judge_live(store, settings, 1, STUB)
    fact = next(one.signal for one in made.verdict.findings if one.fact)
    source, bench = RecordedSource(dossier(1, STUB)), JudgeContext(load_rubric(), load_prompt(), 0.0)
    lease = store.pulls.take_local_lease(judge_request(2))
    deps = JudgingDependencies(
        source=source,
        status=NullStatusReporter(source),
        ledger=store.ledger,
        recorder=VerdictRecorder(store.ledger, store.archive, store.events, lease),
        context=bench,
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
        demoted_signals=frozenset({fact}),
    )
    found = assemble(judge_request(2), deps)
    assert found.policy == Policy(signals={fact: "suspicion"})
    assert fact in {one.signal for one in form_opinion(found, load_rubric()).findings}
    assert not any(one.fact for one in form_opinion(found, load_rubric()).findings)


def test_of_two_that_look_at_a_time_one_demotes(store: Store) -> None:
    one, other = (Demotion(signal="a", tally=RejectCounts(rejects=count, overturned=9), at=AT) for count in (50, 60))
    assert [store.demotions.demote(HERE, each) for each in (one, other)] == [True, False]
    assert (store.demotions.list_demotions(HERE), store.demotions.signals(HERE)) == ((one,), {"a"})


def test_what_a_repository_switched_off_stays_off() -> None:
    policy = Policy(signals={"a": "off", "b": "suspicion"}, never_send=("x",))
    whole = dossier(1).model_copy(update={"policy": policy})
    assert with_demotions(whole, frozenset()) is whole
    found = with_demotions(whole, frozenset({"a", "c"})).policy
    assert found == Policy(signals={"a": "off", "b": "suspicion", "c": "suspicion"}, never_send=("x",))


def test_the_doctor_tells_of_it_and_a_person_takes_it_back(
    assay: AssayCommand, store: Store, settings: Settings
) -> None:
    judge_live(store, settings, 1)
    tally = RejectCounts(rejects=50, overturned=4)
    store.demotions.demote(HERE, Demotion(signal="parameter_unused", tally=tally, at=AT))
    told = " ".join(doctor(build_parser("doctor").parse_args(["doctor"])).text.split())
    assert "ok Demoted signal parameter_unused is a suspicion since 2026-11-20: 4 of its 50 rejects" in told
    promote = ("rubric", "promote", "parameter_unused", "--installation", "100")
    assert assay.run(*promote)[:2] == (
        0,
        "parameter_unused may reject alone again in installation 100. Its rejects are counted from now on.\n",
    )
    code, out, _ = assay.run(*promote)
    assert (code, "was no suspicion" in out) == (0, True)
    assert assay.run("rubric", "promote", "no_such", "--installation", "100")[0] == Exit.USAGE
    assert store.demotions.list_demotions(HERE) == ()
