"""What Assay answers to a command in a comment of its own: refused, not known, the list of commands, paused.

Does not decide. Invariant: an answer holds no line that is a command, to us or to another bot; words of others can't format,
link or mention anything.
"""

from collections.abc import Iterator
from typing import Final, assert_never

from worker.domain.config.command_permissions import RIGHTS, Refusal, Role, roles_from
from worker.domain.request.judge_request import Ask
from worker.domain.request.pause import Suspension, when
from worker.publishing.texts.markdown import bullets, code, prose, table

HEADER: Final = ("Command", "Who may", "What it does")
NOT_YOURS: Final = "No account decides about its own pull request"


def refused(ask: Ask, why: Refusal, role: Role, detail: str = "") -> str:
    """Why a command is not followed, and what to do instead. *detail*: what the reason itself has to say."""
    right = RIGHTS[ask.command]
    spelled = code(right.spelled)
    match why:
        case Refusal.ROLE:
            return (
                f"{spelled} is for people with the role {_roles(right.least)} in this repository. "
                f"{code(ask.login)} has {'none' if role is Role.NONE else role.value}."
            )
        case Refusal.AUTHOR:
            return f"{spelled} is not for {code(ask.login)} here. {NOT_YOURS}: ask another account with the role {_roles(right.least)}."
        case Refusal.REASON:
            return f"A reason is missing. Write it behind the command, on the same line: {spelled}."
        case Refusal.TIME:
            return f"Not paused: {prose(detail)}"
        case Refusal.OVERTAKEN:
            return (
                f"Not done: your words are not about {code(detail[:12])}, the newest commit. Look at it, and write {spelled} "
                "again if it still holds."
            )
        case Refusal.BOT:
            return f"{spelled} is not for bots."
        case _:
            assert_never(why)


def unknown(ask: Ask) -> str:
    """There is no such command."""
    return (
        f"There is no command {code(f'/{ask.misspelt}')}. The nearest one is {code(RIGHTS[ask.command].spelled)}; "
        f"{code('/assay help')} lists all of them."
    )


def listed() -> str:
    """All commands. A list: at a telephone's 375 px the third column of a table is out of sight."""
    rows = [f"{name}: {does} For {who}." for name, who, does in _rows()]
    return f"Assay takes these commands, each at the start of a line:\n\n{bullets(rows)}"


def commands_table() -> str:
    """The table of `worker.domain.config.command_permissions`, for docs/commands.md."""
    return table(HEADER, _rows())


def _rows() -> Iterator[tuple[str, str, str]]:
    for right in RIGHTS.values():
        author = "" if right.by_author else ", not the pull request's author"
        author += " unless no other account may" if right.by_only_maintainer else ""
        yield code(right.spelled) if right.spelled else "a review", f"{_roles(right.least)}{author}", right.does


def paused(suspension: Suspension) -> str:
    """Judging stops."""
    until = f" until {when(suspension.until)}" if suspension.until else ""
    why = f" Reason: {prose(suspension.reason)}" if suspension.reason else ""
    return f"Judging is paused in this repository{until}. {code('/assay resume')} goes on.{why}"


def resumed(*, was_paused: bool) -> str:
    """Judging goes on."""
    return "Judging goes on. What waited is judged now." if was_paused else "Judging was not paused here."


def _roles(least: Role) -> str:
    *others, last = roles_from(least)
    return f"{', '.join(others)} or {last}"
