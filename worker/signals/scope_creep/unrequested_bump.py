"""Edits of manifests and lock files that nobody asked for and that nothing in the change uses.

Does not know any registry. Invariant: a change that is about dependencies (no code in it, or its title says so) has
none.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff.parser import DiffLine, LineKind
from worker.signals.analysis.change import Change, ChangedFile
from worker.signals.analysis.relatedness import NAME, folded, stems_in
from worker.signals.scope_creep.unrelated_file import asked_by, first_change, is_code
from worker.signals.signal import Kind, Looks, Place, signal

_LONGEST_LINE: Final = 500
_MANIFESTS: Final = pattern(
    r"(^|/)(package\.json|pyproject\.toml|setup\.cfg|setup\.py|[\w.-]*requirements[\w.-]*\.txt|Pipfile|Cargo\.toml|go\.mod"
    r"|pom\.xml|build\.gradle(\.kts)?|libs\.versions\.toml|Gemfile|composer\.json|[\w.-]+\.csproj|Directory\.Packages\.props)$"
)
_LOCKS: Final = pattern(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|poetry\.lock|uv\.lock|pdm\.lock"
    r"|Pipfile\.lock|Cargo\.lock|go\.sum|Gemfile\.lock|composer\.lock|gradle\.lockfile|packages\.lock\.json|deno\.lock)$"
)
_VERSION: Final = pattern(r"(?<![\w.])v?\d{1,9}(?:\.[\w*-]{1,30}){0,6}")
_OWN_VERSION: Final = pattern(r"^\s*[\"']?version[\"']?\s*[:=]")
_ARTIFACT: Final = pattern(r"<artifactId>([^<]{1,200})</artifactId>")
_ABOUT: Final = (
    "bump bumps upgrade upgrades update updates dependency dependencies deps dep release version requirement pin"
)
_NO_NAMES: Final = """
version optional true false features default indirect github com org net io www golang gopkg require requires path git
workspace dependencies dependency dev test compile runtime api implementation python package
"""
"""What a line of a manifest says beside the name of the dependency."""
_SHORTEST: Final = 3
_ABOVE: Final = 3


class _Bump(NamedTuple):
    line: DiffLine
    names: frozenset[str]


@signal(Category.SCOPE_CREEP, Kind.SUSPICION, Looks.ANYTHING)
def unasked_bump(change: Change) -> Iterator[Place]:
    """A dependency's version was raised or lowered beside changed code that does not use it, and nobody asked for it.

    False alarms: 153 of 30214 clean changes with anything (0.5 %, at most 0.59 %).
    """
    asked = change.once(asked_by)
    if asked.title & stems_in(_ABOUT) or not any(map(is_code, change.files)):
        return
    named = {folded(name) for name in asked.names}
    for file in change.files:
        for bump in _bumps(file) if _MANIFESTS.search(file.path) else ():
            if bump.names and not bump.names & named and not bump.names & change.meanwhile(_used):
                yield Place(
                    f"a dependency's version changed: {bump.line.text.strip()[:80]}", file.path, bump.line.head_line
                )


@signal(Category.SCOPE_CREEP, Kind.SUSPICION, Looks.ANYTHING)
def lock_file_alone(change: Change) -> Iterator[Place]:
    """A lock file changed beside code, no manifest did, and nobody asked for it.

    False alarms: 81 of 30214 clean changes with anything (0.3 %, at most 0.33 %).
    """
    if change.once(asked_by).words & stems_in(_ABOUT) or not any(map(is_code, change.files)):
        return
    if any(_MANIFESTS.search(file.path) for file in change.files):
        return
    for file in change.files:
        if _LOCKS.search(file.path):
            line, side = first_change(file)
            yield Place("a lock file changed, and no manifest did", file.path, line, side=side)


def _used(change: Change) -> frozenset[str]:
    """Names, folded, in the changed lines and in the texts of code, and in their paths."""
    code = [file for file in change.files if is_code(file)]
    texts = (text[:_LONGEST_LINE] for file in code for text in (*file.diff.added_texts, *file.diff.removed_texts))
    paths = (file.path for file in code)
    names = frozenset(chain.from_iterable(map(NAME.findall, chain(texts, paths))))
    return frozenset(map(folded, names))


def _bumps(file: ChangedFile) -> Iterator[_Bump]:
    for hunk in file.diff.hunks:
        removed = {_shape(line.text): line.text for line in hunk.lines if line.kind is LineKind.REMOVED}
        for at, line in enumerate(hunk.lines):
            if line.kind is not LineKind.ADDED or _OWN_VERSION.match(line.text):
                continue
            before = removed.get(_shape(line.text))
            if (
                before is not None
                and before.strip() != line.text.strip()
                and _VERSION.search(line.text[:_LONGEST_LINE])
            ):
                yield _Bump(line, _named(line, hunk.lines[max(0, at - _ABOVE) : at]))


def _shape(text: str) -> str:
    return _VERSION.sub("#", text[:_LONGEST_LINE]).strip()


def _named(line: DiffLine, above: tuple[DiffLine, ...]) -> frozenset[str]:
    """What the line calls the dependency; in XML the name stands in the line above."""
    text = line.text[:_LONGEST_LINE]
    if text.strip().startswith("<version>"):
        text = " ".join(name for one in above for name in _ARTIFACT.findall(one.text[:_LONGEST_LINE]))
    names = {folded(name) for name in NAME.findall(_VERSION.sub(" ", text)) if len(name) >= _SHORTEST}
    return frozenset(names.difference(_NO_NAMES.split()))
