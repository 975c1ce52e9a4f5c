"""`assay move`: move an installation from one cell to another."""

import argparse
import sys

from app.cli.parser import CommandResult, Exit
from worker.domain.model import InstallationId
from worker.errors import InputError
from worker.settings import load_settings
from worker.wiring.store import move_installation, open_store


def move(arguments: argparse.Namespace) -> CommandResult:
    settings = load_settings()
    if arguments.to not in settings.cells:
        raise InputError(f"There is no cell {arguments.to}. Cells: {', '.join(settings.cells) or 'set ASSAY_CELLS'}")
    with open_store(settings) as store:
        installation = InstallationId(arguments.installation)
        is_moved = move_installation(
            settings, store, installation, arguments.to, lambda step: print(step, file=sys.stderr)
        )
    verb = "is now" if is_moved else "was already"
    return CommandResult(Exit.ACCEPT, f"Installation {installation} {verb} in the cell {arguments.to}.\n")
