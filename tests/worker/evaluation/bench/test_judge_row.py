"""One row judged, and what its change gives the signals to look at."""

from typing import Any

import pytest

from tests.worker.evaluation.bench.made import BROKEN_DIFF, STUB, change, row
from tests.worker.judge.making import bench
from tests.worker.signals.made import plain_dossier
from worker.clock import SystemClock
from worker.domain.dossier import Dossier
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.bench.judge_row import OTHER_LANGUAGE, judge_row
from worker.evaluation.bench.rows import BenchRow
from worker.judge.context import JudgeContext


def context() -> JudgeContext:
    return bench(threshold=0.0)


def row_of(**fields: object) -> BenchRow:
    return BenchRow.model_validate({**row("a", STUB), **fields})


def test_a_row_is_judged_as_its_dossier_would_be() -> None:
    verdict, _ = judge_row(row_of(), "rows.jsonl", context(), SystemClock())
    assert (verdict.decision, verdict.category, verdict.subject.kind) == (
        "reject",
        "half_finished",
        SubjectKind.BENCHMARK,
    )
    assert "evaluate_score" not in verdict.signals


@pytest.mark.parametrize(
    ("dossier", "block"),
    [
        (change(STUB), {"grounding_tokens": ["Engine"], "final_response": "The Engine."}),
        (change(STUB, case={"summary": "The Engine."}), {"grounding_tokens": ["Engine"]}),
    ],
    ids=["a recorded response", "the summary of the case"],
)
def test_an_evaluate_block_adds_signals_and_leaves_the_verdict(dossier: Dossier, block: dict[str, Any]) -> None:
    fields = {"dossier": dossier.model_dump(mode="json", exclude_unset=True)}
    plain, _ = judge_row(row_of(**fields), "rows.jsonl", context(), SystemClock())
    verdict, _ = judge_row(row_of(**fields, evaluate=block), "rows.jsonl", context(), SystemClock())
    assert (verdict.score, verdict.decision) == (plain.score, plain.decision)
    assert verdict.signals["workload_grounding_score"] == 1.0
    assert verdict.signals["evaluate_score"] == pytest.approx((plain.score + 1) / 2)


def test_what_the_report_counts_a_row_by_is_kept() -> None:
    _, traits = judge_row(row_of(), "rows.jsonl", context(), SystemClock())
    assert (traits.id, traits.file, traits.repository) == ("a", "rows.jsonl", "acme/widgets")
    assert (traits.language, traits.whole_files, traits.lines) == ("python", True, 2)
    assert traits.bytes == len(row_of().dossier.diff.encode())
    assert set(traits.looks) == {"anything", "production code"}
    assert traits.pointers > 0
    assert traits.pointers_wrong == ()
    assert traits.ms > 0


@pytest.mark.parametrize(
    ("path", "language"), [("a.tsx", "typescript"), ("a.js", "typescript"), ("a.md", OTHER_LANGUAGE)]
)
def test_languages_that_go_together_are_reported_as_one(path: str, language: str) -> None:
    diff = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    dossier = plain_dossier(diff).model_dump(mode="json", exclude_unset=True)
    _, traits = judge_row(row_of(dossier=dossier), "rows.jsonl", context(), SystemClock())
    assert (traits.language, traits.whole_files) == (language, False)


def test_a_diff_that_git_did_not_print_is_judged_too() -> None:
    dossier = plain_dossier(BROKEN_DIFF).model_dump(mode="json", exclude_unset=True)
    verdict, traits = judge_row(row_of(dossier=dossier), "rows.jsonl", context(), SystemClock())
    assert verdict.decision == "abstain"
    assert (traits.language, traits.lines) == (OTHER_LANGUAGE, 0)


def test_a_finding_without_a_place_points_nowhere() -> None:
    dossier = plain_dossier("").model_dump(mode="json", exclude_unset=True)
    verdict, traits = judge_row(row_of(dossier=dossier), "rows.jsonl", context(), SystemClock())
    assert [one.path for one in verdict.findings] == [None]
    assert traits.pointers == len(verdict.evidence) + sum(len(one.evidence) for one in verdict.criteria)
