"""Deliveries about a pull request itself: opened, pushed to, edited, closed ...

Each event carries author and draft state, so that it suffices without earlier ones. `worker/domain/lifecycle/intake.py` decides when to
judge.
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
from app.ingest.payloads import Delivery, PayloadAccount, PullRequestPayload, RepositoryPayload
from worker.domain.ids import InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.judge_request import AuthorKind, PullRef
from worker.dossier.authors import classify_account
from worker.dossier.criteria import describe_own_task
from worker.dossier.issues import find_closing_links, find_reverted_pulls, is_declared_fix
from worker.dossier.markdown import case_fence

MEMBER_ASSOCIATIONS: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""The associations of accounts that may have write access."""

HOST: Final = re.compile(r"https?://([^/:]+)")

HeadEventType = type[PullReady | PullDrafted | ReviewRequested]


def on_head_event(event: HeadEventType, delivery: Delivery) -> PullReady | PullDrafted | ReviewRequested | Ignored:
    payload = delivery.read(PullRequestPayload)
    return _ignored_if_closed(payload) or event(**_head_fields(payload))


def on_opened(delivery: Delivery) -> PullOpened:
    payload = delivery.read(PullRequestPayload)
    return PullOpened(**_head_fields(payload), has_case=case_fence(payload.pull_request.body or "") is not None)


def on_synchronized(delivery: Delivery) -> PullPushed:
    """`by_another` is false for the opener, whether they or an agent in their name pushed."""
    payload = delivery.read(PullRequestPayload)
    by_another = is_person(_other_sender(payload))
    has_case = case_fence(payload.pull_request.body or "") is not None
    return PullPushed(**_head_fields(payload), by_another=by_another, before=payload.before, has_case=has_case)


def on_reopened(delivery: Delivery) -> PullReopened:
    payload = delivery.read(PullRequestPayload)
    return PullReopened(**_head_fields(payload), by_person=is_person(payload.sender))


def on_edited(delivery: Delivery) -> PullEdited | Ignored:
    """A changed base, case or closing issue matters; other text does where no issue states the criteria.

    Whether a named issue can be read is checked at intake.
    """
    payload = delivery.read(PullRequestPayload)
    effect = _edit_effect(payload)
    if ignored := _ignored_if_closed(payload):
        return ignored
    if effect is None:
        return Ignored("nothing_judged_by")
    base = payload.changes.base
    left_base_ref = base.ref.before if base and base.ref else None
    closes = tuple(sorted(effect.closes))
    return PullEdited(**_head_fields(payload), edit=effect.edit, closes=closes, left_base_ref=left_base_ref)


def _ignored_if_closed(payload: PullRequestPayload) -> Ignored | None:
    return None if payload.pull_request.state == "open" else Ignored("pull_request_closed")


class _PullText(NamedTuple):
    title: str
    body: str


class _EditEffect(NamedTuple):
    """What an edit changed, and the issues that state the criteria instead of the text."""

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
    other = _other_sender(payload)
    is_by_other_bot = other is not None and not is_person(other)  # such as one that writes summaries
    has_other_task = not is_by_other_bot and describe_own_task(*now) != describe_own_task(*before)
    return _EditEffect(PullRequestEdit.TEXT, links) if has_other_task else None


def _texts(payload: PullRequestPayload) -> tuple[_PullText, _PullText]:
    """Title and body now, and before the edit."""
    pull, changes = payload.pull_request, payload.changes
    now = _PullText(pull.title, pull.body or "")
    title = now.title if changes.title is None else changes.title.before or ""
    body = now.body if changes.body is None else changes.body.before or ""
    return now, _PullText(title, body)


def _other_sender(payload: PullRequestPayload) -> PayloadAccount | None:
    """The sender, unless it is the opener."""
    opener, sender = payload.pull_request.user, payload.sender
    return None if sender is None or (opener is not None and sender.login == opener.login) else sender


def _case(body: str) -> str | None:
    """The text of the case in a description."""
    fence = case_fence(body)
    return fence.text if fence else None


def _links(body: str, payload: PullRequestPayload) -> frozenset[tuple[str, int]]:
    match = HOST.match(payload.pull_request.html_url)
    links = find_closing_links(body, payload.repository.full_name, match[1] if match else "github.com")
    return frozenset((link.repository.casefold(), link.number) for link in links)


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
    """The fields of a HeadEvent."""

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
    base, head_repository = pull.base, pull.head.repo
    is_from_fork = head_repository is None or head_repository.id != payload.repository.id  # None: a deleted fork
    return {
        "pull": pull_ref(payload, pull.number),
        "repository": payload.repository.full_name,
        "head_sha": pull.head.sha,
        "author": pull.user and _classify_account(pull.user.login, pull.user.type, pull.head.ref),
        "draft": pull.draft,
        "base_sha": base.sha if base else None,
        "base_ref": base.ref if base else None,
        "is_outside": is_from_fork and pull.author_association not in {"", *MEMBER_ASSOCIATIONS},
    }


_classify_account = lru_cache(maxsize=1024)(classify_account)


def pull_ref(payload: RepositoryPayload, number: int) -> PullRef:
    return _ref(payload.installation.id, payload.repository.id, number)


@lru_cache(maxsize=1024)
def _ref(installation: InstallationId, repository: RepositoryId, number: int) -> PullRef:
    return PullRef(installation_id=installation, repository_id=repository, number=number)


def is_person(account: PayloadAccount | None) -> bool:
    return account is not None and account.type == "User"
