"""What a merge group's check shows, as far as its pull request decides it.

A group passes only while its pull request's own check does, and as accepted only with a recorded accept of this head. Whether the
group has the same content is compared separately (`worker.scheduling.merge_queue`).
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from worker.domain.check.check_run import Conclusion
from worker.domain.dossier import Dossier
from worker.domain.github_events import MergeGroup
from worker.domain.model import CheckRunId, EvalId, Sha
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject, SubjectKind, Tokens
from worker.dossier.diff import DiffError, diff_of, hash_changed_lines
from worker.judge.fingerprint import change_fingerprint


@dataclass(frozen=True)
class PublishedCheckRun:
    """Our check run on the pull request's head. `conclusion`: as GitHub has it; None while it runs."""

    check: CheckRunId
    conclusion: str | None
    title: str


@dataclass(frozen=True)
class GroupPullRequest:
    """The pull request of a group. `published`: on its current head."""

    head_sha: Sha
    is_closed: bool
    published: PublishedCheckRun | None


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


@dataclass(frozen=True)
class GroupWaits:
    """The pull request has no verdict yet."""


@dataclass(frozen=True)
class GroupStops:
    """The group does not pass. `verdict`: of the pull request's head, where that is the reason."""

    reason: GroupStopReason
    published: PublishedCheckRun | None = None
    verdict: Accept | Reject | Abstain | None = None


@dataclass(frozen=True)
class GroupPasses:
    """The pull request passes without our verdict: out of scope, observed, paused or overridden."""

    conclusion: Conclusion
    published: PublishedCheckRun


@dataclass(frozen=True)
class GroupAccepted:
    """The pull request is accepted: the group passes with the same change, else it is judged."""

    accept: Accept
    entry: LedgerEntry
    published: PublishedCheckRun


GroupMemberState = GroupWaits | GroupStops | GroupPasses | GroupAccepted

NEUTRAL_CONCLUSIONS: Final = {
    Conclusion.NEUTRAL.value: Conclusion.NEUTRAL,
    Conclusion.SKIPPED.value: Conclusion.SKIPPED,
}
"""Conclusions that let a pull request pass without an accept; its group gets the same."""


def group_member_state(member: GroupPullRequest, recorded: LedgerEntry | None) -> GroupMemberState:
    """What a group's check follows from its pull request. *recorded*: the newest verdict on its current head."""
    published = member.published
    if member.is_closed:
        return GroupStops(GroupStopReason.CLOSED, published)
    if published is None or published.conclusion is None:
        return GroupWaits()
    if beside := NEUTRAL_CONCLUSIONS.get(published.conclusion):
        return GroupPasses(beside, published)
    verdict = recorded.verdict if recorded else None
    if published.conclusion != Conclusion.SUCCESS.value:
        # another pull request with the same head may hold an accept back
        reasons = {"accept": GroupStopReason.HELD, "reject": GroupStopReason.REJECTED}
        reason = reasons.get(verdict.decision if verdict else "", GroupStopReason.NOT_JUDGED)
        return GroupStops(reason, published, verdict)
    if recorded is None or not isinstance(verdict, Accept):
        return GroupStops(GroupStopReason.UNRECORDED, published)
    return GroupAccepted(verdict, recorded, published)


def newest_entry(entries: tuple[LedgerEntry, ...], head_sha: Sha) -> LedgerEntry | None:
    """The newest verdict on this head; children of other verdicts don't count."""
    own = (entry for entry in reversed(entries) if entry.head_sha == head_sha and entry.verdict.parent_eval_id is None)
    return next(own, None)


def find_answer(entries: tuple[LedgerEntry, ...], group: MergeGroup, parent: LedgerEntry) -> LedgerEntry | None:
    """The recorded entry of this group that descends from its pull request's present verdict."""
    own = (entry for entry in reversed(entries) if entry.verdict.parent_eval_id == parent.eval_id)
    return next((entry for entry in own if is_entry_of(group, entry)), None)


def is_entry_of(group: MergeGroup, entry: LedgerEntry) -> bool:
    """Whether an entry is of this group; an abstain counts only if it is newer than the group's request."""
    verdict = entry.verdict
    is_groups = verdict.subject.kind is SubjectKind.MERGE_GROUP and verdict.subject.head_sha == group.head_sha
    return is_groups and (not isinstance(verdict, Abstain) or entry.created_at >= group.at)


def carry_over_accept(accept: Accept, group_sha: Sha, eval_id: EvalId, at: datetime) -> Accept:
    """The accept of a pull request for a group with the same change: a child of that verdict, at no cost.

    Its pointers are those of the pull request's head, as `pointers_at` says: the base branch may have moved the lines.
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
    """Whether a group's diff makes the judged change: files, modes, added and removed lines, wherever they are.

    Without the recorded dossier the hashes of the ledger decide, apart from modes and renames. What can't be read, or has no
    hashes, counts as changed.
    """
    try:
        change = diff_of(diff)
        if recorded is not None:
            return change_fingerprint(change) == change_fingerprint(diff_of(recorded.diff))
    except DiffError:
        return False
    hashes = hash_changed_lines(change)
    return bool(hashes) and hashes == entry.changed_lines
