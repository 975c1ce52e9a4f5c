"""Every kind of change that git knows reaches the dossier, or is listed as unread."""

import os
import re
import time
from pathlib import Path

import pytest

from tests.worker.adapters.git.laptop import Laptop, shown, texts, unread
from worker.adapters.git.changes import FILE_BYTES, changes_between, diff_between, read_commit, texts_of
from worker.adapters.git.git import open_repository
from worker.domain.ids import Sha
from worker.dossier.diff.parser import ChangeKind, LineKind

LINES = "".join(f"line {number}\n" for number in range(30))
SHA = "1" * 40


def test_a_rename_is_one_file_under_its_new_path(laptop: Laptop) -> None:
    laptop.commits({"old name.py": LINES})
    laptop.git("mv", "old name.py", "new name.py")
    laptop.commits({"new name.py": LINES + "more\n"})
    dossier = laptop.dossier(base="HEAD~1")
    file = shown(dossier)["new name.py"]
    assert (file.change, file.old_path) == (ChangeKind.RENAMED, "old name.py")
    assert texts(dossier) == {"new name.py": LINES + "more\n"}


def test_a_deleted_file_has_no_text(laptop: Laptop) -> None:
    laptop.commits({"README.md": None})
    dossier = laptop.dossier()
    assert shown(dossier)["README.md"].change is ChangeKind.DELETED
    assert (dossier.files, dossier.files_unread) == ((), ())


def test_carriage_returns_and_a_missing_last_newline_stay(laptop: Laptop) -> None:
    laptop.commits({"a.txt": "one\r\ntwo"})
    dossier = laptop.dossier()
    assert texts(dossier) == {"a.txt": "one\r\ntwo"}
    assert [(line.text, line.has_newline) for line in shown(dossier)["a.txt"].added_lines] == [
        ("one\r", True),
        ("two", False),
    ]


def test_bytes_that_are_not_utf8_are_replaced_in_their_line_and_the_file_is_unread(laptop: Laptop) -> None:
    laptop.commits({"latin.txt": b"caf\xe9\nplain\n"})
    dossier = laptop.dossier()
    assert [line.text for line in shown(dossier)["latin.txt"].added_lines] == ["caf\ufffd", "plain"]
    assert unread(dossier) == {"latin.txt": "not_utf8"}


def test_a_binary_file_is_unread_also_where_attributes_call_it_text(laptop: Laptop) -> None:
    laptop.commits({".gitattributes": "*.bin text diff\n", "a.bin": b"\0\1\2" * 50})
    dossier = laptop.dossier()
    assert shown(dossier)["a.bin"].is_binary
    assert unread(dossier) == {"a.bin": "binary"}


def test_attributes_of_the_branch_cannot_hide_a_file_from_the_judge(laptop: Laptop) -> None:
    laptop.commits({".gitattributes": "*.py -diff binary\n", "a.py": "hidden = True\n"})
    dossier = laptop.dossier()
    assert [line.text for line in shown(dossier)["a.py"].added_lines] == ["hidden = True"]


