"""The fields of a record without secrets: what it quotes is concealed, text by text.

Does not know which records there are. Invariant: what comes out has the shape of what went in; hashes, ids and figures, which
hold no secret and look like some, stay.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from worker.domain.pattern import pattern
from worker.dossier.secrets.redactor import redact

ID_FIELDS: Final = frozenset(
    {"eval_id", "parent_eval_id", "carried_from", "head_sha", "fingerprint", "created_at", "judge_cost_usd"}
    | {"rubric_hash", "rubric_version", "prompt_version", "system", "form", "request_id", "outcome"}
)
"""Fields of verdicts and of audits that hold hashes, ids, figures and our own words."""

WORD_PATTERN: Final = pattern(r"[a-z_]{0,30}")
"""A word of a closed set; looking for secrets takes a while."""


def redact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same fields, as JSON has them."""
    return {name: value if name in ID_FIELDS else _redact_value(value) for name, value in fields.items()}


def _redact_value(value: object) -> Any:
    match value:
        case str():
            return value if WORD_PATTERN.fullmatch(value) else redact(value).text
        case list():
            return [_redact_value(item) for item in cast("list[object]", value)]
        case dict():
            return redact_fields(cast("dict[str, Any]", value))
        case _:
            return value
