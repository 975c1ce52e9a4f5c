"""A terminal's colours and movements (ANSI escape sequences), taken out of what programs printed.

Does not make text safe to show (`worker.judge.llm.fencing` does). Invariant: linear in the text.
"""

from typing import Final

from worker.domain.pattern import pattern

_SEQUENCE: Final = pattern(r"\x1b\[[0-9;]{0,20}[A-Za-z]")


def without_ansi(text: str) -> str:
    return _SEQUENCE.sub("", text)
