"""Comments in added production code that leave work open.

Most TODOs name an idea for later. A fact needs a new function, and a note in it that the function itself is not finished; a
line that was only moved is none, and neither is work that is planned by release or issue.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from worker.domain.pattern import can_match, pattern
from worker.domain.verdict.verdict import Category
from worker.dossier.issues import find_closing_links
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.changed_functions import (
    ChangedFunction,
    find_examples,
    find_left_to_subclasses,
    find_new_functions,
    find_wrapped,
    is_stage,
)
from worker.signals.analysis.file_roles import FileRole, Language
from worker.signals.analysis.functions import Function, find_unused_parameters
from worker.signals.analysis.stubs import is_declared_refusal, is_platform_variant, is_stub_requested
from worker.signals.analysis.syntax import is_comment, text_of
from worker.signals.half_finished.commented_out_code import is_code_like
from worker.signals.half_finished.stub_body import STOP_PATTERN, find_stubs
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST: Final = 1_000
_MOST: Final = 10
_COMMENT: Final = pattern(r"(?://|#|/\*|^\s*\*)\s*(.*)")
_MARK: Final = pattern(r"\b(?:todo|fixme|xxx|tbd|wip|hack)\b", re.IGNORECASE)
_UNDONE: Final = pattern(
    r"\b(todo|fixme|xxx|tbd|wip)\b.{0,60}?\b(implement|finish|complete the|complete this|remaining|missing|handle|not (yet )?(done|handled|supported|finished)|wire"
    r"|fill (this |it )?in|actual(ly)?|real (implementation|logic)|placeholder|stub|add (the )?(logic|support|implementation|handling)|the rest|unfinished|everything)"
    r"|^(?:is )?not (?:yet )?implemented(?: yet)?\b|\bnot yet implemented\b|\bnot implemented yet\b|\b(?:this is|just|only|for now,?) (?:a |an )?(?:stub|placeholder|dummy)\b"
    r"|\bplaceholder (?:implementation|for now|until)\b|\bdummy implementation\b|^implement (?:this|me|later)\b",
    re.IGNORECASE,
    needs=("todo", "fixme", "xxx", "tbd", "wip", "implement", "stub", "placeholder", "dummy"),
)
_UNFINISHED: Final = pattern(
    r"\b(?:the )?(?:remaining|remainder|rest)\b(?! (?:api|client|endpoint|server|call|parameter|args?|arguments?)\b)|\bfinish\b|\bunfinished\b|\bincomplete\b|\bhalf[- ]?(?:done|finished|way)\b"
    r"|\bcomplete (?:this|the|it|me|later|implementation|body|function|method)\b|\bimplement\b|\bimplementation (?:is )?(?:pending|missing|needed|to follow)\b"
    r"|\bnot (?:yet )?(?:fully )?(?:implemented|finished|done|complete|written|wired|ported)\b|\b(?:still|left|yet|needs?|remains) to be (?:done|written|implemented|filled|finished|ported|handled)\b"
    r"|\bto be (?:continued|done|implemented|written|filled|completed|finished)\b|\bfill (?:this |it |me )?in\b|\bplaceholder\b|\bstub(?:bed)?\b|\bdummy implementation\b"
    r"|\b(?:second|other) (?:half|part)\b|\beverything (?:else|below|after|from here)\b|\b(?:only|just) the first (?:step|part|half|case)\b|\bport (?:the|this)\b"
    r"|\bwrite (?:this|the (?:rest|body|code|logic))\b|\b(?:add|do|put) (?:the )?(?:actual|real|missing|rest|logic|work|code)\b|\bin a (?:later|follow-?up|separate) (?:pr|change|commit|step)\b"
    r"|\bis missing\b|\bstill missing\b|\bmissing (?:logic|part|code|steps?|cases?|implementation|pieces?)\b",
    re.IGNORECASE,
)
"""Work of the function itself is left, and not only an improvement."""
_OTHER_TARGET: Final = pattern(
    r"\bimplement an? (?:\w+ ){1,3}?(?:function|method|type|trait|interface|helper|class|struct)\b", re.IGNORECASE
)
"""Another function or type is to be written, which this one could use."""
_OPTIONAL_WORK: Final = pattern(
    r"^\W*(?:todo|fixme|xxx)\W+if\b|\?|\bwhen\b|\bonce\b|\bmaybe\b|\bperhaps\b|\bcould\b|\bconsider\b|\bif we\b|\bshould we\b|\bin (?:the )?future\b|\bideally\b|\bas soon as\b|\bafter\b|\buntil\b"
    r"|\boptional(?:ly)?\b|\bnice[- ]to[- ]have\b|\bextras?\b|\badditional(?:ly)?\b|\balso\b|\bas well\b|\bmore\b(?! (?:work|code|logic|here))"
    r"|\bbetter\b|\bfaster\b|\boptimi[sz]|\bnicer\b|\brefactor\b|\bdeprecat"
    r"|\b(?:remove|drop|delete|get rid of) (?:this|the|it)\b(?! (?:stub|placeholder|dummy))",
    re.IGNORECASE,
)
"""An idea for later, a condition for it, or an extra, without which the function may be whole."""
_FOR_NOW: Final = pattern(r"\b(?:for now|for the moment|currently|until then)\b", re.IGNORECASE)
_GUARDS: Final = frozenset({"if_statement", "expression_statement"})
_RELEASE: Final = pattern(
    r"\b(?:in|for|with|by|since|from|until|before|release|version|milestone)(?: (?:the|a|version|release|v))* ?v?\d{1,4}\.(?:\d{1,3}|x)\b"
    r"|\bv?\d{1,4}\.(?:\d{1,3}|x)(?:\.\d{1,3})? (?:or|and) (?:later|newer|above)\b|\b(?:next|later|future|major|minor|upcoming|following) (?:major |minor )?(?:release|version)s?\b",
    re.IGNORECASE,
)
_TRACKED: Final = pattern(
    r"(?i:#|\b(?:b|gh|issues?|bug|bpo|ticket|pr|pull)[-:/ #]{1,2})(\d{2,9})\b(?![.\w])|\b(?!(?:UTF|SHA|ISO|RFC|CP|AES|PEP|ARM)-)[A-Z]{2,10}-(\d{2,9})\b"
)
_SIMPLE: Final = pattern(r"(?:return\b)?[^()]{0,80}(?:\(\(?[\w&., ]{0,40}\)?\))?;?")
_ENDS: Final = frozenset({"return_statement", "call_expression", "identifier", "tuple_expression", "self"})


@signal(
    Category.HALF_FINISHED,
    SignalKind.FACT,
    SignalScope.PRODUCTION,
    "Do what the comment at {place} leaves open, then delete the comment.",
)
def unfinished_function(change: CodeChange) -> Iterator[SignalMatch]:
    """A new function that says in a comment of its body that its own work is not finished: that the rest is still to be written.

    Work that is planned for a later release or tracked by another issue is none, nor what a platform does not support yet. None
    beside finished work that neither calls nor asks for it, and none where the title announces a stage.

    Why it matters: The author knew that it is not done, and its callers do not.
    Example: `# TODO: handle the remaining cases` above the last line of a new function.
    False alarms: 2 of 30051 clean changes with production code (0.0 %, at most 0.02 %).
    """
    for changed, note, is_sure in _find_unfinished(change):
        if is_sure:
            text = " ".join(text_of(note).lstrip("/#* ").split())[:120]
            message = f"the new function `{changed.function.name}` says that it is not finished: {text}"
            yield SignalMatch(message, changed.file.path, changed.function.line_of(note))


@signal(Category.HALF_FINISHED, SignalKind.SUSPICION, SignalScope.PRODUCTION)
def unfinished_todo(change: CodeChange) -> Iterator[SignalMatch]:
    """An added comment that says that work is left: a TODO that names what this change should do.

    Or a TODO where the body of a new function breaks off, or in place of the use of a parameter.

    Why it matters: What this change is for is put off to another one.
    Example: `# FIXME: implement the retry` in an added line.
    False alarms: 124 of 30051 clean changes with production code (0.4 %, at most 0.49 %).
    """
    reported = {
        (changed.file.path, changed.function.line_of(note)): is_sure
        for changed, note, is_sure in _find_unfinished(change)
    }
    for (path, number), is_sure in reported.items():
        if not is_sure:
            note = "a comment says that work is left, where the function ends or drops a parameter"
            yield SignalMatch(note, path, number)
    for file in change.production_files():
        for number, text in islice(_find_todos(file, change), _MOST):
            if (file.path, number) not in reported:
                yield SignalMatch(f"a comment says that work is left: {text}", file.path, number)


@memoized
def _find_unfinished(change: CodeChange) -> tuple[tuple[ChangedFunction, "Node", bool], ...]:
    """Functions, each with a note in it, and whether it says that the function's own work is not done."""
    if is_stub_requested(change):
        return ()
    stubs = {(stub.changed.file.path, stub.changed.function.first_line) for stub in find_stubs(change)}
    finders = (find_new_functions, find_wrapped, find_left_to_subclasses, find_examples)
    todos: dict[tuple[str, int], tuple[ChangedFunction, Node, bool]] = {}
    for changed in chain.from_iterable(find(change) for find in finders):
        function, first = changed.function, changed.function.source.first_line
        lines = function.source.lines[function.first_line - first : function.last_line + 1 - first]
        if (changed.file.path, function.first_line) in stubs or not any(map(is_marked, lines)):
            continue
        for note in function.comments:
            key = (changed.file.path, note.start_byte)
            is_sure = _is_note_certain(note, changed, change) if key not in todos else None
            if is_sure is not None and text_of(note).strip() not in change.removed_texts:
                todos[key] = (changed, note, is_sure)
    return tuple(todos.values())


