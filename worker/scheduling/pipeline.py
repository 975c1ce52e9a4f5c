"""The four stages on one screen: assemble, judge, record, publish.

Does not know GitHub, git, Redis or any model: it is given ports. Invariant: nothing is published for a head that moved, and
nothing recorded for one that GitHub says has moved (where it can't be asked, or lets us see nothing for a while, the verdict is recorded and waits; where its author
is told of it by what finds the head out, it is recorded before); a verdict is recorded before anybody is told of it; and one that
is on record when its judge dies, or can't ask GitHub, is published once its head is known to stand, not judged again.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Protocol

from worker.domain.check.overrides import NOTHING, Said, asks_a_person
from worker.domain.config.config import Authors
from worker.domain.dossier.author_text import author_text
from worker.domain.dossier.dossier import AWAITING_APPROVAL, NOT_REPORTED, CiCheck, CiState, Dossier, HeadFile, Policy
from worker.domain.ids import EvalId, Sha
from worker.domain.judging import Dropped, Judged, Outcome, Overtaken, WaitForCi
from worker.domain.ports import Clock, Configs, Ledger, LookUp, PullSource
from worker.domain.request.judge_request import (
    ARRIVALS,
    AUTHORED,
    BY_HAND,
    LAPTOP,
    Arrival,
    JudgeRequest,
    PullRef,
    Trigger,
)
from worker.domain.value import Value, replace
from worker.domain.verdict.audit import Heard
from worker.domain.verdict.events import OVERTAKEN, Begun, FailureMode
from worker.domain.verdict.ledger import TextTurn, judged_by_text, text_of, text_turn
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject, Verdict
from worker.dossier.assemble import complete
from worker.dossier.eligibility import Judge
from worker.errors import Forbidden, Gone, RubricRefused, Unavailable
from worker.judge.context import Bench, Docket
from worker.judge.escalation import Skipped
from worker.judge.judge import content_of, docket, hear
from worker.judge.rounds.carry_over import carried
from worker.judge.trace import carried_over
from worker.publishing.eligibility import observed, scope_of, shown
from worker.publishing.status import Board, Look, Wait
from worker.scheduling.outage import Outages
from worker.scheduling.record import Keepers, record
from worker.signals.heuristic_opinion import sought_in

DOUBTFUL: Final = frozenset({"deleted", "head commit deleted"})
"""What may be told of one thing that GitHub does not find, or not yet, though the pull request is there."""


ASKED_FOR_IN_VAIN: Final = frozenset({AbstainReason.UNPROVEN, AbstainReason.NEEDS_HUMAN})
"""No verdict, though a model was asked and answered."""


class CiPatience(Value):
    """How long to wait for other checks, since when, and how often to look. `required_wait`: as long as one is required."""

    wait: timedelta
    poll: timedelta
    since: datetime | None
    required_wait: timedelta = timedelta(0)

    def until(self, now: datetime, *, is_required: bool) -> datetime:
        """When waiting ends."""
        return (self.since or now) + (self.required_wait if is_required else self.wait)

    def next_look(self, now: datetime) -> timedelta:
        """How long until somebody looks without being told: what waits for hours is looked at rarely, since deliveries wake it."""
        return max(self.poll, (now - (self.since or now)) * LOOK_SHARE)


LOOK_SHARE: Final = 0.05
"""The part of the time already waited for CI that the next wait takes."""


class Author(Protocol):
    """How the author of a pull request is told of a verdict."""

    def due(self, request: JudgeRequest, judged: Judged) -> Look | None:
        """What tells of this verdict once it is on record, and may find the newest head out; None: there is no such thing."""
        ...


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
    authors: Authors | None = None
    """Whose pull requests are judged, where the repository does not say; None: everybody's."""
    configs: Configs | None = None
    """None: a configuration that can't be used has no older one to stand in for it."""
    said: Callable[[PullRef, Sha], Said] | None = None
    """What people said about a head; None: nobody says anything, as on a laptop."""
    look_up: LookUp | None = None
    """None: the head tree is not at hand."""
    author: Author | None = None
    """None: nobody is told along with the question for the newest head."""
    may_spend: Callable[[JudgeRequest, Dossier], bool] | None = None
    """Whether a model may be asked about this head; None: about every one, as on a laptop."""
    archived: Callable[[EvalId], Dossier | None] | None = None
    """What a verdict was made from; None: none is kept."""
    is_anew: bool = False
    """Somebody wants it judged anew, whatever is on record."""


