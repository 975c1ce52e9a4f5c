"""Answer merge groups: carry over the accept of their pull request, stop them, wait for its verdict, or judge the group's own change.

A group passes by a recorded accept of what it changes, or where its pull request passes without one; the answer is held back if any event
of the pull request came since it was read. A group is done once its check is concluded, and a recorded answer is published, not made
again. A verdict on a group is recorded beside the accept, shown to no judge, and counts as no round.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, assert_never

from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.dossier import Dossier, PullRequest
from worker.domain.github_events import NO_PULL, MergeGroup
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.work import GroupLease, LeasedGroup, PendingGroup
from worker.domain.model import CheckRunId
from worker.domain.ports import Clock, DossierLookup, Fence, Ledger
from worker.domain.verdict.events import EvalTrigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.errors import AssayError, SubjectGone, Unavailable, unavailable_if_recent
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.judge.fingerprint import fingerprint_of
from worker.judge.judge import judge_with_record
from worker.judge.merge_group import (
    GroupAccepted,
    GroupPasses,
    GroupPullRequest,
    GroupStopReason,
    GroupStops,
    GroupWaits,
    PublishedCheckRun,
    carry_over_accept,
    find_answer,
    group_member_state,
    is_entry_of,
    is_same_change,
    newest_entry,
)
from worker.judge.outcome_scores import next_eval_id
from worker.log import late_delivery_id
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.texts import merge_group as texts
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.phrases import CHECK_EXPIRED
from worker.scheduling.outcomes import derived_entry, whole_evaluation_events
from worker.scheduling.ports import MergeGroups
from worker.scheduling.record import EventPublishing, VerdictStores, record_beside
from worker.scheduling.retry import NO_RESULT

JUDGING_POLL: Final = timedelta(seconds=1)
"""Between looks at a group whose pull request is being judged: this asks Redis alone."""

GITHUB_POLL: Final = timedelta(seconds=10)
"""The same where GitHub is asked."""

ABANDON_AFTER: Final = timedelta(hours=6)
"""When to give up a check that can't be updated, after its deadline: GitHub's queue waits no longer for any check."""

NO_DELAY: Final = timedelta(0)
PASSING: Final = frozenset({Conclusion.SUCCESS, Conclusion.NEUTRAL, Conclusion.SKIPPED})
"""Conclusions with which GitHub merges."""


class GroupSource(Protocol):
    """GitHub's side of groups (`worker.adapters.github.merge_groups`)."""

    def pull_request(self, group: MergeGroup) -> GroupPullRequest | None:
        """The pull request that it tries; None: there is none."""
        ...

    def diff(self, group: MergeGroup) -> str | None:
        """The diff of the group; None: GitHub can't show it."""
        ...


OpenGroupJudging = Callable[[JudgeRequest, GroupLease], AbstractContextManager[tuple[Dossier, JudgeContext]]]
"""Opens the dossier and the judge of a group, by a request for its pull request."""


@dataclass(frozen=True)
class GroupTerms:
    """`wait`: the longest wait for the pull request's verdict. `attempts`: retries of an answer."""

    wait: timedelta
    attempts: int
    site_url: str


class GroupOutdated(AssayError):
    """An event of the group's pull request came since it was read, so its answer may be stale."""


@dataclass(frozen=True)
class GroupCase:
    """A group, where its pull request is shown, and the number of that one's last event when it was read."""

    pending: PendingGroup
    location: texts.GroupLocation
    settled_at: int | None

    @property
    def group(self) -> MergeGroup:
        return self.pending.group

    @property
    def lease(self) -> GroupLease | None:
        """None: it is answered from what is on record alone."""
        return self.pending.lease if isinstance(self.pending, LeasedGroup) else None


