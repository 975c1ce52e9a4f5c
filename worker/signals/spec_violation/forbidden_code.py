"""Code that a rule forbids, found in lines: what the rule names as a search pattern, and where a hit counts.

Does not read rules files or decide what a rule covers. Invariant: a hit is code (or, for a directive, a comment); what a
string or a comment says is none.
"""

import re
from functools import lru_cache
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.syntax import is_comment, with_ancestors

LONGEST_LINE: Final = 1_000
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


class CodePattern(Value):
    """What is searched for, in which languages (all if empty), and whether it stands in comments.

    `word` stands in every hit: to look for it costs a hundredth of the search.
    """

    regex: "re.Pattern[str]"
    word: str
    in_comments: bool = False
    languages: frozenset[Language] = frozenset()
    is_import: bool = False


@lru_cache(maxsize=512)
def build_code_patterns(target: str, noun: str) -> tuple[CodePattern, ...]:
    """The patterns for one thing that a rule names; none for what can't be told apart in code."""
    if _COMMENT.match(target):
        return (CodePattern(re.compile(_spelling_regex(target, "any")), _longest_word(target), in_comments=True),)
    if target in _STARRED:
        return (CodePattern(re.compile(_STARRED_IMPORT, re.MULTILINE), "import", is_import=True),)
    if noun in {"import", "package", "module", "library"}:
        return _build_import_patterns(target)
    languages = frozenset({Language.PYTHON}) if target.removesuffix("()") in _PYTHON else frozenset[Language]()
    code = CodePattern(re.compile(_build_regex(target, noun)), _longest_word(target), languages=languages)
    return (
        (code, *_build_import_patterns(target))
        if not noun and _NAME.fullmatch(target) and target not in _KEYWORDS
        else (code,)
    )


_STARRED: Final = frozenset({"import *", "from x import *", "from module import *", "from ... import *"})
_STARRED_IMPORT: Final = r"^\s*from\s+[\w.]+\s+import\s+\*|^\s*import\s+(?:static\s+)?[\w.]+\.\*\s*;"


def _longest_word(target: str) -> str:
    """The longest word of the target, before its arguments."""
    head = target[:200].partition("(")[0]
    return max(_WORD.findall(head), key=len, default="")


_WORD: Final = pattern(r"\w+")


def _build_regex(target: str, noun: str) -> str:
    if not _NAME.fullmatch(target):
        is_call = noun == "call" and not target.endswith((")", "!"))
        return _spelling_regex(target, "call" if is_call else "any")
    return rf"{_TYPED}\b{target}\b(?![\w(.:])" if target in _TYPES else _build_name_regex(target, noun)


def _build_name_regex(target: str, noun: str) -> str:
    word = rf"(?<![\w.$@'-]){_DEFINES}{re.escape(target)}"
    match noun:
        case "block":
            return rf"{word}\s*\{{"
        case "catch":
            return rf"\bexcept\b[^:#]{{0,200}}(?<![\w.]){re.escape(target)}\b|\bcatch\s*\(\s*(?:final\s+)?(?:[\w.]+\s*\|\s*){{0,5}}{re.escape(target)}\b"
        case "decorator" | "annotation":
            return rf"@(?:\w+\.)*{re.escape(target)}\b"
        case _ if target in _KEYWORDS:
            return rf"{word}(?=\s+\w|\s*[;{{]|\s*$)(?!\s*[:=,)])"
        case _:
            return rf"{word}!?\s*\("


def _spelling_regex(target: str, end: str) -> str:
    """The target as it may be spelled: other white space, other arguments."""
    text, before = "", ""
    module, rest = (match[1], match[2]) if (match := _OF_MODULE.match(target)) else ("", target)
    if module:  # `__import__("time").sleep` is `time.sleep`
        text = rf"(?:{module}|__import__\(\s*[\"']{module}[\"']\s*\))"
    for part in _PARTS.findall(rest[:200]):
        if part in _ARGUMENTS:  # whatever is behind it closes what it opens
            return _prefix_regex(target) + text + r"\s*\("
        if part.isspace():
            text += r"\s*" if before in _LOOSE else r"\s+"
        else:
            gap = r"\s*" if before in _OPENERS and part[0].isalpha() else ""
            text += (
                r".{0,200}?"
                if part in _ELLIPSES
                else r"\w+"
                if part == "*" and before == "."
                else gap + re.escape(part)
            )
        before = part
    if before[-1:].isalnum() or before[-1:] == "_":
        text += r"\s*\(" if end == "call" else rf"\b{_NOT_SET}"
    return _prefix_regex(target) + text


def _prefix_regex(target: str) -> str:
    """What may stand before it: a method is called on something, a function is not."""
    if not (target[:1].isalnum() or target[:1] == "_"):
        return ""
    is_method = _METHOD.fullmatch(target) is not None
    is_method = is_method or target in _METHODS
    return rf"(?<![\w$]){_DEFINES}" if is_method else rf"(?<![\w.$])(?:globalThis\.)?{_DEFINES}"


_OF_MODULE: Final = pattern(r"([a-z_]\w*)(\.[a-z_].*)", re.DOTALL)
_ARGUMENTS: Final = frozenset({"()", "(...)", "(…)"})
_ELLIPSES: Final = frozenset({"...", "…"})
_OPENERS: Final = frozenset("#/")
_LOOSE: Final = frozenset("#/:")
_METHODS: Final = frozenset({"unwrap()", "expect()"})
_METHOD: Final = pattern(r"[a-z]+[A-Z]\w*\(\)")


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


def is_in_code(source: Source, line: int, column: int, pattern: CodePattern) -> bool:
    """Whether what was found there is what was searched for: code, or for a directive a comment."""
    if pattern.is_import:
        return True
    row = line - source.first_line
    byte = len(source.lines[row][:column].encode("utf-8", "replace"))
    node = source.root.descendant_for_point_range((row, byte), (row, byte + 1))
    around = next(
        (ancestor for ancestor in with_ancestors(node) if is_comment(ancestor) or _TEXT.search(ancestor.type)), None
    )
    if around is None:
        return not pattern.in_comments
    return pattern.in_comments and is_comment(around)


_TEXT: Final = pattern(r"string|template|char_literal|text_block|jsx_text|regex")
