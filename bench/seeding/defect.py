"""What a variant of a defect is: its name, its category, and how it is made.

Invariant: a variant is deterministic for its case and draw, and gives None where it does not fit the change.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any, Literal, TypeVar

from bench.seeding.code import Function
from bench.seeding.opened import Opened, Row
from bench.seeding.sheet import Edit, Sheet
from worker.domain.verdict.verdict import Category

Item = TypeVar("Item")


class Difficulty(StrEnum):
    EASY = "easy"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    line: int
    side: Literal["head", "base"] = "head"


@dataclass(frozen=True, slots=True)
class Case:
    """One clean change, other changes of its repository, and the draw of chance."""

    opened: Opened
    neighbours: Sequence[Row]
    draw: Random

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.draw.randrange(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        return self.draw.sample(list(items), len(items))


@dataclass(frozen=True, slots=True)
class Made:
    """A seed and its twin; `missing` are criteria that the seed does not meet."""

    twin: Opened
    seed: Opened
    where: tuple[Place, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """`also`: categories that a fair judge could name instead. `is_code`: what is edited must still parse."""

    name: str
    category: Category
    difficulty: Difficulty
    make: Callable[[Case], Made | None]
    also: tuple[Category, ...] = ()
    is_code: bool = True

    def expect(self, made: Made) -> dict[str, Any]:
        return {
            "decision": "reject",
            "category": self.category.value,
            "difficulty": self.difficulty.value,
            "where": [{"path": place.path, "line": place.line, "side": place.side} for place in made.where],
            "variant": self.name,
            "also": [category.value for category in self.also],
            **({"missing": list(made.missing)} if made.missing else {}),
        }


def edited(case: Case, sheet: Sheet, edits: Sequence[Edit], *places: Place) -> Made:
    """One file edited; the places are given in lines of the seed."""
    return Made(case.opened, case.opened.edited(sheet.path, edits), places)


def inner_text(function: Function) -> str:
    return "\n".join(function.lines[function.inner_first - 1 : function.inner_last])
