"""A dossier as the signals look at it: each changed file parsed once, when the first signal asks.

An unknown text is None, a part of one is marked as a fragment.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, wraps
from itertools import chain, groupby, islice
from typing import Final, NamedTuple, Self, TypeVar, cast

from tree_sitter import Node

from worker.domain.dossier import Dossier
from worker.domain.pattern import can_match, pattern
from worker.dossier.diff import ChangeKind, DiffError, DiffLine, FileDiff, LineKind, base_text, diff_of
from worker.dossier.issues import is_declared_revert
from worker.signals.analysis import file_roles, syntax
from worker.signals.analysis.file_roles import FileRole, Language
from worker.signals.analysis.syntax import build_hunk_source

_LARGEST: Final = 1_000_000
"""Characters of one text. Of a larger file the hunks are parsed."""
_MOST_WHOLE: Final = 1_500_000
"""Characters of whole files that one judging parses. Of the files beyond the hunks are parsed."""
_MOST_SHOWN: Final = 500_000
"""Bytes of hunks up to which one judging parses all of them: a second's work."""
_MOST_SHOWN_IF_LARGE: Final = 200_000
"""Bytes of hunks that one judging parses of more. With an unparsed file nothing is a fact or safe."""
_DEEPEST: Final = 150
"""Brackets in brackets: finding a node's parent takes as long as the tree is deep."""

T = TypeVar("T")
M = TypeVar("M", bound="Memoized")


class Memoized:
    """A value that keeps what signals compute from it."""

    @cached_property
    def _cache(self) -> dict[object, object]:
        return {}

    def cache(self, compute: Callable[[Self], T]) -> T:
        """What *compute* returns for this, computed at its first use."""
        if compute not in self._cache:
            self._cache[compute] = compute(self)
        return cast("T", self._cache[compute])


def memoized(compute: Callable[[M], T]) -> Callable[[M], T]:
    """Compute a function of a change, a file or a source once for each."""

    @wraps(compute)
    def ask(subject: M) -> T:
        return subject.cache(compute)

    return ask


@dataclass(frozen=True)
class Source(Memoized):
    """The whole text of a file on one side, or what one hunk shows of it."""

    text: str
    first_line: int
    is_whole: bool
    language: Language
    is_of_macro: bool = False
    """A macro decides what its lines mean."""

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def has_line(self, line: int) -> bool:
        return self.first_line <= line < self.first_line + len(self.lines)

    def text_at(self, line: int) -> str:
        return self.lines[line - self.first_line]

    def line_of(self, node: Node) -> int:
        return node.start_point.row + self.first_line

    def node_at(self, line: int) -> Node | None:
        """The innermost node at the first character of this line."""
        row, text = line - self.first_line, self.text_at(line)
        column = len(text) - len(text.lstrip())
        return self.root.descendant_for_point_range((row, column), (row, column + 1))

    @cached_property
    def root(self) -> Node:
        return syntax.parse(self.text, self.language)

    @cached_property
    def nodes(self) -> syntax.NodeIndex:
        return syntax.NodeIndex(self.root, self.language)


class EditBlock(NamedTuple):
    """Lines that were changed together, without a break."""

    removed: tuple[DiffLine, ...]
    added: tuple[DiffLine, ...]


class ParseDepth(Enum):
    """How much of a file's code is parsed."""

    WHOLE = "whole"
    HUNKS = "hunks"
    NOTHING = "nothing"


