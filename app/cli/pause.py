"""`assay pause` and `assay resume`: stop all judging in one repository or everywhere, for a while, and go on.

Does not touch a judging that has begun. Invariant: GitHub is asked only about a repository that the store does not know; one that
neither knows is not switched, and that is said; what stops judging everywhere has an end and a reason.
"""

import argparse
import os
import pwd

from app.cli.exit_codes import Answer, Exit
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.pause import LONGEST_NAME, LONGEST_REASON, Suspension, UntilError, end_of
from worker.errors import AssayError, InputError
from worker.publishing.texts import pause as texts
from worker.publishing.texts.visible import one_line
from worker.settings import Settings, from_environment


def pause(arguments: argparse.Namespace) -> Answer:
    settings = from_environment()
    with open_store(settings) as store:
        if arguments.list:
            return Answer(Exit.ACCEPT, texts.listed(in_force(store)))
        repository = _repository(arguments)
        suspension = _suspension(arguments, repository)
        if repository is None:
            store.switches.pause_all(suspension)
            return Answer(Exit.ACCEPT, texts.paused(None, suspension))
        found = [(one.installation, one.repository) for one in store.records().of_repository(repository).owned]
        found = found or _at_github(settings, repository)
        if isinstance(found, str):
            return Answer(Exit.USAGE, found)
        for one in found:
            store.switches.pause(*one, suspension)
        return Answer(Exit.ACCEPT, texts.paused(repository, suspension))


def _at_github(settings: Settings, repository: str) -> list[tuple[InstallationId, RepositoryId]] | str:
    """The numbers of one of which nothing was heard yet; or why it can't be paused."""
    from worker.adapters.github.one_repository import numbers

    try:
        found = numbers(settings, SystemClock(), repository)
    except AssayError as error:
        return texts.not_asked(repository, str(error))
    return texts.not_seen(repository) if found is None else [(found.installation, found.repository)]


def resume(arguments: argparse.Namespace) -> Answer:
    with open_store(from_environment()) as store:
        repository = _repository(arguments)
        if repository is None:
            was = store.switches.resume_all()
            return Answer(Exit.ACCEPT, texts.resumed(None) if was else texts.not_paused(None))
        owned = store.records().of_repository(repository).owned
        if not owned:
            return Answer(Exit.USAGE, texts.unknown(repository))
        were = [store.switches.resume(one.installation, one.repository) for one in owned]
        return Answer(Exit.ACCEPT, texts.resumed(repository) if any(were) else texts.not_paused(repository))


def in_force(store: Store) -> tuple[texts.Listed, ...]:
    """All pauses, for people to read."""
    return tuple(texts.Listed(one.suspension, one.is_everywhere) for one in store.switches.in_force())


def _repository(arguments: argparse.Namespace) -> str | None:
    named: list[str] = [one for one in (arguments.repository, arguments.repo) if one]
    if len(set(named)) > 1:
        raise InputError(f"Two repositories are named: {' and '.join(named)}. Name one.")
    return named[0] if named else None


def _suspension(arguments: argparse.Namespace, repository: str | None) -> Suspension:
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
        until = end_of(arguments.until, now) if arguments.until else None
    except UntilError as error:
        raise InputError(f"--until: {error}") from error
    by = one_line(arguments.by or _user())[:LONGEST_NAME]
    return Suspension(by=by, at=now, until=until, reason=reason, repository=repository)


def _user() -> str:
    """Who runs this command, as this machine knows them."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's user needs no name
        return "the operator"
