"""`assay wait OWNER/REPO@SHA`: waits for the verdict on one commit, at a running Assay or in the records here.

Does not judge, and asks nobody to. Invariant: the answer is about the commit that was named, or says that there is none; an
outage of the server is waited out as long as there is time.
"""

import argparse
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from app.cli.exit_codes import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.domain.pattern import pattern
from worker.errors import InputError, Unavailable
from worker.publishing.texts.audit import wait_status_text
from worker.settings import ServerAccess, Settings, load_settings, missing_setting

COMMIT_NAME: Final = pattern(r"([^/\s@]{1,200}/[^/\s@]{1,200})@([0-9a-fA-F]{40})")
MAX_REQUEST_S: Final = 30
"""How long one question to the server waits: proxies cut longer ones."""
POLL_PAUSE_S: Final = 2.0
EXIT_CODES: Final = {"accept": Exit.ACCEPT, "reject": Exit.REJECT, "abstain": Exit.ABSTAIN}

FetchStatus = Callable[[float], dict[str, Any]]


def wait(arguments: argparse.Namespace) -> CommandResult:
    """0 accept, 1 reject, 3 for all else: not judged, overridden, superseded, none coming, or pending when the time is up."""
    match = COMMIT_NAME.fullmatch(arguments.commit)
    if match is None:
        raise InputError(f'"{arguments.commit}": expected OWNER/REPO@SHA, with all 40 characters of the commit id.')
    settings = load_settings()
    repository, sha = match[1], match[2].lower()
    answer = _poll_until(status_source(settings, repository, sha), arguments.timeout, _print_status)
    verdict = answer["verdict"]
    is_overridden = answer.get("overridden_by") is not None  # a server of an earlier version tells of none
    code = Exit.ABSTAIN if verdict is None or is_overridden else EXIT_CODES[verdict["decision"]]
    return CommandResult(
        code, f"{json.dumps(answer, indent=2)}\n" if arguments.json else wait_status_text(answer, terminal_page())
    )


def status_source(settings: Settings, repository: str, sha: str) -> FetchStatus:
    """Whom to ask: the server of ASSAY_SERVER, or the records that this machine's settings lead to."""
    if settings.server is not None:
        return _RemoteSource(settings.server, repository, sha)
    return _LocalSource(settings, repository, sha)


def _print_status(answer: Mapping[str, Any]) -> None:
    """Say what is known before the wait begins."""
    print(wait_status_text(answer, terminal_page()), file=sys.stderr, end="", flush=True)


def _poll_until(ask: FetchStatus, seconds: float, tell: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Ask until there is nothing to wait for, or the time is up; *tell* what is known where there is something to wait for.

    Raises Unavailable when nobody ever answered.
    """
    until, is_told = time.monotonic() + seconds, False
    while True:
        left = max(0.0, until - time.monotonic())
        try:
            answer = ask(min(left, MAX_REQUEST_S) if is_told else 0.0)
        except Unavailable:
            if left <= POLL_PAUSE_S:
                raise
        else:
            is_known = answer["number"] is not None
            if left <= 0 or (answer["state"] != "pending" and is_known):
                return answer
            if not is_told:
                tell(answer)
                is_told = True
                continue
        # records don't call back, and a server that is away does not say when it is there again: so look, pause, look
        time.sleep(min(POLL_PAUSE_S, max(0.0, until - time.monotonic())))


class _LocalSource:
    """The records here."""

    def __init__(self, settings: Settings, repository: str, sha: str) -> None:
        self._settings, self._repository, self._sha = settings, repository, sha

    def __call__(self, _: float) -> dict[str, Any]:
        from worker.adapters.redis.store import open_store
        from worker.adapters.redis.wait_status import find_seen_pulls
        from worker.domain.check.wait_status import find_wait_status
        from worker.evaluation.stats.evaluations import wait_answer

        with open_store(self._settings) as store:
            return wait_answer(
                find_wait_status(find_seen_pulls(store, self._repository, self._sha), self._sha),
                self._repository,
                self._sha,
            )


class _RemoteSource:
    """A running Assay, asked over HTTP."""

    def __init__(self, server: ServerAccess, repository: str, sha: str) -> None:
        self._url = f"{server.url.rstrip('/')}/api/verdicts/{urllib.parse.quote(repository)}/{sha}"
        if server.token is None:
            raise missing_setting("ASSAY_TOKEN")
        self._headers = {"Authorization": f"Bearer {server.token.get_secret_value()}", "User-Agent": "assay-wait"}

    def __call__(self, seconds: float) -> dict[str, Any]:
        """Raises Unavailable, and InputError for what another try will not change."""
        request = urllib.request.Request(f"{self._url}?wait={seconds:.1f}", headers=self._headers)  # noqa: S310 - http(s): see settings
        try:
            with urllib.request.urlopen(request, timeout=seconds + 15) as answered:  # noqa: S310 - as above
                return json.load(answered)
        except urllib.error.HTTPError as error:
            if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Unavailable("the server", f"answers {error.code}") from error
            raise InputError(f"The server refuses ({error.code}): {_error_message(error)}") from error
        except (OSError, ValueError) as error:
            raise Unavailable("the server", f"does not answer ({type(error).__name__})") from error


def _error_message(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return error.reason
