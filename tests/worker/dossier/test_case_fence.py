"""Which block of a description is the author's case."""

import pytest

from worker.dossier.case_fence import case_fence, case_fences
from worker.dossier.criteria import describe_own_task

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
