"""A check run as we write it, before any SDK sees it."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from worker.domain.check.wait_status import WaitReason, WaitState
from worker.domain.ids import Sha
from worker.domain.value import Value

CHECK_NAME: Final = "Assay"
"""What branch protection requires."""

BODY_BYTES: Final = 65_535
"""GitHub's limit for summary and for text, each."""


class Conclusion(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    ACTION_REQUIRED = "action_required"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class AnnotationLevel(StrEnum):
    NOTICE = "notice"
    WARNING = "warning"
    FAILURE = "failure"


class Annotation(Value):
    """One note at lines of the head's version. GitHub takes 50 a request and 64 KB a message."""

    path: str
    start_line: int
    end_line: int
    level: AnnotationLevel
    title: str
    message: str


class Button(Value):
    """What GitHub calls a requested action: three at most, label and identifier up to 20, description up to 40 characters."""

    label: str
    identifier: str
    description: str


REJUDGE: Final = Button("Re-judge", "rejudge", "Judge this commit again now")
CONTEST: Final = Button("Contest", "contest", "The verdict is wrong: judge it anew")
HELPFUL: Final = Button("Helpful", "helpful", "The verdict is right, or was of use")
NOT_HELPFUL: Final = Button("Not helpful", "not_helpful", "The verdict is wrong, or of no use")


class StatusBlock(Value):
    """What a check says to programs, in the words of `GET /api/verdicts`. `reason`: a Reason, a category or an abstain reason.

    `until`: when waiting ends, or it is judged again by itself. `held_by`: the pull request of the same commit whose state the
    check has. `decision`, `eval_id`: of the verdict that is shown, or carried over; None: there is none.
    """

    state: WaitState
    reason: str | None = None
    until: str | None = None
    decision: str | None = None
    eval_id: str | None = None
    superseded_by: Sha | None = None
    overridden_by: str | None = None
    reviewed_by: str | None = None
    held_by: int | None = None


def build_pending_block(reason: WaitReason, until: datetime | None = None) -> StatusBlock:
    """A verdict comes by itself."""
    return StatusBlock(WaitState.PENDING, reason.value, None if until is None else until.isoformat())


def build_idle_block(reason: WaitReason) -> StatusBlock:
    """Nobody judges this commit without being asked."""
    return StatusBlock(WaitState.NONE, reason.value)


class CheckContent(Value):
    """`conclusion` None: in progress. Title, summary and text fit GitHub's limits (65,535 bytes) already.

    `is_queued`: nobody judges yet; not `is_watched`: and that may take as long as it takes. `gives_way`: where nobody remembers
    the head's check run and GitHub has one that is concluded, that one stays as it is. `is_idle`: the pull request waits for its
    author and can't be merged as it is, so that no other one of the same commit waits for it. `block`: the same for programs, which
    is put below `text` when it is written; None: an earlier version made this, and what it had to say stands in `text`.
    """

    title: str
    summary: str
    text: str = ""
    conclusion: Conclusion | None = None
    annotations: tuple[Annotation, ...] = ()
    buttons: tuple[Button, ...] = ()
    is_queued: bool = False
    is_watched: bool = True
    gives_way: bool = False
    is_idle: bool = False
    block: StatusBlock | None = None


def external_id(number: int) -> str:
    """What we write into a check run, so that Re-run finds its pull request (events of forks name none)."""
    return f"pull:{number}"


def pull_number(external: str | None) -> int | None:
    """The pull request's number from our own `external_id`; None if it is not ours."""
    prefix, _, number = (external or "").partition(":")
    return int(number) if prefix == "pull" and number.isascii() and number.isdigit() else None
