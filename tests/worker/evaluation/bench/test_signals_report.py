"""What is written about the signals: measured, and the same everywhere."""

import pytest

from worker.domain.verdict.verdict import Category
from worker.evaluation.bench.measures import Share
from worker.evaluation.bench.signals_report import is_blocking_allowed, measured_line, read_measured
from worker.signals.registry import SIGNALS
from worker.signals.signal import Signal, SignalKind, SignalScope

BY_NAME = {one.name: one for one in SIGNALS}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_signal_says_how_often_it_misfired(name: str) -> None:
    share = read_measured(BY_NAME[name])
    assert share is not None
    assert measured_line(share, BY_NAME[name].scope) in " ".join(BY_NAME[name].description.split())


@pytest.mark.parametrize("name", [one.name for one in SIGNALS if one.kind is SignalKind.FACT])
def test_a_signal_that_states_facts_may_block_by_its_measured_rate(name: str) -> None:
    share = read_measured(BY_NAME[name])
    assert share is not None
    assert is_blocking_allowed(share), "make it a suspicion, or measure it on more clean changes"


@pytest.mark.parametrize(
    ("share", "allowed"),
    [(Share(0, 299), False), (Share(0, 765), True), (Share(0, 700), False), (Share(5, 765), False)],
)
def test_too_few_changes_or_too_many_alarms_forbid_to_block(share: Share, *, allowed: bool) -> None:
    assert is_blocking_allowed(share) is allowed


def test_a_signal_that_nobody_measured_says_nothing() -> None:
    def silent(_: object) -> None:
        """Something | else."""

    one = Signal("silent", Category.WEAK_TEST, SignalKind.SUSPICION, SignalScope.TESTS, silent)  # pyright: ignore[reportArgumentType] - never called
    assert read_measured(one) is None
