"""How a command ends. Exit code 1 is a reject and nothing else."""

from enum import IntEnum
from typing import Final, NamedTuple


class Exit(IntEnum):
    ACCEPT = 0
    REJECT = 1
    USAGE = 2
    ABSTAIN = 3
    FAILED = 4
    INTERRUPTED = 130


VERDICT_EXITS: Final = {"accept": Exit.ACCEPT, "reject": Exit.REJECT, "abstain": Exit.ABSTAIN}


class CommandResult(NamedTuple):
    """The exit code, and the text for standard output: printed last, so that a closed pipe changes no exit code."""

    code: int
    text: str = ""
