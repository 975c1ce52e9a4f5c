"""`assay token create|list|revoke`: read-only tokens of the API, each for the installations named at its creation."""

import argparse

from app.cli.exit_codes import CommandResult, Exit
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.publishing.texts.audit import (
    created_message,
    name_taken_message,
    revoked_message,
    token_list,
    unknown_name_message,
)
from worker.settings import load_settings
from worker.wiring.store import open_store


def token(arguments: argparse.Namespace) -> CommandResult:
    return {"create": create, "list": list_tokens, "revoke": revoke}[arguments.answer](arguments)


def create(arguments: argparse.Namespace) -> CommandResult:
    """Create a token and print it; it can't be shown again."""
    numbers = frozenset(InstallationId(number) for number in arguments.installation)
    with open_store(load_settings()) as store:
        token = store.tokens().create(arguments.name, numbers, SystemClock().now())
    if token is None:
        return CommandResult(Exit.USAGE, name_taken_message(arguments.name))
    return CommandResult(Exit.ACCEPT, created_message(arguments.name, token, numbers))


def list_tokens(_: argparse.Namespace) -> CommandResult:
    with open_store(load_settings()) as store:
        return CommandResult(Exit.ACCEPT, token_list(store.tokens().grants()))


def revoke(arguments: argparse.Namespace) -> CommandResult:
    with open_store(load_settings()) as store:
        if store.tokens().revoke(arguments.name):
            return CommandResult(Exit.ACCEPT, revoked_message(arguments.name))
    return CommandResult(Exit.USAGE, unknown_name_message(arguments.name))
