"""A report as plain JSON, every figure under its name.

Does not round or leave out. Invariant: a share carries its counts, its rate and its interval; a share of nothing has
no rate.
"""

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, cast

from worker.domain.value import Value
from worker.evaluation.bench.compare import Comparison
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.run_folder import RunPlan
from worker.evaluation.bench.statistics import BenchReport
from worker.evaluation.bench.tiers import TierComparison


def report_json(
    report: BenchReport, plan: RunPlan, compared: Comparison | None, beside: TierComparison | None = None
) -> str:
    """report.json."""
    fields = {"run": plan.model_dump(mode="json"), **_value_fields(report), "against": compared, "tiers": beside}
    return f"{json.dumps(_plain(fields), indent=1, ensure_ascii=False)}\n"


def _plain(held: object) -> object:
    if isinstance(held, str | bool | int | float | None):
        return held
    if isinstance(held, Decimal):
        return str(held)
    named = _as_mapping(held)
    if named is not None:
        return {str(name): _plain(item) for name, item in named.items()}
    return [_plain(item) for item in cast("Iterable[object]", held)]


def _as_mapping(held: object) -> Mapping[Any, object] | None:
    """What is kept under names; None for what is only a row of things."""
    match held:
        case Share():
            rate = held.rate if held.of else None
            return {"hits": held.hits, "of": held.of, "rate": rate, "low": held.low, "high": held.high}
        case Value():
            return _value_fields(held)
        case Mapping():
            return cast("Mapping[Any, object]", held)
        case _:
            as_dict = getattr(held, "_asdict", None)
            return None if as_dict is None else as_dict()


def _value_fields(held: Value) -> dict[str, object]:
    return {name: getattr(held, name) for name in held.__match_args__}
