"""What a run with a model would cost, before it starts: the questions of some rows are made and weighed, and nobody is asked.

Does not judge. Invariant: no request leaves; what is expected of all rows says from how many of them it was taken.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from typing import Final

from worker.adapters.anthropic.model import max_output_tokens
from worker.adapters.anthropic.prices import TYPICAL_OUTPUT, prompt_bytes, worst_case
from worker.clock import SystemClock
from worker.domain.ports import ModelReply, Prompt
from worker.domain.value import Value, replace
from worker.errors import Unavailable
from worker.evaluation.bench.judge_row import judge_row
from worker.evaluation.bench.rows import RawRow, read_row
from worker.judge.context import JudgeContext
from worker.judge.llm.client import with_retry_length
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


class PromptMeter:
    """The Model port: notes how long each question is, and what it may cost at most, and answers none."""

    def __init__(self, access: ModelAccess) -> None:
        self.name = access.name
        self.pricing_version: str | None = None
        self.sizes: list[int] = []
        self.most_costs: list[Decimal | None] = []
        self._access = access

    def ask(self, prompt: Prompt) -> ModelReply:
        """Note it."""
        size = prompt_bytes(prompt)
        self.sizes.append(size)
        self.most_costs += [
            worst_case(self.name, size, max_output_tokens(self._access, attempt))
            for attempt in (prompt, with_retry_length(prompt))
        ]
        raise Unavailable("The model", "it is only weighed what it would be asked")


def forecast_cost(rows: Iterable[RawRow], total: int, bench: JudgeContext, access: ModelAccess) -> Forecast:
    """What the model behind *access* would cost for these rows, which are so many in *total*."""
    looked_at = list(islice(rows, 0, None, -(-total // SAMPLE)))
    weighing = PromptMeter(access)
    for raw in looked_at:
        judge_row(read_row(raw), raw.path.name, replace(bench, model=weighing), SystemClock())
    return extrapolate(weighing, total, len(looked_at))


def extrapolate(weighing: PromptMeter, total: int, sampled: int) -> Forecast:
    """What the questions that were weighed say of *total*, of which so many (one at least) were *sampled*."""
    share = Decimal(total) / sampled
    expected = [worst_case(weighing.name, int(size * TOKENS_PER_BYTE), TYPICAL_OUTPUT) for size in weighing.sizes]
    return Forecast(
        rows=total,
        sampled=sampled,
        asked=round(len(weighing.sizes) * share),
        expected_usd=_sum(expected, share),
        most_usd=_sum(weighing.most_costs, share),
    )


def _sum(costs: Sequence[Decimal | None], share: Decimal) -> Decimal | None:
    priced = [cost for cost in costs if cost is not None]
    return sum(priced, Decimal(0)) * share if len(priced) == len(costs) else None


def forecast_text(forecast: Forecast, limit_usd: Decimal, spent_usd: Decimal) -> str:
    """The forecast for people."""
    if forecast.expected_usd is None or forecast.most_usd is None:
        return "What this will cost is not known: the model has no price in the table, so it is not asked."
    looked = "" if forecast.sampled == forecast.rows else f" (judged by {forecast.sampled} of them)"
    left = limit_usd - spent_usd
    stops = " It will stop at the limit before it is done." if forecast.expected_usd > left else ""
    return (
        f"About {forecast.asked} of {forecast.rows} dossiers{looked} need the model: about ${forecast.expected_usd:.2f}, "
        f"at the very most ${forecast.most_usd:.2f}. The limit is ${limit_usd}, ${spent_usd:.4f} of it spent.{stops}"
    )
