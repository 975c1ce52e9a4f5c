"""`assay judge`: judge a checkout, a recorded dossier, the example or a pull request on GitHub; post nothing.

Raises InputError for a wrong call before a server is started or a model asked, and imports only what this judging needs.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from app.cli.exit_codes import VERDICT_EXITS, CommandResult
from app.cli.terminal import read_bytes, read_text, terminal_page
from worker.adapters.git.recorded_dossier import RecordedSource, read_recorded
from worker.adapters.redis.store import open_store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import CiCheck, Dossier
from worker.domain.ids import DeliveryId, RepositoryId
from worker.domain.pattern import pattern
from worker.domain.ports import Clock, PullSource, TreeLookup
from worker.domain.request.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.domain.verdict.verdict import Verdict
from worker.dossier.parser_sandbox import sandboxed_parsing
from worker.errors import InputError
from worker.process_limits import collect_rarely
from worker.publishing.texts.terminal import verdict_report
from worker.settings import Settings, load_settings, missing_setting

if TYPE_CHECKING:
    from worker.adapters.git.checkout import CheckoutSource


def judge(arguments: argparse.Namespace) -> CommandResult:
    """Judge what the arguments name, and print the verdict for people or, with --json or --format, for programs."""
    if arguments.output:
        from app.cli.judge_output import judge_outputs

        return judge_outputs(arguments)
    settings = load_settings()
    tier = arguments.tier or settings.tier
    require_key(settings, tier if tier == "llm" else None)
    if arguments.save_dossier:
        target = Path(arguments.save_dossier)
        if target.is_dir() or not target.parent.is_dir():
            raise InputError(f"--save-dossier: {target} can't be written: expected a file in a folder that exists.")
    with (
        sandboxed_parsing(),
        open_judge_inputs(arguments, settings, SystemClock()) as inputs,
        open_store(settings) as store,
    ):
        from worker.wiring.cli import judge_locally

        collect_rarely()
        is_counted = not arguments.example
        by_tier = replace(settings, tier=tier)
        with _show_waiting(by_tier):
            judged = judge_locally(by_tier, store, inputs.source, inputs.request, inputs.look_up, is_counted=is_counted)
    if arguments.save_dossier:
        _save(judged.dossier, arguments.save_dossier)
    match "json" if arguments.json else arguments.format:
        case "json":
            text = f"{judged.verdict.model_dump_json(indent=2)}\n"
        case "sarif":
            text = _sarif(judged.verdict, judged.dossier)
        case _:
            text = verdict_report(judged.verdict, judged.dossier, terminal_page(), inputs.notes)
    return CommandResult(VERDICT_EXITS[judged.verdict.decision], text)


def require_key(settings: Settings, tier: str | None) -> None:
    """Raises SettingError where *tier* needs a model and no key is set."""
    if tier not in {None, "heuristic"} and settings.model is None:
        raise missing_setting("ANTHROPIC_API_KEY")


def _show_waiting(settings: Settings) -> AbstractContextManager[None]:
    """Show how long a model has been working; code alone needs no progress."""
    if settings.model is None or settings.tier == "heuristic":
        return nullcontext()
    from app.cli.terminal import show_elapsed

    name = settings.model.name
    return show_elapsed(lambda seconds: f"judging with {name}, {seconds:.0f} s")


def _sarif(verdict: Verdict, dossier: Dossier) -> str:
    from importlib.metadata import version

    from worker.publishing.code_scanning import sarif_rules
    from worker.publishing.texts.sarif import sarif_text

    return sarif_text(verdict, dossier, sarif_rules(), version("assay"))


def _save(dossier: Dossier, name: str) -> None:
    """Write the complete dossier with its version. Unset fields are left out, so that they stay unknown."""
    versioned = dossier.model_copy(update={"dossier_version": dossier.dossier_version})
    try:
        Path(name).write_text(f"{versioned.model_dump_json(indent=1, exclude_unset=True)}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--save-dossier: {name} can't be written: {error.strerror}.") from error


SHORT_NAME: Final = pattern(r"(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>[1-9]\d{0,9})")
PULL_REQUEST_PAGE: Final = pattern(r"/(?P<repository>[\w.-]+/[\w.-]+)/pull/(?P<number>[1-9]\d{0,9})(/.*)?")
CHECKOUT_OPTIONS: Final = ("base", "head", "issue", "case", "body", "junit")
ANONYMOUS_NOTE: Final = "Read without a token: at most 6 requests and 20 files' texts. Set GITHUB_TOKEN to read it all."


@dataclass(frozen=True)
class JudgeInputs:
    """What is to be judged, with notes for people."""

    source: PullSource
    request: JudgeRequest
    notes: Sequence[str] = ()
    look_up: TreeLookup | None = None
    """None: the head tree can't be read."""


