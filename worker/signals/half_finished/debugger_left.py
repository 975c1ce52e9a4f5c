"""Debugging that was left behind: breakpoints, and output that is not part of the job.

A fact is a statement that stops the program or that is there for debugging only (`dbg!`), and that was not only moved.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff import DiffLine
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.changed_functions import is_declaration
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, Language
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.relatedness import NAME_PATTERN, list_request_texts
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal
from worker.signals.tests_pass_but_wrong.ci_weakened import indentation_of

_LONGEST: Final = 500


_MOST: Final = 5


_STOPS: Final = {
    Language.PYTHON: pattern(
        r"\s*(?:(?:if .{1,80}: ?)?breakpoint\(\)|(?:import i?pu?db; ?)?(?:i?pu?db|remote_pdb|wdb)\.(?:set_)?trace\(\)|import (?:ipdb|pudb)\b.*|from IPython import embed; ?embed\(.*)\s*;?",
        needs=("breakpoint", "db", "embed"),
    ),
    Language.RUST: pattern(r"""(?:[^"/]|"(?:[^"\\]|\\.)*+"|/(?!/))*\bdbg!\(.*""", needs=("dbg!(",)),
    Language.GO: pattern(r"\s*(?:runtime\.Breakpoint\(\)|spew\.Dump\(.*)"),
    **dict.fromkeys(SCRIPT_LANGUAGES, pattern(r"\s*debugger;?\s*")),
    Language.RUBY: pattern(
        r"\s*(?:binding\.(?:pry|irb|b|break)|byebug|debugger|(?:require [\"'](?:pry|byebug|debug)[\"']; ?)binding\.\w+)\s*(?:#.*)?"
    ),
    Language.CSHARP: pattern(r"\s*(?:System\.Diagnostics\.)?Debugger\.(?:Break|Launch)\(\);\s*"),
    Language.PHP: pattern(r"\s*(?:dd|ddd|xdebug_break|ray)\(.*\);\s*"),
}


_PRINTS: Final = {
    Language.PYTHON: pattern(r"\s*(?:pp?rint|pprint\.pprint|icecream\.ic|ic)\((?P<output>.*)", needs=("print", "ic(")),
    Language.RUST: pattern(r"\s*e?println!\((?P<output>.*)"),
    Language.GO: pattern(
        r"\s*(?:fmt\.Print(?:f|ln)?|println|print|fmt\.Fprint(?:f|ln)?\(os\.Std(?:out|err),)\(?(?P<output>.*)"
    ),
    Language.JAVA: pattern(r"\s*(?:System\.(?:out|err)\.print(?:ln|f)?\((?P<output>.*)|\w+\.printStackTrace\(\);)"),
    Language.RUBY: pattern(r"\s*(?:puts|pp?|ap|print)[ (](?P<output>(?![=.]).*)"),
    Language.CSHARP: pattern(
        r"\s*(?:System\.)?(?:Console|(?:System\.Diagnostics\.)?(?:Debug|Trace))\.Write(?:Line)?\((?P<output>.*)"
    ),
    Language.PHP: pattern(r"\s*(?:var_dump|print_r|var_export|error_log|dump)\((?P<output>.*)"),
    Language.KOTLIN: pattern(r"\s*println?\((?P<output>.*)"),
    **dict.fromkeys(SCRIPT_LANGUAGES, pattern(r"\s*console\.(?:log|dir|debug|table|trace)\((?P<output>.*)")),
}


_PRINTER: Final = pattern(
    r"(?:^|[/_.-])(?:cli|cmds?|commands?|bin|scripts?|tools?|tooling|console|terminal|tty|logg?(?:er|ing)?|logs?|print(?:er|ing)?|report(?:er|ing)?s?|output|display|shell|repl|interactive"
    r"|main|__main__|mjs|manage|setup|tasks?|gulpfile|gruntfile|xtask|benches|dev|playground|play|repro\w*|prompt\w*|wizard|progress|releas\w*|\.github|postbuild|prebuild|build|doctor|e2e)(?:[/_.-]|$)",
    re.IGNORECASE,
)
"""A file that may print."""


_GUARD: Final = pattern(
    r"\b(?:verbose|debug|quiet|silent|dry_?run|trace|log_?level|isTTY|__main__|DEBUG|json_?output|color)\b",
    re.IGNORECASE,
)


_DEBUGGING: Final = pattern(
    r"[\"'`]\s*(?:[>=*#!-]{2,}|\[?debug\b|(?:got )?here\b|test\d*\b|xxx|foo\b|aaa|wtf|\w+ (?:hit|called|reached)\b|in \w+[\"'`]|before\b|after\b|inside\b)|\{\w+=\}|%[+#]v",
    re.IGNORECASE,
)


_ONLY_VALUES: Final = pattern(
    r"(?:[\"'`][^\"'`]{0,60}[\"'`],\s*)?&?[A-Za-z_][\w.\[\]]{0,80}(?:\(\))?(?:,\s*&?[\w.\[\]]{1,80}){0,5}\)?;?\s*"
)


_TO_PEOPLE: Final = pattern(
    r"\s*[brf]{0,2}[\"'`]\s*(?:error|warn(?:ing)?|fatal|usage|failed|could not|cannot|can't|unable to|please|deprecat\w+)\b(?!=)",
    2,
)
"""What the user of the program must know."""


_USUAL_PRINTS: Final = 3
"""A file with so many prints before the change prints on purpose."""


_LONGEST_TEXT: Final = 40_000


_SENTENCE_END: Final = pattern(r"[.!?](?=\s)|\n\s*\n|\n\s*[-*#]")


_REMOVAL_WORDS: Final = pattern(r"\b(?:remov|delet|drop|clean|forg[eo]t|left|leftover|stray|without)", re.IGNORECASE)


_DOCUMENTS: Final = (".md", ".mdx", ".rst", ".adoc", ".txt")


_TOOLS: Final = frozenset(
    {"breakpoint", "pdb", "ipdb", "pudb", "remote_pdb", "wdb", "set_trace", "embed", "dbg", "Breakpoint", "spew"}
    | {"debugger", "pry", "irb", "byebug", "Debugger", "dd", "ddd", "xdebug_break", "ray"}
)
"""Names of debugging statements."""


_DEBUGGER: Final = pattern(
    r"(?:^|[._-])(?:[giprw]db|pudb|lldb|debug(?:ger|ging|py)?|dbg|breakpoints?)(?:[._-]|$)", re.IGNORECASE
)


_OWN_DBG: Final = pattern(r"(?<!\bstd)(?<!\bcore)::dbg!\(")


_DEFINES_DBG: Final = pattern(r"\bmacro_rules! dbg\b|\buse (?!std\b)\w+::[^;\n]{0,200}\bdbg\b")


_ASKS_FOR_DEBUGGING: Final = pattern(
    r"\s*(?:\}? ?(?:else )?if\b|elif\b).{0,120}?(?:debug(?!ger;)|pdb|post_?mortem|breakpoint(?!\())", re.IGNORECASE
)


_NEAR: Final = 4


_CONDITION: Final = pattern(r"\s*(?:\}? ?(?:else )?if\b|elif\b|when\b|match\b|switch\b)")


_PRINTING: Final = pattern(
    r"\b(?:def|func|fn|function)\s+(?:\([^)\n]{0,60}\)\s*)?\w*(?:print|show|display|report|log|usage|help|dump|echo|write|warn|main)\w*\s*[(<]",
    re.IGNORECASE,
)


@signal(Category.HALF_FINISHED, SignalKind.FACT, SignalScope.PRODUCTION, "Delete the debugging statement at {place}.")
def debugger_left(change: CodeChange) -> Iterator[SignalMatch]:
    """An added statement that is there for debugging only: a breakpoint, `debugger`, `dbg!`.

    None in the code of a debugger, behind a condition that asks for debugging, or where the repository defines what is called
    so; nor where title, description, issue, criteria or changed documentation speak of it, but for taking it out.

    Why it matters: A breakpoint stops the program where no debugger is attached.
    Example: `breakpoint()` in an added line.
    False alarms: 5 of 30051 clean changes with production code (0.0 %, at most 0.04 %).
    """
    files = () if _is_debugger_file(change.dossier.pull_request.repository) else change.production_files()
    for file in files:
        for line, match in _find_added(file, _STOPS, change):
            if match[0] != line.text[:_LONGEST] or _is_intended(file, line, change):
                continue
            text, step = line.text.strip(), ""
            if file.language is Language.RUST and not (text.startswith("dbg!(") and text[-2:] == ");"):
                step = "Take `dbg!` away from around the expression at {place}."
            yield SignalMatch(f"left from debugging: {text[:80]}", file.path, line.head_line, step=step)


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def debug_output(change: CodeChange) -> Iterator[SignalMatch]:
    """Added output to the console that reads like debugging, or in code whose job is not to print.

    Why it matters: It fills logs and output that programs may read, and may show secrets.
    Example: `print(">>> here", user)`
    False alarms: 275 of 30051 clean changes with production code (0.9 %, at most 1.03 %).
    """
    for file in change.production_files():
        may_print = _PRINTER.search(file.path) is not None
        for line, is_debugging in islice(_find_outputs(file, change), _MOST):
            if not may_print or is_debugging:
                strength = 1.0 if is_debugging and not may_print else 0.5
                note = f"output of a debugging session? {line.text.strip()[:80]}"
                yield SignalMatch(note, file.path, line.head_line, strength=strength)


def _find_added(
    file: AnalyzedFile, rules: "Mapping[Language, re.Pattern[str]]", change: CodeChange
) -> Iterator[tuple[DiffLine, "re.Match[str]"]]:
    """New lines that begin as the rule of their language says, outside of strings and comments."""
    rule = rules.get(file.language) if file.language is not None else None
    if rule is None:
        return
    for line in file.diff.added_lines_matching(lambda text: rule.match(text[:_LONGEST])):
        match = rule.match(line.text[:_LONGEST])
        if (
            match is not None
            and line.text.strip() not in change.removed_texts
            and not file.is_quoted(line.head_line or 0)
        ):
            yield line, match


def _is_intended(file: AnalyzedFile, line: DiffLine, change: CodeChange) -> bool:
    text = line.text[:_LONGEST]
    if file.language is Language.RUST:
        if _OWN_DBG.search(text) or _defines_dbg(change) or _is_output_read(file, line.head_line or 0):
            return True
        tools = frozenset({"dbg"})
    else:
        tools = _TOOLS.intersection(NAME_PATTERN.findall(text))
    if not tools.isdisjoint(_find_mentioned_tools(change)) or _is_debugger_file(file.path):
        return True
    # a condition asks for debugging, on the line or around it
    lines, indent = _lines_above(file, line.head_line or 0), indentation_of(line.text)
    around = (above for above in lines if indentation_of(above) < indent)
    return any(map(_ASKS_FOR_DEBUGGING.match, (text, *around)))


def _is_output_read(file: AnalyzedFile, number: int) -> bool:
    """Whether the line is in a Rust test, which shows its output where it fails, or is the last statement of `main`."""
    return any(
        (function.first_line <= number <= function.last_line and is_declaration(function))
        or (function.name == "main" and any(function.line_of(node) == number for node in function.statements[-1:]))
        for source in file.sources
        for function in find_functions(source)
    )


def _is_debugger_file(path: str) -> bool:
    return any(map(_DEBUGGER.search, path.split("/")))


@memoized
def _find_mentioned_tools(change: CodeChange) -> frozenset[str]:
    """The debugging statements that a text asks for or documents, by their names."""
    texts = [text[:_LONGEST_TEXT] for text in list_request_texts(change.dossier)]
    texts += [line for file in change.files if file.path.endswith(_DOCUMENTS) for line in file.diff.added_texts]
    sentences = (sentence for text in texts for sentence in _SENTENCE_END.split(text))
    kept = (sentence for sentence in sentences if not _REMOVAL_WORDS.search(sentence))
    return _TOOLS.intersection(name for sentence in kept for name in NAME_PATTERN.findall(sentence))


@memoized
def _defines_dbg(change: CodeChange) -> bool:
    texts = (*change.texts.values(), *(file.visible_text for file in change.files if file.language is Language.RUST))
    return any(map(_DEFINES_DBG.search, texts))


def _find_outputs(file: AnalyzedFile, change: CodeChange) -> Iterator[tuple[DiffLine, bool]]:
    """New lines that print, and whether they read like debugging."""
    for line, match in _find_added(file, _PRINTS, change):
        output, above = match["output"] or "", _lines_above(file, line.head_line or 0)
        is_asked = any(_GUARD.search(text) and _CONDITION.match(text) for text in above)
        if "file=" in output or _TO_PEOPLE.match(output) or is_asked or _PRINTING.search("\n".join(above)):
            continue
        is_debugging = _DEBUGGING.search(line.text) is not None or _ONLY_VALUES.fullmatch(output) is not None
        if is_debugging or not _is_printing_file(file):
            yield line, is_debugging


@memoized
def _is_printing_file(file: AnalyzedFile) -> bool:
    """Whether it prints where this change did not touch it."""
    rule = _PRINTS[file.language] if file.language is not None else None
    lines = (file.head_text or "").split("\n")
    old = (text for number, text in enumerate(lines, 1) if number not in file.added_lines)
    return rule is not None and sum(rule.match(text[:_LONGEST]) is not None for text in old) >= _USUAL_PRINTS


def _lines_above(file: AnalyzedFile, number: int) -> list[str]:
    source = file.source_at(number)
    if source is None:
        return []
    at = number - source.first_line
    return source.lines[max(0, at - _NEAR) : at]
