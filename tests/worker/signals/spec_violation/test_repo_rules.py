"""Paths in rules, and a rule about a file that is only renamed."""

import pytest

from tests.worker.signals.samples import plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.spec_violation.repo_rules import rule_perhaps_broken
from worker.signals.spec_violation.violation import is_path_match


@pytest.mark.parametrize(
    ("written", "path", "is_meant"),
    [
        ("docs/", "docs/a.md", True),
        ("docs/", "x/docs/a.md", True),
        ("docs/", "docsy/a.md", False),
        ("./docs/", "x/docs/a.md", False),
        ("a/b", "a/b/c", True),
        ("a/b", "x/a/b", False),
        ("docs/v*/", "docs/v1/a.md", True),
        ("docs/v*/", "docs/edge/a.md", False),
        ("src/**/gen/", "src/a/b/gen/c", True),
        ("src/**", "src/a/b", True),
        ("a?.py", "ab.py", True),
        ("*.lock", "x/yarn.lock", True),
    ],
)
def test_rule_path_matches_changed_path(written: str, path: str, is_meant: bool) -> None:  # noqa: FBT001 - a table
    assert is_path_match(written, path) is is_meant


def test_rule_violation_of_pure_rename_names_the_path() -> None:
    diff = "diff --git a/docs/a.md b/x/a.md\nsimilarity index 100%\nrename from docs/a.md\nrename to x/a.md\n"
    change = CodeChange(plain_dossier(diff, guidance=[{"path": "AGENTS.md", "text": "- Leave `docs/` alone."}]))
    assert [(match.path, match.line) for match in rule_perhaps_broken.detect(change)] == [("x/a.md", None)]
