"""Assay's comments: answers to commands, and the one at an agent's pull request.

No line of a comment is a command to Assay or another bot, and the only mention is the name that an agent listens to.
"""

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Final, assert_never

from worker.domain.check.author_comment import AuthorMessage, find_mention, message_to_author, submission_entries
from worker.domain.config.command_permissions import COMMAND_RIGHTS, CommandRefusal, Role, roles_from
from worker.domain.judge_request import CommandRequest
from worker.domain.time_range import JudgingPause, format_time
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject, Verdict
from worker.publishing.texts.markdown import bullets, code, code_block, join_blocks, prose, table
from worker.publishing.texts.phrases import category_phrase, checkbox

HEADER: Final = ("Command", "Who may", "What it does")
OWN_PULL_REQUEST: Final = "No account decides about its own pull request"


def refusal_comment(command: CommandRequest, why: CommandRefusal, role: Role, detail: str = "") -> str:
    """Why a command is refused, and what to do instead. *detail*: an error message, or the newest commit."""
    right = COMMAND_RIGHTS[command.command]
    spelled = code(right.syntax)
    match why:
        case CommandRefusal.ROLE:
            return (
                f"{spelled} is for people with the role {_roles(right.least_role)} in this repository. "
                f"{code(command.login)} has {'none' if role is Role.NONE else role.value}."
            )
        case CommandRefusal.AUTHOR:
            return f"{spelled} is not for {code(command.login)} here. {OWN_PULL_REQUEST}: ask another account with the role {_roles(right.least_role)}."
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


def unknown_command_comment(command: CommandRequest) -> str:
    """The nearest command to a misspelt one."""
    return (
        f"There is no command {code(f'/{command.misspelt}')}. The nearest one is {code(COMMAND_RIGHTS[command.command].syntax)}; "
        f"{code('/assay help')} lists all of them."
    )


def help_comment() -> str:
    """All commands, as a list: at a phone's 375 px the third column of a table is out of sight."""
    rows = [f"{name}: {does} For {who}." for name, who, does in _rows()]
    return f"Assay takes these commands, each at the start of a line:\n\n{bullets(rows)}"


def commands_table() -> str:
    """The table of commands in docs/using.md."""
    return table(HEADER, _rows())


def _rows() -> Iterator[tuple[str, str, str]]:
    for right in COMMAND_RIGHTS.values():
        author = "" if right.is_for_author else ", not the pull request's author"
        author += " unless no other account may" if right.is_for_only_maintainer else ""
        yield code(right.syntax) if right.syntax else "a review", f"{_roles(right.least_role)}{author}", right.effect


def pause_comment(suspension: JudgingPause) -> str:
    """The answer to `/assay pause`."""
    until = f" until {format_time(suspension.until)}" if suspension.until else ""
    why = f" Reason: {prose(suspension.reason)}" if suspension.reason else ""
    return f"Judging is paused in this repository{until}. {code('/assay resume')} goes on.{why}"


def resume_comment(*, was_paused: bool) -> str:
    """The answer to `/assay resume`."""
    return "Judging goes on. What waited is judged now." if was_paused else "Judging was not paused here."


def _roles(least: Role) -> str:
    *others, last = roles_from(least)
    return f"{', '.join(others)} or {last}"


EDITED_NOTE: Final = "This comment is changed in place: once for each push, and again only when it no longer holds."
COMMENT_BYTES: Final = 60_000
"""Of GitHub's 65,536; the rest holds the mark by which the comment is found."""
CONDITIONS_BYTES: Final = 14_000
EARLIER_BYTES: Final = 8_000
MOST_EARLIER: Final = 20
PROSE_BYTES: Final = 2_000


def feedback_comment(entries: Sequence[LedgerEntry], round_limit: int, *, is_overridden: bool = False) -> str:
    """The comment about the newest submission's verdict. *entries*: of this pull request, oldest first."""
    own = submission_entries(entries)
    newest = own[-1].verdict
    if isinstance(newest, Reject) and not is_overridden:
        blocks = _reject_blocks(newest, own, round_limit)
    elif isinstance(newest, Abstain) and newest.abstain_reason is AbstainReason.CI_FAILED and not is_overridden:
        blocks = _ci_blocks(newest, own)
    elif message_to_author(newest, is_overridden=is_overridden) is AuthorMessage.CASE_REFUSED:
        blocks = _case_blocks(newest, own)
    else:
        earlier = _earlier_verdicts(own if is_overridden else own[:-1])
        blocks = (_closing_note(newest, is_overridden=is_overridden), *earlier)
    return join_blocks([*blocks], COMMENT_BYTES)


