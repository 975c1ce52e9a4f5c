"""Retries and sleeps that hide a race."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.signal import Signal
from worker.judge.heuristics.tests_pass_but_wrong.races import retries_added, sleep_added

PY = "def test_a():\n    start()\n    assert up() == 1\n"
LONG = PY.replace("    start()\n", "".join(f"    start({n})\n" for n in range(20)))


def lines(signal: Signal, path: str, before: str, after: str) -> list[int | None]:
    return [one.line for one in signal.findings(change_of({path: before}, {path: after}))]


@pytest.mark.parametrize(
    ("path", "before", "after", "line"),
    [
        ("tests/test_a.py", PY, "@pytest.mark.flaky(reruns=3)\n" + PY, 1),
        ("tests/test_a.py", PY, PY + "@flaky\ndef test_b():\n    assert up()\n", 4),
        ("a.test.ts", "x()\n", "x()\ntest('a', { retry: 7 }, () => {})\n", 2),
        ("tests/test_a.py", PY, "@pytest.mark.flaky(reruns=3)\n@mark.slow\n# why\n\n" + PY, 1),
        ("a.test.ts", "it('a', () => {\n})\n", "jest.retryTimes(3)\nit('a', () => {\n})\n", 1),
        (
            "ATest.java",
            "class A {\n  @Test\n  void a() {}\n}\n",
            "class A {\n  @RetryingTest(3)\n  void a() {}\n}\n",
            2,
        ),
        ("tox.ini", "pytest\n", "pytest --reruns 3\n", 1),
        ("playwright.config.ts", "x = {\n}\n", "x = {\n  retries: 2,\n}\n", 2),
        (".github/workflows/a.yml", "a:\n", "a:\n  - uses: nick-fields/retry@v3\n", 2),
    ],
)
def test_running_tests_again_is_suspected(path: str, before: str, after: str, line: int) -> None:
    assert lines(retries_added, path, before, after) == [line]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_a.py", f"@pytest.mark.flaky\n{PY}\n\nx = 1\n", f"x = 1\n\n\n@pytest.mark.flaky\n{PY}"),
        ("tests/test_a.py", f"@pytest.mark.flaky\n{LONG}", f"{LONG}\n\n@pytest.mark.flaky\ndef test_b():\n    a()\n"),
        ("tox.ini", "pytest\n", "# pytest --reruns 3\npytest\n"),
        ("src/a.py", "x = 1\n", "@retry\nx = 1\n"),
        ("src/config.ini", "x = 1\n", "retries = 3\n"),
        (".golangci.yml", "x: 1\n", "retries: 3\n"),
    ],
)
def test_what_runs_no_test_again_is_left_alone(path: str, before: str, after: str) -> None:
    assert lines(retries_added, path, before, after) == []


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
