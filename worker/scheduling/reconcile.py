"""Catches up with what was missed: deliveries that never arrived, open pull requests whose head has no state, or one of another base.

Does not judge. Invariant: bounded in requests, a delivery is asked for at most MOST_TIMES, and a head that has its check run is
left alone, but where it goes into another base than we heard of.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from worker.domain.ids import BaseMark, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.ports import Clock
from worker.domain.request.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.request.missed_deliveries import OLDEST, Place, Sent, by_turn, missed
from worker.domain.request.open_pulls import OpenPull, OpenRepository, Repository
from worker.domain.value import Value
from worker.errors import Forbidden, Gone, RateLimited, Unavailable
from worker.scheduling.forgotten import Forgotten

LOG: Final = logging.getLogger(__name__)

OVERLAP: Final = timedelta(minutes=10)
"""How much of the time before the last look is looked at again: what was under way then has its end now."""
FIRST_LOOK: Final = timedelta(hours=1)
MOST_AGAIN: Final = 100
"""How many deliveries are asked for in one go: the others wait for the next."""
MOST_IN_A_ROW: Final = 3
"""After so many failures GitHub is taken to be away: the others wait for the next look."""
MOST_FAILED: Final = 3
"""A delivery that GitHub failed to make in as many looks is told of."""
MOST_WAITING: Final = 1_000
"""While as many wait, nobody looks for more: GitHub's list stays for days."""
MOST_WANTED: Final = 100
"""How many heads of an installation are taken up in one go: the others come with the next."""
MOST_ROUNDS: Final = 3
"""Pages of a hundred repositories that one sweep looks at: at most 3 * 6 requests for repositories with few pull requests."""


class Deliveries(Protocol):
    """What GitHub delivered. Raises as PullSource does."""

    def some(self, since: datetime, cursor: str | None) -> tuple[Sequence[Sent], str | None]:
        """The attempts since then, the newest first, as many as may be read in one go; and where to go on."""
        ...

    def again(self, sent: Sent) -> bool: ...


class Look(Protocol):
    """An installation's repositories and their open pull requests. Raises as PullSource does."""

    def page(self, installation: InstallationId, number: int) -> tuple[tuple[Repository, ...], bool]: ...

    def look(self, installation: InstallationId, repositories: Sequence[Repository]) -> Iterator[OpenRepository]: ...


class Progress(Protocol):
    """How far earlier looks at deliveries came. May be called twice; raises Unavailable."""

    def looked_at(self) -> datetime | None:
        """When the last look began that came to its end."""
        ...

    def looked(self, at: datetime) -> None: ...

    def place(self) -> Place | None:
        """Where a look goes on that did not come to its end."""
        ...

    def stands(self, place: Place) -> None: ...

    def waiting(self) -> Sequence[Sent]:
        """What is to be asked for."""
        ...

    def wait(self, found: Iterable[Sent]) -> None: ...

    def done(self, guid: str) -> None: ...

    def arrived(self, guid: str) -> None:
        """Another attempt came through: it is never asked for again."""
        ...

    def is_over(self, guid: str, attempt: int) -> bool:
        """Whether it arrived after all, or was asked for after this attempt or a later one."""
        ...

    def may_again(self, guid: str, attempt: int) -> bool:
        """Whether this delivery was not asked for too often; the same *attempt* again counts once."""
        ...


class Pages(Protocol):
    """How far earlier sweeps came. May be called twice; raises Unavailable."""

    def page(self, installation: InstallationId) -> int: ...

    def turn_to(self, installation: InstallationId, page: int) -> None: ...


class Redelivering(Value):
    """Deliveries that never arrived. *passed_over* hears of those that GitHub fails to make again time and again."""

    deliveries: Deliveries
    progress: Progress
    clock: Clock
    passed_over: Callable[[Sent], None] = lambda _: None

    def run(self) -> int:
        """Have delivered again what never arrived; how many deliveries that were."""
        waiting = self.progress.waiting()
        if len(waiting) < MOST_WAITING:
            self._read_on(waiting, self.clock.now())
        return self._ask(sorted(self.progress.waiting(), key=by_turn))

    def _read_on(self, waiting: Iterable[Sent], now: datetime) -> None:
        """Note what never arrived, as far as one look goes; the next one goes on there."""
        place = self.progress.place() or self._from_the_newest(now)
        found, cursor = self.deliveries.some(max(place.since, now - OLDEST), place.cursor)
        known = {one.guid: one.id for one in waiting}
        for one in found:
            if one.arrived and (one.is_again or one.guid in known):
                self.progress.arrived(one.guid)
        self.progress.wait(
            one
            for one in missed(found, now)
            if known.get(one.guid, 0) < one.id and not self.progress.is_over(one.guid, one.id)
        )
        if cursor is None:
            self.progress.looked(place.began)
        else:
            self.progress.stands(place.model_copy(update={"cursor": cursor}))

    def _from_the_newest(self, now: datetime) -> Place:
        last = self.progress.looked_at()
        return Place(began=now, since=last - OVERLAP if last else now - FIRST_LOOK)

    def _ask(self, waiting: Sequence[Sent]) -> int:
        """Each until it is known that it was asked for: whoever dies here asks for one of them twice."""
        asked = again = in_a_row = 0
        for one in waiting:
            if asked == MOST_AGAIN:
                break
            if one.is_settled(self.clock.now()) and self.progress.may_again(one.guid, one.id):
                asked += 1
                try:
                    again += self.deliveries.again(one)
                except RateLimited:
                    raise
                except Unavailable as error:
                    in_a_row += 1
                    self._failed(one, error)
                    if in_a_row == MOST_IN_A_ROW:
                        raise
                    continue
                in_a_row = 0
            self.progress.done(one.guid)
        return again

    def _failed(self, one: Sent, error: Unavailable) -> None:
        """The others come first from now on; it is tried behind them until GitHub makes it, or is too old for that."""
        late = one.model_copy(update={"failed": one.failed + 1})
        self.progress.wait((late,))
        LOG.info("a delivery is not made again now: %s", error, extra={"delivery_id": one.guid, "failed": late.failed})
        if late.failed == MOST_FAILED:
            LOG.warning("a delivery is passed over: %s", error, extra={"delivery_id": one.guid})
            self.passed_over(late)


