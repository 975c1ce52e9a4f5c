"""The score of a benchmark's response by its evaluate block."""

from typing import Any

import pytest
from pydantic import ValidationError

from worker.evaluation.evaluate_block import CreditMap, EvaluateBlock, PartialCredit, count_passed, evaluate_response

BACKOFF = {"expect_substring_in_final_response": "backoff"}
ENGINE = {"grounding_tokens": ("Engine",), "forbidden_grounding": ("Chain",)}
UNGROUNDED = {
    "workload_grounding_score": 0.0, "grounding_tokens_missing": "Engine", "forbidden_grounding_present": "Chain",
}  # fmt: skip
LINEAR, STEPPED = PartialCredit(map=CreditMap.LINEAR), PartialCredit(map=CreditMap.STEPPED)


@pytest.mark.parametrize(
    ("base", "asked", "response", "score", "signals"),
    [
        (0.8, {}, "Retries uploads.", 0.8, {"evaluate_base_score": 0.8, "evaluate_score": 0.8}),
        (0.5, BACKOFF, "Added backoff.", 0.75, {"expected_substring_found": True}),
        (0.5, BACKOFF, "Done.", 0.25, {"expected_substring_found": False}),
        (1.0, ENGINE, "The Engine takes policy=.", 1.0, {"workload_grounding_score": 1.0}),
        (1.0, ENGINE, "The Chain does it.", 0.5, UNGROUNDED),
        (1.0, {"forbidden_grounding": ("Chain", "Selector")}, "The Chain does it.", 0.75, {}),
        (1.0, {"partial_credit": LINEAR}, "12/16 cases pass", 0.875, {"partial_credit_ratio": 0.75}),
        (1.0, {"partial_credit": STEPPED}, "12/16 cases pass", 0.75, {}),
        (1.0, {"partial_credit": STEPPED}, "Tests: 16 of 16", 1.0, {}),
        (1.0, {"partial_credit": STEPPED}, "3 passed, 13 failed", 0.5, {}),
        (1.0, {"partial_credit": LINEAR}, "nobody counted", 0.5, {"partial_credit_test_signal_found": False}),
        (0.6, {"partial_credit": PartialCredit(enabled=False)}, "1/2 tests", 0.6, {}),
        (0.8, {}, "I'm unable to help with this.", 0.4, {"workload_assistant_refusal_detected": True}),
        (0.8, {}, "x" * 160 + " I cannot help", 0.8, {}),
        (0.5, {}, "  \n", 0.2, {"workload_empty_assistant_response": True}),
        (0.5, {}, None, 0.5, {}),
    ],
)
def test_score_is_composed_of_the_base_and_the_evaluate_block(
    base: float, asked: dict[str, Any], response: str | None, score: float, signals: dict[str, Any]
) -> None:
    """A refusal that is quoted later or a response that is not recorded lowers no score."""
    for block, summary in (
        (EvaluateBlock(**asked), response),
        (EvaluateBlock(**asked, final_response=response), "the summary is not read: Engine" if response else None),
    ):
        result = evaluate_response(base, block, summary)
        assert result.score == pytest.approx(score)
        assert signals.items() <= result.signals.items()
        assert {"evaluate_base_score": base, "evaluate_score": result.score}.items() <= result.signals.items()


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("first 1/4 tests, at the end 4/4 tests", (4, 4)),
        ("2 errors, 3 passed", (3, 5)),
        ("passed: 7 of 9", (7, 9)),
        ("9 of 7 tests", None),
        ("0 passed", None),
        ("version 3/4", None),
        ("All 12 tests pass.", (12, 12)),
        ("10 tests passed, 2 failed", (10, 12)),
        ("8 succeeded, 2 failed", (8, 10)),
        ("1,200 passed, 300 failed", (1200, 1500)),
        ("before: 3 failed, 9 passed; now: 12 passed", (12, 12)),
        ("2 of 5 checks ran on each push. 40 passed", (40, 40)),
        ("12 of 16 tests passed, 4 failed", (12, 16)),
        ("7 of the 9 tests pass", (7, 9)),
        ("ok. 10 passed; 0 failed\nDoc-tests\nok. 0 passed; 0 failed", (10, 10)),
        ("8 passing\n2 failing", (8, 10)),
        ("the 2 failed requests are tried again", None),
        ("none of the 12 tests pass", None),
        ("not all of the 12 tests pass", None),
    ],
)
def test_count_passed_reads_the_last_test_count(text: str, counts: tuple[int, int] | None) -> None:
    assert count_passed(text) == counts


@pytest.mark.parametrize(
    ("response", "is_refusal"),
    [
        ("I cannot help with that.", True),
        ("I can't do this.", True),
        ("I can\u2019t do this.", True),
        ("  Sorry, but I won't write that.", True),
        ("I'm sorry, I am not able to continue.", True),
        ("Unfortunately we are unable to finish.", True),
        ("Thanks for asking. As an AI, there is nothing to do.", True),
        ("I have to decline.", True),
        ("I\u2019m afraid I can\u2019t do that.", True),
        ("Retries the upload, so that we cannot lose data.", False),
        ("Fixes the crash when I cannot connect.", False),
        ("The server says that it can't. Now it can.", False),
        ("I can now upload.", False),
    ],
)
def test_refusal_is_recognised_in_its_usual_phrases(response: str, *, is_refusal: bool) -> None:
    score = evaluate_response(1.0, EvaluateBlock(final_response=response), None).score
    assert score == (0.5 if is_refusal else 1.0)


def test_unknown_field_is_refused_with_its_path() -> None:
    with pytest.raises(ValidationError, match=r"partial_credit\.ratio"):
        EvaluateBlock.model_validate({"partial_credit": {"ratio": 1}})


def test_metis_evaluate_block_is_accepted() -> None:
    block = {"rubric": "heuristic", "llm_judge_model": "anthropic:a", "weight_per_turn": 1.0, "grounding_tokens": ["x"]}
    assert EvaluateBlock.model_validate(block).grounding_tokens == ("x",)
