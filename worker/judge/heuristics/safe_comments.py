"""Whether a source file was changed in its comments (and white space between tokens) only.

Does not trust lines: both versions are parsed, and all that is not a comment must be the same tree. Invariant:
a comment that a tool reads is no comment but a token, and so is a docstring and a tested example.
"""

import re
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

from worker.domain.diff import ChangeKind, Hunk
from worker.judge.heuristics.change import ChangedFile
from worker.judge.heuristics.paths import Language, Role
from worker.judge.heuristics.syntax import is_comment, parse, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_LARGEST: Final = 400_000
_LONGEST: Final = 20_000
"""Characters of a comment that we read; a longer one counts as a token."""

_READ_BY_TOOLS: Final = re.compile(
    r"^#!|-\*-|\bcoding[:=]|\bvim?:|\bnoqa\b|\bnosec\b|\bpragma\b|\b(type|mypy|pyright|pylint|pyre|pytype|ruff|flake8|isort|fmt|yapf|black|autopep8"
    r"|cython|distutils|doctest|sphinx|codespell|cspell|spell-?checker|pyproject|bandit|radon|lgtm|codeql|sonar|deepsource|skipcq|coverage|pyupgrade"
    r"|djlint|ty|refurb|vulture|pyspelling|typos|spotless|errorprone|infer|hadolint|shellcheck|semgrep|trivy|gitleaks|trufflehog)\s*[:=-]"
    r"|\b(eslint|tslint|jshint|jslint|jscs|oxlint|stylelint|prettier|biome|rome|deno-(lint|fmt)|dprint|istanbul|nyc|webpack\w*|vite|rollup|turbopack"
    r"|sourceMapp?ingURL|sourceURL|babel|swc|tsc|flow|closure|twoslash|knip|globals?)\b|\b(c8|v8|node:coverage) ignore|__PURE__|#__"
    r"|@(ts-|vite|flow|jsx|license|preserve|internal|jest-environment|vitest-environment|generated|formatter|cc_on|noflow|providesModule|format"
    r"|alpha|beta|public|packageDocumentation|SuppressWarnings|checkstyle|noinspection|swagger|openapi|api|apiNote|implSpec)"
    r"|^//[a-z0-9_]+:\S|^//\s*\+|^//\s*@|^//\s*(unordered )?output:|^//(export|line|sys|sysnb)\b|\bnolint\b|\bgolint\b|\blint:|#cgo|\bDeprecated:"
    r"|\bNOSONAR\b|\bCHECKSTYLE|\bNOPMD\b|\bPMD\b|\bnoinspection\b|\$NON-NLS|\bSPOTBUGS|\bFINDBUGS|\bLCOV_|\bGCOV_|\bjacoco\b|^//(DEPS|JAVA|SOURCES|REPOS|GAV)\b"
    r"|\brustfmt\b|\bclippy\b|\btarpaulin\b|\bcov:|\bgrcov|^//~|^//@|\bSAFETY\b|\b(run|check|build)-(pass|fail)\b|\bcompile-flags"
    r"|\b(tag|end)::|\[(START|END)\b|\bANCHOR(_END)?:|\bsnippet[-:]|\bdocs?(tag|region)\b|^//\s*#?(end)?region\b|^#\s*%%|^#\s*///|^#\s*(begin|end)[-_ ]?\w*\s*$"
    r"|copyright|licen[cs]e|\bSPDX|all rights reserved|do not edit|@generated|\bskip file\b|\bIWYU\b|clang-format|\bCODEGEN\b|\bcog\b|\[\[\[|\]\]\]"
    r"|\b(ignore|disable|enable|suppress|exclude|skip)(-|_)(next|line|file|start|end|stop)|\b[\w-]+\s*:\s*(ignore|disable|enable|off|on|skip|noqa|no-?lint)\b"
    r"|<reference\b|<amd-|^//\s*go:|\bTODO\(bot\)|\bbazel:|\bbuildifier|\bkeep-sorted|\bLINT\.|\bgazelle:|\brenovate|\bdependabot|\bx-release-please|\bbump",
    re.IGNORECASE,
)
"""Comments that some tool acts upon. Rather one too many: such a change is looked at, no more."""

_JSDOC_TYPES: Final = re.compile(
    r"@(type|typedef|param|returns?|template|import|satisfies|overload|callback|enum|this|extends|implements|prop(erty)?)\b"
)
_TEST_INPUTS: Final = re.compile(
    r"(^|/)(ui|compile-?fail|run-?pass|trybuild|fixtures?|test-?data|snapshots?|__snapshots__|goldens?|pass|fail|cases|corpus|examples?|snippets?)/"
)
_WHOLE: Final = re.compile(
    r"string|template|char_literal|regex|jsx_text|jsx_element|token_tree|macro_invocation|heredoc|raw_text"
)
"""Nodes whose white space counts: compared by their text."""

_Token = tuple[int, str, str]


def is_comments_only(file: ChangedFile) -> bool:
    """Whether both versions of the file are proved to be the same program."""
    diff = file.diff
    if (
        diff.change is not ChangeKind.MODIFIED
        or not diff.hunks
        or diff.old_mode != diff.new_mode
        or file.language is None
    ):
        return False
    if file.role is Role.FOREIGN or _TEST_INPUTS.search(file.path) or file.head is None or file.base is None:
        return False
    parsable = all(source.whole for source in file.sources) and len(file.base) <= _LARGEST
    if not parsable or len(file.head) > _LARGEST or _changes_code(file):
        return False
    head, base = parse(file.head, file.language), parse(file.base, file.language)
    if head.has_error or base.has_error or (file.language is Language.GO and 'import "C"' in file.head):
        return False
    shown = [set(chain.from_iterable(side)) for side in zip(*map(_rows, diff.hunks), strict=True)]
    both = zip_longest(_tokens(base, file.language, shown[0]), _tokens(head, file.language, shown[1]))
    return all(before == after for before, after in both)


