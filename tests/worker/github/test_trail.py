"""Whether a change is the one that was read, told by commits and object ids alone: a doubt is a no."""

import hashlib
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from worker.domain.diff import DiffError
from worker.domain.dossier import Commit, Dossier, HeadFile, PullRequest
from worker.domain.ids import base_mark
from worker.domain.request import Extent, JudgeRequest, PullRef, Trigger
from worker.github.graph import Answered
from worker.github.known import Guess, base_ref_of, by_diff, by_record, extent_of, had, is_another_size
from worker.github.replies import Blob, PullState
from worker.github.trail import MOST_TRACED, Traces, Trail, blob_id, is_same_change, may_be_of, to_trace, traces_of

OLD, NEW, OTHER = "a\nb\n", "a\nc\n", "a\nd\n"
BASE, HEAD, TIP = "b" * 40, "1" * 40, "c" * 40
ONE = f"""diff --git a/f.py b/f.py
index {blob_id(OLD)[:7]}..{blob_id(NEW)[:7]} 100644
--- a/f.py
+++ b/f.py
@@ -1,2 +1,2 @@
 a
-b
+c
"""
REST = """diff --git a/gone.py b/gone.py
deleted file mode 100644
index 422c2b7..0000000
--- a/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
diff --git a/new.py b/new.py
new file mode 100755
index 0000000..422c2b7
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+a
+b
diff --git a/was.py b/is.py
similarity index 50%
rename from was.py
rename to is.py
index 422c2b7..0f7bc76 100644
--- a/was.py
+++ b/is.py
@@ -1,2 +1,2 @@
 a
-b
+c
"""
BINARY = "diff --git a/l.png b/l.png\nindex 1111111..2222222 100644\nBinary files a/l.png and b/l.png differ\n"
MODULE = """diff --git a/m b/m
index 1111111..2222222 160000
--- a/m
+++ b/m
@@ -1 +1 @@
-Subproject commit 1111111111111111111111111111111111111111
+Subproject commit 2222222222222222222222222222222222222222
"""
COPY = "diff --git a/f.py b/g.py\nsimilarity index 100%\ncopy from f.py\ncopy to g.py\n"


def dossier(diff: str = ONE, **texts: str) -> Dossier:
    pull = PullRequest(
        repository="acme/x",
        number=1,
        title="",
        body="",
        author="",
        base_sha=BASE,
        head_sha=HEAD,
        commits=(Commit(sha=HEAD),),
    )
    files = {"f.py": NEW, "new.py": OLD, "is.py": NEW, "g.py": NEW, **texts}
    return Dossier(pull_request=pull, diff=diff, files=tuple(HeadFile(path=p, text=t) for p, t in files.items()))


def link(oid: str, *parents: str, tree: str = "t") -> dict[str, Any]:
    return {"commit": {"oid": oid, "tree": {"oid": tree}, "parents": {"nodes": [{"oid": one} for one in parents]}}}


def trail(*links: dict[str, Any], paths: tuple[str, ...] = ("f.py",), **changes: Any) -> Trail:
    """The last of *links* is the head."""
    return Trail.model_validate(
        {
            "headRefOid": links[-1]["commit"]["oid"],
            "baseRefOid": BASE,
            "changedFiles": len(paths),
            "files": {"nodes": [{"path": path} for path in paths]},
            "chain": {"totalCount": len(links), "nodes": list(links)},
            "now": {"target": {"oid": TIP}},
            **changes,
        }
    )


def entry(text: str, mode: int = 0o100644) -> dict[str, Any]:
    return {"oid": blob_id(text), "mode": mode}


def traces(**changes: Any) -> Traces:
    """Of `f.py`: what it was, and what it is."""
    at = {"head": entry(NEW), "base": entry(OLD), **changes}
    return traces_of(("f.py",), {"trace_0": at["head"]}, {"trace_0": at["base"]})


NOTHING = Traces({}, {})
EMPTY = "2" * 40
REBASED = link("3" * 40, TIP)


