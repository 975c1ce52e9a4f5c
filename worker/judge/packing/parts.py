"""A change too large for one question, cut into parts: for each some criteria, and the files that they are about.

Does not ask. Invariant: every piece of every file is in exactly one part and every concern in exactly one; files that share the
most words with the same concern stand together, and where that does not fit, files of the same name; the same cut whatever the
order of files or concerns.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import fsum, log
from typing import Final

from worker.domain.value import Value
from worker.judge.heuristics.change import ChangedFile
from worker.judge.heuristics.relatedness import Trace, common_stems, stems_in, subject_of, trace_of
from worker.judge.packing.choosing import Choice, Stretch
from worker.judge.packing.sheets import NOTE_BYTES, Sheet, overhead_of

_MOST_CHARACTERS: Final = 4_000
_ON_PATH: Final = 3.0
"""A word of the file's path says more than one of its lines."""


class Concern(Value):
    """What a part is asked about: a criterion, or a closing condition of an earlier round."""

    id: str
    text: str


class Part(Value):
    """`concerns`: positions in the list of all concerns."""

    choice: Choice
    concerns: frozenset[int]


def _fits(sheet: Sheet, room: int) -> bool:
    """Whether each piece of the file fits into a part."""
    largest = max((piece.size for piece in sheet.pieces), default=0)
    return sheet.is_all and overhead_of(sheet.file.path) + NOTE_BYTES + largest <= room


Ties = Mapping[int, Sequence[float]]
"""By the position of a file: how much it has to do with each concern."""


def in_parts(
    sheets: Sequence[Sheet], files: Sequence[ChangedFile], concerns: Sequence[Concern], room: int, most: int
) -> tuple[Part, ...] | None:
    """The parts, each within the *room*; None where it takes more than *most* of them."""
    if not all(_fits(sheet, room) for sheet in sheets) or sum(sheet.size for sheet in sheets) > room * most:
        return None
    sheets = [sheet for sheet in sheets if sheet.pieces]
    ties = _ties(sheets, files, concerns)
    in_order = sorted(sheets, key=lambda one: _neighbours(one, ties[one.position], concerns))
    about = [[*same] for _, same in groupby(in_order, key=lambda one: _strongest(ties[one.position], concerns))]
    choices = _filled(about, room)
    if len(choices) > most:  # then denser, though files of one concern may part
        choices = _filled([[one] for one in in_order], room)
    if len(choices) > most:
        return None
    homes = [_home(number, choices, ties) for number in range(len(concerns))]
    parts = (
        Part(choice, frozenset(number for number, home in enumerate(homes) if home == at))
        for at, choice in enumerate(choices)
    )
    return tuple(sorted(parts, key=lambda part: not part.concerns))


def _ties(sheets: Sequence[Sheet], files: Sequence[ChangedFile], concerns: Sequence[Concern]) -> Ties:
    """How many rare words each file shares with each concern."""
    wanted = [stems_in(one.text[:_MOST_CHARACTERS]) - common_stems() for one in concerns]
    traces = {sheet.position: trace_of(files[sheet.position], len(files)) for sheet in sheets}
    spread = Counter(word for trace in traces.values() for word in trace.words | trace.path_words)
    rare = {word: log(1 + len(traces) / count) for word, count in spread.items()}
    return {position: [_tie(trace, words, rare) for words in wanted] for position, trace in traces.items()}


def _tie(trace: Trace, words: frozenset[str], rare: Mapping[str, float]) -> float:
    """Summed so that the order of the words does not count."""
    in_lines = fsum(rare[word] for word in words & trace.words)
    return in_lines + _ON_PATH * fsum(rare[word] for word in words & trace.path_words)


def _neighbours(
    sheet: Sheet, ties: Sequence[float], concerns: Sequence[Concern]
) -> tuple[str, tuple[str, ...], int, str]:
    """What sorts files so that those which belong together follow each other."""
    subject = tuple(sorted(subject_of(sheet.file.path)))
    return _strongest(ties, concerns), subject, sheet.rank, sheet.file.path


def _strongest(ties: Sequence[float], concerns: Sequence[Concern]) -> str:
    """The concern that a file is about; nothing where it shares no word with any."""
    best = max(range(len(concerns)), key=lambda at: (ties[at], concerns[at].id), default=None)
    return concerns[best].id if best is not None and ties[best] > 0 else ""


def _filled(groups: Iterable[Sequence[Sheet]], room: int) -> list[Choice]:
    """Fill one part after the other: a group that does not fit begins the next, and so does a file of a larger group."""
    filling = _Filling(room)
    for group in groups:
        if sum(sheet.size for sheet in group) > filling.left:
            filling.closes()
        for sheet in group:
            filling.takes(sheet)
    filling.closes()
    return filling.choices


class _Filling:
    """The part that is being filled, and those that are full."""

    def __init__(self, room: int) -> None:
        self.choices: list[Choice] = []
        self.left = self._room = room
        self._shown: dict[int, Stretch] = {}

    def closes(self) -> None:
        if self._shown:
            self.choices.append(Choice(self._shown, self._room - self.left))
        self._shown, self.left = {}, self._room

    def takes(self, sheet: Sheet) -> None:
        """Take a file; one that is larger than a part is spread over several."""
        if sheet.size > self.left and not self._can_begin(sheet):
            self.closes()
        at = 0
        while sheet.size_from(at) > self.left:
            end, size = _fitting(sheet, at, self.left)
            self._shown[sheet.position] = (at, end)
            self.left -= size
            self.closes()
            at = end
        self._shown[sheet.position] = (at, len(sheet.pieces))
        self.left -= sheet.size_from(at)

    def _can_begin(self, sheet: Sheet) -> bool:
        """Whether the file has to be spread anyway, and its first piece fits here."""
        first = overhead_of(sheet.file.path) + NOTE_BYTES + sheet.pieces[0].size
        return sheet.size > self._room and first <= self.left


def _fitting(sheet: Sheet, start: int, room: int) -> tuple[int, int]:
    """Behind which piece a part is full, one piece at least, and what that takes."""
    size, end = overhead_of(sheet.file.path) + NOTE_BYTES, start
    while end == start or size + sheet.pieces[end].size <= room:
        size, end = size + sheet.pieces[end].size, end + 1
    return end, size


def _home(number: int, choices: Sequence[Choice], ties: Ties) -> int:
    """The part with the files that a concern is about; the first of those that are equally near."""
    near = [fsum(ties[position][number] for position in choice.shown) for choice in choices]
    return near.index(max(near))
