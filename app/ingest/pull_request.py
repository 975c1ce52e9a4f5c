"""Deliveries about a pull request itself: opened, pushed to, edited, closed ...

Pure. Does not decide when it is judged (`app.ingest.intake` says why, `adapters/redis/lua/want.lua` when). Invariant: who opened it, and whether
it is a draft, travel with every event, so that each one alone suffices.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple, TypedDict

from app.ingest.event_types import (
    Ignored,
    PullClosed,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    PullRequestEdit,
    ReviewRequested,
)
from app.ingest.payloads import Delivery, PayloadAccount, PayloadPullRequest, PullRequestPayload, RepositoryPayload
from worker.domain.ids import InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.request.judge_request import AuthorKind, PullRef
from worker.dossier.case_fence import case_fence
from worker.dossier.criteria import describe_own_task
from worker.dossier.eligibility import classify_account
from worker.dossier.issue_links import find_closing_links
from worker.dossier.reverts import find_reverted_pulls, is_declared_fix

MEMBER_ASSOCIATIONS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""GitHub's words for who may have write access; nobody else has."""

HOST: Final = re.compile(r"https?://([^/:]+)")

HeadEventType = type[PullReady | PullDrafted | ReviewRequested]


def on_head_event(event: HeadEventType, delivery: Delivery) -> PullReady | PullDrafted | ReviewRequested | Ignored:
    payload = delivery.read(PullRequestPayload)
    return _ignored_if_closed(payload) or event(**_head_fields(payload))


def on_opened(delivery: Delivery) -> PullOpened:
    payload = delivery.read(PullRequestPayload)
    return PullOpened(**_head_fields(payload), has_case=_case(payload.pull_request.body or "") is not None)


def on_synchronized(delivery: Delivery) -> PullPushed:
    """A person who opened it pushes to their own branch; whether an agent did so in their name can't be told."""
    payload = delivery.read(PullRequestPayload)
    another = _other_sender(payload)
    by_another = another is not None and is_person(another)
    has_case = _case(payload.pull_request.body or "") is not None
    return PullPushed(**_head_fields(payload), by_another=by_another, before=payload.before, has_case=has_case)


def on_reopened(delivery: Delivery) -> PullReopened:
    payload = delivery.read(PullRequestPayload)
    return PullReopened(**_head_fields(payload), by_person=is_person(payload.sender))


def on_edited(delivery: Delivery) -> PullEdited | Ignored:
    """Another base, another case, other issues to close matter; other words do where no issue says what is asked for.

    Whether one that is named can be read is not known here.
    """
    payload = delivery.read(PullRequestPayload)
    made = _edit_effect(payload)
    if ignored := _ignored_if_closed(payload):
        return ignored
    if made is None:
        return Ignored("nothing_judged_by")
    closes = tuple(sorted(made.closes))
    return PullEdited(**_head_fields(payload), edit=made.edit, closes=closes, left_base_ref=_left_base(payload))


def _left_base(payload: PullRequestPayload) -> str | None:
    base = payload.changes.base
    return base.ref.before if base and base.ref else None


def _ignored_if_closed(payload: PullRequestPayload) -> Ignored | None:
    """People go on writing at what is over."""
    return None if payload.pull_request.state == "open" else Ignored("pull_request_closed")


class _PullText(NamedTuple):
    """What a pull request says."""

    title: str
    body: str


class _EditEffect(NamedTuple):
    """What an edit changed, and the issues that say what is asked for in the place of the text."""

    edit: PullRequestEdit
    closes: frozenset[tuple[str, int]] = frozenset()


def _edit_effect(payload: PullRequestPayload) -> _EditEffect | None:
    if payload.changes.base is not None:
        return _EditEffect(PullRequestEdit.BASE)
    now, before = _texts(payload)
    if now == before:
        return None
    case = _case(now.body)
    has_another = case != _case(before.body)
    if has_another and case is not None:
        return _EditEffect(PullRequestEdit.CASE)
    links = _links(now.body, payload)
    if links != _links(before.body, payload):
        return _EditEffect(PullRequestEdit.LINKS)
    if has_another:
        return _EditEffect(PullRequestEdit.TEXT)
    asks_for_another = not _is_by_other_bot(payload) and describe_own_task(*now) != describe_own_task(*before)
    return _EditEffect(PullRequestEdit.TEXT, links) if asks_for_another else None


