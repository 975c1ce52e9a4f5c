"""Round after round: what was asked for is ticked, nothing new is asked for on old lines, and in the end a person is called."""

from collections.abc import Mapping
from typing import Any, cast

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


def quoting(said: Any, files: Mapping[str, str] = RETRY) -> Any:
    """A reply whose places quote the lines of *files*."""
    if isinstance(said, list):
        return [quoting(one, files) for one in cast("list[Any]", said)]
    if not isinstance(said, dict):
        return said
    whole = {name: quoting(one, files) for name, one in cast("dict[str, Any]", said).items()}
    if "line" in whole:
        whole["quote"] = files[whole["path"]].split("\n")[whole["line"] - 1]
    return whole


def conditions(pull: PullRequest) -> list[tuple[str, str]]:
    return [(one["id"], one["state"]) for one in pull.verdict["closing_conditions"]]


def answers(*states: str) -> list[dict[str, Any]]:
    return [{"id": f"c{number}", "state": state, "evidence": []} for number, state in enumerate(states, start=1)]


def weak_test(**changes: Any) -> dict[str, Any]:
    """The test proves nothing; all else is as it was asked for."""
    return {**reject("weak_test", TEST_AT, next_step=STEP), "criteria": MET, **changes}


def done() -> dict[str, Any]:
    """All of it is there, and what was asked for is done."""
    return accept(RETRY_AT, conditions=answers("resolved"))


def too_much() -> dict[str, Any]:
    """What was asked for is done; now the loop, which did not change since, is one too many."""
    return {**reject("scope_creep", RETRY_AT, conditions=answers("resolved")), "criteria": MET}


def rejected(world: World) -> PullRequest:
    pull = world.open_and_judge(quoting(weak_test()))
    assert (pull.check.conclusion, conditions(pull)) == ("failure", [("c1", "open")])
    return pull


def test_what_was_asked_for_is_done_ticked_and_accepted(world: World) -> None:
    pull = rejected(world)
    assert f"[ ] c1: {STEP}" in pull.text

    world.push_and_judge(pull, TESTED, quoting(done(), TESTED))

    asked = world.model.requests[-1].text
    assert f"c1: {STEP}" in asked
    assert '"tests/test_retry.py" (head): 5' in asked
    assert (pull.check.conclusion, conditions(pull)) == ("success", [("c1", "resolved")])
    assert f"[x] c1: {STEP}" in pull.text


def test_pain_12_another_objection_to_lines_that_did_not_change_is_refused(world: World) -> None:
    pull = rejected(world)

    world.push_and_judge(pull, TESTED, quoting(too_much(), TESTED), quoting(too_much(), TESTED))

    assert len(world.model.requests) == 3, "it was asked once more, and told what may reject"
    assert "can't carry a reject in this round" in str(world.model.requests[-1].body["messages"][-1])
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "needs_human")
    assert conditions(pull) == [("c1", "resolved")]
    assert "Every closing condition is met" in pull.text
    assert not pull.verdict["evidence"]


@pytest.mark.slow
def test_a_judge_who_takes_the_correction_accepts(world: World) -> None:
    pull = rejected(world)

    world.push_and_judge(pull, TESTED, quoting(too_much(), TESTED), quoting(done(), TESTED))

    assert (pull.check.conclusion, conditions(pull)) == ("success", [("c1", "resolved")])


@pytest.mark.slow
def test_after_the_last_round_a_person_is_called(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_ROUND_LIMIT": "2"})
    pull = rejected(world)

    for number in (2, 3):
        step = f"In line 5 of tests/test_retry.py, compare tries with {number}."
        worse = {**RETRY, "tests/test_retry.py": RETRY["tests/test_retry.py"].replace("== 200", f"in (200, {number})")}
        world.push_and_judge(pull, worse, quoting(weak_test(next_step=step, conditions=answers("open")), worse))
        assert pull.verdict["round"] == number
        assert conditions(pull) == [("c1", "open")]

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "needs_human")
    assert "After 2 rounds this still does not converge" in pull.text
    assert f"[ ] c1: {STEP}" in pull.text
    assert not world.alice.merge(pull).is_merged


def told(summary: str) -> str:
    return f"Retries.\n\n```assay\nsummary: {summary}\n```\n"


