"""The dispatcher: hands out what is due, has check runs opened, answers commands, brings back what was lost.

Does not judge. One of them leads at a time, by a lease; what it does in Redis it does itself, in one thread, and what
needs GitHub goes to a few errand threads, so that a slow GitHub delays no judging. Invariant: whatever it was doing
when it stopped comes back by itself; an outage of Redis stops it from working, never from running.
"""

import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Final, assert_never

from worker.adapters.redis.agenda import Todo, things_to_do
from worker.adapters.redis.check_runs import OverdueCheck, RedisChecks
from worker.adapters.redis.commands import OpenAsk
from worker.adapters.redis.follow_ups import F, FollowUps, Opened
from worker.adapters.redis.greetings import OpenGreeting
from worker.adapters.redis.happenings import OpenHappening
from worker.adapters.redis.merge_groups import OpenGroup
from worker.adapters.redis.metrics import Count
from worker.adapters.redis.outcomes import Due
from worker.adapters.redis.pull_requests import RELEASED, Limits, ToOpen
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import Letter
from worker.domain.check.code_scanning import Scan
from worker.domain.check.merge_group import MergeGroup
from worker.domain.check.shared_head import Place
from worker.domain.ids import InstallationId
from worker.domain.ports import Clock
from worker.errors import Bug, Drop, GiveUp, Outage, RetryAt, RetryIn, Unavailable, WaitOut, classify
from worker.scheduling import metrics
from worker.scheduling.queue import JudgeQueue
from worker.scheduling.resuming import resume
from worker.scheduling.retry import Apart, Turn
from worker.scheduling.tasks import Clerk, Errand, rule_of
from worker.settings import Settings
from worker.traces import about, carrying

LOG: Final = logging.getLogger(__name__)
ERRANDS: Final = 8
"""How many errands may be under way at a time."""

OUTSIDE_ERRANDS: Final = ERRANDS // 4
"""How many of them may open check runs of what strangers opened from forks."""

FOLLOW: Final = "look into what happened"
CONCLUDE: Final = "judge a whole pull request"
TOGETHER: Final = "settle the checks of a commit"
GREET: Final = "greet a repository"
TIDY: Final = "tidy"
CATCH_UP: Final = "catch up"
GREETING_S: Final = 20.0
"""How long to leave between two repositories that are new to us: GitHub allows few writes a minute."""

LONGEST_PAUSE_S: Final = 5.0
OPEN_AGAIN_S: Final = 2.0
"""How soon a check run that GitHub did not open is tried again: somebody looks at the pull request right now."""

GROUP_AGAIN_S: Final = 10.0
"""The same for a merge group: a queue waits for it."""

OpenClerk = Callable[[Settings, Store], AbstractContextManager[Clerk]]


