"""Patterns that take linear time for hostile texts."""

import time
from importlib import import_module

import pytest

BLANK, SPACES = "\n" * 50_000, " " * 50_000
HOSTILE = {
    "worker.dossier.criteria.SCENARIO": "\x0c\n" * 50_000,
    "worker.dossier.repo_rules.parser._END": f"a{SPACES}x",
    "worker.judge.llm.reply_checks._ITEM": BLANK,
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
"""A text for each pattern that was found to be tried anew, or to be gone back in, from each place of it."""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("name", "text"), HOSTILE.items(), ids=HOSTILE)
def test_a_pattern_is_not_tried_anew_from_each_place_of_a_text(name: str, text: str) -> None:
    """Each of these took ten seconds up to an hour for its text before it was bounded or made not to go back."""
    module, _, attribute = name.rpartition(".")
    held = getattr(import_module(module), attribute)
    started = time.process_time()
    assert [*held.finditer(text)] == []
    assert time.process_time() - started < 5
