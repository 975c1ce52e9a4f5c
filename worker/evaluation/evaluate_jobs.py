"""What RQ runs beside the live judgings: one re-evaluation, or the shadow evaluation after a judging.

A failure is logged and, where an order was read, published; it never touches a live judging.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

from worker.domain.judge_request import PullRef
from worker.domain.ports import Clock
from worker.domain.verdict.events import FailureMode
from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import InputError
from worker.evaluation.recorded_verdicts import RecordStore
from worker.evaluation.rejudge import (
    OpenJudge,
    OrderResult,
    RejudgeOrder,
    Rejudger,
    RejudgeTask,
    RejudgeTerms,
    complete_terms,
    make_shadow_order,
    shadow_terms,
)
from worker.evaluation.signal_demotion import DemotionRecords, demote_signals
from worker.evaluation.stats.cache import FiguresCache
from worker.scheduling.jobs import catch_error
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
SUCCESSES: Final = frozenset({OrderResult.JUDGED, OrderResult.THERE, OrderResult.GONE, OrderResult.FULL})


class EvaluationStore(RecordStore, Protocol):
    """What a job reads and writes."""

    @property
    def event_retention(self) -> timedelta: ...
    @property
    def demotions(self) -> DemotionRecords: ...


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What the jobs of a process share."""

    settings: Settings
    clock: Clock
    store: EvaluationStore


def perform_task(arguments: list[str], context: EvaluationContext, open_judge: OpenJudge) -> bool:
    """Do what a job asks; whether that went well. A failure is logged, and not raised."""
    task = RejudgeTask.model_validate_json(arguments[0])

    def perform() -> bool:
        if task.order is not None and task.terms is not None:
            return _rejudge(task.order, task.terms, context, open_judge)
        if task.looks:
            figures = FiguresCache(context.settings.figures_folder, context.store.events, context.store.event_retention)
            demote_signals(context.store.demotions, figures, task.pull.installation_id, context.clock)
        return _run_shadow_evaluation(task.pull, context, open_judge)

    with sandboxed_parsing():  # there is time, and no retry
        result = catch_error(perform)
    if isinstance(result, Exception):
        LOG.error("evaluation job failed", exc_info=result)
        return False
    return result


def _rejudge(order: RejudgeOrder, terms: RejudgeTerms, context: EvaluationContext, open_judge: OpenJudge) -> bool:
    rejudger = Rejudger(context.settings, context.store, terms, open_judge)
    result = catch_error(partial(rejudger.execute, order))
    fields = {"pull": order.pull.model_dump(), "eval_id": order.eval_id, "law": terms.law}
    if isinstance(result, Exception):
        LOG.error("re-evaluation failed", exc_info=result, extra=fields)
        rejudger.record_failure(order, FailureMode.JUDGE_CALL_FAILED)
        return False
    LOG.info("verdict re-evaluated", extra={**fields, "ended": result.value, "is_canary": terms.is_canary})
    return result in SUCCESSES


def _run_shadow_evaluation(pull: PullRef, context: EvaluationContext, open_judge: OpenJudge) -> bool:
    """Judge the last verdict's dossier by the candidate. One that can't be read is an `eval.failed` event."""
    named = shadow_terms(context.settings, pull.installation_id, context.clock)
    order = None if named is None else make_shadow_order(context.store, pull)
    if named is None or order is None:
        return True
    try:
        terms = complete_terms(named, open_judge)
    except InputError as error:
        LOG.warning("canary unusable: %s", error, extra={"pull": pull.model_dump()})
        Rejudger(context.settings, context.store, named, open_judge).record_failure(order, FailureMode.RUBRIC_INVALID)
        return False
    return _rejudge(order, terms, context, open_judge)
