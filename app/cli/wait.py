"""`assay wait OWNER/REPO@SHA`: wait for the verdict on one commit, at a running Assay or in the local records.

An outage of the server is retried until the timeout.
"""

import argparse
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from app.cli.parser import VERDICT_EXITS, CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.domain.pattern import pattern
from worker.errors import InputError, Unavailable
from worker.publishing.texts.audit import wait_status_text
from worker.settings import ServerAccess, Settings, load_settings, missing_setting

COMMIT_NAME: Final = pattern(r"([^/\s@]{1,200}/[^/\s@]{1,200})@([0-9a-fA-F]{40})")
MAX_REQUEST_S: Final = 30
"""The longest wait of one request: proxies cut longer ones."""
POLL_PAUSE_S: Final = 2.0

FetchStatus = Callable[[float], dict[str, Any]]


def wait(arguments: argparse.Namespace) -> CommandResult:
    """Exit code 0: accept, 1: reject, 3: anything else, such as overridden, superseded or still pending at the timeout."""
    match = COMMIT_NAME.fullmatch(arguments.commit)
    if match is None:
        raise InputError(f'"{arguments.commit}": expected OWNER/REPO@SHA, with all 40 characters of the commit id.')
    settings = load_settings()
    repository, sha = match[1], match[2].lower()
    answer = _poll_until(status_source(settings, repository, sha), arguments.timeout)
    verdict = answer["verdict"]
    is_overridden = answer.get("overridden_by") is not None  # an older server's answer has no such key
    code = Exit.ABSTAIN if verdict is None or is_overridden else VERDICT_EXITS[verdict["decision"]]
    text = f"{json.dumps(answer, indent=2)}\n" if arguments.json else wait_status_text(answer, terminal_page())
    return CommandResult(code, text)


def status_source(settings: Settings, repository: str, sha: str) -> FetchStatus:
    """The server of ASSAY_SERVER, else the records of this machine's settings."""
    if settings.server is not None:
        return _remote_source(settings.server, repository, sha)

    def read_records(_: float) -> dict[str, Any]:
        from worker.evaluation.stats.answers import wait_answer
        from worker.wiring.store import open_store, read_wait_status

        with open_store(settings) as store:
            status = read_wait_status(store, repository, sha)
        return wait_answer(status, repository, sha)

    return read_records


def _remote_source(server: ServerAccess, repository: str, sha: str) -> FetchStatus:
    """A running Assay, over HTTP."""
    if server.token is None:
        raise missing_setting("ASSAY_TOKEN")
    url = f"{server.url.rstrip('/')}/api/verdicts/{urllib.parse.quote(repository)}/{sha}"
    headers = {"Authorization": f"Bearer {server.token.get_secret_value()}", "User-Agent": "assay-wait"}

    def ask(seconds: float) -> dict[str, Any]:
        """Raises Unavailable, and InputError where a retry is useless."""
        request = urllib.request.Request(f"{url}?wait={seconds:.1f}", headers=headers)  # noqa: S310 - http(s): see settings
        try:
            with urllib.request.urlopen(request, timeout=seconds + 15) as answered:  # noqa: S310 - as above
                return json.load(answered)
        except urllib.error.HTTPError as error:
            if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise Unavailable("the server", f"answers {error.code}") from error
            try:
                reason = str(json.load(error)["error"])
            except (OSError, ValueError, KeyError, TypeError):
                reason = error.reason
            raise InputError(f"The server refuses ({error.code}): {reason}") from error
        except (OSError, ValueError) as error:
            raise Unavailable("the server", f"does not answer ({type(error).__name__})") from error

    return ask


def _poll_until(ask: FetchStatus, seconds: float) -> dict[str, Any]:
    """Ask until the status is final or the time is up. Prints the first status that is not.

    Raises Unavailable at the timeout if no request was answered.
    """
    until, is_printed = time.monotonic() + seconds, False
    while True:
        left = max(0.0, until - time.monotonic())
        try:
            answer = ask(min(left, MAX_REQUEST_S) if is_printed else 0.0)
        except Unavailable:
            if left <= POLL_PAUSE_S:
                raise
        else:
            is_known = answer["number"] is not None
            if left <= 0 or (answer["state"] != "pending" and is_known):
                return answer
            if not is_printed:
                print(wait_status_text(answer, terminal_page()), file=sys.stderr, end="", flush=True)
                is_printed = True
                continue
        # local records and a server that is away notify of nothing
        time.sleep(min(POLL_PAUSE_S, max(0.0, until - time.monotonic())))
