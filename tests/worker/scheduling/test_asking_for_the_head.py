"""Before a verdict is recorded or told, the newest head is asked for anew, but where nobody took any time to judge.

Or where telling its author finds it out: then it is on record before.
"""

from datetime import timedelta
from functools import partial

import pytest

from tests.worker.adapters.redis.played import NEWER, becomes_due, wish
from tests.worker.evaluation.bench.made import STUB
from tests.worker.evaluation.recorded import dossier
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.judging import (
    FindHead,
    Finish,
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
)
from worker.domain.lifecycle.work import DispatchLimits
from worker.errors import AssayError, Forbidden, Outage, SubjectGone, Unavailable
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.pipeline import (
    AuthorNotifier,
    CiWaitPolicy,
    JudgingDependencies,
    NullStatusReporter,
    judge_pull_request,
)
from worker.scheduling.record import VerdictRecorder
from worker.wiring.cli import RecordedSource


class Listening(NullStatusReporter):
    """Hears how it is asked for the head, and whether it is told beside something else."""

    def __init__(self, source: RecordedSource) -> None:
        super().__init__(source)
        self.at_once: list[bool] = []

    def find_newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, is_fresh: bool = False, find_head: FindHead | None = None
    ) -> Sha | None:
        self.at_once.append(is_fresh)
        return find_head() if find_head else super().find_newer_head(request, head_sha, is_fresh=is_fresh)


class Told:
    """An author who is told. *head*: where the answer says that the pull request stands; None: it was closed."""

    def __init__(self, store: Store, head: Sha | None) -> None:
        self._store = store
        self._head = head
        self.on_record: list[str] = []

    def prepare(self, request: JudgeRequest, judged: JudgingCompleted) -> FindHead | None:
        assert not self._store.ledger.entries(request.pull)
        return partial(self._looks, request, judged.verdict.subject.head_sha)

    def _looks(self, request: JudgeRequest, head_sha: Sha) -> Sha | None:
        self.on_record = [one.head_sha for one in self._store.ledger.entries(request.pull)]
        if self._head is None:
            raise SubjectGone("closed")
        return None if self._head == head_sha else self._head


def judge(store: Store, request: JudgeRequest) -> tuple[str | None, list[bool]]:
    """From where the verdict was carried over, and how the head was asked for."""
    outcome, asked = judged(store, request)
    assert isinstance(outcome, JudgingCompleted)
    return outcome.verdict.carried_from, asked


class Lacking(RecordedSource):
    """Does not find something of a pull request. *ends*: how that is over itself; None: it is there."""

    def __init__(self, what: str, ends: str | None) -> None:
        super().__init__(dossier(1, STUB))
        self._what, self._ends = what, ends

    def dossier(self, request: JudgeRequest) -> Dossier:  # noqa: ARG002 - it is not there for anybody
        raise SubjectGone(self._what)

    def head_sha(self, request: JudgeRequest) -> Sha:
        if self._ends is not None:
            raise SubjectGone(self._ends)
        return super().head_sha(request)


def judged(
    store: Store, request: JudgeRequest, author: AuthorNotifier | None = None, source: RecordedSource | None = None
) -> tuple[JudgingOutcome, list[bool]]:
    store.pulls.request_judging(request)
    becomes_due(store, request.pull)
    job = store.pulls.next_due(request.delivery_id, DispatchLimits(1, 10))
    assert job is not None
    taken = store.pulls.take_lease(request.pull, job.fence)
    assert taken is not None
    source = source or RecordedSource(dossier(1, STUB))
    board = Listening(source)
    deps = JudgingDependencies(
        source=source,
        status=board,
        ledger=store.ledger,
        recorder=VerdictRecorder(store.ledger, store.archive, store.events, taken.lease),
        context=JudgeContext(load_rubric(), load_prompt(), 0.0),
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
        author_notifier=author,
    )
    outcome = judge_pull_request(request, deps)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    return outcome, board.at_once


