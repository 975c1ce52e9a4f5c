"""Whose text of an issue is judged by."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.dossier import LateEdit
from worker.dossier.issues import (
    MOST_COMMITS,
    IssueLink,
    JudgedText,
    TextHistory,
    TextVersion,
    find_closing_links,
    find_reverted_commits,
    find_reverted_pulls,
    is_declared_fix,
    is_declared_revert,
    select_judged_text,
)

HERE = "acme/widgets"


def closed(text: str) -> list[str]:
    return [f"{link.repository}#{link.number}" for link in find_closing_links(text, HERE)]


def test_each_documented_keyword_closes() -> None:
    for word in ("close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"):
        assert closed(f"This {word} #7.") == closed(f"{word.upper()}: #7") == ["acme/widgets#7"]


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("Closes acme/gears#3", ["acme/gears#3"]),
        ("Fixes #7, fixes #8 and #9", ["acme/widgets#7", "acme/widgets#8"]),
        ("Closes #7, #8", ["acme/widgets#7"]),
        ("Closes #7, #8\n\nFixes #9 and #10", ["acme/widgets#7", "acme/widgets#9"]),
        ("Closes #7, acme/gears#3, https://github.com/acme/gears/issues/4", ["acme/widgets#7"]),
        ("Fixes https://github.com/acme/gears/issues/3", ["acme/gears#3"]),
        ("- [x] Fixes #7", ["acme/widgets#7"]),
        ("| Fixes #7 | x |\n|---|---|\n| a | b |", ["acme/widgets#7"]),
        ("Closes #7. Really closes #7, closes Acme/Widgets#7", ["acme/widgets#7"]),
        ("<details>\nCloses #7\n</details>", ["acme/widgets#7"]),
        ("`a` fixes #7 `b`", ["acme/widgets#7"]),
        ("an open ` and fixes #7", ["acme/widgets#7"]),
        ("before <!-- fixes #8 --> closes #7", ["acme/widgets#7"]),
    ],
)
def test_links_are_found(text: str, issues: list[str]) -> None:
    assert closed(text) == issues


@pytest.mark.parametrize(
    "text",
    [
        "See #7", "closing #7", "Closes issue #7", "fix(#7): x", "prefix #7", "hot-fix #7", "unfixed #7", "Closes #foo",
        "fixes #431abc", "Fixes `#7`", "`Fixes #7`", "`` a ` Fixes #7 ``", "```\nFixes #7\n```", "```assay\nsummary: Closes #7, #8\n```", "    Fixes #7",
        "> Fixes #7", "<!-- Fixes #7 -->", "text <!-- Fixes #7", "Closes:\n\n#7", "**Closes:** #7",
        "Fixes https://evil.example/acme/gears/issues/3", "Fixes https://github.com/acme/gears", "",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_link_closes_nothing(text: str) -> None:
    assert closed(text) == []


def test_a_link_keeps_the_words_that_make_it() -> None:
    assert find_closing_links("Well, Closes   #7!", HERE) == (IssueLink(HERE, 7, "Closes #7"),)


def test_an_enterprise_host_is_its_own() -> None:
    url = "Fixes https://git.acme.example/acme/gears/pull/3"
    assert find_closing_links(url, HERE, host="git.acme.example")[0].number == 3
    assert find_closing_links(url, HERE) == ()


@given(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from(list("`#<!->\n 0123fixesFIXES:/"))))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert all(link.number >= 0 for link in find_closing_links(f"fixes #1 {text}", HERE))


SHA, OTHER = "1" * 40, "2" * 40


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


OPENED = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = "as it reads now"


def at(minutes: int) -> datetime:
    return OPENED + timedelta(minutes=minutes)


def judged(minutes: int, text: str | None) -> TextVersion:
    return TextVersion(at(minutes), "agent[bot]", is_by_judged=True, text=text)


def person(minutes: int, text: str | None) -> TextVersion:
    return TextVersion(at(minutes), "alice", is_by_judged=False, text=text)


def late(*minutes: int, used: bool = False) -> tuple[LateEdit, ...]:
    return tuple(LateEdit(by="agent[bot]", at=at(minute), used=used) for minute in minutes)


WRITTEN = person(-60, "as written")


@pytest.mark.parametrize(
    "versions",
    [
        pytest.param((), id="never edited"),
        pytest.param((person(5, NOW), WRITTEN), id="by a person"),
        pytest.param((judged(-5, NOW), WRITTEN), id="before there was a pull request"),
        pytest.param((person(9, NOW), judged(5, "easier"), WRITTEN), id="a person took it over"),
        pytest.param((person(9, NOW), judged(5, None)), id="a person took over what is not shown"),
        pytest.param((judged(5, NOW),), id="written by the judged, and an edit of nobody"),
    ],
)
def test_what_reads_now_stands_where_no_edit_of_the_judged_came_last(versions: tuple[TextVersion, ...]) -> None:
    assert select_judged_text(NOW, TextHistory(versions, is_complete=True), OPENED) == JudgedText(NOW)


@pytest.mark.parametrize(
    ("versions", "text", "edits"),
    [
        pytest.param((judged(5, NOW), WRITTEN), "as written", late(5), id="one edit"),
        pytest.param((judged(0, NOW), WRITTEN), "as written", late(0), id="in the second of the opening"),
        pytest.param((judged(9, NOW), judged(5, "easy"), WRITTEN), "as written", late(9, 5), id="several edits"),
        pytest.param((judged(9, NOW), person(7, "hers"), judged(5, "easy"), WRITTEN), "hers", late(9), id="on hers"),
        pytest.param((judged(9, NOW), judged(-5, "early"), WRITTEN), "early", late(9), id="on an early one"),
        pytest.param((judged(9, NOW), judged(5, "his own")), "his own", late(9), id="of what the judged wrote himself"),
        pytest.param((WRITTEN, judged(5, NOW)), "as written", late(5), id="told in another order"),
        pytest.param((judged(5, f"{NOW}\r\n"), WRITTEN), "as written", late(5), id="other ends of lines"),
        pytest.param((judged(5, None), WRITTEN), "as written", late(5), id="the newest is not shown"),
    ],
)
def test_an_edit_of_the_judged_that_came_last_is_not_used(
    versions: tuple[TextVersion, ...], text: str, edits: tuple[LateEdit, ...]
) -> None:
    assert select_judged_text(NOW, TextHistory(versions, is_complete=True), OPENED) == JudgedText(text, edits)


@pytest.mark.parametrize(
    ("history", "edits"),
    [
        pytest.param(TextHistory((judged(9, NOW), judged(5, "easy"))), late(9, 5, used=True), id="more than is told"),
        pytest.param(TextHistory((judged(9, NOW), person(5, None))), late(9, used=True), id="not shown"),
        pytest.param(TextHistory((judged(9, None),)), late(9, used=True), id="the last edit alone is known"),
        pytest.param(
            TextHistory((judged(9, "- his line"), WRITTEN), is_complete=True), late(9, used=True), id="of another text"
        ),
    ],
)
def test_where_what_stood_before_is_not_known_the_present_text_is_used_and_the_edit_is_told(
    history: TextHistory, edits: tuple[LateEdit, ...]
) -> None:
    assert select_judged_text(NOW, history, OPENED) == JudgedText(NOW, edits)


def test_what_anybody_else_left_stands_though_the_history_is_longer_than_it_is_told() -> None:
    history = TextHistory((judged(9, NOW), person(5, "hers"), judged(3, "easy")))
    assert select_judged_text(NOW, history, OPENED) == JudgedText("hers", late(9))
