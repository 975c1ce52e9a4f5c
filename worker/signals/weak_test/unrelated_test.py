"""New tests that exercise nothing of what the change changes.

Does not resolve imports: a test that names a changed function, its type, its module or any new word of the code touches the
change. Invariant: silent where the change has no code of the test's language, or only such with too few names to tell.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import Change
from worker.signals.analysis.file_roles import SCRIPTS, Language
from worker.signals.analysis.test_pairs import Look, looks
from worker.signals.signal import Kind, Looks, Place, signal


@signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
def test_of_nothing_changed(change: Change) -> Iterator[Place]:
    """A new test names no function, type, module or word of the changed code: it would pass without the change as well.

    False alarms: 92 of 22175 clean changes with tests (0.4 %, at most 0.51 %).
    """
    new = [look for look in looks(change) if look.is_new]
    for look in new if 0 < len(new) <= _MANY else ():
        touched = change.once(_touched).get(_family(look.test.source.language), frozenset())
        if len(touched) >= _TELLING and touched.isdisjoint(_words_of(look)):
            line = look.test.first
            note = f"the new test `{look.test.name}` names nothing of the code that was changed"
            yield Place(note, look.file.path, line, line)


_MANY: Final = 10
_TELLING: Final = 3
"""Words of the changed code, below which nothing can be told."""


def _family(language: Language | None) -> Language | None:
    return Language.JAVASCRIPT if language in SCRIPTS else language


_WORD: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]{2,}|[a-z]{3,}")
_LONGEST: Final = 1_000
_COMMON: Final = frozenset(
    {"test", "tests", "assert", "equal", "expect", "return", "self", "this", "none", "null"}
    | {"true", "false", "public", "void", "static", "final", "const", "let", "var", "new"}
    | {"def", "func", "fn", "the", "and", "for", "not", "from", "import", "with"}
    | {"async", "await", "str", "int", "string", "len", "result", "value", "name", "get"}
    | {"set", "has", "error", "err", "raise", "throw", "throws", "case", "else"}
)


def _parts(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON


def _touched(change: Change) -> dict[Language | None, frozenset[str]]:
    """Words of the changed lines of code and of its path, by language."""
    found: dict[Language | None, frozenset[str]] = {}
    for file in change.production():
        family = _family(file.language)
        texts = [file.path.rpartition(".")[0], *(hunk.section for hunk in file.diff.hunks)]
        texts += [text[:_LONGEST] for text in (*file.diff.added_texts, *file.diff.removed_texts)]
        found[family] = found.get(family, frozenset()) | _parts(" ".join(texts))
    return found


def _words_of(look: Look) -> frozenset[str]:
    """All that the test says, its titles too."""
    return _parts(" ".join((look.test.text, look.test.name, *look.test.outer, look.test.marks)))