def _texts(payload: PullRequestPayload) -> tuple[_PullText, _PullText]:
    """What it says now, and what it said before the edit."""
    pull, changes = payload.pull_request, payload.changes
    now = _PullText(pull.title, pull.body or "")
    title = now.title if changes.title is None else changes.title.before or ""
    body = now.body if changes.body is None else changes.body.before or ""
    return now, _PullText(title, body)


def _is_by_other_bot(payload: PullRequestPayload) -> bool:
    """One that writes summaries into the descriptions of others asks for nothing by that."""
    another = _other_sender(payload)
    return another is not None and not is_person(another)


def _other_sender(payload: PullRequestPayload) -> PayloadAccount | None:
    """Who did this, if that is not who opened it."""
    opener, sender = payload.pull_request.user, payload.sender
    return None if sender is None or (opener is not None and sender.login == opener.login) else sender


def _case(body: str) -> str | None:
    """The case in a description, as it stands there."""
    fence = case_fence(body)
    return fence.text if fence else None


def _links(body: str, payload: PullRequestPayload) -> frozenset[tuple[str, int]]:
    links = find_closing_links(body, payload.repository.full_name, _host(payload.pull_request.html_url))
    return frozenset((link.repository.casefold(), link.number) for link in links)


def _host(url: str) -> str:
    """Where this GitHub is; issues may be named by their URL there."""
    match = HOST.match(url)
    return match[1] if match else "github.com"


def on_closed(delivery: Delivery) -> PullClosed:
    payload = delivery.read(PullRequestPayload)
    pull, repository = payload.pull_request, payload.repository.full_name
    body = pull.body or ""
    return PullClosed(
        pull=pull_ref(payload, pull.number),
        repository=repository,
        head_sha=pull.head.sha,
        by_person=is_person(payload.sender),
        merge_sha=(pull.merge_commit_sha or pull.head.sha) if pull.merged else None,
        mends=pull.merged and is_declared_fix(pull.title, body, repository),
        reverts=find_reverted_pulls(pull.head.ref, body, repository) if pull.merged else (),
    )


class _HeadFields(TypedDict):
    """What all of these events have."""

    pull: PullRef
    repository: RepositoryName
    head_sha: Sha
    author: AuthorKind | None
    draft: bool
    base_sha: Sha | None
    base_ref: str | None
    is_outside: bool


def _head_fields(payload: PullRequestPayload) -> _HeadFields:
    pull = payload.pull_request
    base = pull.base
    return {
        "pull": pull_ref(payload, pull.number),
        "repository": payload.repository.full_name,
        "head_sha": pull.head.sha,
        "author": _author(pull),
        "draft": pull.draft,
        "base_sha": base.sha if base else None,
        "base_ref": base.ref if base else None,
        "is_outside": _is_from_fork(payload) and pull.author_association not in {"", *MEMBER_ASSOCIATIONS},
    }


def _is_from_fork(payload: PullRequestPayload) -> bool:
    """Who deletes a fork leaves its pull requests: a branch of the repository itself always names it."""
    repo = payload.pull_request.head.repo
    return repo is None or repo.id != payload.repository.id


def _author(pull: PayloadPullRequest) -> AuthorKind | None:
    user = pull.user
    return user and _kind(user.login, user.type, pull.head.ref)


_kind = lru_cache(maxsize=1024)(classify_account)
"""A pull request comes often, and whoever opened it stays the same."""


def pull_ref(payload: RepositoryPayload, number: int) -> PullRef:
    return _ref(payload.installation.id, payload.repository.id, number)


@lru_cache(maxsize=1024)
def _ref(installation: InstallationId, repository: RepositoryId, number: int) -> PullRef:
    return PullRef(installation_id=installation, repository_id=repository, number=number)


def is_person(account: PayloadAccount | None) -> bool:
    return account is not None and account.type == "User"
