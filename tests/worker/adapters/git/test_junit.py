import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.adapters.git.junit import MOST_BYTES, read_junit
from worker.domain.dossier import CiCheck
from worker.errors import InputError

MIXED = b"""<?xml version="1.0"?>
<testsuites>
  <testsuite name="one" tests="3" failures="1" errors="0">
    <testcase classname="test_upload" name="test_sent" file="tests/test_upload.py"/>
    <testcase classname="test_upload" name="test_503">
      <failure message="assert 503 == 200&#10;  and more" type="AssertionError">def test_503():
&gt;       assert upload() == 200
E       assert 503 == 200</failure>
      <system-out>noise</system-out>
    </testcase>
    <testcase classname="test_upload" name="test_slow"><skipped message="slow"/></testcase>
  </testsuite>
  <testsuite name="two" tests="1" failures="0" errors="1">
    <testcase name="test_setup"><error type="OSError"/><failure>twice</failure></testcase>
  </testsuite>
</testsuites>
"""


def suite(inside: str, attributes: str = "") -> CiCheck:
    return read_junit(f"<testsuite {attributes}>{inside}</testsuite>".encode(), "report.xml")


def test_failing_report_names_tests_and_their_log_ends() -> None:
    check = read_junit(MIXED, "report.xml")
    assert (check.name, check.conclusion, check.status) == ("junit: report.xml", "failure", "completed")
    assert check.summary == (
        "4 tests, 2 failed, 1 skipped\ntest_upload::test_503: assert 503 == 200 and more\ntest_setup: OSError"
    )
    assert check.log_tail == (
        "test_upload::test_503\ndef test_503():\n>       assert upload() == 200\nE       assert 503 == 200\n\ntest_setup\ntwice"
    )


@pytest.mark.parametrize(
    ("raw", "conclusion", "summary"),
    [
        ('<testsuite tests="2"><testcase name="a"/><testcase file="a.py" name="b"/></testsuite>', "success", "2 tests, 0 failed"),
        ("<testsuite/>", "neutral", "0 tests, 0 failed"),
        ("<testsuites/>", "neutral", "0 tests, 0 failed"),
        ('<testsuite tests="9" failures="2" errors="1"/>', "failure", "3 tests, 3 failed"),
        ('<testsuite failures="x" errors="99999999999"><testcase name="a"/></testsuite>', "success", "1 tests, 0 failed"),
        ('<testsuites failures="1" errors="1"><testsuite/></testsuites>', "failure", "2 tests, 2 failed"),
    ],
    ids=["green", "empty", "no suite", "failures that are only counted", "odd counts", "failures that only the root counts"],
)  # fmt: skip
def test_report_conclusion_follows_its_tests_and_counts(raw: str, conclusion: str, summary: str) -> None:
    check = read_junit(raw.encode(), "report.xml")
    assert (check.conclusion, check.summary, check.log_tail) == (conclusion, f"{summary}, 0 skipped", "")


@pytest.mark.parametrize(
    ("raw", "summary"),
    [
        ('<testsuites failures="1"><testsuite failures="1"><testsuite failures="1">CASE</testsuite></testsuite></testsuites>', "1 tests, 1 failed"),
        ('<testsuite><testsuite failures="1">CASE</testsuite><testsuite errors="1"/></testsuite>', "2 tests, 2 failed"),
        ('<testsuites><testsuite failures="1"/><testsuite>CASE</testsuite></testsuites>', "2 tests, 2 failed"),
        ('<testsuites failures="3"><testsuite failures="1"><testsuite/></testsuite></testsuites>', "3 tests, 3 failed"),
    ],
)  # fmt: skip
def test_failure_counted_by_nested_suites_counts_once(raw: str, summary: str) -> None:
    report = raw.replace("CASE", '<testcase name="a"><failure/></testcase>').encode()
    assert read_junit(report, "report.xml").summary.startswith(f"{summary}, 0 skipped")


def test_failure_without_a_message_shows_its_text() -> None:
    failed = suite('<testcase name="a"><failure>assert x\n  == y</failure></testcase>')
    assert failed.summary.endswith("a: assert x == y")
    assert suite("<testcase><failure/></testcase>").summary.endswith("(no name): ")


def test_namespaces_and_other_encodings_are_read() -> None:
    raw = '<?xml version="1.0" encoding="iso-8859-1"?><x:testsuite xmlns:x="u"><x:testcase name="ü"><x:error/></x:testcase></x:testsuite>'
    assert "ü: " in read_junit(raw.encode("latin-1"), "report.xml").summary


def test_large_report_becomes_a_small_check() -> None:
    case = f'<testcase name="{"n" * 50}"><failure message="{"m" * 9000}">{"t" * 9000}</failure></testcase>'
    check = suite(case * 200)
    assert check.summary.endswith("\nand 150 more")
    assert len(check.summary) < 25_000
    assert len(check.log_tail) == 12_000


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"<testsuite>\n<testcase></testsuite>", "report.xml is not XML at line 2: mismatched tag. "),
        (b"", "report.xml is not XML at line 1: no element found. "),
        (b"2 passed", "report.xml is not XML at line 1: syntax error. "),
        (b"\n<html/>", "report.xml is not a JUnit report at line 2: the root is <html>, expected <testsuites> or <testsuite>."),
        (
            b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>\n<testsuite><testcase name="&b;"/></testsuite>',
            "report.xml is not a JUnit report at line 1: it has a DOCTYPE, which could define entities; test runners write none.",
        ),
        (b"<testsuite>&unknown;</testsuite>", "report.xml is not XML at line 1: undefined entity. "),
        (b'<?xml version="1.0" encoding="odd"?><testsuite/>', "report.xml is not XML at line 1: unknown encoding: odd. Write it as UTF-8."),
            (b'<?xml version="1.0" encoding="big5"?><testsuite/>', "report.xml is not XML at line 1: multi-byte encodings are not supported. "),
    ],
)  # fmt: skip
def test_invalid_report_is_refused_with_its_line(raw: bytes, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_junit(raw, "report.xml")
    assert str(refused.value).startswith(message)


def test_oversized_report_is_refused() -> None:
    with pytest.raises(InputError, match="expected a JUnit report of at most"):
        read_junit(b" " * (MOST_BYTES + 1), "report.xml")


@given(st.binary() | st.text().map(lambda text: f"<testsuite><testcase>{text}</testcase></testsuite>".encode()))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        check = read_junit(raw, "report.xml")
    except InputError:
        return
    assert check.conclusion in {"success", "failure", "neutral"}
