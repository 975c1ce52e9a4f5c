import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.dossier import Issue
from worker.dossier.criteria import MOST_CRITERIA, criteria_of, listed_criteria

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
