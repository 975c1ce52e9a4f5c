"""A rules file's Markdown, taken apart."""

import pytest

from worker.dossier.repo_rules.statements import MOST_LINES, parse_statements


def proses(text: str) -> list[str]:
    return [statement.plain_text for statement in parse_statements(text)]


def test_items_and_paragraphs_state_something_and_wrapped_lines_belong_together() -> None:
    assert proses("One\ntwo.\n\n- three\n  four\n* five\n1. [ ] six\n") == ["One two.", "three four", "five", "six"]


@pytest.mark.parametrize(
    "text",
    [
        "```\n- never\n```\n",
        "~~~~ text\nnever\n~~~\nnever\n~~~~\n",
        "    never\n",
        "> [!NOTE]\n",
        "| never |\n",
        "| never |\n|---|\n",
        "<!-- never -->\n",
        "<!--\nnever\n-->\n",
    ],
)
def test_code_comments_and_the_head_of_a_table_state_nothing(text: str) -> None:
    assert proses(text + "\nlast") == ["last"]


def test_what_is_quoted_is_read_like_the_rest() -> None:
    assert proses("> [!WARNING]\n> one\n> two\n\n> - three\n") == ["one two", "three"]


def test_a_row_states_something_as_a_whole_and_each_cell_under_its_head() -> None:
    text = "| Path | Rule |\n|---|---|\n| `a/` | leave it |\n| `b/` | |\n\n| Never |\n|---|\n| c |\n"
    assert [(statement.plain_text, statement.lead, statement.lines[0][1]) for statement in parse_statements(text)] == [
        ("`a/` | leave it", "", 3),
        ("`a/`", "Path", 3),
        ("leave it", "Rule", 3),
        ("`b/`", "", 4),
        ("`b/`", "Path", 4),
        ("c", "", 8),
        ("c", "Never", 8),
    ]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("never edit src/gen/ or docs/api.md", ("src/gen/", "docs/api.md")),
        ("update CHANGELOG.md and package.json", ("CHANGELOG.md", "package.json")),
        ("no print statements, no @ts-ignore", ("@ts-ignore", "print()")),
        ("never use eval. no default exports", ("eval", "export default")),
        ("Node.js and/or CI, e.g. this", ()),
        ("no `wildcard` imports", ("wildcard",)),
    ],
)
def test_code_that_is_not_marked_as_such_is_known_by_its_form_or_its_name(text: str, spans: tuple[str, ...]) -> None:
    (statement,) = parse_statements(text)
    assert statement.spans == spans


def test_an_indented_paragraph_goes_on_with_its_item() -> None:
    assert proses("- one\n\n    two\n\nthree\n\n    code\n") == ["one", "two", "three"]


def test_headings_and_the_line_that_leads_a_list_in_are_known_and_the_files_title_is_not_one() -> None:
    statements = list(parse_statements("# Title\n## Code\n### Deep\nNever:\n- a\n## Other\n- b\n"))
    assert [(statement.plain_text, statement.headings, statement.lead) for statement in statements] == [
        ("Title", (), ""),
        ("Code", (), ""),
        ("Deep", ("Code",), ""),
        ("Never:", ("Code", "Deep"), ""),
        ("a", ("Code", "Deep"), "Never:"),
        ("Other", (), ""),
        ("b", ("Other",), ""),
    ]


def test_a_heading_states_something_and_knows_what_stands_below_it() -> None:
    statements = list(parse_statements("## 2. Never a\n\n- b\nc\n### d\ne\n\nf\n===\n\ng\n---\n- h\n---\n"))
    assert [(statement.plain_text, statement.following_text, statement.lines[0][1]) for statement in statements] == [
        ("Never a", "- b . c", 1),
        ("b c", "", 3),
        ("d", "e . f . g . - h", 5),
        ("e", "", 6),
        ("f", "g . - h", 8),
        ("g", "- h", 11),
        ("h ---", "", 13),
    ]


def test_code_is_numbered_whether_it_is_marked_or_not_and_emphasis_and_links_are_taken_off() -> None:
    (statement,) = parse_statements("- **Never** use `a()`, ``b`` or print() (see [that](http://x)), no TODOs")
    assert statement.spans == ("a()", "b", "print()", "TODO")
    assert statement.prose == "Never use «0», «1» or «2» (see that), no «3»s"


def test_every_sentence_knows_its_line() -> None:
    (statement,) = parse_statements("\n\n- one\n  two\n  three\n")
    assert [statement.line_at(statement.prose.index(word)) for word in ("one", "two", "three")] == [3, 4, 5]


def test_no_more_is_read_than_anybody_writes() -> None:
    assert len(proses("- a\n" * (MOST_LINES + 100))) == MOST_LINES
    assert len(proses("word\n" * 1000)[0].split()) == 30
