"""Texts of a pull request: issues without late edits of its author, patches, and files at the head."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.adapters.github.conftest import FakeRepo
from worker.adapters.github.pull_request_texts import (
    MOST_CHARACTERS,
    HeadTexts,
    batches,
    join_patches,
    linked_issues,
    texts_to_read,
    to_head_file,
)
from worker.adapters.github.pull_requests import GitHubPullSource
from worker.adapters.github.responses import BlobResponse, ChangedFileResponse, GraphIssue, GraphPull
from worker.domain.dossier import HeadFile, Issue, UnreadFile, UnreadReason
from worker.dossier.diff import ChangeKind, parse_diff

AGENT = "copilot-swe-agent[bot]"
OPENED = datetime(2026, 11, 20, 12, tzinfo=UTC)

Edits = list[tuple[str, bool]]
"""Each edit's account, and whether the edit is used."""


# Edited issues


def body_of(issue: Issue) -> tuple[str, Edits]:
    return issue.body, [(edit.by, edit.used) for edit in issue.late_edits]


def title_of(issue: Issue) -> tuple[str, Edits]:
    return issue.title, [(rename.by, rename.used) for rename in issue.late_renames]


@pytest.mark.parametrize("link", ["#{number}", "https://127.0.0.1/{repository}/issues/{number}"])
def test_issue_edit_by_the_author_is_unused_until_another_person_edits(
    repo: FakeRepo, source: GitHubPullSource, link: str
) -> None:
    number = repo.issue("Wrong sum", "y is 3")
    pull = repo.pull(body=f"Closes {link.format(repository=repo.name, number=number)}", login="mallory")

    def edit_issue(login: str, text: str) -> Issue:
        repo.request_as(login, "PATCH", f"/issues/{number}", body=text, title=f"Title: {text}")
        (issue,) = source.dossier(pull.request).issues
        assert issue.edited_by == login
        return issue

    def both(text: str, title: str, edits: Edits) -> list[tuple[str, Edits]]:
        return [(text, edits), (title, edits)]

    (issue,) = source.dossier(pull.request).issues
    assert (body_of(issue), title_of(issue), issue.edited_by) == (("y is 3", []), ("Wrong sum", []), None)
    assert repo.request_names() == ["AssayPull", "GET 200", "AssayTexts"]
    mine = [("mallory", False)]
    for text, edits in (("y is 2", mine), ("y may be 2", mine * 2)):
        issue = edit_issue("mallory", text)
        assert [body_of(issue), title_of(issue)] == both("y is 3", "Wrong sum", edits)
    issue = edit_issue("alice", "y may be 2 or 3")
    assert [body_of(issue), title_of(issue)] == both("y may be 2 or 3", "Title: y may be 2 or 3", [])
    issue = edit_issue(AGENT, "anything")
    assert [body_of(issue), title_of(issue)] == both("y may be 2 or 3", "Title: y may be 2 or 3", [(AGENT, False)])


def actor(login: str | None, kind: str = "User") -> dict[str, str] | None:
    return None if login is None else {"__typename": kind, "login": login}


def edit(login: str | None, minutes: int, text: str | None, kind: str = "User") -> dict[str, Any]:
    return {"editedAt": OPENED + timedelta(minutes=minutes), "editor": actor(login, kind), "diff": text}


def rename(login: str | None, minutes: int, before: str, after: str, kind: str = "User") -> dict[str, Any]:
    at = OPENED + timedelta(minutes=minutes)
    return {"createdAt": at, "previousTitle": before, "currentTitle": after, "actor": actor(login, kind)}


Nodes = list[dict[str, Any] | None] | None

PULL = GraphPull.model_validate({
    "state": "OPEN", "title": "Fix", "body": "", "createdAt": OPENED, "isDraft": False, "changedFiles": 1,
    "baseRefName": "main", "baseRefOid": "b" * 40, "headRefName": "fix", "headRefOid": "a" * 40,
    "author": actor("bob"), "commits": {"nodes": []},
})  # fmt: skip


def read(nodes: Nodes, *, more: bool = False, **fields: Any) -> Issue:
    """An issue with this edit history; *more*: GitHub has earlier edits."""
    shown: dict[str, Any] = {
        "number": 7,
        "title": "Sum",
        "body": "now",
        "url": "https://github.com/acme/things/issues/7",
        "repository": {"nameWithOwner": "acme/things"},
        "includesCreatedEdit": True,
        "userContentEdits": None if nodes is None else {"nodes": nodes, "pageInfo": {"hasNextPage": more}},
    }
    (issue,) = linked_issues(PULL, [GraphIssue.model_validate({**shown, **fields})], [])
    return issue


