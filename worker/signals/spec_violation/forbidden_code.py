"""Rules that forbid code, checked against the added lines: search patterns for what a rule names, and where a hit counts.

A hit is code, or a comment for a directive. A line that was moved, or edited around the forbidden code, is no violation.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.diff import DiffLine, Hunk
from worker.dossier.repo_rules.scope import RepoRule, RuleReach
from worker.signals.analysis.change import AnalyzedFile, CodeChange, Source
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language
from worker.signals.analysis.syntax import is_comment, with_ancestors
from worker.signals.spec_violation.violation import (
    RuleViolation,
    ScopeCoverage,
    check_file_coverage,
    is_in_inline_tests,
    is_program,
)

_LONGEST_LINE: Final = 1_000
_PARTS: Final = pattern(r"\w+|\(\.\.\.\)|\(…\)|\(\)|\.\.\.|…|\s+|[^\w\s]")
_COMMENT: Final = pattern(
    r"(?:#(?!\[|!\[)|//|/\*|<!--)\s*\S|@ts-|(?:eslint|biome|prettier|istanbul|tslint)-|(?:TODO|FIXME|XXX|HACK|NOSONAR|noqa|nolint)\b"
)
_NAME: Final = pattern(r"[A-Za-z_]\w*")
_MODULE: Final = pattern(r"@?[A-Za-z_][\w./:-]*")
_KEYWORDS: Final = frozenset(
    {"unsafe", "debugger", "var", "goto", "global", "nonlocal", "static", "async", "await", "with", "enum"}
)
_PYTHON: Final = frozenset(
    {"print", "exec", "input", "breakpoint", "globals", "locals", "setattr", "getattr", "hasattr", "assert", "lambda"}
)
_DEFINES: Final = r"(?<!\bdef )(?<!\bfn )(?<!\bfunc )(?<!\bfunction )"
_TYPED: Final = r"(?:(?<=:)|(?<=<)|(?<=\|)|(?<=,)|(?<=as)|(?<==))\s*"
_NOT_SET: Final = r"(?!\s*=(?![=>]))"
_TYPES: Final = frozenset({"any", "unknown", "object", "Object", "Function", "never"})
_STARRED: Final = frozenset({"import *", "from x import *", "from module import *", "from ... import *"})
_STARRED_IMPORT: Final = r"^\s*from\s+[\w.]+\s+import\s+\*|^\s*import\s+(?:static\s+)?[\w.]+\.\*\s*;"
_WORD: Final = pattern(r"\w+")
_OF_MODULE: Final = pattern(r"([a-z_]\w*)(\.[a-z_].*)", re.DOTALL)
_ARGUMENTS: Final = frozenset({"()", "(...)", "(…)"})
_ELLIPSES: Final = frozenset({"...", "…"})
_OPENERS: Final = frozenset("#/")
_LOOSE: Final = frozenset("#/:")
_METHODS: Final = frozenset({"unwrap()", "expect()"})
_METHOD: Final = pattern(r"[a-z]+[A-Z]\w*\(\)")
_TEXT: Final = pattern(r"string|template|char_literal|text_block|jsx_text|regex")
_LIBRARY_WORDS: Final = pattern(
    r"\blibrar|\blibs?\b|\bpackages?\b|\bpublished\b|\bmodules?\b|\bmain\b|\bcli\b|\bscripts?\b", re.IGNORECASE
)
_PROGRAMS: Final = pattern(r"(?:^|/)(?:cmd|cli|_cli|bin|commands?)/|(?:^|/)(?:cli|main|__main__)\.\w+$")
_FOR_PROGRAMS: Final = pattern(
    r"print|console|echo|puts|System\.(?:out|err|exit)|fmt\.|log|write|read|input|exit|panic|unwrap|expect|abort|argv|args|env|getenv",
    re.IGNORECASE,
)
_DIRECTIVE: Final = pattern(
    r"(?:eslint|oxlint|biome|tslint|deno-lint|rubocop|phpcs|ktlint|pylint)[-:][\w: -]*(?:disable|ignore)|# noqa\b|# type: ignore|// ?nolint\b"
    r"|#\[(?:allow|expect)\(|@SuppressWarnings|@Suppress\(|#pragma warning disable|\bNOSONAR\b|@ts-(?:ignore|expect-error)"
)
_TEST_WORDS: Final = pattern(
    r"(?:\b|_)(?:unit|py|vi)?tests?(?:\b|_)|\btesting\b|\bspecs?\b|\bmock|\bassert|\bfixtures?\b|\bjest\b|\bmocha\b|\bjunit\b|\.only\b|\beverywhere\b|\banywhere\b",
    re.IGNORECASE,
)
_COMMENTED: Final = pattern(r"\s*(?:#(?![!\[])|//|\*(?:\s|$|/)|/\*|>>>|\.\.\. )")
_NO_NAMES: Final = frozenset({"debugger", "unsafe", "any", "goto", "var", "global", "nonlocal", "enum"})
_WELL_KNOWN: Final = frozenset({"print", "panic", "printStackTrace"})
_PRINTS: Final = pattern(r"print|console\.|echo|puts\b|System\.(?:out|err)|fmt\.|write", re.IGNORECASE)
_MARKS: Final = pattern(r"/\*|\*/")
_TRIPLE: Final = pattern(r"\"\"\"|'''")
_DEFINITION: Final = pattern(r"\s*(?:async def|def|class)\b.{1,300}:\s*$")
_OPENS: Final = pattern(r"\s*[rRbBuU]{0,2}(?:\"\"\"|''')")


@dataclass(frozen=True)
class CodePattern:
    """A search pattern, its languages (all if empty), and whether it matches in comments.

    `word` is part of every hit: searching it first costs a hundredth.
    """

    regex: "re.Pattern[str]"
    word: str
    in_comments: bool = False
    languages: frozenset[Language] = frozenset()
    is_import: bool = False


@dataclass(frozen=True)
class _Ban:
    """One forbidden thing of a rule, with its search pattern."""

    rule: RepoRule
    target: str
    pattern: CodePattern


@lru_cache(maxsize=512)
def _build_code_patterns(target: str, noun: str) -> tuple[CodePattern, ...]:
    """The patterns for one thing that a rule names; none for what code can't distinguish."""
    if _COMMENT.match(target):
        return (CodePattern(re.compile(_spelling_regex(target, "any")), _longest_word(target), in_comments=True),)
    if target in _STARRED:
        return (CodePattern(re.compile(_STARRED_IMPORT, re.MULTILINE), "import", is_import=True),)
    if noun in {"import", "package", "module", "library"}:
        return _build_import_patterns(target)
    languages = frozenset({Language.PYTHON}) if target.removesuffix("()") in _PYTHON else frozenset[Language]()
    code = CodePattern(re.compile(_build_regex(target, noun)), _longest_word(target), languages=languages)
    is_name = not noun and _NAME.fullmatch(target) and target not in _KEYWORDS
    return (code, *_build_import_patterns(target)) if is_name else (code,)


