"""Code that was put into comments. Documentation, examples in it and directives are no code."""

from collections.abc import Iterator, Sequence
from itertools import dropwhile, groupby
from textwrap import dedent
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.analysis import syntax
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_LONGEST_COMMENT: Final = 300


_FEWEST: Final = 3


_HASH: Final = pattern(r"\s*#(?![!:]) ?(.*)")


_SLASHES: Final = pattern(r"\s*//(?![/!]) ?(.*)")


_CODE: Final = pattern(
    r"\s*(?:"
    r"(?:[\w.\[\]>*&-]{1,80}(?:: ?[\w\[\]., |<>&']{1,60})?\s(?:[+|&*-]|:)?=\s?\S.*)"  # an assignment
    r"|(?:(?:await|yield|return|go|defer|throw new|raise|new) )?[\w.:!$?]{1,80}\((?:[^()]|\([^()]{0,120}\)){0,200}\)[;,?{]?\s*"  # a call
    r"|(?:return|throw|raise|await|yield|defer)\b[^.]{0,120};?\s*|(?:let|const|var|val|final) (?:mut )?\w+.*"
    r"|(?:if|for|while|match|switch|catch|else if|elif|with|try|else|except)\b.{0,120}[{:]\s*|\}\s*(?:else\b.{0,80})?[;,)]*\s*|[)\]};,]+\s*"
    r"|(?:import|from|use|package|#include)\s[\w.:{}*,'\"/ ]{1,120};?\s*|(?:def|fn|func|function|class|impl|pub|public|private|async)\s.{1,120}[{:(,]\s*|.{1,200}[;{]\s*"
    r"|pass|break|continue|\.\w+\(.*"
    r")"
)


_PROSE: Final = pattern(r"(?:[A-Z][a-z]+ )?(?<![a-z])[a-z]+ [a-z]+ [a-z]+ [a-z]+\b|https?://|\be\.g\.|\bi\.e\.|[.?!]$")


_MARK: Final = pattern(r"^\s*(?:#|//|/\*)")


_SIGNS: Final = pattern(r"\w\(.*\)|[=;{}]|\breturn\b")
"""What prose does not have."""


_WRAPPERS: Final = {
    Language.GO: ("package a\nfunc f() {\n", "\n}\n"),
    Language.RUST: ("fn f() {\n", "\n}\n"),
    Language.JAVA: ("class A { Object f() {\n", "\n} }\n"),
    Language.CSHARP: ("class A { object F() {\n", "\n} }\n"),
    Language.KOTLIN: ("fun f() {\n", "\n}\n"),
    **dict.fromkeys(SCRIPT_LANGUAGES, ("class A { async f() {\n", "\n} }\n")),
}


_MOST_CHARACTERS: Final = 20_000


_MOSTLY: Final = 0.75


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def commented_out_code(change: CodeChange) -> Iterator[SignalMatch]:
    """At least three added lines in a row that are code in comments.

    Why it matters: No reader can tell whether it is to come back.
    Example: `# x = read(path)`, `# if x:` and `#     return x` in a row.
    False alarms: 62 of 30051 clean changes with production code (0.2 %, at most 0.26 %).
    """
    for file in change.production_files():
        form = _HASH if file.language in {Language.PYTHON, Language.RUBY} else _SLASHES
        lines = file.diff.added_lines_matching(lambda text, form=form: form.fullmatch(text[:_LONGEST_COMMENT]))
        new = (line for line in lines if line.text.strip() not in change.removed_texts)
        matches = ((line.head_line or 0, form.fullmatch(line.text[:_LONGEST_COMMENT])) for line in new)
        comments = [(number, match is not None and is_code_like(match[1])) for number, match in matches]
        for _, rows in groupby(enumerate(comments), key=lambda row: row[1][0] - row[0]):
            run = [comment for _, comment in rows]
            if sum(is_code for _, is_code in run) >= max(_FEWEST, _MOSTLY * len(run)):
                yield SignalMatch("code was put into comments, not taken out", file.path, run[0][0], run[-1][0])


def is_code_like(text: str) -> bool:
    text = text.strip()
    return bool(text) and _CODE.fullmatch(text) is not None and not _PROSE.search(text)


def is_commented_code(notes: Sequence[str], language: Language) -> bool:
    """Whether the comments of one body are a program without their marks, or behind prose about it."""
    marked = (line for note in notes for line in note[:_MOST_CHARACTERS].split("\n"))
    lines = [_MARK.sub("", line, count=1).removesuffix("*/") for line in marked]
    code = list(dropwhile(lambda line: not _SIGNS.search(line), lines))
    if not code:
        return False
    is_remarked = _FEWEST <= len(code) < len(lines)
    return _is_program(lines, language) or (is_remarked and _is_program(code, language))


def _is_program(lines: Sequence[str], language: Language) -> bool:
    before, behind = _WRAPPERS.get(language, ("", ""))
    return not syntax.parse(before + dedent("\n".join(lines)) + behind, language).has_error
