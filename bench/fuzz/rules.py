"""Fuzz the reading of rules files: it never raises, and every rule stands on a line of the file."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from worker.domain.dossier.dossier import Guidance  # noqa: E402 - as above
from worker.dossier.repo_rules.parser import parse_guidance  # noqa: E402 - as above

RULES: Final = b"""# Rules for agents

- Never edit files in `dist/` or `src/generated/**`: run `make gen` instead.
- Do not use `print()` in library code, except in `cli.py`.
- Every public function must have a docstring.
- Update `CHANGELOG.md` with every user-visible change.
- Avoid `any` in TypeScript unless there is no other way.
- Prefer small functions.

## Tests

Don't call `time.sleep` in tests. Tests must be named `test_*.py`.

```
Never do this: `eval()`
```
"""
WORDS: Final = (
    b"Never use `eval()`.",
    b"Do not edit `dist/`",
    b" except in `a.py`",
    b" unless ",
    b"must",
    b"must not ",
    b"- ",
    b"## ",
    b"`",
    b"**",
    b"CHANGELOG.md",
    b"docstring",
    b"in tests",
    b", ",
    b" or ",
    b" and `b()`",
    b"```\n",
    b"| a | b |\n|---|---|\n",
)


def make(random: Random) -> bytes:
    return spoiled(RULES, random, WORDS)


def run(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    parse_guidance(Guidance(path="AGENTS.md", text=text))


TARGET: Final = Target("rules", make, run)
run_as_script(__name__, TARGET)
