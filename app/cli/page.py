"""The terminal that a command writes to.

Does not write. Invariant: a file or a pipe gets no colour.
"""

import shutil
import sys
from typing import Final

from worker.publishing.texts.columns import TerminalPage
from worker.settings import environment

WIDTH: Final = 100
MIN_WIDTH: Final = 40


def terminal_page() -> TerminalPage:
    """Its width, and whether it shows colour (see no-color.org)."""
    if sys.stdout is None or not sys.stdout.isatty():
        return TerminalPage(WIDTH)
    environ = environment()
    has_colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return TerminalPage(max(shutil.get_terminal_size((WIDTH, 24)).columns, MIN_WIDTH), has_colour)
