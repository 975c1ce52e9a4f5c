"""What is said of signals: the pages of docs/signals, their list in docs/signals.md, and the answer of `assay explain`."""

from collections.abc import Mapping
from operator import attrgetter
from textwrap import fill
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.registry import SIGNALS
from worker.signals.signal import SECTIONS, Signal, SignalKind

GENERATED: Final = (
    "<!-- Generated from the docstrings in worker/signals: ./test tests/worker/signals --update-golden -->\n"
)
PAGE_HEAD: Final = """# Signals

The static checks of the heuristic tier, which cost nothing. `assay explain NAME` prints what stands here of one.

- A *fact* may reject alone. A *suspicion* lowers the score by its weight, stands on the check run and goes to the model.
- A signal may state facts after at least 300 clean changes that gave it an opportunity, where the upper end of the 95 %
  interval (Wilson) of its false alarms is at most 0.5 %.
- False alarms are hits on clean changes of public repositories that hold what the signal looks at. About 1 % of the clean labels
  are wrong.
- In Ruby, C#, PHP and Kotlin every fact is a suspicion.
- `signals: {name: off}` or `{name: suspicion}` in `.github/assay.yml` switches a signal off or demotes it.
"""
_FIRST_SENTENCE: Final = pattern(r"(?<=\.) +(?=[A-Z])")

Weights = Mapping[str, float]


def build_pages(weights: Weights) -> dict[str, str]:
    """The pages by their paths in docs."""
    pages = {f"signals/{category}.md": _build_category_page(category, weights) for category in sorted(Category)}
    lines = [GENERATED + PAGE_HEAD]
    for category in sorted(Category):
        lines.append(f"## [{category}](signals/{category}.md)\n")
        for signal in _list_signals(category):
            first, *_ = _FIRST_SENTENCE.split(" ".join(signal.sections[SECTIONS[0]].split()), maxsplit=1)
            lines.append(f"- `{signal.name}` ({_effect(signal, weights)}): {first}")
        lines.append("")
    return pages | {"signals.md": "\n".join(lines)}


def explain_signal(signal: Signal, weights: Weights, width: int) -> str:
    """The docstring of a signal for a terminal, and the step that resolves a fact."""
    texts = signal.sections | ({"How to resolve it": signal.step.replace("{place}", "PLACE")} if signal.step else {})
    parts = [f"{signal.name}: {_effect(signal, weights)}, {signal.category}, looks at {signal.scope}"]
    for heading, text in texts.items():
        paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        body = "\n".join(
            fill(paragraph, width, initial_indent="  ", subsequent_indent="  ") for paragraph in paragraphs
        )
        parts.append(f"{heading}\n{body}")
    return "\n\n".join(parts) + "\n"


def _build_category_page(category: Category, weights: Weights) -> str:
    lines = [f"{GENERATED}# {category}", ""]
    for signal in _list_signals(category):
        lines += [f"## {signal.name}", "", f"{_effect(signal, weights).capitalize()}; looks at {signal.scope}.", ""]
        for heading, text in signal.sections.items():
            lines += [f"**{heading}.** {text}", ""]
    return "\n".join(lines)


def _list_signals(category: Category) -> list[Signal]:
    return sorted((signal for signal in SIGNALS if signal.category is category), key=attrgetter("name"))


def _effect(signal: Signal, weights: Weights) -> str:
    return "fact" if signal.kind is SignalKind.FACT else f"suspicion of weight {weights[signal.name]:g}"
