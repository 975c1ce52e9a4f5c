"""Criteria that a change does not show, and what it lacks of them."""

from typing import Any

import pytest

from tests.worker.signals.samples import diff_of, dossier_of, plain_dossier
from worker.domain.verdict.verdict import CriterionStatus
from worker.signals.acceptance_gap.change_index import build_index
from worker.signals.acceptance_gap.criteria_not_met import (
    describe_gap,
    find_doubtful_gaps,
    find_gaps,
    find_unnamed_tests,
    is_settled_by,
    judge_criteria,
    mean_gap,
)
from worker.signals.analysis.change import CodeChange
from worker.signals.heuristic_opinion import find_lookups

CODE = "def send(payload):\n    return retry(payload, max_tries=3)\n"
TEST = "def test_send_gives_up_after_the_last_try():\n    assert send(broken) is None\n"
AFTER = {"net/upload.py": CODE, "tests/test_upload.py": TEST}
MET = ""
OF_WORDS = "no line of the change speaks of all of it"
OF_TEST = "no added test speaks of it"


def make_change(
    text: str, after: dict[str, str] | None = None, before: dict[str, str] | None = None, **more: object
) -> CodeChange:
    criteria = [{"id": "AC1", "text": text, **more}]
    return CodeChange(dossier_of(before or {}, AFTER if after is None else after, criteria=criteria))


def describe_doubts(change: CodeChange) -> str:
    return "".join(describe_gap(gap) for gap in find_doubtful_gaps(change))


def list_statuses(change: CodeChange) -> list[CriterionStatus]:
    return [criterion.status for criterion in judge_criteria(change)]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Retry a payload", MET),
        ("Stakeholders desire to retry a payload", MET),
        ("`send()` is available", MET),
        ("Use `max_tries` in `net/upload.py`", MET),
        ("Extend the tests in `test_upload.py`", MET),
        ("Covered by a test: send gives up after the last try", MET),
        ("`test_send_gives_up_after_the_last_try` tests this", MET),
        ("Add it", MET),
        ("Extend the tests in `tests/test_download.py`", "tests/test_download.py is not changed"),
        ("Introduce `Backoff.delayFor()`", "the name `Backoff.delayFor()` does not occur"),
        ("Covered by a test: resumes halted transfers", OF_TEST),
        ("Describe it in the documentation", "no documentation is changed"),
        ("Compress thumbnails lazily", OF_WORDS),
        ("Retry payload, last broken", OF_WORDS),
        ("Covered by a test: retry payload", OF_TEST),
        ("Implement a backoff", OF_WORDS),
        ("The `Backoff` that I have drafted is in", "the name `Backoff` does not occur"),
    ],
)
def test_criterion_the_change_does_not_show_is_unverifiable(text: str, note: str) -> None:
    assert describe_doubts(make_change(text)) == note
    (criterion,) = judge_criteria(make_change(text))
    assert (criterion.status, criterion.note) == (CriterionStatus.UNVERIFIABLE, note)


@pytest.mark.parametrize(
    "text",
    [
        "I have followed the steps of the [Contributing guide](CONTRIBUTING.md)",
        "If necessary, I have added documentation",
        "- I've read the rules of conduct",
        "My code follows the style guide",
    ],
)
def test_confirmation_in_template_is_not_a_criterion(text: str) -> None:
    assert judge_criteria(make_change(text)) == ()


MANY_LINES = "".join(f"    retry(payload, {number})\n" for number in range(150))
FAR = "early = 1\n" + "".join(f"filler{n} = {n}\n" for n in range(30))
DOCSTRING = {"net/A.java": "/**\n * Retries a payload.\n */\nclass A {\n}\n"}
REMOVED = {"a.py": "old_way = 1\nb = 1\n"}, {"a.py": "b = 1\n"}
LITTLE = "little of the change speaks of"


@pytest.mark.parametrize(
    ("text", "before", "after", "note"),
    [
        ("Retry a payload", {}, {"net/upload.py": f"def send(payload):\n{MANY_LINES}"}, MET),
        ("Covered by a test: retries payload", {}, {"a.rs": "#[test]\nfn retries_payload() {}\n"}, MET),
        ("Covered by a test: retries payload", {}, {"a.rs": "#[tokio::test]\nasync fn retries_payload() {}\n"}, MET),
        ("Use `max_tries` in `net/download.py`", {}, AFTER | {"net/download.py": "x = 1\n"}, f"{LITTLE} `max_tries`"),
        ("`early` holds", {"a.py": FAR}, {"a.py": f"{FAR}new = 1\n"}, f"{LITTLE} `early`"),
        ("Remove `old_way`", *REMOVED, MET),
        ("Keep `old_way`", *REMOVED, f"{LITTLE} `old_way`"),
        ("Mention it in the docs", {}, AFTER | {"README.md": "retry\n"}, MET),
        ("Mention it in the docs", {}, AFTER | {"docs/upload.html": "retry\n"}, MET),
        ("add `net_derive` tests: gives up after the last try", {}, {"net_derive/tests/upload.py": TEST}, MET),
        (
            "add `disk_derive` tests: gives up after the last try",
            {},
            {"net_derive/tests/upload.py": TEST},
            "the name `disk_derive` does not occur",
        ),
        ("Describe payload in the documentation", {}, DOCSTRING, MET),
        ("Describe thumbnails in the documentation", {}, DOCSTRING, OF_WORDS),
    ],
)
def test_criterion_is_met_by_matching_lines(
    text: str, before: dict[str, str], after: dict[str, str], note: str
) -> None:
    assert describe_doubts(make_change(text, after, before)) == note


