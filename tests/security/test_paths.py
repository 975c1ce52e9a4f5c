"""Paths that others chose: of links, of diffs, of a case. None of them leads out of what is judged."""

import json
import os
from pathlib import Path

import pytest

from tests.app.cli.assay_command import environment, run_assay
from tests.worker.adapters.git.conftest import LocalRepository, text_by_path
from tests.worker.judge.samples import dossier
from worker.domain.dossier import HeadFile
from worker.errors import AssayError

SECRET = "secret_that_stands_outside_9c2e"
OUTSIDE = (
    "../secret.txt",
    "a/../../secret.txt",
    "./../secret.txt",
    "~/secret.txt",
    "/{}",
    "//{}",
    "file:///{}",
    "..\\secret.txt",
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the checkout, whose text must not be seen."""
    path = tmp_path / "secret.txt"
    path.write_text(f"{SECRET} = 1\n")
    return path


@pytest.fixture
def laptop(tmp_path: Path) -> LocalRepository:
    return LocalRepository(tmp_path / "widgets")


def whole(laptop: LocalRepository, case: str | None = None) -> str:
    return laptop.dossier(case=case).model_dump_json()


def test_links_are_judged_as_links_wherever_they_lead(laptop: LocalRepository, outside: Path) -> None:
    links = {
        "AGENTS.md": outside, "link.py": outside, ".github/assay.yml": outside, "up.py": Path("../secret.txt"),
        "folder": outside.parent, "passwd": Path("/etc/passwd"), "loop": Path("loop"), "git": Path(".git/config"),
    }  # fmt: skip
    for branch in ("main", "later"):
        laptop.git("switch", "--quiet", *(["--create"] if branch == "later" else []), branch)
        for name, target in links.items():
            (laptop.folder / name).parent.mkdir(exist_ok=True)
            (laptop.folder / name).unlink(missing_ok=True)
            (laptop.folder / name).symlink_to(
                target if branch == "main" else f"{target}x" if name == "loop" else target
            )
        laptop.commit({"a.py": f"import {branch}\n"})
    said = whole(laptop)
    assert SECRET not in said
    assert "root:x:0:0" not in said
    assert "[core]" not in said


def test_a_folder_that_became_a_link_is_not_walked_through(laptop: LocalRepository, outside: Path) -> None:
    laptop.commit({"src/a.py": "one\n"})
    (laptop.folder / "src" / "a.py").unlink()
    (laptop.folder / "src").rmdir()
    (laptop.folder / "src").symlink_to(outside.parent)
    assert SECRET not in whole(laptop), "what is not committed is not read at all"
    laptop.commit({})
    assert SECRET not in whole(laptop)


def test_what_a_case_cites_outside_of_the_checkout_is_not_looked_at(laptop: LocalRepository, outside: Path) -> None:
    laptop.commit({"a.py": "one\n"})
    cited = [one.format(str(outside).lstrip("/")) for one in OUTSIDE]
    claims = "".join(f"  - {{criterion: AC1, addressed_by: {json.dumps(one)}, evidence: x}}\n" for one in cited)
    said = whole(laptop, f"summary: x\nac_coverage:\n{claims}")
    assert SECRET not in said
    assert set(text_by_path(laptop.dossier())) == {"a.py"}


@pytest.mark.parametrize("name", ["..", "../x", ".git/config", "/etc/passwd", "a/../../b"])
def test_git_makes_no_tree_with_such_a_name_and_if_it_did_nothing_of_it_is_read(
    laptop: LocalRepository, outside: Path, name: str
) -> None:
    blob = laptop.git("hash-object", "-w", "--stdin", given=b"x = 1\n")
    tree = laptop.git("mktree", given=f"100644 blob {blob}\ta.py\n".encode())
    raw = b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob)
    bent = laptop.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=raw)
    base = laptop.git("commit-tree", tree, given=b"base")
    head = laptop.git("commit-tree", bent, "-p", base, given=b"head")
    laptop.git("update-ref", "refs/heads/base", base)
    laptop.git("update-ref", "refs/heads/bent", head)
    try:
        said = laptop.dossier(base="base", head="bent").model_dump_json()
    except AssayError as refused:
        said = str(refused)
    assert SECRET not in said
    assert "root:x:0:0" not in said
    assert "[core]" not in said
    assert outside.read_text().startswith(SECRET), "and nothing was written there"


@pytest.mark.slow
def test_a_recorded_dossier_reads_and_writes_no_file_that_it_names(tmp_path: Path, outside: Path) -> None:
    plain = dossier()
    names = [one.format(str(outside).lstrip("/")) for one in OUTSIDE if not one.startswith("~")]
    diff = "".join(
        f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x = 1\n"
        for name in names
    )
    bent = plain.model_copy(update={"diff": diff, "files": tuple(HeadFile(path=one, text="x = 1\n") for one in names)})
    file = tmp_path / "in" / "dossier.json"
    file.parent.mkdir()
    file.write_text(bent.model_dump_json(exclude_unset=True))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = run_assay("judge", "--dossier", str(file), environ=environment(tmp_path / "state"), cwd=file.parent)
    assert done.returncode in (0, 1, 2, 3, 4)
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stdout + done.stderr
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "state" not in path.parts}
    assert after == before


@pytest.mark.slow
def test_files_that_the_caller_names_are_read_once_and_only_they(
    laptop: LocalRepository, tmp_path: Path, outside: Path
) -> None:
    """`--issue` and `--dossier` are the caller's own: a link is followed, what stands in it is not."""
    laptop.commit({"a.py": "one\n"})
    issue = tmp_path / "issue.md"
    issue.write_text(f"- [ ] see {outside}\n- [ ] ![x](../secret.txt)\n@../secret.txt\n!include ../secret.txt\n")
    link = tmp_path / "link.md"
    link.symlink_to(issue)
    environ = environment(tmp_path / "state")
    done = run_assay("judge", "--base", "main", "--issue", str(link), "--json", environ=environ, cwd=laptop.folder)
    assert json.loads(done.stdout)["decision"], done.stderr
    assert SECRET not in done.stdout + done.stderr
    for wrong in (str(tmp_path), str(tmp_path / "none"), os.devnull):
        refused = run_assay("judge", "--dossier", wrong, environ=environ, cwd=laptop.folder)
        assert (refused.returncode, "Traceback" in refused.stderr) == (2, False), refused.stderr
