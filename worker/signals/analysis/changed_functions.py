"""The functions that a change writes, and whether a body without work is right there: abstract, a hook, a test, a stage.

A function is new only if every line of it was added and not moved; git may count a neighbour's closing line as new. In doubt
a function is meant to be overridden.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from tree_sitter import Node

from worker.domain.pattern import pattern
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized, memoized_for_family
from worker.signals.analysis.file_roles import MORE_LANGUAGES, FileRole, Language
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.relatedness import common_stems, stems_in, stems_of
from worker.signals.analysis.syntax import ancestors, is_comment, siblings_above, text_of

CLOSING_LINES: Final = frozenset({"", "}", "};", "},", ")", "})", "});"})


class ChangedFunction(NamedTuple):
    """One function with its file."""

    file: AnalyzedFile
    function: Function


@memoized
def find_new_functions(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of production code that are more than a declaration or a test."""
    return tuple(new for new in _find_fresh(change) if not is_declaration(new.function))


@memoized
def find_registered(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of Python that a framework runs."""
    return tuple(new for new in _find_fresh(change) if is_run_by_a_framework(new.function))


@memoized
def find_wrapped(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of Python under any decorator that runs or wraps them, the registered ones included."""
    return tuple(new for new in _find_fresh(change) if is_wrapped(new.function))


@memoized
def find_left_to_subclasses(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New methods of Python's abstract classes that are not declared abstract."""
    return tuple(new for new in _find_fresh(change) if is_concrete_in_abstract_class(new.function))


@memoized
def find_examples(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of examples, benchmarks and the documentation's tools, without templates and texts for learners."""
    files = (file for file in change.files if file.language is not None and file.role is FileRole.EXAMPLE)
    touched = _find_touched(file for file in files if not _TO_FILL.search(file.path))
    fresh = [new for new in touched if _is_new(new, change)]
    # a benchmark of Rust is marked as a test is, and is none
    return tuple(new for new in fresh if not is_declaration(new.function) or _BENCHMARK.search(new.function.attributes))


@memoized
def find_rewritten(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """Functions that were there and whose whole bodies were written by this change."""
    fresh = {id(new.function) for new in _find_fresh(change)}
    older = (changed for changed in _find_all(change) if id(changed.function) not in fresh)
    return tuple(changed for changed in older if _is_rewritten(changed) and not is_declaration(changed.function))


@memoized
def _find_fresh(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _find_all(change) if _is_new(changed, change))


@memoized
def _find_all(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(_find_touched(change.production_files()))


def _find_touched(files: Iterable[AnalyzedFile]) -> Iterator[ChangedFunction]:
    for file in files:
        has_conflict = any(text.startswith("<<<<<<<") for text in file.diff.added_texts)  # no parser reads such a file
        added = sorted(file.added_lines) if file.sources and not has_conflict else []
        for source in file.sources if added else ():
            for function in find_functions(source):
                if function.first_line <= added[-1] and function.last_line >= added[0] and not _is_cut(file, function):
                    yield ChangedFunction(file, function)


_BENCHMARK: Final = pattern(r"#\[bench\]")
_RUNNABLE_FOLDERS: Final = pattern(r"(?:^|/)[\w.-]*(?:examples?|demos?|samples?|bench(?:es|marks?)?)/", 2)
_BENCHMARKS: Final = pattern(r"(?:^|/)[\w.-]*bench(?:es|marks?)?/", 2)
_TO_FILL: Final = pattern(
    r"template|scaffold|skeleton|boilerplate|tutorial|exercise|workshop|learn|snippet|stub|starter", 2
)


def is_runnable_example(file: AnalyzedFile) -> bool:
    """Whether it is an example to run, and no text of the documentation, which may be brief."""
    return _RUNNABLE_FOLDERS.search(file.path) is not None


def is_whole_program(changed: ChangedFunction) -> bool:
    """Whether it is a benchmark or a whole program, which are not brief as an example may be."""
    return changed.function.name == "main" or _BENCHMARKS.search(changed.file.path) is not None


def is_import_fallback(function: Function) -> bool:
    """Whether it takes the place of what could not be imported."""
    return any(around.type == "except_clause" for around in ancestors(function.node))


def _is_cut(file: AnalyzedFile, function: Function) -> bool:
    """Whether the fragment may end before the function does: only Python's bodies have no closing line."""
    source = function.source
    if source.is_whole or source.language is not Language.PYTHON:
        return False
    head = source.lines[function.node.start_point.row]
    behind = next((line for line in source.lines[function.node.end_point.row + 1 :] if line.strip()), None)
    if behind is not None:
        return len(behind) - len(behind.lstrip()) > len(head) - len(head.lstrip())
    end = source.first_line + len(source.lines) - 1 - (not source.lines[-1])
    return end not in file.added_lines  # the file goes on behind the hunk


def _is_new(changed: ChangedFunction, change: CodeChange) -> bool:
    """Whether every line of it was added, and not merely moved or given another indentation."""
    file, function = changed
    lines, first = function.source.lines, function.source.first_line
    if function.first_line not in file.added_lines:
        return False
    numbers = range(function.first_line, function.last_line + 1)
    texts = {number: lines[number - first].strip() for number in numbers}
    whole = all(number in file.added_lines or text in CLOSING_LINES for number, text in texts.items())
    return whole and not _is_moved([text for text in texts.values() if text not in CLOSING_LINES], change)


_FEW: Final = 3


def _is_moved(texts: list[str], change: CodeChange) -> bool:
    if not change.removed_texts.issuperset(texts):
        return False
    # few lines may occur anywhere: a body that was left behind when the function was moved
    return len(texts) > _FEW or tuple(texts) in _find_removed_runs(change)


@memoized_for_family
def _find_removed_runs(change: CodeChange) -> frozenset[tuple[str, ...]]:
    """Up to three removed lines that followed each other."""
    lines = (text.strip() for file in change.files for text in file.diff.removed_texts)
    texts = [text for text in lines if text not in CLOSING_LINES]
    return frozenset(tuple(texts[at : at + size]) for at in range(len(texts)) for size in range(1, _FEW + 1))


def _is_rewritten(changed: ChangedFunction) -> bool:
    file, function = changed
    body, first = function.body, function.source.first_line
    rows = range(body.start_point.row, body.end_point.row + 1)
    opening = -1 if function.source.language is Language.PYTHON else body.start_point.row
    texts = function.source.lines
    numbers = (row + first for row in rows if row != opening and texts[row].strip() not in CLOSING_LINES)
    line = next(numbers, None)  # of most functions the first line was there, and the others need not be read
    is_written = line is not None and line in file.added_lines and all(line in file.added_lines for line in numbers)
    return is_written and bool(file.diff.removed_texts)


def documentation_of(function: Function) -> str:
    """The comments above a function and its docstring."""
    above = [text_of(note) for note in function.nodes_above if is_comment(note)]
    return " ".join((*reversed(above), function.docstring))


_DECLARING: Final = pattern(
    r"\b(abstractmethod|abstractproperty|abstractclassmethod|overload|abstract|type_check_only)\b"
)
_PLAIN_DECORATOR: Final = pattern(
    r"@(staticmethod|classmethod|property|cached_property|functools\.cached_property|\w+\.setter)\b"
)
_RUNNING: Final = pattern(
    r"@(?:\w+\.){0,4}(?:route|get|post|put|patch|delete|websocket|command|option|argument|pass_context|pass_obj|task|shared_task|fixture|errorhandler"
    r"|lru_cache|cache|wraps|contextmanager|asynccontextmanager|login_required|retry|(?:field_|model_)?validator)\b(?:\([^@]{0,500}\))?"
)
"""Decorators of Python that run the body as it is."""
_TESTS: Final = pattern(r"#\[(?:cfg\((?>.{0,300}?\btest\b).{0,300}?\)|(?:\w{1,60}::){0,6}test\b.{0,300}?|bench)\]")
_ABSTRACT_BASES: Final = pattern(r"\b(Protocol|ABC|ABCMeta|Interface)\b")
_ABSTRACT_NAME: Final = pattern(
    r"^_*(Base|Abstract|Null|NoOp|Noop|Dummy)|Ignor(ed|es|ing)$|Disabled$|(Base|Abstract|Mixin|Interface|Protocol|Template|Hooks?|Stub|Fake|Mock|Null|NoOp|Noop)$"
)
_OVERRIDE_WORDS: Final = pattern(
    r"overrid|subclass|abstract|must be implemented|should be implemented|implemented by|no-?op", re.IGNORECASE
)
_OPEN: Final = pattern(r"\b(?:virtual|open|partial|actual|Deprecated|Obsolete)\b")
"""Words of C# and Kotlin before a method that may be overridden, has another part, or is deprecated."""
_CLASSES: Final = frozenset({"class_definition", "class_declaration", "abstract_class_declaration", "class"})
_MODIFIERS: Final = frozenset({"modifiers", "modifier", "abstract_modifier"})


def is_declaration(function: Function) -> bool:
    """Whether it only declares, or is a test."""
    language = function.source.language
    if language is Language.PYTHON:
        return _is_python_declaration(function, function.attributes)
    if language is Language.RUST:
        return _TESTS.search(function.attributes) is not None or any(map(_declares_rust, ancestors(function.node)))
    owner = function.container
    is_in_interface = owner is not None and owner.type in {"interface_declaration", "annotation_type_declaration"}
    is_declared = is_in_interface and not cannot_be_overridden(function)
    return is_declared or _DECLARING.search(function.attributes) is not None


def _declares_rust(around: Node) -> bool:
    """Whether it is a trait, or a module that is built for tests alone."""
    if around.type != "mod_item":
        return around.type == "trait_item"
    above = siblings_above(around, lambda node: node.type in {"attribute_item", "line_comment", "block_comment"})
    return _TESTS.search(" ".join(map(text_of, above))) is not None


def is_run_by_a_framework(function: Function) -> bool:
    """Whether it is of Python and registered or wrapped by decorators that all run its body as it is."""
    if function.source.language is not Language.PYTHON or not _RUNNING.search(function.attributes):
        return False
    return not _is_python_declaration(function, _RUNNING.sub("", function.attributes))


def is_wrapped(function: Function) -> bool:
    """Whether it is of Python, under a decorator that does not declare it abstract."""
    decorators = function.attributes
    if function.source.language is not Language.PYTHON or "@" not in _PLAIN_DECORATOR.sub("", decorators):
        return False
    return _DECLARING.search(decorators) is None and not _is_python_declaration(function, "")


def is_concrete_in_abstract_class(function: Function) -> bool:
    """Whether it is a method of an abstract class of Python whose decorators do not declare it abstract."""
    is_python = function.source.language is Language.PYTHON and function.scope is FunctionScope.TYPE
    plain = not is_wrapped(function) and "@" not in _PLAIN_DECORATOR.sub("", function.attributes)
    return is_python and plain and is_declaration(function)


def _is_python_declaration(function: Function, decorators: str) -> bool:
    branches = (around for around in ancestors(function.node) if around.type == "if_statement")
    is_typing = any(text_of(branch.child_by_field_name("condition")).endswith("TYPE_CHECKING") for branch in branches)
    if is_typing or _is_among_stubs(function):
        return True
    if _DECLARING.search(decorators) or "@" in _PLAIN_DECORATOR.sub("", decorators):
        return True  # the effect of an unknown decorator on an empty body is unknown
    owner = function.container
    if owner is None or owner.type != "class_definition":
        return False
    bases = text_of(owner.child_by_field_name("superclasses"))
    return _ABSTRACT_BASES.search(bases) is not None or "abstractmethod" in text_of(owner)


def _is_among_stubs(function: Function) -> bool:
    """Whether it and its neighbour are dots alone, as in a protocol whose head is not shown."""
    if [text_of(statement) for statement in function.statements] != ["..."]:
        return False
    lines = function.source.lines
    near = (function.first_line - function.source.first_line - 1, function.last_line - function.source.first_line + 1)
    return any(0 <= row < len(lines) and lines[row].rstrip().endswith(": ...") for row in near)


def is_hook(function: Function) -> bool:
    """Whether it is one of several definitions, or it or its class says that it is there to be overridden."""
    if function.scope is FunctionScope.BRANCH:
        return True
    if function.source.language is Language.GO or cannot_be_overridden(function):
        return False
    texts = (function.docstring, *map(text_of, function.nodes_above))
    if any(map(_OVERRIDE_WORDS.search, texts)) or is_overridable(function):
        return True
    owner = _class_of(function)
    if owner is None:
        return False
    modifiers = " ".join(text_of(child) for child in owner.children if child.type in _MODIFIERS)
    is_abstract = owner.type == "abstract_class_declaration" or "abstract" in modifiers
    return is_abstract or bool(_ABSTRACT_NAME.search(text_of(owner.child_by_field_name("name"))))


def cannot_be_overridden(function: Function) -> bool:
    """Whether its modifiers say so: `private` and, in Java, `static`."""
    modifiers = function.attributes.split()
    return "private" in modifiers or (function.source.language is Language.JAVA and "static" in modifiers)


def is_overridable(function: Function) -> bool:
    """Whether it is of C# or Kotlin and open, or in an interface of Kotlin, which is a kind of class."""
    if function.source.language not in MORE_LANGUAGES:
        return False
    owner = _class_of(function)
    is_in_interface = owner is not None and any(child.type == "interface" for child in owner.children)
    return is_in_interface or _OPEN.search(function.attributes) is not None


def is_extended(function: Function, change: CodeChange) -> bool:
    """Whether some text of the dossier extends the class around it, and could override it."""
    owner = _class_of(function)
    name = text_of(owner.child_by_field_name("name")) if owner else ""
    return bool(name) and "private" not in function.attributes.split() and name in change.extended_classes


def _class_of(function: Function) -> Node | None:
    owner = function.container
    return owner if owner is not None and owner.type in _CLASSES else None


def has_working_siblings(function: Function) -> bool:
    """Whether it is in an implementation of a trait whose other methods work: there a refusal is meant."""
    owner = function.container
    if owner is None or not is_of_a_trait(function) or owner.type != "impl_item":
        return False
    others = (
        other for other in find_functions(function.source) if other.container == owner and other.node != function.node
    )
    only = (text_of(other.statements[0]) if len(other.statements) == 1 else "" for other in others)
    return any(not re.match(r"(todo|unimplemented)!", text) for text in only)


_STAGE: Final = pattern(
    r"\b(scaffold(s|ed|ing)?|(?<!the )(?:skeletons?|stubs?|placeholders?|draft|prototype)|stubbed|stubbing|boilerplate|wip|work in progress"
    r"|empty tests?|(part|step|phase|stage) ?#?\d|first (part|step|pass|cut|draft)|partial(ly)?|first instal+ments?|ground ?work|preparations?|start(ed)? (of|on))\b"
    r"|[(\[]\d+/(\d+|n)[)\]]|^prepare\b",
    re.IGNORECASE,
)
DECORATION: Final = pattern(r"[@#\[]")
"""A decorator, an attribute or an annotation: what it names may call the function."""
_CALLED_BY_LANGUAGE: Final = pattern(r"__\w+__|constructor|main|equals|hashCode|toString")
_MOST_ASKED: Final = 40_000
"""Characters."""
_LONGEST: Final = 1_000
_NO_CALL: Final = pattern(
    r"\s*(?://|\#|\*(?:[\s/]|$)|/\*|--|func\b|(?:[\w$]+ )*[\w$]+\([^()]*\)\s*(?::[^;]*)?\{\s*$|[A-Z]\w*\([^()]*\)\s*(?:[\w*\[(][^;]*)$|\w+\??\([^()]*\)\s*:)"
)
"""Comments, and definitions that begin with the name: of Go, of JavaScript, and those of an interface."""
_CALL: Final = pattern(
    r"(?:^\s*|=>\s*|->\s*|[^\w\s>\])$]\s*|\b(?:return|await|yield|throw|new|not|and|or|in|is|if|elif|else|case|go|defer|assert|raise|when|while|until|unless|do|then|move|match)\s+)"
    r"([A-Za-z_$][\w$]*)(?:::<[^>\n]{0,80}>|<[^>\n(]{0,80}>)?!? ?\("
)


def is_stage(function: Function, change: CodeChange) -> bool:
    """Whether an unwritten function may be left for a later change: finished work does not need it, or the title says so."""
    name, attributes = function.name, function.attributes
    is_outside = _CALLED_BY_LANGUAGE.fullmatch(name) or is_of_a_trait(function) or DECORATION.search(attributes)
    is_needed = (
        is_outside
        or name in _find_called_names(change)
        or name in references.find_passed_names(change)
        or not _find_requested_stems(change).isdisjoint(stems_of(name))
        or not any(_is_beside(other, function) for other in _find_working_functions(change))
    )
    return not is_needed or is_announced(change)


def is_announced(change: CodeChange) -> bool:
    """Whether the title says that more is to come."""
    return _STAGE.search(change.dossier.pull_request.title) is not None


def is_of_a_trait(function: Function) -> bool:
    """Whether a trait of Rust asks for the function."""
    owner = function.container
    return owner is not None and owner.child_by_field_name("trait") is not None


def _is_beside(other: Function, function: Function) -> bool:
    """Whether neither is inside the other."""
    first, second = sorted((other.node, function.node), key=lambda node: (node.start_byte, -node.end_byte))
    return other.source is not function.source or first.end_byte <= second.start_byte


@memoized
def _find_working_functions(change: CodeChange) -> tuple[Function, ...]:
    """The new functions of production code with at least two statements."""
    sources = ((file, source) for file in change.production_files() for source in file.sources)
    functions = ((file, function) for file, source in sources for function in find_functions(source))
    new = (function for file, function in functions if function.first_line in file.added_lines)
    return tuple(function for function in new if len(function.statements) > 1)


@memoized
def _find_requested_stems(change: CodeChange) -> frozenset[str]:
    """The stems of the title, the issues and the criteria."""
    dossier = change.dossier
    issues = (f"{issue.title}\n{issue.body}" for issue in dossier.issues)
    criteria = (criterion.text for criterion in dossier.criteria or ())
    return stems_in("\n".join((dossier.pull_request.title, *issues, *criteria))[:_MOST_ASKED]) - common_stems()


@memoized
def _find_called_names(change: CodeChange) -> frozenset[str]:
    """The names of functions that added lines call."""
    lines = (line[:_LONGEST] for file in change.files for line in file.diff.added_texts)
    return frozenset(chain.from_iterable(_CALL.findall(line) for line in lines if not _NO_CALL.match(line)))
