"""Real fences only."""

import pytest

from worker.dossier.criteria import describe_own_task
from worker.dossier.markdown import (
    MOST_LINES,
    MOST_QUOTATION_LINES,
    FencedBlock,
    case_fence,
    case_fences,
    find_fences,
    parse_blocks,
)


def read(text: str) -> list[tuple[str, str]]:
    return [(fence.info_word, fence.text) for fence in find_fences(text)]


def test_a_fence_knows_its_lines() -> None:
    assert list(find_fences("One.\n\n```assay\nsummary: x\n```\nTwo.\n")) == [
        FencedBlock("assay", "summary: x\n", 2, 5)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```assay\nsummary: x\n```\n", [("assay", "summary: x\n")]),
        ("~~~  assay  more words\nx\n~~~\n", [("assay", "x\n")]),
        ("```\nx\n```\n", [("", "x\n")]),
        ("> ```assay\n> x\n> ```\n", []),
        ("    ```assay\n    x\n    ```\n", []),
        ("plain", []),
    ],
    ids=["named", "with more words", "without a name", "quoted", "code block", "none"],
)
def test_a_fence_is_what_commonmark_says_it_is(text: str, expected: list[tuple[str, str]]) -> None:
    assert read(text) == expected


FENCE = "```assay\nsummary: x\n```\n"


@pytest.mark.parametrize(
    ("line", "newline"),
    [
        (">-\nonce.\n", "\n"),
        ("- >-\n  once.\n", "\r\n"),
        ("> > > > - once\n> -\nonce\n", "\r"),
        *(
            pytest.param(line, newline, marks=pytest.mark.slow)
            for line, others in (
                (">-\nonce.\n", ("\r\n", "\r")),
                ("- >-\n  once.\n", ("\n", "\r")),
                ("> > > > - once\n> -\nonce\n", ("\n", "\r\n")),
            )
            for newline in others
        ),
    ],
)
def test_quotations_that_would_be_looked_through_again_from_each_line_are_left_out(line: str, newline: str) -> None:
    text = f"{line * (60_000 // len(line))}\n{FENCE}".replace("\n", newline)
    assert read(text) == [("assay", "summary: x\n")]
    assert not any(token.type == "blockquote_open" for token in parse_blocks(text))


def test_many_short_quotations_are_read_as_what_they_are() -> None:
    text = "> ```assay\n> x\n> ```\nlazy\n\n" * 500
    assert len(text.splitlines()) * text.count(">") > MOST_QUOTATION_LINES
    assert read(text + FENCE) == [("assay", "summary: x\n")]
    assert sum(token.type == "blockquote_open" for token in parse_blocks(text)) == 500


def test_a_text_that_speaks_of_more_than_it_quotes_is_left_alone() -> None:
    text = "a -> b\n" * 2_000 + "\n" + FENCE
    assert read(text) == [("assay", "summary: x\n")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_of_a_text_of_countless_lines_the_first_are_read(newline: str) -> None:
    above = "\n" * (MOST_LINES - 3)
    assert read((above + FENCE).replace("\n", newline)) == [("assay", "summary: x\n")]
    assert read((above + "\n\n\n" + FENCE).replace("\n", newline)) == []


CLAIMS = "ac_coverage:\n- {criterion: AC1, addressed_by: a.py}\n"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("```assay\nsummary: x\n```\n", "summary: x\n"),
        (f"```yaml\n{CLAIMS}```\n", CLAIMS),
        ('```json\n{"summary": "x", "addressed_by": 1}\n```\n', '{"summary": "x", "addressed_by": 1}\n'),
        (f"```yaml\n{CLAIMS}```\n\n```assay\nsummary: x\n```\n", "summary: x\n"),
        (f"```yaml\n{CLAIMS}```\n\n```yml\nAC Coverage: []\n```\n", "AC Coverage: []\n"),
        (f"```python\n{CLAIMS}```\n", None),
        ("```yaml\ncoverage: 90\naddressed: yes\n```\n", None),
        (f"> ```yaml\n> {CLAIMS}> ```\n", None),
        ("The coverage was addressed.", None),
        ("", None),
    ],
)
def test_the_block_with_our_word_counts_or_else_the_last_block_of_data_with_the_fields_of_a_case(
    body: str, text: str | None
) -> None:
    fence = case_fence(body)
    assert (fence.text if fence else None) == text


def test_no_block_of_a_case_is_part_of_what_the_description_asks_for() -> None:
    body = f"Retries.\n\n```yaml\n{CLAIMS}```\n\nOnce.\n\n```yaml\n{CLAIMS}```\n"
    assert len(case_fences(body)) == 2
    assert describe_own_task("Retry", body) == "Retry\n\nRetries.\n\n\nOnce."