def judge_pull_request(request: JudgeRequest, deps: Deps) -> Outcome:
    """Judge the newest head once. Raises what `worker.errors.classify` understands, LeaseLost included."""
    try:
        return _judge(request, deps)
    except Gone as told:
        gone = confirmed(told, request, deps.source) if told.what in DOUBTFUL else told
        deps.board.close(request, is_over=gone.is_over)
        return Dropped(gone.what)


def confirmed(told: Gone, request: JudgeRequest, source: PullSource) -> Gone:
    """What became of the pull request. Raises Unavailable where it is there: only something of it was not found."""
    try:
        source.head_sha(request)
    except Gone as gone:
        return gone
    raise Unavailable("the pull request", f"GitHub does not find all of it ({told.what})") from told


def _judge(request: JudgeRequest, deps: Deps) -> Outcome:
    dossier = assemble(request, deps)
    head_sha = dossier.pull_request.head_sha
    found = scope_of(request, dossier, deps.authors)
    if not isinstance(found, Judge):
        deps.board.rest(request, head_sha, shown(found))
        return Dropped(f"not judged here: {type(found).__name__.lower()}")
    dossier = observed(dossier, found.observes) if found.observes else dossier
    deps.board.begin(request, head_sha)
    if (by_people := decided_by_people(request, dossier, deps)) is not None:
        return by_people
    now, patience = deps.clock.now(), patience_with(dossier, deps.patience)
    if deps.bench.pause is None and (wait := still_running(dossier, now, patience)):
        deps.board.wait_for_ci(request, head_sha, wait)
        return WaitForCi(patience.next_look(now), wait.names)
    deps = within_trust(request, dossier, deps)
    opened = docket(request, dossier, deps.bench, deps.clock)
    said = said_of(request, dossier, deps)
    known = recorded_already(request, dossier, opened, said.anew_since)
    newer = deps.board.newer_head(request, head_sha, at_once=True) if known else None
    if said.anew_since is not None:
        dossier, deps = with_contest(dossier, said), replace(deps, is_anew=True)
    if not (newer or known) and deps.bench.pause is None:
        dossier = with_lookups(request, dossier, deps.look_up)
    verdict = newer or known or evaluate(request, dossier, opened, said, deps)
    if verdict is None:
        return Overtaken()
    if isinstance(verdict, str):
        return Overtaken(verdict)
    again_in = deps.outages.wait(request, verdict)
    again_at = None if again_in is None else deps.clock.now() + again_in
    is_shown = deps.board.publish(request, verdict, dossier, again_at)
    return Judged(verdict, dossier, again_in, said) if is_shown else Overtaken()


def within_trust(request: JudgeRequest, dossier: Dossier, deps: Deps) -> Deps:
    """The same without a model, where none may be asked about this head."""
    is_allowed = deps.may_spend is None or deps.bench.model is None or deps.may_spend(request, dossier)
    return deps if is_allowed else replace(deps, bench=deps.bench.by_code_alone(Skipped.OUTSIDER))


def decided_by_people(request: JudgeRequest, dossier: Dossier, deps: Deps) -> Outcome | None:
    """Show what a person decided about this head, and judge nothing; None: nobody did, or it is to be judged anew.

    A decision that was taken back leaves the verdict on record, if that is of what is proposed now: GitHub takes reviews back
    also where a pull request goes into another base.
    """
    head_sha = dossier.pull_request.head_sha
    said = said_of(request, dossier, deps)
    last = next((one.verdict for one in reversed(dossier.ledger) if one.head_sha == head_sha), None)
    is_back = request.trigger is Trigger.DISMISSED and asks_a_person(last) and is_of(last, dossier, deps.bench)
    if not (said.decides(last) or is_back) or (said.override is None and said.anew_since is not None):
        return None
    if newer := deps.board.newer_head(request, head_sha, at_once=True):
        return Overtaken(newer)
    if last is None:
        deps.board.overrule(request, head_sha)
        return Dropped("a person decided before it was judged")
    is_shown = deps.board.publish(request, last, dossier, None)
    return Judged(last, dossier, said=said) if is_shown else Overtaken()


def is_of(verdict: Verdict | None, dossier: Dossier, bench: Bench) -> bool:
    return verdict is not None and verdict.fingerprint == content_of(dossier, bench)


