"""The change as the model reads it: pieces by urgency, as many as fit, the lines around them, and the list of all files.

Every changed path is read, partly read or unread, never two of these. Work is linear in the change.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import groupby, islice
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from worker.domain.dossier.dossier import Dossier, UnreadReason
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.dossier.diff.parser import ChangeKind, Diff, DiffLine, FileDiff, Hunk, LineKind, text_lines
from worker.judge.checks.coverage import is_fully_described
from worker.judge.llm.fencing import shown_path
from worker.judge.llm.line_numbers import (
    STRETCHES_CUT,
    Stretch,
    describe_file,
    render_stretches,
    size_of_hunk,
    stretch_of,
)
from worker.signals.analysis.change import AnalyzedFile, Source
from worker.signals.analysis.file_roles import SIGNED_LINES, FileRole, is_signed_by_generator, role_of
from worker.signals.analysis.functions import Function, find_functions

PIECE_BYTES: Final = 8_000
"""A larger hunk is taken apart: what does not fit whole is still shown as far as it fits."""


class Piece(Value):
    """`size`: the most bytes that it takes when it is shown."""

    hunk: Hunk
    size: int


def pieces_of(hunks: tuple[Hunk, ...], most: int) -> tuple[tuple[Piece, ...], bool]:
    """The pieces up to *most* bytes, and whether they are all that there are."""
    pieces: list[Piece] = []
    for part in (part for hunk in hunks for part in _split_hunk(hunk)):
        piece = Piece(part, size_of_hunk(part))
        most -= piece.size
        if most < 0:
            return tuple(pieces), False
        pieces.append(piece)
    return tuple(pieces), True


def _split_hunk(hunk: Hunk) -> Iterator[Hunk]:
    """The hunk in parts of about so many bytes, cut between lines; a line alone is never cut."""
    whole = hunk.body
    if len(whole) <= PIECE_BYTES:
        yield hunk
        return
    base, head, start = _first_line(hunk.base_start, hunk.base_count), _first_line(hunk.head_start, hunk.head_count), 0
    while start < len(whole):
        end = _cut(whole, start)
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
    """The first line on a side; a side without lines names the line before."""
    return start if count else start + 1


def _count(body: bytes, mark: bytes) -> int:
    """How many lines begin so."""
    return body.startswith(mark) + body.count(b"\n" + mark) - (not mark)


def _cut(body: bytes, start: int) -> int:
    """Where the line ends that the limit falls into, with the note that may belong to it."""
    end = body.find(b"\n", start + PIECE_BYTES) + 1 or len(body)
    while body.startswith(b"\\", end):
        end = body.find(b"\n", end) + 1 or len(body)
    return end


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
    """What is said of the file instead of showing it, *paths* being all that changed; None where it has to be shown."""
    if file.change is ChangeKind.DELETED or file.is_binary or file.is_symlink or not file.hunks:
        return None
    reason = _manifest_of(file.path, paths) or _source_of(file, paths)
    if reason is None:
        return None
    hosts = _hosts(file)
    loaded = f"; its added lines load from {hosts}" if hosts else ""
    return f'summarised: written by a tool, it follows "{shown_path(reason)}"{loaded}'


def _manifest_of(path: str, paths: Collection[str]) -> str | None:
    lock = PurePosixPath(path)
    names = _MANIFESTS.get(lock.name, ())
    manifests = (path for path in paths if path.rpartition("/")[2] in names)
    return min((path for path in manifests if PurePosixPath(path).is_relative_to(lock.parent)), default=None)


def _source_of(file: FileDiff, paths: Collection[str]) -> str | None:
    """A changed file of the same name, as that of a generator's input and its output is."""
    name = file.path.rpartition("/")[2]
    named = _GENERATED_NAME.match(name)
    if named is None or not _is_signed(file):
        return None
    alike = (path for path in paths if path != file.path and _stem(path) == named[1])
    return min((path for path in alike if _GENERATED_NAME.match(path.rpartition("/")[2]) is None), default=None)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _is_signed(file: FileDiff) -> bool:
    """Whether the first lines that the diff shows are a generator's. A hunk further down shows no signature."""
    hunk = file.hunks[0]
    start = hunk.body[:4_000].decode("utf-8", "replace").split("\n")[:SIGNED_LINES]
    return hunk.head_start <= 1 and is_signed_by_generator("\n".join(start))


