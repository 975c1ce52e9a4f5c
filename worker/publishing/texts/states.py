"""Checks without a verdict of their own: judging, waiting, failed, superseded, skipped, judged again, held by another pull request; decisions of people about a head; and the texts of `assay pause`.

The verdict's own text follows a decision unchanged, as far as it fits. A person's decision makes a check neutral or blocks it, but never a
success.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from worker.domain.check.check_run import (
    BODY_BYTES,
    CheckContent,
    Conclusion,
    StatusBlock,
    WaitReason,
    WaitState,
    build_idle_block,
    build_pending_block,
)
from worker.domain.check.overrides import (
    BUTTON_REASON,
    HumanDecision,
    HumanDecisions,
    Override,
    ReviewDecision,
    needs_human,
)
from worker.domain.check.shared_head import SharedHeadMember, Strictness, check_state, find_strictest, strictness_of
from worker.domain.judge_request import AuthorKind, Trigger
from worker.domain.lifecycle.work import ActivePause
from worker.domain.model import Sha
from worker.domain.time_range import JudgingPause, format_time
from worker.domain.verdict.verdict import Verdict
from worker.dossier.authors import AuthorSkipped, DraftHeld
from worker.publishing.texts.markdown import (
    address,
    bullets,
    code,
    fit,
    join_blocks,
    link,
    one_line,
    prose,
    split_blocks,
)
from worker.publishing.texts.phrases import REQUIRED_UNPROVEN, TITLE_BYTES

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


def judging_content() -> CheckContent:
    """The first content of a check run."""
    return CheckContent(
        title="Judging",
        summary="Assay reads the change, the issue it answers and the results of the other checks. "
        "The verdict appears here.",
        block=build_pending_block(WaitReason.JUDGING),
    )


def waiting_for_ci_content(names: Sequence[str], deadline: datetime | None = None) -> CheckContent:
    """Other checks still run; judging starts at *deadline* at the latest."""
    until = f", at the latest at {deadline:%H:%M} UTC" if deadline else ""
    listed = bullets([code(name, 200) for name in names], 50)
    return CheckContent(
        title=fit(f"Waiting for CI: {', '.join(one_line(name) for name in names)}", TITLE_BYTES),
        summary=f"Assay judges when these checks have finished{until}:\n\n{listed}",
        block=build_pending_block(WaitReason.WAITING_FOR_CI, deadline),
    )


def rate_limit_content(until: datetime) -> CheckContent:
    """GitHub's rate limit is reached; the requests that are left show this."""
    return CheckContent(
        title=f"Waiting until {until:%H:%M} UTC: GitHub's rate limit is reached",
        summary="GitHub takes no more requests for this installation until then: those of this hour are used up, or too many came "
        f"together. Assay judges this commit automatically after {until:%H:%M} UTC ({until:%Y-%m-%d}). This says nothing about the change.",
        is_queued=True,
        block=build_pending_block(WaitReason.RATE_LIMIT, until),
    )


def github_outage_content(until: datetime) -> CheckContent:
    """GitHub keeps failing at requests that judging needs."""
    return CheckContent(
        title=f"Waiting for GitHub: tried again after {until:%H:%M} UTC",
        summary="GitHub answers Assay with errors, or not at all. This commit is judged as soon as that is over, and a verdict "
        f"that is on record already is shown then; the next try is after {until:%H:%M} UTC ({until:%Y-%m-%d}). "
        "This says nothing about the change.",
        is_queued=True,
        block=build_pending_block(WaitReason.GITHUB_OUTAGE, until),
    )


def superseded_content(newer_sha: Sha, checks_url: str = "") -> CheckContent:
    """The head moved. *checks_url*: the page of the newer commit's checks."""
    newer = link(code(newer_sha[:12]), checks_url) if checks_url else newer_sha
    return CheckContent(
        title=f"Superseded by {newer_sha[:12]}",
        summary=f"A newer commit was pushed. The verdict is on {newer}.",
        conclusion=Conclusion.CANCELLED,
        block=StatusBlock(WaitState.SUPERSEDED, WaitReason.NEWER_COMMIT.value, superseded_by=newer_sha),
    )


