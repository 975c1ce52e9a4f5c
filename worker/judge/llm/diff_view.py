"""The change as the model reads it: pieces by urgency, as many as fit, the lines around them, and the list of all files.

Every changed path is read, partly read or unread, never two of these. Work is linear in the change.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby, islice
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from worker.domain.dossier import Dossier, UnreadReason
from worker.domain.pattern import pattern
from worker.dossier.diff import ChangeKind, Diff, DiffLine, FileDiff, Hunk, LineKind, text_lines
from worker.judge.checks.coverage import is_fully_described
from worker.judge.llm.sanitize import (
    STRETCHES_CUT,
    Stretch,
    describe_file,
    render_stretches,
    shown_path,
    size_of_hunk,
    stretch_of,
)
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.file_roles import SIGNED_LINES, FileRole, is_signed_by_generator, role_of
from worker.signals.analysis.functions import Function, find_functions

PIECE_BYTES: Final = 8_000
"""A larger hunk is split, so that as much of it as fits is shown."""


@dataclass(frozen=True)
class Piece:
    """A hunk or part of one, shown whole or not at all. `size`: the most bytes that it takes."""

    hunk: Hunk
    size: int


def pieces_of(hunks: tuple[Hunk, ...], most: int) -> tuple[tuple[Piece, ...], bool]:
    """The first pieces, up to *most* bytes, and whether they are all: each line once, in order."""
    pieces: list[Piece] = []
    for part in (part for hunk in hunks for part in _split_hunk(hunk)):
        piece = Piece(part, size_of_hunk(part))
        most -= piece.size
        if most < 0:
            return tuple(pieces), False
        pieces.append(piece)
    return tuple(pieces), True


def _split_hunk(hunk: Hunk) -> Iterator[Hunk]:
    """Split a hunk between lines into parts of about `PIECE_BYTES`; a single line is never cut."""
    whole = hunk.body
    if len(whole) <= PIECE_BYTES:
        yield hunk
        return
    base, head, start = _first_line(hunk.base_start, hunk.base_count), _first_line(hunk.head_start, hunk.head_count), 0
    while start < len(whole):
        # the line that the limit falls into, and its "no newline" note
        end = whole.find(b"\n", start + PIECE_BYTES) + 1 or len(whole)
        while whole.startswith(b"\\", end):
            end = whole.find(b"\n", end) + 1 or len(whole)
        body = whole[start:end]
        lines, added, removed = (_count(body, mark) for mark in (b"", b"+", b"-"))
        lines -= _count(body, b"\\")
        yield hunk._replace(
            base_start=base,
            base_count=lines - added,
            head_start=head,
            head_count=lines - removed,
            start=hunk.start + start,
            end=hunk.start + end,
        )
        base, head, start = base + lines - added, head + lines - removed, end


def _first_line(start: int, count: int) -> int:
    """The first line on a side; git names the line before where a side has none."""
    return start if count else start + 1


def _count(body: bytes, mark: bytes) -> int:
    """How many lines begin with *mark*."""
    return body.startswith(mark) + body.count(b"\n" + mark) - (not mark)


_NODE: Final = ("package.json", "pnpm-workspace.yaml")
_MANIFESTS: Final = {
    "package-lock.json": _NODE,
    "npm-shrinkwrap.json": _NODE,
    "yarn.lock": _NODE,
    "pnpm-lock.yaml": _NODE,
    "bun.lock": _NODE,
    "Cargo.lock": ("Cargo.toml",),
    "go.sum": ("go.mod", "go.work"),
    "poetry.lock": ("pyproject.toml",),
    "uv.lock": ("pyproject.toml",),
    "pdm.lock": ("pyproject.toml",),
    "Pipfile.lock": ("Pipfile",),
    "Gemfile.lock": ("Gemfile",),
    "composer.lock": ("composer.json",),
    "gradle.lockfile": ("build.gradle", "build.gradle.kts"),
    "Package.resolved": ("Package.swift",),
    "mix.lock": ("mix.exs",),
    "Podfile.lock": ("Podfile",),
    "deno.lock": ("deno.json", "deno.jsonc"),
}
"""Which manifests each lock file follows."""

_GENERATED_NAME: Final = pattern(
    r"^(.+?)(?:\.pb\.\w+|_pb2(?:_grpc)?\.pyi?|\.min\.\w+|[._](?:generated|gen)\.\w+|\.g\.\w+)$"
)
_HOST: Final = pattern(rb"\n\+[^\n]*?https?://([\w.-]{1,100})")
MOST_HOSTS: Final = 5


def summarize_generated(file: FileDiff, paths: Collection[str]) -> str | None:
    """One line in place of a file that a tool wrote; None where it has to be shown. *paths*: all that changed.

    A lock file needs a changed manifest that it follows, in its folder or below. Generated code needs its generator's signature
    and its changed source, of the same name in another format. Manifest and source are read, so the file counts as read. A
    folder's name (`dist`, `vendor`) proves nothing: code there may be anybody's.
    """
    if file.change is ChangeKind.DELETED or file.is_binary or file.is_symlink or not file.hunks:
        return None
    reason = _manifest_of(file.path, paths) or _source_of(file, paths)
    if reason is None:
        return None
    # in a lock file, an unusual host matters
    hosts = dict.fromkeys(host for hunk in file.hunks for host in _HOST.findall(b"\n" + hunk.body))
    named = [shown_path(host.decode("utf-8", "replace")) for host in islice(hosts, MOST_HOSTS)]
    named += ["and more"] if len(hosts) > MOST_HOSTS else []
    loaded = f"; its added lines load from {', '.join(named)}" if named else ""
    return f'summarised: written by a tool, it follows "{shown_path(reason)}"{loaded}'


def _manifest_of(path: str, paths: Collection[str]) -> str | None:
    lock = PurePosixPath(path)
    names = _MANIFESTS.get(lock.name, ())
    manifests = (path for path in paths if path.rpartition("/")[2] in names)
    return min((path for path in manifests if PurePosixPath(path).is_relative_to(lock.parent)), default=None)


def _source_of(file: FileDiff, paths: Collection[str]) -> str | None:
    """The changed file that this one is generated from; None unless its first lines carry a generator's signature."""
    named = _GENERATED_NAME.match(file.path.rpartition("/")[2])
    hunk = file.hunks[0]
    start = hunk.body[:4_000].decode("utf-8", "replace").split("\n")[:SIGNED_LINES]
    if named is None or hunk.head_start > 1 or not is_signed_by_generator("\n".join(start)):
        return None
    others = ((path, path.rpartition("/")[2]) for path in paths if path != file.path)
    alike = (path for path, name in others if name.partition(".")[0] == named[1] and not _GENERATED_NAME.match(name))
    return min(alike, default=None)