@pytest.mark.parametrize(
    ("text", "path", "heading"),
    [
        ("Covered by a test: retries payload", "src/a.rs", "mod tests {"),
        ("`parseHeader` is changed", "a.go", "func parseHeader(x int) {"),
    ],
)
def test_hunk_heading_counts_as_text_of_its_lines(text: str, path: str, heading: str) -> None:
    diff = diff_of({path: "a\n"}, {path: "a\n    fn retries_payload() {}\n"}).replace(" @@\n", f" @@ {heading}\n", 1)
    assert describe_doubts(CodeChange(plain_dossier(diff, criteria=[{"id": "AC1", "text": text}]))) == MET


UPLOAD = """class UploadError(Exception):
    pass


def upload(data, client):
    for _ in range(3):
        answer = client.put(data)
        if answer.status != 503:
            return answer
    raise UploadError
"""
NEW = {"upload.py": UPLOAD}


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("`upload` tries again after a 503, at most three times (`retry`)", {}, NEW, ["upload.py:5", "upload.py:8"]),
        ("The upload answers 503", {}, NEW, ["upload.py:8", "upload.py:7"]),
        ("`UploadError` is an exception", {}, NEW, ["upload.py:1", "upload.py:10"]),
        ("Compress thumbnails lazily", {}, NEW, []),
        ("Retry with `max_tries`, until the last try", {}, AFTER, ["net/upload.py:2", "tests/test_upload.py:1"]),
        ("`early` holds a filler", {"a.py": "early = filler\n"}, {"a.py": "early = filler\nx = 1\n"}, []),
    ],
    ids=["what defines the name, the number", "the number", "the definition", "nothing", "a test as well", "context"],
)
def test_criterion_evidence_is_the_best_matching_lines(
    text: str, before: dict[str, str], after: dict[str, str], expected: list[str]
) -> None:
    (criterion,) = judge_criteria(make_change(text, after, before))
    assert [pointer.location for pointer in criterion.evidence] == expected


@pytest.mark.parametrize(
    "text",
    [
        "Add a test",
        "Add a test for the retry",
        "- Please write new unit tests that show the retry",
        "Include a regression test.",
        "Add tests for `retry`",
        "A test covers `retry`",
        "- A new unit test shows the retry",
        "Tests prove that it is tried again.",
    ],
)
def test_requested_test_is_missing_when_change_has_no_test(text: str) -> None:
    proved = "it asks for a test, and this change holds none"
    code = {"net/upload.py": CODE, "README.md": "Retries.\n", "pyproject.toml": "line-length = 120\n"}
    assert [(criterion.status, criterion.note) for criterion in judge_criteria(make_change(text, code))] == [
        (CriterionStatus.MISSING, proved)
    ]
    assert list_statuses(make_change(text)) == [CriterionStatus.UNVERIFIABLE]


@pytest.mark.parametrize(
    "text",
    [
        "All existing tests pass",
        "The tests still pass",
        "Works without tests",
        "Add a flag to the test runner",
        "Add a test command",
        "Add `test` to the names",
        "Add support for tests that retry",
        "`test` is a name",
        "It is not covered by tests",
        "The tests cover the retry",
        "A test for the retry is there",
        "Covered by a unit test",
        "A test for this exists already in `tests/test_old.py`",
        "Add a test for the retry in `tests/test_old.py`",
        "Add a test for the retry, unless there is one",
        "Test coverage stays above 90 %",
        "Add tests to keep the coverage above 90 %",
    ],
)
def test_criterion_an_existing_test_may_meet_is_unverifiable(text: str) -> None:
    assert list_statuses(make_change(text, {"net/upload.py": CODE})) == [CriterionStatus.UNVERIFIABLE]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("net/retry.py", 'def retry():\n    """Try again.\n\n    >>> retry()\n    """\n'),
        ("features/retry.feature", "Scenario: it tries again\n"),
        ("t/0001-retry.sh", "retry || exit 1\n"),
        ("src/retry.zig", 'test "retry" {\n}\n'),
        ("src/retry.cpp", 'TEST_CASE("retry") {\n}\n'),
        ("checks/retry_checks.py", "class RetryCase(unittest.TestCase):\n    pass\n"),
        ("selftest/retry.c", "int main(void) { return retry(); }\n"),
        ("src/retry.rs", "/// ```\n/// retry();\n/// ```\npub fn retry() {}\n"),
        ("README.md", "```python\nretry()\n```\n"),
        ("cases/retry.json", '{"tries": 3}\n'),
        ("cypress/retry.cy.js", "visit(page);\n"),
    ],
)
def test_requested_test_is_unverifiable_in_files_of_other_frameworks(path: str, text: str) -> None:
    after = {"net/upload.py": CODE, path: text}
    assert list_statuses(make_change("Add a test for the retry", after)) == [CriterionStatus.UNVERIFIABLE]


