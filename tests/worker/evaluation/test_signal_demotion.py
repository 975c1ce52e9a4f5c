"""A signal whose rejects are taken back too often demotes itself, in one installation, until a person promotes it."""

import json
import shutil
import time
from datetime import UTC, datetime, timedelta
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest

from app.cli.doctor import doctor
from app.cli.parser import Exit, build_parser
from tests.worker.adapters.redis.played import pull, settings, wish
from tests.worker.evaluation.bench.made import STUB
from tests.worker.evaluation.recorded import Assay, dossier, judged
from tests.world.redis import Redis
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier import Policy
from worker.domain.ids import EvalId, InstallationId
from worker.domain.ports import Clock
from worker.domain.verdict.events import Event, EventKind
from worker.domain.verdict.outcomes import Demotion, Outcome, OutcomeKind, RejectCounts, outcome_event
from worker.evaluation.signal_demotion import demote_signals
from worker.evaluation.stats.cache import FiguresCache
from worker.judge.context import JudgeContext
from worker.judge.judge import form_opinion
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, NullStatusReporter, assemble, with_demotions
from worker.scheduling.record import VerdictRecorder
from worker.settings import Settings
from worker.wiring.cli import RecordedSource

HERE = InstallationId(100)
AT = datetime(2026, 11, 20, tzinfo=UTC)


