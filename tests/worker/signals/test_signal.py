"""The scopes of a change, the signals that run on it, their docstrings, and the pages of docs/signals that are generated from them."""

from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import pytest

from tests.golden.golden import Golden
from tests.worker.signals.samples import RUBRIC, dossier_of, plain_dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.judge.rubric import load_rubric
from worker.signals.analysis.change import CodeChange
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import (
    SECTIONS,
    Signal,
    SignalKind,
    SignalMatch,
    SignalScope,
    describe_effect,
    explain_signal,
    find_scopes,
    signal,
)


@pytest.mark.parametrize(
    ("path", "more", "scopes"),
    [
        ("src/load.py", {}, {SignalScope.PRODUCTION}),
        ("tests/test_load.py", {}, {SignalScope.TESTS}),
        ("src/load.rs", {}, {SignalScope.PRODUCTION, SignalScope.TESTS}),
        (".github/workflows/ci.yml", {}, {SignalScope.CONFIGURATION}),
        ("pyproject.toml", {}, {SignalScope.CONFIGURATION}),
        ("docs/a.md", {}, set[SignalScope]()),
        ("a.md", {"criteria": [{"id": "AC1", "text": "a"}]}, {SignalScope.ISSUE}),
        ("a.md", {"criteria": [{"id": "AC1", "text": "a", "inferred": True}]}, set[SignalScope]()),
        ("a.md", {"case": {"summary": "Done."}}, {SignalScope.CASE}),
        ("a.md", {"guidance": [{"path": "AGENTS.md", "text": "Be kind."}]}, {SignalScope.RULES}),
        ("", {}, set[SignalScope]()),
    ],
)
def test_change_has_the_scopes_of_its_content(path: str, more: dict[str, Any], scopes: set[SignalScope]) -> None:
    change = CodeChange(dossier_of({}, {path: "a\n"} if path else {}, **more))
    assert find_scopes(change) == {SignalScope.ANYTHING, *scopes}


def test_tests_signal_runs_only_on_changes_of_tests() -> None:
    @signal(Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS)
    def always(_: CodeChange) -> Iterator[SignalMatch]:
        yield SignalMatch("always")

    fired = [
        list(always.findings(CodeChange(dossier_of({}, {path: "a\n"})))) for path in ("docs/a.md", "tests/test_a.py")
    ]
    assert [len(findings) for findings in fired] == [0, 1]


RENAMED = """diff --git a/pkg/total_test.go b/pkg/total_checks.go
similarity index 80%
rename from pkg/total_test.go
rename to pkg/total_checks.go
--- a/pkg/total_test.go
+++ b/pkg/total_checks.go
@@ -1,5 +1,5 @@
 package pkg

 func TestTotal(t *testing.T) {
-\tcheck(t, 1)
+\tcheck(t, 2)
 }
"""


def test_test_file_renamed_out_of_tests_keeps_its_scope() -> None:
    change = CodeChange(plain_dossier(RENAMED))
    (hidden,) = (signal for signal in SIGNALS if signal.name == "test_hidden")
    (finding,) = hidden.findings(change)
    assert (finding.path, finding.fact) == ("pkg/total_checks.go", True)
    assert finding.note == "no test runner collects this file, as it did pkg/total_test.go"


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
    assert signal.description == f"{signal.sections[SECTIONS[0]]}\n\n{SECTIONS[-1]}: {signal.sections[SECTIONS[-1]]}"


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
        for entry in list_signals(category):
            first, *_ = _FIRST_SENTENCE.split(" ".join(entry.sections[SECTIONS[0]].split()), maxsplit=1)
            lines.append(f"- `{entry.name}` ({describe_effect(entry, weights)}): {first}")
        lines.append("")
    return pages | {"signals.md": "\n".join(lines)}


def build_category_page(category: Category, weights: Mapping[str, float]) -> str:
    lines = [f"{GENERATED}# {category}", ""]
    for entry in list_signals(category):
        lines += [
            f"## {entry.name}",
            "",
            f"{describe_effect(entry, weights).capitalize()}; looks at {entry.scope}. An accept answers a suspicion with {entry.settled_by}.",
            "",
        ]
        for heading, text in entry.sections.items():
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
