"""The one comment that tells an agent about a verdict."""

from typing import Any

import pytest

from tests.conversations.conftest import open_rejected
from tests.conversations.test_outcomes import read_events, read_verdicts
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.replies import accept, reject
from tests.world.world import World

BETTER = {**RETRY, "notes.md": "Retried three times.\n"}


def read_comments(world: World) -> list[str]:
    """Assay's comments on the pull request."""
    written = world.github.request_as("alice", "GET", f"/repos/{world.repository.name}/issues/1/comments")
    return [comment["body"] for comment in written if comment["user"]["login"] == "assay[bot]"]


def read_comment_requests(world: World) -> list[str]:
    """Requests that wrote comments or read the newest head."""
    asked = world.repository.requests
    written = [exchange for exchange in asked if exchange["method"] != "GET" and "comments" in exchange["path"]]
    heads = [exchange for exchange in asked if exchange["operation"] in {"AssayHead", "AssayTell"}]
    return [
        exchange["operation"] or exchange["method"] for exchange in asked if exchange in written or exchange in heads
    ]


def test_pain_13_agent_gets_one_comment_that_says_done_after_the_fix(world: World) -> None:
    pull = open_rejected(world)
    [comment] = read_comments(world)
    assert comment.startswith(f"@copilot Assay rejected `{pull.head[:12]}`: **weak test**.")
    assert "**Next step:**" in comment
    assert "What closes this:" in comment

    world.wait_after(pull.press_rerun())
    assert read_comments(world) == [comment]

    world.model.reply_with(accept(RETRY_AT))
    written = len(read_comment_requests(world))
    world.push_and_judge(pull, BETTER)
    assert read_comment_requests(world)[written:] == ["AssayTell"]
    [comment] = read_comments(world)
    assert comment.startswith(f"Assay accepted `{pull.head[:12]}`. Nothing is left to do here.")
    assert "@copilot" not in comment
    assert "Earlier verdicts (1)" in comment


@pytest.mark.slow
def test_comment_is_not_written_twice_when_response_is_lost(world: World) -> None:
    repository = world.create_repository(PROJECT)
    world.github.fault(rf"POST /repos/{repository.name}/issues/\d+/comments", kind="reset", after=True, count=1)
    world.expected_errors = ("task postponed",)
    open_rejected(world)
    assert len(read_comments(world)) == 1


@pytest.mark.slow
def test_pull_request_is_judged_when_comments_are_refused(world: World) -> None:
    repository = world.create_repository(PROJECT)
    body = {"message": "Resource not accessible by integration"}
    world.github.fault(
        rf"POST /repos/{repository.name}/issues/\d+/comments", kind="status", status=403, body=body, count=1
    )
    open_rejected(world)
    assert read_comments(world) == []


def test_person_gets_no_comment_by_default(world: World) -> None:
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), by=world.alice)
    assert (pull.check.conclusion, read_comments(world)) == ("failure", [])


@pytest.mark.slow
def test_reactions_to_comment_are_recorded_once_at_close(world: World) -> None:
    pull = open_rejected(world)
    path = f"/repos/{world.repository.name}/issues"
    [comment] = world.github.request_as("alice", "GET", f"{path}/{pull.number}/comments")
    for login, content in (("alice", "-1"), ("bob", "+1"), ("bob", "-1"), ("copilot-swe-agent[bot]", "+1")):
        world.github.request_as(login, "POST", f"{path}/comments/{comment['id']}/reactions", content=content)
    world.wait_until_idle()
    assert read_events(world, pull, "outcome.recorded") == []

    world.wait_after(world.alice.close(pull))
    [submission] = read_verdicts(world, pull, "submission")
    heard = read_events(world, pull, "outcome.recorded")
    assert [event["outcome"] for event in heard] == ["not_helpful", "not_helpful", "closed_unmerged"]
    assert {event["eval_id"] for event in heard} == {submission["eval_id"]}
    [whole] = read_verdicts(world, pull, "pull_request")
    assert (whole["signals"]["outcome_not_helpful"], whole["signals"]["strongest"]) == (2, "explicit")

    world.wait_after(world.github.redeliver(world.repository.name, "pull_request"))
    assert len(read_events(world, pull, "outcome.recorded")) == 3


@pytest.mark.slow
def test_comment_follows_a_push_that_overtakes_the_verdict(world: World) -> None:
    pull = open_rejected(world)

    def overtaken(_: object) -> Any:
        if not heads:
            world.github.control("hooks", paused=True)
            heads.append(world.agent.push(pull, {"notes.md": "The retry is tried four times.\n"}))
            return accept(RETRY_AT)
        return reject("half_finished", "notes.md:1")

    heads: list[str] = []
    world.model.reply_by(overtaken)
    written = len(read_comment_requests(world))
    judged = world.agent.push(pull, BETTER)
    world.wait_until(lambda: read_comment_requests(world)[written:] == ["AssayTell"])
    [comment] = read_comments(world)
    assert f"Assay accepted `{judged[:12]}`" in comment
    world.wait_after(world.github.control("hooks", paused=False))

    assert pull.conclusions_of(judged) == ["cancelled"]
    assert pull.conclusions_of(heads[0]) == ["failure"]
    assert read_comment_requests(world)[written:] == ["AssayTell", "AssayTell"]
    [comment] = read_comments(world)
    assert f"Assay rejected `{heads[0][:12]}`" in comment
    assert f"`{judged[:12]}` accepted" in comment


def test_comment_names_first_failed_test_until_ci_is_green(world: World) -> None:
    repository = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY, draft=True)
    log = "___ test_503 ___\nE   assert 503 == 200\nFAILED tests/test_retry.py::test_503 - assert 503 == 200"
    repository.report_ci(pull.head, "unit tests", "failure", log)
    world.wait_after(world.agent.mark_ready(pull))
    assert pull.verdict["abstain_reason"] == "ci_failed"
    assert pull.verdict["ci_failure"]["test"] == "tests/test_retry.py::test_503"
    [comment] = read_comments(world)
    assert comment.startswith(f"@copilot CI failed on `{pull.head[:12]}`: **unit tests**.")
    assert "First failing test: `tests/test_retry.py::test_503`" in comment
    assert "E   assert 503 == 200" in comment

    waited = world.run_assay("wait", f"{repository.name}@{pull.head}", "--timeout", "5")
    assert waited.returncode == 3
    assert "First failing test: tests/test_retry.py::test_503" in waited.stdout
    assert "E   assert 503 == 200" in waited.stdout

    world.model.reply_with(reject("weak_test", RETRY_AT))
    repository.report_ci(pull.head, "unit tests", "success")
    world.wait_until(lambda: pull.check.conclusion == "failure")
    world.wait_until_idle()
    [comment] = read_comments(world)
    assert comment.startswith(f"@copilot Assay rejected `{pull.head[:12]}`: **weak test**.")
    assert "Round 1 of 5" in comment
