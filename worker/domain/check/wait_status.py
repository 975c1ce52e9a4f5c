"""What somebody who waits for the verdict on one commit is told.

Does not look anything up. Invariant: a verdict is given for the commit that it was made for and for no other; while that commit
is being judged (again), for whichever open pull request, there is none; and none is better than what the commit's check comes to.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Final

from worker.domain.ids import Sha
from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, Reject, Verdict


class Awaiting(StrEnum):
    """PENDING: it comes. NONE: nobody is judging this commit, and nobody will without being asked."""

    PENDING = "pending"
    DONE = "done"
    SUPERSEDED = "superseded"
    NONE = "none"


class Reason(StrEnum):
    """Why there is no verdict, or none yet. Where there is one, its category or its `abstain_reason` is the reason."""

    JUDGING = "judging"
    QUIET_WINDOW = "quiet_window"
    WAITING_FOR_CI = "waiting_for_ci"
    RATE_LIMIT = "rate_limit"
    GITHUB_OUTAGE = "github_outage"
    WAITING_FOR_PULL_REQUEST = "waiting_for_pull_request"
    NEWER_COMMIT = "newer_commit"
    DRAFT = "draft"
    SKIPPED = "skipped"
    OPENED_BEFORE_ASSAY = "opened_before_assay"
    CLOSED = "closed"
    CREATED_TWICE = "created_twice"
    OVERRIDDEN = "overridden"
    NOT_JUDGED = "not_judged"
    ASSAY_FAILED = "assay_failed"
    AS_PULL_REQUEST = "as_pull_request"
    STRANGE_REF = "strange_ref"
    HELD = "held"
    UNRECORDED = "unrecorded"
    TOO_LATE = "too_late"
    NOT_SHOWN = "not_shown"
    GROUP_GONE = "group_gone"


class SeenPull(Value):
    """One pull request that has or had this commit as its head.

    `head`: the newest one that was announced. `pending`: why there is no verdict yet; None: nothing is due. `is_held`: a draft that
    waits. `verdict`: the newest on this commit, if nothing is due. `overridden_by`: who lets this commit pass whatever it says.
    `is_over`: it was closed.
    """

    number: int
    head: Sha | None
    pending: str | None
    is_held: bool
    verdict: Verdict | None
    overridden_by: str | None = None
    is_over: bool = False


class Weight(IntEnum):
    """Which of several pull requests of one commit speaks for it: as their checks, none says more than holds for all.

    HELD: a draft can't be merged, and waits for its author.
    """

    HELD = 0
    SILENT = 1
    PASSES = 2
    NOT_JUDGED = 3
    REJECTED = 4
    PENDING = 5


class Awaited(Value):
    """`number` None: no pull request is known. `newer`: the head that replaced this commit. `others`: with the same commit.

    `overridden_by`: whatever the verdict says, nothing is left to do. `reason`: a Reason, or the verdict's; None: an accept, or its
    check alone can tell.
    """

    state: Awaiting
    why: str
    number: int | None = None
    newer: Sha | None = None
    verdict: Verdict | None = None
    others: tuple[int, ...] = ()
    overridden_by: str | None = None
    reason: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether waiting longer changes nothing. What nobody knows yet may still be announced."""
        return self.state is not Awaiting.PENDING and self.number is not None


UNKNOWN = Awaited(Awaiting.NONE, "No pull request with this commit as its head is known here.")


def reason_of(verdict: Verdict | None) -> str | None:
    """In one word why it does not accept: its category, or why it was not judged."""
    said = None if verdict is None else verdict.category or verdict.abstain_reason
    return None if said is None else said.value


PENDING: Final[Mapping[str, str]] = {
    Reason.JUDGING: "It is being judged, or is next.",
    Reason.QUIET_WINDOW: "It is judged as soon as nothing was pushed for a while.",
    Reason.WAITING_FOR_CI: "It waits for the other checks of this commit.",
    Reason.RATE_LIMIT: "GitHub takes no more requests for a while; after that it is judged.",
    Reason.GITHUB_OUTAGE: "GitHub can't be reached; it is tried again and again.",
}
_AGAIN: Final = "It could not be judged, and is judged again by itself."


