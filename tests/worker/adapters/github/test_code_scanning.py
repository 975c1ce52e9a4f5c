"""SARIF into GitHub's code scanning, and what GitHub says where it takes none."""

import base64
import gzip
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import Drawer, Place
from tests.worker.adapters.github.test_rate_limits import Page
from worker.adapters.github.check_runs import GitHubScans
from worker.adapters.github.client import AppAccess, app_access
from worker.adapters.github.rate_limits import RESERVED_REQUESTS, RequestPriority
from worker.clock import SystemClock
from worker.domain.check.check_run import UploadRefusal
from worker.domain.config.app_permissions import OptIn, requested_permissions
from worker.domain.judge_request import PullRef
from worker.domain.ports import RateLimit
from worker.errors import RateLimited, SubjectGone, Unavailable
from worker.settings import Settings

RUN: dict[str, Any] = {
    "tool": {"driver": {"name": "Assay", "rules": []}},
    "automationDetails": {"id": "assay/x"},
    "results": [],
}
SARIF = base64.b64encode(gzip.compress(json.dumps({"version": "2.1.0", "runs": [RUN]}).encode())).decode()
SENT = "POST .*/code-scanning/sarifs"


@pytest.fixture
def place(place: Place) -> Iterator[Place]:
    place.github.verb("permissions", permissions=requested_permissions(OptIn))
    yield place
    place.github.verb("permissions", permissions=None)


def sent(place: Place, access: AppAccess, sarif: str = SARIF) -> tuple[UploadRefusal | None, PullRef]:
    opened = place.pull({"a.py": "x = 2\n"})
    pull = opened.request.pull
    return GitHubScans(access).upload(pull, place.name, opened.sha, sarif), pull


def kept(place: Place) -> list[dict[str, Any]]:
    return place.github.state(place.name, "uploads")["uploads"]


def test_a_run_stands_at_the_pull_requests_head(place: Place, access: AppAccess) -> None:
    refusal, pull = sent(place, access)
    assert refusal is None
    [upload] = kept(place)
    assert (upload["ref"], upload["tool_name"]) == (f"refs/pull/{pull.number}/head", "Assay")


def test_an_app_without_the_permission_is_told_so(place: Place, access: AppAccess) -> None:
    place.github.verb("permissions", permissions=requested_permissions([OptIn.COMMENTS]))
    assert sent(place, access)[0] is UploadRefusal.PERMISSION
    assert kept(place) == []


def test_a_repository_without_code_scanning_says_so(place: Place, access: AppAccess) -> None:
    place.github.verb("scanning", repo=place.name, enabled=False)
    assert sent(place, access)[0] is UploadRefusal.NOT_ENABLED


def test_a_file_that_github_can_not_read_is_not_taken(place: Place, access: AppAccess) -> None:
    assert sent(place, access, "bm90IGd6aXA=")[0] is UploadRefusal.NOT_TAKEN


def test_what_is_not_there_is_told_and_a_head_that_is_gone_is_nobodys(place: Place, access: AppAccess) -> None:
    place.github.fault(SENT, status=404, body={"message": "Not Found"})
    refusal, pull = sent(place, access)
    assert refusal is UploadRefusal.NOT_FOUND
    with pytest.raises(SubjectGone, match="head commit deleted"):
        GitHubScans(access).upload(pull, place.name, "0" * 40, SARIF)


@pytest.mark.parametrize(("order", "error"), [({"status": 503}, Unavailable), ({"kind": "secondary"}, RateLimited)])
def test_limits_and_outages_are_no_refusals(
    place: Place, access: AppAccess, order: dict[str, Any], error: type[Exception]
) -> None:
    place.github.fault(SENT, **order)
    with pytest.raises(error):
        sent(place, access)


def test_nothing_is_sent_while_pull_requests_need_what_is_left(place: Place, settings: Settings, vault: Drawer) -> None:
    rates = Page(core=RateLimit(RESERVED_REQUESTS[RequestPriority.SWEEP], SystemClock().now() + timedelta(hours=1)))
    with app_access(settings, vault, SystemClock(), rates) as access, pytest.raises(RateLimited):
        sent(place, access)
    assert kept(place) == []
