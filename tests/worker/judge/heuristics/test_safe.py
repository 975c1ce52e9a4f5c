"""When a change can't be wrong: harmless files, and nobody asked for more than words."""

import pytest

from tests.worker.judge.heuristics.made import change_of, dossier_of
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.safe import asks_for_words_only, why_safe

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