def test_requested_test_is_unverifiable_when_a_file_was_not_read() -> None:
    unread = [{"path": "tests/test_upload.py", "reason": "too_large"}]
    criteria = [{"id": "AC1", "text": "Add a unit test"}]
    dossier = dossier_of({}, {"net/upload.py": CODE}, criteria=criteria, files_unread=unread)
    assert list_statuses(CodeChange(dossier)) == [CriterionStatus.UNVERIFIABLE]


def test_named_file_is_missing_only_after_lookup() -> None:
    criteria = [{"id": "AC1", "text": "Describe it in `docs/upload.md`"}]
    files = [{"path": "docs/upload.md", "exists": False}]
    looked_up = CodeChange(dossier_of({}, {"net/upload.py": CODE}, texts=False, criteria=criteria, files=files))
    assert [(criterion.status, criterion.note) for criterion in judge_criteria(looked_up)] == [
        (CriterionStatus.MISSING, "there is no docs/upload.md")
    ]
    assert list_statuses(make_change(criteria[0]["text"], {"net/upload.py": CODE})) == [CriterionStatus.UNVERIFIABLE]


@pytest.mark.parametrize(
    "text",
    [
        "Extend `old.py`",
        "Remove `old.py`",
        "`old.py` moves to `new.py`",
        "Merge `old.py` into `new.py`",
        "No trace of `old.py` is left",
        "Nothing imports `old.py`",
        "Everything from `old.py` is in `new.py`",
        "Split `old.py`",
        "`old.py` is obsolete",
    ],
)
@pytest.mark.parametrize("is_renamed", [True, False])
def test_removed_or_renamed_file_is_not_missing(text: str, *, is_renamed: bool) -> None:
    files = [{"path": "old.py", "exists": False}]
    criteria = [{"id": "AC1", "text": text}]
    renamed = "diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n"
    deleted = diff_of({"old.py": CODE}, {"new.py": CODE})
    dossier = plain_dossier(renamed if is_renamed else deleted, criteria=criteria, files=files)
    assert list_statuses(CodeChange(dossier)) == [CriterionStatus.UNVERIFIABLE]


def test_inferred_criterion_has_no_gap() -> None:
    inferred = make_change("Compress thumbnails lazily", inferred=True)
    assert find_gaps(inferred) == ()
    assert mean_gap(inferred) == 0


def test_mean_gap_averages_all_criteria() -> None:
    criteria = [{"id": "AC1", "text": "Retry a payload"}, {"id": "AC2", "text": "Compress thumbnails lazily"}]
    assert mean_gap(CodeChange(dossier_of({}, AFTER, criteria=criteria))) == pytest.approx(0.5, abs=0.01)


def test_index_keeps_only_lines_with_words_of_criteria() -> None:
    index = build_index(make_change("Retry a `payload`"))
    assert (index.size, index.has_tests) == (6, True)
    assert [set(unit.words) for unit in index.units_with("retry")] == [{"retry", "payload"}]
    assert [unit.path for unit in index.units_named("payload")] == ["net/upload.py"] * 2
    assert index.units_with("broken") == index.units_named("broken") == []
    assert index.weight("broken") < index.weight("retry")


def test_repeated_line_is_two_units() -> None:
    index = build_index(make_change("Retry a payload", {"a.py": "retry(one)\nretry(one)\n"}))
    assert [unit.words for unit in index.units_with("retry")] == [("retry",)] * 2


RETRIES, RESUMES = (
    "Covered by a test: payload is broken, send retries",
    "Covered by a test: payload is large, upload resumes",
)
INVOICES, DOCUMENTED = "Invoices are printed in colour", "The retry is documented in the docs"
MORE_TESTS = {
    "net/upload.py": CODE,
    "tests/test_upload.py": f"{TEST}\n\ndef test_once_more():\n    payload = broken\n    assert send(payload) == retry(payload)\n",
    "tests/cases.txt": "send broken payload retries\n",
}


