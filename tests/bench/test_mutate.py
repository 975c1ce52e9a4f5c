"""The listed mutations apply to the code, and random mutations are drawn by their seed."""

from pathlib import Path

import pytest

from bench.mutate import CONVERSATIONS, PURE_ROOMS, ROOT, draw, possible, read_stages


def test_each_mutation_applies_once_and_names_existing_tests() -> None:
    for stage in (*read_stages(), *read_stages("fence")):
        assert stage.rewrite((ROOT / stage.path).read_text()) != (ROOT / stage.path).read_text(), stage.name
        for name in stage.noticed_by:
            assert (ROOT / CONVERSATIONS / name).is_file(), stage.name


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = b == c", {"a = b != c"}),
        ("a = b <= 2", {"a = b < 2", "a = b <= 3"}),
        ("if not a and b: c", {"if a and b: c", "if not a or b: c"}),
        ("a = 'é' is not b", {"a = 'é' is b"}),
        ("def f(a=True): return a - b", {"def f(a=False): return a - b", "def f(a=True): return a + b"}),
        ("class A(B, frozen=True): c: int", set[str]()),
    ],
)
def test_mutation_rewrites_one_expression_of_a_line(before: str, after: set[str]) -> None:
    assert {drawn.after for drawn in possible("a.py", before)} == after


def test_seed_draws_the_same_mutations_evenly_across_rooms(tmp_path: Path) -> None:
    for number, room in enumerate(PURE_ROOMS):
        (tmp_path / room).mkdir(parents=True)
        (tmp_path / room / "a.py").write_text("".join(f"a{at} = b + {at + number}\n" for at in range(20)))
    drawn = draw(12, 3, tmp_path)
    assert drawn == draw(12, 3, tmp_path) != draw(12, 4, tmp_path)
    assert [sum(line.path.startswith(f"{room}/") for line in drawn) for room in PURE_ROOMS] == [2] * len(PURE_ROOMS)
    assert all(line.rewrite((tmp_path / line.path).read_text()).count(line.after) == 1 for line in drawn)