def test_one_more_word_in_the_case_draws_no_third_judging(world: World) -> None:
    pull = world.open_and_judge(quoting(weak_test()), body=told("Retries on 503"))
    assert (pull.check.conclusion, pull.verdict["round"]) == ("failure", 1)

    world.model.reply_with(quoting(weak_test(next_step="In line 5, count how often `upload` sends.")))
    world.agent.edit(pull, body=told("Retries on 503, three times"))
    world.wait_until_idle()
    once_more = pull.verdict
    assert (pull.check.conclusion, once_more["round"], once_more["carried_from"]) == ("failure", 2, None)

    for word in ("truly", "surely"):
        world.agent.edit(pull, body=told(f"Retries on 503, {word}"))
        world.wait_until_idle()
    assert len(world.model.requests) == 2, "the case is frozen with the head"
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", once_more["eval_id"])


@pytest.mark.slow
def test_the_title_the_text_and_its_links_draw_no_third_judging(world: World) -> None:
    first, second = (world.alice.write_issue(*ISSUE) for _ in range(2))
    pull = world.open_and_judge(quoting(weak_test()), body="Uploads retry.")
    assert (pull.check.conclusion, pull.verdict["round"]) == ("failure", 1)

    world.model.reply_with(quoting(weak_test(next_step="In line 5, count how often `upload` sends.")))
    world.agent.edit(pull, body="Uploads retry at most twice.")
    world.wait_until_idle()
    once_more = pull.verdict
    assert (once_more["round"], once_more["carried_from"], len(world.model.requests)) == (2, None, 2)

    edits = (
        {"body": "Uploads truly retry."},
        {"title": "Retry all uploads"},
        {"body": f"Closes #{first.number}"},
        {"body": f"Closes #{first.number} and closes #{second.number}"},
        {"body": told("Retries on 503")},
        {"body": "```assay\nsummary: [\n```"},
        {"body": told("Retries on 503, three times")},
    )
    for edit in edits:
        world.agent.edit(pull, **edit)
        world.wait_until_idle()
        assert len(world.model.requests) == 2, f"{edit}: the text is frozen with the head"
        assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", once_more["eval_id"])
    assert not world.alice.merge(pull).is_merged

    world.push_and_judge(pull, TESTED, accept(RETRY_AT))
    assert "Retries on 503, three times" in world.model.requests[-1].text, "a push brings the new text"


@pytest.mark.slow
def test_an_issue_counts_as_it_stands_though_the_text_that_links_it_is_frozen(world: World) -> None:
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(accept(RETRY_AT), accept(RETRY_AT), body=f"Closes #{issue.number}\n\n{told('Retries')}")
    for summary in ("Retries on 503", "Retries on 503 and 504"):
        world.agent.edit(pull, body=f"Closes #{issue.number}\n\n{told(summary)}")
        world.wait_until_idle()
    assert len(world.model.requests) == 2

    world.model.reply_with(accept(RETRY_AT))
    world.alice.edit_issue(issue, body="Uploads fail on 503 and on 502.")
    world.wait_until_idle()
    assert len(world.model.requests) == 3
    assert "on 502" in world.model.requests[-1].text
    assert "503 and 504" not in world.model.requests[-1].text


@pytest.mark.slow
def test_another_head_and_a_contest_are_judged_whatever_was_edited(world: World) -> None:
    pull = world.open_and_judge(accept(RETRY_AT), accept(RETRY_AT), body=told("Retries"))
    world.agent.edit(pull, body=told("Retries on 503"))
    world.wait_until_idle()
    world.agent.edit(pull, body=told("Retries on 503 and 504"))
    world.wait_until_idle()
    assert len(world.model.requests) == 2

    world.comment_and_wait(pull, "/contest 504 is not retried.", accept(RETRY_AT), by=world.alice)
    assert "Retries on 503 and 504" not in world.model.requests[-1].text
    assert len(world.model.requests) == 3

    world.push_and_judge(pull, {**RETRY, "upload.py": RETRY["upload.py"] + "\n\nTRIES = 3\n"}, accept(RETRY_AT))
    assert "Retries on 503 and 504" in world.model.requests[-1].text
