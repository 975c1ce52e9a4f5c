"""Who may give which command: one table, and the one function that refuses by it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.judge_request import CommandName
from worker.domain.pattern import pattern
from worker.domain.time_range import DURATION_PATTERN, UntilError, parse_end

PAUSE_ARGUMENTS: Final = pattern(r"(for\s+|until\s+)?(\S+)\s*(.*)", re.IGNORECASE)
CLOSING_PUNCTUATION: Final = ".,;:!"


class Role(StrEnum):
    """GitHub's roles in a repository, the least first."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"


ROLE_ORDER: Final = tuple(Role)


@dataclass(frozen=True)
class CommandRight:
    """Who may give a command. `effect`: what it does. `syntax`: how it is written in a comment; empty: it is no comment.

    `is_for_author`: the pull request's author may give it, too. `is_for_only_maintainer`: only where no other account could.
    """

    least_role: Role
    effect: str
    syntax: str = ""
    is_for_author: bool = False
    needs_reason: bool = False
    is_for_only_maintainer: bool = False


COMMAND_RIGHTS: Final[Mapping[CommandName, CommandRight]] = MappingProxyType(
    {
        CommandName.REJUDGE: CommandRight(
            Role.WRITE,
            "Judges the newest commit now. Content that was decided before keeps its verdict, at $0.",
            is_for_author=True,
            syntax="/rejudge",
        ),
        CommandName.FORCE: CommandRight(
            Role.WRITE,
            "Judges the newest commit again, even if its content was decided before. Costs like a first judging.",
            syntax="/rejudge force",
        ),
        CommandName.CONTEST: CommandRight(
            Role.WRITE,
            "Judges the newest commit again, with your reason before the judge, and a second opinion where one is set up.",
            needs_reason=True,
            syntax="/contest REASON",
        ),
        CommandName.OVERRIDE: CommandRight(
            Role.MAINTAIN,
            "Lets this commit pass, by your name and reason. The verdict stays as it is; it holds for this commit alone.",
            needs_reason=True,
            syntax="/override REASON",
            is_for_only_maintainer=True,
        ),
        CommandName.PAUSE: CommandRight(
            Role.MAINTAIN,
            "Stops judging in this repository, for so long (`90m`, `2h`, `3d`, `1w`), until a time (`2026-11-20T15:00Z`) or until it is resumed.",
            is_for_author=True,
            syntax="/assay pause [for 2h] [REASON]",
        ),
        CommandName.RESUME: CommandRight(
            Role.MAINTAIN,
            "Goes on judging. What waited is judged.",
            is_for_author=True,
            syntax="/assay resume",
        ),
        CommandName.HELP: CommandRight(
            Role.WRITE,
            "Answers with this list.",
            is_for_author=True,
            syntax="/assay help",
        ),
        CommandName.APPROVED: CommandRight(
            Role.WRITE,
            "An approving review of a code owner lets a commit pass that a person has to decide about.",
        ),
        CommandName.CHANGES: CommandRight(
            Role.WRITE,
            "A review of a code owner that asks for changes keeps such a commit from passing.",
        ),
        CommandName.DISMISSED: CommandRight(
            Role.WRITE,
            "Such a review that is dismissed no longer decides: the check run shows the verdict.",
            is_for_author=True,
        ),
    }
)


@dataclass(frozen=True)
class CommandAuthor:
    """The author of a command, by GitHub. `is_only_maintainer`: no other account may maintain or administer the repository."""

    role: Role
    is_author: bool = False
    is_bot: bool = False
    is_only_maintainer: bool = False


class CommandRefusal(StrEnum):
    """Why a command is refused. OVERTAKEN: the commit that it would be about is newer than the command."""

    BOT = "bot"
    ROLE = "role"
    AUTHOR = "author"
    REASON = "reason"
    TIME = "time"
    OVERTAKEN = "overtaken"


def find_refusal(command: CommandName, asker: CommandAuthor, reason: str) -> CommandRefusal | None:
    """Why this person may not give this command now; None: they may. A bot may give none, whatever its role."""
    right = COMMAND_RIGHTS[command]
    if asker.is_bot:
        return CommandRefusal.BOT
    if ROLE_ORDER.index(asker.role) < ROLE_ORDER.index(right.least_role):
        return CommandRefusal.ROLE
    if asker.is_author and not right.is_for_author and not (right.is_for_only_maintainer and asker.is_only_maintainer):
        return CommandRefusal.AUTHOR
    return CommandRefusal.REASON if right.needs_reason and not reason else None


def roles_from(least: Role) -> tuple[Role, ...]:
    """This role and all above it."""
    return ROLE_ORDER[ROLE_ORDER.index(least) :]


def parse_pause(text: str, now: datetime) -> tuple[datetime | None, str]:
    """The end and the reason of a pause, by the text behind the command. Raises UntilError for an invalid length.

    A length counts without `for` before it, too: a pause that was meant to end must not last for ever.
    """
    reason = " ".join(text.split())
    match = PAUSE_ARGUMENTS.fullmatch(reason)
    if match is None:
        return None, reason
    length = match[2].rstrip(CLOSING_PUNCTUATION)
    if match[1] is None and DURATION_PATTERN.fullmatch(length) is None:
        return None, reason
    try:
        return parse_end(length, now), match[3].lstrip(CLOSING_PUNCTUATION).strip()
    except UntilError:
        if length[:1].isdigit():
            raise
        return None, reason  # `for the release` is a reason
