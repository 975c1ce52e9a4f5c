"""Who may command what: one table, and the one function that refuses by it.

Does not ask GitHub who somebody is. Invariant: what is not in the table nobody may do; a bot commands nothing, whatever its
role; and nobody overrules a verdict on their own pull request where another account could.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.request.judge_request import CommandName
from worker.domain.request.pause import SPAN, UntilError, end_of
from worker.domain.value import Value

PAUSE: Final = pattern(r"(for\s+|until\s+)?(\S+)\s*(.*)", re.IGNORECASE)
CLOSING: Final = ".,;:!"


class Role(StrEnum):
    """GitHub's roles in a repository, the least first."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"


LADDER: Final = tuple(Role)


class Right(Value):
    """What somebody needs for a command. `by_author`: the pull request's own author may give it, too.

    `by_only_maintainer`: the author may, where no other account could.
    `spelled`: how it is written in a comment; empty: it is no comment. `does`: what comes of it.
    """

    least: Role
    by_author: bool
    needs_reason: bool
    spelled: str
    does: str
    by_only_maintainer: bool = False


RIGHTS: Final[Mapping[CommandName, Right]] = MappingProxyType(
    {
        CommandName.REJUDGE: Right(
            least=Role.WRITE,
            by_author=True,
            needs_reason=False,
            spelled="/rejudge",
            does="Judges the newest commit now. Content that was decided before keeps its verdict, at $0.",
        ),
        CommandName.FORCE: Right(
            least=Role.WRITE,
            by_author=False,
            needs_reason=False,
            spelled="/rejudge force",
            does="Judges the newest commit anew, even if its content was decided before. Costs like a first judging.",
        ),
        CommandName.CONTEST: Right(
            least=Role.WRITE,
            by_author=False,
            needs_reason=True,
            spelled="/contest REASON",
            does="Judges the newest commit anew, with your reason before the judge, and a second opinion where one is set up.",
        ),
        CommandName.OVERRIDE: Right(
            least=Role.MAINTAIN,
            by_author=False,
            needs_reason=True,
            spelled="/override REASON",
            does="Lets this commit pass, by your name and reason. The verdict stays as it is; it holds for this commit alone.",
            by_only_maintainer=True,
        ),
        CommandName.PAUSE: Right(
            least=Role.MAINTAIN,
            by_author=True,
            needs_reason=False,
            spelled="/assay pause [for 2h] [REASON]",
            does="Stops judging in this repository, for so long (`90m`, `2h`, `3d`, `1w`), until a time (`2026-11-20T15:00Z`) or until it is resumed.",
        ),
        CommandName.RESUME: Right(
            least=Role.MAINTAIN,
            by_author=True,
            needs_reason=False,
            spelled="/assay resume",
            does="Goes on judging. What waited is judged.",
        ),
        CommandName.HELP: Right(
            least=Role.WRITE,
            by_author=True,
            needs_reason=False,
            spelled="/assay help",
            does="Answers with this list.",
        ),
        CommandName.APPROVED: Right(
            least=Role.WRITE,
            by_author=False,
            needs_reason=False,
            spelled="",
            does="An approving review of a code owner lets a commit pass that a person has to decide about.",
        ),
        CommandName.CHANGES: Right(
            least=Role.WRITE,
            by_author=False,
            needs_reason=False,
            spelled="",
            does="A review of a code owner that asks for changes keeps such a commit from passing.",
        ),
        CommandName.DISMISSED: Right(
            least=Role.WRITE,
            by_author=True,
            needs_reason=False,
            spelled="",
            does="Such a review that is dismissed decides nothing any more: the verdict stands as it was.",
        ),
    }
)


class Asker(Value):
    """Who gives a command, as GitHub knows them. `is_only_maintainer`: no other account may maintain or administer the repository."""

    role: Role
    is_author: bool = False
    is_bot: bool = False
    is_only_maintainer: bool = False


class Refusal(StrEnum):
    """Why a command is not followed. `overtaken`: the commit that it would be about came after it."""

    BOT = "bot"
    ROLE = "role"
    AUTHOR = "author"
    REASON = "reason"
    TIME = "time"
    OVERTAKEN = "overtaken"


def refusal(command: CommandName, asker: Asker, reason: str) -> Refusal | None:
    """Why this person may not give this command now; None: they may."""
    right = RIGHTS[command]
    if asker.is_bot:
        return Refusal.BOT
    if LADDER.index(asker.role) < LADDER.index(right.least):
        return Refusal.ROLE
    if asker.is_author and not right.by_author and not (right.by_only_maintainer and asker.is_only_maintainer):
        return Refusal.AUTHOR
    return Refusal.REASON if right.needs_reason and not reason else None


def roles_from(least: Role) -> tuple[Role, ...]:
    """This role and all above it."""
    return LADDER[LADDER.index(least) :]


def pause_of(said: str, now: datetime) -> tuple[datetime | None, str]:
    """When a pause ends and why it is, by what followed the command. Raises UntilError for a length that is none.

    A length counts without a word before it, too: a pause that was meant to end must not go on for ever.
    """
    words = " ".join(said.split())
    found = PAUSE.fullmatch(words)
    if found is None:
        return None, words
    length = found[2].rstrip(CLOSING)
    if found[1] is None and SPAN.fullmatch(length) is None:
        return None, words
    try:
        return end_of(length, now), found[3].lstrip(CLOSING).strip()
    except UntilError:
        if length[:1].isdigit():
            raise
        return None, words  # `for the release` is a reason
