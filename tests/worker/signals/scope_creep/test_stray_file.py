"""Files that were left behind, and code of others."""

import pytest

from tests.worker.signals.made import change_of, dossier_of
from worker.signals.analysis.change import CodeChange
from worker.signals.scope_creep.stray_file import foreign_code_edited, scratch_file, stray_file

CODE = {"src/upload.py": "retry()\n"}


def strays(path: str, title: str = "Retry uploads") -> list[str | None]:
    change = change_of({}, CODE | {path: "a\nb\n"}, title=title)
    return [finding.path for finding in (*scratch_file.findings(change), *stray_file.findings(change))]


def facts(after: dict[str, str], title: str = "Retry uploads") -> list[str | None]:
    return [finding.path for finding in scratch_file.findings(change_of({}, after, title=title))]


@pytest.mark.parametrize(
    "path",
    [
        "reproduce_issue.py",
        "replicate_bug_12.py",
        "tmp_check.js",
        "repro.sh",
        "IMPLEMENTATION_PLAN.md",
        "issue_solution_plan.md",
        "PLAN.md",
        "CHANGES_SUMMARY.md",
        "src/.upload.py.swp",
        "src/upload.py~",
        "src/.DS_Store",
    ],
)
def test_what_one_trial_run_an_editor_or_a_plan_leaves_behind_is_a_fact(path: str) -> None:
    assert facts(CODE | {path: "a\n"}) == [path]


@pytest.mark.parametrize(
    "path",
    [
        "src/upload.py.orig",
        "src/upload.py.bak",
        ".cursor/plans/retry.plan.md",
        "debug.log",
        "test_fix.py",
        "demo.py",
        "fix.patch",
        "SUMMARY.md",
        "tests/data/upload.py~",
        "vendor/acme/.a.swp",
        "changelog.d/#####_close_race.fix.md",
        "templates.py",
    ],
)
def test_what_may_be_meant_to_stay_is_no_fact(path: str) -> None:
    assert facts(CODE | {path: "a\n"}) == []


@pytest.mark.parametrize(
    "other",
    [
        {"Makefile": "check:\n\tpython reproduce_issue.py\n"},
        {"src/b.py": "import reproduce_issue\n"},
        {"src/b.js": "require('./reproduce_issue')\n"},
    ],
)
def test_a_scratch_file_that_the_change_uses_or_is_about_is_no_fact(other: dict[str, str]) -> None:
    files = {"reproduce_issue.py": "a\n"}
    assert facts(CODE | files | {"src/b.py": "import reproduce_issues\n"}) == ["reproduce_issue.py"]
    assert facts(CODE | files | other) == []
    assert facts(files) == []
    assert facts(CODE | files, title="Add reproduce_issue") == []


SCRIPT = {"reproduce_bug.py": "import m\nprint(m.x)\n"}
PLAN = {"IMPLEMENTATION_PLAN.md": "# Plan\n"}


@pytest.mark.parametrize(
    ("file", "asked"),
    [
        (SCRIPT, "Add a script that reproduces the bug"),
        (SCRIPT, "The sum is wrong.\n\n- x must be 2\n- please include a reproduction script"),
        (SCRIPT, "Fix it, and create a small repro file for it."),
        (SCRIPT, "Please include a reproducer script."),
        (PLAN, "Write an implementation plan first"),
        ({"tmp_files.sh": "rm x\n"}, "We need a script for temp files"),
    ],
)
def test_a_file_of_a_kind_that_the_issue_or_a_criterion_asks_for_is_only_suspected(
    file: dict[str, str], asked: str
) -> None:
    (path,) = file
    criteria = [{"id": "AC1", "text": asked}]
    dossiers = (
        dossier_of({}, CODE | file, issue=asked),
        dossier_of({}, CODE | file, title=asked),
        dossier_of({}, CODE | file, criteria=criteria),
    )
    for change in map(CodeChange, dossiers):
        assert list(scratch_file.findings(change)) == []
        assert [finding.path for finding in stray_file.findings(change)] == [path]


@pytest.mark.parametrize(
    "asked",
    [
        "Add a retry. Steps to reproduce: run it twice",
        "The script reproduces it. Add a retry",
        "Add a file that lists the retries",
        "Reproduced with a script",
    ],
)
def test_a_sentence_about_something_else_asks_for_no_such_file(asked: str) -> None:
    change = change_of({}, CODE | SCRIPT, issue=asked)
    assert [finding.path for finding in scratch_file.findings(change)] == ["reproduce_bug.py"]


CACHE = "import m\nsize = 3\nprint(size)\n\n\ndef cache(v):\n    return m.x + v\n"


