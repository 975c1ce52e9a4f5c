"""A pull request's verdicts, to show to whoever may see them.

Does not decide who may. Invariant: what looks like a secret is taken out of every text; ids, hashes and figures stay as they are.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, cast

from worker.analytics.pulls import Pull
from worker.analytics.windows import EPOCH
from worker.domain.ledger import LedgerEntry
from worker.domain.pattern import pattern
from worker.domain.secrets import conceal

IDS: Final = frozenset(
    {"eval_id", "parent_eval_id", "carried_from", "head_sha", "fingerprint", "created_at", "judge_cost_usd"}
    | {"prompt_version", "rubric_version"}
)
"""Fields that hold hashes, ids and figures, which look like secrets and are none."""


WORD: Final = pattern(r"[a-z_]{0,30}")
"""A word of a closed set; looking for secrets takes a while."""


def evaluations(entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    """Each verdict as docs/verdict.md has it, oldest first."""
    return [_without_secrets(one.verdict.model_dump(mode="json")) for one in entries]


def outcomes(pulls: Sequence[Pull]) -> list[dict[str, Any]]:
    """What was done about them, oldest first."""
    done = sorted((one for pull in pulls for one in pull.done), key=lambda one: one.at_ms)
    return [{"outcome": one.outcome, "eval_id": one.eval_id or None, "at": _time(one.at_ms)} for one in done]


def _time(at_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")


def _without_secrets(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value if name in IDS else _clean(value) for name, value in fields.items()}


def _clean(value: object) -> Any:
    match value:
        case str():
            return value if WORD.fullmatch(value) else conceal(value).text
        case list():
            return [_clean(one) for one in cast("list[object]", value)]
        case dict():
            return _without_secrets(cast("dict[str, Any]", value))
        case _:
            return value
