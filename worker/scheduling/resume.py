"""What was not judged while judging was paused is judged when the pause is over.

Does not pause anything (`worker.adapters.redis.pauses`) and does not judge. Invariant: a head that was left for a pause waits on
the shelf until it is asked for again, or was judged otherwise; nobody has to press anything.
"""

import logging
from typing import Final

from worker.adapters.redis.store import Store
from worker.domain.ids import DeliveryId
from worker.domain.judging import JudgingCompleted, JudgingOutcome, JudgingSuperseded, WaitForCi
from worker.domain.pattern import pattern
from worker.domain.ports import Clock
from worker.domain.request.judge_request import JudgeRequest, Trigger
from worker.domain.verdict.verdict import Abstain, AbstainReason
from worker.traces import log_fields

LOG: Final = logging.getLogger(__name__)
RESUMED_PREFIX: Final = pattern(r"resumed-\d+-")


def update_paused_heads(store: Store, request: JudgeRequest, fence: int, outcome: JudgingOutcome) -> None:
    """Note down what came of a judging: nobody judged, for a pause; or it is over. May be called twice."""
    match outcome:
        case JudgingCompleted(verdict=Abstain(abstain_reason=AbstainReason.PAUSED)):
            store.paused_heads.put(resumed_request(request, fence))
        case JudgingSuperseded() | WaitForCi():
            pass
        case _:
            store.paused_heads.remove(request.pull)


def resumed_request(request: JudgeRequest, fence: int) -> JudgeRequest:
    """What is asked for when the pause is over: whatever head is the newest then. Its delivery is told by the first one's id.

    Who looks then asks GitHub whether it is a draft: as one it would wait here for ever, though somebody had asked for it.
    """
    first = RESUMED_PREFIX.sub("", request.delivery_id)
    changes = {"head_sha": None, "trigger": Trigger.RESUMED, "delivery_id": DeliveryId(f"resumed-{fence}-{first}")}
    return request.model_copy(update={**changes, "draft": False})


def resume_paused_heads(store: Store, clock: Clock) -> int:
    """Ask for what waits where no pause is in force any more; how many that were. May be called twice."""
    asked = 0
    for paused in store.paused_heads.next():
        if store.pauses.find_pause(paused.installation_id, paused.repository_id) is not None:
            continue
        for request in store.paused_heads.list_requests(paused):
            store.pulls.request_judging(request.model_copy(update={"requested_at": clock.now()}))
            store.paused_heads.remove(request.pull)
            LOG.info("the pause is over", extra=log_fields(request))
            asked += 1
        store.paused_heads.remove_repository(paused)
    return asked