def _hosts(file: FileDiff) -> str:
    """Where the added lines point to: a lock file that loads from elsewhere is no routine."""
    hosts = dict.fromkeys(host for hunk in file.hunks for host in _HOST.findall(b"\n" + hunk.body))
    named = [shown_path(host.decode("utf-8", "replace")) for host in islice(hosts, MOST_HOSTS)]
    return ", ".join([*named, *(["and more"] if len(hosts) > MOST_HOSTS else [])])


FENCE_BYTES: Final = 60
"""What a fence takes around a text, without its label."""

NOTE_BYTES: Final = 80
"""What it takes to say that a file is shown in part."""

_DATA: Final = pattern(
    r"(?:\.(?:md|mdx|rst|txt|adoc|json|ya?ml|toml|cfg|ini|csv|tsv|svg|xml|snap|lock|sum|html?|ipynb|po)|(?:^|[./-])lock(?:\.\w+)?)$",
    re.IGNORECASE,
)


class FileRank(IntEnum):
    """What is shown first. Tests are what the validators ran; a suspicion wants its place looked at."""

    TESTS_AND_SUSPECTS = 0
    CODE = 1
    DATA = 2
    FOREIGN = 3


class FileView(Value):
    """One file of a diff. `position`: where it stands there; `is_complete`: whether `pieces` are the whole change.

    `summary`: what is said instead of showing it.
    """

    position: int
    file: FileDiff
    rank: FileRank
    pieces: tuple[Piece, ...]
    is_complete: bool = True
    summary: str | None = None

    @property
    def size(self) -> int:
        """Bytes that it takes to show all of it."""
        return overhead_of(self.file.path) + sum(piece.size for piece in self.pieces)


def label_of(path: str) -> str:
    return f'diff of "{shown_path(path)}"'


def overhead_of(path: str) -> int:
    return len(label_of(path).encode()) + FENCE_BYTES


def file_views_of(diff: Diff, suspected: Collection[str], withheld: Collection[str], most: int) -> tuple[FileView, ...]:
    """Every file whose lines can be shown or summed up, the most urgent first; of none more than *most* bytes are looked at."""
    return tuple(sorted(_file_views(diff, suspected, withheld, most), key=_urgency))


def _file_views(diff: Diff, suspected: Collection[str], withheld: Collection[str], most: int) -> Iterator[FileView]:
    paths = frozenset(file.path for file in diff.files)
    for position, file in enumerate(diff.files):
        if file.path in withheld or not file.hunks:
            continue
        is_suspect = file.path in suspected
        summary = None if is_suspect else summarize_generated(file, paths)
        pieces, is_all = ((), True) if summary else pieces_of(file.hunks, most)
        yield FileView(
            position, file, FileRank.TESTS_AND_SUSPECTS if is_suspect else rank_of(file.path), pieces, is_all, summary
        )


def rank_of(path: str) -> FileRank:
    role = role_of(path)
    if role is FileRole.FOREIGN:
        return FileRank.FOREIGN
    if _DATA.search(path):
        return FileRank.DATA
    return FileRank.TESTS_AND_SUSPECTS if role is FileRole.TEST else FileRank.CODE


def _urgency(view: FileView) -> tuple[int, bool, int, str, int]:
    return view.rank, not view.is_complete, view.size, view.file.path, view.position


class FileSelection(Value):
    """`shown_pieces`: of each file, by its position in the diff, how many of its first pieces are shown. `size`: what they take."""

    shown_pieces: Mapping[int, int]
    size: int


