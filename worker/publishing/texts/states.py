"""The check of a head that nobody judges yet, or at all: who waits for what, and what ends the waiting.

Pure. Does not decide (`worker.dossier.eligibility` does). Invariant: nothing of a pull request's own words is in these texts.
"""

from datetime import datetime
from typing import Final

from worker.domain.check.check_run import CheckContent, Conclusion, none_coming, pending
from worker.domain.check.wait_status import Reason
from worker.domain.request.judge_request import AuthorKind, Trigger
from worker.domain.value import replace
from worker.publishing.texts.check_run import BODY_BYTES, judging
from worker.publishing.texts.markdown import blocks, joined
from worker.publishing.texts.phrases import REQUIRED_UNPROVEN

ANYHOW: Final = "An account with write access has it judged all the same: comment `/rejudge`."
SET_IN: Final = "Whose pull requests are judged is set in `.github/assay.yml`, under `authors`."

WHOSE: Final[dict[AuthorKind, tuple[str, str]]] = {
    AuthorKind.AGENT: (
        "a coding agent's pull requests are not judged here",
        "This repository has pull requests of coding agents left alone.",
    ),
    AuthorKind.BOT: (
        "opened by a bot that is no coding agent",
        "Bots that keep dependencies up to date, say, are left alone here.",
    ),
    AuthorKind.PERSON: (
        "written by a person",
        "Assay judges coding agents here, and neither account, nor branch, nor any commit of this pull request is an agent's.",
    ),
}

AGAIN: Final[dict[Trigger, tuple[str, str]]] = {
    Trigger.RULES: (
        "the rules changed",
        "The earlier verdict was made by the base branch's rules as they stood before.",
    ),
    Trigger.CRITERIA: ("the issue was edited", "The earlier verdict was made by the issue as it stood before."),
    Trigger.BASE: ("the base changed", "The earlier verdict was made for another base."),
    Trigger.TEXT: (
        "its title or description was edited",
        "The earlier verdict was made by the title and description as they stood before.",
    ),
    Trigger.EDITED: ("the linked issues changed", "The earlier verdict was made by other issues."),
    Trigger.CI: ("other checks finished", "The earlier verdict waited for them, or said that they failed."),
}


def waiting(
    starts_at: datetime, window_s: float, *, is_watched: bool = True, why: Trigger | None = None
) -> CheckContent:
    """The quiet window. *why*: what has a verdict that stood there count no more."""
    when = f"Judging starts at {starts_at:%H:%M:%S} UTC"
    before = f"{AGAIN[why][1]} " if why is not None and why in AGAIN else ""
    return CheckContent(
        title=when,
        summary=f"{before}{when}, {window_s:g} s after the last push or edit. Green CI, a review request, an `assay` block in the description or "
        "`/rejudge` starts it at once.",
        is_queued=True,
        is_watched=is_watched,
        block=pending(Reason.QUIET_WINDOW, starts_at),
    )


def draft() -> CheckContent:
    return CheckContent(
        title="Draft: judged when it is ready",
        summary="A draft is judged when it is marked ready for review, when a review is requested, when its "
        "description gets an `assay` block, or when an account with write access comments `/rejudge`.",
        is_queued=True,
        is_watched=False,
        is_idle=True,
        block=none_coming(Reason.DRAFT),
    )


def skipped(author: AuthorKind) -> CheckContent:
    title, why = WHOSE[author]
    return CheckContent(
        title=f"Skipped: {title}",
        summary=f"{why}\n\n{ANYHOW} {SET_IN}",
        conclusion=Conclusion.SKIPPED,
        block=none_coming(Reason.SKIPPED),
    )


def old(*, is_blocking: bool = False) -> CheckContent:
    """*is_blocking*: merges wait for this check, and the repository does not let pass what was not judged."""
    step = "**Next step:** push a commit, or comment `/rejudge`."
    return CheckContent(
        title="Opened before Assay was installed",
        summary=f"{REQUIRED_UNPROVEN}\n\n{step}" if is_blocking else f"This pull request was not judged.\n\n{step}",
        conclusion=Conclusion.ACTION_REQUIRED if is_blocking else Conclusion.NEUTRAL,
        gives_way=True,
        block=none_coming(Reason.OPENED_BEFORE_ASSAY),
    )


def begun(trigger: Trigger) -> CheckContent:
    """Judging begins, and where a verdict may stand there already: why it counts no more."""
    if trigger not in AGAIN:
        return judging()
    title, why = AGAIN[trigger]
    return CheckContent(
        title=f"Judging again: {title}",
        summary=f"{why} The new one appears here.",
        block=pending(Reason.JUDGING),
    )


def said_why(content: CheckContent, trigger: Trigger) -> CheckContent:
    """A verdict that was made because something else than the change changed says what."""
    if trigger not in AGAIN:
        return content
    note = f"*Judged again, since {AGAIN[trigger][0]}.*"
    return replace(content, summary=joined([note, *blocks(content.summary)], BODY_BYTES))
