"""Answer merge groups: carry over the accept of their pull request, stop them, wait for its verdict, or judge the group's own change.

A group passes by a recorded accept of what it changes, or where its pull request passes without one; the answer is held back if any event
of the pull request came since it was read. A group is done once its check is concluded, and a recorded answer is published, not made
again. A verdict on a group is recorded beside the accept, shown to no judge, and counts as no round.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, assert_never

from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.merge_group import GroupEnd, GroupRefusal, MergeGroup, find_pull_number
from worker.domain.dossier import Dossier, PullRequest
from worker.domain.ids import CheckRunId, DeliveryId, EvalId, InstallationId, RepositoryId, Sha, eval_id_after
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.work import LeasedGroup, PendingGroup, QueuedGroup
from worker.domain.ports import Clock, Fence, Ledger
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.domain.verdict.events import EvalTrigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.errors import AssayError, SubjectGone, Unavailable, unavailable_if_recent
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.judge.judge import fingerprint_of, judge_with_record
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
    group_standing,
    is_entry_of,
    is_same_change,
    newest_entry,
)
from worker.log import late_delivery_id
from worker.publishing.check_runs import no_lease
from worker.publishing.texts import merge_group as texts
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.merge_group import GroupLocation
from worker.publishing.texts.phrases import CHECK_EXPIRED
from worker.scheduling.outcomes import derived_entry, whole_evaluation_events
from worker.scheduling.record import EventPublishing, VerdictStores, record_beside

JUDGING_POLL: Final = timedelta(seconds=1)
"""Between looks at a group whose pull request is being judged: this asks Redis alone."""

GITHUB_POLL: Final = timedelta(seconds=10)
"""The same where GitHub is asked."""

ABANDON_AFTER: Final = timedelta(hours=6)
"""When to give up a check that can't be updated, after its deadline: GitHub's queue waits no longer for any check."""

NO_DELAY: Final = timedelta(0)
PASSING: Final = frozenset({Conclusion.SUCCESS, Conclusion.NEUTRAL, Conclusion.SKIPPED})
"""Conclusions with which GitHub merges."""

NO_RESULT: Final = "Assay tried {tries} times and came to no end."


class GroupPullHead(Protocol):
    """The newest commit of a pull request."""

    @property
    def sha(self) -> Sha: ...

    @property
    def is_closed(self) -> bool: ...


class GroupSource(Protocol):
    """GitHub's side of groups (`worker.adapters.github.merge_groups`)."""

    def head(self, group: MergeGroup, number: int) -> GroupPullHead | None: ...

    def published(self, group: MergeGroup, number: int, head_sha: Sha) -> PublishedCheckRun | None: ...

    def diff(self, group: MergeGroup) -> str | None: ...


class GroupCheck(Protocol):
    """The one check run of each group."""

    def show(self, group: MergeGroup, number: int, content: CheckContent, fence: Fence) -> None: ...

    def is_open(self, group: MergeGroup) -> bool: ...

    def expire(self, group: MergeGroup, check: CheckRunId, content: CheckContent) -> bool: ...


class GroupQueue(Protocol):
    """Groups without an answer (`worker.adapters.redis.judging.merge_groups`)."""

    def postpone(self, queued: QueuedGroup, delay: timedelta) -> None: ...

    def complete(self, group: MergeGroup) -> None: ...

    def reopen(
        self, commit: tuple[InstallationId, RepositoryId, Sha], delivery_id: DeliveryId, at: datetime
    ) -> object: ...

    def dispatch(self, group: MergeGroup) -> str | None: ...

    def settled_at(self, pull: PullRef) -> int | None:
        """The number of the last event of a pull request; None: a judging is due."""
        ...


class GroupDossiers(Protocol):
    """The dossiers of verdicts, while they are kept."""

    def find(self, eval_id: EvalId) -> Dossier | None: ...


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
    """A group, its pull request (number 0: it names none), and the number of that one's last event when it was read."""

    opened: PendingGroup
    location: texts.GroupLocation
    settled_at: int | None

    @property
    def group(self) -> MergeGroup:
        return self.opened.group

    @property
    def pull(self) -> PullRef:
        return self.group.pull_ref(self.location.number)


