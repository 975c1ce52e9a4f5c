"""How much of a criterion a change shows, and what a criterion or a claim promises and the change does not hold."""

from typing import Any

import pytest

from tests.worker.signals.made import diff_of, dossier_of, plain_dossier
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
MET: list[str] = []


def change(
    text: str, after: dict[str, str] | None = None, before: dict[str, str] | None = None, **more: object
) -> CodeChange:
    criteria = [{"id": "AC1", "text": text, **more}]
    return CodeChange(dossier_of(before or {}, AFTER if after is None else after, criteria=criteria))


def marks(text: str, after: dict[str, str] | None = None, before: dict[str, str] | None = None) -> list[str]:
    return [describe_gap(gap) for gap in find_doubtful_gaps(change(text, after, before))]


@pytest.mark.parametrize(
    "text",
    [
        "Retry a payload",
        "Stakeholders desire to retry a payload",
        "`send()` is available",
        "Use `max_tries` in `net/upload.py`",
        "Extend the tests in `test_upload.py`",
        "Covered by a test: send gives up after the last try",
        "`test_send_gives_up_after_the_last_try` tests this",
        "Add it",
    ],
)
def test_what_the_change_shows_is_not_marked(text: str) -> None:
    assert marks(text) == MET


def test_a_word_that_stands_in_more_lines_than_are_looked_at_is_shown_all_the_same() -> None:
    many = "".join(f"    retry(payload, {number})\n" for number in range(150))
    assert marks("Retry a payload", {"net/upload.py": f"def send(payload):\n{many}"}) == MET


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Extend the tests in `tests/test_download.py`", "tests/test_download.py is not changed"),
        ("Introduce `Backoff.delayFor()`", "the name `Backoff.delayFor()` does not occur"),
        ("Covered by a test: resumes halted transfers", "no added test speaks of it"),
        ("Describe it in the documentation", "no documentation is changed"),
        ("Compress thumbnails lazily", "no line of the change speaks of all of it"),
        ("Retry payload, last broken", "no line of the change speaks of all of it"),
        ("Covered by a test: retry payload", "no added test speaks of it"),
    ],
)
def test_what_it_does_not_show_is_in_doubt_and_not_called_missing(text: str, note: str) -> None:
    assert marks(text) == [note]
    (seen,) = judge_criteria(change(text))
    assert (seen.status, seen.note) == (CriterionStatus.UNVERIFIABLE, note)


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
    ("text", "expected"),
    [
        ("`upload` tries again after a 503, at most three times (`retry`)", ["upload.py:5", "upload.py:8"]),
        ("The upload answers 503", ["upload.py:8", "upload.py:7"]),
        ("`UploadError` is an exception", ["upload.py:1", "upload.py:10"]),
        ("Compress thumbnails lazily", []),
    ],
    ids=["in doubt: what defines the name, then the number", "the number", "the definition", "nothing speaks of it"],
)
def test_the_lines_that_speak_most_of_a_criterion_stand_beside_it_in_doubt_or_not(
    text: str, expected: list[str]
) -> None:
    (seen,) = judge_criteria(change(text, {"upload.py": UPLOAD}))
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
    assert [criterion.status for criterion in judge_criteria(change(text))] == [CriterionStatus.UNVERIFIABLE]


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
    assert [criterion.status for criterion in judge_criteria(change(text, {"net/upload.py": CODE}))] == [
        CriterionStatus.UNVERIFIABLE
    ]


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
    assert [criterion.status for criterion in judge_criteria(change("Add a test for the retry", after))] == [
        CriterionStatus.UNVERIFIABLE
    ]


def test_where_not_all_of_a_change_is_known_no_test_is_called_missing() -> None:
    unread = [{"path": "tests/test_upload.py", "reason": "too_large"}]
    criteria = [{"id": "AC1", "text": "Add a unit test"}]
    dossier = dossier_of({}, {"net/upload.py": CODE}, criteria=criteria, files_unread=unread)
    assert [criterion.status for criterion in judge_criteria(CodeChange(dossier))] == [CriterionStatus.UNVERIFIABLE]


def test_a_named_file_is_missing_only_where_it_is_known_not_to_be_there() -> None:
    criteria = [{"id": "AC1", "text": "Describe it in `docs/upload.md`"}]
    files = [{"path": "docs/upload.md", "exists": False}]
    looked_up = CodeChange(dossier_of({}, {"net/upload.py": CODE}, texts=False, criteria=criteria, files=files))
    assert [(criterion.status, criterion.note) for criterion in judge_criteria(looked_up)] == [
        (CriterionStatus.MISSING, "there is no docs/upload.md")
    ]
    unknown = CodeChange(dossier_of({}, {"net/upload.py": CODE}, criteria=criteria))
    assert [criterion.status for criterion in judge_criteria(unknown)] == [CriterionStatus.UNVERIFIABLE]


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
    assert [criterion.status for criterion in judge_criteria(CodeChange(dossier))] == [CriterionStatus.UNVERIFIABLE]


