"""What a rule of a rules file is: what it asks, of which files, and the line where it is written.

`is_sure` only where every word of the sentence was understood.
"""

from dataclasses import dataclass
from enum import StrEnum


class RuleKind(StrEnum):
    FORBIDDEN_CODE = "forbidden code"
    FORBIDDEN_PATH = "forbidden path"
    OWN_PULL_REQUEST = "own pull request"
    """These files may change, but with nothing else."""
    CHANGELOG = "changelog"
    DOCSTRING = "docstring"
    TESTS = "tests"
    DEPENDENCIES = "no new dependency"
    FILE_NAMES = "file names"
    LICENCE = "licence header"


class RuleReach(StrEnum):
    """Which code a rule is about."""

    ALL = "all code"
    LIBRARY = "library code"
    TESTS = "tests"


class PathTouch(StrEnum):
    """What a rule forbids to do to a path."""

    CHANGE = "change"
    ADD = "add"
    REMOVE = "remove"


class DutyScope(StrEnum):
    """Which changes a duty falls on."""

    EVERY_CHANGE = "every change"
    BEHAVIOUR = "a change of behaviour"


@dataclass(frozen=True)
class RuleScope:
    """`inside` and `outside` are paths as the rule writes them; `root` is the folder of the rules file, `""` or `a/b/`."""

    root: str = ""
    reach: RuleReach = RuleReach.ALL
    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RuleOrigin:
    """Where the rule is written. `text` is its sentence."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class RepoRule:
    """`targets` are the code, the paths or the file-name patterns that the rule names.

    `noun` is what the rule calls them ("calls", "blocks", "imports"), `is_by_hand` tells a path that a tool may change.
    """

    kind: RuleKind
    origin: RuleOrigin
    targets: tuple[str, ...] = ()
    scope: RuleScope = RuleScope()
    is_sure: bool = False
    noun: str = ""
    touches: frozenset[PathTouch] = frozenset()
    is_by_hand: bool = False
    duty_scope: DutyScope = DutyScope.EVERY_CHANGE
