"""A text or a record with its secrets replaced by marks, and which line held what. The number of lines stays."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from worker.domain.pattern import pattern
from worker.dossier.secrets.patterns import (
    SecretKind,
    SecretSpan,
    find_named_secrets,
    find_pattern_secrets,
    find_private_keys,
)


class SecretLine(NamedTuple):
    line: int
    kind: SecretKind


@dataclass(frozen=True)
class RedactedText:
    """`secret_lines` names the line of each secret, counted from 1, and its kind, in order.

    `secrets` are the removed texts, to be searched for elsewhere and never to be stored.
    """

    text: str
    secret_lines: tuple[SecretLine, ...] = ()
    secrets: Mapping[str, SecretKind] = field(default_factory=dict[str, SecretKind])


def redact(text: str, known_secrets: Mapping[str, SecretKind] = MappingProxyType({})) -> RedactedText:
    """Replace what looks like a secret, and *known_secrets* wherever they occur."""
    searches = (find_private_keys, find_pattern_secrets, find_named_secrets)
    unmerged = [span for search in searches for span in search(text)]
    for secret, kind in known_secrets.items():
        at = text.find(secret)
        while at >= 0:
            unmerged.append(SecretSpan(at, at + len(secret), kind))
            at = text.find(secret, at + len(secret))
    spans = list(_merge_overlaps(unmerged))
    if not spans:
        return RedactedText(text)
    pieces: list[str] = []
    lines: list[SecretLine] = []
    done, line = 0, 1
    for start, end, kind in spans:
        before = text[done:start]
        line += before.count("\n")
        lines.append(SecretLine(line, kind))
        pieces += [before, kind.mark]
        done = end
    secrets = {text[start:end]: kind for start, end, kind in spans}
    return RedactedText("".join([*pieces, text[done:]]), tuple(lines), secrets)


def _merge_overlaps(spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """Join spans that overlap to one, of the kind that was searched first."""
    waiting: SecretSpan | None = None
    for span in sorted(spans, key=lambda span: span.start):
        if waiting is None or span.start >= waiting.end:
            if waiting is not None:
                yield waiting
            waiting = span
        elif span.end > waiting.end:
            waiting = waiting._replace(end=span.end)
    if waiting is not None:
        yield waiting


ID_FIELDS: Final = frozenset(
    {"eval_id", "parent_eval_id", "carried_from", "head_sha", "fingerprint", "created_at", "judge_cost_usd"}
    | {"rubric_hash", "rubric_version", "prompt_version", "system", "form", "request_id", "outcome"}
)
"""Fields of verdicts and of audits that hold hashes, ids, figures and our own words."""

WORD_PATTERN: Final = pattern(r"[a-z_]{0,30}")
"""A word of a closed set: searching it for secrets would take a while."""


def redact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Redact each text of a record, as JSON has it; hashes, ids and figures, which look like secrets, stay."""
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
