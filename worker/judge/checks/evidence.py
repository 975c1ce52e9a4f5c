"""Check pointers against the diff and the files at head.

A pointer that passes carries its line as it is in the file; a problem is a sentence that the model can act on.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import EvidencePointer, Side
from worker.dossier.diff.parser import ChangeKind, Diff, DiffError, FileDiff, base_text, diff_of, text_lines

_SHOWN_CHARACTERS: Final = 160
_MOST_RANGES: Final = 8
_MOST_LINES: Final = 400
_MOST_FILES: Final = 200


@dataclass(frozen=True)
class _Version:
    """One side of one file. `is_whole`: every line is known, not only those of the diff.

    `lines` is None for a link, a submodule and a binary file.
    """

    path: str
    side: Side
    lines: Mapping[int, str] | None
    is_whole: bool = True

    def find_nearest(self, quote: str, near: int) -> int | None:
        """The line nearest to *near* that reads as *quote*."""
        alike = (number for number, text in (self.lines or {}).items() if matches_quote(text, quote))
        return min(alike, key=lambda number: abs(number - near), default=None)


class Places:
    """Every place of a dossier that evidence may point at."""

    def __init__(self, dossier: Dossier) -> None:
        """Raise DiffError for a diff that git did not print."""
        self._diff: Diff = diff_of(dossier.diff)
        self._texts = {file.path: file.text for file in dossier.files or () if file.text is not None}
        self._absent = frozenset(file.path for file in dossier.files or () if not file.exists)
        self._versions: dict[tuple[str, Side], _Version | None] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every path that may be named, with the old names of renamed files."""
        old = (file.old_path for file in self._diff.files if file.old_path)
        return frozenset([*(file.path for file in self._diff.files), *old, *self._texts])

    def line(self, path: str, line: int, side: Side = Side.HEAD) -> str | None:
        """The line on that side; None where it does not exist or is unknown."""
        version = self._version(path, side)
        return version.lines.get(line) if version and version.lines is not None else None

    def check(self, pointer: EvidencePointer) -> EvidencePointer | str:
        """The pointer with its real line, or a sentence about what is wrong with it.

        A quote has to match the line; without one (our own code's pointers) any existing line passes.
        """
        located = self._locate(pointer)
        if isinstance(located, EvidencePointer):
            return located
        return f"{located} {other}" if (other := self._describe_location(pointer)) else located

    def _locate(self, pointer: EvidencePointer) -> EvidencePointer | str:
        if pointer.path not in self.paths:
            return self._unknown_path_message(pointer.path)
        version = self._version(pointer.path, pointer.side)
        if pointer.line is None:
            # a path alone points at the side that exists
            side = pointer.side if version else _other_side(pointer.side)
            return pointer.model_copy(update={"side": side, "quote": None})
        if version is None:
            is_head = pointer.side is Side.HEAD
            why = "at the head commit" if is_head else "at the base commit, or not changed"
            return f'`{pointer.path}` is not there {why}: a line of it needs side "{_other_side(pointer.side)}".'
        if version.lines is None:
            return f"`{pointer.path}` is a link, a submodule or a binary file: point at it by its path, without a line."
        last = pointer.end_line or pointer.line
        missing = next((number for number in (pointer.line, last) if number not in version.lines), None)
        if missing is not None:
            return _no_such_line(version, missing)
        return _check_quote(pointer, version, pointer.line)

    def _describe_location(self, pointer: EvidencePointer) -> str:
        """Where the quoted line does stand, in the named file first."""
        quote, near = _first_line(pointer.quote), pointer.line or 1
        if not _normalize(quote):
            return ""
        others = islice(sorted(self.paths - {pointer.path}), _MOST_FILES)
        for path in (pointer.path, *others):
            for side in (pointer.side, _other_side(pointer.side)):
                version = self._version(path, side)
                if version is not None and (line := version.find_nearest(quote, near)) is not None:
                    return f"Line {line} of `{path}` (side {side}) reads `{_shorten(quote)}`."
        return f"No line that you were given reads `{_shorten(quote)}`."

    def relocate(self, pointer: EvidencePointer) -> EvidencePointer | None:
        """The pointer at the nearest line that now reads as quoted; None where there is none.

        The quote of a line with a secret is its redacted form.
        """
        if pointer.line is None or pointer.quote is None:
            is_known = pointer.path in self.paths and self._version(pointer.path, pointer.side) is not None
            return pointer if is_known and pointer.line is None else None
        version = self._version(pointer.path, pointer.side)
        lines = (version.lines if version else None) or {}
        alike = (at for at, text in lines.items() if text == pointer.quote or _is_redacted(text, pointer.quote))
        line = min(alike, key=lambda at: abs(at - (pointer.line or 0)), default=None)
        if line is None:
            return None
        end = None if pointer.end_line is None else pointer.end_line + line - pointer.line
        return pointer.model_copy(update={"line": line, "end_line": end})

    def _unknown_path_message(self, path: str) -> str:
        if path in self._absent:
            return f"`{path}` does not exist at the head commit: name another place, or none."
        name = path.rpartition("/")[2]
        alike = sorted(other for other in self.paths if other.rpartition("/")[2] == name)
        if not alike:
            import difflib  # noqa: PLC0415 - 1 ms that only a wrong pointer needs

            alike = difflib.get_close_matches(path, sorted(self.paths), n=1)
        hint = f" Did you mean `{alike[0]}`?" if alike else ""
        return f"`{path}` is neither changed by the diff nor among the files you were given.{hint}"

    def _version(self, path: str, side: Side) -> _Version | None:
        key = (path, side)
        if key not in self._versions:
            self._versions[key] = self._head_version(path) if side is Side.HEAD else self._base_version(path)
        return self._versions[key]

    def _head_version(self, path: str) -> _Version | None:
        here = [file for file in self._diff.files if file.path == path]
        file = next((file for file in reversed(here) if file.change is not ChangeKind.DELETED), None)
        text = self._texts.get(path)
        if file is not None and _is_opaque(file):
            return _Version(path, Side.HEAD, None)
        if text is not None and (file is not None or not here):
            return _Version(path, Side.HEAD, _number_lines(text))
        return None if file is None else _Version(path, Side.HEAD, _shown_lines(file, Side.HEAD), _is_whole(file))

    def _base_version(self, path: str) -> _Version | None:
        here = [file for file in self._diff.files if path in {file.path, file.old_path}]
        file = next((file for file in here if file.change is not ChangeKind.ADDED), None)
        if file is None:
            text = None if here else self._texts.get(path)
            return None if text is None else _Version(path, Side.BASE, _number_lines(text))
        if _is_opaque(file):
            return _Version(path, Side.BASE, None)
        head = self._texts.get(file.path)
        if head is not None and file.change is not ChangeKind.DELETED:
            with suppress(DiffError):  # a text that does not fit the diff: then the diff alone is believed
                return _Version(path, Side.BASE, _number_lines(base_text(head, file)))
        return _Version(path, Side.BASE, _shown_lines(file, Side.BASE), _is_whole(file))