@contextmanager
def open_judge_inputs(arguments: argparse.Namespace, settings: Settings, clock: Clock) -> Generator[JudgeInputs]:
    """Find what the arguments name. Raises InputError."""
    if arguments.criteria is not None:
        raise InputError("--criteria belongs to --output FILE. A change is judged by its --issue.")
    other = next((name for name in CHECKOUT_OPTIONS if getattr(arguments, name) is not None), None)
    if other and (arguments.target or arguments.dossier or arguments.example):
        raise InputError(
            f"--{other} belongs to a checkout, and something else is to be judged. Leave --{other} out, or judge a checkout."
        )
    if arguments.target:
        with open_github_pull(arguments.target, settings, clock) as inputs:
            yield inputs
    elif arguments.dossier:
        recorded = read_recorded(read_bytes(arguments.dossier, "--dossier"), arguments.dossier)
        yield JudgeInputs(recorded, recorded.request(clock.now()))
    elif arguments.example:
        with _open_example(clock) as inputs:
            yield inputs
    else:
        if arguments.issue == arguments.case == "-":
            raise InputError("--issue and --case can't both read standard input. Name a file for one of them.")
        source = checkout_source(arguments, read_text(arguments.case, "--case"))
        yield JudgeInputs(source, source.request(clock.now()), source.notes(), source.look_up)


def checkout_source(arguments: argparse.Namespace, case: str | None) -> "CheckoutSource":
    """The branch that the options name, with *case* instead of the description's. Raises InputError."""
    from worker.adapters.git.checkout import CheckoutInputs, CheckoutSource

    try:
        body = arguments.body if arguments.body is None else arguments.body.encode().decode()
    except UnicodeEncodeError as error:
        raise InputError(f"--body is not UTF-8 at character {error.start}. Write it as UTF-8.") from error
    inputs = CheckoutInputs(
        issue=read_text(arguments.issue, "--issue"),
        case=case,
        body=body,
        checks=tuple(_junit(name) for name in arguments.junit or ()),
    )
    try:
        folder = Path.cwd()
    except FileNotFoundError as error:
        raise InputError("The working directory was deleted. Go to a checkout, or use --dossier FILE.") from error
    return CheckoutSource(folder, base=arguments.base, head=arguments.head, inputs=inputs)


def _junit(name: str) -> CiCheck:
    from worker.adapters.git.junit import read_junit

    return read_junit(read_bytes(name, "--junit"), Path(name).name)


@contextmanager
def _open_example(clock: Clock) -> Generator[JudgeInputs]:
    """A tiny repository, deleted after the judging."""
    from worker.adapters.git.checkout import CheckoutInputs, CheckoutSource
    from worker.adapters.git.example_repository import make_example
    from worker.adapters.git.junit import read_junit

    with tempfile.TemporaryDirectory(prefix="assay-example-") as folder:
        made = make_example(Path(folder))
        inputs = CheckoutInputs(
            issue=made.issue.read_text(encoding="utf-8"), checks=(read_junit(made.junit.read_bytes(), made.junit.name),)
        )
        source = CheckoutSource(made.checkout, base=made.base, head=made.head, inputs=inputs)
        yield JudgeInputs(source, source.request(clock.now()), look_up=source.look_up)


@contextmanager
def open_github_pull(target: str, settings: Settings, clock: Clock) -> Generator[JudgeInputs]:
    """A pull request as GITHUB_TOKEN may read it; without a token, a public one."""
    repository, number = parse_pull_request(target, settings.github_api_url)
    if settings.github_token is None:
        from worker.adapters.github.public_api import open_public_pull

        public = open_public_pull(settings, clock, repository, number)
        source = RecordedSource(public.dossier)
        yield JudgeInputs(source, source.request(clock.now()), (ANONYMOUS_NOTE, *public.notes))
        return
    from worker.adapters.github.public_api import open_token_source

    with open_token_source(settings, clock) as source:
        yield JudgeInputs(source, _request(repository, number, clock), look_up=source.look_up)


def parse_pull_request(target: str, api_url: str) -> tuple[str, int]:
    """Read OWNER/REPO#N or the URL of a pull request's page. Raises InputError."""
    if short := SHORT_NAME.fullmatch(target):
        return short["repository"], int(short["number"])
    parts = urlsplit(target)
    page = PULL_REQUEST_PAGE.fullmatch(parts.path)
    if parts.scheme not in {"http", "https"} or not page:
        raise InputError(
            f'"{target}" is no pull request. Expected: OWNER/REPO#12 or https://github.com/OWNER/REPO/pull/12.'
        )
    host = web_host(api_url)
    if parts.hostname not in {host, f"www.{host}"}:
        raise InputError(
            f"{parts.hostname} is not the GitHub that is set up here ({host}). Set ASSAY_GITHUB_API_URL to its API."
        )
    return page["repository"], int(page["number"])


def web_host(api_url: str) -> str:
    """The host of a GitHub's pages."""
    from worker.domain.config.app_manifest import web_url

    return urlsplit(web_url(api_url)).hostname or ""


def _request(repository: str, number: int, clock: Clock) -> JudgeRequest:
    digest, at = hashlib.sha256(repository.encode()).digest(), clock.now()
    return JudgeRequest(
        pull=PullRef(
            installation_id=LOCAL_INSTALLATION, repository_id=RepositoryId(int.from_bytes(digest[:6])), number=number
        ),
        repository=repository,
        head_sha=None,
        trigger=Trigger.LOCAL,
        delivery_id=DeliveryId(f"local-{repository}-{number}-{at.timestamp():.6f}"),
        requested_at=at,
    )
