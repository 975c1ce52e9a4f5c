"""Values: as a frozen dataclass would behave, whose place they take."""

import copy
import pickle
from functools import cached_property

import pytest

from worker.domain.value import Value, replace


class Point(Value):
    """With a default, a method and something worked out once."""

    x: int
    y: int = 2

    @cached_property
    def length(self) -> int:
        return self.x + self.y


class Place(Value):
    x: int
    y: int = 2


class Nowhere(Value):
    pass


@pytest.mark.parametrize("made", [Point(1), Point(1, 2), Point(1, y=2), Point(y=2, x=1)])
def test_fields_are_given_by_place_or_by_name_and_the_rest_is_the_default(made: Point) -> None:
    assert (made.x, made.y) == (1, 2)


WRONG: tuple[tuple[tuple[int, ...], dict[str, int]], ...] = (
    ((), {}),
    ((1, 2, 3), {}),
    ((1,), {"x": 1}),
    ((1,), {"z": 3}),
    ((), {"z": 1}),
)


@pytest.mark.parametrize(("positional", "named"), WRONG)
def test_a_field_that_is_missing_unknown_or_given_twice_is_refused(
    positional: tuple[int, ...], named: dict[str, int]
) -> None:
    with pytest.raises(TypeError, match=r"^Point\(x, y\) was called with \("):
        Point(*positional, **named)


def test_equal_are_values_of_one_class_with_equal_fields() -> None:
    assert Point(1) == Point(1, 2)
    assert Point(1) != Point(2)
    assert Point(1) != Place(1)
    assert Point(1) != (1, 2)
    assert Nowhere() == Nowhere()
    assert Nowhere()


def test_what_is_worked_out_later_is_no_field() -> None:
    point = Point(1)
    assert point.length == 3
    assert point == Point(1)
    assert len({point, Point(1), Point(2)}) == 2
    assert replace(point, x=5).length == 7
    assert repr(point) == "Point(x=1, y=2)"


def test_a_value_never_changes() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match=r"^Point is a value: x can't be set$"):
        setattr(point, "x", 5)  # noqa: B010 - type checkers refuse `point.x = 5`
    with pytest.raises(AttributeError, match=r"^Point is a value: x can't be deleted$"):
        del point.x  # pyright: ignore[reportAttributeAccessIssue] - it can not, which is tested
    assert point.x == 1


def test_another_value_takes_over_what_is_not_changed() -> None:
    assert replace(Point(1, 3), x=4) == Point(4, 3)
    with pytest.raises(TypeError):
        replace(Point(1), z=4)


def test_a_value_can_be_matched_by_place() -> None:
    match Point(1):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_value_can_be_copied_and_pickled() -> None:
    assert copy.deepcopy(Point(1)) == pickle.loads(pickle.dumps(Point(1))) == Point(1)  # noqa: S301 - our own bytes
