"""One of several places left as it was: a change that replaces the same word by another one everywhere but there.

Does not know whether the last place is meant to stay. Invariant: at least two other places were changed in exactly this
way, and few are left.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_WORD: Final = pattern(r"[A-Za-z_$][\w$]{2,}")
_FEWEST: Final = 2
_MOST_LEFT: Final = 2
_MOST_ASKED_LEFT: Final = 8
_MOST_REPLACEMENTS: Final = 20
_LONGEST: Final = 500


class _Replacement(NamedTuple):
    """One word that gave way to another in a line that stayed the same otherwise."""

    old: str
    new: str


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.ANYTHING)
def site_left_out(change: CodeChange) -> Iterator[SignalMatch]:
    """A word that the change replaces elsewhere, but not here; or a file of a list in the issue, alone unchanged.

    False alarms: 429 of 30214 clean changes with anything (1.4 %, at most 1.56 %).
    """
    for swap in _find_done(change):
        left = [site for path, text in _texts(change) for site in _find_left(path, text, swap)]
        most = _MOST_ASKED_LEFT if change.cached(_requested_words).issuperset(swap) else _MOST_LEFT
        if 0 < len(left) <= most:
            for path, lines in _group_by_file(left).items():
                note = f"`{swap.old}` became `{swap.new}` elsewhere, but not here{_describe_more(len(lines) - 1)}"
                yield SignalMatch(note, path, lines[0])
    yield from _find_listed_files(change)


def _describe_more(count: int) -> str:
    return f", and at {count} more {'place' if count == 1 else 'places'} of this file" if count else ""


def _group_by_file(places: list[tuple[str, int]]) -> dict[str, list[int]]:
    lines: dict[str, list[int]] = {}
    for path, number in places:
        lines.setdefault(path, []).append(number)
    return lines


def _find_listed_files(change: CodeChange) -> Iterator[SignalMatch]:
    """Files of a list in the issue that are as they were, where at least two others of it were changed."""
    asked = "\n".join(part for issue in change.dossier.issues for part in (issue.title, issue.body))
    changed = {file.path for file in change.files}
    for line in asked[:_MOST_ASKED].split("\n"):
        paths = set(_PATH.findall(line))
        left = sorted((paths - changed) & change.texts.keys())
        if len(left) == 1 and len(paths & changed) >= _FEWEST:
            number = _first_line(change.texts[left[0]], set(_WORD.findall(line)))
            yield SignalMatch("the issue names this file beside others, and it alone is not changed", left[0], number)


def _first_line(text: str, issue_words: set[str]) -> int:
    """Where the words of the issue meet the file."""
    lines = enumerate(text.split("\n"), 1)
    return next((number for number, line in lines if not issue_words.isdisjoint(_WORD.findall(line[:_LONGEST]))), 1)


_PATH: Final = pattern(r"[\w./-]{1,200}\.\w{1,10}")
_MOST_ASKED: Final = 20_000


def _find_done(change: CodeChange) -> list[_Replacement]:
    counts = Counter(swap for file in change.files for swap in _find_replacements(file))
    enough = [swap for swap, count in counts.items() if count >= _FEWEST]
    lines = (text[:_LONGEST] for file in change.files if enough for text in file.diff.added_texts)
    olds = frozenset(swap.old for swap in enough)
    added = {word for text in lines for word in olds.intersection(_WORD.findall(text))}
    asked = change.cached(_requested_words)
    unfinished = (swap for swap in enough if swap.old not in added or asked.issuperset(swap))
    return list(islice(unfinished, _MOST_REPLACEMENTS))


def _requested_words(change: CodeChange) -> frozenset[str]:
    """The words of what was asked for: an issue that names both words asks for the replacement."""
    texts = (part for issue in change.dossier.issues for part in (issue.title, issue.body[:_MOST_ASKED]))
    return frozenset(word for text in texts for word in _WORD.findall(text))


def _find_replacements(file: AnalyzedFile) -> Iterator[_Replacement]:
    for run in (run for hunk in file.diff.hunks for run in _RUN.finditer(hunk.body)):
        removed, added = (side.decode("utf-8", "replace").split("\n")[:-1] for side in run.groups())
        if len(removed) == len(added):
            for old, new in zip(removed, added, strict=True):
                swap = _find_replacement(old[1:][:_LONGEST], new[1:][:_LONGEST])
                if swap is not None:
                    yield swap


_RUN: Final = pattern(rb"^((?:-[^\n]*\n)++)(?:\\[^\n]*\n)?+((?:\+[^\n]*\n)*+)", re.MULTILINE)
"""Removed lines, and what took their place."""


def _find_replacement(old: str, new: str) -> _Replacement | None:
    olds, news = _WORD.findall(old), _WORD.findall(new)
    pairs = {pair for pair in zip(olds, news, strict=False) if pair[0] != pair[1]}
    if len(olds) != len(news) or len(pairs) != 1:
        return None
    ((before, after),) = pairs
    return None if before in _VALUES else _Replacement(before, after)


_VALUES: Final = frozenset({"true", "false", "True", "False"})
"""What was wrong in one place may be right in another."""


def _texts(change: CodeChange) -> Iterator[tuple[str, str]]:
    changed = {file.path: file.head_text for file in change.files}
    for path, text in {**change.texts, **{path: text for path, text in changed.items() if text is not None}}.items():
        if role_of(path) is not FileRole.FOREIGN:
            yield path, text


def _find_left(path: str, text: str, swap: _Replacement) -> Iterator[tuple[str, int]]:
    if swap.old not in text:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if swap.old in line and swap.old in _WORD.findall(line[:_LONGEST]):
            yield path, number
