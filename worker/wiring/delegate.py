"""Judge the output of a delegated task against its acceptance criteria, through the pipeline of `assay judge`.

An outage is UNAVAILABLE, never a FAIL or an exception.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from worker.adapters.redis.judging.pull_requests import AlreadyJudged
from worker.adapters.redis.store import Store, open_store
from worker.domain.dossier import Criterion
from worker.errors import InputError, LeaseLost, Unavailable
from worker.judge.task_judgement import (
    Criteria,
    TaskJudgement,
    criteria_from,
    dossier_of,
    judge_empty_output,
    judge_unavailable,
    judge_without_criteria,
    judgement_of,
)
from worker.process import SystemClock
from worker.settings import Settings, load_settings
from worker.signals.heuristic_opinion import SIGNALS
from worker.wiring.cli import RecordedSource, judge_locally

TIER: Final = "llm"
"""Code alone can't judge a text."""

OutputJudge = Callable[[str, Criteria], TaskJudgement]


def judge_output(output: str, acceptance_criteria: Criteria = None, settings: Settings | None = None) -> TaskJudgement:
    """PASS, FAIL or UNAVAILABLE, with reasoning for each criterion; without criteria no model is asked.

    *acceptance_criteria*: Markdown, each list item a criterion, or the criteria themselves. *settings* None: those of the environment.
    Raises InputError for unusable settings or criteria, and nothing else.
    """
    if not _parse_criteria(acceptance_criteria):
        return judge_without_criteria()
    try:
        with open_judge(settings or load_settings()) as judge:
            return judge(output, acceptance_criteria)
    except Unavailable as error:
        return judge_unavailable(error.reason)


@contextmanager
def open_judge(settings: Settings) -> Generator[OutputJudge]:
    """A judge for many outputs. Raises Unavailable where the store can't be reached."""
    with open_store(settings) as store:
        yield lambda output, criteria: _judge(output, criteria, settings, store)


def add_judgement(
    result: Mapping[str, object], output: str, criteria: Criteria, judge: OutputJudge
) -> Mapping[str, object]:
    """A task's result with its judgement under `judge`; without criteria the unchanged result."""
    if not _parse_criteria(criteria):
        return result
    return {**result, "judge": judge(output, criteria).model_dump(mode="json")}


def _parse_criteria(criteria: Criteria) -> tuple[Criterion, ...]:
    """The criteria one by one. Raises InputError."""
    try:
        return criteria_from(criteria)
    except ValueError as error:
        raise InputError(f"The acceptance criteria can't be used: {error}.") from error


def _judge(output: str, acceptance_criteria: Criteria, settings: Settings, store: Store) -> TaskJudgement:
    criteria = _parse_criteria(acceptance_criteria)
    if not criteria:
        return judge_without_criteria()
    if not output.strip():
        return judge_empty_output(criteria)
    source = RecordedSource(dossier_of(output, criteria, [signal.name for signal in SIGNALS]))
    request = source.request(SystemClock().now())
    try:
        judged = judge_locally(replace(settings, tier=TIER), store, source, request)
    except Unavailable as error:
        return judge_unavailable(error.reason)
    except (LeaseLost, AlreadyJudged):
        return judge_unavailable("another process judges the same output right now")
    return judgement_of(judged.verdict, criteria)
