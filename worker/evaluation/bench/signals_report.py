"""docs/signals.md, and the measured line of each signal's docstring.

Does not measure (`assay bench` does, `bench/alarms.py` writes it down). Invariant: what a docstring, the page and a test
say about a signal's false alarms is the same line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from worker.domain.pattern import pattern
from worker.evaluation.bench.measures import Share
from worker.signals.signal import Signal, SignalKind, SignalScope

FEWEST_ROWS: Final = 300
"""Clean opportunities that a signal must have had before it may block."""

MOST_FALSE_ALARMS: Final = 0.005
"""The upper end of the interval of its false alarms, at most."""

PAGE_HEAD: Final = """# Signals

What the heuristic tier looks at. A *fact* may reject alone; a *suspicion* lowers the score, is shown, and goes to the
model. Generated from the code: do not edit.

- A signal may state facts only if it was held against at least 300 clean changes that gave it an opportunity, and the
  upper end of the 95 % interval (Wilson) of its false alarms is at most 0.5 %.
- *False alarms* were measured with `assay bench` on clean changes of public repositories. Clean labels carry about 1 %
  noise, so a hit is not always wrong.
- In Ruby, C#, PHP and Kotlin nothing is a fact: what is found in their files is a suspicion, whatever the table says,
  until the false alarms there are as low and as well measured.
- A repository switches a signal off or demotes it by `signals: {name: off}` or `{name: suspicion}` in its policy. The
  weights are the rubric's.
"""

MEASURED_LINE: Final = pattern(
    r"False alarms: (\d+) of (\d+) clean changes with ([a-z A-Z]+?) \(\d+\.\d %, at most \d+\.\d\d %\)\."
)


def measured_line(share: Share, looks_at: SignalScope) -> str:
    """The last line of a signal's docstring."""
    rate, high = share.rate * 100, share.high * 100
    return (
        f"False alarms: {share.hits} of {share.of} clean changes with {looks_at} ({rate:.1f} %, at most {high:.2f} %)."
    )


def read_measured(signal: Signal) -> Share | None:
    """What the docstring says of a signal's false alarms; None where it says nothing, or not in this form."""
    found = MEASURED_LINE.search(" ".join(signal.description.split()))
    return Share(int(found[1]), int(found[2])) if found else None


def is_blocking_allowed(share: Share) -> bool:
    return share.of >= FEWEST_ROWS and share.high <= MOST_FALSE_ALARMS


def signals_page(signals: Sequence[Signal], weights: Mapping[str, float]) -> str:
    """The whole page."""
    return "\n".join([PAGE_HEAD, *_families(signals, weights)]) + "\n"


def _families(signals: Sequence[Signal], weights: Mapping[str, float]) -> Iterator[str]:
    for category in dict.fromkeys(one.category for one in signals):
        yield f"## {category}\n"
        yield "| signal | kind | weight | looks at | what it sees | false alarms |"
        yield "|---|---|---|---|---|---|"
        yield from (_row(one, weights[one.name]) for one in signals if one.category is category)
        yield ""


def _row(signal: Signal, weight: float) -> str:
    share = read_measured(signal)
    said = "" if share is None else f"{share.hits} of {share.of}, at most {share.high * 100:.2f} %"
    weighed = "" if signal.kind is SignalKind.FACT else f"{weight:g}"
    return f"| `{signal.name}` | {signal.kind} | {weighed} | {signal.scope} | {_description(signal)} | {said} |"


def _description(signal: Signal) -> str:
    """The docstring without its measured line, on one line."""
    text = " ".join(signal.description.split())
    return text.partition("False alarms:")[0].strip().replace("|", "\\|")