def checks_page(site_url: str, repository: str, sha: Sha) -> str:
    """The page of a commit's checks."""
    return f"{site_url}/{address(repository, 'commit', sha, 'checks')}"


def duplicate_content() -> CheckContent:
    """This commit has a newer check run of Assay."""
    return CheckContent(
        title="Created twice",
        summary="Two processes created this check at the same time. The newer run holds the verdict.",
        conclusion=Conclusion.CANCELLED,
        block=build_idle_block(WaitReason.CREATED_TWICE),
    )


def closed_content() -> CheckContent:
    """The pull request was closed."""
    return CheckContent(
        title="Closed before it was judged",
        summary="The pull request was closed. Reopen it to have it judged.",
        conclusion=Conclusion.CANCELLED,
        block=build_idle_block(WaitReason.CLOSED),
    )


def failed_content(reason: str, delivery_id: str = "") -> CheckContent:
    """Judging failed for a reason outside the change. *delivery_id*: its name in the log."""
    return CheckContent(
        title="Not judged: Assay failed",
        summary=f"This says nothing about the change. What happened: {prose(reason)}\n\n"
        "**Next step:** press Re-run, or comment `/rejudge`. If it happens again, tell the operator of this Assay.",
        text=f"Delivery {code(delivery_id, 200)}" if delivery_id else "",
        conclusion=Conclusion.ACTION_REQUIRED,
        block=build_idle_block(WaitReason.ASSAY_FAILED),
    )


