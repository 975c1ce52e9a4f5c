"""Rounds: closing conditions, frozen lines and descriptions, and the last round."""

from typing import Any

import pytest

from tests.conversations.conftest import OpenWorld
from tests.world.changes import ISSUE, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

TEST_AT = "tests/test_retry.py:5"
STEP = "Assert in test_upload how often send was called."
TESTED = {**RETRY, "tests/test_retry.py": RETRY["tests/test_retry.py"].replace("== 200", "== 200 and tries == 3")}
MET = accept(RETRY_AT)["criteria"]


def read_conditions(pull: PullRequest) -> list[tuple[str, str]]:
    return [(condition["id"], condition["state"]) for condition in pull.verdict["closing_conditions"]]


def build_weak_test(**changes: Any) -> dict[str, Any]:
    """A reject of the test."""
    return {**reject("weak_test", TEST_AT, next_step=STEP), "criteria": MET, **changes}


def build_scope_creep() -> dict[str, Any]:
    """A new objection to a line that did not change."""
    resolved: dict[str, Any] = {"id": "c1", "state": "resolved", "evidence": []}
    return {**reject("scope_creep", RETRY_AT, conditions=[resolved]), "criteria": MET}


def open_rejected(world: World) -> PullRequest:
    pull = world.open_and_judge(build_weak_test())
    assert (pull.check.conclusion, read_conditions(pull)) == ("failure", [("c1", "open")])
    return pull


def test_fixed_closing_condition_is_ticked_and_accepted(world: World) -> None:
    pull = open_rejected(world)
    assert f"[ ] c1: {STEP}" in pull.text

    world.push_and_judge(pull, TESTED, accept(RETRY_AT))

    asked = world.model.requests[-1].text
    assert f"c1: {STEP}" in asked
    assert '"tests/test_retry.py" (head): 5' in asked
    assert (pull.check.conclusion, read_conditions(pull)) == ("success", [("c1", "resolved")])
    assert f"[x] c1: {STEP}" in pull.text


def test_pain_12_new_objection_to_unchanged_lines_is_refused(world: World) -> None:
    pull = open_rejected(world)

    world.push_and_judge(pull, TESTED, build_scope_creep(), build_scope_creep())

    assert len(world.model.requests) == 3
    assert "can't carry a reject in this round" in str(world.model.requests[-1].body["messages"][-1])
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "needs_human")
    assert read_conditions(pull) == [("c1", "resolved")]
    assert "Every closing condition is met" in pull.text
    assert not pull.verdict["evidence"]


@pytest.mark.slow
def test_corrected_reply_accepts(world: World) -> None:
    pull = open_rejected(world)

    world.push_and_judge(pull, TESTED, build_scope_creep(), accept(RETRY_AT))

    assert (pull.check.conclusion, read_conditions(pull)) == ("success", [("c1", "resolved")])


@pytest.mark.slow
def test_person_is_asked_after_the_last_round(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_ROUND_LIMIT": "2"})
    pull = open_rejected(world)

    for number in (2, 3):
        step = f"In line 5 of tests/test_retry.py, compare tries with {number}."
        worse = {**RETRY, "tests/test_retry.py": RETRY["tests/test_retry.py"].replace("== 200", f"in (200, {number})")}
        world.push_and_judge(pull, worse, build_weak_test(next_step=step))
        assert pull.verdict["round"] == number
        assert read_conditions(pull) == [("c1", "open")]

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "needs_human")
    assert "After 2 rounds this still does not converge" in pull.text
    assert f"[ ] c1: {STEP}" in pull.text
    assert not world.alice.merge(pull).is_merged


def build_body(summary: str) -> str:
    return f"Retries.\n\n```assay\nsummary: {summary}\n```\n"


def test_case_edit_is_judged_at_most_once_more(world: World) -> None:
    pull = world.open_and_judge(build_weak_test(), body=build_body("Retries on 503"))
    assert (pull.check.conclusion, pull.verdict["round"]) == ("failure", 1)

    world.model.reply_with(build_weak_test(next_step="In line 5, count how often `upload` sends."))
    world.wait_after(world.agent.edit(pull, body=build_body("Retries on 503, three times")))
    once_more = pull.verdict
    assert (pull.check.conclusion, once_more["round"], once_more["carried_from"]) == ("failure", 2, None)

    for word in ("truly", "surely"):
        world.wait_after(world.agent.edit(pull, body=build_body(f"Retries on 503, {word}")))
    assert len(world.model.requests) == 2
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", once_more["eval_id"])


@pytest.mark.slow
def test_title_and_description_edits_are_judged_at_most_once_more(world: World) -> None:
    first, second = (world.alice.write_issue(*ISSUE) for _ in range(2))
    pull = world.open_and_judge(build_weak_test(), body="Uploads retry.")
    assert (pull.check.conclusion, pull.verdict["round"]) == ("failure", 1)

    world.model.reply_with(build_weak_test(next_step="In line 5, count how often `upload` sends."))
    world.wait_after(world.agent.edit(pull, body="Uploads retry at most twice."))
    once_more = pull.verdict
    assert (once_more["round"], once_more["carried_from"], len(world.model.requests)) == (2, None, 2)

    edits = (
        {"body": "Uploads truly retry."},
        {"title": "Retry all uploads"},
        {"body": f"Closes #{first.number}"},
        {"body": f"Closes #{first.number} and closes #{second.number}"},
        {"body": build_body("Retries on 503")},
        {"body": "```assay\nsummary: [\n```"},
        {"body": build_body("Retries on 503, three times")},
    )
    for edit in edits:
        world.wait_after(world.agent.edit(pull, **edit))
        assert len(world.model.requests) == 2, f"{edit}: the text is frozen with the head"
        assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", once_more["eval_id"])
    assert not world.alice.merge(pull).is_merged

    world.push_and_judge(pull, TESTED, accept(RETRY_AT))
    assert "Retries on 503, three times" in world.model.requests[-1].text


@pytest.mark.slow
def test_issue_edit_is_judged_though_the_description_is_frozen(world: World) -> None:
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(
        accept(RETRY_AT), accept(RETRY_AT), body=f"Closes #{issue.number}\n\n{build_body('Retries')}"
    )
    for summary in ("Retries on 503", "Retries on 503 and 504"):
        world.wait_after(world.agent.edit(pull, body=f"Closes #{issue.number}\n\n{build_body(summary)}"))
    assert len(world.model.requests) == 2

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.alice.edit_issue(issue, body="Uploads fail on 503 and on 502."))
    assert len(world.model.requests) == 3
    assert "on 502" in world.model.requests[-1].text
    assert "503 and 504" not in world.model.requests[-1].text


@pytest.mark.slow
def test_new_head_and_contest_are_judged_after_frozen_edits(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT), accept(RETRY_AT), body=build_body("Retries"))
    world.wait_after(world.agent.edit(pull, body=build_body("Retries on 503")))
    world.wait_after(world.agent.edit(pull, body=build_body("Retries on 503 and 504")))
    assert len(world.model.requests) == 2

    world.comment_and_wait(pull, "/contest 504 is not retried.", accept(RETRY_AT), by=world.alice)
    assert "Retries on 503 and 504" not in world.model.requests[-1].text
    assert len(world.model.requests) == 3

    world.push_and_judge(pull, {**RETRY, "upload.py": RETRY["upload.py"] + "\n\nTRIES = 3\n"}, accept(RETRY_AT))
    assert "Retries on 503 and 504" in world.model.requests[-1].text
