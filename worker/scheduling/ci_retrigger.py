"""Verdicts that other checks stood in the way of: when those move, the head is looked at again by itself.

Does not wait and does not hear of checks (`adapters/redis/lua/nudge.lua` does). Invariant: only what nobody judged because of CI comes
again; a verdict on the change stands, whatever CI does later.
"""

from datetime import datetime
from typing import Final

from worker.domain.check.overrides import HumanDecisions
from worker.domain.ids import DeliveryId
from worker.domain.pattern import pattern
from worker.domain.request.judge_request import JudgeRequest, Trigger
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject

RETRIGGER_PREFIX: Final = pattern(r"^(?:(?:ci|resumed)-\d+-)+")
CI_REASONS: Final = frozenset({AbstainReason.CI_FAILED, AbstainReason.CI_PENDING})


def is_retriggered_by_ci(verdict: Accept | Reject | Abstain, decisions: HumanDecisions) -> bool:
    """Whether news of other checks may change what is shown: not where somebody lets the head pass whatever they say."""
    return isinstance(verdict, Abstain) and verdict.abstain_reason in CI_REASONS and decisions.override is None


def request_after_ci(request: JudgeRequest, fence: int, at: datetime) -> JudgeRequest:
    """What is asked for then: whatever head is the newest. Its delivery is told by the first one's id."""
    first = RETRIGGER_PREFIX.sub("", request.delivery_id)
    changes = {"head_sha": None, "trigger": Trigger.CI, "requested_at": at, "outages": 0}
    return request.model_copy(update={**changes, "delivery_id": DeliveryId(f"ci-{fence}-{first}")})
