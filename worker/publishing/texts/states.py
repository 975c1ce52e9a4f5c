"""The check of a head that nobody judges yet, or at all: who waits for what, and what ends the waiting.

Pure. Does not decide (`worker.dossier.eligibility` does). Invariant: nothing of a pull request's own words is in these texts.
"""

from datetime import datetime
from typing import Final

from worker.domain.check.check_run import CheckContent, Conclusion, build_idle_block, build_pending_block
from worker.domain.check.wait_status import WaitReason
from worker.domain.request.judge_request import AuthorKind, Trigger
from worker.domain.value import replace
from worker.publishing.texts.check_run import BODY_BYTES, judging_content
from worker.publishing.texts.markdown import join_blocks, split_blocks
from worker.publishing.texts.phrases import REQUIRED_UNPROVEN

REJUDGE_HINT: Final = "An account with write access has it judged all the same: comment `/rejudge`."
AUTHORS_HINT: Final = "Whose pull requests are judged is set in `.github/assay.yml`, under `authors`."

AUTHOR_TEXTS: Final[dict[AuthorKind, tuple[str, str]]] = {
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

TRIGGER_TEXTS: Final[dict[Trigger, tuple[str, str]]] = {
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


def quiet_window_content(
    starts_at: datetime, window_s: float, *, is_watched: bool = True, why: Trigger | None = None
) -> CheckContent:
    """The quiet window. *why*: what has a verdict that stood there count no more."""
    when = f"Judging starts at {starts_at:%H:%M:%S} UTC"
    before = f"{TRIGGER_TEXTS[why][1]} " if why is not None and why in TRIGGER_TEXTS else ""
    return CheckContent(
        title=when,
        summary=f"{before}{when}, {window_s:g} s after the last push or edit. Green CI, a review request, an `assay` block in the description or "
        "`/rejudge` starts it at once.",
        is_queued=True,
        is_watched=is_watched,
        block=build_pending_block(WaitReason.QUIET_WINDOW, starts_at),
    )


def draft_content() -> CheckContent:
    return CheckContent(
        title="Draft: judged when it is ready",
        summary="A draft is judged when it is marked ready for review, when a review is requested, when its "
        "description gets an `assay` block, or when an account with write access comments `/rejudge`.",
        is_queued=True,
        is_watched=False,
        is_idle=True,
        block=build_idle_block(WaitReason.DRAFT),
    )


def skipped_content(author: AuthorKind) -> CheckContent:
    title, why = AUTHOR_TEXTS[author]
    return CheckContent(
        title=f"Skipped: {title}",
        summary=f"{why}\n\n{REJUDGE_HINT} {AUTHORS_HINT}",
        conclusion=Conclusion.SKIPPED,
        block=build_idle_block(WaitReason.SKIPPED),
    )


def existing_pull_content(*, is_blocking: bool = False) -> CheckContent:
    """*is_blocking*: merges wait for this check, and the repository does not let pass what was not judged."""
    step = "**Next step:** push a commit, or comment `/rejudge`."
    return CheckContent(
        title="Opened before Assay was installed",
        summary=f"{REQUIRED_UNPROVEN}\n\n{step}" if is_blocking else f"This pull request was not judged.\n\n{step}",
        conclusion=Conclusion.ACTION_REQUIRED if is_blocking else Conclusion.NEUTRAL,
        gives_way=True,
        block=build_idle_block(WaitReason.OPENED_BEFORE_ASSAY),
    )


def started_content(trigger: Trigger) -> CheckContent:
    """Judging begins, and where a verdict may stand there already: why it counts no more."""
    if trigger not in TRIGGER_TEXTS:
        return judging_content()
    title, why = TRIGGER_TEXTS[trigger]
    return CheckContent(
        title=f"Judging again: {title}",
        summary=f"{why} The new one appears here.",
        block=build_pending_block(WaitReason.JUDGING),
    )


def with_trigger_reason(content: CheckContent, trigger: Trigger) -> CheckContent:
    """A verdict that was made because something else than the change changed says what."""
    if trigger not in TRIGGER_TEXTS:
        return content
    note = f"*Judged again, since {TRIGGER_TEXTS[trigger][0]}.*"
    return replace(content, summary=join_blocks([note, *split_blocks(content.summary)], BODY_BYTES))
