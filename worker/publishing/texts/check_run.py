"""The check run's texts and conclusion, for a verdict and for every state before and beside one.

Title, summary and text fit GitHub's limits in bytes. `success` comes from an accept alone.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, assert_never

from worker.domain.check.check_run import (
    BODY_BYTES,
    CONTEST,
    HELPFUL,
    NOT_HELPFUL,
    REJUDGE,
    Annotation,
    AnnotationLevel,
    Button,
    CheckContent,
    Conclusion,
    StatusBlock,
    build_idle_block,
    build_pending_block,
)
from worker.domain.check.wait_status import WaitReason, WaitState, verdict_reason
from worker.domain.config.config import CONFIG_PATH
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, EvidencePointer, Reject, Side, Verdict
from worker.publishing.texts import phrases, sections
from worker.publishing.texts.json_block import BLOCK_BYTES, json_block
from worker.publishing.texts.markdown import address, bullets, code, fit, join_blocks, link, one_line, prose, visible
from worker.publishing.texts.phrases import MISTAKE_COST, config_notes, proposals, read_proposed
from worker.publishing.texts.sections import Site

SUMMARY_BYTES: Final = BODY_BYTES - 16_000
"""The rest is for decisions and trigger notes, which are put above the verdict later without cutting it."""
DETAILS_BYTES: Final = 40_000
"""The part of the text for people; the JSON gets the rest."""
MESSAGE_BYTES: Final = 4_000
MOST_ANNOTATIONS: Final = 50
GITHUB: Final = "https://github.com"


def check_content(
    verdict: Verdict, dossier: Dossier, site_url: str = GITHUB, again_at: datetime | None = None, delivery_id: str = ""
) -> CheckContent:
    """The finished check run of a verdict. *site_url*: GitHub's address for people.

    *again_at*: when Assay retries this head. *delivery_id*: the delivery that requested this verdict.
    """
    site = Site(site_url, verdict, dossier, delivery_id)
    details = join_blocks([*_details(verdict, site)], DETAILS_BYTES)
    machine = json_block(verdict, BODY_BYTES - BLOCK_BYTES - len(details.encode()) - 2)
    return CheckContent(
        title=phrases.headline(verdict, dossier),
        summary=join_blocks([*_retry_note(again_at), *_summary(verdict, site)], SUMMARY_BYTES),
        text=f"{details}\n\n{machine}",
        conclusion=conclusion(verdict, dossier),
        annotations=(*config_annotations(dossier), *annotations(verdict, dossier))[:MOST_ANNOTATIONS],
        buttons=buttons(verdict),
        block=StatusBlock(
            WaitState.DONE if again_at is None else WaitState.PENDING,
            verdict_reason(verdict),
            None if again_at is None else again_at.isoformat(),
            verdict.decision,
            verdict.eval_id,
        ),
    )


def buttons(verdict: Verdict) -> tuple[Button, ...]:
    """The buttons of a verdict; GitHub allows three. A contest already means that a reject was not helpful."""
    match verdict:
        case Accept():
            return (REJUDGE, HELPFUL, NOT_HELPFUL)
        case Reject():
            return (REJUDGE, CONTEST, HELPFUL)
        case Abstain():
            return (REJUDGE,)
        case _:
            assert_never(verdict)


def _retry_note(at: datetime | None) -> list[str]:
    """The time of Assay's own retry, above what people may do."""
    if at is None:
        return []
    when = f"**Assay judges this again by itself at {at:%H:%M} UTC** ({at:%Y-%m-%d})"
    return [f"{when}; a push, a re-run of this check or `/rejudge` does so at once."]


def _summary(verdict: Verdict, site: Site) -> Iterator[str]:
    if passing := phrases.passing_phrase(verdict, site.dossier):
        yield f"*{passing}*"
    yield from sections.decision(verdict)
    if not site.dossier.has_criteria:
        yield phrases.WITHOUT_CRITERIA
    yield from proposed_changes(site.dossier)
    if budget := phrases.budget_phrase(verdict):
        yield f"**Budget:** {prose(budget)}"
    if opinions := phrases.opinion_phrase(verdict):
        yield f"**Opinions** {prose(opinions, 2000)}"
    yield from sections.case_error(site.dossier)
    yield from map(prose, phrases.edit_phrases(site.dossier))
    yield from sections.failures(verdict, site.dossier)
    yield from sections.evidence(verdict, site)
    yield from sections.suspicions(verdict, site)
    yield from sections.criteria(verdict, site)


