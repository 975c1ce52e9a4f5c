"""Deliveries about what people write: comments, comments at lines, reviews.

Our own App's comments are never commands. An edit gives the command that it added, never one that was there before.
"""

from datetime import UTC, datetime
from typing import Final

from msgspec.structs import asdict, replace

from app.ingest.event_types import CommandIssued, Ignored, PersonCommented, WrittenText
from app.ingest.payloads import CommentPayload, Delivery, LineCommentPayload, PayloadAccount, ReviewPayload
from app.ingest.pull_request import pull_ref
from app.ingest.slash_commands import CommandError, ParsedCommand, parse_command
from worker.domain.judge_request import CommandName, ReviewRef

REVIEW_DECISIONS: Final = {"approved": CommandName.APPROVED, "changes_requested": CommandName.CHANGES}
"""The decision of a review: a code owner's decides a verdict that needs a person."""

GHOST: Final = PayloadAccount(login="ghost", type="User")
"""GitHub's name for a deleted account."""

CommentShape = type[CommentPayload | LineCommentPayload]


def on_comment_created(shape: CommentShape, delivery: Delivery) -> CommandIssued | PersonCommented | Ignored:
    payload = delivery.read(shape)
    written = _read_comment(payload, delivery)
    if isinstance(written, Ignored):
        return written
    if command := _command(written, payload.comment.body):
        return command
    return Ignored("part_of_a_review") if written.in_review else _person_commented(written)


def on_comment_edited(shape: CommentShape, delivery: Delivery) -> CommandIssued | Ignored:
    payload = delivery.read(shape)
    written = _read_comment(payload, delivery)
    return written if isinstance(written, Ignored) else _command_of_edit(written, payload, payload.comment.body)


def _read_comment(payload: CommentPayload | LineCommentPayload, delivery: Delivery) -> WrittenText | Ignored:
    """A comment, or why it is not for us. One at a line is part of a review, which is delivered as a whole."""
    comment, app = payload.comment, payload.comment.performed_via_github_app
    if isinstance(payload, CommentPayload) and payload.issue.pull_request is None:
        return Ignored("not_a_pull_request")
    subject = payload.issue if isinstance(payload, CommentPayload) else payload.pull_request
    if subject.state != "open":
        return Ignored("pull_request_closed")
    if comment.user is None:
        return Ignored("no_author")
    if app is not None and app.id == delivery.our_app_id:
        return Ignored("own_comment")
    return WrittenText(
        pull=pull_ref(payload, subject.number),
        repository=payload.repository.full_name,
        comment_id=comment.id,
        login=comment.user.login,
        is_bot=is_bot(comment.user),
        in_review=isinstance(payload, LineCommentPayload),
        said_at=_parse_time(comment.updated_at),
    )


def on_review_submitted(delivery: Delivery) -> CommandIssued | PersonCommented | Ignored:
    payload = delivery.read(ReviewPayload)
    written = _read_review(payload)
    if isinstance(written, Ignored):
        return written
    written = replace(written, said_at=_parse_time(payload.review.submitted_at))
    command = _command(written, payload.review.body or "")
    decided = None if written.is_bot else REVIEW_DECISIONS.get(payload.review.state)
    if command is None or decided is None:
        return command or (_person_commented(written) if decided is None else _command_issued(written, decided))
    return replace(command, decides=decided)


def on_review_edited(delivery: Delivery) -> CommandIssued | Ignored:
    """Only its text can be edited, not its decision."""
    payload = delivery.read(ReviewPayload)
    written = _read_review(payload)
    return written if isinstance(written, Ignored) else _command_of_edit(written, payload, payload.review.body or "")


def _read_review(payload: ReviewPayload) -> WrittenText | Ignored:
    author = payload.review.user
    if author is None:
        return Ignored("no_author")
    return _review_text(payload, author) if payload.pull_request.state == "open" else Ignored("pull_request_closed")


def on_review_dismissed(delivery: Delivery) -> CommandIssued | Ignored:
    """GitHub itself may dismiss a review, and on a closed pull request, too."""
    payload = delivery.read(ReviewPayload)
    if payload.review.commit_id is None:
        return Ignored("no_commit")
    return _command_issued(_review_text(payload, payload.sender or GHOST), CommandName.DISMISSED)


def _review_text(payload: ReviewPayload, account: PayloadAccount) -> WrittenText:
    """A review with the account that wrote or dismissed it."""
    review = payload.review
    return WrittenText(
        pull=pull_ref(payload, payload.pull_request.number),
        repository=payload.repository.full_name,
        comment_id=None,
        login=account.login,
        is_bot=is_bot(account),
        in_review=True,
        head_sha=review.commit_id,
        review=ReviewRef(id=review.id, login=(review.user or GHOST).login, node_id=review.node_id),
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
    return CommandIssued(**asdict(written), command=command, reason=reason, misspelt=misspelt)


def is_bot(account: PayloadAccount) -> bool:
    return account.type == "Bot"
