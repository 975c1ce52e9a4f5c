"""New types and handlers that nothing names."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.half_finished.unused_type import type_unused

TYPES = {
    "py": ("src/a.py", "class Store:\n    def get(self):\n        return Store\n"),
    "go": ("src/a.go", "package a\n\ntype Store struct {\n\tname string\n}\n"),
    "rust": ("src/a.rs", "#[derive(Debug)]\npub struct Store {\n    name: String,\n}\n"),
    "java": ("src/A.java", "package a;\n\nfinal class Store {\n  int x;\n}\n"),
    "ts": ("src/a.ts", "export class Store {\n  name = 1\n}\n"),
}


def unused(path: str, code: str, before: str | None = None, *, texts: bool = True) -> list[str]:
    change = change_of({} if before is None else {path: before}, {path: code}, texts=texts)
    return [finding.note for finding in type_unused.findings(change)]


@pytest.mark.parametrize(("path", "code"), TYPES.values(), ids=TYPES.keys())
def test_a_new_type_that_nothing_else_names_is_told(path: str, code: str) -> None:
    assert unused(path, code) == ["nothing in this change uses the new type `Store`"]


@pytest.mark.parametrize(("path", "code"), TYPES.values(), ids=TYPES.keys())
def test_one_that_another_line_names_is_nothing(path: str, code: str) -> None:
    assert list(type_unused.findings(change_of({}, {path: code, "tests/test_a.py": "use(Store)\n"}))) == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("src/a.py", "@register\nclass Store:\n    pass\n"),
        ("src/a.py", "class Store(Base):\n    pass\n"),
        ("src/a.ts", "class Store extends Base {}\n"),
        ("src/a.ts", "@Injectable()\nexport class Store {}\n"),
        ("src/A.java", "@Service\nclass Store {\n}\n"),
        ("src/A.java", "class Store implements Base {\n}\n"),
        ("src/a.rs", "#[pyclass]\nstruct Store {}\n"),
        ("src/a.rs", "#[derive(Debug)]\n#[pyclass]\nstruct Store {}\n"),
        ("src/__init__.py", "class Store:\n    pass\n"),
        ("src/plugins/a.py", "class Store:\n    pass\n"),
        ("tests/test_a.py", "class Store:\n    pass\n"),
    ],
)
def test_one_that_a_framework_or_somebody_outside_finds_is_nothing(path: str, code: str) -> None:
    assert unused(path, code) == []


def test_a_moved_type_an_old_one_and_a_part_of_a_file_are_nothing() -> None:
    path, code = TYPES["py"]
    moved = change_of({"src/b.py": code, path: "\n"}, {"src/b.py": "\n", path: code})
    assert list(type_unused.findings(moved)) == []
    assert unused(path, code + "    x = 1\n", code) == []
    assert unused(path, "x = 1\n" * 30 + code, "x = 1\n" * 30, texts=False) == []
    assert unused(path, "", code) == []


def test_an_old_type_under_a_new_name_is_nothing() -> None:
    body = "    def get(self):\n        return 1\n"
    assert unused("src/a.py", f"class Store:\n{body}", f"class Shop:\n{body}") == []
