"""By what was judged, as hashes."""

from pathlib import Path
from typing import Final

from worker.domain.verdict.law import digest_of, law_of, weighing_law_of
from worker.judge.rubric import load_ci_check_rubric, load_rubric, read_rubric

SHIPPED: Final = Path(__file__).resolve().parents[4] / "rubrics" / "default.yml"


def test_how_a_rubric_is_written_does_not_change_its_hash() -> None:
    text = SHIPPED.read_text()
    assert digest_of(read_rubric(f"# a comment\n\n{text}\n")) == digest_of(read_rubric(text))


def test_what_a_rubric_says_changes_its_hash() -> None:
    rubric = load_rubric()
    assert digest_of(rubric.model_copy(update={"escalation_threshold": 0.1})) != digest_of(rubric)


def test_rubric_prompt_and_judges_each_make_another_law() -> None:
    rubric = load_rubric()
    laws = {
        law_of(rubric, "p", "j"),
        law_of(rubric, "q", "j"),
        law_of(rubric, "p", "k"),
        law_of(rubric.model_copy(update={"version": "x"}), "p", "j"),
    }
    assert len(laws) == 4
    assert law_of(rubric, "p", "j") in laws


def test_weights_and_the_law_of_what_they_weigh_each_make_another_law() -> None:
    weights = load_ci_check_rubric()
    laws = {
        weighing_law_of(weights, "p"),
        weighing_law_of(weights, "q"),
        weighing_law_of(weights.model_copy(update={"passed": 0.9}), "p"),
        law_of(load_rubric(), "p", "j"),
    }
    assert len(laws) == 4
    assert weighing_law_of(weights, "p") in laws
