"""Take ANSI escape sequences (colours, cursor movements) out of what programs printed."""

from typing import Final

from worker.domain.pattern import pattern

_SEQUENCE: Final = pattern(r"\x1b\[[0-9;]{0,20}[A-Za-z]")


def without_ansi(text: str) -> str:
    return _SEQUENCE.sub("", text)
