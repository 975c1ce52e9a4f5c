"""GET /api/analytics/... and /api/pulls/...: what the records answer, for who has a read-only token.

Does not count (`worker.evaluation.stats` does) and changes nothing. Invariant: nothing is answered without a token that is known, and
nothing about an installation that the token does not name; what is refused says which parameter, what is expected, what was
found, and never the token.
"""

import asyncio
from collections.abc import Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol

from anyio import to_thread
from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath
from pydantic import TypeAdapter, ValidationError

from worker.adapters.redis.store import Store
from worker.adapters.redis.wait_status import find_seen_pulls
from worker.clock import SystemClock
from worker.domain.check.wait_status import WaitStatus, find_wait_status
from worker.domain.ids import InstallationId, Sha
from worker.errors import Unavailable
from worker.evaluation.stats.evaluations import list_evaluations, list_outcomes, wait_answer
from worker.evaluation.stats.histories import read_history
from worker.evaluation.stats.queries import CountedTables, answer_query, combine_tables, tables_needed
from worker.evaluation.stats.rollups import MOST_ENTRIES, open_rollups
from worker.evaluation.stats.stats_query import ParameterError, StatsTopic, parse_query

if TYPE_CHECKING:
    from collections.abc import Generator


AnyRequest = Request[Any, Any, Any]
JsonResponse = Response[Mapping[str, Any]]

SCHEME: Final = "bearer "
MAX_NUMBER_DIGITS: Final = 18
"""A laptop's have ten digits, where it named none."""

NO_TOKEN: Final = "Authorization: expected Bearer and a token that `assay token create` printed, found {found}. "  # noqa: S105 - no token


class TokenScopes(Protocol):
    """Who may read what."""

    def scope(self, token: str) -> frozenset[InstallationId] | None:
        """The installations of a token; None: nobody made it, or it was revoked."""
        ...


class AnalyticsApi:
    """What an open question passes: the token, the parameters, the records."""

    def __init__(self, store: Store, tokens: TokenScopes) -> None:
        self._store = store
        self._tokens = tokens
        self._clock = SystemClock()

    def get_analytics(self, request: AnyRequest, name: str) -> JsonResponse:
        return self._with_scope(request, lambda scope: self._analytics(request, name, scope))

    def get_history(self, request: AnyRequest, owner: str, repo: str, number: str) -> JsonResponse:
        return self._with_scope(request, lambda scope: self._pull(f"{owner}/{repo}", number, scope))

    def _with_scope(self, request: AnyRequest, answered: "ScopedQuery") -> JsonResponse:
        try:
            scope = self.authorize(request)
            if isinstance(scope, Response):
                return scope
            return answered(scope)
        except ParameterError as error:
            problem = {"parameter": error.parameter, "expected": error.expected, "found": error.received}
            return Response({"error": str(error), **problem}, status_code=HTTPStatus.BAD_REQUEST)
        except Unavailable as error:
            return Response({"error": f"{error}. Ask again later."}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)

    def authorize(self, request: AnyRequest) -> "frozenset[InstallationId] | JsonResponse":
        """The installations of the request's token, or the refusal. Raises Unavailable."""
        header = request.headers.get("authorization", "")
        if header[: len(SCHEME)].lower() != SCHEME:
            return _unauthorized("another scheme" if header else "none")
        scope = self._tokens.scope(header[len(SCHEME) :].strip())
        return _unauthorized("one that was not made here, or that was revoked") if scope is None else scope

    def _analytics(self, request: AnyRequest, name: str, scope: frozenset[InstallationId]) -> JsonResponse:
        if name not in set(StatsTopic):
            return _not_found(f"analytics: expected one of {', '.join(StatsTopic)}, found {name[:100]!r}.")
        parameters: dict[str, str] = {}
        for parameter, value in request.query_params.multi_items():
            if parameter in parameters:
                raise ParameterError(parameter, "one value", f"{parameters[parameter]}, {value}")
            parameters[parameter] = str(value)
        topic, now = StatsTopic(name), self._clock.now()
        question = parse_query(parameters, topic, now)
        rollups, tables = open_rollups(self._store), tables_needed(topic, question)
        counted: list[CountedTables] = []
        left = MOST_ENTRIES  # of all installations together
        for installation in sorted(scope):
            counted.append(rollups.find(installation, tables, question.window, now, at_most=left))
            left -= counted[-1].counted
        return Response(answer_query(topic, question, combine_tables(counted)))

    def _pull(self, repository: str, number: str, scope: frozenset[InstallationId]) -> JsonResponse:
        if not number.isascii() or not number.isdecimal() or len(number) > MAX_NUMBER_DIGITS:
            raise ParameterError("number", "a pull request's number", number)
        history = read_history(self._store, repository, int(number), scope)
        if not history.entries:
            return _not_found(f"Nothing is on record of {repository[:200]}#{number} that this token may read.")
        return Response(
            {
                "repository": repository,
                "number": int(number),
                "evaluations": list_evaluations(history.entries),
                "outcomes": list_outcomes(history.pulls),
            }
        )


class ScopedQuery(Protocol):
    """What comes after the token was found good."""

    def __call__(self, scope: frozenset[InstallationId], /) -> JsonResponse: ...


def _unauthorized(problem: str) -> JsonResponse:
    headers = {"WWW-Authenticate": 'Bearer realm="assay"'}
    return Response(
        {"error": NO_TOKEN.format(found=problem).strip()}, status_code=HTTPStatus.UNAUTHORIZED, headers=headers
    )


def _not_found(message: str) -> JsonResponse:
    return Response({"error": message}, status_code=HTTPStatus.NOT_FOUND)


def api_routes(api: AnalyticsApi) -> list[HTTPRouteHandler]:
    """Each in a thread: Redis is waited for."""

    @get("/api/analytics/{name:str}", sync_to_thread=True)
    def analytics(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[Mapping[str, Any]]:
        return api.get_analytics(request, name)

    @get("/api/pulls/{owner:str}/{repo:str}/{number:str}", sync_to_thread=True)
    def pull(
        request: Request[Any, Any, Any], owner: FromPath[str], repo: FromPath[str], number: FromPath[str]
    ) -> Response[Mapping[str, Any]]:
        return api.get_history(request, owner, repo, number)

    return [analytics, pull]


MAX_WAIT_S: Final = 60.0
POLL_INTERVAL_S: Final = 0.5
MAX_WAITERS: Final = 500
SHA: Final = TypeAdapter(Sha)


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
