"""Check runs: one per head whatever gets lost, every annotation once, and SARIF beside them."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import INSTALLATION, GitHubRepository, MemoryVault, OpenedPullRequest
from tests.worker.adapters.github.test_rate_limits import Page
from worker.adapters.github.check_runs import GitHubCheckRuns, GitHubChecks, GitHubPublishedRuns, GitHubScans
from worker.adapters.github.client import AppAccess, app_access
from worker.adapters.github.rate_limits import RESERVED_REQUESTS, RequestPriority
from worker.clock import SystemClock
from worker.domain.check.check_run import (
    HELPFUL,
    NOT_HELPFUL,
    Annotation,
    AnnotationLevel,
    CheckContent,
    Conclusion,
    UploadRefusal,
)
from worker.domain.config.app_permissions import OptIn, requested_permissions
from worker.domain.ids import CheckRunId
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.ports import RateLimit
from worker.errors import Forbidden, LeaseLost, RateLimited, SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun
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
    """A note on each line up to *last*."""
    return with_notes(*(note(line) for line in range(1, last + 1)))


@pytest.fixture
def pull(github_repository: GitHubRepository) -> OpenedPullRequest:
    return github_repository.pull({"a.py": "x = 1\n" * 200})


def runs(pull: OpenedPullRequest) -> list[Any]:
    return [run for run in pull.place.github.state(pull.place.name)["check_runs"] if run["name"] == "Assay"]


def the_run(pull: OpenedPullRequest) -> Any:
    [run] = runs(pull)
    return run


def state(pull: OpenedPullRequest) -> tuple[str, str | None, list[int]]:
    """Status, conclusion and annotated lines of the only run."""
    run = the_run(pull)
    return run["status"], run["conclusion"], [one["start_line"] for one in run["annotations"]]


def test_a_check_run_is_created_in_progress_and_names_its_pull_request(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    run = the_run(pull)
    assert (run["id"], run["status"], run["conclusion"], run["actions"]) == (made, "in_progress", None, [])
    assert (run["external_id"], run["head_sha"]) == (f"pull:{pull.number}", pull.sha)
    assert (run["output"]["title"], run["output"]["summary"]) == ("Judging", "Assay reads the pull request.")
    assert pull.place.request_names() == ["GET 200", "POST 201"]


def test_a_check_run_is_concluded_in_one_request_with_its_buttons_and_goes_back_without_its_text(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, BUTTONS)
    run = the_run(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("completed", "failure", "More")
    buttons = [(one["identifier"], one["label"]) for one in run["actions"]]
    assert buttons == [("helpful", "Helpful"), ("not_helpful", "Not helpful")]
    checks.update(pull.request, made, JUDGING)
    run = the_run(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("in_progress", None, "")
    assert pull.place.request_names() == ["GET 200", "POST 201", "PATCH 200", "PATCH 200"]


@pytest.mark.parametrize("last", [1, 60])
def test_a_check_run_may_be_born_concluded_and_with_many_annotations(
    checks: GitHubCheckRuns, pull: OpenedPullRequest, last: int
) -> None:
    checks.create(pull.request, pull.sha, notes_on(last))
    assert state(pull) == ("completed", "failure", [*range(1, last + 1)])


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_a_lost_answer_does_not_make_a_second_check_run(
    checks: GitHubCheckRuns, pull: OpenedPullRequest, kind: str
) -> None:
    pull.place.github.fault("POST .*/check-runs", kind=kind, after=True)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert [run["id"] for run in runs(pull)] == [made]


def test_of_two_that_were_created_at_the_same_time_the_newer_one_speaks(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    older, newer = (checks.create_first(pull.request, pull.sha, JUDGING) for _ in range(2))
    assert older < newer
    for _ in range(2):
        assert checks.find(pull.request, pull.sha) == newer
    said = {run["id"]: (run["status"], run["conclusion"], run["output"]["title"]) for run in runs(pull)}
    assert said == {older: ("completed", "cancelled", "Created twice"), newer: ("in_progress", None, "Judging")}
    assert pull.place.request_names() == ["POST 201", "POST 201", "GET 200", "PATCH 200", "GET 200"]


def test_an_older_one_that_is_concluded_stays_as_it_is(checks: GitHubCheckRuns, pull: OpenedPullRequest) -> None:
    checks.create_first(pull.request, pull.sha, REJECTED)
    newer = checks.create_first(pull.request, pull.sha, JUDGING)
    assert checks.find(pull.request, pull.sha) == newer
    assert sorted(str(run["conclusion"]) for run in runs(pull)) == ["None", "failure"]


def test_a_creation_that_was_lost_on_its_way_is_not_repeated_blindly(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    pull.place.github.fault("POST .*/check-runs")
    with pytest.raises(Unavailable):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.place.request_names() == ["GET 200", "POST 502", "GET 200"]
    assert runs(pull) == []


def test_a_creation_that_a_rate_limit_refused_is_not_searched_for(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    pull.place.github.fault("POST .*/check-runs", kind="secondary", retry_after=30)
    with pytest.raises(RateLimited):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.place.request_names() == ["GET 200", "POST 403"]


def test_the_check_run_of_a_judge_that_died_is_found_and_brought_up_to_date(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    assert checks.create(pull.request, pull.sha, REJECTED) == first
    assert the_run(pull)["conclusion"] == "failure"


@pytest.mark.parametrize(("before", "after"), [(REJECTED, "failure"), (JUDGING, "neutral")])
def test_a_greeting_is_written_over_nothing_that_is_concluded(
    checks: GitHubCheckRuns, pull: OpenedPullRequest, before: CheckContent, after: str
) -> None:
    first = checks.create(pull.request, pull.sha, before)
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    run = the_run(pull)
    assert (run["conclusion"], run["output"]["title"] == before.title) == (after, before is REJECTED)


def test_a_greeting_takes_the_place_of_one_that_somebody_else_ended(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    pull.place.ci(pull.sha, "Assay", id=first, status="completed", conclusion="timed_out")
    assert the_run(pull)["conclusion"] == "timed_out"
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    assert the_run(pull)["conclusion"] == "neutral"


def test_somebody_elses_check_of_our_name_is_not_ours(checks: GitHubCheckRuns, pull: OpenedPullRequest) -> None:
    pull.place.ci(pull.sha, "Assay", status="in_progress", external_id=f"pull:{pull.number}")
    theirs = the_run(pull)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert made != theirs["id"]
    with pytest.raises(Forbidden, match="checks: write"):
        checks.update(pull.request, CheckRunId(theirs["id"]), REJECTED)


def test_ours_is_found_behind_a_hundred_of_somebody_elses_of_our_name(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    for _ in range(100):
        pull.place.ci(pull.sha, "Assay")
    assert checks.find(pull.request, pull.sha) == made


def test_two_pull_requests_of_one_commit_have_a_check_run_each(
    github_repository: GitHubRepository, checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    github_repository.push("other", {})
    twin = github_repository.open_pull_request("fix", base="other")
    assert twin.sha == pull.sha
    first, second = (checks.create(one.request, one.sha, JUDGING) for one in (pull, twin))
    assert first != second
    assert checks.create(pull.request, pull.sha, REJECTED) == first


def test_many_annotations_go_in_fifties_and_the_conclusion_with_the_last(
    checks: GitHubCheckRuns, pull: OpenedPullRequest
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, notes_on(120))
    assert state(pull) == ("completed", "failure", [*range(1, 121)])
    assert pull.place.request_names()[2:] == ["GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_an_update_whose_answer_is_lost_adds_no_annotation_twice(
    checks: GitHubCheckRuns, pull: OpenedPullRequest, kind: str
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.place.github.fault("PATCH .*/check-runs", kind=kind, after=True)
    checks.update(pull.request, made, notes_on(2))
    assert state(pull) == ("completed", "failure", [1, 2])


@dataclass
class Asked:
    """A fence that notes what GitHub was asked before, and lets *left* requests pass."""

    pull: OpenedPullRequest
    left: int = 99
    before: list[list[str]] = field(default_factory=list[list[str]])

    def __call__(self) -> None:
        self.before.append(self.pull.place.request_names())
        self.left -= 1
        if self.left < 0:
            raise LeaseLost


def test_the_fence_is_asked_right_before_each_request_that_writes(
    publisher: GitHubChecks, pull: OpenedPullRequest
) -> None:
    fence = Asked(pull)
    checks = publisher.with_fence(fence)
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, notes_on(120))
    written = ["GET 200", "POST 201", "GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]
    assert pull.place.request_names() == written
    assert fence.before == [written[:1], written[:3], written[:4], written[:5]]


@pytest.mark.parametrize("left", [0, 1, 2])
def test_whoever_loses_the_lease_between_two_batches_writes_no_more(
    publisher: GitHubChecks, pull: OpenedPullRequest, left: int
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(Asked(pull, left)).update(pull.request, made, notes_on(120))
    assert pull.place.request_names()[2:] == ["GET 200", *["PATCH 200"] * left]
    assert the_run(pull)["status"] == "in_progress"


def test_a_check_run_is_not_created_and_not_searched_for_without_the_lease(
    publisher: GitHubChecks, pull: OpenedPullRequest
) -> None:
    with pytest.raises(LeaseLost):
        publisher.with_fence(Asked(pull, 0)).create_first(pull.request, pull.sha, JUDGING)
    assert (pull.place.request_names(), runs(pull)) == ([], [])


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_the_fence_is_asked_again_before_a_lost_request_is_sent_again(
    publisher: GitHubChecks, pull: OpenedPullRequest, kind: str
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    pull.place.github.fault("PATCH .*/check-runs", kind=kind)
    fence = Asked(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    assert len(fence.before) == 2
    assert len(pull.place.request_names()[2:]) == 1
    assert the_run(pull)["conclusion"] is None


def test_the_fence_is_asked_after_a_token_was_made_for_the_request(
    publisher: GitHubChecks, pull: OpenedPullRequest
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    tokens = len(pull.place.github.traffic("/access_tokens$"))
    pull.place.github.control("tokens/expire")
    fence = Asked(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    sent = pull.place.github.traffic(f"^PATCH /repos/{pull.place.name}/")
    assert [one["status"] for one in sent] == [401], "it was refused, and not sent with the new token"
    assert len(pull.place.github.traffic("/access_tokens$")) == tokens + 1
    assert len(fence.before) == 2
    assert the_run(pull)["conclusion"] is None


def test_of_two_the_older_one_is_ended_under_the_fence(publisher: GitHubChecks, pull: OpenedPullRequest) -> None:
    free = publisher.with_fence(no_lease)
    free.create_first(pull.request, pull.sha, JUDGING)
    free.create_first(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(Asked(pull, 0)).find(pull.request, pull.sha)
    assert [run["status"] for run in runs(pull)] == ["in_progress"] * 2


def test_judging_again_adds_only_what_is_new(checks: GitHubCheckRuns, pull: OpenedPullRequest) -> None:
    made = checks.create(pull.request, pull.sha, notes_on(2))
    checks.update(pull.request, made, JUDGING)
    checks.update(pull.request, made, with_notes(note(2), note(3), note(2, "another")))
    assert state(pull)[2] == [1, 2, 3, 2]


def test_annotations_beyond_the_first_page_are_seen(checks: GitHubCheckRuns, pull: OpenedPullRequest) -> None:
    made = checks.create(pull.request, pull.sha, notes_on(130))
    checks.update(pull.request, made, notes_on(130))
    assert len(state(pull)[2]) == 130


def test_an_update_that_stays_lost_is_an_outage(checks: GitHubCheckRuns, pull: OpenedPullRequest) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.place.github.fault("PATCH .*/check-runs", count=9)
    with pytest.raises(Unavailable):
        checks.update(pull.request, made, REJECTED)
    assert pull.place.request_names()[2:] == ["PATCH 502"] * 2


def test_a_head_that_is_not_there_is_gone(checks: GitHubCheckRuns, pull: OpenedPullRequest) -> None:
    with pytest.raises(SubjectGone):
        checks.create(pull.request, "0" * 40, JUDGING)
    with pytest.raises(SubjectGone):
        checks.update(pull.request, CheckRunId(1), JUDGING)


# What our check runs say on many heads


@pytest.fixture
def shown(access: AppAccess, settings: Settings) -> GitHubPublishedRuns:
    return GitHubPublishedRuns(access, settings.require_app().app_id)


def on(pull: OpenedPullRequest, head_sha: str = "") -> JudgeRequest:
    return pull.request.model_copy(update={"head_sha": head_sha or pull.sha})


def test_heads_show_our_own_check_of_this_pull_request_alone_open_or_ended(
    github_repository: GitHubRepository, shown: GitHubPublishedRuns, checks: GitHubCheckRuns
) -> None:
    github_repository.push("other", {"b.py": "z = 1\n"})
    first, second = github_repository.pull(), github_repository.open_pull_request("other")
    github_repository.ci(first.sha, "Assay", external_id=f"pull:{first.number}", conclusion="success")
    assert shown.newest_runs(INSTALLATION, [on(first), on(second)]) == [None, None], "others may call theirs so"
    open_ = checks.create(first.request, first.sha, JUDGING)
    ended = checks.create(second.request, second.sha, REJECTED)
    told = [PublishedCheckRun(open_, None, "Judging"), PublishedCheckRun(ended, "failure", "Rejected")]
    assert shown.newest_runs(INSTALLATION, [on(first), on(second)]) == told
    assert shown.newest_runs(INSTALLATION, [on(first, "9" * 40), on(second)]) == [None, told[1]], "of another head"


def test_a_hundred_are_one_request(github_repository: GitHubRepository, shown: GitHubPublishedRuns) -> None:
    pull = github_repository.pull()
    for count, requests in ((100, 1), (101, 2), (0, 0)):
        before = len(github_repository.github.traffic("POST /graphql"))
        assert shown.newest_runs(INSTALLATION, [on(pull)] * count) == [None] * count
        assert len(github_repository.github.traffic("POST /graphql")) == before + requests


def test_nothing_is_read_or_sent_while_pull_requests_need_what_is_left(
    github_repository: GitHubRepository, settings: Settings, vault: MemoryVault
) -> None:
    pull = github_repository.pull()
    left = RateLimit(RESERVED_REQUESTS[RequestPriority.SWEEP], SystemClock().now() + timedelta(hours=1))
    with app_access(settings, vault, SystemClock(), Page(core=left, graphql=left)) as access:
        with pytest.raises(RateLimited):
            GitHubPublishedRuns(access, settings.require_app().app_id).newest_runs(INSTALLATION, [on(pull)])
        with pytest.raises(RateLimited):
            GitHubScans(access).upload(pull.request.pull, github_repository.name, pull.sha, SARIF)
    assert github_repository.request_names() == []


# SARIF into GitHub's code scanning

RUN: dict[str, Any] = {
    "tool": {"driver": {"name": "Assay", "rules": []}},
    "automationDetails": {"id": "assay/x"},
    "results": [],
}
SARIF = base64.b64encode(gzip.compress(json.dumps({"version": "2.1.0", "runs": [RUN]}).encode())).decode()


@pytest.fixture
def scanning(github_repository: GitHubRepository) -> Iterator[GitHubRepository]:
    github_repository.github.control("permissions", permissions=requested_permissions(OptIn))
    yield github_repository
    github_repository.github.control("permissions", permissions=None)


def sent(place: GitHubRepository, access: AppAccess, sarif: str = SARIF) -> tuple[UploadRefusal | None, PullRef]:
    opened = place.pull()
    pull = opened.request.pull
    return GitHubScans(access).upload(pull, place.name, opened.sha, sarif), pull


def kept(place: GitHubRepository) -> list[dict[str, Any]]:
    return place.github.state(place.name, "uploads")["uploads"]


def test_a_run_stands_at_the_pull_requests_head(scanning: GitHubRepository, access: AppAccess) -> None:
    refusal, pull = sent(scanning, access)
    assert refusal is None
    [upload] = kept(scanning)
    assert (upload["ref"], upload["tool_name"]) == (f"refs/pull/{pull.number}/head", "Assay")


def test_what_github_does_not_take_is_told_apart(scanning: GitHubRepository, access: AppAccess) -> None:
    assert sent(scanning, access, "bm90IGd6aXA=")[0] is UploadRefusal.NOT_TAKEN
    scanning.github.control("scanning", repo=scanning.name, enabled=False)
    assert sent(scanning, access)[0] is UploadRefusal.NOT_ENABLED
    scanning.github.control("permissions", permissions=requested_permissions([OptIn.COMMENTS]))
    assert sent(scanning, access)[0] is UploadRefusal.PERMISSION
    assert kept(scanning) == []


def test_what_is_not_there_is_told_and_a_head_that_is_gone_is_nobodys(
    scanning: GitHubRepository, access: AppAccess
) -> None:
    scanning.script_refusal("POST .*/code-scanning/sarifs", 404, "Not Found")
    refusal, pull = sent(scanning, access)
    assert refusal is UploadRefusal.NOT_FOUND
    with pytest.raises(SubjectGone, match="head commit deleted"):
        GitHubScans(access).upload(pull, scanning.name, "0" * 40, SARIF)


@pytest.mark.parametrize(("order", "error"), [({"status": 503}, Unavailable), ({"kind": "secondary"}, RateLimited)])
def test_limits_and_outages_are_no_refusals(
    scanning: GitHubRepository, access: AppAccess, order: dict[str, Any], error: type[Exception]
) -> None:
    scanning.github.fault("POST .*/code-scanning/sarifs", **order)
    with pytest.raises(error):
        sent(scanning, access)
