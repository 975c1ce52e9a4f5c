"""What takes something back, or mends it, is worded by git or by GitHub, or by a closed list of words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.dossier.reverts import (
    MOST_COMMITS,
    find_reverted_commits,
    find_reverted_pulls,
    is_declared_fix,
    is_declared_revert,
)

SHA, OTHER = "1" * 40, "2" * 40
HERE = "acme/widgets"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f'Revert "Retry"\n\nThis reverts commit {SHA}.\n', (SHA,)),
        (f"This reverts commit {SHA}, reversing\nchanges made to {OTHER}.", (SHA,)),
        (f"This reverts commit {SHA}.\nThis reverts commit {OTHER}.\nThis reverts commit {SHA}.", (SHA, OTHER)),
        (f"It says: This reverts commit {SHA}.", ()),
        (f"This reverts commit {SHA[:12]}.", ()),
        (f"This reverts commit {SHA}{SHA}.", ()),
        ("Retry", ()),
    ],
)
def test_the_commits_that_a_commit_takes_back_are_named_in_gits_words(message: str, expected: tuple[str, ...]) -> None:
    assert find_reverted_commits(message) == expected


def test_so_many_commits_are_taken_back_at_once_and_no_more() -> None:
    message = "\n".join(f"This reverts commit {number:040x}." for number in range(100))
    assert len(find_reverted_commits(message)) == MOST_COMMITS


@pytest.mark.parametrize(
    ("branch", "body", "expected"),
    [
        ("revert-12-fix", "Reverts acme/widgets#12", (12,)),
        ("revert-12-fix", "Why\n\nReverts #12", (12,)),
        ("revert-12-fix", "Reverts acme/widgets#13", ()),
        ("revert-12-fix", "Reverts acme/other#12", ()),
        ("revert-12-fix", "", ()),
        ("revert-12", "Reverts acme/widgets#12", ()),
        ("fix", "Reverts acme/widgets#12", ()),
    ],
)
def test_githubs_button_names_the_pull_request_in_branch_and_body(
    branch: str, body: str, expected: tuple[int, ...]
) -> None:
    assert find_reverted_pulls(branch, body, HERE) == expected


@pytest.mark.parametrize(
    ("title", "body", "is_so"),
    [
        ("Fix the retry", "", True),
        ("hotfix: uploads", "", True),
        ('Revert "Retry"', "", True),
        ("fix(upload): retry", "", True),
        ("Retry uploads", "Closes #7", True),
        ("Retry uploads", "See #7", False),
        ("Add a prefix", "", False),
        ("A fix-up of words", "", False),
    ],
)
def test_who_mends_says_so_in_the_title_or_closes_an_issue(title: str, body: str, *, is_so: bool) -> None:
    assert is_declared_fix(title, body, HERE) is is_so


@pytest.mark.parametrize(
    ("title", "body", "messages", "is_so"),
    [
        ('Revert "Retry uploads" (#12)', "", (), True),
        ("Undo the retry", f"This reverts commit {SHA}.\n\nIt hangs.", (), True),
        ("Retry", f"Retry uploads\n\nThis reverts commit {SHA}.", (), False),
        ("Undo the retry", "Reverts #12", (), True),
        ("Undo the retry", "", (f'Revert "Retry"\n\nThis reverts commit {SHA}.',), True),
        ("Undo the retry", "", ("One", f'Revert "Retry"\n\nThis reverts commit {SHA}.'), False),
        ("revert: the retry", "", (), True),
        ("[Reverted] the retry", "", (), True),
        ("Reverting to the old parser", "", (), True),
        ("Reversible migrations", "We revert #12", ("Reverting",), False),
        ("Keep what we reverted", "", (), False),
    ],
)
def test_a_revert_says_so_in_its_title_or_in_gits_words(
    title: str, body: str, messages: tuple[str, ...], *, is_so: bool
) -> None:
    assert is_declared_revert(title, body, messages) is is_so


@given(st.text(), st.text(), st.text())
def test_no_text_makes_it_raise(title: str, body: str, branch: str) -> None:
    is_declared_fix(title, body, HERE)
    is_declared_revert(title, body, [branch])
    find_reverted_commits(body)
    find_reverted_pulls(branch, body, HERE)
