"""Closing links, reverts, and the version of an issue text that is judged."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.dossier import Issue, LateEdit
from worker.dossier.issues import (
    MOST_COMMITS,
    MOST_CRITERIA,
    IssueLink,
    JudgedText,
    TextHistory,
    TextVersion,
    criteria_of,
    find_closing_links,
    find_reverted_commits,
    find_reverted_pulls,
    is_declared_fix,
    is_declared_revert,
    listed_criteria,
    select_judged_text,
)

HERE = "acme/widgets"


def list_closed(text: str) -> list[str]:
    return [f"{link.repository}#{link.number}" for link in find_closing_links(text, HERE)]


def test_documented_keyword_closes_an_issue() -> None:
    for word in ("close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"):
        assert list_closed(f"This {word} #7.") == list_closed(f"{word.upper()}: #7") == ["acme/widgets#7"]


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
def test_closing_links_are_found(text: str, issues: list[str]) -> None:
    assert list_closed(text) == issues


@pytest.mark.parametrize(
    "text",
    [
        "See #7", "closing #7", "Closes issue #7", "fix(#7): x", "prefix #7", "hot-fix #7", "unfixed #7", "Closes #foo",
        "fixes #431abc", "Fixes `#7`", "`Fixes #7`", "`` a ` Fixes #7 ``", "```\nFixes #7\n```", "```assay\nsummary: Closes #7, #8\n```", "    Fixes #7",
        "> Fixes #7", "<!-- Fixes #7 -->", "text <!-- Fixes #7", "Closes:\n\n#7", "**Closes:** #7",
        "Fixes https://evil.example/acme/gears/issues/3", "Fixes https://github.com/acme/gears", "",
    ],
)  # fmt: skip
def test_text_that_resembles_a_link_closes_nothing(text: str) -> None:
    assert list_closed(text) == []


def test_link_keeps_its_text() -> None:
    assert find_closing_links("Well, Closes   #7!", HERE) == (IssueLink(HERE, 7, "Closes #7"),)


def test_enterprise_link_closes_only_on_its_host() -> None:
    url = "Fixes https://git.acme.example/acme/gears/pull/3"
    assert find_closing_links(url, HERE, host="git.acme.example")[0].number == 3
    assert find_closing_links(url, HERE) == ()


@given(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from(list("`#<!->\n 0123fixesFIXES:/"))))
def test_any_text_is_read_for_links_without_an_exception(text: str) -> None:
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
def test_reverted_commits_are_read_from_gits_message(message: str, expected: tuple[str, ...]) -> None:
    assert find_reverted_commits(message) == expected


def test_reverted_commits_are_bounded() -> None:
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
def test_reverted_pull_request_is_read_from_branch_and_body(branch: str, body: str, expected: tuple[int, ...]) -> None:
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
def test_declared_fix_has_a_fix_title_or_closes_an_issue(title: str, body: str, *, is_so: bool) -> None:
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
def test_declared_revert_has_a_title_or_gits_message(
    title: str, body: str, messages: tuple[str, ...], *, is_so: bool
) -> None:
    assert is_declared_revert(title, body, messages) is is_so


@given(st.text(), st.text(), st.text())
def test_any_declaration_is_read_without_an_exception(title: str, body: str, branch: str) -> None:
    is_declared_fix(title, body, HERE)
    is_declared_revert(title, body, [branch])
    find_reverted_commits(body)
    find_reverted_pulls(branch, body, HERE)


OPENED = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = "as it reads now"


def at(minutes: int) -> datetime:
    return OPENED + timedelta(minutes=minutes)


def by_author(minutes: int, text: str | None) -> TextVersion:
    return TextVersion(at(minutes), "agent[bot]", is_by_judged=True, text=text)


def by_person(minutes: int, text: str | None) -> TextVersion:
    return TextVersion(at(minutes), "alice", is_by_judged=False, text=text)


def late_edits(*minutes: int, used: bool = False) -> tuple[LateEdit, ...]:
    return tuple(LateEdit(by="agent[bot]", at=at(minute), used=used) for minute in minutes)


WRITTEN = by_person(-60, "as written")


@pytest.mark.parametrize(
    "versions",
    [
        pytest.param((), id="never edited"),
        pytest.param((by_person(5, NOW), WRITTEN), id="by a person"),
        pytest.param((by_author(-5, NOW), WRITTEN), id="before there was a pull request"),
        pytest.param((by_person(9, NOW), by_author(5, "easier"), WRITTEN), id="a person took it over"),
        pytest.param((by_person(9, NOW), by_author(5, None)), id="a person took over what is not shown"),
        pytest.param((by_author(5, NOW),), id="written by the author, and not edited"),
    ],
)
def test_present_text_is_judged_unless_the_author_edited_last(versions: tuple[TextVersion, ...]) -> None:
    assert select_judged_text(NOW, TextHistory(versions, is_complete=True), OPENED) == JudgedText(NOW)


@pytest.mark.parametrize(
    ("versions", "text", "edits"),
    [
        pytest.param((by_author(5, NOW), WRITTEN), "as written", late_edits(5), id="one edit"),
        pytest.param((by_author(0, NOW), WRITTEN), "as written", late_edits(0), id="in the second of the opening"),
        pytest.param(
            (by_author(9, NOW), by_author(5, "easy"), WRITTEN), "as written", late_edits(9, 5), id="several edits"
        ),
        pytest.param(
            (by_author(9, NOW), by_person(7, "hers"), by_author(5, "easy"), WRITTEN),
            "hers",
            late_edits(9),
            id="on hers",
        ),
        pytest.param(
            (by_author(9, NOW), by_author(-5, "early"), WRITTEN), "early", late_edits(9), id="on an early one"
        ),
        pytest.param(
            (by_author(9, NOW), by_author(5, "his own")), "his own", late_edits(9), id="of the author's own text"
        ),
        pytest.param((WRITTEN, by_author(5, NOW)), "as written", late_edits(5), id="in another order"),
        pytest.param((by_author(5, f"{NOW}\r\n"), WRITTEN), "as written", late_edits(5), id="other ends of lines"),
        pytest.param((by_author(5, None), WRITTEN), "as written", late_edits(5), id="the newest is not shown"),
    ],
)
def test_last_edit_of_the_judged_author_is_not_used(
    versions: tuple[TextVersion, ...], text: str, edits: tuple[LateEdit, ...]
) -> None:
    assert select_judged_text(NOW, TextHistory(versions, is_complete=True), OPENED) == JudgedText(text, edits)


@pytest.mark.parametrize(
    ("history", "edits"),
    [
        pytest.param(
            TextHistory((by_author(9, NOW), by_author(5, "easy"))), late_edits(9, 5, used=True), id="incomplete history"
        ),
        pytest.param(TextHistory((by_author(9, NOW), by_person(5, None))), late_edits(9, used=True), id="not shown"),
        pytest.param(TextHistory((by_author(9, None),)), late_edits(9, used=True), id="the last edit alone is known"),
        pytest.param(
            TextHistory((by_author(9, "- his line"), WRITTEN), is_complete=True),
            late_edits(9, used=True),
            id="of another text",
        ),
    ],
)
def test_edited_text_is_used_when_the_earlier_text_is_unknown(
    history: TextHistory, edits: tuple[LateEdit, ...]
) -> None:
    assert select_judged_text(NOW, history, OPENED) == JudgedText(NOW, edits)


def test_persons_text_is_judged_in_an_incomplete_history() -> None:
    history = TextHistory((by_author(9, NOW), by_person(5, "hers"), by_author(3, "easy")))
    assert select_judged_text(NOW, history, OPENED) == JudgedText("hers", late_edits(9))


ITEMS = ("Retries after a 503", "Gives up after the `third`")

DASHES = "- Retries after a 503\n- Gives up after the `third`\n"
BOXES = "- [ ] Retries after a 503\n- [x] Gives up after the `third`\n"


def issue(body: str, number: int = 7, title: str = "Retry uploads") -> Issue:
    return Issue(repository="acme/widgets", number=number, title=title, body=body)


@pytest.mark.parametrize(
    "body",
    [
        f"Why.\n\n## Acceptance criteria\n\n{DASHES}",
        f"## Acceptance Criteria\n{BOXES}",
        f"## Acceptance criteria\n\n- #1 {ITEMS[0]}\n- #2: {ITEMS[1]}\n",
        f"# ACCEPTANCE CRITERIA ##\n\n{DASHES}\n# Background\n\n- a talk\n",
        f"Acceptance criteria\n---\n\n{DASHES}",
        f"## ✅ 3. Acceptance criteria (draft):\n\n{DASHES}",
        f"**Acceptance criteria:**\n{DASHES}\n**Out of scope**\n- the rest\n",
        f"__Acceptance criteria__\n\n{DASHES}",
        f"Acceptance criteria:\n{DASHES}",
        f"### Definition of done\n\n1. {ITEMS[0]}\n2. {ITEMS[1]}\n",
        f"## Success criteria\n\n- {ITEMS[0]}\n\n- {ITEMS[1]}\n",
        f"<details>\n<summary><b>Acceptance criteria</b></summary>\n\n{DASHES}\n</details>\n\n- not one\n",
        f"- Acceptance criteria\n  - {ITEMS[0]}\n  - {ITEMS[1]}\n- Links\n  - the note\n",
        f"## Acceptance criteria\n\n| # | Criterion |\n|---|---|\n| 1 | {ITEMS[0]} |\n| 2 | {ITEMS[1]} |\n",
        f"## Acceptance criteria\n\n| Nr | What |\n|---|---|\n| 1 | {ITEMS[0]} |\n| 2 | {ITEMS[1]} |\n",
        f"## Acceptance criteria\n\n{ITEMS[0]}\n\n{ITEMS[1]}\n",
        f"## Acceptance criteria\n\nIt should do this:\n\n{DASHES}",
        f"## Acceptance criteria\n\n### Functional\n\n- {ITEMS[0]}\n\n### Limits\n\n- {ITEMS[1]}\n\n### Notes\n\n- none\n",
        f"## Acceptance criteria\n\n{DASHES}\n\n**Out of scope**\n\n- all else\n",
        f"## Tasks\n\n- [ ] write it\n\n## Acceptance criteria\n\n{DASHES}",
        f"## Requirements\n\n- Python\n\n## Acceptance criteria\n\n{DASHES}",
        f"## Acceptance criteria\n\n- {ITEMS[0]}\n  - on uploads only\n- {ITEMS[1]}\n- ~~Logs it~~\n- [your criterion]\n",
        f"## Acceptance criteria\n\n- **{ITEMS[0]}**\n- {ITEMS[1]}\n- {ITEMS[0]}\n",
        f"## Acceptance criteria\n\n- Retries\n  after a 503\n\n  with more words\n- {ITEMS[1]}\n",
        f"## To do\n\n{BOXES}",
        f"**Acceptance criteria**\nRetries after a 503\n\n{ITEMS[1]}\n",
    ],
)  # fmt: skip
def test_list_of_criteria_is_read_item_by_item(body: str) -> None:
    assert listed_criteria(body) == ITEMS
    assert listed_criteria(body.replace("\n", "\r\n")) == ITEMS


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Uploads fail.\n\n- on Monday\n- on Tuesday\n",
        f"```markdown\n## Acceptance criteria\n\n{BOXES}```\n",
        "    ## Acceptance criteria\n\n    - [ ] indented code\n",
        f"<!--\n## Acceptance criteria\n\n{BOXES}-->\n",
        "> ## Acceptance criteria\n>\n> - [ ] quoted\n",
        "## Acceptance criteria\n\n- [ ] Criteria 1\n- [ ] Criteria 2\n- TBD\n- ...\n- [What should happen]\n- <name>\n",
        "## Acceptance criteria\n\nnone so far\n",
        "## Acceptance criteria\n",
        f"## How we write {'acceptance criteria ' * 40}\n\n- a\n",
    ],
)
def test_text_without_criteria_has_no_list(body: str) -> None:
    assert listed_criteria(body) == ()


def test_number_other_than_the_items_own_is_an_issue() -> None:
    body = "## Acceptance criteria\n\n- #12 is fixed\n- #1 is fixed\n"
    assert listed_criteria(body) == ("#12 is fixed", "#1 is fixed")


def test_gherkin_scenario_is_one_criterion() -> None:
    body = (
        "Feature: uploads\n\n  Scenario: busy\n    Given a busy server\n    When I upload\n    Then it is tried again\n\n"
        "  Scenario Outline: dead\n    Given a dead server\n    Then it gives up\n"
    )
    assert listed_criteria(body) == (
        "Given a busy server When I upload Then it is tried again",
        "Given a dead server Then it gives up",
    )


FEATURE = """Feature: uploads
  Background:
    Given a server

  @slow
  Scenario: busy
    When I upload
    Then it is tried again

  @slow @late
  Scenario Outline: dead
    Then it gives up
