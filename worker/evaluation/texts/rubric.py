"""What `assay rubric` says.

Does not compare. Invariant: every share stands beside its count and its 95 % interval; what was left out is said.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.value import Value
from worker.domain.verdict.rubric import Rubric
from worker.evaluation.differing import Compared, Side
from worker.publishing.texts.columns import Page, wrapped
from worker.publishing.texts.visible import one_line


class Part(Value):
    """How many of how many, with the interval; None where there are none."""

    hits: int
    of: int
    interval: tuple[float, float] | None

    @property
    def words(self) -> str:
        if self.interval is None:
            return "nothing to go by"
        low, high = (f"{100 * one:.0f}" for one in self.interval)
        return f"{self.hits} of {self.of} (95 %: {low} to {high} %)"


class Agreement(Value):
    """With how many outcomes of one strength each rubric's verdicts agree."""

    strength: str
    before: Part
    now: Part


UNKEPT: Final = "the dossier is not kept any more (ASSAY_RETENTION_DAYS)"
UNASKED: Final = "no model was asked with both prompts (ASSAY_CANARY_PROMPT has a candidate asked beside ours)"


class Differing(Value):
    """Two rubrics on the same recorded changes. `moved`: with the same decision and another score.

    `by_prompts`: only what a model said when it was asked with each of two prompts counts.
    """

    before: str
    now: str
    compared: int
    by_record: int
    left_out: int
    changes: tuple[Compared, ...]
    asked: tuple[Compared, ...]
    moved: int
    agreement: tuple[Agreement, ...]
    unread: int = 0
    by_prompts: bool = False


def checked(rubric: Rubric, name: str, refusal: str | None) -> str:
    """A rubric that can be read."""
    said = (
        f'{name}: "{rubric.id}" version {rubric.version}, {len(rubric.criteria)} criteria, {len(rubric.signals)} signals, '
        f"a model is asked below {rubric.escalation_threshold:g}.\n"
    )
    return said if refusal is None else f"{said}{refusal}\n"


def promoted(signal: str, installation: int, *, was_demoted: bool) -> str:
    """What becomes of a signal that a person promotes."""
    was = "may reject alone again" if was_demoted else "was no suspicion"
    return f"{signal} {was} in installation {installation}. Its rejects are counted from now on.\n"


def differing(one: Differing, page: Page) -> str:
    """Which changes come out otherwise, and what people's outcomes say of both."""
    return "\n".join(_lines(one, page)) + "\n"


def _lines(one: Differing, page: Page) -> Iterator[str]:
    yield f"{one.compared} recorded changes by {one.before} and by {one.now}."
    code = one.compared - one.by_record
    yield f"{one.by_record} by verdicts on record of the same model, {code} by code alone, at $0."
    if one.left_out:
        yield f"{one.left_out} are left out: {UNASKED if one.by_prompts else UNKEPT}."
    if one.unread:
        yield f"{one.unread} events on the stream can't be read, and were left out."
    yield f"{len(one.changes)} decided otherwise{':' if one.changes else '.'}"
    for change in one.changes:
        yield from _change(change, page)
    yield f"{len(one.asked)} where only one of them asks a model{':' if one.asked else '.'}"
    for change in one.asked:
        yield f"  {one_line(change.name)}  {_asks(change.before)} -> {_asks(change.now)}  {change.eval_id}"
    yield f"{one.moved} decided alike with another score."
    yield from _agreement(one.agreement, one)


def _change(change: Compared, page: Page) -> Iterator[str]:
    came = f"  ({', '.join(change.outcomes)})" if change.outcomes else ""
    yield f"  {one_line(change.name)}  {change.before.words} -> {change.now.words}  {change.eval_id}{came}"
    for side in (change.before, change.now):
        if side.places:
            yield from wrapped(f"{side.words} at {', '.join(map(one_line, side.places))}", page, indent=4)
            yield from wrapped(one_line(side.concern), page, indent=6)


def _asks(side: Side) -> str:
    return "asked" if side.asks else "not asked"


def _agreement(found: Sequence[Agreement], one: Differing) -> Iterator[str]:
    yield "Agreement with what people did:"
    for each in found:
        yield f"  {each.strength}: {one.before} {each.before.words}; {one.now} {each.now.words}"
