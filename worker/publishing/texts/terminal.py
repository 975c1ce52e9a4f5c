"""A verdict as text for a terminal: the decision, its evidence, the next step and the facts behind it."""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import inf
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.verdict.verdict import Abstain, Reject, Side, Verdict
from worker.publishing.texts import phrases
from worker.publishing.texts.markdown import exact_line, fit, fit_end, one_line, visible

TAB: Final = 4


class Ink(StrEnum):
    """Select Graphic Rendition numbers."""

    BOLD = "1"
    DIM = "2"
    RED = "1;31"
    GREEN = "1;32"
    YELLOW = "1;33"


@dataclass(frozen=True)
class TerminalPage:
    """A terminal: its width in columns, and whether it shows colour."""

    width: int = 80
    has_colour: bool = False

    def ink(self, text: str, ink: Ink) -> str:
        """The text in colour, if the terminal shows colour."""
        return f"\x1b[{ink}m{text}\x1b[0m" if self.has_colour and text else text


def display_width(text: str) -> int:
    """Columns of a text: two for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def wrap_lines(text: str, page: TerminalPage, indent: int = 0) -> list[str]:
    """Wrap text to the page. A word that is longer than a line stays whole, so that paths stay clickable."""
    width, lines = max(page.width - indent, 20), list[str]()
    for paragraph in visible(text).split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if line and display_width(longer) > width:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return [" " * indent + line for line in lines]


def label_row(label: str, text: str, page: TerminalPage, columns: int) -> list[str]:
    """A bold label in so many columns, and the text beside it."""
    first, *rest = wrap_lines(text, page, indent=columns + 1)
    return [page.ink(label, Ink.BOLD) + " " * (columns + 1 - display_width(label)) + first.lstrip(), *rest]


def quote_lines(text: str, page: TerminalPage, indent: int) -> list[str]:
    """Lines of code behind a bar, cut at the page's edge so that each stays one line."""
    width = max(page.width - indent - 2, 20)
    lines = [visible(line).expandtabs(TAB) for line in text.split("\n")]
    for number, line in enumerate(lines):
        if display_width(line) > width:
            ends = [*accumulate(map(_character_width, line))]
            lines[number] = f"{line[: bisect_right(ends, width - 2)]} …"
    return [" " * indent + page.ink(f"| {line}".rstrip(), Ink.DIM) for line in lines]


STEPS: Final = "▁▂▃▄▅▆▇█"
PLAIN_STEPS: Final = "_.-=+*%#"


def bar(share: float, width: int, page: TerminalPage) -> str:
    """A share from 0 to 1 as a bar of this width."""
    full = round(max(0.0, min(1.0, share)) * width)
    return ("█" * full + "░" * (width - full)) if page.has_colour else ("#" * full + "." * (width - full))


def sparkline(figures: Sequence[int | float | None], page: TerminalPage) -> str:
    """One character per figure, scaled from 0 to the largest; a blank for None."""
    steps = STEPS if page.has_colour else PLAIN_STEPS
    most = max((figure for figure in figures if figure is not None), default=0) or inf
    return "".join(" " if figure is None else steps[round(figure / most * (len(STEPS) - 1))] for figure in figures)


DECISION_INKS: Final = {"accept": Ink.GREEN, "reject": Ink.RED, "abstain": Ink.YELLOW}
LABEL_COLUMNS: Final = 10
MOST_PATHS: Final = 40
MOST_FINDINGS: Final = 10
QUOTE_LINES: Final = 8
LOG_LINES: Final = 30
LOG_BYTES: Final = 6_000


def verdict_report(verdict: Verdict, dossier: Dossier, page: TerminalPage, notes: Sequence[str] = ()) -> str:
    """The whole report, with a newline at its end."""
    parts = (
        _decision(verdict, dossier, page),
        _failures(verdict, dossier, page),
        _evidence(verdict, page),
        _next_step(verdict, page),
        _conditions(verdict, page),
        _criteria(verdict, dossier, page),
        _findings(verdict, page),
        (
            line
            for label, text in _rows(verdict, dossier, notes)
            for line in label_row(label, one_line(text), page, LABEL_COLUMNS)
        ),
    )
    return "\n\n".join("\n".join(lines) for lines in (list(part) for part in parts) if lines) + "\n"


def _decision(verdict: Verdict, dossier: Dossier, page: TerminalPage) -> Iterator[str]:
    yield page.ink(phrases.headline(verdict, dossier), DECISION_INKS[verdict.decision])
    if passing := phrases.passing_phrase(verdict, dossier):
        yield from wrap_lines(passing, page, indent=2)
    yield from wrap_lines(one_line(verdict.concern), page, indent=2)


def _failures(verdict: Verdict, dossier: Dossier, page: TerminalPage) -> Iterator[str]:
    if not isinstance(verdict, Abstain):
        return
    for check in phrases.failed_checks(dossier)[:5]:
        yield page.ink(one_line(f"{check.name}: {check.conclusion}"), Ink.BOLD)
        for text in (fit(check.summary, LOG_BYTES), fit_end(check.log_tail, LOG_BYTES)):
            if text.strip():
                yield from quote_lines("\n".join(text.strip("\n").split("\n")[-LOG_LINES:]), page, 2)


def _evidence(verdict: Verdict, page: TerminalPage) -> Iterator[str]:
    if verdict.evidence:
        yield page.ink("Evidence", Ink.BOLD)
    most = phrases.max_pointers(verdict)
    for pointer in verdict.evidence[:most]:
        side = "" if pointer.side is Side.HEAD else " (before the change)"
        yield f"  {exact_line(pointer.location)}{side}"
        if pointer.quote is not None:
            yield from quote_lines("\n".join(pointer.quote.split("\n")[:QUOTE_LINES]), page, 4)
        if pointer.note:
            yield from wrap_lines(one_line(pointer.note), page, indent=4)
    if left := verdict.evidence[most:]:
        yield f"  … and {phrases.count_phrase(left, 'more place')} (--json shows all)"


