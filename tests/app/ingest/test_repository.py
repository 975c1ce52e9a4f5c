"""What is heard of issues, branches, merge groups and the App. Invariant: refs are handed on, never understood."""

from typing import Any

import pytest

from app.ingest.event_types import (
    BranchPushed,
    Event,
    Ignored,
    InstallationChanged,
    IssueChanged,
    MergeGroupChanged,
    VisibleRepository,
)
from tests.app.ingest.deliveries import ABOUT, OLD, SHA, SOMEWHERE, push, seen
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import InstallationId, RepositoryId

REVERTING = {"message": f'Revert "Retry uploads"\n\nThis reverts commit {OLD}.\n'}
CONFIG = ".github/assay.yml"
QUEUE = "refs/heads/gh-readonly-queue/main/pr-3-" + OLD


def issue(action: str, changes: dict[str, Any] | None = None, **fields: Any) -> Event | Ignored:
    about = {"issue": {"number": 9, "state": "open", **fields}, "changes": changes or {}}
    return seen("issues", {**ABOUT, "action": action, **about})


def group(action: str, **about: Any) -> Event | Ignored:
    told = {"head_sha": SHA, "head_ref": QUEUE, "base_sha": OLD, "base_ref": "refs/heads/main"}
    return seen("merge_group", {**ABOUT, "action": action, "merge_group": told, **about})


@pytest.mark.parametrize(
    "given",
    [
        issue("edited", {"body": {"from": "Retry"}}),
        issue("edited", {"title": {"from": "Retry"}}),
        issue("deleted"),
        issue("transferred"),
    ],
)
def test_an_issue_that_asks_for_something_else_is_named(given: Event | Ignored) -> None:
    assert given == IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (issue("edited"), "nothing_judged_by"),
        (issue("edited", {"body": {"from": ""}}, pull_request={"url": "x"}), "not_an_issue"),
        (issue("closed"), "issue_state"),
        (push(REVERTING, ref="refs/heads/fix"), "nothing_judged_by"),
        (push({"message": "Retry uploads", "added": ["upload.py"]}), "nothing_judged_by"),
        (push(), "nothing_judged_by"),
    ],
)
def test_what_nothing_is_judged_by_is_ignored(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)


def test_a_push_to_the_default_branch_that_takes_commits_back_names_each_once() -> None:
    assert push({"message": "Docs"}, REVERTING, REVERTING) == BranchPushed(
        **SOMEWHERE, branch="main", reverted_commits=(OLD,)
    )


@pytest.mark.parametrize("how", ["added", "modified", "removed"])
def test_a_push_that_touches_the_configuration_says_so_on_any_branch(how: str) -> None:
    given = push({"message": "Rules", how: [CONFIG]}, ref="refs/heads/release/2")
    assert given == BranchPushed(**SOMEWHERE, branch="release/2", has_new_config=True, has_new_rules=True)


@pytest.mark.parametrize("path", ["AGENTS.md", "docs/CLAUDE.md", ".cursor/rules/tests.mdc"])
def test_a_push_that_touches_another_file_that_is_judged_by_says_so(path: str) -> None:
    given = push({"message": "Retry", "modified": ["upload.py"]}, {"message": "Rules", "modified": [path]})
    assert given == BranchPushed(**SOMEWHERE, branch="main", has_new_rules=True)


def test_a_forced_push_says_that_the_branch_is_another_one() -> None:
    given = push({"message": "Retry"}, ref="refs/heads/below", forced=True)
    assert given == BranchPushed(**SOMEWHERE, branch="below", is_rewritten=True)


@pytest.mark.parametrize("how", ["created", "deleted"])
def test_a_branch_that_comes_or_goes_is_not_rewritten(how: str) -> None:
    assert push(ref="refs/heads/below", forced=True, **{how: True}) == Ignored("nothing_judged_by")


def told(ended: GroupEnd | None) -> MergeGroupChanged:
    refs: dict[str, Any] = {"head_ref": QUEUE, "base_ref": "refs/heads/main"}
    return MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, base_sha=OLD, **refs, ended=ended)


def test_a_merge_group_is_handed_on_as_it_is_named() -> None:
    assert group("checks_requested") == told(None)


@pytest.mark.parametrize(
    ("reason", "ended"),
    [
        ("merged", GroupEnd.MERGED),
        ("dequeued", GroupEnd.DEQUEUED),
        ("new", GroupEnd.INVALIDATED),
        (None, GroupEnd.INVALIDATED),
    ],
)
def test_a_group_that_is_gone_is_waited_for_by_nobody_whatever_the_reason(reason: str | None, ended: GroupEnd) -> None:
    assert group("destroyed", reason=reason) == told(ended)


ONE = {"id": 7, "full_name": "acme/widgets"}
SEEN = VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets")


@pytest.mark.parametrize(
    ("event_name", "payload"),
    [
        ("installation", {"action": "created", "repositories": [ONE]}),
        ("installation_repositories", {"action": "added", "repositories_added": [ONE]}),
    ],
)
def test_the_app_learns_which_repositories_it_may_see(event_name: str, payload: dict[str, Any]) -> None:
    given = seen(event_name, {"installation": {"id": 1}, **payload})
    assert given == InstallationChanged(
        installation_id=InstallationId(1), is_installed=True, added_repositories=(SEEN,)
    )


def test_the_app_learns_which_repositories_it_sees_no_more() -> None:
    given = seen(
        "installation_repositories", {"installation": {"id": 1}, "action": "removed", "repositories_removed": [ONE]}
    )
    assert given == InstallationChanged(
        installation_id=InstallationId(1), is_installed=True, removed_repositories=(SEEN.repository_id,)
    )


def test_the_app_was_taken_out() -> None:
    given = seen("installation", {"installation": {"id": 1}, "action": "deleted"})
    assert given == InstallationChanged(installation_id=InstallationId(1), is_installed=False)


def test_permissions_that_were_given_are_told() -> None:
    given = seen("installation", {"installation": {"id": 1}, "action": "new_permissions_accepted"})
    assert given == InstallationChanged(installation_id=InstallationId(1), is_installed=True, has_new_permissions=True)