FENCE_BYTES: Final = 60
"""Bytes of a fence around a text, without its label."""

NOTE_BYTES: Final = 80
"""Bytes of the note that a file is shown in part."""

_DATA: Final = pattern(
    r"(?:\.(?:md|mdx|rst|txt|adoc|json|ya?ml|toml|cfg|ini|csv|tsv|svg|xml|snap|lock|sum|html?|ipynb|po)|(?:^|[./-])lock(?:\.\w+)?)$",
    re.IGNORECASE,
)


class FileRank(IntEnum):
    """The order of files: first the tests that CI ran and files with a suspicion."""

    TESTS_AND_SUSPECTS = 0
    CODE = 1
    DATA = 2
    FOREIGN = 3


@dataclass(frozen=True)
class FileView:
    """One file of a diff. `position`: its index there; `is_complete`: `pieces` are its whole change; `summary`: a line in its place."""

    position: int
    file: FileDiff
    rank: FileRank
    pieces: tuple[Piece, ...]
    is_complete: bool = True
    summary: str | None = None

    @property
    def size(self) -> int:
        """Bytes of the whole file as it is shown."""
        return overhead_of(self.file.path) + sum(piece.size for piece in self.pieces)


def label_of(path: str) -> str:
    return f'diff of "{shown_path(path)}"'


def overhead_of(path: str) -> int:
    return len(label_of(path).encode()) + FENCE_BYTES


def file_views_of(diff: Diff, suspected: Collection[str], withheld: Collection[str], most: int) -> tuple[FileView, ...]:
    """Every file that can be shown or summed up, the most urgent first, with pieces of at most *most* bytes each."""
    paths = frozenset(file.path for file in diff.files)
    views: list[FileView] = []
    for position, file in enumerate(diff.files):
        if file.path in withheld or not file.hunks:
            continue
        is_suspect = file.path in suspected
        summary = None if is_suspect else summarize_generated(file, paths)
        pieces, is_all = ((), True) if summary else pieces_of(file.hunks, most)
        rank = FileRank.TESTS_AND_SUSPECTS if is_suspect else rank_of(file.path)
        views.append(FileView(position, file, rank, pieces, is_all, summary))
    return tuple(
        sorted(views, key=lambda view: (view.rank, not view.is_complete, view.size, view.file.path, view.position))
    )