def _rows(hunk: Hunk) -> tuple[range, range]:
    """The rows (from 0) that the hunk shows of both sides: its changed lines and what stands around them."""
    return (
        range(hunk.base_start - 1, hunk.base_start + hunk.base_count),
        range(hunk.head_start - 1, hunk.head_start + hunk.head_count),
    )


def _changes_code(file: ChangedFile) -> bool:
    """A first look that spares the parsing: what reads like code is not the same on both sides."""
    return _code(line.text for line in file.diff.added) != _code(line.text for line in file.diff.removed)


def _code(lines: Iterable[str]) -> str:
    return "".join("".join(_REMARK.sub("", line).split()) for line in lines if _CODE_SIGNS.search(line))


_REMARK: Final = re.compile(r"^\s*(\*|/\*|//|#).*|(//|/\*|#).*$")
_CODE_SIGNS: Final = re.compile(r"[;{}()=]")


def _tokens(root: "Node", language: Language, shown: Container[int]) -> Iterator[_Token]:
    """The program: every node with its depth, leaves with their text; of comments only what tools read.

    Comments are looked at only in the rows that the diff shows: the others stand as they stood.
    """
    stack: list[tuple[Node, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if is_comment(node):
            if any(row in shown for row in range(node.start_point.row, node.end_point.row + 1)):
                yield from _read_by_tools(node, language)
            continue
        children = () if _is_whole(node.type) else node.children
        if children:
            yield depth, node.type, ""
            stack.extend((child, depth + 1) for child in reversed(children))
        else:
            yield depth, node.type, text_of(node).strip() if node.is_named else ""


@lru_cache(maxsize=2048)
def _is_whole(kind: str) -> bool:
    return _WHOLE.search(kind) is not None


def _read_by_tools(comment: "Node", language: Language) -> Iterator[_Token]:
    words = text_of(comment)
    if (
        len(words) > _LONGEST
        or _READ_BY_TOOLS.search(words)
        or (language is Language.JAVASCRIPT and _JSDOC_TYPES.search(words))
    ):
        yield _gap(comment), "comment", words
    elif language is Language.RUST and re.match(r"//[/!](?!/)|/\*[*!]", words):
        yield from _rust_doc(comment, words)


def _gap(comment: "Node") -> int:
    """How far it is to what it speaks of: a directive means its own line or the next."""
    before, after = comment.prev_sibling, comment.next_sibling
    above = comment.start_point.row - before.end_point.row if before is not None else -1
    below = after.start_point.row - comment.end_point.row if after is not None else -1
    return min(above, 1) * 1000 + min(below, 2)


_RUST_CODE: Final = re.compile(r"^//[/!]( {5,}|\t)\S|^//[/!]\s*(```|~~~)")


def _rust_doc(comment: "Node", words: str) -> Iterator[_Token]:
    """Documentation in Rust is an attribute: macros read it on what is derived, and its examples are tested."""
    if words.startswith("/*") or _is_read_by_a_macro(comment) or _RUST_CODE.match(words) or _is_in_example(comment):
        yield 0, "doc", words.strip()


def _is_in_example(comment: "Node") -> bool:
    """Whether an odd number of fences stands above it in the same run of documentation."""
    fences = 0
    above = comment.prev_sibling
    while above is not None and is_comment(above):
        fences += re.match(r"//[/!]\s*(```|~~~)", text_of(above)) is not None
        above = above.prev_sibling
    return fences % 2 == 1


_PLAIN_DERIVES: Final = re.compile(
    r"\b(Debug|Clone|Copy|PartialEq|Eq|PartialOrd|Ord|Hash|Default|Send|Sync|std|core|fmt|derive|cfg_attr|feature|serde|Serialize|Deserialize)\b"
)


def _is_read_by_a_macro(comment: "Node") -> bool:
    """Whether it documents something, or a part of something, that a derive or another macro turns into code."""
    node: Node | None = comment
    while node is not None:
        attributes = " ".join(_attributes_around(node))
        if re.search(r"[A-Za-z_]{2,}", _PLAIN_DERIVES.sub("", _HARMLESS.sub("", attributes))):
            return True
        node = node.parent
    return False


_HARMLESS: Final = re.compile(
    r"#!?\[\s*(doc|cfg|allow|deny|warn|expect|inline|must_use|deprecated|non_exhaustive|test|should_panic|cold|track_caller|repr|no_mangle|ignore"
    r"|automatically_derived|forbid|no_std)\b.*?\](?=\s|$)",
    re.DOTALL,
)


def _attributes_around(node: "Node") -> Iterator[str]:
    """Attributes of the item that the comment, or a node around it, belongs to."""
    for step in ("next_named_sibling", "prev_named_sibling"):
        other: Node | None = getattr(node, step)
        while other is not None and (is_comment(other) or other.type == "attribute_item"):
            if other.type == "attribute_item":
                yield text_of(other)
            other = getattr(other, step)
