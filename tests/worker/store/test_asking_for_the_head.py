"""Before a verdict is recorded or told, the newest head is asked for anew, but where nobody took any time to judge."""

from datetime import timedelta

from tests.worker.anew.recorded import dossier
from tests.worker.corpus.made import STUB
from tests.worker.store.played import becomes_due, wish
from worker.board import Silent
from worker.domain.ids import Sha
from worker.domain.request import JudgeRequest, Trigger
from worker.judge.bench import Bench
from worker.local.recorded import RecordedSource
from worker.pipeline import CiPatience, Deps, Judged, judge_pull_request
from worker.record import Keepers
from worker.rulebook import load_prompt, load_rubric
from worker.store.connection import Store
from worker.store.pulls import Finish, Limits
from worker.system_clock import SystemClock


class Listening(Silent):
    """Hears how it is asked for the head."""

    def __init__(self, source: RecordedSource) -> None:
        super().__init__(source)
        self.at_once: list[bool] = []

    def newer_head(self, request: JudgeRequest, head_sha: Sha, *, at_once: bool = False) -> Sha | None:
        self.at_once.append(at_once)
        return super().newer_head(request, head_sha, at_once=at_once)


def judge(store: Store, request: JudgeRequest) -> tuple[str | None, list[bool]]:
    """From where the verdict was carried over, and how the head was asked for."""
    store.pulls.want(request)
    becomes_due(store, request.pull)
    job = store.pulls.next_due(request.delivery_id, Limits(1, 10))
    assert job is not None
    taken = store.pulls.take(request.pull, job.fence)
    assert taken is not None
    source = RecordedSource(dossier(1, STUB))
    board = Listening(source)
    deps = Deps(
        source=source,
        board=board,
        ledger=store.ledger,
        keepers=Keepers(store.ledger, store.archive, store.events, taken.lease),
        bench=Bench(load_rubric(), load_prompt(), 0.0),
        clock=SystemClock(),
        patience=CiPatience(timedelta(0), timedelta(0), None),
    )
    outcome = judge_pull_request(request, deps)
    assert isinstance(outcome, Judged)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    return outcome.verdict.carried_from, board.at_once


def test_who_judged_asks_anew_and_who_found_a_verdict_need_not(store: Store) -> None:
    first, asked = judge(store, wish())
    assert (first, asked) == (None, [False])

    found, asked = judge(store, wish())
    assert (found, asked) == (None, [True]), "the delivery came after its verdict"

    later = SystemClock().now() + timedelta(days=1)
    carried, asked = judge(store, wish(trigger=Trigger.RERUN, requested_at=later))
    assert (carried is not None, asked) == (True, [True])
