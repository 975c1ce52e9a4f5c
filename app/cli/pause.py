"""`assay pause`, `resume` and `move`: stop judging in one repository or everywhere, go on, and move an installation to another cell.

A running judging continues. A pause of everything needs an end and a reason.
"""

import argparse
import os
import pwd
import sys

from app.cli.parser import CommandResult, Exit
from worker.domain.model import InstallationId
from worker.domain.time_range import LONGEST_NAME, LONGEST_REASON, JudgingPause, UntilError, parse_end
from worker.errors import AssayError, InputError
from worker.process import SystemClock
from worker.publishing.texts import states as texts
from worker.publishing.texts.markdown import one_line
from worker.settings import load_settings
from worker.wiring.cli import find_numbers
from worker.wiring.store import move_installation, open_store


def pause(arguments: argparse.Namespace) -> CommandResult:
    settings = load_settings()
    with open_store(settings) as store:
        if arguments.list:
            return CommandResult(Exit.ACCEPT, texts.pause_list(store.pauses.list_pauses()))
        repository = _repository(arguments)
        made = _make_pause(arguments, repository)
        if repository is None:
            store.pauses.pause_all(made)
            return CommandResult(Exit.ACCEPT, texts.paused_message(None, made))
        numbers = [(owner.installation, owner.repository) for owner in store.records().find_holdings(repository).owned]
        if not numbers:
            try:
                named = find_numbers(settings, repository)
            except AssayError as error:
                return CommandResult(Exit.USAGE, texts.github_not_reached(repository, str(error)))
            if named is None:
                return CommandResult(Exit.USAGE, texts.not_installed(repository))
            numbers = [(named.installation, named.repository)]
        for pair in numbers:
            store.pauses.pause(*pair, made)
        return CommandResult(Exit.ACCEPT, texts.paused_message(repository, made))


def resume(arguments: argparse.Namespace) -> CommandResult:
    with open_store(load_settings()) as store:
        repository = _repository(arguments)
        if repository is None:
            was_paused = [store.pauses.resume_all()]
        else:
            owned = store.records().find_holdings(repository).owned
            if not owned:
                return CommandResult(Exit.USAGE, texts.unknown_repository(repository))
            was_paused = [store.pauses.resume(owner.installation, owner.repository) for owner in owned]
    message = texts.resumed_message if any(was_paused) else texts.not_paused_message
    return CommandResult(Exit.ACCEPT, message(repository))


def _repository(arguments: argparse.Namespace) -> str | None:
    named: list[str] = [name for name in (arguments.repository, arguments.repo) if name]
    if len(set(named)) > 1:
        raise InputError(f"Two repositories are named: {' and '.join(named)}. Name one.")
    return named[0] if named else None


def _make_pause(arguments: argparse.Namespace, repository: str | None) -> JudgingPause:
    now = SystemClock().now()
    reason = one_line(arguments.reason or "")
    if repository is None and not (arguments.until and reason):
        raise InputError(
            "This would stop judging in all repositories: say until when and why (--until 2h --reason TEXT), "
            "or in which one (--repo OWNER/REPO)."
        )
    if len(reason) > LONGEST_REASON:
        raise InputError(f"The reason has {len(reason)} characters. Say it in {LONGEST_REASON}.")
    try:
        until = parse_end(arguments.until, now) if arguments.until else None
    except UntilError as error:
        raise InputError(f"--until: {error}") from error
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user may have no name
        user = "the operator"
    by = one_line(arguments.by or user)[:LONGEST_NAME]
    return JudgingPause(by=by, at=now, until=until, reason=reason, repository=repository)


def move(arguments: argparse.Namespace) -> CommandResult:
    settings = load_settings()
    if arguments.to not in settings.cells:
        raise InputError(f"There is no cell {arguments.to}. Cells: {', '.join(settings.cells) or 'set ASSAY_CELLS'}")
    with open_store(settings) as store:
        installation = InstallationId(arguments.installation)
        is_moved = move_installation(
            settings, store, installation, arguments.to, lambda step: print(step, file=sys.stderr)
        )
    verb = "is now" if is_moved else "was already"
    return CommandResult(Exit.ACCEPT, f"Installation {installation} {verb} in the cell {arguments.to}.\n")
