"""Check runs: one per head whatever gets lost, and every annotation once."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.worker.adapters.github.conftest import Opened, Place
from worker.adapters.github.check_runs import GitHubCheckRuns, GitHubChecks
from worker.adapters.github.client import AppAccess
from worker.domain.check.check_run import HELPFUL, NOT_HELPFUL, Annotation, AnnotationLevel, CheckContent, Conclusion
from worker.domain.ids import CheckRunId
from worker.errors import Forbidden, LeaseLost, RateLimited, SubjectGone, Unavailable
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.states import existing_pull_content
from worker.settings import Settings

JUDGING = CheckContent("Judging", "Assay reads the pull request.")
REJECTED = CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE)


def note(line: int, message: str = "a stub") -> Annotation:
    return Annotation("a.py", line, line, AnnotationLevel.FAILURE, "half finished", message)


def with_notes(*notes: Annotation) -> CheckContent:
    return CheckContent("Rejected", "A stub.", "More", Conclusion.FAILURE, notes)


@pytest.fixture
def checks(access: AppAccess, settings: Settings) -> GitHubCheckRuns:
    return GitHubChecks(access, settings.require_app().app_id).with_fence(no_lease)


@pytest.fixture
def pull(place: Place) -> Opened:
    return place.pull({"a.py": "x = 1\n" * 200})


def runs(pull: Opened) -> list[Any]:
    return [run for run in pull.place.github.state(pull.place.name)["check_runs"] if run["name"] == "Assay"]


def lines(run: Any) -> list[int]:
    return [one["start_line"] for one in run["annotations"]]


def test_a_check_run_is_created_in_progress_and_names_its_pull_request(checks: GitHubCheckRuns, pull: Opened) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    [run] = runs(pull)
    assert (run["id"], run["status"], run["conclusion"]) == (made, "in_progress", None)
    assert (run["external_id"], run["head_sha"]) == (f"pull:{pull.number}", pull.sha)
    assert (run["output"]["title"], run["output"]["summary"]) == ("Judging", "Assay reads the pull request.")
    assert pull.place.asked() == ["GET 200", "POST 201"]


def test_the_buttons_go_with_the_conclusion(checks: GitHubCheckRuns, pull: Opened) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert runs(pull)[0]["actions"] == []
    checks.update(
        pull.request, made, CheckContent("Rejected", "A stub.", "", Conclusion.FAILURE, (), (HELPFUL, NOT_HELPFUL))
    )
    [run] = runs(pull)
    assert [one["identifier"] for one in run["actions"]] == ["helpful", "not_helpful"]
    assert [one["label"] for one in run["actions"]] == ["Helpful", "Not helpful"]


def test_a_check_run_is_concluded_in_one_request(checks: GitHubCheckRuns, pull: Opened) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, REJECTED)
    [run] = runs(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("completed", "failure", "More")
    assert pull.place.asked() == ["GET 200", "POST 201", "PATCH 200"]


def test_a_check_run_may_be_born_concluded(checks: GitHubCheckRuns, pull: Opened) -> None:
    checks.create(pull.request, pull.sha, with_notes(note(3)))
    [run] = runs(pull)
    assert (run["status"], run["conclusion"], lines(run)) == ("completed", "failure", [3])


def test_a_finished_check_run_goes_back_to_in_progress_and_loses_its_text(
    checks: GitHubCheckRuns, pull: Opened
) -> None:
    made = checks.create(pull.request, pull.sha, REJECTED)
    checks.update(pull.request, made, JUDGING)
    [run] = runs(pull)
    assert (run["status"], run["conclusion"], run["output"]["text"]) == ("in_progress", None, "")


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_a_lost_answer_does_not_make_a_second_check_run(checks: GitHubCheckRuns, pull: Opened, kind: str) -> None:
    pull.place.github.fault("POST .*/check-runs", kind=kind, after=True)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert [run["id"] for run in runs(pull)] == [made]


def test_of_two_that_were_created_at_the_same_time_the_newer_one_speaks(checks: GitHubCheckRuns, pull: Opened) -> None:
    older, newer = (checks.create_first(pull.request, pull.sha, JUDGING) for _ in range(2))
    assert older < newer
    for _ in range(2):
        assert checks.find(pull.request, pull.sha) == newer
    said = {run["id"]: (run["status"], run["conclusion"], run["output"]["title"]) for run in runs(pull)}
    assert said == {older: ("completed", "cancelled", "Created twice"), newer: ("in_progress", None, "Judging")}
    assert pull.place.asked() == ["POST 201", "POST 201", "GET 200", "PATCH 200", "GET 200"]


def test_an_older_one_that_is_concluded_stays_as_it_is(checks: GitHubCheckRuns, pull: Opened) -> None:
    checks.create_first(pull.request, pull.sha, REJECTED)
    newer = checks.create_first(pull.request, pull.sha, JUDGING)
    assert checks.find(pull.request, pull.sha) == newer
    assert sorted(str(run["conclusion"]) for run in runs(pull)) == ["None", "failure"]


def test_a_creation_that_was_lost_on_its_way_is_not_repeated_blindly(checks: GitHubCheckRuns, pull: Opened) -> None:
    pull.place.github.fault("POST .*/check-runs")
    with pytest.raises(Unavailable):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.place.asked() == ["GET 200", "POST 502", "GET 200"]
    assert runs(pull) == []


def test_a_creation_that_a_rate_limit_refused_is_not_searched_for(checks: GitHubCheckRuns, pull: Opened) -> None:
    pull.place.github.fault("POST .*/check-runs", kind="secondary", retry_after=30)
    with pytest.raises(RateLimited):
        checks.create(pull.request, pull.sha, JUDGING)
    assert pull.place.asked() == ["GET 200", "POST 403"]


def test_the_check_run_of_a_judge_that_died_is_found_and_brought_up_to_date(
    checks: GitHubCheckRuns, pull: Opened
) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    assert checks.create(pull.request, pull.sha, REJECTED) == first
    [run] = runs(pull)
    assert run["conclusion"] == "failure"


@pytest.mark.parametrize(("before", "after"), [(REJECTED, "failure"), (JUDGING, "neutral")])
def test_a_greeting_is_written_over_nothing_that_is_concluded(
    checks: GitHubCheckRuns, pull: Opened, before: CheckContent, after: str
) -> None:
    first = checks.create(pull.request, pull.sha, before)
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    [run] = runs(pull)
    assert (run["conclusion"], run["output"]["title"] == before.title) == (after, before is REJECTED)


def test_a_greeting_takes_the_place_of_one_that_somebody_else_ended(checks: GitHubCheckRuns, pull: Opened) -> None:
    first = checks.create(pull.request, pull.sha, JUDGING)
    pull.place.ci(pull.sha, "Assay", id=first, status="completed", conclusion="timed_out")
    assert runs(pull)[0]["conclusion"] == "timed_out"
    assert checks.create(pull.request, pull.sha, existing_pull_content()) == first
    assert runs(pull)[0]["conclusion"] == "neutral"


def test_somebody_elses_check_of_our_name_is_not_ours(checks: GitHubCheckRuns, pull: Opened) -> None:
    pull.place.ci(pull.sha, "Assay", status="in_progress", external_id=f"pull:{pull.number}")
    [theirs] = runs(pull)
    made = checks.create(pull.request, pull.sha, JUDGING)
    assert made != theirs["id"]
    with pytest.raises(Forbidden, match="checks: write"):
        checks.update(pull.request, CheckRunId(theirs["id"]), REJECTED)


def test_ours_is_found_behind_a_hundred_of_somebody_elses_of_our_name(checks: GitHubCheckRuns, pull: Opened) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    for _ in range(100):
        pull.place.github.verb("ci", repo=pull.place.name, sha=pull.sha, name="Assay")
    assert checks.find(pull.request, pull.sha) == made


def test_two_pull_requests_of_one_commit_have_a_check_run_each(
    place: Place, checks: GitHubCheckRuns, pull: Opened
) -> None:
    place.push("other", {})
    twin = place.opened("fix", base="other")
    assert twin.sha == pull.sha
    first, second = (checks.create(one.request, one.sha, JUDGING) for one in (pull, twin))
    assert first != second
    assert checks.create(pull.request, pull.sha, REJECTED) == first


def test_many_annotations_go_in_fifties_and_the_conclusion_with_the_last(checks: GitHubCheckRuns, pull: Opened) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, with_notes(*(note(line) for line in range(1, 121))))
    [run] = runs(pull)
    assert lines(run) == list(range(1, 121))
    assert run["conclusion"] == "failure"
    assert pull.place.asked()[2:] == ["GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]


def test_a_check_run_may_be_born_with_many_annotations(checks: GitHubCheckRuns, pull: Opened) -> None:
    checks.create(pull.request, pull.sha, with_notes(*(note(line) for line in range(1, 61))))
    [run] = runs(pull)
    assert (lines(run), run["conclusion"]) == (list(range(1, 61)), "failure")


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_an_update_whose_answer_is_lost_adds_no_annotation_twice(
    checks: GitHubCheckRuns, pull: Opened, kind: str
) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.place.github.fault("PATCH .*/check-runs", kind=kind, after=True)
    checks.update(pull.request, made, with_notes(note(1), note(2)))
    [run] = runs(pull)
    assert (lines(run), run["conclusion"]) == ([1, 2], "failure")


@dataclass
class Asked:
    """A fence that notes what GitHub was asked before, and lets *left* requests pass."""

    pull: Opened
    left: int = 99
    before: list[list[str]] = field(default_factory=list[list[str]])

    def __call__(self) -> None:
        self.before.append(self.pull.place.asked())
        self.left -= 1
        if self.left < 0:
            raise LeaseLost


@pytest.fixture
def publisher(access: AppAccess, settings: Settings) -> GitHubChecks:
    return GitHubChecks(access, settings.require_app().app_id)


def test_the_fence_is_asked_right_before_each_request_that_writes(publisher: GitHubChecks, pull: Opened) -> None:
    fence = Asked(pull)
    checks = publisher.with_fence(fence)
    made = checks.create(pull.request, pull.sha, JUDGING)
    checks.update(pull.request, made, with_notes(*(note(line) for line in range(1, 121))))
    written = ["GET 200", "POST 201", "GET 200", "PATCH 200", "PATCH 200", "PATCH 200"]
    assert pull.place.asked() == written
    assert fence.before == [written[:1], written[:3], written[:4], written[:5]]


@pytest.mark.parametrize("left", [0, 1, 2])
def test_whoever_loses_the_lease_between_two_batches_writes_no_more(
    publisher: GitHubChecks, pull: Opened, left: int
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(Asked(pull, left)).update(
            pull.request, made, with_notes(*(note(line) for line in range(1, 121)))
        )
    assert pull.place.asked()[2:] == ["GET 200", *["PATCH 200"] * left]
    assert runs(pull)[0]["status"] == "in_progress"


def test_a_check_run_is_not_created_and_not_searched_for_without_the_lease(
    publisher: GitHubChecks, pull: Opened
) -> None:
    with pytest.raises(LeaseLost):
        publisher.with_fence(Asked(pull, 0)).create_first(pull.request, pull.sha, JUDGING)
    assert (pull.place.asked(), runs(pull)) == ([], [])


@pytest.mark.parametrize("kind", ["status", "reset"])
def test_the_fence_is_asked_again_before_a_lost_request_is_sent_again(
    publisher: GitHubChecks, pull: Opened, kind: str
) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    pull.place.github.fault("PATCH .*/check-runs", kind=kind)
    fence = Asked(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    assert len(fence.before) == 2
    assert len(pull.place.asked()[2:]) == 1
    assert runs(pull)[0]["conclusion"] is None


def test_the_fence_is_asked_after_a_token_was_made_for_the_request(publisher: GitHubChecks, pull: Opened) -> None:
    made = publisher.with_fence(no_lease).create(pull.request, pull.sha, JUDGING)
    tokens = len(pull.place.github.traffic("/access_tokens$"))
    pull.place.github.verb("tokens/expire")
    fence = Asked(pull, 1)
    with pytest.raises(LeaseLost):
        publisher.with_fence(fence).update(pull.request, made, REJECTED)
    sent = pull.place.github.traffic(f"^PATCH /repos/{pull.place.name}/")
    assert [one["status"] for one in sent] == [401], "it was refused, and not sent with the new token"
    assert len(pull.place.github.traffic("/access_tokens$")) == tokens + 1
    assert len(fence.before) == 2
    assert runs(pull)[0]["conclusion"] is None


def test_of_two_the_older_one_is_ended_under_the_fence(publisher: GitHubChecks, pull: Opened) -> None:
    free = publisher.with_fence(no_lease)
    free.create_first(pull.request, pull.sha, JUDGING)
    free.create_first(pull.request, pull.sha, JUDGING)
    with pytest.raises(LeaseLost):
        publisher.with_fence(Asked(pull, 0)).find(pull.request, pull.sha)
    assert [run["status"] for run in runs(pull)] == ["in_progress"] * 2


def test_judging_again_adds_only_what_is_new(checks: GitHubCheckRuns, pull: Opened) -> None:
    made = checks.create(pull.request, pull.sha, with_notes(note(1), note(2)))
    checks.update(pull.request, made, JUDGING)
    checks.update(pull.request, made, with_notes(note(2), note(3), note(2, "another")))
    [run] = runs(pull)
    assert lines(run) == [1, 2, 3, 2]


def test_annotations_beyond_the_first_page_are_seen(checks: GitHubCheckRuns, pull: Opened) -> None:
    content = with_notes(*(note(line) for line in range(1, 131)))
    made = checks.create(pull.request, pull.sha, content)
    checks.update(pull.request, made, content)
    [run] = runs(pull)
    assert len(lines(run)) == 130


def test_an_update_that_stays_lost_is_an_outage(checks: GitHubCheckRuns, pull: Opened) -> None:
    made = checks.create(pull.request, pull.sha, JUDGING)
    pull.place.github.fault("PATCH .*/check-runs", count=9)
    with pytest.raises(Unavailable):
        checks.update(pull.request, made, REJECTED)
    assert pull.place.asked()[2:] == ["PATCH 502"] * 2


def test_a_head_that_is_not_there_is_gone(checks: GitHubCheckRuns, pull: Opened) -> None:
    with pytest.raises(SubjectGone):
        checks.create(pull.request, "0" * 40, JUDGING)
    with pytest.raises(SubjectGone):
        checks.update(pull.request, CheckRunId(1), JUDGING)
