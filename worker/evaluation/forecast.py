"""Forecast what a run with a model would cost: the prompts of some rows are built and measured, and not sent."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Final, Protocol, TypeVar

from worker.domain.ports import Model
from worker.judge.context import JudgeContext

T = TypeVar("T")
SAMPLE: Final = 100


class CostMeter(Model, Protocol):
    """A model that answers no prompt, and measures all. Its costs are None where no price is known."""

    @property
    def asked(self) -> int: ...
    @property
    def expected_usd(self) -> Decimal | None: ...
    @property
    def most_usd(self) -> Decimal | None: ...


@dataclass(frozen=True)
class Forecast:
    """Figures for *rows* rows, of which *sampled* were measured. None: no price is known, or nothing was measured."""

    rows: int
    sampled: int
    asked: int
    expected_usd: Decimal | None
    most_usd: Decimal | None


def with_meter(context: JudgeContext, meter: CostMeter) -> JudgeContext:
    """The same judge with the meter in the place of every model, so that no request is sent."""
    second = meter if context.second_model is not None else None
    return replace(context, model=meter, second_model=second, choices={})


def forecast_cost(rows: Iterable[T], total: int, judge: Callable[[T], object | None], meter: CostMeter) -> Forecast:
    """What the model of *meter* would cost for these rows, *total* of them.

    *judge* judges a row with the meter in the place of its model; None: the row can't be judged.
    """
    sample = islice(rows, 0, None, -(-total // SAMPLE) or 1)
    sampled = sum(judge(row) is not None for row in sample)
    if not sampled:
        return Forecast(total, 0, 0, None, None)
    share = Decimal(total) / sampled
    return Forecast(
        rows=total,
        sampled=sampled,
        asked=round(meter.asked * share),
        expected_usd=None if meter.expected_usd is None else meter.expected_usd * share,
        most_usd=None if meter.most_usd is None else meter.most_usd * share,
    )


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
