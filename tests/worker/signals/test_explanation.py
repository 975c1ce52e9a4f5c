"""What is said of signals is in their docstrings, and the pages hold just that."""

from pathlib import Path
from typing import Final

import pytest

from tests.golden.golden import Golden
from tests.worker.signals.made import RUBRIC
from worker.judge.rubric import load_rubric
from worker.signals.explanation import build_pages, explain_signal
from worker.signals.registry import SIGNALS
from worker.signals.signal import SECTIONS, Signal

DOCS: Final = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.name)
def test_a_signal_says_what_it_does_why_that_matters_and_how_often_it_was_wrong(signal: Signal) -> None:
    assert tuple(signal.sections) == SECTIONS
    assert all(signal.sections.values())


def test_the_pages_in_the_docs_are_written_from_the_docstrings(golden: Golden) -> None:
    pages = build_pages(load_rubric().signals)
    for path, text in pages.items():
        golden.holds(f"../../docs/{path}", text)
    assert {path.name for path in (DOCS / "signals").iterdir()} == {Path(path).name for path in pages} - {"signals.md"}


def test_a_signal_is_explained_section_by_section_with_its_weight() -> None:
    (signal,) = (signal for signal in SIGNALS if signal.name == "type_unused")
    first, *sections = explain_signal(signal, RUBRIC.signals, 60).split("\n\n")
    assert first == "type_unused: suspicion of weight 0.4, half_finished, looks at production code"
    assert [section.partition("\n")[0] for section in sections] == list(SECTIONS)
    assert max(len(line) for section in sections for line in section.split("\n")) <= 60


def test_a_fact_is_explained_with_what_resolves_it() -> None:
    (signal,) = (signal for signal in SIGNALS if signal.name == "stub_body")
    text = explain_signal(signal, RUBRIC.signals, 100)
    assert text.startswith("stub_body: fact, half_finished, ")
    assert "How to resolve it\n  Write the body of the function at PLACE, or" in text
