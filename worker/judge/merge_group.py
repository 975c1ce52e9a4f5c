"""What a merge group is told, as far as its pull request decides it: pure, and closed where there is a doubt.

Does not look at the group's own content: whoever may pass because of a recorded accept is compared with it first
(`worker.scheduling.merge_queue`). Invariant: nothing passes that its pull request's own check does not pass now; and what passes as
accepted was accepted, on this very head, in a verdict that is on record.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from worker.domain.check.check_run import Conclusion
from worker.domain.check.merge_group import MergeGroup
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import CheckRunId, EvalId, Sha
from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject, SubjectKind, Tokens
from worker.dossier.diff.line_hashes import hash_changed_lines
from worker.dossier.diff.parser import DiffError, diff_of
from worker.judge.rounds.fingerprint import change_fingerprint


class PublishedCheckRun(Value):
    """Our own check run on the pull request's head. `conclusion`: GitHub's word; None: it is not done."""

    check: CheckRunId
    conclusion: str | None
    title: str


class GroupPullRequest(Value):
    """The pull request that a group tries, as it is now. `published`, `recorded`: of its current head."""

    is_closed: bool
    published: PublishedCheckRun | None
    recorded: LedgerEntry | None


class GroupStopReason(StrEnum):
    """Why a group does not pass."""

    STRANGE_REF = "strange_ref"
    CLOSED = "closed"
    REJECTED = "rejected"
    NOT_JUDGED = "not_judged"
    HELD = "held"
    UNRECORDED = "unrecorded"
    TOO_LATE = "too_late"
    NOT_SHOWN = "not_shown"


class GroupWaits(Value):
    """Its pull request has no verdict yet."""


class GroupStops(Value):
    """It does not pass. `verdict`: what was decided on the pull request's head, if that is the reason."""

    reason: GroupStopReason
    published: PublishedCheckRun | None = None
    verdict: Accept | Reject | Abstain | None = None


class GroupPasses(Value):
    """Its pull request passes without a verdict of ours: it is out of scope, observed, paused, or overridden."""

    conclusion: Conclusion
    published: PublishedCheckRun


class GroupAccepted(Value):
    """Its pull request is accepted: the group passes if it changes the same, and is judged if it does not."""

    accept: Accept
    entry: LedgerEntry
    published: PublishedCheckRun


GroupStanding = GroupWaits | GroupStops | GroupPasses | GroupAccepted

NEUTRAL_CONCLUSIONS: Final = {
    Conclusion.NEUTRAL.value: Conclusion.NEUTRAL,
    Conclusion.SKIPPED.value: Conclusion.SKIPPED,
}
"""What lets a pull request pass though nobody accepted it; its group is told the same."""


def group_standing(member: GroupPullRequest) -> GroupStanding:
    """What follows for a group from where its pull request stands."""
    published = member.published
    if member.is_closed:
        return GroupStops(GroupStopReason.CLOSED, published)
    if published is None or published.conclusion is None:
        return GroupWaits()
    if beside := NEUTRAL_CONCLUSIONS.get(published.conclusion):
        return GroupPasses(beside, published)
    verdict = member.recorded.verdict if member.recorded else None
    if published.conclusion != Conclusion.SUCCESS.value:
        return GroupStops(_stop_reason(verdict), published, verdict)
    if member.recorded is None or not isinstance(verdict, Accept):
        return GroupStops(GroupStopReason.UNRECORDED, published)
    return GroupAccepted(verdict, member.recorded, published)


def _stop_reason(verdict: Accept | Reject | Abstain | None) -> GroupStopReason:
    """Why a check is not green. An accept's may be held by another pull request of the same head."""
    match verdict:
        case Accept():
            return GroupStopReason.HELD
        case Reject():
            return GroupStopReason.REJECTED
        case _:
            return GroupStopReason.NOT_JUDGED


def newest_entry(entries: tuple[LedgerEntry, ...], head_sha: Sha) -> LedgerEntry | None:
    """The newest verdict on this head. What was judged beside another one decides nothing."""
    own = (entry for entry in reversed(entries) if entry.head_sha == head_sha and entry.verdict.parent_eval_id is None)
    return next(own, None)


def find_answer(entries: tuple[LedgerEntry, ...], group: MergeGroup, parent: LedgerEntry) -> LedgerEntry | None:
    """What is on record for this very group already, made from the verdict that its pull request has now."""
    own = (entry for entry in reversed(entries) if entry.verdict.parent_eval_id == parent.eval_id)
    return next((entry for entry in own if is_entry_of(group, entry)), None)


def is_entry_of(group: MergeGroup, entry: LedgerEntry) -> bool:
    """Whether this is of this very group. That nobody judged it counts only where it was said since somebody asked."""
    verdict = entry.verdict
    is_groups = verdict.subject.kind is SubjectKind.MERGE_GROUP and verdict.subject.head_sha == group.head_sha
    return is_groups and (not isinstance(verdict, Abstain) or entry.created_at >= group.at)


def carry_over_accept(accept: Accept, group_sha: Sha, eval_id: EvalId, at: datetime) -> Accept:
    """The accept of a pull request, for a group that changes the same: the child of that verdict. It costs nothing.

    Its pointers stay where they were checked, and say so: the base branch may have moved the lines.
    """
    subject = accept.subject.model_copy(update={"kind": SubjectKind.MERGE_GROUP, "head_sha": group_sha})
    return Accept.model_validate(
        {
            **dict(accept),
            "eval_id": eval_id,
            "parent_eval_id": accept.eval_id,
            "carried_from": accept.carried_from or accept.eval_id,
            "subject": subject,
            "created_at": at,
            "judge_cost_usd": None if accept.judge_cost_usd is None else Decimal(0),
            "judge_latency_ms": 0,
            "tokens": Tokens(),
            "signals": {**accept.signals, "pointers_at": accept.subject.head_sha},
        }
    )


def is_same_change(diff: str, entry: LedgerEntry, recorded: Dossier | None) -> bool:
    """Whether a group's diff changes just what was judged: files, modes, added and removed lines, wherever they stand.

    Where the dossier is not kept any more, the hashes in the ledger tell as much but for modes and renames. What can't be
    read, or has no hashes, counts as changed.
    """
    try:
        change = diff_of(diff)
        if recorded is not None:
            return change_fingerprint(change) == change_fingerprint(diff_of(recorded.diff))
    except DiffError:
        return False
    hashes = hash_changed_lines(change)
    return bool(hashes) and hashes == entry.changed_lines
