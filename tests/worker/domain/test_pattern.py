"""Patterns that are compiled at their first use."""

import ast
import gc
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from worker.domain import pattern as patterns
from worker.domain.pattern import compile_patterns, pattern

ROOT = Path(patterns.__file__).parents[2]


def test_a_pattern_does_what_the_compiled_one_does() -> None:
    word = pattern(r"(?P<first>\w)\w*", re.IGNORECASE)
    found = word.search("- Two words")
    assert found is not None
    assert found["first"] == "T"
    assert word.findall("a bc") == ["a", "b"]
    assert word.sub("x", "a bc") == "x x"
    assert word.pattern == r"(?P<first>\w)\w*"
    assert word.flags & re.IGNORECASE
    assert pattern(rb"\d").fullmatch(b"7")


def test_nothing_is_compiled_before_the_first_use() -> None:
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.search("")


def test_after_the_first_use_the_methods_are_the_compiled_ones_own() -> None:
    word = pattern(r"\w+")
    assert word.match("a")
    assert word.match is word.match
    assert word.match.__self__ is re.compile(r"\w+")


def test_every_pattern_of_ours_can_be_compiled() -> None:
    for path in sorted(ROOT.glob("worker/**/*.py")):
        if "pattern import pattern" in path.read_text():
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    gc.unfreeze()
    assert compile_patterns() > 100


def test_what_every_judging_imports_compiles_nothing_by_that() -> None:
    program = "import app.commands_judge, worker.bootstrap, sys; print(*(one.__file__ for one in sys.modules.values() "
    program += "if one.__name__.startswith(('app.', 'worker.'))), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    eager = [path for path in done.stdout.splitlines() if "re.compile" in calls_at_import(Path(path))]
    assert not eager, "Use worker.domain.pattern there: it compiles at the first use."


def calls_at_import(path: Path) -> list[str]:
    later = ast.FunctionDef | ast.ClassDef
    inside = [
        part for node in ast.parse(path.read_text()).body if not isinstance(node, later) for part in ast.walk(node)
    ]
    return [ast.unparse(one.func) for one in inside if isinstance(one, ast.Call)]
