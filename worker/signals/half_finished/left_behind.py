"""What an author left behind: merge conflicts, debugging statements and output, and code in comments.

What was only moved is none. Markers of a conflict count in their order, outside of strings, comments, tests and texts about conflicts.
Documentation, examples in it and directives are no code.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile, groupby, islice
from textwrap import dedent
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.diff.parser import DiffLine
from worker.signals.analysis import syntax
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.changed_functions import is_declaration
from worker.signals.analysis.ci_config import indentation_of
from worker.signals.analysis.file_roles import SCRIPT_LANGUAGES, FileRole, Language, role_of
from worker.signals.analysis.functions import find_functions
from worker.signals.analysis.relatedness import NAME_PATTERN, list_request_texts
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

_OURS: Final = pattern(r"<{7}( \S.*)?\r?")
_MIDDLE: Final = pattern(r"={7}\r?")
_THEIRS: Final = pattern(r">{7}( \S.*)?\r?")
_ABOUT: Final = pattern(r"conflict", re.IGNORECASE)
_TEXT_FILE: Final = pattern(
    r"\.(md|mdx|markdown|rst|txt|adoc|asciidoc|tex|html?|diff|patch|rej|orig|snap|golden|expected|out|ipynb)$",
    re.IGNORECASE,
)
_FIXTURE: Final = pattern(
    r"fixture|testdata|test-data|golden|snapshot|expected|inputs?/|resources?/|cases?/|git|merge|diff|patch", 2
)
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


@signal(
    Category.HALF_FINISHED,
    SignalKind.FACT,
    SignalScope.ANYTHING,
    "Resolve the merge conflict at {place}: keep the lines that are right, and delete the markers.",
)
def conflict_marker(change: CodeChange) -> Iterator[SignalMatch]:
    """A merge conflict that was committed: its three markers, in added lines of code or configuration.

    Why it matters: The file does not parse, or ships both sides of the conflict.
    Example: `<<<<<<< HEAD`, `=======` and `>>>>>>> main` in added lines of a source file.
    False alarms: 0 of 30214 clean changes with anything (0.0 %, at most 0.01 %).
    """
    for file in change.files:
        conflicts = list(_find_conflicts(file, change))
        if not conflicts or not _is_sure(file, conflicts[0][0]):
            continue
        note, step = "a merge conflict was committed", ""
        if len(conflicts) > 1:
            starts = [str(first) for first, _ in conflicts]
            lines = f"{', '.join(starts[:-1])} and {starts[-1]}"
            note = f"{len(starts)} merge conflicts were committed, at lines {lines}"
            step = f"Resolve all {len(starts)} merge conflicts in {file.path}, at lines {lines}: keep the lines that are right, and delete the markers."
        yield SignalMatch(note, file.path, *conflicts[0], step=step)


def _find_conflicts(file: AnalyzedFile, change: CodeChange) -> Iterator[tuple[int, int]]:
    """The first and last line of each new conflict: `<<<<<<<`, `=======` and `>>>>>>>`, in this order."""
    if not any(b"<<<<<<<" in hunk.body for hunk in file.diff.hunks):
        return
    ours, is_divided = None, False
    for line in file.diff.added_lines:
        if _OURS.fullmatch(line.text):
            ours, is_divided = line, False
        elif ours and _MIDDLE.fullmatch(line.text):
            is_divided = True
        elif ours and is_divided and _THEIRS.fullmatch(line.text):
            if not change.removed_texts.issuperset((ours.text.strip(), line.text.strip())):
                yield ours.head_line or 0, line.head_line or 0
            ours, is_divided = None, False


def _is_sure(file: AnalyzedFile, first_line: int) -> bool:
    if _TEXT_FILE.search(file.path) or _ABOUT.search(file.path) or file.is_quoted(first_line):
        return False
    is_whole, role = any(source.is_whole for source in file.sources), role_of(file.path)
    if role is not FileRole.PRODUCTION:  # programs, too, but fixtures of any language may be about conflicts
        return is_whole and role in {FileRole.TEST, FileRole.EXAMPLE} and _FIXTURE.search(file.path) is None
    if is_whole:
        return True
    # where no grammar tells what is a string, a text about conflicts may quote one
    return not any(_ABOUT.search(line.text) for line in file.diff.lines() if not _THEIRS.fullmatch(line.text))


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