class Heads(Protocol):
    """What is known of heads, and how they are taken up."""

    def stays(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether it has its state. What is remembered of it is kept for longer then, since GitHub shows it open."""
        ...

    def went_into(self, pull: PullRef, base: BaseMark) -> BaseMark:
        """Which base we heard of; where that is none, this one, and from now on if anybody ever asked for it."""
        ...

    def was_heard_of(self, pull: PullRef, head_sha: Sha) -> bool:
        """Whether its newest head is no business of the time before Assay."""
        ...

    def to_greet(self, installation: InstallationId) -> Collection[RepositoryId]:
        """Repositories that are new to us: nobody has said yet what was open there before."""
        ...

    def seen_since(
        self, installation: InstallationId, repositories: Sequence[Repository], installed_at: datetime
    ) -> Mapping[RepositoryId, datetime]:
        """Since when the App sees each of them: from now on, if nobody noted it before."""
        ...

    def want(self, request: JudgeRequest) -> None: ...

    def greet(self, request: JudgeRequest, head_sha: Sha) -> None:
        """Say that it was opened before Assay came."""
        ...


class Sweeping(Value):
    """Open pull requests without a state for their head get one, and those that went into another base another one."""

    look: Look
    heads: Heads
    progress: Pages
    clock: Clock
    forgotten: Forgotten

    def everywhere(self, installed: Iterable[tuple[InstallationId, datetime]]) -> None:
        """Look at every installation, whatever became of the others. Raises Unavailable if none could be looked at."""
        failed, looked_at = list[Unavailable](), 0
        for installation, installed_at in installed:
            told = {"installation_id": installation}
            try:
                taken = self.run(installation, installed_at)
            except Unavailable as error:
                LOG.warning("a sweep failed: %s", error, extra=told)
                failed.append(error)
                continue
            looked_at += 1
            if taken:
                LOG.warning("took up heads without a state", extra={"count": taken, **told})
        if failed and not looked_at:
            raise failed[0]

    def run(self, installation: InstallationId, installed_at: datetime) -> int:
        """Look at the next pages of an installation, which exists since then; how many heads were taken up."""
        taken, number = 0, self.progress.page(installation)
        try:
            for _ in range(MOST_ROUNDS):
                repositories, has_more = self.look.page(installation, number)
                since = self.heads.seen_since(installation, repositories, installed_at)
                new = self.heads.to_greet(installation)
                busy = [one for one in repositories if one.is_busy and one.id not in new]
                known = list[JudgeRequest]()
                for found in self.look.look(installation, busy):
                    taken += self._of(installation, found, since[found.repository.id], MOST_WANTED - taken, known)
                taken += self.forgotten.look(installation, known)
                number = number + 1 if has_more else 1
                self.progress.turn_to(installation, number)
                if number == 1 or taken >= MOST_WANTED:
                    break
        except (Forbidden, Gone, RateLimited) as refused:
            LOG.info("a sweep waits: %s", refused, extra={"installation_id": installation})
        return taken

    def _of(
        self,
        installation: InstallationId,
        found: OpenRepository,
        since: datetime,
        most: int,
        known: list[JudgeRequest],
    ) -> int:
        """How many were taken up. To *known* goes who has its state and goes where we know."""
        taken = 0
        for one in found.pulls:
            pull = PullRef(installation_id=installation, repository_id=found.repository.id, number=one.number)
            if taken >= most:
                break
            is_known = self.heads.stays(pull, one.head_sha)
            if is_known and self.heads.went_into(pull, one.base) == one.base:
                known.append(self._request(pull, found.repository, one, Trigger.SWEEP))
                continue
            request = self._request(pull, found.repository, one, Trigger.BASE if is_known else Trigger.SWEEP)
            if is_known:
                self.heads.want(request)
            elif one.opened_at < since and not self.heads.was_heard_of(pull, one.head_sha):
                self.heads.greet(request, one.head_sha)
            else:
                self.heads.want(request)
            taken += 1
        return taken

    def _request(self, pull: PullRef, repository: Repository, one: OpenPull, trigger: Trigger) -> JudgeRequest:
        return JudgeRequest(
            pull=pull,
            repository=repository.name,
            head_sha=one.head_sha,
            trigger=trigger,
            delivery_id=DeliveryId(
                f"swept-{pull.repository_id}-{one.number}-{one.head_sha[:12]}-{self.clock.now():%Y%m%d%H%M}"
            ),
            requested_at=self.clock.now(),
            author=one.author,
            draft=one.draft,
            base=one.base,
        )
