"""Hostile paths in symlinks, diffs and cases: none leads out of the judged repository."""

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
def outside_file(tmp_path: Path) -> Path:
    """A secret file beside the checkout."""
    path = tmp_path / "secret.txt"
    path.write_text(f"{SECRET} = 1\n")
    return path


@pytest.fixture
def repository(tmp_path: Path) -> LocalRepository:
    return LocalRepository(tmp_path / "widgets")


def dossier_json(repository: LocalRepository, case: str | None = None) -> str:
    return repository.dossier(case=case).model_dump_json()


def test_symlinks_are_judged_as_links(repository: LocalRepository, outside_file: Path) -> None:
    links = {
        "AGENTS.md": outside_file, "link.py": outside_file, ".github/assay.yml": outside_file, "up.py": Path("../secret.txt"),
        "folder": outside_file.parent, "passwd": Path("/etc/passwd"), "loop": Path("loop"), "git": Path(".git/config"),
    }  # fmt: skip
    for branch in ("main", "later"):
        repository.git("switch", "--quiet", *(["--create"] if branch == "later" else []), branch)
        for name, target in links.items():
            (repository.folder / name).parent.mkdir(exist_ok=True)
            (repository.folder / name).unlink(missing_ok=True)
            (repository.folder / name).symlink_to(
                target if branch == "main" else f"{target}x" if name == "loop" else target
            )
        repository.commit({"a.py": f"import {branch}\n"})
    text = dossier_json(repository)
    assert SECRET not in text
    assert "root:x:0:0" not in text
    assert "[core]" not in text


def test_folder_replaced_by_a_symlink_is_not_followed(repository: LocalRepository, outside_file: Path) -> None:
    repository.commit({"src/a.py": "one\n"})
    (repository.folder / "src" / "a.py").unlink()
    (repository.folder / "src").rmdir()
    (repository.folder / "src").symlink_to(outside_file.parent)
    assert SECRET not in dossier_json(repository), "uncommitted files are not read"
    repository.commit({})
    assert SECRET not in dossier_json(repository)


def test_case_citing_paths_outside_the_checkout_reads_nothing(repository: LocalRepository, outside_file: Path) -> None:
    repository.commit({"a.py": "one\n"})
    cited = [path.format(str(outside_file).lstrip("/")) for path in OUTSIDE]
    claims = "".join(f"  - {{criterion: AC1, addressed_by: {json.dumps(path)}, evidence: x}}\n" for path in cited)
    text = dossier_json(repository, f"summary: x\nac_coverage:\n{claims}")
    assert SECRET not in text
    assert set(text_by_path(repository.dossier())) == {"a.py"}


@pytest.mark.parametrize("name", ["..", "../x", ".git/config", "/etc/passwd", "a/../../b"])
def test_git_tree_with_a_hostile_name_reads_nothing(repository: LocalRepository, outside_file: Path, name: str) -> None:
    blob = repository.git("hash-object", "-w", "--stdin", stdin=b"x = 1\n")
    tree = repository.git("mktree", stdin=f"100644 blob {blob}\ta.py\n".encode())
    raw = b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob)
    bent = repository.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=raw)
    base = repository.git("commit-tree", tree, stdin=b"base")
    head = repository.git("commit-tree", bent, "-p", base, stdin=b"head")
    repository.git("update-ref", "refs/heads/base", base)
    repository.git("update-ref", "refs/heads/bent", head)
    try:
        text = repository.dossier(base="base", head="bent").model_dump_json()
    except AssayError as refused:
        text = str(refused)
    assert SECRET not in text
    assert "root:x:0:0" not in text
    assert "[core]" not in text
    assert outside_file.read_text().startswith(SECRET), "the file outside is unchanged"


@pytest.mark.slow
def test_dossier_reads_and_writes_no_file_that_it_names(tmp_path: Path, outside_file: Path) -> None:
    plain = dossier()
    names = [template.format(str(outside_file).lstrip("/")) for template in OUTSIDE if not template.startswith("~")]
    diff = "".join(
        f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x = 1\n"
        for name in names
    )
    bent = plain.model_copy(
        update={"diff": diff, "files": tuple(HeadFile(path=path, text="x = 1\n") for path in names)}
    )
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
def test_caller_named_files_are_the_only_ones_read(
    repository: LocalRepository, tmp_path: Path, outside_file: Path
) -> None:
    """A symlink that the caller names is followed; paths in its content are not."""
    repository.commit({"a.py": "one\n"})
    issue = tmp_path / "issue.md"
    issue.write_text(f"- [ ] see {outside_file}\n- [ ] ![x](../secret.txt)\n@../secret.txt\n!include ../secret.txt\n")
    link = tmp_path / "link.md"
    link.symlink_to(issue)
    environ = environment(tmp_path / "state")
    done = run_assay("judge", "--base", "main", "--issue", str(link), "--json", environ=environ, cwd=repository.folder)
    assert json.loads(done.stdout)["decision"], done.stderr
    assert SECRET not in done.stdout + done.stderr
    for wrong in (str(tmp_path), str(tmp_path / "none"), os.devnull):
        refused = run_assay("judge", "--dossier", wrong, environ=environ, cwd=repository.folder)
        assert (refused.returncode, "Traceback" in refused.stderr) == (2, False), refused.stderr
