"""Merge groups read from GitHub: their pull request, diff, dossier and check run."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, FakeRepo, OpenedPull
from worker.adapters.github.checks import GitHubCheckRuns, GitHubChecks
from worker.adapters.github.client import AppAccess
from worker.adapters.github.merge_groups import GitHubMergeGroups, GroupPullSource, group_external_id
from worker.adapters.github.pull_requests import make_read_options
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.github_events import MergeGroup, find_pull_number
from worker.domain.model import CheckRunId, DeliveryId, RepositoryId
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


def create_group(repo: FakeRepo, pull: OpenedPull, **options: Any) -> MergeGroup:
    made = repo.github.control("merge-group", repo=repo.name, pulls=[pull.number], **options)
    return MergeGroup(
        installation_id=INSTALLATION,
        repository_id=RepositoryId(1),
        repository=repo.name,
        head_sha=made["head_sha"],
        base_sha=made["base_sha"],
        base_ref=made["base_ref"],
        head_ref=made["head_ref"],
        delivery_id=DeliveryId("d"),
        at=datetime(2026, 11, 20, tzinfo=UTC),
    )


def test_group_pull_request_is_found_by_its_number(repo: FakeRepo, groups: GitHubMergeGroups) -> None:
    pull = repo.pull()
    group = create_group(repo, pull, squash=True)
    assert find_pull_number(group.head_ref, group.base_ref) == pull.number
    assert repo.request_as("alice", "GET", f"/commits/{group.head_sha}/pulls") == []
    assert groups.pull_request(group) == GroupPullRequest(pull.sha, is_closed=False, published=None)
    assert groups.pull_request(with_number(group, pull.number + 50)) is None
    pull.edit(state="closed")
    assert groups.pull_request(group) == GroupPullRequest(pull.sha, is_closed=True, published=None)


def with_number(group: MergeGroup, number: int) -> MergeGroup:
    """The group with another pull request."""
    ref = group.head_ref.replace(f"/pr-{group.number}-", f"/pr-{number}-")
    return group.model_copy(update={"head_ref": ref})


def test_newest_own_check_run_comes_with_the_head(
    repo: FakeRepo, groups: GitHubMergeGroups, checks: GitHubCheckRuns
) -> None:
    pull = repo.pull()
    group = create_group(repo, pull)
    other = pull.request.model_copy(update={"pull": pull.request.pull.model_copy(update={"number": 99})})

    def read_published() -> PublishedCheckRun | None:
        before = len(repo.request_names())
        member = groups.pull_request(group)
        assert repo.request_names()[before:] == ["AssayMember"]
        assert member
        return member.published

    repo.ci(pull.sha, "Assay", external_id=f"pull:{pull.number}", conclusion="success")
    checks.create(other, pull.sha, CheckContent("Accepted", "Words", conclusion=Conclusion.SUCCESS))
    assert read_published() is None
    checks.create(pull.request, pull.sha, CheckContent("Before", "Words", conclusion=Conclusion.FAILURE))
    ours = checks.create_first(pull.request, pull.sha, CheckContent("Judging", "Words"))
    checks.create(other, pull.sha, CheckContent("Judging another", "Words"))
    assert read_published() == PublishedCheckRun(CheckRunId(ours), None, "Judging")
    checks.update(pull.request, ours, CheckContent("Rejected", "Words", conclusion=Conclusion.FAILURE))
    assert read_published() == PublishedCheckRun(CheckRunId(ours), "failure", "Rejected")


def test_rest_is_asked_when_graphql_is_incomplete(
    repo: FakeRepo, groups: GitHubMergeGroups, checks: GitHubCheckRuns
) -> None:
    pull = repo.pull()
    group = create_group(repo, pull)
    ours = checks.create(pull.request, pull.sha, CheckContent("Accepted", "Words", conclusion=Conclusion.SUCCESS))
    run = {"url": "https://github.example/runs/abc", "externalId": f"pull:{pull.number}", "status": "COMPLETED"}
    runs = {"totalCount": 1, "nodes": [{**run, "conclusion": "SUCCESS", "title": "Accepted"}]}
    incomplete: tuple[tuple[dict[str, Any], str], ...] = (
        ({"totalCount": 1, "nodes": [{"checkRuns": runs}]}, pull.sha),
        ({"totalCount": 1, "nodes": [{"checkRuns": {**runs, "totalCount": 51}}]}, pull.sha),
        ({"totalCount": 11, "nodes": []}, pull.sha),
        ({"totalCount": 0, "nodes": []}, "f" * 40),
    )
    other = pull.request.model_copy(update={"pull": pull.request.pull.model_copy(update={"number": 99})})
    checks.create(other, pull.sha, CheckContent("Judging", "Words"))
    repo.ci(pull.sha, "Assay", external_id=f"pull:{pull.number}", conclusion="failure")
    for suites, oid in incomplete:
        commits: dict[str, Any] = {"nodes": [{"commit": {"oid": oid, "checkSuites": suites}}]}
        data = {"repository": {"pullRequest": {"state": "OPEN", "headRefOid": pull.sha, "commits": commits}}}
        repo.script_answer("POST /graphql AssayMember", {"data": data})
        member = groups.pull_request(group)
        assert member
        assert member.published == PublishedCheckRun(CheckRunId(ours), "success", "Accepted")
        assert repo.request_names()[-1] == "GET 200"


def test_group_diff_is_against_the_group_before_it(repo: FakeRepo, groups: GitHubMergeGroups) -> None:
    first = repo.pull()
    repo.push("second", {"b.py": "z = 1\n"})
    second = repo.open_pull_request("second")
    before = create_group(repo, first)
    group = create_group(repo, second, on=before.head_sha, squash=True)
    assert group.base_sha == before.head_sha
    diff = groups.diff(group) or ""
    assert "+z = 1" in diff
    assert "y = 3" not in diff


@pytest.mark.slow
def test_group_diff_that_is_too_large_is_unavailable(
    repo: FakeRepo, groups: GitHubMergeGroups, open_source: Callable[[MergeGroup], GroupPullSource]
) -> None:
    pull = repo.pull()
    group = create_group(repo, pull)
    repo.script_refusal("GET .*/compare/", 406, "too large")
    assert groups.diff(group) is None
    repo.script_refusal("GET .*/compare/", 406, "too large")
    with pytest.raises(Unavailable):
        open_source(group).dossier(pull.request)


def test_group_dossier_holds_the_change_of_the_group(
    repo: FakeRepo, open_source: Callable[[MergeGroup], GroupPullSource]
) -> None:
    pull = repo.pull(body="Words")
    repo.ci(pull.sha, "test", conclusion="failure")
    group = create_group(repo, pull, files={"a.py": "x = 1\ny = 9\n"})
    dossier = open_source(group).dossier(pull.request)
    assert (dossier.pull_request.body, dossier.pull_request.number) == ("Words", pull.number)
    assert (dossier.pull_request.head_sha, dossier.pull_request.base_sha) == (group.head_sha, group.base_sha)
    assert "+y = 9" in dossier.diff
    assert [(file.path, file.text) for file in dossier.files or ()] == [("a.py", "x = 1\ny = 9\n")]
    assert dossier.ci is None


@pytest.mark.slow
def test_group_check_run_differs_from_that_of_its_pull_request(
    repo: FakeRepo, access: AppAccess, settings: Settings
) -> None:
    pull = repo.pull()
    group = create_group(repo, pull)
    app_id = settings.require_app().app_id
    own = GitHubChecks(access, app_id, lambda _: group_external_id(pull.number)).with_fence(no_lease)
    made = own.create(pull.request, group.head_sha, CheckContent("Looking", "Words"))
    assert own.create(pull.request, group.head_sha, CheckContent("Looking", "Words")) == made
    assert GitHubChecks(access, app_id).with_fence(no_lease).find(pull.request, group.head_sha) is None
    assert [run["external_id"] for run in repo.github.state(repo.name)["check_runs"]] == [f"group:{pull.number}"]
