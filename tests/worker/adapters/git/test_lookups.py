"""Names that are looked up in the head tree of a checkout."""

from pathlib import Path

import pytest

from tests.worker.adapters.git.laptop import NOW, Laptop
from worker.adapters.git.changes import find_names_at
from worker.adapters.git.git import GitProgram, GitRepository, open_repository
from worker.domain.dossier import Definition, LookupRequest, LookupResult
from worker.errors import InputError

ANYWHERE = r"\.(?:py|cfg)$"


def looked_up(laptop: Laptop, *names: str, callers: str = ANYWHERE) -> dict[str, tuple[str, ...]]:
    source = laptop.source()
    request = source.request(NOW)
    definitions = tuple(Definition(name, callers, is_private=True) for name in names)
    found = source.look_up(request, source.dossier(request), LookupRequest(definitions))
    return {lookup.name: lookup.paths for lookup in found.names}


def test_the_whole_head_tree_is_searched_for_words(laptop: Laptop) -> None:
    laptop.git("switch", "--quiet", "main")
    base = {"deep/er/b.py": "x = _load(1)\ny = _load(2)\n", "c.py": "_loader()\n", "d.cfg": "a = b:_load\n"}
    laptop.commits({**base, "e.bin": b"\0_load", "notes.md": "_load\n"})
    laptop.git("switch", "--quiet", "--force-create", "retry")
    laptop.commits({"a.py": "def _load(x):\n    return x\n\n\ndef _save(x):\n    return _store(x)\n"})
    assert looked_up(laptop, "_load", "_save") == {"_load": ("d.cfg", "deep/er/b.py"), "_save": ()}


def test_what_is_not_committed_and_what_a_folder_can_t_call_does_not_count(laptop: Laptop) -> None:
    laptop.commits({"a/a.go": "func load() {}\n", "b/b.go": "load()\n"})
    laptop.git("switch", "--quiet", "--create", "more")
    laptop.writes({"a/c.go": "load()\n"})
    assert looked_up(laptop, "load", callers=r"^a/[^/]+\.go$") == {"load": ()}


def test_a_file_whose_text_is_at_hand_is_not_listed(laptop: Laptop) -> None:
    laptop.commits({"a.py": "def _load(x):\n    return x\n"})
    assert looked_up(laptop, "_load") == {"_load": ()}


def test_a_name_that_stands_nowhere_is_looked_up_too(laptop: Laptop) -> None:
    laptop.commits({"a.py": "x = 1\n"})
    assert looked_up(laptop, "_load", "_save") == {"_load": (), "_save": ()}


def test_a_name_with_more_matches_than_are_read_is_not_looked_up(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop.commits({"a.py": "x = 1\n", "b.py": "_load()\n" * 9})
    monkeypatch.setattr("worker.adapters.git.changes.MOST_BYTES", 20)
    assert looked_up(laptop, "_load") == {}


def test_a_partial_clone_is_not_searched(laptop: Laptop) -> None:
    laptop.commits({"a.py": "x = 1\n"})
    laptop.git("config", "remote.origin.promisor", "true")
    assert looked_up(laptop, "_load") == {}


def test_a_tree_that_takes_too_long_is_not_looked_up(laptop: Laptop, tmp_path: Path) -> None:
    laptop.commits({"a.py": "x = 1\n"})
    found = open_repository(laptop.folder)
    slow = tmp_path / "git"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *" grep "*) exec /bin/sleep 9;; esac\nexec {found.program.path} "$@"\n')
    slow.chmod(0o755)
    hurried = GitRepository(GitProgram(str(slow), 0.5), found.git_dir, found.common_dir, found.worktree)
    assert find_names_at(hurried, laptop.dossier(), [Definition("_load", ANYWHERE, is_private=True)]) == ()


def test_a_commit_that_is_gone_is_told(laptop: Laptop) -> None:
    laptop.commits({"a.py": "x = 1\n"})
    source = laptop.source()
    request, dossier = source.request(NOW), laptop.dossier()
    gone = dossier.pull_request.model_copy(update={"head_sha": "f" * 40})
    with pytest.raises(InputError, match="git grep failed: unable to"):
        source.look_up(
            request,
            dossier.model_copy(update={"pull_request": gone}),
            LookupRequest((Definition("_load", ANYWHERE, is_private=True),)),
        )


def test_a_lookup_names_few_files(laptop: Laptop) -> None:
    laptop.commits({f"m{number:02}.py": "_load()\n" for number in range(12)})
    laptop.git("switch", "--quiet", "main")
    laptop.git("merge", "--quiet", "retry")
    laptop.git("switch", "--quiet", "--create", "next")
    laptop.commits({"a.py": "def _load(x):\n    return x\n"})
    assert len(looked_up(laptop, "_load")["_load"]) == 10


def test_files_that_are_named_are_looked_up_in_the_whole_head_tree(laptop: Laptop) -> None:
    laptop.commits({"docs/deep/b.md": "b\n"})
    source = laptop.source()
    request = source.request(NOW)
    sought = LookupRequest(paths=("docs/c.md", "deep/b.md", "docs"))
    assert source.look_up(request, source.dossier(request), sought) == LookupResult(absent_paths=("docs/c.md",))
