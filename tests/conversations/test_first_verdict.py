"""A pull request from its opening to its merge."""

import pytest

from tests.conversations.test_feedback import read_comments
from tests.world.changes import ISSUE, ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT, STUB, STUB_LINES
from tests.world.replies import accept, cannot_tell, reject
from tests.world.world import World


def test_stub_is_rejected_at_its_line_and_solution_is_merged(world: World) -> None:
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(files=STUB, body=f"Closes #{issue.number}")

    assert (pull.check.status, pull.check.conclusion) == ("completed", "failure")
    assert "half finished at upload.py:" in pull.check.title
    [pointer] = pull.verdict["evidence"]
    assert (pointer["path"], pointer["line"] in STUB_LINES) == ("upload.py", True)
    [note] = [annotation for annotation in pull.check_run["annotations"] if annotation["path"] == "upload.py"]
    assert (note["start_line"], note["annotation_level"]) == (pointer["line"], "failure")
    assert world.model.requests == []
    refused = world.alice.merge(pull)
    assert (refused.is_merged, refused.message) == (False, 'Required status check "Assay" is failing.')

    world.push_and_judge(pull, RETRY, accept(RETRY_AT))

    assert pull.check == ("completed", "success", "Accepted: solves what the issue asks for")
    assert "for _ in range(3):" in world.model.requests[0].text
    assert world.alice.merge(pull).is_merged


def test_reject_names_category_line_and_next_step(world: World) -> None:
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(
        reject(
            "tests_pass_but_wrong",
            RETRY_AT,
            concern="`upload` tries again without a pause.",
            next_step="Wait between the tries.",
        ),
        body=f"Closes #{issue.number}",
    )

    assert pull.check == ("completed", "failure", "Rejected: tests pass but wrong at upload.py:5")
    assert "Wait between the tries." in pull.text
    assert pull.verdict["category"] == "tests_pass_but_wrong"
    assert pull.verdict["judge_kind"] == "hybrid"
    assert float(pull.verdict["judge_cost_usd"]) > 0


def test_check_run_says_judging_while_the_model_replies(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))

    assert pull.check == ("in_progress", None, "Judging")
    assert world.alice.merge(pull).message == 'Required status check "Assay" is in progress.'
    world.wait_after(held_reply.release())
    assert pull.check.conclusion == "success"
    assert pull.checks_of(pull.head) == [pull.check]


def test_documentation_is_accepted_without_a_model(world: World) -> None:
    pull = world.open_and_judge(files=ONLY_DOCUMENTATION, title="Document how uploads work", body="Adds a sentence.")

    assert pull.check.conclusion == "success"
    assert (pull.verdict["judge_kind"], pull.verdict["judge_cost_usd"]) == ("heuristic", "0")
    assert world.model.requests == []


@pytest.mark.slow
def test_empty_change_is_an_acceptance_gap(world: World) -> None:
    issue = world.alice.write_issue(*ISSUE)
    pull = world.agent.open_pull_request(RETRY, body=f"Closes #{issue.number}", draft=True)
    world.agent.push(pull, {**PROJECT, "tests/test_retry.py": None}, "Undo all of it")
    world.wait_after(world.agent.mark_ready(pull))

    assert (pull.check.conclusion, pull.verdict["category"]) == ("failure", "acceptance_gap")
    assert world.model.requests == []


def test_cannot_tell_blocks_and_asks_for_a_person(world: World) -> None:
    pull = world.open_and_judge(cannot_tell(next_step="Try it against the staging server."))

    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "needs_human")
    assert "Try it against the staging server." in pull.text
    assert not world.alice.merge(pull).is_merged


@pytest.mark.slow
def test_prompt_contains_the_earlier_concern(world: World) -> None:
    pull = world.open_and_judge(reject("weak_test", "tests/test_retry.py:5", concern="No test of `upload` sees a 503."))
    world.model.reply_with(accept(RETRY_AT))
    stronger = RETRY["tests/test_retry.py"] + "\n\ndef test_three_times():\n    assert upload(b'y') == 200\n"
    world.push_and_judge(pull, {"tests/test_retry.py": stronger})

    assert "No test of `upload` sees a 503." in world.model.requests[1].text
    assert pull.check.conclusion == "success"


def test_criteria_of_the_linked_issue_are_judged_one_by_one(world: World) -> None:
    issue = world.alice.write_issue("Retry", "## Acceptance criteria\n\n- Sent three times\n- Never on 404\n")
    pull = world.open_and_judge(accept(RETRY_AT, criteria=2), body=f"Closes #{issue.number}")

    assert [criterion["id"] for criterion in pull.verdict["criteria"]] == ["AC1", "AC2"]
    assert "Never on 404" in world.model.requests[0].text
    assert "Never on 404" in pull.text


def test_fixing_an_unreadable_case_uses_no_round(world: World) -> None:
    pull = world.open_and_judge(
        reject("weak_test", RETRY_AT), body="```assay\nsummary: Retries\nac_coverage: AC1\n```\n"
    )
    [comment] = read_comments(world)
    assert "**The author's case could not be read:** Case refused at ac" in comment
    assert "(line 2 of the block)" in comment
    assert pull.verdict["case_error"].startswith("Case refused at ac_coverage (line 2 of the block): expected")
    assert (pull.verdict["round"], pull.verdict["decision"]) == (1, "reject")

    world.model.reply_with(reject("weak_test", RETRY_AT))
    pull_body = "```assay\nsummary: Retries\nac_coverage: [AC1 -> upload.py]\n```\n"
    world.wait_after(world.agent.edit(pull, body=pull_body))
    [comment] = read_comments(world)
    assert "could not be read" not in comment
    assert (pull.verdict["case_error"], pull.verdict["round"]) == (None, 1)
    assert len(world.model.requests) == 2


def test_case_reaches_the_model_and_its_claims_are_checked(world: World) -> None:
    issue = world.alice.write_issue(*ISSUE)
    world.model.reply_with(accept(RETRY_AT))
    case = (
        "summary: The upload is tried three times\n"
        "ac_coverage:\n"
        "  - criterion: AC1\n"
        "    addressed_by: upload.py:upload\n"
        "    evidence: upload.py:1\n"
    )
    pull = world.open_and_judge(body=f"Closes #{issue.number}\n\n```assay\n{case}```\n")

    assert "The upload is tried three times" in world.model.requests[0].text
    assert "Case refused" not in pull.text
    assert [claim["status"] for claim in pull.verdict["claims"] if "upload.py:upload" in claim["claim"]] == ["verified"]