@lru_cache(maxsize=64)
def is_marked(line: str) -> bool:
    """Cached: where a carriage return ends the lines, hundreds of functions stand in one line of git."""
    return _MARK.search(line) is not None or _UNFINISHED.search(line) is not None


def _is_note_certain(note: "Node", changed: ChangedFunction, change: CodeChange) -> bool | None:
    """Whether the note certainly, or only perhaps, leaves work open; None: neither."""
    function, text = changed.function, " ".join(text_of(note)[:_LONGEST].split())
    line, below = function.source.lines[note.start_point.row], note.next_named_sibling
    is_alone = line[:1].isspace() and line.strip().startswith(("#", "//", "/*"))
    if not _MARK.search(text) or _OPTIONAL_WORK.search(text) or not is_alone or note not in function.remarks:
        return None
    is_refused = len(function.statements) == 1 and is_declared_refusal(text_of(function.statements[0]))
    is_of_platform = is_refused and is_platform_variant(changed)
    if is_of_platform or _is_planned(text, change) or _is_in_commented_code(note, function):
        return None
    if _UNFINISHED.search(text):
        # a comment below may describe a temporary way, or a guard there refuse what is not supported: a limit
        more = text_of(below)[:_LONGEST]
        is_temporary = below is not None and is_comment(below) and _FOR_NOW.search(more) is not None
        is_guarded = below is not None and below.type in _GUARDS and STOP_PATTERN.search(more) is not None
        is_other = _OTHER_TARGET.search(text) is not None or is_temporary or is_guarded
        return not is_other and not is_stage(function, change)
    # in an example a TODO alone may stand for what its reader does there
    is_doubtful = changed.file.role is not FileRole.EXAMPLE and (
        _is_last_statement(note, function) or bool(find_unused_parameters(function))
    )
    return False if is_doubtful else None


