"""`assay token create|list|revoke`: who may read the figures over HTTP.

Does not show a token twice. Invariant: a token opens the installations that were named when it was made, to read.
"""

import argparse

from app.cli.exit_codes import Answer, Exit
from worker.adapters.redis.store import open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.publishing.texts.token import created, listed, name_taken, no_such_name, revoked
from worker.settings import from_environment


def token(arguments: argparse.Namespace) -> Answer:
    return {"create": create, "list": list_all, "revoke": revoke}[arguments.action](arguments)


def create(arguments: argparse.Namespace) -> Answer:
    """Make a token and print it, once."""
    numbers = frozenset(InstallationId(one) for one in arguments.installation)
    with open_store(from_environment()) as store:
        token = store.tokens().create(arguments.name, numbers, SystemClock().now())
    if token is None:
        return Answer(Exit.USAGE, name_taken(arguments.name))
    return Answer(Exit.ACCEPT, created(arguments.name, token, numbers))


def list_all(_: argparse.Namespace) -> Answer:
    with open_store(from_environment()) as store:
        return Answer(Exit.ACCEPT, listed(store.tokens().grants()))


def revoke(arguments: argparse.Namespace) -> Answer:
    with open_store(from_environment()) as store:
        is_gone = store.tokens().revoke(arguments.name)
    return Answer(Exit.ACCEPT, revoked(arguments.name)) if is_gone else Answer(Exit.USAGE, no_such_name(arguments.name))
