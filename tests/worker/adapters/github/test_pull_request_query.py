"""A pull request whose head and base are known takes two requests, and its dossier equals that of a plain reading."""

from typing import Any

import pytest

from tests.worker.adapters.github.conftest import FakeRepo, OpenedPull
from worker.adapters.github import pull_requests as reading
from worker.adapters.github.client import AppAccess, GitHubApi
from worker.adapters.github.pull_request_query import (
    PrefetchGuess,
    PullQueryAnswers,
    guess_base_ref,
    guess_from_diff,
    to_prefetched_texts,
)
from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
from worker.adapters.github.responses import BlobResponse, PullState
from worker.domain.dossier import Dossier, PullRequest
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.model import hash_base
from worker.dossier.diff import DiffError
from worker.errors import Unavailable

FILE = "x = 1\n\n\n\n\n\n\n\ny = 2\n"
CHANGE = FILE.replace("y = 2", "y = 3")
KNOWN = ["GET 200", "AssayPull"]
"""The requests when head and base are as known: the diff, then the rest."""
AGAIN = [*KNOWN, "GET 200", "AssayTexts"]
"""The requests when they are not."""


class Reader:
    """A source that keeps its last dossier and its last requests."""

    def __init__(self, repository: FakeRepo, access: AppAccess) -> None:
        self._place = repository
        self._kept: Dossier | None = None
        self.source = GitHubPullSource(access, make_read_options(4711, repository.github.url), self._last_dossier)
        self._plain = GitHubPullSource(access, make_read_options(4711, repository.github.url))
        self.asked: list[str] = []

    def _last_dossier(self, pull: PullRef) -> Dossier | None:
        assert pull.number
        return self._kept

    def read(self, pull: OpenedPull, **changes: Any) -> Dossier:
        """Read a dossier, compare it with a plain reading, and keep its requests in `asked`."""
        before = len(self._place.request_names())
        dossier = self.source.dossier(pull.request.model_copy(update=changes))
        self.asked = self._place.request_names()[before:]
        plain = self._plain.dossier(pull.request)
        assert sort_files(dossier) == sort_files(plain)
        self._kept = dossier
        return dossier


def sort_files(dossier: Dossier) -> dict[str, Any]:
    fields = dossier.model_dump()
    return {**fields, "files": sorted(fields["files"], key=lambda file: file["path"])}


@pytest.fixture
def repo(repo: FakeRepo) -> FakeRepo:
    repo.push("main", {"a.py": FILE, "b.py": "b = 1\n", "src/AGENTS.md": "Be kind.\n"})
    return repo


@pytest.fixture
def reader(repo: FakeRepo, access: AppAccess) -> Reader:
    return Reader(repo, access)


def base_of(pull: OpenedPull) -> str:
    return str(pull.repository.request_as("alice", "GET", f"/pulls/{pull.number}")["base"]["sha"])


def test_known_pull_request_takes_two_requests(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE, "src/new.py": "n = 1\n", "old.txt": None}, body="Words")
    reader.read(pull)
    assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]
    reader.read(pull)
    assert reader.asked == KNOWN
    pull.edit(body="Other words")
    assert reader.read(pull, trigger=Trigger.EDITED).pull_request.body == "Other words"
    assert reader.asked == KNOWN
    head = repo.push("fix", {"src/more.py": "m = 1\n"})
    assert "+m = 1" in reader.read(pull, head_sha=head).diff
    assert reader.asked == KNOWN


def test_rules_come_from_the_newest_base_without_a_further_request(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE})
    assert reader.read(pull).guidance == ()
    old = base_of(pull)
    repo.push("main", {"AGENTS.md": "Be brief."})
    dossier = reader.read(pull, trigger=Trigger.RULES)
    assert base_of(pull) == old, "GitHub still names the old base"
    assert [guidance.text for guidance in dossier.guidance] == ["Be brief."]
    assert reader.asked == KNOWN
    repo.push("main", {"AGENTS.md": "Be very brief."})
    fields = {"base_sha": old, "base": hash_base("main")}
    assert [guidance.text for guidance in reader.read(pull, **fields).guidance] == ["Be very brief."]
    assert reader.asked == KNOWN


