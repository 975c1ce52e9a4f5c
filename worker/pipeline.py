"""The four stages on one screen: assemble, judge, record, publish.

Does not know GitHub, git, Redis or any model: it is given ports. Invariant: nothing is recorded or published for a
head that moved; a verdict is recorded before it is published; and one that was recorded when its judge
died is published, not judged again.
"""

from datetime import datetime, timedelta
from typing import Final

from worker.assemble import complete
from worker.board import Board, Wait
from worker.domain.audit import Heard
from worker.domain.dossier import CiState, Dossier, Policy
from worker.domain.events import OVERTAKEN, Begun, FailureMode
from worker.domain.ids import Sha
from worker.domain.request import JudgeRequest, Trigger
from worker.domain.value import Value
from worker.domain.verdict import Abstain, Accept, Reject
from worker.errors import Gone, RubricRefused
from worker.judge.bench import Bench, Docket
from worker.judge.carry import carried
from worker.judge.court import docket, hear
from worker.judge.trail import carried_over
from worker.outage import Outages
from worker.ports import Clock, Ledger, PullSource
from worker.record import Keepers, record


class CiPatience(Value):
    """How long to wait for other checks, since when, and how often to look."""

    wait: timedelta
    poll: timedelta
    since: datetime | None


class Deps(Value):
    """Everything that one judging needs from outside. `refused`: why the rubric may not be judged by, if it may not.

    `demoted`: signals that may not reject alone here, since people took their rejects back too often.
    """

    source: PullSource
    board: Board
    ledger: Ledger
    keepers: Keepers
    bench: Bench
    clock: Clock
    patience: CiPatience
    outages: Outages = Outages()
    refused: str | None = None
    demoted: frozenset[str] = frozenset()


class Judged(Value):
    """Recorded and published. `again_in`: nobody judged, for an outage; it comes again after so long."""

    verdict: Accept | Reject | Abstain
    dossier: Dossier
    again_in: timedelta | None = None


class Overtaken(Value):
    """The head moved: its check is cancelled, and the newer one has to be judged."""

    newer: Sha


class WaitForCi(Value):
    """Other checks still run: look again after `poll`."""

    poll: timedelta
    names: tuple[str, ...]


class Dropped(Value):
    """Nobody waits for this verdict any more."""

    reason: str


Outcome = Judged | Overtaken | WaitForCi | Dropped

ARRIVALS: Final = frozenset({Trigger.OPENED, Trigger.PUSHED})
"""They say that a head came, and no more: GitHub may have shown it, or a newer one, to a judge before they did."""


def judge_pull_request(request: JudgeRequest, deps: Deps) -> Outcome:
    """Judge the newest head once. Raises what `worker.errors.classify` understands, LeaseLost included."""
    try:
        return _judge(request, deps)
    except Gone as gone:
        deps.board.close(request)
        return Dropped(gone.what)


def _judge(request: JudgeRequest, deps: Deps) -> Outcome:
    dossier = assemble(request, deps)
    head_sha = dossier.pull_request.head_sha
    deps.board.begin(request, head_sha)
    if deps.bench.pause is None and (wait := still_running(dossier, deps.clock.now(), deps.patience)):
        deps.board.wait_for_ci(request, head_sha, wait)
        return WaitForCi(deps.patience.poll, wait.names)
    opened = docket(request, dossier, deps.bench, deps.clock)
    known = recorded_already(request, dossier, opened)
    newer = deps.board.newer_head(request, head_sha) if known else None
    verdict = newer or known or evaluate(request, dossier, opened, deps)
    if isinstance(verdict, str):
        return Overtaken(verdict)
    again_in = deps.outages.wait(request, verdict)
    deps.board.publish(request, verdict, dossier, None if again_in is None else deps.clock.now() + again_in)
    return Judged(verdict, dossier, again_in)


