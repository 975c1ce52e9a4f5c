"""`assay judge`: judges a branch, a recorded dossier or a pull request here; posts nothing.

Does not judge itself: it finds what to judge, opens the store, and goes the way of the live App. Invariant:
what a caller got wrong is said before a server is started or a model is asked, and nothing is imported that
this judging does not need.
"""

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import assert_never

from app.cli.exit_codes import Answer, Exit
from app.cli.matter import matter_of
from app.cli.page import page
from worker.adapters.redis.store import open_store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Dossier
from worker.domain.value import replace
from worker.domain.verdict.verdict import Abstain, Accept, Reject, Verdict
from worker.dossier.parser_sandbox import tasting
from worker.errors import InputError
from worker.garbage import look_seldom
from worker.publishing.texts.terminal import report
from worker.settings import Settings, from_environment, missing


def judge(arguments: argparse.Namespace) -> Answer:
    """Judge what the arguments name, and tell it to people or, with --json or --format, to programs."""
    if arguments.output:
        from app.cli.judge_output import judge_outputs

        return judge_outputs(arguments)
    settings = from_environment()
    tier = arguments.tier or settings.tier
    require_key(settings, tier if tier == "llm" else None)
    if arguments.save_dossier:
        _check_place(Path(arguments.save_dossier))
    with tasting(), matter_of(arguments, settings, SystemClock()) as matter, open_store(settings) as store:
        from worker.wiring.cli import judge_locally

        look_seldom()
        is_counted = not arguments.example
        by_tier = replace(settings, tier=tier)
        with _awaited(by_tier):
            judged = judge_locally(by_tier, store, matter.source, matter.request, matter.look_up, is_counted=is_counted)
    if arguments.save_dossier:
        _save(judged.dossier, arguments.save_dossier)
    match "json" if arguments.json else arguments.format:
        case "json":
            text = f"{judged.verdict.model_dump_json(indent=2)}\n"
        case "sarif":
            text = _sarif(judged.verdict, judged.dossier)
        case _:
            text = report(judged.verdict, judged.dossier, page(), matter.notes)
    return Answer(code_of(judged.verdict), text)


def require_key(settings: Settings, tier: str | None) -> None:
    """Raises SettingError where *tier* was asked for, needs a model, and has no key: without one it would be another tier."""
    if tier not in {None, "heuristic"} and settings.model is None:
        raise missing("ANTHROPIC_API_KEY")


def _awaited(settings: Settings) -> AbstractContextManager[None]:
    """Tell that a model is still being waited for; code alone takes no such time."""
    if settings.model is None or settings.tier == "heuristic":
        return nullcontext()
    from app.cli.progress import lines

    name = settings.model.name
    return lines(lambda seconds: f"judging with {name}, {seconds:.0f} s")


def _sarif(verdict: Verdict, dossier: Dossier) -> str:
    from importlib.metadata import version

    from worker.publishing.sarif_rules import sarif_rules
    from worker.publishing.texts.sarif import sarif

    return sarif(verdict, dossier, sarif_rules(), version("assay"))


def code_of(verdict: Verdict) -> Exit:
    match verdict:
        case Accept():
            return Exit.ACCEPT
        case Reject():
            return Exit.REJECT
        case Abstain():
            return Exit.ABSTAIN
        case _:
            assert_never(verdict)


def _check_place(place: Path) -> None:
    """Whether a file can be put there: not to be found out when the judging is paid for."""
    if place.is_dir() or not place.parent.is_dir():
        raise InputError(f"--save-dossier: {place} can't be written: expected a file in a folder that exists.")


def _save(dossier: Dossier, name: str) -> None:
    """Keep the complete dossier, with its version. What is unknown stays out, so that it stays unknown."""
    versioned = dossier.model_copy(update={"dossier_version": dossier.dossier_version})
    try:
        Path(name).write_text(f"{versioned.model_dump_json(indent=1, exclude_unset=True)}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--save-dossier: {name} can't be written: {error.strerror}.") from error
