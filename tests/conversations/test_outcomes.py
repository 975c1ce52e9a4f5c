"""What people do after a verdict is on record, and a pull request that is over has a verdict on the whole of it."""

import json
from typing import Any

import pytest

from tests.world.changes import ISSUE, PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World
from worker.adapters.redis import keys
from worker.domain.ids import InstallationId


def read_events(world: World, pull: PullRequest, *kinds: str) -> list[dict[str, Any]]:
    """The bodies of these events about a pull request, in the order of the stream."""
    with world.redis.client as client:
        entries: Any = client.xrange(keys.events(InstallationId(world.installation)).name)
    bodies = [(fields["k"], json.loads(fields["j"])) for _, fields in entries]
    mine = [body for kind, body in bodies if kind in kinds and body["repository_id"] == pull.repository.id]
    return [one for one in mine if one["number"] == pull.number]


def read_outcomes(world: World, pull: PullRequest) -> list[str]:
    return [one["outcome"] for one in read_events(world, pull, "outcome.recorded")]


def read_verdicts(world: World, pull: PullRequest, kind: str) -> list[dict[str, Any]]:
    return [one for one in read_events(world, pull, "eval.completed") if one["subject_kind"] == kind]


def accepted(world: World, **proposal: Any) -> PullRequest:
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(accept(RETRY_AT), body=f"Closes #{issue.number}", **proposal)
    assert pull.check.conclusion == "success"
    return pull


def test_a_merge_that_is_reverted_gets_a_second_lower_verdict_on_the_whole(world: World) -> None:
    pull = accepted(world)
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
    world.github.redeliver(pull.repository.name, "push")
    world.wait_until_idle()
    assert read_outcomes(world, pull) == ["merged", "reverted"]
    [_, second] = read_verdicts(world, pull, "pull_request")
    assert second["eval_id"] > first["eval_id"]
    assert second["score"] < 0.5 < first["score"]
    assert (second["decision"], second["trigger"]) == ("abstain", "feedback_arrived")
    assert second["signals"]["child_eval_ids"] == [submission["eval_id"]]
    started = [one["eval_id"] for one in read_events(world, pull, "eval.started")]
    ended = [one["eval_id"] for one in read_events(world, pull, "eval.completed", "eval.failed")]
    assert sorted(started) == sorted(ended)


@pytest.mark.slow
def test_thumbs_retries_edits_and_red_ci_are_heard_and_tell_nobodys_name(world: World) -> None:
    pull = accepted(world, ci={"unit": "success"})
    [check] = read_verdicts(world, pull, "ci_check")
    [submission] = read_verdicts(world, pull, "submission")
    assert (check["parent_eval_id"], check["score"]) == (submission["eval_id"], 1.0)

    pull.press_button("helpful")
    world.alice.comment(pull, "Thank you.")
    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    pull.repository.report_ci(pull.head, "nightly", "failure")
    world.wait_until_idle()
    assert read_outcomes(world, pull) == ["helpful", "retry", "ci_red_later"]

    world.model.reply_with(accept(RETRY_AT))
    world.bob.push(pull, {"upload.py": RETRY["upload.py"].replace("range(3)", "range(4)")})
    pull.repository.report_ci(pull.head, "unit", "success")
    world.wait_until_idle()
    assert read_outcomes(world, pull)[-1] == "edit_followup"
    told_of = json.dumps(read_events(world, pull, "outcome.recorded"))
    assert not any(word in told_of for word in ("alice", "bob", "Thank", "upload", pull.repository.name))
    assert {one["eval_id"] for one in read_events(world, pull, "outcome.recorded")} <= {
        one["eval_id"] for one in read_verdicts(world, pull, "submission")
    }

    world.alice.close(pull)
    world.wait_until_idle()
    [whole] = read_verdicts(world, pull, "pull_request")
    assert whole["signals"]["submissions"] == 2
    assert whole["signals"]["strongest"] == "explicit"


@pytest.mark.slow
def test_another_pull_request_for_the_same_issue_takes_over(world: World) -> None:
    pull = accepted(world)
    issue = pull.view["body"]
    other = world.open_and_judge(
        accept(RETRY_AT), by=world.bob, body=issue, branch="another", title="Retry uploads, again"
    )
    assert other.check.status == "completed"
    assert read_outcomes(world, pull) == ["manual_swap"]
    assert read_outcomes(world, other) == []
