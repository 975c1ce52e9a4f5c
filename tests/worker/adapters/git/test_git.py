"""The git program: missing, too old, too slow, and never running what a repository names; and the changes that it reads."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.worker.adapters.git.conftest import (
    NOW,
    LocalRepository,
    diff_by_path,
    dossier_of,
    text_by_path,
    unread_reasons,
)
from worker.adapters.git.git import (
    FILE_BYTES,
    GitFailedError,
    GitProgram,
    GitRepository,
    changes_between,
    diff_between,
    find_names_at,
    find_program,
    find_reverted_commit,
    open_repository,
    read_commit,
    texts_of,
)
from worker.domain.dossier import Definition, LookupRequest, LookupResult
from worker.domain.model import Sha
from worker.dossier.diff import LineKind
from worker.dossier.diff_header import ChangeKind
from worker.errors import InputError, Unavailable


@pytest.fixture
def path_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def script(folder: Path, text: str) -> str:
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_missing_git_error_says_what_to_install(path_with: Path) -> None:
    assert path_with.is_dir()
    with pytest.raises(InputError, match=r"git was not found on PATH.*Install git, or use --dossier FILE"):
        find_program()


@pytest.mark.parametrize("answer", ["git version 2.30.9", "git version 1.99", "no git at all"])
def test_git_that_is_too_old_is_refused(path_with: Path, answer: str) -> None:
    script(path_with, f"echo '{answer}'")
    with pytest.raises(InputError, match=r"expected git 2\.31 or newer"):
        find_program()


@pytest.mark.parametrize("answer", ["git version 2.31.0", "git version 3.0", "git version 2.39.5 (Apple Git-154)"])
def test_newer_git_is_accepted(path_with: Path, answer: str) -> None:
    path = script(path_with, f"echo '{answer}'")
    assert find_program() == GitProgram(path)


def test_git_that_hangs_is_stopped_after_the_timeout(tmp_path: Path) -> None:
    program = GitProgram(script(tmp_path, "exec sleep 60"), timeout_s=0.2)
    with pytest.raises(Unavailable, match="took longer than"):
        program.run(("status",), tmp_path, {})
    with pytest.raises(Unavailable, match="took longer than"):
        program.run_until(10, ("diff-tree",), tmp_path, {})


def test_git_failure_reports_the_last_error_line(tmp_path: Path) -> None:
    program = GitProgram(script(tmp_path, "echo fine; echo 'fatal: broken' >&2; exit 128"))
    with pytest.raises(GitFailedError, match="git diff-tree: broken"):
        program.run_until(100, ("diff-tree",), tmp_path, {})
    silent = GitProgram(script(tmp_path, "exit 1"))
    with pytest.raises(GitFailedError, match="git status: no reason given"):
        silent.run(("status",), tmp_path, {})


# Programs that a repository names


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that creates a file when it runs, and passes its input on."""
    path = tmp_path / "trap.sh"
    path.write_text(f'#!/bin/sh\ntouch "{tmp_path}/sprung"\ncat\n')
    path.chmod(0o755)
    return path


def is_sprung(trap: Path) -> bool:
    return (trap.parent / "sprung").exists()


def read_all(repo: LocalRepository) -> dict[str, str | None]:
    """Read everything that the product reads of a checkout."""
    repo.source().notes()
    dossier = repo.dossier()
    assert diff_by_path(dossier)
    return text_by_path(dossier)


SETTINGS = (
    "core.fsmonitor", "core.pager", "pager.diff", "pager.diff-tree", "diff.external", "diff.evil.command",
    "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.e=v.il.clean",
    "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "credential.helper", "gpg.program",
    "gpg.ssh.program", "interactive.diffFilter", "core.alternateRefsCommand", "trailer.co-authored-by.command",
    "uploadpack.packObjectsHook", "merge.evil.driver",
)  # fmt: skip


def test_no_program_in_repository_settings_is_run(repo: LocalRepository, trap: Path) -> None:
    attributes = "*.py diff=evil filter=evil merge=evil\n*.md diff=evil filter=e=v.il\n"
    repo.commit({"a.py": "one\n", ".gitattributes": attributes, ".git/info/attributes": attributes})
    for name in SETTINGS:
        repo.git("config", name, str(trap))
    repo.git("config", "log.showSignature", "true")
    repo.git("config", "filter.evil.required", "true")
    repo.write({"a.py": "two\n", "README.md": "# gadgets\n"})  # status has to look into both
    assert read_all(repo)["a.py"] == "one\n"
    assert not is_sprung(trap)
    repo.write({"a.py": "three\n"})
    repo.git("status")
    assert is_sprung(trap), "git itself runs the trap"


