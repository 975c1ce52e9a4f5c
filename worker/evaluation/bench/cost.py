"""Forecast what a run with a model would cost: the prompts of some rows are built and measured, and not sent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Final

from worker.adapters.anthropic.model import max_output_tokens
from worker.adapters.anthropic.prices import TYPICAL_OUTPUT, prompt_bytes, worst_case
from worker.clock import SystemClock
from worker.domain.ports import ModelReply, Prompt
from worker.errors import Unavailable
from worker.evaluation.bench.judge_row import judge_row
from worker.evaluation.bench.rows import RawRow, read_row
from worker.judge.context import JudgeContext
from worker.judge.llm.client import with_retry_length
from worker.settings import ModelAccess

SAMPLE: Final = 100
TOKENS_PER_BYTE: Final = Decimal("0.3")
"""Of code and English; a run pays by what the model's server counts."""


@dataclass(frozen=True)
class Forecast:
    """Figures for *rows* rows, of which *sampled* were measured. None: no price is known."""

    rows: int
    sampled: int
    asked: int
    expected_usd: Decimal | None
    most_usd: Decimal | None


class PromptMeter:
    """The Model port: measures each prompt and what it may cost at most, and answers none."""

    def __init__(self, access: ModelAccess) -> None:
        self.name = access.name
        self.pricing_version: str | None = None
        self.sizes: list[int] = []
        self.most_costs: list[Decimal | None] = []
        self._access = access

    def ask(self, prompt: Prompt) -> ModelReply:
        """Measure it. Raises Unavailable."""
        size = prompt_bytes(prompt)
        self.sizes.append(size)
        self.most_costs += [
            worst_case(self.name, size, max_output_tokens(self._access, attempt))
            for attempt in (prompt, with_retry_length(prompt))
        ]
        raise Unavailable("The model", "it is only weighed what it would be asked")


def with_meter(context: JudgeContext, meter: PromptMeter) -> JudgeContext:
    """The same judge with the meter in the place of every model, so that no request is sent."""
    second = meter if context.second_model is not None else None
    return replace(context, model=meter, second_model=second, choices={})


def forecast_cost(rows: Iterable[RawRow], total: int, bench: JudgeContext, access: ModelAccess) -> Forecast:
    """What the model behind *access* would cost for these rows, *total* of them."""
    sample = list(islice(rows, 0, None, -(-total // SAMPLE)))
    meter = PromptMeter(access)
    for raw in sample:
        judge_row(read_row(raw), raw.path.name, with_meter(bench, meter), SystemClock())
    return extrapolate(meter, total, len(sample))


def extrapolate(meter: PromptMeter, total: int, sampled: int) -> Forecast:
    """Extrapolate from the prompts of *sampled* rows, at least one, to *total*."""
    share = Decimal(total) / sampled
    expected = [worst_case(meter.name, int(size * TOKENS_PER_BYTE), TYPICAL_OUTPUT) for size in meter.sizes]
    return Forecast(
        rows=total,
        sampled=sampled,
        asked=round(len(meter.sizes) * share),
        expected_usd=_sum(expected, share),
        most_usd=_sum(meter.most_costs, share),
    )


def _sum(costs: Sequence[Decimal | None], share: Decimal) -> Decimal | None:
    priced = [cost for cost in costs if cost is not None]
    return sum(priced, Decimal(0)) * share if len(priced) == len(costs) else None


def forecast_text(forecast: Forecast, limit_usd: Decimal, spent_usd: Decimal) -> str:
    """The forecast as text."""
    if forecast.expected_usd is None or forecast.most_usd is None:
        return "What this will cost is not known: the model has no price in the table, so it is not asked."
    of = "" if forecast.sampled == forecast.rows else f" (judged by {forecast.sampled} of them)"
    left = limit_usd - spent_usd
    stops = " It will stop at the limit before it is done." if forecast.expected_usd > left else ""
    return (
        f"About {forecast.asked} of {forecast.rows} dossiers{of} need the model: about ${forecast.expected_usd:.2f}, "
        f"at the very most ${forecast.most_usd:.2f}. The limit is ${limit_usd}, ${spent_usd:.4f} of it spent.{stops}"
    )
