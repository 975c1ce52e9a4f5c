"""Error types of refusals and outages, reserved requests, secondary limits, and response headers."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from githubkit.exception import AuthCredentialError, RequestError

from tests.worker.adapters.github.conftest import INSTALLATION, FakeRepo
from tests.worker.adapters.redis.outcome_samples import FixedClock
from tests.world.fake_github import FakeGitHub
from worker.adapters.github.client import ApiCall, AppAccess
from worker.adapters.github.errors_and_rate_limits import (
    NOTE_EACH_BELOW,
    RESERVED_REQUESTS,
    DiffTooLarge,
    GitHubBadRequest,
    RequestBudget,
    RequestPriority,
    SecondaryRateLimited,
    read_left,
    reset_time,
    translate_error,
)
from worker.adapters.github.responses import PermissionResponse, PullState
from worker.domain.model import InstallationId
from worker.domain.ports import RateLimit
from worker.errors import AssayError, Bug, Forbidden, Outage, RateLimited, RetryRule, SubjectGone, Unavailable, classify

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
SLOW = "Server Error: Sorry, this diff is taking too long to generate."
LOADED = "Server Error: Sorry, this diff is temporarily unavailable due to heavy server load."


@pytest.fixture(scope="module")
def repo(github: FakeGitHub) -> FakeRepo:
    """One repository for all tests of this module, which script every answer."""
    name = f"refusals-{uuid4().hex[:8]}"
    github.control("repo", name=name)
    return FakeRepo(github, f"acme/{name}")


@pytest.fixture(autouse=True)
def clear(github: FakeGitHub) -> Iterator[None]:
    yield
    github.clear_faults()


@pytest.mark.parametrize(
    ("call", "status", "message", "kind", "message_part"),
    [
        ("GET /pulls/1", 403, "Resource not accessible by integration", Forbidden, "pull_requests: read"),
        ("POST /check-runs", 403, "Resource not accessible by integration", Forbidden, "checks: write"),
        ("GET /commits/x/check-runs", 403, "no", Forbidden, "checks: read"),
        ("GET /commits/x/status", 403, "no", Forbidden, "statuses: read"),
        ("GET /contents/a.py", 403, "no", Forbidden, "contents: read"),
        ("POST /issues/comments/1/reactions", 403, "no", Forbidden, "pull_requests: write"),
        ("GET /issues/1", 403, "no", Forbidden, "issues: read"),
        ("GET /collaborators/bob/permission", 403, "no", Forbidden, "metadata: read"),
        ("GET /pulls/1", 451, "Repository access blocked", Forbidden, "access blocked"),
        ("GET /pulls/1", 404, "Not Found", SubjectGone, "deleted"),
        ("PATCH /check-runs/1", 404, "Not Found", SubjectGone, "check run deleted"),
        ("POST /issues/comments/1/reactions", 404, "Not Found", SubjectGone, "comment deleted"),
        ("GET /pulls/1", 410, "Gone", SubjectGone, "deleted"),
        ("POST /check-runs", 422, "No commit found for SHA: f00", SubjectGone, "head commit deleted"),
        ("POST /check-runs", 422, "Invalid request.", GitHubBadRequest, "422 to POST"),
        ("GET /pulls/1", 400, "Problems parsing JSON", GitHubBadRequest, "Problems parsing JSON"),
        ("GET /pulls/1", 406, "the diff exceeded", DiffTooLarge, "the diff exceeded"),
        ("GET /pulls/1", 422, SLOW, DiffTooLarge, "too long to generate"),
        ("GET /pulls/1", 422, LOADED, DiffTooLarge, "heavy server load"),
        ("GET /pulls/1", 429, "Too many requests", SecondaryRateLimited, "again at"),
        ("GET /pulls/1", 403, "You have exceeded a secondary rate limit.", SecondaryRateLimited, "again at"),
        ("PATCH /check-runs/1", 500, "Server Error", Unavailable, "answered 500 to PATCH"),
        ("PATCH /check-runs/1", 503, "Unavailable", Unavailable, "answered 503"),
    ],
)
def test_rest_refusal_has_its_error_type(  # noqa: PLR0913, PLR0917 - a table's columns
    repo: FakeRepo, access: AppAccess, call: str, status: int, message: str, kind: type[AssayError], message_part: str
) -> None:
    method, path = call.split()
    repo.script_refusal(f"{method} .*{repo.name}", status, message)
    body = None if method == "GET" else {"content": "eyes"}
    with pytest.raises(kind, match=re.escape(message_part)) as caught:
        access.api(INSTALLATION).fetch(ApiCall(method, f"/repos/{repo.name}{path}", body=body), PermissionResponse)
    assert type(caught.value) is kind or kind is Unavailable


def query(repo: FakeRepo, access: AppAccess) -> PullState:
    owner, name = repo.name.split("/")
    document = "query Odd($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { name } }"
    return access.api(INSTALLATION).query(document, {"owner": owner, "name": name}, PullState)


PULL = ["repository", "pullRequest"]
COMMENT = ["updateIssueComment"]


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        ({"type": "RATE_LIMITED", "message": "API rate limit exceeded"}, RateLimited, "again at"),
        ({"type": "RATE_LIMIT", "message": "API rate limit exceeded"}, RateLimited, "again at"),
        ({"message": "You have exceeded a secondary rate limit"}, SecondaryRateLimited, "again at"),
        ({"type": "NOT_FOUND", "path": ["repository"], "message": "no"}, SubjectGone, "repository deleted, or the App"),
        ({"type": "NOT_FOUND", "path": PULL, "message": "no"}, SubjectGone, "deleted"),
        ({"type": "FORBIDDEN", "path": PULL, "message": "no"}, Forbidden, "pull_requests: read"),
        ({"type": "FORBIDDEN", "path": [*PULL, "statusCheckRollup"], "message": "no"}, Forbidden, "checks: read and"),
        ({"type": "FORBIDDEN", "path": ["repository", "object"], "message": "no"}, Forbidden, "contents: read"),
        ({"type": "FORBIDDEN", "path": ["viewer"], "message": "no"}, Forbidden, "metadata: read"),
        ({"type": "INSUFFICIENT_SCOPES", "path": PULL, "message": "no"}, Forbidden, "pull_requests: read"),
        ({"type": "SERVICE_UNAVAILABLE", "path": PULL, "message": "oops"}, Unavailable, "oops (at repository.pull"),
        ({"type": "SOMETHING_NEW", "path": PULL, "message": "oops"}, Outage, "SOMETHING_NEW: oops (at repository.pull"),
        ({"type": "SOMETHING_NEW", "message": "oops"}, Outage, "SOMETHING_NEW: oops"),
        ({"type": "UNPROCESSABLE", "path": PULL, "message": "no"}, GitHubBadRequest, "repository.pullRequest: no"),
        ({"type": "SOMETHING_NEW", "path": COMMENT, "message": "no"}, Forbidden, "updateIssueComment (SOMETHING_NEW)"),
        ({"type": "UNPROCESSABLE", "path": COMMENT, "message": "locked"}, Forbidden, '(UNPROCESSABLE): "locked"'),
        ({"type": "SERVICE_UNAVAILABLE", "path": COMMENT, "message": "oops"}, Unavailable, "oops (at updateIssue"),
        ({"message": "Something went wrong while executing your query."}, Unavailable, "Something went wrong"),
        ({"message": "no field x", "extensions": {"code": "undefinedField"}}, GitHubBadRequest, "no field x"),
        ({"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "too many nodes"}, GitHubBadRequest, "too many nodes"),
    ],
)
def test_graphql_error_has_its_error_type(
    repo: FakeRepo, access: AppAccess, error: object, kind: type[AssayError], message: str
) -> None:
    repo.script_answer("POST /graphql Odd", {"data": None, "errors": [error]}, count=3)
    with pytest.raises(kind, match=re.escape(message)) as caught:
        query(repo, access)
    assert type(caught.value) is kind or kind is Unavailable


@pytest.mark.parametrize(
    ("error", "times"),
    [
        ({"type": "SERVICE_UNAVAILABLE", "path": PULL}, 3),
        ({"path": PULL}, 3),
        ({}, 3),
        ({"type": "SOMETHING_NEW", "path": PULL}, 1),
        ({"type": "SOMETHING_NEW"}, 1),
        ({"type": "SOMETHING_NEW", "path": COMMENT}, 1),
        ({"path": COMMENT}, 3),
    ],
)
def test_only_transient_errors_are_retried(
    repo: FakeRepo, access: AppAccess, error: Mapping[str, Any], times: int
) -> None:
    repo.script_answer("POST /graphql Odd", {"data": None, "errors": [{"message": "oops", **error}]}, count=3)
    before = len(repo.request_names())
    with pytest.raises(AssayError):
        query(repo, access)
    assert len(repo.request_names()) - before == times


@pytest.mark.parametrize(
    "path",
    [
        [*PULL, "closingIssuesReferences", "nodes", 2],
        ["repository", "issue_0"],
        ["repository", "issue_0", "userContentEdits"],
        ["repository", "issue_0", "timelineItems"],
        [*PULL, "baseRef", "refUpdateRule"],
        [*PULL, "baseRef", "rules"],
    ],
)
def test_optional_dossier_part_raises_no_error(repo: FakeRepo, access: AppAccess, path: list[str | int]) -> None:
    head = {"state": "OPEN", "headRefOid": "0" * 40}
    for kind in ("FORBIDDEN", "NOT_FOUND"):
        error = {"type": kind, "path": path, "message": "no"}
        repo.script_answer("POST /graphql Odd", {"data": head, "errors": [error]})
        assert query(repo, access).state == "OPEN"


@pytest.mark.parametrize("page", ["<html>Bad gateway</html>", {"message": 5}])
def test_refusal_by_another_server_is_a_bad_request(repo: FakeRepo, access: AppAccess, page: object) -> None:
    repo.script_answer(f"GET .*{repo.name}", page, 418)
    with pytest.raises(GitHubBadRequest, match="not GitHub's"):
        access.api(INSTALLATION).get(f"/repos/{repo.name}/pulls/1", PermissionResponse)


def test_our_error_inside_githubkit_is_unwrapped() -> None:
    ours = Unavailable("Redis", "gone")
    assert translate_error(RequestError(ours), NOW) is ours
    assert translate_error(RequestError(RequestError(ours)), NOW) is ours


def test_unsent_request_is_an_outage_and_bad_request_is_a_bug() -> None:
    unsent = translate_error(AuthCredentialError("odd"), NOW)
    assert type(unsent) is Unavailable
    assert str(unsent) == "GitHub is unavailable: the request was not sent (AuthCredentialError)"
    assert classify(GitHubBadRequest("422"), 1, RetryRule(attempts=3, first_delay=timedelta(seconds=1))) == Bug()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"x-ratelimit-reset": "1795176000"}, datetime(2026, 11, 20, 12, tzinfo=UTC)),
        ({"x-ratelimit-reset": "soon"}, None),
        ({}, None),
    ],
)
def test_reset_time_is_read_from_headers(headers: Mapping[str, str], expected: datetime | None) -> None:
    assert reset_time(headers) == expected


def test_unknown_installation_is_gone(access: AppAccess) -> None:
    with pytest.raises(SubjectGone, match="uninstalled"):
        access.api(InstallationId(5)).get("/repos/acme/x", PermissionResponse)


HERE = InstallationId(100)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESET = NOON + timedelta(minutes=30)


class StoredLimits:
    """Stored rate limits of one installation."""

    def __init__(self, **left: RateLimit) -> None:
        self.kept = left
        self.notes = 0

    def find_limits(self, installation: InstallationId) -> Mapping[str, RateLimit]:
        assert installation == HERE
        return self.kept

    def put(self, installation: InstallationId, resource: str, limit: RateLimit) -> None:
        assert installation == HERE
        self.kept = {**self.kept, resource: limit}
        self.notes += 1


def headers(remaining: int, reset: datetime = RESET, resource: str = "core") -> dict[str, str]:
    seconds = str(int(reset.timestamp()))
    return {"X-RateLimit-Remaining": str(remaining), "x-ratelimit-reset": seconds, "x-ratelimit-resource": resource}


@pytest.mark.parametrize(
    ("left", "admitted", "refused"),
    [
        (RESERVED_REQUESTS[RequestPriority.SWEEP], RequestPriority.JUDGING, RequestPriority.SWEEP),
        (RESERVED_REQUESTS[RequestPriority.JUDGING], RequestPriority.STATE, RequestPriority.JUDGING),
        (0, None, RequestPriority.STATE),
    ],
)
def test_last_requests_are_reserved_for_more_urgent_ones(
    left: int, admitted: RequestPriority | None, refused: RequestPriority
) -> None:
    budget = RequestBudget(HERE, StoredLimits(core=RateLimit(left, RESET)), FixedClock(NOON))
    if admitted is not None:
        budget.admit("core", admitted)
    with pytest.raises(RateLimited) as error:
        budget.admit("core", refused)
    assert error.value.retry_at == RESET


def test_budget_is_full_after_the_reset_and_separate_per_resource() -> None:
    page = StoredLimits(core=RateLimit(0, RESET))
    RequestBudget(HERE, page, FixedClock(RESET)).admit("core", RequestPriority.SWEEP)
    RequestBudget(HERE, page, FixedClock(NOON)).admit("graphql", RequestPriority.SWEEP)


@pytest.mark.parametrize(
    ("refused", "admitted"),
    [
        (RequestPriority.STATE, []),
        (RequestPriority.JUDGING, [RequestPriority.STATE]),
        (RequestPriority.SWEEP, [RequestPriority.STATE, RequestPriority.JUDGING]),
    ],
)
def test_secondary_limit_stops_requests_that_are_no_more_urgent(
    refused: RequestPriority, admitted: list[RequestPriority]
) -> None:
    page, until = StoredLimits(), NOON + timedelta(seconds=60)
    RequestBudget(HERE, page, FixedClock(NOON)).note_throttled(refused, until)
    for resource in ("core", "graphql"):
        elsewhere = RequestBudget(HERE, page, FixedClock(NOON))
        for need in RequestPriority:
            if need in admitted:
                elsewhere.admit(resource, need)
            else:
                with pytest.raises(RateLimited) as error:
                    elsewhere.admit(resource, need)
                assert error.value.retry_at == until
        RequestBudget(HERE, page, FixedClock(until)).admit(resource, RequestPriority.SWEEP)


def test_stricter_and_longer_of_two_secondary_limits_counts() -> None:
    page, soon, late = StoredLimits(), NOON + timedelta(seconds=10), NOON + timedelta(seconds=60)
    budget = RequestBudget(HERE, page, FixedClock(NOON))
    budget.note_throttled(RequestPriority.STATE, soon)
    budget.note_throttled(RequestPriority.SWEEP, late)
    assert page.kept["secondary"] == RateLimit(RESERVED_REQUESTS[RequestPriority.STATE], late)
    after = RequestBudget(HERE, page, FixedClock(late))
    after.note_throttled(RequestPriority.SWEEP, late + timedelta(seconds=1))
    assert page.kept["secondary"].remaining == RESERVED_REQUESTS[RequestPriority.SWEEP], "the old one is over"


def test_remaining_requests_count_immediately_and_are_stored_near_the_end() -> None:
    page = StoredLimits()
    budget = RequestBudget(HERE, page, FixedClock(NOON))
    budget.note_headers(headers(NOTE_EACH_BELOW))
    assert page.notes == 0
    budget.note_headers(headers(NOTE_EACH_BELOW - 1))
    budget.note_headers(headers(NOTE_EACH_BELOW - 2))
    assert page.notes == 1
    budget.note_headers(headers(60))
    budget.note_headers(headers(59))
    assert (page.notes, page.kept["core"]) == (3, RateLimit(59, RESET))
    budget.note_headers(headers(40))
    with pytest.raises(RateLimited):
        budget.admit("core", RequestPriority.JUDGING)
    budget.note_headers(headers(1400, RESET + timedelta(hours=1)))
    assert page.kept["core"].remaining == 1400


@pytest.mark.parametrize(
    "response_headers",
    [
        {},
        {"x-ratelimit-remaining": "-1", "x-ratelimit-reset": "1"},
        {"x-ratelimit-remaining": "1"},
        headers(1) | {"x-ratelimit-reset": "9" * 12},
    ],
)
def test_response_without_rate_limit_headers_changes_nothing(response_headers: Mapping[str, str]) -> None:
    page = StoredLimits()
    RequestBudget(HERE, page, FixedClock(NOON)).note_headers(response_headers)
    assert page.notes == 0


def test_unnamed_rate_limit_is_that_of_rest() -> None:
    left = read_left({"x-ratelimit-remaining": "7", "x-ratelimit-reset": str(int(RESET.timestamp()))})
    assert left == ("core", RateLimit(7, RESET))