def _longest_word(target: str) -> str:
    """The longest word of the target, before its arguments."""
    return max(_WORD.findall(target[:200].partition("(")[0]), key=len, default="")


def _build_regex(target: str, noun: str) -> str:
    if not _NAME.fullmatch(target):
        return _spelling_regex(target, "call" if noun == "call" and not target.endswith((")", "!")) else "any")
    word = rf"(?<![\w.$@'-]){_DEFINES}{target}"
    match noun:
        case _ if target in _TYPES:
            return rf"{_TYPED}\b{target}\b(?![\w(.:])"
        case "block":
            return rf"{word}\s*\{{"
        case "catch":
            return rf"\bexcept\b[^:#]{{0,200}}(?<![\w.]){target}\b|\bcatch\s*\(\s*(?:final\s+)?(?:[\w.]+\s*\|\s*){{0,5}}{target}\b"
        case "decorator" | "annotation":
            return rf"@(?:\w+\.)*{target}\b"
        case _:
            return word + (r"(?=\s+\w|\s*[;{]|\s*$)(?!\s*[:=,)])" if target in _KEYWORDS else r"!?\s*\(")


def _spelling_regex(target: str, end: str) -> str:
    """The target in other spellings: other white space, other arguments."""
    text, before = "", ""
    module, rest = (match[1], match[2]) if (match := _OF_MODULE.match(target)) else ("", target)
    if module:  # `__import__("time").sleep` is `time.sleep`
        text = rf"(?:{module}|__import__\(\s*[\"']{module}[\"']\s*\))"
    for part in _PARTS.findall(rest[:200]):
        if part in _ARGUMENTS:  # whatever is behind it closes what it opens
            return _prefix_regex(target) + text + r"\s*\("
        if part.isspace():
            text += r"\s*" if before in _LOOSE else r"\s+"
        elif part in _ELLIPSES:
            text += r".{0,200}?"
        elif part == "*" and before == ".":
            text += r"\w+"
        else:
            text += (r"\s*" if before in _OPENERS and part[0].isalpha() else "") + re.escape(part)
        before = part
    if before[-1:].isalnum() or before[-1:] == "_":
        text += r"\s*\(" if end == "call" else rf"\b{_NOT_SET}"
    return _prefix_regex(target) + text


