"""By what was judged, as hashes."""

from pathlib import Path
from typing import Final

from worker.domain.verdict.judge_digest import judge_digest, rubric_digest, scoring_digest
from worker.judge.rubric import load_ci_check_rubric, load_rubric, read_rubric

SHIPPED: Final = Path(__file__).resolve().parents[4] / "rubrics" / "default.yml"


def test_how_a_rubric_is_written_does_not_change_its_hash() -> None:
    text = SHIPPED.read_text()
    assert rubric_digest(read_rubric(f"# a comment\n\n{text}\n")) == rubric_digest(read_rubric(text))


def test_what_a_rubric_says_changes_its_hash() -> None:
    rubric = load_rubric()
    assert rubric_digest(rubric.model_copy(update={"escalation_threshold": 0.1})) != rubric_digest(rubric)


def test_rubric_prompt_and_judges_each_make_another_law() -> None:
    rubric = load_rubric()
    laws = {
        judge_digest(rubric, "p", "j"),
        judge_digest(rubric, "q", "j"),
        judge_digest(rubric, "p", "k"),
        judge_digest(rubric.model_copy(update={"version": "x"}), "p", "j"),
    }
    assert len(laws) == 4
    assert judge_digest(rubric, "p", "j") in laws


def test_weights_and_the_law_of_what_they_weigh_each_make_another_law() -> None:
    weights = load_ci_check_rubric()
    laws = {
        scoring_digest(weights, "p"),
        scoring_digest(weights, "q"),
        scoring_digest(weights.model_copy(update={"passed": 0.9}), "p"),
        judge_digest(load_rubric(), "p", "j"),
    }
    assert len(laws) == 4
    assert scoring_digest(weights, "p") in laws
