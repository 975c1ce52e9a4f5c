"""Deliveries about issues, branches, merge groups and the App itself.

Which pull requests they are about is looked up at intake, in the index in Redis.
"""

from typing import Final

from msgspec.structs import replace

from app.ingest.event_types import (
    BranchPushed,
    Ignored,
    InstallationChanged,
    IssueChanged,
    MergeGroupChanged,
    VisibleRepository,
)
from app.ingest.payloads import (
    Delivery,
    InstallationPayload,
    InstallationRepositoriesPayload,
    IssuePayload,
    MergeGroupPayload,
    PushPayload,
)
from worker.domain.check.merge_group import GroupEnd
from worker.dossier.issues import MOST_COMMITS, find_reverted_commits
from worker.dossier.repo_rules.files import is_rules_file

CONFIG_PATH: Final = ".github/assay.yml"
"""Its quiet window is cached in Redis, unlike anything in other rules files."""


def on_issue_edited(delivery: Delivery) -> IssueChanged | Ignored:
    payload = delivery.read(IssuePayload)
    if payload.changes.body is None and payload.changes.title is None:
        return Ignored("nothing_judged_by")
    return on_issue_removed(delivery)


def on_issue_removed(delivery: Delivery) -> IssueChanged | Ignored:
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


def on_push(delivery: Delivery) -> BranchPushed | Ignored:
    """A push matters where it reverts commits, changes rules files or rewrites the branch."""
    payload = delivery.read(PushPayload)
    paths = {path for commit in payload.commits for path in (*commit.added, *commit.modified, *commit.removed)}
    has_new_config = CONFIG_PATH in paths
    has_new_rules = has_new_config or any(map(is_rules_file, paths))
    branch = payload.ref.removeprefix("refs/heads/")
    commits = payload.commits if branch == payload.repository.default_branch else ()
    reverted = dict.fromkeys(sha for commit in commits for sha in find_reverted_commits(commit.message))
    is_rewritten = payload.forced and not (payload.created or payload.deleted)
    if not (reverted or has_new_rules or is_rewritten):
        return Ignored("nothing_judged_by")
    return BranchPushed(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        branch=branch,
        reverted_commits=tuple(reverted)[:MOST_COMMITS],
        has_new_config=has_new_config,
        has_new_rules=has_new_rules,
        is_rewritten=is_rewritten,
    )


def on_merge_group_requested(delivery: Delivery) -> MergeGroupChanged:
    payload = delivery.read(MergeGroupPayload)
    group = payload.merge_group
    return MergeGroupChanged(
        installation_id=payload.installation.id,
        repository_id=payload.repository.id,
        repository=payload.repository.full_name,
        head_sha=group.head_sha,
        head_ref=group.head_ref,
        base_sha=group.base_sha,
        base_ref=group.base_ref,
    )


def on_merge_group_destroyed(delivery: Delivery) -> MergeGroupChanged:
    """An unknown reason counts as invalidated."""
    reason = delivery.read(MergeGroupPayload).reason
    ended = GroupEnd(reason) if reason in set(GroupEnd) else GroupEnd.INVALIDATED
    return replace(on_merge_group_requested(delivery), ended=ended)


def on_app_installed(delivery: Delivery) -> InstallationChanged:
    payload = delivery.read(InstallationRepositoriesPayload)
    added = (*payload.repositories, *payload.repositories_added)
    return InstallationChanged(
        installation_id=payload.installation.id,
        is_installed=True,
        added_repositories=tuple(
            VisibleRepository(repository_id=repository.id, repository=repository.full_name) for repository in added
        ),
        removed_repositories=tuple(repository.id for repository in payload.repositories_removed),
    )


def on_permissions_accepted(delivery: Delivery) -> InstallationChanged:
    return InstallationChanged(
        installation_id=delivery.read(InstallationPayload).installation.id, is_installed=True, has_new_permissions=True
    )


def on_app_uninstalled(delivery: Delivery) -> InstallationChanged:
    return InstallationChanged(installation_id=delivery.read(InstallationPayload).installation.id, is_installed=False)
