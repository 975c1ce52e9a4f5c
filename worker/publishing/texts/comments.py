"""What Assay answers to a command in a comment of its own: refused, not known, the list of commands, paused.

Does not decide. Invariant: an answer holds no line that is a command, to us or to another bot; words of others can't format,
link or mention anything.
"""

from collections.abc import Iterator
from typing import Final, assert_never

from worker.domain.config.command_permissions import COMMAND_RIGHTS, CommandRefusal, Role, roles_from
from worker.domain.request.judge_request import CommandRequest
from worker.domain.request.pause import JudgingPause, format_time
from worker.publishing.texts.markdown import bullets, code, prose, table

HEADER: Final = ("Command", "Who may", "What it does")
OWN_PULL_REQUEST: Final = "No account decides about its own pull request"


def refusal_comment(ask: CommandRequest, why: CommandRefusal, role: Role, detail: str = "") -> str:
    """Why a command is not followed, and what to do instead. *detail*: what the reason itself has to say."""
    right = COMMAND_RIGHTS[ask.command]
    spelled = code(right.syntax)
    match why:
        case CommandRefusal.ROLE:
            return (
                f"{spelled} is for people with the role {_roles(right.least_role)} in this repository. "
                f"{code(ask.login)} has {'none' if role is Role.NONE else role.value}."
            )
        case CommandRefusal.AUTHOR:
            return f"{spelled} is not for {code(ask.login)} here. {OWN_PULL_REQUEST}: ask another account with the role {_roles(right.least_role)}."
        case CommandRefusal.REASON:
            return f"A reason is missing. Write it behind the command, on the same line: {spelled}."
        case CommandRefusal.TIME:
            return f"Not paused: {prose(detail)}"
        case CommandRefusal.OVERTAKEN:
            return (
                f"Not done: your words are not about {code(detail[:12])}, the newest commit. Look at it, and write {spelled} "
                "again if it still holds."
            )
        case CommandRefusal.BOT:
            return f"{spelled} is not for bots."
        case _:
            assert_never(why)


def unknown_command_comment(ask: CommandRequest) -> str:
    """There is no such command."""
    return (
        f"There is no command {code(f'/{ask.misspelt}')}. The nearest one is {code(COMMAND_RIGHTS[ask.command].syntax)}; "
        f"{code('/assay help')} lists all of them."
    )


def help_comment() -> str:
    """All commands. A list: at a telephone's 375 px the third column of a table is out of sight."""
    rows = [f"{name}: {does} For {who}." for name, who, does in _rows()]
    return f"Assay takes these commands, each at the start of a line:\n\n{bullets(rows)}"


def commands_table() -> str:
    """The table of `worker.domain.config.command_permissions`, for docs/using.md."""
    return table(HEADER, _rows())


def _rows() -> Iterator[tuple[str, str, str]]:
    for right in COMMAND_RIGHTS.values():
        author = "" if right.is_for_author else ", not the pull request's author"
        author += " unless no other account may" if right.is_for_only_maintainer else ""
        yield code(right.syntax) if right.syntax else "a review", f"{_roles(right.least_role)}{author}", right.effect


def pause_comment(suspension: JudgingPause) -> str:
    """Judging stops."""
    until = f" until {format_time(suspension.until)}" if suspension.until else ""
    why = f" Reason: {prose(suspension.reason)}" if suspension.reason else ""
    return f"Judging is paused in this repository{until}. {code('/assay resume')} goes on.{why}"


def resume_comment(*, was_paused: bool) -> str:
    """Judging goes on."""
    return "Judging goes on. What waited is judged now." if was_paused else "Judging was not paused here."


def _roles(least: Role) -> str:
    *others, last = roles_from(least)
    return f"{', '.join(others)} or {last}"