@pytest.mark.parametrize(
    ("path", "text", "user"),
    [
        ("tmp_cache.py", CACHE, {"b.py": "import os, tmp_cache\n"}),
        ("tmp_cache.py", CACHE, {"b.py": "from . import tmp_cache\n"}),
        ("tmp_cache.py", CACHE, {"b.py": "def load():\n    from tmp_cache import cache\n"}),
        ("tmp_cache.ts", "f()\n", {"b.ts": "const a = await import('./tmp_cache')\n"}),
        ("tmp_cache.rb", "f\n", {"b.rb": "require_relative 'tmp_cache'\n"}),
        ("tmp_cache.rs", "fn f() {}\n", {"b.rs": "mod tmp_cache;\n"}),
        ("tmp_cache.go", "package a\n\nfunc cache(v int) int {\n\treturn v\n}\n", {"b.go": "package a\n\nvar x = cache(1)\n"}),
    ],
)  # fmt: skip
def test_a_module_that_other_code_imports_is_no_fact(path: str, text: str, user: dict[str, str]) -> None:
    assert facts(CODE | {path: text}) == [path]
    assert facts(CODE | {path: text} | user) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""A cache (small)."""\nimport m\n# a note\nsize = 3\n\n\n@m.x\ndef cache(v):\n    return m.x + v\n', []),
        ("import m\n\n\ndef cache(v):\n    return v\n\n\ncache(1)\n", ["tmp_cache.py"]),
        ("import m\nall = m.load()\n\n\ndef cache(v):\n    return v\n", ["tmp_cache.py"]),
        ("import m\n", ["tmp_cache.py"]),
    ],
    ids=["defines alone", "runs", "computes", "defines nothing"],
)
def test_a_module_that_only_defines_is_no_trial_run(text: str, expected: list[str]) -> None:
    assert facts(CODE | {"tmp_cache.py": text}) == expected


@pytest.mark.parametrize(
    "path",
    [
        "src/upload.py.orig",
        "src/upload.py.bak",
        ".cursor/plans/retry.plan.md",
        "CHANGES_SUMMARY.md",
        "src/upload.py~",
        "src/.upload.py.swp",
        "src/.DS_Store",
        "src/flycheck_upload.py",
        "src/#upload.py#",
        "src/__pycache__/upload.pyc",
        "debug.log",
        "fix.patch",
        "reproduce_issue.py",
        "test_fix.py",
        "scratch.ts",
        "tmp.go",
        "test.py",
    ],
)
def test_what_tools_and_trial_runs_leave_behind_is_suspected(path: str) -> None:
    assert strays(path) == [path]


@pytest.mark.parametrize(
    "path",
    [
        "src/debug.py",
        "tests/data/run.log",
        "setup.py",
        "main.go",
        "test_upload.py",
        "checkout.ts",
        "a" * 300 + ".log",
        "docs/a.patch",
        ".cursor/rules/retry.mdc",
        "CHANGES.md",
    ],
)
def test_other_new_files_are_not(path: str) -> None:
    assert strays(path) == []


def test_a_file_that_somebody_speaks_of_is_none() -> None:
    assert strays("demo.py", title="Add demo.py") == []


def test_a_file_that_was_there_before_is_none() -> None:
    assert list(stray_file.findings(change_of({"debug.log": "a\n"}, {"debug.log": "b\n"}))) == []


@pytest.mark.parametrize(("path", "places"), [("core", [("core", None)]), ("assets/core", [])])
def test_a_binary_is_one_at_the_root_only(path: str, places: list[tuple[str, int | None]]) -> None:
    diff = (
        f"diff --git a/{path} b/{path}\nnew file mode 100755\nindex 0000000..2222222\n"
        f"Binary files /dev/null and b/{path} differ\n"
    )
    dossier = change_of({}, CODE).dossier
    change = CodeChange(dossier.model_copy(update={"diff": diff + dossier.diff}))
    assert [(finding.path, finding.line) for finding in stray_file.findings(change)] == places


VENDORED = "vendor/acme/lib.go"


def edited(after: dict[str, str], title: str = "Retry uploads") -> list[str | None]:
    before = {VENDORED: "package a\n"}
    return [finding.path for finding in foreign_code_edited.findings(change_of(before, after, title=title))]


def test_vendored_code_that_was_edited_beside_our_own_is_suspected() -> None:
    assert edited(CODE | {VENDORED: "package b\n"}) == [VENDORED]


@pytest.mark.parametrize("other", ["go.mod", "vendor/modules.txt"])
def test_vendored_code_that_was_fetched_anew_is_not(other: str) -> None:
    assert edited(CODE | {VENDORED: "package b\n", other: "x\n"}) == []


def test_vendored_code_that_is_the_subject_is_not() -> None:
    assert edited({VENDORED: "package b\n"}) == []
    assert edited(CODE | {VENDORED: "package b\n"}, title="Patch lib.go") == []
    assert edited(CODE | {VENDORED: "package a\n"}) == []
