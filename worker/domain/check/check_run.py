"""A check run and the SARIF beside it as we write them, and what `assay wait` and the API report about the verdict on one commit.

A verdict is reported for its own commit alone, and only while no open pull request with that commit is being judged. SARIF is due
only where the repository wants it (`sarif`), of an accept or a reject at a pull request's head.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

from worker.domain.check.author_comment import VerdictTask
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, Frozen, Sha
from worker.domain.verdict.verdict import Abstain, Reject, Verdict, verdict_reason


class WaitState(StrEnum):
    """PENDING: a verdict is to come. NONE: this commit is judged on request only."""

    PENDING = "pending"
    DONE = "done"
    SUPERSEDED = "superseded"
    NONE = "none"


class WaitReason(StrEnum):
    """Why there is no verdict, or none yet. Where there is one, its category or its `abstain_reason` is the reason."""

    JUDGING = "judging"
    QUIET_WINDOW = "quiet_window"
    WAITING_FOR_CI = "waiting_for_ci"
    RATE_LIMIT = "rate_limit"
    GITHUB_OUTAGE = "github_outage"
    WAITING_FOR_PULL_REQUEST = "waiting_for_pull_request"
    NEWER_COMMIT = "newer_commit"
    DRAFT = "draft"
    SKIPPED = "skipped"
    OPENED_BEFORE_ASSAY = "opened_before_assay"
    CLOSED = "closed"
    CREATED_TWICE = "created_twice"
    OVERRIDDEN = "overridden"
    NOT_JUDGED = "not_judged"
    ASSAY_FAILED = "assay_failed"
    AS_PULL_REQUEST = "as_pull_request"
    STRANGE_REF = "strange_ref"
    HELD = "held"
    UNRECORDED = "unrecorded"
    TOO_LATE = "too_late"
    NOT_SHOWN = "not_shown"
    GROUP_GONE = "group_gone"


@dataclass(frozen=True)
class PullWithHead:
    """One pull request that has or had this commit as its head.

    `head`: its newest one. `pending_reason`: why there is no verdict yet; None: nothing is due. `is_draft`: it waits as a draft.
    `verdict`: the newest on this commit, if nothing is due. `overridden_by`: the login whose override lets this commit pass.
    """

    number: int
    head: Sha | None
    pending_reason: str | None
    is_draft: bool
    verdict: Verdict | None
    overridden_by: str | None = None
    is_closed: bool = False


class StateRank(IntEnum):
    """Which of several pull requests of one commit is reported: the highest rank. HELD: a draft, which can't be merged."""

    HELD = 0
    SILENT = 1
    PASSES = 2
    NOT_JUDGED = 3
    REJECTED = 4
    PENDING = 5


