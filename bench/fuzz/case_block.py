"""Fuzz the reading of the author's case: it is a case, an error in words, or none."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from worker.domain.dossier.case import Case  # noqa: E402 - as above
from worker.dossier.case import CaseError, read_case, read_case_file  # noqa: E402 - as above

BODY: Final = b"""Some words.

```assay
summary: Counts each row once.
ac_coverage:
  - criterion: AC1
    addressed_by: src/convert.py:12-14
    evidence: tests/test_convert.py::test_convert
work_arounds: []
uncertainties:
  - "none: really"
```

More words.
"""
WORDS: Final = (
    b"```assay\n",
    b"```\n",
    b"summary: ",
    b"ac_coverage:\n  - criterion: AC1\n",
    b"&a [*a, *a]",
    b"*a",
    b"!!python/object:os.system ",
    b"? ",
    b"- - - ",
    b"{a: {b: [",
    b"|\n  ",
    b">-\n",
    b"summary: a\nsummary: b\n",
    b"0x1F",
    b"2020-13-45",
    b"1e999",
    b"~",
    b"'",
    b"%YAML 9\n---\n",
)


def make(random: Random) -> bytes:
    return spoiled(BODY, random, WORDS)


def run(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    found = read_case(text)
    assert found is None or isinstance(found, (Case, CaseError))
    alone = read_case_file(text.partition("```assay\n")[2].partition("```")[0])
    assert alone is None or isinstance(alone, (Case, CaseError))


TARGET: Final = Target("case_block", make, run)
run_as_script(__name__, TARGET)