def read_title(nodes: Nodes, *, earlier: bool = False) -> Issue:
    return read(None, timelineItems={"nodes": nodes, "pageInfo": {"hasPreviousPage": earlier}})


WRITTEN = edit("alice", -60, "as written")


@pytest.mark.parametrize(
    ("login", "kind", "is_used"),
    [("bob", "User", False), ("renovate", "Bot", False), ("cursoragent", "User", False), ("carol", "User", True)],
    ids=["the author", "a bot", "an agent's own account", "another person"],
)
def test_late_edits_of_the_author_and_bots_are_undone(login: str, kind: str, *, is_used: bool) -> None:
    edited = read([edit(login, 5, "now", kind), WRITTEN])
    assert (edited.body, "late_edits" in edited.model_fields_set) == ("now" if is_used else "as written", not is_used)
    renamed = read_title([rename(login, 5, "Product", "Sum", kind)])
    assert (renamed.title, "late_renames" in renamed.model_fields_set) == ("Sum" if is_used else "Product", not is_used)


@pytest.mark.parametrize(
    ("nodes", "fields"),
    [
        pytest.param([edit("bob", 5, "now")], {"more": True}, id="there are more"),
        pytest.param([edit("bob", 5, "now")], {"includesCreatedEdit": False}, id="the first text is not among them"),
        pytest.param([edit("bob", 5, "now"), None, WRITTEN], {}, id="one may not be seen"),
        pytest.param([edit("bob", 5, "now"), edit("alice", -60, None)], {}, id="the text may not be seen"),
        pytest.param(None, {"lastEditedAt": OPENED, "editor": actor("bob")}, id="none at all"),
    ],
)
def test_edit_that_cannot_be_undone_is_used_and_recorded(nodes: Nodes, fields: dict[str, Any]) -> None:
    assert body_of(read(nodes, **fields)) == ("now", [("bob", True)])


@pytest.mark.parametrize(
    ("nodes", "earlier"),
    [
        pytest.param([rename("bob", 5, "Product", "Sum")], True, id="there were earlier ones"),
        pytest.param([None, rename("bob", 5, "Product", "Sum")], False, id="one may not be seen"),
        pytest.param([rename("bob", 5, "Product", "Quotient")], False, id="of another title"),
    ],
)
def test_title_that_cannot_be_undone_is_used_and_recorded(nodes: Nodes, *, earlier: bool) -> None:
    assert title_of(read_title(nodes, earlier=earlier)) == ("Sum", [("bob", True)])


NONE: Edits = []


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param([rename("bob", -5, "Product", "Sum")], ("Sum", NONE), id="before the pull request was there"),
        pytest.param([rename("bob", 5, "A", "B"), rename(None, 5, "B", "Sum")], ("Sum", NONE), id="by who is gone"),
        pytest.param([rename("carol", 5, "A", "B"), rename("bob", 5, "B", "Sum")], ("B", [("bob", False)]),
                     id="of the same second the last one told"),
        pytest.param([], ("Sum", NONE), id="never"),
        pytest.param(None, ("Sum", NONE), id="not readable"),
    ],
)  # fmt: skip
def test_only_late_renames_are_undone(nodes: Nodes, expected: tuple[str, Edits]) -> None:
    assert title_of(read_title(nodes)) == expected


def test_unedited_issue_has_no_history() -> None:
    for issue in (read(None), read([])):
        assert (body_of(issue), title_of(issue), issue.edited_by) == (("now", []), ("Sum", []), None)


# Diffs joined from the file list

HUNK = "@@ -1 +1 @@\n-a\n+b"


def changed_file(
    name: str, status: str, patch: str | None = None, old: str | None = None, changes: int = 0
) -> ChangedFileResponse:
    return ChangedFileResponse(
        filename=name, status=status, previous_filename=old, changes=changes or 2 * bool(patch), patch=patch
    )


