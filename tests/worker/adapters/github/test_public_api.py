"""Dossiers for `assay judge OWNER/REPO#N`, with a token and without."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from tests.worker.adapters.github.conftest import CHANGE, FakeRepo, OpenedPull
from worker.adapters.github.public_api import PublicPull, open_public_pull, open_token_source
from worker.adapters.github.pull_requests import GitHubPullSource
from worker.domain.dossier import CiState, UnreadReason
from worker.dossier.assemble import complete_dossier
from worker.errors import InputError
from worker.process import SystemClock
from worker.settings import Settings


@pytest.fixture
def token_source(settings: Settings) -> Iterator[GitHubPullSource]:
    """Bob reads with his token."""
    with open_token_source(replace(settings, app=None, github_token=SecretStr("bench-bob")), SystemClock()) as source:
        yield source


def read_public(settings: Settings, pull: OpenedPull) -> PublicPull:
    return open_public_pull(replace(settings, app=None), SystemClock(), pull.repository.name, pull.number)


def anonymous_requests(repo: FakeRepo) -> tuple[list[str], list[str]]:
    """The requested API paths and file paths."""
    paths = [exchange["path"].removeprefix(f"/repos/{repo.name}/") for exchange in repo.exchanges("anonymous")]
    files = [path.removeprefix("contents/") for path in paths if path.startswith("contents/")]
    return [path for path in paths if not path.startswith("contents/")], files


def test_token_reads_what_the_app_reads(
    repo: FakeRepo, token_source: GitHubPullSource, source: GitHubPullSource
) -> None:
    number = repo.issue("Wrong sum", "- [ ] y is 3")
    pull = repo.pull(body=f"Closes #{number}")
    repo.ci(pull.sha, "test", conclusion="success")
    assert token_source.dossier(pull.request) == source.dossier(pull.request)
    assert token_source.head_sha(pull.request) == pull.sha


def test_token_reads_merged_pull_requests_and_no_assay_check(repo: FakeRepo, token_source: GitHubPullSource) -> None:
    pull = repo.pull()
    repo.ci(pull.sha, "Assay", status="in_progress")
    repo.request_as("alice", "PUT", f"/pulls/{pull.number}/merge")
    dossier = token_source.dossier(pull.request)
    assert dossier.pull_request.head_sha == token_source.head_sha(pull.request) == pull.sha
    assert dossier.ci is not None
    assert dossier.ci.state is CiState.MISSING


def test_anonymous_dossier_takes_six_requests_and_its_files(repo: FakeRepo, settings: Settings) -> None:
    number = repo.issue("Wrong sum", "- [ ] y is 3")
    repo.push("main", {"AGENTS.md": "Test first.\n"})
    pull = repo.pull(body=f"Closes #{number}", login="copilot-swe-agent[bot]")
    repo.ci(pull.sha, "test", conclusion="failure", output={"title": "1 failed", "summary": "test_sum"})
    repo.ci(pull.sha, "", context="deploy", state="success")
    result = read_public(settings, pull)
    dossier = result.dossier
    assert result.notes == ()
    assert dossier.pull_request.author == "copilot-swe-agent[bot]"
    assert (dossier.pull_request.head_sha, dossier.pull_request.base_ref) == (pull.sha, "main")
    assert [(issue.title, issue.linked_by) for issue in dossier.issues] == [("Wrong sum", f"Closes #{number}")]
    assert [(file.path, file.text) for file in dossier.files or ()] == [("a.py", "x = 1\ny = 3\n")]
    assert [guidance.text for guidance in dossier.guidance] == ["Test first.\n"]
    assert dossier.ci is not None
    checks = [(check.name, check.conclusion, check.summary) for check in dossier.ci.checks]
    assert checks == [("test", "failure", "1 failed\ntest_sum"), ("deploy", "success", "")]
    rest, contents = anonymous_requests(repo)
    assert len(rest) == 6
    assert contents == ["a.py", "AGENTS.md", "CLAUDE.md", ".github/assay.yml", ".github/assay.yaml"]


def test_anonymous_dossier_equals_that_of_the_app(repo: FakeRepo, settings: Settings, source: GitHubPullSource) -> None:
    number = repo.issue("Wrong sum", "- [ ] y is 3")
    pull = repo.pull({**CHANGE, "ü b.py": "1\n", "what?#%41.py": "2\n", "old.txt": None}, body=f"Closes #{number}")
    dossiers = (read_public(settings, pull).dossier, source.dossier(pull.request))
    anonymous, authenticated = map(complete_dossier, dossiers)
    for part in ("diff", "files", "criteria", "ci", "guidance"):
        assert getattr(anonymous, part) == getattr(authenticated, part)


def test_anonymous_dossier_reads_at_most_twenty_texts(repo: FakeRepo, settings: Settings) -> None:
    files: dict[str, Any] = {f"m{number:02}.py": f"x = {number}\n" for number in range(25)}
    result = read_public(settings, repo.pull({**files, "logo.png": {"base64": base64.b64encode(b"\0\1").decode()}}))
    assert len(anonymous_requests(repo)[1]) == 20
    over = {f"m{number:02}.py": UnreadReason.OVER_LIMIT for number in range(16, 25)}
    assert {file.path: file.reason for file in result.dossier.files_unread} == {**over, "logo.png": UnreadReason.BINARY}
    assert result.notes == ("The texts of 9 files were not read. Set GITHUB_TOKEN to read it all.",)


def test_anonymous_dossier_names_unread_issues(repo: FakeRepo, settings: Settings) -> None:
    first = repo.issue("One", "one")
    result = read_public(settings, repo.pull(body=f"Fixes #{first}, fixes acme/secret#9"))
    assert [issue.number for issue in result.dossier.issues] == [first]
    assert result.notes == (
        "Of the linked issues these were not read: acme/secret#9. Set GITHUB_TOKEN to read it all.",
    )
    repo.push("more", {"a.py": "x = 7\n"})
    lonely = repo.open_pull_request("more", body="Fixes #99")
    result = read_public(settings, lonely)
    assert result.dossier.issues == ()
    assert "#99 is private or not there" in result.notes[0]


def test_anonymous_access_to_a_hidden_or_large_pull_request_asks_for_a_token(
    repo: FakeRepo, settings: Settings
) -> None:
    with pytest.raises(InputError, match=r"#77 can't be seen without a token.*GITHUB_TOKEN"):
        read_public(settings, OpenedPull(repo, 77, "0" * 40))
    pull = repo.pull({f"m/{number}.py": "x\n" for number in range(301)})
    with pytest.raises(InputError, match=r"too large to read without a token.*GITHUB_TOKEN"):
        read_public(settings, pull)


def test_symlink_is_not_read_as_its_target(repo: FakeRepo, settings: Settings) -> None:
    result = read_public(settings, repo.pull({"link": {"text": "a.py", "mode": "120000"}}))
    assert result.dossier.files == ()
    assert [(file.path, file.reason) for file in result.dossier.files_unread] == [("link", UnreadReason.OVER_LIMIT)]


def test_truncated_lists_are_noted(repo: FakeRepo, settings: Settings) -> None:
    pull = repo.pull()
    commit = {"sha": "1" * 40, "commit": {"message": "m", "author": None}, "author": None}
    repo.script_answer("GET .*/commits$", [commit] * 100)
    runs = {"total_count": 130, "check_runs": [{"id": 1, "name": "test", "status": "queued"}]}
    repo.script_answer("GET .*/check-runs", runs)
    result = read_public(settings, pull)
    assert result.notes == (
        "Only the first 100 commits were read. Set GITHUB_TOKEN to read it all.",
        "Only 1 of 130 check runs were read. Set GITHUB_TOKEN to read it all.",
    )
    assert result.dossier.pull_request.commits[0].author == ""
    assert result.dossier.ci is not None
    [check] = result.dossier.ci.checks
    assert (check.name, check.status, check.conclusion) == ("test", "queued", None)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, {"message": "Not Found"}, UnreadReason.OVER_LIMIT),
        (200, {"type": "file", "encoding": "none", "content": ""}, UnreadReason.TOO_LARGE),
        (200, {"type": "file", "encoding": "base64", "content": "abc"}, UnreadReason.TOO_LARGE),
        (200, {"type": "file", "encoding": "base64", "content": "AAEC"}, UnreadReason.BINARY),
    ],
)
def test_unreadable_text_is_listed_with_its_reason(
    repo: FakeRepo, settings: Settings, status: int, body: object, reason: UnreadReason
) -> None:
    pull = repo.pull()
    repo.script_answer("GET .*/contents/a.py", body, status)
    dossier = read_public(settings, pull).dossier
    assert [(file.path, file.reason) for file in dossier.files_unread] == [("a.py", reason)]
    assert dossier.files == ()
