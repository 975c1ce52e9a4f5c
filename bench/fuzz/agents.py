"""Fuzz the detection of agents in authors, branches, commit messages and descriptions: it names one that is known, or none."""

import sys
from pathlib import Path
from random import Random
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.fuzz.mutations import spoiled  # noqa: E402 - found from any working directory
from bench.fuzz.running import Target, run_as_script  # noqa: E402 - as above
from bench.made import Size, made_dossier  # noqa: E402 - as above
from worker.domain.dossier.dossier import Commit  # noqa: E402 - as above
from worker.dossier.agents import AGENTS, find_author_agent  # noqa: E402 - as above

MESSAGE: Final = b"""Count each row once

Generated with [Some tool](https://example.org)

Co-Authored-By: Somebody <noreply@example.org>
"""
WORDS: Final = (
    b"Co-authored-by: ",
    b"Assisted-by: ",
    b"Generated with [",
    b"generated with ",
    b"\xf0\x9f\xa4\x96 Generated with [Claude Code](https://claude.com/claude-code)",
    b"Link to Devin run: https://app.devin.ai/sessions/4f2e",
    b"> ",
    b"```\n",
    b"<noreply@anthropic.com>",
    b"[bot]",
    b"@",
    b"<",
    b">",
    b"\n",
)
PULL: Final = made_dossier(["python"], Size(files=1), whole=False).pull_request
KNOWN: Final = {mark.agent for mark in AGENTS} | {"aider", None}


def make(random: Random) -> bytes:
    return spoiled(MESSAGE, random, WORDS)


def run(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace")
    commits = (Commit(sha="3" * 40, message=text, author=text[:200]),)
    pull = PULL.model_copy(update={"commits": commits, "author": text[:100], "head_ref": text[:100], "body": text})
    assert find_author_agent(pull) in KNOWN


TARGET: Final = Target("agents", make, run)
run_as_script(__name__, TARGET)
