"""What a delivery means to us: an Event (a fact that matters), or Ignored with its reason.

Pure; asks nobody. Does not decide what is done about an event (`app.intake` does). Invariant: the table is
all that we act on; what is not in it is ignored by name, so a new kind of delivery can't surprise us.

Drafts wait: opening, pushing to or reopening a draft is ignored until `ready_for_review`. A required check
that is missing on a draft holds nobody up, since GitHub merges no draft; `/rejudge` judges one all the same.
Our own check runs come back to us as `created` and `completed`; judging those would never end. Only their
`rerequested` and our buttons on them are for us. Re-run names no head unless GitHub says which one is the pull request's own now:
an old commit's check may be re-run too, and the newest head is what is judged.
What people do afterwards (close, merge, revert, comment, press a button) judges nothing; it is noted down. Of a text is
kept what was read out of it, never the text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, assert_never

from app.commands import Command, CommandError, parse_command
from app.payloads import (
    Account,
    AuthoredPayload,
    CheckedPull,
    CheckRun,
    CheckRunPayload,
    ClosedPayload,
    CommentPayload,
    Delivery,
    InstallationPayload,
    PressedPayload,
    PullRequestPayload,
    PushPayload,
    RepositoryPayload,
)
from worker.domain.check import HELPFUL, NOT_HELPFUL, pull_number
from worker.domain.frozen import Frozen
from worker.domain.ids import InstallationId, RepositoryId, RepositoryName, Sha
from worker.domain.mending import MOST, mends, reverted_commits, reverted_pulls
from worker.domain.request import CommandName, PullRef


class PullFact(Frozen):
    """What all events have: which pull request."""

    pull: PullRef
    repository: RepositoryName


class PullOpened(PullFact):
    head_sha: Sha


class PullPushed(PullFact):
    """`by_another`: by a person who did not open the pull request."""

    head_sha: Sha
    by_another: bool = False


class PullReopened(PullFact):
    head_sha: Sha
    by_person: bool = False


class PullReady(PullFact):
    """A draft is one no more."""

    head_sha: Sha


class CommandGiven(PullFact):
    """Somebody wrote a command. Whether they may is not known yet."""

    comment_id: int
    login: str
    command: CommandName


class RerunPressed(PullFact):
    """Somebody pressed Re-run at our check. `head_sha` None: GitHub did not say what the head is now."""

    head_sha: Sha | None


class PullClosed(PullFact):
    """`merge_sha` None: it was not merged. `mends`, `reverts`: what it says of earlier ones (`worker.domain.mending`)."""

    head_sha: Sha
    by_person: bool
    merge_sha: Sha | None = None
    mends: bool = False
    reverts: tuple[int, ...] = ()


class PersonSpoke(PullFact):
    """Somebody wrote a comment that is no command. What it says is not looked at."""


class ThumbGiven(PullFact):
    """Somebody pressed a button at our check."""

    head_sha: Sha | None
    is_helpful: bool


class CiFailed(Frozen):
    """Another App's check failed on a commit."""

    installation_id: InstallationId
    repository_id: RepositoryId
    head_sha: Sha


class CommitsReverted(Frozen):
    """Commits on the default branch say that they take others back."""

    installation_id: InstallationId
    repository_id: RepositoryId
    shas: tuple[Sha, ...]


PullChanged = PullOpened | PullPushed | PullReopened | PullReady


class AppMoved(Frozen):
    """The App was installed somewhere, or taken out."""

    installation_id: InstallationId
    is_there: bool


Afterwards = PullClosed | PersonSpoke | ThumbGiven | CiFailed | CommitsReverted
"""What may say how a verdict was. Nothing is judged because of it."""

Event = PullChanged | CommandGiven | RerunPressed | Afterwards | AppMoved

FAILING: Final = frozenset({"failure", "timed_out", "startup_failure"})


@dataclass(frozen=True, slots=True)
class Ignored:
    """Not for us, and why: a word for logs and for the answer to GitHub."""

    reason: str


Translate = Callable[[Delivery], Event | Ignored]


