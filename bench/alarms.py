"""Write down the measured false alarms: `python bench/alarms.py REPORT.json...` (of `assay bench` over clean changes).

Adds the reports' counts up, puts them into the docstring of each signal, and writes docs/signals.md anew. Prints every
signal that states facts and may not: too few clean changes, or too many alarms. Without a report only the page is
written.
"""

import inspect
import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from worker.corpus.measures import Share  # noqa: E402 - found from any working directory
from worker.corpus.signals_page import may_block, measured_line, signals_page  # noqa: E402 - as above
from worker.judge.heuristics.registry import SIGNALS  # noqa: E402 - as above
from worker.judge.heuristics.signal import Kind, Signal  # noqa: E402 - as above
from worker.rulebook import load_rubric  # noqa: E402 - as above

LAST = re.compile(r"\n    False alarms:.*?(?=\n    \"\"\"|\"\"\")", re.DOTALL)


def write_down(signal: Signal, share: Share) -> None:
    path = Path(inspect.getsourcefile(signal.see) or "")
    text = path.read_text("utf-8")
    source = inspect.getsource(signal.see)
    line = measured_line(share, signal.looks_at)
    doc = re.search(r'"""(.*?)"""', source, re.DOTALL)
    if doc is None:
        raise SystemExit(f"{signal.name} has no docstring")
    said = doc[1].partition("False alarms:")[0].rstrip()
    path.write_text(text.replace(doc[0], f'"""{said}\n\n    {line}\n    """'), "utf-8")


def main() -> None:
    hits: Counter[str] = Counter()
    chances: Counter[str] = Counter()
    for name in sys.argv[1:]:
        for signal, alarm in json.loads(Path(name).read_text("utf-8"))["alarms"].items():
            hits[signal] += alarm["clean"]["hits"]
            chances[signal] += alarm["clean"]["of"]
    for signal in SIGNALS if sys.argv[1:] else ():
        share = Share(hits[signal.name], chances[signal.name])
        write_down(signal, share)
        if signal.kind is Kind.FACT and not may_block(share):
            print(f"{signal.name} may not block: {measured_line(share, signal.looks_at)}")
    if not sys.argv[1:]:
        page = signals_page(SIGNALS, load_rubric().signals)
        (ROOT / "docs" / "signals.md").write_text(page, "utf-8")
    else:
        print("Run it again without reports to write docs/signals.md from the new docstrings.")


if __name__ == "__main__":
    main()
