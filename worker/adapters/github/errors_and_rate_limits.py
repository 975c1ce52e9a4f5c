"""GitHub's refusals and outages as `worker.errors`, and the requests that its rate limits leave.

A refusal that only a bug of ours can cause is a `GitHubBadRequest`. While the remainder is known, publishing a pull request's state has a
reserve, and a sweep leaves what a pull request needs. During a secondary limit only calls more urgent than the refused one are sent.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
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

from worker.adapters.github.responses import DEFAULTS_ALIAS, ErrorResponse, GraphError
from worker.domain.model import InstallationId
from worker.domain.ports import Clock, RateLimit, RateLimits
from worker.errors import AssayError, Forbidden, Outage, RateLimited, SubjectGone, Unavailable

GITHUB: Final = "GitHub"
SECONDARY_MESSAGE: Final = "secondary rate limit"
DIFF_NAME: Final = "this diff"
"""GitHub's phrase for a diff that it can't make in time, whatever its size: it "is taking too long to generate", or is
"temporarily unavailable due to heavy server load". The list of files with patches mostly works then.
"""

PAUSE: Final = timedelta(seconds=60)
"""Wait that GitHub asks for if it names no time."""

PERMISSIONS: Final = (
    (re.compile(r"/check-(runs|suites)"), "checks"),
    (re.compile(r"/(status|statuses)\b"), "statuses"),
    (re.compile(r"/pulls\b"), "pull_requests"),
    (re.compile(r"/issues\b.*/(reactions|comments|labels)\b"), "pull_requests"),  # all of them are of pull requests
    (re.compile(r"/issues\b"), "issues"),
    (re.compile(r"/code-scanning/"), "security_events"),
    (re.compile(r"/(contents|git|compare|commits)\b"), "contents"),
    (re.compile(r"/repos/"), "metadata"),
)
"""The permission that a REST path needs; the first match counts."""

FIELD_PERMISSIONS: Final[Mapping[str, str]] = {
    "statusCheckRollup": "checks: read and statuses: read",
    "closingIssuesReferences": "issues: read",
    "checkSuites": "checks: read",
    "issue": "issues: read",
    "object": "contents: read",
    "pullRequest": "pull_requests: read",
    "addReaction": "pull_requests: write",
    "updateIssueComment": "pull_requests: write",
}
"""The permission that a GraphQL field needs; the innermost match counts."""

MUTATION_FIELDS: Final = frozenset({"addReaction", "updateIssueComment"})
"""Mutations that we send."""

TRANSIENT_TYPES: Final = frozenset({None, "INTERNAL", "SERVICE_UNAVAILABLE", "TIMEOUT"})
"""Types of a GraphQL error from the server's own trouble, if it has a type."""

QUERY_TYPES: Final = frozenset({"MAX_NODE_LIMIT_EXCEEDED", "EXCESSIVE_PAGINATION", "MISSING_PAGINATION_BOUNDARIES"})
"""Types of a GraphQL error that only a mistake in the query has."""

HIDDEN_TYPES: Final = frozenset({"NOT_FOUND", "FORBIDDEN", "INSUFFICIENT_SCOPES"})


class GitHubBadRequest(AssayError):
    """GitHub calls our request invalid: a bug of ours, which a retry does not change."""


class CredentialRefused(AssayError):
    """A credential was refused. Stays in this package: the client tries another one, or raises Forbidden."""

    def __init__(self, *, of_app: bool, credential: str, message: str) -> None:
        super().__init__(message)
        self.of_app = of_app
        self.credential = credential


class TransientOutage(Outage):
    """Worth an immediate retry: a broken connection, a 5xx."""


OPTIONAL_FIELDS: Final = frozenset({"refUpdateRule", "rules", "userContentEdits", "timelineItems"})
"""Fields that an answer may lack, at any depth."""


class SecondaryRateLimited(RateLimited):
    """GitHub's secondary limit, over all requests of an installation. Outside this package a RateLimited.

    It lasts for whole seconds, since other processes read it: a retry is never early.
    """

    def __init__(self, what: str, retry_at: datetime) -> None:
        super().__init__(what, datetime.fromtimestamp(ceil(retry_at.timestamp()), UTC))


class DiffTooLarge(AssayError):
    """GitHub can't show this diff (406, or 422 after a timeout). Stays in this package: the source reads the files instead."""