class Due(Value):
    """What is noted of a judging that is due or under way: times in milliseconds, `now` on the same clock; 0: it has none.

    `due`: when it begins, and `since`: when the first of the pushes came that it waits to be the last of. `waiting`: since when it
    waits for other checks. `limit`: when GitHub's rate limit ends. `aways`: how often GitHub was away.
    """

    is_begun: bool
    now: int
    due: int = 0
    since: int = 0
    waiting: int = 0
    limit: int = 0
    aways: int = 0


def reason_to_wait(due: Due, newest: Verdict | None) -> str:
    """Why what is due has no verdict yet, in the word that its check says. *newest*: the one on record for this commit.

    What waited for CI says so until its verdict: whoever looks whether CI has ended begins each time, and its check is left as it is.
    """
    if not due.is_begun and due.limit > due.now:
        return Reason.RATE_LIMIT.value
    if not due.is_begun and due.aways:
        return Reason.GITHUB_OUTAGE.value
    if due.waiting:
        return Reason.WAITING_FOR_CI.value
    if due.is_begun or due.due <= due.now:
        return Reason.JUDGING.value
    if due.since:
        return Reason.QUIET_WINDOW.value
    again = reason_of(newest) if isinstance(newest, Abstain) else None
    return again or Reason.JUDGING.value


def awaited(seen: Sequence[SeenPull], sha: Sha) -> Awaited:
    """Of several pull requests one whose head this still is, an open one; of those who stands most in the way, and the newest."""
    if not seen:
        return UNKNOWN
    chosen = max(seen, key=lambda one: (one.head in (None, sha), not one.is_over, _weight(one), one.number))
    others = tuple(sorted(one.number for one in seen if one.number != chosen.number))
    state, reason, why = _state(chosen, sha)
    return Awaited(
        state,
        why,
        chosen.number,
        newer=chosen.head if state is Awaiting.SUPERSEDED else None,
        verdict=chosen.verdict if state is Awaiting.DONE else None,
        others=others,
        overridden_by=chosen.overridden_by if state in (Awaiting.DONE, Awaiting.NONE) else None,
        reason=reason,
    )


def _weight(one: SeenPull) -> Weight:
    if one.pending is not None:
        return Weight.PENDING
    if one.overridden_by is not None:
        return Weight.PASSES
    match one.verdict:
        case Reject():
            return Weight.REJECTED
        case Abstain():
            return Weight.NOT_JUDGED
        case None:
            return Weight.HELD if one.is_held else Weight.SILENT
        case _:
            return Weight.PASSES


def _state(one: SeenPull, sha: Sha) -> tuple[Awaiting, str | None, str]:  # noqa: PLR0911 - a table
    if one.head not in (None, sha):
        return Awaiting.SUPERSEDED, Reason.NEWER_COMMIT.value, f"A newer commit was pushed: {one.head}."
    if one.pending is not None:
        return Awaiting.PENDING, one.pending, PENDING.get(one.pending, _AGAIN)
    if one.overridden_by is not None:
        told = f"@{one.overridden_by} overrode what is said of this commit: nothing is left to do."
        if one.verdict is None:
            return Awaiting.NONE, Reason.OVERRIDDEN.value, told
        return Awaiting.DONE, reason_of(one.verdict), told
    if one.verdict is not None:
        return Awaiting.DONE, reason_of(one.verdict), "It was judged."
    if one.is_held:
        told = "It is a draft, which is judged when it is ready, a review is asked for, or by /rejudge."
        return Awaiting.NONE, Reason.DRAFT.value, told
    return (
        Awaiting.NONE,
        None,
        "It is not judged: it was skipped or closed, or is older than Assay here. Its check says why.",
    )
