"""The canary's settings."""

from decimal import Decimal
from pathlib import Path

import pytest

from worker.errors import SettingError
from worker.settings import ShadowSettings, read_settings


def test_without_a_candidate_there_is_no_canary() -> None:
    assert not read_settings({}).shadow.is_set


def test_a_candidate_is_a_rubric_a_prompt_or_both(tmp_path: Path) -> None:
    file = tmp_path / "x.yml"
    assert read_settings({"ASSAY_CANARY_RUBRIC": str(file)}).shadow == ShadowSettings(file)
    both = read_settings(
        {"ASSAY_CANARY_RUBRIC": str(file), "ASSAY_CANARY_PROMPT": str(file), "ASSAY_CANARY_USD": "0.5"}
    )
    assert both.shadow == ShadowSettings(file, file, Decimal("0.5"))
    assert both.shadow.is_set


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"ASSAY_CANARY_PROMPT": "p.md"},
            "ASSAY_CANARY_PROMPT is set and ASSAY_CANARY_USD is not: no model would read it",
        ),
        ({"ASSAY_CANARY_USD": "much"}, 'ASSAY_CANARY_USD is "much"'),
        ({"ASSAY_CANARY_USD": "1000001"}, "more than 1000000"),
    ],
)
def test_a_prompt_that_nobody_would_read_and_money_that_is_none_are_refused(told: dict[str, str], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        read_settings(told)