def evaluate(request: JudgeRequest, dossier: Dossier, opened: Docket, deps: Deps) -> Accept | Reject | Abstain | Sha:
    """Judge and record, told from its beginning to its end; the newer head, where the judged one moved meanwhile."""
    rubric, keepers = deps.bench.rubric, deps.keepers
    begun = Begun(opened.eval_id, opened.subject, rubric.id, rubric.version, deps.bench.planned)
    keepers.begin(request.pull, begun)
    if deps.refused is not None:
        keepers.give_up(request.pull, begun, FailureMode.RUBRIC_INVALID, "", "0")
        raise RubricRefused(deps.refused)
    found = settle(dossier, opened, deps.bench)
    cost = format(found.verdict.judge_cost_usd or 0, "f")
    try:
        newer = deps.board.newer_head(request, opened.subject.head_sha)
    except Gone as gone:
        keepers.give_up(request.pull, begun, FailureMode.SUBJECT_NOT_FOUND, gone.what, cost)
        raise
    if newer is not None:
        keepers.give_up(request.pull, begun, FailureMode.SUBJECT_NOT_FOUND, OVERTAKEN, cost)
        return newer
    record(request.pull, found, dossier, keepers)
    return found.verdict


def assemble(request: JudgeRequest, deps: Deps) -> Dossier:
    """The complete dossier. A source that knows no ledger (all but a recorded dossier) gets ours.

    What was judged anew for an audit is on record, and decides nothing about the pull request.
    """
    raw = deps.source.dossier(request)
    if "ledger" not in raw.model_fields_set:
        own = tuple(one for one in deps.ledger.entries(request.pull) if one.verdict.parent_eval_id is None)
        raw = raw.model_copy(update={"ledger": own})
    return complete(with_demotions(with_push_time(raw, request), deps.demoted))


def with_demotions(dossier: Dossier, demoted: frozenset[str]) -> Dossier:
    """Part of the policy from here on, so that the record says by what was judged. What a repository switched off stays off."""
    if not demoted:
        return dossier
    policy = dossier.policy or Policy()
    signals = {**dict.fromkeys(sorted(demoted), "suspicion"), **policy.signals}
    return dossier.model_copy(update={"policy": policy.model_copy(update={"signals": signals})})


def with_push_time(dossier: Dossier, request: JudgeRequest) -> Dossier:
    """When we were told that this head came: rounds are counted by it. Of a head that nobody announced it is not known."""
    pull = dossier.pull_request
    if request.trigger not in ARRIVALS or request.head_sha != pull.head_sha or pull.pushed_at is not None:
        return dossier
    return dossier.model_copy(update={"pull_request": pull.model_copy(update={"pushed_at": request.requested_at})})


def settle(dossier: Dossier, opened: Docket, bench: Bench) -> Heard:
    """Carry over what was decided on the same content, or judge. What is contested is judged again."""
    known = None if dossier.contest else carried(dossier, opened, bench)
    return (
        hear(dossier, opened, bench)
        if known is None
        else Heard(known, carried_over(known, bench.chosen_by(dossier.policy)))
    )


def still_running(dossier: Dossier, now: datetime, patience: CiPatience) -> Wait | None:
    """The checks worth waiting for; None when none runs, one failed already, or the wait is over."""
    if dossier.ci is None or dossier.ci.state is not CiState.PENDING:
        return None
    until = (patience.since or now) + patience.wait
    if now >= until:
        return None
    return Wait(tuple(check.name for check in dossier.ci.checks if check.conclusion is None), until)


def recorded_already(request: JudgeRequest, dossier: Dossier, opened: Docket) -> Accept | Reject | Abstain | None:
    """The verdict that answers this very request: its judge died before publishing it, or was ahead of the delivery."""
    last = dossier.ledger[-1] if dossier.ledger else None
    if last is None or last.head_sha != dossier.pull_request.head_sha or opened.fingerprint != last.fingerprint:
        return None
    return last.verdict if request.trigger in ARRIVALS or last.created_at >= request.requested_at else None
