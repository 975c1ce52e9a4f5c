"""Which deliveries never arrived in any attempt, by GitHub's own list of them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from worker.domain.model import Frozen

SETTLE_TIME: Final = timedelta(seconds=30)
"""How long GitHub waits for an answer, and some: before that nobody knows whether one without an answer arrived."""

REDELIVERY_LIMIT: Final = timedelta(days=3)
"""GitHub delivers nothing older again."""


class DeliveryAttempt(Frozen):
    """One attempt at a delivery. `guid` names the delivery, `id` the attempt, `is_again` that it was not the first.

    `failed`: how often GitHub failed when it was asked for again.
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
        """Whether it is known that it failed, and GitHub would still deliver it again."""
        return (SETTLE_TIME if self.status_code == 0 else timedelta(0)) <= now - self.at < REDELIVERY_LIMIT


class DeliveryCursor(Frozen):
    """How far a look through GitHub's list came.

    `began`: when it did. `since`: how far back it goes. `cursor`: GitHub's name for where to go on; None: the newest.
    """

    began: datetime
    since: datetime
    cursor: str | None = None


def find_missed(attempts: Iterable[DeliveryAttempt], now: datetime) -> Sequence[DeliveryAttempt]:
    """The newest attempt of each delivery that never arrived, the oldest first."""
    newest: dict[str, DeliveryAttempt] = {}
    arrived: set[str] = set()
    for attempt in attempts:
        if attempt.is_delivered:
            arrived.add(attempt.guid)
        if attempt.guid not in newest or age_order(newest[attempt.guid]) < age_order(attempt):
            newest[attempt.guid] = attempt
    failed = (attempt for guid, attempt in newest.items() if guid not in arrived)
    return sorted((attempt for attempt in failed if attempt.is_settled(now)), key=age_order)


def retry_order(attempt: DeliveryAttempt) -> tuple[int, datetime, int]:
    """What is asked for first: what GitHub failed to make stands behind the others."""
    return attempt.failed, attempt.at, attempt.id


def age_order(attempt: DeliveryAttempt) -> tuple[datetime, int]:
    return attempt.at, attempt.id