def translate_error(error: GitHubException, now: datetime) -> AssayError:  # noqa: PLR0911 - a table
    """Translate an error of githubkit."""
    match error:
        case SecondaryRateLimitExceeded():
            return SecondaryRateLimited(GITHUB, now + max(error.retry_after, timedelta(seconds=1)))
        case RateLimitExceeded():
            return RateLimited(GITHUB, now + max(error.retry_after, timedelta(seconds=1)))
        case RequestFailed():
            return _translate_refusal(error, now)
        case RequestTimeout():
            return Outage(GITHUB, "no answer in time")
        case RequestError(exc=GitHubException() as inner):
            return translate_error(inner, now)
        case RequestError(exc=AssayError() as ours):
            return ours
        case RequestError(exc=cause) if type(cause).__module__.startswith("jwt"):
            return CredentialRefused(of_app=True, credential="", message=f"the App's private key is none ({cause})")
        case RequestError(exc=cause):
            return TransientOutage(GITHUB, f"the connection broke ({type(cause).__name__})")
        case _:
            return Unavailable(GITHUB, f"the request was not sent ({type(error).__name__})")


def _translate_refusal(error: RequestFailed, now: datetime) -> AssayError:  # noqa: PLR0911 - a table
    status, path = error.response.status_code, error.request.url.path
    message = _message(error.response.content)
    asked = f"{error.request.method} {path}"
    if SECONDARY_MESSAGE in message:
        return SecondaryRateLimited(GITHUB, now + PAUSE)
    match status:
        case HTTPStatus.UNAUTHORIZED:
            scheme, _, credential = error.request.headers.get("authorization", "").partition(" ")
            return CredentialRefused(of_app=scheme == "Bearer", credential=credential, message=message)
        case HTTPStatus.FORBIDDEN if "suspended" in message:
            return SubjectGone("suspended")
        case HTTPStatus.FORBIDDEN | HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS:
            name = next((permission for pattern, permission in PERMISSIONS if pattern.search(path)), "metadata")
            level = "read" if error.request.method == "GET" else "write"
            needed = error.response.headers.get("x-accepted-github-permissions") or f"{name}: {level}"
            return Forbidden(f'GitHub refuses {asked}: "{message}". It needs the permission {needed}.')
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return SubjectGone(not_found_reason(path))
        case HTTPStatus.UNPROCESSABLE_ENTITY if "No commit found" in message:
            return SubjectGone("head commit deleted")
        case HTTPStatus.NOT_ACCEPTABLE | HTTPStatus.UNPROCESSABLE_ENTITY if is_diff_refused(status, message):
            return DiffTooLarge(message)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return SecondaryRateLimited(GITHUB, now + PAUSE)
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return TransientOutage(GITHUB, f"answered {status} to {asked}")
        case _:
            return GitHubBadRequest(f'GitHub answered {status} to {asked}: "{message}"')


def is_diff_refused(status: int, message: str) -> bool:
    """Whether GitHub refuses a diff for its size or the time it takes."""
    return status == HTTPStatus.NOT_ACCEPTABLE or DIFF_NAME in message


def not_found_reason(path: str) -> str:
    """What a 404 at this path means."""
    if path.endswith("/access_tokens"):
        return "uninstalled"
    for part, what in (("/check-runs/", "check run deleted"), ("/comments/", "comment deleted")):
        if part in path:
            return what
    return "deleted"


def _message(body: bytes) -> str:
    """GitHub's message, on one line and cut."""
    try:
        text = ErrorResponse.model_validate_json(body).message
    except ValidationError:
        text = "(an answer that is not GitHub's)"
    return " ".join(text.split())[:200]


def translate_graphql_errors(
    errors: tuple[GraphError, ...], now: datetime, reset: datetime | None
) -> AssayError | None:
    """The first error that spoils the answer; None if all of them only omit optional fields."""
    return next((translated for error in errors if (translated := _translate_graphql_error(error, now, reset))), None)


def _translate_graphql_error(  # noqa: PLR0911 - a table
    error: GraphError, now: datetime, reset: datetime | None
) -> AssayError | None:
    fields = [part for part in error.path or () if isinstance(part, str)]
    if error.type in {"RATE_LIMITED", "RATE_LIMIT"}:
        return RateLimited(GITHUB, reset or now + PAUSE)
    if SECONDARY_MESSAGE in error.message:
        return SecondaryRateLimited(GITHUB, now + PAUSE)
    if error.path is None:
        # An error about the whole query: a mistake in it has a code, a timeout has none.
        if (error.extensions and "code" in error.extensions) or error.type in QUERY_TYPES:
            return GitHubBadRequest(f"GitHub refuses our query: {error.message}")
        return _translate_unknown(error, "the whole query")
    if is_optional(error):
        return None
    match error.type:
        case "NOT_FOUND":
            return SubjectGone("deleted" if len(fields) > 1 else "repository deleted, or the App was uninstalled")
        case "FORBIDDEN" | "INSUFFICIENT_SCOPES":
            needed = next(
                (FIELD_PERMISSIONS[word] for word in reversed(fields) if word in FIELD_PERMISSIONS), "metadata: read"
            )
            return Forbidden(f'GitHub refuses {".".join(fields)}: "{error.message}". It needs the permission {needed}.')
        case _:
            return _translate_unknown(error, ".".join(fields))


