"""Judged rows, bench files and plans for the tests of `assay bench`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from tests.worker.judge.samples import abstain_verdict, accept_verdict, reject_verdict
from tests.worker.signals.samples import diff_of, dossier_of
from worker.domain.dossier import Dossier
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.evaluation.bench.rows import ExpectedVerdict, RowOutcome, RowTraits
from worker.evaluation.bench.runner import RunPlan
from worker.settings import ModelAccess
from worker.signals.signal import SignalScope

PLAN = RunPlan(
    tier="heuristic",
    rubric="sha256:r",
    prompt="1",
    judges="threshold=0 model=None",
    assay="0.1.0",
    code="sha256:c",
    files=(("rows.jsonl", "sha256:f"),),
)
UNREACHABLE_MODEL = ModelAccess(SecretStr("k"), "http://127.0.0.1:9", "claude-haiku-5-5", 1, 1, 0, 4000)
ACCEPT, REJECT, ABSTAIN = accept_verdict(), reject_verdict(), abstain_verdict()
GOOD: dict[str, Any] = {"decision": "accept"}
MERGED: dict[str, Any] = {"outcome": "merged"}
WEAK_TEST: dict[str, Any] = {"decision": "reject", "category": "weak_test"}


def finding(signal: str = "test_without_assertion", category: str = "weak_test", **changes: Any) -> dict[str, Any]:
    return {"signal": signal, "category": category, "fact": False, "path": "tests/test_a.py", "line": 10, **changes}


def traits(name: str = "a", **changes: Any) -> RowTraits:
    fields: dict[str, Any] = {
        "id": name,
        "file": "rows.jsonl",
        "repository": "acme/widgets",
        "language": "python",
        "whole_files": True,
        "bytes": 1000,
        "lines": 10,
        "ms": 5.0,
        "looks": (SignalScope.ANYTHING, SignalScope.TESTS),
    }
    return RowTraits.model_validate({**fields, **changes})


def row_outcome(
    verdict: Accept | Reject | Abstain, expect: Mapping[str, Any] | None = None, name: str = "a", **more: Any
) -> RowOutcome:
    return RowOutcome(ExpectedVerdict.model_validate(expect or {}), traits(name, **more), verdict)


def scored_outcome(score: float, *, good: bool, name: str, **more: Any) -> RowOutcome:
    return row_outcome(abstain_verdict(score=score), GOOD if good else WEAK_TEST, name, **more)


STUB = "def load(path):\n    raise NotImplementedError\n"
DONE = "def load(path):\n    return open(path).read()\n"
BROKEN_DIFF = diff_of({}, {"a.py": DONE}).replace("@@ -0,0 +1,2 @@", "@@ -0,0 +1,9 @@")


def change_dossier(text: str = DONE, **more: Any) -> Dossier:
    return dossier_of({}, {"load.py": text}, **more)


def row(name: str, text: str = DONE, **more: Any) -> dict[str, Any]:
    return {"id": name, "dossier": change_dossier(text).model_dump(mode="json", exclude_unset=True), **more}


def write_rows(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path