def _prefix_regex(target: str) -> str:
    """What may precede it: a method is called on something, a function is not."""
    if not (target[:1].isalnum() or target[:1] == "_"):
        return ""
    is_method = target in _METHODS or _METHOD.fullmatch(target) is not None
    return rf"(?<![\w$]){_DEFINES}" if is_method else rf"(?<![\w.$])(?:globalThis\.)?{_DEFINES}"


def _build_import_patterns(target: str) -> tuple[CodePattern, ...]:
    if not _MODULE.fullmatch(target):
        return ()
    name = re.escape(target)
    written = (
        rf"^\s*(?:from\s+{name}(?:\.[\w.]+)?\s+import\b|import\s+(?:[\w., ]+,\s*)?{name}(?=\s*(?:[,;.]|\s+as\b|$)))"
        rf"|\b(?:from|require\(|import\(|import)\s*['\"]{name}(?:/[^'\"]*)?['\"]"
        rf"|^\s*(?:[\w.]+\s+)?\"{name}\"\s*$|^\s*(?:pub )?use\s+{name}(?:::|;|\s)|^\s*import\s+(?:static\s+)?{name}[.;]"
    )
    return (CodePattern(re.compile(written, re.MULTILINE), _longest_word(target), is_import=True),)


def _is_in_code(source: Source, line: int, column: int, pattern: CodePattern) -> bool:
    """Whether a hit is code, or for a directive a comment."""
    if pattern.is_import:
        return True
    row = line - source.first_line
    byte = len(source.lines[row][:column].encode("utf-8", "replace"))
    nodes = with_ancestors(source.root.descendant_for_point_range((row, byte), (row, byte + 1)))
    text = next((node for node in nodes if is_comment(node) or _TEXT.search(node.type)), None)
    return not pattern.in_comments if text is None else pattern.in_comments and is_comment(text)


def find_code_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """The added lines with code that *rule* forbids."""
    files = [
        (file, check_file_coverage(rule.scope, file)) for file in change.files if file.language and file.diff.hunks
    ]
    for target in rule.targets:
        for ban in (_Ban(rule, target, code) for code in _build_code_patterns(target, rule.noun)):
            for file, covers in files:
                if covers is not ScopeCoverage.NO and _can_occur(ban.pattern, file):
                    sure = rule.is_sure and (covers is ScopeCoverage.YES or _is_for_programs_too(ban, file, covers))
                    yield from _find_in_file(ban, file, change.removed_texts, is_sure=sure)


def _is_for_programs_too(ban: _Ban, file: AnalyzedFile, covers: ScopeCoverage) -> bool:
    """A shipped program is production code, though no library; printing, reading and exiting are its purpose."""
    is_wide = ban.rule.scope.reach is RuleReach.LIBRARY and not _LIBRARY_WORDS.search(ban.rule.origin.text)
    is_production = covers is ScopeCoverage.UNSURE and file.role is FileRole.PRODUCTION
    return is_wide and is_production and bool(_PROGRAMS.search(file.path)) and not _FOR_PROGRAMS.search(ban.target)