class AnalyzedFile(Memoized):
    """One file of the diff, with its text at head where the dossier has it."""

    def __init__(self, diff: FileDiff, text: str | None, depth: ParseDepth = ParseDepth.WHOLE) -> None:
        self.diff = diff
        self.depth = depth
        self.path = diff.path
        self.language = file_roles.language_of(diff.path)
        self._text = text

    @cached_property
    def role(self) -> FileRole:
        role = file_roles.role_of(self.path)
        text = self.head_text or "\n".join(line.text for line in islice(self.diff.lines(), file_roles.SIGNED_LINES))
        return FileRole.FOREIGN if role is FileRole.PRODUCTION and file_roles.is_signed_by_generator(text) else role

    @cached_property
    def head_text(self) -> str | None:
        """The whole text after the change, where it is known; that of a new file is in its diff."""
        if self.diff.change is ChangeKind.DELETED or self.diff.is_binary:
            return None
        if self._text is not None:
            return self._text
        return self.diff.hunks[0].head_text if self.diff.change is ChangeKind.ADDED and self.diff.hunks else None

    @property
    def visible_text(self) -> str:
        """The text after the change: the whole, or what the hunks show of it."""
        return self.diff.head_side if self.head_text is None else self.head_text

    @cached_property
    def base_text(self) -> str | None:
        """The whole text before the change, where it follows from the text after it."""
        if self.head_text is None:
            return None
        with suppress(DiffError):
            return base_text(self.head_text, self.diff)
        return None

    @cached_property
    def added_lines(self) -> frozenset[int]:
        return frozenset(line.head_line for line in self.diff.added_lines if line.head_line is not None)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """What can be parsed of the head version: the whole file if it is known, else each hunk."""
        shown = ((hunk, hunk.head_start) for hunk in self.diff.hunks if hunk.head_count)
        pieces = ((tuple(line for line in hunk.lines if line.head_line is not None), first) for hunk, first in shown)
        return self.parse_sources(self.head_text, pieces)

    def parse_sources(
        self, whole: str | None, pieces: Iterable[tuple[tuple[DiffLine, ...], int]]
    ) -> tuple[Source, ...]:
        """What can be parsed of one side: the *whole* of it, else each piece with the number of its first line."""
        language = self.language
        if language is None or not self.has_code:
            return ()
        if whole is not None and self.depth is ParseDepth.WHOLE and is_parsable(whole):
            return (Source(whole, 1, is_whole=True, language=language),)
        texts = ((build_hunk_source(lines, language), first) for lines, first in pieces)
        return tuple(
            Source(text, first, is_whole=False, language=language) for text, first in texts if is_parsable(text)
        )

    def source_at(self, line: int) -> Source | None:
        """What can be parsed around this line of the head version."""
        return next((source for source in self.sources if source.has_line(line)), None)

    @property
    def is_test(self) -> bool:
        """Whether its path is that of tests."""
        return file_roles.role_of(self.path) is FileRole.TEST

    @cached_property
    def edit_blocks(self) -> tuple[EditBlock, ...]:
        runs = (groupby(hunk.lines, key=lambda line: line.kind is LineKind.CONTEXT) for hunk in self.diff.hunks)
        blocks = (tuple(lines) for is_context, lines in chain.from_iterable(runs) if not is_context)
        return tuple(
            EditBlock(
                tuple(line for line in block if line.kind is LineKind.REMOVED),
                tuple(line for line in block if line.kind is LineKind.ADDED),
            )
            for block in blocks
        )

    @property
    def has_code(self) -> bool:
        """Whether some of its lines are parsed as a program."""
        return not (self.diff.is_symlink or self.diff.is_submodule or self.depth is ParseDepth.NOTHING)

    def can_match(self, *patterns: re.Pattern[str]) -> bool:
        """False where no line that the diff shows can match one of them."""
        texts = (text for hunk in self.diff.hunks for text in hunk.passages())
        return any(can_match(form, text) for text in texts for form in patterns)

    def is_quoted(self, line: int) -> bool:
        """Whether this line of the head version begins in a string or a comment."""
        source = self.source_at(line)
        return source is not None and syntax.is_in_text(source.node_at(line))


_BRACKETS: Final = pattern(r"[(\[{)\]}]")


def is_parsable(text: str) -> bool:
    """Whether it is within the limits of size and depth."""
    if len(text) > _LARGEST:
        return False
    if sum(map(text.count, "([{")) <= _DEEPEST:
        return True
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    return deepest <= _DEEPEST


