"""What the check on a merge group says, in every state that it can be in.

Does not decide. Invariant: the pull request is named by its number and linked; what others wrote is shown as words; and a
text that does not let the group pass says what to do.
"""

from datetime import datetime
from typing import Final

from worker.domain.check.check_run import Block, CheckContent, Conclusion, none_coming, pending
from worker.domain.check.merge_group import GroupEnd
from worker.domain.check.wait_status import Awaiting, Reason, reason_of
from worker.domain.ids import EvalId, RepositoryName
from worker.domain.value import Value, replace
from worker.domain.verdict.verdict import Accept
from worker.judge.merge_group import Passes, Published, Stops, Why
from worker.publishing.texts.check_run import BODY_BYTES
from worker.publishing.texts.markdown import address, blocks, joined, link, prose
from worker.publishing.texts.phrases import TITLE_BYTES, category_words
from worker.publishing.texts.visible import fit, one_line

ENDS: Final = {
    GroupEnd.MERGED: "GitHub merged it.",
    GroupEnd.INVALIDATED: "What it was put upon changed, so that GitHub makes another one.",
    GroupEnd.DEQUEUED: "The pull request was taken out of the queue.",
}


class Words(Value):
    """Why it does not pass, and what to do about it. What stands in braces is filled in by `stopped`."""

    title: str
    why: str
    step: str


STOPS: Final = {
    Why.STRANGE_REF: Words(
        "Not judged: this group names no pull request",
        "The branch of this merge group is not worded as GitHub words it: which pull request it tries is not known.",
        "take the pull request out of the queue",
    ),
    Why.CLOSED: Words("Not judged: {name} is closed", "{pull} was closed.", "reopen it"),
    Why.REJECTED: Words("{name} is rejected: {category}", "{pull} is rejected: {category}. {concern}", "see {check}"),
    Why.NOT_JUDGED: Words(
        "Not judged, as {name} is not", "{pull} has no accept. Its check says: {said}.", "see {check}"
    ),
    Why.HELD: Words(
        "{name} is accepted, and its check does not pass",
        "{pull} is accepted, and its check does not pass now. It says: {said}.",
        "see {check}",
    ),
    Why.UNRECORDED: Words(
        "Not judged: no accept of {name} is on record",
        "The check of {pull} is green, but no accept of its head is on record, and nothing passes without one.",
        "comment `/rejudge` in {pull}",
    ),
    Why.TOO_LATE: Words(
        "Not judged: {name} has no verdict yet",
        "{pull} had no verdict when the time for this check was over.",
        "wait for the verdict in {check}",
    ),
    Why.NOT_SHOWN: Words(
        "Not judged: no diff to compare with {name}",
        "GitHub shows no diff of it, since it is too large or takes too long: whether it changes what {pull} was "
        "accepted for.",
        "wait a while, split it, or have a maintainer comment `/override REASON` in {pull}",
    ),
}


class Place(Value):
    """Where a group's pull request is. `site_url` is GitHub's own address, without a slash at the end."""

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

    def check(self, published: Published | None) -> str:
        """Its check, as a link; the pull request, where it has none."""
        if published is None:
            return self.pull
        url = f"{self.site_url}/{address(self.repository, 'runs', str(published.check))}"
        return link(f"the check of {self.name}", url)


def looking(place: Place) -> CheckContent:
    """From the first second on."""
    return CheckContent(
        title=f"Looking up the verdict on {place.name}",
        summary=f"The merge queue tries {place.pull} on this commit. If it changes what was judged, and that was accepted, "
        "this check passes in a moment; no model is asked.",
        block=pending(Reason.JUDGING),
    )


def waiting(place: Place, until: datetime) -> CheckContent:
    """The pull request's own verdict is not there yet."""
    return CheckContent(
        title=f"Waiting for the verdict on {place.name}",
        summary=f"{place.pull} has no verdict yet. This check follows it, and is closed at {until:%H:%M} UTC if there is "
        "none by then.",
        block=pending(Reason.WAITING_FOR_PULL_REQUEST, until),
    )


