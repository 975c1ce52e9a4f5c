"""Files that were left behind, and code of others."""

import pytest

from tests.worker.judge.heuristics.made import change_of
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.scope_creep.strays import foreign_code_edited, stray_file

CODE = {"src/upload.py": "retry()\n"}


def strays(path: str, title: str = "Retry uploads") -> list[str | None]:
    return [one.path for one in stray_file.findings(change_of({}, CODE | {path: "a\nb\n"}, title=title))]


@pytest.mark.parametrize(
    "path",
    [
        "src/upload.py.orig",
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
    change = Change(dossier.model_copy(update={"diff": diff + dossier.diff}))
    assert [(one.path, one.line) for one in stray_file.findings(change)] == places


VENDORED = "vendor/acme/lib.go"


def edited(after: dict[str, str], title: str = "Retry uploads") -> list[str | None]:
    before = {VENDORED: "package a\n"}
    return [one.path for one in foreign_code_edited.findings(change_of(before, after, title=title))]


def test_vendored_code_that_was_edited_beside_our_own_is_suspected() -> None:
    assert edited(CODE | {VENDORED: "package b\n"}) == [VENDORED]


@pytest.mark.parametrize("other", ["go.mod", "vendor/modules.txt"])
def test_vendored_code_that_was_fetched_anew_is_not(other: str) -> None:
    assert edited(CODE | {VENDORED: "package b\n", other: "x\n"}) == []


def test_vendored_code_that_is_the_subject_is_not() -> None:
    assert edited({VENDORED: "package b\n"}) == []
    assert edited(CODE | {VENDORED: "package b\n"}, title="Patch lib.go") == []
    assert edited(CODE | {VENDORED: "package a\n"}) == []
