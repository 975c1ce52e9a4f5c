"""Deliveries about issues, branches, merge groups and installations. Invariant: refs are passed on unchanged."""

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
from tests.app.ingest.deliveries import ABOUT, OLD, SHA, SOMEWHERE, push, translate_payload
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import InstallationId, RepositoryId

REVERTING = {"message": f'Revert "Retry uploads"\n\nThis reverts commit {OLD}.\n'}
CONFIG = ".github/assay.yml"
QUEUE = "refs/heads/gh-readonly-queue/main/pr-3-" + OLD


def issue(action: str, changes: dict[str, Any] | None = None, **fields: Any) -> Event | Ignored:
    about = {"issue": {"number": 9, "state": "open", **fields}, "changes": changes or {}}
    return translate_payload("issues", {**ABOUT, "action": action, **about})


def merge_group(action: str, **about: Any) -> Event | Ignored:
    fields = {"head_sha": SHA, "head_ref": QUEUE, "base_sha": OLD, "base_ref": "refs/heads/main"}
    return translate_payload("merge_group", {**ABOUT, "action": action, "merge_group": fields, **about})


def merge_group_event(ended: GroupEnd | None) -> MergeGroupChanged:
    refs: dict[str, Any] = {"head_ref": QUEUE, "base_ref": "refs/heads/main"}
    return MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, base_sha=OLD, **refs, ended=ended)


def installation(action: str, event_name: str = "installation", **about: Any) -> Event | Ignored:
    return translate_payload(event_name, {"installation": {"id": 1}, "action": action, **about})


def installation_event(*, is_installed: bool = True, **fields: Any) -> InstallationChanged:
    return InstallationChanged(installation_id=InstallationId(1), is_installed=is_installed, **fields)


BELOW, RELEASE = "refs/heads/below", "refs/heads/release/2"
EDITED = IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9)
CONFIGURED = BranchPushed(**SOMEWHERE, branch="release/2", has_new_config=True, has_new_rules=True)
RULED = BranchPushed(**SOMEWHERE, branch="main", has_new_rules=True)
REPOSITORY = {"id": 7, "full_name": "acme/widgets"}
VISIBLE = VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets")
EVENTS: dict[str, tuple[Event | Ignored, Event]] = {
    "an issue's new text": (issue("edited", {"body": {"from": "Retry"}}), EDITED),
    "an issue's new title": (issue("edited", {"title": {"from": "Retry"}}), EDITED),
    "a deleted issue": (issue("deleted"), EDITED),
    "a transferred issue": (issue("transferred"), EDITED),
    "a push that reverts commits, each named once": (
        push({"message": "Docs"}, REVERTING, REVERTING),
        BranchPushed(**SOMEWHERE, branch="main", reverted_commits=(OLD,)),
    ),
    "an added configuration": (push({"message": "Rules", "added": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "a changed configuration": (push({"message": "Rules", "modified": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "a removed configuration": (push({"message": "Rules", "removed": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "rules for agents": (push({"message": "Retry"}, {"message": "Rules", "modified": ["AGENTS.md"]}), RULED),
    "rules in a folder": (push({"message": "Rules", "modified": ["upload.py", "docs/CLAUDE.md"]}), RULED),
    "rules of an editor": (push({"message": "Rules", "modified": [".cursor/rules/tests.mdc"]}), RULED),
    "a forced push": (
        push({"message": "Retry"}, ref=BELOW, forced=True),
        BranchPushed(**SOMEWHERE, branch="below", is_rewritten=True),
    ),
    "a requested merge group": (merge_group("checks_requested"), merge_group_event(None)),
    "a merged group": (merge_group("destroyed", reason="merged"), merge_group_event(GroupEnd.MERGED)),
    "a dequeued group": (merge_group("destroyed", reason="dequeued"), merge_group_event(GroupEnd.DEQUEUED)),
    "a group destroyed for an unknown reason": (
        merge_group("destroyed", reason="new"),
        merge_group_event(GroupEnd.INVALIDATED),
    ),
    "a group destroyed without a reason": (
        merge_group("destroyed", reason=None),
        merge_group_event(GroupEnd.INVALIDATED),
    ),
    "the App is installed": (
        installation("created", repositories=[REPOSITORY]),
        installation_event(added_repositories=(VISIBLE,)),
    ),
    "an added repository": (
        installation("added", "installation_repositories", repositories_added=[REPOSITORY]),
        installation_event(added_repositories=(VISIBLE,)),
    ),
    "a removed repository": (
        installation("removed", "installation_repositories", repositories_removed=[REPOSITORY]),
        installation_event(removed_repositories=(VISIBLE.repository_id,)),
    ),
    "the App is uninstalled": (installation("deleted"), installation_event(is_installed=False)),
    "accepted permissions": (installation("new_permissions_accepted"), installation_event(has_new_permissions=True)),
}


@pytest.mark.parametrize(("event", "expected"), EVENTS.values(), ids=EVENTS)
def test_repository_delivery_becomes_an_event(event: Event | Ignored, expected: Event) -> None:
    assert event == expected


@pytest.mark.parametrize(
    ("event", "reason"),
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
def test_irrelevant_repository_delivery_is_ignored(event: Event | Ignored, reason: str) -> None:
    assert event == Ignored(reason)
