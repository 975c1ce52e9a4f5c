"""The check run of a verdict: its texts, its conclusion, and the JSON for programs at the end of any check's text.

Title, summary and text fit GitHub's limits in bytes. `success` comes from an accept alone. A section without content has no blocks.
Sections are lists instead of tables: at a phone's 375 px a list wraps, while only the first column of a table is in sight.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never

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
    WaitState,
)
from worker.domain.config.config import CONFIG_PATH
from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    EvidencePointer,
    Finding,
    Reject,
    Side,
    Verdict,
    verdict_reason,
)
from worker.publishing.texts import phrases
from worker.publishing.texts.markdown import (
    address,
    bullets,
    code,
    code_block,
    fit,
    fit_end,
    join_blocks,
    link,
    prose,
    visible,
)
from worker.publishing.texts.phrases import MISTAKE_COST, config_notes, proposals, read_proposed

SUMMARY_BYTES: Final = BODY_BYTES - 16_000
"""The rest is for decisions and trigger notes, which are put above the verdict later without cutting it."""
DETAILS_BYTES: Final = 40_000
"""The part of the text for people; the JSON gets the rest."""
MESSAGE_BYTES: Final = 4_000
MOST_ANNOTATIONS: Final = 50
GITHUB: Final = "https://github.com"
QUOTE_BYTES: Final = 2_000
LOG_BYTES: Final = 6_000
MOST_ROWS: Final = 50
MOST_PATHS: Final = 60
BUTTONS: Final[Mapping[str, tuple[Button, ...]]] = {
    "accept": (REJUDGE, HELPFUL, NOT_HELPFUL),
    "reject": (REJUDGE, CONTEST, HELPFUL),
    "abstain": (REJUDGE,),
}
"""By decision; GitHub allows three. A contest already means that a reject was not helpful."""
OMISSION_ORDER: Final = (
    "findings", "scores", "claims", "coverage", "criteria", "closing_conditions", "evidence", "signals",
)  # fmt: skip
BACKTICK_RUN: Final = pattern("`{3,}")
LONG_TEXTS: Final = ("concern", "next_step", "escalation_reason")
CUT_TEXT_BYTES: Final = 1_000
FENCE_BYTES: Final = 500
"""Kept for the fence and the names in `cut`."""

CHECK_VERSION: Final = 1
BLOCK_BYTES: Final = 4_000
"""Kept in every text for the block of the check itself."""

OPTIONAL_FIELDS: Final = ("superseded_by", "overridden_by", "reviewed_by")


@dataclass(frozen=True)
class Site:
    """Links to the repository's pages. `url`: GitHub's address for people, without a slash at the end.

    `delivery_id`: the delivery that requested the verdict; empty: none did.
    """

    url: str
    verdict: Verdict
    dossier: Dossier
    delivery_id: str = ""

    def line(self, pointer: EvidencePointer) -> str:
        """The page of a pointer: the file at the commit of its side, at its lines."""
        pull = self.dossier.pull_request
        sha = pull.head_sha if pointer.side is Side.HEAD else pull.merge_base_sha or pull.base_sha
        plain = "?plain=1" if pointer.path.lower().endswith((".md", ".markdown")) else ""  # else GitHub shows no lines
        end = f"-L{pointer.end_line}" if pointer.end_line else ""
        anchor = "" if pointer.line is None else f"#L{pointer.line}{end}"
        return f"{self.url}/{address(pull.repository, 'blob', sha, pointer.path)}{plain}{anchor}"

    def issue(self, repository: str | None, number: int) -> str:
        return f"{self.url}/{address(repository or self.dossier.pull_request.repository, 'issues', str(number))}"

    def commit(self, sha: str) -> str:
        return f"{self.url}/{address(self.dossier.pull_request.repository, 'commit', sha)}"


def decision_section(verdict: Verdict) -> list[str]:
    """The concern and the next step."""
    concern = prose(verdict.concern)
    match verdict:
        case Accept():
            return [concern]
        case Reject():
            named = f"**{phrases.category_phrase(verdict.category).capitalize()}.** {concern}"
            direction = [f"**{name}:** {prose(text)}" for name, text in phrases.direction_phrases(verdict)]
            return [named, *direction, f"**Next step:** {prose(verdict.next_step)}"]
        case Abstain():
            return [concern, f"**Next step:** {prose(verdict.next_step)}"]
        case _:
            assert_never(verdict)


def case_error_section(dossier: Dossier) -> list[str]:
    """The error of the author's `assay` block."""
    if not dossier.case_error:
        return []
    error = prose(dossier.case_error)
    return [
        f"**The `assay` block could not be read**, so this was judged without the author's case: {error} Mend it in the description; that uses no round."
    ]


