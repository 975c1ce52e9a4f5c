"""JUnit XML as a CI check.

Reads what common runners write (`testsuites` or `testsuite`, failures, errors, skipped). A DOCTYPE is refused, so no
entity is expanded, and the check's texts are capped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from worker.domain.dossier import CiCheck
from worker.errors import InputError

MOST_BYTES: Final = 20_000_000
MOST_LISTED: Final = 50
MOST_MESSAGE: Final = 300
MOST_TAIL: Final = 1_500
MOST_LOG: Final = 12_000

FAILED_ELEMENTS: Final = ("failure", "error")
SUITES: Final = ("testsuites", "testsuite")


@dataclass
class _Case:
    name: str
    outcome: str = "passed"
    message: str = ""
    text: list[str] = field(default_factory=list[str])


@dataclass
class _Suite:
    """Failures that the suite's attributes state, and those of its elements; mostly the same ones."""

    stated: int
    within: int = 0

    @property
    def failed(self) -> int:
        return max(self.stated, self.within)


@dataclass
class _JUnitReport:
    """The report's state while its elements are parsed."""

    tests: int = 0
    skipped: int = 0
    failures: list[_Case] = field(default_factory=list[_Case])
    failed: int = 0
    suites: list[_Suite] = field(default_factory=list[_Suite])
    case: _Case | None = None
    element: str = ""
    is_root_known: bool = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if not self.is_root_known:
            self.is_root_known = True
            if name not in SUITES:
                raise _NotJUnitError(f"the root is <{tag}>, expected <testsuites> or <testsuite>")
        if name in SUITES:
            self.suites.append(_Suite(_count(attributes, "failures") + _count(attributes, "errors")))
        elif name == "testcase":
            location = attributes.get("file") or attributes.get("classname", "")
            test = attributes.get("name", "") or "(no name)"
            self.case = _Case(f"{location}::{test}" if location else test)
        elif self.case is not None and name in {*FAILED_ELEMENTS, "skipped"}:
            self.element = name
            if self.case.outcome not in FAILED_ELEMENTS:
                self.case.outcome = name
                self.case.message = attributes.get("message", "") or attributes.get("type", "")

    def text(self, text: str) -> None:
        if self.case is not None and self.element in FAILED_ELEMENTS:
            self.case.text.append(text)

    def end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == self.element:
            self.element = ""
        if name == "testcase" and self.case is not None:
            self.tests += 1
            self.skipped += self.case.outcome == "skipped"
            if self.case.outcome in FAILED_ELEMENTS:
                self.failures.append(self.case)
                self._add_failures(1)
            self.case = None
        if name in SUITES:
            self._add_failures(self.suites.pop().failed)

    def _add_failures(self, count: int) -> None:
        """Add to the innermost open suite; the outermost count is the report's."""
        if self.suites:
            self.suites[-1].within += count
        else:
            self.failed = count


class _NotJUnitError(Exception):
    pass


def read_junit(raw: bytes, name: str) -> CiCheck:
    """Convert one report to one check; *name* is the file's. Raises InputError naming the wrong line."""
    if len(raw) > MOST_BYTES:
        raise InputError(f"{name} has {len(raw)} bytes: expected a JUnit report of at most {MOST_BYTES}.")
    report = _parse_report(raw, name)
    # The ends of the failures' texts hold the assertion.
    texts = ((case.name, "".join(case.text).strip()) for case in report.failures)
    tails = [f"{test}\n{text[-MOST_TAIL:]}" for test, text in texts if text]
    return CiCheck(
        name=f"junit: {name}",
        app="junit",
        conclusion="failure" if report.failed else "success" if report.tests else "neutral",
        summary=_summary(report),
        log_tail="\n\n".join(tails)[:MOST_LOG],
    )


def _parse_report(raw: bytes, name: str) -> _JUnitReport:
    parser = expat.ParserCreate()
    report = _JUnitReport()
    parser.StartElementHandler = report.start
    parser.EndElementHandler = report.end
    parser.CharacterDataHandler = report.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.buffer_text = True
    try:
        parser.Parse(raw, True)  # noqa: FBT003 - expat's "this is all"
    except expat.ExpatError as error:
        reason = f"line {error.lineno}: {expat.errors.messages.get(error.code, 'not XML')}"
        raise InputError(f"{name} is not XML at {reason}. Give the report that the test runner wrote.") from error
    except (LookupError, ValueError) as error:
        raise InputError(f"{name} is not XML at line 1: {error}. Write it as UTF-8.") from error
    except _NotJUnitError as error:
        line = parser.CurrentLineNumber
        raise InputError(f"{name} is not a JUnit report at line {line}: {error}.") from error
    return report


def _refuse_doctype(*_: object) -> None:
    raise _NotJUnitError("it has a DOCTYPE, which could define entities; test runners write none")


def _count(attributes: Mapping[str, str], name: str) -> int:
    value = attributes.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0  # noqa: PLR2004 - sane counts


def _summary(report: _JUnitReport) -> str:
    """A line of counts, then one line for each failed test."""
    lines = [f"{max(report.tests, report.failed)} tests, {report.failed} failed, {report.skipped} skipped"]
    for case in report.failures[:MOST_LISTED]:
        message = " ".join((case.message or "".join(case.text)).split())
        cut = message if len(message) <= MOST_MESSAGE else message[: MOST_MESSAGE - 2] + " …"
        lines.append(f"{case.name}: {cut}")
    if len(report.failures) > MOST_LISTED:
        lines.append(f"and {len(report.failures) - MOST_LISTED} more")
    return "\n".join(lines)
