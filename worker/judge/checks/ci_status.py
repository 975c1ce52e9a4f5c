"""What CI reports of this head: green, failed, unfinished or unknown, with the names of checks and tests.

A failed check, and a required one that did not pass, counts whatever the summary claims. CI that the author's commit message
switched off counts as unfinished.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from worker.domain.dossier import Ci, CiCheck, CiState
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import CiFailure

_SEQUENCE: Final = pattern(r"\x1b\[[0-9;]{0,20}[A-Za-z]")


def without_ansi(text: str) -> str:
    return _SEQUENCE.sub("", text)


PASSING_CONCLUSIONS: Final = frozenset({"success", "neutral", "skipped"})
"""GitHub's conclusions that let a required check pass."""

NAMED_TESTS: Final = 20

JUNIT: Final = "junit"
"""The app of a check that was read from a JUnit report: its summary has one line per failing test."""

_JUNIT_LINE: Final = pattern(r"(\S{1,300}::.{1,300}?): .*")

_FAILING_TEST: Final = tuple(
    pattern(line)
    for line in (
        r"(?:FAILED|ERROR) (\S{1,300}\.py(?:::.{1,300}?)?)(?: - .*)?",  # pytest
        r"\s*--- FAIL: (\S{1,300})(?: \(.*\))?",  # go
        r"test (\S{1,300}) \.\.\. FAILED",  # cargo
        r"\s*● (\S.{0,300})",  # jest
        r"\s*FAIL\s{1,4}(\S{1,300} > .{1,300})",  # vitest
        r"(\S{1,200}(?: > |\.)\S.{0,200}) FAILED",  # gradle
        r"\[ERROR\] {1,4}(\w[\w.$]{0,200}\.\w{1,200}:\d{1,7})\b.*",  # maven
        r"not ok \d{1,7} (?:- )?(\S.{0,300})",  # tap
    )
)


EXCERPT_LINES: Final = 20
LINE_CHARACTERS: Final = 200
EXCERPT_CHARACTERS: Final = 2_000
_FAILURE_LINE: Final = pattern(
    r"^E\s|\b(?:assert\w*|\w*error|\w*exception|panicked|expected|received|actual|got|want)\b|\bFAIL", re.IGNORECASE
)
"""A line that shows why a test fails."""


@dataclass(frozen=True)
class CiReport:
    """`failed`, `unfinished`: checks; `tests`: failing tests that reports name; `silenced`: what kept CI from running."""

    state: CiState
    failed: tuple[CiCheck, ...] = ()
    unfinished: tuple[CiCheck, ...] = ()
    tests: tuple[str, ...] = ()
    silenced: str | None = None


def read_ci(ci: Ci | None) -> CiReport:
    """Read CI's reports; without any the state is MISSING, which is no pass."""
    if ci is None:
        return CiReport(CiState.MISSING)
    failed = tuple(check for check in ci.checks if check.conclusion not in {None, *PASSING_CONCLUSIONS})
    unfinished = tuple(check for check in ci.checks if check.conclusion is None)
    tests = tuple(dict.fromkeys(name for check in failed for name in failing_tests(check)))
    if ci.state is CiState.FAILURE or any(_counts(check, ci) for check in failed):
        state = CiState.FAILURE
    elif ci.state is CiState.PENDING or ci.silenced or any(_counts(check, ci) for check in unfinished):
        state = CiState.PENDING
    else:
        state = ci.state or (CiState.SUCCESS if ci.checks else CiState.MISSING)
    return CiReport(state, failed, unfinished, tests[:NAMED_TESTS], ci.silenced)


def _counts(check: CiCheck, ci: Ci) -> bool:
    """Whether a check counts: a required one always, without a summary every one that is not optional."""
    return check.required is True or (ci.state is None and check.required is None)


def first_failure(report: CiReport) -> CiFailure | None:
    """The first failed check that names a test, else the first failed one; None where none is known."""
    named = [(check, test) for check in report.failed for test in islice(failing_tests(check), 1)]
    check, test = named[0] if named else (report.failed[0] if report.failed else None, None)
    if check is None:
        return None
    return CiFailure(check=check.name.strip() or "a check without a name", test=test, log=_excerpt(check, test))


def _excerpt(check: CiCheck, test: str | None) -> str:
    """The most telling lines about the test; without a test the end of the log, or the start of the report."""
    report, log = (without_ansi(text).strip("\n").splitlines() for text in (check.summary, check.log_tail))
    lines = [line.rstrip()[:LINE_CHARACTERS] for line in (*report, *log)]
    if test is None:
        excerpt = lines[-EXCERPT_LINES:] if log else lines[:EXCERPT_LINES]
        return "\n".join(excerpt)[:EXCERPT_CHARACTERS]
    # pytest heads a failure with the function's name alone
    name = test.rpartition("::")[2] if ".py::" in test else test
    windows = [lines[at : at + EXCERPT_LINES] for at, line in enumerate(lines) if name in line]
    excerpt = max(
        windows, key=lambda window: sum(_FAILURE_LINE.search(line) is not None for line in window), default=list[str]()
    )
    return "\n".join(excerpt)[:EXCERPT_CHARACTERS]


def failing_tests(check: CiCheck) -> Iterator[str]:
    """Names of failing tests, as the common runners print them."""
    if check.app == JUNIT:
        yield from (match[1] for line in check.summary.splitlines() if (match := _JUNIT_LINE.fullmatch(line)))
        return
    for line in without_ansi(f"{check.summary}\n{check.log_tail}").splitlines():
        match = next(filter(None, (form.fullmatch(line.rstrip()) for form in _FAILING_TEST)), None)
        if match:
            yield match[1].strip()
