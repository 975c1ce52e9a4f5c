"""Decisions about a head on its check: overridden, decided by a review, contested; and the reviews that Assay requested.

The verdict's own text follows unchanged, as far as it fits. A person's decision makes a check neutral or blocks it, but never a success.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from worker.domain.check.check_run import BODY_BYTES, CheckContent, Conclusion, build_idle_block
from worker.domain.check.overrides import (
    BUTTON_REASON,
    HumanDecision,
    HumanDecisions,
    Override,
    ReviewDecision,
    needs_human,
)
from worker.domain.check.wait_status import WaitReason, WaitState
from worker.domain.pause import format_time
from worker.domain.verdict.verdict import Verdict
from worker.publishing.texts.markdown import code, fit, join_blocks, one_line, prose, split_blocks
from worker.publishing.texts.phrases import TITLE_BYTES

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
