"""A pull request that was read before: what is known is not asked for again, and never believed for another content.

Whatever is saved, the dossier is the one that a plain reading gives; that reading stands beside each of these.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.worker.github.conftest import Opened, Place
from worker.domain.dossier import Dossier
from worker.domain.ids import base_mark
from worker.domain.request import Extent, JudgeRequest, PullRef, Trigger
from worker.errors import Unavailable
from worker.github import source as reading
from worker.github.client import Api, AppAccess
from worker.github.known import extent_of
from worker.github.source import GitHubPullSource, looking

FILE = "x = 1\n\n\n\n\n\n\n\ny = 2\n"
CHANGE = FILE.replace("y = 2", "y = 3")
Again = Callable[[JudgeRequest], Dossier]


class Reader:
    """A source that remembers what it read, and what it asked for the last time."""

    def __init__(self, place: Place, access: AppAccess) -> None:
        self._place = place
        self._kept: Dossier | None = None
        self.source = GitHubPullSource(access, looking(4711, place.github.url), self._remembered)
        self._plain = GitHubPullSource(access, looking(4711, place.github.url))
        self.asked: list[str] = []

    def _remembered(self, pull: PullRef) -> Dossier | None:
        assert pull.number
        return self._kept

    def reads(self, pull: Opened, **changes: Any) -> Dossier:
        """Read it, and hold it against a plain reading. `asked`: the requests of the first."""
        before = len(self._place.asked())
        dossier = self.source.dossier(pull.request.model_copy(update=changes))
        self.asked = self._place.asked()[before:]
        plain = self._plain.dossier(pull.request)
        assert without_order(dossier) == without_order(plain)
        self._kept = dossier
        return dossier


def without_order(dossier: Dossier) -> dict[str, Any]:
    told = dossier.model_dump()
    return {**told, "files": sorted(told["files"], key=lambda one: one["path"])}


@pytest.fixture
def here(place: Place) -> Place:
    place.push("main", {"a.py": FILE, "b.py": "b = 1\n", "src/AGENTS.md": "Be kind.\n"})
    return place


@pytest.fixture
def reader(here: Place, access: AppAccess) -> Reader:
    return Reader(here, access)


def base_of(pull: Opened) -> str:
    path = f"/repos/{pull.place.name}/pulls/{pull.number}"
    return str(pull.place.github.user("alice", "GET", path)["base"]["sha"])


def test_the_same_head_is_one_request(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE, "src/new.py": "n = 1\n", "old.txt": None}, body="Words")
    reader.reads(pull)
    assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]
    reader.reads(pull)
    assert reader.asked == ["AssayPull"]
    pull.edit(body="Other words")
    assert reader.reads(pull, trigger=Trigger.EDITED).pull_request.body == "Other words"
    assert reader.asked == ["AssayPull"]


def test_rules_are_those_of_the_base_branch_as_it_is_now_in_no_request_more(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    assert reader.reads(pull).guidance == ()
    old = base_of(pull)
    here.push("main", {"AGENTS.md": "Be brief."})
    dossier = reader.reads(pull, trigger=Trigger.RULES)
    assert base_of(pull) == old, "GitHub's word for the base stays behind"
    assert [one.text for one in dossier.guidance] == ["Be brief."]
    assert reader.asked == ["AssayPull"]
    here.push("main", {"AGENTS.md": "Be very brief."})
    told = {"base_sha": old, "base": base_mark("main")}
    assert [one.text for one in reader.reads(pull, **told).guidance] == ["Be very brief."]
    assert reader.asked == ["AssayPull"]


@pytest.mark.slow
def test_an_issue_that_only_the_body_names_now_is_asked_for(here: Place, reader: Reader) -> None:
    number = here.issue("Wrong", "- [ ] words")
    pull = here.pull({"a.py": CHANGE})
    reader.reads(pull)
    pull.edit(body=f"Resolves https://127.0.0.1/{here.name}/issues/{number}")
    assert [one.number for one in reader.reads(pull).issues] == [number]
    assert reader.asked == ["AssayPull", "AssayTexts"]


def test_an_empty_commit_is_one_request(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    reader.reads(pull)
    for _ in range(2):
        head = here.push("fix", {}, message="Nothing")
        assert reader.reads(pull, head_sha=head).pull_request.head_sha == head
        assert reader.asked == ["AssayPull"]


def test_a_rebase_onto_a_base_that_changed_other_files_is_one_request(here: Place, reader: Reader) -> None:
    change = {"a.py": CHANGE, "src/new.py": "n = 1\n", "old.txt": None}
    pull = here.pull(change)
    reader.reads(pull)
    here.push("main", {"b.py": "b = 2\n"})
    head = here.push("fix", change, force=True)
    assert reader.reads(pull, head_sha=head, base_sha=base_of(pull)).pull_request.head_sha == head
    assert reader.asked == ["AssayPull"]


def test_a_rebase_onto_a_newer_base_is_one_request_where_the_delivery_names_it(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    known = reader.reads(pull)
    base = here.push("next", {"b.py": "b = 2\n", "AGENTS.md": "Be brief."})
    head = here.push("fix", {"a.py": CHANGE}, force=True, **{"from": "next"})
    pull.edit(base="next")
    dossier = reader.reads(pull, head_sha=head, base_sha=base)
    assert reader.asked == ["AssayPull"]
    assert (dossier.pull_request.base_sha, dossier.diff) == (base, known.diff)
    assert [one.text for one in dossier.guidance] == ["Be brief."]


@pytest.mark.parametrize(
    ("onto", "change"),
    [
        pytest.param({"a.py": FILE.replace("y = 2", "y = 5")}, {"a.py": CHANGE}, id="another line was replaced"),
        pytest.param(
            {"a.py": "z = 0\n" + FILE}, {"a.py": "z = 0\n" + CHANGE}, id="it stands elsewhere", marks=pytest.mark.slow
        ),
        pytest.param(
            {"c.py": "c = 1\n"}, {"a.py": CHANGE, "b.py": "b = 2\n"}, id="one file more", marks=pytest.mark.slow
        ),
        pytest.param({"c.py": "c = 1\n"}, {"b.py": "b = 2\n"}, id="another file", marks=pytest.mark.slow),
        pytest.param(
            {"c.py": "c = 1\n"}, {"a.py": CHANGE.replace("3", "4")}, id="another text", marks=pytest.mark.slow
        ),
        pytest.param({"c.py": "c = 1\n"}, {"a.py": {"text": CHANGE, "mode": "100755"}}, id="another mode"),
        pytest.param(
            {"a.py": {"text": FILE, "mode": "100755"}},
            {"a.py": {"text": CHANGE, "mode": "100644"}},
            id="its mode",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_rebase_that_changes_anything_is_read(
    here: Place, reader: Reader, onto: dict[str, Any], change: dict[str, Any]
) -> None:
    pull = here.pull({"a.py": CHANGE})
    first = reader.reads(pull)
    here.push("main", onto)
    head = here.push("fix", change, force=True)
    dossier = reader.reads(pull, head_sha=head, base_sha=base_of(pull))
    assert "GET 200" in reader.asked
    assert dossier.diff != first.diff


def test_an_empty_commit_on_a_base_that_took_a_part_of_the_change_is_read(here: Place, reader: Reader) -> None:
    first = here.push("fix", {"b.py": "b = 2\n"})
    pull = here.pull({"a.py": CHANGE})
    assert "b = 2" in reader.reads(pull).diff
    here.github.user("alice", "PATCH", f"/repos/{here.name}/git/refs/heads/main", sha=first)
    head = here.push("fix", {})
    assert "b = 2" not in reader.reads(pull, head_sha=head).diff
    assert "GET 200" in reader.asked


def test_a_change_of_the_same_files_takes_two_requests(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE, "b.py": "b = 2\n"})
    reader.reads(pull)
    head = here.push("fix", {"a.py": CHANGE.replace("3", "4")})
    reader.reads(pull, head_sha=head)
    assert reader.asked == ["AssayPull", "GET 200"]
    assert not reader.source.was_just_told(pull.request, head), "the diff may be of a newer one"


def test_a_change_of_other_files_asks_for_what_is_missing(here: Place, reader: Reader) -> None:
    number = here.issue("Wrong", "- [ ] words")
    pull = here.pull({"a.py": CHANGE})
    reader.reads(pull)
    pull.edit(body=f"Resolves https://127.0.0.1/{here.name}/issues/{number}")
    head = here.push("fix", {"src/more.py": "m = 1\n"})
    dossier = reader.reads(pull, head_sha=head)
    assert [one.number for one in dossier.issues] == [number]
    assert [one.path for one in dossier.guidance] == ["src/AGENTS.md"]
    assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]
    reader.reads(pull, head_sha=head)
    assert reader.asked == ["AssayPull"], "the issue that only the body names was asked for, too"
    pull.edit(body="")
    assert reader.reads(pull, head_sha=head).issues == ()


@pytest.mark.slow
def test_rules_of_another_folder_are_asked_for(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE, "b.py": "b = 2\n"})
    assert reader.reads(pull).guidance == ()
    head = here.push("fix", {"b.py": "b = 1\n", "src/more.py": "m = 1\n"})
    assert [one.path for one in reader.reads(pull, head_sha=head).guidance] == ["src/AGENTS.md"]
    assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]


def test_another_size_is_read_beginning_with_the_diff(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    known = reader.reads(pull)
    assert extent_of(known) == Extent(files=1, added=1, removed=1)
    head = here.push("fix", {"src/more.py": "m = 1\n"})
    reader.reads(pull, head_sha=head, extent=Extent(files=2, added=2, removed=1))
    assert reader.asked == ["GET 200", "AssayPull"]
    assert reader.source.was_just_told(pull.request, head)
    reader.reads(pull, head_sha=head, extent=Extent(files=2, added=2, removed=1))
    assert reader.asked == ["AssayPull"]


def test_the_first_reading_takes_two_requests_where_the_commits_are_known(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE, "src/new.py": "n = 1\n"})
    reader.reads(pull, head_sha=pull.sha, base_sha=base_of(pull))
    assert reader.asked == ["GET 200", "AssayPull"]


@pytest.mark.slow
def test_commits_that_are_not_the_newest_decide_nothing(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    base = base_of(pull)
    head = here.push("fix", {"b.py": "b = 2\n"})
    assert reader.reads(pull, head_sha=pull.sha, base_sha=base).pull_request.head_sha == head
    assert reader.asked == ["GET 200", "AssayPull", "GET 200", "AssayTexts"]
    assert reader.reads(pull, head_sha=pull.sha, base_sha=base).pull_request.head_sha == head
    assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]
    reader.reads(pull, head_sha=head, base_sha=pull.sha)
    assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]


@pytest.mark.slow
def test_who_doubts_a_verdict_has_it_all_read_anew(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    reader.reads(pull)
    for trigger in (Trigger.FORCE, Trigger.CONTEST):
        reader.reads(pull, trigger=trigger)
        assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]


@pytest.mark.slow
def test_a_diff_that_is_too_large_to_show_is_asked_for_once(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    changes = {"head_sha": pull.sha, "base_sha": base_of(pull)}
    refused = {"kind": "status", "status": 406, "body": {"message": "Sorry, the diff exceeded the maximum"}}
    here.github.fault("GET .*/pulls/[0-9]+$", **refused)
    dossier = reader.source.dossier(pull.request.model_copy(update=changes))
    assert "+y = 3" in dossier.diff
    assert here.asked()[-4:] == ["GET 406", "AssayPull", "GET 200", "AssayTexts"]
    assert here.exchanges()[-2]["path"].endswith("/files")


@pytest.mark.slow
def test_what_was_not_read_whole_is_read_plainly(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE, "huge.json": ("1" * 999 + "\n") * 600})
    for _ in range(2):
        reader.reads(pull)
        assert reader.asked == ["AssayPull", "GET 200", "AssayTexts"]


@pytest.mark.slow
def test_a_guess_that_is_too_much_at_once_is_asked_in_pieces(here: Place, reader: Reader) -> None:
    pull = here.pull({f"m{number}.py": f"x = {number}\n" for number in range(30)})
    reader.reads(pull)
    slow = {"data": None, "errors": [{"message": "Something went wrong while executing your query"}]}
    here.github.fault("POST /graphql AssayPull", kind="status", status=200, body=slow, count=3)
    reader.reads(pull)
    assert reader.asked == [*["AssayPull"] * 4, "GET 200", "AssayTexts"]


@pytest.mark.slow
def test_a_small_guess_that_is_not_answered_is_an_outage(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    reader.reads(pull)
    before = len(here.asked())
    here.github.fault("POST /graphql AssayPull", kind="status", status=502, count=3)
    with pytest.raises(Unavailable):
        reader.reads(pull)
    assert len(here.asked()) - before == 3


@pytest.mark.slow
def test_a_binary_file_is_known_only_where_nothing_moved(here: Place, reader: Reader) -> None:
    logo = {"base64": "iVBORw0KGgoAAAANSUhEUgAA"}
    pull = here.pull({"a.py": CHANGE, "logo.png": logo})
    reader.reads(pull)
    head = here.push("fix", {})
    reader.reads(pull, head_sha=head)
    assert reader.asked == ["AssayPull"]
    here.push("main", {"b.py": "b = 2\n"})
    head = here.push("fix", {"a.py": CHANGE, "logo.png": logo}, force=True)
    reader.reads(pull, head_sha=head, base_sha=base_of(pull))
    assert "GET 200" in reader.asked


def test_the_newest_head_is_fresh_for_a_moment(here: Place, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    pull = here.pull({"a.py": CHANGE})
    assert not reader.source.was_just_told(pull.request, pull.sha)
    reader.reads(pull)
    assert reader.source.was_just_told(pull.request, pull.sha)
    assert not reader.source.was_just_told(pull.request, "f" * 40)
    assert not reader.source.was_just_told(Opened(here, pull.number + 1, pull.sha).request, pull.sha)
    monkeypatch.setattr(reading, "JUST_S", -1.0)
    assert not reader.source.was_just_told(pull.request, pull.sha)


def test_a_submodule_that_was_moved_keeps_nobody_from_reading_the_rest(here: Place, reader: Reader) -> None:
    module = {"commit": "1" * 40}
    here.push("main", {"lib": module})
    pull = here.pull({"a.py": CHANGE, "lib": None, "vendor": module})
    assert "rename to vendor" in reader.reads(pull, head_sha=pull.sha, base_sha=base_of(pull)).diff
    assert reader.asked == ["GET 200", "AssayPull", "AssayTexts"]


def test_further_pages_of_checks_say_of_which_head_they_are(here: Place, reader: Reader) -> None:
    pull = here.pull({"a.py": CHANGE})
    for number in range(101):
        here.ci(pull.sha, "", context=f"c{number}", state="success")
    reader.reads(pull)
    reader.reads(pull)
    assert reader.asked == ["AssayPull", "AssayChecks"]
    assert reader.source.was_just_told(pull.request, pull.sha), "nobody has to ask for it once more"


@pytest.mark.slow
def test_a_guess_that_traces_too_much_at_once_is_given_up(here: Place, reader: Reader) -> None:
    here.push("main", {f"old/{number}.py": "x = 1\n" for number in range(30)})
    pull = here.pull({"a.py": CHANGE, **{f"old/{number}.py": None for number in range(30)}})
    reader.reads(pull)
    slow = {"data": None, "errors": [{"message": "Something went wrong while executing your query"}]}
    here.github.fault("POST /graphql AssayPull", kind="status", status=200, body=slow, count=3)
    reader.reads(pull)
    assert reader.asked == [*["AssayPull"] * 4, "GET 200", "AssayTexts"]


def test_a_push_before_the_diff_is_read_has_it_all_read_anew(
    here: Place, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = here.pull({"a.py": CHANGE, "b.py": "b = 2\n"})
    reader.reads(pull)
    head = here.push("fix", {"a.py": CHANGE.replace("3", "4")})
    shown, heads = Api.get_bytes, list[str]()

    def pushed_to(api: Api, path: str, accept: str) -> bytes:
        if not heads:
            heads.append(here.push("fix", {"a.py": CHANGE.replace("3", "5")}))
        return shown(api, path, accept)

    monkeypatch.setattr(Api, "get_bytes", pushed_to)
    dossier = reader.reads(pull, head_sha=head)
    assert (dossier.pull_request.head_sha, "+y = 5" in dossier.diff) == (heads[0], True)
    assert reader.asked == ["AssayPull", "GET 200", "AssayPull", "GET 200", "AssayTexts"]
