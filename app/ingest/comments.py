"""Deliveries about what people write: comments, comments at lines, reviews.

Our own App's comments are never commands. An edit gives the command that it added, never one that was there before. A command starts a
line of a top-level paragraph; code, quotes, lists, headings, tables, HTML and an escaped slash hold none. What may be another bot's
command is ignored.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from itertools import pairwise, takewhile
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import asdict, replace

from app.ingest.event_types import CommandIssued, Ignored, PersonCommented, WrittenText
from app.ingest.payloads import CommentPayload, Delivery, LineCommentPayload, PayloadAccount, ReviewPayload, pull_ref
from worker.domain.judge_request import LONGEST_REASON, CommandName, ReviewRef
from worker.dossier.markup import limit_text

REVIEW_DECISIONS: Final = {"approved": CommandName.APPROVED, "changes_requested": CommandName.CHANGES}
"""The decision of a review: a code owner's decides a verdict that needs a person."""

GHOST: Final = PayloadAccount(login="ghost", type="User")
"""GitHub's name for a deleted account."""

CommentShape = type[CommentPayload | LineCommentPayload]


def on_comment_created(shape: CommentShape, delivery: Delivery) -> CommandIssued | PersonCommented | Ignored:
    payload = delivery.read(shape)
    written = _read_comment(payload, delivery)
    if isinstance(written, Ignored):
        return written
    if command := _command(written, payload.comment.body):
        return command
    return Ignored("part_of_a_review") if written.in_review else _person_commented(written)


def on_comment_edited(shape: CommentShape, delivery: Delivery) -> CommandIssued | Ignored:
    payload = delivery.read(shape)
    written = _read_comment(payload, delivery)
    return written if isinstance(written, Ignored) else _command_of_edit(written, payload, payload.comment.body)


def _read_comment(payload: CommentPayload | LineCommentPayload, delivery: Delivery) -> WrittenText | Ignored:
    """A comment, or why it is not for us. One at a line is part of a review, which is delivered as a whole."""
    comment, app = payload.comment, payload.comment.performed_via_github_app
    if isinstance(payload, CommentPayload) and payload.issue.pull_request is None:
        return Ignored("not_a_pull_request")
    subject = payload.issue if isinstance(payload, CommentPayload) else payload.pull_request
    if subject.state != "open":
        return Ignored("pull_request_closed")
    if comment.user is None:
        return Ignored("no_author")
    if app is not None and app.id == delivery.our_app_id:
        return Ignored("own_comment")
    return WrittenText(
        pull=pull_ref(payload, subject.number),
        repository=payload.repository.full_name,
        comment_id=comment.id,
        login=comment.user.login,
        is_bot=is_bot(comment.user),
        in_review=isinstance(payload, LineCommentPayload),
        said_at=_parse_time(comment.updated_at),
    )


def on_review_submitted(delivery: Delivery) -> CommandIssued | PersonCommented | Ignored:
    payload = delivery.read(ReviewPayload)
    written = _read_review(payload)
    if isinstance(written, Ignored):
        return written
    written = replace(written, said_at=_parse_time(payload.review.submitted_at))
    command = _command(written, payload.review.body or "")
    decided = None if written.is_bot else REVIEW_DECISIONS.get(payload.review.state)
    if command is None or decided is None:
        return command or (_person_commented(written) if decided is None else _command_issued(written, decided))
    return replace(command, decides=decided)


def on_review_edited(delivery: Delivery) -> CommandIssued | Ignored:
    """Only its text can be edited, not its decision."""
    payload = delivery.read(ReviewPayload)
    written = _read_review(payload)
    return written if isinstance(written, Ignored) else _command_of_edit(written, payload, payload.review.body or "")


def _read_review(payload: ReviewPayload) -> WrittenText | Ignored:
    author = payload.review.user
    if author is None:
        return Ignored("no_author")
    return _review_text(payload, author) if payload.pull_request.state == "open" else Ignored("pull_request_closed")


def on_review_dismissed(delivery: Delivery) -> CommandIssued | Ignored:
    """GitHub itself may dismiss a review, and on a closed pull request, too."""
    payload = delivery.read(ReviewPayload)
    if payload.review.commit_id is None:
        return Ignored("no_commit")
    return _command_issued(_review_text(payload, payload.sender or GHOST), CommandName.DISMISSED)


