"""Deliveries about issues, branches, merge groups and the App itself.

Pure. Does not know which pull requests they are about (our own index does). Invariant: an issue that is a pull request is
never taken for an issue, and a ref is only handed on, never understood here.
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from app.ingest.event_types import AppMoved, BranchMoved, GroupTold, Ignored, IssueChanged, Seen
from app.ingest.payloads import (
    Delivery,
    GroupPayload,
    InstallationPayload,
    InstalledPayload,
    IssuePayload,
    PushedCommit,
    PushPayload,
    Repository,
)
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import Sha
from worker.dossier.mending import MOST, reverted_commits
from worker.dossier.repo_rules.files import is_rules_file

CONFIG_PATH: Final = ".github/assay.yml"
"""The door keeps what it says of the quiet window. Other rules files are only judged by."""


def issue_edited(delivery: Delivery) -> IssueChanged | Ignored:
    payload = delivery.read(IssuePayload)
    if payload.changes.body is None and payload.changes.title is None:
        return Ignored("nothing_judged_by")
    return issue_gone(delivery)


def issue_gone(delivery: Delivery) -> IssueChanged | Ignored:
    """Deleted, or moved to another repository."""
    payload = delivery.read(IssuePayload)
    if payload.issue.pull_request is not None:
        return Ignored("not_an_issue")
    return IssueChanged(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        repository=payload.repository.full_name,
        number=payload.issue.number,
    )


def branch_pushed(delivery: Delivery) -> BranchMoved | Ignored:
    """A push says nothing of pull requests, but that its commits take others back, or change what is judged by."""
    payload = delivery.read(PushPayload)
    paths = {path for commit in payload.commits for path in _paths(commit)}
    has_new_config = CONFIG_PATH in paths
    has_new_rules = has_new_config or any(map(is_rules_file, paths))
    branch = payload.ref.removeprefix("refs/heads/")
    found = _reverted(payload.commits) if branch == payload.repository.default_branch else ()
    is_rewritten = payload.forced and not (payload.created or payload.deleted)
    if not (found or has_new_rules or is_rewritten):
        return Ignored("nothing_judged_by")
    return BranchMoved(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        branch=branch,
        reverted=found,
        has_new_config=has_new_config,
        has_new_rules=has_new_rules,
        is_rewritten=is_rewritten,
    )


def _reverted(commits: Iterable[PushedCommit]) -> tuple[Sha, ...]:
    return tuple(dict.fromkeys(sha for commit in commits for sha in reverted_commits(commit.message)))[:MOST]


def _paths(commit: PushedCommit) -> tuple[str, ...]:
    return (*commit.added, *commit.modified, *commit.removed)


def group_told(delivery: Delivery) -> GroupTold:
    payload = delivery.read(GroupPayload)
    group = payload.merge_group
    return GroupTold(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        repository=payload.repository.full_name,
        head_sha=group.head_sha,
        head_ref=group.head_ref,
        base_sha=group.base_sha,
        base_ref=group.base_ref,
    )


def group_gone(delivery: Delivery) -> GroupTold:
    """For a reason that we do not know, too: nobody waits for it any more."""
    reason = delivery.read(GroupPayload).reason
    ended = GroupEnd(reason) if reason in set(GroupEnd) else GroupEnd.INVALIDATED
    return replace(group_told(delivery), ended=ended)


def app_came(delivery: Delivery) -> AppMoved:
    payload = delivery.read(InstalledPayload)
    new = (*payload.repositories, *payload.repositories_added)
    gone = tuple(one.id for one in payload.repositories_removed)
    return AppMoved(installation_id=payload.installation.id, is_there=True, new=tuple(map(_seen, new)), gone=gone)


def app_may_more(delivery: Delivery) -> AppMoved:
    return AppMoved(installation_id=delivery.read(InstallationPayload).installation.id, is_there=True, may_more=True)


def app_left(delivery: Delivery) -> AppMoved:
    return AppMoved(installation_id=delivery.read(InstallationPayload).installation.id, is_there=False)


def _seen(repository: Repository) -> Seen:
    return Seen(repository_id=repository.id, repository=repository.full_name)
