"""What scripts and operators rely on: commands, options, exit codes, variables, names in logs, keys in Redis.

The configuration's schema is held by docs/assay.schema.json, those of verdict and check run by docs/*.schema.json, the fields of
events by docs/events.md and the figures of `/metrics` by `tests/app/web/test_metrics.py`: each has a test of its own.
"""

import argparse
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from app.cli.parser import Exit, build_parser
from tests.golden.golden import Golden
from tests.golden.log_names import log_names
from tests.golden.redis_keys import is_durable
from tests.worker.adapters.redis.test_keys import every_key
from worker.settings_reference import VARIABLES

HASHED: Final = re.compile(r"^[0-9a-f]{16,64}$")
PARTS: Final = {
    "1": "{installation}", "2": "{repository}", "3": "{number}", "guid": "{delivery}", "e": "{eval}", "token": "{name}",
    "2026-11-20": "{day}",
}  # fmt: skip


def test_commands_and_their_options(golden: Golden) -> None:
    golden.holds_json("commands.json", {name: options(one) for name, one in commands(build_parser())})


def test_help_texts(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    texts = (f"$ {name} --help\n{one.format_help()}" for name, one in commands(build_parser()))
    golden.holds("prose/help.txt", "\n".join(texts))


def test_exit_codes(golden: Golden) -> None:
    golden.holds_json("exit_codes.json", {one.name.lower(): one.value for one in Exit})


def test_environment_variables(golden: Golden) -> None:
    golden.holds_json("environment.json", {one.name: "..." if " " in one.default else one.default for one in VARIABLES})
    texts = (f"{one.name}\n  {one.expected}\n  default: {one.default}\n  from: {one.source}\n" for one in VARIABLES)
    golden.holds("prose/environment.txt", "\n".join(texts))


def test_names_in_logs(golden: Golden) -> None:
    names = log_names()
    golden.holds_json("log_names.json", {"fields": sorted(names.fields), "events": sorted(names.events)})
    golden.holds("prose/log_messages.txt", "".join(f"{one}\n" for one in sorted(names.messages)))


@pytest.mark.parametrize("kind", ["durable", "transient"])
def test_keys_in_redis(kind: str, golden: Golden) -> None:
    layout = {pattern(key.name): [key.type, key.ttl and round(key.ttl.total_seconds())] for key in every_key()}
    golden.holds_json(
        f"redis_{kind}.json",
        {
            name: {"type": type_, "seconds": seconds}
            for name, (type_, seconds) in layout.items()
            if is_durable(name) == (kind == "durable")
        },
    )


def commands(top: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command by its whole name, those within others too."""
    yield top.prog, top
    for action in vars(top)["_actions"]:
        if action.nargs == argparse.PARSER:
            inner: dict[str, argparse.ArgumentParser] = action.choices
            for command in inner.values():
                yield from commands(command)


def options(command: argparse.ArgumentParser) -> dict[str, Any]:
    shown: list[argparse.Action] = [one for one in vars(command)["_actions"] if "--help" not in one.option_strings]
    groups: list[argparse.ArgumentParser] = vars(command)["_mutually_exclusive_groups"]
    return {
        "arguments": {spelled(one): taken(one) for one in shown},
        "one of": [[spelled(one) for one in vars(group)["_group_actions"]] for group in groups],
    }


def spelled(action: argparse.Action) -> str:
    return " ".join(action.option_strings) or str(action.metavar or action.dest)


def taken(action: argparse.Action) -> dict[str, Any]:
    """What an option takes, without what is the usual. The choices of a command among others are commands themselves."""
    terms = {
        "nargs": action.nargs,
        "choices": sorted(action.choices) if action.choices else None,
        "default": None if action.default is argparse.SUPPRESS else action.default,
        "required": (action.required and bool(action.option_strings)) or None,
        "takes": action.metavar if action.option_strings else None,
        "repeated": type(action).__name__ == "_AppendAction" or None,
    }
    return {name: value for name, value in terms.items() if value is not None}


def pattern(name: str) -> str:
    """A key's name with its parts instead of what the tests of keys fill in."""
    first, *rest = name.split(":")
    return ":".join([first, *(PARTS.get(one, HASHED.sub("{hash}", one)) for one in rest)])
