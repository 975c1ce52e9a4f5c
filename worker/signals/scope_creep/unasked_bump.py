"""New versions of dependencies that nothing asks for and nothing in the change uses.

A change that is about dependencies (no code in it, or its title says so) has none.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff import DiffLine, LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized_for_family
from worker.signals.analysis.relatedness import NAME_PATTERN, fold_name, stems_in
from worker.signals.scope_creep.unrelated_file import is_code, request_words_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, has_more_than_documents, signal

_LONGEST_LINE: Final = 500
MANIFESTS: Final = pattern(
    r"(^|/)(package\.json|pyproject\.toml|setup\.cfg|setup\.py|[\w.-]*requirements[\w.-]*\.txt|Pipfile|Cargo\.toml|go\.mod"
    r"|pom\.xml|build\.gradle(\.kts)?|libs\.versions\.toml|Gemfile|composer\.json|[\w.-]+\.csproj|Directory\.Packages\.props)$"
)
_VERSION: Final = pattern(r"(?<![\w.])v?\d{1,9}(?:\.[\w*-]{1,30}){0,6}")
_OWN_VERSION: Final = pattern(r"^\s*[\"']?version[\"']?\s*[:=]")
_ARTIFACT: Final = pattern(r"<artifactId>([^<]{1,200})</artifactId>")
BUMP_WORDS: Final = (
    "bump bumps upgrade upgrades update updates dependency dependencies deps dep release version requirement pin"
)
_NO_NAMES: Final = """
version optional true false features default indirect github com org net io www golang gopkg require requires path git
workspace dependencies dependency dev test compile runtime api implementation python package
"""
"""Words of a manifest's lines that are no name of a dependency."""
_SHORTEST: Final = 3
_LINES_ABOVE: Final = 3


class _Bump(NamedTuple):
    line: DiffLine
    names: frozenset[str]


@signal(Category.SCOPE_CREEP, SignalKind.SUSPICION, SignalScope.ANYTHING, only_if=has_more_than_documents)
def unasked_bump(change: CodeChange) -> Iterator[SignalMatch]:
    """A dependency's version was raised or lowered beside changed code that does not use it, and no text asks for it.

    Why it matters: A new version brings changes that no text asks for and no reviewer reads.
    Example: `"esbuild": "^0.25.5"` becomes `"^0.26.5"` in a change about uploads.
    False alarms: 153 of 30214 clean changes with anything (0.5 %, at most 0.59 %).
    """
    asked = request_words_of(change)
    if asked.title & stems_in(BUMP_WORDS) or not any(map(is_code, change.files)):
        return
    named = {fold_name(name) for name in asked.names}
    for file in change.files:
        for line, names in _find_bumps(file) if MANIFESTS.search(file.path) else ():
            if names and names.isdisjoint(named) and names.isdisjoint(_find_used_names(change)):
                note = f"a dependency's version changed: {line.text.strip()[:80]}"
                yield SignalMatch(note, file.path, line.head_line)


@memoized_for_family
def _find_used_names(change: CodeChange) -> frozenset[str]:
    """Names, folded, in the changed lines and in the paths of code."""
    code = [file for file in change.files if is_code(file)]
    texts = (text[:_LONGEST_LINE] for file in code for text in (*file.diff.added_texts, *file.diff.removed_texts))
    paths = (file.path for file in code)
    return frozenset(map(fold_name, {name for text in chain(texts, paths) for name in NAME_PATTERN.findall(text)}))


def _find_bumps(file: AnalyzedFile) -> Iterator[_Bump]:
    for hunk in file.diff.hunks:
        removed = {_shape(line.text): line.text for line in hunk.lines if line.kind is LineKind.REMOVED}
        for at, line in enumerate(hunk.lines):
            if line.kind is not LineKind.ADDED or _OWN_VERSION.match(line.text):
                continue
            before = removed.get(_shape(line.text))
            is_other = before is not None and before.strip() != line.text.strip()
            if is_other and _VERSION.search(line.text[:_LONGEST_LINE]):
                yield _Bump(line, _find_names(line, hunk.lines[max(0, at - _LINES_ABOVE) : at]))


def _shape(text: str) -> str:
    return _VERSION.sub("#", text[:_LONGEST_LINE]).strip()


def _find_names(line: DiffLine, above: tuple[DiffLine, ...]) -> frozenset[str]:
    """The names of the dependency in the line; in XML, in the lines above."""
    text = line.text[:_LONGEST_LINE]
    if text.strip().startswith("<version>"):
        text = " ".join(name for previous in above for name in _ARTIFACT.findall(previous.text[:_LONGEST_LINE]))
    names = {fold_name(name) for name in NAME_PATTERN.findall(_VERSION.sub(" ", text)) if len(name) >= _SHORTEST}
    return frozenset(names.difference(_NO_NAMES.split()))
