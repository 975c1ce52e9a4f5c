"""Merge groups are answered by recorded verdicts, and judged where they differ."""

import pytest

from tests.conversations.conftest import OpenWorld, open_accepted, open_rejected
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import MergeGroup
from tests.world.replies import accept, reject
from tests.world.world import World

RESOLVED = {"upload.py": RETRY["upload.py"].replace("range(3)", "range(1)")}
"""The resolution of a conflict."""

MORE = {
    "download.py": "def download(name):\n    return name\n",
    "tests/test_download.py": "from download import download\n\n\ndef test_it():\n    assert download('a') == 'a'\n",
}
CRITERIA = "## Acceptance criteria\n\n- Uploads are retried on 503\n"


def wait_until_answered(world: World, group: MergeGroup) -> MergeGroup:
    world.wait_until(lambda: any(check.status == "completed" for check in group.checks))
    return group


def test_pain_01_accepted_pull_requests_pass_at_no_cost_and_rejected_one_is_named(world: World) -> None:
    pull = open_accepted(world)
    other = world.open_and_judge(files=ONLY_DOCUMENTATION, title="Document uploads", branch="words")
    bad = world.open_and_judge(reject("weak_test", "download.py:1"), files=MORE, branch="bad")
    assert (other.check.conclusion, bad.check.conclusion) == ("success", "failure")
    asked = len(world.model.requests)

    before = len(world.repository.requests)
    first = wait_until_answered(world, world.repository.add_to_merge_queue(pull))
    world.wait_until_idle()
    assert len(world.repository.requests) - before <= 3
    second = wait_until_answered(world, world.repository.add_to_merge_queue(other, on=first.sha, squash=True))
    third = wait_until_answered(world, world.repository.add_to_merge_queue(bad, on=second.sha))

    assert [check.conclusion for check in (*first.checks, *second.checks)] == ["success", "success"]
    assert first.check.title == f"Accepted with #{pull.number}: the same change"
    assert (first.external_id, second.external_id) == (f"group:{pull.number}", f"group:{other.number}")
    assert (third.check.conclusion, third.check.title) == ("failure", f"#{bad.number} is rejected: weak test")
    assert "The upload is never tried again." in third.summary
    assert len(world.model.requests) == asked
    assert third.end("invalidated") != []
    assert first.end("merged") == second.end("merged") == []
    assert pull.view["merged"]


