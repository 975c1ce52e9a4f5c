"""Where a test that no runner finds any more still stands: under another name, in a comment, in a file nobody collects.

Does not say that it is wrong (`test_deleted.py`). Invariant: what other tests call became a part of them, and is not hidden.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.dossier.diff.parser import ChangeKind
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import Function, find_functions
from worker.signals.analysis.syntax import text_of
from worker.signals.analysis.tests import Test, find_tests

_COLLECTED: Final = {
    Language.PYTHON: pattern(r"(^|/)(test_[^/]*|[^/]*_tests?)\.py$"),
    Language.GO: pattern(r"_test\.go$"),
    Language.JAVA: pattern(r"(^|/)([^/]*Test[^/]*|[^/]*(IT|Spec))\.java$"),
    Language.RUBY: pattern(r"_(?:spec|test)\.rb$|(^|/)test_[^/]*\.rb$"),
    Language.PHP: pattern(r"Test\.php$"),
    **dict.fromkeys(
        SCRIPT_LANGUAGES, pattern(r"(\.|-|_)(test|spec|cy|e2e)s?\.[cm]?[jt]sx?$|(^|/)__tests__/[^_][^/]*$")
    ),
}
"""Files that the usual runners of a language look at. Rust's, C#'s and Kotlin's find tests by their marks alone."""


def find_hidden_line(test: Test, file: AnalyzedFile) -> int | None:
    """The line of the head at which the test stands, although it is none any more."""
    if file.diff.change is ChangeKind.DELETED:
        return None
    return _find_renamed(test, file) or _find_commented_out(test, file) or _find_enclosed(test, file)


def is_in_comment(file: AnalyzedFile, line: int) -> bool:
    """Whether this line of the head, at which a test stands, is a comment or in one."""
    texts = (source.lines[line - source.first_line] for source in file.sources if source.has_line(line))
    return any(map(_COMMENT.match, texts)) or (file.language is not Language.PYTHON and file.is_quoted(line))


def is_out_of_collection(file: AnalyzedFile) -> bool:
    """Whether a file that a runner collected was renamed so that it does not, with its tests."""
    collected = _COLLECTED.get(file.language) if file.language is not None else None
    if collected is None or file.diff.old_path is None or file.diff.change is not ChangeKind.RENAMED:
        return False
    if not collected.search(file.diff.old_path) or collected.search(file.path):
        return False
    return any(find_tests(source) for source in file.sources)


class _Candidate(NamedTuple):
    """A function that is no test, and what it does line by line."""

    function: Function
    lines: "Counter[str]"


def _find_candidates(file: AnalyzedFile) -> tuple[_Candidate, ...]:
    tests = {test.function.first_line for source in file.sources for test in find_tests(source)}
    functions = (
        function for source in file.sources for function in find_functions(source) if function.first_line not in tests
    )
    return tuple(_Candidate(function, Counter(_lines(function))) for function in functions)


def _lines(function: Function) -> Iterator[str]:
    return filter(None, (line.strip() for line in text_of(function.body).split("\n")))


def _find_renamed(test: Test, file: AnalyzedFile) -> int | None:
    """A function that does what the test did, and that nothing calls."""
    for function, lines in file.cached(_find_candidates):
        is_new = function.first_line in file.added_lines or function.name == test.name
        if is_new and _is_same(function.name, lines, test) and not _is_used(function, file):
            return function.first_line
    return None


def _is_same(name: str, lines: "Counter[str]", test: Test) -> bool:
    """The same name but for what hides it, or a longer body that says the same."""
    plain = test.name.lower()
    shared = sum((lines & test.lines).values())
    if plain in name.lower() or plain.removeprefix("test") == name.lower().lstrip("_"):
        return 2 * shared >= test.lines.total()
    return test.lines.total() >= _TELLING_LINES and 10 * shared >= 9 * max(test.lines.total(), lines.total())


_TELLING_LINES: Final = 3
"""Lines of a body that say which test it was, whatever its name."""


def _is_used(function: Function, file: AnalyzedFile) -> bool:
    text = file.head_text or "\n".join(source.text for source in file.sources)
    return sum(1 for word in _WORD.findall(text) if word == function.name) > 1


_WORD: Final = pattern(r"\w+")
_COMMENT: Final = pattern(r"\s*(?:#|//|--|\*|/\*+)+\s?")


def _find_commented_out(test: Test, file: AnalyzedFile) -> int | None:
    """Its first line was added again, behind a comment mark."""
    wanted = _definition_line(test)
    for line in file.diff.added_lines:
        mark = _COMMENT.match(line.text[:_LONGEST])
        if mark and wanted and line.text[mark.end() :].strip() == wanted:
            return line.head_line
    return None


_LONGEST: Final = 1_000


def _definition_line(test: Test) -> str:
    """The line of the base with its name."""
    at = test.first_line - test.source.first_line
    return test.source.lines[at].strip()


ENCLOSING_MARKS: Final = pattern(r"/\*|\"\"\"|'''|`|=begin|\bif (?:false|0)\b|#if\b")
"""What begins a comment, a string or a branch that never runs, around code that stays as it is."""


def _find_enclosed(test: Test, file: AnalyzedFile) -> int | None:
    """Its first line was not touched, yet in the whole head it is no test: a comment or a string was put around it.

    Where the change opens none, a grammar that reads the line as quoted has lost its way.
    """
    if not (test.source.is_whole and file.sources and file.sources[0].is_whole):
        return None
    if not any(ENCLOSING_MARKS.search(line.text) for line in file.diff.added_lines):
        return None
    line = next(_find_unmoved(test.first_line, file), None)
    return line if line is not None and file.is_quoted(line) else None


def _find_unmoved(base_line: int, file: AnalyzedFile) -> Iterator[int]:
    """The line of the head at which this line of the base stands, if it is still there."""
    shift = 0
    for hunk in file.diff.hunks:
        if base_line < hunk.base_start:
            break
        if base_line < hunk.base_start + hunk.base_count:
            numbers = (line.head_line for line in hunk.lines if line.base_line == base_line)
            yield from (line for line in numbers if line is not None)
            return
        shift += hunk.head_count - hunk.base_count
    yield base_line + shift
