"""The scopes of a change, and the signals that run on it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.worker.signals.samples import dossier_of, plain_dossier
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import CodeChange
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, find_scopes, signal


@pytest.mark.parametrize(
    ("path", "more", "scopes"),
    [
        ("src/load.py", {}, {SignalScope.PRODUCTION}),
        ("tests/test_load.py", {}, {SignalScope.TESTS}),
        ("src/load.rs", {}, {SignalScope.PRODUCTION, SignalScope.TESTS}),
        (".github/workflows/ci.yml", {}, {SignalScope.CONFIGURATION}),
        ("pyproject.toml", {}, {SignalScope.CONFIGURATION}),
        ("docs/a.md", {}, set[SignalScope]()),
        ("a.md", {"criteria": [{"id": "AC1", "text": "a"}]}, {SignalScope.ISSUE}),
        ("a.md", {"criteria": [{"id": "AC1", "text": "a", "inferred": True}]}, set[SignalScope]()),
        ("a.md", {"case": {"summary": "Done."}}, {SignalScope.CASE}),
        ("a.md", {"guidance": [{"path": "AGENTS.md", "text": "Be kind."}]}, {SignalScope.RULES}),
        ("", {}, set[SignalScope]()),
    ],
)
def test_change_has_the_scopes_of_its_content(path: str, more: dict[str, Any], scopes: set[SignalScope]) -> None:
    change = CodeChange(dossier_of({}, {path: "a\n"} if path else {}, **more))
    assert find_scopes(change) == {SignalScope.ANYTHING, *scopes}


def test_tests_signal_runs_only_on_changes_of_tests() -> None:
    @signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
    def always(_: CodeChange) -> Iterator[SignalMatch]:
        yield SignalMatch("always")

    fired = [
        list(always.findings(CodeChange(dossier_of({}, {path: "a\n"})))) for path in ("docs/a.md", "tests/test_a.py")
    ]
    assert [len(findings) for findings in fired] == [0, 1]


RENAMED = """diff --git a/pkg/total_test.go b/pkg/total_checks.go
similarity index 80%
rename from pkg/total_test.go
rename to pkg/total_checks.go
--- a/pkg/total_test.go
+++ b/pkg/total_checks.go
@@ -1,5 +1,5 @@
 package pkg

 func TestTotal(t *testing.T) {
-\tcheck(t, 1)
+\tcheck(t, 2)
 }
"""


def test_test_file_renamed_out_of_tests_keeps_its_scope() -> None:
    change = CodeChange(plain_dossier(RENAMED))
    (hidden,) = (signal for signal in SIGNALS if signal.name == "test_hidden")
    (finding,) = hidden.findings(change)
    assert (finding.path, finding.fact) == ("pkg/total_checks.go", True)
    assert finding.note == "no test runner collects this file, as it did pkg/total_test.go"
