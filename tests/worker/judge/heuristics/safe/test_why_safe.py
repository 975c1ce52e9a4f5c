"""When a change can't be wrong: harmless files, and nobody asked for more than words."""

import pytest

from tests.worker.judge.heuristics.made import change_of, dossier_of
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.safe import why_safe
from worker.judge.heuristics.safe.asked import asks_for_words_only

BEFORE = {"README.md": "Odl words.\n", "a.py": "x = 1  # odl\n"}
AFTER = {"README.md": "Old words.\n", "a.py": "x = 1  # old\n"}


@pytest.mark.parametrize(
    "title",
    ["Fix typos", "docs: retry uploads explained", "Document the limits", "Update README.md", "Clarify wording"],
)
def test_words_that_were_asked_for_are_safe(title: str) -> None:
    assert why_safe(change_of(BEFORE, AFTER, title=title)) is not None


@pytest.mark.parametrize(
    "title",
    [
        "Retry uploads on 503",
        "fix: handle empty input",
        "Change",
        "Implement and document the parser",
        "Fix the crash in the docs command",
        "Send security headers with each response",
        "Add markdown export",
        "Login button has wrong style",
        "Comments can be deleted by their author",
        "Change the format of dates",
    ],
)
def test_a_title_that_announces_a_behaviour_is_not_fulfilled_by_words(title: str) -> None:
    assert why_safe(change_of(BEFORE, AFTER, title=title)) is None


def test_the_issue_decides_not_the_authors_title() -> None:
    assert why_safe(change_of(BEFORE, AFTER, title="docs: typo", issue="Uploads fail")) is None
    assert why_safe(change_of(BEFORE, AFTER, title="Uploads", issue="Typo in the README")) is not None


def test_a_documentation_change_about_another_matter_is_not_accepted_for_the_issue() -> None:
    elsewhere = "Typo in the section about pagers"
    assert why_safe(change_of(BEFORE, AFTER, title="docs", issue=elsewhere)) is None
    named = "Typo in the README, and in docs/utils.md"
    assert why_safe(change_of(BEFORE, AFTER, title="docs", issue=named)) is None, (
        "a file that the issue names is missing"
    )


def test_of_a_list_with_several_items_code_can_not_tell_whether_each_is_done() -> None:
    asked = [
        {"id": f"AC{n}", "text": f"The README explains {what}"} for n, what in enumerate(("this", "that"), start=1)
    ]
    one, two = (
        Change(dossier_of(BEFORE, AFTER, title="docs", issue="Typo in the README", criteria=listed))
        for listed in (asked[:1], asked)
    )
    assert why_safe(one) is not None
    assert why_safe(two) is None


def test_prose_that_asks_for_behaviour_beside_the_words_is_not_fulfilled_by_words() -> None:
    body = "Update docs\n\nAlso make uploads retry on 503."
    asked = [{"id": "AC1", "text": body, "inferred": True}]
    assert not asks_for_words_only(dossier_of(BEFORE, AFTER, title="Update docs", criteria=asked))
    quoted = [{"id": "AC1", "text": "Update docs for `retry`", "inferred": True}]
    assert asks_for_words_only(dossier_of(BEFORE, AFTER, title="Update docs", criteria=quoted))


def test_every_listed_criterion_has_to_ask_for_words() -> None:
    words, code = {"id": "AC1", "text": "The README says how"}, {"id": "AC2", "text": "Uploads are retried"}
    quiet = {"id": "AC2", "text": "Somebody was confused"}
    assert asks_for_words_only(dossier_of(BEFORE, AFTER, title="docs: x", criteria=[words]))
    assert not asks_for_words_only(dossier_of(BEFORE, AFTER, title="docs: x", criteria=[words, code]))
    assert asks_for_words_only(
        dossier_of(BEFORE, AFTER, title="docs: x", criteria=[words, {**quiet, "inferred": True}])
    )


def test_one_file_that_is_more_than_words_is_enough() -> None:
    assert why_safe(change_of(BEFORE | {"b.py": "y = 1\n"}, AFTER | {"b.py": "y = 2\n"}, title="Fix typos")) is None
    assert why_safe(change_of(BEFORE, AFTER | {"conf.yml": "y: 2\n"}, title="Fix typos")) is None


def test_no_change_at_all_is_not_safe() -> None:
    assert why_safe(change_of(AFTER, AFTER, title="Fix typos")) is None


@pytest.mark.parametrize(
    "title",
    [
        "Fix typo in the retry tests", "Document how failures are retried", "style: wrap long lines", "Reformat with black", "Fix flake8 errors",
        "Clean-up", "Remove commented code", "Use single quotes", "doc: Clarify crash reports", "Fix stale references to master in comments",
    ],
)  # fmt: skip
def test_what_the_words_are_about_is_not_what_is_asked_for(title: str) -> None:
    before, after = {"a.py": BEFORE["a.py"]}, {"a.py": AFTER["a.py"]}
    assert why_safe(change_of(before, after, title=title)) is not None


@pytest.mark.parametrize(
    "title",
    [
        "Fix typo and the crash",
        "Improve docs, retry uploads",
        "Fix the failing tests of the docs",
        "Align columns",
        "Format dates as ISO, fix tests",
    ],
)
def test_words_beside_a_behaviour_are_half_of_it(title: str) -> None:
    before, after = {"a.py": BEFORE["a.py"]}, {"a.py": AFTER["a.py"]}
    assert why_safe(change_of(before, after, title=title)) is None


def test_layout_is_not_asked_of_documents() -> None:
    assert why_safe(change_of(BEFORE, AFTER, title="Improve the formatting of dates")) is None


@pytest.mark.parametrize(
    ("body", "is_safe"),
    [
        ("Uploads crash when the test fails; the README says so now.", True),
        ("Fixes some mixing up between the two.", True),
        ("* docs: fix typos\n* fix(ci): build the image", False),
        ("- add a retry to uploads", False),
        ("- fix a typo", True),
        ("This also makes uploads retry. Additionally, add retries.", False),
    ],
)
def test_what_a_body_lists_besides_is_asked_for_too(body: str, is_safe: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    asked = [{"id": "AC1", "text": f"Fix typos\n\n{body}", "inferred": True}]
    assert asks_for_words_only(dossier_of(BEFORE, AFTER, title="Fix typos", criteria=asked)) is is_safe


def test_the_prose_of_an_issue_may_not_speak_of_behaviour_at_all() -> None:
    quiet, loud = (
        [{"id": "AC1", "text": f"Typo in the README\n\n{body}", "inferred": True}]
        for body in ("It says odl.", "Uploads crash.")
    )
    made = [dossier_of(BEFORE, AFTER, issue="Typo in the README", criteria=asked) for asked in (quiet, loud)]
    assert [asks_for_words_only(one) for one in made] == [True, False]
