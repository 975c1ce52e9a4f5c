"""The merge queue: a group is answered from the verdicts on record, and what differs from them is judged."""

import pytest

from tests.conversations.conftest import OpenWorld
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import MergeGroup, PullRequest, Repository
from tests.world.replies import accept, reject
from tests.world.world import World

RESOLVED = {"upload.py": RETRY["upload.py"].replace("range(3)", "range(1)")}
"""What became of a conflict."""

MORE = {
    "download.py": "def download(name):\n    return name\n",
    "tests/test_download.py": "from download import download\n\n\ndef test_it():\n    assert download('a') == 'a'\n",
}


CRITERIA = "## Acceptance criteria\n\n- Uploads are retried on 503\n"


def answered(world: World, group: MergeGroup) -> MergeGroup:
    world.wait_until(lambda: any(one.status == "completed" for one in group.checks), "the merge group is answered")
    return group


def accepted(world: World) -> tuple[Repository, PullRequest]:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(accept(RETRY_AT))
    assert pull.check.conclusion == "success"
    return here, pull


def test_pain_01_two_accepted_pass_at_no_cost_and_a_rejected_one_is_named(world: World) -> None:
    here, pull = accepted(world)
    other = world.open_and_judge(files=ONLY_DOCUMENTATION, title="Document uploads", branch="words")
    bad = world.open_and_judge(reject("weak_test", "download.py:1"), files=MORE, branch="bad")
    assert (other.check.conclusion, bad.check.conclusion) == ("success", "failure")
    asked = len(world.model.requests)

    before = len(world.github.requests(here.name))
    first = answered(world, here.add_to_merge_queue(pull))
    world.wait_until_idle()
    assert len(world.github.requests(here.name)) - before <= 3
    second = answered(world, here.add_to_merge_queue(other, on=first.sha, squash=True))
    third = answered(world, here.add_to_merge_queue(bad, on=second.sha))

    assert [one.conclusion for one in (*first.checks, *second.checks)] == ["success", "success"]
    assert first.check.title == f"Accepted with #{pull.number}: the same change"
    assert (first.external_id, second.external_id) == (f"group:{pull.number}", f"group:{other.number}")
    assert (third.check.conclusion, third.check.title) == ("failure", f"#{bad.number} is rejected: weak test")
    assert "The upload is never tried again." in third.summary
    assert len(world.model.requests) == asked
    assert third.end("invalidated") != []
    assert first.end("merged") == second.end("merged") == []
    assert pull.view["merged"]


@pytest.mark.slow
def test_a_group_changed_by_conflict_resolution_is_judged_as_it_is(world: World) -> None:
    here, pull = accepted(world)
    asked = len(world.model.requests)
    world.model.reply_with(reject("tests_pass_but_wrong", RETRY_AT))

    group = answered(world, here.add_to_merge_queue(pull, files=RESOLVED))

    assert group.check.conclusion == "failure"
    assert group.check.title.startswith(f"Merge group of #{pull.number}: Rejected")
    assert len(world.model.requests) == asked + 1
    assert "range(1)" in str(world.model.requests[-1])
    verdict = group.verdict
    assert (verdict["subject"]["kind"], verdict["subject"]["head_sha"]) == ("merge_group", group.sha)
    assert (verdict["parent_eval_id"], verdict["carried_from"]) == (pull.verdict["eval_id"], None)
    assert pull.check.conclusion == "success", "the verdict on the pull request stays as it was"


