"""The JSON at the end of a check run's text, for programs: the verdict, if there is one, and the check's own state.

Each block always parses. Fields of a verdict that do not fit are left out whole and named in `cut`.
"""

import json
from typing import Any, Final

from worker.domain.check.check_run import CheckContent, StatusBlock
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Verdict
from worker.publishing.texts.markdown import code_block, fit

OMISSION_ORDER: Final = (
    "findings", "scores", "claims", "coverage", "criteria", "closing_conditions", "evidence", "signals",
)  # fmt: skip
BACKTICK_RUN: Final = pattern("`{3,}")
LONG_TEXTS: Final = ("concern", "next_step", "escalation_reason")
TEXT_BYTES: Final = 1_000
FENCE_BYTES: Final = 500
"""Kept for the fence and the names in `cut`."""

CHECK_VERSION: Final = 1
BLOCK_BYTES: Final = 4_000
"""Kept in every text for the block of the check itself."""

OPTIONAL_FIELDS: Final = ("superseded_by", "overridden_by", "reviewed_by")


def json_block(verdict: Verdict, limit: int) -> str:
    """A folded block of at most *limit* bytes with the verdict in JSON."""
    head, tail = "<details><summary>The verdict as JSON</summary>\n\n", "\n\n</details>"
    return f"{head}{_fit_fields(verdict.model_dump(mode='json'), limit - len(head) - len(tail))}{tail}"


def check_text(content: CheckContent) -> str:
    """The text of a check run as it is written: with the check's own block at its end."""
    if content.block is None:
        return content.text
    block = code_block(_json(_fields(content, content.block), indent=2), "json")
    folded = f"<details><summary>This check as JSON</summary>\n\n{block}\n\n</details>"
    return f"{content.text}\n\n{folded}" if content.text else folded


def _fields(content: CheckContent, block: StatusBlock) -> dict[str, Any]:
    """The fields of `GET /api/verdicts` and of a verdict by the same names, and those that only a check run has."""
    return {
        "check_version": CHECK_VERSION,
        "state": block.state.value,
        "decision": block.decision,
        "reason": block.reason,
        "why": content.title,
        "until": block.until,
        "conclusion": content.conclusion and content.conclusion.value,
        "eval_id": block.eval_id,
        **{name: getattr(block, name) for name in OPTIONAL_FIELDS},
        "held_by": block.held_by,
    }


def _fit_fields(fields: dict[str, Any], room: int) -> str:
    sizes = {name: len(_json({name: value})) for name, value in fields.items()}
    pretty = _json(fields, indent=2) if sum(sizes.values()) <= room else None
    if pretty is not None and len(pretty) + FENCE_BYTES <= room:
        return code_block(pretty, "json")
    return code_block(_json(_cut_fields(fields, sizes, room)), "json")


def _cut_fields(fields: dict[str, Any], sizes: dict[str, int], room: int) -> dict[str, Any]:
    """The fields that fit; the least important ones are cut first."""
    size, cut = sum(sizes.values()) + FENCE_BYTES, list[str]()
    for name in OMISSION_ORDER:
        if size > room:
            size -= sizes[name]
            cut.append(name)
    kept = {name: value for name, value in fields.items() if name not in cut}
    if size > room:
        kept |= {name: fit(fields[name] or "", TEXT_BYTES) for name in LONG_TEXTS}
    return kept | ({"cut": cut} if cut else {})


def _json(fields: dict[str, Any], indent: int | None = None) -> str:
    """JSON in ASCII, with escaped backticks that could end the fence."""
    return BACKTICK_RUN.sub(lambda run: "\\u0060" * len(run[0]), json.dumps(fields, indent=indent))
