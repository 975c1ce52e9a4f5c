"""Write down the measured false alarms: `python bench/alarms.py REPORT.json... [--made REPORT.json...]`.

The reports are of `assay bench` over clean changes. Those behind `--made` are of clean changes that were given a case or a
rules file (twins of seeded defects): they count only for the signals that look at these, for the rest knows them already.

Adds the reports' counts up and puts them into the docstring of each signal. Prints every signal that states facts and may not:
too few clean changes, or too many alarms.
"""

import inspect
import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from worker.evaluation.bench.measures import Share  # noqa: E402 - found from any working directory
from worker.evaluation.bench.signals_report import is_blocking_allowed, measured_line  # noqa: E402 - as above
from worker.signals.registry import SIGNALS  # noqa: E402 - as above
from worker.signals.signal import Signal, SignalKind, SignalScope  # noqa: E402 - as above

LAST = re.compile(r"\n    False alarms:.*?(?=\n    \"\"\"|\"\"\")", re.DOTALL)


def write_down(signal: Signal, share: Share) -> None:
    path = Path(inspect.getsourcefile(signal.detect) or "")
    text = path.read_text("utf-8")
    doc = re.search(rf'^def {signal.name}\(.*?\n    """(.*?)"""', text, re.DOTALL | re.MULTILINE)
    if doc is None:
        raise SystemExit(f"{signal.name} has no docstring")
    said = doc[1].partition("False alarms:")[0].rstrip()
    line = measured_line(share, signal.scope)
    path.write_text(f"{text[: doc.start(1)]}{said}\n\n    {line}\n    {text[doc.end(1) :]}", "utf-8")


def counted(names: list[str], *, made: bool) -> dict[str, Share]:
    """The counts of these reports, by signal."""
    hits: Counter[str] = Counter()
    chances: Counter[str] = Counter()
    for name in names:
        for signal, alarm in json.loads(Path(name).read_text("utf-8"))["alarms"].items():
            if not made or alarm["looks_at"] in {SignalScope.CASE, SignalScope.RULES}:
                hits[signal] += alarm["clean"]["hits"]
                chances[signal] += alarm["clean"]["of"]
    return {signal: Share(hits[signal], chances[signal]) for signal in chances}


def main() -> None:
    names = sys.argv[1:]
    cut = names.index("--made") if "--made" in names else len(names)
    natural, made = counted(names[:cut], made=False), counted(names[cut + 1 :], made=True)
    for signal in SIGNALS:
        more = made.get(signal.name, Share(0, 0))
        share = Share(natural[signal.name].hits + more.hits, natural[signal.name].of + more.of)
        write_down(signal, share)
        if signal.kind is SignalKind.FACT and not is_blocking_allowed(share):
            print(f"{signal.name} may not block: {measured_line(share, signal.scope)}")
    print("Write docs/signals from the new docstrings: ./test tests/worker/signals --update-golden")


if __name__ == "__main__":
    main()
