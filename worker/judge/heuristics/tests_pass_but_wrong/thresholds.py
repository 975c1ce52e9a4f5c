"""Thresholds of coverage and linters that were moved so that less passes for enough.

Does not know what a good threshold is. Invariant: old and new value stand in the same block of changed lines, under the
same name.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from worker.domain.diff import DiffLine
from worker.domain.pattern import pattern
from worker.domain.verdict import Category, Side
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.signal import Kind, Looks, Place, signal
from worker.judge.heuristics.tests_pass_but_wrong.configuration import Edit, configuration_of, edits_of, is_comment

_LEAST: Final = pattern(
    r"(fail[_-]under|cov-fail-under|min(?:imum)?[_-]?coverage|coverage[_-]?min\w*|minimum_coverage|<minimum>|<(?:line|branch|haltOn)\w*Rate>"
    r"|\bminimum\b|\"?\b(?:branches|functions|lines|statements)\b\"?|\btarget\b|--fail-under-lines|mutationThreshold|--min-coverage|COVERAGE_THRESHOLD|min-msi)"
    r"[\"']?\s*[=: >]{1,4}\s*[\"']?(\d+(?:\.\d+)?)",
)
_MOST: Final = pattern(
    r"(max-warnings|max[_-]complexity|cyclomatic-complexity|\bmax-(?:branches|statements|locals|args|returns)|maxErrors|max_warnings|\bthreshold\b)"
    r"[\"']?\s*[=: ]{1,3}\s*[\"']?(\d+(?:\.\d+)?)"
)
_SWITCH: Final = pattern(
    r"(fail_ci_if_error|check-coverage|checkCoverage|failOnError|fail-on-error|failOnViolation|failsOnError|xfail_strict|strict(?:_markers|_config|_equality)?|warnings_as_errors|failOnWarning|noUnchecked\w+|noImplicit\w+|noUnused\w+|noFallthrough\w+|noPropertyAccess\w+|exactOptional\w+|strict[A-Z]\w+|useUnknownInCatchVariables|allowUnreachableCode|alwaysStrict|disallow_\w+|check_untyped_defs|no_implicit_\w+|warn_\w+|strict_\w+|fail-on-\w+|fail_on_\w+|failOn[A-Z]\w+|allWarningsAsErrors|isFailOnError|abortOnError)[\"']?\s*[=:>]\s*(true|false)",
    2,
)
_LAX: Final = pattern(
    r"(ignore_errors|ignore_missing_imports|implicit_optional|allow_\w+|skipLibCheck|allowJs|allowUnreachableCode|allowUnusedLabels|suppress\w+|ignoreFailures|ignore_failures"
    r"|allowFailure|testFailureIgnore|failOnNoMatchingTests)[\"']?\s*[=:>]\s*(true|false)",
    2,
)
"""Switches that ask for less where they are on."""
_LONGEST: Final = 500
_MOST_LINES: Final = 2_000


class _Level(NamedTuple):
    """A named value, and whether more of it asks for more."""

    name: str
    asks: float
    shown: str
    line: DiffLine


@signal(Category.TESTS_PASS_BUT_WRONG, Kind.SUSPICION, Looks.CONFIGURATION)
def threshold_lowered(change: Change) -> Iterator[Place]:
    """A threshold of coverage or of a linter was lowered, switched off or taken out.

    False alarms: 16 of 2033 clean changes with CI or tool configuration (0.8 %, at most 1.27 %).
    """
    for file in configuration_of(change):
        for edit in edits_of(file):
            yield from _loosened(edit, file)
            before, after = list(_levels(edit.removed)), list(_levels(edit.added))
            for old in before:
                new = next((one for one in after if one.name == old.name), None)
                if new is not None:
                    after.remove(new)
                    if new.asks < old.asks:
                        yield Place(f"{new.name} went from {old.shown} to {new.shown}", file.path, new.line.head_line)
                elif not edit.added and not file.once(_names_added).intersection([old.name]):
                    yield Place(
                        f"{old.name} ({old.shown}) was taken out",
                        file.path,
                        old.line.base_line,
                        side=Side.BASE,
                        strength=0.6,
                    )


_STRICT: Final = pattern(
    r"\s*(?:-D\s?warnings|-D\s?clippy::\w+|-Werror\b|-W\s?error\b|--strict(?:-\w+)?\b(?!=)|--max-warnings[= ]0|--error-on-warnings|--fail-on-\w+|--warnings-as-errors)"
)


def _loosened(edit: Edit, file: ChangedFile) -> Iterator[Place]:
    """A line that is as it was, without the flag that made warnings count."""
    plain = {" ".join(line.text.split()): line for line in edit.added[:_MOST_LINES]}
    for line in edit.removed[:_MOST_LINES]:
        short = line.text[:_LONGEST]
        without = _STRICT.sub("", short)
        now = plain.get(" ".join(without.split())) if without != short else None
        if now is not None:
            yield Place("what counted as a failure no longer does", file.path, now.head_line)


def _levels(lines: tuple[DiffLine, ...]) -> Iterator[_Level]:
    for line in lines[:_MOST_LINES]:
        if is_comment(line.text):
            continue
        for direction, look in ((1, _LEAST), (-1, _MOST)):
            for found in look.finditer(line.text[:_LONGEST]):
                yield _Level(_name(found[1]), direction * float(found[2]), found[2], line)
        for on, look in ((True, _SWITCH), (False, _LAX)):
            for found in look.finditer(line.text[:_LONGEST]):
                yield _Level(_name(found[1]), float((found[2].lower() == "true") is on), found[2], line)


def _name(text: str) -> str:
    return text.strip("\"'<>- ")


def _names_added(file: ChangedFile) -> frozenset[str]:
    return frozenset(level.name for level in _levels(file.diff.added))
