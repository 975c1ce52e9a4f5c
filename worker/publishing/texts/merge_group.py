"""The check on a merge group in each of its states. A text that does not let the group pass names the next step."""

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
from worker.domain.github_events import GroupEnd
from worker.domain.model import EvalId, RepositoryName
from worker.domain.verdict.verdict import Accept, verdict_reason
from worker.judge.merge_group import GroupPasses, GroupStopReason, GroupStops, PublishedCheckRun
from worker.publishing.texts.markdown import address, fit, join_blocks, link, one_line, prose, split_blocks
from worker.publishing.texts.phrases import TITLE_BYTES, category_phrase

END_TEXTS: Final = {
    GroupEnd.MERGED: "GitHub merged it.",
    GroupEnd.INVALIDATED: "What it was put upon changed, so that GitHub makes another one.",
    GroupEnd.DEQUEUED: "The pull request was taken out of the queue.",
}


@dataclass(frozen=True)
class StopText:
    """Why a group does not pass, and the next step. `stopped_content` fills the braces."""

    title: str
    reason: str
    next_step: str


STOP_TEXTS: Final = {
    GroupStopReason.STRANGE_REF: StopText(
        "Not judged: this group names no pull request",
        "The branch of this merge group is not worded as GitHub words it: which pull request it tries is not known.",
        "take the pull request out of the queue",
    ),
    GroupStopReason.CLOSED: StopText("Not judged: {name} is closed", "{pull} was closed.", "reopen it"),
    GroupStopReason.REJECTED: StopText(
        "{name} is rejected: {category}", "{pull} is rejected: {category}. {concern}", "see {check}"
    ),
    GroupStopReason.NOT_JUDGED: StopText(
        "Not judged, as {name} is not", "{pull} has no accept. Its check says: {said}.", "see {check}"
    ),
    GroupStopReason.HELD: StopText(
        "{name} is accepted, and its check does not pass",
        "{pull} is accepted, and its check does not pass now. It says: {said}.",
        "see {check}",
    ),
    GroupStopReason.UNRECORDED: StopText(
        "Not judged: no accept of {name} is on record",
        "The check of {pull} is green, but no accept of its head is on record, and nothing passes without one.",
        "comment `/rejudge` in {pull}",
    ),
    GroupStopReason.TOO_LATE: StopText(
        "Not judged: {name} has no verdict yet",
        "{pull} had no verdict when the time for this check was over.",
        "wait for the verdict in {check}",
    ),
    GroupStopReason.NOT_SHOWN: StopText(
        "Not judged: no diff to compare with {name}",
        "GitHub shows no diff of it, since it is too large or takes too long: whether it changes what {pull} was "
        "accepted for.",
        "wait a while, split it, or have a maintainer comment `/override REASON` in {pull}",
    ),
}


@dataclass(frozen=True)
class GroupLocation:
    """A group's pull request. `site_url`: GitHub's address for people, without a slash at the end."""

    site_url: str
    repository: RepositoryName
    number: int

    @property
    def name(self) -> str:
        return f"#{self.number}"

    @property
    def pull(self) -> str:
        """The pull request, as a link."""
        return link(self.name, f"{self.site_url}/{address(self.repository, 'pull', str(self.number))}")

    def check(self, published: PublishedCheckRun | None) -> str:
        """Its check as a link; without one, the pull request."""
        if published is None:
            return self.pull
        url = f"{self.site_url}/{address(self.repository, 'runs', str(published.check))}"
        return link(f"the check of {self.name}", url)


def looking_content(location: GroupLocation) -> CheckContent:
    """The first content of a group's check."""
    return CheckContent(
        title=f"Looking up the verdict on {location.name}",
        summary=f"The merge queue tries {location.pull} on this commit. If it changes what was judged, and that was accepted, "
        "this check passes in a moment; no model is asked.",
        block=build_pending_block(WaitReason.JUDGING),
    )


def waiting_content(location: GroupLocation, until: datetime) -> CheckContent:
    """The pull request has no verdict yet."""
    return CheckContent(
        title=f"Waiting for the verdict on {location.name}",
        summary=f"{location.pull} has no verdict yet. This check follows it, and is closed at {until:%H:%M} UTC if there is "
        "none by then.",
        block=build_pending_block(WaitReason.WAITING_FOR_PULL_REQUEST, until),
    )


