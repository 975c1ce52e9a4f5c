"""Real fences only."""

import pytest

from worker.dossier.markdown import MOST_LINES, MOST_QUOTATION_LINES, FencedBlock, find_fences, parse_blocks


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