def test_of_a_criterion_that_the_change_speaks_of_the_lines_are_named() -> None:
    (seen,) = judge_criteria(change("Retry a payload with `max_tries`, until the last try"))
    assert [pointer.location for pointer in seen.evidence] == ["net/upload.py:2", "tests/test_upload.py:1"]
    (only_context,) = judge_criteria(
        change("`early` holds a filler", {"a.py": "early = filler\nx = 1\n"}, {"a.py": "early = filler\n"})
    )
    assert only_context.evidence == ()


@pytest.mark.parametrize(
    "code", ["#[test]\nfn retries_payload() {}\n", "#[tokio::test]\nasync fn retries_payload() {}\n"]
)
def test_rust_keeps_its_tests_in_the_code(code: str) -> None:
    assert marks("Covered by a test: retries payload", {"src/upload.rs": code}) == MET


def test_a_rust_test_may_be_known_by_the_heading_of_its_hunk() -> None:
    above = "mod tests {\n" + "".join(f"    // {n}\n" for n in range(9))
    diff = change("-", {"src/a.rs": above + "    fn retries_payload() {}\n"}, {"src/a.rs": above}).dossier.diff
    head, sep, rest = diff.partition(" @@\n")
    dossier = dossier_of({}, {}, criteria=[{"id": "AC1", "text": "Covered by a test: retries payload"}])
    moved = dossier.model_copy(update={"diff": f"{head}{sep[:-1]} mod tests {{\n{rest}"})
    assert find_doubtful_gaps(CodeChange(moved)) == ()


def test_a_name_in_another_file_than_the_one_that_is_asked_for_is_half_of_it() -> None:
    after = {**AFTER, "net/download.py": "x = 1\n"}
    assert marks("Use `max_tries` in `net/download.py`", after) == ["little of the change speaks of `max_tries`"]


def test_a_name_that_was_there_before_is_half_of_it() -> None:
    far = "".join(f"filler{n} = {n}\n" for n in range(30))
    statuses = marks("`early` holds", {"a.py": f"early = 1\n{far}new = 1\n"}, {"a.py": f"early = 1\n{far}"})
    assert statuses == ["little of the change speaks of `early`"]


def test_what_should_go_is_shown_by_what_went() -> None:
    before, after = {"a.py": "old_way = 1\nb = 1\n"}, {"a.py": "b = 1\n"}
    assert marks("Remove `old_way`", after, before) == MET
    assert marks("Keep `old_way`", after, before) == ["little of the change speaks of `old_way`"]


@pytest.mark.parametrize("path", ["README.md", "docs/upload.html"])
def test_documentation_is_a_text_or_lies_in_its_folder(path: str) -> None:
    assert marks("Mention it in the docs", AFTER | {path: "retry\n"}) == MET


def test_the_function_around_a_change_speaks_of_it() -> None:
    diff = change("-", {"a.go": "a\nb\n"}, {"a.go": "a\n"}).dossier.diff.replace(
        " @@\n", " @@ func parseHeader(x int) {\n", 1
    )
    dossier = dossier_of({}, {}, criteria=[{"id": "AC1", "text": "`parseHeader` is changed"}])
    assert find_doubtful_gaps(CodeChange(dossier.model_copy(update={"diff": diff}))) == ()


def test_prose_that_was_taken_as_one_criterion_falls_short_of_nothing() -> None:
    inferred = change("Compress thumbnails lazily", inferred=True)
    assert find_gaps(inferred) == ()
    assert mean_gap(inferred) == 0


def test_the_number_is_the_mean_of_the_gaps() -> None:
    criteria = [{"id": "AC1", "text": "Retry a payload"}, {"id": "AC2", "text": "Compress thumbnails lazily"}]
    assert mean_gap(CodeChange(dossier_of({}, AFTER, criteria=criteria))) == pytest.approx(0.5, abs=0.01)


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
    assert marks(text) == MET


@pytest.mark.parametrize("text", ["Implement a backoff", "The `Backoff` that I have drafted is in"])
def test_another_criterion_with_such_words_is_held_against_the_change(text: str) -> None:
    assert marks(text) != MET


def test_a_name_in_a_changed_path_is_shown() -> None:
    after = {"net_derive/tests/upload.py": TEST}
    assert marks("add `net_derive` tests: gives up after the last try", after) == MET
    assert marks("add `disk_derive` tests: gives up after the last try", after) != MET


