"""Edits of lock files that no manifest and no text asks for."""

from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.relatedness import stems_in
from worker.signals.scope_creep.unasked_bump import BUMP_WORDS, MANIFESTS
from worker.signals.scope_creep.unrelated_file import first_change, is_code, request_words_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, has_more_than_documents, signal

_LOCKS: Final = pattern(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|poetry\.lock|uv\.lock|pdm\.lock"
    r"|Pipfile\.lock|Cargo\.lock|go\.sum|Gemfile\.lock|composer\.lock|gradle\.lockfile|packages\.lock\.json|deno\.lock)$"
)


@signal(Category.SCOPE_CREEP, SignalKind.SUSPICION, SignalScope.ANYTHING, only_if=has_more_than_documents)
def lock_file_alone(change: CodeChange) -> Iterator[SignalMatch]:
    """A lock file changed beside code, no manifest did, and no text asks for it.

    Why it matters: What is installed changes, and no line says why.
    Example: `poetry.lock` changes beside code, and `pyproject.toml` does not.
    False alarms: 81 of 30214 clean changes with anything (0.3 %, at most 0.33 %).
    """
    if request_words_of(change).stems & stems_in(BUMP_WORDS) or not any(map(is_code, change.files)):
        return
    if any(MANIFESTS.search(file.path) for file in change.files):
        return
    for file in change.files:
        if _LOCKS.search(file.path):
            line, side = first_change(file)
            yield SignalMatch("a lock file changed, and no manifest did", file.path, line, side=side)
