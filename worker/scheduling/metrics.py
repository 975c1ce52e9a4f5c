"""Count for `/metrics`. A figure that can't be counted is dropped, so that no work waits or fails for one."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from worker.domain.ids import Sha
from worker.domain.judging import JudgingCompleted, JudgingOutcome
from worker.domain.metrics import DurationMetric, EventCount
from worker.domain.request.judge_request import JudgeRequest
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject
from worker.errors import Unavailable
from worker.scheduling.ports import SchedulingStore

LOG: Final = logging.getLogger(__name__)


def record_first_check(store: SchedulingStore, request: JudgeRequest, head_sha: Sha, now: datetime) -> None:
    """Record the time to a head's first check run, if the request is about this head."""
    if request.head_sha == head_sha:
        seconds = (now - request.requested_at).total_seconds()
        _count(lambda: store.measures.record_duration(DurationMetric.FIRST_CHECK, seconds))


def record_verdict(store: SchedulingStore, request: JudgeRequest, outcome: JudgingOutcome, now: datetime) -> None:
    """Count a verdict, with its time unless it is retried or paused."""
    if not isinstance(outcome, JudgingCompleted):
        return
    verdict = outcome.verdict
    is_final = outcome.retry_in is None and getattr(verdict, "abstain_reason", None) is not AbstainReason.PAUSED
    seconds = (now - request.requested_at).total_seconds() if is_final else None
    installation = request.pull.installation_id
    _count(lambda: store.measures.count_verdict(installation, verdict.decision, reason_of(verdict), seconds))


def count_event(store: SchedulingStore, event: EventCount) -> None:
    _count(lambda: store.measures.count(event))


def reason_of(verdict: Accept | Reject | Abstain) -> str:
    """The category or abstain reason of a decision; empty for an accept."""
    match verdict:
        case Accept():
            return ""
        case Reject(category=category):
            return category.value
        case Abstain(abstain_reason=reason):
            return reason.value


def _count(count: Callable[[], None]) -> None:
    try:
        count()
    except Unavailable as error:
        LOG.debug("not counted: %s", error)
