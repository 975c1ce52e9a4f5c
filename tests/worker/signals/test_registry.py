"""The docstrings of signals, and the pages of docs/signals that are generated from them."""

from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Final

import pytest

from tests.golden.golden import Golden
from tests.worker.signals.samples import RUBRIC
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.judge.rubric import load_rubric
from worker.signals.registry import SIGNALS, describe_effect, explain_signal
from worker.signals.signal import SECTIONS, Signal

DOCS: Final = Path(__file__).resolve().parents[3] / "docs"
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


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_signal_docstring_has_all_sections(signal: Signal) -> None:
    assert tuple(signal.sections) == SECTIONS
    assert all(signal.sections.values())


def test_docs_pages_are_generated_from_docstrings(golden: Golden) -> None:
    pages = build_pages(load_rubric().signals)
    for path, text in pages.items():
        golden.check_text(f"../../docs/{path}", text)
    assert {path.name for path in (DOCS / "signals").iterdir()} == {Path(path).name for path in pages} - {"signals.md"}


def build_pages(weights: Mapping[str, float]) -> dict[str, str]:
    """The pages by path in docs."""
    pages = {f"signals/{category}.md": build_category_page(category, weights) for category in sorted(Category)}
    lines = [GENERATED + PAGE_HEAD]
    for category in sorted(Category):
        lines.append(f"## [{category}](signals/{category}.md)\n")
        for signal in list_signals(category):
            first, *_ = _FIRST_SENTENCE.split(" ".join(signal.sections[SECTIONS[0]].split()), maxsplit=1)
            lines.append(f"- `{signal.name}` ({describe_effect(signal, weights)}): {first}")
        lines.append("")
    return pages | {"signals.md": "\n".join(lines)}


def build_category_page(category: Category, weights: Mapping[str, float]) -> str:
    lines = [f"{GENERATED}# {category}", ""]
    for signal in list_signals(category):
        lines += [
            f"## {signal.name}",
            "",
            f"{describe_effect(signal, weights).capitalize()}; looks at {signal.scope}. An accept answers a suspicion with {signal.settled_by}.",
            "",
        ]
        for heading, text in signal.sections.items():
            lines += [f"**{heading}.** {text}", ""]
    return "\n".join(lines)


def list_signals(category: Category) -> list[Signal]:
    return sorted((signal for signal in SIGNALS if signal.category is category), key=attrgetter("name"))


def test_explained_signal_has_all_sections_and_its_weight() -> None:
    (signal,) = (signal for signal in SIGNALS if signal.name == "type_unused")
    first, *sections = explain_signal(signal, RUBRIC.signals, 60).split("\n\n")
    assert first == "type_unused: suspicion of weight 0.4, half_finished, looks at production code"
    assert [section.partition("\n")[0] for section in sections] == list(SECTIONS)
    assert max(len(line) for section in sections for line in section.split("\n")) <= 60


def test_explained_fact_says_how_to_resolve_it() -> None:
    (signal,) = (signal for signal in SIGNALS if signal.name == "stub_body")
    text = explain_signal(signal, RUBRIC.signals, 100)
    assert text.startswith("stub_body: fact, half_finished, ")
    assert "How to resolve it\n  Write the body of the function at PLACE, or" in text
