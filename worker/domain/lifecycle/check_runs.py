"""The check run of one head: which process creates it, whether it is open, and when it is outdated, expired or orphaned."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.state import Phase, PullRequestState
from worker.domain.model import CheckRunId, Sha

CREATION_STARTED: Final = CheckRunId(0)
"""Placeholder for the id of a check run whose creation has started."""

LIST_AGE: Final = timedelta(minutes=10)
"""Maximum age of GitHub's list of open pull requests when its last item is read."""


class CheckRunState(NamedTuple):
    """All that is recorded of the check run of one head."""

    check: CheckRunId | None = None
    creator: str | None = None
    """Token of the process that creates it."""
    open_check: CheckRunId | None = None
    """The same id while it is open, CREATION_STARTED before it is known; None: it is concluded, or there is none."""
    deadline: float | None = None
    """When it is concluded without a judge, in milliseconds; None: never."""
    is_idle: bool = False
    """No judging has started for what it shows."""
    is_deferred: bool = False
    """It shows until when it can't be judged."""
    is_reopening: bool = False
    """It is being rewritten without a judging."""
    is_expiring: bool = False
    """Its conclusion may be overwritten: by a watchdog that dies, or by a late reopening."""

    @property
    def is_present(self) -> bool:
        """Whether the head has a check run or is about to get it."""
        return self.check is not None or self.creator is not None

    @property
    def is_announced(self) -> bool:
        """Whether an idle one shows when judging starts."""
        return self.deadline is not None and not self.is_deferred


@dataclass(frozen=True)
class OutdatedCheckRun:
    """A check run that `trigger` outdated; None: it was cancelled before this was the newest head again."""

    check: CheckRunId
    trigger: Trigger | None


def claim(state: CheckRunState, creator: str) -> CheckRunState:
    """The state after a process asked to create the check run. A creation that starts is listed: its process may die."""
    if state.is_present:
        return state
    return state._replace(creator=creator, open_check=state.open_check or CREATION_STARTED)


def release(state: CheckRunState, creator: str) -> CheckRunState:
    """The state after the creation failed. Its reply may be lost, so it stays listed."""
    return state._replace(creator=None) if state.creator == creator else state


def open_check_run(
    state: CheckRunState, check: CheckRunId, deadline: float | None, *, is_idle: bool = False, is_deferred: bool = False
) -> CheckRunState:
    """The state after the check run was written without a conclusion."""
    return CheckRunState(
        check, None, check, deadline, is_idle=is_idle, is_deferred=is_deferred, is_reopening=state.is_reopening
    )


def reopen(state: CheckRunState, check: CheckRunId, deadline: float) -> CheckRunState:
    """The state before the check run of a stale verdict is rewritten. A watchdog that is writing it may still overwrite it."""
    return open_check_run(state, check, deadline, is_idle=True)._replace(is_expiring=state.is_expiring)


def rewrite_idle(state: CheckRunState, check: CheckRunId, content: CheckContent, deadline: float) -> CheckRunState:
    """The state after *content*, which has no conclusion, replaced that of an idle check run; the same if a judging has started."""
    if not state.is_idle:
        return state
    is_watched = content.is_watched or not content.is_queued
    return open_check_run(state, check, deadline if is_watched else None, is_idle=content.is_queued)


def conclude(state: CheckRunState, check: CheckRunId | None = None) -> CheckRunState:
    """The state after the conclusion was written. *check*: its id, where that may not be recorded."""
    is_known = check is None
    return CheckRunState(
        state.check if is_known else check, state.creator if is_known else None, is_reopening=state.is_reopening
    )


def expire(state: CheckRunState, check: CheckRunId) -> CheckRunState | None:
    """The state after the watchdog concluded the check run, which its judge learns at the conclusion; None: it was not open."""
    return conclude(state)._replace(is_expiring=True) if state.open_check == check else None


def forget(state: CheckRunState) -> CheckRunState:
    """The state after GitHub refused a write: what the check run shows is unknown, and the next claim searches for it."""
    return CheckRunState(open_check=CREATION_STARTED, is_reopening=state.is_reopening)


def find_outdated(
    pull: PullRequestState, state: CheckRunState, head: Sha, published_state: str
) -> OutdatedCheckRun | None:
    """The check run of the newest head, if it shows a stale verdict.

    Not where a judge runs, who publishes, nor where it is open already. One that was cancelled is reopened if its head is the
    newest one again; one that was skipped is not.
    """
    if state.check is None or pull.head != head or pull.is_closed:
        return None
    is_concluded = state.open_check is None
    is_judged = pull.phase in (None, Phase.JUDGING)
    is_due = pull.is_reopening or (is_concluded and published_state != Conclusion.SKIPPED)
    if pull.outdated_by is not None and not is_judged and is_due:
        return OutdatedCheckRun(state.check, Trigger(pull.outdated_by))
    return OutdatedCheckRun(state.check, None) if is_concluded and published_state == Conclusion.CANCELLED else None


def is_long_closed(pull: PullRequestState, now: float) -> bool:
    """Whether GitHub's list of open pull requests shows one that counts as closed: the close was late, or a reopening not delivered."""
    age_ms = LIST_AGE.total_seconds() * 1000
    return pull.phase is None and pull.closed_at is not None and now - pull.closed_at > age_ms


def is_current(pull: PullRequestState, state: CheckRunState, head: Sha) -> bool:
    """Whether the check run of a head that GitHub's list shows as open is recorded, and the branch has not moved on."""
    return state.is_present and (pull.phase is not None or pull.head in (None, head))


def find_doubt(pull: PullRequestState, state: CheckRunState, served_run: str | None, server_run: str | None) -> str:
    """A token if GitHub has to be asked whether a recorded conclusion still holds, as after a restart of Redis; else ''.

    A restarted server may have lost the last writes. What it saw judged since then is certain, and so is what is due or open.
    *served_run*: the run that saw a pull request without events; *server_run*: the current one.
    """
    is_certain = server_run in (None, pull.served_run or served_run)
    if is_certain or pull.phase is not None or state.open_check is not None:
        return ""
    return f"{server_run} {pull.fence or 0} {pull.seq or 0}"


def is_left_to_judge(pull: PullRequestState) -> bool:
    """Whether an expired check run is left to its next judging: its pull request waits for GitHub or for CI."""
    return pull.phase is not None and (pull.outage_count is not None or pull.waiting_since is not None)


def is_orphaned(pull: PullRequestState) -> bool:
    """Whether an open check run has nothing that would conclude it."""
    return pull.seq is not None and pull.phase is None
