"""Redis keys whose layout every release keeps, since GitHub cannot provide their data again. All others are transient."""

from typing import Final

DURABLE: Final = frozenset({
    "added", "arrival", "audit", "book", "commit", "config", "decisions", "demoted", "dossier", "events", "forgotten", "kept",
    "ledger", "merges", "named", "note", "outcomes", "paused", "promoted", "purse", "rubrics", "scanned", "shelf", "shelves",
    "solving", "spent", "tokens", "watch", "count", "sealed-with", "cells",
})  # fmt: skip


def is_durable(name: str) -> bool:
    """*name* has ids or placeholders: `assay:7:ledger:8:9`, `assay:{installation}:ledger:{repository}:{number}`."""
    first, *rest = name.removeprefix("assay:").split(":")
    what = rest[0] if rest and (first.isdecimal() or first.startswith("{")) else first
    return what in DURABLE