def _translate_unknown(error: GraphError, path: str) -> AssayError:
    """Translate an error of unknown type: in a mutation it is a refusal, in a query an outage."""
    if error.type in TRANSIENT_TYPES:
        return TransientOutage(GITHUB, f"{error.message[:200]} (at {path})")
    if path in MUTATION_FIELDS:
        return Forbidden(f'GitHub refuses {path} ({error.type}): "{error.message[:200]}".')
    if error.type == "UNPROCESSABLE":
        return GitHubBadRequest(f"GitHub refuses {path}: {error.message[:200]}")
    return Outage(GITHUB, f"{error.type}: {error.message[:200]} (at {path})")


def is_optional(error: GraphError) -> bool:
    """Whether the answer is usable without this field.

    Optional are a list item, an issue named in text, its edits or renames, the branch's rules, and the owner's defaults.
    """
    path = error.path or ()
    if path[:1] == (DEFAULTS_ALIAS,):
        return error.type in HIDDEN_TYPES
    in_a_list = any(word == "nodes" and isinstance(index, int) for word, index in pairwise(path))
    named_issue = bool(path) and str(path[-1]).startswith("issue_")
    return in_a_list or named_issue or not OPTIONAL_FIELDS.isdisjoint(path)


def reset_time(headers: Mapping[str, str]) -> datetime | None:
    """When this answer's rate limit resets."""
    value = headers.get("x-ratelimit-reset", "")
    return datetime.fromtimestamp(int(value), UTC) if re.fullmatch(r"\d{1,12}", value) else None


class RequestPriority(StrEnum):
    """Purpose of a request; more urgent ones may use the reserve."""

    STATE = "state"
    JUDGING = "judging"
    SWEEP = "sweep"


RESERVED_REQUESTS: Final[Mapping[RequestPriority, int]] = {
    RequestPriority.STATE: 0,
    RequestPriority.JUDGING: 50,
    RequestPriority.SWEEP: 1000,
}
"""Requests to leave for others: an hour has at least 5,000, and a judging takes about five."""

NOTE_EACH_BELOW: Final = 1500
"""Above this, the remainder is not shared with other processes."""


SECONDARY: Final = "secondary"
"""Name under which a secondary limit is recorded: too many concurrent requests, or too much created content."""


class RequestBudget:
    """Remaining requests of one installation, shared by all processes through `RateLimits`."""

    def __init__(self, installation: InstallationId, limits: RateLimits, clock: Clock) -> None:
        self._installation = installation
        self._limits = limits
        self._clock = clock
        self._left: dict[str, RateLimit] = dict(limits.find_limits(installation))

    def admit(self, resource: str, need: RequestPriority) -> None:
        """Raise RateLimited if the rest is reserved for more urgent requests."""
        for name in (resource, SECONDARY):
            left = self._left.get(name)
            if left is not None and left.remaining <= RESERVED_REQUESTS[need] and left.reset_at > self._clock.now():
                raise RateLimited(GITHUB, left.reset_at)

    def note_throttled(self, need: RequestPriority, until: datetime) -> None:
        """Record a secondary limit of GitHub until then: an App that continues to send is banned."""
        limit, least = self._left.get(SECONDARY), RESERVED_REQUESTS[need]
        if limit is not None and limit.reset_at > self._clock.now():
            until, least = max(until, limit.reset_at), min(least, limit.remaining)
        self._left[SECONDARY] = left = RateLimit(least, until)
        self._limits.put(self._installation, SECONDARY, left)

    def note_headers(self, headers: Mapping[str, str]) -> None:
        """Record the remainder from an answer's headers. A server without limits sends none."""
        fresh = read_left(headers)
        if fresh is None:
            return
        resource, left = fresh
        limit = self._left.get(resource)
        self._left[resource] = left
        was_noted = limit is not None and limit.remaining < NOTE_EACH_BELOW and limit.reset_at == left.reset_at
        if left.remaining < NOTE_EACH_BELOW and not (
            was_noted and limit and limit.remaining - left.remaining < notable_change(left)
        ):
            self._limits.put(self._installation, resource, left)


def notable_change(left: RateLimit) -> int:
    """Change that is worth recording: every request near the end, else every fiftieth."""
    return 1 if left.remaining < 2 * RESERVED_REQUESTS[RequestPriority.JUDGING] else 50


def read_left(headers: Mapping[str, str]) -> tuple[str, RateLimit] | None:
    """Budget and remainder from the headers of an answer."""
    lower = {name.lower(): value for name, value in headers.items()}
    values = [lower.get(f"x-ratelimit-{name}", "") for name in ("remaining", "reset")]
    if not all(value.isascii() and value.isdecimal() and len(value) < 12 for value in values):  # noqa: PLR2004 - a time in seconds has ten
        return None
    remaining, reset = (int(value) for value in values)
    return lower.get("x-ratelimit-resource", "core"), RateLimit(remaining, datetime.fromtimestamp(reset, UTC))