def quiet_window_content(
    starts_at: datetime, window_s: float, *, is_watched: bool = True, why: Trigger | None = None
) -> CheckContent:
    """The quiet window. *why*: the trigger that made an earlier verdict stale."""
    when = f"Judging starts at {starts_at:%H:%M:%S} UTC"
    before = f"{TRIGGER_TEXTS[why][1]} " if why is not None and why in TRIGGER_TEXTS else ""
    return CheckContent(
        title=when,
        summary=f"{before}{when}, {window_s:g} s after the last push or edit. Green CI, a review request, an `assay` block in the description or "
        "`/rejudge` starts it immediately.",
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


def idle_content(skipped: DraftHeld | AuthorSkipped) -> CheckContent:
    """The check of a head that is not judged."""
    return draft_content() if isinstance(skipped, DraftHeld) else skipped_content(skipped.author)


def skipped_content(author: AuthorKind) -> CheckContent:
    title, why = AUTHOR_TEXTS[author]
    return CheckContent(
        title=f"Skipped: {title}",
        summary=f"{why}\n\n{REJUDGE_HINT} {AUTHORS_HINT}",
        conclusion=Conclusion.SKIPPED,
        block=build_idle_block(WaitReason.SKIPPED),
    )


def existing_pull_content(*, is_blocking: bool = False) -> CheckContent:
    """A pull request from before Assay. *is_blocking*: the check is required, and unjudged changes do not pass."""
    step = "**Next step:** push a commit, or comment `/rejudge`."
    return CheckContent(
        title="Opened before Assay was installed",
        summary=f"{REQUIRED_UNPROVEN}\n\n{step}" if is_blocking else f"This pull request was not judged.\n\n{step}",
        conclusion=Conclusion.ACTION_REQUIRED if is_blocking else Conclusion.NEUTRAL,
        gives_way=True,
        block=build_idle_block(WaitReason.OPENED_BEFORE_ASSAY),
    )


def started_content(trigger: Trigger) -> CheckContent:
    """Judging starts; the trigger says why an earlier verdict is stale."""
    if trigger not in TRIGGER_TEXTS:
        return judging_content()
    title, why = TRIGGER_TEXTS[trigger]
    return CheckContent(
        title=f"Judging again: {title}",
        summary=f"{why} The new one appears here.",
        block=build_pending_block(WaitReason.JUDGING),
    )


def with_trigger_reason(content: CheckContent, trigger: Trigger) -> CheckContent:
    """A verdict with the trigger of its re-evaluation, if that is not a change of the head."""
    if trigger not in TRIGGER_TEXTS:
        return content
    note = f"*Judged again, since {TRIGGER_TEXTS[trigger][0]}.*"
    return replace(content, summary=join_blocks([note, *split_blocks(content.summary)], BODY_BYTES))


def unknown_repository(repository: str) -> str:
    return (
        f"{repository} is not known here: nothing of it was judged yet, or it was forgotten.\n"
        "Check the name, and that REDIS_URL or ASSAY_DATA_DIR lead to the store of the running Assay.\n"
    )


def not_installed(repository: str) -> str:
    """A repository that GitHub does not know either."""
    return f"{repository} is not known here, and GitHub says that the App is not installed in it. Check the name.\n"


def github_not_reached(repository: str, why: str) -> str:
    """A repository that GitHub may know."""
    return f"{unknown_repository(repository)}GitHub can't be asked about it: {why.rstrip('.')}.\n"


def paused_message(repository: str | None, suspension: JudgingPause) -> str:
    """Judging is paused in a repository, or everywhere."""
    where = f"in {repository}" if repository else "everywhere"
    how_long = f"until {format_time(suspension.until)}" if suspension.until else "until it is resumed"
    after = "Then what was not judged meanwhile is judged automatically." if suspension.until else _AFTER_RESUME
    return (
        f"Judging is paused {where}: {how_long} checks are neutral, saying so, and no model is asked.\n"
        f"{after}\n`{f'assay resume {repository}' if repository else 'assay resume'}` resumes it immediately.\n"
    )


_AFTER_RESUME = "What was not judged meanwhile is judged when it goes on."


def resumed_message(repository: str | None) -> str:
    """Judging goes on in a repository, or everywhere."""
    where = f"in {repository}" if repository else "everywhere that is not paused on its own"
    return f"Judging goes on {where}: what was not judged meanwhile is judged now, automatically.\n"


def not_paused_message(repository: str | None) -> str:
    none = f"Judging was not paused in {repository}." if repository else "No pause of all repositories is in force."
    return f"{none} `assay pause --list` shows where judging is paused.\n"


def pause_list(pauses: Sequence[ActivePause]) -> str:
    return "".join(f"{pause_line(pause)}\n" for pause in pauses) or "Judging is paused nowhere.\n"


def pause_line(pause: ActivePause) -> str:
    """A pause on one line: scope, start, end, login and reason."""
    suspension = pause.suspension
    where = "Everywhere" if pause.is_everywhere else one_line(suspension.repository or "A repository")
    until = f"until {format_time(suspension.until)}" if suspension.until else "until it is resumed"
    since = f" since {format_time(suspension.at)}" if suspension.at else ""
    by = f", by {one_line(suspension.by)}" if suspension.by else ""
    why = f": {one_line(suspension.reason)}" if suspension.reason else ""
    return f"{where}: paused{since} {until}{by}{why}"


CONCLUSION_TEXTS: Final = {
    Conclusion.SUCCESS.value: "Accepted here",
    Conclusion.NEUTRAL.value: "Passes here",
    Conclusion.SKIPPED.value: "Skipped here",
}
ONE_CHECK: Final = "GitHub shows one check of a name for each commit"
STATE_TEXTS: Final = {
    Conclusion.SUCCESS.value: "accepted",
    Conclusion.NEUTRAL.value: "not blocked",
    Conclusion.SKIPPED.value: "skipped",
    Conclusion.FAILURE.value: "rejected",
    Conclusion.ACTION_REQUIRED.value: "waiting for a decision",
}
NOT_JUDGED_YET: Final = "not judged yet"


def combine_content(own: CheckContent, others: Sequence[SharedHeadMember], *, is_head: bool) -> CheckContent:
    """What a check shows beside other pull requests of its commit. *is_head*: it is open with this commit as its head.

    A check lets a merge pass only if every open pull request of the commit passes.
    """
    mine, top = strictness_of(check_state(own)), find_strictest(others)
    if top is None or top.strictness is Strictness.IDLE:
        return own
    state = STATE_TEXTS.get(top.state, NOT_JUDGED_YET)
    if not is_head or mine is Strictness.IDLE:  # GitHub may evaluate this check, which has no state of its own
        note = f"#{top.number} has the same commit: {ONE_CHECK}, so this one says what that one's does."
        return _describe_other(replace(own, title=f"As #{top.number}, which is {state}"), top, note)
    return _held_content(own, top) if top.strictness > mine else own


def _held_content(own: CheckContent, by: SharedHeadMember) -> CheckContent:
    """The own content, held by a stricter pull request."""
    here, is_ = CONCLUSION_TEXTS.get(check_state(own), "Not judged yet"), STATE_TEXTS.get(by.state, NOT_JUDGED_YET)
    follows = "fails with it" if by.strictness is Strictness.FAILS else "waits for it"
    why = f"**{here}. #{by.number} has the same commit and is {is_}: {ONE_CHECK}, so this one {follows}.**"
    after = f"This one shows its own state once #{by.number} passes, is closed or gets another commit."
    shown = replace(own, title=f"{here}, but #{by.number} of the same commit is {is_}")
    return _describe_other(shown, by, f"{why} {after}")


def _describe_other(shown: CheckContent, other: SharedHeadMember, note: str) -> CheckContent:
    waits = other.strictness is Strictness.WAITS
    conclusion = None if waits else Conclusion(other.state)
    summary = join_blocks([note, *split_blocks(shown.summary)], BODY_BYTES)
    block = None if shown.block is None else replace(shown.block, held_by=other.number)
    return replace(shown, summary=summary, conclusion=conclusion, is_queued=waits, is_idle=False, block=block)


NO_VERDICT: Final = "No verdict was made on this commit."
NAME_BYTES: Final = 100


@dataclass(frozen=True)
class RequestedReviews:
    """The reviewers that were requested. `is_refused`: GitHub refused the request; `is_declined`: the operator turned it off."""

    names: tuple[str, ...] = ()
    is_refused: bool = False
    has_owners: bool = True
    is_declined: bool = False


def with_decisions(
    content: CheckContent, decisions: HumanDecisions, verdict: Verdict | None, requested: RequestedReviews | None = None
) -> CheckContent:
    """The check of a head with the decisions about it."""
    notes, contest = list[str](), decisions.contest
    if contest is not None:
        how = f". To give a reason, comment {code('/contest REASON')}." if contest.reason == BUTTON_REASON else ""
        when = f"**Contested by {code(contest.login)}** at {format_time(contest.at)}"
        notes.append(f"{when}: {prose(contest.reason)}{how}")
    if requested is not None:
        notes.append(_review_request_note(requested))
    shown = _with_notes(content, *notes) if notes else content
    if decisions.override is not None:
        return _with_override(shown, decisions.override)
    if decisions.review is not None and needs_human(verdict):
        return _with_review(shown, decisions.review)
    if decisions.dismissed is not None and needs_human(verdict):
        gone = decisions.dismissed
        note = (
            f"**Taken back by {code(gone.login)}** at {format_time(gone.at)}: the review of {code(gone.of)}, which had decided about this "
            "commit, was dismissed. The verdict stands as it was."
        )
        return _with_notes(shown, note)
    return shown


def decision_lines(decisions: HumanDecisions) -> Iterator[str]:
    """The decisions as plain lines for a terminal."""
    if decisions.override is not None:
        yield f"Overridden by {_who(decisions.override)}: {one_line(decisions.override.reason)}"
    if decisions.review is not None:
        what = "approved" if decisions.review.is_approved else "changes requested"
        yield f"Decided by {_who(decisions.review)}: {what}"
    if decisions.dismissed is not None:
        yield f"Decision of @{one_line(decisions.dismissed.of)} taken back by {_who(decisions.dismissed)}"
    if decisions.contest is not None:
        yield f"Contested by {_who(decisions.contest)}: {one_line(decisions.contest.reason)}"


def _who(decision: HumanDecision) -> str:
    return f"@{one_line(decision.login)} at {format_time(decision.at)}"


def unjudged_content() -> CheckContent:
    """The content below a decision about a head without a verdict."""
    return CheckContent(
        title="Not judged",
        summary=NO_VERDICT,
        conclusion=Conclusion.ACTION_REQUIRED,
        block=build_idle_block(WaitReason.NOT_JUDGED),
    )


def _with_override(content: CheckContent, override: Override) -> CheckContent:
    own = ", the author" if override.is_own else ""
    rest = "The verdict stays as it is; its text follows." if override.eval_id else "There was no verdict then."
    note = (
        f"**Overridden by {code(override.login)}{own}** at {format_time(override.at)}: {prose(override.reason)}\n\n"
        f"This holds for this commit alone: the next push ends it, and it counts again where the branch comes back to it. {rest}"
    )
    title = fit(f"Overridden by @{one_line(override.login)}{own}: {one_line(override.reason)}", TITLE_BYTES)
    block = content.block
    if block is not None:  # nothing is left to do, also where a retry was due
        block = replace(block, until=None, overridden_by=fit(one_line(override.login), NAME_BYTES))
        is_decided = block.decision is not None
        reason = block.reason if is_decided else WaitReason.OVERRIDDEN.value
        block = replace(block, state=WaitState.DONE if is_decided else WaitState.NONE, reason=reason)
    return replace(_with_notes(content, note), title=title, conclusion=Conclusion.NEUTRAL, block=block)


def _with_review(content: CheckContent, review: ReviewDecision) -> CheckContent:
    if review.is_approved:
        conclusion, what, holds = Conclusion.NEUTRAL, "approved", "This commit may pass."
    else:
        conclusion, what = Conclusion.ACTION_REQUIRED, "changes requested"
        holds = "This commit stays blocked until the next push, or their next review."
    note = (
        f"**Decided by {code(review.login)}** at {format_time(review.at)}: {what}. {holds} "
        "The verdict stays as it is; its text follows."
    )
    login, block = one_line(review.login), content.block
    return replace(
        _with_notes(content, note),
        title=fit(f"Decided by @{login}: {what}", TITLE_BYTES),
        conclusion=conclusion,
        block=block and replace(block, reviewed_by=fit(login, NAME_BYTES)),
    )


def _review_request_note(requested: RequestedReviews) -> str:
    way = "An approving review of a code owner lets this commit pass, and so does"
    or_else = f"{code('/override REASON')} (roles maintain and admin)"
    if requested.is_refused:
        return (
            "**A person has to decide.** Assay could not ask for a review: GitHub refuses it (it needs *Pull requests: write*). "
            f"{way} {or_else}."
        )
    if requested.is_declined and requested.has_owners:
        return (
            "**A person has to decide.** No review was requested: the operator declined that "
            f"({code('ASSAY_COMMENTS')}). {way} {or_else}."
        )
    if not requested.names:
        missing = "no code owner could be asked" if requested.has_owners else "this repository names no code owners"
        return f"**A person has to decide**, and {missing}. {or_else} lets this commit pass."
    names = ", ".join(code(name) for name in requested.names)
    return f"**A person has to decide.** Asked for a review: {names}. {way} {or_else}."


def _with_notes(content: CheckContent, *notes: str) -> CheckContent:
    return replace(content, summary=join_blocks([*notes, *split_blocks(content.summary)], BODY_BYTES))