def pull_changed(event: type[PullOpened | PullReady], delivery: Delivery) -> PullOpened | PullReady | Ignored:
    payload = delivery.read(PullRequestPayload)
    found = payload.pull_request
    if found.draft:
        return Ignored("draft")
    return event(pull=_pull(payload, found.number), repository=payload.repository.full_name, head_sha=found.head.sha)


def pushed(delivery: Delivery) -> PullPushed | Ignored:
    """A person who opened it pushes to their own branch; whether an agent did so in their name can't be told."""
    payload = delivery.read(AuthoredPayload)
    found, sender = payload.pull_request, payload.sender
    if found.draft:
        return Ignored("draft")
    opener = found.user.login if found.user else None
    return PullPushed(
        pull=_pull(payload, found.number),
        repository=payload.repository.full_name,
        head_sha=found.head.sha,
        by_another=sender is not None and _is_person(sender) and sender.login != opener,
    )


def reopened(delivery: Delivery) -> PullReopened | Ignored:
    payload = delivery.read(AuthoredPayload)
    found = payload.pull_request
    if found.draft:
        return Ignored("draft")
    return PullReopened(
        pull=_pull(payload, found.number),
        repository=payload.repository.full_name,
        head_sha=found.head.sha,
        by_person=_is_person(payload.sender),
    )


def closed(delivery: Delivery) -> PullClosed:
    payload = delivery.read(ClosedPayload)
    found, repository = payload.pull_request, payload.repository.full_name
    said = found.body or ""
    return PullClosed(
        pull=_pull(payload, found.number),
        repository=repository,
        head_sha=found.head.sha,
        by_person=_is_person(payload.sender),
        merge_sha=(found.merge_commit_sha or found.head.sha) if found.merged else None,
        mends=found.merged and mends(found.title, said, repository),
        reverts=reverted_pulls(found.head.ref, said, repository) if found.merged else (),
    )


def branch_pushed(delivery: Delivery) -> CommitsReverted | Ignored:
    """A push says nothing of pull requests, but that its commits take others back."""
    payload = delivery.read(PushPayload)
    if payload.ref != f"refs/heads/{payload.repository.default_branch}":
        return Ignored("not_the_default_branch")
    found = dict.fromkeys(sha for commit in payload.commits for sha in reverted_commits(commit.message))
    if not found:
        return Ignored("nothing_reverted")
    return CommitsReverted(
        installation_id=payload.installation.id, repository_id=payload.repository.id, shas=tuple(found)[:MOST]
    )


def commented(delivery: Delivery) -> CommandGiven | PersonSpoke | Ignored:
    payload = delivery.read(CommentPayload)
    author = payload.comment.user
    if author is None:
        return Ignored("no_author")
    command = _command(payload, author)
    if isinstance(command, Ignored):
        return command
    if command is None:
        return PersonSpoke(pull=_pull(payload, payload.issue.number), repository=payload.repository.full_name)
    return CommandGiven(
        pull=_pull(payload, payload.issue.number),
        repository=payload.repository.full_name,
        comment_id=payload.comment.id,
        login=author.login,
        command=command.name,
    )


def _command(payload: CommentPayload, author: Account) -> Command | Ignored | None:
    """What a bot writes is no command, our own answers included. None: it was only said."""
    if payload.issue.pull_request is None:
        return Ignored("not_a_pull_request")
    if payload.issue.state != "open":
        return Ignored("pull_request_closed")
    if author.type == "Bot":
        return Ignored("bot_comment")
    said = parse_command(payload.comment.body)
    match said:
        case Command():
            return said
        case CommandError():
            return Ignored("unknown_command")
        case None:
            return None
        case _:
            assert_never(said)


def check_moved(delivery: Delivery) -> CiFailed | Ignored:
    """A check run was created or completed. Of others' only that one failed says anything; later issues take up more."""
    payload = delivery.read(CheckRunPayload)
    run = payload.check_run
    if _is_ours(run, delivery):
        return Ignored("own_check_run")
    if run.conclusion not in FAILING or run.head_sha is None:
        return _unhandled(delivery)
    return CiFailed(installation_id=payload.installation.id, repository_id=payload.repository.id, head_sha=run.head_sha)