def _reject_blocks(verdict: Reject, own: Sequence[LedgerEntry], round_limit: int) -> Iterator[str]:
    yield f"{_address(verdict)}Assay rejected {code(_short(verdict))}: **{category_phrase(verdict.category)}**."
    yield f"**Why:** {prose(verdict.concern, PROSE_BYTES)}"
    yield f"**Next step:** {prose(verdict.next_step, PROSE_BYTES)}"
    yield from _case_error(verdict)
    if verdict.closing_conditions:
        listed = [f"{checkbox(condition)} {prose(condition.text, 500)}" for condition in verdict.closing_conditions]
        yield f"What closes this:\n\n{bullets(listed, 50, CONDITIONS_BYTES)}"
    yield from _earlier_verdicts(own[:-1])
    yield (
        f"Round {verdict.round} of {round_limit}; after that a person decides. The check named Assay has the evidence. "
        "This comment is changed in place: once for each push, and again only if the verdict on it turns."
    )


def _ci_blocks(verdict: Abstain, own: Sequence[LedgerEntry]) -> Iterator[str]:
    failure = verdict.ci_failure
    check = f": **{prose(failure.check, PROSE_BYTES)}**" if failure else ""
    yield f"{_address(verdict)}CI failed on {code(_short(verdict))}{check}."
    if failure and failure.test:
        yield f"First failing test: {code(failure.test)}"
    if failure and failure.log:
        yield code_block(indent(failure.log, "  "))  # another bot could take an unindented line for a command
    yield f"**Next step:** {prose(verdict.next_step, PROSE_BYTES)} This costs no round."
    yield from _case_error(verdict)
    yield from _earlier_verdicts(own[:-1])
    yield EDITED_NOTE


def _case_blocks(verdict: Verdict, own: Sequence[LedgerEntry]) -> Iterator[str]:
    yield f"{_address(verdict)}Assay did not judge {code(_short(verdict))}: {prose(verdict.concern, PROSE_BYTES)}"
    yield from _case_error(verdict)
    yield from _earlier_verdicts(own[:-1])
    yield EDITED_NOTE


def _address(verdict: Verdict) -> str:
    mention = find_mention(verdict.author_agent)
    return f"{mention} " if mention else ""


def _case_error(verdict: Verdict) -> Iterator[str]:
    """The error of a case that does not parse."""
    if verdict.case_error:
        yield f"**The author's case could not be read:** {prose(verdict.case_error, PROSE_BYTES)} Mend it in the description; that uses no round."


def _closing_note(verdict: Verdict, *, is_overridden: bool) -> str:
    """The comment where the author has nothing left to do."""
    if is_overridden:
        return f"A maintainer overrode the verdict on {code(_short(verdict))}. Nothing is left to do here."
    if isinstance(verdict, Accept):
        return f"Assay accepted {code(_short(verdict))}. Nothing is left to do here."
    why = prose(verdict.concern, PROSE_BYTES)
    if verdict.abstain_reason is AbstainReason.NEEDS_HUMAN:
        return f"A person has to decide about {code(_short(verdict))}: {why}"
    return f"CI does not fail on {code(_short(verdict))}. Assay did not judge it: {why}"


def _earlier_verdicts(before: Sequence[LedgerEntry]) -> Iterator[str]:
    """Earlier accepts and rejects; one that was carried over repeats another."""
    decided = [entry for entry in before if isinstance(entry.verdict, (Accept, Reject))]
    earlier = [entry for entry in decided if entry.verdict.carried_from is None][-MOST_EARLIER:]
    if earlier:
        rows = list[str]()
        for entry in earlier:
            verdict = entry.verdict
            outcome = f"rejected, {category_phrase(verdict.category)}" if isinstance(verdict, Reject) else "accepted"
            rows.append(f"{code(entry.head_sha[:12])} {outcome}: {prose(verdict.concern, 300)}")
        listed = bullets(rows, MOST_EARLIER, EARLIER_BYTES)
        yield f"<details><summary>Earlier verdicts ({len(earlier)})</summary>\n\n{listed}\n\n</details>"


def _short(verdict: Verdict) -> str:
    return verdict.subject.head_sha[:12]
