"""What scripts and operators rely on: commands, options, exit codes, variables, names in logs, keys in Redis."""

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
    golden.check_json("commands.json", {name: command_options(item) for name, item in all_commands(build_parser())})


def test_help_texts(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    texts = (f"$ {name} --help\n{item.format_help()}" for name, item in all_commands(build_parser()))
    golden.check_text("prose/help.txt", "\n".join(texts))


def test_exit_codes(golden: Golden) -> None:
    golden.check_json("exit_codes.json", {item.name.lower(): item.value for item in Exit})


def test_environment_variables(golden: Golden) -> None:
    golden.check_json(
        "environment.json", {item.name: "..." if " " in item.default else item.default for item in VARIABLES}
    )
    texts = (
        f"{item.name}\n  {item.expected}\n  default: {item.default}\n  from: {item.source}\n" for item in VARIABLES
    )
    golden.check_text("prose/environment.txt", "\n".join(texts))


def test_names_in_logs(golden: Golden) -> None:
    names = log_names()
    golden.check_json("log_names.json", {"fields": sorted(names.fields), "events": sorted(names.events)})
    golden.check_text("prose/log_messages.txt", "".join(f"{item}\n" for item in sorted(names.messages)))


@pytest.mark.parametrize("kind", ["durable", "transient"])
def test_keys_in_redis(kind: str, golden: Golden) -> None:
    layout = {key_pattern(key.name): [key.type, key.ttl and round(key.ttl.total_seconds())] for key in every_key()}
    golden.check_json(
        f"redis_{kind}.json",
        {
            name: {"type": type_, "seconds": seconds}
            for name, (type_, seconds) in layout.items()
            if is_durable(name) == (kind == "durable")
        },
    )


def all_commands(top: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command and subcommand by its full name."""
    yield top.prog, top
    for action in vars(top)["_actions"]:
        if action.nargs == argparse.PARSER:
            inner: dict[str, argparse.ArgumentParser] = action.choices
            for command in inner.values():
                yield from all_commands(command)


def command_options(command: argparse.ArgumentParser) -> dict[str, Any]:
    shown: list[argparse.Action] = [item for item in vars(command)["_actions"] if "--help" not in item.option_strings]
    groups: list[argparse.ArgumentParser] = vars(command)["_mutually_exclusive_groups"]
    return {
        "arguments": {spell_argument(item): argument_terms(item) for item in shown},
        "one of": [[spell_argument(item) for item in vars(group)["_group_actions"]] for group in groups],
    }


def spell_argument(action: argparse.Action) -> str:
    return " ".join(action.option_strings) or str(action.metavar or action.dest)


def argument_terms(action: argparse.Action) -> dict[str, Any]:
    """The properties of an option that differ from the default."""
    terms = {
        "nargs": action.nargs,
        "choices": sorted(action.choices) if action.choices else None,
        "default": None if action.default is argparse.SUPPRESS else action.default,
        "required": (action.required and bool(action.option_strings)) or None,
        "takes": action.metavar if action.option_strings else None,
        "repeated": type(action).__name__ == "_AppendAction" or None,
    }
    return {name: value for name, value in terms.items() if value is not None}


def key_pattern(name: str) -> str:
    """The name of a key with placeholders for its variable parts."""
    first, *rest = name.split(":")
    return ":".join([first, *(PARTS.get(item, HASHED.sub("{hash}", item)) for item in rest)])
