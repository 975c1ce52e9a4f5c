"""What stands among tests and no runner looks into: on it a formatter, a compiler or a test tool is tried.

Does not read what it does. Invariant: a file whose text is not at hand, and that lies in no folder of
fixtures, is taken for one of tests.
"""

from typing import TYPE_CHECKING, Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.file_roles import FileRole, Language, role_of
from worker.signals.analysis.functions import Function
from worker.signals.analysis.syntax import ancestors, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST_DATA_FOLDERS: Final = pattern(
    r"(?:^|/)(?:__)?(?:\w+-)?(?:fixtures?|test-?data)(?:-\w+)?(?:__)?/"
    r"|(?:^|/)e2e/[^/]+/(?:[^/]+/)*__tests__/|(?:^|/)tests?/format/"
    r"|(?:^|/)(?:(?:\w+-)?tests?-compile|compile[-_](?:fail|pass|tests?)|trybuild|ui[-_]tests?|tests/(?:trybuild[-_])?ui)/"
)
"""What tests read, and what a compiler must take or refuse."""
_COLLECTED: Final = pattern(r"^tests?[_-]|_tests?\.py$|^conftest\.py$", 2)
_FRAMEWORKS: Final = r"(?:pytest|unittest|nose|hypothesis|trial|testing|asynctest)"
_FRAMEWORK: Final = pattern(rf"^\s*(?:from|import)\b.{{0,200}}\b{_FRAMEWORKS}\b|\b{_FRAMEWORKS}\.\w|\bTestCase\b", 8)
_PROGRAM: Final = pattern(r"^(?:pub )?(?:async )?fn main\(", 8)


def is_test_data(file: AnalyzedFile) -> bool:
    """Whether it only looks like tests: a fixture, Python that no runner collects (`tests.py`), a whole program in Rust's folder of tests."""
    return file.cached(_is_test_data)


def _is_test_data(file: AnalyzedFile) -> bool:
    if _TEST_DATA_FOLDERS.search(file.path) is not None:
        return True
    if file.head_text is None or role_of(file.path) is not FileRole.TEST:
        return False
    if file.language is Language.RUST:
        return _PROGRAM.search(file.head_text) is not None
    name = file.path.rpartition("/")[2]
    is_named = file.language is not Language.PYTHON or _COLLECTED.search(name) is not None
    return not is_named and _FRAMEWORK.search(file.head_text) is None


def is_local_function(function: Function) -> bool:
    """Whether it stands in a function of Python, or in a class that does."""
    return any(around.type == "function_definition" for around in ancestors(function.node))


def is_inner_class(function: Function) -> bool:
    """Whether it is of a class of Java in another one, and neither says that it is run with that."""
    inner = function.container
    outer = inner.parent.parent if inner is not None and inner.parent is not None else None
    if inner is None or outer is None or inner.type != "class_declaration" or outer.type != "class_declaration":
        return False
    return "@Nested" not in modifiers_of(inner) and "Enclosed" not in modifiers_of(outer)


def modifiers_of(owner: "Node") -> str:
    """What is written before a class or a method of Java, annotations included."""
    return " ".join(text_of(child) for child in owner.children if child.type == "modifiers")