def _review_text(payload: ReviewPayload, account: PayloadAccount) -> WrittenText:
    """A review with the account that wrote or dismissed it."""
    review = payload.review
    return WrittenText(
        pull=pull_ref(payload, payload.pull_request.number),
        repository=payload.repository.full_name,
        comment_id=None,
        login=account.login,
        is_bot=is_bot(account),
        in_review=True,
        head_sha=review.commit_id,
        review=ReviewRef(id=review.id, login=(review.user or GHOST).login, node_id=review.node_id),
    )


def _parse_time(text: str | None) -> datetime | None:
    """The time in UTC; None: not a time."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except (ValueError, OverflowError):
        return None


def _person_commented(written: WrittenText) -> PersonCommented | Ignored:
    if written.is_bot:
        return Ignored("bot_comment")
    return PersonCommented(pull=written.pull, repository=written.repository)


def _command_of_edit(
    written: WrittenText, payload: CommentPayload | LineCommentPayload | ReviewPayload, text: str
) -> CommandIssued | Ignored:
    """The command that the edit added. Accounts with write access may edit others' comments, but not command in their name."""
    if payload.sender is None or payload.sender.login != written.login:
        return Ignored("edited_by_another")
    changed = payload.changes.body
    if changed is None or parse_command(changed.before or "") == parse_command(text):
        return Ignored("no_new_command")
    return _command(written, text) or Ignored("no_new_command")


def _command(written: WrittenText, text: str) -> CommandIssued | None:
    """A bot's misspelling is no command, or two bots could answer each other forever."""
    command = parse_command(text)
    if command is None or (written.is_bot and isinstance(command, CommandError)):
        return None
    if isinstance(command, ParsedCommand):
        return _command_issued(written, command.name, reason=command.reason)
    return _command_issued(written, command.nearest, misspelt=command.typed)


def _command_issued(
    written: WrittenText, command: CommandName, reason: str = "", misspelt: str | None = None
) -> CommandIssued:
    return CommandIssued(**asdict(written), command=command, reason=reason, misspelt=misspelt)


def is_bot(account: PayloadAccount) -> bool:
    return account.type == "Bot"


MAX_COMMENT_LENGTH: Final = 65_536
"""GitHub's limit."""

MAX_WORD_LENGTH: Final = 40
"""A misspelt command is quoted in the answer; a longer word is no misspelling."""

SLASH_LINE: Final = re.compile(r"^[^\S\n]*/[a-zA-Z]", re.MULTILINE)
SLASH_WORD: Final = re.compile(r"/([a-zA-Z][a-zA-Z-]*)[.,:;!]?(?=\s|$)")
FIRST_WORD: Final = re.compile(r"\s*([^\s.,:;!]+)[.,:;!]?(?=\s|$)")
LINE_BREAKS: Final = frozenset({"softbreak", "hardbreak"})
SIMILARITY_CUTOFF: Final = 0.8
ASSAY: Final = "assay"
FORCE_WORDS: Final = frozenset({"force", "--force"})
FORCE_LOOKALIKES: Final = frozenset({"forced", "forces", "forge"})
"""English words as close to `force` as a misspelling."""

REJUDGE: Final = "rejudge"
TOP_LEVEL_COMMANDS: Final = {
    REJUDGE: CommandName.REJUDGE,
    "contest": CommandName.CONTEST,
    "override": CommandName.OVERRIDE,
}
"""Commands right after the slash."""

ASSAY_COMMANDS: Final = TOP_LEVEL_COMMANDS | {
    "pause": CommandName.PAUSE,
    "resume": CommandName.RESUME,
    "help": CommandName.HELP,
}
"""Commands after `/assay`."""

COMMAND_ALIASES: Final = ASSAY_COMMANDS | {"unpause": CommandName.RESUME, "force": CommandName.FORCE}
"""What may be meant after `/assay`, for the nearest match."""

FOREIGN_WORDS: Final = frozenset({"context", "content", "contents", "essay"})
"""English words as close to a command as a misspelling."""


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """`reason`: the text after the command."""

    name: CommandName
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CommandError:
    """A misspelt command, and the nearest one."""

    typed: str
    nearest: CommandName


def parse_command(markdown: str) -> ParsedCommand | CommandError | None:
    """The first command of a comment, else the first misspelt one. Ignores case. Never raises."""
    text = markdown[:MAX_COMMENT_LENGTH].replace("\r\n", "\n").replace("\r", "\n")
    if not SLASH_LINE.search(text):
        return None
    commands = [command for lines in paragraphs(text) for command in _commands(lines)]
    return next((command for command in commands if isinstance(command, ParsedCommand)), next(iter(commands), None))