@pytest.mark.slow
def test_merge_group_with_conflict_resolution_is_judged(world: World) -> None:
    pull = open_accepted(world)
    asked = len(world.model.requests)
    world.model.reply_with(reject("tests_pass_but_wrong", RETRY_AT))

    group = wait_until_answered(world, world.repository.add_to_merge_queue(pull, files=RESOLVED))

    assert group.check.conclusion == "failure"
    assert group.check.title.startswith(f"Merge group of #{pull.number}: Rejected")
    assert len(world.model.requests) == asked + 1
    assert "range(1)" in str(world.model.requests[-1])
    verdict = group.verdict
    assert (verdict["subject"]["kind"], verdict["subject"]["head_sha"]) == ("merge_group", group.sha)
    assert (verdict["parent_eval_id"], verdict["carried_from"]) == (pull.verdict["eval_id"], None)
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_pain_04_merge_group_does_not_pass_when_its_worker_dies(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_CHECK_DEADLINE": "4", "ASSAY_LEASE": "20"})
    pull = open_accepted(world)
    held_reply = world.model.hold_reply(accept(RETRY_AT))
    group = world.repository.add_to_merge_queue(pull, files=RESOLVED)
    held_reply.wait_for_request()
    world.product.kill("work")
    world.product.start("work")

    closed = wait_until_answered(world, group)
    assert (closed.check.conclusion, closed.check.title) == ("action_required", "Not judged: Assay failed")
    assert "put the pull request into the queue again" in closed.summary
    held_reply.release()
    closed.end("invalidated")
    world.wait_until_idle(90)


@pytest.mark.slow
def test_dequeued_merge_group_is_cancelled(world: World) -> None:
    pull = open_accepted(world)
    held_reply = world.model.hold_reply(reject("tests_pass_but_wrong", RETRY_AT))
    group = world.repository.add_to_merge_queue(pull, files=RESOLVED)
    held_reply.wait_for_request()
    assert group.check == ("in_progress", None, f"Judging: this commit differs from #{pull.number}")

    group.end("dequeued")
    world.wait_until(lambda: group.check.conclusion == "cancelled")
    world.wait_after(held_reply.release())
    assert group.checks == [("completed", "cancelled", "No longer needed")]


@pytest.mark.slow
def test_merge_group_without_pull_request_does_not_pass(world: World) -> None:
    pull = open_accepted(world)
    ref = f"refs/heads/gh-readonly-queue/main/pr-{pull.number}-{'a' * 40}-pr-{pull.number + 1}-{'b' * 40}"
    group = wait_until_answered(world, world.repository.add_to_merge_queue(pull, head_ref=ref))
    assert (group.check.conclusion, group.external_id) == ("action_required", "group:0")
    assert group.end("invalidated") != []


@pytest.mark.slow
def test_merge_group_of_a_skipped_person_is_skipped(world: World) -> None:
    world.create_repository({**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"})
    pull = world.open_and_judge(by=world.bob)
    assert pull.check.conclusion == "skipped"
    group = wait_until_answered(world, world.repository.add_to_merge_queue(pull))
    assert group.check.conclusion == "skipped"
    assert group.end("merged") == []


@pytest.mark.slow
def test_merge_group_waits_for_a_verdict_in_progress(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))

    group = world.repository.add_to_merge_queue(pull)
    waiting = ("in_progress", None, f"Waiting for the verdict on #{pull.number}")
    world.wait_until(lambda: waiting in group.checks)
    held_reply.release()
    accepted = ("completed", "success", f"Accepted with #{pull.number}: the same change")
    assert wait_until_answered(world, group).checks == [accepted]


@pytest.mark.slow
def test_override_counts_for_the_merge_group(world: World) -> None:
    pull = open_rejected(world)
    world.alice.comment(pull, "/override we ship today")
    world.wait_until(lambda: pull.check.conclusion == "neutral")

    group = wait_until_answered(world, world.repository.add_to_merge_queue(pull))
    assert group.check.conclusion == "neutral"
    assert "alice" in group.check.title
    assert group.end("merged") == []


@pytest.mark.slow
def test_rerun_updates_the_check_run_of_a_merge_group(world: World) -> None:
    pull = open_rejected(world)
    group = wait_until_answered(world, world.repository.add_to_merge_queue(pull))
    assert group.check.conclusion == "failure"

    world.model.reply_with(accept(RETRY_AT))
    world.alice.comment(pull, "/rejudge force")
    world.wait_until(lambda: pull.check.conclusion == "success")
    group.press_rerun()
    world.wait_until(lambda: group.check.conclusion == "success")
    assert len(group.checks) == 1


@pytest.mark.slow
def test_merge_group_does_not_pass_by_an_outdated_issue(world: World) -> None:
    issue = world.alice.write_issue("Retry uploads", CRITERIA)
    pull = open_accepted(world, body=f"Closes #{issue.number}")

    held_reply = world.model.hold_reply(accept(RETRY_AT))
    group = world.repository.add_to_merge_queue(pull, files=RESOLVED)
    held_reply.wait_for_request()
    world.alice.edit_issue(issue, body=f"{CRITERIA}- Uploads are retried on 504\n")
    world.github.settle()
    world.model.reply_with(reject("acceptance_gap", RETRY_AT, criteria=2))
    held_reply.release()

    assert wait_until_answered(world, group).check.conclusion == "failure"
    assert group.check.title == f"#{pull.number} is rejected: acceptance gap"
    assert [state for state in group.checks if state.conclusion == "success"] == []
    assert not pull.view["merged"]
