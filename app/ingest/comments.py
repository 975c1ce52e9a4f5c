"""Deliveries about what people write: comments, comments at lines, reviews.

Pure. Does not know who may give a command, and what one does (`worker.scheduling.commands` does). Invariant: what our own App wrote is
never a command; an edited comment gives the command that the edit put there, and none that stood there before.
"""

from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from app.ingest.event_types import CommandGiven, Fact, Ignored, PersonSpoke
from app.ingest.payloads import (
    Account,
    Comment,
    CommentPayload,
    Delivery,
    LineCommentPayload,
    ReviewPayload,
)
from app.ingest.pull_request import pull_ref
from app.ingest.slash_commands import Command, CommandError, parse_command
from worker.domain.ids import Sha
from worker.domain.request.judge_request import CommandName, PullRef, ReviewRef

DECIDED: Final = {"approved": CommandName.APPROVED, "changes_requested": CommandName.CHANGES}
"""What a review says by itself: a code owner's is the way back from a verdict that needs a person."""


GHOST: Final = Account(login="ghost", type="User")
"""As GitHub names an account that is gone."""


class Said(Fact, frozen=True, kw_only=True):
    """Something that somebody wrote at a pull request, wherever. `comment_id` None: in a review's own text."""

    pull: PullRef
    repository: str
    comment_id: int | None
    login: str
    is_bot: bool
    in_review: bool = False
    head_sha: Sha | None = None
    review: ReviewRef | None = None
    said_at: datetime | None = None


def commented(delivery: Delivery) -> CommandGiven | PersonSpoke | Ignored:
    payload = delivery.read(CommentPayload)
    if ignored := _not_for_us(payload, delivery):
        return ignored
    said = _said(payload, payload.issue.number)
    return _command(said, payload.comment.body) or _heard(said)


def comment_edited(delivery: Delivery) -> CommandGiven | Ignored:
    payload = delivery.read(CommentPayload)
    if ignored := _not_for_us(payload, delivery):
        return ignored
    return _edited(_said(payload, payload.issue.number), payload, payload.comment.body)


def line_commented(delivery: Delivery) -> CommandGiven | Ignored:
    """What a person says at a line is a part of their review, which is heard as one."""
    payload = delivery.read(LineCommentPayload)
    if ignored := _not_at_a_line(payload, delivery):
        return ignored
    return _command(_said(payload, payload.pull_request.number), payload.comment.body) or Ignored("part_of_a_review")


def line_comment_edited(delivery: Delivery) -> CommandGiven | Ignored:
    payload = delivery.read(LineCommentPayload)
    if ignored := _not_at_a_line(payload, delivery):
        return ignored
    return _edited(_said(payload, payload.pull_request.number), payload, payload.comment.body)


def reviewed(delivery: Delivery) -> CommandGiven | PersonSpoke | Ignored:
    payload = delivery.read(ReviewPayload)
    said = _review(payload)
    if isinstance(said, Ignored):
        return said
    said = replace(said, said_at=_moment(payload.review.submitted_at))
    command = _command(said, payload.review.body or "")
    decided = None if said.is_bot else DECIDED.get(payload.review.state)
    if command is None or decided is None:
        return command or (_heard(said) if decided is None else _given(said, decided))
    return replace(command, decides=decided)


def review_edited(delivery: Delivery) -> CommandGiven | Ignored:
    """Its text alone can be edited: what it decided was said when it was submitted."""
    payload = delivery.read(ReviewPayload)
    said = _review(payload)
    return said if isinstance(said, Ignored) else _edited(said, payload, payload.review.body or "")


def _review(payload: ReviewPayload) -> Said | Ignored:
    author = payload.review.user
    if author is None:
        return Ignored("no_author")
    if payload.pull_request.state != "open":
        return Ignored("pull_request_closed")
    return Said(
        pull=pull_ref(payload, payload.pull_request.number),
        repository=payload.repository.full_name,
        comment_id=None,
        login=author.login,
        is_bot=is_bot(author),
        in_review=True,
        head_sha=payload.review.commit_id,
        review=_ref(payload, author),
    )


