"""A model that can't be reached: the pull request is judged again later, by itself, a bounded number of times.

Does not wait (the store does) and does not judge. Invariant: only what nobody judged because of an outage comes again; a
push, a command or a re-run begins to count anew.
"""

from datetime import datetime, timedelta

from worker.domain.request.judge_request import JudgeRequest, Trigger
from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject


class OutageRetries(Value):
    """How often to try again, and after how long; each wait is twice as long as the one before."""

    max_retries: int = 0
    delay: timedelta = timedelta(0)

    def wait(self, request: JudgeRequest, verdict: Accept | Reject | Abstain) -> timedelta | None:
        """How long until this request is worth another try; None: it is not."""
        is_outage = isinstance(verdict, Abstain) and verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE
        if not is_outage or request.outages >= self.max_retries:
            return None
        return self.delay * 2**request.outages


def retry_after_outage(request: JudgeRequest, at: datetime) -> JudgeRequest:
    """The request that is judged after the wait: for whatever head is the newest then."""
    changes = {"head_sha": None, "trigger": Trigger.OUTAGE, "requested_at": at, "outages": request.outages + 1}
    return request.model_copy(update=changes)
