"""GET /api/analytics/... and /api/pulls/...: what the records answer, for who has a read-only token.

Does not count (`worker.evaluation.stats` does) and changes nothing. Invariant: nothing is answered without a token that is known, and
nothing about an installation that the token does not name; what is refused says which parameter, what is expected, what was
found, and never the token.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, Protocol

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.errors import Unavailable
from worker.evaluation.stats.asking import AskError, Topic, asked
from worker.evaluation.stats.evaluations import evaluations, outcomes
from worker.evaluation.stats.histories import history
from worker.evaluation.stats.queries import Found, answer, needed, together
from worker.evaluation.stats.rollups import AT_MOST, open_rollups

AnyRequest = Request[Any, Any, Any]
Said = Response[Mapping[str, Any]]

SCHEME: Final = "bearer "
LONGEST_NUMBER: Final = 18
"""A laptop's have ten digits, where it named none."""

NO_TOKEN: Final = "Authorization: expected Bearer and a token that `assay token create` printed, found {found}. "  # noqa: S105 - no token


class Tokens(Protocol):
    """Who may read what."""

    def scope(self, token: str) -> frozenset[InstallationId] | None:
        """The installations of a token; None: nobody made it, or it was revoked."""
        ...


class Api:
    """What an open question passes: the token, the parameters, the records."""

    def __init__(self, store: Store, tokens: Tokens) -> None:
        self._store = store
        self._tokens = tokens
        self._clock = SystemClock()

    def analytics(self, request: AnyRequest, name: str) -> Said:
        return self._guarded(request, lambda scope: self._analytics(request, name, scope))

    def pull(self, request: AnyRequest, owner: str, repo: str, number: str) -> Said:
        return self._guarded(request, lambda scope: self._pull(f"{owner}/{repo}", number, scope))

    def _guarded(self, request: AnyRequest, answered: "Answered") -> Said:
        try:
            scope = self.scope_of(request)
            if isinstance(scope, Response):
                return scope
            return answered(scope)
        except AskError as error:
            told = {"parameter": error.parameter, "expected": error.expected, "found": error.found}
            return Response({"error": str(error), **told}, status_code=HTTPStatus.BAD_REQUEST)
        except Unavailable as error:
            return Response({"error": f"{error}. Ask again later."}, status_code=HTTPStatus.SERVICE_UNAVAILABLE)

    def scope_of(self, request: AnyRequest) -> "frozenset[InstallationId] | Said":
        """The installations of the request's token, or the refusal. Raises Unavailable."""
        said = request.headers.get("authorization", "")
        if said[: len(SCHEME)].lower() != SCHEME:
            return _refused("another scheme" if said else "none")
        scope = self._tokens.scope(said[len(SCHEME) :].strip())
        return _refused("one that was not made here, or that was revoked") if scope is None else scope

    def _analytics(self, request: AnyRequest, name: str, scope: frozenset[InstallationId]) -> Said:
        if name not in set(Topic):
            return _nowhere(f"analytics: expected one of {', '.join(Topic)}, found {name[:100]!r}.")
        given: dict[str, str] = {}
        for parameter, value in request.query_params.multi_items():
            if parameter in given:
                raise AskError(parameter, "one value", f"{given[parameter]}, {value}")
            given[parameter] = str(value)
        topic, now = Topic(name), self._clock.now()
        question = asked(given, topic, now)
        rollups, tables = open_rollups(self._store), needed(topic, question)
        found: list[Found] = []
        left = AT_MOST  # of all installations together
        for installation in sorted(scope):
            found.append(rollups.find(installation, tables, question.over, now, at_most=left))
            left -= found[-1].counted
        return Response(answer(topic, question, together(found)))

    def _pull(self, repository: str, number: str, scope: frozenset[InstallationId]) -> Said:
        if not number.isascii() or not number.isdecimal() or len(number) > LONGEST_NUMBER:
            raise AskError("number", "a pull request's number", number)
        found = history(self._store, repository, int(number), scope)
        if not found.entries:
            return _nowhere(f"Nothing is on record of {repository[:200]}#{number} that this token may read.")
        return Response(
            {
                "repository": repository,
                "number": int(number),
                "evaluations": evaluations(found.entries),
                "outcomes": outcomes(found.pulls),
            }
        )


class Answered(Protocol):
    """What comes after the token was found good."""

    def __call__(self, scope: frozenset[InstallationId], /) -> Said: ...


def _refused(found: str) -> Said:
    headers = {"WWW-Authenticate": 'Bearer realm="assay"'}
    return Response(
        {"error": NO_TOKEN.format(found=found).strip()}, status_code=HTTPStatus.UNAUTHORIZED, headers=headers
    )


def _nowhere(words: str) -> Said:
    return Response({"error": words}, status_code=HTTPStatus.NOT_FOUND)


def api_routes(api: Api) -> list[HTTPRouteHandler]:
    """Each in a thread: Redis is waited for."""

    @get("/api/analytics/{name:str}", sync_to_thread=True)
    def analytics(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[Mapping[str, Any]]:
        return api.analytics(request, name)

    @get("/api/pulls/{owner:str}/{repo:str}/{number:str}", sync_to_thread=True)
    def pull(
        request: Request[Any, Any, Any], owner: FromPath[str], repo: FromPath[str], number: FromPath[str]
    ) -> Response[Mapping[str, Any]]:
        return api.pull(request, owner, repo, number)

    return [analytics, pull]
