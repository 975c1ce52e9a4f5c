"""A check run and the SARIF beside it as we write them, before any SDK sees them.

SARIF is due only where the repository wants it (`sarif`), of an accept or a reject at a pull request's head.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from worker.domain.check.author_comment import VerdictTask
from worker.domain.check.wait_status import WaitReason, WaitState
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, Frozen, Sha

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


@dataclass(frozen=True)
class Annotation:
    """One note at lines of the head's version. GitHub takes 50 a request and 64 KB a message."""

    path: str
    start_line: int
    end_line: int
    level: AnnotationLevel
    title: str
    message: str


@dataclass(frozen=True)
class Button:
    """A requested action of GitHub: three at most, label and identifier up to 20, description up to 40 characters."""

    label: str
    identifier: str
    description: str


REJUDGE: Final = Button("Re-judge", "rejudge", "Judge this commit again now")
CONTEST: Final = Button("Contest", "contest", "The verdict is wrong: judge again")
HELPFUL: Final = Button("Helpful", "helpful", "The verdict is right, or was of use")
NOT_HELPFUL: Final = Button("Not helpful", "not_helpful", "The verdict is wrong, or of no use")


@dataclass(frozen=True)
class StatusBlock:
    """A check's state for programs, with the fields of `GET /api/verdicts`.

    `reason`: a WaitReason, a category or an abstain reason. `until`: when waiting ends, or the next judging starts. `held_by`: the
    pull request of the same commit whose state the check has. `decision`, `eval_id`: of the verdict that is shown or carried over.
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
    """Of a check whose verdict is to come without a request."""
    return StatusBlock(WaitState.PENDING, reason.value, None if until is None else until.isoformat())


def build_idle_block(reason: WaitReason) -> StatusBlock:
    """Of a check whose commit is judged on request only."""
    return StatusBlock(WaitState.NONE, reason.value)


@dataclass(frozen=True)
class CheckContent:
    """`conclusion` None: in progress. Title, summary and text fit BODY_BYTES already.

    `is_queued`: judging has not begun; not `is_watched`: and has no deadline. `gives_way`: where the store knows no check run of
    the head, a concluded one at GitHub stays as it is. `is_idle`: the pull request waits for its author and can't be merged as it
    is, so that no other one of the same commit waits for it. `block`: the same for programs, written below `text`; None: made by
    an earlier version, which put it into `text`.
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
    """The `external_id` of our check runs, by which Re-run finds the pull request (events of forks name none)."""
    return f"pull:{number}"


def pull_number(external: str | None) -> int | None:
    """The pull request's number from our own `external_id`; None if it is not ours."""
    prefix, _, number = (external or "").partition(":")
    return int(number) if prefix == "pull" and number.isascii() and number.isdigit() else None


TOOL_NAME: Final = "Assay"
MOST_BYTES: Final = 10_000_000
"""What GitHub takes of one file, gzipped."""
MOST_RESULTS: Final = 5_000
"""What GitHub shows of one run. It takes five times as many, and refuses all of them where there are more."""


class UploadRefusal(StrEnum):
    """Why GitHub has no SARIF of a verdict. A retry is useless before a person acts."""

    PERMISSION = "permission"
    NOT_ENABLED = "not_enabled"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    NOT_TAKEN = "not_taken"
    TOO_LARGE = "too_large"


_NOT_PERMITTED_TEXT: Final = "not accessible by integration"
_NOT_ENABLED_TEXTS: Final = ("code scanning", "code security", "advanced security")


def classify_refusal(message: str) -> UploadRefusal:
    """The refusal that GitHub's message of a 403 means."""
    lowered = message.casefold()
    if _NOT_PERMITTED_TEXT in lowered:
        return UploadRefusal.PERMISSION
    return UploadRefusal.NOT_ENABLED if any(text in lowered for text in _NOT_ENABLED_TEXTS) else UploadRefusal.FORBIDDEN


class SarifUpload(VerdictTask):
    """Upload the SARIF of this verdict. *origin*: the verdict that it was carried over from, or itself."""

    origin: EvalId


class UploadedSarif(Frozen):
    """The verdict and head of the last upload, which is not repeated."""

    head_sha: Sha
    origin: EvalId

    def matches(self, scan: SarifUpload) -> bool:
        return (self.head_sha, self.origin) == (scan.head_sha, scan.origin)


def ref_of(pull: PullRef) -> str:
    """The ref of the head in the base repository, also of a fork's."""
    return f"refs/pull/{pull.number}/head"
