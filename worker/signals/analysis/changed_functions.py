"""The functions that a change writes: new ones, and old ones whose whole body it wrote anew.

Does not judge them. Invariant: a function is new only if every line of it is, and its lines did not stand elsewhere
before; what git takes for a new closing line may belong to the neighbour.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.file_roles import FileRole, Language
from worker.signals.analysis.functions import Function, find_functions
from worker.signals.analysis.overrides import (
    is_concrete_in_abstract_class,
    is_declaration,
    is_run_by_a_framework,
    is_wrapped,
)
from worker.signals.analysis.syntax import ancestors, is_comment, text_of

CLOSING_LINES: Final = frozenset({"", "}", "};", "},", ")", "})", "});"})


class ChangedFunction(NamedTuple):
    """One function with the file it stands in."""

    file: AnalyzedFile
    function: Function


def find_new_functions(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of production code that are more than a declaration or a test."""
    return change.cached(_select_new)


def find_registered(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of Python that a framework runs: what it makes of an empty body, nobody can say."""
    return change.cached(_select_registered)


def find_wrapped(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of Python under any decorator that runs or wraps them; the registered ones are among them."""
    return change.cached(_select_wrapped)


def find_left_to_subclasses(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New methods of Python's abstract classes that are not declared abstract themselves: they may do nothing, or all."""
    return change.cached(_select_left_to_subclasses)


def find_examples(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of examples, benchmarks and what makes the documentation; templates and texts for learners have gaps to fill."""
    return change.cached(_select_examples)


def is_runnable_example(file: AnalyzedFile) -> bool:
    """Whether it is an example to run, and no text of the documentation, which may be brief."""
    return _RUNNABLE_FOLDERS.search(file.path) is not None


def is_whole_program(changed: ChangedFunction) -> bool:
    """Whether it is a benchmark or the whole program: nobody leaves its body out to be brief, as an example may."""
    return changed.function.name == "main" or _BENCHMARKS.search(changed.file.path) is not None


def find_rewritten(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """Functions that were there, and all that their bodies say now was written by this change."""
    return change.cached(_select_rewritten)


def _select_new(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if not is_declaration(changed.function))


def _select_left_to_subclasses(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if is_concrete_in_abstract_class(changed.function))


def _select_examples(change: CodeChange) -> tuple[ChangedFunction, ...]:
    files = (file for file in change.files if file.language is not None and file.role is FileRole.EXAMPLE)
    runs = (file for file in files if not _TO_FILL.search(file.path))
    return tuple(
        changed for changed in _touched_functions(runs) if _is_new(changed, change) and _is_run(changed.function)
    )


def _is_run(function: Function) -> bool:
    """A benchmark of Rust is marked as a test is, and is none."""
    return not is_declaration(function) or _BENCHMARK.search(function.attributes) is not None


_BENCHMARK: Final = pattern(r"#\[bench\]")


_RUNNABLE_FOLDERS: Final = pattern(r"(?:^|/)[\w.-]*(?:examples?|demos?|samples?|bench(?:es|marks?)?)/", 2)
_BENCHMARKS: Final = pattern(r"(?:^|/)[\w.-]*bench(?:es|marks?)?/", 2)
_TO_FILL: Final = pattern(
    r"template|scaffold|skeleton|boilerplate|tutorial|exercise|workshop|learn|snippet|stub|starter", 2
)


def _select_registered(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if is_run_by_a_framework(changed.function))


def _select_wrapped(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if is_wrapped(changed.function))


def _select_rewritten(change: CodeChange) -> tuple[ChangedFunction, ...]:
    fresh = {id(changed.function) for changed in _fresh_functions(change)}
    older = (changed for changed in _all_functions(change) if id(changed.function) not in fresh)
    return tuple(changed for changed in older if _is_rewritten(changed) and not is_declaration(changed.function))


def _fresh_functions(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return change.cached(_select_fresh)


def _select_fresh(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _all_functions(change) if _is_new(changed, change))


def _all_functions(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return change.cached(_select_all)


def _select_all(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(_touched_functions(change.production_files()))


def _touched_functions(files: Iterable[AnalyzedFile]) -> Iterator[ChangedFunction]:
    for file in files:
        added = sorted(file.added_lines) if file.sources and not _has_conflict(file) else []
        for source in file.sources if added else ():
            for function in find_functions(source):
                if function.first_line <= added[-1] and function.last_line >= added[0] and not _is_cut(file, function):
                    yield ChangedFunction(file, function)


def is_import_fallback(function: Function) -> bool:
    """It takes the place of what could not be imported."""
    return any(around.type == "except_clause" for around in ancestors(function.node))


def _has_conflict(file: AnalyzedFile) -> bool:
    """Where a body ends in such a file no parser can tell."""
    return any(text.startswith("<<<<<<<") for text in file.diff.added_texts)


def _is_cut(file: AnalyzedFile, function: Function) -> bool:
    """Whether the fragment may end before the function does: only Python's bodies have no closing line."""
    source = function.source
    if source.is_whole or source.language is not Language.PYTHON:
        return False
    head = source.lines[function.node.start_point.row]
    behind = next((line for line in source.lines[function.node.end_point.row + 1 :] if line.strip()), None)
    if behind is not None:
        return _indentation(behind) > _indentation(head)
    end = source.first_line + len(source.lines) - 1 - (not source.lines[-1])
    return end not in file.added_lines  # the file goes on behind what the hunk shows


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_new(changed: ChangedFunction, change: CodeChange) -> bool:
    """Every line of it was added, and it was not merely moved or given another indentation."""
    file, function = changed
    lines, first = function.source.lines, function.source.first_line
    if function.first_line not in file.added_lines:
        return False
    numbers = range(function.first_line, function.last_line + 1)
    texts = {number: lines[number - first].strip() for number in numbers}
    whole = all(number in file.added_lines or text in CLOSING_LINES for number, text in texts.items())
    return whole and not _is_moved([text for text in texts.values() if text not in CLOSING_LINES], change)


def _is_moved(texts: list[str], change: CodeChange) -> bool:
    if not change.removed_texts.issuperset(texts):
        return False
    # few lines may stand anywhere: a body that was left behind when the function was moved
    return len(texts) > _FEW or tuple(texts) in change.cached_for_family(_removed_runs)


_FEW: Final = 3


def _removed_runs(change: CodeChange) -> frozenset[tuple[str, ...]]:
    """Up to three removed lines that followed each other."""
    lines = (text.strip() for file in change.files for text in file.diff.removed_texts)
    texts = [text for text in lines if text not in CLOSING_LINES]
    return frozenset(tuple(texts[at : at + size]) for at in range(len(texts)) for size in range(1, _FEW + 1))


def _is_rewritten(changed: ChangedFunction) -> bool:
    file, function = changed
    body, first = function.body, function.source.first_line
    rows = range(body.start_point.row, body.end_point.row + 1)
    opening = -1 if function.source.language is Language.PYTHON else body.start_point.row
    numbers = (
        row + first for row in rows if row != opening and function.source.lines[row].strip() not in CLOSING_LINES
    )
    line = next(numbers, None)  # of most functions the first line was there: then nobody need read the others
    is_written = line is not None and line in file.added_lines and all(line in file.added_lines for line in numbers)
    return is_written and bool(file.diff.removed_texts)


def documentation_of(function: Function) -> str:
    """What is said about a function, above it and in its docstring."""
    above = [text_of(note) for note in function.nodes_above if is_comment(note)]
    return " ".join((*reversed(above), function.docstring))
