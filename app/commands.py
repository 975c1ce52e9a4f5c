"""Commands in comments: Markdown in; a Command, a CommandError or nothing out.

Pure. Does not know who may give a command. Invariant: only the text of a top-level paragraph, at the start
of one of its lines, is a command. Code, quotes, lists, headings, tables, HTML and comments in HTML are not;
nor is a slash that was escaped. No text makes it raise.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from worker.domain.request import CommandName

LONGEST: Final = 65_536
"""GitHub takes no longer comment."""

MAYBE: Final = re.compile(r"^[^\S\n]*/[a-zA-Z]", re.MULTILINE)
WORD: Final = re.compile(r"/([a-zA-Z][a-zA-Z-]*)[.,:;!]?(?=\s|$)")
BREAKS: Final = frozenset({"softbreak", "hardbreak"})
SIMILAR: Final = 0.7


@dataclass(frozen=True, slots=True)
class Command:
    name: CommandName


@dataclass(frozen=True, slots=True)
class CommandError:
    """Looks like a command of ours, and is none: `nearest` is what may have been meant."""

    found: str
    nearest: CommandName


def parse_command(markdown: str) -> Command | CommandError | None:
    """The first command of a comment; without one, the first that was misspelt. Case does not matter."""
    text = markdown[:LONGEST].replace("\r\n", "\n").replace("\r", "\n")
    if not MAYBE.search(text):
        return None
    read = [said for line in command_lines(text) if (said := _understand(line))]
    return next((said for said in read if isinstance(said, Command)), next(iter(read), None))


def command_lines(text: str) -> Iterator[str]:
    """The lines that begin with a slash, as a reader of the rendered comment sees them."""
    tokens = _parser().parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type == "paragraph_open" and opening.level == 0:
            yield from _slashed(inline.children or ())


def _slashed(children: Sequence[Token]) -> Iterator[str]:
    line: list[Token] = []
    for token in (*children, Token("softbreak", "br", 0)):
        if token.type not in BREAKS:
            line.append(token)
            continue
        if line and line[0].type == "text" and line[0].content.startswith("/"):
            yield "".join(part.content for part in line)
        line = []


def _understand(line: str) -> Command | CommandError | None:
    word = WORD.match(line)
    if word is None:
        return None
    name = word[1].lower()
    if name in set(CommandName):
        return Command(CommandName(name))
    nearest = get_close_matches(name, [known.value for known in CommandName], n=1, cutoff=SIMILAR)
    return CommandError(word[1], CommandName(nearest[0])) if nearest else None


@cache
def _parser() -> MarkdownIt:
    """GitHub's blocks. Escapes stay tokens of their own, so that an escaped slash is seen as one."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