def group_judging_content(location: GroupLocation) -> CheckContent:
    """The group changes other lines than the accepted change."""
    return CheckContent(
        title=f"Judging: this commit differs from {location.name}",
        summary=f"{location.pull} was accepted, but on this commit it changes other lines. So the change is judged as it is "
        "here; the verdict appears here.",
        block=build_pending_block(WaitReason.JUDGING),
    )


def carried_over_content(location: GroupLocation, verdict: Accept, published: PublishedCheckRun) -> CheckContent:
    """The group is the accepted change."""
    return CheckContent(
        title=f"Accepted with {location.name}: the same change",
        summary=f"On this commit {location.pull} changes just what was accepted at {verdict.subject.head_sha[:12]}: "
        f"the same files, the same lines. The verdict is in {location.check(published)}.\n\n"
        f"{prose(verdict.concern)}\n\n"
        f"Cost: $0, no model was asked. Carried over from `{verdict.eval_id}`.",
        conclusion=Conclusion.SUCCESS,
        block=StatusBlock(WaitState.DONE, decision=verdict.decision, eval_id=verdict.eval_id),
    )


def passed_content(location: GroupLocation, passes: GroupPasses) -> CheckContent:
    """The pull request passes without an accept, and so does its group."""
    title = passes.published.title
    return CheckContent(
        title=fit(f"As {location.name}: {one_line(title)}", TITLE_BYTES),
        summary=f"The check of {location.pull} neither accepts it nor stands in its way, and this one does the same.\n\n"
        f"It says: {prose(title)}. More is in {location.check(passes.published)}.",
        conclusion=passes.conclusion,
        block=build_idle_block(WaitReason.AS_PULL_REQUEST),
    )


def stopped_content(location: GroupLocation, stops: GroupStops) -> CheckContent:
    """The group does not pass because of its pull request."""
    text, verdict = STOP_TEXTS[stops.reason], stops.verdict
    fields = {
        "name": location.name,
        "pull": location.pull,
        "check": location.check(stops.published),
        "category": category_phrase(verdict.category) if verdict is not None and verdict.category else "",
        "concern": prose(verdict.concern) if verdict is not None else "",
        "said": prose(stops.published.title) if stops.published else "",
    }
    summary = f"{text.reason}\n\n**Next step:** {text.next_step}, then put it into the queue again."
    return CheckContent(
        title=fit(text.title.format(**fields), TITLE_BYTES),
        summary=join_blocks(split_blocks(summary.format(**fields)), BODY_BYTES),
        conclusion=Conclusion.FAILURE if stops.reason is GroupStopReason.REJECTED else Conclusion.ACTION_REQUIRED,
        block=_stop_block(stops),
    )


def _stop_block(stops: GroupStops) -> StatusBlock:
    """The status of a stopped group: a reject if its pull request is rejected, else none, since nothing is said about the change."""
    if stops.reason is not GroupStopReason.REJECTED:
        return build_idle_block(WaitReason(stops.reason.value))
    rejected = stops.verdict
    return StatusBlock(
        WaitState.DONE, verdict_reason(rejected), decision="reject", eval_id=rejected and rejected.eval_id
    )


def group_verdict_content(location: GroupLocation, content: CheckContent, parent: EvalId) -> CheckContent:
    """The verdict on the group itself, under a line about its subject."""
    about = (
        f"*This is about {location.pull} as the merge queue put it upon the base branch. It changes other lines there than what "
        f"was accepted as `{parent}`.*"
    )
    return replace(
        content,
        title=fit(f"Merge group of {location.name}: {content.title}", TITLE_BYTES),
        summary=join_blocks([about, *split_blocks(content.summary)], BODY_BYTES),
    )


def ended_content(end: GroupEnd) -> CheckContent:
    """GitHub removed the group before its check was concluded."""
    return CheckContent(
        title="No longer needed",
        summary=f"This merge group is gone. {END_TEXTS[end]}",
        conclusion=Conclusion.CANCELLED,
        block=build_idle_block(WaitReason.GROUP_GONE),
    )


def group_failed_content(location: GroupLocation, reason: str) -> CheckContent:
    """Assay failed, for a reason outside the change."""
    return CheckContent(
        title="Not judged: Assay failed",
        summary=f"This says nothing about {location.pull}. What happened: {prose(reason)}\n\n"
        "**Next step:** put the pull request into the queue again. If it happens again, tell the operator of this Assay.",
        conclusion=Conclusion.ACTION_REQUIRED,
        block=build_idle_block(WaitReason.ASSAY_FAILED),
    )
