"""Markdown comment -> ParsedCommand, CommandError or None.

A command starts a line of a top-level paragraph; code, quotes, lists, headings, tables, HTML and an escaped slash hold none. What may
be another bot's command is ignored.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise, takewhile
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from worker.domain.judge_request import LONGEST_REASON, CommandName
from worker.dossier.markdown import limit_text

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
        return _command(TOP_LEVEL_COMMANDS[name], rest)
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
        return _command(ASSAY_COMMANDS[name], rest[word.end() :])
    near = get_close_matches(name, [*COMMAND_ALIASES], n=1)
    return CommandError(f"{ASSAY} {word[1][:MAX_WORD_LENGTH]}", COMMAND_ALIASES[near[0]] if near else CommandName.HELP)


def _command(name: CommandName, rest: str) -> ParsedCommand | CommandError:
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
