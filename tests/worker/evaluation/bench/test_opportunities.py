"""What a change gives the signals to look at."""

import pytest

from tests.worker.signals.made import dossier_of
from worker.evaluation.bench.opportunities import looks_at
from worker.signals.analysis.change import Change
from worker.signals.signal import Looks


def looks(path: str, **more: object) -> set[Looks]:
    return set(looks_at(Change(dossier_of({}, {path: "a\n"}, **more)))) - {Looks.ANYTHING}  # pyright: ignore[reportArgumentType] - what a dossier holds


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("src/load.py", {Looks.PRODUCTION}),
        ("tests/test_load.py", {Looks.TESTS}),
        ("src/load.rs", {Looks.PRODUCTION, Looks.TESTS}),
        (".github/workflows/ci.yml", {Looks.CONFIGURATION}),
        ("pyproject.toml", {Looks.CONFIGURATION}),
        ("docs/a.md", set[Looks]()),
    ],
)
def test_a_path_says_what_there_is_to_look_at(path: str, held: set[Looks]) -> None:
    assert looks(path) == held


def test_anything_can_always_be_looked_at() -> None:
    assert list(looks_at(Change(dossier_of({}, {})))) == [Looks.ANYTHING]


def test_criteria_count_only_where_they_were_listed() -> None:
    listed = {"id": "AC1", "text": "a"}
    assert looks("a.md", criteria=[listed]) == {Looks.ISSUE}
    assert looks("a.md", criteria=[{**listed, "inferred": True}]) == set()


def test_a_case_and_a_rules_file_are_something_to_look_at() -> None:
    assert looks("a.md", case={"summary": "Done."}) == {Looks.CASE}
    assert looks("a.md", guidance=[{"path": "AGENTS.md", "text": "Be kind."}]) == {Looks.RULES}
