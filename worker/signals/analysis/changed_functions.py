"""The functions that a change writes: new ones, and old ones whose whole body it wrote anew.

Does not judge them. Invariant: a function is new only if every line of it is, and its lines did not stand elsewhere
before; what git takes for a new closing line may belong to the neighbour.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Change, ChangedFile
from worker.signals.analysis.file_roles import Language, Role
from worker.signals.analysis.functions import Function, functions_of
from worker.signals.analysis.overrides import (
    is_beside_abstract_ones,
    is_declaration,
    is_run_by_a_framework,
    is_wrapped,
)
from worker.signals.analysis.syntax import ancestors, is_comment, text_of

CLOSING: Final = frozenset({"", "}", "};", "},", ")", "})", "});"})


class Written(NamedTuple):
    """One function with the file it stands in."""

    file: ChangedFile
    function: Function


def new_functions(change: Change) -> tuple[Written, ...]:
    """New functions of production code that are more than a declaration or a test."""
    return change.once(_find_new)


def registered(change: Change) -> tuple[Written, ...]:
    """New functions of Python that a framework runs: what it makes of an empty body, nobody can say."""
    return change.once(_find_registered)


def wrapped(change: Change) -> tuple[Written, ...]:
    """New functions of Python under any decorator that runs or wraps them; the registered ones are among them."""
    return change.once(_find_wrapped)


def left_to_subclasses(change: Change) -> tuple[Written, ...]:
    """New methods of Python's abstract classes that are not declared abstract themselves: they may do nothing, or all."""
    return change.once(_find_left)


def exemplary(change: Change) -> tuple[Written, ...]:
    """New functions of examples, benchmarks and what makes the documentation; templates and texts for learners have gaps to fill."""
    return change.once(_find_exemplary)


def is_run_as_it_is(file: ChangedFile) -> bool:
    """Whether it is an example to run, and no text of the documentation, which may be brief."""
    return _RUN_AS_IT_IS.search(file.path) is not None


def is_all_there_is(one: Written) -> bool:
    """Whether it is a benchmark or the whole program: nobody leaves its body out to be brief, as an example may."""
    return one.function.name == "main" or _BENCHMARKS.search(one.file.path) is not None


def rewritten(change: Change) -> tuple[Written, ...]:
    """Functions that were there, and all that their bodies say now was written by this change."""
    return change.once(_find_rewritten)


def _find_new(change: Change) -> tuple[Written, ...]:
    return tuple(one for one in _fresh(change) if not is_declaration(one.function))


def _find_left(change: Change) -> tuple[Written, ...]:
    return tuple(one for one in _fresh(change) if is_beside_abstract_ones(one.function))


def _find_exemplary(change: Change) -> tuple[Written, ...]:
    files = (one for one in change.files if one.language is not None and one.role is Role.EXAMPLE)
    runs = (file for file in files if not _TO_FILL.search(file.path))
    return tuple(one for one in _touched(runs) if _is_new(one, change) and _is_run(one.function))


def _is_run(function: Function) -> bool:
    """A benchmark of Rust is marked as a test is, and is none."""
    return not is_declaration(function) or _BENCHMARK.search(function.attributes) is not None


_BENCHMARK: Final = pattern(r"#\[bench\]")


_RUN_AS_IT_IS: Final = pattern(r"(?:^|/)[\w.-]*(?:examples?|demos?|samples?|bench(?:es|marks?)?)/", 2)
_BENCHMARKS: Final = pattern(r"(?:^|/)[\w.-]*bench(?:es|marks?)?/", 2)
_TO_FILL: Final = pattern(
    r"template|scaffold|skeleton|boilerplate|tutorial|exercise|workshop|learn|snippet|stub|starter", 2
)


def _find_registered(change: Change) -> tuple[Written, ...]:
    return tuple(one for one in _fresh(change) if is_run_by_a_framework(one.function))


def _find_wrapped(change: Change) -> tuple[Written, ...]:
    return tuple(one for one in _fresh(change) if is_wrapped(one.function))


