"""The ledger: append-only memory of one pull request.

Does not store anything. Invariant: an entry is never edited; a re-evaluation is a new entry.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from pydantic import ConfigDict, Field

from worker.domain.case import Case
from worker.domain.frozen import Frozen
from worker.domain.ids import EvalId, Fingerprint, Sha
from worker.domain.verdict import ClosingCondition, Reject, Verdict

PROMPT_WINDOW: Final = 5
"""How many entries the judge is shown (tilth's LEDGER_INJECT_LIMIT)."""


class LedgerEntry(Frozen):
    """One judged head. `changed_lines` holds hashes only, never the lines."""

    model_config = ConfigDict(defer_build=False)  # a dossier takes over what is built already, and else builds its own

    eval_id: EvalId
    created_at: datetime
    round: Annotated[int, Field(ge=1)]
    fence: Annotated[int, Field(ge=0)]
    head_sha: Sha
    fingerprint: Fingerprint
    diff_summary: str
    changed_lines: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    case: Case | None = None
    verdict: Verdict
    open_conditions: tuple[ClosingCondition, ...] = ()


def round_of(entries: Sequence[LedgerEntry], head_sha: Sha, fingerprint: Fingerprint) -> int:
    """Count the rejects on other content so far, plus this one.

    One head rejected twice (by two tiers, say) is one round, and so are two heads of one content.
    """
    others = [
        entry
        for entry in entries
        if isinstance(entry.verdict, Reject) and entry.head_sha != head_sha and entry.fingerprint != fingerprint
    ]
    return min(len({entry.head_sha for entry in others}), len({entry.fingerprint for entry in others})) + 1


def in_prompt(entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The last entries that go to the judge, oldest first."""
    return tuple(entries[-PROMPT_WINDOW:])
