"""A verdict is for one head commit. What happens to the pull request while it is judged."""

import pytest

from tests.conversations.conftest import read_wait_answer
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

BETTER = {
    "tests/test_retry.py": RETRY["tests/test_retry.py"] + "\n\ndef test_again():\n    assert upload(b'') == 200\n"
}


def test_pain_10_a_push_while_judging_cancels_the_old_check_and_the_new_head_is_judged(world: World) -> None:
    late, pull = world.open_and_hold_model(reject("weak_test", RETRY_AT))
    world.model.reply_with(accept(RETRY_AT))
    old = pull.head
    new = world.agent.push(pull, BETTER)
    late.release()
    world.wait_until_idle()

    assert pull.checks_of(old) == [("completed", "cancelled", f"Superseded by {new[:12]}")]
    assert new in (pull.check_runs_of(old)[0]["output"]["summary"] or "")
    assert [one.conclusion for one in pull.checks_of(new)] == ["success"]


def test_a_force_push_while_judging_leaves_no_verdict_for_the_old_head(world: World) -> None:
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    old = pull.head
    new = world.agent.force_push(pull, STUB)
    late.release()
    world.wait_until_idle()

    assert [one.conclusion for one in pull.checks_of(old)] == ["cancelled"]
    assert [one.conclusion for one in pull.checks_of(new)] == ["failure"]


def test_a_push_that_is_told_after_a_newer_one_leaves_the_newer_one_the_head(world: World) -> None:
    def state(sha: str, seconds: str = "0") -> tuple[str, str | None]:
        answer = read_wait_answer(world, here.name, sha, seconds)
        return answer["state"], answer["superseded_by"]

    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(accept(RETRY_AT))
    world.github.control("hooks", paused=True)
    second, third = [world.agent.push(pull, {"upload.py": step(times)}) for times in (4, 5)]

    thinking = world.model.hold_reply(reject("weak_test", RETRY_AT))
    assert world.github.deliver_push(here.name, third) == {"outcome": "queued"}
    thinking.wait_for_request()
    assert world.github.deliver_push(here.name, second) == {"outcome": "queued"}
    assert (state(third), state(second)) == (("pending", None), ("superseded", third))
    thinking.release()
    assert state(third, "30") == ("done", None)
    world.github.control("hooks", paused=False)
    world.wait_until_idle()
    assert [len(pull.checks_of(one)) for one in (second, third)] == [0, 1]

    world.model.reply_with(accept(RETRY_AT))
    world.agent.reset_branch(pull, second)
    world.wait_until_idle()
    assert pull.check.conclusion == "success", "this push is the newest one, though its commit was there before"
    assert (state(second), state(third)) == (("done", None), ("superseded", second))


