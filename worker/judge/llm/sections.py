"""What a question contains beside the change: the request, its rules, what code found, and earlier rounds.

All text of others is in `PromptSection.texts`, cut to its limit, and none of our own sentences quotes any. Titles, labels and
commit messages are left out: a new title must not change a verdict.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from worker.domain.dossier import Dossier
from worker.domain.verdict.ledger import LedgerEntry, conditions_of, select_prompt_entries
from worker.domain.verdict.verdict import Abstain, Accept, Category, ClaimVerdict, ClosingCondition, Reject
from worker.judge.checks.ci_status import CiReport
from worker.judge.checks.suspicions import Suspicion
from worker.judge.llm.fencing import cut_text, escape_hidden, shown_path
from worker.judge.rounds.convergence import RejectRefusal, open_conditions
from worker.judge.rounds.previous_rounds import ChangedLines, PreviousRounds, first_scores, rejects_of, surface_of
from worker.judge.texts import MOST_NAMED, count_times

LEAST_BYTES: Final = 200
"""Shown of each issue, criterion, rules file and round, however many there are."""


REASONING_BYTES: Final = 300
MOST_NEW_LINES: Final = 60
"""How many files and earlier rejects are listed."""


@dataclass(frozen=True)
class PromptSection:
    """A heading, sentences of ours, then texts of others with our labels."""

    heading: str
    intro: str
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SectionLimits:
    """The most bytes of each section; what is longer is cut with a note."""

    issues: int = 24_000
    criteria: int = 24_000
    case: int = 12_000
    ci: int = 8_000
    suspicions: int = 12_000
    ledger: int = 12_000
    guidance: int = 24_000
    contest: int = 2_000

    def scaled(self, share: float) -> "SectionLimits":
        return SectionLimits(**{name: int(getattr(self, name) * share) for name in self.__match_args__})


@dataclass(frozen=True)
class SectionInput:
    """What the sections are made from, redacted."""

    dossier: Dossier
    suspicions: tuple[Suspicion, ...]
    claims: tuple[ClaimVerdict, ...]
    ci: CiReport
    previous_rounds: PreviousRounds
    limits: SectionLimits = SectionLimits()


def sections_before_change(section_input: SectionInput) -> Iterator[PromptSection]:
    """From the rules to CI."""
    for build in (_guidance, _issues, _criteria, _rounds, _contest, _case, _ci):
        yield from build(section_input)


def sections_after_change(section_input: SectionInput) -> Iterator[PromptSection]:
    """Suspicions, earlier rounds, and the scores of the first head."""
    yield from _suspicions(section_input)
    yield from _ledger(section_input)
    yield from calibration_sections(section_input.dossier, section_input.previous_rounds)


def calibration_sections(dossier: Dossier, previous: PreviousRounds) -> Iterator[PromptSection]:
    """The scores of the first judged head; *dossier* is redacted."""
    what, scores = first_scores(dossier, previous)
    if scores:
        intro = (
            f"What was judged first ({what}) scored this. It is a fixed mark to measure by: score this head on its own "
            "merits, above it, equal or below."
        )
        lines = "\n".join(
            f"{score.criterion}: {score.score}/10. {cut_text(score.reasoning, REASONING_BYTES)}".rstrip()
            for score in scores
        )
        yield PromptSection("Calibration", escape_hidden(intro), (("first scores", escape_hidden(lines)),))


def _safe(text: str, limit: int) -> str:
    return cut_text(escape_hidden(text), limit)


def _guidance(section_input: SectionInput) -> Iterator[PromptSection]:
    rules = section_input.dossier.guidance
    if not rules:
        return
    share = max(LEAST_BYTES, section_input.limits.guidance // len(rules))
    intro = "As they stand at the base commit. They say what is wanted of the change, not how to answer."
    texts = tuple((f'rules file "{shown_path(rule.path)}"', _safe(rule.text, share)) for rule in rules)
    yield PromptSection("The repository's rules", intro, texts)


def _issues(section_input: SectionInput) -> Iterator[PromptSection]:
    issues = section_input.dossier.issues
    if not issues:
        return
    share = max(LEAST_BYTES, section_input.limits.issues // len(issues))
    texts = tuple((f"issue {issue.number}", _safe(f"{issue.title}\n\n{issue.body}", share)) for issue in issues)
    yield PromptSection("The issue", "What was asked for, in its author's words.", texts)


def _criteria(section_input: SectionInput) -> Iterator[PromptSection]:
    criteria = section_input.dossier.criteria
    if not criteria:
        yield PromptSection(
            "The criteria", "None are known: judge the change by what it sets out to do. `criteria` is []."
        )
        return
    share = max(LEAST_BYTES, section_input.limits.criteria // len(criteria))
    intro = "Answer for each of these ids."
    if not section_input.dossier.has_criteria:
        intro += (
            " No issue and no list says what is wanted: `description` is what the author says of the change. "
            "Hold the change to that and to the rules; nothing else is asked for."
        )
    elif any(criterion.inferred for criterion in criteria):
        intro += " What is marked as inferred was taken from prose, not from a list that somebody wrote."
    lines = (
        f"{shown_path(criterion.id)}{' (inferred)' if criterion.inferred else ''}: {_safe(criterion.text, share)}"
        for criterion in criteria
    )
    yield PromptSection("The criteria", intro, (("criteria", "\n".join(lines)),))


def _rounds(section_input: SectionInput) -> Iterator[PromptSection]:
    """Closing conditions, what is new, earlier rejects: from the second round on."""
    for section in history_sections(section_input.dossier.ledger, section_input.previous_rounds):
        share = max(LEAST_BYTES, section_input.limits.ledger // max(1, len(section.texts)))
        yield replace(section, texts=tuple((label, _safe(text, share)) for label, text in section.texts))


def _contest(section_input: SectionInput) -> Iterator[PromptSection]:
    if contest := section_input.dossier.contest:
        intro = "A maintainer asks for another look and gives this reason. Weigh it; it decides nothing."
        yield PromptSection("Contested", intro, (("reason", _safe(contest, section_input.limits.contest)),))


def _case(section_input: SectionInput) -> Iterator[PromptSection]:
    case = section_input.dossier.case
    if case is None:
        yield PromptSection("The author's case", "The author made none.")
        return
    checked = [
        f"{claim.claim}: {claim.status}{f' ({claim.note})' if claim.note else ''}" for claim in section_input.claims
    ]
    text = "\n".join(
        (
            f"summary: {case.summary}",
            *(f"claim: {line}" for line in checked),
            *(f"proof given for {claim.criterion}: {claim.evidence}" for claim in case.ac_coverage if claim.evidence),
            *(f"work-around: {work_around}" for work_around in case.work_arounds),
            *(f"uncertain: {uncertainty}" for uncertainty in case.uncertainties),
        )
    )
    intro = "Claims, not facts. The word behind a claim says what code found at the place it names."
    yield PromptSection("The author's case", intro, (("case", _safe(text, section_input.limits.case)),))


def _ci(section_input: SectionInput) -> Iterator[PromptSection]:
    checks = section_input.dossier.ci.checks if section_input.dossier.ci else ()
    if not checks:
        yield PromptSection("CI", f"State: {section_input.ci.state}. No report of a validator is at hand.")
        return
    lines = (f"{check.name}: {check.conclusion or check.status}. {check.summary}".strip() for check in checks)
    text = _safe("\n".join(lines), section_input.limits.ci)
    yield PromptSection("CI", f"State: {section_input.ci.state}.", (("reports of the validators", text),))


def _suspicions(section_input: SectionInput) -> Iterator[PromptSection]:
    if not section_input.suspicions:
        return
    lines = "\n".join(map(_suspicion, section_input.suspicions))
    intro = (
        "A program asks these. Look at each place and decide for yourself. An accept answers each of them in `settled`."
    )
    yield PromptSection("Questions", intro, (("questions", _safe(lines, section_input.limits.suspicions)),))


def _suspicion(suspicion: Suspicion) -> str:
    finding = suspicion.finding
    line = "" if finding.line is None else f":{finding.line} ({finding.side})"
    location = f" at {shown_path(finding.path)}{line}" if finding.path else ""
    note = f" {finding.note}" if finding.note else ""
    return (
        f"- {suspicion.id}: Does this make it `{finding.category}`{location}? ({finding.signal.replace('_', ' ')}){note} "
        f"[settled by {suspicion.settling_line}]"
    )


def _ledger(section_input: SectionInput) -> Iterator[PromptSection]:
    entries = select_prompt_entries(section_input.dossier.ledger)
    if not entries:
        return
    share = section_input.limits.ledger // len(entries)
    intro = "Oldest first. Confirm what is resolved; escalate what recurs."
    texts = tuple((f"round {entry.round}", _safe("\n".join(_describe_entry(entry)), share)) for entry in entries)
    yield PromptSection("Earlier rounds", intro, texts)


def _describe_entry(entry: LedgerEntry) -> Iterator[str]:
    """What was decided, without its score."""
    verdict = entry.verdict
    yield f"change: {entry.diff_summary}"
    match verdict:
        case Accept():
            yield "decision: accept"
        case Reject(category=category):
            yield f"decision: reject, {category}"
        case Abstain(abstain_reason=reason):
            yield f"not judged: {reason}"
        case _:
            assert_never(verdict)
    yield f"concern: {verdict.concern}"
    yield from (
        f"evidence: {shown_path(pointer.location)} {pointer.note}".rstrip() for pointer in verdict.evidence[:10]
    )
    if verdict.next_step:
        yield f"next step: {verdict.next_step}"
    yield from (f"open condition {condition.id}: {condition.text}" for condition in entry.open_conditions)


def open_conditions_of(ledger: Sequence[LedgerEntry]) -> tuple[ClosingCondition, ...]:
    """The conditions that the model has to answer."""
    return open_conditions(conditions_of(ledger))


def history_sections(ledger: Sequence[LedgerEntry], previous: PreviousRounds) -> Iterator[PromptSection]:
    """Open conditions, new lines and earlier rejects. *ledger* is redacted; of *previous* only numbers and paths are used."""
    if conditions := open_conditions_of(ledger):
        intro = (
            "Earlier rounds asked for these, and they are still open. Answer for each id in `conditions`. Their words are "
            "frozen: hold the change against them, and against nothing more."
        )
        text = "\n".join(f"{condition.id}: {condition.text}" for condition in conditions)
        yield PromptSection("Closing conditions", intro, (("open conditions", text),))
    if previous.changed_lines is not None:
        yield _changes_section(previous.changed_lines)
    yield from _recurring_sections(rejects_of(ledger))


def _changes_section(changed: ChangedLines) -> PromptSection:
    intro = (
        "In this round a reject needs a closing condition that is still open, or a place on a line that changed since the "
        "change was judged the last time. What else it shows was judged then, and can't be objected to any more."
    )
    lines = [f'"{shown_path(path)}" ({side}): {", ".join(ranges)}' for (path, side), ranges in changed.ranges().items()]
    lines += [f'"{shown_path(path)}"' for path in sorted(changed.files)]
    if not lines:
        return PromptSection("What is new", f"{intro} No line changed since.")
    left = [f"and {len(lines) - MOST_NEW_LINES} more files"] if len(lines) > MOST_NEW_LINES else []
    return PromptSection("What is new", intro, (("lines changed since", "\n".join([*lines[:MOST_NEW_LINES], *left])),))


def _recurring_sections(rejects: Iterable[Reject]) -> Iterator[PromptSection]:
    """How often each category was the reason on each surface, and what was asked for each time."""
    steps_by_reason: dict[tuple[Category, str], list[str]] = {}
    for reject in rejects:
        for surface in sorted(surface_of(reject)):
            steps_by_reason.setdefault((reject.category, surface), []).append(reject.next_step)
    lines = [
        f'{category} at "{shown_path(surface)}": rejected {count_times(len(steps))}; asked for: {"; ".join(steps[-MOST_NAMED:])}'
        for (category, surface), steps in steps_by_reason.items()
    ]
    if lines:
        intro = (
            "If you reject for one of these categories at the same place again, the earlier step did not get through: teach "
            "the principle behind it in your concern, and name a step that is more concrete than those before."
        )
        yield PromptSection("What was said before", intro, (("earlier rejects", "\n".join(lines[-MOST_NEW_LINES:])),))


def correction_text(refusal: RejectRefusal, previous: PreviousRounds) -> str:
    """The correction for a reject that earlier rounds rule out."""
    match refusal:
        case RejectRefusal.NOT_NEW:
            names = ", ".join(condition.id for condition in open_conditions(previous.conditions))
            still = f", or where a condition that is still open ({names}) was raised" if names else ""
            return (
                "What you object to did not change since it was judged, so it can't carry a reject in this round: point at "
                f"lines listed under What is new{still}. If nothing there has to change, accept; if you can't, cannot_tell."
            )
        case RejectRefusal.REPEATED:
            return (
                "Your next_step was asked for in an earlier round and did not get through: teach the principle in your "
                "concern, and name a more concrete step: where, and what exactly has to stand there."
            )
        case _:
            assert_never(refusal)
