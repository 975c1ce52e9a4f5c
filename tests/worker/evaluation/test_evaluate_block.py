import pytest
from pydantic import ValidationError

from worker.domain.dossier.evaluate_block import CreditMap, EvaluateBlock, PartialCredit
from worker.evaluation.evaluate_block import count_passed, evaluate_response

COUNTED = PartialCredit(map=CreditMap.LINEAR)


def test_a_row_that_asks_for_nothing_keeps_the_score() -> None:
    result = evaluate_response(0.8, EvaluateBlock(), "Retries uploads.")
    assert result.score == 0.8
    assert result.signals == {"evaluate_base_score": 0.8, "evaluate_score": 0.8}


def test_an_expected_substring_is_averaged_with_the_base() -> None:
    asked = EvaluateBlock(expect_substring_in_final_response="backoff", final_response="Added backoff.")
    assert evaluate_response(0.5, asked, None).score == 0.75
    assert evaluate_response(0.5, asked.model_copy(update={"final_response": "Done."}), None).score == 0.25


def test_a_response_grounded_in_what_is_real_keeps_a_full_score() -> None:
    asked = EvaluateBlock(grounding_tokens=("Engine", "policy="), forbidden_grounding=("Chain",))
    assert evaluate_response(1.0, asked, "The Engine takes policy=.").score == 1.0


def test_a_response_that_misses_all_and_makes_names_up_is_halved() -> None:
    asked = EvaluateBlock(
        grounding_tokens=("Engine",), forbidden_grounding=("Chain",), final_response="The Chain does it."
    )
    result = evaluate_response(1.0, asked, "the summary is not read: Engine")
    assert result.score == 0.5
    assert result.signals["workload_grounding_score"] == 0.0
    assert result.signals["grounding_tokens_missing"] == "Engine"
    assert result.signals["forbidden_grounding_present"] == "Chain"


def test_forbidden_names_alone_count_too() -> None:
    asked = EvaluateBlock(forbidden_grounding=("Chain", "Selector"))
    assert evaluate_response(1.0, asked, "The Chain does it.").score == 0.75


@pytest.mark.parametrize(
    ("by", "said", "score"),
    [
        (CreditMap.LINEAR, "12/16 cases pass", 0.875),
        (CreditMap.STEPPED, "12/16 cases pass", 0.75),
        (CreditMap.STEPPED, "Tests: 16 of 16", 1.0),
        (CreditMap.STEPPED, "3 passed, 13 failed", 0.5),
        (CreditMap.LINEAR, "nobody counted", 0.5),
    ],
)
def test_a_part_of_the_tests_earns_a_part_of_the_score(by: CreditMap, said: str, score: float) -> None:
    asked = EvaluateBlock(partial_credit=PartialCredit(map=by), final_response=said)
    assert evaluate_response(1.0, asked, None).score == score


def test_credit_that_is_switched_off_changes_nothing() -> None:
    assert evaluate_response(0.6, EvaluateBlock(partial_credit=PartialCredit(enabled=False)), "1/2 tests").score == 0.6


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
def test_the_last_count_of_tests_in_a_text_is_read(text: str, counts: tuple[int, int] | None) -> None:
    assert count_passed(text) == counts


def test_a_refusal_at_the_start_halves_the_score() -> None:
    result = evaluate_response(0.8, EvaluateBlock(final_response="I'm unable to help with this."), None)
    assert result.score == 0.4
    assert result.signals["workload_assistant_refusal_detected"] is True


@pytest.mark.parametrize(
    "said",
    [
        "I cannot help with that.",
        "I can't do this.",
        "I can\u2019t do this.",
        "  Sorry, but I won't write that.",
        "I'm sorry, I am not able to continue.",
        "Unfortunately we are unable to finish.",
        "Thanks for asking. As an AI, there is nothing to do.",
        "I have to decline.",
        "I\u2019m afraid I can\u2019t do that.",
    ],
)
def test_a_refusal_is_known_in_its_usual_words(said: str) -> None:
    assert evaluate_response(1.0, EvaluateBlock(final_response=said), None).score == 0.5


@pytest.mark.parametrize(
    "said",
    [
        "Retries the upload, so that we cannot lose data.",
        "Fixes the crash when I cannot connect.",
        "The server says that it can't. Now it can.",
        "I can now upload.",
    ],
)
def test_what_a_change_is_about_is_no_refusal(said: str) -> None:
    assert evaluate_response(1.0, EvaluateBlock(final_response=said), None).score == 1.0


def test_a_refusal_that_is_quoted_later_costs_nothing() -> None:
    assert evaluate_response(0.8, EvaluateBlock(), "x" * 160 + " I cannot help").score == 0.8


def test_an_empty_response_costs_more_than_a_refusal() -> None:
    result = evaluate_response(0.5, EvaluateBlock(), "  \n")
    assert (result.score, result.signals["workload_empty_assistant_response"]) == (0.2, True)


def test_a_response_that_nobody_recorded_is_not_punished() -> None:
    assert evaluate_response(0.5, EvaluateBlock(), None).score == 0.5


def test_an_unknown_field_is_refused_by_its_path() -> None:
    with pytest.raises(ValidationError, match=r"partial_credit\.ratio"):
        EvaluateBlock.model_validate({"partial_credit": {"ratio": 1}})


def test_a_block_as_metis_writes_it_is_read() -> None:
    said = {"rubric": "heuristic", "llm_judge_model": "anthropic:a", "weight_per_turn": 1.0, "grounding_tokens": ["x"]}
    assert EvaluateBlock.model_validate(said).grounding_tokens == ("x",)
