"""What an agent is told, in one comment, when its pull request is rejected."""

from typing import Any

import pytest

from tests.conversations.conftest import open_rejected
from tests.conversations.test_outcomes import read_events, read_verdicts
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.product import run_assay
from tests.world.replies import accept, reject
from tests.world.world import World

BETTER = {**RETRY, "notes.md": "Retried three times.\n"}


def read_comments(world: World) -> list[str]:
    """What Assay wrote in the conversation."""
    written = world.github.request_as("alice", "GET", f"/repos/{world.repository.name}/issues/1/comments")
    return [one["body"] for one in written if one["user"]["login"] == "assay[bot]"]


def changes(world: World) -> list[str]:
    """How the conversation was written to, and how the newest head was asked for."""
    asked = world.github.requests(world.repository.name)
    written = [one for one in asked if one["method"] != "GET" and "comments" in one["path"]]
    heads = [one for one in asked if one["operation"] in {"AssayHead", "AssayTell"}]
    return [one["operation"] or one["method"] for one in asked if one in written or one in heads]


def test_pain_13_an_agent_is_told_once_and_after_the_fix_that_nothing_is_left(world: World) -> None:
    pull = open_rejected(world)
    [told] = read_comments(world)
    assert told.startswith(f"@copilot Assay rejected `{pull.head[:12]}`: **weak test**.")
    assert "**Next step:**" in told
    assert "What closes this:" in told

    pull.press_rerun()
    world.wait_until_idle()
    assert read_comments(world) == [told]

    world.model.reply_with(accept(RETRY_AT))
    written = len(changes(world))
    world.push_and_judge(pull, BETTER)
    assert changes(world)[written:] == ["AssayTell"], "once, by what asks for the newest head"
    [told] = read_comments(world)
    assert told.startswith(f"Assay accepted `{pull.head[:12]}`. Nothing is left to do here.")
    assert "@copilot" not in told
    assert "Earlier verdicts (1)" in told


@pytest.mark.slow
def test_a_comment_whose_answer_was_lost_is_not_written_twice(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.github.fault(rf"POST /repos/{here.name}/issues/\d+/comments", kind="reset", after=True, count=1)
    world.expected_errors = ("task postponed",)
    open_rejected(world)
    assert len(read_comments(world)) == 1


@pytest.mark.slow
def test_an_app_that_may_not_comment_judges_all_the_same(world: World) -> None:
    here = world.create_repository(PROJECT)
    body = {"message": "Resource not accessible by integration"}
    world.github.fault(rf"POST /repos/{here.name}/issues/\d+/comments", kind="status", status=403, body=body, count=1)
    open_rejected(world)
    assert read_comments(world) == []


def test_people_are_not_told_unless_they_want_to(world: World) -> None:
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), by=world.alice)
    assert (pull.check.conclusion, read_comments(world)) == ("failure", [])


@pytest.mark.slow
def test_thumbs_at_the_comment_are_heard_once_when_the_pull_request_is_over(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = open_rejected(world)
    path = f"/repos/{here.name}/issues"
    [comment] = world.github.request_as("alice", "GET", f"{path}/{pull.number}/comments")
    for login, content in (("alice", "-1"), ("bob", "+1"), ("bob", "-1"), ("copilot-swe-agent[bot]", "+1")):
        world.github.request_as(login, "POST", f"{path}/comments/{comment['id']}/reactions", content=content)
    world.wait_until_idle()
    assert read_events(world, pull, "outcome.recorded") == []

    world.alice.close(pull)
    world.wait_until_idle()
    [submission] = read_verdicts(world, pull, "submission")
    heard = read_events(world, pull, "outcome.recorded")
    assert [one["outcome"] for one in heard] == ["not_helpful", "not_helpful", "closed_unmerged"]
    assert {one["eval_id"] for one in heard} == {submission["eval_id"]}
    [whole] = read_verdicts(world, pull, "pull_request")
    assert (whole["signals"]["outcome_not_helpful"], whole["signals"]["strongest"]) == (2, "explicit")

    world.github.redeliver(here.name, "pull_request")
    world.wait_until_idle()
    assert len(read_events(world, pull, "outcome.recorded")) == 3


@pytest.mark.slow
def test_a_push_that_overtakes_a_verdict_finds_its_author_told_and_the_next_verdict_tells_again(world: World) -> None:
    pull = open_rejected(world)

    def overtaken(_: object) -> Any:
        if not heads:
            world.github.control("hooks", paused=True)
            heads.append(world.agent.push(pull, {"notes.md": "The retry is tried four times.\n"}))
            return accept(RETRY_AT)
        return reject("half_finished", "notes.md:1")

    heads: list[str] = []
    world.model.reply_by(overtaken)
    written = len(changes(world))
    judged = world.agent.push(pull, BETTER)
    world.wait_until(lambda: changes(world)[written:] == ["AssayTell"], "the author is told")
    [told] = read_comments(world)
    assert f"Assay accepted `{judged[:12]}`" in told
    world.github.control("hooks", paused=False)
    world.wait_until_idle()

    assert [one.conclusion for one in pull.checks_of(judged)] == ["cancelled"]
    assert [one.conclusion for one in pull.checks_of(heads[0])] == ["failure"]
    assert changes(world)[written:] == ["AssayTell", "AssayTell"]
    [told] = read_comments(world)
    assert f"Assay rejected `{heads[0][:12]}`" in told
    assert f"`{judged[:12]}` accepted" in told, "what was told is on record"


def test_red_ci_goes_back_to_the_agent_with_its_first_failing_test_and_is_over_when_it_is_green(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY, draft=True)
    log = "___ test_503 ___\nE   assert 503 == 200\nFAILED tests/test_retry.py::test_503 - assert 503 == 200"
    here.report_ci(pull.head, "unit tests", "failure", log)
    world.agent.mark_ready(pull)
    world.wait_until_idle()
    assert pull.verdict["abstain_reason"] == "ci_failed"
    assert pull.verdict["ci_failure"]["test"] == "tests/test_retry.py::test_503"
    [told] = read_comments(world)
    assert told.startswith(f"@copilot CI failed on `{pull.head[:12]}`: **unit tests**.")
    assert "First failing test: `tests/test_retry.py::test_503`" in told
    assert "E   assert 503 == 200" in told

    waited = run_assay(world.product.environment, "wait", f"{here.name}@{pull.head}", "--timeout", "5")
    assert waited.returncode == 3
    assert "First failing test: tests/test_retry.py::test_503" in waited.stdout
    assert "E   assert 503 == 200" in waited.stdout

    world.model.reply_with(reject("weak_test", RETRY_AT))
    here.report_ci(pull.head, "unit tests", "success")
    world.wait_until(lambda: pull.check.conclusion == "failure", "the green run is judged")
    world.wait_until_idle()
    [told] = read_comments(world)
    assert told.startswith(f"@copilot Assay rejected `{pull.head[:12]}`: **weak test**.")
    assert "Round 1 of 5" in told, "red CI used no round"
