"""parse_diff on what real git prints for generated trees: both texts come back, and so do paths and modes."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.domain.diff import ChangeKind, FileDiff, base_text, head_text, parse_diff

LINES = st.sampled_from(
    [b"", b"a", b"b", b"-- x", b"++ y", b"@@ -1 +1 @@", b"c\r", b"\x0c", b"\xe2\x80\xa8", b" ", b"\xff"]
)


def joined(lines: list[bytes], end: bytes) -> bytes:
    return b"\n".join(lines) + (end if lines else b"")


TEXTS = st.builds(joined, st.lists(LINES, max_size=12), st.sampled_from([b"", b"\n"]))
NAMES = st.sampled_from(["a.py", "my file", "b b/c", 'say "hi"', "tab\tname", "é/ü.txt", "-dash", "back\\slash"])
TREES = st.dictionaries(NAMES, TEXTS, max_size=4)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git")
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(folder), *arguments], input=stdin, capture_output=True, check=True).stdout


def tree(folder: Path, files: Mapping[str, bytes]) -> str:
    """Write a tree object without a work tree, so that any name is possible."""
    git(folder, "read-tree", "--empty")
    entries = b""
    for name, text in files.items():
        blob = git(folder, "hash-object", "-w", "--stdin", stdin=text).strip()
        entries += b"100644 " + blob + b"\t" + name.encode() + b"\0"
    git(folder, "update-index", "-z", "--index-info", stdin=entries)
    return git(folder, "write-tree").decode().strip()


def diff(folder: Path, base: str, head: str) -> bytes:
    return git(folder, "diff-tree", "-p", "-M", "--text", "--src-prefix=a/", "--dst-prefix=b/", base, head)


def shown(text: bytes) -> str:
    return text.decode("utf-8", "replace")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(base=TREES, head=TREES)
def test_each_side_comes_back_from_the_other_and_the_diff(
    repository: Path, base: dict[str, bytes], head: dict[str, bytes]
) -> None:
    files = parse_diff(diff(repository, tree(repository, base), tree(repository, head))).files
    touched = {name for name in base.keys() | head.keys() if base.get(name) != head.get(name)}
    assert {name for file in files for name in (file.path, file.old_path) if name} == touched
    for file in files:
        before, after = sides(file, base, head)
        assert base_text(after, file) == before
        assert head_text(before, file) == after


def sides(file: FileDiff, base: Mapping[str, bytes], head: Mapping[str, bytes]) -> tuple[str, str]:
    before = b"" if file.change is ChangeKind.ADDED else base[file.old_path or file.path]
    after = b"" if file.change is ChangeKind.DELETED else head[file.path]
    return shown(before), shown(after)


def test_git_itself_prints_modes_links_and_binaries_as_we_read_them(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "run.sh").write_text("echo\n")
    (tmp_path / "old name.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "picture").write_bytes(b"\0\1\2")
    (tmp_path / "link").write_text("text\n")
    git(tmp_path, "add", ".")
    base = git(tmp_path, "write-tree").decode().strip()
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "old name.txt").rename(tmp_path / "neu\té.txt")
    (tmp_path / "picture").write_bytes(b"\0\3")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("run.sh")
    (tmp_path / "empty").touch()
    git(tmp_path, "add", "--all")
    head = git(tmp_path, "write-tree").decode().strip()

    files = parse_diff(diff(tmp_path, base, head)).files
    binary = parse_diff(git(tmp_path, "diff-tree", "-p", "-M", "--binary", base, head))
    assert [(file.path, file.change, file.new_mode) for file in files] == [
        ("empty", ChangeKind.ADDED, "100644"),
        ("link", ChangeKind.DELETED, None),
        ("link", ChangeKind.ADDED, "120000"),
        ("neu\té.txt", ChangeKind.RENAMED, None),
        ("picture", ChangeKind.MODIFIED, "100644"),
        ("run.sh", ChangeKind.MODIFIED, "100755"),
    ]
    assert files[3].old_path == "old name.txt"
    assert binary.by_path["picture"].is_binary
