"""Rules that forbid code, held against the lines that a change adds.

Does not decide what follows. Invariant: a line that was only moved or edited around the forbidden code is no breach.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.dossier.diff.parser import DiffLine, Hunk
from worker.dossier.repo_rules.rule import RepoRule, RuleReach
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language
from worker.signals.spec_violation.forbidden_code import LONGEST_LINE, CodePattern, build_code_patterns, is_in_code
from worker.signals.spec_violation.scopes import ScopeCoverage, check_file_coverage, is_in_inline_tests, is_program
from worker.signals.spec_violation.violation import RuleViolation


class _Ban(Value):
    """One thing that a rule forbids, as it is searched for."""

    rule: RepoRule
    target: str
    pattern: CodePattern


def find_code_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """The added lines with code that *rule* forbids."""
    files = [
        (file, check_file_coverage(rule.scope, file)) for file in change.files if file.language and file.diff.hunks
    ]
    reached = [(file, covers) for file, covers in files if covers is not ScopeCoverage.NO]
    bans = (
        _Ban(rule, target, searched) for target in rule.targets for searched in build_code_patterns(target, rule.noun)
    )
    for ban in bans:
        for file, covers in reached:
            if _can_occur(ban.pattern, file):
                sure = rule.is_sure and (covers is ScopeCoverage.YES or _is_for_programs_too(ban, file, covers))
                yield from _find_in_file(ban, file, change.removed_texts, is_sure=sure)


def _is_for_programs_too(ban: _Ban, file: AnalyzedFile, covers: ScopeCoverage) -> bool:
    """A program that is shipped is production code, though no library; to print, to read, to exit is what it is there for."""
    is_wide = ban.rule.scope.reach is RuleReach.LIBRARY and not _LIBRARY_WORDS.search(ban.rule.origin.text)
    is_shipped = (
        covers is ScopeCoverage.UNSURE and file.role is FileRole.PRODUCTION and _PROGRAMS.search(file.path) is not None
    )
    return is_wide and is_shipped and not _FOR_PROGRAMS.search(ban.target)


_LIBRARY_WORDS: Final = pattern(
    r"\blibrar|\blibs?\b|\bpackages?\b|\bpublished\b|\bmodules?\b|\bmain\b|\bcli\b|\bscripts?\b", re.IGNORECASE
)
_PROGRAMS: Final = pattern(r"(?:^|/)(?:cmd|cli|_cli|bin|commands?)/|(?:^|/)(?:cli|main|__main__)\.\w+$")
_FOR_PROGRAMS: Final = pattern(
    r"print|console|echo|puts|System\.(?:out|err|exit)|fmt\.|log|write|read|input|exit|panic|unwrap|expect|abort|argv|args|env|getenv",
    re.IGNORECASE,
)


def _can_occur(searched: CodePattern, file: AnalyzedFile) -> bool:
    """A quick look at all added lines at once, which may only be wrong where it says yes."""
    of_language = not searched.languages or file.language in searched.languages
    text = file.cached(_added_text) if of_language else ""
    return searched.word in text and searched.regex.search(text) is not None


def _added_text(file: AnalyzedFile) -> str:
    return "\n".join(line.text for line in file.diff.added_lines if len(line.text) <= LONGEST_LINE)


def _find_in_file(ban: _Ban, file: AnalyzedFile, moved: frozenset[str], *, is_sure: bool) -> Iterator[RuleViolation]:
    search = ban.pattern.regex.search
    was_there = sum(1 for line in file.diff.removed_lines if search(line.text[:LONGEST_LINE]))
    was_there = was_there or any(search(text[:LONGEST_LINE]) for text in _unchanged_lines(file))
    is_output = _PRINTS.search(ban.target) is not None and is_program(file)
    for hunk in file.diff.hunks:
        hits = [line for line, match in _find_hits(hunk, ban.pattern, moved) if _is_violation(ban, file, line, match)]
        removed = sum(1 for line in hunk.lines if line.head_line is None and search(line.text[:LONGEST_LINE]))
        if len(hits) <= removed:
            continue
        source = _source_of(file, hits[0])
        is_own = _is_own_name(ban, source)
        is_clear = source.is_whole or _is_clear(hunk, source.language, hits[0])
        sure = is_sure and not (was_there or is_output or is_own) and is_clear
        for line in hits:
            what = f"this line adds `{ban.target}`"
            is_meant = _mentions_tests(ban.rule) or not _is_test_code(file, line)
            is_meant = is_meant and not (_has_exception_directive(hunk, line) and not _DIRECTIVE.search(ban.target))
            yield RuleViolation(ban.rule, what, sure and is_meant, file.path, line.head_line, target=ban.target)


def _has_exception_directive(hunk: Hunk, hit: DiffLine) -> bool:
    """A directive on the line, or right above it, tells a linter that the author means it: the team's own way to make an exception."""
    number = hit.head_line or 0
    near = (line.text for line in hunk.lines if line.head_line in {number, number - 1})
    return any(_DIRECTIVE.search(text[:LONGEST_LINE]) for text in near)


_DIRECTIVE: Final = pattern(
    r"(?:eslint|oxlint|biome|tslint|deno-lint|rubocop|phpcs|ktlint|pylint)[-:][\w: -]*(?:disable|ignore)|# noqa\b|# type: ignore|// ?nolint\b"
    r"|#\[(?:allow|expect)\(|@SuppressWarnings|@Suppress\(|#pragma warning disable|\bNOSONAR\b|@ts-(?:ignore|expect-error)"
)