def said_of(request: JudgeRequest, dossier: Dossier, deps: Deps) -> Said:
    """What people said about this head that counts for where it goes."""
    pull = dossier.pull_request
    return deps.said(request.pull, pull.head_sha).into(pull.base_ref) if deps.said else NOTHING


def with_contest(dossier: Dossier, said: Said) -> Dossier:
    """The judge learns what somebody holds against the verdict. What a recorded dossier says stands."""
    return dossier if said.open_reason is None else dossier.model_copy(update={"contest": said.open_reason})


def evaluate(
    request: JudgeRequest, dossier: Dossier, opened: Docket, said: Said, deps: Deps
) -> Accept | Reject | Abstain | Sha | None:
    """Judge and record, told from its beginning to its end; the newer head, where the judged one moved meanwhile.

    None: what it is judged by was edited while it was read. Then nobody judges by what was read.
    """
    rubric, keepers = deps.bench.rubric, deps.keepers
    begun = Begun(opened.eval_id, opened.subject, rubric.id, rubric.version, deps.bench.planned)
    if not keepers.begin(request.pull, begun, dossier):
        return None
    if deps.refused is not None:
        keepers.give_up(request.pull, begun, FailureMode.RUBRIC_INVALID, "", "0")
        raise RubricRefused(deps.refused)
    found = settle(dossier, opened, deps.bench, is_anew=deps.is_anew)
    cost = format(found.verdict.judge_cost_usd or 0, "f")
    judged = Judged(found.verdict, dossier, said=said)
    if deps.author is not None and (look := deps.author.due(request, judged)) is not None:
        record(request.pull, found, dossier, keepers)  # first: its author may rely on what he is told
        return deps.board.newer_head(request, opened.subject.head_sha, look=look) or found.verdict
    try:
        at_once = found.verdict.carried_from is not None
        newer = deps.board.newer_head(request, opened.subject.head_sha, at_once=at_once)
    except (Forbidden, Gone, Unavailable) as told:
        if isinstance(told, Gone) and told.is_over:
            keepers.give_up(request.pull, begun, FailureMode.SUBJECT_NOT_FOUND, told.what, cost)
        else:  # whoever tries again, or finds it once we may see it again, publishes this, and pays nothing
            record(request.pull, found, dossier, keepers)
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
    dossier = with_demotions(complete(with_push_time(with_known_config(raw, request, deps), request)), deps.demoted)
    return dossier if request.pull.installation_id == LAPTOP else with_frozen_text(dossier, request, deps)


def with_lookups(request: JudgeRequest, dossier: Dossier, look_up: LookUp | None) -> Dossier:
    """Look up in the head tree what a finding would say is not there. A recorded lookup stands."""
    if look_up is None or "lookups" in dossier.model_fields_set:
        return dossier
    sought = sought_in(dossier)
    if not (sought.definitions or sought.paths):
        return dossier
    found = look_up(request, dossier, sought)
    files = (*(dossier.files or ()), *(HeadFile(path=path, exists=False) for path in found.absent))
    return dossier.model_copy(update={"lookups": found.names} | ({"files": files} if found.absent else {}))


def with_frozen_text(dossier: Dossier, request: JudgeRequest, deps: Deps) -> Dossier:
    """The author's text of a head's last verdict, once an edit of it was judged: another edit draws no further judging.

    Issues whose links did not change count as they stand now. Where no dossier is kept, only the case is known.
    """
    text, head_sha = author_text(dossier), dossier.pull_request.head_sha
    edited_at = request.requested_at if request.trigger in AUTHORED else None
    if text_turn(dossier.ledger, head_sha, text, edited_at) is not TextTurn.FROZEN:
        return dossier
    last = judged_by_text(dossier.ledger, head_sha)[-1]
    frozen = dossier.model_copy(update={"case": last.case, "case_error": last.verdict.case_error})
    if text.asks_the_same(text_of(last)) or deps.archived is None or (kept := deps.archived(last.eval_id)) is None:
        return frozen
    then = kept.pull_request
    pull = dossier.pull_request.model_copy(update={"title": then.title, "body": then.body})
    return frozen.model_copy(update={"pull_request": pull, "issues": kept.issues, "criteria": kept.criteria})


