"""What `assay evaluate` says: what it would cost, and how the judgings anew differ from the verdicts that stood.

Does not compare anything. Invariant: every count says what it is of, and what was not judged is never left out.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from worker.domain.value import Value
from worker.publishing.texts.columns import TerminalPage, wrap_lines
from worker.publishing.texts.visible import one_line


class VerdictChange(Value):
    """A verdict that came out otherwise. `places`: what the new one points at."""

    name: str
    before: str
    now: str
    eval_id: str
    concern: str
    places: tuple[str, ...] = ()


class RejudgeSummary(Value):
    """What a run came to. `answered` of `subjects` are judged anew, `earlier` of them before this run.

    `capped`: a budget kept the model from being asked. `stopped`: why it ended early, a sentence. `missing`: what is not kept
    any more, where something is gone. The means are of the scores of all that were judged, `rescored` of which have another now.
    """

    subjects: int
    answered: int
    earlier: int
    gone: int
    failed: int
    left: int
    decisions: Mapping[str, int]
    changes: tuple[VerdictChange, ...]
    cost_usd: Decimal
    unpriced: int
    law: str
    unread: int = 0
    stopped: str = ""
    capped: int = 0
    missing: str = "the dossier is not kept any more (ASSAY_RETENTION_DAYS)"
    mean_before: float | None = None
    mean_now: float | None = None
    rescored: int = 0


class RejudgeForecast(Value):
    """What a run would do. Its costs are None where no model would be asked, or its price is not known."""

    subjects: int
    todo: int
    asked: int
    sampled: int
    expected_usd: Decimal | None
    most_usd: Decimal | None
    has_model: bool
    law: str


def forecast_text(forecast: RejudgeForecast) -> str:
    """What it would come to, before anything is judged."""
    done = forecast.subjects - forecast.todo
    lines = [
        f"{_count(forecast.subjects, 'subject')} in this window, {done} of them judged anew by {forecast.law} already."
    ]
    lines.append(f"{forecast.todo} would be judged; nothing was.")
    if not forecast.has_model:
        lines.append("Cost: $0.00, no model would be asked.")
    elif forecast.expected_usd is None or forecast.most_usd is None:
        lines.append("Cost: not known, either no dossier is kept or the model has no price in the table.")
    else:
        lines.append(
            f"About {forecast.asked} need the model (judged by {forecast.sampled} of them): about ${forecast.expected_usd:.2f}, "
            f"at the very most ${forecast.most_usd:.2f}."
        )
    return "\n".join(lines) + "\n"


def summary_text(summary: RejudgeSummary, page: TerminalPage) -> str:
    """What came of it."""
    return "\n".join(_lines(summary, page)) + "\n"


def _lines(summary: RejudgeSummary, page: TerminalPage) -> Iterator[str]:
    if summary.stopped:
        yield from wrap_lines(summary.stopped, page)
    earlier = f", {summary.earlier} of them before this run" if summary.earlier else ""
    yield f"{summary.answered} of {_count(summary.subjects, 'subject')} judged anew by {summary.law}{earlier}."
    if summary.decisions:
        yield f"Now: {', '.join(f'{count} {decision}' for decision, count in summary.decisions.items())}."
    if summary.mean_before is not None and summary.mean_now is not None:
        yield f"Mean score: {summary.mean_before:.2f} before, {summary.mean_now:.2f} now; {summary.rescored} scored otherwise."
    yield from _shortfalls(summary)
    priced = f"{summary.cost_usd:.4f}" if summary.cost_usd else "0.00"
    more = f", and {_count(summary.unpriced, 'judging')} whose price is not known" if summary.unpriced else ""
    yield f"Cost: ${priced}{more}."
    yield f"{len(summary.changes)} decided otherwise{':' if summary.changes else '.'}"
    for change in summary.changes:
        yield from _change(change, page)


def _shortfalls(summary: RejudgeSummary) -> Iterator[str]:
    if summary.gone:
        yield f"{summary.gone} can't be: {summary.missing}."
    if summary.failed:
        yield f"{summary.failed} failed; `assay work` has logged why, and the same command tries them again."
    if summary.capped:
        yield f"{summary.capped} were not asked: a cap is reached. The same command asks again, once there is room."
    if summary.left:
        yield f"{summary.left} are left; the same command goes on from there."
    if summary.unread:
        yield f"{_count(summary.unread, 'event')} on the stream can't be read, and were left out."


def _change(change: VerdictChange, page: TerminalPage) -> Iterator[str]:
    yield f"  {one_line(change.name)}  {change.before} -> {change.now}  {change.eval_id}"
    if change.places:
        yield from wrap_lines(", ".join(map(one_line, change.places)), page, indent=4)
    yield from wrap_lines(one_line(change.concern), page, indent=4)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
