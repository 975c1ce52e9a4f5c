"""`assay judge`: judges a branch, a recorded dossier or a pull request here; posts nothing.

Does not judge itself: it finds what to judge, opens the store, and goes the way of the live App. Invariant:
what a caller got wrong is said before a server is started or a model is asked, and nothing is imported that
this judging does not need.
"""

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import assert_never

from app.cli.exit_codes import CommandResult, Exit
from app.cli.judge_inputs import open_judge_inputs
from app.cli.page import terminal_page
from worker.adapters.redis.store import open_store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Dossier
from worker.domain.value import replace
from worker.domain.verdict.verdict import Abstain, Accept, Reject, Verdict
from worker.dossier.parser_sandbox import sandboxed_parsing
from worker.errors import InputError
from worker.garbage_collection import collect_rarely
from worker.publishing.texts.terminal import verdict_report
from worker.settings import Settings, load_settings, missing_setting


def judge(arguments: argparse.Namespace) -> CommandResult:
    """Judge what the arguments name, and tell it to people or, with --json or --format, to programs."""
    if arguments.output:
        from app.cli.judge_output import judge_outputs

        return judge_outputs(arguments)
    settings = load_settings()
    tier = arguments.tier or settings.tier
    require_key(settings, tier if tier == "llm" else None)
    if arguments.save_dossier:
        _check_target(Path(arguments.save_dossier))
    with (
        sandboxed_parsing(),
        open_judge_inputs(arguments, settings, SystemClock()) as matter,
        open_store(settings) as store,
    ):
        from worker.wiring.cli import judge_locally

        collect_rarely()
        is_counted = not arguments.example
        by_tier = replace(settings, tier=tier)
        with _show_waiting(by_tier):
            judged = judge_locally(by_tier, store, matter.source, matter.request, matter.look_up, is_counted=is_counted)
    if arguments.save_dossier:
        _save(judged.dossier, arguments.save_dossier)
    match "json" if arguments.json else arguments.format:
        case "json":
            text = f"{judged.verdict.model_dump_json(indent=2)}\n"
        case "sarif":
            text = _sarif(judged.verdict, judged.dossier)
        case _:
            text = verdict_report(judged.verdict, judged.dossier, terminal_page(), matter.notes)
    return CommandResult(exit_code_of(judged.verdict), text)


def require_key(settings: Settings, tier: str | None) -> None:
    """Raises SettingError where *tier* was asked for, needs a model, and has no key: without one it would be another tier."""
    if tier not in {None, "heuristic"} and settings.model is None:
        raise missing_setting("ANTHROPIC_API_KEY")


def _show_waiting(settings: Settings) -> AbstractContextManager[None]:
    """Tell that a model is still being waited for; code alone takes no such time."""
    if settings.model is None or settings.tier == "heuristic":
        return nullcontext()
    from app.cli.progress import show_elapsed

    name = settings.model.name
    return show_elapsed(lambda seconds: f"judging with {name}, {seconds:.0f} s")


def _sarif(verdict: Verdict, dossier: Dossier) -> str:
    from importlib.metadata import version

    from worker.publishing.code_scanning import sarif_rules
    from worker.publishing.texts.sarif import sarif_text

    return sarif_text(verdict, dossier, sarif_rules(), version("assay"))


def exit_code_of(verdict: Verdict) -> Exit:
    match verdict:
        case Accept():
            return Exit.ACCEPT
        case Reject():
            return Exit.REJECT
        case Abstain():
            return Exit.ABSTAIN
        case _:
            assert_never(verdict)


def _check_target(target: Path) -> None:
    """Whether a file can be put there: not to be found out when the judging is paid for."""
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(f"--save-dossier: {target} can't be written: expected a file in a folder that exists.")


def _save(dossier: Dossier, name: str) -> None:
    """Keep the complete dossier, with its version. What is unknown stays out, so that it stays unknown."""
    versioned = dossier.model_copy(update={"dossier_version": dossier.dossier_version})
    try:
        Path(name).write_text(f"{versioned.model_dump_json(indent=1, exclude_unset=True)}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--save-dossier: {name} can't be written: {error.strerror}.") from error