@pytest.mark.slow
def test_pain_04_a_group_whose_judge_dies_is_closed_in_time_and_lets_nothing_pass(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_CHECK_DEADLINE": "4", "ASSAY_LEASE": "20"})
    here, pull = accepted(world)
    thinking = world.model.hold_reply(accept(RETRY_AT))
    group = here.add_to_merge_queue(pull, files=RESOLVED)
    thinking.wait_for_request()
    world.product.kill("work")
    world.product.start("work")

    closed = answered(world, group)
    assert (closed.check.conclusion, closed.check.title) == ("action_required", "Not judged: Assay failed")
    assert "put the pull request into the queue again" in closed.summary
    thinking.release()
    closed.end("invalidated")
    world.wait_until_idle(90)


@pytest.mark.slow
def test_a_group_that_github_gives_up_is_dropped(world: World) -> None:
    here, pull = accepted(world)
    thinking = world.model.hold_reply(reject("tests_pass_but_wrong", RETRY_AT))
    group = here.add_to_merge_queue(pull, files=RESOLVED)
    thinking.wait_for_request()
    assert group.check == ("in_progress", None, f"Judging: this commit differs from #{pull.number}")

    group.end("dequeued")
    world.wait_until(lambda: group.check.conclusion == "cancelled", "its check is cancelled")
    thinking.release()
    world.wait_until_idle()
    assert group.checks == [("completed", "cancelled", "Not needed any more")]


@pytest.mark.slow
def test_a_group_that_names_no_pull_request_fails_closed(world: World) -> None:
    here, pull = accepted(world)
    ref = f"refs/heads/gh-readonly-queue/main/pr-{pull.number}-{'a' * 40}-pr-{pull.number + 1}-{'b' * 40}"
    group = answered(world, here.add_to_merge_queue(pull, head_ref=ref))
    assert (group.check.conclusion, group.external_id) == ("action_required", "group:0")
    assert group.end("invalidated") != []


@pytest.mark.slow
def test_a_persons_group_is_out_of_scope_at_once(world: World) -> None:
    here = world.create_repository({**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"})
    pull = world.open_and_judge(by=world.bob)
    assert pull.check.conclusion == "skipped"
    group = answered(world, here.add_to_merge_queue(pull))
    assert group.check.conclusion == "skipped"
    assert group.end("merged") == []


@pytest.mark.slow
def test_a_group_waits_for_a_verdict_that_is_under_way(world: World) -> None:
    here = world.create_repository(PROJECT)
    thinking, pull = world.open_and_hold_model(accept(RETRY_AT))

    group = here.add_to_merge_queue(pull)
    waiting = ("in_progress", None, f"Waiting for the verdict on #{pull.number}")
    world.wait_until(lambda: waiting in group.checks, "the merge group waits")
    thinking.release()
    assert answered(world, group).checks == [("completed", "success", f"Accepted with #{pull.number}: the same change")]


@pytest.mark.slow
def test_an_override_counts_for_the_group_and_names_who(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(reject("weak_test", RETRY_AT))
    world.alice.comment(pull, "/override we ship today")
    world.wait_until(lambda: pull.check.conclusion == "neutral", "it is overridden")

    group = answered(world, here.add_to_merge_queue(pull))
    assert group.check.conclusion == "neutral"
    assert "alice" in group.check.title
    assert group.end("merged") == []


@pytest.mark.slow
def test_re_run_at_a_groups_check_answers_it_again(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(reject("weak_test", RETRY_AT))
    group = answered(world, here.add_to_merge_queue(pull))
    assert group.check.conclusion == "failure"

    world.model.reply_with(accept(RETRY_AT))
    world.alice.comment(pull, "/rejudge force")
    world.wait_until(lambda: pull.check.conclusion == "success", "it is judged again")
    group.press_rerun()
    world.wait_until(lambda: group.check.conclusion == "success", "the group is answered again")
    assert len(group.checks) == 1


@pytest.mark.slow
def test_an_issue_that_is_edited_while_a_group_is_judged_lets_nothing_pass_by_what_it_asked_for_before(
    world: World,
) -> None:
    here = world.create_repository(PROJECT)
    issue = world.alice.write_issue("Retry uploads", CRITERIA)
    pull = world.open_and_judge(accept(RETRY_AT), body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "success"

    thinking = world.model.hold_reply(accept(RETRY_AT))
    group = here.add_to_merge_queue(pull, files=RESOLVED)
    thinking.wait_for_request()
    world.alice.edit_issue(issue, body=f"{CRITERIA}- Uploads are retried on 504\n")
    world.github.settle()
    world.model.reply_with(reject("acceptance_gap", RETRY_AT, criteria=2))
    thinking.release()

    assert answered(world, group).check.conclusion == "failure"
    assert group.check.title == f"#{pull.number} is rejected: acceptance gap"
    assert [state for state in group.checks if state.conclusion == "success"] == []
    assert not pull.view["merged"]
