"""The measured line of each signal's docstring. `assay bench` measures, `bench/quality.py alarms` writes."""

from typing import Final

from worker.domain.pattern import pattern
from worker.evaluation.bench.measures import Share
from worker.signals.signal import Signal, SignalScope

FEWEST_ROWS: Final = 300
"""Clean opportunities that a signal needs before it may block."""

MOST_FALSE_ALARMS: Final = 0.005
"""The highest upper end of the interval of its false alarms."""

MEASURED_LINE: Final = pattern(
    r"False alarms: (\d+) of (\d+) clean changes with ([a-z A-Z]+?) \(\d+\.\d %, at most \d+\.\d\d %\)\."
)


def measured_line(share: Share, scope: SignalScope) -> str:
    """The last line of a signal's docstring."""
    rate, high = share.rate * 100, share.high * 100
    return f"False alarms: {share.hits} of {share.of} clean changes with {scope} ({rate:.1f} %, at most {high:.2f} %)."


def read_measured(signal: Signal) -> Share | None:
    """The false alarms in a signal's docstring; None where it has none, or not in this form."""
    match = MEASURED_LINE.search(" ".join(signal.description.split()))
    return Share(int(match[1]), int(match[2])) if match else None


def is_blocking_allowed(share: Share) -> bool:
    return share.of >= FEWEST_ROWS and share.high <= MOST_FALSE_ALARMS
