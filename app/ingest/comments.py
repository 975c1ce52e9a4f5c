"""Deliveries about what people write: comments, comments at lines, reviews.

Our own App's comments are never commands. An edit gives the command that it added, never one that was there before.
"""

from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from app.ingest.event_types import CommandIssued, FrozenEvent, Ignored, PersonCommented
from app.ingest.payloads import Comment, CommentPayload, Delivery, LineCommentPayload, PayloadAccount, ReviewPayload
from app.ingest.pull_request import pull_ref
from app.ingest.slash_commands import CommandError, ParsedCommand, parse_command
from worker.domain.ids import Sha
from worker.domain.judge_request import CommandName, PullRef, ReviewRef

REVIEW_DECISIONS: Final = {"approved": CommandName.APPROVED, "changes_requested": CommandName.CHANGES}
"""The decision of a review: a code owner's decides a verdict that needs a person."""

GHOST: Final = PayloadAccount(login="ghost", type="User")
"""GitHub's name for a deleted account."""


class WrittenText(FrozenEvent, frozen=True, kw_only=True):
    """A text at a pull request. `comment_id` None: a review's own text."""

    pull: PullRef
    repository: str
    comment_id: int | None
    login: str
    is_bot: bool
    in_review: bool = False
    head_sha: Sha | None = None
    review: ReviewRef | None = None
    written_at: datetime | None = None


def on_comment_created(delivery: Delivery) -> CommandIssued | PersonCommented | Ignored:
    payload = delivery.read(CommentPayload)
    if ignored := _not_for_us(payload, delivery):
        return ignored
    written = _written_text(payload, payload.issue.number)
    return _command(written, payload.comment.body) or _person_commented(written)


def on_comment_edited(delivery: Delivery) -> CommandIssued | Ignored:
    payload = delivery.read(CommentPayload)
    if ignored := _not_for_us(payload, delivery):
        return ignored
    return _command_of_edit(_written_text(payload, payload.issue.number), payload, payload.comment.body)


def on_line_comment_created(delivery: Delivery) -> CommandIssued | Ignored:
    """A comment at a line is part of a review, which is delivered as a whole."""
    payload = delivery.read(LineCommentPayload)
    if ignored := _ignored_comment(payload.comment, payload.pull_request.state, delivery):
        return ignored
    written = _written_text(payload, payload.pull_request.number)
    return _command(written, payload.comment.body) or Ignored("part_of_a_review")


def on_line_comment_edited(delivery: Delivery) -> CommandIssued | Ignored:
    payload = delivery.read(LineCommentPayload)
    if ignored := _ignored_comment(payload.comment, payload.pull_request.state, delivery):
        return ignored
    return _command_of_edit(_written_text(payload, payload.pull_request.number), payload, payload.comment.body)


def on_review_submitted(delivery: Delivery) -> CommandIssued | PersonCommented | Ignored:
    payload = delivery.read(ReviewPayload)
    written = _review(payload)
    if isinstance(written, Ignored):
        return written
    written = replace(written, written_at=_parse_time(payload.review.submitted_at))
    command = _command(written, payload.review.body or "")
    decided = None if written.is_bot else REVIEW_DECISIONS.get(payload.review.state)
    if command is None or decided is None:
        return command or (_person_commented(written) if decided is None else _command_issued(written, decided))
    return replace(command, decides=decided)


def on_review_edited(delivery: Delivery) -> CommandIssued | Ignored:
    """Only its text can be edited, not its decision."""
    payload = delivery.read(ReviewPayload)
    written = _review(payload)
    return written if isinstance(written, Ignored) else _command_of_edit(written, payload, payload.review.body or "")


def _review(payload: ReviewPayload) -> WrittenText | Ignored:
    author = payload.review.user
    if author is None:
        return Ignored("no_author")
    if payload.pull_request.state != "open":
        return Ignored("pull_request_closed")
    return WrittenText(
        pull=pull_ref(payload, payload.pull_request.number),
        repository=payload.repository.full_name,
        comment_id=None,
        login=author.login,
        is_bot=is_bot(author),
        in_review=True,
        head_sha=payload.review.commit_id,
        review=_ref(payload, author),
    )


def on_review_dismissed(delivery: Delivery) -> CommandIssued | Ignored:
    """GitHub itself may dismiss a review, and on a closed pull request, too."""
    payload = delivery.read(ReviewPayload)
    by, review = payload.sender or GHOST, payload.review
    if review.commit_id is None:
        return Ignored("no_commit")
    return CommandIssued(
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


def _ref(payload: ReviewPayload, author: PayloadAccount) -> ReviewRef:
    return ReviewRef(id=payload.review.id, login=author.login, node_id=payload.review.node_id)


def _not_for_us(payload: CommentPayload, delivery: Delivery) -> Ignored | None:
    if payload.issue.pull_request is None:
        return Ignored("not_a_pull_request")
    return _ignored_comment(payload.comment, payload.issue.state, delivery)


def _ignored_comment(comment: Comment, state: str, delivery: Delivery) -> Ignored | None:
    if state != "open":
        return Ignored("pull_request_closed")
    if comment.user is None:
        return Ignored("no_author")
    app = comment.performed_via_github_app
    return Ignored("own_comment") if app is not None and app.id == delivery.our_app_id else None


def _written_text(payload: CommentPayload | LineCommentPayload, number: int) -> WrittenText:
    author = payload.comment.user or GHOST
    return WrittenText(
        pull=pull_ref(payload, number),
        repository=payload.repository.full_name,
        comment_id=payload.comment.id,
        login=author.login,
        is_bot=is_bot(author),
        in_review=isinstance(payload, LineCommentPayload),
        written_at=_parse_time(payload.comment.updated_at),
    )


def _parse_time(text: str | None) -> datetime | None:
    """The time in UTC; None: not a time."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except (ValueError, OverflowError):
        return None


def _person_commented(written: WrittenText) -> PersonCommented | Ignored:
    if written.is_bot:
        return Ignored("bot_comment")
    return PersonCommented(pull=written.pull, repository=written.repository)


def _command_of_edit(
    written: WrittenText, payload: CommentPayload | LineCommentPayload | ReviewPayload, text: str
) -> CommandIssued | Ignored:
    """The command that the edit added. Accounts with write access may edit others' comments, but not command in their name."""
    if payload.sender is None or payload.sender.login != written.login:
        return Ignored("edited_by_another")
    changed = payload.changes.body
    if changed is None or parse_command(changed.before or "") == parse_command(text):
        return Ignored("no_new_command")
    return _command(written, text) or Ignored("no_new_command")


def _command(written: WrittenText, text: str) -> CommandIssued | None:
    """A bot's misspelling is no command, or two bots could answer each other forever."""
    command = parse_command(text)
    if command is None or (written.is_bot and isinstance(command, CommandError)):
        return None
    if isinstance(command, ParsedCommand):
        return _command_issued(written, command.name, reason=command.reason)
    return _command_issued(written, command.nearest, misspelt=command.typed)


def _command_issued(
    written: WrittenText, command: CommandName, reason: str = "", misspelt: str | None = None
) -> CommandIssued:
    return CommandIssued(
        pull=written.pull,
        repository=written.repository,
        comment_id=written.comment_id,
        login=written.login,
        command=command,
        reason=reason,
        is_bot=written.is_bot,
        misspelt=misspelt,
        head_sha=written.head_sha,
        in_review=written.in_review,
        review=written.review,
        said_at=written.written_at,
    )


def is_bot(account: PayloadAccount) -> bool:
    return account.type == "Bot"
