"""How much of a criterion a change shows, and what a criterion or a claim promises and the change does not hold."""

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


def change(
    text: str, after: dict[str, str] | None = None, before: dict[str, str] | None = None, **more: object
) -> CodeChange:
    criteria = [{"id": "AC1", "text": text, **more}]
    return CodeChange(dossier_of(before or {}, AFTER if after is None else after, criteria=criteria))


def marks(change: CodeChange) -> str:
    return "".join(describe_gap(gap) for gap in find_doubtful_gaps(change))


def statuses(change: CodeChange) -> list[CriterionStatus]:
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
def test_what_the_change_does_not_show_is_in_doubt_and_not_called_missing(text: str, note: str) -> None:
    assert marks(change(text)) == note
    (seen,) = judge_criteria(change(text))
    assert (seen.status, seen.note) == (CriterionStatus.UNVERIFIABLE, note)


@pytest.mark.parametrize(
    "text",
    [
        "I have followed the steps of the [Contributing guide](CONTRIBUTING.md)",
        "If necessary, I have added documentation",
        "- I've read the rules of conduct",
        "My code follows the style guide",
    ],
)
def test_what_an_author_confirms_in_a_template_is_nothing_to_show(text: str) -> None:
    assert judge_criteria(change(text)) == ()


def test_a_word_that_stands_in_more_lines_than_are_looked_at_is_shown_all_the_same() -> None:
    many = "".join(f"    retry(payload, {number})\n" for number in range(150))
    assert marks(change("Retry a payload", {"net/upload.py": f"def send(payload):\n{many}"})) == MET


@pytest.mark.parametrize(
    "code", ["#[test]\nfn retries_payload() {}\n", "#[tokio::test]\nasync fn retries_payload() {}\n"]
)
def test_rust_keeps_its_tests_in_the_code(code: str) -> None:
    assert marks(change("Covered by a test: retries payload", {"src/upload.rs": code})) == MET


@pytest.mark.parametrize(
    ("text", "path", "heading"),
    [
        ("Covered by a test: retries payload", "src/a.rs", "mod tests {"),
        ("`parseHeader` is changed", "a.go", "func parseHeader(x int) {"),
    ],
)
def test_the_heading_of_a_hunk_speaks_of_what_is_below_it(text: str, path: str, heading: str) -> None:
    diff = diff_of({path: "a\n"}, {path: "a\n    fn retries_payload() {}\n"}).replace(" @@\n", f" @@ {heading}\n", 1)
    assert marks(CodeChange(plain_dossier(diff, criteria=[{"id": "AC1", "text": text}]))) == MET


def test_a_name_in_another_file_than_the_one_that_is_asked_for_is_half_of_it() -> None:
    after = {**AFTER, "net/download.py": "x = 1\n"}
    note = "little of the change speaks of `max_tries`"
    assert marks(change("Use `max_tries` in `net/download.py`", after)) == note


def test_a_name_that_was_there_before_is_half_of_it() -> None:
    far = "early = 1\n" + "".join(f"filler{n} = {n}\n" for n in range(30))
    held = change("`early` holds", {"a.py": f"{far}new = 1\n"}, {"a.py": far})
    assert marks(held) == "little of the change speaks of `early`"


def test_what_should_go_is_shown_by_what_went() -> None:
    before, after = {"a.py": "old_way = 1\nb = 1\n"}, {"a.py": "b = 1\n"}
    assert marks(change("Remove `old_way`", after, before)) == MET
    assert marks(change("Keep `old_way`", after, before)) == "little of the change speaks of `old_way`"


@pytest.mark.parametrize("path", ["README.md", "docs/upload.html"])
def test_documentation_is_a_text_or_lies_in_its_folder(path: str) -> None:
    assert marks(change("Mention it in the docs", AFTER | {path: "retry\n"})) == MET


