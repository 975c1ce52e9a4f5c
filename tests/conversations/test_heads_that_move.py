"""A verdict is for one head commit. What happens to the pull request while it is judged."""

import pytest

from tests.conversations.conftest import waited
from tests.world.changes import PROJECT, RETRY, RETRY_AT, STUB
from tests.world.pulls import Pull
from tests.world.replies import accept, reject
from tests.world.tester import World

BETTER = {
    "tests/test_retry.py": RETRY["tests/test_retry.py"] + "\n\ndef test_again():\n    assert upload(b'') == 200\n"
}


def test_pain_10_a_push_while_judging_cancels_the_old_check_and_the_new_head_is_judged(world: World) -> None:
    late, pull = world.judging(reject("weak_test", RETRY_AT))
    world.model.answers(accept(RETRY_AT))
    old = pull.head
    new = world.agent.pushes(pull, BETTER)
    late.arrives()
    world.settles()

    assert pull.checks_of(old) == [("completed", "cancelled", f"Superseded by {new[:12]}")]
    assert new in (pull.runs_of(old)[0]["output"]["summary"] or "")
    assert [one.conclusion for one in pull.checks_of(new)] == ["success"]


def test_a_force_push_while_judging_leaves_no_verdict_for_the_old_head(world: World) -> None:
    late, pull = world.judging(accept(RETRY_AT))
    old = pull.head
    new = world.agent.force_pushes(pull, STUB)
    late.arrives()
    world.settles()

    assert [one.conclusion for one in pull.checks_of(old)] == ["cancelled"]
    assert [one.conclusion for one in pull.checks_of(new)] == ["failure"]


def test_a_push_that_is_told_after_a_newer_one_leaves_the_newer_one_the_head(world: World) -> None:
    def state(sha: str, seconds: str = "0") -> tuple[str, str | None]:
        answer = waited(world, here.name, sha, seconds)
        return answer["state"], answer["superseded_by"]

    here = world.repository(PROJECT)
    pull = world.opened(accept(RETRY_AT))
    world.github.verb("hooks", paused=True)
    second, third = [world.agent.pushes(pull, {"upload.py": step(times)}) for times in (4, 5)]

    thinking = world.model.thinks_about(reject("weak_test", RETRY_AT))
    assert world.github.tells_of(here.name, third) == {"outcome": "queued"}
    thinking.was_asked()
    assert world.github.tells_of(here.name, second) == {"outcome": "queued"}
    assert (state(third), state(second)) == (("pending", None), ("superseded", third))
    thinking.arrives()
    assert state(third, "30") == ("done", None)
    world.github.verb("hooks", paused=False)
    world.settles()
    assert [len(pull.checks_of(one)) for one in (second, third)] == [0, 1]

    world.model.answers(accept(RETRY_AT))
    world.agent.goes_back(pull, second)
    world.settles()
    assert pull.check.conclusion == "success", "this push is the newest one, though its commit was there before"
    assert (state(second), state(third)) == (("done", None), ("superseded", second))


@pytest.mark.slow
def test_an_override_of_the_newest_commit_counts_though_an_older_one_was_told_of_last(world: World) -> None:
    here = world.repository(PROJECT)
    world.model.decides(lambda _: reject("weak_test", RETRY_AT))
    pull = world.opened()
    world.github.verb("hooks", paused=True)
    second, third = [world.agent.pushes(pull, {"upload.py": step(times)}) for times in (4, 5)]
    world.github.tells_of(here.name, third)
    world.until(lambda: not world.busy(), "the newest commit is judged")
    world.github.tells_of(here.name, second)
    world.alice.comments(pull, "/override Seen.")
    world.github.verb("hooks", paused=False)
    world.settles()

    assert pull.check.title == "Overridden by @alice: Seen."
    assert not [one for one in pull.answers if "override" in one], "it was not refused"


def step(times: int) -> str:
    return RETRY["upload.py"].replace("range(3)", f"range({times})")