def dismissed(delivery: Delivery) -> CommandGiven | Ignored:
    """Whoever GitHub lets may take a review back, also GitHub itself and also where the pull request is closed."""
    payload = delivery.read(ReviewPayload)
    by, review = payload.sender or GHOST, payload.review
    if review.commit_id is None:
        return Ignored("no_commit")
    return CommandGiven(
        pull=pull_ref(payload, payload.pull_request.number),
        repository=payload.repository.full_name,
        comment_id=None,
        login=by.login,
        command=CommandName.DISMISSED,
        is_bot=is_bot(by),
        head_sha=review.commit_id,
        in_review=True,
        review=_ref(payload, review.user or GHOST),
    )


def _ref(payload: ReviewPayload, author: Account) -> ReviewRef:
    return ReviewRef(id=payload.review.id, login=author.login, node_id=payload.review.node_id)


def _not_for_us(payload: CommentPayload, delivery: Delivery) -> Ignored | None:
    if payload.issue.pull_request is None:
        return Ignored("not_a_pull_request")
    return _unheard(payload.comment, payload.issue.state, delivery)


def _not_at_a_line(payload: LineCommentPayload, delivery: Delivery) -> Ignored | None:
    return _unheard(payload.comment, payload.pull_request.state, delivery)


def _unheard(comment: Comment, state: str, delivery: Delivery) -> Ignored | None:
    if state != "open":
        return Ignored("pull_request_closed")
    if comment.user is None:
        return Ignored("no_author")
    app = comment.performed_via_github_app
    return Ignored("own_comment") if app is not None and app.id == delivery.our_app_id else None


def _said(payload: CommentPayload | LineCommentPayload, number: int) -> Said:
    author = payload.comment.user or GHOST
    return Said(
        pull=pull_ref(payload, number),
        repository=payload.repository.full_name,
        comment_id=payload.comment.id,
        login=author.login,
        is_bot=is_bot(author),
        in_review=isinstance(payload, LineCommentPayload),
        said_at=_moment(payload.comment.updated_at),
    )


def _moment(told: str | None) -> datetime | None:
    """What is no time says nothing."""
    try:
        return datetime.fromisoformat(told).astimezone(UTC) if told else None
    except (ValueError, OverflowError):
        return None


def _heard(said: Said) -> PersonSpoke | Ignored:
    return Ignored("bot_comment") if said.is_bot else PersonSpoke(pull=said.pull, repository=said.repository)


def _edited(
    said: Said, payload: CommentPayload | LineCommentPayload | ReviewPayload, text: str
) -> CommandGiven | Ignored:
    """The command that was not there before the edit. Who may write may edit others' comments, and speaks for none of them."""
    if payload.sender is None or payload.sender.login != said.login:
        return Ignored("edited_by_another")
    was = payload.changes.body
    before = None if was is None else was.before or ""
    if before is None or parse_command(before) == parse_command(text):
        return Ignored("no_new_command")
    return _command(said, text) or Ignored("no_new_command")


def _command(said: Said, text: str) -> CommandGiven | None:
    """What a bot misspells is no command: two bots could go on for ever about it."""
    found = parse_command(text)
    if found is None or (said.is_bot and isinstance(found, CommandError)):
        return None
    if isinstance(found, Command):
        return _given(said, found.name, reason=found.reason)
    return _given(said, found.nearest, misspelt=found.found)


def _given(said: Said, command: CommandName, reason: str = "", misspelt: str | None = None) -> CommandGiven:
    return CommandGiven(
        pull=said.pull,
        repository=said.repository,
        comment_id=said.comment_id,
        login=said.login,
        command=command,
        reason=reason,
        is_bot=said.is_bot,
        misspelt=misspelt,
        head_sha=said.head_sha,
        in_review=said.in_review,
        review=said.review,
        said_at=said.said_at,
    )


def is_bot(account: Account) -> bool:
    return account.type == "Bot"
