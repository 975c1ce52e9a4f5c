"""What `assay evaluate` says, word for word."""

from decimal import Decimal

from worker.domain.value import replace
from worker.evaluation.texts.rejudge import RejudgeForecast, RejudgeSummary, VerdictChange, forecast_text, summary_text
from worker.publishing.texts.columns import TerminalPage

NOTHING = RejudgeSummary(0, 0, 0, 0, 0, 0, {}, (), Decimal(0), 0, "default 2")
PLANNED = RejudgeForecast(5, 3, 2, 3, Decimal("0.0123"), Decimal("0.2"), has_model=True, law="default 2 and claude-x")


def test_an_empty_window_is_said() -> None:
    assert summary_text(NOTHING, TerminalPage(80)) == (
        "0 of 0 subjects judged anew by default 2.\nCost: $0.00.\n0 decided otherwise.\n"
    )


def test_everything_that_was_not_judged_is_said() -> None:
    one = replace(
        NOTHING, subjects=15, answered=5, earlier=2, gone=1, failed=2, capped=3, left=4, unread=1, unpriced=1,
        decisions={"accept": 3, "reject weak_test": 2}, cost_usd=Decimal("0.01234"),
        stopped="The limit of $0.01 is reached. Give a larger --max-usd to go on.",
        changes=(
            VerdictChange("acme/widgets#1", "accept", "reject weak_test", "e1", "It asserts nothing.", ("tests/test_a.py:3",)),
            VerdictChange("acme/widgets#2", "reject weak_test", "accept", "e2", "All of it is there."),
        ),
    )  # fmt: skip
    assert summary_text(one, TerminalPage(80)) == (
        "The limit of $0.01 is reached. Give a larger --max-usd to go on.\n"
        "5 of 15 subjects judged anew by default 2, 2 of them before this run.\n"
        "Now: 3 accept, 2 reject weak_test.\n"
        "1 can't be: the dossier is not kept any more (ASSAY_RETENTION_DAYS).\n"
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


def test_what_a_run_would_cost_is_said() -> None:
    assert forecast_text(PLANNED) == (
        "5 subjects in this window, 2 of them judged anew by default 2 and claude-x already.\n"
        "3 would be judged; nothing was.\n"
        "About 2 need the model (judged by 3 of them): about $0.01, at the very most $0.20.\n"
    )


def test_where_no_model_is_asked_or_none_has_a_price_that_is_said() -> None:
    assert forecast_text(replace(PLANNED, has_model=False)).endswith("Cost: $0.00, no model would be asked.\n")
    for unknown in (replace(PLANNED, expected_usd=None), replace(PLANNED, most_usd=None)):
        assert forecast_text(unknown).endswith(
            "Cost: not known, either no dossier is kept or the model has no price in the table.\n"
        )


def test_how_scores_moved_and_what_is_not_kept_is_said() -> None:
    one = replace(NOTHING, subjects=3, answered=2, mean_before=0.754, mean_now=0.5, rescored=1, gone=1, missing="lost")
    assert summary_text(one, TerminalPage(80)) == (
        "2 of 3 subjects judged anew by default 2.\n"
        "Mean score: 0.75 before, 0.50 now; 1 scored otherwise.\n"
        "1 can't be: lost.\n"
        "Cost: $0.00.\n"
        "0 decided otherwise.\n"
    )
    assert "Mean" not in summary_text(replace(one, mean_now=None), TerminalPage(80))