@dataclass(frozen=True, slots=True)
class CommentLine:
    """One rendered line of a paragraph. `is_command`: it starts with a slash outside code, links and emphasis."""

    text: str
    is_command: bool


def paragraphs(text: str) -> Iterator[list[CommentLine]]:
    """The paragraphs at the top level, line by line."""
    tokens = _parser().parse(limit_text(text))
    for opening, inline in pairwise(tokens):
        if opening.type == "paragraph_open" and opening.level == 0:
            yield [*_lines(inline.children or ())]


def _lines(children: Sequence[Token]) -> Iterator[CommentLine]:
    line: list[Token] = []
    for token in (*children, Token("softbreak", "br", 0)):
        if token.type not in LINE_BREAKS:
            line.append(token)
            continue
        first = line[0] if line else token
        is_slashed = first.type == "text" and first.content.startswith("/")
        yield CommentLine("".join(part.content for part in line), is_slashed)
        line = []


def _commands(lines: Sequence[CommentLine]) -> Iterator[ParsedCommand | CommandError]:
    """The commands of a paragraph. A reason extends to the paragraph's end or the next command."""
    for at, line in enumerate(lines):
        parsed = _parse_line(line)
        if isinstance(parsed, ParsedCommand):
            more = takewhile(lambda following: not isinstance(_parse_line(following), ParsedCommand), lines[at + 1 :])
            reason = "\n".join([parsed.reason, *(following.text.strip() for following in more)])
            yield ParsedCommand(parsed.name, reason.strip()[:LONGEST_REASON].rstrip())
        elif parsed is not None:
            yield parsed


def _parse_line(line: CommentLine) -> ParsedCommand | CommandError | None:
    word = SLASH_WORD.match(line.text) if line.is_command else None
    if word is None:
        return None
    name, rest = word[1].lower(), line.text[word.end() :]
    if name == ASSAY:
        return _parse_after_assay(rest)
    if name in TOP_LEVEL_COMMANDS:
        return _parse_force(TOP_LEVEL_COMMANDS[name], rest)
    if joined := _parse_hyphenated(name):
        return CommandError(word[1], joined)
    near = get_close_matches(name, [*TOP_LEVEL_COMMANDS, ASSAY], n=1, cutoff=SIMILARITY_CUTOFF)
    if not near or name in FOREIGN_WORDS or len(name) > MAX_WORD_LENGTH:
        return None
    return CommandError(word[1], TOP_LEVEL_COMMANDS.get(near[0], CommandName.HELP))


def _parse_hyphenated(name: str) -> CommandName | None:
    """The command that hyphenated words of ours mean. Others that start like ours may be another bot's."""
    first, _, more = name.partition("-")
    if first == ASSAY and (near := get_close_matches(more, [*COMMAND_ALIASES], n=1, cutoff=SIMILARITY_CUTOFF)):
        return COMMAND_ALIASES[near[0]]
    return CommandName.FORCE if TOP_LEVEL_COMMANDS.get(first) is CommandName.REJUDGE and more in FORCE_WORDS else None


def _parse_after_assay(rest: str) -> ParsedCommand | CommandError:
    """Parse what follows `/assay`, which is always meant for Assay."""
    word = FIRST_WORD.match(rest)
    if word is None:
        return ParsedCommand(CommandName.HELP)
    name = word[1].lower()
    if name in ASSAY_COMMANDS:
        return _parse_force(ASSAY_COMMANDS[name], rest[word.end() :])
    near = get_close_matches(name, [*COMMAND_ALIASES], n=1)
    return CommandError(f"{ASSAY} {word[1][:MAX_WORD_LENGTH]}", COMMAND_ALIASES[near[0]] if near else CommandName.HELP)


def _parse_force(name: CommandName, rest: str) -> ParsedCommand | CommandError:
    """A misspelt `force` is an error: without force, the same verdict would be shown again."""
    match = FIRST_WORD.match(rest) if name is CommandName.REJUDGE else None
    if match is None:
        return ParsedCommand(name, rest.strip())
    word = match[1].lower()
    if word in FORCE_WORDS:
        return ParsedCommand(CommandName.FORCE, rest[match.end() :].strip())
    if word not in FORCE_LOOKALIKES and get_close_matches(word, FORCE_WORDS, n=1, cutoff=SIMILARITY_CUTOFF):
        return CommandError(f"{REJUDGE} {match[1]}", CommandName.FORCE)
    return ParsedCommand(name, rest.strip())


@cache
def _parser() -> MarkdownIt:
    """A parser of GitHub's blocks that keeps an escaped slash as a token of its own."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
