"""The scripts in `lua/`: sent by digest, and loaded again after Redis lost them.

Each script is its shared library followed by its own source. It is atomic and may be sent twice.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from worker.adapters.redis.client import Argument, RedisClient, RedisRefused, Reply
from worker.adapters.redis.keys import Key

FOLDER: Final = Path(__file__).parent / "lua"


class Script(StrEnum):
    COMMIT = "commit"
    WANT = "want"
    NUDGE = "nudge"
    KNOWN = "known"
    SHUT = "shut"
    REST = "rest"
    CHECK_AGAIN = "check_again"
    AGAIN_DONE = "again_done"
    CHECK_RESTS = "check_rests"
    NEXT = "next"
    OPENED = "opened"
    WENT_INTO = "went_into"
    OPEN_LATER = "open_later"
    SWEEP = "sweep"
    LEAD = "lead"
    DUE = "due"
    RESIGN = "resign"
    TAKE = "take"
    SEIZE = "seize"
    KEEP = "keep"
    FINISH = "finish"
    DIED = "died"
    GITHUB_BACK = "github_back"
    APPEND = "append"
    CHECK_CLAIM = "check_claim"
    CHECK_OPENED = "check_opened"
    CHECK_RELEASE = "check_release"
    CHECK_CONCLUDED = "check_concluded"
    CHECK_STAYS = "check_stays"
    CHECK_EXPIRED = "check_expired"
    DOUBT = "doubt"
    OVERDUE = "overdue"
    STRAY = "stray"
    SIBLING_SAYS = "sibling_says"
    SIBLING_TOLD = "sibling_told"
    SIBLING_COMES = "sibling_comes"
    SIBLING_LEAVES = "sibling_leaves"
    SIBLINGS = "siblings"
    SIBLINGS_DONE = "siblings_done"
    DECIDE = "decide"
    ARCHIVE = "archive"
    FORGET = "forget"
    WATCH_BEGINS = "watch_begins"
    EVAL_STARTED = "eval_started"
    EVAL_ENDED = "eval_ended"
    EVALS_LOST = "evals_lost"
    TELL = "tell"
    ROLLUP = "rollup"
    NOTE = "note"
    GAUGES = "gauges"


FREQUENT_SCRIPTS: Final = frozenset({Script.WANT, Script.LEAD, Script.DUE})
"""Scripts of nearly every delivery and dispatch. They omit `lua/judging.lua`, whose functions Redis defines again at each run."""


@cache
def source(script: Script) -> bytes:
    """Full source of a script, with its shared library."""
    preludes = (
        () if script is Script.COMMIT else ("pull.lua",) if script in FREQUENT_SCRIPTS else ("pull.lua", "judging.lua")
    )
    return b"".join((FOLDER / name).read_bytes() for name in (*preludes, f"{script}.lua"))


@cache
def digest(script: Script) -> str:
    return hashlib.sha1(source(script), usedforsecurity=False).hexdigest()


class ScriptCall(NamedTuple):
    """A script with its input. `arguments`: the number of keys, their names, the arguments."""

    script: Script
    arguments: tuple[Argument, ...]

    @property
    def by_digest(self) -> tuple[Argument, ...]:
        """The command that runs a loaded script."""
        return ("EVALSHA", digest(self.script), *self.arguments)

    @property
    def with_source(self) -> tuple[Argument, ...]:
        return ("EVAL", source(self.script), *self.arguments)


def make_call(script: Script, keys: Sequence[Key | str], *arguments: Argument) -> ScriptCall:
    """Build a call. A key given as text is a name from Redis itself."""
    return ScriptCall(script, (len(keys), *[key.name if isinstance(key, Key) else key for key in keys], *arguments))


def run_script(wire: RedisClient, script: Script, keys: Sequence[Key | str], *arguments: Argument) -> Reply:
    return send_call(wire, make_call(script, keys, *arguments))


def send_call(wire: RedisClient, call: ScriptCall) -> Reply:
    try:
        return wire.call(*call.by_digest)
    except RedisRefused as refused:
        if not is_unknown(refused):
            raise
    return wire.call(*call.with_source)


def is_unknown(refused: RedisRefused) -> bool:
    """Whether Redis lacks the script: after a restart, or before its first run."""
    return refused.line.startswith(b"NOSCRIPT")