def rank_of(path: str) -> FileRank:
    role = role_of(path)
    if role is FileRole.FOREIGN:
        return FileRank.FOREIGN
    if _DATA.search(path):
        return FileRank.DATA
    return FileRank.TESTS_AND_SUSPECTS if role is FileRole.TEST else FileRank.CODE


@dataclass(frozen=True)
class FileSelection:
    """`shown_pieces`: how many of its first pieces are shown of each file, by its position. `size`: their bytes."""

    shown_pieces: Mapping[int, int]
    size: int


def select_pieces(views: Iterable[FileView], budget: int) -> FileSelection:
    """Fill *budget* bytes rank by rank: whole files first, then the first pieces of what does not fit whole."""
    shown: dict[int, int] = {}
    left = budget
    for _, same in groupby(views, key=lambda view: view.rank):
        large: list[FileView] = []
        for view in same:
            if view.is_complete and view.size <= left:
                shown[view.position] = len(view.pieces)
                left -= view.size if view.pieces else 0
            else:
                large.append(view)
        for view in large:
            size, count = overhead_of(view.file.path) + NOTE_BYTES, 0
            for piece in view.pieces:
                if size + piece.size > left:
                    break
                size, count = size + piece.size, count + 1
            if count:
                shown[view.position] = count
                left -= size
    return FileSelection(shown, budget - left)


def is_shown(view: FileView, choice: FileSelection) -> bool:
    """Whether *choice* shows all of a file."""
    return view.is_complete and choice.shown_pieces.get(view.position, 0) == len(view.pieces)


SHOWN_STATE, PARTIAL_STATE, UNREAD_STATE = "shown", "shown in part", "not read"
NOTHING_ELSE: Final = "nothing else to show"
LONGEST_STATE_TEXT: Final = f"{UNREAD_STATE}: its content is not text"
LONGEST_REASON: Final = 60
"""Why a file was kept back, and a line break."""

FILES_CUT: Final = "[cut here: {} more files are not listed]"


@dataclass(frozen=True)
class _ListingLine:
    path: str
    text: str
    is_complete: bool


def max_listing_bytes(diff: Diff, dossier: Dossier) -> int:
    """The most bytes that the list takes, whatever is shown beside it."""
    paths = frozenset(file.path for file in diff.files)
    descriptions = (describe_file(file, summarize_generated(file, paths) or LONGEST_STATE_TEXT) for file in diff.files)
    kept_back = (shown_path(file.path) for file in dossier.files_unread)
    return sum(len(text.encode()) + LONGEST_REASON for text in (*descriptions, *kept_back)) + 2 * len(FILES_CUT)


def list_changes(
    diff: Diff, dossier: Dossier, views: Iterable[FileView], choice: FileSelection, budget: int
) -> tuple[str, tuple[str, ...]]:
    """List all changed files in at most *budget* bytes, those shown nowhere else first, and name those whose line did not fit."""
    lines = sorted(_lines(diff, dossier, views, choice), key=lambda line: not line.is_complete)
    kept: list[str] = []
    hidden: list[str] = []
    left = budget - len(FILES_CUT) - 8
    for number, line in enumerate(lines):
        left -= len(line.text.encode()) + 1
        if left < 0:
            hidden += [line.path for line in lines[number:] if line.is_complete]
            kept.append(FILES_CUT.format(len(lines) - number))
            break
        kept.append(line.text)
    return "\n".join(kept), tuple(hidden)


def _lines(diff: Diff, dossier: Dossier, views: Iterable[FileView], choice: FileSelection) -> Iterator[_ListingLine]:
    view_by_position = {view.position: view for view in views}
    reasons = {file.path: file.reason for file in dossier.files_unread}
    for position, file in enumerate(diff.files):
        view, reason = view_by_position.get(position), reasons.get(file.path)
        state = UNREAD_STATE if reason is UnreadReason.NEVER_SEND else _state(file, dossier, view, choice)
        tells_all = view is None or view.summary is not None
        why = f" (whole text not read: {reason.replace('_', ' ')})" if reason else ""
        yield _ListingLine(file.path, describe_file(file, state) + why, tells_all)
    changed = {file.path for file in diff.files}
    for path, reason in reasons.items():
        if path not in changed:
            text = f'"{shown_path(path)}": {UNREAD_STATE} ({reason.replace("_", " ")})'
            yield _ListingLine(path, text, is_complete=False)


