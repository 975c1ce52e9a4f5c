"""One change for each signal that states facts: what the reader of a reject gets is held against these."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.worker.signals.made import Texts, dossier_of
from worker.domain.dossier.dossier import Dossier

PASSES: Final = "def test_{0}():\n    size = {0}('b')\n    assert size == 2\n"
FLOW: Final = "jobs:\n  test:\n    steps:\n      - name: Test\n        run: npm test\n"
CODE: Final = {"src/a.py": "x = f(1)\n"}, {"src/a.py": "x = f(2)\n"}


class Example(NamedTuple):
    before: Texts
    after: Texts
    rule: str = ""
    cites: str = ""
    absent: tuple[str, ...] = ()

    @property
    def dossier(self) -> Dossier:
        more: dict[str, object] = {"criteria": [{"id": "AC1", "text": "`upload` tries again"}]}
        if self.rule:
            more["guidance"] = [{"path": "AGENTS.md", "text": f"# Rules\n\n- {self.rule}\n"}]
        if self.cites:
            more["case"] = {"summary": "x", "ac_coverage": [{"criterion": "AC1", "addressed_by": self.cites}]}
        if self.absent:
            more["files"] = [{"path": path, "exists": False} for path in self.absent]
        return dossier_of(self.before, self.after, texts=not self.absent, title="fix: count", issue="Count", **more)


def new(path: str, text: str) -> Example:
    return Example({}, {path: text})


EXAMPLES: Final[Mapping[str, Example]] = {
    "empty_diff": Example({}, {}),
    "forbidden_code_added": Example(
        {"src/a.py": "x = 1\n"}, {"src/a.py": "x = 1\nprint(x)\n"}, rule="Never use `print()` in library code."
    ),
    "forbidden_path_touched": Example(
        {"gen/a.py": "x = 1\n"}, {"gen/a.py": "x = 2\n"}, rule="Never edit files under `gen/`."
    ),
    "changelog_entry_missing": Example(*CODE, rule="Every change of behaviour needs an entry in `CHANGELOG.md`."),
    "docstring_missing": Example(
        {"src/a.py": "x = 1\n"},
        {"src/a.py": "x = 1\n\n\ndef load(path):\n    return read(path)\n"},
        rule="Every public function has a docstring.",
    ),
    "cited_file_missing": Example(*CODE, cites="src/upload.py:12", absent=("src/upload.py",)),
    "cited_line_missing": Example(*CODE, cites="src/a.py:12"),
    "cited_name_missing": Example(*CODE, cites="src/a.py:retry_upload"),
    "conflict_marker": Example({"a.py": "x = 1\n"}, {"a.py": "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n"}),
    "stub_body": new("a.py", "def load(path):\n    raise NotImplementedError\n"),
    "unfinished_function": new(
        "a.py",
        "def load(path):\n    text = read(path)\n    # TODO: handle the remaining cases\n    check(text)\n    return text\n",
    ),
    "debugger_left": Example({"a.py": "x = 1\n"}, {"a.py": "x = 1\nbreakpoint()\n"}),
    "body_does_nothing": new("a.py", "def load(path):\n    # text = read(path)\n    # return text\n    return False\n"),
    "test_disabled": Example(
        {"tests/test_a.py": PASSES.format("load")},
        {"tests/test_a.py": "@pytest.mark.skip(reason='flaky')\n" + PASSES.format("load")},
    ),
    "test_only": Example(
        {"a.test.ts": "it('a', () => {\n  expect(run()).toBe(1)\n})\nit('b', () => {\n  expect(go()).toBe(2)\n})\n"},
        {
            "a.test.ts": "it.only('a', () => {\n  expect(run()).toBe(1)\n})\nit('b', () => {\n  expect(go()).toBe(2)\n})\n"
        },
    ),
    "expected_value_returned": Example(
        {},
        {
            "a.py": "def encode(text):\n    return 'aG9v'\n",
            "tests/test_a.py": "def test_a():\n    assert encode('hooo') == 'aG9v'\n",
        },
    ),
    "check_cannot_fail": Example(
        {".github/workflows/ci.yml": FLOW}, {".github/workflows/ci.yml": FLOW.replace("npm test", "npm test || true")}
    ),
    "scratch_file": Example(CODE[0], {**CODE[1], "reproduce_issue.py": "f(2)\n"}),
    "test_hidden": Example(
        {"tests/test_a.py": PASSES.format("load") + "\n\n" + PASSES.format("render")},
        {"tests/test_a.py": PASSES.format("load") + "\n\n" + PASSES.format("render").replace("def test", "def _test")},
    ),
    "branch_on_test_runner": new(
        "a.py", 'def f(x):\n    if "pytest" in sys.modules:\n        return 3\n    return x + 1\n'
    ),
    "nothing_done_in_ci": new(
        "a.py", 'def f(x):\n    if os.environ.get("CI"):\n        return None\n    y = work(x)\n    return y + 1\n'
    ),
    "assertion_unreached": new("tests/test_a.py", "def test_a():\n    x = run()\n    return\n    assert x == 1\n"),
    "assertion_behind_switch": new(
        "tests/test_a.py", "def test_a():\n    x = run()\n    if os.environ.get('SLOW'):\n        assert x == 1\n"
    ),
    "new_test_skipped": new("tests/test_a.py", "@pytest.mark.skip\ndef test_a():\n    assert run() == 1\n"),
    "test_shadowed": Example(
        {"tests/test_a.py": PASSES.format("load")},
        {"tests/test_a.py": PASSES.format("load") + "\n\n" + PASSES.format("load").replace("2", "3")},
    ),
    "assertion_always_true": new("tests/test_a.py", "def test_a():\n    run()\n    assert True\n"),
    "matcher_not_called": new("a.test.ts", "it('a', () => {\n  expect(x).toBe(1)\n  expect(y).toBeFalsy\n})\n"),
    "test_empty": new("tests/test_a.py", "def test_load():\n    pass\n"),
    "test_result_unread": new("tests/test_a.py", "def test_load():\n    size = load('b')\n"),
    "failure_swallowed": new(
        "tests/test_a.py", "def test_a():\n    try:\n        assert run() == 1\n    except Exception:\n        pass\n"
    ),
}