@pytest.mark.parametrize(
    ("text", "after", "name", "path", "number", "line", "holds"),
    [
        pytest.param(DOCUMENTED, AFTER, "AC1", "docs/retry.md", 1, "The retry.", True, id="a document"),
        pytest.param(DOCUMENTED, AFTER, "AC1", "net/upload.py", 1, "The retry.", False, id="no document"),
        pytest.param(DOCUMENTED, AFTER, "AC9", "a.py", 1, "The retry.", True, id="no criterion"),
        pytest.param(INVOICES, AFTER, "AC1", "a.py", 1, "print(invoice, colour)", True, id="a line about it"),
        pytest.param(INVOICES, AFTER, "AC1", "a.py", 1, "send(payload)", False, id="another line"),
        pytest.param(RETRIES, MORE_TESTS, "AC1", "tests/test_upload.py", 6, "", True, id="most of its words"),
        pytest.param(RETRIES, MORE_TESTS, "AC1", "tests/test_upload.py", 2, "", False, id="another test"),
        pytest.param(RETRIES, MORE_TESTS, "AC1", "tests/test_upload.py", 4, "", False, id="in no test"),
        pytest.param(RETRIES, MORE_TESTS, "AC1", "net/upload.py", 2, "", False, id="code"),
        pytest.param(RETRIES, MORE_TESTS, "AC1", "tests/cases.txt", 1, "", True, id="where tests are not recognised"),
        pytest.param(RETRIES, MORE_TESTS, "AC1", "tests/other.py", 1, "", False, id="unchanged"),
        pytest.param(RESUMES, MORE_TESTS, "AC1", "tests/test_upload.py", 6, "", False, id="few of its words"),
    ],
)
def test_cited_line_settles_doubt_about_its_criterion(  # noqa: PLR0913 - the columns of a table
    text: str, after: dict[str, str], name: str, path: str, number: int, line: str, *, holds: bool
) -> None:
    assert is_settled_by(make_change(text, after), name, path, number, line) is holds


def looked_up_paths(
    text: str, files: list[dict[str, Any]] | None = None, case: dict[str, Any] | None = None
) -> tuple[str, ...]:
    criteria = [{"id": "AC1", "text": text}]
    return find_lookups(
        dossier_of({}, {"net/upload.py": CODE}, texts=False, criteria=criteria, files=files, case=case)
    ).paths


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Describe it in `docs/upload.md`", ("docs/upload.md",)),
        ("Update docs/upload.md", ("docs/upload.md",)),
        ("docs/upload.md explains it", ("docs/upload.md",)),
        ("See docs/upload.md.", ("docs/upload.md",)),
        ("Works with Node.js", ()),
        ("Remove `docs/upload.md`", ()),
        ("`acme init` writes `.github/acme.yml`", ()),
        ("A file named `a.toml` is found", ()),
        ("`net/upload.py` retries", ()),
        ("`upload.py` retries", ()),
    ],
)
def test_unchanged_file_named_by_criterion_is_looked_up(text: str, paths: tuple[str, ...]) -> None:
    assert looked_up_paths(text) == paths
    assert looked_up_paths(text, files=[{"path": path, "exists": False} for path in paths]) == (), "after the lookup"


def test_unchanged_file_cited_by_case_is_looked_up() -> None:
    coverage = [{"criterion": "AC1", "addressed_by": "net/upload.py:1", "evidence": "tests/test_upload.py::test_retry"}]
    case = {"summary": "Retries.", "ac_coverage": coverage, "work_arounds": [], "uncertainties": []}
    assert looked_up_paths("Retry a payload", case=case) == ("tests/test_upload.py",)
    coverage += [{"criterion": "AC2", "addressed_by": "../outside.py", "evidence": "in words"}]
    coverage += [{"criterion": "AC3", "addressed_by": "/etc/acme.toml", "evidence": None}]
    assert looked_up_paths("Retry a payload", case=case) == ("tests/test_upload.py",), (
        "nothing outside of the repository"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Covered by a test: retry payload", ["AC1"]),
        ("Covered by a test: send gives up after the last try", []),
        ("Covered by a test: resumes halted transfers", []),  # nothing speaks of it: a finding
        ("Covered by tests", []),
        ("Retry the payload, extend tests", []),  # what they shall cover is open
        ("A test shows that a payload is sent by retry", ["AC1"]),
        ("Retry a payload lazily", []),
    ],
)
def test_requested_test_is_in_doubt_when_no_test_name_matches(text: str, expected: list[str]) -> None:
    assert [gap.terms.criterion.id for gap in find_unnamed_tests(make_change(text))] == expected