def _state(file: FileDiff, dossier: Dossier, view: FileView | None, choice: FileSelection) -> str:
    if view is None:
        return NOTHING_ELSE if is_fully_described(file, dossier) else LONGEST_STATE_TEXT
    if view.summary is not None:
        return view.summary
    if is_shown(view, choice):
        return SHOWN_STATE
    return PARTIAL_STATE if view.position in choice.shown_pieces else UNREAD_STATE


FUNCTION_LINES: Final = 60
"""A longer function is shown by its first line."""

MOST_HUNKS: Final = 60
MOST_FUNCTIONS: Final = 3_000
"""A file with more functions or hunks is shown without the functions around its hunks."""

MOST_CHARACTERS: Final = 400_000


class FunctionSpan(NamedTuple):
    """A function: its first line, decorators included, its last line, and the line of its name."""

    first_line: int
    last_line: int
    name_line: int

    @classmethod
    def from_function(cls, function: Function) -> "FunctionSpan":
        outer = function.node.parent
        is_decorated = outer is not None and outer.type == "decorated_definition"
        first = function.line_of(outer if outer is not None and is_decorated else function.node)
        return cls(first, function.last_line, function.first_line)


def whole_file(file: AnalyzedFile) -> tuple[Stretch, ...] | None:
    """The change within all other lines of its file; None where they are unknown."""
    lines = _other_lines(file)
    if not lines:
        return None
    return tuple(_cut_stretches(file.diff.hunks, [(1, len(lines))], lines))


def with_functions(file: AnalyzedFile) -> tuple[Stretch, ...] | None:
    """Each hunk with the function around it; None where that adds nothing or is unknown."""
    lines = _other_lines(file)
    if not lines or len(file.diff.hunks) > MOST_HUNKS:
        return None
    functions = (function for source in file.sources if source.is_whole for function in find_functions(source))
    spans = sorted(map(FunctionSpan.from_function, functions))
    if not spans or len(spans) > MOST_FUNCTIONS:
        return None
    ranges = [line_range for hunk in file.diff.hunks for line_range in _ranges_around(hunk, spans, lines)]
    return tuple(_cut_stretches(file.diff.hunks, _merge_ranges(ranges), lines))


def _other_lines(file: AnalyzedFile) -> list[str] | None:
    """The lines at head where the diff leaves any out and fits them; else None."""
    if file.diff.change is ChangeKind.ADDED or not file.diff.hunks or file.head_text is None:
        return None
    if len(file.head_text) > MOST_CHARACTERS:
        return None
    lines = text_lines(file.head_text)
    return lines if all(_fits(hunk, lines) for hunk in file.diff.hunks) else None


def _fits(hunk: Hunk, lines: Sequence[str]) -> bool:
    """Whether the hunk's lines are those of the file. A secret may be redacted in one of the two only."""
    for line in hunk.lines:
        if line.head_line is not None:
            here = lines[line.head_line - 1] if line.head_line <= len(lines) else None
            if here is None or (line.text != here and "[redacted: " not in f"{line.text}\n{here}"):
                return False
    return True


Range = tuple[int, int]


def _ranges_around(hunk: Hunk, spans: Sequence[FunctionSpan], lines: Sequence[str]) -> Iterator[Range]:
    """The lines of a hunk and of the functions around its change; of a long function, its first line."""
    low, high = hunk.head_start, hunk.head_start + hunk.head_count - 1
    if not hunk.head_count:  # it leaves no line: the two around it
        low, high = max(1, hunk.head_start), min(hunk.head_start + 1, len(lines))
    heading = hunk.section.strip()  # the function's first line, as far as git shows it
    for number in _ends_of_change(hunk):
        inside = [span for span in spans[: bisect_right(spans, (number, _NO_LIMIT))] if span.last_line >= number]
        small = [span for span in inside if span.last_line - span.first_line < FUNCTION_LINES]
        if small:
            low, high = min(low, small[0].first_line), max(high, small[0].last_line)
        elif inside and not (heading and lines[inside[-1].name_line - 1].strip().startswith(heading)):
            yield inside[-1].name_line, inside[-1].name_line
    yield max(1, low), min(high, len(lines))


_NO_LIMIT: Final = 1 << 62


