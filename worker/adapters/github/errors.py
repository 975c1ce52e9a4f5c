"""GitHub's refusals and outages in our words.

Does not retry. Invariant: `told` gives one of `worker.errors` for everything that githubkit raises, and what only a
wrong request of ours can cause is `BadRequest`, which the job treats as a bug.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import pairwise
from math import ceil
from typing import Final

from githubkit.exception import (
    GitHubException,
    RateLimitExceeded,
    RequestError,
    RequestFailed,
    RequestTimeout,
    SecondaryRateLimitExceeded,
)
from pydantic import ValidationError

from worker.adapters.github.queries import DEFAULTS_ALIAS
from worker.adapters.github.responses import GraphError, Refusal
from worker.errors import AssayError, Forbidden, Gone, Outage, RateLimited, Unavailable

GITHUB: Final = "GitHub"
SECONDARY: Final = "secondary rate limit"
NO_DIFF: Final = "this diff"
"""Of GitHub's words where it does not make a diff in time, whatever its size: it "is taking too long to generate", or is
"temporarily unavailable due to heavy server load". The files with their patches are another question, which it mostly answers.
"""

PAUSE: Final = timedelta(seconds=60)
"""What GitHub asks for when it names no time."""

PERMISSIONS: Final = (
    (re.compile(r"/check-(runs|suites)"), "checks"),
    (re.compile(r"/(status|statuses)\b"), "statuses"),
    (re.compile(r"/pulls\b"), "pull_requests"),
    (re.compile(r"/issues\b.*/(reactions|comments|labels)\b"), "pull_requests"),  # of pull requests, which are ours
    (re.compile(r"/issues\b"), "issues"),
    (re.compile(r"/code-scanning/"), "security_events"),
    (re.compile(r"/(contents|git|compare|commits)\b"), "contents"),
    (re.compile(r"/repos/"), "metadata"),
)
"""Which permission a path of the REST API needs; the first that fits."""

FIELDS: Final[Mapping[str, str]] = {
    "statusCheckRollup": "checks: read and statuses: read",
    "closingIssuesReferences": "issues: read",
    "checkSuites": "checks: read",
    "issue": "issues: read",
    "object": "contents: read",
    "pullRequest": "pull_requests: read",
    "addReaction": "pull_requests: write",
    "updateIssueComment": "pull_requests: write",
}
"""Which permission a GraphQL field needs; the innermost that fits."""

CHANGES: Final = frozenset({"addReaction", "updateIssueComment"})
"""What we change by GraphQL."""

PASSING: Final = frozenset({None, "INTERNAL", "SERVICE_UNAVAILABLE", "TIMEOUT"})
"""What a server's own trouble is called, where it is called anything."""

UNSEEN: Final = frozenset({"NOT_FOUND", "FORBIDDEN", "INSUFFICIENT_SCOPES"})


class BadRequest(AssayError):
    """GitHub calls our request wrong. Trying again won't help: this is a bug of ours."""


class Unauthorized(AssayError):
    """A credential was refused. Stays in this package: the client tries another one, or says Forbidden."""

    def __init__(self, *, of_app: bool, credential: str, message: str) -> None:
        super().__init__(message)
        self.of_app = of_app
        self.credential = credential


class Transient(Outage):
    """Worth asking again at once: a broken connection, a 5xx."""


DISPENSABLE: Final = frozenset({"refUpdateRule", "rules", "userContentEdits", "timelineItems"})
"""Fields without which an answer is good, wherever they stand."""


class Throttled(RateLimited):
    """GitHub's secondary limit: of all that an installation asks, whatever its budgets say. Outside this package a RateLimited.

    It lasts for whole seconds, as it is noted for other processes: nobody comes back too early, or twice.
    """

    def __init__(self, what: str, retry_at: datetime) -> None:
        super().__init__(what, datetime.fromtimestamp(ceil(retry_at.timestamp()), UTC))


class TooLargeToShow(AssayError):
    """GitHub doesn't show this diff (406, or 422 where it takes too long). Stays in this package: the source asks for the files instead."""


def told(error: GitHubException, now: datetime) -> AssayError:  # noqa: PLR0911 - a table
    """Say in our words what githubkit raised."""
    match error:
        case SecondaryRateLimitExceeded():
            return Throttled(GITHUB, now + max(error.retry_after, timedelta(seconds=1)))
        case RateLimitExceeded():
            return RateLimited(GITHUB, now + max(error.retry_after, timedelta(seconds=1)))
        case RequestFailed():
            return _refused(error, now)
        case RequestTimeout():
            return Outage(GITHUB, "no answer in time")
        case RequestError(exc=GitHubException() as inner):
            return told(inner, now)
        case RequestError(exc=AssayError() as ours):
            return ours
        case RequestError(exc=cause) if type(cause).__module__.startswith("jwt"):
            return Unauthorized(of_app=True, credential="", message=f"the App's private key is none ({cause})")
        case RequestError(exc=cause):
            return Transient(GITHUB, f"the connection broke ({type(cause).__name__})")
        case _:
            return Unavailable(GITHUB, f"the request was not sent ({type(error).__name__})")


