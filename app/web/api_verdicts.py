"""GET /api/verdicts/OWNER/REPO/SHA?wait=60: the verdict on one commit, for agents that wait for it.

Does not judge, and asks nobody to. Invariant: who waits costs no thread and no connection to Redis but for the short looks in
between; however many wait, deliveries are taken first, since beyond a number nobody waits longer.
"""

import asyncio
from collections.abc import Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread
from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath
from pydantic import TypeAdapter, ValidationError

from app.web.api import AnalyticsApi
from worker.adapters.redis.store import Store
from worker.adapters.redis.wait_status import find_seen_pulls
from worker.domain.check.wait_status import WaitStatus, find_wait_status
from worker.domain.ids import InstallationId, Sha
from worker.errors import Unavailable
from worker.evaluation.stats.evaluations import wait_answer
from worker.evaluation.stats.stats_query import ParameterError

if TYPE_CHECKING:
    from collections.abc import Generator

MAX_WAIT_S: Final = 60.0
POLL_INTERVAL_S: Final = 0.5
MAX_WAITERS: Final = 500
SHA: Final = TypeAdapter(Sha)

JsonResponse = Response[Mapping[str, Any]]


class VerdictApi:
    """What an open question passes: the token, the parameters, then one look after another."""

    def __init__(
        self, store: Store, api: AnalyticsApi, poll_interval_s: float = POLL_INTERVAL_S, max_waiters: int = MAX_WAITERS
    ) -> None:
        self._store = store
        self._api = api
        self._look_s = poll_interval_s
        self._most = max_waiters
        self._waiting = 0

    async def get_verdict(self, request: Request[Any, Any, Any], repository: str, sha: str) -> JsonResponse:
        """Raises nothing: what is refused or fails is an answer, too."""
        try:
            scope = await to_thread.run_sync(self._api.authorize, request)
            if isinstance(scope, Response):
                return scope
            wait, commit = _parse_wait(request.query_params.get("wait", "0")), _parse_sha(sha)
            with self._count_waiter():
                status = await self._poll(repository, commit, scope, wait if self._waiting <= self._most else 0.0)
        except ParameterError as error:
            problem = {"parameter": error.parameter, "expected": error.expected, "found": error.received}
            return Response({"error": str(error), **problem}, status_code=HTTPStatus.BAD_REQUEST)
        except Unavailable as error:
            return Response({"error": f"{error}. Ask again later."}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(wait_answer(status, repository, commit), headers={"Cache-Control": "no-store"})

    async def _poll(self, repository: str, sha: Sha, scope: frozenset[InstallationId], wait: float) -> WaitStatus:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        while True:
            status = await to_thread.run_sync(self._read_status, repository, sha, scope)
            left = until - loop.time()
            if status.is_final or left <= 0:
                return status
            await asyncio.sleep(min(self._look_s, left))

    def _read_status(self, repository: str, sha: Sha, scope: frozenset[InstallationId]) -> WaitStatus:
        return find_wait_status(find_seen_pulls(self._store, repository, sha, scope), sha)

    @contextmanager
    def _count_waiter(self) -> "Generator[None]":
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


def _parse_wait(text: str) -> float:
    try:
        wait = float(text) if text.isascii() else -1.0
    except ValueError:
        wait = -1.0
    if not 0 <= wait <= MAX_WAIT_S:
        raise ParameterError("wait", f"seconds from 0 to {MAX_WAIT_S:.0f}", text[:100])
    return wait


def _parse_sha(text: str) -> Sha:
    try:
        return SHA.validate_python(text.lower())
    except ValidationError:
        raise ParameterError("sha", "a whole commit id of 40 characters", text[:100]) from None


def verdict_routes(verdicts: VerdictApi) -> list[HTTPRouteHandler]:
    @get("/api/verdicts/{owner:str}/{repo:str}/{sha:str}")
    async def verdict(
        request: Request[Any, Any, Any], owner: FromPath[str], repo: FromPath[str], sha: FromPath[str]
    ) -> Response[Mapping[str, Any]]:
        return await verdicts.get_verdict(request, f"{owner}/{repo}", sha)

    return [verdict]
