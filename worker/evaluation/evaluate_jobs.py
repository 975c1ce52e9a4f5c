"""What RQ runs beside the live judgings: one re-evaluation, or the shadow evaluation after a judging.

A failure is logged and, where an order was read, published; it never touches a live judging. Signals whose rejects are overridden
too often are demoted, until a person promotes them. Each demotion is logged.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from worker.domain.ids import InstallationId
from worker.domain.judge_request import PullRef
from worker.domain.ports import Clock
from worker.domain.verdict.events import FailureMode
from worker.domain.verdict.outcomes import Demotion, RejectCounts
from worker.dossier.parser_sandbox import sandboxed_parsing
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
from worker.evaluation.stats.cache import FiguresCache
from worker.evaluation.stats.figures import Sums, make_window
from worker.evaluation.stats.people import reject_sums
from worker.scheduling.jobs import catch_error
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
SUCCESSES: Final = frozenset({OrderResult.JUDGED, OrderResult.THERE, OrderResult.GONE, OrderResult.FULL})
LOOK_BACK: Final = timedelta(days=90)


class DemotionRecords(Protocol):
    """The demoted signals of each installation. Raises Unavailable."""

    def signals(self, installation: InstallationId) -> frozenset[str]: ...

    def promotion_times(self, installation: InstallationId) -> Mapping[str, datetime]:
        """Time of the last promotion of each signal."""
        ...

    def demote(self, installation: InstallationId, demotion: Demotion) -> bool:
        """Demote a signal; False: it is already demoted."""
        ...


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
        LOG.warning("the canary can't be used: %s", error, extra={"pull": pull.model_dump()})
        Rejudger(context.settings, context.store, named, open_judge).record_failure(order, FailureMode.RUBRIC_INVALID)
        return False
    return _rejudge(order, terms, context, open_judge)


def demote_signals(
    records: DemotionRecords, figures: FiguresCache, installation: InstallationId, clock: Clock
) -> tuple[Demotion, ...]:
    """Demote what is over its limit now; the new demotions."""
    now, made = clock.now(), list[Demotion]()
    demoted = records.signals(installation)
    sums = _signal_sums(figures, installation, now - LOOK_BACK, now)
    promoted = records.promotion_times(installation)
    for signal in sorted(sums.keys() - demoted):
        tally = _tally(sums[signal])
        if tally.is_over_limit and (at := promoted.get(signal)) is not None:  # seldom: counted from the promotion on
            since = max(at + timedelta(hours=1), now - LOOK_BACK)
            tally = _tally(_signal_sums(figures, installation, since, now).get(signal, Sums()))
        demotion = Demotion(signal=signal, tally=tally, at=now)
        if tally.is_over_limit and records.demote(installation, demotion):
            LOG.warning("%s", demotion.notice(installation), extra={"installation": installation, "signal": signal})
            made.append(demotion)
    return tuple(made)


def _signal_sums(
    figures: FiguresCache, installation: InstallationId, since: datetime, now: datetime
) -> dict[str, Sums]:
    """Sums of rejects by signal; none before all entries are counted here, as a part may say something else."""
    if since >= now:
        return {}
    window = make_window(since, now)
    return figures.query(
        [installation],
        now,
        lambda streams: {} if streams[0].is_behind else reject_sums(streams, window, "signals"),
    )


def _tally(sums: Sums) -> RejectCounts:
    """Its rejects, and those that were overridden, or contested and not upheld, each once."""
    rejects = sums["rejects"]
    return RejectCounts(rejects=rejects, overturned=min(sums["overturned"], rejects))
