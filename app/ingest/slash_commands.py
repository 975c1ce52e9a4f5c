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
from worker.dossier.markdown import within_bounds

LONGEST: Final = 65_536
"""GitHub takes no longer comment."""

LONGEST_WORD: Final = 40
"""A misspelt command is said back; nothing longer is a misspelling."""

MAYBE: Final = re.compile(r"^[^\S\n]*/[a-zA-Z]", re.MULTILINE)
WORD: Final = re.compile(r"/([a-zA-Z][a-zA-Z-]*)[.,:;!]?(?=\s|$)")
FIRST: Final = re.compile(r"\s*([^\s.,:;!]+)[.,:;!]?(?=\s|$)")
BREAKS: Final = frozenset({"softbreak", "hardbreak"})
SIMILAR: Final = 0.8
OURS: Final = "assay"
FORCE: Final = frozenset({"force", "--force"})
ALMOST_FORCE: Final = frozenset({"forced", "forces", "forge"})
"""Words of their own that are as near to `force` as a misspelling is."""

REJUDGE: Final = "rejudge"
PLAIN: Final = {REJUDGE: CommandName.REJUDGE, "contest": CommandName.CONTEST, "override": CommandName.OVERRIDE}
"""Commands that stand alone after the slash."""

BEHIND: Final = PLAIN | {"pause": CommandName.PAUSE, "resume": CommandName.RESUME, "help": CommandName.HELP}
"""Commands that stand behind `/assay`."""

MEANT: Final = BEHIND | {"unpause": CommandName.RESUME, "force": CommandName.FORCE}
"""What is meant behind `/assay`, where the nearest letters would say something else."""

OTHERS: Final = frozenset({"context", "content", "contents", "essay"})
"""Words of their own that are as near to one of ours as a misspelling is."""


@dataclass(frozen=True, slots=True)
class Command:
    """`reason`: what follows it, in its author's words."""

    name: CommandName
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CommandError:
    """Surely meant for us, and no command: `nearest` is what may have been meant."""

    found: str
    nearest: CommandName


def parse_command(markdown: str) -> Command | CommandError | None:
    """The first command of a comment; without one, the first that was misspelt. Case does not matter."""
    text = markdown[:LONGEST].replace("\r\n", "\n").replace("\r", "\n")
    if not MAYBE.search(text):
        return None
    read = [said for lines in paragraphs(text) for said in _commands(lines)]
    return next((said for said in read if isinstance(said, Command)), next(iter(read), None))


def command_lines(text: str) -> Iterator[str]:
    """The lines that begin with a slash, as a reader of the rendered comment sees them."""
    return (line.text for lines in paragraphs(text) for line in lines if line.is_slashed)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a paragraph, as it is read. `is_slashed`: its first character is a slash, and no code, link or emphasis."""

    text: str
    is_slashed: bool


def paragraphs(text: str) -> Iterator[list[Line]]:
    """The paragraphs at the top level, line by line."""
    tokens = _parser().parse(within_bounds(text))
    for opening, inline in pairwise(tokens):
        if opening.type == "paragraph_open" and opening.level == 0:
            yield [*_lines(inline.children or ())]


def _lines(children: Sequence[Token]) -> Iterator[Line]:
    line: list[Token] = []
    for token in (*children, Token("softbreak", "br", 0)):
        if token.type not in BREAKS:
            line.append(token)
            continue
        first = line[0] if line else token
        is_slashed = first.type == "text" and first.content.startswith("/")
        yield Line("".join(part.content for part in line), is_slashed)
        line = []


def _commands(lines: Sequence[Line]) -> Iterator[Command | CommandError]:
    """What a paragraph says to us. A reason goes on until its end, or until the next command."""
    for at, line in enumerate(lines):
        said = _understand(line)
        if isinstance(said, Command):
            more = takewhile(lambda one: not isinstance(_understand(one), Command), lines[at + 1 :])
            reason = "\n".join([said.reason, *(one.text.strip() for one in more)])
            yield Command(said.name, reason.strip()[:LONGEST_REASON].rstrip())
        elif said is not None:
            yield said


def _understand(line: Line) -> Command | CommandError | None:
    word = WORD.match(line.text) if line.is_slashed else None
    if word is None:
        return None
    name, rest = word[1].lower(), line.text[word.end() :]
    if name == OURS:
        return _behind(rest)
    if name in PLAIN:
        return _command(PLAIN[name], rest)
    if joined := _joined(name):
        return CommandError(word[1], joined)
    near = get_close_matches(name, [*PLAIN, OURS], n=1, cutoff=SIMILAR)
    if not near or name in OTHERS or len(name) > LONGEST_WORD:
        return None
    return CommandError(word[1], PLAIN.get(near[0], CommandName.HELP))


def _joined(name: str) -> CommandName | None:
    """What is meant by words of ours that a dash joins. What only begins like one of ours may be another bot's."""
    first, _, more = name.partition("-")
    if first == OURS and (near := get_close_matches(more, [*MEANT], n=1, cutoff=SIMILAR)):
        return MEANT[near[0]]
    return CommandName.FORCE if PLAIN.get(first) is CommandName.REJUDGE and more in FORCE else None


def _behind(rest: str) -> Command | CommandError:
    """What follows `/assay`: all of it is meant for us."""
    word = FIRST.match(rest)
    if word is None:
        return Command(CommandName.HELP)
    name = word[1].lower()
    if name in BEHIND:
        return _command(BEHIND[name], rest[word.end() :])
    near = get_close_matches(name, [*MEANT], n=1)
    return CommandError(f"{OURS} {word[1][:LONGEST_WORD]}", MEANT[near[0]] if near else CommandName.HELP)


def _command(name: CommandName, rest: str) -> Command | CommandError:
    """Who misspells `force` would get the verdict that they do not want any more: they are told instead."""
    word = FIRST.match(rest) if name is CommandName.REJUDGE else None
    if word is not None and word[1].lower() in FORCE:
        return Command(CommandName.FORCE, rest[word.end() :].strip())
    if word is not None and _is_almost_force(word[1].lower()):
        return CommandError(f"{REJUDGE} {word[1]}", CommandName.FORCE)
    return Command(name, rest.strip())


def _is_almost_force(word: str) -> bool:
    return word not in ALMOST_FORCE and bool(get_close_matches(word, FORCE, n=1, cutoff=SIMILAR))


@cache
def _parser() -> MarkdownIt:
    """GitHub's blocks. Escapes stay tokens of their own, so that an escaped slash is seen as one."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