def select_pieces(views: Iterable[FileView], budget: int) -> FileSelection:
    """Fill the *room*. The *sheets* come by urgency."""
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
            count, size = _count_fitting(view, left)
            if count:
                shown[view.position] = count
                left -= size
    return FileSelection(shown, budget - left)


def _count_fitting(view: FileView, budget: int) -> tuple[int, int]:
    """How many of the first pieces fit, and what they take."""
    size = overhead_of(view.file.path) + NOTE_BYTES
    count = 0
    for piece in view.pieces:
        if size + piece.size > budget:
            break
        size, count = size + piece.size, count + 1
    return count, size


def is_shown(view: FileView, choice: FileSelection) -> bool:
    """Whether the *choice* shows all of one file."""
    return view.is_complete and choice.shown_pieces.get(view.position, 0) == len(view.pieces)


SHOWN_STATE, PARTIAL_STATE, UNREAD_STATE = "shown", "shown in part", "not read"
NOTHING_ELSE: Final = "nothing else to show"
LONGEST_STATE_TEXT: Final = f"{UNREAD_STATE}: its content is not text"
LONGEST_REASON: Final = 60
"""Why a file was kept back, and a line break."""

FILES_CUT: Final = "[cut here: {} more files are not listed]"


class ListedChange(Value):
    """A change, and its files as they can be shown."""

    diff: Diff
    dossier: Dossier
    file_views: Sequence[FileView]


class ChangeListing(Value):
    """`hidden`: the files that only their line would have told of, and that found no room."""

    text: str
    hidden: tuple[str, ...]


class _ListingLine(Value):
    path: str
    text: str
    is_complete: bool


def max_listing_bytes(diff: Diff, dossier: Dossier) -> int:
    """What the list takes at most, whatever is shown beside it."""
    paths = frozenset(file.path for file in diff.files)
    descriptions = (describe_file(file, summarize_generated(file, paths) or LONGEST_STATE_TEXT) for file in diff.files)
    kept_back = (shown_path(file.path) for file in dossier.files_unread)
    return sum(len(text.encode()) + LONGEST_REASON for text in (*descriptions, *kept_back)) + 2 * len(FILES_CUT)


def list_changes(change: ListedChange, choice: FileSelection, budget: int) -> ChangeListing:
    """The list beside what was chosen. What is told nowhere else stands first."""
    lines = sorted(_lines(change, choice), key=lambda line: not line.is_complete)
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
    return ChangeListing("\n".join(kept), tuple(hidden))


def _lines(change: ListedChange, choice: FileSelection) -> Iterator[_ListingLine]:
    dossier, diff = change.dossier, change.diff
    views = {view.position: view for view in change.file_views}
    reasons = {file.path: file.reason for file in dossier.files_unread}
    for position, file in enumerate(diff.files):
        view, reason = views.get(position), reasons.get(file.path)
        state = UNREAD_STATE if reason is UnreadReason.NEVER_SEND else _state(file, dossier, view, choice)
        tells_all = view is None or view.summary is not None
        why = f" (whole text not read: {_shorten_reason(reason)})" if reason else ""
        yield _ListingLine(file.path, describe_file(file, state) + why, tells_all)
    changed = {file.path for file in diff.files}
    for path, reason in reasons.items():
        if path not in changed:
            yield _ListingLine(
                path, f'"{shown_path(path)}": {UNREAD_STATE} ({_shorten_reason(reason)})', is_complete=False
            )


def _shorten_reason(reason: UnreadReason) -> str:
    return reason.replace("_", " ")


def _state(file: FileDiff, dossier: Dossier, view: FileView | None, choice: FileSelection) -> str:
    if view is None:
        return NOTHING_ELSE if is_fully_described(file, dossier) else f"{UNREAD_STATE}: its content is not text"
    if view.summary is not None:
        return view.summary
    if is_shown(view, choice):
        return SHOWN_STATE
    return PARTIAL_STATE if view.position in choice.shown_pieces else UNREAD_STATE


