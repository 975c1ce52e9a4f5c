"""New tests that never run."""

import pytest

from tests.worker.signals.made import dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.weak_test import test_never_runs

CHECK = "    assert run() == 1\n"


TEST = f"def test_a():\n{CHECK}\n\n"


OTHER = "def test_a():\n    assert run(2) == 2\n\n\n"


SHADOWED: dict[str, tuple[str, str, str, str]] = {
    "a second one": (
        TEST,
        TEST + OTHER,
        "lines 1 and 5,",
        "Rename all but one of the definitions of `test_a` at lines 1 and 5 of test_a.py, so that all tests of this file run.",
    ),
    "a third one": (
        TEST + TEST,
        TEST + TEST + OTHER,
        "lines 1, 5 and 9,",
        "Rename all but one of the definitions of `test_a` at lines 1, 5 and 9 of test_a.py, so that all tests of this file run.",
    ),
    "the same once more": (
        TEST,
        TEST + TEST,
        "lines 1 and 5,",
        "Keep one of the definitions of `test_a` at lines 1 and 5 of test_a.py, and delete what repeats it.",
    ),
}


@pytest.mark.parametrize("case", SHADOWED)
def test_the_step_for_tests_of_one_name_names_every_definition(case: str) -> None:
    before, after, at, step = SHADOWED[case]
    (found,) = test_never_runs.test_shadowed.findings(
        CodeChange(dossier_of({"test_a.py": before}, {"test_a.py": after}))
    )
    assert found.fact
    assert at in found.note
    assert found.step == step
