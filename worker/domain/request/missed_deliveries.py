"""Which deliveries never arrived in any attempt, by GitHub's own list of them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from worker.domain.model import Frozen

SETTLE_TIME: Final = timedelta(seconds=30)
"""GitHub's timeout for an answer, and some: before that an attempt without an answer may still arrive."""

REDELIVERY_LIMIT: Final = timedelta(days=3)
"""GitHub redelivers nothing older."""


class DeliveryAttempt(Frozen):
    """One attempt at a delivery. `guid` names the delivery, `id` the attempt; `is_again`: it was not the first.

    `failed`: how often GitHub failed to redeliver it.
    """

    id: int
    guid: str
    at: datetime
    status_code: int
    is_again: bool = False
    failed: int = 0

    @property
    def is_delivered(self) -> bool:
        return 200 <= self.status_code < 300  # noqa: PLR2004 - HTTP's successes

    def is_settled(self, now: datetime) -> bool:
        """Whether it is known to have failed, and GitHub would still redeliver it."""
        return (SETTLE_TIME if self.status_code == 0 else timedelta(0)) <= now - self.at < REDELIVERY_LIMIT


class DeliveryCursor(Frozen):
    """The position in GitHub's list. `began`: when the pass started. `since`: how far back it goes. `cursor` None: the newest."""

    began: datetime
    since: datetime
    cursor: str | None = None


def find_missed(attempts: Iterable[DeliveryAttempt], now: datetime) -> Sequence[DeliveryAttempt]:
    """The newest attempt of each delivery that never arrived, the oldest first."""
    by_age = sorted(attempts, key=age_order)
    arrived = {attempt.guid for attempt in by_age if attempt.is_delivered}
    newest = {attempt.guid: attempt for attempt in by_age if attempt.guid not in arrived}
    return sorted((attempt for attempt in newest.values() if attempt.is_settled(now)), key=age_order)


def retry_order(attempt: DeliveryAttempt) -> tuple[int, datetime, int]:
    """Redeliver first what GitHub failed to redeliver least often."""
    return attempt.failed, attempt.at, attempt.id


def age_order(attempt: DeliveryAttempt) -> tuple[datetime, int]:
    return attempt.at, attempt.id
