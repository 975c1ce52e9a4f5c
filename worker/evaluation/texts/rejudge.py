"""The texts of `assay evaluate` and `assay rubric`: what a re-evaluation would cost, and how verdicts differ.

Every count names what it is of, a share its 95 % interval; what was left out is named.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from worker.domain.verdict.rubric import Rubric
from worker.evaluation.rubric_diff import RubricDifferences
from worker.publishing.texts.markdown import one_line
from worker.publishing.texts.terminal import TerminalPage, wrap_lines

DOSSIER_NOT_KEPT: Final = "the dossier is no longer kept (ASSAY_RETENTION_DAYS)"
NO_MODEL_ASKED: Final = "no model was asked with both prompts (ASSAY_CANARY_PROMPT has a candidate asked beside ours)"


@dataclass(frozen=True)
class VerdictChange:
    """A verdict that came out otherwise. `places`: the locations that the new one names."""

    name: str
    before: str
    now: str
    eval_id: str
    concern: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class RejudgeSummary:
    """The result of a run. `answered` of `subjects` are re-evaluated, `earlier` of them before this run.

    `capped`: a budget kept the model from being asked. `stopped`: why it ended early, a sentence. `missing`: what is not
    kept, where something is gone. The means are of the scores of all that were judged, `rescored` of which changed.
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
    missing: str = DOSSIER_NOT_KEPT
    mean_before: float | None = None
    mean_now: float | None = None
    rescored: int = 0


@dataclass(frozen=True)
class RejudgeForecast:
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
    """What a run would cost."""
    done = forecast.subjects - forecast.todo
    lines = [
        f"{_count(forecast.subjects, 'subject')} in this window, {done} of them re-evaluated by {forecast.law} already.",
        f"{forecast.todo} would be judged; nothing was.",
    ]
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
    """The result of a run."""
    return "".join(f"{line}\n" for line in _summary_lines(summary, page))


def _summary_lines(summary: RejudgeSummary, page: TerminalPage) -> Iterator[str]:
    if summary.stopped:
        yield from wrap_lines(summary.stopped, page)
    earlier = f", {summary.earlier} of them before this run" if summary.earlier else ""
    yield f"{summary.answered} of {_count(summary.subjects, 'subject')} re-evaluated by {summary.law}{earlier}."
    if summary.decisions:
        yield f"Now: {', '.join(f'{count} {decision}' for decision, count in summary.decisions.items())}."
    if summary.mean_before is not None and summary.mean_now is not None:
        yield f"Mean score: {summary.mean_before:.2f} before, {summary.mean_now:.2f} now; {summary.rescored} scored otherwise."
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
    priced = f"{summary.cost_usd:.4f}" if summary.cost_usd else "0.00"
    more = f", and {_count(summary.unpriced, 'judging')} whose price is not known" if summary.unpriced else ""
    yield f"Cost: ${priced}{more}."
    yield f"{len(summary.changes)} decided otherwise{':' if summary.changes else '.'}"
    for change in summary.changes:
        yield f"  {one_line(change.name)}  {change.before} -> {change.now}  {change.eval_id}"
        if change.places:
            yield from wrap_lines(", ".join(map(one_line, change.places)), page, indent=4)
        yield from wrap_lines(one_line(change.concern), page, indent=4)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def rubric_ok_text(rubric: Rubric, name: str, refusal: str | None) -> str:
    """A valid rubric, and why its version is refused."""
    text = (
        f'{name}: "{rubric.id}" version {rubric.version}, {len(rubric.criteria)} criteria, {len(rubric.signals)} signals, '
        f"a model is asked below {rubric.escalation_threshold:g}.\n"
    )
    return text if refusal is None else f"{text}{refusal}\n"


def promotion_text(signal: str, installation: int, *, was_demoted: bool) -> str:
    """The effect of promoting a signal."""
    was = "may reject alone again" if was_demoted else "was no suspicion"
    return f"{signal} {was} in installation {installation}. Its rejects are counted from now on.\n"


def differences_text(differences: RubricDifferences, page: TerminalPage) -> str:
    """Which changes come out otherwise, and how both rubrics agree with people's outcomes."""
    return "\n".join(_difference_lines(differences, page)) + "\n"


def _difference_lines(differences: RubricDifferences, page: TerminalPage) -> Iterator[str]:
    yield f"{differences.compared} recorded changes by {differences.before} and by {differences.now}."
    code = differences.compared - differences.by_record
    yield f"{differences.by_record} by verdicts on record of the same model, {code} by code alone, at $0."
    if differences.left_out:
        yield f"{differences.left_out} are left out: {NO_MODEL_ASKED if differences.by_prompts else DOSSIER_NOT_KEPT}."
    if differences.unread:
        yield f"{differences.unread} events on the stream can't be read, and were left out."
    yield f"{len(differences.changes)} decided otherwise{':' if differences.changes else '.'}"
    for change in differences.changes:
        outcomes = f"  ({', '.join(change.outcomes)})" if change.outcomes else ""
        yield f"  {one_line(change.name)}  {change.before.words} -> {change.now.words}  {change.eval_id}{outcomes}"
        for side in (change.before, change.now):
            if side.places:
                yield from wrap_lines(f"{side.words} at {', '.join(map(one_line, side.places))}", page, indent=4)
                yield from wrap_lines(one_line(side.concern), page, indent=6)
    yield f"{len(differences.asked)} where only one of them asks a model{':' if differences.asked else '.'}"
    for change in differences.asked:
        before, now = ("asked" if side.asks else "not asked" for side in (change.before, change.now))
        yield f"  {one_line(change.name)}  {before} -> {now}  {change.eval_id}"
    yield f"{differences.moved} decided alike with another score."
    yield "Agreement with what people did:"
    for each in differences.agreement:
        yield f"  {each.strength}: {differences.before} {each.before.text}; {differences.now} {each.now.text}"
