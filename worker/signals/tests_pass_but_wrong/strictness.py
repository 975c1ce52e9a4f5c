"""Strictness of compilers, linters, shells and test runners that was switched off, so that what failed before now passes.

Does not know which rules a repository needs. Invariant: only what stood there before and asked for more counts: a new
configuration may be as lax as it likes.
"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, Side
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.ci_config import EditBlock, find_configuration, find_edit_blocks, is_comment
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from worker.dossier.diff.parser import DiffLine

_DEMANDS: Final = pattern(
    r"^\s*(?:run:\s*)?set -[a-z]*e[a-z]*\b|^\s*(?:run:\s*)?set -o (?:errexit|pipefail)|^\s*(?:-\s+)?[\"']?error(?:::?\w*)*[\"']?,?\s*$"
    r"|filterwarnings\s*+=\s*+\[?\s*+[\"']?error|(?:PYTHONWARNINGS|RUSTFLAGS|RUSTDOCFLAGS|CFLAGS|CXXFLAGS|GOFLAGS)[\"']?\s*[:=].*(?:error|-D\s?warnings|-Werror)"
    r"|-W\s?error\b|-Werror\b|-D\s?warnings\b|#!\[deny\(|--strict\b(?!=)|-race\b|--max-warnings[= ]0|--check-untyped-defs|--disallow-\S+|--noEmitOnError|--typecheck\b|-Xlint:all"
    r"|xfail_strict\s*=\s*true|--strict-(?:markers|config)|[\"']strict[\"']\s*:\s*true|^\s*strict\s*=\s*true|[\"']noUnchecked\w+[\"']\s*:\s*true|typeCheckingMode[\"']?\s*[:=]\s*[\"']strict"
    r"|[\"'](?:extends|presets?)[\"']\s*:.*strict|shell:\s*bash -[a-z]*e|allWarningsAsErrors\s*=\s*true|<failOnWarning>true"
)
_OF_RULE: Final = pattern(
    r"^\s*[\"']?([@\w/-]{3,80})[\"']?\s*+[:=]\s*+\[?\s*+[\"']?(error|deny|forbid|warn|off|allow|none|2|1|0)\b[\"']?"
)
_RANKS: Final = {"error": 2, "deny": 2, "forbid": 2, "2": 2, "warn": 1, "1": 1, "off": 0, "allow": 0, "none": 0, "0": 0}
_RULED: Final = pattern(r"(?:eslint|stylelint|biome|Cargo\.toml|clippy|pyright|pyproject|\.oxlint)")
_LONGEST: Final = 500
_MOST: Final = 2_000


@signal(Category.TESTS_PASS_BUT_WRONG, SignalKind.SUSPICION, SignalScope.CONFIGURATION)
def strictness_off(change: CodeChange) -> Iterator[SignalMatch]:
    """What made warnings, types or a failed command count was taken out or turned down, in CI or a tool's configuration.

    False alarms: 24 of 2038 clean changes with CI or tool configuration (1.2 %, at most 1.75 %).
    """
    for file in _find_strict_files(change):
        for edit in find_edit_blocks(file):
            yield from _find_removed(edit, file)
            yield from _find_lowered(edit, file)


def _find_strict_files(change: CodeChange) -> Iterator[AnalyzedFile]:
    files = {file.path: file for file in find_configuration(change)}
    yield from files.values()
    for file in change.files:
        if file.path not in files and file.path.rpartition("/")[2] in {"Cargo.toml", "lib.rs", "main.rs"}:
            yield file


def _find_removed(edit: EditBlock, file: AnalyzedFile) -> Iterator[SignalMatch]:
    still = [line.text[:_LONGEST] for line in edit.added[:_MOST] if not is_comment(line.text) or "#![" in line.text]
    for line in edit.removed[:_MOST]:
        match = None if _is_remark(line) else _DEMANDS.search(line.text[:_LONGEST])
        if match is not None and not any(map(_DEMANDS.search, still)) and match[0].strip() not in _head_text(file):
            yield SignalMatch(
                f"`{match[0].strip()[:60]}` no longer stands here", file.path, *_find_position(edit, line)
            )
            return


def _is_remark(line: "DiffLine") -> bool:
    return is_comment(line.text) and "#![" not in line.text


def _find_position(edit: EditBlock, line: "DiffLine") -> tuple[int | None, int | None, Side]:
    """The line that stands there now, else the one that went."""
    if edit.added:
        return edit.added[0].head_line, edit.added[0].head_line, Side.HEAD
    return line.base_line, line.base_line, Side.BASE


def _head_text(file: AnalyzedFile) -> str:
    return "\n".join(line.text for line in islice(file.diff.added_lines, _MOST))


def _find_lowered(edit: EditBlock, file: AnalyzedFile) -> Iterator[SignalMatch]:
    """The same rule, with less weight."""
    if _RULED.search(file.path) is None:
        return
    before = {
        match[1]: _RANKS[match[2]] for line in edit.removed[:_MOST] if (match := _OF_RULE.match(line.text[:_LONGEST]))
    }
    for line in edit.added[:_MOST]:
        match = _OF_RULE.match(line.text[:_LONGEST])
        if match is not None and _RANKS[match[2]] < before.get(match[1], 0):
            yield SignalMatch(f"the rule `{match[1]}` counts for less now", file.path, line.head_line)
