"""What a change gives the signals to look at."""

import pytest

from tests.worker.signals.made import dossier_of
from worker.evaluation.bench.opportunities import opportunities_of
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import SignalScope


def looks(path: str, **more: object) -> set[SignalScope]:
    return set(opportunities_of(CodeChange(dossier_of({}, {path: "a\n"}, **more)))) - {SignalScope.ANYTHING}  # pyright: ignore[reportArgumentType] - what a dossier holds


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("src/load.py", {SignalScope.PRODUCTION}),
        ("tests/test_load.py", {SignalScope.TESTS}),
        ("src/load.rs", {SignalScope.PRODUCTION, SignalScope.TESTS}),
        (".github/workflows/ci.yml", {SignalScope.CONFIGURATION}),
        ("pyproject.toml", {SignalScope.CONFIGURATION}),
        ("docs/a.md", set[SignalScope]()),
    ],
)
def test_a_path_says_what_there_is_to_look_at(path: str, held: set[SignalScope]) -> None:
    assert looks(path) == held


def test_anything_can_always_be_looked_at() -> None:
    assert list(opportunities_of(CodeChange(dossier_of({}, {})))) == [SignalScope.ANYTHING]


def test_criteria_count_only_where_they_were_listed() -> None:
    listed = {"id": "AC1", "text": "a"}
    assert looks("a.md", criteria=[listed]) == {SignalScope.ISSUE}
    assert looks("a.md", criteria=[{**listed, "inferred": True}]) == set()


def test_a_case_and_a_rules_file_are_something_to_look_at() -> None:
    assert looks("a.md", case={"summary": "Done."}) == {SignalScope.CASE}
    assert looks("a.md", guidance=[{"path": "AGENTS.md", "text": "Be kind."}]) == {SignalScope.RULES}
