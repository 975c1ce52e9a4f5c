import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.domain.dossier import Issue
from worker.dossier.criteria import MOST_CRITERIA, criteria_of, listed_criteria

ASKED = ("Retries after a 503", "Gives up after the `third`")

DASHES = "- Retries after a 503\n- Gives up after the `third`\n"
BOXES = "- [ ] Retries after a 503\n- [x] Gives up after the `third`\n"


def issue(body: str, number: int = 7, title: str = "Retry uploads") -> Issue:
    return Issue(repository="acme/widgets", number=number, title=title, body=body)


@pytest.mark.parametrize(
    "body",
    [
        f"Why.\n\n## Acceptance criteria\n\n{DASHES}",
        f"## Acceptance Criteria\n{BOXES}",
        f"## Acceptance criteria\n\n- #1 {ASKED[0]}\n- #2: {ASKED[1]}\n",
        f"# ACCEPTANCE CRITERIA ##\n\n{DASHES}\n# Background\n\n- a talk\n",
        f"Acceptance criteria\n---\n\n{DASHES}",
        f"## ✅ 3. Acceptance criteria (draft):\n\n{DASHES}",
        f"**Acceptance criteria:**\n{DASHES}\n**Out of scope**\n- the rest\n",
        f"__Acceptance criteria__\n\n{DASHES}",
        f"Acceptance criteria:\n{DASHES}",
        f"### Definition of done\n\n1. {ASKED[0]}\n2. {ASKED[1]}\n",
        f"## Success criteria\n\n- {ASKED[0]}\n\n- {ASKED[1]}\n",
        f"<details>\n<summary><b>Acceptance criteria</b></summary>\n\n{DASHES}\n</details>\n\n- not one\n",
        f"- Acceptance criteria\n  - {ASKED[0]}\n  - {ASKED[1]}\n- Links\n  - the note\n",
        f"## Acceptance criteria\n\n| # | Criterion |\n|---|---|\n| 1 | {ASKED[0]} |\n| 2 | {ASKED[1]} |\n",
        f"## Acceptance criteria\n\n| Nr | What |\n|---|---|\n| 1 | {ASKED[0]} |\n| 2 | {ASKED[1]} |\n",
        f"## Acceptance criteria\n\n{ASKED[0]}\n\n{ASKED[1]}\n",
        f"## Acceptance criteria\n\nIt should do this:\n\n{DASHES}",
        f"## Acceptance criteria\n\n### Functional\n\n- {ASKED[0]}\n\n### Limits\n\n- {ASKED[1]}\n\n### Notes\n\n- none\n",
        f"## Acceptance criteria\n\n{DASHES}\n\n**Out of scope**\n\n- all else\n",
        f"## Tasks\n\n- [ ] write it\n\n## Acceptance criteria\n\n{DASHES}",
        f"## Requirements\n\n- Python\n\n## Acceptance criteria\n\n{DASHES}",
        f"## Acceptance criteria\n\n- {ASKED[0]}\n  - on uploads only\n- {ASKED[1]}\n- ~~Logs it~~\n- [your criterion]\n",
        f"## Acceptance criteria\n\n- **{ASKED[0]}**\n- {ASKED[1]}\n- {ASKED[0]}\n",
        f"## Acceptance criteria\n\n- Retries\n  after a 503\n\n  with more words\n- {ASKED[1]}\n",
        f"## To do\n\n{BOXES}",
        f"**Acceptance criteria**\nRetries after a 503\n\n{ASKED[1]}\n",
    ],
)  # fmt: skip
def test_a_list_that_somebody_wrote_is_taken_item_by_item(body: str) -> None:
    assert listed_criteria(body) == ASKED
    assert listed_criteria(body.replace("\n", "\r\n")) == ASKED


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
def test_what_nobody_asks_for_is_no_list(body: str) -> None:
    assert listed_criteria(body) == ()


def test_a_number_that_is_not_the_items_own_is_an_issue() -> None:
    asked = "## Acceptance criteria\n\n- #12 is fixed\n- #1 is fixed\n"
    assert listed_criteria(asked) == ("#12 is fixed", "#1 is fixed")


