"""Pushes, closings and deletions while a head is judged."""

import pytest

from tests.conversations.conftest import read_wait_answer
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

SECOND_TEST = "\n\ndef test_again():\n    assert upload(b'') == 200\n"
BETTER = {"tests/test_retry.py": RETRY["tests/test_retry.py"] + SECOND_TEST}


def test_pain_10_push_during_judging_cancels_the_old_check_run(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(reject("weak_test", RETRY_AT))
    world.model.reply_with(accept(RETRY_AT))
    old = pull.head
    new = world.agent.push(pull, BETTER)
    world.wait_after(held_reply.release())

    assert pull.checks_of(old) == [("completed", "cancelled", f"Superseded by {new[:12]}")]
    assert new in (pull.check_runs_of(old)[0]["output"]["summary"] or "")
    assert pull.conclusions_of(new) == ["success"]


def test_force_push_during_judging_leaves_no_verdict_for_the_old_head(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    old = pull.head
    new = world.agent.force_push(pull, STUB)
    world.wait_after(held_reply.release())

    assert pull.conclusions_of(old) == ["cancelled"]
    assert pull.conclusions_of(new) == ["failure"]


def test_push_delivered_late_does_not_replace_a_newer_head(world: World) -> None:
    def read_state(sha: str, seconds: str = "0") -> tuple[str, str | None]:
        answer = read_wait_answer(world, repository.name, sha, seconds)
        return answer["state"], answer["superseded_by"]

    repository = world.create_repository(PROJECT)
    pull = world.open_and_judge(accept(RETRY_AT))
    world.github.control("hooks", paused=True)
    second, third = [world.agent.push(pull, {"upload.py": build_retry(times)}) for times in (4, 5)]

    held_reply = world.model.hold_reply(reject("weak_test", RETRY_AT))
    assert world.github.deliver_push(repository.name, third) == {"outcome": "queued"}
    held_reply.wait_for_request()
    assert world.github.deliver_push(repository.name, second) == {"outcome": "queued"}
    world.wait_until(lambda: read_state(second) == ("superseded", third))
    assert read_state(third) == ("pending", None)
    held_reply.release()
    assert read_state(third, "30") == ("done", None)
    world.wait_after(world.github.control("hooks", paused=False))
    assert [len(pull.checks_of(sha)) for sha in (second, third)] == [0, 1]

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.agent.reset_branch(pull, second))
    assert pull.check.conclusion == "success"
    assert (read_state(second), read_state(third)) == (("done", None), ("superseded", second))


@pytest.mark.slow
def test_override_counts_for_the_newest_commit_when_pushes_arrive_out_of_order(world: World) -> None:
    world.model.reply_by(lambda _: reject("weak_test", RETRY_AT))
    pull = world.open_and_judge()
    world.github.control("hooks", paused=True)
    second, third = [world.agent.push(pull, {"upload.py": build_retry(times)}) for times in (4, 5)]
    world.github.deliver_push(world.repository.name, third)
    world.wait_until(lambda: not world.pending_keys())
    world.github.deliver_push(world.repository.name, second)
    world.alice.comment(pull, "/override Seen.")
    world.wait_after(world.github.control("hooks", paused=False))

    assert pull.check.title == "Overridden by @alice: Seen."
    assert not [reply for reply in pull.command_replies if "override" in reply]


def build_retry(times: int) -> str:
    return RETRY["upload.py"].replace("range(3)", f"range({times})")


@pytest.mark.slow
def test_ten_pushes_in_a_row_end_in_one_verdict(world: World) -> None:
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    heads = [world.agent.push(pull, {f"note{number}.py": f"N = {number}\n"}) for number in range(10)]
    world.wait_until_idle()

    assert pull.conclusions_of(heads[-1]) == ["success"]
    for head in heads[:-1]:
        assert len(pull.checks_of(head)) <= 1
        assert all(check.status == "completed" for check in pull.checks_of(head))


def test_closed_pull_request_gets_no_verdict_until_reopened(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.alice.close(pull)
    world.wait_after(held_reply.release())
    assert pull.check.conclusion == "cancelled"

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.alice.reopen(pull))
    assert pull.conclusions == ["success"]


def delete_branch(world: World, pull: PullRequest) -> None:
    world.github.request_as("alice", "DELETE", f"/repos/{pull.repository.name}/git/refs/heads/{pull.branch}")


def restore_branch(world: World, pull: PullRequest, head: str) -> None:
    path = f"/repos/{pull.repository.name}/git/refs"
    world.github.request_as("alice", "POST", path, ref=f"refs/heads/{pull.branch}", sha=head)


@pytest.mark.slow
def test_restored_branch_gets_its_verdict_back_at_no_cost(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT))
    head = pull.head

    world.alice.close(pull)
    world.wait_after(delete_branch(world, pull))
    restore_branch(world, pull, head)
    world.wait_after(world.alice.reopen(pull))
    assert (pull.head, pull.check.conclusion, len(pull.checks_of(head))) == (head, "success", 1)

    world.push_and_judge(pull, STUB)
    assert (pull.check.conclusion, len(pull.checks_of(pull.head))) == ("failure", 1)


@pytest.mark.slow
def test_branch_deleted_during_judging_is_judged_when_restored(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    head = pull.head
    world.alice.close(pull)
    delete_branch(world, pull)
    world.wait_after(held_reply.release())
    assert pull.check.conclusion == "cancelled"

    world.model.reply_with(accept(RETRY_AT))
    restore_branch(world, pull, head)
    world.wait_after(world.alice.reopen(pull))
    assert (pull.check.conclusion, len(pull.checks_of(head))) == ("success", 1)
    assert world.alice.merge(pull).is_merged


@pytest.mark.slow
def test_abstain_is_not_carried_over(world: World) -> None:
    world.model.reply_with_error(400)
    pull = world.open_and_judge()
    assert pull.verdict["abstain_reason"] == "judge_unavailable"
    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.agent.push(pull, {}, "Nothing at all"))

    assert pull.check.conclusion == "success"


def test_deleted_repository_stops_the_judging_quietly(world: World) -> None:
    repository = world.create_repository(PROJECT)
    held_reply = world.model.hold_reply(accept(RETRY_AT))
    world.agent.open_pull_request(RETRY)
    held_reply.wait_for_request()
    world.github.fault(f" /repos/{repository.name}", kind="status", status=404, body={"message": "No"}, count=200)
    held_reply.release()
    world.wait_until(lambda: not world.pending_keys())
    world.github.clear_faults()

    assert all(run["conclusion"] != "success" for run in repository.checks)
    world.forget_repository(repository)


def test_rebase_carries_verdict_over_and_moves_its_pointers(world: World) -> None:
    pull = world.open_and_judge(reject("weak_test", RETRY_AT))
    path, line = RETRY_AT.split(":")

    longer = "# Uploads.\n"
    world.repository.push("main", {path: longer + PROJECT[path]})
    world.wait_after(world.agent.force_push(pull, {**RETRY, path: longer + RETRY[path]}))

    assert pull.check.conclusion == "failure"
    assert pull.verdict["carried_from"] is not None
    assert [(pointer["path"], pointer["line"]) for pointer in pull.verdict["evidence"]] == [(path, int(line) + 1)]
