"""What `assay judge` was asked to judge: a checkout, a recorded dossier, the example, a pull request on GitHub.

Does not judge. Invariant: what a caller got wrong is an InputError that names the option; GitHub's client and
git's are imported for what needs them only.
"""

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from worker.adapters.git.recorded_dossier import RecordedSource, read_recorded
from worker.domain.dossier.dossier import CiCheck
from worker.domain.ids import DeliveryId, RepositoryId
from worker.domain.pattern import pattern
from worker.domain.ports import Clock, LookUp, PullSource
from worker.domain.request.judge_request import LAPTOP, JudgeRequest, PullRef, Trigger
from worker.domain.value import Value
from worker.errors import InputError
from worker.settings import Settings

if TYPE_CHECKING:
    from worker.adapters.git.checkout import CheckoutSource

SHORT: Final = pattern(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>[1-9]\d{0,9})")
PAGE: Final = pattern(r"/(?P<repository>[\w.-]+/[\w.-]+)/pull/(?P<number>[1-9]\d{0,9})(/.*)?")
OF_A_CHECKOUT: Final = ("base", "head", "issue", "case", "body", "junit")
AS_ANYBODY: Final = "Read without a token: at most 6 requests and 20 files' texts. Set GITHUB_TOKEN to read it all."


class Matter(Value):
    """What is to be judged, and what a person should know about it."""

    source: PullSource
    request: JudgeRequest
    notes: Sequence[str] = ()
    look_up: LookUp | None = None
    """None: the head tree is not at hand."""


@contextmanager
def matter_of(arguments: argparse.Namespace, settings: Settings, clock: Clock) -> Generator[Matter]:
    """Find what the arguments name. Raises InputError where it is not there."""
    if arguments.criteria is not None:
        raise InputError("--criteria belongs to --output FILE. A change is judged by its --issue.")
    if arguments.target or arguments.dossier or arguments.example:
        _refuse_options_of_a_checkout(arguments)
    if arguments.target:
        with on_github(arguments.target, settings, clock) as matter:
            yield matter
    elif arguments.dossier:
        source = read_recorded(_bytes(arguments.dossier, "--dossier"), arguments.dossier)
        yield Matter(source, source.request(clock.now()))
    elif arguments.example:
        with _example(clock) as matter:
            yield matter
    else:
        yield _checkout(arguments, clock)


def _refuse_options_of_a_checkout(arguments: argparse.Namespace) -> None:
    for name in OF_A_CHECKOUT:
        if getattr(arguments, name) is not None:
            raise InputError(
                f"--{name} belongs to a checkout, and something else is to be judged. Leave --{name} out, or judge a checkout."
            )


def _checkout(arguments: argparse.Namespace, clock: Clock) -> Matter:
    """The branch that is checked out here, with what the options add to it."""
    if arguments.issue == arguments.case == "-":
        raise InputError("--issue and --case can't both read standard input. Name a file for one of them.")
    source = checkout_source(arguments, read_text(arguments.case, "--case"))
    return Matter(source, source.request(clock.now()), source.notes(), source.look_up)


def checkout_source(arguments: argparse.Namespace, case: str | None) -> "CheckoutSource":
    """The branch that the options name, with *case* in the place of the description's. Raises InputError."""
    from worker.adapters.git.checkout import CheckoutSource, Inputs

    inputs = Inputs(
        issue=read_text(arguments.issue, "--issue"),
        case=case,
        body=_readable(arguments.body, "--body"),
        checks=tuple(_junit(name) for name in arguments.junit or ()),
    )
    return CheckoutSource(_here(), base=arguments.base, head=arguments.head, inputs=inputs)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise InputError("The working directory was deleted. Go to a checkout, or use --dossier FILE.") from error


def _junit(name: str) -> CiCheck:
    from worker.adapters.git.junit import read_junit

    return read_junit(_bytes(name, "--junit"), Path(name).name)


@contextmanager
def _example(clock: Clock) -> Generator[Matter]:
    """A tiny repository, gone when it has been judged."""
    from worker.adapters.git.checkout import CheckoutSource, Inputs
    from worker.adapters.git.example_repository import make_example
    from worker.adapters.git.junit import read_junit

    with tempfile.TemporaryDirectory(prefix="assay-example-") as folder:
        made = make_example(Path(folder))
        inputs = Inputs(
            issue=made.issue.read_text(encoding="utf-8"),
            checks=(read_junit(made.junit.read_bytes(), made.junit.name),),
        )
        source = CheckoutSource(made.checkout, base=made.base, head=made.head, inputs=inputs)
        yield Matter(source, source.request(clock.now()), look_up=source.look_up)


@contextmanager
def on_github(target: str, settings: Settings, clock: Clock) -> Generator[Matter]:
    """A pull request as GITHUB_TOKEN may read it, or as anybody may."""
    repository, number = pull_of(target, settings.github_api_url)
    if settings.github_token is None:
        from worker.adapters.github.token_source import open_public_pull

        public = open_public_pull(settings, clock, repository, number)
        source = RecordedSource(public.dossier)
        yield Matter(source, source.request(clock.now()), (AS_ANYBODY, *public.notes))
        return
    from worker.adapters.github.token_source import open_token_source

    with open_token_source(settings, clock) as source:
        yield Matter(source, _request(repository, number, clock), look_up=source.look_up)


def pull_of(target: str, api_url: str) -> tuple[str, int]:
    """Read OWNER/REPO#N or the URL of a pull request's page. Raises InputError."""
    if short := SHORT.fullmatch(target):
        return short["repository"], int(short["number"])
    parts = urlsplit(target)
    page = PAGE.fullmatch(parts.path)
    if parts.scheme not in {"http", "https"} or not page:
        raise InputError(
            f'"{target}" is no pull request. Expected: OWNER/REPO#12 or https://github.com/OWNER/REPO/pull/12.'
        )
    host = site_of(api_url)
    if parts.hostname not in {host, f"www.{host}"}:
        raise InputError(
            f"{parts.hostname} is not the GitHub that is set up here ({host}). Set ASSAY_GITHUB_API_URL to its API."
        )
    return page["repository"], int(page["number"])


def site_of(api_url: str) -> str:
    """The host of a GitHub's pages."""
    from worker.domain.config.app_manifest import web_url

    return urlsplit(web_url(api_url)).hostname or ""


def _request(repository: str, number: int, clock: Clock) -> JudgeRequest:
    digest, at = hashlib.sha256(repository.encode()).digest(), clock.now()
    return JudgeRequest(
        pull=PullRef(installation_id=LAPTOP, repository_id=RepositoryId(int.from_bytes(digest[:6])), number=number),
        repository=repository,
        head_sha=None,
        trigger=Trigger.LOCAL,
        delivery_id=DeliveryId(f"local-{repository}-{number}-{at.timestamp():.6f}"),
        requested_at=at,
    )


def _readable(text: str | None, option: str) -> str | None:
    try:
        return text if text is None else text.encode().decode()
    except UnicodeEncodeError as error:
        raise InputError(f"{option} is not UTF-8 at character {error.start}. Write it as UTF-8.") from error


def read_text(name: str | None, option: str) -> str | None:
    """The text of a file, or of standard input for `-`; None where no file is named. Raises InputError."""
    if name is None:
        return None
    try:
        return _bytes(name, option).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{option}: {name} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error


def _bytes(name: str, option: str) -> bytes:
    if name == "-" and sys.stdin is None:
        raise InputError(f"{option}: - is standard input, which is closed. Name a file.")
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{option}: {name} can't be read: {error.strerror}.") from error
