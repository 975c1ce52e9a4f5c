"""GET /api/...: analytics, a pull request's history, and the verdict on one commit, for holders of a read-only token.

A response covers the installations of its token only. A 400 names the parameter, the expected and the received value.
"""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from anyio import to_thread
from litestar import Request, Response, Router, get
from litestar.exceptions import NotAuthorizedException, NotFoundException
from litestar.params import FromPath
from pydantic import TypeAdapter, ValidationError

from worker.domain.check.check_run import WaitStatus
from worker.domain.model import InstallationId, Sha
from worker.errors import Unavailable
from worker.evaluation.stats.answers import answer_query, list_evaluations, wait_answer
from worker.evaluation.stats.cache import MOST_ENTRIES, FiguresCache
from worker.evaluation.stats.figures import ParameterError, StatsTopic, parse_query
from worker.process import SystemClock
from worker.wiring.store import FiguresBuilder, Store, read_history, read_wait_status

AnyRequest = Request[Any, Any, Any]
Answer = Mapping[str, Any]
Scope = frozenset[InstallationId]

SCHEME: Final = "bearer "
MAX_NUMBER_DIGITS: Final = 18
MAX_WAIT_S: Final = 60.0
POLL_INTERVAL_S: Final = 0.5
MAX_WAITERS: Final = 500
"""Requests beyond do not wait, so that deliveries find free threads."""

SHA: Final = TypeAdapter(Sha)
NO_TOKEN: Final = "Authorization: expected Bearer and a token that `assay token create` printed, found {found}."  # noqa: S105 - no token


class ReadOnlyApi:
    """Answers the routes of the API. *builder* counts what is more than a question may count."""

    def __init__(self, store: Store, figures: FiguresCache, builder: FiguresBuilder) -> None:
        self._store = store
        self._figures = figures
        self._builder = builder
        self._clock = SystemClock()
        self._waiting = 0

    def authorize(self, request: AnyRequest) -> Scope:
        """The installations of the request's token. Raises NotAuthorizedException, and Unavailable."""
        header = request.headers.get("authorization", "")
        if header[: len(SCHEME)].lower() != SCHEME:
            raise _unauthorized_error("another scheme" if header else "none")
        scope = self._store.tokens().scope(header[len(SCHEME) :].strip())
        if scope is None:
            raise _unauthorized_error("one that was not made here, or that was revoked")
        return scope

    def get_analytics(self, request: AnyRequest, name: str) -> Answer:
        scope = self.authorize(request)
        if name not in set(StatsTopic):
            raise NotFoundException(f"analytics: expected one of {', '.join(StatsTopic)}, found {name[:100]!r}.")
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
        return answer

    def get_history(self, request: AnyRequest, repository: str, number: str) -> Answer:
        scope = self.authorize(request)
        if not number.isascii() or not number.isdecimal() or len(number) > MAX_NUMBER_DIGITS:
            raise ParameterError("number", "a pull request's number", number)
        history = read_history(self._store, self._figures, repository, int(number), MOST_ENTRIES, scope)
        if not history.entries:
            raise NotFoundException(f"Nothing is on record of {repository[:200]}#{number} that this token may read.")
        return {
            "repository": repository,
            "number": int(number),
            "evaluations": list_evaluations(history.entries),
            "outcomes": history.outcomes,
        }

    async def get_verdict(self, request: AnyRequest, repository: str, sha: str) -> Answer:
        """The verdict on a commit. A waiting request holds a thread only while it reads Redis."""
        scope = await to_thread.run_sync(self.authorize, request)
        wait = _parse_wait(request.query_params.get("wait", "0"))
        try:
            commit = SHA.validate_python(sha.lower())
        except ValidationError:
            raise ParameterError("sha", "a whole commit id of 40 characters", sha[:100]) from None
        self._waiting += 1
        try:
            wait = wait if self._waiting <= MAX_WAITERS else 0.0
            return wait_answer(await self._poll(repository, commit, scope, wait), repository, commit)
        finally:
            self._waiting -= 1

    async def _poll(self, repository: str, sha: Sha, scope: Scope, wait: float) -> WaitStatus:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        while True:
            status = await to_thread.run_sync(read_wait_status, self._store, repository, sha, scope)
            left = until - loop.time()
            if status.is_final or left <= 0:
                return status
            await asyncio.sleep(min(POLL_INTERVAL_S, left))


def _unauthorized_error(problem: str) -> NotAuthorizedException:
    return NotAuthorizedException(NO_TOKEN.format(found=problem), headers={"WWW-Authenticate": 'Bearer realm="assay"'})


def _parse_wait(text: str) -> float:
    try:
        wait = float(text) if text.isascii() else -1.0
    except ValueError:
        wait = -1.0
    if not 0 <= wait <= MAX_WAIT_S:
        raise ParameterError("wait", f"seconds from 0 to {MAX_WAIT_S:.0f}", text[:100])
    return wait


def api_routes(api: ReadOnlyApi) -> Router:
    """The routes. Those that only read Redis are synchronous, in threads."""

    @get("/analytics/{name:str}", sync_to_thread=True)
    def analytics(request: AnyRequest, name: FromPath[str]) -> Answer:
        return api.get_analytics(request, name)

    @get("/pulls/{owner:str}/{repo:str}/{number:str}", sync_to_thread=True)
    def pull(request: AnyRequest, owner: FromPath[str], repo: FromPath[str], number: FromPath[str]) -> Answer:
        return api.get_history(request, f"{owner}/{repo}", number)

    @get("/verdicts/{owner:str}/{repo:str}/{sha:str}", response_headers={"Cache-Control": "no-store"})
    async def verdict(request: AnyRequest, owner: FromPath[str], repo: FromPath[str], sha: FromPath[str]) -> Answer:
        return await api.get_verdict(request, f"{owner}/{repo}", sha)

    def parameter_error(_: AnyRequest, error: ParameterError) -> Response[Mapping[str, Any]]:
        problem = {"parameter": error.parameter, "expected": error.expected, "found": error.received}
        return Response({"error": str(error), **problem}, status_code=HTTPStatus.BAD_REQUEST)

    def unavailable(_: AnyRequest, error: Unavailable) -> Response[Mapping[str, Any]]:
        return Response({"error": f"{error}. Ask again later."}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)

    return Router(
        "/api",
        route_handlers=[analytics, pull, verdict],
        exception_handlers={ParameterError: parameter_error, Unavailable: unavailable},
    )