def test_a_files_id_is_gits() -> None:
    assert blob_id("") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id("hé\n") == hashlib.sha1(b"blob 4\0h\xc3\xa9\n", usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("links", "is_same"),
    [
        pytest.param([link(HEAD, BASE)], True, id="the same head"),
        pytest.param([link(HEAD, BASE), link(EMPTY, HEAD)], True, id="an empty commit"),
        pytest.param([link(HEAD, BASE), link(EMPTY, HEAD), link("3" * 40, EMPTY)], True, id="two"),
        pytest.param([link(HEAD, BASE), link(EMPTY, HEAD, tree="u")], False, id="a commit"),
        pytest.param([link(HEAD, BASE), link(EMPTY, HEAD, "9" * 40)], False, id="a merge"),
        pytest.param([link("9" * 40, BASE), link(HEAD, "9" * 40)], False, id="it forks off elsewhere"),
        pytest.param([link(EMPTY, HEAD)], False, id="its beginning is the base's now"),
        pytest.param([link(HEAD, BASE), link("3" * 40, EMPTY)], False, id="a commit is missing"),
        pytest.param([link(EMPTY, BASE)], False, id="amended"),
        pytest.param([link(EMPTY, "3" * 40), link("3" * 40, EMPTY)], False, id="a circle"),
    ],
)
def test_where_no_path_was_traced_only_the_history_can_tell(links: list[dict[str, Any]], is_same: bool) -> None:  # noqa: FBT001 - both ways
    assert is_same_change(dossier(), trail(*links), NOTHING) is is_same


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"changedFiles": 2}, id="another number of files"),
        pytest.param({"chain": {"totalCount": 2, "nodes": [link(HEAD, BASE)]}}, id="not all commits are told"),
        pytest.param(
            {"chain": {"totalCount": 1, "nodes": [link(HEAD, *[f"{n:040}" for n in range(10)])]}}, id="parents"
        ),
        pytest.param({"headRefOid": EMPTY}, id="the head is not among them"),
    ],
)
def test_what_is_not_whole_tells_nothing(changes: dict[str, Any]) -> None:
    assert not is_same_change(dossier(), trail(link(HEAD, BASE), **changes), NOTHING)


def test_a_long_history_tells_nothing() -> None:
    before = dossier()
    many = tuple(Commit(sha=f"{number:040}") for number in range(100))
    pull = before.pull_request.model_copy(update={"commits": many, "head_sha": many[-1].sha})
    links = [link(many[0].sha, BASE), *(link(now.sha, was.sha) for was, now in pairwise(many))]
    assert not is_same_change(before.model_copy(update={"pull_request": pull}), trail(*links), NOTHING)


@pytest.mark.parametrize(
    ("links", "changes", "is_same"),
    [
        pytest.param([REBASED], {}, True, id="rebased onto the tip"),
        pytest.param([link("3" * 40, "9" * 40)], {}, False, id="rebased onto something else"),
        pytest.param(
            [link(HEAD, BASE), link("3" * 40, HEAD, TIP)], {"baseRefOid": TIP}, True, id="merged with the tip"
        ),
        pytest.param(
            [link(HEAD, BASE), link("3" * 40, HEAD, TIP)], {}, False, id="merged with a tip that is not its base"
        ),
        pytest.param([REBASED], {"now": {"target": None}}, False, id="the base branch is gone"),
        pytest.param([REBASED], {"now": None}, False, id="nothing is told of the base branch"),
        pytest.param([REBASED], {"files": {"nodes": [{"path": "g.py"}]}}, False, id="another file"),
        pytest.param([REBASED], {"files": None}, False, id="no list of files"),
    ],
)
def test_against_the_tip_of_the_base_the_files_tell(
    links: list[dict[str, Any]],
    changes: dict[str, Any],
    is_same: bool,  # noqa: FBT001 - both ways
) -> None:
    assert is_same_change(dossier(), trail(*links, **changes), traces()) is is_same


@pytest.mark.parametrize(
    "changes",
    [
        {"head": entry(OTHER)},
        {"base": entry(OTHER)},
        {"head": entry(NEW, 0o100755)},
        {"base": entry(OLD, 0o100755)},
        {"head": None},
        {"base": None},
    ],
)
def test_each_side_of_each_file_counts_with_its_mode(changes: dict[str, Any]) -> None:
    assert not is_same_change(dossier(), trail(REBASED), traces(**changes))


def test_a_path_that_was_not_answered_tells_nothing() -> None:
    assert not is_same_change(dossier(), trail(REBASED), replace(traces(), base={}))


def test_files_that_come_go_and_move_are_known_by_both_of_their_names() -> None:
    before = dossier(REST)
    paths = to_trace(before)
    assert paths == ("gone.py", "new.py", "is.py", "was.py")
    head = {"trace_0": None, "trace_1": entry(OLD, 0o100755), "trace_2": entry(NEW), "trace_3": None}
    base = {"trace_0": entry(OLD), "trace_1": None, "trace_2": None, "trace_3": entry(OLD)}
    found = trail(REBASED, paths=("gone.py", "new.py", "is.py"))
    assert is_same_change(before, found, traces_of(paths, head, base))
    for side, name, other in (
        ("head", "trace_0", entry(OLD)),
        ("head", "trace_3", entry(OLD)),
        ("base", "trace_1", entry(OLD)),
        ("base", "trace_2", entry(NEW)),
        ("base", "trace_3", None),
        ("base", "trace_0", entry(NEW)),
        ("head", "trace_1", entry(OLD)),
    ):
        changed = {"head": dict(head), "base": dict(base)}
        changed[side][name] = other
        assert not is_same_change(before, found, traces_of(paths, changed["head"], changed["base"])), (side, name)


