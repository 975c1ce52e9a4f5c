"""weak_test: tests that run and hold nothing.

Invariant: production code stays as it is; the test keeps its name.
"""

from collections.abc import Callable, Sequence
from typing import Final

from bench.seeding import oracles
from bench.seeding.code import Function
from bench.seeding.defect import Case, Difficulty, Made, Place, Variant, edited
from bench.seeding.equality import Equality, always, presence, truism
from bench.seeding.opened import new_tests, old_tests
from bench.seeding.sheet import Edit, Sheet
from worker.domain.verdict.verdict import Category

Rewriting = Callable[[Equality, int], str | None]


def _new(case: Case, least: int = 1) -> list[tuple[Sheet, Function]]:
    return case.shuffled([(sheet, one) for sheet, one in new_tests(case.opened) if len(one.oracles) >= least])


def oracles_gone(case: Case) -> Made | None:
    """All assertions of one new test are taken out."""
    for sheet, one in _new(case):
        edits = oracles.removed(one.oracles, one.tongue)
        if oracles.holds_nothing(one, edits):
            return edited(case, sheet, edits, Place(sheet.path, one.line))
    return None


def oracles_gone_everywhere(case: Case) -> Made | None:
    """All assertions of all new tests of one file are taken out."""
    by_path: dict[str, list[tuple[Sheet, Function]]] = {}
    for sheet, one in _new(case):
        by_path.setdefault(sheet.path, []).append((sheet, one))
    for found in by_path.values():
        edits = {one.line: oracles.removed(one.oracles, one.tongue) for _, one in found}
        if len(found) < 2 or not all(oracles.holds_nothing(one, edits[one.line]) for _, one in found):
            continue
        flat = [edit for some in edits.values() for edit in some]
        places = [
            Place(sheet.path, _moved(one.line, flat)) for sheet, one in sorted(found, key=lambda pair: pair[1].line)
        ]
        return edited(case, found[0][0], flat, *places)
    return None


def _moved(line: int, edits: Sequence[Edit]) -> int:
    return line + sum(len(edit.lines) - (edit.last - edit.first + 1) for edit in edits if edit.first < line)


def truisms(case: Case) -> Made | None:
    """A statement that always holds stands for all assertions."""
    turn = case.draw.randrange(60)
    for sheet, one in _new(case):
        found = oracles.equalities(one)
        edits = oracles.removed(one.oracles, one.tongue)
        line = truism(found[0][1].style, one.tongue, turn) if found else ""
        if not line or not oracles.holds_nothing(one, edits):
            continue
        first = one.oracles[0]
        edits = [Edit(first.first, first.last, (f"{first.indent}{line}",)), *edits[1:]]
        return edited(case, sheet, edits, Place(sheet.path, first.first), Place(sheet.path, one.line))
    return None


def _rewritten(case: Case, sheet: Sheet, one: Function, rewrite: Rewriting) -> Made | None:
    """All equalities of a test that has no other assertions, written anew."""
    found = oracles.equalities(one)
    if not found or len(found) != len(one.oracles):
        return None
    turn = case.draw.randrange(60)
    lines = [(statement, rewrite(equality, turn)) for statement, equality in found]
    edits = [Edit(at.first, at.last, tuple(f"{at.indent}{line}".split("\n"))) for at, line in lines if line]
    if len(edits) != len(found):
        return None
    return edited(case, sheet, edits, *(Place(sheet.path, edit.first) for edit in edits))


def _first(case: Case, rewrite: Rewriting) -> Made | None:
    made = (_rewritten(case, sheet, one, rewrite) for sheet, one in _new(case))
    return next((one for one in made if one is not None), None)


def self_compared(case: Case) -> Made | None:
    return _first(case, lambda one, _: None if "(" in one.got else one.written(one.got, one.got))


def computed_twice(case: Case) -> Made | None:
    """What is expected is computed by the very call under test."""
    return _first(case, lambda one, _: one.written(one.got, one.got) if "(" in one.got else None)


def always_true(case: Case) -> Made | None:
    return _first(case, always)


def presence_only(case: Case) -> Made | None:
    return _first(case, presence)


