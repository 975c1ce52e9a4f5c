"""Reading a live pull request for `assay judge OWNER/REPO#N`, with a token and without."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from tests.worker.adapters.github.conftest import CHANGE, GitHubRepository, OpenedPullRequest
from worker.adapters.github.public_api import PublicPull, open_public_pull, open_token_source
from worker.adapters.github.pull_requests import GitHubPullSource
from worker.clock import SystemClock
from worker.domain.dossier import CiState, UnreadReason
from worker.dossier.assemble import complete_dossier
from worker.errors import InputError
from worker.settings import Settings


@pytest.fixture
def mine(settings: Settings) -> Iterator[GitHubPullSource]:
    """Bob reads with his token."""
    with open_token_source(replace(settings, app=None, github_token=SecretStr("bench-bob")), SystemClock()) as source:
        yield source


def public(settings: Settings, pull: OpenedPullRequest) -> PublicPull:
    return open_public_pull(replace(settings, app=None), SystemClock(), pull.place.name, pull.number)


def asked_by_anybody(place: GitHubRepository) -> tuple[list[str], list[str]]:
    """The paths that were asked for, and the files among them."""
    paths = [one["path"].removeprefix(f"/repos/{place.name}/") for one in place.exchanges("anonymous")]
    files = [path.removeprefix("contents/") for path in paths if path.startswith("contents/")]
    return [path for path in paths if not path.startswith("contents/")], files


def test_a_token_reads_what_the_app_reads(
    github_repository: GitHubRepository, mine: GitHubPullSource, source: GitHubPullSource
) -> None:
    number = github_repository.issue("Wrong sum", "- [ ] y is 3")
    pull = github_repository.pull(body=f"Closes #{number}")
    github_repository.ci(pull.sha, "test", conclusion="success")
    assert mine.dossier(pull.request) == source.dossier(pull.request)
    assert mine.head_sha(pull.request) == pull.sha


def test_a_token_reads_what_is_merged_and_no_assay_check_of_whatever_app(
    github_repository: GitHubRepository, mine: GitHubPullSource
) -> None:
    pull = github_repository.pull()
    github_repository.ci(pull.sha, "Assay", status="in_progress")
    github_repository.github.request_as("alice", "PUT", f"/repos/{github_repository.name}/pulls/{pull.number}/merge")
    dossier = mine.dossier(pull.request)
    assert dossier.pull_request.head_sha == mine.head_sha(pull.request) == pull.sha
    assert dossier.ci is not None
    assert dossier.ci.state is CiState.MISSING


def test_anybody_reads_a_public_pull_request_in_six_requests_and_its_files(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    number = github_repository.issue("Wrong sum", "- [ ] y is 3")
    github_repository.push("main", {"AGENTS.md": "Test first.\n"})
    pull = github_repository.pull(body=f"Closes #{number}", login="copilot-swe-agent[bot]")
    github_repository.ci(pull.sha, "test", conclusion="failure", output={"title": "1 failed", "summary": "test_sum"})
    github_repository.ci(pull.sha, "", context="deploy", state="success")
    found = public(settings, pull)
    dossier = found.dossier
    assert found.notes == ()
    assert dossier.pull_request.author == "copilot-swe-agent[bot]"
    assert (dossier.pull_request.head_sha, dossier.pull_request.base_ref) == (pull.sha, "main")
    assert [(one.title, one.linked_by) for one in dossier.issues] == [("Wrong sum", f"Closes #{number}")]
    assert [(file.path, file.text) for file in dossier.files or ()] == [("a.py", "x = 1\ny = 3\n")]
    assert [one.text for one in dossier.guidance] == ["Test first.\n"]
    assert dossier.ci is not None
    assert [(one.name, one.conclusion, one.summary) for one in dossier.ci.checks] == [
        ("test", "failure", "1 failed\ntest_sum"),
        ("deploy", "success", ""),
    ]
    rest, contents = asked_by_anybody(github_repository)
    assert len(rest) == 6
    assert contents == ["a.py", "AGENTS.md", "CLAUDE.md", ".github/assay.yml", ".github/assay.yaml"]


def test_anybody_sees_the_same_facts_as_the_app(
    github_repository: GitHubRepository, settings: Settings, source: GitHubPullSource
) -> None:
    number = github_repository.issue("Wrong sum", "- [ ] y is 3")
    pull = github_repository.pull(
        {**CHANGE, "ü b.py": "1\n", "what?#%41.py": "2\n", "old.txt": None}, body=f"Closes #{number}"
    )
    seen, known = complete_dossier(public(settings, pull).dossier), complete_dossier(source.dossier(pull.request))
    for part in ("diff", "files", "criteria", "ci", "guidance"):
        assert getattr(seen, part) == getattr(known, part)


def test_at_most_twenty_texts_are_read_and_the_rest_is_named(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    files: dict[str, Any] = {f"m{number:02}.py": f"x = {number}\n" for number in range(25)}
    found = public(
        settings, github_repository.pull({**files, "logo.png": {"base64": base64.b64encode(b"\0\1").decode()}})
    )
    assert len(asked_by_anybody(github_repository)[1]) == 20
    over = {f"m{number:02}.py": UnreadReason.OVER_LIMIT for number in range(16, 25)}
    assert {file.path: file.reason for file in found.dossier.files_unread} == {**over, "logo.png": UnreadReason.BINARY}
    assert found.notes == ("The texts of 9 files were not read. Set GITHUB_TOKEN to read it all.",)


def test_issues_that_are_not_read_are_named(github_repository: GitHubRepository, settings: Settings) -> None:
    first = github_repository.issue("One", "one")
    found = public(settings, github_repository.pull(body=f"Fixes #{first}, fixes acme/secret#9"))
    assert [one.number for one in found.dossier.issues] == [first]
    assert found.notes == ("Of the linked issues these were not read: acme/secret#9. Set GITHUB_TOKEN to read it all.",)
    github_repository.push("more", {"a.py": "x = 7\n"})
    lonely = github_repository.open_pull_request("more", body="Fixes #99")
    found = public(settings, lonely)
    assert found.dossier.issues == ()
    assert "#99 is private or not there" in found.notes[0]


def test_what_anybody_cannot_read_asks_for_a_token(github_repository: GitHubRepository, settings: Settings) -> None:
    with pytest.raises(InputError, match=r"#77 can't be seen without a token.*GITHUB_TOKEN"):
        public(settings, OpenedPullRequest(github_repository, 77, "0" * 40))
    pull = github_repository.pull({f"m/{number}.py": "x\n" for number in range(301)})
    with pytest.raises(InputError, match=r"too large to read without a token.*GITHUB_TOKEN"):
        public(settings, pull)


def test_a_link_is_not_taken_for_the_file_that_it_points_to(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    found = public(settings, github_repository.pull({"link": {"text": "a.py", "mode": "120000"}}))
    assert found.dossier.files == ()
    assert [(one.path, one.reason) for one in found.dossier.files_unread] == [("link", UnreadReason.OVER_LIMIT)]


def test_lists_that_are_longer_than_a_page_are_said_to_be_cut(
    github_repository: GitHubRepository, settings: Settings
) -> None:
    pull = github_repository.pull()
    commit = {"sha": "1" * 40, "commit": {"message": "m", "author": None}, "author": None}
    github_repository.script_answer("GET .*/commits$", [commit] * 100)
    runs = {"total_count": 130, "check_runs": [{"id": 1, "name": "test", "status": "queued"}]}
    github_repository.script_answer("GET .*/check-runs", runs)
    found = public(settings, pull)
    assert found.notes == (
        "Only the first 100 commits were read. Set GITHUB_TOKEN to read it all.",
        "Only 1 of 130 check runs were read. Set GITHUB_TOKEN to read it all.",
    )
    assert found.dossier.pull_request.commits[0].author == ""
    assert found.dossier.ci is not None
    assert [(one.name, one.status, one.conclusion) for one in found.dossier.ci.checks] == [("test", "queued", None)]


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, {"message": "Not Found"}, UnreadReason.OVER_LIMIT),
        (200, {"type": "file", "encoding": "none", "content": ""}, UnreadReason.TOO_LARGE),
        (200, {"type": "file", "encoding": "base64", "content": "abc"}, UnreadReason.TOO_LARGE),
        (200, {"type": "file", "encoding": "base64", "content": "AAEC"}, UnreadReason.BINARY),
    ],
)
def test_a_text_that_does_not_come_is_named(
    github_repository: GitHubRepository, settings: Settings, status: int, body: object, reason: UnreadReason
) -> None:
    pull = github_repository.pull()
    github_repository.script_answer("GET .*/contents/a.py", body, status)
    found = public(settings, pull).dossier
    assert [(one.path, one.reason) for one in found.files_unread] == [("a.py", reason)]
    assert found.files == ()
