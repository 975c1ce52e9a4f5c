"""What a run with a model would cost, before it starts: the questions of some rows are made and weighed, and nobody is asked.

Does not judge. Invariant: no request leaves; what is expected of all rows says from how many of them it was taken.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from typing import Final

from worker.adapters.anthropic.prices import TYPICAL_OUTPUT, worst_case
from worker.adapters.anthropic.size import size_of
from worker.adapters.anthropic.thinking import most_output
from worker.clock import SystemClock
from worker.domain.ports import Prompt, Reply
from worker.domain.value import Value, replace
from worker.errors import Unavailable
from worker.evaluation.bench.judge_row import sit
from worker.evaluation.bench.rows import Raw, read_row
from worker.judge.context import Bench
from worker.judge.llm.client import with_room
from worker.settings import ModelAccess

SAMPLE: Final = 100
TOKENS_PER_BYTE: Final = Decimal("0.3")
"""Of code and English; what a run pays by is counted by the model's server."""


class Forecast(Value):
    """Of *rows* rows, *sampled* were looked at; the other figures are for all of them. None: no price is known."""

    rows: int
    sampled: int
    asked: int
    expected_usd: Decimal | None
    most_usd: Decimal | None


class Weighing:
    """The Model port: notes how long each question is, and what it may cost at most, and answers none."""

    def __init__(self, access: ModelAccess) -> None:
        self.name = access.name
        self.pricing_version: str | None = None
        self.sizes: list[int] = []
        self.most: list[Decimal | None] = []
        self._access = access

    def ask(self, prompt: Prompt) -> Reply:
        """Note it."""
        size = size_of(prompt)
        self.sizes.append(size)
        self.most += [
            worst_case(self.name, size, most_output(self._access, one)) for one in (prompt, with_room(prompt))
        ]
        raise Unavailable("The model", "it is only weighed what it would be asked")


def forecast(rows: Iterable[Raw], total: int, bench: Bench, access: ModelAccess) -> Forecast:
    """What the model behind *access* would cost for these rows, which are so many in *total*."""
    looked_at = list(islice(rows, 0, None, -(-total // SAMPLE)))
    weighing = Weighing(access)
    for raw in looked_at:
        sit(read_row(raw), raw.path.name, replace(bench, model=weighing), SystemClock())
    return reckoned(weighing, total, len(looked_at))


def reckoned(weighing: Weighing, total: int, sampled: int) -> Forecast:
    """What the questions that were weighed say of *total*, of which so many (one at least) were *sampled*."""
    share = Decimal(total) / sampled
    expected = [worst_case(weighing.name, int(size * TOKENS_PER_BYTE), TYPICAL_OUTPUT) for size in weighing.sizes]
    return Forecast(
        rows=total,
        sampled=sampled,
        asked=round(len(weighing.sizes) * share),
        expected_usd=_sum(expected, share),
        most_usd=_sum(weighing.most, share),
    )


def _sum(costs: Sequence[Decimal | None], share: Decimal) -> Decimal | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) * share if len(known) == len(costs) else None


def told(known: Forecast, limit_usd: Decimal, spent_usd: Decimal) -> str:
    """The forecast for people."""
    if known.expected_usd is None or known.most_usd is None:
        return "What this will cost is not known: the model has no price in the table, so it is not asked."
    looked = "" if known.sampled == known.rows else f" (judged by {known.sampled} of them)"
    left = limit_usd - spent_usd
    stops = " It will stop at the limit before it is done." if known.expected_usd > left else ""
    return (
        f"About {known.asked} of {known.rows} dossiers{looked} need the model: about ${known.expected_usd:.2f}, "
        f"at the very most ${known.most_usd:.2f}. The limit is ${limit_usd}, ${spent_usd:.4f} of it spent.{stops}"
    )
