"""Strictness that was switched off."""

import pytest

from tests.worker.signals.made import change_of
from worker.domain.verdict.verdict import Side
from worker.signals.tests_pass_but_wrong.strictness import strictness_off

WORKFLOW = ".github/workflows/ci.yml"
OFF = [
    ("scripts/test.sh", "set -e\npytest\n", "pytest\n"),
    ("scripts/test.sh", "set -euo pipefail\npytest\n", "set -u\npytest\n"),
    ("setup.cfg", "filterwarnings =\n    error\n", "filterwarnings =\n    default\n"),
    ("pyproject.toml", 'filterwarnings = ["error"]\n', 'filterwarnings = ["ignore"]\n'),
    (WORKFLOW, "env:\n  RUSTFLAGS: -D warnings\n", "env:\n  RUSTFLAGS: -A warnings\n"),
    (WORKFLOW, "  - run: python -W error -m pytest\n", "  - run: python -m pytest -q\n"),
    ("Makefile", "test:\n\tgo test -race ./...\n", "test:\n\tgo test -v ./...\n"),
    ("Makefile", "CFLAGS = -Wall -Werror\n", "CFLAGS = -Wall\n"),
    ("tsconfig.json", '{\n  "strict": true,\n  "a": 1\n}\n', '{\n  "a": 1\n}\n'),
    ("src/lib.rs", "#![deny(missing_docs)]\nmod a;\n", "mod a;\n"),
    (".eslintrc.json", '  "no-floating-promises": "error",\n', '  "no-floating-promises": "off",\n'),
    ("Cargo.toml", 'unwrap_used = "deny"\n', 'unwrap_used = "allow"\n'),
]
KEPT = [
    ("scripts/test.sh", "set -e\npytest\n", "set -euo pipefail\npytest\n"),
    ("scripts/test.sh", "# set -e\npytest\n", "pytest\n"),
    ("scripts/test.sh", "pytest\n", "pytest -q\n"),
    ("Makefile", "a:\n\tgo test -race ./...\nb:\n\tx\n", "b:\n\tx\na:\n\tgo test -race ./...\n"),
    (".eslintrc.json", '  "semi": "off",\n', '  "semi": "error",\n'),
    (".eslintrc.json", '  "semi": "error",\n', '  "quotes": "off",\n'),
    ("tox.ini", "semi = error\n", "semi = off\n"),
    ("src/a.py", "set -e\n", "x = 1\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), OFF, ids=range(len(OFF)))
def test_strictness_that_was_taken_out_or_turned_down_is_suspected(path: str, before: str, after: str) -> None:
    assert len([*strictness_off.findings(change_of({path: before}, {path: after}))]) == 1


@pytest.mark.parametrize(("path", "before", "after"), KEPT, ids=range(len(KEPT)))
def test_what_is_as_strict_as_before_is_left_alone(path: str, before: str, after: str) -> None:
    assert [*strictness_off.findings(change_of({path: before}, {path: after}))] == []


def test_what_was_only_removed_is_told_at_its_old_line() -> None:
    change = change_of({"scripts/test.sh": "a\nset -e\npytest\n"}, {"scripts/test.sh": "a\npytest\n"})
    (found,) = strictness_off.findings(change)
    assert (found.side, found.line) == (Side.BASE, 2)


def test_a_new_configuration_may_be_lax() -> None:
    assert [*strictness_off.findings(change_of({}, {"scripts/test.sh": "pytest\n"}))] == []