def test_who_judged_asks_anew_and_who_found_a_verdict_need_not(store: Store) -> None:
    first, asked = judge(store, wish())
    assert (first, asked) == (None, [False])

    found, asked = judge(store, wish())
    assert (found, asked) == (None, [True]), "the delivery came after its verdict"

    later = SystemClock().now() + timedelta(days=1)
    carried, asked = judge(store, wish(trigger=Trigger.RERUN, requested_at=later))
    assert (carried is not None, asked) == (True, [True])


@pytest.mark.parametrize("what", ["deleted", "head commit deleted"])
def test_a_pull_request_of_which_something_is_not_found_is_not_taken_for_closed(store: Store, what: str) -> None:
    with pytest.raises(Unavailable, match="does not find all of it"):
        judged(store, wish(), source=Lacking(what, None))


@pytest.mark.parametrize(
    ("what", "ends", "why"),
    [("deleted", "merged", "merged"), ("suspended", None, "suspended"), ("closed", None, "closed")],
)
def test_what_is_over_is_dropped_with_what_became_of_it(store: Store, what: str, ends: str | None, why: str) -> None:
    outcome, _ = judged(store, wish(), source=Lacking(what, ends))
    assert outcome == JudgingDiscarded(why)


HERE = dossier(1, STUB).pull_request.head_sha


@pytest.mark.parametrize(
    ("head", "kind"), [(HERE, JudgingCompleted), (NEWER, JudgingSuperseded), (None, JudgingDiscarded)]
)
def test_an_author_who_is_told_by_what_asks_for_the_head_can_rely_on_what_he_is_told(
    store: Store, head: Sha | None, kind: type[JudgingOutcome]
) -> None:
    author = Told(store, head)
    outcome, asked = judged(store, wish(), author)
    assert isinstance(outcome, kind)
    assert asked == [False]
    assert author.on_record == [HERE], "the verdict is on record before"
    assert [one.head_sha for one in store.ledger.entries(wish().pull)] == [HERE], "and stays there"


class Losing(RecordedSource):
    """Everything of it can be read, but when the verdict is there."""

    def __init__(self, error: AssayError) -> None:
        super().__init__(dossier(1, STUB))
        self._error = error

    def head_sha(self, request: JudgeRequest) -> Sha:  # noqa: ARG002 - nobody sees any
        raise self._error


@pytest.mark.parametrize("error", [SubjectGone("suspended"), Forbidden("contents: read"), Outage("GitHub", "502")])
def test_a_verdict_that_was_made_as_access_was_lost_is_what_a_sweep_shows(store: Store, error: AssayError) -> None:
    ends_with(store, error)
    [made] = store.ledger.entries(wish().pull)

    later = SystemClock().now() + timedelta(days=1)
    outcome, _ = judged(store, wish(trigger=Trigger.SWEEP, requested_at=later))
    assert isinstance(outcome, JudgingCompleted)
    assert outcome.verdict.eval_id == made.eval_id
    assert store.ledger.entries(wish().pull) == (made,)


@pytest.mark.parametrize("what", ["closed", "merged", "deleted"])
def test_one_that_was_over_by_then_leaves_no_verdict(store: Store, what: str) -> None:
    ends_with(store, SubjectGone(what))
    assert store.ledger.entries(wish().pull) == ()


def ends_with(store: Store, error: AssayError) -> None:
    """A judging ends so: as one that is over, or with the error, for whoever runs it."""
    if isinstance(error, SubjectGone):
        outcome, _ = judged(store, wish(), source=Losing(error))
        assert outcome == JudgingDiscarded(error.reason)
        return
    with pytest.raises(type(error)):
        judged(store, wish(), source=Losing(error))
    store.pulls.requeue_dead(wish().pull, int(text(store.client.call("HGET", keys.pull(wish().pull).name, "fence"))))
