"""The new functions that are looked up in the head tree, and the files that can call them."""

import pytest

from tests.worker.signals.samples import dossier_of, plain_dossier
from worker.domain.dossier import Definition
from worker.signals.heuristic_opinion import find_lookups

PYTHON = "def _load(path):\n    return read(path)\n"
GO = "package a\n\n// load reads.\nfunc load(p string) string {\n\treturn read(p)\n}\n"
RUST = "fn load(p: u8) -> u8 {\n    read(p)\n}\n"
TYPESCRIPT = "function load(p: string) {\n  return read(p)\n}\n"


def look_up(path: str, code: str) -> tuple[Definition, ...]:
    return find_lookups(dossier_of({}, {path: code})).definitions


ANYWHERE = "b.py setup.cfg x.html x.html.j2 a/x.json x.txt docs/x.rst run.sh Makefile x.xml x.mako README.md bin/x"


@pytest.mark.parametrize(
    ("path", "code", "callers", "others"),
    [
        ("a.py", PYTHON, ANYWHERE, "logo.png"),
        ("a/b.py", PYTHON, "setup.cfg", "logo.png"),
        ("a.go", GO, "b.go", "logo.png"),
        ("a/a.go", GO, "a/b.go", "b.go a/b/c.go logo.png"),
        ("src/a.rs", f"mod b;\n\n{RUST}", "src/a/b.rs", "logo.png"),
        ("a.ts", TYPESCRIPT, "b.ts", "logo.png"),
    ],
)
def test_private_function_is_looked_up_where_it_can_be_called(path: str, code: str, callers: str, others: str) -> None:
    (definition,) = look_up(path, code)
    assert definition.is_private
    assert [caller for caller in callers.split() if not definition.can_be_called_in(caller)] == []
    assert [other for other in others.split() if definition.can_be_called_in(other)] == []


def test_prefix_of_private_name_is_looked_up_where_names_can_be_built() -> None:
    python, go = "def _cmd_b(v):\n    return v * 2 + 1\n", "package a\n\nfunc cmd_b(v int) int {\n\treturn v + 1\n}\n"
    assert [definition.name for definition in look_up("cmds.py", python)] == ["_cmd_b", "_cmd_"]
    assert [definition.name for definition in look_up("a.go", go)] == ["cmd_b"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.py", "def main():\n    def load(path):\n        return read(path)\n\n    go()\n"),
        ("src/a.rs", RUST),
        ("src/a.rs", "impl A {\n    fn load(&self) -> u8 {\n        self.x\n    }\n}\n"),
        ("A.java", "class A {\n  private int load(int x) {\n    return x + load(x - 1);\n  }\n}\n"),
        ("a.ts", "class A {\n  private load() {\n    return 1\n  }\n}\n"),
        ("a.js", "class A {\n  #load() {\n    return 1\n  }\n}\n"),
        ("a.js", "export function main() {\n  function load(p) {\n    return p\n  }\n}\n"),
    ],
)
def test_function_callable_only_in_its_file_is_not_looked_up(path: str, code: str) -> None:
    assert look_up(path, code) == ()


def test_public_function_is_looked_up() -> None:
    (definition,) = look_up("a.py", PYTHON.replace("_load", "load"))
    assert not definition.is_private


def test_unreadable_diff_needs_no_lookup() -> None:
    assert find_lookups(plain_dossier("no diff")).definitions == ()
