"""What `assay rubric` says, word for word."""

from worker.domain.ids import EvalId
from worker.domain.value import replace
from worker.evaluation.rubric_comparison import ComparedChange, RubricOpinion
from worker.evaluation.texts.rubric import (
    RubricDifferences,
    ShareWithInterval,
    StrengthAgreement,
    differences_text,
    promotion_text,
    rubric_ok_text,
)
from worker.judge.rubric import load_rubric
from worker.publishing.texts.columns import TerminalPage

OLD = RubricOpinion("accept", "accept", 0.9, asks=False)
NEW = RubricOpinion(
    "reject weak_test", "reject", 0.1, asks=False, places=("tests/test_a.py:3",), concern="It asserts nothing."
)
OPEN = RubricOpinion("abstain unproven", "abstain", 0.5, asks=True)
NOTHING = RubricDifferences("default 1", "default 2", 0, 0, 0, (), (), 0, ())


def test_nothing_to_compare_is_said() -> None:
    assert differences_text(NOTHING, TerminalPage(80)) == (
        "0 recorded changes by default 1 and by default 2.\n"
        "0 by verdicts on record of the same model, 0 by code alone, at $0.\n"
        "0 decided otherwise.\n"
        "0 where only one of them asks a model.\n"
        "0 decided alike with another score.\n"
        "Agreement with what people did:\n"
    )


def test_what_comes_out_otherwise_stands_with_its_place_and_what_came_of_it() -> None:
    changed = ComparedChange("acme/widgets#1", EvalId("e1"), OLD, NEW, "haiku", ("merged", "reverted"))
    asked = ComparedChange("acme/widgets#2", EvalId("e2"), OPEN, OPEN._replace(asks=False), None, ())
    quiet = ComparedChange("acme/widgets#3", EvalId("e3"), OPEN, OLD, None, ())
    both = StrengthAgreement("explicit", ShareWithInterval(0, 0, None), ShareWithInterval(3, 4, (0.3, 0.954)))
    one = replace(
        NOTHING, compared=9, by_record=4, left_out=2, unread=1, changes=(changed, quiet), asked=(asked,), moved=3,
        agreement=(both,),
    )  # fmt: skip
    assert differences_text(one, TerminalPage(80)) == (
        "9 recorded changes by default 1 and by default 2.\n"
        "4 by verdicts on record of the same model, 5 by code alone, at $0.\n"
        "2 are left out: the dossier is not kept any more (ASSAY_RETENTION_DAYS).\n"
        "1 events on the stream can't be read, and were left out.\n"
        "2 decided otherwise:\n"
        "  acme/widgets#1  accept -> reject weak_test  e1  (merged, reverted)\n"
        "    reject weak_test at tests/test_a.py:3\n"
        "      It asserts nothing.\n"
        "  acme/widgets#3  abstain unproven -> accept  e3\n"
        "1 where only one of them asks a model:\n"
        "  acme/widgets#2  asked -> not asked  e2\n"
        "3 decided alike with another score.\n"
        "Agreement with what people did:\n"
        "  explicit: default 1 nothing to go by; default 2 3 of 4 (95 %: 30 to 95 %)\n"
    )


def test_a_rubric_that_can_be_read_is_summed_up_and_a_refusal_follows() -> None:
    rubric = load_rubric().model_copy(update={"id": "x", "version": "7", "signals": {"a": 0.5}})
    line = f'x.yml: "x" version 7, {len(rubric.criteria)} criteria, 1 signals, a model is asked below 0.7.\n'
    assert rubric_ok_text(rubric, "x.yml", None) == line
    assert rubric_ok_text(rubric, "x.yml", "Raise it.") == f"{line}Raise it.\n"


def test_a_signal_that_a_person_promotes_is_named_with_its_installation() -> None:
    said = "stub_body may reject alone again in installation 7. Its rejects are counted from now on.\n"
    assert promotion_text("stub_body", 7, was_demoted=True) == said
    assert promotion_text("stub_body", 7, was_demoted=False).startswith("stub_body was no suspicion in installation 7.")
