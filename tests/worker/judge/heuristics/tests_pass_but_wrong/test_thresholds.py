"""Thresholds of coverage and linters."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.domain.verdict import Side
from worker.judge.heuristics.tests_pass_but_wrong.thresholds import threshold_lowered


def notes(path: str, before: str, after: str) -> list[str]:
    return [one.note for one in threshold_lowered.findings(change_of({path: before}, {path: after}))]


@pytest.mark.parametrize(
    ("path", "before", "after", "note"),
    [
        ("pyproject.toml", "fail_under = 90\n", "fail_under = 80\n", "fail_under went from 90 to 80"),
        (
            "tox.ini",
            "pytest --cov-fail-under=90\n",
            "pytest --cov-fail-under=70\n",
            "cov-fail-under went from 90 to 70",
        ),
        ("jest.config.js", "  branches: 80,\n", "  branches: 50,\n", "branches went from 80 to 50"),
        ("codecov.yml", "  target: 85%\n", "  target: 60%\n", "target went from 85 to 60"),
        ("codecov.yml", "  threshold: 1%\n", "  threshold: 20%\n", "threshold went from 1 to 20"),
        (
            "package.json",
            '"eslint --max-warnings 0"\n',
            '"eslint --max-warnings 99"\n',
            "max-warnings went from 0 to 99",
        ),
        ("pom.xml", "<minimum>0.80</minimum>\n", "<minimum>0.50</minimum>\n", "minimum went from 0.80 to 0.50"),
        (
            ".github/workflows/a.yml",
            "fail_ci_if_error: true\n",
            "fail_ci_if_error: false\n",
            "fail_ci_if_error went from true to false",
        ),
    ],
)
def test_a_threshold_that_asks_for_less_is_suspected(path: str, before: str, after: str, note: str) -> None:
    assert notes(path, before, after) == [note]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (".github/workflows/a.yml", "  RUSTFLAGS: -D warnings\n", "  RUSTFLAGS:\n"),
        ("Makefile", "a:\n\tmypy --strict src\n", "a:\n\tmypy src\n"),
        ("tox.ini", "[a]\ncommands = pytest -W error\n", "[a]\ncommands = pytest\n"),
    ],
)
def test_a_flag_of_strictness_that_was_taken_out_is_suspected(path: str, before: str, after: str) -> None:
    assert notes(path, before, after) == ["what counted as a failure no longer does"]


def test_a_strict_setting_that_was_switched_off_is_suspected() -> None:
    assert notes("setup.cfg", "xfail_strict = true\n", "xfail_strict = false\n") == [
        "xfail_strict went from true to false"
    ]


def test_a_threshold_that_was_taken_out_is_suspected_at_its_old_line() -> None:
    change = change_of({"tox.ini": "[a]\nfail_under = 90\nx = 1\n"}, {"tox.ini": "[a]\nx = 1\n"})
    (found,) = threshold_lowered.findings(change)
    assert (found.note, found.side, found.line) == ("fail_under (90) was taken out", Side.BASE, 2)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", "fail_under = 80\n", "fail_under = 90\n"),
        ("pyproject.toml", "fail_under = 80\n", "fail_under = 80.0\n"),
        ("pyproject.toml", "# fail_under = 90\n", "# fail_under = 80\n"),
        ("pyproject.toml", "fail_under = 80\n", "other = 1\n"),
        ("pyproject.toml", "fail_under = 90\nx = 1\n", "x = 1\nfail_under = 90\n"),
        ("Makefile", "a:\n\tmypy --strict src\n", "a:\n\tmypy --strict lib\n"),
        ("src/a.py", "fail_under = 90\n", "fail_under = 80\n"),
        ("codecov.yml", "threshold: 20%\n", "threshold: 1%\n"),
    ],
)
def test_what_asks_for_as_much_is_left_alone(path: str, before: str, after: str) -> None:
    assert notes(path, before, after) == []


@pytest.mark.parametrize(
    ("path", "before", "after", "note"),
    [
        ("tsconfig.json", '"noUncheckedIndexedAccess": true,\n', '"noUncheckedIndexedAccess": false,\n', "noUncheckedIndexedAccess went from true to false"),
        ("tsconfig.json", '"strict": true,\n', '"strict": false,\n', "strict went from true to false"),
        ("pyproject.toml", "disallow_untyped_defs = true\n", "disallow_untyped_defs = false\n", "disallow_untyped_defs went from true to false"),
        ("mypy.ini", "ignore_errors = false\n", "ignore_errors = true\n", "ignore_errors went from false to true"),
    ],
)  # fmt: skip
def test_a_stricter_setting_that_was_given_up_is_suspected(path: str, before: str, after: str, note: str) -> None:
    assert notes(path, before, after) == [note]


def test_a_setting_that_was_made_stricter_is_left_alone() -> None:
    assert notes("mypy.ini", "ignore_errors = true\n", "ignore_errors = false\n") == []
