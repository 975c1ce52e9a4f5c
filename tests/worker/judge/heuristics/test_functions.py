"""Functions with a name."""

import pytest

from worker.judge.heuristics.change import Source
from worker.judge.heuristics.functions import functions_of
from worker.judge.heuristics.paths import Language


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
    found = functions_of(Source(text, 1, whole=True, language=Language.JAVASCRIPT))
    assert [function.name for function in found] == names


def test_what_stands_around_a_function_is_looked_for_as_far_as_a_tree_is_deep() -> None:
    deep = "".join(f"{' ' * depth}if a:\n" for depth in range(1, 90))
    text = f"class A:\n{deep}{' ' * 90}def f(): return 1\n"
    (found,) = functions_of(Source(text, 1, whole=True, language=Language.PYTHON))
    assert found.container is not None
    (near,) = functions_of(Source("class A:\n    def f(self): return 1\n", 1, whole=True, language=Language.PYTHON))
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
    (function,) = functions_of(Source(text, 1, whole=True, language=language))
    assert function.type_name == name
