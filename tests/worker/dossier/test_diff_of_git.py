"""parse_diff on the diffs that git prints of generated trees."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.dossier.diff import ChangeKind, DiffError, FileDiff, base_text, head_text, parse_diff

LINES = st.sampled_from(
    [b"", b"a", b"b", b"-- x", b"++ y", b"@@ -1 +1 @@", b"c\r", b"\x0c", b"\xe2\x80\xa8", b" ", b"\xff"]
)


def join_lines(lines: list[bytes], end: bytes) -> bytes:
    return b"\n".join(lines) + (end if lines else b"")


TEXTS = st.builds(join_lines, st.lists(LINES, max_size=12), st.sampled_from([b"", b"\n"]))
NAMES = st.sampled_from(["a.py", "my file", "b b/c", 'say "hi"', "tab\tname", "é/ü.txt", "-dash", "back\\slash"])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git")
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(folder), *arguments], input=stdin, capture_output=True, check=True).stdout


class Entry(NamedTuple):
    """One path of a tree."""

    mode: str
    content: bytes


def write_tree(folder: Path, entries: Mapping[str, Entry]) -> str:
    """Write a tree object without a work tree, so that any path is possible."""
    git(folder, "read-tree", "--empty")
    listed = b""
    for name, (mode, content) in entries.items():
        is_module = mode == "160000"
        blob = content if is_module else git(folder, "hash-object", "-w", "--stdin", stdin=content).strip()
        listed += mode.encode() + b" " + blob + b"\t" + name.encode() + b"\0"
    git(folder, "update-index", "-z", "--index-info", stdin=listed)
    return git(folder, "write-tree").decode().strip()


def decode_text(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def test_modes_symlinks_and_binaries_printed_by_git_are_parsed(tmp_path: Path) -> None:
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

    files = parse_diff(git(tmp_path, "diff-tree", "-p", "-M", "--text", base, head)).files
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


BINARY = st.sampled_from([b"\0\1\2", b"\0" * 300, b"a\0b\n", bytes(range(256)) * 4])
LONG = st.sampled_from([b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n", b"x\n" * 30, b"word word\r\n" * 12])
FILES = st.builds(Entry, st.sampled_from(["100644", "100755"]), TEXTS | LONG | BINARY)
LINKS = st.builds(Entry, st.just("120000"), st.sampled_from([b"run.sh", b"../x", b"\xff"]))
MODULES = st.builds(Entry, st.just("160000"), st.sampled_from([b"1" * 40, b"2" * 40]))
ENTRIES = st.dictionaries(
    NAMES | st.sampled_from(["x/y", "x/z", "end ", "new\nline", "a/b"]), FILES | FILES | LINKS | MODULES, max_size=5
)
OPTIONS = st.sets(
    st.sampled_from(["-M", "-C", "--find-copies-harder", "--binary", "--text", "--full-index", "-B", "--patience"])
)
MATCHING = frozenset({"-M", "-C", "--find-copies-harder", "-B"})
"""The options that match files; the others change the output."""

CONTEXT = st.sampled_from(["-U0", "-U1", "-U3", "-U10"])
QUOTING = st.sampled_from(["core.quotePath=true", "core.quotePath=false"])


class RawEntry(NamedTuple):
    """One file of `git diff --raw`."""

    status: str
    old_mode: str
    new_mode: str
    old: str
    new: str


def parse_raw_listing(raw: bytes) -> Iterator[RawEntry]:
    """The entries of `--raw -z`, with a type change as two entries, as in a patch."""
    parts = iter(raw.decode("utf-8", "replace").split("\0")[:-1])
    for word in parts:
        old_mode, new_mode, _, _, status = word.removeprefix(":").split(" ")
        path = next(parts)
        new = next(parts) if status[0] in "RC" else path
        if status[0] == "T":
            yield RawEntry("D", old_mode, "000000", path, path)
            yield RawEntry("A", "000000", new_mode, path, path)
        else:
            yield RawEntry(status[0], old_mode, new_mode, path, new)


LETTERS = {
    ChangeKind.ADDED: "A",
    ChangeKind.DELETED: "D",
    ChangeKind.MODIFIED: "M",
    ChangeKind.RENAMED: "R",
    ChangeKind.COPIED: "C",
}


@settings(
    max_examples=settings().max_examples * 9 // 10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(base=ENTRIES, head=ENTRIES, options=OPTIONS, context=CONTEXT, quoting=QUOTING)
def test_diff_of_generated_trees_equals_gits_raw_listing(
    repository: Path, base: dict[str, Entry], head: dict[str, Entry], options: set[str], context: str, quoting: str
) -> None:
    if "--find-copies-harder" in options:
        options.add("-C")
    base, head = without_clashes(base), without_clashes(head)
    trees = write_tree(repository, base), write_tree(repository, head)
    command = ("-c", quoting, "diff-tree", "-r", *sorted(options & MATCHING), *trees)
    printing = (context, *sorted(options - MATCHING), "-p", "--src-prefix=a/", "--dst-prefix=b/")
    files = parse_diff(git(repository, *command, *printing)).files
    expected = list(parse_raw_listing(git(repository, *command, "--raw", "-z")))
    assert [(file.path, LETTERS[file.change]) for file in files] == [(entry.new, entry.status) for entry in expected]
    for file, entry in zip(files, expected, strict=True):
        assert file.old_path == (entry.old if entry.status in "RC" else None)
        if entry.old_mode != entry.new_mode:
            assert (file.old_mode or "000000", file.new_mode or "000000") == (entry.old_mode, entry.new_mode)
        if file.old_mode or file.new_mode:  # of what was only moved git prints no mode
            assert (file.is_submodule, file.is_symlink) == ("160000" in entry[1:3], "120000" in entry[1:3])
        if not file.is_binary:
            check_texts(file, entry, base, head)


def without_clashes(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Drop each path that is also a folder."""
    return {name: entry for name, entry in entries.items() if not any(f"{name}/" in other for other in entries)}


def check_texts(file: FileDiff, entry: RawEntry, base: Mapping[str, Entry], head: Mapping[str, Entry]) -> None:
    before = "" if entry.status == "A" else content_of(base[entry.old])
    after = "" if entry.status == "D" else content_of(head[entry.new])
    if before != after:
        assert base_text(after, file) == before
        assert head_text(before, file) == after


def content_of(entry: Entry) -> str:
    return f"Subproject commit {decode_text(entry.content)}\n" if entry.mode == "160000" else decode_text(entry.content)


def test_diff_without_prefixes_is_refused_with_advice(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    trees = [write_tree(tmp_path, {"x": Entry("100644", text)}) for text in (b"a\n", b"b\n")]
    with pytest.raises(DiffError, match="let git print its own prefixes"):
        parse_diff(git(tmp_path, "diff-tree", "-p", "--no-prefix", *trees))