@pytest.mark.slow
def test_an_override_of_the_newest_commit_counts_though_an_older_one_was_told_of_last(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.model.reply_by(lambda _: reject("weak_test", RETRY_AT))
    pull = world.open_and_judge()
    world.github.control("hooks", paused=True)
    second, third = [world.agent.push(pull, {"upload.py": step(times)}) for times in (4, 5)]
    world.github.deliver_push(here.name, third)
    world.wait_until(lambda: not world.pending_keys(), "the newest commit is judged")
    world.github.deliver_push(here.name, second)
    world.alice.comment(pull, "/override Seen.")
    world.github.control("hooks", paused=False)
    world.wait_until_idle()

    assert pull.check.title == "Overridden by @alice: Seen."
    assert not [one for one in pull.command_replies if "override" in one], "it was not refused"


def step(times: int) -> str:
    return RETRY["upload.py"].replace("range(3)", f"range({times})")


@pytest.mark.slow
def test_ten_pushes_in_a_row_end_in_one_verdict_for_the_last(world: World) -> None:
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    heads = [world.agent.push(pull, {f"note{number}.py": f"N = {number}\n"}) for number in range(10)]
    world.wait_until_idle()

    assert [one.conclusion for one in pull.checks_of(heads[-1])] == ["success"]
    for head in heads[:-1]:
        assert len(pull.checks_of(head)) <= 1
        assert all(one.status == "completed" for one in pull.checks_of(head))


def test_a_pull_request_closed_while_judging_gets_no_verdict_before_it_is_reopened(world: World) -> None:
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.alice.close(pull)
    late.release()
    world.wait_until_idle()
    assert pull.check.conclusion == "cancelled"

    world.model.reply_with(accept(RETRY_AT))
    world.alice.reopen(pull)
    world.wait_until_idle()
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


def deletes_branch(world: World, pull: PullRequest) -> None:
    world.github.request_as("alice", "DELETE", f"/repos/{pull.repository.name}/git/refs/heads/{pull.branch}")


def restores_branch(world: World, pull: PullRequest, head: str) -> None:
    path = f"/repos/{pull.repository.name}/git/refs"
    world.github.request_as("alice", "POST", path, ref=f"refs/heads/{pull.branch}", sha=head)


@pytest.mark.slow
def test_a_branch_that_was_deleted_at_the_close_and_restored_brings_its_verdict_back_unpaid(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT))
    head = pull.head

    world.alice.close(pull)
    deletes_branch(world, pull)
    world.wait_until_idle()
    restores_branch(world, pull, head)
    world.alice.reopen(pull)
    world.wait_until_idle()
    assert (pull.head, pull.check.conclusion, len(pull.checks_of(head))) == (head, "success", 1)

    world.push_and_judge(pull, STUB)
    assert (pull.check.conclusion, len(pull.checks_of(pull.head))) == ("failure", 1), "and what follows is judged"


@pytest.mark.slow
def test_a_branch_that_was_deleted_while_it_was_judged_is_judged_once_it_is_restored(world: World) -> None:
    late, pull = world.open_and_hold_model(accept(RETRY_AT))
    head = pull.head
    world.alice.close(pull)
    deletes_branch(world, pull)
    late.release()
    world.wait_until_idle()
    assert pull.check.conclusion == "cancelled"

    world.model.reply_with(accept(RETRY_AT))
    restores_branch(world, pull, head)
    world.alice.reopen(pull)
    world.wait_until_idle()
    assert (pull.check.conclusion, len(pull.checks_of(head))) == ("success", 1)
    assert world.alice.merge(pull).is_merged


@pytest.mark.slow
def test_an_abstain_is_not_kept_for_the_same_content(world: World) -> None:
    world.model.reply_with_error(400)
    pull = world.open_and_judge()
    assert pull.verdict["abstain_reason"] == "judge_unavailable"
    world.model.reply_with(accept(RETRY_AT))
    world.agent.push(pull, {}, "Nothing at all")
    world.wait_until_idle()

    assert pull.check.conclusion == "success"


def test_a_deleted_repository_stops_the_judging_quietly(world: World) -> None:
    here = world.create_repository(PROJECT)
    late = world.model.hold_reply(accept(RETRY_AT))
    world.agent.open_pull_request(RETRY)
    late.wait_for_request()
    world.github.fault(f" /repos/{here.name}", kind="status", status=404, body={"message": "Not Found"}, count=200)
    late.release()
    world.wait_until(lambda: not world.pending_keys(), "the judge gave it up")
    world.github.clear_faults()

    assert all(one["conclusion"] != "success" for one in here.checks)
    world.forget_repository(here)


def test_a_rebase_carries_the_verdict_and_sets_its_pointers_anew(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(reject("weak_test", RETRY_AT))
    path, line = RETRY_AT.split(":")

    longer = "# Uploads.\n"
    world.github.control("push", repo=here.name, branch="main", files={path: longer + PROJECT[path]})
    world.agent.force_push(pull, {**RETRY, path: longer + RETRY[path]})
    world.wait_until_idle()

    assert pull.check.conclusion == "failure"
    assert pull.verdict["carried_from"] is not None
    assert [(one["path"], one["line"]) for one in pull.verdict["evidence"]] == [(path, int(line) + 1)]