def button_pressed(delivery: Delivery) -> ThumbGiven | Ignored:
    """Helpful, or not. What a bot presses says nothing."""
    payload = delivery.read(PressedPayload)
    run, pressed = payload.check_run, payload.requested_action.identifier
    if not _is_ours(run, delivery):
        return Ignored("other_apps_check_run")
    if pressed not in (HELPFUL.identifier, NOT_HELPFUL.identifier):
        return Ignored("unknown_button")
    if not _is_person(payload.sender):
        return Ignored("bot_pressed")
    number = _number(run, payload)
    if number is None:
        return Ignored("no_pull_request")
    return ThumbGiven(
        pull=_pull(payload, number),
        repository=payload.repository.full_name,
        head_sha=run.head_sha,
        is_helpful=pressed == HELPFUL.identifier,
    )


def rerun_pressed(delivery: Delivery) -> RerunPressed | Ignored:
    payload = delivery.read(CheckRunPayload)
    run = payload.check_run
    if not _is_ours(run, delivery):
        return Ignored("other_apps_check_run")
    number = _number(run, payload)
    if number is None:
        return Ignored("no_pull_request")
    head_sha = _head(_listed(run, payload), number)
    return RerunPressed(pull=_pull(payload, number), repository=payload.repository.full_name, head_sha=head_sha)


def app_moved(delivery: Delivery, *, is_there: bool) -> AppMoved:
    return AppMoved(installation_id=delivery.read(InstallationPayload).installation.id, is_there=is_there)


TABLE: Final[Mapping[tuple[str, str], Translate]] = MappingProxyType(
    {
        ("pull_request", "opened"): partial(pull_changed, PullOpened),
        ("pull_request", "synchronize"): pushed,
        ("pull_request", "reopened"): reopened,
        ("pull_request", "closed"): closed,
        ("pull_request", "ready_for_review"): partial(pull_changed, PullReady),
        ("issue_comment", "created"): commented,
        ("check_run", "created"): check_moved,
        ("check_run", "completed"): check_moved,
        ("check_run", "rerequested"): rerun_pressed,
        ("check_run", "requested_action"): button_pressed,
        ("push", ""): branch_pushed,
        ("installation", "created"): partial(app_moved, is_there=True),
        ("installation", "deleted"): partial(app_moved, is_there=False),
    }
)

SUBSCRIBED: Final = frozenset(event_name for event_name, _ in TABLE) - {"installation"}
"""The events that the App must subscribe to. What is about the App itself comes to it anyway."""


def translate(delivery: Delivery) -> Event | Ignored:
    """Say what a delivery means to us. Raises Malformed if it is one of ours and can't be read."""
    to_event = TABLE.get((delivery.event_name, delivery.envelope.action or ""))
    if to_event is None:
        return _unhandled(delivery)
    if delivery.envelope.installation is None:
        return Ignored("no_installation")
    return to_event(delivery)


def _unhandled(delivery: Delivery) -> Ignored:
    return Ignored(f"unhandled:{delivery.name}")


def _is_ours(run: CheckRun, delivery: Delivery) -> bool:
    return run.app is not None and run.app.id == delivery.our_app_id


def _is_person(account: Account | None) -> bool:
    return account is not None and account.type == "User"


def _listed(run: CheckRun, payload: RepositoryPayload) -> list[CheckedPull]:
    return [pull for pull in run.pull_requests if pull.base.repo.id == payload.repository.id]


def _number(run: CheckRun, payload: RepositoryPayload) -> int | None:
    """Which pull request a check run of ours is of."""
    return pull_number(run.external_id) or next((pull.number for pull in _listed(run, payload)), None)


def _pull(payload: RepositoryPayload, number: int) -> PullRef:
    return PullRef(installation_id=payload.installation.id, repository_id=payload.repository.id, number=number)


def _head(listed: list[CheckedPull], number: int) -> Sha | None:
    return next((pull.head.sha for pull in listed if pull.number == number), None)
