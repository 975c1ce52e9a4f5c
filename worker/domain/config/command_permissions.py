"""Who may give which command: one table, and the one function that refuses by it."""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.request.judge_request import CommandName
from worker.domain.request.pause import DURATION_PATTERN, UntilError, parse_end
from worker.domain.value import Value

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


class CommandRight(Value):
    """What somebody needs for a command. `is_for_author`: the pull request's own author may give it, too.

    `is_for_only_maintainer`: the author may, where no other account could.
    `syntax`: how it is written in a comment; empty: it is no comment. `effect`: what comes of it.
    """

    least_role: Role
    is_for_author: bool
    needs_reason: bool
    syntax: str
    effect: str
    is_for_only_maintainer: bool = False


COMMAND_RIGHTS: Final[Mapping[CommandName, CommandRight]] = MappingProxyType(
    {
        CommandName.REJUDGE: CommandRight(
            least_role=Role.WRITE,
            is_for_author=True,
            needs_reason=False,
            syntax="/rejudge",
            effect="Judges the newest commit now. Content that was decided before keeps its verdict, at $0.",
        ),
        CommandName.FORCE: CommandRight(
            least_role=Role.WRITE,
            is_for_author=False,
            needs_reason=False,
            syntax="/rejudge force",
            effect="Judges the newest commit again, even if its content was decided before. Costs like a first judging.",
        ),
        CommandName.CONTEST: CommandRight(
            least_role=Role.WRITE,
            is_for_author=False,
            needs_reason=True,
            syntax="/contest REASON",
            effect="Judges the newest commit again, with your reason before the judge, and a second opinion where one is set up.",
        ),
        CommandName.OVERRIDE: CommandRight(
            least_role=Role.MAINTAIN,
            is_for_author=False,
            needs_reason=True,
            syntax="/override REASON",
            effect="Lets this commit pass, by your name and reason. The verdict stays as it is; it holds for this commit alone.",
            is_for_only_maintainer=True,
        ),
        CommandName.PAUSE: CommandRight(
            least_role=Role.MAINTAIN,
            is_for_author=True,
            needs_reason=False,
            syntax="/assay pause [for 2h] [REASON]",
            effect="Stops judging in this repository, for so long (`90m`, `2h`, `3d`, `1w`), until a time (`2026-11-20T15:00Z`) or until it is resumed.",
        ),
        CommandName.RESUME: CommandRight(
            least_role=Role.MAINTAIN,
            is_for_author=True,
            needs_reason=False,
            syntax="/assay resume",
            effect="Goes on judging. What waited is judged.",
        ),
        CommandName.HELP: CommandRight(
            least_role=Role.WRITE,
            is_for_author=True,
            needs_reason=False,
            syntax="/assay help",
            effect="Answers with this list.",
        ),
        CommandName.APPROVED: CommandRight(
            least_role=Role.WRITE,
            is_for_author=False,
            needs_reason=False,
            syntax="",
            effect="An approving review of a code owner lets a commit pass that a person has to decide about.",
        ),
        CommandName.CHANGES: CommandRight(
            least_role=Role.WRITE,
            is_for_author=False,
            needs_reason=False,
            syntax="",
            effect="A review of a code owner that asks for changes keeps such a commit from passing.",
        ),
        CommandName.DISMISSED: CommandRight(
            least_role=Role.WRITE,
            is_for_author=True,
            needs_reason=False,
            syntax="",
            effect="Such a review that is dismissed no longer decides: the check run shows the verdict.",
        ),
    }
)


class CommandAuthor(Value):
    """Who gives a command, as GitHub knows them. `is_only_maintainer`: no other account may maintain or administer the repository."""

    role: Role
    is_author: bool = False
    is_bot: bool = False
    is_only_maintainer: bool = False


class CommandRefusal(StrEnum):
    """Why a command is not followed. `overtaken`: the commit that it would be about came after it."""

    BOT = "bot"
    ROLE = "role"
    AUTHOR = "author"
    REASON = "reason"
    TIME = "time"
    OVERTAKEN = "overtaken"


def find_refusal(command: CommandName, asker: CommandAuthor, reason: str) -> CommandRefusal | None:
    """Why this person may not give this command now; None: they may."""
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
    """When a pause ends and why it is, by what followed the command. Raises UntilError for a length that is none.

    A length counts without a word before it, too: a pause that was meant to end must not go on for ever.
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