def test_a_name_in_a_changed_path_is_shown() -> None:
    after = {"net_derive/tests/upload.py": TEST}
    assert marks(change("add `net_derive` tests: gives up after the last try", after)) == MET
    assert marks(change("add `disk_derive` tests: gives up after the last try", after)) != MET


def test_documentation_in_code_is_documentation_where_it_speaks_of_it() -> None:
    after = {"net/A.java": "/**\n * Retries a payload.\n */\nclass A {\n}\n"}
    assert marks(change("Describe payload in the documentation", after)) == MET
    assert marks(change("Describe thumbnails in the documentation", after)) != MET


UPLOAD = """class UploadError(Exception):
    pass


def upload(data, client):
    for _ in range(3):
        answer = client.put(data)
        if answer.status != 503:
            return answer
    raise UploadError
"""


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        (
            "`upload` tries again after a 503, at most three times (`retry`)",
            {},
            {"upload.py": UPLOAD},
            ["upload.py:5", "upload.py:8"],
        ),
        ("The upload answers 503", {}, {"upload.py": UPLOAD}, ["upload.py:8", "upload.py:7"]),
        ("`UploadError` is an exception", {}, {"upload.py": UPLOAD}, ["upload.py:1", "upload.py:10"]),
        ("Compress thumbnails lazily", {}, {"upload.py": UPLOAD}, []),
        (
            "Retry a payload with `max_tries`, until the last try",
            {},
            AFTER,
            ["net/upload.py:2", "tests/test_upload.py:1"],
        ),
        ("`early` holds a filler", {"a.py": "early = filler\n"}, {"a.py": "early = filler\nx = 1\n"}, []),
    ],
    ids=["what defines the name, the number", "the number", "the definition", "nothing", "a test as well", "context"],
)
def test_the_lines_that_speak_most_of_a_criterion_stand_beside_it_in_doubt_or_not(
    text: str, before: dict[str, str], after: dict[str, str], expected: list[str]
) -> None:
    (seen,) = judge_criteria(change(text, after, before))
    assert [pointer.location for pointer in seen.evidence] == expected


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
def test_a_test_that_is_to_be_added_is_missing_where_the_change_holds_none(text: str) -> None:
    proved = "it asks for a test, and this change holds none"
    code = {"net/upload.py": CODE, "README.md": "Retries.\n", "pyproject.toml": "line-length = 120\n"}
    assert [(criterion.status, criterion.note) for criterion in judge_criteria(change(text, code))] == [
        (CriterionStatus.MISSING, proved)
    ]
    assert statuses(change(text)) == [CriterionStatus.UNVERIFIABLE]


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
def test_a_criterion_that_an_old_test_may_meet_is_not_called_missing(text: str) -> None:
    assert statuses(change(text, {"net/upload.py": CODE})) == [CriterionStatus.UNVERIFIABLE]


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
def test_what_may_hold_a_test_of_any_framework_is_no_change_without_one(path: str, text: str) -> None:
    after = {"net/upload.py": CODE, path: text}
    assert statuses(change("Add a test for the retry", after)) == [CriterionStatus.UNVERIFIABLE]


def test_where_not_all_of_a_change_is_known_no_test_is_called_missing() -> None:
    unread = [{"path": "tests/test_upload.py", "reason": "too_large"}]
    criteria = [{"id": "AC1", "text": "Add a unit test"}]
    dossier = dossier_of({}, {"net/upload.py": CODE}, criteria=criteria, files_unread=unread)
    assert statuses(CodeChange(dossier)) == [CriterionStatus.UNVERIFIABLE]


