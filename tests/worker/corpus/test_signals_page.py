"""docs/signals.md, and the line that says how often a signal misfired."""

from collections.abc import Iterator

from worker.corpus.measures import Share
from worker.corpus.signals_page import FEWEST, may_block, measured, measured_line, signals_page
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change
from worker.judge.heuristics.signal import Kind, Looks, Place, Signal, signal


def test_what_a_docstring_says_is_read_back() -> None:
    share = Share(3, 1200)

    def see(change: Change) -> None:
        del change

    see.__doc__ = f"Something | odd,\n    on two lines.\n\n    {measured_line(share, Looks.CONFIGURATION)}\n    "
    assert measured(_signal(see)) == share
    see.__doc__ = "Nothing was measured."
    assert measured(_signal(see)) is None


def _signal(see: object) -> Signal:
    return Signal("made", Category.WEAK_TEST, Kind.FACT, Looks.TESTS, see)  # pyright: ignore[reportArgumentType] - it is never asked to see


def test_a_fact_may_block_after_enough_clean_changes_with_few_alarms() -> None:
    assert may_block(Share(0, 1000))
    assert not may_block(Share(0, FEWEST - 1))
    assert not may_block(Share(0, FEWEST)), "its upper bound is over 0.5 %"
    assert not may_block(Share(10, 1000))


def test_the_page_lists_each_signal_by_its_category() -> None:
    @signal(Category.WEAK_TEST, Kind.SUSPICION, Looks.TESTS)
    def odd(_: Change) -> Iterator[Place]:
        """Sees | a bar."""
        yield from ()

    @signal(Category.WEAK_TEST, Kind.FACT, Looks.ANYTHING)
    def sure(_: Change) -> Iterator[Place]:
        """Sees all.

        False alarms: 0 of 1000 clean changes with anything (0.0 %, at most 0.38 %).
        """
        yield from ()

    page = signals_page([odd, sure], {"odd": 0.25, "sure": 1.0})
    assert "\n## weak_test\n" in page
    assert "\n| `odd` | suspicion | 0.25 | tests | Sees \\| a bar. |  |\n" in page
    assert "\n| `sure` | fact |  | anything | Sees all. | 0 of 1000, at most 0.38 % |\n" in page
