"""All signals: what stands in a module of a category's folder and is a `Signal`, by category, facts first, by name.

Policies, the rubric and the docs name exactly these.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from worker.domain.verdict.verdict import Category
from worker.signals.signal import Signal, SignalKind

CATEGORY_ORDER: Final = (
    Category.SPEC_VIOLATION,
    Category.ACCEPTANCE_GAP,
    Category.HALF_FINISHED,
    Category.TESTS_PASS_BUT_WRONG,
    Category.WEAK_TEST,
    Category.SCOPE_CREEP,
)


def _list_signals(category: Category) -> Iterator[Signal]:
    package = import_module(f"worker.signals.{category}")
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        values = vars(import_module(module.name)).values()
        yield from (value for value in values if isinstance(value, Signal) and value.module == module.name)


SIGNALS: Final[tuple[Signal, ...]] = tuple(
    signal
    for category in CATEGORY_ORDER
    for signal in sorted(_list_signals(category), key=lambda signal: (signal.kind is not SignalKind.FACT, signal.name))
)
"""Of several findings at one line with the same weight, that of the first signal is kept."""
REGISTERED_NAMES: Final = frozenset(signal.name for signal in SIGNALS)