def _is_opaque(file: FileDiff) -> bool:
    return file.is_binary or file.is_symlink or file.is_submodule


def _is_whole(file: FileDiff) -> bool:
    """A diff shows every line of what it adds or deletes."""
    return file.change in {ChangeKind.ADDED, ChangeKind.DELETED}


def _number_lines(text: str) -> dict[int, str]:
    return dict(enumerate(text_lines(text), start=1))


def _shown_lines(file: FileDiff, side: Side) -> dict[int, str]:
    numbered = ((line.head_line if side is Side.HEAD else line.base_line, line.text) for line in file.lines())
    return {number: text for number, text in numbered if number is not None}


def _no_such_line(version: _Version, line: int) -> str:
    lines = version.lines or {}
    if version.is_whole:
        return f"`{version.path}` has {len(lines)} lines at the {version.side} commit, line {line} does not exist."
    shown = ", ".join(_line_ranges(lines)) or "none"
    return (
        f"Line {line} of `{version.path}` is not in the diff, and the text of the file was not given: "
        f"known lines at the {version.side} commit are {shown}."
    )


def _line_ranges(lines: Mapping[int, str]) -> Iterator[str]:
    """`3-9`, `12-14` of the known lines; a long list ends in dots."""
    starts = [number for number in lines if number - 1 not in lines]
    ends = [number for number in lines if number + 1 not in lines]
    pairs = [f"{start}-{end}" for start, end in zip(sorted(starts), sorted(ends), strict=True)]
    return iter([*pairs[:_MOST_RANGES], "..."] if len(pairs) > _MOST_RANGES else pairs)


def _check_quote(pointer: EvidencePointer, version: _Version, start: int) -> EvidencePointer | str:
    """Compare the quote with the line, or with as many lines as it has."""
    lines = version.lines or {}
    if pointer.quote is None:
        return pointer.model_copy(update={"quote": lines[start]})
    quote = pointer.quote.strip()
    if not quote:
        blank = "is blank and shows nothing: point at a line that does" if not lines[start].strip() else "is not quoted"
        return f"Line {start} of `{version.path}` {blank}."
    numbers = range(start, start + min(quote.count("\n") + 1, _MOST_LINES))
    if matches_quote("\n".join(lines.get(number, "") for number in numbers), quote):
        return pointer.model_copy(update={"quote": lines[start]})
    return f"Line {start} of `{version.path}` reads `{_shorten(lines[start])}`, not `{_shorten(_first_line(quote))}`."


def matches_quote(text: str, quote: str) -> bool:
    """Whether a quote is this text, apart from white space and a leading `+` or `-` of the diff.

    The beginning of a long line is enough, and hidden characters may be quoted as they were shown.
    """
    from worker.judge.llm.fencing import NO_NEWLINE, escape_hidden  # noqa: PLC0415 - only what a model quotes was shown to one

    reals = (_normalize(text), _normalize(escape_hidden(text)))
    quote = quote.strip().removesuffix(NO_NEWLINE.strip()).strip()
    spellings = (_normalize(quote), _normalize(quote.removeprefix("+")), _normalize(quote.removeprefix("-")))
    return any(
        spelling == real or (len(spelling) >= LONG_QUOTE and real.startswith(spelling))
        for spelling in spellings
        for real in reals
    )


def _is_redacted(text: str, quote: str) -> bool:
    """Whether a quote is this line with marks in place of secrets. A line that is one mark held one word."""
    first, *others = _MARK.split(quote)
    if not others:
        return False
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last):
        return False
    at = len(first)
    for piece in middle:
        index = text.find(piece, at + 1)
        if index < 0:
            return False
        at = index + len(piece)
    is_whole = not "".join((first, *middle, last)).strip()
    return at + len(last) < len(text) and (not is_whole or len(text.split()) == 1)


_MARK: Final = pattern(r"\[redacted: [a-z ]{1,40}\]")

LONG_QUOTE: Final = 30
"""Characters, without white space, that suffice as the quote of a longer line."""


def _other_side(side: Side) -> Side:
    return Side.BASE if side is Side.HEAD else Side.HEAD


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _normalize(text: str) -> str:
    return "".join(text.split())


def _shorten(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + " ..."
