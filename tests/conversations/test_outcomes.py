"""Outcomes after a verdict, and the verdict on the whole pull request."""

import json
from typing import Any

import pytest

from tests.conversations.conftest import open_accepted
from tests.world.changes import ISSUE, PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World
from worker.adapters.redis import keys
from worker.domain.model import InstallationId


def read_events(world: World, pull: PullRequest, *kinds: str) -> list[dict[str, Any]]:
    """The bodies of a pull request's events, oldest first."""
    with world.redis.client as client:
        entries: Any = client.xrange(keys.events(InstallationId(world.installation)).name)
    bodies = [(fields["k"], json.loads(fields["j"])) for _, fields in entries]
    mine = [body for kind, body in bodies if kind in kinds and body["repository_id"] == pull.repository.id]
    return [event for event in mine if event["number"] == pull.number]


def read_outcomes(world: World, pull: PullRequest) -> list[str]:
    return [event["outcome"] for event in read_events(world, pull, "outcome.recorded")]


def read_verdicts(world: World, pull: PullRequest, kind: str) -> list[dict[str, Any]]:
    return [event for event in read_events(world, pull, "eval.completed") if event["subject_kind"] == kind]


def open_for_issue(world: World, **proposal: Any) -> PullRequest:
    issue = world.alice.write_issue(*ISSUE)
    return open_accepted(world, body=f"Closes #{issue.number}", **proposal)


def test_reverted_merge_gets_a_second_lower_pull_request_verdict(world: World) -> None:
    pull = open_for_issue(world)
    [submission] = read_verdicts(world, pull, "submission")
    assert read_verdicts(world, pull, "pull_request") == []

    assert world.alice.merge(pull).is_merged
    world.wait_until_idle()
    assert read_outcomes(world, pull) == ["merged"]
    [first] = read_verdicts(world, pull, "pull_request")
    assert (first["decision"], first["trigger"], first["parent_eval_id"]) == ("accept", "bus", submission["eval_id"])

    message = f'Revert "Retry"\n\nThis reverts commit {pull.view["merge_commit_sha"]}.\n'
    undone = {"upload.py": PROJECT["upload.py"], "tests/test_retry.py": None}
    order = {"repo": pull.repository.name, "branch": "main", "files": undone, "message": message, "as": "alice"}
    world.github.control("push", **order)
    world.github.settle()
    world.wait_after(world.github.redeliver(pull.repository.name, "push"))
    assert read_outcomes(world, pull) == ["merged", "reverted"]
    [_, second] = read_verdicts(world, pull, "pull_request")
    assert second["eval_id"] > first["eval_id"]
    assert second["score"] < 0.5 < first["score"]
    assert (second["decision"], second["trigger"]) == ("abstain", "feedback_arrived")
    assert second["signals"]["child_eval_ids"] == [submission["eval_id"]]
    started = [event["eval_id"] for event in read_events(world, pull, "eval.started")]
    ended = [event["eval_id"] for event in read_events(world, pull, "eval.completed", "eval.failed")]
    assert sorted(started) == sorted(ended)


@pytest.mark.slow
def test_outcomes_are_recorded_without_personal_data(world: World) -> None:
    pull = open_for_issue(world, ci={"unit": "success"})
    [check] = read_verdicts(world, pull, "ci_check")
    [submission] = read_verdicts(world, pull, "submission")
    assert (check["parent_eval_id"], check["score"]) == (submission["eval_id"], 1.0)

    pull.press_button("helpful")
    world.alice.comment(pull, "Thank you.")
    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    world.wait_after(pull.repository.report_ci(pull.head, "nightly", "failure"))
    assert read_outcomes(world, pull) == ["helpful", "retry", "ci_red_later"]

    world.model.reply_with(accept(RETRY_AT))
    world.bob.push(pull, {"upload.py": RETRY["upload.py"].replace("range(3)", "range(4)")})
    world.wait_after(pull.repository.report_ci(pull.head, "unit", "success"))
    assert read_outcomes(world, pull)[-1] == "edit_followup"
    told_of = json.dumps(read_events(world, pull, "outcome.recorded"))
    assert not any(word in told_of for word in ("alice", "bob", "Thank", "upload", pull.repository.name))
    assert {event["eval_id"] for event in read_events(world, pull, "outcome.recorded")} <= {
        event["eval_id"] for event in read_verdicts(world, pull, "submission")
    }

    world.wait_after(world.alice.close(pull))
    [whole] = read_verdicts(world, pull, "pull_request")
    assert whole["signals"]["submissions"] == 2
    assert whole["signals"]["strongest"] == "explicit"


@pytest.mark.slow
def test_second_pull_request_for_the_issue_is_recorded_as_manual_swap(world: World) -> None:
    pull = open_for_issue(world)
    issue = pull.view["body"]
    other = world.open_and_judge(accept(RETRY_AT), by=world.bob, body=issue, branch="another", title="Retry again")
    assert other.check.status == "completed"
    assert read_outcomes(world, pull) == ["manual_swap"]
    assert read_outcomes(world, other) == []
