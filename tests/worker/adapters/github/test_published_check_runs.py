"""What our checks say on many heads, in few requests."""

from datetime import timedelta

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, Drawer, Place
from tests.worker.adapters.github.test_rate_limits import Page
from worker.adapters.github.check_runs import GitHubCheckRuns, GitHubChecks, GitHubPublishedRuns
from worker.adapters.github.client import AppAccess, app_access
from worker.adapters.github.rate_limits import RESERVED_REQUESTS, RequestPriority
from worker.clock import SystemClock
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.judge_request import JudgeRequest
from worker.domain.ports import RateLimit
from worker.errors import RateLimited
from worker.judge.merge_group import PublishedCheckRun
from worker.publishing.check_runs import no_lease
from worker.settings import Settings

CHANGE = {"a.py": "x = 1\ny = 3\n"}
ACCEPTED = CheckContent("Accepted", "Words", conclusion=Conclusion.SUCCESS)


@pytest.fixture
def shown(access: AppAccess, settings: Settings) -> GitHubPublishedRuns:
    return GitHubPublishedRuns(access, settings.require_app().app_id)


@pytest.fixture
def checks(access: AppAccess, settings: Settings) -> GitHubCheckRuns:
    return GitHubChecks(access, settings.require_app().app_id).with_fence(no_lease)


def at(request: JudgeRequest, head_sha: str) -> JudgeRequest:
    return request.model_copy(update={"head_sha": head_sha})


def test_heads_show_our_own_check_of_this_pull_request_alone_open_or_ended(
    place: Place, shown: GitHubPublishedRuns, checks: GitHubCheckRuns
) -> None:
    place.push("other", {"b.py": "z = 1\n"})
    first, second = place.pull(CHANGE), place.opened("other")
    place.ci(first.sha, "Assay", external_id=f"pull:{first.number}", conclusion="success")
    here = [at(one.request, one.sha) for one in (first, second)]
    assert shown.newest_runs(INSTALLATION, here) == [None, None], "others may call theirs so"

    open_, ended = (
        checks.create(first.request, first.sha, CheckContent("Judging", "Words")),
        checks.create(second.request, second.sha, ACCEPTED),
    )
    assert shown.newest_runs(INSTALLATION, here) == [
        PublishedCheckRun(open_, None, "Judging"),
        PublishedCheckRun(ended, "success", "Accepted"),
    ]
    assert shown.newest_runs(INSTALLATION, [at(first.request, "9" * 40), here[1]])[0] is None, (
        "another head is the newest"
    )


def test_a_hundred_are_one_request(place: Place, shown: GitHubPublishedRuns) -> None:
    pull = place.pull(CHANGE)
    before = len(place.github.traffic("POST /graphql"))
    assert shown.newest_runs(INSTALLATION, [at(pull.request, pull.sha)] * 100) == [None] * 100
    assert len(place.github.traffic("POST /graphql")) == before + 1
    assert shown.newest_runs(INSTALLATION, [at(pull.request, pull.sha)] * 101) == [None] * 101
    assert len(place.github.traffic("POST /graphql")) == before + 3
    assert shown.newest_runs(INSTALLATION, []) == []


def test_nobody_looks_while_pull_requests_need_what_is_left(place: Place, settings: Settings, vault: Drawer) -> None:
    pull, until = place.pull(CHANGE), SystemClock().now() + timedelta(hours=1)
    rates = Page(graphql=RateLimit(RESERVED_REQUESTS[RequestPriority.SWEEP], until))
    before = len(place.github.traffic("POST /graphql"))
    with app_access(settings, vault, SystemClock(), rates) as access, pytest.raises(RateLimited):
        GitHubPublishedRuns(access, settings.require_app().app_id).newest_runs(
            INSTALLATION, [at(pull.request, pull.sha)]
        )
    assert len(place.github.traffic("POST /graphql")) == before
