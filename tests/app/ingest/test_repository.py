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
from tests.app.ingest.deliveries import ABOUT, OLD, SHA, SOMEWHERE, head_seen, push
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import InstallationId, RepositoryId

REVERTING = {"message": f'Revert "Retry uploads"\n\nThis reverts commit {OLD}.\n'}
CONFIG = ".github/assay.yml"
QUEUE = "refs/heads/gh-readonly-queue/main/pr-3-" + OLD


def issue(action: str, changes: dict[str, Any] | None = None, **fields: Any) -> Event | Ignored:
    about = {"issue": {"number": 9, "state": "open", **fields}, "changes": changes or {}}
    return head_seen("issues", {**ABOUT, "action": action, **about})


def group(action: str, **about: Any) -> Event | Ignored:
    told = {"head_sha": SHA, "head_ref": QUEUE, "base_sha": OLD, "base_ref": "refs/heads/main"}
    return head_seen("merge_group", {**ABOUT, "action": action, "merge_group": told, **about})


def told(ended: GroupEnd | None) -> MergeGroupChanged:
    refs: dict[str, Any] = {"head_ref": QUEUE, "base_ref": "refs/heads/main"}
    return MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, base_sha=OLD, **refs, ended=ended)


def app(action: str, event_name: str = "installation", **about: Any) -> Event | Ignored:
    return head_seen(event_name, {"installation": {"id": 1}, "action": action, **about})


def installed(*, is_installed: bool = True, **fields: Any) -> InstallationChanged:
    return InstallationChanged(installation_id=InstallationId(1), is_installed=is_installed, **fields)


BELOW, RELEASE = "refs/heads/below", "refs/heads/release/2"
EDITED = IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9)
CONFIGURED = BranchPushed(**SOMEWHERE, branch="release/2", has_new_config=True, has_new_rules=True)
RULED = BranchPushed(**SOMEWHERE, branch="main", has_new_rules=True)
ONE = {"id": 7, "full_name": "acme/widgets"}
SEEN = VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets")
HEARD: dict[str, tuple[Event | Ignored, Event]] = {
    "an issue's new text": (issue("edited", {"body": {"from": "Retry"}}), EDITED),
    "an issue's new title": (issue("edited", {"title": {"from": "Retry"}}), EDITED),
    "an issue that is gone": (issue("deleted"), EDITED),
    "one that went to another repository": (issue("transferred"), EDITED),
    "a push that takes commits back, each named once": (
        push({"message": "Docs"}, REVERTING, REVERTING),
        BranchPushed(**SOMEWHERE, branch="main", reverted_commits=(OLD,)),
    ),
    "a configuration that is added": (push({"message": "Rules", "added": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "changed": (push({"message": "Rules", "modified": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "removed": (push({"message": "Rules", "removed": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "rules for agents": (push({"message": "Retry"}, {"message": "Rules", "modified": ["AGENTS.md"]}), RULED),
    "rules in a folder": (push({"message": "Rules", "modified": ["upload.py", "docs/CLAUDE.md"]}), RULED),
    "rules of an editor": (push({"message": "Rules", "modified": [".cursor/rules/tests.mdc"]}), RULED),
    "a forced push": (
        push({"message": "Retry"}, ref=BELOW, forced=True),
        BranchPushed(**SOMEWHERE, branch="below", is_rewritten=True),
    ),
    "a merge group, as it is named": (group("checks_requested"), told(None)),
    "a group that was merged": (group("destroyed", reason="merged"), told(GroupEnd.MERGED)),
    "a group that was dequeued": (group("destroyed", reason="dequeued"), told(GroupEnd.DEQUEUED)),
    "a group that is gone for a new reason": (group("destroyed", reason="new"), told(GroupEnd.INVALIDATED)),
    "a group that is gone for none": (group("destroyed", reason=None), told(GroupEnd.INVALIDATED)),
    "the App is installed": (app("created", repositories=[ONE]), installed(added_repositories=(SEEN,))),
    "it sees one more": (
        app("added", "installation_repositories", repositories_added=[ONE]),
        installed(added_repositories=(SEEN,)),
    ),
    "it sees one less": (
        app("removed", "installation_repositories", repositories_removed=[ONE]),
        installed(removed_repositories=(SEEN.repository_id,)),
    ),
    "it was taken out": (app("deleted"), installed(is_installed=False)),
    "permissions were given": (app("new_permissions_accepted"), installed(has_new_permissions=True)),
}


@pytest.mark.parametrize(("event", "expected"), HEARD.values(), ids=HEARD)
def test_what_is_heard_is_an_event(event: Event | Ignored, expected: Event) -> None:
    assert event == expected


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (issue("edited"), "nothing_judged_by"),
        (issue("edited", {"body": {"from": ""}}, pull_request={"url": "x"}), "not_an_issue"),
        (issue("closed"), "issue_state"),
        (push(REVERTING, ref="refs/heads/fix"), "nothing_judged_by"),
        (push({"message": "Retry uploads", "added": ["upload.py"]}), "nothing_judged_by"),
        (push(), "nothing_judged_by"),
        (push(ref=BELOW, forced=True, created=True), "nothing_judged_by"),
        (push(ref=BELOW, forced=True, deleted=True), "nothing_judged_by"),
    ],
)
def test_what_nothing_is_judged_by_is_ignored(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)
