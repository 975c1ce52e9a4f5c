"""All signals, and what `assay explain` says of one.

A signal stands in a module of its category's folder and is a `Signal`. They are in the order of category, facts first, and name.

Policies, the rubric and the docs name exactly these.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from textwrap import fill
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


def explain_signal(signal: Signal, weights: Mapping[str, float], width: int) -> str:
    """The docstring of a signal for a terminal, and the step that resolves a fact."""
    texts = signal.sections | ({"How to resolve it": signal.step.replace("{place}", "PLACE")} if signal.step else {})
    parts = [f"{signal.name}: {describe_effect(signal, weights)}, {signal.category}, looks at {signal.scope}"]
    for heading, text in texts.items():
        paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        body = "\n".join(
            fill(paragraph, width, initial_indent="  ", subsequent_indent="  ") for paragraph in paragraphs
        )
        parts.append(f"{heading}\n{body}")
    return "\n\n".join(parts) + "\n"


def describe_effect(signal: Signal, weights: Mapping[str, float]) -> str:
    return "fact" if signal.kind is SignalKind.FACT else f"suspicion of weight {weights[signal.name]:g}"
