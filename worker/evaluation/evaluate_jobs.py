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
class EvaluationJobs:
    """Does what jobs ask in one process."""

    settings: Settings
    clock: Clock
    store: EvaluationStore
    open_judge: OpenJudge

    def perform(self, arguments: list[str]) -> bool:
        """Do what a job asks; whether that went well. A failure is logged, and not raised."""
        task = RejudgeTask.model_validate_json(arguments[0])
        with sandboxed_parsing():  # there is time, and no retry
            result = catch_error(partial(self._perform_task, task))
        if isinstance(result, Exception):
            LOG.error("evaluation job failed", exc_info=result)
            return False
        return result

    def _perform_task(self, task: RejudgeTask) -> bool:
        if task.order is not None and task.terms is not None:
            return self._rejudge(task.order, task.terms)
        if task.looks:
            figures = FiguresCache(self.settings.figures_folder, self.store.events, self.store.event_retention)
            demote_signals(self.store.demotions, figures, task.pull.installation_id, self.clock)
        return not self.settings.shadow.is_set or self._run_shadow_evaluation(task.pull)

    def _rejudge(self, order: RejudgeOrder, terms: RejudgeTerms) -> bool:
        rejudger = Rejudger(self.settings, self.store, terms, self.open_judge)
        result = catch_error(partial(rejudger.execute, order))
        fields = {"pull": order.pull.model_dump(), "eval_id": order.eval_id, "law": terms.law}
        if isinstance(result, Exception):
            LOG.error("re-evaluation failed", exc_info=result, extra=fields)
            rejudger.record_failure(order, FailureMode.JUDGE_CALL_FAILED)
            return False
        LOG.info("verdict re-evaluated", extra={**fields, "ended": result.value, "is_canary": terms.is_canary})
        return result in SUCCESSES

    def _run_shadow_evaluation(self, pull: PullRef) -> bool:
        """Judge the last verdict's dossier by the candidate. One that can't be read is an `eval.failed` event."""
        order = make_shadow_order(self.store, pull)
        if order is None:
            return True
        named = shadow_terms(self.settings, pull.installation_id, self.clock)
        try:
            terms = complete_terms(named, self.open_judge)
        except InputError as error:
            LOG.warning("canary unusable: %s", error, extra={"pull": pull.model_dump()})
            Rejudger(self.settings, self.store, named, self.open_judge).record_failure(
                order, FailureMode.RUBRIC_INVALID
            )
            return False
        return self._rejudge(order, terms)
