"""Code files that nothing ties to the rest of the change or to what was asked.

Compares words, names and folders. A change of one file has no unrelated one, and neither has one of very many, which is a
sweep through the repository.

The coefficients are those of a logistic regression, rounded: clean changes of 22 public repositories against the same
changes with one file replaced by one of like kind, state and size from another change of the repository. The foreign file
is the farthest of its change in nine pairs of ten. It is not named more often, because one clean change in ten has a file
just as far: a fix in passing, a version, a helper. On repositories left out of the fit, the share of clean
changes in which a file is suspected buys this share of foreign files named (2,150 pairs of like size, three files or more):

    suspected   3.5 %   4.0 %   4.5 %   5.0 %   6.0 %   8.0 %  10.0 %
    named        69 %    71 %    73 %    75 %    77 %    80 %    82 %

The threshold stands where four of five foreign files are named: a scope that grew unseen costs a reviewer more than one
more question in one clean change of ten. It is a suspicion and never rejects.
"""

from collections.abc import Iterator
from math import exp
from typing import Final

from worker.domain.verdict.verdict import Category, Side
from worker.dossier.diff import ChangeKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import FileRole
from worker.signals.analysis.relatedness import (
    NAME_PATTERN,
    RequestWords,
    Ties,
    common_stems,
    find_request_words,
    find_ties,
    path_subject,
)
from worker.signals.signal import (
    UNMEASURED_LANGUAGES,
    SettlingLine,
    SignalKind,
    SignalMatch,
    SignalScope,
    has_more_than_documents,
    signal,
)

_INTERCEPT: Final = -0.4
_COEFFICIENTS: Final = Ties(
    size=0.48,
    same_folder=-1.3,
    near_folder=-0.87,
    same_language=1.4,
    is_test=-0.29,
    only_comments=-1.2,
    used_elsewhere=-1.8,
    others_here=-2.9,
    near_words=-2.8,
    near_edits=-1.7,
    counterpart=-2.1,
    paths_here=-0.36,
    path_elsewhere=-0.41,
    title_here=-3.5,
    title_changed=-1.9,
    asked_words=-2.5,
    asked_names=-1.3,
    asked=0.4,
    edited_alone=0.7,
    asked_for=-1.3,
)
_LEAD_WEIGHT: Final = 0.2
"""The weight of its lead over the next file: where several are as far, the change is rather a sweep."""
_SUSPICIOUS_DISTANCE: Final = 1.8
_SUSPICIOUS_DISTANCE_OF_TWO: Final = 5.0
"""Of two files, each has only the other one to be tied to."""
_APART_DISTANCE: Final = -1.0
"""Nineteen of twenty foreign files are farther than this, and one file of a clean change in eleven is."""
_CERTAIN_DISTANCE: Final = 6.0
_NEXT_LEAD: Final = 1.5
_MOST_NAMED: Final = 2
"""Files named in one change."""
_PAIR: Final = 2
_MOST_FILES: Final = 30


@signal(
    Category.SCOPE_CREEP,
    SignalKind.SUSPICION,
    SignalScope.ANYTHING,
    settled_by=SettlingLine.TIED,
    only_if=has_more_than_documents,
)
def unrelated_file(change: CodeChange) -> Iterator[SignalMatch]:
    """The code file that words, names and folders tie least to the others and to what was asked, of 30 at most.

    Only where it stands clearly apart; the next one as well, if that does, too.

    Why it matters: A reviewer of this task does not look for another one in it.
    Example: A change about upload retries that also edits `paint/brush.py`.
    False alarms: 2563 of 30214 clean changes with anything (8.5 %, at most 8.80 %).
    """
    apart = [
        (far, file)
        for far, file in find_distances(change)
        # ties between files of other languages are not measured: 16.7 % of clean C# would be suspected
        if file.language not in UNMEASURED_LANGUAGES and not _is_requested(file, change)
    ]
    apart = sorted(apart, key=lambda entry: (-entry[0], entry[1].path))[:_MOST_NAMED]
    least = _SUSPICIOUS_DISTANCE if len(change.files) > _PAIR else _SUSPICIOUS_DISTANCE_OF_TWO
    if not apart or apart[0][0] + _LEAD_WEIGHT * (apart[0][0] - apart[-1][0]) <= least:
        return
    for far, file in (apart[0], *(entry for entry in apart[1:] if entry[0] > _NEXT_LEAD)):
        line, side = first_change_of_several(file)
        doubt = (far - _SUSPICIOUS_DISTANCE) / (2 * (_CERTAIN_DISTANCE - _SUSPICIOUS_DISTANCE))
        strength = min(1.0, max(0.5, 0.5 + doubt))
        note = "little ties this file to the rest of the change or to what was asked"
        yield SignalMatch(note, file.path, line, side=side, strength=strength)


def measure_unrelatedness(change: CodeChange) -> float:
    """How much of the change's code seems to belong to another task, from 0 to 1."""
    distances = find_distances(change)
    return sum(1 / (1 + exp(-far)) for far, _ in distances) / len(distances) if distances else 0.0


@memoized
def find_distances(change: CodeChange) -> tuple[tuple[float, AnalyzedFile], ...]:
    """How far each code file stands from the rest, above 0 where it more likely belongs elsewhere."""
    if not _PAIR <= len(change.files) <= _MOST_FILES:
        return ()
    pairs = zip(find_ties(change), change.files, strict=True)
    return tuple((_compute_distance(ties), file) for ties, file in pairs if is_code(file))


def is_apart(change: CodeChange, path: str) -> bool:
    """Whether so little ties a file to the others and to the request that it may be of another task. Of very many, any may be."""
    if len(change.files) > _MOST_FILES:
        return True
    pairs = zip(find_ties(change), change.files, strict=True)
    ties_of_path = (ties for ties, file in pairs if path in {file.path, file.diff.old_path})
    return any(_compute_distance(ties) >= _APART_DISTANCE for ties in ties_of_path)


def is_code(file: AnalyzedFile) -> bool:
    return file.language is not None and bool(file.diff.hunks) and file.role is not FileRole.FOREIGN


@memoized
def request_words_of(change: CodeChange) -> RequestWords:
    return find_request_words(change.dossier)


def _is_requested(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether the request names the file, or holds all words of its name."""
    if is_named(file, change):
        return True
    subject = path_subject(file.path) - common_stems()
    return bool(subject) and subject <= request_words_of(change).stems


def is_named(file: AnalyzedFile, change: CodeChange) -> bool:
    """Whether the request names the file in full."""
    names = set(NAME_PATTERN.findall(file.path.rpartition("/")[2].partition(".")[0]))
    return bool(names) and names <= request_words_of(change).names


def first_change_of_several(file: AnalyzedFile) -> tuple[int | None, Side]:
    """The first change, without a line where it is the only one: another line than the suspected one has to answer."""
    line, side = first_change(file)
    return (line if len(file.diff.added_texts) + len(file.diff.removed_texts) > 1 else None), side


def first_change(file: AnalyzedFile) -> tuple[int | None, Side]:
    """The first added line; of a file that only lost lines, the first of those at base."""
    if file.diff.added_lines and file.diff.change is not ChangeKind.DELETED:
        return file.diff.added_lines[0].head_line, Side.HEAD
    return (file.diff.removed_lines[0].base_line, Side.BASE) if file.diff.removed_lines else (None, Side.HEAD)


def _compute_distance(ties: Ties) -> float:
    return _INTERCEPT + sum(weight * tie for weight, tie in zip(_COEFFICIENTS, ties, strict=True))