def _refused(error: RequestFailed, now: datetime) -> AssayError:  # noqa: PLR0911 - a table
    status, path = error.response.status_code, error.request.url.path
    message = _message(error.response.content)
    asked = f"{error.request.method} {path}"
    if SECONDARY in message:
        return Throttled(GITHUB, now + PAUSE)
    match status:
        case HTTPStatus.UNAUTHORIZED:
            scheme, _, credential = error.request.headers.get("authorization", "").partition(" ")
            return Unauthorized(of_app=scheme == "Bearer", credential=credential, message=message)
        case HTTPStatus.FORBIDDEN if "suspended" in message:
            return Gone("suspended")
        case HTTPStatus.FORBIDDEN | HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS:
            needed = error.response.headers.get("x-accepted-github-permissions") or _needed(error.request.method, path)
            return Forbidden(f'GitHub refuses {asked}: "{message}". It needs the permission {needed}.')
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return Gone(missing(path))
        case HTTPStatus.UNPROCESSABLE_ENTITY if "No commit found" in message:
            return Gone("head commit deleted")
        case HTTPStatus.NOT_ACCEPTABLE | HTTPStatus.UNPROCESSABLE_ENTITY if is_no_diff(status, message):
            return TooLargeToShow(message)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return Throttled(GITHUB, now + PAUSE)
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Transient(GITHUB, f"answered {status} to {asked}")
        case _:
            return BadRequest(f'GitHub answered {status} to {asked}: "{message}"')


def is_no_diff(status: int, message: str) -> bool:
    """Whether GitHub shows no diff, for its size or for the time that it takes."""
    return status == HTTPStatus.NOT_ACCEPTABLE or NO_DIFF in message


def missing(path: str) -> str:
    """What a 404 at this path says about the world."""
    if path.endswith("/access_tokens"):
        return "uninstalled"
    for part, what in (("/check-runs/", "check run deleted"), ("/comments/", "comment deleted")):
        if part in path:
            return what
    return "deleted"


def _needed(method: str, path: str) -> str:
    name = next((permission for pattern, permission in PERMISSIONS if pattern.search(path)), "metadata")
    return f"{name}: {'read' if method == 'GET' else 'write'}"


def _message(body: bytes) -> str:
    """GitHub's own words, on one line and not too many of them."""
    try:
        text = Refusal.model_validate_json(body).message
    except ValidationError:
        text = "(an answer that is not GitHub's)"
    return " ".join(text.split())[:200]


def of_graphql(errors: tuple[GraphError, ...], now: datetime, reset: datetime | None) -> AssayError | None:
    """The first error that spoils the answer; None when all of them only leave out what we can do without."""
    return next((found for error in errors if (found := _of_graph_error(error, now, reset))), None)


def _of_graph_error(  # noqa: PLR0911 - a table
    error: GraphError, now: datetime, reset: datetime | None
) -> AssayError | None:
    words = [part for part in error.path or () if isinstance(part, str)]
    if error.type in {"RATE_LIMITED", "RATE_LIMIT"}:
        return RateLimited(GITHUB, reset or now + PAUSE)
    if SECONDARY in error.message:
        return Throttled(GITHUB, now + PAUSE)
    if error.path is None:
        return _of_query(error)
    if is_optional(error):
        return None
    match error.type:
        case "NOT_FOUND":
            return Gone("deleted" if len(words) > 1 else "repository deleted, or the App was uninstalled")
        case "FORBIDDEN" | "INSUFFICIENT_SCOPES":
            needed = next((FIELDS[word] for word in reversed(words) if word in FIELDS), "metadata: read")
            return Forbidden(f'GitHub refuses {".".join(words)}: "{error.message}". It needs the permission {needed}.')
        case _:
            return _of_odd(error, ".".join(words))


def _of_odd(error: GraphError, place: str) -> AssayError:
    """What passes is asked again at once. An unknown word at a change is a refusal; at a question nobody knows: it is waited out."""
    if error.type in PASSING:
        return Transient(GITHUB, f"{error.message[:200]} (at {place})")
    if place in CHANGES:
        return Forbidden(f'GitHub refuses {place} ({error.type}): "{error.message[:200]}".')
    if error.type == "UNPROCESSABLE":
        return BadRequest(f"GitHub refuses {place}: {error.message[:200]}")
    return Outage(GITHUB, f"{error.type}: {error.message[:200]} (at {place})")


def _of_query(error: GraphError) -> AssayError:
    """An error about the whole query: a mistake in it has a code, a time-out has none."""
    if error.extensions and "code" in error.extensions:
        return BadRequest(f"GitHub refuses our query: {error.message}")
    if error.type in {"MAX_NODE_LIMIT_EXCEEDED", "EXCESSIVE_PAGINATION", "MISSING_PAGINATION_BOUNDARIES"}:
        return BadRequest(f"GitHub refuses our query: {error.message}")
    return _of_odd(error, "the whole query")


def is_optional(error: GraphError) -> bool:
    """Whether the answer is good without this: one item of a list, an issue named in text, how it was edited or renamed, the branch's rules.

    Or the owner's defaults, where there are none or we may not see them.
    """
    path = error.path or ()
    if path[:1] == (DEFAULTS_ALIAS,):
        return error.type in UNSEEN
    in_a_list = any(word == "nodes" and isinstance(place, int) for word, place in pairwise(path))
    named_issue = bool(path) and str(path[-1]).startswith("issue_")
    return in_a_list or named_issue or not DISPENSABLE.isdisjoint(path)


def reset_time(headers: Mapping[str, str]) -> datetime | None:
    """When the rate limit of this answer starts anew."""
    value = headers.get("x-ratelimit-reset", "")
    return datetime.fromtimestamp(int(value), UTC) if re.fullmatch(r"\d{1,12}", value) else None
