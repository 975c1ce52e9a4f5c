"""The tables of a rollup, and by what each is grouped. Every table is named here."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from worker.evaluation.stats.pulls import VerdictRow
from worker.evaluation.stats.stream_entries import VerdictView

FLOW: Final = "flow"
TROUBLES: Final = "troubles"
SKIPPED: Final = "skipped"
OUTCOMES: Final = "outcomes"
AGENTS: Final = "agents"
AGREE_RUBRIC: Final = "agree:rubric"
AGREE_TIER: Final = "agree:tier"
AGREE_SAME: Final = "agree:same"
AGREE_OPINIONS: Final = "agree:opinions"
AGREEMENTS: Final = (AGREE_RUBRIC, AGREE_TIER, AGREE_SAME, AGREE_OPINIONS)
OVER_SIGNAL: Final = "over:signal"
OVER_CATEGORY: Final = "over:category"
OVER_RUBRIC: Final = "over:rubric"
MOST_ROUNDS: Final = 99


class GroupDimension(StrEnum):
    """By what verdicts are grouped."""

    AUTHOR_AGENT = "author_agent"
    JUDGE_KIND = "judge_kind"
    RUBRIC = "rubric"
    REPOSITORY = "repository"
    CATEGORY = "category"


def quality_table(subject: str, view: VerdictView, dimension: str) -> str:
    return f"quality:{subject}:{view.value}:{dimension}"


def spread_table(subject: str, view: VerdictView, dimension: str) -> str:
    """Scores by confidence: read only where a confidence is requested, as it is the larger part."""
    return f"spread:{subject}:{view.value}:{dimension}"


def outcome_table(strength: str) -> str:
    return f"people:{strength}"


def dimension_values(row: VerdictRow | None, rubric: str, repository_id: int) -> Mapping[str, str]:
    """What a verdict counts under, by dimension; a failure without a verdict has only a rubric and a repository."""
    return {
        GroupDimension.AUTHOR_AGENT: row.agent if row else UNKNOWN_VALUE,
        GroupDimension.JUDGE_KIND: row.judge_kind if row else UNKNOWN_VALUE,
        GroupDimension.RUBRIC: rubric,
        GroupDimension.REPOSITORY: str(repository_id),
        GroupDimension.CATEGORY: row.category if row else UNKNOWN_VALUE,
    }


UNKNOWN_VALUE: Final = "?"


def objection_tables(facts: Iterable[str], category: str, rubric: str) -> Iterator[tuple[str, str]]:
    """Where a reject counts, and what people did against it."""
    yield from ((OVER_SIGNAL, fact) for fact in facts)
    yield OVER_CATEGORY, category
    yield OVER_RUBRIC, rubric