class InAnHour(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(hours=2)


@pytest.fixture
def here(redis_server: Redis, tmp_path: Path) -> Settings:
    return settings(redis_server.url, tier="heuristic", data_dir=tmp_path)


def demote(store: Store, here: Settings, clock: Clock | None = None) -> tuple[Demotion, ...]:
    figures = FiguresCache(here.figures_folder, store.events, store.event_retention)
    return demote_signals(store.demotions, figures, HERE, clock or SystemClock())


def template(store: Store, here: Settings) -> dict[str, Any]:
    """What the stream tells of a reject by a fact."""
    made = judged(store, here, 1000, STUB)
    (body,) = (one for one in map(_body, store.events.read(HERE)) if one.get("decision"))
    assert (body["decision"], body["eval_id"], len(body["facts"])) == ("reject", made.eval_id, 1)
    return body


def _body(entry: Any) -> dict[str, Any]:
    return json.loads(entry.raw)


def rejects(store: Store, body: dict[str, Any], count: int, overturned: int, *, first: int = 1, **more: Any) -> None:
    """So many rejects of as many pull requests, of which people took back some."""
    for number in range(first, first + count):
        eval_id = f"{body['eval_id'][:-6]}{number:06d}"
        changes = {"eval_id": eval_id, "number": number, "subject_id": f"7/{number}/{'b' * 40}", **more}
        store.events.publish(HERE, f"e{number}{more}", Event(EventKind.COMPLETED, {**body, **changes}))
        if number - first < overturned:
            came(store, number, eval_id, OutcomeKind.OVERRIDE)


def came(store: Store, number: int, eval_id: str, kind: OutcomeKind, name: str = "") -> None:
    said = Outcome(kind=kind, eval_id=EvalId(eval_id), at=AT)
    store.events.publish(HERE, f"o{number}{kind}{name}", outcome_event(pull(number), said))


def test_a_signal_whose_rejects_are_taken_back_too_often_is_demoted_once(
    store: Store, here: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    body = template(store, here)
    rejects(store, body, 39, 2)
    assert demote(store, here) == (), "2 of 40 are 5 %"
    rejects(store, body, 2, 1, first=100)
    (made,) = demote(store, here)
    assert (made.signal, made.tally) == (body["facts"][0], RejectCounts(rejects=42, overturned=3))
    assert store.demotions.list_demotions(HERE) == (made,)
    assert "takes it back" in caplog.text
    assert demote(store, here) == ()
    assert store.demotions.list_demotions(InstallationId(101)) == (), "others are not concerned"


def test_nothing_is_demoted_for_a_part_of_what_happened(store: Store, here: Settings) -> None:
    rejects(store, template(store, here), 50, 10)
    here.figures_folder.mkdir()
    with (here.figures_folder / f"{HERE}.lock").open("w") as builder:
        flock(builder, LOCK_EX)
        assert demote(store, here) == ()
    assert len(demote(store, here)) == 1


def test_contests_that_were_right_count_as_overrides_do(store: Store, here: Settings) -> None:
    body = template(store, here)
    rejects(store, body, 40, overturned=0)
    for number in (1, 2, 3):
        came(store, number, f"{body['eval_id'][:-6]}{number:06d}", OutcomeKind.CONTEST_UPHELD)
    [made] = demote(store, here, InAnHour())
    assert (made.tally.rejects, made.tally.overturned) == (41, 3)


@pytest.mark.parametrize("kind", [OutcomeKind.CONTEST, OutcomeKind.OVERRIDE])
def test_a_reject_is_taken_back_once_however_often_that_is_said_and_a_contest_proves_nothing(
    store: Store, here: Settings, kind: OutcomeKind
) -> None:
    body = template(store, here)
    rejects(store, body, 39, 2)
    for number in (1, 2):
        came(store, number, f"{body['eval_id'][:-6]}{number:06d}", kind, "again")
    came(store, 3, f"{body['eval_id'][:-6]}{3:06d}", OutcomeKind.CONTEST)
    assert demote(store, here) == (), "2 of 40 are 5 %"


@pytest.mark.parametrize("is_looking", [True, False])
def test_a_reject_that_was_overridden_and_whose_contest_was_upheld_was_taken_back_once(
    store: Store, here: Settings, *, is_looking: bool
) -> None:
    body = template(store, here)
    rejects(store, body, 39, 2)
    for number, look_between in ((1, is_looking), (2, is_looking)):
        came(store, number, f"{body['eval_id'][:-6]}{number:06d}", OutcomeKind.CONTEST_UPHELD)
        if look_between:
            assert demote(store, here) == ()
    assert demote(store, here) == (), "2 of 40 are 5 %"
    shutil.rmtree(here.figures_folder)
    assert demote(store, here) == ()
    came(store, 3, f"{body['eval_id'][:-6]}{3:06d}", OutcomeKind.CONTEST_UPHELD)
    [made] = demote(store, here)
    assert made.tally == RejectCounts(rejects=40, overturned=3)


def test_judgings_anew_and_canaries_are_no_rejects(store: Store, here: Settings) -> None:
    body = template(store, here)
    rejects(store, body, 45, 3, parent_eval_id=body["eval_id"], signals={"canary": True})
    assert demote(store, here) == ()


def test_after_a_person_promoted_it_its_rejects_are_counted_anew(store: Store, here: Settings) -> None:
    body = template(store, here)
    rejects(store, body, 45, 10)
    (made,) = demote(store, here)
    assert store.demotions.promote(HERE, made.signal)
    assert not store.demotions.promote(HERE, made.signal)
    assert store.demotions.list_demotions(HERE) == ()
    assert demote(store, here) == ()
    assert demote(store, here, InAnHour()) == ()
    assert abs(store.demotions.promotion_times(HERE)[made.signal].timestamp() - time.time()) < 60


def test_a_demoted_signal_is_a_suspicion_in_the_policy_that_is_recorded(store: Store, here: Settings) -> None:
    made = judged(store, here, 1, STUB)
    fact = next(one.signal for one in made.verdict.findings if one.fact)
    source, bench = RecordedSource(dossier(1, STUB)), JudgeContext(load_rubric(), load_prompt(), 0.0)
    lease = store.pulls.take_local_lease(wish(2))
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
    found = assemble(wish(2), deps)
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


def test_the_doctor_tells_of_it_and_a_person_takes_it_back(assay: Assay, store: Store, here: Settings) -> None:
    judged(store, here, 1)
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
