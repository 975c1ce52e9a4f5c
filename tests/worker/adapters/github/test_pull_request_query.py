"""A pull request whose head and base are known: all beside its diff is one request, and nothing of it is believed for another content.

Whatever is saved, the dossier is the one that a plain reading gives; that reading stands beside each of these.
"""

from typing import Any

import pytest

from tests.worker.adapters.github.conftest import GitHubRepository, OpenedPullRequest
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
from worker.domain.ids import hash_base
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.dossier.diff.parser import DiffError
from worker.errors import Unavailable

FILE = "x = 1\n\n\n\n\n\n\n\ny = 2\n"
CHANGE = FILE.replace("y = 2", "y = 3")
KNOWN = ["GET 200", "AssayPull"]
"""What is asked where head and base are as they are known to be: the diff, then all the rest at once."""
AGAIN = [*KNOWN, "GET 200", "AssayTexts"]
"""What is asked where they are not."""


class Reader:
    """A source that remembers what it read, and what it asked for the last time."""

    def __init__(self, place: GitHubRepository, access: AppAccess) -> None:
        self._place = place
        self._kept: Dossier | None = None
        self.source = GitHubPullSource(access, make_read_options(4711, place.github.url), self._remembered)
        self._plain = GitHubPullSource(access, make_read_options(4711, place.github.url))
        self.asked: list[str] = []

    def _remembered(self, pull: PullRef) -> Dossier | None:
        assert pull.number
        return self._kept

    def reads(self, pull: OpenedPullRequest, **changes: Any) -> Dossier:
        """Read it, and hold it against a plain reading. `asked`: the requests of the first."""
        before = len(self._place.request_names())
        dossier = self.source.dossier(pull.request.model_copy(update=changes))
        self.asked = self._place.request_names()[before:]
        plain = self._plain.dossier(pull.request)
        assert without_order(dossier) == without_order(plain)
        self._kept = dossier
        return dossier


def without_order(dossier: Dossier) -> dict[str, Any]:
    told = dossier.model_dump()
    return {**told, "files": sorted(told["files"], key=lambda one: one["path"])}


@pytest.fixture
def here(github_repository: GitHubRepository) -> GitHubRepository:
    github_repository.push("main", {"a.py": FILE, "b.py": "b = 1\n", "src/AGENTS.md": "Be kind.\n"})
    return github_repository


@pytest.fixture
def reader(here: GitHubRepository, access: AppAccess) -> Reader:
    return Reader(here, access)


def base_of(pull: OpenedPullRequest) -> str:
    path = f"/repos/{pull.place.name}/pulls/{pull.number}"
    return str(pull.place.github.request_as("alice", "GET", path)["base"]["sha"])


def test_a_pull_request_that_was_read_before_takes_two_requests(here: GitHubRepository, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE, "src/new.py": "n = 1\n", "old.txt": None}, body="Words")
    reader.reads(pull)
    assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]
    reader.reads(pull)
    assert reader.asked == KNOWN
    pull.edit(body="Other words")
    assert reader.reads(pull, trigger=Trigger.EDITED).pull_request.body == "Other words"
    assert reader.asked == KNOWN
    head = here.push("fix", {"src/more.py": "m = 1\n"})
    assert "+m = 1" in reader.reads(pull, head_sha=head).diff
    assert reader.asked == KNOWN


def test_rules_are_those_of_the_base_branch_as_it_is_now_in_no_request_more(
    here: GitHubRepository, reader: Reader
) -> None:
    pull = here.pull({"a.py": CHANGE})
    assert reader.reads(pull).guidance == ()
    old = base_of(pull)
    here.push("main", {"AGENTS.md": "Be brief."})
    dossier = reader.reads(pull, trigger=Trigger.RULES)
    assert base_of(pull) == old, "GitHub's word for the base stays behind"
    assert [one.text for one in dossier.guidance] == ["Be brief."]
    assert reader.asked == KNOWN
    here.push("main", {"AGENTS.md": "Be very brief."})
    told = {"base_sha": old, "base": hash_base("main")}
    assert [one.text for one in reader.reads(pull, **told).guidance] == ["Be very brief."]
    assert reader.asked == KNOWN