def test_joined_patches_parse_for_every_kind_of_change() -> None:
    files = [
        changed_file("m.py", "modified", HUNK),
        changed_file("new.py", "added", "@@ -0,0 +1 @@\n+b"),
        changed_file("gone.py", "removed", "@@ -1 +0,0 @@\n-a"),
        changed_file("to.py", "renamed", old="from.py"),
        changed_file("to2.py", "renamed", HUNK, "from 2.py"),
        changed_file("twin.py", "copied", old="m.py"),
        changed_file("mode.sh", "changed"),
        changed_file("empty.py", "added"),
    ]
    patches = join_patches(files, len(files))
    diff = parse_diff(patches.diff.encode())
    assert [(file.path, file.change) for file in diff.files] == [
        ("m.py", ChangeKind.MODIFIED),
        ("new.py", ChangeKind.ADDED),
        ("gone.py", ChangeKind.DELETED),
        ("to.py", ChangeKind.RENAMED),
        ("to2.py", ChangeKind.RENAMED),
        ("twin.py", ChangeKind.COPIED),
        ("mode.sh", ChangeKind.MODIFIED),
        ("empty.py", ChangeKind.ADDED),
    ]
    assert diff.by_path["to2.py"].old_path == "from 2.py"
    assert patches.unread == ()


def test_omitted_lines_are_named_and_unlisted_files_counted() -> None:
    patches = join_patches([changed_file("big.json", "modified", changes=90_000)], 3001)
    rest = ("(3000 more files that GitHub does not list)", UnreadReason.OVER_LIMIT)
    assert [(file.path, file.reason) for file in patches.unread] == [("big.json", UnreadReason.TOO_LARGE), rest]
    assert parse_diff(patches.diff.encode()).files[0].hunks == ()


@given(path=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_joined_patches_keep_any_path(path: str) -> None:
    files = [changed_file(path, "modified", HUNK), changed_file(path, "renamed", HUNK, f"{path}2")]
    assert [file.path for file in parse_diff(join_patches(files, 2).diff.encode()).files] == [path, path]


@pytest.mark.parametrize("name", ["plain.py", "with space.py", 'quo"te\\.py', "tab\t.py", "ümläut.py"])
def test_git_applies_joined_patches(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    patch = join_patches([changed_file(name, "modified", HUNK)], 1).diff
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch.encode(), check=True)
    assert (tmp_path / name).read_text() == "b\n"


# Files at the head

DIFF = b"""diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-a
+b
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/lib b/lib
index 1111111..2222222 160000
--- a/lib
+++ b/lib
@@ -1 +1 @@
-Subproject commit 1111111
+Subproject commit 2222222
diff --git "a/caf\\351.py" "b/caf\\351.py"
new file mode 100644
diff --git a/z.py b/z.py
new file mode 100644
"""


@pytest.mark.parametrize("most", [1, 2])
def test_texts_to_read_exclude_binaries_deletions_and_the_rest(most: int) -> None:
    texts = texts_to_read(parse_diff(DIFF), most)
    paths = ("a.py", "z.py")
    assert texts.paths == paths[:most]
    assert [(file.path, file.reason) for file in texts.unread] == [
        ("logo.png", UnreadReason.BINARY),
        ("caf\ufffd.py", UnreadReason.NOT_UTF8),
        *((path, UnreadReason.OVER_LIMIT) for path in paths[most:]),
    ]


@pytest.mark.parametrize(
    ("blob", "expected"),
    [
        (BlobResponse(text="x", is_binary=False, is_truncated=False), HeadFile(path="p", text="x")),
        (BlobResponse(text="", is_binary=False, is_truncated=False), HeadFile(path="p", text="")),
        (BlobResponse(text=None, is_binary=True, is_truncated=False), UnreadReason.BINARY),
        (BlobResponse(text="cut", is_binary=False, is_truncated=True), UnreadReason.TOO_LARGE),
        (BlobResponse(text=None, is_binary=None, is_truncated=None), UnreadReason.TOO_LARGE),
        (None, UnreadReason.OVER_LIMIT),
    ],
)
def test_blob_is_a_text_or_an_unread_reason(blob: BlobResponse | None, expected: HeadFile | UnreadReason) -> None:
    file = to_head_file("p", blob)
    assert (file.reason if isinstance(file, UnreadFile) else file) == expected


def test_full_head_texts_mark_the_rest_as_over_limit() -> None:
    shelf = HeadTexts([])
    shelf.put(["a"], [BlobResponse(text="x" * MOST_CHARACTERS)])
    assert shelf.is_full
    shelf.mark_unread(["b"])
    assert shelf.unread == [UnreadFile(path="b", reason=UnreadReason.OVER_LIMIT)]


def test_batches_hold_each_item_once() -> None:
    assert batches("abcde", 2) == ["ab", "cd", "e"]
    assert batches("", 2) == []
