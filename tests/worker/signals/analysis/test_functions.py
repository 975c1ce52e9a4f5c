"""Named functions."""

import pytest

from tests.worker.signals.analysis.samples import TEXTS
from tests.worker.signals.samples import source_of
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.functions import find_functions

R, C, P, K = Language.RUBY, Language.CSHARP, Language.PHP, Language.KOTLIN


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("run(function () { return 1 })\nfunction named() {}\n", ["named"]),
        ("run(() => { return 1 })\n", []),
        ("const kept = () => { return 1 }\n", ["kept"]),
        ('it("works", () => { return 1 })\n', ["works"]),
    ],
    ids=["anonymous", "arrow", "kept arrow", "test"],
)
def test_only_named_functions_are_found(text: str, names: list[str]) -> None:
    functions = find_functions(source_of(text, Language.JAVASCRIPT))
    assert [function.name for function in functions] == names


def test_function_container_is_found_at_any_depth() -> None:
    deep = "".join(f"{' ' * depth}if a:\n" for depth in range(1, 90))
    text = f"class A:\n{deep}{' ' * 90}def f(): return 1\n"
    (distant,) = find_functions(source_of(text, Language.PYTHON))
    assert distant.container is not None
    (near,) = find_functions(source_of("class A:\n    def f(self): return 1\n", Language.PYTHON))
    assert near.container is not None


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        (Language.GO, "package a\n\nfunc (s *Store[K, V]) Load() {}\n", "Store"),
        (Language.GO, "package a\n\nfunc (Store) Load() {}\n", "Store"),
        (Language.GO, "package a\n\nfunc () Load() {}\n", ""),
        (Language.GO, "package a\n\nfunc Load() {}\n", ""),
        (Language.RUST, "impl<T> Load for Store<T> {\n    fn load() {}\n}\n", "Store"),
        (Language.PYTHON, "class Store(A):\n    def load(self): pass\n", "Store"),
        (Language.PYTHON, "def load(): pass\n", ""),
    ],
)
def test_method_has_the_name_of_its_type(language: Language, text: str, name: str) -> None:
    (function,) = find_functions(source_of(text, language))
    assert function.type_name == name


def test_function_in_rust_macro_has_its_own_lines() -> None:
    text = (
        "macro_rules! load {\n    ($name:ident) => {\n        pub fn load() -> u8 {\n            1\n        }\n    };\n}\n"
        "cfg_if! {\n    if #[cfg(unix)] {\n        fn keep(x: u8) -> u8 { x }\n        fn $name() {}\n        fn broken(x in 0..1) {}\n    }\n}\nvec![1];\n"
    )
    functions = {function.name: function for function in find_functions(source_of(text, Language.RUST))}
    assert {name: (function.first_line, function.last_line) for name, function in functions.items()} == {
        "load": (3, 5),
        "keep": (10, 10),
    }
    assert all(function.source.is_of_macro and not function.source.is_whole for function in functions.values())


@pytest.mark.parametrize(
    ("language", "named"),
    [
        (R, [("count", 0, "type"), ("make", 1, "type"), ("total", 1, "type"), ("named", 1, "type"), ("hidden", 1, "type"), ("test_total", 1, "type"), ("test_helper", 1, "type")]),
        (C, [("Cart", 0, "type"), ("Count", 1, "type"), ("Half", 1, "type"), ("Size", 1, "type"), ("Outer", 2, "type"), ("Inner", 1, "function"), ("Adds", 1, "type"), ("Counts", 1, "type"), ("Before", 0, "type")]),
        (P, [("testTotal", 1, "type"), ("it_adds", 1, "type"), ("adds", 1, "type"), ("testHelper", 0, "type"), ("helper", 0, "type")]),
        (K, [("more", 0, "type"), ("count", 1, "type"), ("make", 0, "type"), ("adds up", 1, "type"), ("counts", 1, "type")]),
    ],
)  # fmt: skip
def test_functions_with_body_are_found(language: Language, named: list[tuple[str, int, str]]) -> None:
    functions = find_functions(source_of(TEXTS[language], language))
    assert [(function.name, len(function.statements), str(function.scope)) for function in functions] == named


def test_comments_and_attributes_above_belong_to_the_function() -> None:
    ruby, csharp, php, kotlin = (
        {function.name: function for function in find_functions(source_of(TEXTS[at], at))} for at in (R, C, P, K)
    )
    assert (ruby["count"].nodes_above != (), ruby["total"].attributes) == (True, "private")
    assert csharp["Count"].attributes == "[Obsolete] public"
    assert php["adds"].attributes == "#[Test] public"
    assert kotlin["count"].attributes == "override"


def test_method_in_branch_or_block_has_branch_scope() -> None:
    functions = find_functions(
        source_of("if old\n  def f; 1 end\nend\nClass.new do\n  def g; 2 end\nend\ndef h; 3 end\n", R)
    )
    assert [str(function.scope) for function in functions] == ["branch", "branch", "module"]