def test_a_named_file_is_missing_only_where_it_is_known_not_to_be_there() -> None:
    criteria = [{"id": "AC1", "text": "Describe it in `docs/upload.md`"}]
    files = [{"path": "docs/upload.md", "exists": False}]
    looked_up = CodeChange(dossier_of({}, {"net/upload.py": CODE}, texts=False, criteria=criteria, files=files))
    assert [(criterion.status, criterion.note) for criterion in judge_criteria(looked_up)] == [
        (CriterionStatus.MISSING, "there is no docs/upload.md")
    ]
    assert statuses(change(criteria[0]["text"], {"net/upload.py": CODE})) == [CriterionStatus.UNVERIFIABLE]


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
def test_a_file_that_the_change_takes_away_is_not_called_missing(text: str, *, is_renamed: bool) -> None:
    files = [{"path": "old.py", "exists": False}]
    criteria = [{"id": "AC1", "text": text}]
    renamed = "diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n"
    deleted = diff_of({"old.py": CODE}, {"new.py": CODE})
    dossier = plain_dossier(renamed if is_renamed else deleted, criteria=criteria, files=files)
    assert statuses(CodeChange(dossier)) == [CriterionStatus.UNVERIFIABLE]


def test_prose_that_was_taken_as_one_criterion_falls_short_of_nothing() -> None:
    inferred = change("Compress thumbnails lazily", inferred=True)
    assert find_gaps(inferred) == ()
    assert mean_gap(inferred) == 0


def test_the_number_is_the_mean_of_the_gaps() -> None:
    criteria = [{"id": "AC1", "text": "Retry a payload"}, {"id": "AC2", "text": "Compress thumbnails lazily"}]
    assert mean_gap(CodeChange(dossier_of({}, AFTER, criteria=criteria))) == pytest.approx(0.5, abs=0.01)


def test_only_lines_with_what_a_criterion_wants_are_kept() -> None:
    shown = build_index(change("Retry a `payload`"))
    assert (shown.size, shown.has_tests) == (6, True)
    assert [set(unit.words) for unit in shown.units_with("retry")] == [{"retry", "payload"}]
    assert [unit.path for unit in shown.units_named("payload")] == ["net/upload.py"] * 2
    assert shown.units_with("broken") == shown.units_named("broken") == []
    assert shown.weight("broken") < shown.weight("retry")


def test_a_line_that_stands_twice_is_two_units() -> None:
    shown = build_index(change("Retry a payload", {"a.py": "retry(one)\nretry(one)\n"}))
    assert [unit.words for unit in shown.units_with("retry")] == [("retry",)] * 2


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
def test_a_line_settles_what_seems_to_be_missing_of_a_criterion(  # noqa: PLR0913 - the columns of a table
    text: str, after: dict[str, str], name: str, path: str, number: int, line: str, *, holds: bool
) -> None:
    assert is_settled_by(change(text, after), name, path, number, line) is holds


def sought(text: str, files: list[dict[str, Any]] | None = None, case: dict[str, Any] | None = None) -> tuple[str, ...]:
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
def test_a_file_of_the_repository_that_a_criterion_names_and_nothing_touches_is_looked_up(
    text: str, paths: tuple[str, ...]
) -> None:
    assert sought(text) == paths
    assert sought(text, files=[{"path": path, "exists": False} for path in paths]) == (), "it is known by then"


def test_a_file_that_the_case_cites_is_looked_up_unless_the_change_touches_it() -> None:
    coverage = [{"criterion": "AC1", "addressed_by": "net/upload.py:1", "evidence": "tests/test_upload.py::test_retry"}]
    case = {"summary": "Retries.", "ac_coverage": coverage, "work_arounds": [], "uncertainties": []}
    assert sought("Retry a payload", case=case) == ("tests/test_upload.py",)
    coverage += [{"criterion": "AC2", "addressed_by": "../outside.py", "evidence": "in words"}]
    coverage += [{"criterion": "AC3", "addressed_by": "/etc/acme.toml", "evidence": None}]
    assert sought("Retry a payload", case=case) == ("tests/test_upload.py",), "nothing outside of the repository"


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
def test_a_test_that_is_asked_for_is_in_doubt_where_no_test_is_called_so(text: str, expected: list[str]) -> None:
    assert [gap.terms.criterion.id for gap in find_unnamed_tests(change(text))] == expected
