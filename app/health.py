"""/livez and /readyz: is the process alive, can it take deliveries; and what it counts of them.

Does not look at the judging side, and tells nobody the counts (`app.metrics_port` does). Invariant: /livez never asks anybody; the counters are this process's
own and begin at zero with it.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

from anyio import to_thread
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE

from app.intake import Intake
from worker.errors import Unavailable


class Outcome(StrEnum):
    """What became of a delivery."""

    QUEUED = "queued"
    COALESCED = "coalesced"
    DUPLICATE = "duplicate"
    NOTED = "noted"
    IGNORED = "ignored"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


class Tally:
    """Deliveries by outcome. Counted in the event loop only, so it needs no lock."""

    def __init__(self) -> None:
        self._counts = Counter[Outcome]()

    def count(self, outcome: Outcome) -> None:
        self._counts[outcome] += 1

    @property
    def counts(self) -> Mapping[str, int]:
        """Each outcome, also those that did not come."""
        return {outcome.value: self._counts[outcome] for outcome in Outcome}


def health_routes(intake: Intake) -> list[HTTPRouteHandler]:
    @get("/livez")
    async def livez() -> Mapping[str, str]:
        return {"status": "live"}

    @get("/readyz")
    async def readyz() -> Response[Mapping[str, str]]:
        reason = await to_thread.run_sync(_why_not_ready, intake)
        if reason:
            return Response({"status": "not ready", "reason": reason}, status_code=HTTP_503_SERVICE_UNAVAILABLE)
        return Response({"status": "ready"}, status_code=HTTP_200_OK)

    return [livez, readyz]


def _why_not_ready(intake: Intake) -> str:
    try:
        intake.ping()
    except Unavailable as unavailable:
        return str(unavailable)
    return ""