@pytest.mark.parametrize("diff", [BINARY, MODULE, COPY])
def test_what_has_no_text_of_its_own_is_known_only_where_nothing_moved(diff: str) -> None:
    before = dossier(diff)
    paths = to_trace(before)
    found = {f"trace_{number}": entry(NEW) for number in range(len(paths))}
    listed = trail(REBASED, paths=(paths[0],))
    assert not is_same_change(before, listed, traces_of(paths, found, found))
    assert is_same_change(before, trail(link(HEAD, BASE), paths=(paths[0],)), NOTHING)


def test_a_text_that_is_not_the_diffs_or_not_known_tells_nothing() -> None:
    for before in (dossier(**{"f.py": OTHER}), dossier().model_copy(update={"files": None})):
        assert not is_same_change(before, trail(REBASED), traces(head=entry(OTHER)))


# What is asked for


def request(**changes: Any) -> JudgeRequest:
    pull = PullRef(installation_id=1, repository_id=1, number=1)  # pyright: ignore[reportArgumentType] - plain numbers
    fields = {"trigger": Trigger.PUSHED, "delivery_id": "d", "requested_at": "2026-11-20T00:00:00Z", "head_sha": None}
    return JudgeRequest.model_validate({"pull": pull, "repository": "acme/x", **fields, **changes})


def test_a_guess_is_where_it_was_unless_the_request_knows_better() -> None:
    guess = by_record(request(), dossier())
    assert guess
    assert (guess.head_sha, guess.base_sha, guess.paths, guess.traced) == (HEAD, BASE, ("f.py",), ("f.py",))
    guess = by_record(request(head_sha=EMPTY, base_sha=TIP), dossier())
    assert guess
    assert (guess.head_sha, guess.base_sha) == (EMPTY, TIP)


def test_a_base_branch_is_guessed_unless_another_one_was_told() -> None:
    before = dossier()
    into = before.model_copy(update={"pull_request": before.pull_request.model_copy(update={"base_ref": "main"})})
    told = [{}, {"base": base_mark("main")}, {"base": base_mark("next")}, {"base_sha": TIP}]
    assert [base_ref_of(request(**one), into) for one in told] == ["main", "main", None, None]
    assert [base_ref_of(request(), one) for one in (before, None)] == [None, None]


def test_what_can_not_be_read_or_is_too_much_is_no_guess() -> None:
    many = "".join(ONE.replace("f.py", f"f{number}.py") for number in range(MOST_TRACED + 1))
    for diff in ("no diff", "", many):
        assert by_record(request(), dossier(diff)) is None


def test_a_diff_alone_is_a_guess_where_both_commits_are_known() -> None:
    assert by_diff(request(head_sha=HEAD), None, ONE) is None
    assert by_diff(request(base_sha=BASE), None, ONE) is None
    assert by_diff(request(head_sha=HEAD), dossier(), ONE) == by_diff(request(head_sha=HEAD, base_sha=BASE), None, ONE)
    with pytest.raises(DiffError):
        by_diff(request(head_sha=HEAD, base_sha=BASE), None, "no diff")


def test_a_text_that_github_did_not_find_is_asked_for_again() -> None:
    guess = Guess(HEAD, BASE, ("f.py", "new.py"), ("AGENTS.md",))
    head = PullState(state="OPEN", head_ref_oid=HEAD)
    have = had(guess, Answered(head, (None, None, None, Blob(text=NEW), None), ()))
    assert {path: blob.text for path, blob in have.texts.items()} == {"f.py": NEW}


def test_a_size_tells_another_change_from_one_that_may_be_the_same() -> None:
    same, other = Extent(files=1, added=1, removed=1), Extent(files=1, added=2, removed=1)
    assert extent_of(dossier()) == same
    assert extent_of(dossier("no diff")) is None
    assert [is_another_size(request(extent=one), dossier()) for one in (None, same, other)] == [False, False, True]


def test_an_abbreviated_id_or_the_number_of_files_contradicts_a_diff_of_another_head() -> None:
    unknown = (Blob(text=None), Blob(text=OTHER, is_truncated=True), Blob(text="caf\ufffd"))
    for blob in (Blob(text=NEW), *unknown):
        assert may_be_of(ONE, 1, {"f.py": blob})
    assert may_be_of(REST + COPY, 4, {"is.py": Blob(text=NEW), "new.py": Blob(text=OLD), "g.py": Blob(text=OTHER)})
    assert not may_be_of(ONE, 1, {"f.py": Blob(text=OTHER)})
    assert not may_be_of(ONE, 2, {"f.py": Blob(text=NEW)})
    assert not may_be_of(REST, 3, {"is.py": Blob(text=OTHER)})
