"""The sections of a verdict's check run, each a function from the verdict to bounded Markdown blocks; an empty section has none.

Lists instead of tables: at a phone's 375 px a list wraps, while only the first column of a table is in sight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from worker.domain.dossier.dossier import Dossier
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    Reject,
    Side,
    Verdict,
)
from worker.publishing.texts import phrases
from worker.publishing.texts.markdown import address, bullets, code, code_block, fit, fit_end, link, prose

QUOTE_BYTES: Final = 2_000
LOG_BYTES: Final = 6_000
MOST_ROWS: Final = 50
MOST_PATHS: Final = 60


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
        return f"{self.url}/{address(pull.repository, 'blob', sha, pointer.path)}{plain}{_anchor(pointer)}"

    def issue(self, repository: str | None, number: int) -> str:
        return f"{self.url}/{address(repository or self.dossier.pull_request.repository, 'issues', str(number))}"

    def commit(self, sha: str) -> str:
        return f"{self.url}/{address(self.dossier.pull_request.repository, 'commit', sha)}"


def _anchor(pointer: EvidencePointer) -> str:
    if pointer.line is None:
        return ""
    end = f"-L{pointer.end_line}" if pointer.end_line else ""
    return f"#L{pointer.line}{end}"


def decision(verdict: Verdict) -> list[str]:
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


def case_error(dossier: Dossier) -> list[str]:
    """The error of the author's `assay` block."""
    if not dossier.case_error:
        return []
    error = prose(dossier.case_error)
    return [
        f"**The `assay` block could not be read**, so this was judged without the author's case: {error} Mend it in the description; that uses no round."
    ]


def evidence(verdict: Verdict, site: Site) -> list[str]:
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


def suspicions(verdict: Verdict, site: Site) -> list[str]:
    """What a person should look at, each with its location."""
    rows = [
        f"{_where(suspicion, site)}{prose(suspicion.note or suspicion.signal.replace('_', ' '), 300)}"
        for suspicion in phrases.suspicions(verdict)
    ]
    return ["### What to look at", bullets(rows, MOST_ROWS)] if rows else []


def criteria(verdict: Verdict, site: Site) -> list[str]:
    """Each criterion with its status."""
    shown = phrases.shown_criteria(verdict)
    if not shown:
        return []
    texts = phrases.criterion_texts(site.dossier, 300)
    rows = [_criterion(criterion, texts, site) for criterion in shown[:MOST_ROWS]]
    blocks = [f"### {phrases.criteria_heading(shown, site.dossier)}", bullets(rows)]
    if left := shown[MOST_ROWS:]:
        blocks.append(f"… and {len(left)} more, in the verdict below.")
    return blocks


def _criterion(criterion: CriterionVerdict, texts: Mapping[str, str], site: Site) -> str:
    text = prose(texts.get(criterion.id, ""))
    places = ", ".join(pointer_link(pointer, site) for pointer in criterion.evidence[:3])
    state = phrases.status_phrase(criterion, site.verdict)
    line = f"**{prose(criterion.id, 60)}** {state}{f': {text}' if text else ''}{_aside(criterion.note)}"
    return f"{line}; {phrases.places_phrase(criterion)} {places}" if places else line


def failures(verdict: Verdict, dossier: Dossier) -> list[str]:
    """The report of each failed check, which is all the feedback where CI prevented a verdict."""
    blocks = list[str]()
    for check in phrases.failed_checks(dossier)[:5] if isinstance(verdict, Abstain) else ():
        blocks.append(f"### {prose(check.name, 200)}: {prose(check.conclusion or '', 60)}")
        reports = (fit(check.summary, LOG_BYTES), fit_end(check.log_tail, LOG_BYTES))
        blocks += [code_block(report.strip("\n")) for report in reports if report.strip()]
    return blocks


def claims(verdict: Verdict) -> list[str]:
    if not verdict.claims:
        return []
    rows = [
        f"{prose(claim.claim, 300)}: {phrases.CLAIM_PHRASES[claim.status]}{_aside(claim.note)}"
        for claim in verdict.claims
    ]
    return ["### What the author claims", bullets(rows, MOST_ROWS)]


def _aside(note: str) -> str:
    return f" ({prose(note, 300)})" if note else ""


def conditions(verdict: Verdict) -> list[str]:
    """The closing conditions, ticked once they are met."""
    rows = [
        f"{phrases.checkbox(condition)} {prose(condition.id, 60)}: {prose(condition.text, 500)}"
        for condition in verdict.closing_conditions
    ]
    return [f"### {phrases.conditions_heading(verdict)}", bullets(rows, MOST_ROWS)] if rows else []


def findings(verdict: Verdict, site: Site) -> list[str]:
    """The findings that the summary does not name."""
    shown = phrases.suspicions(verdict)
    rows = [_finding(finding, site) for finding in verdict.findings if finding not in shown]
    return ["### What the code checks saw", bullets(rows, MOST_ROWS)] if rows else []


def _finding(finding: Finding, site: Site) -> str:
    weight = "fact" if finding.fact else "suspicion"
    signal = prose(finding.signal.replace("_", " "), 100)
    where = _where(finding, site).removesuffix(": ")
    return f"{weight}: {signal}{f' at {where}' if where else ''}{_aside(finding.note)}"


def _where(finding: Finding, site: Site) -> str:
    """The finding's location as a link with a colon; empty without one."""
    if not finding.path:
        return ""
    pointer = EvidencePointer(path=finding.path, line=finding.line, side=finding.side)
    return pointer_link(pointer, site) + ("" if finding.side is Side.HEAD else " (before the change)") + ": "


def scores(verdict: Verdict) -> list[str]:
    if not verdict.scores:
        return []
    rows = [
        f"{prose(score.criterion, 100)} {score.score}/10"
        + (f": {prose(score.reasoning, 500)}" if score.reasoning.strip() else "")
        + (f" **Better with:** {prose(score.improvement, 500)}" if score.improvement.strip() else "")
        for score in verdict.scores[:MOST_ROWS]
    ]
    return ["### Scores", bullets(rows)]


def coverage(verdict: Verdict, dossier: Dossier) -> list[str]:
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


def sources(dossier: Dossier, site: Site) -> list[str]:
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


def judging_facts(verdict: Verdict, site: Site) -> list[str]:
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
