"""GET /api/...: analytics, a pull request's history, and the verdict on one commit, for holders of a read-only token.

A response covers the installations of its token only. A 400 names the parameter, the expected and the received value.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final, Protocol

from anyio import to_thread
from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath
from pydantic import TypeAdapter, ValidationError

from worker.clock import SystemClock
from worker.domain.check.wait_status import WaitStatus
from worker.domain.ids import InstallationId, Sha
from worker.errors import Unavailable
from worker.evaluation.stats.cache import MOST_ENTRIES, FiguresCache
from worker.evaluation.stats.evaluations import list_evaluations, wait_answer
from worker.evaluation.stats.queries import answer_query
from worker.evaluation.stats.stats_query import ParameterError, StatsTopic, parse_query
from worker.wiring.figures import FiguresBuilder, read_history
from worker.wiring.store import Store, read_wait_status

AnyRequest = Request[Any, Any, Any]
JsonResponse = Response[Mapping[str, Any]]
Scope = frozenset[InstallationId]

SCHEME: Final = "bearer "
MAX_NUMBER_DIGITS: Final = 18
MAX_WAIT_S: Final = 60.0
POLL_INTERVAL_S: Final = 0.5
MAX_WAITERS: Final = 500
"""Requests beyond do not wait, so that deliveries find free threads."""

SHA: Final = TypeAdapter(Sha)
NO_TOKEN: Final = "Authorization: expected Bearer and a token that `assay token create` printed, found {found}. "  # noqa: S105 - no token


class TokenScopes(Protocol):
    """The installations that each token may read."""

    def scope(self, token: str) -> Scope | None:
        """The installations of a token; None: it was never created, or was revoked."""
        ...


class AnalyticsApi:
    """Answers requests for analytics and histories. *builder* counts what is more than a question may count."""

    def __init__(self, store: Store, tokens: TokenScopes, figures: FiguresCache, builder: FiguresBuilder) -> None:
        self._store = store
        self._tokens = tokens
        self._figures = figures
        self._builder = builder
        self._clock = SystemClock()

    def get_analytics(self, request: AnyRequest, name: str) -> JsonResponse:
        return self._with_scope(request, lambda scope: self._analytics(request, name, scope))

    def get_history(self, request: AnyRequest, owner: str, repo: str, number: str) -> JsonResponse:
        return self._with_scope(request, lambda scope: self._pull(f"{owner}/{repo}", number, scope))

    def _with_scope(self, request: AnyRequest, answer: Callable[[Scope], JsonResponse]) -> JsonResponse:
        try:
            scope = self.authorize(request)
            return scope if isinstance(scope, Response) else answer(scope)
        except (ParameterError, Unavailable) as error:
            return _error_response(error)

    def authorize(self, request: AnyRequest) -> Scope | JsonResponse:
        """The installations of the request's token, or a 401. Raises Unavailable."""
        header = request.headers.get("authorization", "")
        if header[: len(SCHEME)].lower() != SCHEME:
            return _unauthorized("another scheme" if header else "none")
        scope = self._tokens.scope(header[len(SCHEME) :].strip())
        return _unauthorized("one that was not made here, or that was revoked") if scope is None else scope

    def _analytics(self, request: AnyRequest, name: str, scope: Scope) -> JsonResponse:
        if name not in set(StatsTopic):
            return _not_found(f"analytics: expected one of {', '.join(StatsTopic)}, found {name[:100]!r}.")
        parameters: dict[str, str] = {}
        for parameter, value in request.query_params.multi_items():
            if parameter in parameters:
                raise ParameterError(parameter, "one value", f"{parameters[parameter]}, {value}")
            parameters[parameter] = str(value)
        topic, now = StatsTopic(name), self._clock.now()
        question = parse_query(parameters, topic, now)
        answer = self._figures.query(scope, now, lambda streams: answer_query(topic, question, streams), MOST_ENTRIES)
        if answer["is_behind"]:
            self._builder.start(scope)
        return Response(answer)

    def _pull(self, repository: str, number: str, scope: Scope) -> JsonResponse:
        if not number.isascii() or not number.isdecimal() or len(number) > MAX_NUMBER_DIGITS:
            raise ParameterError("number", "a pull request's number", number)
        history = read_history(self._store, self._figures, repository, int(number), scope)
        if not history.entries:
            return _not_found(f"Nothing is on record of {repository[:200]}#{number} that this token may read.")
        return Response(
            {
                "repository": repository,
                "number": int(number),
                "evaluations": list_evaluations(history.entries),
                "outcomes": history.outcomes,
            }
        )


def _unauthorized(problem: str) -> JsonResponse:
    content = {"error": NO_TOKEN.format(found=problem).strip()}
    headers = {"WWW-Authenticate": 'Bearer realm="assay"'}
    return Response(content, status_code=HTTPStatus.UNAUTHORIZED, headers=headers)


def _error_response(error: ParameterError | Unavailable) -> JsonResponse:
    if isinstance(error, Unavailable):
        return Response({"error": f"{error}. Ask again later."}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)
    problem = {"parameter": error.parameter, "expected": error.expected, "found": error.received}
    return Response({"error": str(error), **problem}, status_code=HTTPStatus.BAD_REQUEST)


def _not_found(message: str) -> JsonResponse:
    return Response({"error": message}, status_code=HTTPStatus.NOT_FOUND)


def api_routes(api: AnalyticsApi) -> list[HTTPRouteHandler]:
    """Synchronous routes, in threads, since reading Redis blocks."""

    @get("/api/analytics/{name:str}", sync_to_thread=True)
    def analytics(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[Mapping[str, Any]]:
        return api.get_analytics(request, name)

    @get("/api/pulls/{owner:str}/{repo:str}/{number:str}", sync_to_thread=True)
    def pull(
        request: Request[Any, Any, Any], owner: FromPath[str], repo: FromPath[str], number: FromPath[str]
    ) -> Response[Mapping[str, Any]]:
        return api.get_history(request, owner, repo, number)

    return [analytics, pull]


class VerdictApi:
    """Answers requests for the verdict on a commit. A waiting request holds a thread only while it reads Redis."""

    def __init__(
        self, store: Store, api: AnalyticsApi, poll_interval_s: float = POLL_INTERVAL_S, max_waiters: int = MAX_WAITERS
    ) -> None:
        self._store = store
        self._api = api
        self._poll_interval_s = poll_interval_s
        self._max_waiters = max_waiters
        self._waiting = 0

    async def get_verdict(self, request: Request[Any, Any, Any], repository: str, sha: str) -> JsonResponse:
        try:
            scope = await to_thread.run_sync(self._api.authorize, request)
            if isinstance(scope, Response):
                return scope
            wait, commit = _parse_wait(request.query_params.get("wait", "0")), _parse_sha(sha)
            with self._count_waiter():
                wait = wait if self._waiting <= self._max_waiters else 0.0
                status = await self._poll(repository, commit, scope, wait)
        except (ParameterError, Unavailable) as error:
            return _error_response(error)
        return Response(wait_answer(status, repository, commit), headers={"Cache-Control": "no-store"})

    async def _poll(self, repository: str, sha: Sha, scope: Scope, wait: float) -> WaitStatus:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        while True:
            status = await to_thread.run_sync(read_wait_status, self._store, repository, sha, scope)
            left = until - loop.time()
            if status.is_final or left <= 0:
                return status
            await asyncio.sleep(min(self._poll_interval_s, left))

    @contextmanager
    def _count_waiter(self) -> Generator[None]:
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
