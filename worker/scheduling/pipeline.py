"""The four stages of a judging: assemble, judge, record, publish.

A verdict is recorded before it is shown, and neither for a head that GitHub says has moved. It is recorded first where GitHub can't be
asked, or where the author's comment is updated along with the question. A recorded verdict whose judge died is published once its head is
confirmed, instead of judged again.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions, needs_human
from worker.domain.config.config import AskModelFor, Authors
from worker.domain.dossier import AWAITING_APPROVAL, NOT_REPORTED, CiState, Dossier, HeadFile, Policy, author_text
from worker.domain.judge_request import (
    AUTHOR_EDIT_TRIGGERS,
    HEAD_TRIGGERS,
    LOCAL_INSTALLATION,
    MANUAL_TRIGGERS,
    FirstSeen,
    JudgeRequest,
    PullRef,
    Trigger,
)
from worker.domain.lifecycle.judging import (
    CiWait,
    FindHead,
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
    WaitForCi,
)
from worker.domain.model import EvalId, Sha
from worker.domain.ports import Clock, LastGoodConfigs, Lease, Ledger, PullSource, TreeLookup
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.domain.verdict.events import SUPERSEDED_MESSAGE, EvaluationStarted, FailureMode
from worker.domain.verdict.ledger import TextChange, author_text_of, classify_text, find_judged_entries
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject
from worker.dossier.assemble import complete_dossier
from worker.dossier.authors import Eligible, as_observed, eligibility_of
from worker.dossier.config import config_of
from worker.errors import Forbidden, LeaseLost, RubricRefused, SubjectGone, Unavailable
from worker.judge.context import EvaluationHeader, JudgeContext, ModelSkipReason
from worker.judge.fingerprint import fingerprint_of
from worker.judge.judge import carry_over_record, carry_over_verdict, create_header, judge_with_record
from worker.scheduling.ports import Decisions
from worker.scheduling.record import VerdictRecorder, record
from worker.scheduling.retry import OutageRetries
from worker.signals.heuristic_opinion import find_lookups

UNCERTAIN_REASONS: Final = frozenset({"deleted", "head commit deleted"})
"""Reasons that may be about one missing object of a pull request that exists."""

UNDECIDED_REASONS: Final = frozenset({AbstainReason.UNPROVEN, AbstainReason.NEEDS_HUMAN})
"""Abstains after a usable answer of a model."""


@dataclass(frozen=True)
class CiWaitPolicy:
    """How long to wait for other checks, since when, and how often to poll. `longest_required_wait`: while a required one runs."""

    longest_wait: timedelta
    poll: timedelta
    waiting_since: datetime | None
    longest_required_wait: timedelta = timedelta(0)

    def deadline(self, now: datetime, *, is_required: bool) -> datetime:
        """When waiting ends."""
        return (self.waiting_since or now) + (self.longest_required_wait if is_required else self.longest_wait)

    def next_poll(self, now: datetime) -> timedelta:
        """The wait until the next poll, longer with time, since deliveries trigger a judging anyway."""
        return max(self.poll, (now - (self.waiting_since or now)) * POLL_SHARE)


POLL_SHARE: Final = 0.05
"""The part of the time already waited for CI that the next wait takes."""


class StatusReporter(Protocol):
    """Shows the state of a pull request's judging."""

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def show_skipped(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None: ...

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: CiWait) -> None: ...

    def find_newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, is_fresh: bool = False, find_head: FindHead | None = None
    ) -> Sha | None:
        """The newest head if it is not *head_sha*.

        *is_fresh*: no time passed since the dossier was read; *find_head*: a write to GitHub whose answer may name it.
        """
        ...

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> bool:
        """Show the verdict. False: something that it depends on changed meanwhile; the head is judged again instead."""
        ...

    def show_decision(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...


class NullStatusReporter:
    """Shows nothing, and still detects a newer head."""

    def __init__(self, source: PullSource) -> None:
        self._source = source

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def show_skipped(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None: ...

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: CiWait) -> None: ...

    def find_newer_head(
        self,
        request: JudgeRequest,
        head_sha: Sha,
        *,
        is_fresh: bool = False,  # noqa: ARG002 - asking git costs nothing
        find_head: FindHead | None = None,  # noqa: ARG002 - a laptop writes nothing
    ) -> Sha | None:
        newest = self._source.head_sha(request)
        return None if newest == head_sha else newest

    def publish(
        self,
        request: JudgeRequest,  # noqa: ARG002 - shows nothing
        verdict: Accept | Reject | Abstain,  # noqa: ARG002
        dossier: Dossier,  # noqa: ARG002
        again_at: datetime | None,  # noqa: ARG002
    ) -> bool:
        return True

    def show_decision(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...


class AuthorNotifier(Protocol):
    """Tells the author of a verdict."""

    def prepare(self, request: JudgeRequest, judged: JudgingCompleted) -> FindHead | None:
        """The update to run once this verdict is recorded, which may return the newest head; None: there is none."""
        ...


@dataclass(frozen=True)
class JudgingDependencies:
    """The ports and settings of a judging. `rubric_problem`: why the rubric can't be used.

    `demoted_signals`: signals that do not reject alone here, since their rejects were overridden too often.
    """

    source: PullSource
    status: StatusReporter
    ledger: Ledger
    recorder: VerdictRecorder
    context: JudgeContext
    clock: Clock
    ci_wait: CiWaitPolicy
    outage_retries: OutageRetries = field(default_factory=OutageRetries)
    rubric_problem: str | None = None
    demoted_signals: frozenset[str] = frozenset()
    authors: Authors | None = None
    """The operator's defaults for `authors`; None: every pull request is judged."""
    configs: LastGoodConfigs | None = None
    """The last valid configurations; None: an invalid one has no replacement."""
    human_decisions: Callable[[PullRef, Sha], HumanDecisions] | None = None
    """The decisions about a head; None: there are none, as on a laptop."""
    look_up: TreeLookup | None = None
    """None: the head tree is not available."""
    author_notifier: AuthorNotifier | None = None
    """None: the comment is left to the task after the verdict."""
    may_spend: Callable[[JudgeRequest, Dossier], bool] | None = None
    """Whether a model may be asked about this head; None: about every head, as on a laptop."""
    find_dossier: Callable[[EvalId], Dossier | None] | None = None
    """The dossier of a verdict; None: none is kept."""
    is_rejudge: bool = False
    """Judge again, whatever is on record."""


def judge_pull_request(request: JudgeRequest, deps: JudgingDependencies) -> JudgingOutcome:
    """Judge the newest head once. Raises what `worker.errors.classify` understands, LeaseLost included."""
    try:
        return _judge(request, deps)
    except SubjectGone as error:
        gone = _confirm_gone(error, request, deps.source) if error.reason in UNCERTAIN_REASONS else error
        deps.status.close(request, is_over=gone.is_closed)
        return JudgingDiscarded(gone.reason)


def _confirm_gone(reported: SubjectGone, request: JudgeRequest, source: PullSource) -> SubjectGone:
    """The confirmed reason. Raises Unavailable if the pull request exists and only a part of it was not found."""
    try:
        source.head_sha(request)
    except SubjectGone as gone:
        return gone
    raise Unavailable("the pull request", f"GitHub does not find all of it ({reported.reason})") from reported


def _judge(request: JudgeRequest, deps: JudgingDependencies) -> JudgingOutcome:
    dossier = assemble(request, deps)
    head_sha = dossier.pull_request.head_sha
    eligibility = eligibility_of(request, dossier, deps.authors)
    if not isinstance(eligibility, Eligible):
        from worker.publishing.texts.states import idle_content  # noqa: PLC0415 - a laptop leaves nothing alone

        deps.status.show_skipped(request, head_sha, idle_content(eligibility))
        return JudgingDiscarded(f"not judged here: {type(eligibility).__name__.lower()}")
    dossier = as_observed(dossier, eligibility.observed_author) if eligibility.observed_author else dossier
    deps.status.begin(request, head_sha)
    if (by_people := show_human_decision(request, dossier, deps)) is not None:
        return by_people
    now, patience = deps.clock.now(), with_repository_wait(dossier, deps.ci_wait)
    if deps.context.pause is None and (wait := find_ci_wait(dossier, now, patience)):
        deps.status.wait_for_ci(request, head_sha, wait)
        return WaitForCi(patience.next_poll(now), wait.names)
    if deps.may_spend is not None and deps.context.model is not None and not deps.may_spend(request, dossier):
        deps = replace(deps, context=deps.context.without_model(ModelSkipReason.OUTSIDER))
    header = create_header(request, dossier, deps.context, deps.clock)
    decisions = human_decisions_for(request, dossier, deps)
    recorded = find_recorded_verdict(request, dossier, header, decisions.rejudge_requested_at)
    newer = deps.status.find_newer_head(request, head_sha, is_fresh=True) if recorded else None
    if decisions.rejudge_requested_at is not None:
        deps = replace(deps, is_rejudge=True)
        if (reason := decisions.open_contest_reason) is not None:
            dossier = dossier.model_copy(update={"contest": reason})
    if not (newer or recorded) and deps.context.pause is None:
        dossier = with_lookups(request, dossier, deps.look_up)
    verdict = newer or recorded or evaluate(request, dossier, header, decisions, deps)
    if verdict is None:
        return JudgingSuperseded()
    if isinstance(verdict, str):
        return JudgingSuperseded(verdict)
    is_outage = verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE
    again_in = deps.outage_retries.wait(request) if is_outage else None
    again_at = None if again_in is None else deps.clock.now() + again_in
    is_shown = deps.status.publish(request, verdict, dossier, again_at)
    return JudgingCompleted(verdict, dossier, again_in, decisions) if is_shown else JudgingSuperseded()


def show_human_decision(request: JudgeRequest, dossier: Dossier, deps: JudgingDependencies) -> JudgingOutcome | None:
    """Show a person's decision about this head instead of judging; None: there is none, or a judging is requested.

    After a dismissed review the recorded verdict is shown, if it is about the same content: GitHub dismisses reviews also when the base
    changes.
    """
    head_sha = dossier.pull_request.head_sha
    decisions = human_decisions_for(request, dossier, deps)
    last = next((entry.verdict for entry in reversed(dossier.ledger) if entry.head_sha == head_sha), None)
    is_back = (
        request.trigger is Trigger.DISMISSED
        and last is not None
        and needs_human(last)
        and last.fingerprint == fingerprint_of(dossier, deps.context)
    )
    if not (decisions.is_deciding(last) or is_back) or (
        decisions.override is None and decisions.rejudge_requested_at is not None
    ):
        return None
    if newer := deps.status.find_newer_head(request, head_sha, is_fresh=True):
        return JudgingSuperseded(newer)
    if last is None:
        deps.status.show_decision(request, head_sha)
        return JudgingDiscarded("a person decided before it was judged")
    is_shown = deps.status.publish(request, last, dossier, None)
    return JudgingCompleted(last, dossier, decisions=decisions) if is_shown else JudgingSuperseded()


def human_decisions_for(request: JudgeRequest, dossier: Dossier, deps: JudgingDependencies) -> HumanDecisions:
    """The decisions about this head that hold for its base."""
    if deps.human_decisions is None:
        return NO_DECISIONS
    return deps.human_decisions(request.pull, dossier.pull_request.head_sha).for_base(dossier.pull_request.base_ref)


def evaluate(
    request: JudgeRequest,
    dossier: Dossier,
    header: EvaluationHeader,
    decisions: HumanDecisions,
    deps: JudgingDependencies,
) -> Accept | Reject | Abstain | Sha | None:
    """Judge and record, with the events of the evaluation; the newer head if it moved meanwhile.

    None: something that the dossier was read from was edited during the read, so it is stale.
    """
    rubric, recorder = deps.context.rubric, deps.recorder
    started = EvaluationStarted(header.eval_id, header.subject, rubric.id, rubric.version, deps.context.planned_judge)
    if not recorder.begin(request.pull, started, dossier):
        return None
    if deps.rubric_problem is not None:
        recorder.end_without_verdict(request.pull, started, FailureMode.RUBRIC_INVALID, "", "0")
        raise RubricRefused(deps.rubric_problem)
    evaluated = carry_over_or_judge(dossier, header, deps.context, is_rejudge=deps.is_rejudge)
    cost = format(evaluated.verdict.judge_cost_usd or 0, "f")
    judged = JudgingCompleted(evaluated.verdict, dossier, decisions=decisions)
    if deps.author_notifier is not None and (find_head := deps.author_notifier.prepare(request, judged)) is not None:
        record(request.pull, evaluated, dossier, recorder)  # before the comment, which must be backed by the record
        return deps.status.find_newer_head(request, header.subject.head_sha, find_head=find_head) or evaluated.verdict
    try:
        at_once = evaluated.verdict.carried_from is not None
        newer = deps.status.find_newer_head(request, header.subject.head_sha, is_fresh=at_once)
    except (Forbidden, SubjectGone, Unavailable) as error:
        if isinstance(error, SubjectGone) and error.is_closed:
            recorder.end_without_verdict(request.pull, started, FailureMode.SUBJECT_NOT_FOUND, error.reason, cost)
        else:  # a retry publishes this verdict at no cost
            record(request.pull, evaluated, dossier, recorder)
        raise
    if newer is not None:
        recorder.end_without_verdict(request.pull, started, FailureMode.SUBJECT_NOT_FOUND, SUPERSEDED_MESSAGE, cost)
        return newer
    record(request.pull, evaluated, dossier, recorder)
    return evaluated.verdict


def assemble(request: JudgeRequest, deps: JudgingDependencies) -> Dossier:
    """The complete dossier, with the ledger unless it is a recorded one. Re-evaluations are left out of the ledger."""
    raw = deps.source.dossier(request)
    if "ledger" not in raw.model_fields_set:
        own = tuple(entry for entry in deps.ledger.entries(request.pull) if entry.verdict.parent_eval_id is None)
        raw = raw.model_copy(update={"ledger": own})
    dossier = with_demotions(
        complete_dossier(with_push_time(with_last_good_config(raw, request, deps), request)), deps.demoted_signals
    )
    return dossier if request.pull.installation_id == LOCAL_INSTALLATION else with_frozen_text(dossier, request, deps)


def with_lookups(request: JudgeRequest, dossier: Dossier, look_up: TreeLookup | None) -> Dossier:
    """Look up in the head tree what findings would report as missing. Recorded lookups stay."""
    if look_up is None or "lookups" in dossier.model_fields_set:
        return dossier
    sought = find_lookups(dossier)
    if not (sought.definitions or sought.paths):
        return dossier
    lookups = look_up(request, dossier, sought)
    files = (*(dossier.files or ()), *(HeadFile(path=path, exists=False) for path in lookups.absent_paths))
    return dossier.model_copy(update={"lookups": lookups.names} | ({"files": files} if lookups.absent_paths else {}))


def with_frozen_text(dossier: Dossier, request: JudgeRequest, deps: JudgingDependencies) -> Dossier:
    """Freeze the author's text at the head's last verdict after one judged edit, so that further edits trigger no judging.

    Issues with unchanged links count in their current state. Without a kept dossier only the case is frozen.
    """
    text, head_sha = author_text(dossier), dossier.pull_request.head_sha
    edited_at = request.requested_at if request.trigger in AUTHOR_EDIT_TRIGGERS else None
    if classify_text(dossier.ledger, head_sha, text, edited_at) is not TextChange.FROZEN:
        return dossier
    last = find_judged_entries(dossier.ledger, head_sha)[-1]
    frozen = dossier.model_copy(update={"case": last.case, "case_error": last.verdict.case_error})
    if (
        text.has_same_task(author_text_of(last))
        or deps.find_dossier is None
        or (kept := deps.find_dossier(last.eval_id)) is None
    ):
        return frozen
    then = kept.pull_request
    pull = dossier.pull_request.model_copy(update={"title": then.title, "body": then.body})
    return frozen.model_copy(update={"pull_request": pull, "issues": kept.issues, "criteria": kept.criteria})


def with_last_good_config(dossier: Dossier, request: JudgeRequest, deps: JudgingDependencies) -> Dossier:
    """The dossier with the last valid configuration beside an invalid one. A recorded policy stays."""
    if deps.configs is None or "policy" in dossier.model_fields_set:
        return dossier
    from worker.dossier.config import with_last_good  # noqa: PLC0415 - a laptop remembers none

    return with_last_good(dossier, request.pull, deps.configs)


def with_repository_wait(dossier: Dossier, patience: CiWaitPolicy) -> CiWaitPolicy:
    """The wait policy with the repository's `ci_wait`."""
    if not dossier.config:
        return patience
    from worker.dossier.config import ci_wait  # noqa: PLC0415 - most repositories choose nothing

    longest = max(patience.longest_wait, patience.longest_required_wait)
    wait = ci_wait(dossier, longest)
    return patience if wait is None else replace(patience, longest_wait=wait, longest_required_wait=wait)


def with_demotions(dossier: Dossier, demoted: frozenset[str]) -> Dossier:
    """The dossier with demotions in its policy, so that the record has them. The repository's own settings win."""
    if not demoted:
        return dossier
    policy = dossier.policy or Policy()
    signals = {**dict.fromkeys(sorted(demoted), "suspicion"), **policy.signals}
    return dossier.model_copy(update={"policy": policy.model_copy(update={"signals": signals})})


def with_push_time(dossier: Dossier, request: JudgeRequest) -> Dossier:
    """The dossier with the time when its head was announced, by which rounds are counted; unknown without a delivery."""
    pull, came = dossier.pull_request, request.arrived
    if came is None and request.trigger in HEAD_TRIGGERS and request.head_sha is not None:
        came = FirstSeen(head_sha=request.head_sha, at=request.requested_at)
    if came is None or came.head_sha != pull.head_sha or pull.pushed_at is not None:
        return dossier
    return dossier.model_copy(update={"pull_request": pull.model_copy(update={"pushed_at": came.at})})


def is_new_head_only(request: JudgeRequest) -> bool:
    """Whether the request only announces a head. A manual request is more, whatever came after it."""
    came = request.arrived
    if request.trigger in MANUAL_TRIGGERS:
        return False
    return request.trigger in HEAD_TRIGGERS or (came is not None and came.at == request.requested_at)


def carry_over_or_judge(
    dossier: Dossier, header: EvaluationHeader, context: JudgeContext, *, is_rejudge: bool = False
) -> EvaluatedVerdict:
    """Carry over the verdict on the same content, or judge. A contest and a rejudge always judge."""
    carried_over = None if dossier.contest or is_rejudge else carry_over_verdict(dossier, header, context)
    if carried_over is None:
        return judge_with_record(dossier, header, context)
    return EvaluatedVerdict(carried_over, carry_over_record(carried_over, context.with_chosen_model(dossier.policy)))


def find_ci_wait(dossier: Dossier, now: datetime, patience: CiWaitPolicy) -> CiWait | None:
    """The checks to wait for; None: none is pending, one failed, CI is skipped, or the wait is over.

    A required check without a report may start after those that run, so it counts while they do. Alone, it may never start.
    """
    if dossier.ci is None or dossier.ci.silenced or dossier.ci.state is not CiState.PENDING:
        return None
    # an approval, which some checks wait for, sends a delivery of its own
    running = [check for check in dossier.ci.checks if check.conclusion is None and check.status != AWAITING_APPROVAL]
    is_running = any(check.status != NOT_REPORTED for check in running)
    until = patience.deadline(now, is_required=is_running and any(check.required for check in running))
    return CiWait(tuple(check.name for check in running), until) if running and now < until else None


def find_recorded_verdict(
    request: JudgeRequest, dossier: Dossier, header: EvaluationHeader, rejudge_requested_at: datetime | None = None
) -> Accept | Reject | Abstain | None:
    """The recorded verdict that answers this request: its judge died before publishing it, or was ahead of the delivery.

    *rejudge_requested_at*: when a rejudge was requested. An earlier verdict is no answer to it, and neither is a later abstain to later
    requests, unless it leaves the decision to a person.
    """
    last = dossier.ledger[-1] if dossier.ledger else None
    if last is None or last.head_sha != dossier.pull_request.head_sha or header.fingerprint != last.fingerprint:
        return None
    # a sweep is answered by a decision, or by an abstain that another judging would repeat
    is_repeated = not isinstance(last.verdict, Abstain) or last.verdict.abstain_reason in UNDECIDED_REASONS
    answers = (
        is_new_head_only(request)
        or last.created_at >= request.requested_at
        or (request.trigger is Trigger.SWEEP and is_repeated)
    )
    if rejudge_requested_at is not None:
        is_ruled = not isinstance(last.verdict, Abstain) or needs_human(last.verdict)
        answers = last.created_at >= rejudge_requested_at and (answers or is_ruled)
    return last.verdict if answers else None


@dataclass(frozen=True)
class SpendingPolicy:
    """`may_write`: whether an account may write in the repository, by GitHub's own answer."""

    decisions: Decisions
    may_write: Callable[[JudgeRequest, str], bool]

    def is_allowed(self, request: JudgeRequest, dossier: Dossier) -> bool:
        """Whether a model may be asked. Raises on GitHub's outages. A branch of the repository itself proves write access."""
        if request.trigger in MANUAL_TRIGGERS:
            self.decisions.mark_vouched(request.pull)
            return True
        pull = dossier.pull_request
        if not pull.is_from_fork or config_of(dossier).ask_model_for is AskModelFor.EVERYONE:
            return True
        return self.decisions.is_vouched(request.pull) or self.may_write(request, pull.author)


RENEWALS_PER_LEASE: Final = 4
"""Renewals within one lease."""


@contextmanager
def renewing_lease(lease: Lease, lease_s: float) -> Generator[None]:
    """Renew *lease* until the block ends. Not across a fork: enter it inside the job. A lost lease shows at the next write."""
    stop = threading.Event()
    carried = copy_context()  # log context of the judging, for the renewal thread
    heart = threading.Thread(
        target=carried.run,
        args=(_renew_lease, lease, lease_s / RENEWALS_PER_LEASE, stop),
        name="heartbeat",
        daemon=True,
    )
    heart.start()
    try:
        yield
    finally:
        stop.set()
        heart.join()


def _renew_lease(lease: Lease, every_s: float, stop: threading.Event) -> None:
    while not stop.wait(every_s):
        try:
            lease.renew()
        except Unavailable as error:
            import logging  # noqa: PLC0415 - 2 ms of every judging on a laptop, which logs nothing else

            logging.getLogger(__name__).warning("lease not renewed: %s", error)
        except LeaseLost:
            return