@pytest.mark.slow
def test_issue_linked_by_an_edited_body_is_read(repo: FakeRepo, reader: Reader) -> None:
    number = repo.issue("Wrong", "- [ ] words")
    pull = repo.pull({"a.py": CHANGE})
    reader.read(pull)
    pull.edit(body=f"Resolves https://127.0.0.1/{repo.name}/issues/{number}")
    assert [issue.number for issue in reader.read(pull).issues] == [number]
    assert reader.asked == [*KNOWN, "AssayTexts"]


def test_rebase_takes_two_requests_when_the_delivery_names_the_base(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE})
    before = reader.read(pull)
    base = repo.push("next", {"b.py": "b = 2\n", "AGENTS.md": "Be brief."})
    head = repo.push("fix", {"a.py": CHANGE}, force=True, **{"from": "next"})
    pull.edit(base="next")
    dossier = reader.read(pull, head_sha=head, base_sha=base)
    assert reader.asked == KNOWN
    assert (dossier.pull_request.base_sha, dossier.diff) == (base, before.diff)
    assert [guidance.text for guidance in dossier.guidance] == ["Be brief."]


def test_first_dossier_takes_two_requests_when_both_commits_are_known(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE, "src/new.py": "n = 1\n"})
    reader.read(pull, head_sha=pull.sha, base_sha=base_of(pull))
    assert reader.asked == KNOWN


@pytest.mark.slow
def test_outdated_commits_in_the_request_are_ignored(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE})
    base = base_of(pull)
    head = repo.push("fix", {"b.py": "b = 2\n"})
    for old_head, old_base in ((pull.sha, base), (pull.sha, base), (head, pull.sha)):
        assert reader.read(pull, head_sha=old_head, base_sha=old_base).pull_request.head_sha == head
        assert reader.asked == AGAIN


@pytest.mark.slow
def test_oversized_diff_is_asked_for_once(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE})
    changes = {"head_sha": pull.sha, "base_sha": base_of(pull)}
    repo.script_refusal("GET .*/pulls/[0-9]+$", 406, "Sorry, the diff exceeded the maximum")
    dossier = reader.source.dossier(pull.request.model_copy(update=changes))
    assert "+y = 3" in dossier.diff
    assert repo.request_names()[-4:] == ["GET 406", "AssayPull", "GET 200", "AssayTexts"]
    assert repo.exchanges()[-2]["path"].endswith("/files")


@pytest.mark.slow
def test_oversized_prefetch_is_split(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({f"m{number}.py": f"x = {number}\n" for number in range(30)})
    reader.read(pull)
    slow = {"message": "Something went wrong while executing your query"}
    repo.script_answer("POST /graphql AssayPull", {"data": None, "errors": [slow]}, count=3)
    reader.read(pull)
    assert reader.asked == ["GET 200", *["AssayPull"] * 4, "GET 200", "AssayTexts"]


@pytest.mark.slow
def test_small_prefetch_without_an_answer_is_an_outage(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE})
    reader.read(pull)
    before = len(repo.request_names())
    repo.github.fault("POST /graphql AssayPull", kind="status", status=502, count=3)
    with pytest.raises(Unavailable):
        reader.read(pull)
    assert len(repo.request_names()) - before == 4


