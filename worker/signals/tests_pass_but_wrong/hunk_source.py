"""Skips as far as a hunk alone shows them: where the whole file is not known, its tests can't be parsed.

Does not see what stands between two hunks. Invariant: the line that makes the test is one that stood there before.
"""

from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.diff.parser import DiffLine, Hunk, LineKind
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language

_DEFINES: Final = {
    Language.PYTHON: pattern(r"\s*(?:async\s+)?def (test\w*)\(|\s*class (Test\w*|\w+Tests?)\b"),
    Language.GO: pattern(r"func (?:\([^)]{0,80}\) )?((?:Test|Fuzz)\w*)\("),
    Language.RUST: pattern(r"\s*(?:pub )?(?:async )?fn (\w+)\("),
    Language.JAVA: pattern(r"\s*(?:public |protected |private |final |static )*(?:void|class) (\w+)\b"),
    Language.CSHARP: pattern(
        r"\s*(?:public |protected |private |internal |sealed |static |async )*(?:void|Task|ValueTask|class) (\w+)\b"
    ),
    Language.PHP: pattern(r"\s*(?:public |final |static )*function (test\w*|it_\w+)\("),
    Language.KOTLIN: pattern(r"\s*(?:internal |private |suspend )*(?:fun|class) `?([^`(]{1,120})`?"),
}
_UNSKIPPED: Final = pattern(r"\.(?:skip|todo|fixme)\b|^(\s*)x(?=(?:it|test|describe|context|specify)\b)")
_TITLE: Final = pattern(r"[\"'`](.{1,80}?)[\"'`]")
_TRIVIAL_LINE: Final = pattern(r"\s*(?:#|//|/?\*|@|\"\"\".*\"\"\"\s*$|$)")
_NEAR: Final = 30


def find_skipped_in_hunk(line: DiffLine, file: AnalyzedFile) -> str | None:
    """The name of the test that stood there before and that this added line skips."""
    if file.language is None or file.language in SCRIPT_LANGUAGES or file.language is Language.RUBY:
        return _find_unskipped(line, file)
    hunk = next(other for other in file.diff.hunks if line in other.lines)
    defines = _DEFINES[file.language]
    head = [line for line in hunk.lines if line.kind is not LineKind.REMOVED]
    at = head.index(line)
    is_mark = line.text.lstrip().startswith(("@", "#[", "["))
    near = head[at + 1 : at + 1 + _NEAR] if is_mark else _lines_above(head, at, hunk)
    for other in near:
        match = defines.match(other.text)
        if match is not None:
            return next(filter(None, match.groups())) if other.kind is LineKind.CONTEXT else None
        if not is_mark and not _TRIVIAL_LINE.match(other.text):
            return None
    return None


def _lines_above(head: list[DiffLine], at: int, hunk: Hunk) -> list[DiffLine]:
    """The lines above, nearest first, and the one that git prints behind the second @@."""
    section = DiffLine(LineKind.CONTEXT, hunk.section, None, None)
    return [*reversed(head[max(0, at - _NEAR) : at]), section]


def _find_unskipped(line: DiffLine, file: AnalyzedFile) -> str | None:
    plain = _UNSKIPPED.sub(lambda match: match[1] or "", line.text, count=1).strip()
    title = _TITLE.search(plain)
    before = {line.text.strip() for line in file.diff.removed_lines}
    return title[1] if title is not None and plain != line.text.strip() and plain in before else None
