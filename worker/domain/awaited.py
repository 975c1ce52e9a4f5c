"""What somebody who waits for the verdict on one commit is told.

Does not look anything up. Invariant: a verdict is given for the commit that it was made for and for no other; while that commit
is being judged (again) there is none.
"""

from collections.abc import Sequence
from enum import StrEnum

from worker.domain.ids import Sha
from worker.domain.value import Value
from worker.domain.verdict import Verdict


class Awaiting(StrEnum):
    """PENDING: it comes. NONE: nobody is judging this commit, and nobody will without being asked."""

    PENDING = "pending"
    DONE = "done"
    SUPERSEDED = "superseded"
    NONE = "none"


class SeenPull(Value):
    """One pull request that has or had this commit as its head.

    `head`: the newest one that was announced. `is_busy`: due or being judged. `is_held`: a draft that waits. `verdict`: the newest
    on this commit. `overridden_by`: who lets this commit pass whatever it says.
    """

    number: int
    head: Sha | None
    is_busy: bool
    is_held: bool
    verdict: Verdict | None
    overridden_by: str | None = None


class Awaited(Value):
    """`number` None: no pull request is known. `newer`: the head that replaced this commit. `others`: with the same commit.

    `overridden_by`: whatever the verdict says, nothing is left to do.
    """

    state: Awaiting
    why: str
    number: int | None = None
    newer: Sha | None = None
    verdict: Verdict | None = None
    others: tuple[int, ...] = ()
    overridden_by: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether waiting longer changes nothing. What nobody knows yet may still be announced."""
        return self.state is not Awaiting.PENDING and self.number is not None


UNKNOWN = Awaited(Awaiting.NONE, "No pull request with this commit as its head is known here.")


def awaited(seen: Sequence[SeenPull], sha: Sha) -> Awaited:
    """Of several pull requests the one whose head this still is, and the newest of those."""
    if not seen:
        return UNKNOWN
    chosen = max(seen, key=lambda one: (one.head in (None, sha), one.number))
    others = tuple(sorted(one.number for one in seen if one.number != chosen.number))
    state, why = _state(chosen, sha)
    return Awaited(
        state,
        why,
        chosen.number,
        newer=chosen.head if state is Awaiting.SUPERSEDED else None,
        verdict=chosen.verdict if state is Awaiting.DONE else None,
        others=others,
        overridden_by=chosen.overridden_by if state in (Awaiting.DONE, Awaiting.NONE) else None,
    )


def _state(one: SeenPull, sha: Sha) -> tuple[Awaiting, str]:
    if one.head not in (None, sha):
        return Awaiting.SUPERSEDED, f"A newer commit was pushed: {one.head}."
    if one.is_busy:
        return Awaiting.PENDING, "It waits to be judged, or is being judged."
    if one.overridden_by is not None:
        told = f"@{one.overridden_by} overrode what is said of this commit: nothing is left to do."
        return Awaiting.NONE if one.verdict is None else Awaiting.DONE, told
    if one.verdict is not None:
        return Awaiting.DONE, "It was judged."
    if one.is_held:
        return Awaiting.NONE, "It is a draft, which is judged when it is ready, a review is asked for, or by /rejudge."
    return Awaiting.NONE, "Nobody judges it: it was skipped or closed, or is older than Assay here. Its check says why."
