"""Functions with a name."""

import pytest

from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.functions import find_functions


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
def test_only_functions_with_a_name_are_looked_at(text: str, names: list[str]) -> None:
    found = find_functions(Source(text, 1, is_whole=True, language=Language.JAVASCRIPT))
    assert [function.name for function in found] == names


def test_what_stands_around_a_function_is_looked_for_as_far_as_a_tree_is_deep() -> None:
    deep = "".join(f"{' ' * depth}if a:\n" for depth in range(1, 90))
    text = f"class A:\n{deep}{' ' * 90}def f(): return 1\n"
    (found,) = find_functions(Source(text, 1, is_whole=True, language=Language.PYTHON))
    assert found.container is not None
    (near,) = find_functions(
        Source("class A:\n    def f(self): return 1\n", 1, is_whole=True, language=Language.PYTHON)
    )
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
def test_a_method_knows_the_name_of_its_type(language: Language, text: str, name: str) -> None:
    (function,) = find_functions(Source(text, 1, is_whole=True, language=language))
    assert function.type_name == name


def test_functions_in_macros_of_rust_stand_on_their_own_lines() -> None:
    text = (
        "macro_rules! load {\n    ($name:ident) => {\n        pub fn load() -> u8 {\n            1\n        }\n    };\n}\n"
        "cfg_if! {\n    if #[cfg(unix)] {\n        fn keep(x: u8) -> u8 { x }\n        fn $name() {}\n        fn broken(x in 0..1) {}\n    }\n}\nvec![1];\n"
    )
    found = {
        function.name: function for function in find_functions(Source(text, 1, is_whole=True, language=Language.RUST))
    }
    assert {name: (function.first_line, function.last_line) for name, function in found.items()} == {
        "load": (3, 5),
        "keep": (10, 10),
    }
    assert all(function.source.is_of_macro and not function.source.is_whole for function in found.values())