def _ends_of_change(hunk: Hunk) -> Range:
    """The first and the last changed line, counted at head."""
    at = hunk.head_start if hunk.head_count else hunk.head_start + 1
    places: list[int] = []
    for line in hunk.lines:
        if line.kind is not LineKind.CONTEXT:
            places.append(at)
        at += line.kind is not LineKind.REMOVED
    return min(places, default=at), max(places, default=at)


def _merge_ranges(ranges: Iterable[Range]) -> list[Range]:
    """Join ranges that touch."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _cut_stretches(hunks: Sequence[Hunk], ranges: Iterable[Range], lines: Sequence[str]) -> Iterator[Stretch]:
    """The file's lines in each range with the hunks in place. Each hunk lies in one range."""
    left = list(reversed(hunks))
    shift = 0
    for low, high in ranges:
        rows: list[DiffLine] = []
        at = low
        section = left[-1].section if left and low == left[-1].head_start else ""
        while left and _line_before(left[-1]) < high + (not left[-1].head_count):
            hunk = left.pop()
            rows += _unchanged_lines(at, _line_before(hunk) + 1, shift, lines)
            rows += hunk.lines
            at = _line_before(hunk) + hunk.head_count + 1
            shift += hunk.base_count - hunk.head_count
        rows += _unchanged_lines(at, high + 1, shift, lines)
        yield Stretch(section, tuple(rows))


def _line_before(hunk: Hunk) -> int:
    """The last line at head before the hunk."""
    return hunk.head_start - 1 if hunk.head_count else hunk.head_start


def _unchanged_lines(first: int, end: int, shift: int, lines: Sequence[str]) -> Iterator[DiffLine]:
    return (DiffLine(LineKind.CONTEXT, lines[at - 1], at + shift, at) for at in range(first, end))


WHOLE_FILE_LABEL: Final = " in the whole file"
WHOLE_TEST_BYTES: Final = 12_000
"""A longer test file is shown by the functions around its hunks."""

CONTEXT_BYTES: Final = 16_000
"""The most bytes of unchanged lines in one question."""


@dataclass(frozen=True)
class RenderedFile:
    """One file as it is shown. `label`: our words, with an escaped path."""

    label: str
    text: str
    is_test: bool


def render_files(
    views: Sequence[FileView], choice: FileSelection, files: Sequence[AnalyzedFile], budget: int
) -> tuple[RenderedFile, ...]:
    """The chosen files by path. What *choice* left of *budget* bytes goes to the lines around the change."""
    slack = min(CONTEXT_BYTES, budget - choice.size)
    texts: list[tuple[str, int, RenderedFile]] = []
    for view in views:
        if view.position not in choice.shown_pieces or not view.pieces:
            continue
        text, spent = _render_file(view, choice, files[view.position], slack)
        slack -= spent
        texts.append((view.file.path, view.position, text))
    return tuple(text for *_, text in sorted(texts, key=lambda entry: entry[:2]))


def _render_file(view: FileView, choice: FileSelection, file: AnalyzedFile, slack: int) -> tuple[RenderedFile, int]:
    """The file as it is shown, and the bytes of its unchanged lines. A file that is cut says so."""
    shown = view.pieces[: choice.shown_pieces[view.position]]
    is_test = role_of(file.path) is FileRole.TEST and view.rank is FileRank.TESTS_AND_SUSPECTS
    label = label_of(file.path)
    plain = render_stretches(stretch_of(piece.hunk) for piece in shown)
    left_out = len(view.pieces) - len(shown)
    if not view.is_complete:
        return RenderedFile(label, f"{plain}\n[cut here: the rest of this file is not shown]", is_test), 0
    if left_out:
        return RenderedFile(label, f"{plain}\n{STRETCHES_CUT.format(left_out, len(view.pieces))}", is_test), 0
    for suffix, text in _with_surroundings(view, file, is_test=is_test):
        more = len(text.encode()) + len(suffix) - len(plain.encode())
        if more <= slack:
            return RenderedFile(label + suffix, text, is_test), more
    return RenderedFile(label, plain, is_test), 0


def _with_surroundings(view: FileView, file: AnalyzedFile, *, is_test: bool) -> Iterator[tuple[str, str]]:
    """The file with lines around the change, the fullest version first."""
    if view.rank in {FileRank.FOREIGN, FileRank.DATA}:
        return
    is_short = file.head_text is not None and len(file.head_text) <= WHOLE_TEST_BYTES
    if is_test and is_short and (whole := whole_file(file)) is not None:
        yield WHOLE_FILE_LABEL, render_stretches(whole)
    if (around := with_functions(file)) is not None:
        yield "", render_stretches(around)
