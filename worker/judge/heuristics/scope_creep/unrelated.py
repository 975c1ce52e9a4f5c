"""Code files that nothing ties to the rest of the change or to what was asked.

Does not read code: words, names, folders. Invariant: a change of one file has no unrelated one.

The coefficients are those of a logistic regression, rounded. It was fitted on clean changes of eight public repositories
against the same changes with one file replaced by one of like kind and size from another change of the repository. On
eleven others it parts foreign files from own ones with an AUC of 0.97, and `unrelatedness` is larger with the foreign file
than without in nine pairs of ten. To name the file in half of the cases, one clean change in 28 is suspected; to name it
in three of four, one in ten would be.
"""

from collections.abc import Iterator
from math import exp
from typing import Final

from worker.domain.diff import ChangeKind
from worker.domain.verdict import Category, Side
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.paths import Role
from worker.judge.heuristics.relatedness import Asked, Ties, asked_of, common_stems, subject_of, ties_of
from worker.judge.heuristics.signal import Kind, Looks, Place, signal

_CONSTANT: Final = 0.95
_COEFFICIENTS: Final = Ties(
    size=0.4,
    shared_words=-3.5,
    shared_edits=-2.0,
    same_folder=-2.6,
    asked_names=-1.0,
    subject_asked=-0.9,
    used_elsewhere=-0.7,
    title_words=-4.0,
    asked_words=-1.3,
    shared_subject=-0.9,
    shared_path=-0.7,
)
_SUSPICIOUS: Final = 3.1
_CERTAIN: Final = 6.0
_MOST: Final = 2
"""Files named in one change: where more stand apart, it is a sweep through the repository."""


@signal(Category.SCOPE_CREEP, Kind.SUSPICION, Looks.ANYTHING)
def unrelated_file(change: Change) -> Iterator[Place]:
    """A code file that next to no words, names or folders tie to the other files, or to title, issue and criteria.

    False alarms: 198 of 5530 clean changes with anything (3.6 %, at most 4.10 %).
    """
    apart = [
        (far, file) for far, file in change.once(distances) if far > _SUSPICIOUS and not _is_asked_for(file, change)
    ]
    apart.sort(key=lambda one: (-one[0], one[1].path))
    for far, file in apart[:_MOST]:
        line, side = first_change(file)
        yield Place(
            "nothing ties this file to the rest of the change or to what was asked",
            file.path,
            line,
            side=side,
            strength=min(1.0, 0.5 + (far - _SUSPICIOUS) / (2 * (_CERTAIN - _SUSPICIOUS))),
        )


def unrelatedness(change: Change) -> float:
    """From 0 to 1: how much of the change's code seems to belong to another task."""
    known = change.once(distances)
    return sum(1 / (1 + exp(-far)) for far, _ in known) / len(known) if known else 0.0


def distances(change: Change) -> tuple[tuple[float, ChangedFile], ...]:
    """How far each code file stands from the rest, above 0 where it more likely belongs elsewhere."""
    if len(change.files) < 2:  # noqa: PLR2004 - one file is the whole change
        return ()
    pairs = zip(change.once(ties_of), change.files, strict=True)
    return tuple((_distance(ties), file) for ties, file in pairs if is_code(file))


def is_code(file: ChangedFile) -> bool:
    return file.language is not None and bool(file.diff.hunks) and file.role is not Role.FOREIGN


def asked_by(change: Change) -> Asked:
    return asked_of(change.dossier)


def _is_asked_for(file: ChangedFile, change: Change) -> bool:
    """Whether somebody spoke of all that the file's name is about."""
    subject = subject_of(file.path) - common_stems()
    return bool(subject) and subject <= change.once(asked_by).words


def first_change(file: ChangedFile) -> tuple[int | None, Side]:
    """The first added line; of a file that only lost lines, the first of those at base."""
    if file.diff.added and file.diff.change is not ChangeKind.DELETED:
        return file.diff.added[0].head_line, Side.HEAD
    return (file.diff.removed[0].base_line, Side.BASE) if file.diff.removed else (None, Side.HEAD)


def _distance(ties: Ties) -> float:
    return _CONSTANT + sum(weight * tie for weight, tie in zip(_COEFFICIENTS, ties, strict=True))
