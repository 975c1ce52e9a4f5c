"""The ledger: append-only memory of one pull request.

Does not store anything. Invariant: an entry is never edited; a re-evaluation is a new entry; and a closing condition,
once frozen, keeps its id and its text for ever.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from worker.domain.case import Case
from worker.domain.diff import Diff, DiffLine, FileDiff
from worker.domain.frozen import Frozen
from worker.domain.ids import EvalId, Fingerprint, Sha
from worker.domain.verdict import ClosingCondition, Reject, Verdict

PROMPT_WINDOW: Final = 5
"""How many entries the judge is shown (tilth's LEDGER_INJECT_LIMIT)."""

ROUND_LIMIT: Final = 5
"""How many rounds may end in a reject, where nobody says otherwise; then it is a person's."""

HASHED_LINES: Final = 5_000
"""Most changed lines of one head whose hashes are kept; a bigger change keeps none (it is one surface)."""

_SHORTEST_ID: Final = 7
"""git abbreviates object ids to this or more, depending on the size of the repository."""


class LedgerEntry(Frozen):
    """One judged head. `changed_lines` holds hashes only, never the lines; `pushed_at`: when we heard of the head."""

    model_config = ConfigDict(defer_build=False)  # a dossier takes over what is built already, and else builds its own

    eval_id: EvalId
    created_at: datetime
    round: Annotated[int, Field(ge=1)]
    fence: Annotated[int, Field(ge=0)]
    head_sha: Sha
    fingerprint: Fingerprint
    pushed_at: datetime | None = None
    diff_summary: str
    changed_lines: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    case: Case | None = None
    verdict: Verdict
    open_conditions: tuple[ClosingCondition, ...] = ()


def round_of(
    entries: Sequence[LedgerEntry], head_sha: Sha, fingerprint: Fingerprint, pushed_at: datetime | None = None
) -> int:
    """Count the rejects on other content so far, plus this one.

    One head rejected twice (by two tiers, say) is one round, and so are two heads of one content. What was pushed before
    the reject of a round could be seen belongs to that round; a push of unknown time counts.
    """
    seen: set[str] = set()
    rounds, visible = 0, None
    for entry in entries:
        if not isinstance(entry.verdict, Reject) or entry.head_sha == head_sha or entry.fingerprint == fingerprint:
            continue
        if seen.isdisjoint({entry.head_sha, entry.fingerprint}) and _answers(entry.pushed_at, visible):
            rounds, visible = rounds + 1, _visible_at(entry)
        seen |= {entry.head_sha, entry.fingerprint}
    return rounds + 1 if _answers(pushed_at, visible) else rounds


def _answers(pushed_at: datetime | None, visible: datetime | None) -> bool:
    """Whether who pushed may have seen what was visible then."""
    return pushed_at is None or visible is None or _in_utc(pushed_at) > visible


def _visible_at(entry: LedgerEntry) -> datetime:
    """When its judging ended: it was published a moment later."""
    return _in_utc(entry.created_at) + timedelta(milliseconds=entry.verdict.judge_latency_ms)


def _in_utc(time: datetime) -> datetime:
    """A recorded dossier may leave the zone out."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def in_prompt(entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The last entries that go to the judge, oldest first."""
    return tuple(entries[-PROMPT_WINDOW:])


def conditions_of(entries: Iterable[LedgerEntry]) -> tuple[ClosingCondition, ...]:
    """Every condition that was ever frozen, in the order of that, each as the newest entry has it.

    The text is what makes a condition the same; a second one under a taken id gets a new id.
    """
    known: dict[str, ClosingCondition] = {}
    for entry in entries:
        for one in (*entry.verdict.closing_conditions, *entry.open_conditions):
            before = known.get(one.text)
            known[one.text] = with_free_id(one, known.values()) if before is None else _as_now(before, one)
    return tuple(known.values())


def _as_now(before: ClosingCondition, now: ClosingCondition) -> ClosingCondition:
    return before.model_copy(update={"state": now.state})


def with_free_id(condition: ClosingCondition, known: Iterable[ClosingCondition]) -> ClosingCondition:
    """The condition, under an id that none of *known* has."""
    taken = {one.id for one in known}
    if condition.id not in taken:
        return condition
    free = next(name for number in range(1, len(taken) + 2) if (name := f"c{number}") not in taken)
    return condition.model_copy(update={"id": free})


def changed_lines(diff: Diff) -> dict[str, tuple[str, ...]]:
    """Per path, a hash of each added, then of each removed line; empty for a change of more than HASHED_LINES lines."""
    if sum(len(file.added) + len(file.removed) for file in diff.files) > HASHED_LINES:
        return {}
    hashes: dict[str, tuple[str, ...]] = {}
    for file in diff.files:  # a file that became a link stands in a diff twice
        hashes[file.path] = (*hashes.get(file.path, ()), *(one for _, one in hashed(file)))
    return hashes


def hashed(file: FileDiff) -> list[tuple[DiffLine | None, str]]:
    """Each changed line with its hash; of a file without any, one hash of what did change (its mode, its content)."""
    lines = [*file.added, *file.removed]
    if lines:
        return [(line, line_hash(line.kind, line.text)) for line in lines]
    blobs = [blob[:_SHORTEST_ID] for blob in file.blobs or ()]
    return [(None, line_hash("", repr((file.change.value, file.old_path, file.old_mode, file.new_mode, blobs))))]


def line_hash(kind: str, text: str) -> str:
    """*kind* is the line's mark in a diff."""
    return hashlib.sha256(f"{kind}{text}".encode()).hexdigest()[:16]