class Dispatcher:
    """One process's attempt to be the dispatcher."""

    def __init__(self, settings: Settings, store: Store, open_clerk: OpenClerk, clock: Clock) -> None:
        self._settings = settings
        self._timing = settings.timing
        self._store = store
        self._open_clerk = open_clerk
        self._clock = clock
        self._queue = JudgeQueue(settings)
        self._checks = RedisChecks(store.wire, settings.timing)
        self._token = secrets.token_hex(16)
        self._call = secrets.token_hex(16)
        self._limits = Limits.of_workers(settings.workers)
        self._next_sweep = 0.0
        self._next_tidying = 0.0
        self._next_catching_up = 0.0
        self._next_greeting = 0.0
        self._errands: dict[Future[None], Errand] = {}
        self._apart = Apart(self._timing.retry_gap, self._timing.release_gap)
        self._limited = Apart(self._timing.write_gap, self._timing.write_gap)

    def run(self, is_stopped: Callable[[], bool]) -> None:
        """Dispatch until stopped."""
        outages = 0
        with ThreadPoolExecutor(ERRANDS, thread_name_prefix="errand") as pool:
            while not is_stopped():
                try:
                    pause = self._step(pool)
                    outages = 0
                except Unavailable as error:
                    outages += 1
                    pause = min(LONGEST_PAUSE_S, self._timing.tick * 2**outages)
                    LOG.warning("dispatching waits: %s", error, extra={"outages": outages})
                self._pause(pause, is_stopped)
            pool.shutdown(wait=True, cancel_futures=True)
        self._resign()

    def _pause(self, seconds: float, is_stopped: Callable[[], bool]) -> None:
        limit = time.monotonic() + seconds
        while not is_stopped() and (left := limit - time.monotonic()) > 0:
            time.sleep(min(left, self._timing.tick))

    def _step(self, pool: ThreadPoolExecutor) -> float:
        """Do all that can be done now; how long to pause then."""
        if not self._store.pulls.lead(self._token):
            return self._timing.leader / 5
        self._settle()
        due = things_to_do(self._store.wire, self._call)
        self._start_errands(pool, due)
        if Todo.JUDGE in due:
            self._hand_out()
        if time.monotonic() >= self._next_sweep:
            self._sweep(pool)
        return self._timing.tick

    def _resign(self) -> None:
        try:
            self._store.pulls.resign(self._token)
        except Unavailable as error:
            LOG.info("the leader's lease runs out by itself: %s", error)
        self._queue.close()

    # Judgings

    def _hand_out(self) -> None:
        """Give what is due to the queue. A call keeps its name until its job is in the queue: nothing falls between."""
        while given := self._store.pulls.next_due(self._call, self._limits):
            submit = self._queue.submit_outside if given.is_outside else self._queue.submit
            submit(given.fence, given.request.pull)
            LOG.info("handed out", extra={**about(given.request), "fence": given.fence})
            self._call = secrets.token_hex(16)

    def _sweep(self, pool: ThreadPoolExecutor) -> None:
        brought = self._store.pulls.sweep(*self._queue.keys)
        if brought:
            LOG.warning("brought back judgings that were lost", extra={"count": brought})
        if lost := self._store.events.end_lost():
            LOG.warning("evaluations ended without a word", extra={"count": lost})
        self._limits = Limits.of_workers(max(self._settings.workers, self._queue.workers()))
        for late in self._checks.overdue():
            self._close(pool, late)
        for stray in self._checks.stray():
            if self._has_somebody_look(stray):
                LOG.warning("an open check that nobody would conclude: looked at again", extra=stray.model_dump())
        if not self._settings.is_paused:
            resume(self._store, self._clock)
        self._next_sweep = time.monotonic() + self._timing.sweep

    def _has_somebody_look(self, stray: OverdueCheck) -> bool:
        """False: that was asked for before, once is enough; or nobody knows any more what it is about."""
        pull = stray.pull
        if pull.number:
            return self._store.pulls.want_for(pull, stray.check)
        place = (pull.installation_id, pull.repository_id, stray.head_sha)
        return self._store.groups.stray(place, stray.check, self._clock.now())

    # Errands

    def _start_errands(self, pool: ThreadPoolExecutor, due: frozenset[Todo]) -> None:
        while Todo.OPEN in due and len(self._errands) < ERRANDS and (opening := self._next_to_open()):
            self._start(pool, self._opening(opening))
        while Todo.ANSWER in due and len(self._errands) < ERRANDS and (asked := self._store.asks.next()):
            self._start(pool, self._answering(asked))
        while Todo.ANSWER_GROUP in due and len(self._errands) < ERRANDS and (opened := self._store.groups.next()):
            self._start(pool, self._answering_group(opened))
        while Todo.WRITE in due and len(self._errands) < ERRANDS and (letter := self._store.letters.next()):
            self._start(pool, self._telling(letter))
        while Todo.SCAN in due and len(self._errands) < ERRANDS and (scan := self._store.scans.next()):
            self._start(pool, self._scanning(scan))
        self._look_into(pool, due)
        if time.monotonic() >= self._next_tidying:
            self._next_tidying = time.monotonic() + self._timing.tidy
            self._start_alone(pool, Errand(name=TIDY, work=lambda clerk: clerk.tidy(), done=lambda: None))
        if self._timing.catch_up and time.monotonic() >= self._next_catching_up:
            self._next_catching_up = time.monotonic() + self._timing.catch_up
            self._start_alone(pool, Errand(name=CATCH_UP, work=lambda clerk: clerk.catch_up(), done=lambda: None))

    def _next_to_open(self) -> ToOpen | None:
        under_way = sum(one.is_outside for one in self._errands.values())
        return self._store.pulls.next_to_open(OUTSIDE_ERRANDS - under_way)

    def _start_alone(self, pool: ThreadPoolExecutor, errand: Errand) -> None:
        """Leave its turn out while the one before is under way: two would do the same, and each hold a thread."""
        if errand.name not in self._under_way():
            self._start(pool, errand)

    def _under_way(self) -> set[str]:
        return {errand.name for errand in self._errands.values()}

    def _look_into(self, pool: ThreadPoolExecutor, due: frozenset[Todo]) -> None:
        """One happening, one verdict on a whole and one commit at a time: a revert is looked into after its merge."""
        under_way = self._under_way()
        if Todo.FOLLOW in due and FOLLOW not in under_way and (happened := self._store.happenings.next()):
            self._start(pool, self._following(happened))
        if Todo.CONCLUDE in due and CONCLUDE not in under_way and (whole := self._store.outcomes.next_due()):
            self._start(pool, self._concluding(whole))
        if Todo.SETTLE in due and TOGETHER not in under_way and (commit := self._store.siblings.next()):
            self._start(pool, self._settling(*commit))
        is_time = Todo.GREET in due and GREET not in under_way and time.monotonic() >= self._next_greeting
        if is_time and (seen := self._store.greetings.next()):
            self._next_greeting = time.monotonic() + GREETING_S
            self._start(pool, self._greeting(seen))

    def _greeting(self, seen: OpenGreeting) -> Errand:
        greeting = seen.greeting
        return Errand(
            name=GREET,
            work=lambda clerk: clerk.greet(greeting),
            done=lambda: self._store.greetings.done(greeting),
            later=lambda delay: self._store.greetings.later(greeting, delay),
            attempt=seen.attempt,
            installation=greeting.installation_id,
            fields={"delivery_id": greeting.delivery_id, "repository": greeting.repository},
        )

    def _following(self, happened: OpenHappening) -> Errand:
        happening = happened.happening
        return Errand(
            name=FOLLOW,
            work=lambda clerk: clerk.follow(happening),
            done=lambda: self._store.happenings.done(happening),
            later=lambda delay: self._store.happenings.later(happening, delay),
            attempt=happened.attempt,
            installation=happening.installation_id,
            fields={
                "delivery_id": happening.delivery_id,
                "what": happening.what,
                "repository_id": happening.repository_id,
                "number": happening.number,
            },
        )

    def _concluding(self, due: Due) -> Errand:
        """One that fails for a while comes again after its hold."""
        return Errand(
            name=CONCLUDE,
            work=lambda clerk: clerk.conclude(due),
            done=lambda: self._store.outcomes.done(due),
            fields={"repository_id": due.pull.repository_id, "number": due.pull.number},
        )

    def _settling(self, place: Place, attempt: int) -> Errand:
        """The clerk says when it is done; one that fails otherwise than for an outage comes again after its hold."""
        return Errand(
            name=TOGETHER,
            work=lambda clerk: clerk.settle(place),
            done=lambda: None,
            later=lambda delay: self._store.siblings.later(place, delay),
            again_s=OPEN_AGAIN_S,
            attempt=attempt,
            installation=place.installation_id,
            fields=place.model_dump(),
        )

    def _answering_group(self, opened: OpenGroup) -> Errand:
        """The clerk says when it is done; one that fails otherwise than for an outage comes again after its hold."""
        group = opened.group
        return Errand(
            name="answer merge group",
            work=lambda clerk: clerk.answer_group(opened),
            done=lambda: None,
            later=lambda delay: self._store.groups.later(opened.queued, delay),
            again_s=GROUP_AGAIN_S,
            installation=group.installation_id,
            is_first=True,
            fields=about_group(group),
        )

    def _telling(self, opened: Opened[Letter]) -> Errand:
        letter = opened.follow_up
        return _following(opened, self._store.letters, "tell the author", lambda clerk: clerk.tell(letter))

    def _scanning(self, opened: Opened[Scan]) -> Errand:
        scan = opened.follow_up
        return _following(opened, self._store.scans, "upload SARIF", lambda clerk: clerk.scan(scan))

    def _opening(self, opening: ToOpen) -> Errand:
        request, head_sha = opening.request, opening.head_sha
        return Errand(
            name="open check",
            work=lambda clerk: self._open(clerk, opening),
            done=lambda: self._store.pulls.opened(request.pull, head_sha, opening.seq),
            later=lambda delay: self._store.pulls.open_later(request.pull, head_sha, delay),
            again_s=OPEN_AGAIN_S,
            installation=request.pull.installation_id,
            is_outside=opening.is_outside,
            fields=about(request, head_sha),
        )

    def _open(self, clerk: Clerk, opening: ToOpen) -> None:
        clerk.open_check(opening.request, opening.head_sha)
        metrics.first_check(self._store, opening.request, opening.head_sha, self._clock.now())

    def _answering(self, asked: OpenAsk) -> Errand:
        ask = asked.ask
        return Errand(
            name="answer command",
            work=lambda clerk: clerk.answer(ask),
            done=lambda: self._store.asks.done(ask),
            later=lambda delay: self._store.asks.later(ask, delay),
            attempt=asked.attempt,
            installation=ask.pull.installation_id,
            fields={
                "delivery_id": ask.delivery_id,
                "repository": ask.repository,
                "number": ask.pull.number,
                "login": ask.login,
            },
        )

    def _close(self, pool: ThreadPoolExecutor, late: OverdueCheck) -> None:
        """One of a pull request or merge group that nobody knows any more is only let go."""
        pull, head_sha, check = late.pull, late.head_sha, late.check
        request = self._store.pulls.request(pull)
        group = self._store.groups.known((pull.installation_id, pull.repository_id, head_sha))
        if request is not None:
            asked = request
            self._expire(pool, late, lambda clerk: clerk.close_overdue(asked, head_sha, check), about(asked, head_sha))
        elif group is not None:
            told = group
            self._expire(pool, late, lambda clerk: clerk.close_group(told, check), about_group(told))
        else:
            self._checks.expired(pull, head_sha, check)

    def _expire(
        self, pool: ThreadPoolExecutor, late: OverdueCheck, work: Callable[[Clerk], None], fields: dict[str, object]
    ) -> None:
        """Who closes it notes that. Until then it stays open, and is given up by nobody: a required check must not hang."""

        def close(clerk: Clerk) -> None:
            work(clerk)
            metrics.happened(self._store, Count.OVERDUE)

        errand = Errand(
            name="close overdue check",
            work=close,
            done=lambda: None,
            later=lambda delay: self._checks.overdue_later(late, delay),
            dropped=lambda: self._checks.overdue_later(late, self._settings.retry_rule.longest),
            installation=late.pull.installation_id,
            fields=fields,
        )
        LOG.warning("a check is older than its deadline", extra=fields)
        self._start(pool, errand)

    def _start(self, pool: ThreadPoolExecutor, errand: Errand) -> None:
        self._errands[pool.submit(self._perform, errand)] = errand

    def _perform(self, errand: Errand) -> None:
        with carrying({**errand.fields, "errand": errand.name}), self._open_clerk(self._settings, self._store) as clerk:
            errand.work(clerk)

    def _settle(self) -> None:
        """Look at the errands that came back. One whose end can't be noted comes again, and changes nothing."""
        for future in [future for future in self._errands if future.done()]:
            errand = self._errands.pop(future)
            error = future.exception()
            if error is None:
                self._done(errand)
            elif isinstance(error, Exception):
                self._failed(errand, error)
            else:
                raise error

    def _done(self, errand: Errand) -> None:
        is_back = self._apart.over(errand.key)
        errand.done()
        if is_back and errand.installation:
            self._follow(InstallationId(errand.installation))

    def _follow(self, installation: InstallationId) -> None:
        """GitHub answered one that had waited for it: others need not wait for long."""
        now = time.monotonic()
        for turn, at in self._apart.follow(installation, RELEASED, now):
            turn.later(timedelta(seconds=at - now))
        self._store.pulls.release(installation)

    def _dropped(self, errand: Errand) -> None:
        self._apart.over(errand.key)
        (errand.dropped or errand.done)()

    def _failed(self, errand: Errand, error: Exception) -> None:
        rule, attempt = rule_of(errand, self._settings), errand.attempt
        if isinstance(
            error, Outage
        ):  # not all errands know how often they were tried: those are tried until they are done
            attempt = max(attempt, min(self._apart.failed(errand.key), rule.outage_attempts))
        fields = errand.fields | {"errand": errand.name, "attempt": attempt}
        match classify(error, attempt, rule):
            case RetryIn(delay):
                LOG.info("errand waits: %s", error, extra=fields)
                errand.later(delay)
            case WaitOut(delay):
                LOG.info("errand waits: %s", error, extra=fields)
                self._place(errand, delay, self._apart)
            case RetryAt(at) if errand.is_first:
                LOG.info("errand waits: %s", error, extra=fields)
                errand.later(at - self._clock.now())
            case RetryAt(at):
                LOG.info("errand waits: %s", error, extra=fields)
                self._place(errand, at - self._clock.now(), self._limited)
            case Drop(reason) | GiveUp(reason):
                LOG.warning("errand dropped: %s", reason, extra=fields)
                self._dropped(errand)
            case Bug():
                LOG.error("errand failed", exc_info=error, extra=fields)
                self._dropped(errand)
            case _ as never:
                assert_never(never)

    def _place(self, errand: Errand, delay: timedelta, among: Apart) -> None:
        """Put it off for so long, or for longer where others of its installation come back then."""
        now = time.monotonic()
        turn = Turn(errand.installation, errand.key, errand.later)
        errand.later(timedelta(seconds=among.place(turn, now + delay.total_seconds(), now) - now))


def about_group(group: MergeGroup) -> dict[str, object]:
    """Which merge group the log tells of."""
    return {"delivery_id": group.delivery_id, "repository": group.repository, "head_sha": group.head_sha}


def _following(opened: Opened[F], line: FollowUps[F], name: str, work: Callable[[Clerk], None]) -> Errand:
    one = opened.follow_up
    return Errand(
        name=name,
        work=work,
        done=lambda: line.done(opened),
        later=lambda delay: line.later(one, delay),
        attempt=opened.attempt,
        installation=one.pull.installation_id,
        fields={
            "delivery_id": one.delivery_id,
            "repository_id": one.pull.repository_id,
            "number": one.pull.number,
            "head_sha": one.head_sha,
        },
    )
