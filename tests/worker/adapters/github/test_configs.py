"""`.github/assay.yml` as GitHub shows it: at the base, the owner's default beside it, and not one request more."""

from collections.abc import Iterator

import pytest

from tests.worker.adapters.github.conftest import Place
from tests.world.github_bench import GitHub
from worker.adapters.github.errors import is_optional
from worker.adapters.github.pull_requests import GitHubPullSource
from worker.adapters.github.responses import GraphError
from worker.domain.dossier import ConfigOrigin, ConfigText

CHANGE = {"a.py": "x = 1\ny = 3\n"}
PLACE = ".github/assay.yml"


@pytest.fixture
def default_of_the_owner(github: GitHub) -> Iterator[str]:
    """The text of `acme/.github`'s file, which is there for one test."""
    text = "mode: observe\n"
    github.verb("repo", name=".github")
    defaults = Place(github, "acme/.github")
    defaults.push("main", {PLACE: text})
    yield text
    defaults.push("main", {PLACE: None})


def config(text: str | None, origin: ConfigOrigin = ConfigOrigin.REPOSITORY) -> ConfigText:
    return ConfigText(origin=origin, text=text)


def test_the_file_of_the_base_counts_and_costs_no_request(place: Place, source: GitHubPullSource) -> None:
    place.push("main", {PLACE: "mode: observe\n"})
    pull = place.pull({**CHANGE, PLACE: "mode: block\n"})
    dossier = source.dossier(pull.request)
    assert dossier.config == (config("mode: observe\n"),)
    assert {file.path: file.text for file in dossier.files or ()}[PLACE] == "mode: block\n"
    assert len(place.asked()) == 3


def test_what_is_no_text_is_there_all_the_same(place: Place, source: GitHubPullSource) -> None:
    place.push("main", {PLACE: {"base64": "AAEC"}})
    assert source.dossier(place.pull(CHANGE).request).config == (config(None),)


def test_a_file_under_the_wrong_name_is_told_in_the_same_request_and_only_beside_no_right_one(
    place: Place, source: GitHubPullSource
) -> None:
    place.push("main", {".github/assay.yaml": "mode: observe\n"})
    misnamed = ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True)
    assert source.dossier(place.pull(CHANGE).request).config == (misnamed,)
    assert len(place.asked()) == 3
    place.push("main", {PLACE: "mode: block\n"})
    assert source.dossier(place.pull({"b.py": "x = 1\n"}).request).config == (config("mode: block\n"),)


def test_a_folder_of_that_name_is_none(place: Place, source: GitHubPullSource) -> None:
    place.push("main", {f"{PLACE}/x": "mode: observe\n"})
    assert source.dossier(place.pull(CHANGE).request).config == ()


def test_the_owners_default_is_read_in_the_same_request(
    place: Place, source: GitHubPullSource, default_of_the_owner: str
) -> None:
    place.push("main", {PLACE: "ci_wait: 5m\n"})
    found = source.dossier(place.pull(CHANGE).request).config
    assert found == (config("ci_wait: 5m\n"), config(default_of_the_owner, ConfigOrigin.ORGANISATION))
    assert len(place.asked()) == 3


@pytest.mark.parametrize(
    ("kind", "is_known"), [("NOT_FOUND", True), ("FORBIDDEN", True), ("INSUFFICIENT_SCOPES", True), (None, False)]
)
def test_a_default_that_we_may_not_see_is_none_and_an_outage_is_an_outage(kind: str | None, *, is_known: bool) -> None:
    assert is_optional(GraphError(type=kind, message="x", path=("defaults",))) is is_known
    assert is_optional(GraphError(type=kind, message="x", path=("defaults", "object"))) is is_known