def one_oracle_gone(case: Case) -> Made | None:
    for sheet, one in _new(case, 2):
        gone = case.pick(one.oracles)
        edits = oracles.removed([gone], one.tongue)
        return edited(case, sheet, edits, Place(sheet.path, one.line), Place(sheet.path, gone.first))
    return None


def _by_edit(case: Case, edit_of: Callable[[Sheet, Function], Edit | None], least: int = 1) -> Made | None:
    for sheet, one in _new(case, least):
        edit = edit_of(sheet, one)
        if edit is not None:
            return edited(case, sheet, [edit], Place(sheet.path, edit.first), Place(sheet.path, one.line))
    return None


def switched_off(case: Case) -> Made | None:
    return _by_edit(case, lambda sheet, one: oracles.marked_as_skipped(sheet, one, case.draw))


def swallowed(case: Case) -> Made | None:
    return _by_edit(case, lambda _, one: oracles.swallowed(one, case.draw))


def gated(case: Case) -> Made | None:
    return _by_edit(case, lambda sheet, one: oracles.gated(sheet, one, case.draw))


def left_early(case: Case) -> Made | None:
    return _by_edit(case, lambda _, one: oracles.left_early(one))


def any_error(case: Case) -> Made | None:
    return _by_edit(case, oracles.broadened, 0)


def not_awaited(case: Case) -> Made | None:
    return _by_edit(case, oracles.not_awaited)


def old_oracle_deleted(case: Case) -> Made | None:
    """An assertion that was there before is deleted."""
    for sheet, one in case.shuffled(old_tests(case.opened)):
        if len(one.oracles) >= 2:
            gone = case.pick(one.oracles)
            place = Place(sheet.path, sheet.base_line(gone.first), "base")
            return edited(case, sheet, oracles.removed([gone], one.tongue), place)
    return None


def _old_rewritten(case: Case, rewrite: Rewriting) -> Made | None:
    turn = case.draw.randrange(60)
    for sheet, one in case.shuffled(old_tests(case.opened)):
        for at, equality in case.shuffled(oracles.equalities(one)):
            line = rewrite(equality, turn)
            if line:
                edit = Edit(at.first, at.last, tuple(f"{at.indent}{line}".split("\n")))
                return edited(case, sheet, [edit], Place(sheet.path, at.first))
    return None


def old_oracle_weakened(case: Case) -> Made | None:
    return _old_rewritten(case, presence)


def old_oracle_always_true(case: Case) -> Made | None:
    return _old_rewritten(case, always)


OFF: Final = (Category.TESTS_PASS_BUT_WRONG, Category.HALF_FINISHED)
OLD: Final = (Category.TESTS_PASS_BUT_WRONG,)
WEAK, EASY, HARD = Category.WEAK_TEST, Difficulty.EASY, Difficulty.HARD
VARIANTS: Final = (
    Variant("oracles_gone", WEAK, EASY, oracles_gone),
    Variant("oracles_gone_everywhere", WEAK, EASY, oracles_gone_everywhere),
    Variant("truisms", WEAK, EASY, truisms),
    Variant("self_compared", WEAK, EASY, self_compared),
    Variant("always_true", WEAK, EASY, always_true),
    Variant("switched_off", WEAK, EASY, switched_off, OFF),
    Variant("old_oracle_deleted", WEAK, EASY, old_oracle_deleted, OLD),
    Variant("old_oracle_always_true", WEAK, EASY, old_oracle_always_true, OLD),
    Variant("computed_twice", WEAK, HARD, computed_twice),
    Variant("presence_only", WEAK, HARD, presence_only),
    Variant("one_oracle_gone", WEAK, HARD, one_oracle_gone),
    Variant("swallowed", WEAK, HARD, swallowed, OLD),
    Variant("gated", WEAK, HARD, gated, OLD),
    Variant("left_early", WEAK, HARD, left_early, OLD),
    Variant("any_error", WEAK, HARD, any_error),
    Variant("not_awaited", WEAK, HARD, not_awaited, OLD),
    Variant("old_oracle_weakened", WEAK, HARD, old_oracle_weakened, OLD),
)