@dataclass(frozen=True)
class MergeGroupHandler:
    """Answers groups. `submit`: queue a judging of one under this token."""

    queue: GroupQueue
    source: GroupSource
    check: GroupCheck
    ledger: Ledger
    dossiers: GroupDossiers
    submit: Callable[[MergeGroup, str], None]
    clock: Clock
    terms: GroupTerms

    def answer(self, pending: PendingGroup) -> None:
        """Advance a group as far as possible. Idempotent."""
        group, location = pending.group, self._location(pending.group)
        if self.clock.now() >= self._deadline(group) + ABANDON_AFTER:
            self.queue.complete(group)
            return
        settled = self.queue.settled_at(group.pull_ref(location.number)) if location.number else 0
        try:
            if not self._conclude(GroupCase(pending, location, settled)) and group.ended is None:
                return
        except SubjectGone as gone:  # the repository is gone, or the App in it
            late = unavailable_if_recent("the merge group", gone, group.at, self.clock.now())
            if late is not None and group.ended is None:
                raise late from gone
        self.queue.complete(group)

    def _conclude(self, case: GroupCase) -> bool:
        """Conclude the group's check. False: there is no conclusion, or not yet."""
        content = self._conclusion(case)
        if content is None:
            return False
        try:
            self.check.show(case.group, case.location.number, content, self._fence(case, content.conclusion))
        except GroupOutdated:
            if (late := self._wait(case, None, JUDGING_POLL)) is None:
                return False
            self.check.show(case.group, case.location.number, late, no_lease)
        return True

    def _fence(self, case: GroupCase, conclusion: Conclusion | None) -> Fence:
        """A fence that stops a passing conclusion once another event of the pull request came."""
        if conclusion not in PASSING or case.group.ended is not None:
            return no_lease

        def stands() -> None:
            if self.queue.settled_at(case.pull) != case.settled_at:
                raise GroupOutdated

        return stands

    def expire(self, group: MergeGroup, check: CheckRunId) -> None:
        """Close the check of a group past its deadline. An answer that was written meanwhile is shown again."""
        content = (
            texts.group_failed_content(self._location(group), CHECK_EXPIRED)
            if group.ended is None
            else texts.ended_content(group.ended)
        )
        if not self.check.expire(group, check, content):
            location = (group.installation_id, group.repository_id, group.head_sha)
            self.queue.reopen(location, late_delivery_id(group.delivery_id), self.clock.now())

    def _location(self, group: MergeGroup) -> texts.GroupLocation:
        """The group's pull request; number 0: it names none."""
        number = find_pull_number(group.head_ref, group.base_ref)
        return texts.GroupLocation(
            self.terms.site_url, group.repository, 0 if isinstance(number, GroupRefusal) else number
        )

    def _conclusion(self, case: GroupCase) -> CheckContent | None:
        """The conclusion of the group's check; None: there is none, or not yet."""
        pending, location = case.opened, case.location
        if case.group.ended is not None:
            return self._ended_content(case, case.group.ended)
        if not location.number:
            return texts.stopped_content(location, GroupStops(GroupStopReason.STRANGE_REF))
        if pending.queued.failed:
            return texts.group_failed_content(location, pending.queued.failed)
        if self._has_failed_too_often(case):
            return texts.group_failed_content(location, NO_RESULT.format(tries=pending.attempt - 1))
        if pending.attempt > 1:
            self._show_looking(case)
        try:
            return self._by_pull_request(case)
        except Unavailable:
            with suppress(Unavailable):  # the first error counts, not that of showing it
                self._show_looking(case)
            raise

    def _has_failed_too_often(self, case: GroupCase) -> bool:
        """Whether the attempts are used up. A group with a recorded answer gets as many again to publish it."""
        tries, most = case.opened.attempt, self.terms.attempts + 1
        if most < tries <= 2 * most:
            return not any(is_entry_of(case.group, entry) for entry in self.ledger.entries(case.pull))
        return tries > most

    def _show_looking(self, case: GroupCase) -> None:
        """Show the first content of the check; most answers are faster and need none."""
        if not self.check.is_open(case.group):
            self.check.show(case.group, case.location.number, texts.looking_content(case.location), no_lease)

    def _ended_content(self, case: GroupCase, end: GroupEnd) -> CheckContent | None:
        return texts.ended_content(end) if self.check.is_open(case.group) else None

    def _by_pull_request(self, case: GroupCase) -> CheckContent | None:
        group, number = case.group, case.location.number
        if case.settled_at is None and self.clock.now() < self._deadline(group):
            return self._wait(case, None, JUDGING_POLL)
        head = self.source.head(group, number)
        if head is None:
            return texts.stopped_content(case.location, GroupStops(GroupStopReason.CLOSED))
        entries = self.ledger.entries(case.pull)
        published = self.source.published(group, number, head.sha)
        standing = group_standing(GroupPullRequest(head.is_closed, published, newest_entry(entries, head.sha)))
        if isinstance(standing, GroupAccepted) and case.settled_at is None:  # it is judged again, past the deadline
            standing = GroupWaits()
        match standing:
            case GroupWaits():
                return self._wait(case, published, GITHUB_POLL)
            case GroupStops():
                return texts.stopped_content(case.location, standing)
            case GroupPasses():
                return texts.passed_content(case.location, standing)
            case GroupAccepted():
                return self._accepted(case, standing, entries)
            case _:
                assert_never(standing)

    def _wait(self, case: GroupCase, published: PublishedCheckRun | None, delay: timedelta) -> CheckContent | None:
        """Postpone the group; past the deadline, stop it."""
        until, queued = self._deadline(case.group), case.opened.queued
        left = until - self.clock.now()
        if left <= NO_DELAY:
            return texts.stopped_content(case.location, GroupStops(GroupStopReason.TOO_LATE, published))
        if not queued.waits:
            self.check.show(case.group, case.location.number, texts.waiting_content(case.location, until), no_lease)
        self.queue.postpone(queued.model_copy(update={"waits": True}), min(delay, left))
        return None

    def _deadline(self, group: MergeGroup) -> datetime:
        return group.at + self.terms.wait

    def _accepted(
        self, case: GroupCase, accepted: GroupAccepted, entries: tuple[LedgerEntry, ...]
    ) -> CheckContent | None:
        group, location, parent = case.group, case.location, accepted.entry
        answer = find_answer(entries, group, parent)
        if answer is None:
            diff = self.source.diff(group)
            if diff is None:
                return texts.stopped_content(location, GroupStops(GroupStopReason.NOT_SHOWN, accepted.published))
            if not is_same_change(diff, parent, self.dossiers.find(parent.eval_id)):
                return self._dispatch(case)
            self._carry_over(case, accepted, entries)
        elif answer.verdict.carried_from is None:
            return judged_group_content(location, answer, parent, self.dossiers.find(answer.eval_id))
        return texts.carried_over_content(location, accepted.accept, accepted.published)

    def _carry_over(self, case: GroupCase, accepted: GroupAccepted, entries: tuple[LedgerEntry, ...]) -> None:
        """Record the accept for the group, beside the verdict that it carries over."""
        at = self.clock.now()
        eval_id = eval_id_after(at, (entry.eval_id for entry in entries))
        verdict = carry_over_accept(accepted.accept, case.group.head_sha, eval_id, at)
        made = derived_entry(accepted.entry, verdict).model_copy(update={"head_sha": case.group.head_sha})
        self.ledger.append(case.pull, made, whole_evaluation_events(made, EvalTrigger.BUS))

    def _dispatch(self, case: GroupCase) -> None:
        """Queue a judging of the group. The check is updated first, since the judge may be fast."""
        self.check.show(case.group, case.location.number, texts.group_judging_content(case.location), no_lease)
        if token := self.queue.dispatch(case.group):
            self.submit(case.group, token)


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