def _is_planned(text: str, change: CodeChange) -> bool:
    """Whether it names a release to come, or an issue that this change is not for: then it is left on purpose."""
    if _RELEASE.search(text):
        return True
    pull = change.dossier.pull_request
    links = find_closing_links(f"{pull.title}\n\n{pull.body}", pull.repository)
    own = {issue.number for issue in (*change.dossier.issues, *links)} | {pull.number}
    tracked = [int(match[1] or match[2]) for match in _TRACKED.finditer(text)]
    return not own.issuperset(tracked) or ("://" in text and not tracked)


def _is_in_commented_code(note: "Node", function: Function) -> bool:
    """Whether the line above the mark is code in comments, so that the mark is a part of what was taken out."""
    inside = next((at for at, line in enumerate(text_of(note).split("\n")) if _MARK.search(line)), 0)
    row = note.start_point.row + inside
    above = function.source.lines[row - 1].strip() if row else ""
    comment = _COMMENT.match(above)
    return is_code_like(comment[1]) if comment is not None else bool(inside) and is_code_like(above)


def _is_last_statement(note: "Node", function: Function) -> bool:
    """Whether nothing is done behind it: the body ends, or returns what it has."""
    lists = (function.body, *(child for child in function.body.named_children if child.type == "statement_list"))
    block = next((block for block in lists if block == note.parent), None)
    if block is None:
        return False
    behind = [child for child in block.named_children if child.start_byte > note.start_byte and not is_comment(child)]
    if len(behind) != 1:
        return not behind
    return behind[0].type in _ENDS and _SIMPLE.fullmatch(text_of(behind[0])) is not None


def _read_todo(text: str) -> "re.Match[str] | None":
    """The comment of a line, if it leaves work open."""
    comment = _COMMENT.search(text[:_LONGEST])
    return comment if comment is not None and _UNDONE.search(comment[1]) else None


def _find_todos(file: AnalyzedFile, change: CodeChange) -> Iterator[tuple[int, str]]:
    if not any(can_match(_UNDONE, text) for text in file.diff.added_passages()):
        return
    for line in file.diff.added_lines_matching(_read_todo):
        comment = _read_todo(line.text)
        if comment is None or "?" in comment[1] or line.text.strip() in change.removed_texts:
            continue
        is_attribute = file.language is Language.RUST and comment[0].startswith("#")
        if not is_attribute:
            yield line.head_line or 0, " ".join(comment[1].split())[:120]