def _find_rewritten(change: Change) -> tuple[Written, ...]:
    fresh = {id(one.function) for one in _fresh(change)}
    found = (one for one in _all(change) if id(one.function) not in fresh)
    return tuple(one for one in found if _is_rewritten(one) and not is_declaration(one.function))


def _fresh(change: Change) -> tuple[Written, ...]:
    return change.once(_find_fresh)


def _find_fresh(change: Change) -> tuple[Written, ...]:
    return tuple(one for one in _all(change) if _is_new(one, change))


def _all(change: Change) -> tuple[Written, ...]:
    return change.once(_find_all)


def _find_all(change: Change) -> tuple[Written, ...]:
    return tuple(_touched(change.production()))


def _touched(files: Iterable[ChangedFile]) -> Iterator[Written]:
    for file in files:
        added = sorted(file.added_lines) if file.sources and not _holds_a_conflict(file) else []
        for source in file.sources if added else ():
            for function in functions_of(source):
                if function.first <= added[-1] and function.last >= added[0] and not _is_cut(file, function):
                    yield Written(file, function)


def is_stand_in(function: Function) -> bool:
    """It takes the place of what could not be imported."""
    return any(around.type == "except_clause" for around in ancestors(function.node))


def _holds_a_conflict(file: ChangedFile) -> bool:
    """Where a body ends in such a file no parser can tell."""
    return any(text.startswith("<<<<<<<") for text in file.diff.added_texts)


def _is_cut(file: ChangedFile, function: Function) -> bool:
    """Whether the fragment may end before the function does: only Python's bodies have no closing line."""
    source = function.source
    if source.whole or source.language is not Language.PYTHON:
        return False
    head = source.lines[function.node.start_point.row]
    behind = next((line for line in source.lines[function.node.end_point.row + 1 :] if line.strip()), None)
    if behind is not None:
        return _margin(behind) > _margin(head)
    end = source.first + len(source.lines) - 1 - (not source.lines[-1])
    return end not in file.added_lines  # the file goes on behind what the hunk shows


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_new(one: Written, change: Change) -> bool:
    """Every line of it was added, and it was not merely moved or given another indentation."""
    file, function = one
    lines, first = function.source.lines, function.source.first
    if function.first not in file.added_lines:
        return False
    numbers = range(function.first, function.last + 1)
    texts = {number: lines[number - first].strip() for number in numbers}
    whole = all(number in file.added_lines or text in CLOSING for number, text in texts.items())
    return whole and not _stood_elsewhere([text for text in texts.values() if text not in CLOSING], change)


def _stood_elsewhere(texts: list[str], change: Change) -> bool:
    if not change.removed_texts.issuperset(texts):
        return False
    # few lines may stand anywhere: a body that was left behind when the function was moved
    return len(texts) > _FEW or tuple(texts) in change.meanwhile(_removed)


_FEW: Final = 3


def _removed(change: Change) -> frozenset[tuple[str, ...]]:
    """Up to three removed lines that followed each other."""
    lines = (text.strip() for file in change.files for text in file.diff.removed_texts)
    texts = [text for text in lines if text not in CLOSING]
    return frozenset(tuple(texts[at : at + size]) for at in range(len(texts)) for size in range(1, _FEW + 1))


def _is_rewritten(one: Written) -> bool:
    file, function = one
    body, first = function.body, function.source.first
    rows = range(body.start_point.row, body.end_point.row + 1)
    opening = -1 if function.source.language is Language.PYTHON else body.start_point.row
    said = (row + first for row in rows if row != opening and function.source.lines[row].strip() not in CLOSING)
    line = next(said, None)  # of most functions the first line was there: then nobody need read the others
    is_written = line is not None and line in file.added_lines and all(line in file.added_lines for line in said)
    return is_written and bool(file.diff.removed_texts)


def documentation(function: Function) -> str:
    """What is said about a function, above it and in its docstring."""
    above = [text_of(note) for note in function.above if is_comment(note)]
    return " ".join((*reversed(above), function.docstring))
