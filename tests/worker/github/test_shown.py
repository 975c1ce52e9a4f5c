"""What our checks say on many heads, in few requests."""

import pytest

from tests.worker.github.conftest import INSTALLATION, Place
from worker.domain.check import CheckContent, Conclusion
from worker.domain.group_answer import Published
from worker.domain.request import JudgeRequest
from worker.github.checks import GitHubCheckRuns, GitHubChecks
from worker.github.client import AppAccess
from worker.github.shown import GitHubShown
from worker.publish import no_lease
from worker.settings import Settings

CHANGE = {"a.py": "x = 1\ny = 3\n"}
ACCEPTED = CheckContent("Accepted", "Words", conclusion=Conclusion.SUCCESS)


@pytest.fixture
def shown(access: AppAccess, settings: Settings) -> GitHubShown:
    return GitHubShown(access, settings.require_app().app_id)


@pytest.fixture
def checks(access: AppAccess, settings: Settings) -> GitHubCheckRuns:
    return GitHubChecks(access, settings.require_app().app_id).under(no_lease)


def at(request: JudgeRequest, head_sha: str) -> JudgeRequest:
    return request.model_copy(update={"head_sha": head_sha})


def test_heads_show_our_own_check_of_this_pull_request_alone_open_or_ended(
    place: Place, shown: GitHubShown, checks: GitHubCheckRuns
) -> None:
    place.push("other", {"b.py": "z = 1\n"})
    first, second = place.pull(CHANGE), place.opened("other")
    place.ci(first.sha, "Assay", external_id=f"pull:{first.number}", conclusion="success")
    here = [at(one.request, one.sha) for one in (first, second)]
    assert shown.shown(INSTALLATION, here) == [None, None], "others may call theirs so"

    open_, ended = (
        checks.create(first.request, first.sha, CheckContent("Judging", "Words")),
        checks.create(second.request, second.sha, ACCEPTED),
    )
    assert shown.shown(INSTALLATION, here) == [
        Published(open_, None, "Judging"),
        Published(ended, "success", "Accepted"),
    ]
    assert shown.shown(INSTALLATION, [at(first.request, "9" * 40), here[1]])[0] is None, "another head is the newest"


def test_a_hundred_are_one_request(place: Place, shown: GitHubShown) -> None:
    pull = place.pull(CHANGE)
    before = len(place.github.traffic("POST /graphql"))
    assert shown.shown(INSTALLATION, [at(pull.request, pull.sha)] * 101) == [None] * 101
    assert len(place.github.traffic("POST /graphql")) == before + 2
    assert shown.shown(INSTALLATION, []) == []