@pytest.mark.slow
def test_an_issue_that_only_the_body_names_now_is_asked_for(here: GitHubRepository, reader: Reader) -> None:
    number = here.issue("Wrong", "- [ ] words")
    pull = here.pull({"a.py": CHANGE})
    reader.reads(pull)
    pull.edit(body=f"Resolves https://127.0.0.1/{here.name}/issues/{number}")
    assert [one.number for one in reader.reads(pull).issues] == [number]
    assert reader.asked == [*KNOWN, "AssayTexts"]


def test_a_rebase_onto_a_newer_base_takes_two_requests_where_the_delivery_names_it(
    here: GitHubRepository, reader: Reader
) -> None:
    pull = here.pull({"a.py": CHANGE})
    known = reader.reads(pull)
    base = here.push("next", {"b.py": "b = 2\n", "AGENTS.md": "Be brief."})
    head = here.push("fix", {"a.py": CHANGE}, force=True, **{"from": "next"})
    pull.edit(base="next")
    dossier = reader.reads(pull, head_sha=head, base_sha=base)
    assert reader.asked == KNOWN
    assert (dossier.pull_request.base_sha, dossier.diff) == (base, known.diff)
    assert [one.text for one in dossier.guidance] == ["Be brief."]


def test_the_first_reading_takes_two_requests_where_the_commits_are_known(
    here: GitHubRepository, reader: Reader
) -> None:
    pull = here.pull({"a.py": CHANGE, "src/new.py": "n = 1\n"})
    reader.reads(pull, head_sha=pull.sha, base_sha=base_of(pull))
    assert reader.asked == KNOWN


