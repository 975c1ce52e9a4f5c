"""Test files that leave collection."""

import pytest

from tests.worker.signals.samples import change_of, plain_dossier
from worker.signals.analysis.change import CodeChange
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.tests_pass_but_wrong import test_deleted

KEPT = "def test_kept():\n    assert parse('a') == 1\n\n\n"
GONE = "def test_gone():\n    size = render('b')\n    assert size == 2\n"


@pytest.mark.parametrize("deep_before", [True, False])
def test_unparsable_test_file_has_no_finding(*, deep_before: bool) -> None:
    deep, flat = f"x = a{'.b' * 3_000}\n", "x = a\n"
    head, base = (flat, deep) if deep_before else (deep, flat)

    def fired(before: str, after: str) -> bool:
        change = change_of({"tests/test_a.py": before + KEPT + GONE}, {"tests/test_a.py": after + KEPT})
        return any(any(signal.findings(change)) for signal in SIGNALS if signal.module == test_deleted.__name__)

    assert not fired(base, head)
    assert fired(flat, flat)


def rename_file(old: str, new: str, text: str = GONE) -> CodeChange:
    lines = "".join(f" {line}\n" for line in text.split("\n")[:-1])
    count = text.count("\n")
    diff = (
        f"diff --git a/{old} b/{new}\nsimilarity index 90%\nrename from {old}\nrename to {new}\n"
        f"index 1111111..2222222 100644\n--- a/{old}\n+++ b/{new}\n@@ -1,{count} +1,{count + 1} @@\n{lines}+\n"
    )
    return CodeChange(plain_dossier(diff, files=[{"path": new, "text": f"{text}\n"}]))


def test_test_file_renamed_out_of_collection_is_a_fact() -> None:
    findings = test_deleted.test_hidden.findings(rename_file("tests/test_a.py", "tests/a_disabled.py"))
    assert [(finding.path, finding.line) for finding in findings] == [("tests/a_disabled.py", 1)]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("tests/test_a.py", "tests/test_b.py", GONE),
        ("tests/a.py", "tests/b.py", GONE),
        ("tests/test_a.py", "tests/sizes.py", "def render():\n    return 1\n"),
        ("src/a.rs", "src/b.rs", GONE),
        (
            "src/test/TakeTest.java",
            "src/test/TakeTest2.java",
            "class TakeTest2 {\n  @Test void gone() {\n    assertEquals(1, run());\n  }\n}\n",
        ),
        ("tests/a.txt", "tests/b.txt", GONE),
    ],
)
def test_other_rename_has_no_finding(old: str, new: str, text: str) -> None:
    assert not list(test_deleted.test_hidden.findings(rename_file(old, new, text)))