@pytest.mark.slow
def test_ten_pushes_in_a_row_end_in_one_verdict_for_the_last(world: World) -> None:
    world.model.decides(lambda _: accept(RETRY_AT))
    pull = world.agent.opens(RETRY)
    heads = [world.agent.pushes(pull, {f"note{number}.py": f"N = {number}\n"}) for number in range(10)]
    world.settles()

    assert [one.conclusion for one in pull.checks_of(heads[-1])] == ["success"]
    for head in heads[:-1]:
        assert len(pull.checks_of(head)) <= 1
        assert all(one.status == "completed" for one in pull.checks_of(head))


def test_a_pull_request_closed_while_judging_gets_no_verdict_before_it_is_reopened(world: World) -> None:
    late, pull = world.judging(accept(RETRY_AT))
    world.alice.closes(pull)
    late.arrives()
    world.settles()
    assert pull.check.conclusion == "cancelled"

    world.model.answers(accept(RETRY_AT))
    world.alice.reopens(pull)
    world.settles()
    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


def deletes_branch(world: World, pull: Pull) -> None:
    world.github.user("alice", "DELETE", f"/repos/{pull.repository.name}/git/refs/heads/{pull.branch}")


def restores_branch(world: World, pull: Pull, head: str) -> None:
    path = f"/repos/{pull.repository.name}/git/refs"
    world.github.user("alice", "POST", path, ref=f"refs/heads/{pull.branch}", sha=head)


@pytest.mark.slow
def test_a_branch_that_was_deleted_at_the_close_and_restored_brings_its_verdict_back_unpaid(world: World) -> None:
    pull = world.opened(accept(RETRY_AT))
    head = pull.head

    world.alice.closes(pull)
    deletes_branch(world, pull)
    world.settles()
    restores_branch(world, pull, head)
    world.alice.reopens(pull)
    world.settles()
    assert (pull.head, pull.check.conclusion, len(pull.checks_of(head))) == (head, "success", 1)

    world.pushed(pull, STUB)
    assert (pull.check.conclusion, len(pull.checks_of(pull.head))) == ("failure", 1), "and what follows is judged"


@pytest.mark.slow
def test_a_branch_that_was_deleted_while_it_was_judged_is_judged_once_it_is_restored(world: World) -> None:
    late, pull = world.judging(accept(RETRY_AT))
    head = pull.head
    world.alice.closes(pull)
    deletes_branch(world, pull)
    late.arrives()
    world.settles()
    assert pull.check.conclusion == "cancelled"

    world.model.answers(accept(RETRY_AT))
    restores_branch(world, pull, head)
    world.alice.reopens(pull)
    world.settles()
    assert (pull.check.conclusion, len(pull.checks_of(head))) == ("success", 1)
    assert world.alice.merges(pull).is_merged


@pytest.mark.slow
def test_an_abstain_is_not_kept_for_the_same_content(world: World) -> None:
    world.model.fails(400)
    pull = world.opened()
    assert pull.verdict["abstain_reason"] == "judge_unavailable"
    world.model.answers(accept(RETRY_AT))
    world.agent.pushes(pull, {}, "Nothing at all")
    world.settles()

    assert pull.check.conclusion == "success"


def test_a_deleted_repository_stops_the_judging_quietly(world: World) -> None:
    here = world.repository(PROJECT)
    late = world.model.thinks_about(accept(RETRY_AT))
    world.agent.opens(RETRY)
    late.was_asked()
    world.github.fault(f" /repos/{here.name}", kind="status", status=404, body={"message": "Not Found"}, count=200)
    late.arrives()
    world.until(lambda: not world.busy(), "the judge gave it up")
    world.github.clear_faults()

    assert all(one["conclusion"] != "success" for one in here.checks)
    world.leaves(here)


def test_a_rebase_carries_the_verdict_and_sets_its_pointers_anew(world: World) -> None:
    here = world.repository(PROJECT)
    pull = world.opened(reject("weak_test", RETRY_AT))
    path, line = RETRY_AT.split(":")

    longer = "# Uploads.\n"
    world.github.verb("push", repo=here.name, branch="main", files={path: longer + PROJECT[path]})
    world.agent.force_pushes(pull, {**RETRY, path: longer + RETRY[path]})
    world.settles()

    assert pull.check.conclusion == "failure"
    assert pull.verdict["carried_from"] is not None
    assert [(one["path"], one["line"]) for one in pull.verdict["evidence"]] == [(path, int(line) + 1)]
