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

from app.web.api import Api
from worker.adapters.redis.store import Store
from worker.adapters.redis.wait_status import seen_pulls
from worker.domain.check.wait_status import Awaited, awaited
from worker.domain.ids import InstallationId, Sha
from worker.errors import Unavailable
from worker.evaluation.stats.asking import AskError
from worker.evaluation.stats.evaluations import shown

if TYPE_CHECKING:
    from collections.abc import Generator

LONGEST: Final = 60.0
LOOK_S: Final = 0.5
MOST_WAITING: Final = 500
SHA: Final = TypeAdapter(Sha)

Said = Response[Mapping[str, Any]]


class Verdicts:
    """What an open question passes: the token, the parameters, then one look after another."""

    def __init__(self, store: Store, api: Api, look_s: float = LOOK_S, most: int = MOST_WAITING) -> None:
        self._store = store
        self._api = api
        self._look_s = look_s
        self._most = most
        self._waiting = 0

    async def answer(self, request: Request[Any, Any, Any], repository: str, sha: str) -> Said:
        """Raises nothing: what is refused or fails is an answer, too."""
        try:
            scope = await to_thread.run_sync(self._api.scope_of, request)
            if isinstance(scope, Response):
                return scope
            wait, commit = _wait(request.query_params.get("wait", "0")), _commit(sha)
            with self._one_more():
                found = await self._found(repository, commit, scope, wait if self._waiting <= self._most else 0.0)
        except AskError as error:
            told = {"parameter": error.parameter, "expected": error.expected, "found": error.found}
            return Response({"error": str(error), **told}, status_code=HTTPStatus.BAD_REQUEST)
        except Unavailable as error:
            return Response({"error": f"{error}. Ask again later."}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)
        return Response(shown(found, repository, commit), headers={"Cache-Control": "no-store"})

    async def _found(self, repository: str, sha: Sha, scope: frozenset[InstallationId], wait: float) -> Awaited:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        while True:
            found = await to_thread.run_sync(self._look, repository, sha, scope)
            left = until - loop.time()
            if found.is_final or left <= 0:
                return found
            await asyncio.sleep(min(self._look_s, left))

    def _look(self, repository: str, sha: Sha, scope: frozenset[InstallationId]) -> Awaited:
        return awaited(seen_pulls(self._store, repository, sha, scope), sha)

    @contextmanager
    def _one_more(self) -> "Generator[None]":
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


def _wait(given: str) -> float:
    try:
        wait = float(given) if given.isascii() else -1.0
    except ValueError:
        wait = -1.0
    if not 0 <= wait <= LONGEST:
        raise AskError("wait", f"seconds from 0 to {LONGEST:.0f}", given[:100])
    return wait


def _commit(given: str) -> Sha:
    try:
        return SHA.validate_python(given.lower())
    except ValidationError:
        raise AskError("sha", "a whole commit id of 40 characters", given[:100]) from None


def verdict_routes(verdicts: Verdicts) -> list[HTTPRouteHandler]:
    @get("/api/verdicts/{owner:str}/{repo:str}/{sha:str}")
    async def verdict(
        request: Request[Any, Any, Any], owner: FromPath[str], repo: FromPath[str], sha: FromPath[str]
    ) -> Response[Mapping[str, Any]]:
        return await verdicts.answer(request, f"{owner}/{repo}", sha)

    return [verdict]
