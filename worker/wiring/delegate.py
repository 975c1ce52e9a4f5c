"""The delegate judge: holds the output of a delegated task against its acceptance criteria.

Does not run tasks. Judges through the court of `assay judge`, so with the same prompt, reserved money, checked evidence,
ledger and archive. Invariant: an outage is UNAVAILABLE, never a FAIL and never an exception; without criteria nobody is asked.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Final

from worker.adapters.git.recorded_dossier import RecordedSource
from worker.adapters.redis.pull_requests import AlreadyJudged
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Criterion
from worker.domain.value import replace
from worker.errors import InputError, LeaseLost, Unavailable
from worker.judge.task_judgement import (
    Criteria,
    Judgement,
    criteria_from,
    dossier_of,
    judgement_of,
    not_asked,
    nothing_there,
    out_of_reach,
)
from worker.settings import Settings, from_environment
from worker.signals.registry import SIGNALS
from worker.wiring.cli import judge_locally

TIER: Final = "llm"
"""Code alone can't tell whether a text is what was asked for."""

Judge = Callable[[str, Criteria], Judgement]


def judge_output(output: str, acceptance_criteria: Criteria = None, settings: Settings | None = None) -> Judgement:
    """PASS, FAIL or UNAVAILABLE, with reasoning for each criterion; without criteria nobody is asked.

    *acceptance_criteria* is Markdown, whose list items count one by one, or the criteria themselves. *settings* None: those
    of the environment. Raises InputError for settings or criteria that can't be used, and nothing else.
    """
    if not _checked(acceptance_criteria):
        return not_asked()
    try:
        with open_judge(settings or from_environment()) as judge:
            return judge(output, acceptance_criteria)
    except Unavailable as error:
        return out_of_reach(error.reason)


@contextmanager
def open_judge(settings: Settings) -> Generator[Judge]:
    """A judge for many outputs. Raises Unavailable where the store can't be reached."""
    with open_store(settings) as store:
        yield lambda output, criteria: _judged(output, criteria, settings, store)


def enriched(result: Mapping[str, object], output: str, criteria: Criteria, judge: Judge) -> Mapping[str, object]:
    """A task's result with what the judge says of it under `judge`; without criteria the result as it was."""
    if not _checked(criteria):
        return result
    return {**result, "judge": judge(output, criteria).model_dump(mode="json")}


def _checked(criteria: Criteria) -> tuple[Criterion, ...]:
    """The criteria that there are. Raises InputError."""
    try:
        return criteria_from(criteria)
    except ValueError as error:
        raise InputError(f"The acceptance criteria can't be used: {error}.") from error


def _judged(output: str, given: Criteria, settings: Settings, store: Store) -> Judgement:
    criteria = _checked(given)
    if not criteria:
        return not_asked()
    if not output.strip():
        return nothing_there(criteria)
    source = RecordedSource(dossier_of(output, criteria, [signal.name for signal in SIGNALS]))
    request = source.request(SystemClock().now())
    try:
        judged = judge_locally(replace(settings, tier=TIER), store, source, request)
    except Unavailable as error:
        return out_of_reach(error.reason)
    except (LeaseLost, AlreadyJudged):
        return out_of_reach("another process judges the same output right now")
    return judgement_of(judged.verdict, criteria)
