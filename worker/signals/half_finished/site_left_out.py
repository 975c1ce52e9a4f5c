"""Places that a change missed: it replaces the same word everywhere else in exactly this way.

At least two other places were changed so, and few are left. The last place may be meant to stay.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_WORD: Final = pattern(r"[A-Za-z_$][\w$]{2,}")
_PATH: Final = pattern(r"[\w./-]{1,200}\.\w{1,10}")
_RUN: Final = pattern(rb"^((?:-[^\n]*\n)++)(?:\\[^\n]*\n)?+((?:\+[^\n]*\n)*+)", re.MULTILINE)
"""Removed lines, and those that replace them."""
_VALUES: Final = frozenset({"true", "false", "True", "False"})
"""What was wrong in one place may be right in another."""
_FEWEST: Final = 2
_MOST_LEFT: Final = 2
_MOST_ASKED_LEFT: Final = 8
_MOST_REPLACEMENTS: Final = 20
_MOST_ASKED: Final = 20_000
_LONGEST: Final = 500


class _Replacement(NamedTuple):
    """One word that another one replaced in a line that stayed the same otherwise."""

    old: str
    new: str


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.ANYTHING)
def site_left_out(change: CodeChange) -> Iterator[SignalMatch]:
    """A word that the change replaces elsewhere, but not here; or a file of a list in the issue, alone unchanged.

    Why it matters: Half of a rename breaks at the place that was left.
    Example: `old_name` becomes `new_name` in two files, and stays in a third one.
    False alarms: 429 of 30214 clean changes with anything (1.4 %, at most 1.56 %).
    """
    done = _find_done(change)
    heads = {file.path: file.head_text for file in change.files if done and file.head_text is not None}
    shown = {**change.texts, **heads} if done else {}
    own = {path: text for path, text in shown.items() if role_of(path) is not FileRole.FOREIGN}
    for swap in done:
        left = defaultdict[str, list[int]](list)
        for path, text in own.items():
            for number, line in enumerate(text.split("\n") if swap.old in text else (), 1):
                if swap.old in line and swap.old in _WORD.findall(line[:_LONGEST]):
                    left[path].append(number)
        most = _MOST_ASKED_LEFT if _requested_words(change).issuperset(swap) else _MOST_LEFT
        for path, lines in left.items() if sum(map(len, left.values())) <= most else ():
            more = len(lines) - 1
            beside = f", and at {more} more {'place' if more == 1 else 'places'} of this file" if more else ""
            yield SignalMatch(f"`{swap.old}` became `{swap.new}` elsewhere, but not here{beside}", path, lines[0])
    yield from _find_listed_files(change)


def _find_listed_files(change: CodeChange) -> Iterator[SignalMatch]:
    """Files of a list in the issue that are unchanged, where at least two others of it changed."""
    asked = "\n".join(part for issue in change.dossier.issues for part in (issue.title, issue.body))
    changed = {file.path for file in change.files}
    for line in asked[:_MOST_ASKED].split("\n"):
        paths = set(_PATH.findall(line))
        left = sorted((paths - changed) & change.texts.keys())
        if len(left) == 1 and len(paths & changed) >= _FEWEST:
            wanted, lines = set(_WORD.findall(line)), enumerate(change.texts[left[0]].split("\n"), 1)
            number = next((at for at, text in lines if not wanted.isdisjoint(_WORD.findall(text[:_LONGEST]))), 1)
            yield SignalMatch("the issue names this file beside others, and it alone is not changed", left[0], number)


def _find_done(change: CodeChange) -> list[_Replacement]:
    """The replacements that were made often enough, and whose old word no added line holds, unless they are asked for."""
    counts = Counter(swap for file in change.files for swap in _find_replacements(file))
    enough = [swap for swap, count in counts.items() if count >= _FEWEST]
    lines = (text[:_LONGEST] for file in change.files if enough for text in file.diff.added_texts)
    olds = frozenset(swap.old for swap in enough)
    added = {word for text in lines for word in olds.intersection(_WORD.findall(text))}
    asked = _requested_words(change)
    unfinished = (swap for swap in enough if swap.old not in added or asked.issuperset(swap))
    return list(islice(unfinished, _MOST_REPLACEMENTS))


@memoized
def _requested_words(change: CodeChange) -> frozenset[str]:
    """The words of the issues: one that names both words asks for the replacement."""
    texts = (part for issue in change.dossier.issues for part in (issue.title, issue.body[:_MOST_ASKED]))
    return frozenset(word for text in texts for word in _WORD.findall(text))


def _find_replacements(file: AnalyzedFile) -> Iterator[_Replacement]:
    for run in (run for hunk in file.diff.hunks for run in _RUN.finditer(hunk.body)):
        removed, added = (side.decode("utf-8", "replace").split("\n")[:-1] for side in run.groups())
        for old, new in zip(removed, added, strict=True) if len(removed) == len(added) else ():
            olds, news = _WORD.findall(old[1:][:_LONGEST]), _WORD.findall(new[1:][:_LONGEST])
            pairs = {pair for pair in zip(olds, news, strict=False) if pair[0] != pair[1]}
            if len(olds) == len(news) and len(pairs) == 1:
                swap = _Replacement(*pairs.pop())
                if swap.old not in _VALUES:
                    yield swap
