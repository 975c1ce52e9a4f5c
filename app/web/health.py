"""GET /livez, which reads nothing, and GET /readyz, which asks Redis; and this process's counters of deliveries."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

from anyio import to_thread
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.status_codes import HTTP_200_OK, HTTP_503_SERVICE_UNAVAILABLE

from app.ingest.intake import EventIntake
from worker.errors import Unavailable
from worker.wiring.store import LACKS_KEY, Store


class DeliveryOutcome(StrEnum):
    """The result of a delivery."""

    QUEUED = "queued"
    COALESCED = "coalesced"
    DUPLICATE = "duplicate"
    NOTED = "noted"
    IGNORED = "ignored"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


class DeliveryCounters:
    """Deliveries by outcome. Used in the event loop only, so it needs no lock."""

    def __init__(self) -> None:
        self._counts = Counter[DeliveryOutcome]()

    def count(self, outcome: DeliveryOutcome) -> None:
        self._counts[outcome] += 1

    @property
    def counts(self) -> Mapping[str, int]:
        """Each outcome, including those at zero."""
        return {outcome.value: self._counts[outcome] for outcome in DeliveryOutcome}


def health_routes(intake: EventIntake) -> list[HTTPRouteHandler]:
    @get("/livez")
    async def livez() -> Mapping[str, str]:
        return {"status": "live"}

    @get("/readyz")
    async def readyz() -> Response[Mapping[str, str]]:
        return await to_thread.run_sync(_check_readiness, intake.store)

    return [livez, readyz]


def _check_readiness(store: Store) -> Response[Mapping[str, str]]:
    """A store that lacks an old key is ready: it takes deliveries, and the checks report what can't be read."""
    try:
        lacks_key = store.is_key_missing()
    except Unavailable as unavailable:
        content = {"status": "not ready", "reason": str(unavailable)}
        return Response(content, status_code=HTTP_503_SERVICE_UNAVAILABLE)
    problem = {"problem": f"{LACKS_KEY} See assay doctor."} if lacks_key else {}
    return Response({"status": "ready", **problem}, status_code=HTTP_200_OK)