FUNCTION_LINES: Final = 60
"""A longer function is shown by its first line."""

MOST_HUNKS: Final = 60
MOST_FUNCTIONS: Final = 3_000
"""A file of more is shown without its functions: whoever reads so many places reads them one by one."""

MOST_CHARACTERS: Final = 400_000


class FunctionSpan(NamedTuple):
    """A function: its first and last line, and the line of its name."""

    first_line: int
    last_line: int
    name_line: int


def whole_file(file: AnalyzedFile) -> tuple[Stretch, ...] | None:
    """The change inside of all other lines; None where they are not known."""
    lines = _other_lines(file)
    if not lines:
        return None
    return tuple(_cut_stretches(file.diff.hunks, [(1, len(lines))], lines))


def with_functions(file: AnalyzedFile) -> tuple[Stretch, ...] | None:
    """Each hunk with the function that it is in; None where that adds nothing, or nobody knows it."""
    lines = _other_lines(file)
    if not lines or len(file.diff.hunks) > MOST_HUNKS:
        return None
    spans = _spans(file.sources)
    if not spans or len(spans) > MOST_FUNCTIONS:
        return None
    ranges = [line_range for hunk in file.diff.hunks for line_range in _ranges_around(hunk, spans, lines)]
    return tuple(_cut_stretches(file.diff.hunks, _merge_ranges(ranges), lines))


def _other_lines(file: AnalyzedFile) -> list[str] | None:
    """The file at head, if the diff leaves any of it out and both are of the same file."""
    if file.diff.change is ChangeKind.ADDED or not file.diff.hunks or file.head_text is None:
        return None
    if len(file.head_text) > MOST_CHARACTERS:
        return None
    lines = text_lines(file.head_text)
    return lines if all(_fits(hunk, lines) for hunk in file.diff.hunks) else None


def _fits(hunk: Hunk, lines: Sequence[str]) -> bool:
    """Whether the hunk's lines stand in the file, but for secrets, which are found in one and may be missed in the other."""
    return all(
        line.head_line is None
        or (line.head_line <= len(lines) and _are_equal_but_for_secrets(line.text, lines[line.head_line - 1]))
        for line in hunk.lines
    )


def _are_equal_but_for_secrets(line: str, other: str) -> bool:
    return line == other or "[redacted: " in line or "[redacted: " in other


def _spans(sources: Iterable[Source]) -> list[FunctionSpan]:
    """By their first lines."""
    functions = (function for source in sources if source.is_whole for function in find_functions(source))
    return sorted(FunctionSpan(_start(function), function.last_line, function.first_line) for function in functions)


def _start(function: Function) -> int:
    """The first line, decorators included."""
    outer = function.node.parent
    is_decorated = outer is not None and outer.type == "decorated_definition"
    return function.line_of(outer if outer is not None and is_decorated else function.node)


Range = tuple[int, int]


def _ranges_around(hunk: Hunk, spans: Sequence[FunctionSpan], lines: Sequence[str]) -> Iterator[Range]:
    """The hunk's lines at head with those of the functions that its changes are in; of a long one, its first line."""
    low, high = _lines_of(hunk, len(lines))
    for number in _ends_of_change(hunk):
        inside = [span for span in spans[: bisect_right(spans, (number, _NO_LIMIT))] if span.last_line >= number]
        small = [span for span in inside if span.last_line - span.first_line < FUNCTION_LINES]
        if small:
            low, high = min(low, small[0].first_line), max(high, small[0].last_line)
        elif inside and not _is_named(hunk, lines[inside[-1].name_line - 1]):
            yield inside[-1].name_line, inside[-1].name_line
    yield max(1, low), min(high, len(lines))


_NO_LIMIT: Final = 1 << 62


def _is_named(hunk: Hunk, line: str) -> bool:
    """Whether git named the function in the hunk's heading already, as far as it shows it."""
    return bool(hunk.section.strip()) and line.strip().startswith(hunk.section.strip())