def evidence_section(verdict: Verdict, site: Site) -> list[str]:
    """Each pointer as a link with its line quoted."""
    blocks = ["### Evidence"] if verdict.evidence else []
    most = phrases.max_pointers(verdict)
    for pointer in verdict.evidence[:most]:
        blocks += pointer_blocks(pointer, site)
    if left := verdict.evidence[most:]:
        blocks.append(f"… and {phrases.count_phrase(left, 'more place')}, in the verdict below.")
    return blocks


def pointer_blocks(pointer: EvidencePointer, site: Site) -> list[str]:
    side = "" if pointer.side is Side.HEAD else " (before the change)"
    note = f": {prose(pointer.note)}" if pointer.note else ""
    location = f"{pointer_link(pointer, site)}{side}{note}"
    return [location, code_block(fit(pointer.quote, QUOTE_BYTES))] if pointer.quote is not None else [location]


def pointer_link(pointer: EvidencePointer, site: Site) -> str:
    """`path:line` as a link to that line."""
    return link(code(pointer.location), site.line(pointer))


def suspicions_section(verdict: Verdict, site: Site) -> list[str]:
    """What a person should look at, each with its location."""
    rows = [
        f"{_where(suspicion, site)}{prose(suspicion.note or suspicion.signal.replace('_', ' '), 300)}"
        for suspicion in phrases.suspicions(verdict)
    ]
    return ["### What to look at", bullets(rows, MOST_ROWS)] if rows else []


def criteria_section(verdict: Verdict, site: Site) -> list[str]:
    """Each criterion with its status."""
    shown = phrases.shown_criteria(verdict)
    if not shown:
        return []
    texts = phrases.criterion_texts(site.dossier, 300)
    rows = list[str]()
    for criterion in shown[:MOST_ROWS]:
        text = prose(texts.get(criterion.id, ""))
        state = phrases.status_phrase(criterion, verdict)
        line = f"**{prose(criterion.id, 60)}** {state}{f': {text}' if text else ''}{_aside(criterion.note)}"
        places = ", ".join(pointer_link(pointer, site) for pointer in criterion.evidence[:3])
        rows.append(f"{line}; {phrases.places_phrase(criterion)} {places}" if places else line)
    blocks = [f"### {phrases.criteria_heading(shown, site.dossier)}", bullets(rows)]
    if left := shown[MOST_ROWS:]:
        blocks.append(f"… and {len(left)} more, in the verdict below.")
    return blocks


def failures_section(verdict: Verdict, dossier: Dossier) -> list[str]:
    """The report of each failed check, which is all the feedback where CI prevented a verdict."""
    blocks = list[str]()
    for check in phrases.failed_checks(dossier)[:5] if isinstance(verdict, Abstain) else ():
        blocks.append(f"### {prose(check.name, 200)}: {prose(check.conclusion or '', 60)}")
        reports = (fit(check.summary, LOG_BYTES), fit_end(check.log_tail, LOG_BYTES))
        blocks += [code_block(report.strip("\n")) for report in reports if report.strip()]
    return blocks


def claims_section(verdict: Verdict) -> list[str]:
    if not verdict.claims:
        return []
    rows = [
        f"{prose(claim.claim, 300)}: {phrases.CLAIM_PHRASES[claim.status]}{_aside(claim.note)}"
        for claim in verdict.claims
    ]
    return ["### What the author claims", bullets(rows, MOST_ROWS)]


def _aside(note: str) -> str:
    return f" ({prose(note, 300)})" if note else ""


def conditions_section(verdict: Verdict) -> list[str]:
    """The closing conditions, ticked once they are met."""
    rows = [
        f"{phrases.checkbox(condition)} {prose(condition.id, 60)}: {prose(condition.text, 500)}"
        for condition in verdict.closing_conditions
    ]
    return [f"### {phrases.conditions_heading(verdict)}", bullets(rows, MOST_ROWS)] if rows else []


def findings_section(verdict: Verdict, site: Site) -> list[str]:
    """The findings that the summary does not name."""
    shown, rows = phrases.suspicions(verdict), list[str]()
    for finding in verdict.findings:
        if finding not in shown:
            weight, signal = "fact" if finding.fact else "suspicion", prose(finding.signal.replace("_", " "), 100)
            where = _where(finding, site).removesuffix(": ")
            rows.append(f"{weight}: {signal}{f' at {where}' if where else ''}{_aside(finding.note)}")
    return ["### What the code checks saw", bullets(rows, MOST_ROWS)] if rows else []