@dataclass(frozen=True)
class MergeGroupHandler:
    """Answers groups. `submit`: queue a judging of one under this token. `open_check`: its check run, written under this fence."""

    queue: MergeGroups
    source: GroupSource
    open_check: Callable[[MergeGroup, Fence], CheckRunService]
    open_judging: OpenGroupJudging
    submit: Callable[[MergeGroup, str], None]
    ledger: Ledger
    dossiers: DossierLookup
    stores: VerdictStores
    publishing: EventPublishing
    clock: Clock
    terms: GroupTerms

    def answer(self, pending: PendingGroup) -> None:
        """Advance a group as far as possible: without a lease, up to queueing its judging. Idempotent. Raises LeaseLost."""
        group = pending.group
        if self.clock.now() >= self._deadline(group) + ABANDON_AFTER:
            self.queue.complete(group)
            return
        settled_at = self.queue.settled_at(group.pull) if group.number else 0
        try:
            if not self._conclude(GroupCase(pending, self._location(group), settled_at)) and group.ended is None:
                return
        except SubjectGone as gone:  # the repository is gone, or the App in it
            late = unavailable_if_recent("the merge group", gone, group.at, self.clock.now())
            if late is not None and group.ended is None:
                raise late from gone
        self.queue.complete(group)

    def expire(self, group: MergeGroup, check: CheckRunId) -> None:
        """Close the check of a group past its deadline. An answer that was written meanwhile is shown again."""
        content = (
            texts.group_failed_content(self._location(group), CHECK_EXPIRED)
            if group.ended is None
            else texts.ended_content(group.ended)
        )
        if not self.open_check(group, no_lease).expire(_check_request(group), group.head_sha, check, content):
            self.queue.reopen(group.commit, late_delivery_id(group.delivery_id), self.clock.now())

    def _location(self, group: MergeGroup) -> texts.GroupLocation:
        return texts.GroupLocation(self.terms.site_url, group.repository, group.number)

    def _deadline(self, group: MergeGroup) -> datetime:
        return group.at + self.terms.wait

    def _conclude(self, case: GroupCase) -> bool:
        """Conclude the group's check. False: there is no conclusion, or not yet."""
        content = self._conclusion(case)
        if content is None:
            return False
        try:
            self._show(case, content)
        except GroupOutdated:
            self.queue.postpone(case.pending.queued, NO_DELAY)
            return False
        return True

    def _show(self, case: GroupCase, content: CheckContent) -> None:
        """Write the group's check. A passing conclusion, or any of a judge, is held back once its pull request had another event."""
        lease, group = case.lease, case.group
        is_bound = content.conclusion in PASSING or (lease is not None and content.conclusion is not None)

        def fence() -> None:
            if lease is not None:
                lease.renew()
            if is_bound and self.queue.settled_at(group.pull) != case.settled_at:
                raise GroupOutdated

        self.open_check(group, fence).write(_check_request(group), group.head_sha, content)

    def _is_open(self, group: MergeGroup) -> bool:
        return self.open_check(group, no_lease).is_unfinished(_check_request(group), group.head_sha)

    def _show_looking(self, case: GroupCase) -> None:
        """Show the first content of the check; most answers are faster and need none."""
        if not self._is_open(case.group):
            self._show(case, texts.looking_content(case.location))

    def _conclusion(self, case: GroupCase) -> CheckContent | None:
        """The conclusion of the group's check; None: there is none, or not yet."""
        pending, location = case.pending, case.location
        if case.group.ended is not None:
            return texts.ended_content(case.group.ended) if self._is_open(case.group) else None
        if not location.number:
            return texts.stopped_content(location, GroupStops(GroupStopReason.STRANGE_REF))
        if pending.queued.failed:
            return texts.group_failed_content(location, pending.queued.failed)
        if self._has_failed_too_often(pending):
            return texts.group_failed_content(location, NO_RESULT.format(tries=pending.attempt - 1))
        if pending.attempt > 1:
            self._show_looking(case)
        try:
            return self._by_pull_request(case)
        except Unavailable:
            with suppress(Unavailable):  # the first error counts, not that of showing it
                self._show_looking(case)
            raise

    def _has_failed_too_often(self, pending: PendingGroup) -> bool:
        """Whether the attempts are used up. A group with a recorded answer gets as many again to publish it."""
        tries, most = pending.attempt, self.terms.attempts + 1
        if most < tries <= 2 * most:
            return not any(is_entry_of(pending.group, entry) for entry in self.ledger.entries(pending.group.pull))
        return tries > most

    def _by_pull_request(self, case: GroupCase) -> CheckContent | None:
        group, location = case.group, case.location
        if case.settled_at is None and self.clock.now() < self._deadline(group):
            return self._wait(case, None, JUDGING_POLL)
        member = self.source.pull_request(group)
        if member is None:
            return texts.stopped_content(location, GroupStops(GroupStopReason.CLOSED))
        entries = self.ledger.entries(group.pull)
        state = group_member_state(member, newest_entry(entries, member.head_sha))
        if isinstance(state, GroupAccepted) and case.settled_at is None:  # it is judged again, past the deadline
            state = GroupWaits()
        match state:
            case GroupWaits():
                return self._wait(case, member.published, GITHUB_POLL)
            case GroupStops():
                return texts.stopped_content(location, state)
            case GroupPasses():
                return texts.passed_content(location, state)
            case GroupAccepted():
                return self._carry_over_content(case, state, entries)
            case _:
                assert_never(state)

    def _wait(self, case: GroupCase, published: PublishedCheckRun | None, delay: timedelta) -> CheckContent | None:
        """Postpone the group; past the deadline, stop it."""
        until, queued = self._deadline(case.group), case.pending.queued
        left = until - self.clock.now()
        if left <= NO_DELAY:
            return texts.stopped_content(case.location, GroupStops(GroupStopReason.TOO_LATE, published))
        if not queued.waits:
            self._show(case, texts.waiting_content(case.location, until))
        self.queue.postpone(queued.model_copy(update={"waits": True}), min(delay, left))
        return None

    def _carry_over_content(
        self, case: GroupCase, accepted: GroupAccepted, entries: tuple[LedgerEntry, ...]
    ) -> CheckContent | None:
        group, location, parent = case.group, case.location, accepted.entry
        answer = find_answer(entries, group, parent)
        if answer is None and case.lease is not None:
            answer, dossier = self._judge(group, case.lease, parent, entries)
            return judged_group_content(location, answer, parent, dossier)
        if answer is None:
            diff = self.source.diff(group)
            if diff is None:
                return texts.stopped_content(location, GroupStops(GroupStopReason.NOT_SHOWN, accepted.published))
            if not is_same_change(diff, parent, self.dossiers.find(parent.eval_id)):
                self._show(case, texts.group_judging_content(location))  # first, since the judge may be fast
                if token := self.queue.dispatch(group):
                    self.submit(group, token)
                return None
            self._carry_over(group, accepted, entries)
        elif answer.verdict.carried_from is None:
            return judged_group_content(location, answer, parent, self.dossiers.find(answer.eval_id))
        return texts.carried_over_content(location, accepted.accept, accepted.published)

    def _carry_over(self, group: MergeGroup, accepted: GroupAccepted, entries: tuple[LedgerEntry, ...]) -> None:
        """Record the accept for the group, beside the verdict that it carries over."""
        at = self.clock.now()
        verdict = carry_over_accept(accepted.accept, group.head_sha, next_eval_id(at, entries), at)
        made = derived_entry(accepted.entry, verdict).model_copy(update={"head_sha": group.head_sha})
        self.ledger.append(group.pull, made, whole_evaluation_events(made, EvalTrigger.BUS))

    def _judge(
        self, group: MergeGroup, lease: GroupLease, parent: LedgerEntry, entries: tuple[LedgerEntry, ...]
    ) -> tuple[LedgerEntry, Dossier]:
        """Judge the group and record the verdict beside the accept of its pull request."""
        request = group.request(group.number, parent.head_sha, Trigger.SWEEP)
        with self.open_judging(request, lease) as (dossier, context):
            at = self.clock.now()
            commit = {"kind": SubjectKind.MERGE_GROUP, "head_sha": dossier.pull_request.head_sha}
            header = EvaluationHeader(
                next_eval_id(at, entries),
                parent.verdict.subject.model_copy(update=commit),
                at,
                fingerprint_of(dossier, context),
                self.clock.monotonic_ms,
                parent.eval_id,
            )
            evaluated = judge_with_record(dossier, header, context)
        lease.renew()
        return record_beside(parent, evaluated, dossier, self.stores, self.publishing), dossier


def _check_request(group: MergeGroup) -> JudgeRequest:
    """What the group's check run is written for. The commit was made for the group, so a first claim creates the check run."""
    return group.request(NO_PULL, group.head_sha, Trigger.PUSHED)


def judged_group_content(
    location: texts.GroupLocation, entry: LedgerEntry, parent: LedgerEntry, dossier: Dossier | None
) -> CheckContent:
    """The check of a judged group, from its verdict alone where the dossier is not kept."""
    content = check_content(entry.verdict, dossier or _minimal_dossier(entry), location.site_url)
    return texts.group_verdict_content(location, content, parent.eval_id)


def _minimal_dossier(entry: LedgerEntry) -> Dossier:
    """A dossier with the subject of a verdict only."""
    subject = entry.verdict.subject
    pull = PullRequest(
        repository=subject.repository,
        number=subject.number,
        title="",
        body="",
        author="",
        base_sha=subject.head_sha,
        head_sha=subject.head_sha,
    )
    return Dossier(pull_request=pull, diff="")
