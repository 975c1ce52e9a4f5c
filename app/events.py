"""What a delivery means to us: an Event (a fact that matters), or Ignored with its reason.

Pure; asks nobody. Does not decide what is done about an event (`app.intake` does). Invariant: the table is
all that we act on; what is not in it is ignored by name, so a new kind of delivery can't surprise us.

Drafts wait: opening, pushing to or reopening a draft is ignored until `ready_for_review`. A required check
that is missing on a draft holds nobody up, since GitHub merges no draft; `/rejudge` judges one all the same.
Our own check runs come back to us as `created` and `completed`; judging those would never end. Only their
`rerequested` is for us. Re-run names no head unless GitHub says which one is the pull request's own now:
an old commit's check may be re-run too, and the newest head is what is judged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, assert_never

from app.commands import Command, CommandError, parse_command
from app.payloads import (
    Account,
    CheckedPull,
    CheckRun,
    CheckRunPayload,
    CommentPayload,
    Delivery,
    PullRequestPayload,
    RepositoryPayload,
)
from worker.domain.check import pull_number
from worker.domain.frozen import Frozen
from worker.domain.ids import RepositoryName, Sha
from worker.domain.request import CommandName, PullRef


class PullFact(Frozen):
    """What all events have: which pull request."""

    pull: PullRef
    repository: RepositoryName


class PullOpened(PullFact):
    head_sha: Sha


class PullPushed(PullFact):
    head_sha: Sha


class PullReopened(PullFact):
    head_sha: Sha


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


PullChanged = PullOpened | PullPushed | PullReopened | PullReady
Event = PullChanged | CommandGiven | RerunPressed


@dataclass(frozen=True, slots=True)
class Ignored:
    """Not for us, and why: a word for logs and for the answer to GitHub."""

    reason: str


Translate = Callable[[Delivery], Event | Ignored]


def pull_changed(event: type[PullChanged], delivery: Delivery) -> PullChanged | Ignored:
    payload = delivery.read(PullRequestPayload)
    found = payload.pull_request
    if found.draft:
        return Ignored("draft")
    return event(pull=_pull(payload, found.number), repository=payload.repository.full_name, head_sha=found.head.sha)


def commented(delivery: Delivery) -> CommandGiven | Ignored:
    payload = delivery.read(CommentPayload)
    author = payload.comment.user
    if author is None:
        return Ignored("no_author")
    command = _command(payload, author)
    if isinstance(command, Ignored):
        return command
    return CommandGiven(
        pull=_pull(payload, payload.issue.number),
        repository=payload.repository.full_name,
        comment_id=payload.comment.id,
        login=author.login,
        command=command.name,
    )


def _command(payload: CommentPayload, author: Account) -> Command | Ignored:
    """What a bot writes is no command, our own answers included."""
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
            return Ignored("no_command")
        case _:
            assert_never(said)


def check_moved(delivery: Delivery) -> Ignored:
    """A check run was created or completed. Later issues make others' into an event here."""
    run = delivery.read(CheckRunPayload).check_run
    return Ignored("own_check_run") if _is_ours(run, delivery) else _unhandled(delivery)


def rerun_pressed(delivery: Delivery) -> RerunPressed | Ignored:
    payload = delivery.read(CheckRunPayload)
    run = payload.check_run
    if not _is_ours(run, delivery):
        return Ignored("other_apps_check_run")
    listed = [pull for pull in run.pull_requests if pull.base.repo.id == payload.repository.id]
    number = pull_number(run.external_id) or next((pull.number for pull in listed), None)
    if number is None:
        return Ignored("no_pull_request")
    return RerunPressed(
        pull=_pull(payload, number), repository=payload.repository.full_name, head_sha=_head(listed, number)
    )


TABLE: Final[Mapping[tuple[str, str], Translate]] = MappingProxyType(
    {
        ("pull_request", "opened"): partial(pull_changed, PullOpened),
        ("pull_request", "synchronize"): partial(pull_changed, PullPushed),
        ("pull_request", "reopened"): partial(pull_changed, PullReopened),
        ("pull_request", "ready_for_review"): partial(pull_changed, PullReady),
        ("issue_comment", "created"): commented,
        ("check_run", "created"): check_moved,
        ("check_run", "completed"): check_moved,
        ("check_run", "rerequested"): rerun_pressed,
    }
)

SUBSCRIBED: Final = frozenset(event_name for event_name, _ in TABLE)
"""The events that the App must subscribe to."""


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


def _pull(payload: RepositoryPayload, number: int) -> PullRef:
    return PullRef(installation_id=payload.installation.id, repository_id=payload.repository.id, number=number)


def _head(listed: list[CheckedPull], number: int) -> Sha | None:
    return next((pull.head.sha for pull in listed if pull.number == number), None)
