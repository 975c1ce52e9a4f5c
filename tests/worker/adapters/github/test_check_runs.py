"""Check runs, their annotations, published states and SARIF uploads."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, FakeRepo, MemoryVault, OpenedPull
from tests.worker.adapters.github.test_rate_limits import StoredLimits
from worker.adapters.github.check_runs import GitHubCheckRuns, GitHubChecks, GitHubPublishedRuns, GitHubScans
from worker.adapters.github.client import AppAccess, app_access
from worker.adapters.github.rate_limits import RESERVED_REQUESTS, RequestPriority
from worker.domain.check.check_run import (
    HELPFUL,
    NOT_HELPFUL,
    Annotation,
    AnnotationLevel,
    CheckContent,
    Conclusion,
    UploadRefusal,
)
from worker.domain.config.github_app import OptIn, requested_permissions
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.model import CheckRunId
from worker.domain.ports import RateLimit
from worker.errors import Forbidden, LeaseLost, RateLimited, SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun
from worker.process import SystemClock
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.states import existing_pull_content
from worker.settings import Settings

JUDGING = CheckContent("Judging", "Assay reads the pull request.")
REJECTED = CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE)
BUTTONS = CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE, (), (HELPFUL, NOT_HELPFUL))


def note(line: int, message: str = "a stub") -> Annotation:
    return Annotation("a.py", line, line, AnnotationLevel.FAILURE, "half finished", message)


def with_notes(*notes: Annotation) -> CheckContent:
    return CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE, notes)


def notes_on(last: int) -> CheckContent:
    """A content with a note on each line up to *last*."""
    return with_notes(*(note(line) for line in range(1, last + 1)))


@pytest.fixture
def pull(repo: FakeRepo) -> OpenedPull:
    return repo.pull({"a.py": "x = 1\n" * 200})


def runs(pull: OpenedPull) -> list[Any]:
    return [run for run in pull.repository.github.state(pull.repository.name)["check_runs"] if run["name"] == "Assay"]


def only_run(pull: OpenedPull) -> Any:
    [run] = runs(pull)
    return run


def state(pull: OpenedPull) -> tuple[str, str | None, list[int]]:
    """Status, conclusion and annotated lines of the only run."""
    run = only_run(pull)
    return run["status"], run["conclusion"], [annotation["start_line"] for annotation in run["annotations"]]


def test_check_run_is_created_in_progress_with_its_pull_request_number(
    checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    run = only_run(pull)
    assert (run["id"], run["status"], run["conclusion"], run["actions"]) == (made, "in_progress", None, [])
    assert (run["external_id"], run["head_sha"]) == (f"pull:{pull.number}", pull.sha)
    assert (run["output"]["title"], run["output"]["summary"]) == ("Judging", "Assay reads the pull request.")
    assert pull.repository.request_names() == ["GET 200", "POST 201"]


def test_check_run_is_concluded_with_buttons_and_reopened_without_text(
    checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, BUTTONS)
    run = only_run(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("completed", "failure", "More")
    buttons = [(action["identifier"], action["label"]) for action in run["actions"]]
    assert buttons == [("helpful", "Helpful"), ("not_helpful", "Not helpful")]
    checks.update(pull.request, made, JUDGING)
    run = only_run(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("in_progress", None, "")
    assert pull.repository.request_names() == ["GET 200", "POST 201", "PATCH 200", "PATCH 200"]


@pytest.mark.parametrize("last", [1, 60])
def test_check_run_can_be_created_concluded_with_many_annotations(
    checks: GitHubCheckRuns, pull: OpenedPull, last: int
) -> None:
    checks.create(pull.request, pull.sha, notes_on(last))
    assert state(pull) == ("completed", "failure", [*range(1, last + 1)])


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_lost_response_creates_no_second_check_run(checks: GitHubCheckRuns, pull: OpenedPull, kind: str) -> None:
    pull.repository.github.fault("POST .*/check-runs", kind=kind, after=True)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert [run["id"] for run in runs(pull)] == [made]


def test_newer_of_two_check_runs_created_at_the_same_time_is_used(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    older, newer = (checks.create_first(pull.request, pull.sha, JUDGING) for _ in range(2))
    assert older < newer
    for _ in range(2):
        assert checks.find(pull.request, pull.sha) == newer
    states = {run["id"]: (run["status"], run["conclusion"], run["output"]["title"]) for run in runs(pull)}
    assert states == {older: ("completed", "cancelled", "Created twice"), newer: ("in_progress", None, "Judging")}
    assert pull.repository.request_names() == ["POST 201", "POST 201", "GET 200", "PATCH 200", "GET 200"]


def test_older_concluded_check_run_is_left_unchanged(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    checks.create_first(pull.request, pull.sha, REJECTED)
    newer = checks.create_first(pull.request, pull.sha, JUDGING)
    assert checks.find(pull.request, pull.sha) == newer
    assert sorted(str(run["conclusion"]) for run in runs(pull)) == ["None", "failure"]


def test_failed_creation_is_not_repeated_without_a_search(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    pull.repository.github.fault("POST .*/check-runs")
    with pytest.raises(Unavailable):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.repository.request_names() == ["GET 200", "POST 502", "GET 200"]
    assert runs(pull) == []


def test_creation_refused_by_a_rate_limit_is_not_searched_for(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    pull.repository.github.fault("POST .*/check-runs", kind="secondary", retry_after=30)
    with pytest.raises(RateLimited):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.repository.request_names() == ["GET 200", "POST 403"]


def test_check_run_of_a_dead_judge_is_found_and_updated(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    assert checks.create(pull.request, pull.sha, REJECTED) == first
    assert only_run(pull)["conclusion"] == "failure"


@pytest.mark.parametrize(("before", "after"), [(REJECTED, "failure"), (JUDGING, "neutral")])
def test_existing_pull_content_overwrites_no_concluded_check_run(
    checks: GitHubCheckRuns, pull: OpenedPull, before: CheckContent, after: str
) -> None:
    first = checks.create(pull.request, pull.sha, before)
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    run = only_run(pull)
    assert (run["conclusion"], run["output"]["title"] == before.title) == (after, before is REJECTED)


def test_existing_pull_content_replaces_a_check_run_concluded_by_github(
    checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    pull.repository.ci(pull.sha, "Assay", id=first, status="completed", conclusion="timed_out")
    assert only_run(pull)["conclusion"] == "timed_out"
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    assert only_run(pull)["conclusion"] == "neutral"


def test_check_run_of_another_app_with_our_name_is_not_used(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    pull.repository.ci(pull.sha, "Assay", status="in_progress", external_id=f"pull:{pull.number}")
    theirs = only_run(pull)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert made != theirs["id"]
    with pytest.raises(Forbidden, match="checks: write"):
        checks.update(pull.request, CheckRunId(theirs["id"]), REJECTED)


def test_our_check_run_is_found_behind_a_hundred_of_other_apps(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    for _ in range(100):
        pull.repository.ci(pull.sha, "Assay")
    assert checks.find(pull.request, pull.sha) == made


def test_pull_requests_of_one_commit_have_their_own_check_runs(
    repo: FakeRepo, checks: GitHubCheckRuns, pull: OpenedPull
) -> None:
    repo.push("other", {})
    twin = repo.open_pull_request("fix", base="other")
    assert twin.sha == pull.sha
    first, second = (checks.create(opened.request, opened.sha, JUDGING) for opened in (pull, twin))
    assert first != second
    assert checks.create(pull.request, pull.sha, REJECTED) == first


def test_annotations_are_sent_in_fifties_with_the_conclusion_last(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, notes_on(120))
    assert state(pull) == ("completed", "failure", [*range(1, 121)])
    assert pull.repository.request_names()[2:] == ["GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_update_with_a_lost_response_repeats_no_annotation(
    checks: GitHubCheckRuns, pull: OpenedPull, kind: str
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.repository.github.fault("PATCH .*/check-runs", kind=kind, after=True)
    checks.update(pull.request, made, notes_on(2))
    assert state(pull) == ("completed", "failure", [1, 2])


@dataclass
class RecordingFence:
    """A fence that records earlier requests and lets *left* further ones pass."""

    pull: OpenedPull
    left: int = 99
    before: list[list[str]] = field(default_factory=list[list[str]])

    def __call__(self) -> None:
        self.before.append(self.pull.repository.request_names())
        self.left -= 1
        if self.left < 0:
            raise LeaseLost


def test_fence_is_checked_before_each_write_request(publisher: GitHubChecks, pull: OpenedPull) -> None:
    fence = RecordingFence(pull)
    checks = publisher.with_fence(fence)
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, notes_on(120))
    written = ["GET 200", "POST 201", "GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]
    assert pull.repository.request_names() == written
    assert fence.before == [written[:1], written[:3], written[:4], written[:5]]


@pytest.mark.parametrize("left", [0, 1, 2])
def test_lost_lease_stops_the_remaining_annotation_batches(
    publisher: GitHubChecks, pull: OpenedPull, left: int
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(RecordingFence(pull, left)).update(pull.request, made, notes_on(120))
    assert pull.repository.request_names()[2:] == ["GET 200", *["PATCH 200"] * left]
    assert only_run(pull)["status"] == "in_progress"


def test_check_run_is_neither_created_nor_searched_for_without_the_lease(
    publisher: GitHubChecks, pull: OpenedPull
) -> None:
    with pytest.raises(LeaseLost):
        publisher.with_fence(RecordingFence(pull, 0)).create_first(pull.request, pull.sha, JUDGING)
    assert (pull.repository.request_names(), runs(pull)) == ([], [])


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_fence_is_checked_before_a_lost_request_is_repeated(
    publisher: GitHubChecks, pull: OpenedPull, kind: str
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    pull.repository.github.fault("PATCH .*/check-runs", kind=kind)
    fence = RecordingFence(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    assert len(fence.before) == 2
    assert len(pull.repository.request_names()[2:]) == 1
    assert only_run(pull)["conclusion"] is None


def test_fence_is_checked_after_a_token_is_created(publisher: GitHubChecks, pull: OpenedPull) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    tokens = len(pull.repository.github.traffic("/access_tokens$"))
    pull.repository.github.control("tokens/expire")
    fence = RecordingFence(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    upload_sarif = pull.repository.github.traffic(f"^PATCH /repos/{pull.repository.name}/")
    assert [request["status"] for request in upload_sarif] == [401], (
        "the refused request is not repeated with the new token"
    )
    assert len(pull.repository.github.traffic("/access_tokens$")) == tokens + 1
    assert len(fence.before) == 2
    assert only_run(pull)["conclusion"] is None


def test_older_check_run_is_cancelled_under_the_fence(publisher: GitHubChecks, pull: OpenedPull) -> None:
    free = publisher.with_fence(no_lease)
    free.create_first(pull.request, pull.sha, JUDGING)
    free.create_first(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(RecordingFence(pull, 0)).find(pull.request, pull.sha)
    assert [run["status"] for run in runs(pull)] == ["in_progress"] * 2


def test_second_judging_adds_only_new_annotations(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, notes_on(2))
    checks.update(pull.request, made, JUDGING)
    checks.update(pull.request, made, with_notes(note(2), note(3), note(2, "another")))
    assert state(pull)[2] == [1, 2, 3, 2]


def test_annotations_beyond_the_first_page_are_read(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, notes_on(130))
    checks.update(pull.request, made, notes_on(130))
    assert len(state(pull)[2]) == 130


def test_update_that_keeps_failing_is_an_outage(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.repository.github.fault("PATCH .*/check-runs", count=9)
    with pytest.raises(Unavailable):
        checks.update(pull.request, made, REJECTED)
    assert pull.repository.request_names()[2:] == ["PATCH 502"] * 2


def test_missing_head_is_gone(checks: GitHubCheckRuns, pull: OpenedPull) -> None:
    with pytest.raises(SubjectGone):
        checks.create(pull.request, "0" * 40, JUDGING)
    with pytest.raises(SubjectGone):
        checks.update(pull.request, CheckRunId(1), JUDGING)


# Published check runs of many heads


@pytest.fixture
def published_runs(access: AppAccess, settings: Settings) -> GitHubPublishedRuns:
    return GitHubPublishedRuns(access, settings.require_app().app_id)


def with_head(pull: OpenedPull, head_sha: str = "") -> JudgeRequest:
    return pull.request.model_copy(update={"head_sha": head_sha or pull.sha})


def test_published_runs_are_our_own_of_each_pull_request(
    repo: FakeRepo, published_runs: GitHubPublishedRuns, checks: GitHubCheckRuns
) -> None:
    repo.push("other", {"b.py": "z = 1\n"})
    first, second = repo.pull(), repo.open_pull_request("other")
    repo.ci(first.sha, "Assay", external_id=f"pull:{first.number}", conclusion="success")
    foreign = published_runs.newest_runs(INSTALLATION, [with_head(first), with_head(second)])
    assert foreign == [None, None]
    open_ = checks.create(first.request, first.sha, JUDGING)
    ended = checks.create(second.request, second.sha, REJECTED)
    shown = [PublishedCheckRun(open_, None, "Judging"), PublishedCheckRun(ended, "failure", "Rejected")]
    assert published_runs.newest_runs(INSTALLATION, [with_head(first), with_head(second)]) == shown
    other_head = published_runs.newest_runs(INSTALLATION, [with_head(first, "9" * 40), with_head(second)])
    assert other_head == [None, shown[1]]


def test_published_runs_of_a_hundred_heads_take_one_request(
    repo: FakeRepo, published_runs: GitHubPublishedRuns
) -> None:
    pull = repo.pull()
    for count, requests in ((100, 1), (101, 2), (0, 0)):
        before = len(repo.github.traffic("POST /graphql"))
        assert published_runs.newest_runs(INSTALLATION, [with_head(pull)] * count) == [None] * count
        assert len(repo.github.traffic("POST /graphql")) == before + requests


def test_sweep_requests_are_refused_when_the_rate_limit_is_reserved(
    repo: FakeRepo, settings: Settings, vault: MemoryVault
) -> None:
    pull = repo.pull()
    left = RateLimit(RESERVED_REQUESTS[RequestPriority.SWEEP], SystemClock().now() + timedelta(hours=1))
    with app_access(settings, vault, SystemClock(), StoredLimits(core=left, graphql=left)) as access:
        with pytest.raises(RateLimited):
            GitHubPublishedRuns(access, settings.require_app().app_id).newest_runs(INSTALLATION, [with_head(pull)])
        with pytest.raises(RateLimited):
            GitHubScans(access).upload(pull.request.pull, repo.name, pull.sha, SARIF)
    assert repo.request_names() == []


# SARIF uploads

DRIVER: dict[str, Any] = {"driver": {"name": "Assay", "rules": []}}
RUN: dict[str, Any] = {"tool": DRIVER, "automationDetails": {"id": "assay/x"}, "results": []}
SARIF = base64.b64encode(gzip.compress(json.dumps({"version": "2.1.0", "runs": [RUN]}).encode())).decode()


@pytest.fixture
def scanning_repo(repo: FakeRepo) -> Iterator[FakeRepo]:
    repo.github.control("permissions", permissions=requested_permissions(OptIn))
    yield repo
    repo.github.control("permissions", permissions=None)


def upload_sarif(repo: FakeRepo, access: AppAccess, sarif: str = SARIF) -> tuple[UploadRefusal | None, PullRef]:
    opened = repo.pull()
    pull = opened.request.pull
    return GitHubScans(access).upload(pull, repo.name, opened.sha, sarif), pull


def stored_uploads(repo: FakeRepo) -> list[dict[str, Any]]:
    return repo.github.state(repo.name, "uploads")["uploads"]


def test_sarif_is_uploaded_for_the_pull_request_head(scanning_repo: FakeRepo, access: AppAccess) -> None:
    refusal, pull = upload_sarif(scanning_repo, access)
    assert refusal is None
    [upload] = stored_uploads(scanning_repo)
    assert (upload["ref"], upload["tool_name"]) == (f"refs/pull/{pull.number}/head", "Assay")


def test_refused_sarif_upload_says_why(scanning_repo: FakeRepo, access: AppAccess) -> None:
    assert upload_sarif(scanning_repo, access, "bm90IGd6aXA=")[0] is UploadRefusal.NOT_TAKEN
    scanning_repo.github.control("scanning", repo=scanning_repo.name, enabled=False)
    assert upload_sarif(scanning_repo, access)[0] is UploadRefusal.NOT_ENABLED
    scanning_repo.github.control("permissions", permissions=requested_permissions([OptIn.COMMENTS]))
    assert upload_sarif(scanning_repo, access)[0] is UploadRefusal.PERMISSION
    assert stored_uploads(scanning_repo) == []


def test_sarif_upload_tells_missing_repository_from_missing_head(scanning_repo: FakeRepo, access: AppAccess) -> None:
    scanning_repo.script_refusal("POST .*/code-scanning/sarifs", 404, "Not Found")
    refusal, pull = upload_sarif(scanning_repo, access)
    assert refusal is UploadRefusal.NOT_FOUND
    with pytest.raises(SubjectGone, match="head commit deleted"):
        GitHubScans(access).upload(pull, scanning_repo.name, "0" * 40, SARIF)


@pytest.mark.parametrize(("order", "error"), [({"status": 503}, Unavailable), ({"kind": "secondary"}, RateLimited)])
def test_rate_limit_or_outage_is_no_upload_refusal(
    scanning_repo: FakeRepo, access: AppAccess, order: dict[str, Any], error: type[Exception]
) -> None:
    scanning_repo.github.fault("POST .*/code-scanning/sarifs", **order)
    with pytest.raises(error):
        upload_sarif(scanning_repo, access)
