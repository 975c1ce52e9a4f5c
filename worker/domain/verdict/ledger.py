"""The ledger: append-only memory of one pull request.

A re-evaluation is a new entry. A closing condition keeps its id and its text for ever.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from pydantic import ConfigDict, Field, StringConstraints

from worker.domain.model import EvalId, Fingerprint, Frozen, Sha
from worker.domain.verdict.verdict import Abstain, AbstainReason, ClosingCondition, Reject, Verdict

PROMPT_WINDOW: Final = 5
"""How many judged rounds the judge is shown (tilth's LEDGER_INJECT_LIMIT)."""

ROUND_LIMIT: Final = 5
"""The default of how many rounds may end in a reject; then a person decides."""


CaseText = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class CoverageClaim(Frozen):
    """`addressed_by` is `path:symbol` (also `path`, `path:12`, `path::test` ...); `evidence` is optional."""

    criterion: CaseText
    addressed_by: CaseText
    evidence: str | None = None


class Case(Frozen):
    """The author's case: what the change claims, in a fenced `assay` block of the pull request's body."""

    summary: CaseText
    ac_coverage: tuple[CoverageClaim, ...] = ()
    work_arounds: tuple[CaseText, ...] = ()
    uncertainties: tuple[CaseText, ...] = ()


class LedgerEntry(Frozen):
    """One judged head. `changed_lines`: hashes, never the lines. `pushed_at`: when the head was first seen.

    `description`: a hash of the title and text, where they are the criterion. `links`: the issues that the text links.
    """

    model_config = ConfigDict(defer_build=False)  # a dossier reuses a schema that is built, and else builds its own

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
    description: str | None = None
    links: tuple[str, ...] | None = None
    verdict: Verdict
    open_conditions: tuple[ClosingCondition, ...] = ()


class AuthorText(Frozen):
    """The author's text about one head, as far as it is judged. None: it does not count, or an older entry lacks it."""

    case: Case | None = None
    is_readable: bool = True
    """Whether there is no case block, or one that could be read."""
    description: str | None = None
    links: tuple[str, ...] | None = None

    def is_same(self, other: "AuthorText") -> bool:
        return (self.case, self.is_readable) == (other.case, other.is_readable) and self.has_same_task(other)

    def has_same_task(self, other: "AuthorText") -> bool:
        """Whether both texts have the change judged by the same issues or by the same description."""
        pairs = ((self.description, other.description), (self.links, other.links))
        return all(None in pair or pair[0] == pair[1] for pair in pairs)


def author_text_of(entry: LedgerEntry) -> AuthorText:
    """The author's text that an entry was judged by."""
    return AuthorText(
        case=entry.case, is_readable=entry.verdict.case_error is None, description=entry.description, links=entry.links
    )


class TextChange(StrEnum):
    """How the author's text differs from those of the verdicts on the same head."""

    FIRST = "first"
    """The head has no verdict yet."""
    SAME = "same"
    MENDED = "mended"
    """The case block could not be read, and can be now: free, once a head, where no case was judged before."""
    EDITED = "edited"
    """Judged once more, once a head; costs a round."""
    FROZEN = "frozen"
    """The head keeps its verdict, with the text that was judged."""


EDIT_CHANGES: Final = frozenset({TextChange.EDITED, TextChange.FROZEN})
"""A frozen text that was judged all the same (on a laptop, or by an older version) is an edit."""

MOST_EDITS: Final = 2
"""Edits of one head that are judged: one, and one that was made before the verdict on it was visible."""


def classify_text(
    entries: Sequence[LedgerEntry], head_sha: Sha, text: AuthorText, edited_at: datetime | None = None
) -> TextChange:
    """Compare this text with those judged on the head. *edited_at*: when it was written, if known."""
    judged = find_judged_entries(entries, head_sha)
    turns = _classify_texts([*(author_text_of(entry) for entry in judged), text])
    if turns[-1] is not TextChange.EDITED:
        return turns[-1]
    edits = [entry for entry, turn in zip(judged, turns[:-1], strict=True) if turn is TextChange.EDITED]
    is_seen = bool(edits) and (edited_at is None or _in_utc(edited_at) > _visible_at(edits[-1]))
    return TextChange.FROZEN if is_seen or len(edits) >= MOST_EDITS else TextChange.EDITED


def _classify_texts(texts: Sequence[AuthorText]) -> list[TextChange]:
    """Compare each text of a head with those before it, as if none were frozen."""
    turns: list[TextChange] = []
    for at, text in enumerate(texts):
        before = texts[:at]
        if not before:
            turns.append(TextChange.FIRST)
        elif any(text.is_same(earlier) for earlier in before):
            turns.append(TextChange.SAME)
        elif text.is_readable and not before[-1].is_readable and all(earlier.case is None for earlier in before):
            turns.append(TextChange.MENDED)
        else:
            turns.append(TextChange.EDITED)
    return turns


def find_judged_entries(entries: Iterable[LedgerEntry], head_sha: Sha) -> tuple[LedgerEntry, ...]:
    """The judged entries of a head, each content once, oldest first."""
    here = (entry for entry in entries if entry.head_sha == head_sha and is_judged(entry))
    return tuple({entry.fingerprint: entry for entry in here}.values())


def is_judged(entry: LedgerEntry) -> bool:
    """Whether it was judged, and not carried over: an accept, a reject, or one that a person has to decide."""
    verdict = entry.verdict
    is_open = isinstance(verdict, Abstain) and verdict.abstain_reason is not AbstainReason.NEEDS_HUMAN
    return not is_open and verdict.carried_from is None


def round_of(
    entries: Sequence[LedgerEntry],
    head_sha: Sha,
    fingerprint: Fingerprint,
    pushed_at: datetime | None = None,
    *,
    is_edit: bool = False,
) -> int:
    """Count the rejects on other content so far, plus this one.

    One head rejected twice (by two tiers, say) is one round, and so are two heads of one content. A push before the reject of a
    round was visible belongs to that round; a push of unknown time counts. An edit of the author's text that is judged once more
    is a round of its own (*is_edit*: this judging is of one).
    """
    seen: set[str] = set()
    rounds, visible = 0, None
    for at, entry in enumerate(entries):
        is_here = entry.head_sha == head_sha and not is_edit
        if not isinstance(entry.verdict, Reject) or is_here or entry.fingerprint == fingerprint:
            continue
        is_new = seen.isdisjoint({entry.head_sha, entry.fingerprint}) and _may_answer(entry.pushed_at, visible)
        if not is_new and entry.fingerprint not in seen:
            is_new = classify_text(entries[:at], entry.head_sha, author_text_of(entry)) in EDIT_CHANGES
        if is_new:
            rounds, visible = rounds + 1, _visible_at(entry)
        seen |= {entry.head_sha, entry.fingerprint}
    return rounds + 1 if is_edit or _may_answer(pushed_at, visible) else rounds


def _may_answer(pushed_at: datetime | None, visible: datetime | None) -> bool:
    """Whether a push may be an answer to a verdict that was visible then."""
    return pushed_at is None or visible is None or _in_utc(pushed_at) > visible


def _visible_at(entry: LedgerEntry) -> datetime:
    """When its judging ended: it was published a moment later."""
    return _in_utc(entry.created_at) + timedelta(milliseconds=entry.verdict.judge_latency_ms)


def _in_utc(time: datetime) -> datetime:
    """A recorded dossier may leave the zone out."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def select_prompt_entries(entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The last judged rounds for the prompt, oldest first: each content once, as it was judged last."""
    judged = {entry.fingerprint: entry for entry in reversed(entries) if is_judged(entry)}
    return tuple(reversed(tuple(judged.values())[:PROMPT_WINDOW]))


def conditions_of(entries: Iterable[LedgerEntry]) -> tuple[ClosingCondition, ...]:
    """Every condition that was ever frozen, in that order, each in the state of the newest entry.

    Conditions of one text are the same; a second one under a taken id gets a new id.
    """
    by_text: dict[str, ClosingCondition] = {}
    for entry in entries:
        for condition in (*entry.verdict.closing_conditions, *entry.open_conditions):
            before = by_text.get(condition.text)
            by_text[condition.text] = (
                with_free_id(condition, by_text.values())
                if before is None
                else before.model_copy(update={"state": condition.state})
            )
    return tuple(by_text.values())


def with_free_id(condition: ClosingCondition, others: Iterable[ClosingCondition]) -> ClosingCondition:
    """The condition, under an id that none of *others* has."""
    taken = {other.id for other in others}
    if condition.id not in taken:
        return condition
    free = next(name for number in range(1, len(taken) + 2) if (name := f"c{number}") not in taken)
    return condition.model_copy(update={"id": free})
