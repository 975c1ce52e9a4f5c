"""`assay judge`: judge a checkout, a recorded dossier, the example or a pull request on GitHub; post nothing.

With `--output`, the output of a delegated task, or of a batch, against acceptance criteria: all of a batch is read before the first
is judged, and results without criteria are printed unchanged.

Raises InputError for a wrong call before a server is started or a model asked, and imports only what this judging needs.
"""

import argparse
import gc
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit

from app.cli.parser import VERDICT_EXITS, CommandResult, Exit
from app.cli.terminal import read_bytes, read_text, terminal_page
from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import InputError, Unavailable
from worker.process import collect_rarely
from worker.publishing.texts.terminal import verdict_report
from worker.settings import Settings, load_settings, missing_setting, web_url
from worker.wiring.cli import (
    CheckoutOptions,
    JudgeInputs,
    checkout_inputs,
    open_example,
    open_github_pull,
    recorded_inputs,
)
from worker.wiring.store import open_store

if TYPE_CHECKING:
    from worker.judge.task_judgement import Criteria


def judge(arguments: argparse.Namespace) -> CommandResult:
    """Judge what the arguments name, and print the verdict for people or, with --json or --format, for programs."""
    if arguments.output:
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
        open_judge_inputs(arguments, settings) as inputs,
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
            from importlib.metadata import version

            from worker.publishing.follow_ups import sarif_rules
            from worker.publishing.texts.sarif import sarif_text

            text = sarif_text(judged.verdict, judged.dossier, sarif_rules(), version("assay"))
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
CHANGE_OPTIONS: Final = (*CHECKOUT_OPTIONS, "save_dossier", "tier", "format")
BATCH_SUFFIX: Final = ".jsonl"
RULING_EXITS: Final = {"PASS": Exit.ACCEPT, "FAIL": Exit.REJECT, "UNAVAILABLE": Exit.ABSTAIN}


def open_judge_inputs(arguments: argparse.Namespace, settings: Settings) -> AbstractContextManager[JudgeInputs]:
    """Find what the arguments name. Raises InputError."""
    if arguments.criteria is not None:
        raise InputError("--criteria belongs to --output FILE. A change is judged by its --issue.")
    other = next((name for name in CHECKOUT_OPTIONS if getattr(arguments, name) is not None), None)
    if other and (arguments.target or arguments.dossier or arguments.example):
        raise InputError(
            f"--{other} belongs to a checkout, and something else is to be judged. Leave --{other} out, or judge a checkout."
        )
    if arguments.target:
        return open_github_pull(settings, *parse_pull_request(arguments.target, settings.github_api_url))
    if arguments.dossier:
        return nullcontext(recorded_inputs(read_bytes(arguments.dossier, "--dossier"), arguments.dossier))
    if arguments.example:
        return open_example()
    if arguments.issue == arguments.case == "-":
        raise InputError("--issue and --case can't both read standard input. Name a file for one of them.")
    return nullcontext(checkout_inputs(*read_checkout_options(arguments, read_text(arguments.case, "--case"))))


def read_checkout_options(arguments: argparse.Namespace, case: str | None) -> tuple[Path, CheckoutOptions]:
    """The working directory, and what the options name, with *case* instead of the description's. Raises InputError."""
    try:
        body = arguments.body if arguments.body is None else arguments.body.encode().decode()
    except UnicodeEncodeError as error:
        raise InputError(f"--body is not UTF-8 at character {error.start}. Write it as UTF-8.") from error
    options = CheckoutOptions(
        base=arguments.base,
        head=arguments.head,
        issue=read_text(arguments.issue, "--issue"),
        case=case,
        body=body,
        junit=[(read_bytes(name, "--junit"), Path(name).name) for name in arguments.junit or ()],
    )
    try:
        return Path.cwd(), options
    except FileNotFoundError as error:
        raise InputError("The working directory was deleted. Go to a checkout, or use --dossier FILE.") from error


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
    return urlsplit(web_url(api_url)).hostname or ""


class DelegatedTask(NamedTuple):
    """One line of a batch: the result as received, its text, and its criteria."""

    result: Mapping[str, object]
    output: str
    criteria: "Criteria"


def judge_outputs(arguments: argparse.Namespace) -> CommandResult:
    """Judge one output, or a batch: JSON lines with criteria of their own."""
    gc.enable()
    if other := next((name for name in CHANGE_OPTIONS if getattr(arguments, name) is not None), None):
        raise InputError(f"--{other.replace('_', '-')} does not go with --output, which judges a text. Leave it out.")
    if arguments.output == arguments.criteria == "-":
        raise InputError("--output and --criteria can't both read standard input. Name a file for one of them.")
    criteria = read_text(arguments.criteria, "--criteria") if arguments.criteria else None
    output = read_text(arguments.output, "--output") or ""
    if arguments.output.endswith(BATCH_SUFFIX):
        lines = enumerate(output.split("\n"), start=1)
        return _batch([_task(line, f"{arguments.output}:{at}", criteria) for at, line in lines if line.strip()])
    from worker.publishing.texts.audit import judgement_report
    from worker.wiring.delegate import judge_output

    judgement = judge_output(output, criteria)
    text = f"{judgement.model_dump_json(indent=2)}\n" if arguments.json else judgement_report(judgement)
    return CommandResult(RULING_EXITS[judgement.verdict], text)


def _batch(tasks: Sequence[DelegatedTask]) -> CommandResult:
    """The same lines with `judge` added. Exit code: that of a FAIL, else that of an unavailable judgement, else 0."""
    from worker.wiring.delegate import add_judgement, judge_output, open_judge

    if not any(task.criteria for task in tasks):
        return CommandResult(Exit.ACCEPT, _lines([task.result for task in tasks]))
    try:
        with open_judge(load_settings()) as judge:
            done = [add_judgement(*task, judge) for task in tasks]
    except Unavailable:
        done = [add_judgement(*task, judge_output) for task in tasks]
    rulings = {cast("dict[str, str]", result["judge"])["verdict"] for result in done if "judge" in result}
    worst = next((ruling for ruling in ("FAIL", "UNAVAILABLE") if ruling in rulings), "PASS")
    return CommandResult(RULING_EXITS[worst], _lines(done))


def _lines(results: Sequence[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(result, ensure_ascii=False)}\n" for result in results)


def _task(line: str, location: str, criteria: "Criteria") -> DelegatedTask:
    """One task's result; *criteria* apply if it has none. Raises InputError."""
    from worker.judge.task_judgement import criteria_from

    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{location}: not JSON: {error}. Expected one JSON object a line: docs/delegate.md."
        ) from error
    if not isinstance(read, dict):
        raise InputError(f"{location}: expected a JSON object: docs/delegate.md.")
    result = cast("dict[str, object]", read)
    output = result.get("output", result.get("summary"))
    if not isinstance(output, str):
        raise InputError(f'{location}: "output" (or "summary"): expected a text: docs/delegate.md.')
    own = result.get("acceptance_criteria")
    criteria = criteria if own is None else _task_criteria(own, location)
    try:
        criteria_from(criteria)
    except ValueError as error:
        raise InputError(f"{location}: acceptance_criteria: {error}.") from error
    return DelegatedTask(result, output, criteria)


def _task_criteria(value: object, location: str) -> "Criteria":
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value)):
        return cast("list[str]", value)
    raise InputError(f"{location}: acceptance_criteria: expected a text or a list of texts: docs/delegate.md.")
