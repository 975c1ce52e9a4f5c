"""The functions that a change writes: new ones, and old ones whose whole body it wrote anew.

Does not judge them. Invariant: a function is new only if every line of it is, and its lines did not stand elsewhere
before; what git takes for a new closing line may belong to the neighbour.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.domain.pattern import pattern
from worker.signals.analysis import references
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.analysis.file_roles import MORE_LANGUAGES, FileRole, Language
from worker.signals.analysis.functions import Function, FunctionScope, find_functions
from worker.signals.analysis.relatedness import common_stems, stems_in, stems_of
from worker.signals.analysis.syntax import ancestors, is_comment, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

CLOSING_LINES: Final = frozenset({"", "}", "};", "},", ")", "})", "});"})


class ChangedFunction(NamedTuple):
    """One function with the file it stands in."""

    file: AnalyzedFile
    function: Function


def find_new_functions(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of production code that are more than a declaration or a test."""
    return change.cached(_select_new)


def find_registered(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of Python that a framework runs: what it makes of an empty body, nobody can say."""
    return change.cached(_select_registered)


def find_wrapped(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of Python under any decorator that runs or wraps them; the registered ones are among them."""
    return change.cached(_select_wrapped)


def find_left_to_subclasses(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New methods of Python's abstract classes that are not declared abstract themselves: they may do nothing, or all."""
    return change.cached(_select_left_to_subclasses)


def find_examples(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """New functions of examples, benchmarks and what makes the documentation; templates and texts for learners have gaps to fill."""
    return change.cached(_select_examples)


def is_runnable_example(file: AnalyzedFile) -> bool:
    """Whether it is an example to run, and no text of the documentation, which may be brief."""
    return _RUNNABLE_FOLDERS.search(file.path) is not None


def is_whole_program(changed: ChangedFunction) -> bool:
    """Whether it is a benchmark or the whole program: nobody leaves its body out to be brief, as an example may."""
    return changed.function.name == "main" or _BENCHMARKS.search(changed.file.path) is not None


def find_rewritten(change: CodeChange) -> tuple[ChangedFunction, ...]:
    """Functions that were there, and all that their bodies say now was written by this change."""
    return change.cached(_select_rewritten)


def _select_new(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if not is_declaration(changed.function))


def _select_left_to_subclasses(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if is_concrete_in_abstract_class(changed.function))


def _select_examples(change: CodeChange) -> tuple[ChangedFunction, ...]:
    files = (file for file in change.files if file.language is not None and file.role is FileRole.EXAMPLE)
    runs = (file for file in files if not _TO_FILL.search(file.path))
    return tuple(
        changed for changed in _touched_functions(runs) if _is_new(changed, change) and _is_run(changed.function)
    )


def _is_run(function: Function) -> bool:
    """A benchmark of Rust is marked as a test is, and is none."""
    return not is_declaration(function) or _BENCHMARK.search(function.attributes) is not None


_BENCHMARK: Final = pattern(r"#\[bench\]")


_RUNNABLE_FOLDERS: Final = pattern(r"(?:^|/)[\w.-]*(?:examples?|demos?|samples?|bench(?:es|marks?)?)/", 2)
_BENCHMARKS: Final = pattern(r"(?:^|/)[\w.-]*bench(?:es|marks?)?/", 2)
_TO_FILL: Final = pattern(
    r"template|scaffold|skeleton|boilerplate|tutorial|exercise|workshop|learn|snippet|stub|starter", 2
)


def _select_registered(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if is_run_by_a_framework(changed.function))


def _select_wrapped(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _fresh_functions(change) if is_wrapped(changed.function))


def _select_rewritten(change: CodeChange) -> tuple[ChangedFunction, ...]:
    fresh = {id(changed.function) for changed in _fresh_functions(change)}
    older = (changed for changed in _all_functions(change) if id(changed.function) not in fresh)
    return tuple(changed for changed in older if _is_rewritten(changed) and not is_declaration(changed.function))


def _fresh_functions(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return change.cached(_select_fresh)


def _select_fresh(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(changed for changed in _all_functions(change) if _is_new(changed, change))


def _all_functions(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return change.cached(_select_all)


def _select_all(change: CodeChange) -> tuple[ChangedFunction, ...]:
    return tuple(_touched_functions(change.production_files()))


def _touched_functions(files: Iterable[AnalyzedFile]) -> Iterator[ChangedFunction]:
    for file in files:
        added = sorted(file.added_lines) if file.sources and not _has_conflict(file) else []
        for source in file.sources if added else ():
            for function in find_functions(source):
                if function.first_line <= added[-1] and function.last_line >= added[0] and not _is_cut(file, function):
                    yield ChangedFunction(file, function)


def is_import_fallback(function: Function) -> bool:
    """It takes the place of what could not be imported."""
    return any(around.type == "except_clause" for around in ancestors(function.node))


def _has_conflict(file: AnalyzedFile) -> bool:
    """Where a body ends in such a file no parser can tell."""
    return any(text.startswith("<<<<<<<") for text in file.diff.added_texts)


def _is_cut(file: AnalyzedFile, function: Function) -> bool:
    """Whether the fragment may end before the function does: only Python's bodies have no closing line."""
    source = function.source
    if source.is_whole or source.language is not Language.PYTHON:
        return False
    head = source.lines[function.node.start_point.row]
    behind = next((line for line in source.lines[function.node.end_point.row + 1 :] if line.strip()), None)
    if behind is not None:
        return _indentation(behind) > _indentation(head)
    end = source.first_line + len(source.lines) - 1 - (not source.lines[-1])
    return end not in file.added_lines  # the file goes on behind what the hunk shows


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_new(changed: ChangedFunction, change: CodeChange) -> bool:
    """Every line of it was added, and it was not merely moved or given another indentation."""
    file, function = changed
    lines, first = function.source.lines, function.source.first_line
    if function.first_line not in file.added_lines:
        return False
    numbers = range(function.first_line, function.last_line + 1)
    texts = {number: lines[number - first].strip() for number in numbers}
    whole = all(number in file.added_lines or text in CLOSING_LINES for number, text in texts.items())
    return whole and not _is_moved([text for text in texts.values() if text not in CLOSING_LINES], change)


def _is_moved(texts: list[str], change: CodeChange) -> bool:
    if not change.removed_texts.issuperset(texts):
        return False
    # few lines may stand anywhere: a body that was left behind when the function was moved
    return len(texts) > _FEW or tuple(texts) in change.cached_for_family(_removed_runs)


_FEW: Final = 3


def _removed_runs(change: CodeChange) -> frozenset[tuple[str, ...]]:
    """Up to three removed lines that followed each other."""
    lines = (text.strip() for file in change.files for text in file.diff.removed_texts)
    texts = [text for text in lines if text not in CLOSING_LINES]
    return frozenset(tuple(texts[at : at + size]) for at in range(len(texts)) for size in range(1, _FEW + 1))


def _is_rewritten(changed: ChangedFunction) -> bool:
    file, function = changed
    body, first = function.body, function.source.first_line
    rows = range(body.start_point.row, body.end_point.row + 1)
    opening = -1 if function.source.language is Language.PYTHON else body.start_point.row
    numbers = (
        row + first for row in rows if row != opening and function.source.lines[row].strip() not in CLOSING_LINES
    )
    line = next(numbers, None)  # of most functions the first line was there: then nobody need read the others
    is_written = line is not None and line in file.added_lines and all(line in file.added_lines for line in numbers)
    return is_written and bool(file.diff.removed_texts)


def documentation_of(function: Function) -> str:
    """What is said about a function, above it and in its docstring."""
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
"""Decorators of Python that run the body as it stands."""

_TESTS: Final = pattern(r"#\[(?:cfg\((?>.{0,300}?\btest\b).{0,300}?\)|(?:\w{1,60}::){0,6}test\b.{0,300}?|bench)\]")
_ABSTRACT_BASES: Final = pattern(r"\b(Protocol|ABC|ABCMeta|Interface)\b")
_ABSTRACT_NAME: Final = pattern(
    r"^_*(Base|Abstract|Null|NoOp|Noop|Dummy)|Ignor(ed|es|ing)$|Disabled$|(Base|Abstract|Mixin|Interface|Protocol|Template|Hooks?|Stub|Fake|Mock|Null|NoOp|Noop)$"
)
_OVERRIDE_WORDS: Final = pattern(
    r"overrid|subclass|abstract|must be implemented|should be implemented|implemented by|no-?op", re.IGNORECASE
)

_OPEN: Final = pattern(r"\b(?:virtual|open|partial|actual|Deprecated|Obsolete)\b")
"""What C# and Kotlin write before a method that may be overridden, is written elsewhere too, or is to be called no more."""


def is_declaration(function: Function) -> bool:
    """It declares, or is a test: nothing to say about its body."""
    language = function.source.language
    if language is Language.PYTHON:
        return _is_python_declaration(function, function.attributes)
    if language is Language.RUST:
        return _is_rust_declaration(function)
    return _is_in_interface(function) or _DECLARING.search(function.attributes) is not None


def is_run_by_a_framework(function: Function) -> bool:
    """A function of Python that is registered or wrapped, by decorators that all run its body as it stands."""
    if function.source.language is not Language.PYTHON or not _RUNNING.search(function.attributes):
        return False
    return not _is_python_declaration(function, _RUNNING.sub("", function.attributes))


def is_wrapped(function: Function) -> bool:
    """A function of Python under a decorator that does not say that it only declares."""
    decorators = function.attributes
    if function.source.language is not Language.PYTHON or "@" not in _PLAIN_DECORATOR.sub("", decorators):
        return False
    return _DECLARING.search(decorators) is None and not _is_python_declaration(function, "")


def is_concrete_in_abstract_class(function: Function) -> bool:
    """A method of an abstract class of Python that is not abstract itself, as far as its decorators say."""
    is_python = function.source.language is Language.PYTHON and function.scope is FunctionScope.TYPE
    plain = not is_wrapped(function) and "@" not in _PLAIN_DECORATOR.sub("", function.attributes)
    return is_python and plain and is_declaration(function)


def _is_python_declaration(function: Function, decorators: str) -> bool:
    if _is_type_checking_only(function) or _is_among_stubs(function):
        return True
    if _DECLARING.search(decorators) or "@" in _PLAIN_DECORATOR.sub("", decorators):
        return True  # what a decorator we do not know makes of an empty body, nobody can say
    owner = function.container
    if owner is None or owner.type != "class_definition":
        return False
    bases = text_of(owner.child_by_field_name("superclasses"))
    return _ABSTRACT_BASES.search(bases) is not None or "abstractmethod" in text_of(owner)


def _is_type_checking_only(function: Function) -> bool:
    """It stands below `if TYPE_CHECKING:`, where nothing is ever run."""
    conditions = (
        ancestor.child_by_field_name("condition")
        for ancestor in ancestors(function.node)
        if ancestor.type == "if_statement"
    )
    return any(text_of(condition).endswith("TYPE_CHECKING") for condition in conditions)


def _is_among_stubs(function: Function) -> bool:
    """It and its neighbour are dots alone, as in a protocol whose head is not shown."""
    if [text_of(statement) for statement in function.statements] != ["..."]:
        return False
    lines = function.source.lines
    near = (function.first_line - function.source.first_line - 1, function.last_line - function.source.first_line + 1)
    return any(0 <= row < len(lines) and lines[row].rstrip().endswith(": ...") for row in near)


def _is_rust_declaration(function: Function) -> bool:
    if _TESTS.search(function.attributes):
        return True
    return any(
        ancestor.type == "trait_item" or (ancestor.type == "mod_item" and _TESTS.search(_attributes_above(ancestor)))
        for ancestor in ancestors(function.node)
    )


def _attributes_above(node: "Node") -> str:
    texts: list[str] = []
    before = node.prev_named_sibling
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        texts.append(text_of(before))
        before = before.prev_named_sibling
    return " ".join(texts)


def _is_in_interface(function: Function) -> bool:
    owner = function.container
    is_there = owner is not None and owner.type in {"interface_declaration", "annotation_type_declaration"}
    return is_there and not cannot_be_overridden(function)


def is_hook(function: Function) -> bool:
    """It is one of several definitions, or it or its class says that it is there to be overridden."""
    if function.scope is FunctionScope.BRANCH:
        return True
    if function.source.language is Language.GO or cannot_be_overridden(function):
        return False
    if any(_OVERRIDE_WORDS.search(text) for text in (function.docstring, *map(text_of, function.nodes_above))):
        return True
    if is_overridable(function):
        return True
    owner = _class_of(function)
    if owner is None:
        return False
    name = text_of(owner.child_by_field_name("name"))
    return (
        owner.type == "abstract_class_declaration"
        or "abstract" in _modifiers(owner)
        or bool(_ABSTRACT_NAME.search(name))
    )


def cannot_be_overridden(function: Function) -> bool:
    """Its own words say so: `private` and, in Java, `static`."""
    modifiers = function.attributes.split()
    return "private" in modifiers or (function.source.language is Language.JAVA and "static" in modifiers)


def is_overridable(function: Function) -> bool:
    """C# and Kotlin: it says that it may be overridden, or it stands in an interface of Kotlin, a kind of class."""
    if function.source.language not in MORE_LANGUAGES:
        return False
    owner = _class_of(function)
    is_in_interface = owner is not None and any(child.type == "interface" for child in owner.children)
    return is_in_interface or _OPEN.search(function.attributes) is not None


def is_extended(function: Function, change: CodeChange) -> bool:
    """Whether any text of the dossier extends the class around it, and could override it."""
    owner = _class_of(function)
    name = text_of(owner.child_by_field_name("name")) if owner else ""
    if not name or "private" in function.attributes.split():
        return False
    return name in change.extended_classes


def _class_of(function: Function) -> "Node | None":
    owner = function.container
    return owner if owner is not None and owner.type in _CLASSES else None


_CLASSES: Final = frozenset({"class_definition", "class_declaration", "abstract_class_declaration", "class"})
_MODIFIERS: Final = frozenset({"modifiers", "modifier", "abstract_modifier"})


def _modifiers(owner: "Node") -> str:
    return " ".join(text_of(child) for child in owner.children if child.type in _MODIFIERS)


def has_working_siblings(function: Function) -> bool:
    """In an implementation of a trait whose other methods work, one that refuses does so on purpose."""
    owner = function.container
    if owner is None or owner.type != "impl_item" or owner.child_by_field_name("trait") is None:
        return False
    others = (
        other for other in find_functions(function.source) if other.container == owner and other.node != function.node
    )
    return any(
        not re.match(r"(todo|unimplemented)!", text_of(other.statements[0]) if len(other.statements) == 1 else "")
        for other in others
    )


def is_stage(function: Function, change: CodeChange) -> bool:
    """Whether the function may be left for a later change: beside finished work nothing needs it, or the title says so."""
    name = function.name
    is_outside = (
        _CALLED_BY_LANGUAGE.fullmatch(name) or is_of_a_trait(function) or DECORATION.search(function.attributes)
    )
    is_called = is_outside or name in change.cached(_called_names) or name in references.find_passed_names(change)
    is_needed = (
        is_called
        or not change.cached(_requested_stems).isdisjoint(stems_of(name))
        or _is_only_new_function(function, change)
    )
    return not is_needed or is_announced(change)


def is_announced(change: CodeChange) -> bool:
    """Whether the title says that more is to come."""
    return _STAGE.search(change.dossier.pull_request.title) is not None


_STAGE: Final = pattern(
    r"\b(scaffold(s|ed|ing)?|(?<!the )(?:skeletons?|stubs?|placeholders?|draft|prototype)|stubbed|stubbing|boilerplate|wip|work in progress"
    r"|empty tests?|(part|step|phase|stage) ?#?\d|first (part|step|pass|cut|draft)|partial(ly)?|first instal+ments?|ground ?work|preparations?|start(ed)? (of|on))\b"
    r"|[(\[]\d+/(\d+|n)[)\]]|^prepare\b",
    re.IGNORECASE,
)


DECORATION: Final = pattern(r"[@#\[]")
"""A decorator, an attribute or an annotation: what it names may call the function."""


def is_of_a_trait(function: Function) -> bool:
    """Whether a trait of Rust asks for the function."""
    owner = function.container
    return owner is not None and owner.child_by_field_name("trait") is not None


_CALLED_BY_LANGUAGE: Final = pattern(r"__\w+__|constructor|main|equals|hashCode|toString")


def _is_only_new_function(function: Function, change: CodeChange) -> bool:
    """The change writes no function beside it whose body does more than one thing."""
    return not any(_is_beside(other, function) for other in change.cached(_find_working_functions))


def _is_beside(other: Function, function: Function) -> bool:
    """Whether neither stands inside the other."""
    first, second = sorted((other.node, function.node), key=lambda node: (node.start_byte, -node.end_byte))
    return other.source is not function.source or first.end_byte <= second.start_byte


def _find_working_functions(change: CodeChange) -> tuple[Function, ...]:
    """The new functions of production code with at least two statements."""
    return tuple(
        function
        for file in change.production_files()
        for source in file.sources
        for function in find_functions(source)
        if function.first_line in file.added_lines and len(function.statements) > 1
    )


def _requested_stems(change: CodeChange) -> frozenset[str]:
    """The stems of the title, the issues and the criteria: a function that is named after them is what was asked for."""
    dossier = change.dossier
    issues = (f"{issue.title}\n{issue.body}" for issue in dossier.issues)
    criteria = (criterion.text for criterion in dossier.criteria or ())
    return stems_in("\n".join((dossier.pull_request.title, *issues, *criteria))[:_MOST_ASKED]) - common_stems()


_MOST_ASKED: Final = 40_000
"""Characters."""


def _called_names(change: CodeChange) -> frozenset[str]:
    """The names of functions that added lines call."""
    lines = (line[:_LONGEST] for file in change.files for line in file.diff.added_texts)
    return frozenset(chain.from_iterable(_CALL.findall(line) for line in lines if not _NO_CALL.match(line)))


_LONGEST: Final = 1_000
_NO_CALL: Final = pattern(
    r"\s*(?://|\#|\*(?:[\s/]|$)|/\*|--|func\b|(?:[\w$]+ )*[\w$]+\([^()]*\)\s*(?::[^;]*)?\{\s*$|[A-Z]\w*\([^()]*\)\s*(?:[\w*\[(][^;]*)$|\w+\??\([^()]*\)\s*:)"
)
"""Comments, and definitions that begin with the name: of Go, of JavaScript, and those of an interface."""
_CALL: Final = pattern(
    r"(?:^\s*|=>\s*|->\s*|[^\w\s>\])$]\s*|\b(?:return|await|yield|throw|new|not|and|or|in|is|if|elif|else|case|go|defer|assert|raise|when|while|until|unless|do|then|move|match)\s+)"
    r"([A-Za-z_$][\w$]*)(?:::<[^>\n]{0,80}>|<[^>\n(]{0,80}>)?!? ?\("
)
