"""Chooses a defect for each clean change and writes seed and twin.

Invariant: the same rows, seed number and limits give the same output; a seed differs from its twin by one defect.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from bench.seeding import acceptance, ci, half_finished, scope_creep, spec, weak_test, wrong
from bench.seeding.defect import Case, Made, Variant
from bench.seeding.frames import claims_of, framed
from bench.seeding.opened import Opened, Row, is_sound_everywhere, open_dossier, same
from bench.seeding.patch import parse, print_diff
from worker.domain.dossier.dossier import Dossier
from worker.domain.verdict.verdict import Category

VARIANTS: Final[tuple[Variant, ...]] = (
    *half_finished.VARIANTS,
    *weak_test.VARIANTS,
    *wrong.VARIANTS,
    *ci.VARIANTS,
    *scope_creep.VARIANTS,
    *acceptance.VARIANTS,
    *spec.VARIANTS,
)
WITHOUT_FILES_OF_SIX: Final = 1
HELD_TO_CRITERIA: Final = 0.25
FRAMED: Final = {Category.ACCEPTANCE_GAP, Category.SPEC_VIOLATION}


@dataclass(frozen=True, slots=True)
class Limits:
    """`per_category` None: no limit."""

    per_change: int = 1
    per_category: int | None = None


@dataclass
class Tally:
    """What was made so far: the rarest variant comes first, so that few chances are not missed."""

    categories: Counter[Category] = field(default_factory=Counter[Category])
    variants: Counter[str] = field(default_factory=Counter[str])

    def is_full(self, category: Category, limits: Limits) -> bool:
        return limits.per_category is not None and self.categories[category] >= limits.per_category

    def order(self, draw: Random) -> list[Variant]:
        shuffled = draw.sample(VARIANTS, len(VARIANTS))
        return sorted(shuffled, key=lambda one: (self.variants[_key(one)], self.categories[one.category]))

    def count(self, variant: Variant) -> None:
        self.categories[variant.category] += 1
        self.variants[_key(variant)] += 1


def _key(variant: Variant) -> str:
    return f"{variant.category}/{variant.name}"


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def chance(*parts: str) -> Random:
    return Random(digest(*parts))  # noqa: S311 - repeatable variety, no secret


def seeded(rows: Sequence[Row], seed: int, limits: Limits) -> Iterator[Row]:
    """Twins and seeds, a twin before the first seed that stands beside it."""
    by_repository: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_repository[row["dossier"]["pull_request"]["repository"]].append(row)
    tally = Tally()
    written: set[str] = set()
    for row in _mixed(rows, seed):
        neighbours = _near(row, by_repository[row["dossier"]["pull_request"]["repository"]])
        for variant, made in _defects(row, neighbours, seed, limits, tally):
            for one in _pair(row, variant, made):
                if one["id"] not in written:
                    written.add(one["id"])
                    yield one


def _near(row: Row, rows: Sequence[Row]) -> list[Row]:
    """The others of the repository, the nearest in its order first."""
    own = next(at for at, other in enumerate(rows) if other is row)
    places = sorted((abs(at - own), at) for at in range(len(rows)) if at != own)
    return [rows[at] for _, at in places]


def _mixed(rows: Iterable[Row], seed: int) -> list[Row]:
    """In an order of its own, so that a limit takes from all repositories."""
    return sorted(rows, key=lambda row: digest(str(seed), str(row["id"])))


def _defects(
    row: Row, neighbours: Sequence[Row], seed: int, limits: Limits, tally: Tally
) -> Iterator[tuple[Variant, Made]]:
    opened = open_dossier(row["dossier"])
    count = 0
    for variant in tally.order(chance(str(seed), str(row["id"]))):
        if count == limits.per_change:
            return
        if tally.is_full(variant.category, limits):
            continue
        made = variant.make(_case(opened, neighbours, variant, chance(str(seed), str(row["id"]), variant.name)))
        if made is not None and is_valid(variant, made):
            tally.count(variant)
            count += 1
            yield variant, made


def _case(opened: Opened, neighbours: Sequence[Row], variant: Variant, draw: Random) -> Case:
    """A quarter of the cases of the other categories have criteria and a case too, all of them met."""
    case = Case(opened, neighbours, draw)
    claims = claims_of(case) if draw.random() < HELD_TO_CRITERIA and variant.category not in FRAMED else []
    return replace(case, opened=opened.framed(framed(case, claims))) if claims else case


def is_valid(variant: Variant, made: Made) -> bool:
    """The seed is a dossier with a well-formed diff, differs from its twin, and its code still parses."""
    twin, seed = made.twin.printed(), made.seed.printed()
    if same(twin, seed) or not seed["diff"] or print_diff(parse(seed["diff"])) != seed["diff"]:
        return False
    return not variant.is_code or is_sound_everywhere(made.twin, made.seed)


def _pair(row: Row, variant: Variant, made: Made) -> Iterator[Row]:
    """Both alike with or without whole files, by hash."""
    twin, seed = made.twin.printed(), made.seed.printed()
    if int(digest("files", str(row["id"]))[:4], 16) % 6 < WITHOUT_FILES_OF_SIX:
        twin, seed = (_without_files(one) for one in (twin, seed))
    origin = {name: row["expect"][name] for name in ("lang", "repo") if name in row.get("expect", {})}
    twin_id = f"twin-{digest(str(row['id']), json.dumps(twin, sort_keys=True))[:12]}"
    seed_id = f"seed-{digest(str(row['id']), variant.name, json.dumps(seed, sort_keys=True))[:12]}"
    for one in (twin, seed):
        Dossier.model_validate(one)
    yield {
        "id": twin_id,
        "dossier": twin,
        "expect": {"decision": "accept", "why": "clean twin", "of": row["id"], **origin},
    }
    yield {"id": seed_id, "dossier": seed, "expect": {**variant.expect(made), "pair": twin_id, **origin}}


def _without_files(dossier: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in dossier.items() if name != "files"}
