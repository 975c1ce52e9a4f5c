"""Files that are looked up in the head tree of a pull request on GitHub."""

from tests.worker.adapters.github.conftest import Place
from worker.adapters.github.pull_requests import GitHubPullSource
from worker.domain.dossier import Definition, LookupRequest, LookupResult

NEW = {"a.py": "x = 1\n"}
READING = ["AssayPull", "GET 200", "AssayTexts"]


def looked_up(place: Place, source: GitHubPullSource, *paths: str) -> LookupResult:
    pull = place.pull(NEW)
    return source.look_up(pull.request, source.dossier(pull.request), LookupRequest(paths=paths))


def test_files_are_looked_up_in_one_request(place: Place, source: GitHubPullSource) -> None:
    place.push("main", {"docs/deep/b.md": "b\n"})
    found = looked_up(place, source, "docs/c.md", "a.py", "deep/b.md", "docs", "b.m")
    assert found == LookupResult(absent_paths=("docs/c.md", "b.m"))
    assert place.asked() == [*READING, "GET 200"]


def test_a_function_is_not_worth_a_request(place: Place, source: GitHubPullSource) -> None:
    pull = place.pull(NEW)
    sought = LookupRequest((Definition("_load", r"\.py$", is_private=True),))
    assert source.look_up(pull.request, source.dossier(pull.request), sought) == LookupResult()
    assert place.asked() == READING


def test_in_a_tree_that_github_lists_in_part_nothing_is_absent(place: Place, source: GitHubPullSource) -> None:
    pull = place.pull(NEW)
    dossier = source.dossier(pull.request)
    place.github.fault("/git/trees/", status=200, body={"sha": pull.sha, "tree": [], "truncated": True})
    assert source.look_up(pull.request, dossier, LookupRequest(paths=("docs/c.md",))) == LookupResult()
