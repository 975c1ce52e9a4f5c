"""Real fences only."""

import pytest

from worker.domain.markdown import Fence, fences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```assay\nsummary: x\n```\n", [Fence("assay", "summary: x\n")]),
        ("~~~  assay  more words\nx\n~~~\n", [Fence("assay", "x\n")]),
        ("```\nx\n```\n", [Fence("", "x\n")]),
        ("> ```assay\n> x\n> ```\n", []),
        ("    ```assay\n    x\n    ```\n", []),
        ("plain", []),
    ],
    ids=["named", "with more words", "without a name", "quoted", "code block", "none"],
)
def test_a_fence_is_what_commonmark_says_it_is(text: str, found: list[Fence]) -> None:
    assert list(fences(text)) == found
