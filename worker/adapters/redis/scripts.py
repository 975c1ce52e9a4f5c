"""The scripts in `lua/`: sent by digest, and loaded again after Redis lost them. Each is atomic."""

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


@cache
def source(script: Script) -> bytes:
    return (FOLDER / f"{script}.lua").read_bytes()


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