def _next_step(verdict: Verdict, page: TerminalPage) -> Iterator[str]:
    for name, text in phrases.direction_phrases(verdict):
        yield page.ink(name, Ink.BOLD)
        yield from wrap_lines(one_line(text), page, indent=2)
    if verdict.next_step is not None:
        yield page.ink("Next step", Ink.BOLD)
        yield from wrap_lines(one_line(verdict.next_step), page, indent=2)


def _conditions(verdict: Verdict, page: TerminalPage) -> Iterator[str]:
    """The closing conditions with their boxes; a single one that is the next step is omitted."""
    conditions = verdict.closing_conditions
    if all(condition.text == verdict.next_step for condition in conditions):
        return
    yield page.ink(phrases.conditions_heading(verdict), Ink.BOLD)
    for condition in conditions:
        yield from wrap_lines(
            f"{phrases.checkbox(condition)} {one_line(condition.id)}: {fit(one_line(condition.text), 400)}",
            page,
            indent=2,
        )


def _criteria(verdict: Verdict, dossier: Dossier, page: TerminalPage) -> Iterator[str]:
    texts = phrases.criterion_texts(dossier, 400)
    shown = phrases.shown_criteria(verdict)
    if not dossier.has_criteria:
        yield from wrap_lines(phrases.WITHOUT_CRITERIA, page, indent=0)
    if shown:
        yield page.ink(phrases.criteria_heading(shown, dossier), Ink.BOLD)
    for criterion in shown:
        text = f"{one_line(criterion.id)} {phrases.status_phrase(criterion, verdict)}: {one_line(texts.get(criterion.id, ''))}"
        yield from wrap_lines(text.rstrip(": "), page, indent=2)
        if places := ", ".join(exact_line(pointer.location) for pointer in criterion.evidence[:3]):
            yield from wrap_lines(f"{phrases.places_phrase(criterion)} {places}", page, indent=4)
        if criterion.note:
            yield from wrap_lines(one_line(criterion.note), page, indent=4)


def _findings(verdict: Verdict, page: TerminalPage) -> Iterator[str]:
    """The findings besides the evidence. A reject's fact without a location is its concern."""
    shown = {(pointer.path, pointer.line, pointer.side) for pointer in verdict.evidence}
    rest = [finding for finding in verdict.findings if (finding.path, finding.line, finding.side) not in shown]
    if isinstance(verdict, Reject):
        rest = [finding for finding in rest if not (finding.fact and finding.path is None)]
    if rest:
        yield page.ink("What to look at" if phrases.suspicions(verdict) else "Also seen", Ink.BOLD)
    for finding in rest[:MOST_FINDINGS]:
        side = "" if finding.side is Side.HEAD else " (before the change)"
        where = f" at {exact_line(finding.location)}{side}" if finding.location else ""
        note = f": {one_line(finding.note)}" if finding.note else ""
        yield from wrap_lines(f"{one_line(finding.signal.replace('_', ' '))}{where}{note}", page, indent=2)
    if left := rest[MOST_FINDINGS:]:
        yield f"  … and {len(left)} more (--json shows all)"


def _rows(verdict: Verdict, dossier: Dossier, notes: Sequence[str]) -> Iterator[tuple[str, str]]:
    reasons, read = phrases.unread_phrases(dossier), verdict.coverage
    yield "Read", _paths(read.read, reasons) or "nothing"
    if read.partly:
        yield "In part", _paths(read.partly, reasons)
    if read.unread:
        yield "Not read", _paths(read.unread, reasons)
    yield from (("Issue", phrases.issue_phrase(issue)) for issue in dossier.issues)
    if not dossier.issues:
        yield "Issue", "none given"
    yield from (("Edited", phrase) for phrase in phrases.edit_phrases(dossier))
    checks = dossier.ci.checks if dossier.ci else ()
    yield "CI", phrases.ci_phrase(dossier) + phrases.list_phrase([phrases.check_phrase(check) for check in checks])
    yield from (("Config", note) for note in phrases.config_notes(verdict, dossier))
    yield from (("Changes", proposal) for proposal in phrases.proposals(dossier))
    if dossier.case_error:
        yield "Case", f"could not be read, judged without it: {one_line(dossier.case_error)}"
    yield "Judged by", f"{phrases.judge_phrase(verdict)}, {phrases.duration_phrase(verdict.judge_latency_ms)}"
    yield "Model", phrases.escalation_phrase(verdict)
    tokens = phrases.token_phrase(verdict)
    yield "Cost", phrases.cost_phrase(verdict) + (f", tokens: {tokens}" if tokens else "")
    if opinions := phrases.opinion_phrase(verdict):
        yield "Opinions", opinions
    if budget := phrases.budget_phrase(verdict):
        yield "Budget", budget
    yield "Commit", f"{verdict.subject.head_sha[:12]}, round {verdict.round}"
    carried = f", carried over from {verdict.carried_from}" if verdict.carried_from else ""
    yield "Verdict", f"{verdict.eval_id}{carried}"
    yield from (("Note", note) for note in notes)


def _paths(paths: Sequence[str], reasons: dict[str, str]) -> str:
    shown = [exact_line(path) + (f" ({reasons[path]})" if path in reasons else "") for path in paths[:MOST_PATHS]]
    left = len(paths) - len(shown)
    return ", ".join(shown) + (f" … and {left} more" if left else "")