def test_a_large_file_is_unread_and_its_diff_is_there(laptop: Laptop) -> None:
    laptop.commits({"large.txt": "x" * 99 + "\n", "huge.txt": ("y" * 99 + "\n") * (FILE_BYTES // 100 + 1)})
    dossier = laptop.dossier()
    assert unread(dossier) == {"huge.txt": "too_large"}
    assert set(shown(dossier)) == {"large.txt", "huge.txt"}


@pytest.mark.parametrize(
    "path", ["a file.py", 'quo"te.py', "tab\there.py", "new\nline.py", "back\\slash.py", "üñí/日本 ✓.py", "-dash.py", "*.py", ":(top).py"]
)  # fmt: skip
def test_any_path_is_read_under_its_own_name(laptop: Laptop, path: str) -> None:
    laptop.commits({path: "one\n"})
    dossier = laptop.dossier()
    assert list(shown(dossier)) == [path]
    assert texts(dossier) == {path: "one\n"}


def test_a_path_that_is_not_utf8_is_read(laptop: Laptop) -> None:
    (Path(os.fsdecode(os.fsencode(laptop.folder) + b"/caf\xe9.py"))).write_bytes(b"one\n")
    laptop.commits({})
    assert list(texts(laptop.dossier())) == ["caf\ufffd.py"]


def test_a_submodule_is_in_the_diff_and_has_no_text(laptop: Laptop) -> None:
    laptop.git("update-index", "--add", "--cacheinfo", f"160000,{SHA},vendored")
    laptop.commits_index()
    dossier = laptop.dossier()
    assert shown(dossier)["vendored"].is_submodule
    assert (dossier.files, dossier.files_unread) == ((), ())


def test_a_link_is_its_target_and_is_not_followed(laptop: Laptop, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    (laptop.folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    laptop.commits({})
    dossier = laptop.dossier()
    assert shown(dossier)["link.txt"].is_symlink
    assert texts(dossier) == {"link.txt": str(tmp_path / "secret.txt")}


def test_a_file_that_becomes_a_link_is_removed_and_added(laptop: Laptop) -> None:
    laptop.writes({"README.md": None})
    (laptop.folder / "README.md").symlink_to("elsewhere")
    laptop.commits({})
    dossier = laptop.dossier()
    assert dossier.diff.count("diff --git ") == 2
    assert texts(dossier) == {"README.md": "elsewhere"}


def test_a_changed_mode_is_a_change(laptop: Laptop) -> None:
    (laptop.folder / "README.md").chmod(0o755)
    laptop.commits({})
    file = shown(laptop.dossier())["README.md"]
    assert (file.old_mode, file.new_mode, file.hunks) == ("100644", "100755", ())


@pytest.mark.slow
def test_three_thousand_files_take_seconds(laptop: Laptop) -> None:
    laptop.commits({f"package/module_{number:04}.py": f"value = {number}\n" for number in range(3000)})
    started = time.monotonic()
    dossier = laptop.dossier()
    assert time.monotonic() - started < 20
    assert len(shown(dossier)) == len(texts(dossier)) == 3000


def test_texts_beyond_the_limit_are_listed(laptop: Laptop) -> None:
    many = {f"large_{number:02}.txt": f"{number:02}" * (FILE_BYTES // 2) for number in range(21)}
    laptop.commits(dict(many))
    dossier = laptop.dossier()
    assert set(unread(dossier).values()) == {"over_limit"}
    assert len(unread(dossier)) + len(dossier.files or ()) == 21


def test_a_diff_beyond_the_limit_keeps_whole_files_and_lists_the_rest(laptop: Laptop) -> None:
    laptop.writes({"README.md": None})
    (laptop.folder / "README.md").symlink_to("elsewhere")
    head = laptop.commits({"a.txt": LINES, "b.txt": LINES, "c.txt": LINES})
    base = laptop.git("rev-parse", "main")
    whole, unread_files = cut(laptop, base, head, most=10**6)
    assert unread_files == []
    starts = [found.start() for found in re.finditer("diff --git ", whole)]
    for most in {max(0, start + near) for start in (*starts, len(whole)) for near in (-2, -1, 0, 20)}:
        diff, unread_files = cut(laptop, base, head, most)
        files = diff.split("diff --git ")[1:]
        assert whole.startswith(diff)
        assert all(part.endswith("line 29\n") for part in files[2:])
        expected = {5: [], 4: ["c.txt"], 3: ["b.txt", "c.txt"], 2: ["a.txt", "b.txt", "c.txt"]}
        assert unread_files == expected.get(len(files), ["README.md", "a.txt", "b.txt", "c.txt"])


def cut(laptop: Laptop, base: Sha, head: Sha, most: int) -> tuple[str, list[str]]:
    repository = open_repository(laptop.folder)
    changes = changes_between(repository, base, head)
    diff, unread_files = diff_between(repository, base, head, changes, most)
    return diff, [file.path for file in unread_files]


def test_an_object_that_is_not_there_is_listed(laptop: Laptop) -> None:
    found = texts_of(open_repository(laptop.folder), [("gone.txt", SHA)])
    assert (found.files, [file.path for file in found.unread]) == ((), ["gone.txt"])


def test_settings_of_the_user_do_not_change_the_diff(laptop: Laptop) -> None:
    laptop.git("switch", "--quiet", "main")
    laptop.commits({"blank.txt": "one\n\ntwo\n"})
    laptop.git("switch", "--quiet", "--create", "second")
    laptop.commits({"ü.py": "one\n", "README.md": "# gadgets\n", "blank.txt": "one\n\nthree\n"})
    before = laptop.dossier().diff
    for name, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.context": "0",
        "diff.algorithm": "patience",
        "diff.renames": "false",
        "diff.suppressBlankEmpty": "true",
        "diff.orderFile": str(laptop.folder / "order"),
        "color.ui": "always",
        "core.quotePath": "false",
        "core.abbrev": "4",
    }.items():
        laptop.git("config", name, value)
    laptop.writes({"order": "ü.py\n"})
    assert laptop.dossier().diff == before


def test_replaced_objects_are_read_as_they_were(laptop: Laptop) -> None:
    head = laptop.commits({"a.py": "bad\n"})
    laptop.git("switch", "--quiet", "--create", "nice", "main")
    nice = laptop.commits({"a.py": "good\n"})
    laptop.git("replace", head, nice)
    assert texts(laptop.dossier(head="retry")) == {"a.py": "bad\n"}


def test_commits_carry_messages_in_any_encoding() -> None:
    latin = "author Jos\xe9 <j@e.x> 1 +0000\nencoding latin-1\n\nCaf\xe9\n\nBody\n".encode("latin-1")
    assert read_commit(SHA, latin).message == "Café\n\nBody"
    assert read_commit(SHA, latin).author == "José"
    odd = b"author A <a@b> 1 +0000\nencoding no-such\n\ncaf\xe9\n"
    assert read_commit(SHA, odd).message == "caf\ufffd"
    coded = b"author A <a@b> 1 +0000\nencoding base64\n\nplain\n"
    assert read_commit(SHA, coded).message == "plain"
    signed = b"tree 1\nauthor A <a@b> 1 +0000\ngpgsig -----BEGIN\n author Mallory <m@m> 1\n -----END\n\nMessage\n"
    assert read_commit(SHA, signed).author == "A"


def test_only_lines_of_the_change_are_shown_as_changed(laptop: Laptop) -> None:
    laptop.commits({"README.md": "# widgets\n\nMore.\n"})
    kinds = [line.kind for line in shown(laptop.dossier())["README.md"].lines()]
    assert kinds == [LineKind.CONTEXT, LineKind.ADDED, LineKind.ADDED]
