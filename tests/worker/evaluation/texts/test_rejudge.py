"""What `assay evaluate` and `assay rubric` print."""

from dataclasses import replace
from decimal import Decimal

from worker.domain.ids import EvalId
from worker.evaluation.rubric_diff import (
    ComparedChange,
    RubricDifferences,
    RubricOpinion,
    ShareWithInterval,
    StrengthAgreement,
)
from worker.evaluation.texts.rejudge import (
    RejudgeForecast,
    RejudgeSummary,
    VerdictChange,
    differences_text,
    forecast_text,
    promotion_text,
    rubric_ok_text,
    summary_text,
)
from worker.judge.rubric import load_rubric
from worker.publishing.texts.terminal import TerminalPage

NOTHING = RejudgeSummary(0, 0, 0, 0, 0, 0, {}, (), Decimal(0), 0, "default 2")
PLANNED = RejudgeForecast(5, 3, 2, 3, Decimal("0.0123"), Decimal("0.2"), has_model=True, law="default 2 and claude-x")


def test_summary_of_an_empty_window() -> None:
    assert summary_text(NOTHING, TerminalPage(80)) == (
        "0 of 0 subjects re-evaluated by default 2.\nCost: $0.00.\n0 decided otherwise.\n"
    )


def test_summary_lists_all_counts_and_changes() -> None:
    summary = replace(
        NOTHING, subjects=15, answered=5, earlier=2, gone=1, failed=2, capped=3, left=4, unread=1, unpriced=1,
        decisions={"accept": 3, "reject weak_test": 2}, cost_usd=Decimal("0.01234"),
        stopped="The limit of $0.01 is reached. Give a larger --max-usd to go on.",
        changes=(
            VerdictChange("acme/widgets#1", "accept", "reject weak_test", "e1", "It asserts nothing.", ("tests/test_a.py:3",)),
            VerdictChange("acme/widgets#2", "reject weak_test", "accept", "e2", "All of it is there."),
        ),
    )  # fmt: skip
    assert summary_text(summary, TerminalPage(80)) == (
        "The limit of $0.01 is reached. Give a larger --max-usd to go on.\n"
        "5 of 15 subjects re-evaluated by default 2, 2 of them before this run.\n"
        "Now: 3 accept, 2 reject weak_test.\n"
        "1 can't be: the dossier is no longer kept (ASSAY_RETENTION_DAYS).\n"
        "2 failed; `assay work` has logged why, and the same command tries them again.\n"
        "3 were not asked: a cap is reached. The same command asks again, once there is room.\n"
        "4 are left; the same command goes on from there.\n"
        "1 event on the stream can't be read, and were left out.\n"
        "Cost: $0.0123, and 1 judging whose price is not known.\n"
        "2 decided otherwise:\n"
        "  acme/widgets#1  accept -> reject weak_test  e1\n"
        "    tests/test_a.py:3\n"
        "    It asserts nothing.\n"
        "  acme/widgets#2  reject weak_test -> accept  e2\n"
        "    All of it is there.\n"
    )


def test_forecast_of_a_run() -> None:
    assert forecast_text(PLANNED) == (
        "5 subjects in this window, 2 of them re-evaluated by default 2 and claude-x already.\n"
        "3 would be judged; nothing was.\n"
        "About 2 need the model (judged by 3 of them): about $0.01, at the very most $0.20.\n"
    )


def test_forecast_without_a_model_or_a_price() -> None:
    assert forecast_text(replace(PLANNED, has_model=False)).endswith("Cost: $0.00, no model would be asked.\n")
    for unknown in (replace(PLANNED, expected_usd=None), replace(PLANNED, most_usd=None)):
        assert forecast_text(unknown).endswith(
            "Cost: not known, either no dossier is kept or the model has no price in the table.\n"
        )


def test_summary_of_rescoring_has_mean_scores() -> None:
    summary = replace(NOTHING, subjects=3, answered=2, mean_before=0.754, mean_now=0.5, rescored=1, gone=1, missing="x")
    assert summary_text(summary, TerminalPage(80)) == (
        "2 of 3 subjects re-evaluated by default 2.\n"
        "Mean score: 0.75 before, 0.50 now; 1 scored otherwise.\n"
        "1 can't be: x.\n"
        "Cost: $0.00.\n"
        "0 decided otherwise.\n"
    )
    assert "Mean" not in summary_text(replace(summary, mean_now=None), TerminalPage(80))


OLD = RubricOpinion("accept", "accept", 0.9, asks=False)
NEW = RubricOpinion(
    "reject weak_test", "reject", 0.1, asks=False, places=("tests/test_a.py:3",), concern="It asserts nothing."
)
OPEN = RubricOpinion("abstain unproven", "abstain", 0.5, asks=True)
NO_DIFFERENCE = RubricDifferences("default 1", "default 2", 0, 0, 0, (), (), 0, ())


def test_differences_of_no_changes() -> None:
    assert differences_text(NO_DIFFERENCE, TerminalPage(80)) == (
        "0 recorded changes by default 1 and by default 2.\n"
        "0 by verdicts on record of the same model, 0 by code alone, at $0.\n"
        "0 decided otherwise.\n"
        "0 where only one of them asks a model.\n"
        "0 decided alike with another score.\n"
        "Agreement with what people did:\n"
    )


def test_differences_have_locations_and_outcomes() -> None:
    changed = ComparedChange("acme/widgets#1", EvalId("e1"), OLD, NEW, "haiku", ("merged", "reverted"))
    asked = ComparedChange("acme/widgets#2", EvalId("e2"), OPEN, OPEN._replace(asks=False), None, ())
    quiet = ComparedChange("acme/widgets#3", EvalId("e3"), OPEN, OLD, None, ())
    both = StrengthAgreement("explicit", ShareWithInterval(0, 0, None), ShareWithInterval(3, 4, (0.3, 0.954)))
    differences = replace(
        NO_DIFFERENCE, compared=9, by_record=4, left_out=2, unread=1, changes=(changed, quiet), asked=(asked,), moved=3,
        agreement=(both,),
    )  # fmt: skip
    assert differences_text(differences, TerminalPage(80)) == (
        "9 recorded changes by default 1 and by default 2.\n"
        "4 by verdicts on record of the same model, 5 by code alone, at $0.\n"
        "2 are left out: the dossier is no longer kept (ASSAY_RETENTION_DAYS).\n"
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


def test_rubric_summary_is_followed_by_a_refusal() -> None:
    rubric = load_rubric().model_copy(update={"id": "x", "version": "7", "signals": {"a": 0.5}})
    line = f'x.yml: "x" version 7, {len(rubric.criteria)} criteria, 1 signals, a model is asked below 0.7.\n'
    assert rubric_ok_text(rubric, "x.yml", None) == line
    assert rubric_ok_text(rubric, "x.yml", "Raise it.") == f"{line}Raise it.\n"


def test_promotion_names_the_signal_and_installation() -> None:
    expected = "stub_body may reject alone again in installation 7. Its rejects are counted from now on.\n"
    assert promotion_text("stub_body", 7, was_demoted=True) == expected
    assert promotion_text("stub_body", 7, was_demoted=False).startswith("stub_body was no suspicion in installation 7.")
