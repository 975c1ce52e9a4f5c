"""A merge group as GitHub tells of it: asked for by number, compared by its own commits, shown in one check run."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, GitHubRepository, OpenedPullRequest
from worker.adapters.github.check_runs import GitHubCheckRuns, GitHubChecks
from worker.adapters.github.client import AppAccess
from worker.adapters.github.merge_groups import GitHubMergeGroups, GroupPullSource, group_external_id
from worker.adapters.github.pull_requests import make_read_options
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.merge_group import MergeGroup, find_pull_number
from worker.domain.ids import CheckRunId, DeliveryId, RepositoryId
from worker.errors import Unavailable
from worker.judge.merge_group import GroupPullRequest, PublishedCheckRun
from worker.publishing.check_runs import no_lease
from worker.settings import Settings


@pytest.fixture
def groups(access: AppAccess, settings: Settings) -> GitHubMergeGroups:
    return GitHubMergeGroups(access, settings.require_app().app_id)


@pytest.fixture
def open_source(access: AppAccess, settings: Settings) -> Callable[[MergeGroup], GroupPullSource]:
    options = make_read_options(settings.require_app().app_id, settings.github_api_url)
    return lambda group: GroupPullSource(access, options, group)


def queued(place: GitHubRepository, pull: OpenedPullRequest, **options: Any) -> MergeGroup:
    made = place.github.control("merge-group", repo=place.name, pulls=[pull.number], **options)
    return MergeGroup(
        installation_id=INSTALLATION,
        repository_id=RepositoryId(1),
        repository=place.name,
        head_sha=made["head_sha"],
        base_sha=made["base_sha"],
        base_ref=made["base_ref"],
        head_ref=made["head_ref"],
        delivery_id=DeliveryId("d"),
        at=datetime(2026, 11, 20, tzinfo=UTC),
    )


def test_a_pull_request_is_seen_by_its_number_also_where_the_commit_belongs_to_none(
    github_repository: GitHubRepository, groups: GitHubMergeGroups
) -> None:
    pull = github_repository.pull()
    group = queued(github_repository, pull, squash=True)
    assert find_pull_number(group.head_ref, group.base_ref) == pull.number
    path = f"/repos/{github_repository.name}/commits/{group.head_sha}/pulls"
    assert github_repository.github.request_as("alice", "GET", path) == []
    assert groups.pull_request(group) == GroupPullRequest(pull.sha, is_closed=False, published=None)
    assert groups.pull_request(of_number(group, pull.number + 50)) is None
    pull.edit(state="closed")
    assert groups.pull_request(group) == GroupPullRequest(pull.sha, is_closed=True, published=None)


def of_number(group: MergeGroup, number: int) -> MergeGroup:
    """The same group, if it tried another pull request."""
    ref = group.head_ref.replace(f"/pr-{group.number}-", f"/pr-{number}-")
    return group.model_copy(update={"head_ref": ref})


def test_our_newest_check_of_this_pull_request_counts_and_comes_with_the_head(
    github_repository: GitHubRepository, groups: GitHubMergeGroups, checks: GitHubCheckRuns
) -> None:
    pull = github_repository.pull()
    group = queued(github_repository, pull)
    other = pull.request.model_copy(update={"pull": pull.request.pull.model_copy(update={"number": 99})})

    def published() -> PublishedCheckRun | None:
        before = len(github_repository.request_names())
        member = groups.pull_request(group)
        assert github_repository.request_names()[before:] == ["AssayMember"]
        assert member
        return member.published

    github_repository.ci(pull.sha, "Assay", external_id=f"pull:{pull.number}", conclusion="success")
    checks.create(other, pull.sha, CheckContent("Accepted", "Words", conclusion=Conclusion.SUCCESS))
    assert published() is None
    checks.create(pull.request, pull.sha, CheckContent("Before", "Words", conclusion=Conclusion.FAILURE))
    ours = checks.create_first(pull.request, pull.sha, CheckContent("Judging", "Words"))
    checks.create(other, pull.sha, CheckContent("Judging another", "Words"))
    assert published() == PublishedCheckRun(CheckRunId(ours), None, "Judging")
    checks.update(pull.request, ours, CheckContent("Rejected", "Words", conclusion=Conclusion.FAILURE))
    assert published() == PublishedCheckRun(CheckRunId(ours), "failure", "Rejected")


def test_what_graphql_can_not_tell_is_asked_of_rest(
    github_repository: GitHubRepository, groups: GitHubMergeGroups, checks: GitHubCheckRuns
) -> None:
    pull = github_repository.pull()
    group = queued(github_repository, pull)
    ours = checks.create(pull.request, pull.sha, CheckContent("Accepted", "Words", conclusion=Conclusion.SUCCESS))
    run = {"url": "https://github.example/runs/abc", "externalId": f"pull:{pull.number}", "status": "COMPLETED"}
    runs = {"totalCount": 1, "nodes": [{**run, "conclusion": "SUCCESS", "title": "Accepted"}]}
    told: tuple[tuple[dict[str, Any], str], ...] = (
        ({"totalCount": 1, "nodes": [{"checkRuns": runs}]}, pull.sha),
        ({"totalCount": 1, "nodes": [{"checkRuns": {**runs, "totalCount": 51}}]}, pull.sha),
        ({"totalCount": 11, "nodes": []}, pull.sha),
        ({"totalCount": 0, "nodes": []}, "f" * 40),
    )
    other = pull.request.model_copy(update={"pull": pull.request.pull.model_copy(update={"number": 99})})
    checks.create(other, pull.sha, CheckContent("Judging", "Words"))
    github_repository.ci(pull.sha, "Assay", external_id=f"pull:{pull.number}", conclusion="failure")
    for suites, oid in told:
        commits: dict[str, Any] = {"nodes": [{"commit": {"oid": oid, "checkSuites": suites}}]}
        data = {"repository": {"pullRequest": {"state": "OPEN", "headRefOid": pull.sha, "commits": commits}}}
        github_repository.script_answer("POST /graphql AssayMember", {"data": data})
        member = groups.pull_request(group)
        assert member
        assert member.published == PublishedCheckRun(CheckRunId(ours), "success", "Accepted")
        assert github_repository.request_names()[-1] == "GET 200"


def test_its_change_is_the_one_against_the_group_before_it(
    github_repository: GitHubRepository, groups: GitHubMergeGroups
) -> None:
    first = github_repository.pull()
    github_repository.push("second", {"b.py": "z = 1\n"})
    second = github_repository.open_pull_request("second")
    before = queued(github_repository, first)
    group = queued(github_repository, second, on=before.head_sha, squash=True)
    assert group.base_sha == before.head_sha
    diff = groups.diff(group) or ""
    assert "+z = 1" in diff
    assert "y = 3" not in diff


@pytest.mark.slow
def test_a_diff_that_is_too_large_is_not_shown(
    github_repository: GitHubRepository, groups: GitHubMergeGroups, open_source: Callable[[MergeGroup], GroupPullSource]
) -> None:
    pull = github_repository.pull()
    group = queued(github_repository, pull)
    github_repository.script_refusal("GET .*/compare/", 406, "too large")
    assert groups.diff(group) is None
    github_repository.script_refusal("GET .*/compare/", 406, "too large")
    with pytest.raises(Unavailable):
        open_source(group).dossier(pull.request)


def test_a_dossier_of_a_group_is_the_pull_request_as_the_group_changes_it(
    github_repository: GitHubRepository, open_source: Callable[[MergeGroup], GroupPullSource]
) -> None:
    pull = github_repository.pull(body="Words")
    github_repository.ci(pull.sha, "test", conclusion="failure")
    group = queued(github_repository, pull, files={"a.py": "x = 1\ny = 9\n"})
    dossier = open_source(group).dossier(pull.request)
    assert (dossier.pull_request.body, dossier.pull_request.number) == ("Words", pull.number)
    assert (dossier.pull_request.head_sha, dossier.pull_request.base_sha) == (group.head_sha, group.base_sha)
    assert "+y = 9" in dossier.diff
    assert [(one.path, one.text) for one in dossier.files or ()] == [("a.py", "x = 1\ny = 9\n")]
    assert dossier.ci is None


@pytest.mark.slow
def test_a_groups_check_is_told_apart_from_its_pull_requests(
    github_repository: GitHubRepository, access: AppAccess, settings: Settings
) -> None:
    pull = github_repository.pull()
    group = queued(github_repository, pull)
    app_id = settings.require_app().app_id
    own = GitHubChecks(access, app_id, lambda _: group_external_id(pull.number)).with_fence(no_lease)
    made = own.create(pull.request, group.head_sha, CheckContent("Looking", "Words"))
    assert own.create(pull.request, group.head_sha, CheckContent("Looking", "Words")) == made
    assert GitHubChecks(access, app_id).with_fence(no_lease).find(pull.request, group.head_sha) is None
    assert [run["external_id"] for run in github_repository.github.state(github_repository.name)["check_runs"]] == [
        f"group:{pull.number}"
    ]
