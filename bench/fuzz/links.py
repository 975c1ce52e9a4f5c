"""Fuzz the reading of issue links: it never raises, and names only repositories and numbers that stand in the text."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from worker.dossier.issue_links import find_closing_links, find_mentions  # noqa: E402 - as above

TEXT: Final = b"""Fixes #12, closes acme/widgets#13 and resolves https://github.com/acme/other/issues/14.

This does not fix #15. See GH-16, `closes #17`, and also acme/widgets#18.

    fixes #19

> fixes #20

Fixed: #21 <!-- fixes #22 --> [fixes #23](https://github.com/acme/widgets/pull/24)
"""
WORDS: Final = (
    b"fixes #1",
    b"Closes: #2",
    b"resolves acme/w#3",
    b"https://github.com/a/b/issues/4",
    b"GH-5",
    b"does not fix #6",
    b"`",
    b"```\n",
    b"<!--",
    b"-->",
    b"#",
    b"/",
    b"://",
    b"fix fix fix ",
    b", ",
    b" and ",
)


def make(random: Random) -> bytes:
    return spoiled(TEXT, random, WORDS)


def run(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    for link in (*find_closing_links(text, "acme/widgets"), *find_mentions(text, "acme/widgets")):
        assert str(link.number) in text


TARGET: Final = Target("links", make, run)
run_as_script(__name__, TARGET)
