"""A revert takes tests away with the code that they were for."""

import pytest

from tests.worker.signals.made import Texts, dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.tests_pass_but_wrong import SIGNALS as WRONG
from worker.signals.weak_test import SIGNALS as WEAK

SHA = "c" * 40
KEPT = "def test_kept():\n    shape = draw('a')\n    assert shape == 1\n    assert shape.unit == 'cm'\n\n\n"
GONE = "def test_gone():\n    shape = render('b')\n    assert shape == 2\n"
BEFORE = {"tests/test_a.py": KEPT + GONE}
TAKEN_BACK = {
    "commented out": {"tests/test_a.py": KEPT + "".join(f"# {line}\n" for line in GONE.split("\n")[:-1])},
    "skipped": {"tests/test_a.py": f"{KEPT}@pytest.mark.skip\n{GONE}"},
    "a skipped test restored": {
        "tests/test_a.py": f"{KEPT}{GONE}\n\n@pytest.mark.skip\ndef test_old():\n    assert old() == 1\n"
    },
}
SUSPECTED = {
    "deleted": {"tests/test_a.py": KEPT},
    "an assertion dropped": {"tests/test_a.py": KEPT.replace("    assert shape == 1\n", "") + GONE},
    "an assertion loosened": {"tests/test_a.py": KEPT.replace("shape == 1", "shape is not None") + GONE},
}


def kinds(after: Texts, *, title: str = "Change", reverts: str | None = None) -> set[bool]:
    """Whether there are facts and suspicions."""
    change = CodeChange(dossier_of(BEFORE, after, title=title, reverts=reverts))
    return {finding.fact for signal in (*WRONG, *WEAK) for finding in signal.findings(change)}


@pytest.mark.parametrize("after", TAKEN_BACK.values(), ids=TAKEN_BACK.keys())
def test_what_a_revert_takes_back_is_no_fact(after: Texts) -> None:
    assert kinds(after) == {True}
    assert kinds(after, title='Revert "Render shapes"') == {False}
    assert kinds(after, reverts=SHA) == {False}
    assert kinds(after, reverts=SHA, title='Revert "Render shapes"') == set()


@pytest.mark.parametrize("after", SUSPECTED.values(), ids=SUSPECTED.keys())
def test_what_is_suspected_anyway_is_nothing_in_a_certain_revert(after: Texts) -> None:
    assert kinds(after) == {False}
    assert kinds(after, reverts=SHA, title='Revert "Render shapes"') == set()


def test_calls_that_check_are_taken_back_alike() -> None:
    before = {
        "tests/test_a.py": "def test_kept():\n    shape = draw('a')\n    check_shape(shape)\n    assert shape == 1\n"
    }
    after = {"tests/test_a.py": before["tests/test_a.py"].replace("    check_shape(shape)\n", "")}
    found = [dossier_of(before, after, title=title, reverts=SHA) for title in ("Change", 'Revert "Sizes"')]
    named = [[one.signal for signal in WEAK for one in signal.findings(CodeChange(dossier))] for dossier in found]
    assert named == [["assertion_removed"], []]
