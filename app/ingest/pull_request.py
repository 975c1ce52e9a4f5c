"""Deliveries about a pull request itself: opened, pushed to, edited, closed ...

Pure. Does not decide when it is judged (`app.ingest.intake` says why, `adapters/redis/lua/want.lua` when). Invariant: who opened it, and whether
it is a draft, travel with every event, so that each one alone suffices.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple, TypedDict

from app.ingest.event_types import (
    Edit,
    Ignored,
    PullClosed,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    ReviewAsked,
)
from app.ingest.payloads import Account, Delivery, PullRequest, PullRequestPayload, RepositoryPayload
from worker.domain.ids import InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.request.judge_request import AuthorKind, PullRef
from worker.dossier.case_fence import case_fence
from worker.dossier.criteria import own_text
from worker.dossier.eligibility import kind_of_account
from worker.dossier.issue_links import closing_links
from worker.dossier.mending import mends, reverted_pulls

INSIDE: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""GitHub's words for who may have write access; nobody else has."""

HOST: Final = re.compile(r"https?://([^/:]+)")

HeadEvent = type[PullReady | PullDrafted | ReviewAsked]


def changed(event: HeadEvent, delivery: Delivery) -> PullReady | PullDrafted | ReviewAsked | Ignored:
    payload = delivery.read(PullRequestPayload)
    return _closed(payload) or event(**_head(payload))


def opened(delivery: Delivery) -> PullOpened:
    payload = delivery.read(PullRequestPayload)
    return PullOpened(**_head(payload), has_case=_case(payload.pull_request.body or "") is not None)


def pushed(delivery: Delivery) -> PullPushed:
    """A person who opened it pushes to their own branch; whether an agent did so in their name can't be told."""
    payload = delivery.read(PullRequestPayload)
    another = _another(payload)
    by_another = another is not None and is_person(another)
    has_case = _case(payload.pull_request.body or "") is not None
    return PullPushed(**_head(payload), by_another=by_another, before=payload.before, has_case=has_case)


def reopened(delivery: Delivery) -> PullReopened:
    payload = delivery.read(PullRequestPayload)
    return PullReopened(**_head(payload), by_person=is_person(payload.sender))


def edited(delivery: Delivery) -> PullEdited | Ignored:
    """Another base, another case, other issues to close matter; other words do where no issue says what is asked for.

    Whether one that is named can be read is not known here.
    """
    payload = delivery.read(PullRequestPayload)
    made = _edit(payload)
    if ignored := _closed(payload):
        return ignored
    if made is None:
        return Ignored("nothing_judged_by")
    closes = tuple(sorted(made.closes))
    return PullEdited(**_head(payload), edit=made.edit, closes=closes, left_base_ref=_left_base(payload))


def _left_base(payload: PullRequestPayload) -> str | None:
    base = payload.changes.base
    return base.ref.before if base and base.ref else None


def _closed(payload: PullRequestPayload) -> Ignored | None:
    """People go on writing at what is over."""
    return None if payload.pull_request.state == "open" else Ignored("pull_request_closed")


class _Said(NamedTuple):
    """What a pull request says."""

    title: str
    body: str


class _Made(NamedTuple):
    """What an edit changed, and the issues that say what is asked for in the place of the text."""

    edit: Edit
    closes: frozenset[tuple[str, int]] = frozenset()


def _edit(payload: PullRequestPayload) -> _Made | None:
    if payload.changes.base is not None:
        return _Made(Edit.BASE)
    now, before = _said(payload)
    if now == before:
        return None
    case = _case(now.body)
    has_another = case != _case(before.body)
    if has_another and case is not None:
        return _Made(Edit.CASE)
    links = _links(now.body, payload)
    if links != _links(before.body, payload):
        return _Made(Edit.LINKS)
    if has_another:
        return _Made(Edit.TEXT)
    asks_for_another = not _is_by_anothers_bot(payload) and own_text(*now) != own_text(*before)
    return _Made(Edit.TEXT, links) if asks_for_another else None


def _said(payload: PullRequestPayload) -> tuple[_Said, _Said]:
    """What it says now, and what it said before the edit."""
    found, changes = payload.pull_request, payload.changes
    now = _Said(found.title, found.body or "")
    title = now.title if changes.title is None else changes.title.before or ""
    body = now.body if changes.body is None else changes.body.before or ""
    return now, _Said(title, body)


def _is_by_anothers_bot(payload: PullRequestPayload) -> bool:
    """One that writes summaries into the descriptions of others asks for nothing by that."""
    another = _another(payload)
    return another is not None and not is_person(another)


def _another(payload: PullRequestPayload) -> Account | None:
    """Who did this, if that is not who opened it."""
    opener, sender = payload.pull_request.user, payload.sender
    return None if sender is None or (opener is not None and sender.login == opener.login) else sender


def _case(body: str) -> str | None:
    """The case in a description, as it stands there."""
    fence = case_fence(body)
    return fence.text if fence else None


def _links(body: str, payload: PullRequestPayload) -> frozenset[tuple[str, int]]:
    links = closing_links(body, payload.repository.full_name, _host(payload.pull_request.html_url))
    return frozenset((link.repository.casefold(), link.number) for link in links)


def _host(url: str) -> str:
    """Where this GitHub is; issues may be named by their URL there."""
    found = HOST.match(url)
    return found[1] if found else "github.com"


def closed(delivery: Delivery) -> PullClosed:
    payload = delivery.read(PullRequestPayload)
    found, repository = payload.pull_request, payload.repository.full_name
    said = found.body or ""
    return PullClosed(
        pull=pull_ref(payload, found.number),
        repository=repository,
        head_sha=found.head.sha,
        by_person=is_person(payload.sender),
        merge_sha=(found.merge_commit_sha or found.head.sha) if found.merged else None,
        mends=found.merged and mends(found.title, said, repository),
        reverts=reverted_pulls(found.head.ref, said, repository) if found.merged else (),
    )


class _Head(TypedDict):
    """What all of these events have."""

    pull: PullRef
    repository: RepositoryName
    head_sha: Sha
    author: AuthorKind | None
    draft: bool
    base_sha: Sha | None
    base_ref: str | None
    is_outside: bool


def _head(payload: PullRequestPayload) -> _Head:
    found = payload.pull_request
    base = found.base
    return {
        "pull": pull_ref(payload, found.number),
        "repository": payload.repository.full_name,
        "head_sha": found.head.sha,
        "author": _author(found),
        "draft": found.draft,
        "base_sha": base.sha if base else None,
        "base_ref": base.ref if base else None,
        "is_outside": _is_from_fork(payload) and found.author_association not in {"", *INSIDE},
    }


def _is_from_fork(payload: PullRequestPayload) -> bool:
    """Who deletes a fork leaves its pull requests: a branch of the repository itself always names it."""
    repo = payload.pull_request.head.repo
    return repo is None or repo.id != payload.repository.id


def _author(found: PullRequest) -> AuthorKind | None:
    user = found.user
    return user and _kind(user.login, user.type, found.head.ref)


_kind = lru_cache(maxsize=1024)(kind_of_account)
"""A pull request comes often, and whoever opened it stays the same."""


def pull_ref(payload: RepositoryPayload, number: int) -> PullRef:
    return _ref(payload.installation.id, payload.repository.id, number)


@lru_cache(maxsize=1024)
def _ref(installation: InstallationId, repository: RepositoryId, number: int) -> PullRef:
    return PullRef(installation_id=installation, repository_id=repository, number=number)


def is_person(account: Account | None) -> bool:
    return account is not None and account.type == "User"