@pytest.mark.slow
def test_commits_that_are_not_the_newest_decide_nothing(here: GitHubRepository, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    base = base_of(pull)
    head = here.push("fix", {"b.py": "b = 2\n"})
    for old_head, old_base in ((pull.sha, base), (pull.sha, base), (head, pull.sha)):
        assert reader.reads(pull, head_sha=old_head, base_sha=old_base).pull_request.head_sha == head
        assert reader.asked == AGAIN


@pytest.mark.slow
def test_a_diff_that_is_too_large_to_show_is_asked_for_once(here: GitHubRepository, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    changes = {"head_sha": pull.sha, "base_sha": base_of(pull)}
    here.script_refusal("GET .*/pulls/[0-9]+$", 406, "Sorry, the diff exceeded the maximum")
    dossier = reader.source.dossier(pull.request.model_copy(update=changes))
    assert "+y = 3" in dossier.diff
    assert here.request_names()[-4:] == ["GET 406", "AssayPull", "GET 200", "AssayTexts"]
    assert here.exchanges()[-2]["path"].endswith("/files")


@pytest.mark.slow
def test_a_guess_that_is_too_much_at_once_is_asked_in_pieces(here: GitHubRepository, reader: Reader) -> None:
    pull = here.pull({f"m{number}.py": f"x = {number}\n" for number in range(30)})
    reader.reads(pull)
    slow = {"message": "Something went wrong while executing your query"}
    here.script_answer("POST /graphql AssayPull", {"data": None, "errors": [slow]}, count=3)
    reader.reads(pull)
    assert reader.asked == ["GET 200", *["AssayPull"] * 4, "GET 200", "AssayTexts"]


@pytest.mark.slow
def test_a_small_guess_that_is_not_answered_is_an_outage(here: GitHubRepository, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    reader.reads(pull)
    before = len(here.request_names())
    here.github.fault("POST /graphql AssayPull", kind="status", status=502, count=3)
    with pytest.raises(Unavailable):
        reader.reads(pull)
    assert len(here.request_names()) - before == 4


def test_the_newest_head_is_fresh_for_a_moment(
    here: GitHubRepository, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = here.pull({"a.py": CHANGE})
    assert not reader.source.is_newest_head(pull.request, pull.sha)
    reader.reads(pull)
    assert reader.source.is_newest_head(pull.request, pull.sha)
    assert not reader.source.is_newest_head(pull.request, "f" * 40)
    assert not reader.source.is_newest_head(OpenedPullRequest(here, pull.number + 1, pull.sha).request, pull.sha)
    monkeypatch.setattr(reading, "RECENT_S", -1.0)
    assert not reader.source.is_newest_head(pull.request, pull.sha)


def test_a_submodule_that_was_moved_keeps_nobody_from_reading_the_rest(here: GitHubRepository, reader: Reader) -> None:
    module = {"commit": "1" * 40}
    here.push("main", {"lib": module})
    pull = here.pull({"a.py": CHANGE, "lib": None, "vendor": module})
    assert "rename to vendor" in reader.reads(pull, head_sha=pull.sha, base_sha=base_of(pull)).diff
    assert reader.asked == ["GET 200", "AssayPull", "AssayTexts"]


def test_further_pages_of_checks_say_of_which_head_they_are(here: GitHubRepository, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    for number in range(101):
        here.ci(pull.sha, "", context=f"c{number}", state="success")
    reader.reads(pull)
    reader.reads(pull)
    assert reader.asked == [*KNOWN, "AssayChecks"]
    assert reader.source.is_newest_head(pull.request, pull.sha), "nobody has to ask for it once more"


def test_a_push_before_the_diff_is_read_has_it_all_read_anew(
    here: GitHubRepository, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = here.pull({"a.py": CHANGE, "b.py": "b = 2\n"})
    reader.reads(pull)
    head = here.push("fix", {"a.py": CHANGE.replace("3", "4")})
    shown, heads = GitHubApi.get_bytes, list[str]()

    def pushed_to(api: GitHubApi, path: str, accept: str) -> bytes:
        if not heads:
            heads.append(here.push("fix", {"a.py": CHANGE.replace("3", "5")}))
        return shown(api, path, accept)

    monkeypatch.setattr(GitHubApi, "get_bytes", pushed_to)
    dossier = reader.reads(pull, head_sha=head)
    assert (dossier.pull_request.head_sha, "+y = 5" in dossier.diff) == (heads[0], True)
    assert reader.asked == AGAIN


# What is asked for


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


def judged(base_ref: str = "") -> Dossier:
    pull = PullRequest(
        repository="acme/x", number=1, title="", body="", author="", base_ref=base_ref, base_sha=BASE, head_sha=HEAD
    )
    return Dossier(pull_request=pull, diff=ONE)


def request(**changes: Any) -> JudgeRequest:
    pull = PullRef(installation_id=1, repository_id=1, number=1)  # pyright: ignore[reportArgumentType] - plain numbers
    fields = {"trigger": Trigger.PUSHED, "delivery_id": "d", "requested_at": "2026-11-20T00:00:00Z", "head_sha": None}
    return JudgeRequest.model_validate({"pull": pull, "repository": "acme/x", **fields, **changes})


def test_a_base_branch_is_guessed_unless_another_one_was_told() -> None:
    told = [{}, {"base": hash_base("main")}, {"base": hash_base("next")}, {"base_sha": TIP}]
    assert [guess_base_ref(request(**one), judged("main")) for one in told] == ["main", "main", None, None]
    assert [guess_base_ref(request(), one) for one in (judged(), None)] == [None, None]


def test_a_guess_is_where_it_was_unless_the_request_knows_better() -> None:
    def guess(before: Dossier | None, **told: str) -> tuple[object, ...] | None:
        made = guess_from_diff(request(**told), before, ONE)
        return made and (made.head_sha, made.base_sha, made.paths)

    assert guess(None, head_sha=HEAD) is guess(None, base_sha=BASE) is None
    assert guess(judged()) == guess(None, head_sha=HEAD, base_sha=BASE) == (HEAD, BASE, ("f.py",))
    assert guess(judged(), head_sha=TIP, base_sha=TIP) == (TIP, TIP, ("f.py",))
    with pytest.raises(DiffError):
        guess_from_diff(request(), judged(), "no diff")


def test_a_text_that_github_did_not_find_is_asked_for_again() -> None:
    guess = PrefetchGuess(HEAD, BASE, ("f.py", "new.py"), ("AGENTS.md",))
    head = PullState(state="OPEN", head_ref_oid=HEAD)
    have = to_prefetched_texts(guess, PullQueryAnswers(head, (None, None, None, BlobResponse(text="new"), None), ()))
    assert {path: blob.text for path, blob in have.texts.items()} == {"f.py": "new"}