def test_newest_head_stays_fresh_for_a_moment(repo: FakeRepo, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    pull = repo.pull({"a.py": CHANGE})
    assert not reader.source.is_newest_head(pull.request, pull.sha)
    reader.read(pull)
    assert reader.source.is_newest_head(pull.request, pull.sha)
    assert not reader.source.is_newest_head(pull.request, "f" * 40)
    assert not reader.source.is_newest_head(OpenedPull(repo, pull.number + 1, pull.sha).request, pull.sha)
    monkeypatch.setattr(reading, "RECENT_S", -1.0)
    assert not reader.source.is_newest_head(pull.request, pull.sha)


def test_moved_submodule_does_not_stop_the_reading(repo: FakeRepo, reader: Reader) -> None:
    module = {"commit": "1" * 40}
    repo.push("main", {"lib": module})
    pull = repo.pull({"a.py": CHANGE, "lib": None, "vendor": module})
    assert "rename to vendor" in reader.read(pull, head_sha=pull.sha, base_sha=base_of(pull)).diff
    assert reader.asked == ["GET 200", "AssayPull", "AssayTexts"]


def test_further_check_pages_confirm_the_head(repo: FakeRepo, reader: Reader) -> None:
    pull = repo.pull({"a.py": CHANGE})
    for number in range(101):
        repo.ci(pull.sha, "", context=f"c{number}", state="success")
    reader.read(pull)
    reader.read(pull)
    assert reader.asked == [*KNOWN, "AssayChecks"]
    assert reader.source.is_newest_head(pull.request, pull.sha), "it needs no further request"


def test_push_before_the_diff_is_read_rereads_everything(
    repo: FakeRepo, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = repo.pull({"a.py": CHANGE, "b.py": "b = 2\n"})
    reader.read(pull)
    head = repo.push("fix", {"a.py": CHANGE.replace("3", "4")})
    shown, heads = GitHubApi.get_bytes, list[str]()

    def pushed_to(api: GitHubApi, path: str, accept: str) -> bytes:
        if not heads:
            heads.append(repo.push("fix", {"a.py": CHANGE.replace("3", "5")}))
        return shown(api, path, accept)

    monkeypatch.setattr(GitHubApi, "get_bytes", pushed_to)
    dossier = reader.read(pull, head_sha=head)
    assert (dossier.pull_request.head_sha, "+y = 5" in dossier.diff) == (heads[0], True)
    assert reader.asked == AGAIN


# Guesses


BASE, HEAD, TIP = "b" * 40, "1" * 40, "c" * 40
ONE = """diff --git a/f.py b/f.py
index 422c2b7..0f7bc76 100644
--- a/f.py
+++ b/f.py
@@ -1,2 +1,2 @@
 a
-b
+c
"""


def dossier_with(base_ref: str = "") -> Dossier:
    pull = PullRequest(
        repository="acme/x", number=1, title="", body="", author="", base_ref=base_ref, base_sha=BASE, head_sha=HEAD
    )
    return Dossier(pull_request=pull, diff=ONE)


def request(**changes: Any) -> JudgeRequest:
    pull = PullRef(installation_id=1, repository_id=1, number=1)  # pyright: ignore[reportArgumentType] - plain numbers
    fields = {"trigger": Trigger.PUSHED, "delivery_id": "d", "requested_at": "2026-11-20T00:00:00Z", "head_sha": None}
    return JudgeRequest.model_validate({"pull": pull, "repository": "acme/x", **fields, **changes})


def test_base_branch_is_guessed_unless_the_request_names_another() -> None:
    requests = [{}, {"base": hash_base("main")}, {"base": hash_base("next")}, {"base_sha": TIP}]
    guesses = [guess_base_ref(request(**fields), dossier_with("main")) for fields in requests]
    assert guesses == ["main", "main", None, None]
    assert [guess_base_ref(request(), dossier) for dossier in (dossier_with(), None)] == [None, None]


def test_guess_keeps_the_last_commits_unless_the_request_names_newer_ones() -> None:
    def guess(before: Dossier | None, **fields: str) -> tuple[object, ...] | None:
        made = guess_from_diff(request(**fields), before, ONE)
        return made and (made.head_sha, made.base_sha, made.paths)

    assert guess(None, head_sha=HEAD) is guess(None, base_sha=BASE) is None
    assert guess(dossier_with()) == guess(None, head_sha=HEAD, base_sha=BASE) == (HEAD, BASE, ("f.py",))
    assert guess(dossier_with(), head_sha=TIP, base_sha=TIP) == (TIP, TIP, ("f.py",))
    with pytest.raises(DiffError):
        guess_from_diff(request(), dossier_with(), "no diff")


def test_text_that_github_did_not_find_is_asked_for_again() -> None:
    guess = PrefetchGuess(HEAD, BASE, ("f.py", "new.py"), ("AGENTS.md",))
    head = PullState(state="OPEN", head_ref_oid=HEAD)
    have = to_prefetched_texts(guess, PullQueryAnswers(head, (None, None, None, BlobResponse(text="new"), None), ()))
    assert {path: blob.text for path, blob in have.texts.items()} == {"f.py": "new"}
