"""New tests that exercise nothing of what the change changes.

A test that names a changed function, its type, its module or any new word of the code exercises the change; imports are not
resolved. Silent where the change has no code of the test's language, or too few names to tell.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import CodeChange, memoized
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.test_pairs import find_test_pairs
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_MANY: Final = 10
_TELLING: Final = 3
"""The fewest words of changed code that tell whether a test is related."""
_WORD: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]{2,}|[a-z]{3,}")
_LONGEST: Final = 1_000
_COMMON: Final = frozenset(
    {"test", "tests", "assert", "equal", "expect", "return", "self", "this", "none", "null"}
    | {"true", "false", "public", "void", "static", "final", "const", "let", "var", "new"}
    | {"def", "func", "fn", "the", "and", "for", "not", "from", "import", "with"}
    | {"async", "await", "str", "int", "string", "len", "result", "value", "name", "get"}
    | {"set", "has", "error", "err", "raise", "throw", "throws", "case", "else"}
)


@signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
def test_of_nothing_changed(change: CodeChange) -> Iterator[SignalMatch]:
    """A new test names no function, type, module or word of the changed code: it would pass without the change as well.

    Why it matters: It looks like a proof of the change, and passes on the code of before as well.
    Example: `test_version` in a change that rewrites the parser.
    False alarms: 92 of 22175 clean changes with tests (0.4 %, at most 0.51 %).
    """
    new = [pair for pair in find_test_pairs(change) if pair.is_new]
    for pair in new if 0 < len(new) <= _MANY else ():
        touched = _find_touched_words(change).get(_language_family(pair.test.source.language), frozenset())
        if len(touched) >= _TELLING and touched.isdisjoint(
            _split_words(" ".join((pair.test.text, pair.test.name, *pair.test.outer_names, pair.test.marks)))
        ):
            line = pair.test.first_line
            note = f"the new test `{pair.test.name}` names nothing of the code that was changed"
            yield SignalMatch(note, pair.file.path, line, line)


def _language_family(language: Language | None) -> Language | None:
    return Language.JAVASCRIPT if language in SCRIPT_LANGUAGES else language


def _split_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON


@memoized
def _find_touched_words(change: CodeChange) -> dict[Language | None, frozenset[str]]:
    """Words of the changed lines of code and of its path, by language."""
    names: dict[Language | None, frozenset[str]] = {}
    for file in change.production_files():
        family = _language_family(file.language)
        texts = [file.path.rpartition(".")[0], *(hunk.section for hunk in file.diff.hunks)]
        texts += [text[:_LONGEST] for text in (*file.diff.added_texts, *file.diff.removed_texts)]
        names[family] = names.get(family, frozenset()) | _split_words(" ".join(texts))
    return names
