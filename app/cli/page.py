"""The terminal that a command writes to.

Does not write. Invariant: a file or a pipe gets no colour.
"""

import shutil
import sys
from typing import Final

from worker.publishing.texts.columns import Page
from worker.settings import environment

WIDTH: Final = 100
NARROWEST: Final = 40


def page() -> Page:
    """Its width, and whether it shows colour (see no-color.org)."""
    if sys.stdout is None or not sys.stdout.isatty():
        return Page(WIDTH)
    environ = environment()
    has_colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return Page(max(shutil.get_terminal_size((WIDTH, 24)).columns, NARROWEST), has_colour)
