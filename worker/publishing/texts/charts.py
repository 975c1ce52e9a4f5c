"""Small charts in text.

Does not know what is drawn. Invariant: where the terminal may not show blocks, a chart is plain ASCII; a chart is as wide as it
was asked to be.
"""

from collections.abc import Sequence
from typing import Final

from worker.publishing.texts.columns import TerminalPage

STEPS: Final = "▁▂▃▄▅▆▇█"
PLAIN_STEPS: Final = "_.-=+*%#"


def bar(share: float, width: int, page: TerminalPage) -> str:
    """A share from 0 to 1 as a bar."""
    full = round(max(0.0, min(1.0, share)) * width)
    return ("█" * full + "░" * (width - full)) if page.has_colour else ("#" * full + "." * (width - full))


def sparkline(figures: Sequence[int | float | None], page: TerminalPage) -> str:
    """One character a figure, from 0 to the largest; a blank where there is none."""
    steps = STEPS if page.has_colour else PLAIN_STEPS
    most = max((figure for figure in figures if figure is not None), default=0)
    return "".join(" " if figure is None else steps[_step(figure, most)] for figure in figures)


def _step(figure: float, most: float) -> int:
    return round(figure / most * (len(STEPS) - 1)) if most else 0
