"""Fuzz the reading of criteria from issues' Markdown: it never raises, and always gives at least one."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from worker.domain.dossier.dossier import Issue  # noqa: E402 - as above
from worker.dossier.criteria import criteria_of, listed_criteria  # noqa: E402 - as above

ISSUE: Final = b"""# Count each row once

Rows are counted **twice** when a [limit](https://example.org/a(b)c) is given. See `convert`.

## Acceptance criteria

- [ ] `convert` counts each row *once*
- [x] ~~old~~ the flag `--limit` is documented
  1. nested, with `code`
  2. and <b>HTML</b>

| criterion | done |
|---|---|
| a row that is empty is left out | no |

Scenario: a limit
  Given three rows
  When the limit is two
  Then two are counted

> quoted
> - [ ] not a criterion

```python
- [ ] nor is this
```

<!-- a template -->
"""
WORDS: Final = (
    b"- [ ] ",
    b"## Acceptance criteria\n",
    b"| a | b |\n|---|---|\n",
    b"Scenario: x\n",
    b"Given a\nWhen b\nThen c\n",
    b"```\n",
    b"~~~\n",
    b"<!-- ",
    b"-->",
    b"<details>",
    b"</details>",
    b"> ",
    b"1. ",
    b"**",
    b"[a](b)",
    b"[a]: b\n",
    b"&nbsp;",
    b"~~",
    b"\n\n",
    b"TODO",
)


def make(random: Random) -> bytes:
    return spoiled(ISSUE, random, WORDS)


def run(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    listed_criteria(text)
    found = criteria_of((Issue(number=1, title=text[:200], body=text),), "a title", text)
    assert [one.id for one in found] == [f"AC{number}" for number in range(1, len(found) + 1)]
    assert found


TARGET: Final = Target("criteria", make, run)
run_as_script(__name__, TARGET)
