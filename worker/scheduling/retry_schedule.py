"""When a pull request that a rate limit put off is judged: not all of them at once, or they would meet the limit again.

Does not know who else waits: how many it is told. Invariant: never before the time that GitHub gave, at most `longest` after it,
always at the same place among as many; what somebody asked for by hand comes before the rest; who is alone does not wait.
"""

from datetime import datetime, timedelta
from typing import Final

from worker.domain.request.judge_request import MANUAL_TRIGGERS, JudgeRequest, PullRef
from worker.domain.value import Value

BY_HAND_SHARE: Final = 0.25
"""How much of the time is kept for what somebody asked for by hand."""

GOLDEN_RATIO: Final = 0.6180339887498949
"""Multiples of this, without their whole part, lie evenly between 0 and 1 however many they are: here, of the numbers in a row that
pull requests mostly have.
"""

PLASTIC_RATIO: Final = 0.7548776662466927
"""The same for repositories, so that number 7 of one does not meet number 7 of another."""


class RetrySchedule(Value):
    """*gap*: how far apart they come on average."""

    gap: timedelta
    longest_delay: timedelta

    def retry_at(self, limit: datetime, request: JudgeRequest, waiting_count: int) -> datetime:
        """When this one of *crowd* is judged, after a limit that ends at *limit*."""
        window = min(self.longest_delay, (waiting_count - 1) * self.gap)
        position, share = _position(request.pull), BY_HAND_SHARE
        if request.trigger in MANUAL_TRIGGERS:
            return limit + window * (share * position)
        return limit + window * (share + (1 - share) * position)


def _position(pull: PullRef) -> float:
    """From 0 to less than 1."""
    return (pull.number * GOLDEN_RATIO + pull.repository_id * PLASTIC_RATIO) % 1
