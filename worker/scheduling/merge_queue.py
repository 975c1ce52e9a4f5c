"""Answers merge groups: carries the accept of their pull request over, says why not, waits for it, or has them judged.

Does not talk to GitHub or Redis: it is given ports. Invariant: a group passes only by an accept that is on record for what
it changes, or where its pull request passes without one, and not once we were told anything of that pull request since it was
looked at; a group is done only once its check says how it ended; and an answer that was recorded is published, not made again.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, Protocol, assert_never

from worker.adapters.redis.merge_groups import OpenGroup, QueuedGroup
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.merge_group import GroupEnd, MergeGroup, Refusal, pull_of
from worker.domain.dossier.dossier import Dossier, PullRequest
from worker.domain.ids import CheckRunId, DeliveryId, EvalId, InstallationId, RepositoryId, Sha, eval_id_after
from worker.domain.ports import Clock, Fence, Ledger
from worker.domain.request.judge_request import PullRef
from worker.domain.value import Value
from worker.domain.verdict.events import EvalTrigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import AssayError, Gone, Unavailable, not_found_yet
from worker.judge.merge_group import (
    Accepted,
    Member,
    Passes,
    Published,
    Stops,
    Waits,
    Why,
    answered,
    carried_over,
    is_of,
    is_same_change,
    newest,
    standing,
)
from worker.publishing.check_runs import no_lease
from worker.publishing.texts import merge_group as texts
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.phrases import OVERDUE
from worker.scheduling.outcomes import beside, told_whole
from worker.traces import told_late

SOON: Final = timedelta(seconds=1)
"""How soon a group is looked at again whose pull request is being judged: that asks Redis alone."""

LATER: Final = timedelta(seconds=10)
"""The same, where GitHub has to be asked."""

ABANDONED: Final = timedelta(hours=6)
"""How long past its deadline a group is tried at whose check can't be told: GitHub's queue waits no longer for any check."""

AT_ONCE: Final = timedelta(0)
PASSING: Final = frozenset({Conclusion.SUCCESS, Conclusion.NEUTRAL, Conclusion.SKIPPED})
"""What lets GitHub merge."""

NO_END: Final = "Assay tried {tries} times and came to no end."


class Tip(Protocol):
    """The newest commit of a pull request."""

    @property
    def sha(self) -> Sha: ...

    @property
    def is_closed(self) -> bool: ...


class GroupSource(Protocol):
    """GitHub, as far as groups need it (`worker.adapters.github.merge_groups`)."""

    def head(self, group: MergeGroup, number: int) -> Tip | None: ...

    def published(self, group: MergeGroup, number: int, head_sha: Sha) -> Published | None: ...

    def diff(self, group: MergeGroup) -> str | None: ...


class Screen(Protocol):
    """The one check run of each group."""

    def show(self, group: MergeGroup, number: int, content: CheckContent, fence: Fence) -> None: ...

    def is_open(self, group: MergeGroup) -> bool: ...

    def expire(self, group: MergeGroup, check: CheckRunId, content: CheckContent) -> bool: ...


class Waiting(Protocol):
    """Groups that nobody answered yet (`worker.adapters.redis.merge_groups`)."""

    def later(self, queued: QueuedGroup, delay: timedelta) -> None: ...

    def done(self, group: MergeGroup) -> None: ...

    def again(
        self, place: tuple[InstallationId, RepositoryId, Sha], delivery_id: DeliveryId, at: datetime
    ) -> object: ...

    def give(self, group: MergeGroup) -> str | None: ...

    def settled_at(self, pull: PullRef) -> int | None:
        """The number of what was heard last of it; None: somebody is to judge it."""
        ...


class Dossiers(Protocol):
    """What verdicts were made from, as long as that is kept."""

    def find(self, eval_id: EvalId) -> Dossier | None: ...


class Terms(Value):
    """`wait`: how long a group waits for its pull request's verdict. `attempts`: how often it is tried to answer one."""

    wait: timedelta
    attempts: int
    site_url: str


class Unsettled(AssayError):
    """Something was told of a group's pull request since it was looked at: what it is to be told may count no more."""