def test_no_hook_of_the_repository_is_run(repo: LocalRepository, trap: Path) -> None:
    repo.commit({"a.py": "one\n"})
    hooks = repo.folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).symlink_to(trap)
    repo.git("config", "core.hooksPath", str(hooks))
    (repo.folder / "README.md").touch()  # git status would write a fresh index
    assert read_all(repo)
    assert not is_sprung(trap)


def test_partial_clone_does_not_fetch(repo: LocalRepository, trap: Path) -> None:
    repo.commit({"a.py": "one\n"})
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap}",
        "remote.origin.uploadpack": str(trap),
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
    }.items():
        repo.git("config", name, value)
    blob = repo.git("rev-parse", "HEAD:a.py")
    (repo.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Exception, match="If this is a partial clone"):
        repo.dossier()
    assert not is_sprung(trap)


def test_attributes_of_a_configured_work_tree_are_ignored(repo: LocalRepository, trap: Path, tmp_path: Path) -> None:
    repo.commit({"a.py": "one\n"})
    (tmp_path / ".gitattributes").write_text("* diff=evil\n")
    repo.git("config", "diff.evil.textconv", str(trap))
    repo.git("config", "core.worktree", str(tmp_path))
    assert read_all(repo) == {"a.py": "one\n"}
    assert not is_sprung(trap)


def test_git_environment_variables_are_ignored(
    repo: LocalRepository, trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a.py": "one\n"})
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(trap))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    assert read_all(repo) == {"a.py": "one\n"}
    assert not is_sprung(trap)


LINES = "".join(f"line {number}\n" for number in range(30))
SHA = "1" * 40


def test_renamed_file_is_listed_once_under_its_new_path(repo: LocalRepository) -> None:
    repo.commit({"old name.py": LINES})
    repo.git("mv", "old name.py", "new name.py")
    repo.commit({"new name.py": LINES + "more\n"})
    dossier = repo.dossier(base="HEAD~1")
    file = diff_by_path(dossier)["new name.py"]
    assert (file.change, file.old_path) == (ChangeKind.RENAMED, "old name.py")
    assert text_by_path(dossier) == {"new name.py": LINES + "more\n"}


def test_deleted_file_has_no_text(repo: LocalRepository) -> None:
    repo.commit({"README.md": None})
    dossier = repo.dossier()
    assert diff_by_path(dossier)["README.md"].change is ChangeKind.DELETED
    assert (dossier.files, dossier.files_unread) == ((), ())


def test_diff_keeps_carriage_returns_and_a_missing_last_newline(repo: LocalRepository) -> None:
    repo.commit({"a.txt": "one\r\ntwo"})
    dossier = repo.dossier()
    assert text_by_path(dossier) == {"a.txt": "one\r\ntwo"}
    added = [(line.text, line.has_newline) for line in diff_by_path(dossier)["a.txt"].added_lines]
    assert added == [("one\r", True), ("two", False)]


