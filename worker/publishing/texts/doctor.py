"""The report of `assay doctor`: one line for each thing that was looked at.

Does not look at anything. Invariant: whatever is not right says what to do.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final

from worker.domain.value import Value
from worker.domain.verdict.budget import Caps, Week
from worker.publishing.texts.columns import Ink, TerminalPage, display_width, wrap_lines
from worker.publishing.texts.visible import one_line


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    WRONG = "wrong"


class DoctorFinding(Value):
    """One thing that was looked at. *message* say what was found and, unless all is well, what to do."""

    name: str
    health: Health
    message: str


def is_healthy(examined: Sequence[DoctorFinding], *, strict: bool) -> bool:
    """Whether nothing has to be changed; *strict*: nor anything be looked at."""
    passes = {Health.OK} if strict else {Health.OK, Health.WARNING}
    return all(finding.health in passes for finding in examined)


def caps_phrase(caps: Caps) -> str:
    """The caps in words."""
    per_cent = f"{(caps.share * 100).normalize():f} %"
    return (
        f"{dollars(caps.pull_usd)} a pull request, {dollars(caps.day_usd)} a day for each installation, {per_cent} of that "
        "for one repository beside others. `assay doctor OWNER/REPO` estimates what a week costs"
    )


def week_cost_phrase(week: Week, each_usd: Decimal, heads: int) -> str:
    """What the pull requests of the last seven days would have cost."""
    if not week.pulls:
        return "no pull request was opened in the last seven days: $0.00"
    pulls = f"{week.pulls} pull request{'' if week.pulls == 1 else 's'}"
    return (
        f"{dollars(week.expected_usd)} for the {pulls} opened in the last seven days, if a model judges each {heads} times "
        f"at {dollars(each_usd)}; the caps allow {dollars(week.most_usd)} at most"
    )


def dollars(usd: Decimal) -> str:
    """Cents at least, and no more than a hundredth of one, rounded up."""
    cents = usd.quantize(Decimal("0.0001"), ROUND_CEILING)
    return f"${cents:f}" if cents % Decimal("0.01") else f"${cents:.2f}"


INKS: Final = {Health.OK: Ink.GREEN, Health.WARNING: Ink.YELLOW, Health.MISSING: Ink.YELLOW, Health.WRONG: Ink.RED}
HEALTH_COLUMNS: Final = 9
NAME_COLUMNS: Final = 24


def doctor_report(examined: Sequence[DoctorFinding], page: TerminalPage) -> str:
    """All lines, and what is left to do."""
    lines = [line for finding in examined for line in _lines(finding, page)]
    bad = sum(finding.health not in (Health.OK, Health.WARNING) for finding in examined)
    last = "All is well." if not bad else f"{bad} of {len(examined)} to change; the lines above say how."
    return "\n".join([*lines, "", last, ""])


def _lines(finding: DoctorFinding, page: TerminalPage) -> list[str]:
    indent = HEALTH_COLUMNS + NAME_COLUMNS
    first, *rest = wrap_lines(one_line(finding.message), page, indent)
    name = one_line(finding.name)
    name += " " * max(1, NAME_COLUMNS - display_width(name))
    health = page.ink(finding.health, INKS[finding.health]) + " " * (HEALTH_COLUMNS - len(finding.health))
    return [f"{health}{name}{first.lstrip()}", *rest]
