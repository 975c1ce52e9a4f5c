"""New tests that exercise nothing of the change."""

import pytest

from tests.worker.signals.weak_test.seen import names, seen

CODE = "def total_price(basket):\n    return sum(basket.prices)\n"
OTHER = "def test_colour():\n    assert paint(red) == 'crimson'\n"


def test_a_new_test_that_names_nothing_of_the_changed_code_is_suspected() -> None:
    assert ("test_of_nothing_changed", 1) in seen({}, {"shop/basket.py": CODE, "tests/test_a.py": OTHER})


@pytest.mark.parametrize(
    "text",
    ["def test_a():\n    assert total_price(b) == 3\n", "def test_basket():\n    assert run() == 3\n"],
)
def test_a_new_test_that_names_the_function_or_its_module_is_left_alone(text: str) -> None:
    assert "test_of_nothing_changed" not in names(seen({}, {"shop/basket.py": CODE, "tests/test_a.py": text}))


def test_without_changed_code_of_its_language_nothing_can_be_told() -> None:
    assert seen({}, {"tests/test_a.py": OTHER}) == []
    assert seen({}, {"shop/basket.go": "package shop\n\nvar Basket = 1\n", "tests/test_a.py": OTHER}) == []


def test_many_new_tests_are_not_looked_at() -> None:
    many = "\n".join(OTHER.replace("colour", f"colour{number}") for number in range(20))
    assert seen({}, {"shop/basket.py": CODE, "tests/test_a.py": many}) == []
