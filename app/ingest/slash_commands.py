"""Commands in comments: Markdown in; a Command, a CommandError or nothing out.

Pure. Does not know who may give a command. Invariant: only the text of a top-level paragraph, at the start
of one of its lines, is a command. Code, quotes, lists, headings, tables, HTML and comments in HTML are not;
nor is a slash that was escaped. What may be another bot's command is none of ours. No text makes it raise.
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

from worker.domain.request.judge_request import LONGEST_REASON, CommandName
from worker.dossier.markdown import limit_text

MAX_COMMENT_LENGTH: Final = 65_536
"""GitHub takes no longer comment."""

MAX_WORD_LENGTH: Final = 40
"""A misspelt command is said back; nothing longer is a misspelling."""

SLASH_LINE: Final = re.compile(r"^[^\S\n]*/[a-zA-Z]", re.MULTILINE)
SLASH_WORD: Final = re.compile(r"/([a-zA-Z][a-zA-Z-]*)[.,:;!]?(?=\s|$)")
FIRST_WORD: Final = re.compile(r"\s*([^\s.,:;!]+)[.,:;!]?(?=\s|$)")
LINE_BREAKS: Final = frozenset({"softbreak", "hardbreak"})
SIMILARITY_CUTOFF: Final = 0.8
ASSAY: Final = "assay"
FORCE_WORDS: Final = frozenset({"force", "--force"})
FORCE_LOOKALIKES: Final = frozenset({"forced", "forces", "forge"})
"""Words of their own that are as near to `force` as a misspelling is."""

REJUDGE: Final = "rejudge"
TOP_LEVEL_COMMANDS: Final = {
    REJUDGE: CommandName.REJUDGE,
    "contest": CommandName.CONTEST,
    "override": CommandName.OVERRIDE,
}
"""Commands that stand alone after the slash."""

ASSAY_COMMANDS: Final = TOP_LEVEL_COMMANDS | {
    "pause": CommandName.PAUSE,
    "resume": CommandName.RESUME,
    "help": CommandName.HELP,
}
"""Commands that stand behind `/assay`."""

COMMAND_ALIASES: Final = ASSAY_COMMANDS | {"unpause": CommandName.RESUME, "force": CommandName.FORCE}
"""What is meant behind `/assay`, where the nearest letters would say something else."""

FOREIGN_WORDS: Final = frozenset({"context", "content", "contents", "essay"})
"""Words of their own that are as near to one of ours as a misspelling is."""


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """`reason`: what follows it, in its author's words."""

    name: CommandName
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CommandError:
    """Surely meant for us, and no command: `nearest` is what may have been meant."""

    typed: str
    nearest: CommandName


def parse_command(markdown: str) -> ParsedCommand | CommandError | None:
    """The first command of a comment; without one, the first that was misspelt. Case does not matter."""
    text = markdown[:MAX_COMMENT_LENGTH].replace("\r\n", "\n").replace("\r", "\n")
    if not SLASH_LINE.search(text):
        return None
    read = [command for lines in paragraphs(text) for command in _commands(lines)]
    return next((command for command in read if isinstance(command, ParsedCommand)), next(iter(read), None))


def command_lines(text: str) -> Iterator[str]:
    """The lines that begin with a slash, as a reader of the rendered comment sees them."""
    return (line.text for lines in paragraphs(text) for line in lines if line.is_command)


@dataclass(frozen=True, slots=True)
class CommentLine:
    """One line of a paragraph, as it is read. `is_command`: its first character is a slash, and no code, link or emphasis."""

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
    """What a paragraph says to us. A reason goes on until its end, or until the next command."""
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
    """What is meant by words of ours that a dash joins. What only begins like one of ours may be another bot's."""
    first, _, more = name.partition("-")
    if first == ASSAY and (near := get_close_matches(more, [*COMMAND_ALIASES], n=1, cutoff=SIMILARITY_CUTOFF)):
        return COMMAND_ALIASES[near[0]]
    return CommandName.FORCE if TOP_LEVEL_COMMANDS.get(first) is CommandName.REJUDGE and more in FORCE_WORDS else None


def _parse_after_assay(rest: str) -> ParsedCommand | CommandError:
    """What follows `/assay`: all of it is meant for us."""
    word = FIRST_WORD.match(rest)
    if word is None:
        return ParsedCommand(CommandName.HELP)
    name = word[1].lower()
    if name in ASSAY_COMMANDS:
        return _command(ASSAY_COMMANDS[name], rest[word.end() :])
    near = get_close_matches(name, [*COMMAND_ALIASES], n=1)
    return CommandError(f"{ASSAY} {word[1][:MAX_WORD_LENGTH]}", COMMAND_ALIASES[near[0]] if near else CommandName.HELP)


def _command(name: CommandName, rest: str) -> ParsedCommand | CommandError:
    """Who misspells `force` would get the verdict that they do not want any more: they are told instead."""
    word = FIRST_WORD.match(rest) if name is CommandName.REJUDGE else None
    if word is not None and word[1].lower() in FORCE_WORDS:
        return ParsedCommand(CommandName.FORCE, rest[word.end() :].strip())
    if word is not None and _is_almost_force(word[1].lower()):
        return CommandError(f"{REJUDGE} {word[1]}", CommandName.FORCE)
    return ParsedCommand(name, rest.strip())


def _is_almost_force(word: str) -> bool:
    return word not in FORCE_LOOKALIKES and bool(get_close_matches(word, FORCE_WORDS, n=1, cutoff=SIMILARITY_CUTOFF))


@cache
def _parser() -> MarkdownIt:
    """GitHub's blocks. Escapes stay tokens of their own, so that an escaped slash is seen as one."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
