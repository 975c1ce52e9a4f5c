"""What a terminal reads as colours goes; everything else stays."""

import pytest

from worker.domain.text import without_ansi


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("\x1b[31mFAILED\x1b[0m test", "FAILED test"),
        ("\x1b[1;38;5;196mbold\x1b[K", "bold"),
        ("a[0] = 1; list[3m]", "a[0] = 1; list[3m]"),
        ("\x1b[" + "1" * 21 + "m", "\x1b[" + "1" * 21 + "m"),
    ],
)
def test_colours_and_movements_are_taken_out_and_nothing_else(printed: str, text: str) -> None:
    assert without_ansi(printed) == text
