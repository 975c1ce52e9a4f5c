"""What `assay evaluate` says: what it would cost, and how the judgings anew differ from the verdicts that stood.

Does not compare anything. Invariant: every count says what it is of, and what was not judged is never left out.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from worker.domain.value import Value
from worker.publishing.texts.columns import Page, wrapped
from worker.publishing.texts.visible import one_line


class Change(Value):
    """A verdict that came out otherwise. `places`: what the new one points at."""

    name: str
    before: str
    now: str
    eval_id: str
    concern: str
    places: tuple[str, ...] = ()


class Evaluated(Value):
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
    changes: tuple[Change, ...]
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


class Foreseen(Value):
    """What a run would do. Its costs are None where no model would be asked, or its price is not known."""

    subjects: int
    todo: int
    asked: int
    sampled: int
    expected_usd: Decimal | None
    most_usd: Decimal | None
    has_model: bool
    law: str


def foreseen(one: Foreseen) -> str:
    """What it would come to, before anything is judged."""
    done = one.subjects - one.todo
    lines = [f"{_count(one.subjects, 'subject')} in this window, {done} of them judged anew by {one.law} already."]
    lines.append(f"{one.todo} would be judged; nothing was.")
    if not one.has_model:
        lines.append("Cost: $0.00, no model would be asked.")
    elif one.expected_usd is None or one.most_usd is None:
        lines.append("Cost: not known, either no dossier is kept or the model has no price in the table.")
    else:
        lines.append(
            f"About {one.asked} need the model (judged by {one.sampled} of them): about ${one.expected_usd:.2f}, "
            f"at the very most ${one.most_usd:.2f}."
        )
    return "\n".join(lines) + "\n"


def evaluated(one: Evaluated, page: Page) -> str:
    """What came of it."""
    return "\n".join(_lines(one, page)) + "\n"


def _lines(one: Evaluated, page: Page) -> Iterator[str]:
    if one.stopped:
        yield from wrapped(one.stopped, page)
    earlier = f", {one.earlier} of them before this run" if one.earlier else ""
    yield f"{one.answered} of {_count(one.subjects, 'subject')} judged anew by {one.law}{earlier}."
    if one.decisions:
        yield f"Now: {', '.join(f'{count} {words}' for words, count in one.decisions.items())}."
    if one.mean_before is not None and one.mean_now is not None:
        yield f"Mean score: {one.mean_before:.2f} before, {one.mean_now:.2f} now; {one.rescored} scored otherwise."
    yield from _shortfalls(one)
    priced = f"{one.cost_usd:.4f}" if one.cost_usd else "0.00"
    more = f", and {_count(one.unpriced, 'judging')} whose price is not known" if one.unpriced else ""
    yield f"Cost: ${priced}{more}."
    yield f"{len(one.changes)} decided otherwise{':' if one.changes else '.'}"
    for change in one.changes:
        yield from _change(change, page)


def _shortfalls(one: Evaluated) -> Iterator[str]:
    if one.gone:
        yield f"{one.gone} can't be: {one.missing}."
    if one.failed:
        yield f"{one.failed} failed; `assay work` has logged why, and the same command tries them again."
    if one.capped:
        yield f"{one.capped} were not asked: a cap is reached. The same command asks again, once there is room."
    if one.left:
        yield f"{one.left} are left; the same command goes on from there."
    if one.unread:
        yield f"{_count(one.unread, 'event')} on the stream can't be read, and were left out."


def _change(change: Change, page: Page) -> Iterator[str]:
    yield f"  {one_line(change.name)}  {change.before} -> {change.now}  {change.eval_id}"
    if change.places:
        yield from wrapped(", ".join(map(one_line, change.places)), page, indent=4)
    yield from wrapped(one_line(change.concern), page, indent=4)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
