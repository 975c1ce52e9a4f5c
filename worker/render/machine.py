"""The verdict as a JSON block for programs that read the check run.

Does not judge what matters to people. Invariant: the block always parses; what does not fit is left out
whole and named in `cut`.
"""

import json
from typing import Any, Final

from worker.domain.pattern import pattern
from worker.domain.verdict import Verdict
from worker.render.markdown import fenced
from worker.render.visible import fit

LEAVE_OUT: Final = (
    "findings", "scores", "claims", "coverage", "criteria", "closing_conditions", "evidence", "signals",
)  # fmt: skip
RUN: Final = pattern("`{3,}")
LONG_TEXTS: Final = ("concern", "next_step", "escalation_reason")
TEXT_BYTES: Final = 1_000
FENCE_BYTES: Final = 500
"""Room for the fence and the names of what was left out."""


def json_block(verdict: Verdict, limit: int) -> str:
    """A folded block of at most *limit* bytes with the verdict in JSON."""
    head, tail = "<details><summary>The verdict as JSON</summary>\n\n", "\n\n</details>"
    room = limit - len(head) - len(tail)
    return f"{head}{_fitting(verdict.model_dump(mode='json'), room)}{tail}"


def _fitting(fields: dict[str, Any], room: int) -> str:
    sizes = {name: len(_json({name: value})) for name, value in fields.items()}
    pretty = _json(fields, indent=2) if sum(sizes.values()) <= room else None
    if pretty is not None and len(pretty) + FENCE_BYTES <= room:
        return fenced(pretty, "json")
    return fenced(_json(_less(fields, sizes, room)), "json")


def _less(fields: dict[str, Any], sizes: dict[str, int], room: int) -> dict[str, Any]:
    """The fields that fit, least important ones out first; what was left out is named."""
    size, cut = sum(sizes.values()) + FENCE_BYTES, list[str]()
    for name in LEAVE_OUT:
        if size > room:
            size -= sizes[name]
            cut.append(name)
    kept = {name: value for name, value in fields.items() if name not in cut}
    if size > room:
        kept |= {name: fit(fields[name] or "", TEXT_BYTES) for name in LONG_TEXTS}
    return kept | ({"cut": cut} if cut else {})


def _json(fields: dict[str, Any], indent: int | None = None) -> str:
    """ASCII, so that every reader gets the same bytes, and without anything that could end the fence."""
    text = json.dumps(fields, indent=indent).replace("\x7f", "\\u007f")
    return RUN.sub(lambda run: "\\u0060" * len(run[0]), text)