def judging(place: Place) -> CheckContent:
    """Conflicts were resolved in another way than in what was judged."""
    return CheckContent(
        title=f"Judging: this commit differs from {place.name}",
        summary=f"{place.pull} was accepted, but on this commit it changes other lines. So the change is judged as it is "
        "here; the verdict appears here.",
        block=pending(Reason.JUDGING),
    )


def carried(place: Place, verdict: Accept, published: Published) -> CheckContent:
    """The same change as what was accepted."""
    return CheckContent(
        title=f"Accepted with {place.name}: the same change",
        summary=f"On this commit {place.pull} changes just what was accepted at {verdict.subject.head_sha[:12]}: "
        f"the same files, the same lines. The verdict is in {place.check(published)}.\n\n"
        f"{prose(verdict.concern)}\n\n"
        f"Cost: $0, no model was asked. Carried over from `{verdict.eval_id}`.",
        conclusion=Conclusion.SUCCESS,
        block=Block(Awaiting.DONE, decision=verdict.decision, eval_id=verdict.eval_id),
    )


def passed(place: Place, passes: Passes) -> CheckContent:
    """The pull request passes without an accept; its group is told the same, no more and no less."""
    said = passes.published.title
    return CheckContent(
        title=fit(f"As {place.name}: {one_line(said)}", TITLE_BYTES),
        summary=f"The check of {place.pull} neither accepts it nor stands in its way, and this one does the same.\n\n"
        f"It says: {prose(said)}. More is in {place.check(passes.published)}.",
        conclusion=passes.conclusion,
        block=none_coming(Reason.AS_PULL_REQUEST),
    )


def stopped(place: Place, stops: Stops) -> CheckContent:
    """It does not pass, because of its pull request."""
    words, verdict = STOPS[stops.why], stops.verdict
    told = {
        "name": place.name,
        "pull": place.pull,
        "check": place.check(stops.published),
        "category": category_words(verdict.category) if verdict is not None and verdict.category else "",
        "concern": prose(verdict.concern) if verdict is not None else "",
        "said": prose(stops.published.title) if stops.published else "",
    }
    summary = f"{words.why}\n\n**Next step:** {words.step}, then put it into the queue again."
    return CheckContent(
        title=fit(words.title.format(**told), TITLE_BYTES),
        summary=joined(blocks(summary.format(**told)), BODY_BYTES),
        conclusion=Conclusion.FAILURE if stops.why is Why.REJECTED else Conclusion.ACTION_REQUIRED,
        block=_of_stop(stops),
    )


def _of_stop(stops: Stops) -> Block:
    """A reject of the pull request counts for its group. Nothing else that stops it says anything about the change."""
    if stops.why is not Why.REJECTED:
        return none_coming(Reason(stops.why.value))
    rejected = stops.verdict
    return Block(Awaiting.DONE, reason_of(rejected), decision="reject", eval_id=rejected and rejected.eval_id)


def judged(place: Place, content: CheckContent, parent: EvalId) -> CheckContent:
    """The verdict on the group itself, under a line that says what it is about."""
    about = (
        f"*This is about {place.pull} as the merge queue put it upon the base branch. It changes other lines there than what "
        f"was accepted as `{parent}`.*"
    )
    return replace(
        content,
        title=fit(f"Merge group of {place.name}: {content.title}", TITLE_BYTES),
        summary=joined([about, *blocks(content.summary)], BODY_BYTES),
    )


def ended(end: GroupEnd) -> CheckContent:
    """GitHub gave the group up before it was answered."""
    return CheckContent(
        title="Not needed any more",
        summary=f"This merge group is gone. {ENDS[end]}",
        conclusion=Conclusion.CANCELLED,
        block=none_coming(Reason.GROUP_GONE),
    )


def failed(place: Place, reason: str) -> CheckContent:
    """Nobody could answer, and it is not the pull request's fault."""
    return CheckContent(
        title="Not judged: Assay failed",
        summary=f"This says nothing about {place.pull}. What happened: {prose(reason)}\n\n"
        "**Next step:** put the pull request into the queue again. If it happens again, tell the operator of this Assay.",
        conclusion=Conclusion.ACTION_REQUIRED,
        block=none_coming(Reason.ASSAY_FAILED),
    )