class Case(Value):
    """A group, how far it got, and what was heard last of the pull request that it names (0: it names none) when it was looked at."""

    opened: OpenGroup
    place: texts.Place
    settled: int | None

    @property
    def group(self) -> MergeGroup:
        return self.opened.group

    @property
    def pull(self) -> PullRef:
        return self.group.member(self.place.number)


class GroupClerk(Value):
    """Answers groups. `submit` has a worker judge one, under this name."""

    waiting: Waiting
    source: GroupSource
    screen: Screen
    ledger: Ledger
    dossiers: Dossiers
    submit: Callable[[MergeGroup, str], None]
    clock: Clock
    terms: Terms

    def answer(self, opened: OpenGroup) -> None:
        """Do what can be done about a group now. May be called again."""
        group, place = opened.group, self._place(opened.group)
        if self.clock.now() >= self._deadline(group) + ABANDONED:
            self.waiting.done(group)
            return
        settled = self.waiting.settled_at(group.member(place.number)) if place.number else 0
        try:
            if not self._is_told(Case(opened, place, settled)) and group.ended is None:
                return
        except Gone as gone:  # the repository, or the App in it: nobody waits for this group
            late = not_found_yet("the merge group", gone, group.at, self.clock.now())
            if late is not None and group.ended is None:
                raise late from gone
        self.waiting.done(group)

    def _is_told(self, case: Case) -> bool:
        """Say how it ends. False: there is nothing to say, or not yet."""
        content = self._answer(case)
        if content is None:
            return False
        try:
            self.screen.show(case.group, case.place.number, content, self._fence(case, content.conclusion))
        except Unsettled:
            if (late := self._wait(case, None, SOON)) is None:
                return False
            self.screen.show(case.group, case.place.number, late, no_lease)
        return True

    def _fence(self, case: Case, conclusion: Conclusion | None) -> Fence:
        """What lets a merge pass counts as long as nothing was told of the pull request that it was made from."""
        if conclusion not in PASSING or case.group.ended is not None:
            return no_lease

        def stands() -> None:
            if self.waiting.settled_at(case.pull) != case.settled:
                raise Unsettled

        return stands

    def expire(self, group: MergeGroup, check: CheckRunId) -> None:
        """Close the check of a group that nobody answered in time. An answer that came while this was written is shown again."""
        content = texts.failed(self._place(group), OVERDUE) if group.ended is None else texts.ended(group.ended)
        if not self.screen.expire(group, check, content):
            place = (group.installation_id, group.repository_id, group.head_sha)
            self.waiting.again(place, told_late(group.delivery_id), self.clock.now())

    def _place(self, group: MergeGroup) -> texts.Place:
        """Which pull request it tries; 0: it names none."""
        number = pull_of(group.head_ref, group.base_ref)
        return texts.Place(self.terms.site_url, group.repository, 0 if isinstance(number, Refusal) else number)

    def _answer(self, case: Case) -> CheckContent | None:
        """How the group's check ends; None: there is nothing to show, or not yet."""
        opened, place = case.opened, case.place
        if case.group.ended is not None:
            return self._unfinished(case, case.group.ended)
        if not place.number:
            return texts.stopped(place, Stops(Why.STRANGE_REF))
        if opened.queued.failed:
            return texts.failed(place, opened.queued.failed)
        if self._comes_to_no_end(case):
            return texts.failed(place, NO_END.format(tries=opened.attempt - 1))
        if opened.attempt > 1:
            self._look(case)
        try:
            return self._by_its_pull(case)
        except Unavailable:
            with suppress(Unavailable):  # what kept us from the answer is told, not what kept us from saying so
                self._look(case)
            raise

    def _comes_to_no_end(self, case: Case) -> bool:
        """Whether it was tried often enough. What got as far as a verdict kills no judge: as often again it is tried to publish that."""
        tries, most = case.opened.attempt, self.terms.attempts + 1
        if most < tries <= 2 * most:
            return not any(is_of(case.group, one) for one in self.ledger.entries(case.pull))
        return tries > most

    def _look(self, case: Case) -> None:
        """Say that the answer takes longer than the moment that it mostly takes: then it is the first word."""
        if not self.screen.is_open(case.group):
            self.screen.show(case.group, case.place.number, texts.looking(case.place), no_lease)

    def _unfinished(self, case: Case, end: GroupEnd) -> CheckContent | None:
        return texts.ended(end) if self.screen.is_open(case.group) else None

    def _by_its_pull(self, case: Case) -> CheckContent | None:
        group, number = case.group, case.place.number
        if case.settled is None and self.clock.now() < self._deadline(group):
            return self._wait(case, None, SOON)
        head = self.source.head(group, number)
        if head is None:
            return texts.stopped(case.place, Stops(Why.CLOSED))
        entries = self.ledger.entries(case.pull)
        published = self.source.published(group, number, head.sha)
        found = standing(Member(head.is_closed, published, newest(entries, head.sha)))
        if isinstance(found, Accepted) and case.settled is None:  # it is judged again, past the deadline
            found = Waits()
        match found:
            case Waits():
                return self._wait(case, published, LATER)
            case Stops():
                return texts.stopped(case.place, found)
            case Passes():
                return texts.passed(case.place, found)
            case Accepted():
                return self._accepted(case, found, entries)
            case _:
                assert_never(found)

    def _wait(self, case: Case, published: Published | None, delay: timedelta) -> CheckContent | None:
        """Look again after a while; past the deadline there is no verdict."""
        until, queued = self._deadline(case.group), case.opened.queued
        left = until - self.clock.now()
        if left <= AT_ONCE:
            return texts.stopped(case.place, Stops(Why.TOO_LATE, published))
        if not queued.waits:
            self.screen.show(case.group, case.place.number, texts.waiting(case.place, until), no_lease)
        self.waiting.later(queued.model_copy(update={"waits": True}), min(delay, left))
        return None

    def _deadline(self, group: MergeGroup) -> datetime:
        return group.at + self.terms.wait

    def _accepted(self, case: Case, found: Accepted, entries: tuple[LedgerEntry, ...]) -> CheckContent | None:
        group, place, parent = case.group, case.place, found.entry
        known = answered(entries, group, parent)
        if known is None:
            diff = self.source.diff(group)
            if diff is None:
                return texts.stopped(place, Stops(Why.NOT_SHOWN, found.published))
            if not is_same_change(diff, parent, self.dossiers.find(parent.eval_id)):
                return self._hand_over(case)
            self._carry_over(case, found, entries)
        elif known.verdict.carried_from is None:
            return judged_content(place, known, parent, self.dossiers.find(known.eval_id))
        return texts.carried(place, found.accept, found.published)

    def _carry_over(self, case: Case, found: Accepted, entries: tuple[LedgerEntry, ...]) -> None:
        """Record the accept for the group, beside the verdict that it stands for."""
        at = self.clock.now()
        eval_id = eval_id_after(at, (one.eval_id for one in entries))
        verdict = carried_over(found.accept, case.group.head_sha, eval_id, at)
        made = beside(found.entry, verdict).model_copy(update={"head_sha": case.group.head_sha})
        self.ledger.append(case.pull, made, told_whole(made, EvalTrigger.BUS))

    def _hand_over(self, case: Case) -> None:
        """Have a worker judge it. Its own words come first: the judge may be faster than this."""
        self.screen.show(case.group, case.place.number, texts.judging(case.place), no_lease)
        if token := self.waiting.give(case.group):
            self.submit(case.group, token)


def judged_content(
    place: texts.Place, known: LedgerEntry, parent: LedgerEntry, dossier: Dossier | None
) -> CheckContent:
    """What the check of a group says that was judged. Where its dossier is not kept, the verdict has to do."""
    content = check_content(known.verdict, dossier or _bare(known), place.site_url)
    return texts.judged(place, content, parent.eval_id)


def _bare(known: LedgerEntry) -> Dossier:
    """A dossier of which only is known what its verdict says."""
    subject = known.verdict.subject
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