def with_known_config(dossier: Dossier, request: JudgeRequest, deps: Deps) -> Dossier:
    """Beside a configuration that can't be used the last one that could. A recorded policy stands as it is."""
    if deps.configs is None or "policy" in dossier.model_fields_set:
        return dossier
    from worker.dossier.config import with_last_good  # noqa: PLC0415 - a laptop remembers none

    return with_last_good(dossier, request.pull, deps.configs)


def patience_with(dossier: Dossier, patience: CiPatience) -> CiPatience:
    """The patience that this repository chose."""
    if not dossier.config:
        return patience
    from worker.dossier.config import ci_wait  # noqa: PLC0415 - most repositories choose nothing

    longest = max(patience.wait, patience.required_wait)
    wait = ci_wait(dossier, longest)
    return patience if wait is None else replace(patience, wait=wait, required_wait=wait)


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
    came = arrival(request)
    if came is None or came.head_sha != pull.head_sha or pull.pushed_at is not None:
        return dossier
    return dossier.model_copy(update={"pull_request": pull.model_copy(update={"pushed_at": came.at})})


def answers_a_sweep(request: JudgeRequest, last: Verdict) -> bool:
    """Who looks around asks for nothing but a state. What a model was asked for is shown, where another try would say the same."""
    is_ruled = not isinstance(last, Abstain) or last.abstain_reason in ASKED_FOR_IN_VAIN
    return request.trigger is Trigger.SWEEP and is_ruled


def only_arrived(request: JudgeRequest) -> bool:
    """Whether all that it says is that a head came. Who asked by hand is answered, whatever was told after he asked."""
    came = request.arrived
    if request.trigger in BY_HAND:
        return False
    return request.trigger in ARRIVALS or (came is not None and came.at == request.requested_at)


def arrival(request: JudgeRequest) -> Arrival | None:
    """When the newest head that we heard of came."""
    if request.arrived is not None or request.trigger not in ARRIVALS or request.head_sha is None:
        return request.arrived
    return Arrival(head_sha=request.head_sha, at=request.requested_at)


def settle(dossier: Dossier, opened: Docket, bench: Bench, *, is_anew: bool = False) -> Heard:
    """Carry over what was decided on the same content, or judge. What is contested, or asked for anew, is judged again."""
    known = None if dossier.contest or is_anew else carried(dossier, opened, bench)
    return (
        hear(dossier, opened, bench)
        if known is None
        else Heard(known, carried_over(known, bench.chosen_by(dossier.policy)))
    )


def still_running(dossier: Dossier, now: datetime, patience: CiPatience) -> Wait | None:
    """The checks worth waiting for; None when none is due, one failed already, or the wait is over. What was silenced never comes.

    A required check that has not reported may follow those that run, so it is waited for as long as they are. Alone, it may never
    start.
    """
    if dossier.ci is None or dossier.ci.silenced or dossier.ci.state is not CiState.PENDING:
        return None
    running = [check for check in dossier.ci.checks if check.conclusion is None and is_coming(check)]
    is_running = any(check.status != NOT_REPORTED for check in running)
    until = patience.until(now, is_required=is_running and any(check.required for check in running))
    return Wait(tuple(check.name for check in running), until) if running and now < until else None


def is_coming(check: CiCheck) -> bool:
    """Whether it ends by itself. What waits for a person's approval wakes us when it is given."""
    return check.status != AWAITING_APPROVAL


def recorded_already(
    request: JudgeRequest, dossier: Dossier, opened: Docket, anew_since: datetime | None = None
) -> Accept | Reject | Abstain | None:
    """The verdict that answers this very request: its judge died before publishing it, or was ahead of the delivery.

    *anew_since*: when somebody asked for one that is made anew. That nobody could judge since then is no answer to whoever asks
    later: it stays open, and would come back for ever. That a person has to decide is one: who decides asks nobody to judge.
    """
    last = dossier.ledger[-1] if dossier.ledger else None
    if last is None or last.head_sha != dossier.pull_request.head_sha or opened.fingerprint != last.fingerprint:
        return None
    answers = only_arrived(request) or last.created_at >= request.requested_at or answers_a_sweep(request, last.verdict)
    if anew_since is not None:
        is_ruled = not isinstance(last.verdict, Abstain) or asks_a_person(last.verdict)
        answers = last.created_at >= anew_since and (answers or is_ruled)
    return last.verdict if answers else None
