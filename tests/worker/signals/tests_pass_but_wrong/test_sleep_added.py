"""Retries and sleeps that hide a race."""

import pytest

from tests.worker.signals.made import change_of
from worker.signals.signal import Signal
from worker.signals.tests_pass_but_wrong.sleep_added import sleep_added

PY = "def test_a():\n    start()\n    assert up() == 1\n"


def lines(signal: Signal, path: str, before: str, after: str) -> list[int | None]:
    return [one.line for one in signal.findings(change_of({path: before}, {path: after}))]


@pytest.mark.parametrize(
    ("path", "before", "after", "line"),
    [
        ("tests/test_a.py", PY, PY.replace("    assert", "    time.sleep(0.5)\n    assert"), 3),
        ("tests/test_a.py", PY, PY.replace("    assert", "    # wait for it\n    time.sleep(1)\n    assert"), 4),
        (
            "src/a.go",
            "package a\n\nfunc f() {\n\tg()\n}\n",
            "package a\n\nfunc f() {\n\tg()\n\ttime.Sleep(100 * time.Millisecond)\n}\n",
            5,
        ),
        ("a.test.ts", "a()\n", "a()\nawait new Promise((r) => setTimeout(r, 50))\n", 2),
        ("A.java", "a();\n", "a();\nThread.sleep(100);\n", 2),
    ],
)
def test_a_lone_sleep_between_old_lines_is_suspected(path: str, before: str, after: str, line: int) -> None:
    assert lines(sleep_added, path, before, after) == [line]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_a.py", PY, PY + "\n\ndef test_b():\n    time.sleep(1)\n    assert up()\n"),
        ("tests/test_a.py", PY, PY.replace("    assert", "    time.sleep(0)\n    assert")),
        ("src/a.py", "def f():\n    time.sleep(1)\n", "def f():\n    time.sleep(2)\n"),
        ("docs/a.py", "a()\n", "a()\ntime.sleep(1)\n"),
        ("README.md", "a()\n", "a()\ntime.sleep(1)\n"),
        ("src/a.py", "a()\n", "a()\nb()\n"),
    ],
)
def test_a_sleep_with_a_reason_of_its_own_is_left_alone(path: str, before: str, after: str) -> None:
    assert lines(sleep_added, path, before, after) == []