@dataclass(frozen=True)
class GroupJudgement:
    """A verdict on a group and its dossier."""

    evaluated: EvaluatedVerdict
    dossier: Dossier


class GroupJudging(Protocol):
    """Opens the dossier and the judge of a group."""

    def judge_dossier(
        self, request: JudgeRequest, taken: LeasedGroup, hold: Callable[[Dossier, JudgeContext], EvaluatedVerdict]
    ) -> GroupJudgement: ...


@dataclass(frozen=True)
class GroupJudge:
    """Judges groups."""

    queue: GroupQueue
    source: GroupSource
    check: GroupCheck
    judging: GroupJudging
    ledger: Ledger
    stores: VerdictStores
    publishing: EventPublishing
    clock: Clock
    site_url: str

    def judge(self, leased: LeasedGroup) -> None:
        """Judge a group, record the verdict and show it on the group's check.

        A group that needs no judging is requeued, and so is one whose pull request had another event meanwhile: the base of its accept may
        have changed, and of this verdict with it.
        """
        group, number = leased.lease.group, find_pull_number(leased.lease.group.head_ref, leased.lease.group.base_ref)
        pull = None if isinstance(number, GroupRefusal) else group.pull_ref(number)
        settled = None if pull is None else self.queue.settled_at(pull)
        head = None if pull is None or settled is None else self.source.head(group, pull.number)
        entries = () if pull is None or head is None else self.ledger.entries(pull)
        parent = None if pull is None or head is None else self._current_accept(group, pull, head, entries)
        if pull is None or head is None or parent is None or find_answer(entries, group, parent):
            self.queue.postpone(leased.pending.queued, NO_DELAY)
            return
        request = _request(group, pull, head.sha)
        tried = self.judging.judge_dossier(
            request, leased, lambda dossier, context: self._judge(dossier, parent, entries, context)
        )
        leased.lease.renew()
        entry = record_beside(parent, tried.evaluated, tried.dossier, self.stores, self.publishing)
        content = judged_group_content(
            GroupLocation(self.site_url, group.repository, pull.number), entry, parent, tried.dossier
        )

        def stands() -> None:
            leased.lease.renew()
            if self.queue.settled_at(pull) != settled:
                raise GroupOutdated

        try:
            stands()
            self.check.show(group, pull.number, content, stands)
        except GroupOutdated:
            self.queue.postpone(leased.pending.queued, NO_DELAY)
        else:
            self.queue.complete(group)

    def _current_accept(
        self, group: MergeGroup, pull: PullRef, head: GroupPullHead, entries: tuple[LedgerEntry, ...]
    ) -> LedgerEntry | None:
        """The current accept of the group's pull request; None: there is none."""
        published = self.source.published(group, pull.number, head.sha)
        standing = group_standing(GroupPullRequest(head.is_closed, published, newest_entry(entries, head.sha)))
        return standing.entry if isinstance(standing, GroupAccepted) else None

    def _judge(
        self, dossier: Dossier, parent: LedgerEntry, entries: tuple[LedgerEntry, ...], context: JudgeContext
    ) -> EvaluatedVerdict:
        at = self.clock.now()
        commit = {"kind": SubjectKind.MERGE_GROUP, "head_sha": dossier.pull_request.head_sha}
        subject = parent.verdict.subject.model_copy(update=commit)
        header = EvaluationHeader(
            eval_id_after(at, (entry.eval_id for entry in entries)),
            subject,
            at,
            fingerprint_of(dossier, context),
            self.clock.monotonic_ms,
            parent.eval_id,
        )
        return judge_with_record(dossier, header, context)


def _request(group: MergeGroup, pull: PullRef, head_sha: Sha) -> JudgeRequest:
    """A request for the group's pull request at its newest head."""
    return JudgeRequest(
        pull=pull,
        repository=group.repository,
        head_sha=head_sha,
        trigger=Trigger.SWEEP,
        delivery_id=group.delivery_id,
        requested_at=group.at,
    )
