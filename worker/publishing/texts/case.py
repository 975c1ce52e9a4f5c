"""What `assay case` prints: a draft of a case, which parses as one, and the check of a written case."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.verdict.verdict import ClaimStatus
from worker.judge.checks.evidence import CONFIRMATION_MARK, CheckedCase, DraftClaim
from worker.publishing.texts.markdown import fit, one_line
from worker.publishing.texts.terminal import Ink, TerminalPage, wrap_lines

NO_CRITERIA: Final = "No criterion is known: name the issue with --issue."
TEXT_LIMIT: Final = 160
STATUS: Final = {
    ClaimStatus.VERIFIED: ("there", Ink.GREEN),
    ClaimStatus.UNSUPPORTED: ("not found", Ink.YELLOW),
    ClaimStatus.CONTRADICTED: ("not there", Ink.RED),
    ClaimStatus.OMITTED: ("not named", Ink.YELLOW),
}
STATUS_COLUMNS: Final = 2 + max(len(name) for name, _ in STATUS.values()) + 2


def draft(title: str, claims: Sequence[DraftClaim]) -> str:
    """A draft of the `assay` block for the description, to be confirmed by its author."""
    lines = [f"summary: {_scalar(f'{title} ({CONFIRMATION_MARK})')}"]
    covered = [line for claim in claims for line in _draft_claim(claim)]
    has_place = any(claim.places for claim in claims)
    lines += ["ac_coverage:" if has_place else "ac_coverage: []", *(covered or [f"  # {NO_CRITERIA}"])]
    return "\n".join(["```assay", *lines, "work_arounds: []", "uncertainties: []", "```", ""])


def _draft_claim(claim: DraftClaim) -> Iterator[str]:
    identity = _printable(claim.criterion.id)
    yield f"  # {identity}: {fit(_printable(claim.criterion.text), TEXT_LIMIT)}"
    if not claim.places:
        yield "  #   No added line speaks of it. Name the place that meets it, or say under uncertainties what is missing."
        return
    yield f"  - criterion: {_scalar(identity)}"
    yield f"    addressed_by: {_scalar(f'{claim.places[0]} ({CONFIRMATION_MARK})')}"
    if claim.tests:
        yield f"    evidence: {_scalar(f'{claim.tests[0]} ({CONFIRMATION_MARK})')}"
    if claim.places[1:]:
        yield f"    # or {_printable(', '.join(claim.places[1:]))}"


def _printable(text: str) -> str:
    """*text* on one line, without characters that YAML does not allow."""
    return "".join(char if char.isprintable() else "?" for char in one_line(text))


def _scalar(text: str) -> str:
    """*text* as YAML: plain if it can only be a string."""
    text = _printable(text)
    is_plain = text[:1].isalpha() and all(char.isalnum() or char in "_./-() " for char in text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def parse_error_report(name: str, line: int | None, message: str, page: TerminalPage) -> str:
    """The error of a case that does not parse, with its line in the file."""
    location = one_line(name) if line is None else f"{one_line(name)}:{line}"
    return "\n".join([*wrap_lines(f"{location}: {one_line(message)}", page), ""])


def check_report(name: str, result: CheckedCase, page: TerminalPage) -> str:
    """Each claim with the status of its place, and what has to be mended."""
    lines = list[str]()
    for claim in result.claims:
        status, ink = STATUS[claim.status]
        first, *rest = wrap_lines(one_line(claim.claim), page, STATUS_COLUMNS)
        lines.append(f"  {page.ink(status, ink)}{' ' * (STATUS_COLUMNS - 2 - len(status))}{first.lstrip()}")
        lines += [*rest, *(wrap_lines(one_line(claim.note), page, STATUS_COLUMNS) if claim.note else ())]
    for finding in result.findings:
        effect = "Rejects" if finding.fact else "Doubted"
        lines += wrap_lines(f"{effect} ({finding.signal}): {one_line(finding.note)}", page, 2)
    if result.unread:
        lines += wrap_lines(f"Not read: {one_line(', '.join(result.unread))}. docs/case.md lists the fields.", page, 2)
    if result.unconfirmed_count:
        lines += wrap_lines(
            f'{result.unconfirmed_count} still marked "{CONFIRMATION_MARK}": look at each place, and take the words out.',
            page,
            2,
        )
    if not result.has_criteria:
        lines += wrap_lines(NO_CRITERIA, page, 2)
    end = f"{result.problem_count} to mend." if result.problem_count else "Nothing to mend."
    return "\n".join([page.ink(f"{one_line(name)} holds a case.", Ink.BOLD), *lines, end, ""])
