"""How a command of the command line ends. Invariant: 1 is a reject and nothing else."""

from enum import IntEnum
from typing import NamedTuple


class Exit(IntEnum):
    ACCEPT = 0
    REJECT = 1
    USAGE = 2
    ABSTAIN = 3
    FAILED = 4
    INTERRUPTED = 130


class CommandResult(NamedTuple):
    """The exit code, and what is left to print on standard output: a reader who has gone changes no code."""

    code: int
    text: str = ""