def _lines_of(hunk: Hunk, count: int) -> Range:
    """The hunk's lines at head; where it leaves none, those that it lay between."""
    if hunk.head_count:
        return hunk.head_start, hunk.head_start + hunk.head_count - 1
    return max(1, hunk.head_start), min(hunk.head_start + 1, count)


def _ends_of_change(hunk: Hunk) -> Range:
    """The lines at head where the change begins and ends, without the lines around it."""
    at = hunk.head_start if hunk.head_count else hunk.head_start + 1
    places: list[int] = []
    for line in hunk.lines:
        if line.kind is not LineKind.CONTEXT:
            places.append(at)
        at += line.kind is not LineKind.REMOVED
    return min(places, default=at), max(places, default=at)


def _merge_ranges(ranges: Iterable[Range]) -> list[Range]:
    """Ranges that touch become one."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _cut_stretches(hunks: Sequence[Hunk], ranges: Iterable[Range], lines: Sequence[str]) -> Iterator[Stretch]:
    """The file's lines in each range, with what the hunks changed among them. Each hunk lies in one of the ranges."""
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
    """The line at head right before the hunk."""
    return hunk.head_start - 1 if hunk.head_count else hunk.head_start


def _unchanged_lines(first: int, end: int, shift: int, lines: Sequence[str]) -> Iterator[DiffLine]:
    return (DiffLine(LineKind.CONTEXT, lines[at - 1], at + shift, at) for at in range(first, end))


WHOLE_FILE_LABEL: Final = " in the whole file"
WHOLE_TEST_BYTES: Final = 12_000
"""A longer test file is shown by the functions that the change touches."""

CONTEXT_BYTES: Final = 16_000
"""What is spent on unchanged lines in one question, at most."""


class RenderedFile(Value):
    """One file as it is shown. `label`: ours, and the path in it safe to show."""

    label: str
    text: str
    is_test: bool


def render_files(
    views: Sequence[FileView], choice: FileSelection, files: Sequence[AnalyzedFile], budget: int
) -> tuple[RenderedFile, ...]:
    """The chosen files by their paths. *room*: as in choosing; what the choice left of it goes to the lines around."""
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
    """How the file is shown, and what its unchanged lines take."""
    shown = view.pieces[: choice.shown_pieces[view.position]]
    is_test = role_of(file.path) is FileRole.TEST and view.rank is FileRank.TESTS_AND_SUSPECTS
    label = label_of(file.path)
    plain = render_stretches(stretch_of(piece.hunk) for piece in shown)
    left_out = len(view.pieces) - len(shown)
    if left_out or not view.is_complete:
        return RenderedFile(label, f"{plain}\n{_note(view, left_out)}", is_test), 0
    for suffix, text in _with_surroundings(view, file, is_test=is_test):
        more = len(text.encode()) + len(suffix) - len(plain.encode())
        if more <= slack:
            return RenderedFile(label + suffix, text, is_test), more
    return RenderedFile(label, plain, is_test), 0


def _note(view: FileView, left_out: int) -> str:
    if view.is_complete:
        return STRETCHES_CUT.format(left_out, len(view.pieces))
    return "[cut here: the rest of this file is not shown]"


def _with_surroundings(view: FileView, file: AnalyzedFile, *, is_test: bool) -> Iterator[tuple[str, str]]:
    """The file with what is around the change, the fullest first."""
    if view.rank is FileRank.FOREIGN or view.rank is FileRank.DATA:
        return
    if is_test and file.head_text is not None and len(file.head_text) <= WHOLE_TEST_BYTES:
        yield from _labelled(WHOLE_FILE_LABEL, whole_file(file))
    yield from _labelled("", with_functions(file))


def _labelled(suffix: str, stretches: Iterable[Stretch] | None) -> Iterator[tuple[str, str]]:
    if stretches is not None:
        yield suffix, render_stretches(stretches)