def _where(finding: Finding, site: Site) -> str:
    """The finding's location as a link with a colon; empty without one."""
    if not finding.path:
        return ""
    pointer = EvidencePointer(path=finding.path, line=finding.line, side=finding.side)
    return pointer_link(pointer, site) + ("" if finding.side is Side.HEAD else " (before the change)") + ": "


def scores_section(verdict: Verdict) -> list[str]:
    if not verdict.scores:
        return []
    rows = [
        f"{prose(score.criterion, 100)} {score.score}/10"
        + (f": {prose(score.reasoning, 500)}" if score.reasoning.strip() else "")
        + (f" **Better with:** {prose(score.improvement, 500)}" if score.improvement.strip() else "")
        for score in verdict.scores[:MOST_ROWS]
    ]
    return ["### Scores", bullets(rows)]


def coverage_section(verdict: Verdict, dossier: Dossier) -> list[str]:
    """The files that were read in full, in part, and not at all."""
    read, reasons = verdict.coverage, phrases.unread_phrases(dossier)
    parts = ((read.read, "in full"), (read.partly, "in part"), (read.unread, "not at all"))
    rows = [
        f"{phrases.count_phrase(paths, 'file')} {extent}{_paths(paths, reasons)}"
        for paths, extent in parts
        if paths or extent == "in full"
    ]
    return ["### What was read", bullets(rows)]


def _paths(paths: Sequence[str], reasons: Mapping[str, str]) -> str:
    shown = [code(path, 200) + (f" ({reasons[path]})" if path in reasons else "") for path in paths[:MOST_PATHS]]
    left = len(paths) - len(shown)
    return (": " if shown else "") + ", ".join(shown) + (f" … and {left} more" if left else "")


def sources_section(dossier: Dossier, site: Site) -> list[str]:
    """The issues, checks and rules that were used."""
    issues = [
        link(prose(f"{issue.repository or ''}#{issue.number}"), site.issue(issue.repository, issue.number))
        + f" {prose(issue.title, 300)}"
        + (f", linked by {code(issue.linked_by, 200)}" if issue.linked_by else "")
        for issue in dossier.issues
    ]
    checks = dossier.ci.checks if dossier.ci else ()
    rows = [f"Issue: {issue}" for issue in issues] or ["Issue: none is linked"]
    rows += [
        f"CI: {prose(phrases.ci_phrase(dossier))}"
        + phrases.list_phrase([prose(phrases.check_phrase(check)) for check in checks])
    ]
    rows += [f"Rules: {code(guidance.path, 200)} of the base branch" for guidance in dossier.guidance]
    return ["### What was used", bullets(rows, MOST_ROWS)]


def judging_facts_section(verdict: Verdict, site: Site) -> list[str]:
    """What judged, the cost, and the ids for questions about it."""
    tokens = phrases.token_phrase(verdict)
    head = verdict.subject.head_sha
    rows = [
        f"Judged by {prose(phrases.judge_phrase(verdict), 100)} in {phrases.duration_phrase(verdict.judge_latency_ms)}, "
        f"cost {phrases.cost_phrase(verdict)}" + (f", tokens: {tokens}" if tokens else ""),
        f"The model was {prose(phrases.escalation_phrase(verdict), 1000)}",
        f"Rubric {prose(verdict.rubric_id, 100)}, version {prose(verdict.rubric_version, 100)}"
        + (f"; prompt {code(verdict.prompt_version, 100)}" if verdict.prompt_version else ""),
        f"Head commit {link(code(head[:12]), site.commit(head))}, round {verdict.round}",
        f"Verdict {code(verdict.eval_id)} of {verdict.created_at:%Y-%m-%d %H:%M} UTC",
    ]
    rows += [f"Same content as verdict {code(verdict.carried_from)}, carried over"] if verdict.carried_from else []
    rows += [f"Delivery {code(site.delivery_id, 200)}"] if site.delivery_id else []
    return ["### How it was judged", bullets(rows)]


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
        summary=join_blocks([*_summary(verdict, site, again_at)], SUMMARY_BYTES),
        text=f"{details}\n\n{machine}",
        conclusion=conclusion(verdict, dossier),
        annotations=(*config_annotations(dossier), *annotations(verdict, dossier))[:MOST_ANNOTATIONS],
        buttons=BUTTONS[verdict.decision],
        block=StatusBlock(
            WaitState.DONE if again_at is None else WaitState.PENDING,
            verdict_reason(verdict),
            None if again_at is None else again_at.isoformat(),
            verdict.decision,
            verdict.eval_id,
        ),
    )