def test_documentation_in_code_is_documentation_where_it_speaks_of_it() -> None:
    after = {"net/A.java": "/**\n * Retries a payload.\n */\nclass A {\n}\n"}
    assert marks("Describe payload in the documentation", after) == MET
    assert marks("Describe thumbnails in the documentation", after) != MET


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


@pytest.mark.parametrize(
    ("name", "path", "holds"), [("AC1", "docs/retry.md", True), ("AC1", "net/upload.py", False), ("AC9", "a.py", True)]
)
def test_a_document_settles_that_no_document_changed_and_any_line_what_is_no_criterion(
    name: str, path: str, *, holds: bool
) -> None:
    assert is_settled_by(change("The retry is documented in the docs"), name, path, 1, "The retry.") is holds


@pytest.mark.parametrize(("line", "holds"), [("print(invoice, colour)", True), ("send(payload)", False)])
def test_a_line_about_a_criterion_settles_that_no_line_speaks_of_all_of_it(line: str, *, holds: bool) -> None:
    assert is_settled_by(change("Invoices are printed in colour"), "AC1", "a.py", 1, line) is holds


def sought(text: str, files: list[dict[str, Any]] | None = None, case: dict[str, Any] | None = None) -> tuple[str, ...]:
    criteria = [{"id": "AC1", "text": text}]
    return find_lookups(
        dossier_of({}, {"net/upload.py": CODE}, texts=False, criteria=criteria, files=files, case=case)
    ).paths


@pytest.mark.parametrize(
    "text",
    ["Describe it in `docs/upload.md`", "Update docs/upload.md", "docs/upload.md explains it", "See docs/upload.md."],
)
def test_a_file_that_a_criterion_names_is_looked_up(text: str) -> None:
    assert sought(text) == ("docs/upload.md",)


@pytest.mark.parametrize(
    "text",
    [
        "Works with Node.js",
        "Remove `docs/upload.md`",
        "`acme init` writes `.github/acme.yml`",
        "A file named `a.toml` is found",
        "`net/upload.py` retries",
        "`upload.py` retries",
    ],
)
def test_what_is_no_file_of_the_repository_or_changed_is_not_looked_up(text: str) -> None:
    assert sought(text) == ()


def test_what_is_known_of_a_file_is_not_looked_up_again() -> None:
    assert sought("Update `docs/upload.md`", files=[{"path": "docs/upload.md", "exists": False}]) == ()


def test_a_file_that_the_case_cites_is_looked_up_unless_the_change_touches_it() -> None:
    coverage = [{"criterion": "AC1", "addressed_by": "net/upload.py:1", "evidence": "tests/test_upload.py::test_retry"}]
    case = {"summary": "Retries.", "ac_coverage": coverage, "work_arounds": [], "uncertainties": []}
    assert sought("Retry a payload", case=case) == ("tests/test_upload.py",)
    coverage += [{"criterion": "AC2", "addressed_by": "../outside.py", "evidence": "in words"}]
    coverage += [{"criterion": "AC3", "addressed_by": "/etc/acme.toml", "evidence": None}]
    assert sought("Retry a payload", case=case) == ("tests/test_upload.py",), "nothing outside of the repository"


@pytest.mark.parametrize(
    ("text", "path", "line", "holds"),
    [
        ("Covered by a test: payload is broken, send retries", "tests/test_upload.py", 6, True),
        ("Covered by a test: payload is broken, send retries", "tests/test_upload.py", 2, False),  # another test
        ("Covered by a test: payload is broken, send retries", "tests/test_upload.py", 4, False),  # in none
        ("Covered by a test: payload is broken, send retries", "net/upload.py", 2, False),
        (
            "Covered by a test: payload is broken, send retries",
            "tests/cases.txt",
            1,
            True,
        ),  # tests are not recognised there
        ("Covered by a test: payload is broken, send retries", "tests/other.py", 1, False),  # unchanged
        ("Covered by a test: payload is large, upload resumes", "tests/test_upload.py", 6, False),
    ],
)
def test_a_test_that_holds_most_of_its_words_settles_a_criterion_that_asks_for_one(
    text: str, path: str, line: int, *, holds: bool
) -> None:
    tests = f"{TEST}\n\ndef test_once_more():\n    payload = broken\n    assert send(payload) == retry(payload)\n"
    after = {"net/upload.py": CODE, "tests/test_upload.py": tests, "tests/cases.txt": "send broken payload retries\n"}
    assert is_settled_by(change(text, after), "AC1", path, line, "") is holds


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