def _can_occur(searched: CodePattern, file: AnalyzedFile) -> bool:
    """A quick search in all added lines together, which may have false hits only."""
    of_language = not searched.languages or file.language in searched.languages
    text = file.cache(_added_text) if of_language else ""
    return searched.word in text and searched.regex.search(text) is not None


def _added_text(file: AnalyzedFile) -> str:
    return "\n".join(line.text for line in file.diff.added_lines if len(line.text) <= _LONGEST_LINE)


def _find_in_file(ban: _Ban, file: AnalyzedFile, moved: frozenset[str], *, is_sure: bool) -> Iterator[RuleViolation]:
    search, scope = ban.pattern.regex.search, ban.rule.scope
    was_there = any(search(line.text[:_LONGEST_LINE]) for line in file.diff.removed_lines)
    was_there = was_there or any(search(text[:_LONGEST_LINE]) for text in _unchanged_lines(file))
    is_output = _PRINTS.search(ban.target) is not None and is_program(file)
    # any other rule may mean production code alone
    texts = (ban.rule.origin.text, ban.rule.origin.path, *scope.inside)
    is_about_tests = scope.reach is RuleReach.TESTS or any(map(_TEST_WORDS.search, texts))
    for hunk in file.diff.hunks:
        new = (line for line in hunk.lines if line.base_line is None and len(line.text) <= _LONGEST_LINE)
        matches = ((line, search(line.text)) for line in new if line.text.strip() not in moved)
        hits = [line for line, match in matches if match and _is_violation(ban, file, line, match)]
        removed = sum(1 for line in hunk.lines if line.head_line is None and search(line.text[:_LONGEST_LINE]))
        if len(hits) <= removed:
            continue
        source = next(source for source in file.sources if source.has_line(hits[0].head_line or 0))
        is_clear = source.is_whole or _is_clear(hunk, source.language, hits[0])
        sure = is_sure and not (was_there or is_output or _is_own_name(ban, source)) and is_clear
        for line in hits:
            is_test = file.role is FileRole.TEST or is_in_inline_tests(file, line.head_line or 0)
            is_exception = _has_exception_directive(hunk, line) and not _DIRECTIVE.search(ban.target)
            is_meant = (is_about_tests or not is_test) and not is_exception
            what = f"this line adds `{ban.target}`"
            yield RuleViolation(ban.rule, what, sure and is_meant, file.path, line.head_line, target=ban.target)


def _has_exception_directive(hunk: Hunk, hit: DiffLine) -> bool:
    """Whether a directive for a linter, on the line or right above it, makes an exception."""
    number = hit.head_line or 0
    near = (line.text for line in hunk.lines if line.head_line in {number, number - 1})
    return any(_DIRECTIVE.search(text[:_LONGEST_LINE]) for text in near)


def _unchanged_lines(file: AnalyzedFile) -> Iterator[str]:
    """The lines of code that the change leaves as they are."""
    for source in file.sources:
        for number, text in enumerate(source.lines, source.first_line):
            if number not in file.added_lines and not _COMMENTED.match(text):
                yield text


def _is_violation(ban: _Ban, file: AnalyzedFile, line: DiffLine, match: "re.Match[str]") -> bool:
    number = line.head_line or 0
    source = file.source_at(number)
    if source is None or (not ban.pattern.in_comments and _COMMENTED.match(line.text)):
        return False
    if ban.rule.scope.reach is RuleReach.LIBRARY and is_in_inline_tests(file, number):
        return False
    column = match.start() + len(match[0]) - len(match[0].lstrip())
    return _is_in_code(source, number, column, ban.pattern)


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


def _is_outside_strings(hunk: Hunk, hit: DiffLine) -> bool:
    """Whether long strings open and close in pairs before *hit*; one right below a definition opens."""
    lines = [line for line in hunk.lines if line.head_line is not None]
    counts = [len(_TRIPLE.findall(line.text)) for line in lines]
    before = sum(counts[at] for at, line in enumerate(lines) if (line.head_line or 0) < (hit.head_line or 0))
    for at, (upper, lower) in enumerate(pairwise(lines), 1):
        if _DEFINITION.match(upper.text) and _OPENS.match(lower.text):
            return (before - sum(counts[:at])) % 2 == 0
    return sum(counts) % 2 == 0