def _summary(verdict: Verdict, site: Site, again_at: datetime | None) -> Iterator[str]:
    if again_at is not None:  # above what people may do
        when = f"**Assay retries this automatically at {again_at:%H:%M} UTC** ({again_at:%Y-%m-%d})"
        yield f"{when}; a push, a re-run of this check or `/rejudge` does so immediately."
    if passing := phrases.passing_phrase(verdict, site.dossier):
        yield f"*{passing}*"
    yield from decision_section(verdict)
    if not site.dossier.has_criteria:
        yield phrases.WITHOUT_CRITERIA
    yield from proposed_changes(site.dossier)
    if budget := phrases.budget_phrase(verdict):
        yield f"**Budget:** {prose(budget)}"
    if opinions := phrases.opinion_phrase(verdict):
        yield f"**Opinions** {prose(opinions, 2000)}"
    yield from case_error_section(site.dossier)
    yield from map(prose, phrases.edit_phrases(site.dossier))
    yield from failures_section(verdict, site.dossier)
    yield from evidence_section(verdict, site)
    yield from suspicions_section(verdict, site)
    yield from criteria_section(verdict, site)


def _details(verdict: Verdict, site: Site) -> Iterator[str]:
    yield from conditions_section(verdict)
    yield from judging_facts_section(verdict, site)
    yield from sources_section(site.dossier, site)
    yield from used_configuration(verdict, site.dossier)
    yield from coverage_section(verdict, site.dossier)
    yield from claims_section(verdict)
    yield from findings_section(verdict, site)
    yield from scores_section(verdict)


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


def json_block(verdict: Verdict, limit: int) -> str:
    """A folded block of at most *limit* bytes with the verdict in JSON."""
    head, tail = "<details><summary>The verdict as JSON</summary>\n\n", "\n\n</details>"
    fields, limit = verdict.model_dump(mode="json"), limit - len(head) - len(tail)
    sizes = {name: len(_json({name: value})) for name, value in fields.items()}
    shown = _json(fields, indent=2) if sum(sizes.values()) <= limit else None
    if shown is None or len(shown) + FENCE_BYTES > limit:
        shown = _json(_cut_fields(fields, sizes, limit))
    return f"{head}{code_block(shown, 'json')}{tail}"


def check_text(content: CheckContent) -> str:
    """The text of a check run as it is written: with the check's own block at its end."""
    if content.block is None:
        return content.text
    block = code_block(_json(_fields(content, content.block), indent=2), "json")
    folded = f"<details><summary>This check as JSON</summary>\n\n{block}\n\n</details>"
    return f"{content.text}\n\n{folded}" if content.text else folded


def _fields(content: CheckContent, block: StatusBlock) -> dict[str, Any]:
    """The fields of `GET /api/verdicts` and of a verdict by the same names, and those that only a check run has."""
    return {
        "check_version": CHECK_VERSION,
        "state": block.state.value,
        "decision": block.decision,
        "reason": block.reason,
        "why": content.title,
        "until": block.until,
        "conclusion": content.conclusion and content.conclusion.value,
        "eval_id": block.eval_id,
        **{name: getattr(block, name) for name in OPTIONAL_FIELDS},
        "held_by": block.held_by,
    }


def _cut_fields(fields: dict[str, Any], sizes: dict[str, int], limit: int) -> dict[str, Any]:
    """The fields that fit; the least important ones are cut first."""
    size, cut = sum(sizes.values()) + FENCE_BYTES, list[str]()
    for name in OMISSION_ORDER:
        if size > limit:
            size -= sizes[name]
            cut.append(name)
    kept = {name: value for name, value in fields.items() if name not in cut}
    if size > limit:
        kept |= {name: fit(fields[name] or "", CUT_TEXT_BYTES) for name in LONG_TEXTS}
    return kept | ({"cut": cut} if cut else {})


def _json(fields: dict[str, Any], indent: int | None = None) -> str:
    """JSON in ASCII, with escaped backticks that could end the fence."""
    return BACKTICK_RUN.sub(lambda run: "\\u0060" * len(run[0]), json.dumps(fields, indent=indent))