def test_each_gherkin_scenario_is_one_criterion() -> None:
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
def test_scenarios_in_a_block_of_gherkin_are_criteria(mark: str) -> None:
    block = f"{mark}\n{FEATURE}{mark[:3]}\n"
    assert listed_criteria(f"Uploads fail.\n\n{block}") == SCENARIOS
    assert listed_criteria(f"## Acceptance criteria\n\n{block}\n## Notes\n\n- none\n") == SCENARIOS
    assert listed_criteria(f"## Acceptance criteria\n\n{DASHES}\n{block}") == (*ASKED, *SCENARIOS)
    assert listed_criteria(f"- [ ] {ASKED[0]}\n- [ ] {ASKED[1]}\n\n  {mark}\n  Scenario: a\n  {mark[:3]}\n") == ASKED


@pytest.mark.parametrize(
    "block", ["```python\n# Scenario: a\nScenario: b\n```", "```\nx = 1\nScenario: a\n```", "```gherkin\n```"]
)
def test_other_code_holds_no_scenario(block: str) -> None:
    assert listed_criteria(f"Uploads fail.\n\n{block}\n") == ()


def test_criteria_are_numbered_through_all_issues_with_their_source() -> None:
    prose = Issue(number=0, title="Also log it", body="")
    made = criteria_of([issue(f"## Acceptance criteria\n{DASHES}"), prose], "title", "body")
    assert [(criterion.id, criterion.text, criterion.source, criterion.inferred) for criterion in made] == [
        ("AC1", ASKED[0], "acme/widgets#7", False),
        ("AC2", ASKED[1], "acme/widgets#7", False),
        ("AC3", "Also log it", None, True),
    ]


def test_an_issue_in_prose_is_one_inferred_criterion_without_its_comments() -> None:
    (made,) = criteria_of([issue("Uploads fail.<!-- a template's hint -->\n\nThey should not.")], "title", "body")
    assert (made.text, made.inferred) == ("Retry uploads\n\nUploads fail.\n\nThey should not.", True)


def test_without_an_issue_there_is_only_what_the_description_says() -> None:
    body = "Tries again.\r\n\r\n```assay\nsummary: my own praise\n```\n\nThat is all.\n\nCo-authored-by: A <a@b.c>\nSigned-off-by: B <b@b.c>\n"
    (made,) = criteria_of([], "Retry uploads", body)
    assert made.inferred
    assert made.source is None
    assert made.text == "Retry uploads\n\nTries again.\n\n\nThat is all."


def test_a_body_that_only_speaks_of_us_is_kept() -> None:
    (made,) = criteria_of([], "Retry", "Try assay.\n\n```python\nx\n```\n")
    assert made.text == "Retry\n\nTry assay.\n\n```python\nx\n```"


def test_there_is_always_a_criterion() -> None:
    assert criteria_of([], " ", "\n")[0].text == "(no title)"


def test_prose_and_lists_are_bounded() -> None:
    (prose,) = criteria_of([], "Retry", "word " * 5000)
    assert len(prose.text) <= 6000
    assert prose.text.endswith(" …")
    assert len(listed_criteria("".join(f"- [ ] thing {number}\n" for number in range(500)))) == MOST_CRITERIA


@pytest.mark.parametrize("piece", ["[", "> ", "- ", "`a", "<summary>", "<!--", "(", "**a", "|a", "\nA-by: x", "~~"])
def test_hostile_texts_take_no_time(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    started = time.process_time()
    criteria_of([issue(f"# {text}\n\n{text}\n\n- {text}\n")], "title", "body")
    assert time.process_time() - started < 3


MARKUP = st.text(alphabet=st.sampled_from(list("#-*_ \n`>[]x|~<!1.:acAC\t\r\0")) | st.characters(codec="utf-8"))


@given(st.lists(st.tuples(st.text(), MARKUP)), st.text(), MARKUP)
def test_any_texts_give_criteria_without_gaps(issues: list[tuple[str, str]], title: str, body: str) -> None:
    asked = [issue(f"## Acceptance criteria\n{text}", title=name) for name, text in issues]
    made = criteria_of(asked, title, body)
    numbered = [f"AC{number}" for number in range(1, len(made) + 1)]
    assert [criterion.id for criterion in made] == (numbered if issues else ["description"])
    assert made