def _mentions_tests(rule: RepoRule) -> bool:
    """By its words, by what it forbids, or by the folder of its file; any other rule may mean production code alone."""
    texts = (rule.origin.text, rule.origin.path, *rule.scope.inside)
    return rule.scope.reach is RuleReach.TESTS or any(map(_TEST_WORDS.search, texts))


_TEST_WORDS: Final = pattern(
    r"(?:\b|_)(?:unit|py|vi)?tests?(?:\b|_)|\btesting\b|\bspecs?\b|\bmock|\bassert|\bfixtures?\b|\bjest\b|\bmocha\b|\bjunit\b|\.only\b|\beverywhere\b|\banywhere\b",
    re.IGNORECASE,
)


def _is_test_code(file: AnalyzedFile, line: DiffLine) -> bool:
    return file.role is FileRole.TEST or is_in_inline_tests(file, line.head_line or 0)


def _unchanged_lines(file: AnalyzedFile) -> Iterator[str]:
    """The lines of code that the change leaves as they are: who wrote so before was not told otherwise."""
    for source in file.sources:
        for number, text in enumerate(source.lines, source.first_line):
            if number not in file.added_lines and not _COMMENTED.match(text):
                yield text


def _find_hits(hunk: Hunk, searched: CodePattern, moved: frozenset[str]) -> Iterator["tuple[DiffLine, re.Match[str]]"]:
    for line in hunk.lines:
        if line.base_line is None and len(line.text) <= LONGEST_LINE and line.text.strip() not in moved:
            match = searched.regex.search(line.text)
            if match:
                yield line, match


def _is_violation(ban: _Ban, file: AnalyzedFile, line: DiffLine, match: "re.Match[str]") -> bool:
    number = line.head_line or 0
    source = next((source for source in file.sources if source.has_line(number)), None)
    if source is None or (not ban.pattern.in_comments and _COMMENTED.match(line.text)):
        return False
    if ban.rule.scope.reach is RuleReach.LIBRARY and is_in_inline_tests(file, number):
        return False
    column = match.start() + len(match[0]) - len(match[0].lstrip())
    return is_in_code(source, number, column, ban.pattern)


_COMMENTED: Final = pattern(r"\s*(?:#(?![!\[])|//|\*(?:\s|$|/)|/\*|>>>|\.\.\. )")


def _is_own_name(ban: _Ban, source: Source) -> bool:
    """Whether a bare name may be something that the file defines or imports, and not what the rule means."""
    name = ban.target.removesuffix("()")
    if not name.isidentifier() or ban.pattern.is_import or name in _NO_NAMES:
        return False
    if not source.is_whole:
        return name not in _WELL_KNOWN
    word = rf"\b{re.escape(name)}\b"
    made = (
        rf"\b(?:def|function|func|fn|class)\s+(?:\([^)\n]{{0,200}}\)\s*)?{word}|^[^\S\n]*(?:from\s.{{0,300}}\bimport|import|(?:pub )?use)\b.{{0,300}}{word}"
        rf"|^[^\S\n]*(?:let |const |var )?{word}\s*:?=[^=]|^[^\S\n]+{word}(?: as \w+)?,?$|\bas {word}"
    )
    return re.search(made, source.text, re.MULTILINE) is not None


_NO_NAMES: Final = frozenset({"debugger", "unsafe", "any", "goto", "var", "global", "nonlocal", "enum"})
_WELL_KNOWN: Final = frozenset({"print", "panic", "printStackTrace"})
_PRINTS: Final = pattern(r"print|console\.|echo|puts\b|System\.(?:out|err)|fmt\.|write", re.IGNORECASE)


def _source_of(file: AnalyzedFile, line: DiffLine) -> Source:
    return next(source for source in file.sources if source.has_line(line.head_line or 0))


def _is_clear(hunk: Hunk, language: Language, hit: DiffLine) -> bool:
    """Whether a piece of a file can't begin inside of a string or a comment without showing it before *hit*."""
    text = "\n".join(line.text for line in hunk.lines if line.head_line is not None)
    if language is Language.PYTHON:
        return ">>>" not in text and _is_outside_strings(hunk, hit)
    if language in SCRIPT_LANGUAGES and text.count("`") % 2:
        return False
    above = "\n".join(line.text for line in hunk.lines if 0 < (line.head_line or 0) < (hit.head_line or 0))
    nearest = [*_MARKS.findall(above)[-1:], *_MARKS.findall(text[len(above) :])[:1]]
    return not nearest or nearest[0] == ("*/" if _MARKS.search(above) else "/*")


_MARKS: Final = pattern(r"/\*|\*/")


def _is_outside_strings(hunk: Hunk, hit: DiffLine) -> bool:
    """Whether long strings open and close in pairs before *hit*; one that a definition stands above opens."""
    lines = [line for line in hunk.lines if line.head_line is not None]
    counts = [len(_TRIPLE.findall(line.text)) for line in lines]
    before = sum(
        count for line, count in zip(lines, counts, strict=True) if (line.head_line or 0) < (hit.head_line or 0)
    )
    for at, (upper, lower) in enumerate(pairwise(lines), 1):
        if _DEFINES.match(upper.text) and _OPENS.match(lower.text):
            return (before - sum(counts[:at])) % 2 == 0
    return sum(counts) % 2 == 0


_TRIPLE: Final = pattern(r"\"\"\"|'''")
_DEFINES: Final = pattern(r"\s*(?:async def|def|class)\b.{1,300}:\s*$")
_OPENS: Final = pattern(r"\s*[rRbBuU]{0,2}(?:\"\"\"|''')")