@pytest.mark.parametrize(
    ("files", "added", "reason"),
    [
        pytest.param({"a.x": b"caf\xe9\nplain\n"}, ["caf\ufffd", "plain"], "not_utf8", id="not UTF-8"),
        pytest.param({".gitattributes": "*.x text diff\n", "a.x": b"\0\1\2" * 50}, [], "binary", id="binary, called text"),
        pytest.param({".gitattributes": "*.x -diff binary\n", "a.x": "y = 1\n"}, ["y = 1"], None, id="text, called binary"),
        pytest.param({"a.x": "x" * 99 + "\n"}, ["x" * 99], None, id="large"),
        pytest.param({"a.x": LINES * (FILE_BYTES // 200)}, LINES.split("\n")[:-1] * (FILE_BYTES // 200), "too_large", id="huge"),
    ],
)  # fmt: skip
def test_diff_holds_added_lines_of_unread_files(
    repo: LocalRepository, files: dict[str, str | bytes | None], added: list[str], reason: str | None
) -> None:
    repo.commit(files)
    dossier = repo.dossier()
    file = diff_by_path(dossier)["a.x"]
    assert ([line.text for line in file.added_lines], file.is_binary) == (added, reason == "binary")
    assert unread_reasons(dossier) == ({} if reason is None else {"a.x": reason})


@pytest.mark.parametrize(
    "path", ["a file.py", 'quo"te.py', "tab\there.py", "new\nline.py", "back\\slash.py", "üñí/日本 ✓.py", "-dash.py", "*.py", ":(top).py"]
)  # fmt: skip
def test_any_path_is_read_under_its_own_name(repo: LocalRepository, path: str) -> None:
    repo.commit({path: "one\n"})
    dossier = repo.dossier()
    assert list(diff_by_path(dossier)) == [path]
    assert text_by_path(dossier) == {path: "one\n"}


def test_path_that_is_not_utf8_is_read(repo: LocalRepository) -> None:
    (Path(os.fsdecode(os.fsencode(repo.folder) + b"/caf\xe9.py"))).write_bytes(b"one\n")
    repo.commit({})
    assert list(text_by_path(repo.dossier())) == ["caf\ufffd.py"]


def test_submodule_is_in_the_diff_without_a_text(repo: LocalRepository) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{SHA},vendored")
    repo.commit_index()
    dossier = repo.dossier()
    assert diff_by_path(dossier)["vendored"].is_submodule
    assert (dossier.files, dossier.files_unread) == ((), ())


def test_symlink_is_read_as_its_target_path(repo: LocalRepository, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    (repo.folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    repo.commit({})
    dossier = repo.dossier()
    assert diff_by_path(dossier)["link.txt"].is_symlink
    assert text_by_path(dossier) == {"link.txt": str(tmp_path / "secret.txt")}


def test_file_replaced_by_a_symlink_is_removed_and_added(repo: LocalRepository) -> None:
    repo.write({"README.md": None})
    (repo.folder / "README.md").symlink_to("elsewhere")
    repo.commit({})
    dossier = repo.dossier()
    assert dossier.diff.count("diff --git ") == 2
    assert text_by_path(dossier) == {"README.md": "elsewhere"}


def test_changed_mode_is_in_the_diff(repo: LocalRepository) -> None:
    (repo.folder / "README.md").chmod(0o755)
    repo.commit({})
    file = diff_by_path(repo.dossier())["README.md"]
    assert (file.old_mode, file.new_mode, file.hunks) == ("100644", "100755", ())


@pytest.mark.slow
def test_three_thousand_files_are_read(repo: LocalRepository) -> None:
    repo.commit({f"package/module_{number:04}.py": f"value = {number}\n" for number in range(3000)})
    dossier = repo.dossier()
    assert len(diff_by_path(dossier)) == len(text_by_path(dossier)) == 3000


def test_texts_beyond_the_limit_are_listed_as_unread(repo: LocalRepository) -> None:
    many = {f"large_{number:02}.txt": f"{number:02}" * (FILE_BYTES // 2) for number in range(21)}
    repo.commit(dict(many))
    dossier = repo.dossier()
    assert set(unread_reasons(dossier).values()) == {"over_limit"}
    assert len(unread_reasons(dossier)) + len(dossier.files or ()) == 21


def test_diff_beyond_the_limit_keeps_whole_files_and_lists_the_rest(repo: LocalRepository) -> None:
    repo.write({"README.md": None})
    (repo.folder / "README.md").symlink_to("elsewhere")
    head = repo.commit({"a.txt": LINES, "b.txt": LINES, "c.txt": LINES})
    base = repo.git("rev-parse", "main")
    whole, unread_files = cut(repo, base, head, most=10**6)
    assert unread_files == []
    starts = [match.start() for match in re.finditer("diff --git ", whole)]
    for most in {max(0, start + near) for start in (*starts, len(whole)) for near in (-2, -1, 0, 20)}:
        diff, unread_files = cut(repo, base, head, most)
        files = diff.split("diff --git ")[1:]
        assert whole.startswith(diff)
        assert all(part.endswith("line 29\n") for part in files[2:])
        expected = {5: [], 4: ["c.txt"], 3: ["b.txt", "c.txt"], 2: ["a.txt", "b.txt", "c.txt"]}
        assert unread_files == expected.get(len(files), ["README.md", "a.txt", "b.txt", "c.txt"])


def cut(repo: LocalRepository, base: Sha, head: Sha, most: int) -> tuple[str, list[str]]:
    repository = open_repository(repo.folder)
    changes = changes_between(repository, base, head)
    diff, unread_files = diff_between(repository, base, head, changes, most)
    return diff, [file.path for file in unread_files]


def test_missing_object_is_listed_as_unread(repo: LocalRepository) -> None:
    texts = texts_of(open_repository(repo.folder), [("gone.txt", SHA)])
    assert (texts.files, [file.path for file in texts.unread]) == ((), ["gone.txt"])


def test_git_settings_of_the_user_do_not_change_the_diff(repo: LocalRepository) -> None:
    repo.commit_to_main({"blank.txt": "one\n\ntwo\n"})
    repo.commit({"ü.py": "one\n", "README.md": "# gadgets\n", "blank.txt": "one\n\nthree\n"})
    before = repo.dossier().diff
    for name, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.context": "0",
        "diff.algorithm": "patience",
        "diff.renames": "false",
        "diff.suppressBlankEmpty": "true",
        "diff.orderFile": str(repo.folder / "order"),
        "color.ui": "always",
        "core.quotePath": "false",
        "core.abbrev": "4",
    }.items():
        repo.git("config", name, value)
    repo.write({"order": "ü.py\n"})
    assert repo.dossier().diff == before


def test_replaced_objects_are_read_as_committed(repo: LocalRepository) -> None:
    head = repo.commit({"a.py": "bad\n"})
    repo.git("switch", "--quiet", "--create", "nice", "main")
    nice = repo.commit({"a.py": "good\n"})
    repo.git("replace", head, nice)
    assert text_by_path(repo.dossier(head="retry")) == {"a.py": "bad\n"}


@pytest.mark.parametrize(
    ("raw", "author", "message"),
    [
        ("author Jos\xe9 <j@e.x> 1 +0000\nencoding latin-1\n\nCaf\xe9\n\nBody\n", "José", "Café\n\nBody"),
        ("author A <a@b> 1 +0000\nencoding no-such\n\ncaf\xe9\n", "A", "caf\ufffd"),
        ("author A <a@b> 1 +0000\nencoding base64\n\nplain\n", "A", "plain"),
        ("tree 1\nauthor A <a@b> 1 +0000\ngpgsig -----BEGIN\n author Mallory <m@m> 1\n -----END\n\nM\n", "A", "M"),
    ],
    ids=["latin-1", "an unknown encoding", "no encoding of texts", "signed"],
)
def test_commit_messages_are_read_in_any_encoding(raw: str, author: str, message: str) -> None:
    commit = read_commit(SHA, raw.encode("latin-1"))
    assert (commit.author, commit.message) == (author, message)


def test_only_changed_lines_are_marked_as_added(repo: LocalRepository) -> None:
    repo.commit({"README.md": "# widgets\n\nMore.\n"})
    kinds = [line.kind for line in diff_by_path(repo.dossier())["README.md"].lines()]
    assert kinds == [LineKind.CONTEXT, LineKind.ADDED, LineKind.ADDED]


# Reverts

OLD = {"a.py": "x = 1\n", "b.py": "y = 1\n", "gone.py": "z = 1\n"}
NEW = {"a.py": "x = 2\n", "b.py": "y = 2\n", "gone.py": None, "new commit .py": "n = 1\n"}
UNDONE = {**OLD, "new commit .py": None}


def commit_to_revert(repo: LocalRepository) -> str:
    """Commit to main below another commit, and begin a branch for the revert."""
    repo.commit_to_main(OLD)
    sha = repo.commit_to_main(NEW, "Make it fast")
    repo.commit_to_main({"other.py": "o = 1\n"})
    return sha


def test_revert_is_found_when_a_change_is_the_exact_inverse_of_a_commit(repo: LocalRepository) -> None:
    sha = commit_to_revert(repo)
    repo.commit(UNDONE)
    assert repo.dossier().reverts == sha


def test_revert_of_a_merge_commit_is_found(repo: LocalRepository) -> None:
    repo.commit_to_main(OLD)
    repo.git("switch", "--quiet", "--create", "fast")
    repo.commit({"a.py": "x = 2\n"})
    repo.commit({"b.py": "y = 2\n"})
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "-m", "Merge fast", "fast")
    merge = repo.git("rev-parse", "HEAD")
    repo.git("switch", "--quiet", "--force-create", "retry")
    repo.commit(OLD)
    assert repo.dossier().reverts == merge


@pytest.mark.parametrize(
    "files", [{**UNDONE, "b.py": "y = 3\n"}, {**UNDONE, "more.py": "m = 1\n"}, {"a.py": "x = 1\n"}, {}]
)
def test_change_that_undoes_more_or_less_is_no_revert(repo: LocalRepository, files: dict[str, str | None]) -> None:
    commit_to_revert(repo)
    repo.commit(files)
    assert repo.dossier(base="main").reverts is None


def test_no_revert_is_found_in_more_history_than_is_read(
    repo: LocalRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_to_revert(repo)
    repo.commit(UNDONE)
    monkeypatch.setattr("worker.adapters.git.git.HISTORY_BYTES", 20)
    assert repo.dossier().reverts is None


def slow_repository(repo: LocalRepository, command: str) -> GitRepository:
    """The repository, read by a git program that hangs at this command until its timeout."""
    whole, slow = open_repository(repo.folder), repo.folder.parent / "git"
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *" {command} "*) exec /bin/sleep 9;; esac\nexec {whole.program.path} "$@"\n'
    )
    slow.chmod(0o755)
    return GitRepository(GitProgram(str(slow), 0.5), whole.git_dir, whole.common_dir, whole.worktree)


def test_no_revert_is_found_when_git_log_times_out(repo: LocalRepository) -> None:
    commit_to_revert(repo)
    repo.commit(UNDONE)
    pull = repo.dossier().pull_request
    assert find_reverted_commit(slow_repository(repo, "log"), pull.base_sha, pull.head_sha) is None


# Name lookups in the head tree

ANYWHERE = r"\.(?:py|cfg)$"


def look_up_names(repo: LocalRepository, *names: str, callers: str = ANYWHERE) -> dict[str, tuple[str, ...]]:
    source = repo.source()
    definitions = tuple(Definition(name, callers, is_private=True) for name in names)
    result = source.look_up(source.request(NOW), dossier_of(source), LookupRequest(definitions))
    return {lookup.name: lookup.paths for lookup in result.names}


@pytest.mark.parametrize(
    ("base", "head", "callers", "paths"),
    [
        pytest.param(
            {"deep/er/b.py": "x = _load(1)\ny = _load(2)\n", "c.py": "_loader()\n", "d.cfg": "a = b:_load\n",
             "e.bin": b"\0_load", "notes.md": "_load\n"},
            {"a.py": "def _load(x):\n    return x\n"}, ANYWHERE, ("d.cfg", "deep/er/b.py"), id="words"),
        pytest.param({}, {"a.py": "def _load(x):\n    return x\n"}, ANYWHERE, (), id="not in files with a text"),
        pytest.param({}, {"a.py": "x = 1\n"}, ANYWHERE, (), id="nowhere"),
        pytest.param({}, {"a/a.go": "func _load() {}\n", "b/b.go": "_load()\n"}, r"^a/[^/]+\.go$", (), id="not in this folder"),
        pytest.param({f"m{at:02}.py": "_load()\n" for at in range(12)}, {"a.py": "_load = 1\n"}, ANYWHERE,
                     tuple(f"m{at:02}.py" for at in range(10)), id="ten files at most"),
    ],
)  # fmt: skip
def test_names_are_looked_up_in_the_whole_head_tree(
    repo: LocalRepository,
    base: Mapping[str, str | bytes],
    head: Mapping[str, str],
    callers: str,
    paths: tuple[str, ...],
) -> None:
    repo.commit_to_main(base)
    repo.commit(head)
    repo.write({"a/c.go": "_load()\n"})  # uncommitted
    assert look_up_names(repo, "_load", "_save", callers=callers) == {"_load": paths, "_save": ()}


def test_name_with_too_many_matches_is_not_looked_up(repo: LocalRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit({"a.py": "x = 1\n", "b.py": "_load()\n" * 9})
    monkeypatch.setattr("worker.adapters.git.git.SEARCH_BYTES", 20)
    assert look_up_names(repo, "_load") == {}


def test_names_are_not_looked_up_in_a_partial_clone(repo: LocalRepository) -> None:
    repo.commit({"a.py": "x = 1\n"})
    repo.git("config", "remote.origin.promisor", "true")
    assert look_up_names(repo, "_load") == {}


def test_names_are_not_looked_up_when_git_grep_times_out(repo: LocalRepository) -> None:
    repo.commit({"a.py": "x = 1\n"})
    assert (
        find_names_at(slow_repository(repo, "grep"), repo.dossier(), [Definition("_load", ANYWHERE, is_private=True)])
        == ()
    )


def test_lookup_in_a_missing_commit_is_an_input_error(repo: LocalRepository) -> None:
    repo.commit({"a.py": "x = 1\n"})
    source, dossier = repo.source(), repo.dossier()
    gone = dossier.pull_request.model_copy(update={"head_sha": "f" * 40})
    sought = LookupRequest((Definition("_load", ANYWHERE, is_private=True),))
    with pytest.raises(InputError, match="git grep failed: unable to"):
        source.look_up(source.request(NOW), dossier.model_copy(update={"pull_request": gone}), sought)


def test_cited_files_are_looked_up_in_the_whole_head_tree(repo: LocalRepository) -> None:
    repo.commit({"docs/deep/b.md": "b\n"})
    source = repo.source()
    sought = LookupRequest(paths=("docs/c.md", "deep/b.md", "docs"))
    assert source.look_up(source.request(NOW), dossier_of(source), sought) == LookupResult(absent_paths=("docs/c.md",))