class CodeChange(Memoized):
    """The dossier's diff, file by file. Raises DiffError for a diff that git did not print."""

    def __init__(self, dossier: Dossier) -> None:
        self.dossier = dossier
        texts = {file.path: file.text for file in dossier.files or () if file.text is not None}
        files = diff_of(dossier.diff).files
        depths = _choose_depths(files, texts)
        self.files = tuple(
            AnalyzedFile(file, texts.get(file.path), depth) for file, depth in zip(files, depths, strict=True)
        )
        self.texts = texts
        self._passing: dict[object, object] = {}

    def cached_for_family(self, compute: Callable[[Self], T]) -> T:
        """As `cache`, for large values that one family of signals asks for: `clear_family` drops them."""
        if compute not in self._passing:
            self._passing[compute] = compute(self)
        return cast("T", self._passing[compute])

    def clear_family(self) -> None:
        """Drop what only the family of signals that has run asked for."""
        self._passing.clear()

    @cached_property
    def unparsed_count(self) -> int:
        """Count the files of code that exceed the limits of one judging."""
        return sum(file.depth is ParseDepth.NOTHING for file in self.files)

    def production_files(self) -> Iterator[AnalyzedFile]:
        return (file for file in self.files if file.language is not None and file.role is FileRole.PRODUCTION)

    @cached_property
    def removed_texts(self) -> frozenset[str]:
        """Every removed line of the diff, moved ones included, without its indentation."""
        return frozenset(text.strip() for file in self.files for text in file.diff.removed_texts)

    @property
    def added_texts(self) -> frozenset[str]:
        """Every added line of the diff, without its indentation."""
        return _find_added_texts(self)

    @cached_property
    def extended_classes(self) -> frozenset[str]:
        """Names of classes that some text of the dossier extends."""
        added = (text for file in self.files for text in file.diff.added_texts)
        matches = (match for text in chain(self.texts.values(), added) for match in _EXTENDS.finditer(text))
        return frozenset(word for match in matches for word in _WORD.findall(" ".join(filter(None, match.groups()))))


def memoized_for_family(compute: Callable[[CodeChange], T]) -> Callable[[CodeChange], T]:
    """Compute a function of a change once for each family of signals."""

    @wraps(compute)
    def ask(change: CodeChange) -> T:
        return change.cached_for_family(compute)

    return ask


@memoized_for_family
def _find_added_texts(change: CodeChange) -> frozenset[str]:
    return frozenset(text.strip() for file in change.files for text in file.diff.added_texts)


def _choose_depths(files: tuple[FileDiff, ...], texts: Mapping[str, str]) -> list[ParseDepth]:
    """How much of each file is parsed within the limits of one judging, examples and foreign code last."""
    roles = [file_roles.role_of(file.path) if file_roles.language_of(file.path) else None for file in files]
    sizes = [
        sum(hunk.end - hunk.start for hunk in file.hunks) if role else 0
        for file, role in zip(files, roles, strict=True)
    ]
    whole, shown = _MOST_WHOLE, _MOST_SHOWN if sum(sizes) <= _MOST_SHOWN else _MOST_SHOWN_IF_LARGE
    depths = [ParseDepth.WHOLE] * len(files)
    code = (number for number, role in enumerate(roles) if role)
    for number in sorted(code, key=lambda number: roles[number] in {FileRole.EXAMPLE, FileRole.FOREIGN}):
        text = len(texts.get(files[number].path, ""))
        if sizes[number] > shown:
            depths[number] = ParseDepth.NOTHING
            continue
        shown -= sizes[number]
        if text > whole:
            depths[number] = ParseDepth.HUNKS
        else:
            whole -= text
    return depths


_WORD: Final = pattern(r"\w+")
_EXTENDS: Final = pattern(
    r"\bclass\s+\w+\s*<\s*([A-Z][\w:]{1,200})|\bclass\s+\w+(?:<[^<>\n]{0,80}>)?(?:\([^()\n]{0,300}\))? ?: ?([A-Z][\w.]{1,200})"
    r"|\bclass\s+\w+\s*\(([^)]{0,300})\)|\bextends\s+([\w.]{1,200})|\bnew\s+([\w.]{1,200})\([^;{}\n]{0,300}\)\s*\{",
    needs=("class", "extends", "new"),
)


def is_revert(change: CodeChange) -> bool:
    """Whether the change declares to revert something, or is the exact inverse of an earlier commit."""
    return change.dossier.reverts is not None or _is_declared(change)


def is_certain_revert(change: CodeChange) -> bool:
    """Whether the change declares to be a revert and is one: its tests are those of before."""
    return change.dossier.reverts is not None and _is_declared(change)


def _is_declared(change: CodeChange) -> bool:
    pull = change.dossier.pull_request
    return is_declared_revert(pull.title, pull.body, [commit.message for commit in pull.commits])
