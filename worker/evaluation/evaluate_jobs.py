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
from worker.dossier.parser_sandbox import tasting
from worker.errors import InputError
from worker.evaluation.canary import named_terms, order_of
from worker.evaluation.rejudge import Desk, Ended, OpenJudge, Order, Terms, terms_of
from worker.evaluation.signal_demotion import look
from worker.scheduling.jobs import SCENE, Scene, caught

LOG: Final = logging.getLogger(__name__)
WELL: Final = frozenset({Ended.JUDGED, Ended.THERE, Ended.GONE, Ended.FULL})


class Errand(Frozen):
    """What one job is to do: an order by these terms, or (*pull* alone) the canary's turn on a pull request.

    `looks`: it is also looked whether a signal of its installation is to be demoted.
    """

    pull: PullRef
    looks: bool = False
    order: Order | None = None
    terms: Terms | None = None


def performed(said: list[str], open_judge: OpenJudge) -> bool:
    """Do what a job says; whether that went well. What went wrong is in the log, and told."""
    with tasting():  # nobody waits, and nobody tries it again
        result = caught(partial(_performed, Errand.model_validate_json(said[0]), SCENE.get(), open_judge))
    if isinstance(result, Exception):
        LOG.error("what nobody waits for failed", exc_info=result)
        return False
    return result


def _performed(errand: Errand, scene: Scene, open_judge: OpenJudge) -> bool:
    if errand.order is not None and errand.terms is not None:
        return _anew(errand.order, errand.terms, scene, open_judge)
    if errand.looks:
        look(scene.store, errand.pull.installation_id, scene.clock)
    return _canary(errand.pull, scene, open_judge)


def _anew(order: Order, terms: Terms, scene: Scene, open_judge: OpenJudge) -> bool:
    desk = Desk(scene.settings, scene.store, terms, open_judge)
    ended = caught(partial(desk.end, order))
    fields = {"pull": order.pull.model_dump(), "eval_id": order.eval_id, "law": terms.law}
    if isinstance(ended, Exception):
        LOG.error("judging anew failed", exc_info=ended, extra=fields)
        desk.fail(order, FailureMode.JUDGE_CALL_FAILED)
        return False
    LOG.info("judged anew", extra={**fields, "ended": ended.value, "is_canary": terms.is_canary})
    return ended in WELL


def _canary(pull: PullRef, scene: Scene, open_judge: OpenJudge) -> bool:
    """Judge by the candidate what was judged last. One that can't be read is told of, and harms nobody."""
    named = named_terms(scene.settings, pull.installation_id, scene.clock)
    order = None if named is None else order_of(scene.store, pull)
    if named is None or order is None:
        return True
    try:
        terms = terms_of(scene.settings, named, open_judge)
    except InputError as error:
        LOG.warning("the canary can't be used: %s", error, extra={"pull": pull.model_dump()})
        Desk(scene.settings, scene.store, named, open_judge).fail(order, FailureMode.RUBRIC_INVALID)
        return False
    return _anew(order, terms, scene, open_judge)
