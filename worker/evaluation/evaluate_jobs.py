"""What RQ runs beside the live judgings: one recorded subject judged anew, or by the canary.

Does not judge (`worker.evaluation.rejudge` does). Invariant: whatever happens here is told to the log and, where an order was read,
to the stream; nothing of it touches a live judging.
"""

import logging
from functools import partial
from typing import Final

from worker.domain.model import Frozen
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.events import FailureMode
from worker.dossier.parser_sandbox import sandboxed_parsing
from worker.errors import InputError
from worker.evaluation.rejudge import OpenJudge, OrderResult, RejudgeOrder, Rejudger, RejudgeTerms, complete_terms
from worker.evaluation.shadow_evaluation import make_shadow_order, shadow_terms
from worker.evaluation.signal_demotion import demote_signals
from worker.scheduling.jobs import JOB_CONTEXT, JobContext, catch_error

LOG: Final = logging.getLogger(__name__)
SUCCESSES: Final = frozenset({OrderResult.JUDGED, OrderResult.THERE, OrderResult.GONE, OrderResult.FULL})


class RejudgeTask(Frozen):
    """What one job is to do: an order by these terms, or (*pull* alone) the canary's turn on a pull request.

    `looks`: it is also looked whether a signal of its installation is to be demoted.
    """

    pull: PullRef
    looks: bool = False
    order: RejudgeOrder | None = None
    terms: RejudgeTerms | None = None


def perform_task(arguments: list[str], open_judge: OpenJudge) -> bool:
    """Do what a job says; whether that went well. What went wrong is in the log, and told."""
    with sandboxed_parsing():  # nobody waits, and nobody tries it again
        result = catch_error(
            partial(_perform_task, RejudgeTask.model_validate_json(arguments[0]), JOB_CONTEXT.get(), open_judge)
        )
    if isinstance(result, Exception):
        LOG.error("what nobody waits for failed", exc_info=result)
        return False
    return result


def _perform_task(errand: RejudgeTask, scene: JobContext, open_judge: OpenJudge) -> bool:
    if errand.order is not None and errand.terms is not None:
        return _rejudge(errand.order, errand.terms, scene, open_judge)
    if errand.looks:
        demote_signals(scene.store, errand.pull.installation_id, scene.clock)
    return _run_shadow_evaluation(errand.pull, scene, open_judge)


def _rejudge(order: RejudgeOrder, terms: RejudgeTerms, scene: JobContext, open_judge: OpenJudge) -> bool:
    desk = Rejudger(scene.settings, scene.store, terms, open_judge)
    ended = catch_error(partial(desk.execute, order))
    fields = {"pull": order.pull.model_dump(), "eval_id": order.eval_id, "law": terms.law}
    if isinstance(ended, Exception):
        LOG.error("judging anew failed", exc_info=ended, extra=fields)
        desk.record_failure(order, FailureMode.JUDGE_CALL_FAILED)
        return False
    LOG.info("judged anew", extra={**fields, "ended": ended.value, "is_canary": terms.is_canary})
    return ended in SUCCESSES


def _run_shadow_evaluation(pull: PullRef, scene: JobContext, open_judge: OpenJudge) -> bool:
    """Judge by the candidate what was judged last. One that can't be read is told of, and harms nobody."""
    named = shadow_terms(scene.settings, pull.installation_id, scene.clock)
    order = None if named is None else make_shadow_order(scene.store, pull)
    if named is None or order is None:
        return True
    try:
        terms = complete_terms(scene.settings, named, open_judge)
    except InputError as error:
        LOG.warning("the canary can't be used: %s", error, extra={"pull": pull.model_dump()})
        Rejudger(scene.settings, scene.store, named, open_judge).record_failure(order, FailureMode.RUBRIC_INVALID)
        return False
    return _rejudge(order, terms, scene, open_judge)
