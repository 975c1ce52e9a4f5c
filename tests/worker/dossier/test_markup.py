"""Fenced blocks and quotations of Markdown."""

import pytest

from worker.dossier.issues import describe_own_task
from worker.dossier.markup import (
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


def test_fence_has_its_lines() -> None:
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
def test_fences_follow_commonmark(text: str, expected: list[tuple[str, str]]) -> None:
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
def test_quotations_with_quadratic_parse_are_left_out(line: str, newline: str) -> None:
    text = f"{line * (60_000 // len(line))}\n{FENCE}".replace("\n", newline)
    assert read(text) == [("assay", "summary: x\n")]
    assert not any(token.type == "blockquote_open" for token in parse_blocks(text))


def test_many_short_quotations_are_parsed() -> None:
    text = "> ```assay\n> x\n> ```\nlazy\n\n" * 500
    assert len(text.splitlines()) * text.count(">") > MOST_QUOTATION_LINES
    assert read(text + FENCE) == [("assay", "summary: x\n")]
    assert sum(token.type == "blockquote_open" for token in parse_blocks(text)) == 500


def test_text_with_many_arrows_is_not_a_quotation() -> None:
    text = "a -> b\n" * 2_000 + "\n" + FENCE
    assert read(text) == [("assay", "summary: x\n")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_only_the_first_lines_of_a_very_long_text_are_read(newline: str) -> None:
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
def test_case_fence_is_the_assay_block_or_the_last_data_block_with_case_fields(body: str, text: str | None) -> None:
    fence = case_fence(body)
    assert (fence.text if fence else None) == text


def test_case_blocks_are_not_part_of_the_task_description() -> None:
    body = f"Retries.\n\n```yaml\n{CLAIMS}```\n\nOnce.\n\n```yaml\n{CLAIMS}```\n"
    assert len(case_fences(body)) == 2
    assert describe_own_task("Retry", body) == "Retry\n\nRetries.\n\n\nOnce."