def _details(verdict: Verdict, site: Site) -> Iterator[str]:
    yield from sections.conditions(verdict)
    yield from sections.judging_facts(verdict, site)
    yield from sections.sources(site.dossier, site)
    yield from used_configuration(verdict, site.dossier)
    yield from sections.coverage(verdict, site.dossier)
    yield from sections.claims(verdict)
    yield from sections.findings(verdict, site)
    yield from sections.scores(verdict)


def conclusion(verdict: Verdict, dossier: Dossier) -> Conclusion:
    """The conclusion for branch protection (the table of docs/verdict.md)."""
    if phrases.is_observed(verdict, dossier):
        return Conclusion.NEUTRAL
    match verdict:
        case Accept():
            return Conclusion.SUCCESS
        case Reject():
            return Conclusion.FAILURE
        case Abstain(abstain_reason=reason):
            chosen = dossier.policy.abstains.get(reason) if dossier.policy else None
            is_modelless = reason is AbstainReason.UNPROVEN and phrases.lacks_model(verdict) and not dossier.is_required
            is_neutral = reason is AbstainReason.PAUSED or is_modelless if chosen is None else chosen == "neutral"
            return Conclusion.NEUTRAL if is_neutral else Conclusion.ACTION_REQUIRED
        case _:
            assert_never(verdict)


def annotations(verdict: Verdict, dossier: Dossier) -> tuple[Annotation, ...]:
    """Notes at the evidence of a reject or abstain, on lines of the head; none where the change was too large to read."""
    if isinstance(verdict, Accept) or verdict.abstain_reason is AbstainReason.TOO_LARGE:
        return ()
    blocks = isinstance(verdict, Reject) and not phrases.is_observed(verdict, dossier)
    level = AnnotationLevel.FAILURE if blocks else AnnotationLevel.WARNING
    pointers = [pointer for pointer in verdict.evidence if pointer.side is Side.HEAD and pointer.line is not None]
    return tuple(_annotation(pointer, verdict, level) for pointer in pointers[:MOST_ANNOTATIONS])


def _annotation(pointer: EvidencePointer, verdict: Reject | Abstain, level: AnnotationLevel) -> Annotation:
    title = phrases.category_phrase(verdict.category).capitalize() if verdict.category else "Not judged"
    message = pointer.note.strip() or verdict.concern
    start = pointer.line or 1
    return Annotation(
        path=pointer.path,
        start_line=start,
        end_line=pointer.end_line or start,
        level=level,
        title=title,
        message=fit(f"{visible(message)}\n\nNext step: {visible(verdict.next_step)}", MESSAGE_BYTES),
    )


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
        title=fit(f"Waiting for CI: {', '.join(one_line(name) for name in names)}", phrases.TITLE_BYTES),
        summary=f"Assay judges when these checks have finished{until}:\n\n{listed}",
        block=build_pending_block(WaitReason.WAITING_FOR_CI, deadline),
    )


def rate_limit_content(until: datetime) -> CheckContent:
    """GitHub's rate limit is reached; the requests that are left show this."""
    return CheckContent(
        title=f"Waiting until {until:%H:%M} UTC: GitHub's rate limit is reached",
        summary="GitHub takes no more requests for this installation until then: those of this hour are used up, or too many came "
        f"at once. Assay judges this commit by itself after {until:%H:%M} UTC ({until:%Y-%m-%d}). This says nothing about the change.",
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


MOST_EDITS: Final = 30
CONFIG_MESSAGE_BYTES: Final = 1_000


def proposed_changes(dossier: Dossier) -> list[str]:
    """What the pull request would change about how it is judged."""
    rows = proposals(dossier)
    if not rows:
        return []
    intro = "It was judged by the files of its base. What would change once it is merged:"
    return ["### This pull request changes how it would be judged", intro, bullets([*map(prose, rows)], MOST_EDITS)]


def used_configuration(verdict: Verdict, dossier: Dossier) -> list[str]:
    """The configuration that the verdict used."""
    rows = [*map(prose, config_notes(verdict, dossier))]
    return ["### Configuration", bullets(rows)] if rows else []


def config_annotations(dossier: Dossier) -> tuple[Annotation, ...]:
    """Mistakes in the pull request's own version of the configuration, at their lines."""
    made = read_proposed(dossier)
    return tuple(
        Annotation(
            path=CONFIG_PATH,
            start_line=problem.line,
            end_line=problem.line,
            level=AnnotationLevel.WARNING,
            title="Configuration of Assay",
            message=fit(f"{visible(problem.message)}. It sets nothing, and {MISTAKE_COST}.", CONFIG_MESSAGE_BYTES),
        )
        for problem in (made.problems if made else ())
    )
