"""Names that are looked up in the head tree of a pull request on GitHub."""

import pytest

from tests.worker.github.conftest import Place
from worker.domain.lookups import Definition
from worker.github.source import GitHubPullSource

NEW = {"a.py": "x = 1\ny = 2\n\n\ndef _load(x):\n    return x\n"}
READING = ["AssayPull", "GET 200", "AssayTexts"]
LOAD = Definition("_load", r"\.py$", is_private=True)


def looked_up(place: Place, source: GitHubPullSource, *definitions: Definition) -> dict[str, tuple[str, ...]]:
    pull = place.pull(NEW)
    dossier = source.dossier(pull.request)
    return {lookup.name: lookup.paths for lookup in source.look_up(pull.request, dossier, definitions)}


def test_the_files_that_could_call_it_are_read_in_two_requests(place: Place, source: GitHubPullSource) -> None:
    place.push("main", {"deep/b.py": "_load(1)\n", "c.py": "_loader()\n", "notes.md": "_load\n"})
    assert looked_up(place, source, LOAD) == {"_load": ("deep/b.py",)}
    assert place.asked() == [*READING, "GET 200", "AssayTexts"]


def test_where_no_file_could_call_it_the_tree_is_enough(place: Place, source: GitHubPullSource) -> None:
    assert looked_up(place, source, LOAD) == {"_load": ()}
    assert place.asked() == [*READING, "GET 200"]


def test_what_others_may_call_is_not_worth_a_request(place: Place, source: GitHubPullSource) -> None:
    assert looked_up(place, source, Definition("load", r"\.py$", is_private=False)) == {}
    assert place.asked() == READING


def test_a_name_with_too_many_files_is_left_out(
    place: Place, source: GitHubPullSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.push("main", {"b.py": "x = 1\n", "c.py": "x = 1\n", "d.txt": "y\n"})
    monkeypatch.setattr("worker.github.lookups.BATCH", 1)
    texts = Definition("_words", r"\.txt$", is_private=True)
    assert looked_up(place, source, LOAD, texts) == {}


def test_a_file_that_github_does_not_show_leaves_the_name_out(place: Place, source: GitHubPullSource) -> None:
    place.push("main", {"b.py": "x = 1\n" * 100_000})
    assert looked_up(place, source, LOAD) == {}


def test_a_tree_that_github_lists_in_part_is_not_looked_up(place: Place, source: GitHubPullSource) -> None:
    pull = place.pull(NEW)
    dossier = source.dossier(pull.request)
    place.github.fault("/git/trees/", status=200, body={"sha": pull.sha, "tree": [], "truncated": True})
    assert source.look_up(pull.request, dossier, [LOAD]) == ()
