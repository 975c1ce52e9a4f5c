"""What `assay rubric` says.

Does not compare. Invariant: every share stands beside its count and its 95 % interval; what was left out is said.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.value import Value
from worker.domain.verdict.rubric import Rubric
from worker.evaluation.rubric_comparison import ComparedChange, RubricOpinion
from worker.publishing.texts.columns import TerminalPage, wrap_lines
from worker.publishing.texts.visible import one_line


class ShareWithInterval(Value):
    """How many of how many, with the interval; None where there are none."""

    hits: int
    of: int
    interval: tuple[float, float] | None

    @property
    def text(self) -> str:
        if self.interval is None:
            return "nothing to go by"
        low, high = (f"{100 * end:.0f}" for end in self.interval)
        return f"{self.hits} of {self.of} (95 %: {low} to {high} %)"


class StrengthAgreement(Value):
    """With how many outcomes of one strength each rubric's verdicts agree."""

    strength: str
    before: ShareWithInterval
    now: ShareWithInterval


DOSSIER_NOT_KEPT: Final = "the dossier is not kept any more (ASSAY_RETENTION_DAYS)"
NO_MODEL_ASKED: Final = "no model was asked with both prompts (ASSAY_CANARY_PROMPT has a candidate asked beside ours)"


class RubricDifferences(Value):
    """Two rubrics on the same recorded changes. `moved`: with the same decision and another score.

    `by_prompts`: only what a model said when it was asked with each of two prompts counts.
    """

    before: str
    now: str
    compared: int
    by_record: int
    left_out: int
    changes: tuple[ComparedChange, ...]
    asked: tuple[ComparedChange, ...]
    moved: int
    agreement: tuple[StrengthAgreement, ...]
    unread: int = 0
    by_prompts: bool = False


def rubric_ok_text(rubric: Rubric, name: str, refusal: str | None) -> str:
    """A rubric that can be read."""
    text = (
        f'{name}: "{rubric.id}" version {rubric.version}, {len(rubric.criteria)} criteria, {len(rubric.signals)} signals, '
        f"a model is asked below {rubric.escalation_threshold:g}.\n"
    )
    return text if refusal is None else f"{text}{refusal}\n"


def promotion_text(signal: str, installation: int, *, was_demoted: bool) -> str:
    """What becomes of a signal that a person promotes."""
    was = "may reject alone again" if was_demoted else "was no suspicion"
    return f"{signal} {was} in installation {installation}. Its rejects are counted from now on.\n"


def differences_text(differences: RubricDifferences, page: TerminalPage) -> str:
    """Which changes come out otherwise, and what people's outcomes say of both."""
    return "\n".join(_lines(differences, page)) + "\n"


def _lines(differences: RubricDifferences, page: TerminalPage) -> Iterator[str]:
    yield f"{differences.compared} recorded changes by {differences.before} and by {differences.now}."
    code = differences.compared - differences.by_record
    yield f"{differences.by_record} by verdicts on record of the same model, {code} by code alone, at $0."
    if differences.left_out:
        yield f"{differences.left_out} are left out: {NO_MODEL_ASKED if differences.by_prompts else DOSSIER_NOT_KEPT}."
    if differences.unread:
        yield f"{differences.unread} events on the stream can't be read, and were left out."
    yield f"{len(differences.changes)} decided otherwise{':' if differences.changes else '.'}"
    for change in differences.changes:
        yield from _change(change, page)
    yield f"{len(differences.asked)} where only one of them asks a model{':' if differences.asked else '.'}"
    for change in differences.asked:
        yield f"  {one_line(change.name)}  {_model_asked(change.before)} -> {_model_asked(change.now)}  {change.eval_id}"
    yield f"{differences.moved} decided alike with another score."
    yield from _agreement(differences.agreement, differences)


def _change(change: ComparedChange, page: TerminalPage) -> Iterator[str]:
    came = f"  ({', '.join(change.outcomes)})" if change.outcomes else ""
    yield f"  {one_line(change.name)}  {change.before.words} -> {change.now.words}  {change.eval_id}{came}"
    for side in (change.before, change.now):
        if side.places:
            yield from wrap_lines(f"{side.words} at {', '.join(map(one_line, side.places))}", page, indent=4)
            yield from wrap_lines(one_line(side.concern), page, indent=6)


def _model_asked(side: RubricOpinion) -> str:
    return "asked" if side.asks else "not asked"


def _agreement(agreements: Sequence[StrengthAgreement], differences: RubricDifferences) -> Iterator[str]:
    yield "Agreement with what people did:"
    for each in agreements:
        yield f"  {each.strength}: {differences.before} {each.before.text}; {differences.now} {each.now.text}"