@dataclass(frozen=True)
class WaitStatus:
    """`number` None: no pull request is known. `newer_head`: the head that replaced this commit. `others`: with the same commit.

    `overridden_by`: whatever the verdict, nothing is left to do. `reason`: a WaitReason, or the verdict's; None: an accept, or
    only its check names one.
    """

    state: WaitState
    explanation: str
    number: int | None = None
    newer_head: Sha | None = None
    verdict: Verdict | None = None
    others: tuple[int, ...] = ()
    overridden_by: str | None = None
    reason: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether waiting longer changes nothing. An unknown commit may still be announced."""
        return self.state is not WaitState.PENDING and self.number is not None


UNKNOWN_STATUS = WaitStatus(WaitState.NONE, "No pull request with this commit as its head is known here.")


PENDING_TEXTS: Final[Mapping[str, str]] = {
    WaitReason.JUDGING: "It is being judged, or is next.",
    WaitReason.QUIET_WINDOW: "It is judged as soon as nothing was pushed for a while.",
    WaitReason.WAITING_FOR_CI: "It waits for the other checks of this commit.",
    WaitReason.RATE_LIMIT: "GitHub takes no more requests for a while; after that it is judged.",
    WaitReason.GITHUB_OUTAGE: "GitHub can't be reached; it is tried again and again.",
}
_RETRY_TEXT: Final = "It could not be judged, and is retried automatically."


@dataclass(frozen=True)
class DueJudging:
    """A judging that is due or under way: times in milliseconds, `now` on the same clock; 0: it has none.

    `due_at`: when it starts. `first_push_at`: when the first push of the quiet window came. `waiting_since`: since when it waits
    for other checks. `rate_limit_until`: when GitHub's rate limit ends. `outage_count`: how often GitHub could not be reached.
    """

    is_started: bool
    now: int
    due_at: int = 0
    first_push_at: int = 0
    waiting_since: int = 0
    rate_limit_until: int = 0
    outage_count: int = 0


def find_wait_reason(due: DueJudging, newest: Verdict | None) -> str:
    """Why what is due has no verdict yet, as its check shows it. *newest*: the recorded verdict on this commit.

    A judging that waits for CI starts at each look at CI, and its check stays as it is: the reason stays until the verdict.
    """
    if not due.is_started and due.rate_limit_until > due.now:
        return WaitReason.RATE_LIMIT.value
    if not due.is_started and due.outage_count:
        return WaitReason.GITHUB_OUTAGE.value
    if due.waiting_since:
        return WaitReason.WAITING_FOR_CI.value
    if due.is_started or due.due_at <= due.now:
        return WaitReason.JUDGING.value
    if due.first_push_at:
        return WaitReason.QUIET_WINDOW.value
    return (verdict_reason(newest) if isinstance(newest, Abstain) else None) or WaitReason.JUDGING.value


def find_wait_status(seen: Sequence[PullWithHead], sha: Sha) -> WaitStatus:
    """Report one of the pull requests: rather one whose head this still is, an open one, the highest rank, and the newest."""
    if not seen:
        return UNKNOWN_STATUS
    chosen = max(seen, key=lambda pull: (pull.head in (None, sha), not pull.is_closed, _rank(pull), pull.number))
    others = tuple(sorted(pull.number for pull in seen if pull.number != chosen.number))
    state, reason, why = _describe(chosen, sha)
    return WaitStatus(
        state,
        why,
        chosen.number,
        newer_head=chosen.head if state is WaitState.SUPERSEDED else None,
        verdict=chosen.verdict if state is WaitState.DONE else None,
        others=others,
        overridden_by=chosen.overridden_by if state in (WaitState.DONE, WaitState.NONE) else None,
        reason=reason,
    )


def _rank(pull: PullWithHead) -> StateRank:
    if pull.pending_reason is not None:
        return StateRank.PENDING
    if pull.overridden_by is not None:
        return StateRank.PASSES
    match pull.verdict:
        case Reject():
            return StateRank.REJECTED
        case Abstain():
            return StateRank.NOT_JUDGED
        case None:
            return StateRank.HELD if pull.is_draft else StateRank.SILENT
        case _:
            return StateRank.PASSES


def _describe(pull: PullWithHead, sha: Sha) -> tuple[WaitState, str | None, str]:  # noqa: PLR0911 - a table
    if pull.head not in (None, sha):
        return WaitState.SUPERSEDED, WaitReason.NEWER_COMMIT.value, f"A newer commit was pushed: {pull.head}."
    if pull.pending_reason is not None:
        return WaitState.PENDING, pull.pending_reason, PENDING_TEXTS.get(pull.pending_reason, _RETRY_TEXT)
    if pull.overridden_by is not None:
        text = f"@{pull.overridden_by} overrode what is said of this commit: nothing is left to do."
        if pull.verdict is None:
            return WaitState.NONE, WaitReason.OVERRIDDEN.value, text
        return WaitState.DONE, verdict_reason(pull.verdict), text
    if pull.verdict is not None:
        return WaitState.DONE, verdict_reason(pull.verdict), "It was judged."
    if pull.is_draft:
        text = "It is a draft, which is judged when it is ready, a review is asked for, or by /rejudge."
        return WaitState.NONE, WaitReason.DRAFT.value, text
    return (
        WaitState.NONE,
        None,
        "It is not judged: it was skipped or closed, or is older than Assay here. Its check says why.",
    )


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
