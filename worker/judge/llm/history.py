"""What the model is told of the earlier rounds: the open conditions, what is new, and what it would say once more.

Does not fence and does not decide. Invariant: no score of an earlier round is told, and every text of others comes apart
from our own sentences, so that the question can fence it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from worker.domain.value import Value
from worker.domain.verdict.ledger import LedgerEntry, conditions_of
from worker.domain.verdict.verdict import Category, ClosingCondition, Reject
from worker.judge import texts as words
from worker.judge.llm.fencing import shown_path
from worker.judge.rounds.changed_lines import ChangedLines
from worker.judge.rounds.convergence import RejectRefusal, open_conditions
from worker.judge.rounds.previous_rounds import PreviousRounds, rejects_of, surface_of

MOST_NEW_LINES: Final = 60
"""How many files and recurrences are listed."""


class PromptSection(Value):
    """One heading: sentences of ours, then texts of others, each with our label."""

    heading: str
    intro: str
    texts: tuple[tuple[str, str], ...] = ()


def open_conditions_of(ledger: Sequence[LedgerEntry]) -> tuple[ClosingCondition, ...]:
    """The conditions that the model has to answer for."""
    return open_conditions(conditions_of(ledger))


def history_sections(ledger: Sequence[LedgerEntry], previous: PreviousRounds) -> Iterator[PromptSection]:
    """*ledger* as it may leave; *standing* gives numbers and paths only."""
    conditions = open_conditions_of(ledger)
    if conditions:
        intro = (
            "Earlier rounds asked for these, and they are still open. Answer for each id in `conditions`. Their words are "
            "frozen: hold the change against them, and against nothing more."
        )
        text = "\n".join(f"{condition.id}: {condition.text}" for condition in conditions)
        yield PromptSection("Closing conditions", intro, (("open conditions", text),))
    if previous.changed_lines is not None:
        yield _changes_section(previous.changed_lines)
    yield from _recurring_sections(tuple(rejects_of(ledger)))


def _changes_section(since: ChangedLines) -> PromptSection:
    intro = (
        "In this round a reject needs a closing condition that is still open, or a place on a line that changed since the "
        "change was judged the last time. What else it shows was judged then, and can't be objected to any more."
    )
    lines = [f'"{shown_path(path)}" ({side}): {", ".join(ranges)}' for (path, side), ranges in since.ranges().items()]
    lines += [f'"{shown_path(path)}"' for path in sorted(since.files)]
    if not lines:
        return PromptSection("What is new", f"{intro} No line changed since.")
    left = [f"and {len(lines) - MOST_NEW_LINES} more files"] if len(lines) > MOST_NEW_LINES else []
    return PromptSection("What is new", intro, (("lines changed since", "\n".join([*lines[:MOST_NEW_LINES], *left])),))


def _recurring_sections(rejects: Sequence[Reject]) -> Iterator[PromptSection]:
    """How often each category was the reason on each surface, and what was asked for each time."""
    steps: dict[tuple[Category, str], list[str]] = {}
    for reject in rejects:
        for surface in sorted(surface_of(reject)):
            steps.setdefault((reject.category, surface), []).append(reject.next_step)
    lines = [_recurrence(category, surface, asked) for (category, surface), asked in steps.items()]
    if lines:
        intro = (
            "If you reject for one of these categories at the same place again, the earlier step did not get through: teach "
            "the principle behind it in your concern, and name a step that is more concrete than those before."
        )
        yield PromptSection("What was said before", intro, (("earlier rejects", "\n".join(lines[-MOST_NEW_LINES:])),))


def _recurrence(category: Category, surface: str, asked: Iterable[str]) -> str:
    steps = tuple(asked)
    intro = "; ".join(steps[-words.MOST_NAMED :])
    return f'{category} at "{shown_path(surface)}": rejected {words.count_times(len(steps))}; asked for: {intro}'


def correction_text(refusal: RejectRefusal, previous: PreviousRounds) -> str:
    """What the model is told when its reject can't stand."""
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
