"""Patterns that are compiled at their first use."""

import ast
import gc
import re
import subprocess
import sys
import time
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.domain import pattern as patterns
from worker.domain.pattern import KeywordPattern, can_match, compile_patterns, pattern

ROOT = Path(patterns.__file__).parents[2]
BLANK, SPACES = "\n" * 50_000, " " * 50_000
HOSTILE = {
    "worker.dossier.issues.SCENARIO": "\x0c\n" * 50_000,
    "worker.dossier.repo_rules.files._END": f"a{SPACES}x",
    "worker.judge.llm.reply._ITEM": BLANK,
    "worker.signals.analysis.tests._PHP_TAG": BLANK,
    "worker.signals.half_finished.commented_out_code._PROSE": "a" * 160_000,
    "worker.signals.analysis.changed_functions._TESTS": "#[cfg(test" * 4_000,
    "worker.signals.spec_violation.case_citations._INHERITS": BLANK,
    "worker.signals.spec_violation.repo_rules._BOUND": BLANK,
    "worker.signals.spec_violation.repo_rules._NAMED": "a" * 80_000,
    "worker.signals.tests_pass_but_wrong.ci_weakened._MASK": f"{SPACES}x",
    "worker.signals.tests_pass_but_wrong.double_under_test._MODULE": f"jest.mock({SPACES}x",
    "worker.signals.tests_pass_but_wrong.double_under_test._PATCHES": f"spyOn(a,'bbb'{SPACES}x",
    "worker.signals.tests_pass_but_wrong.ci_weakened._DEMANDS": f"filterwarnings ={SPACES}x",
    "worker.signals.tests_pass_but_wrong.ci_weakened._OF_RULE": f"rule:{SPACES}x",
    "worker.signals.analysis.test_pairs._TESTS_ABOVE": "Aa" * 40_000,
    "worker.signals.weak_test.failure_swallowed._PYTHON_ALL": f"except{SPACES}x",
    "worker.signals.weak_test.unreachable_assertion._ENDS": f"if 1{SPACES}x",
}
"""A text for each pattern that once backtracked at each of its positions."""


def test_pattern_behaves_like_the_compiled_one() -> None:
    word = pattern(r"(?P<first>\w)\w*", re.IGNORECASE)
    match = word.search("- Two words")
    assert match is not None
    assert match["first"] == "T"
    assert word.findall("a bc") == ["a", "b"]
    assert word.sub("x", "a bc") == "x x"
    assert word.pattern == r"(?P<first>\w)\w*"
    assert word.flags & re.IGNORECASE
    assert pattern(rb"\d").fullmatch(b"7")


def test_pattern_is_compiled_on_first_use() -> None:
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.search("")


def test_pattern_methods_are_those_of_the_compiled_one_after_first_use() -> None:
    word = pattern(r"\w+")
    assert word.match("a")
    assert word.match is word.match
    assert word.match.__self__ is re.compile(r"\w+")


def test_keyword_pattern_is_not_compiled_for_a_text_without_keywords() -> None:
    broken = pattern("sleep(", needs=("sleep",))
    assert broken.match("a") is broken.search("b") is broken.fullmatch("c") is None
    assert [*broken.finditer("d")] == []
    with pytest.raises(re.error):
        broken.search("time.Sleep(1)")


def test_text_can_match_when_it_holds_a_keyword_in_any_case() -> None:
    asleep = pattern(r"sleep\(", re.IGNORECASE, needs=("sleep", "wait"))
    assert [can_match(asleep, text) for text in ("a\nb", "a\ntime.Sleep(1)", "WAIT", "")] == [False, True, True, False]
    assert can_match(pattern("x"), "")


def test_keyword_pattern_finds_texts_with_its_keyword() -> None:
    word = pattern(r"Sleep\w*", re.IGNORECASE, needs=("sleep",))
    texts = [match and match[0] for match in (word.search("a SLEEP"), word.match("sleeps"), word.fullmatch("sleepy"))]
    assert texts == ["SLEEP", "sleeps", "sleepy"]
    assert [match[0] for match in word.finditer("sleep Sleeps")] == ["sleep", "Sleeps"]


def test_every_pattern_compiles() -> None:
    for path in sorted(ROOT.glob("worker/**/*.py")):
        if "pattern import pattern" in path.read_text():
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    gc.unfreeze()
    assert compile_patterns() > 100


@cache
def keyword_patterns() -> list[KeywordPattern]:
    test_every_pattern_compiles()
    modules = [module for name, module in sys.modules.items() if name.startswith("worker.")]
    values = [value for module in modules for value in vars(module).values()]
    tables = [cast("dict[object, object]", value) for value in values if isinstance(value, dict)]
    values.extend(value for table in tables for value in table.values())
    return [value for value in values if isinstance(value, KeywordPattern)]


@settings(deadline=None)  # some patterns are long
@given(st.data())
def test_text_that_matches_holds_one_of_the_keywords(data: st.DataObject) -> None:
    lazy = data.draw(st.sampled_from(keyword_patterns()))
    text = data.draw(st.from_regex(lazy.compiled))
    assert any(word in text.casefold() for word in lazy.keywords), (
        f"{lazy.keywords} is not all that {lazy.pattern} can match"
    )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("name", "text"), HOSTILE.items(), ids=HOSTILE)
def test_hostile_text_takes_bounded_time(name: str, text: str) -> None:
    """Each of these patterns once took ten seconds to an hour."""
    module, _, attribute = name.rpartition(".")
    held = getattr(import_module(module), attribute)
    started = time.process_time()
    assert [*held.finditer(text)] == []
    assert time.process_time() - started < 5


def test_imports_of_the_judge_compile_no_pattern() -> None:
    program = "import app.cli.judge, worker.wiring.cli, sys; modules = sys.modules.values(); "
    program += "own = [module for module in modules if module.__name__.startswith(('app.', 'worker.'))]; "
    program += "print(*(module.__file__ for module in own), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    eager = [path for path in done.stdout.splitlines() if "re.compile" in calls_at_import(Path(path))]
    assert not eager, "Use worker.domain.pattern there: it compiles at the first use."


def calls_at_import(path: Path) -> list[str]:
    later = ast.FunctionDef | ast.ClassDef
    statements = [node for node in ast.parse(path.read_text()).body if not isinstance(node, later)]
    calls = [part for node in statements for part in ast.walk(node) if isinstance(part, ast.Call)]
    return [ast.unparse(call.func) for call in calls]