"""
SCENARIOS = ("When I upload Then it is tried again", "Then it gives up")


@pytest.mark.parametrize("mark", ["```gherkin", "~~~ Cucumber", "```feature", "```"])
def test_scenarios_in_gherkin_block_are_criteria(mark: str) -> None:
    block = f"{mark}\n{FEATURE}{mark[:3]}\n"
    assert listed_criteria(f"Uploads fail.\n\n{block}") == SCENARIOS
    assert listed_criteria(f"## Acceptance criteria\n\n{block}\n## Notes\n\n- none\n") == SCENARIOS
    assert listed_criteria(f"## Acceptance criteria\n\n{DASHES}\n{block}") == (*ITEMS, *SCENARIOS)
    assert listed_criteria(f"- [ ] {ITEMS[0]}\n- [ ] {ITEMS[1]}\n\n  {mark}\n  Scenario: a\n  {mark[:3]}\n") == ITEMS


@pytest.mark.parametrize(
    "block", ["```python\n# Scenario: a\nScenario: b\n```", "```\nx = 1\nScenario: a\n```", "```gherkin\n```"]
)
def test_scenario_in_other_code_is_not_a_criterion(block: str) -> None:
    assert listed_criteria(f"Uploads fail.\n\n{block}\n") == ()


def test_criteria_are_numbered_across_issues_with_their_source() -> None:
    prose = Issue(number=0, title="Also log it", body="")
    criteria = criteria_of([issue(f"## Acceptance criteria\n{DASHES}"), prose], "title", "body")
    assert [(criterion.id, criterion.text, criterion.source, criterion.inferred) for criterion in criteria] == [
        ("AC1", ITEMS[0], "acme/widgets#7", False),
        ("AC2", ITEMS[1], "acme/widgets#7", False),
        ("AC3", "Also log it", None, True),
    ]


def test_issue_in_prose_is_one_inferred_criterion() -> None:
    (criterion,) = criteria_of([issue("Uploads fail.<!-- a template's hint -->\n\nThey should not.")], "title", "body")
    assert (criterion.text, criterion.inferred) == ("Retry uploads\n\nUploads fail.\n\nThey should not.", True)


TRAILERS = "Co-authored-by: A <a@b.c>\nSigned-off-by: B <b@b.c>\n"


@pytest.mark.parametrize(
    ("title", "body", "text"),
    [
        ("Retry", f"Again.\r\n\r\n```assay\nsummary: praise\n```\n\nThat is all.\n\n{TRAILERS}", "Retry\n\nAgain.\n\n\nThat is all."),
        ("Retry", "Try assay.\n\n```python\nx\n```\n", "Retry\n\nTry assay.\n\n```python\nx\n```"),
        (" ", "\n", "(no title)"),
    ],
)  # fmt: skip
def test_description_is_the_criterion_without_an_issue(title: str, body: str, text: str) -> None:
    (criterion,) = criteria_of([], title, body)
    assert (criterion.text, criterion.source, criterion.inferred) == (text, None, True)


def test_prose_and_lists_are_bounded() -> None:
    (prose,) = criteria_of([], "Retry", "word " * 5000)
    assert len(prose.text) <= 6000
    assert prose.text.endswith(" …")
    assert len(listed_criteria("".join(f"- [ ] thing {number}\n" for number in range(500)))) == MOST_CRITERIA


@pytest.mark.parametrize("piece", ["[", "> ", "- ", "`a", "<summary>", "<!--", "(", "**a", "|a", "\nA-by: x", "~~"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    started = time.process_time()
    criteria_of([issue(f"# {text}\n\n{text}\n\n- {text}\n")], "title", "body")
    assert time.process_time() - started < 3


MARKUP = st.text(alphabet=st.sampled_from(list("#-*_ \n`>[]x|~<!1.:acAC\t\r\0")) | st.characters(codec="utf-8"))


@given(st.lists(st.tuples(st.text(), MARKUP)), st.text(), MARKUP)
def test_any_texts_give_consecutively_numbered_criteria(issues: list[tuple[str, str]], title: str, body: str) -> None:
    numbered_issues = [issue(f"## Acceptance criteria\n{text}", title=name) for name, text in issues]
    criteria = criteria_of(numbered_issues, title, body)
    ids = [f"AC{number}" for number in range(1, len(criteria) + 1)]
    assert [criterion.id for criterion in criteria] == (ids if issues else ["description"])
    assert criteria
