"""`assay rubric` and `assay explain`: check a rubric, compare two on recorded changes, promote a demoted signal, explain one.

Costs $0: no model is asked.
"""

import argparse
import json
from pathlib import Path
from typing import Final

from app.cli.parser import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.domain.model import InstallationId
from worker.domain.time_range import WindowError, parse_window
from worker.domain.verdict.events import STRENGTHS
from worker.domain.verdict.verdict import Rubric, SubjectKind
from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import AssayError, InputError, RubricRefused
from worker.evaluation.recorded_verdicts import RejudgeSelection
from worker.evaluation.rubric_diff import (
    ComparedChange,
    RubricDiff,
    RubricDifferences,
    StrengthAgreement,
    count_agreement,
)
from worker.evaluation.stats.ingest import is_borne_out
from worker.evaluation.texts import differences_text, promotion_text, rubric_ok_text
from worker.judge.rubric import load_prompt, load_rubric
from worker.process import SystemClock
from worker.settings import load_settings
from worker.signals.heuristic_opinion import REGISTERED_NAMES
from worker.wiring.store import is_version_reused, open_store

SHIPPED_NAME: Final = "default"
OUTCOME_STRENGTHS: Final = {kind.value: strength.value for kind, strength in STRENGTHS.items()}


def rubric(arguments: argparse.Namespace) -> CommandResult:
    return {"check": check, "diff": diff, "promote": promote}[arguments.answer](arguments)


def check(arguments: argparse.Namespace) -> CommandResult:
    """Read a rubric strictly. Raises InputError with the path of what is wrong."""
    read = _rubric(arguments.file)
    try:
        with open_store(load_settings()) as store:
            store.rubrics.refusal(load_rubric())  # the shipped rubric is the first to claim its version
            problem = store.rubrics.check(read, arguments.file)
            code = Exit.ACCEPT if problem is None else Exit.USAGE
    except AssayError as error:  # the rubric itself is well-formed
        problem, code = f"Its version was not compared with the store's: {error}", Exit.ACCEPT
    return CommandResult(code, rubric_ok_text(read, arguments.file, problem))


def diff(arguments: argparse.Namespace) -> CommandResult:
    """List the recorded changes that two rubrics decide differently."""
    rubrics = _rubric(arguments.before), _rubric(arguments.now)
    try:
        span = parse_window(arguments.since, arguments.until, SystemClock().now())
    except WindowError as error:
        raise InputError(str(error)) from error
    names, prompts = [f"{rubric.id} {rubric.version}" for rubric in rubrics], None
    if arguments.prompt:
        prompts = load_prompt().version, load_prompt(Path(arguments.prompt)).version
        names[1] += f" with {arguments.prompt}"
    elif names[0] == names[1]:
        names = [arguments.before, arguments.now]
    with sandboxed_parsing(), open_store(load_settings()) as store:
        store.rubrics.refusal(load_rubric())  # the shipped rubric is the first to claim its version
        for read, name in zip(rubrics, (arguments.before, arguments.now), strict=True):
            if refusal := store.rubrics.check(
                read, name
            ):  # verdicts of another content would be attributed to this one
                raise RubricRefused(refusal)
        if is_version_reused(*rubrics):
            problem = (
                f'both say "{rubrics[1].id}" {rubrics[1].version}, and are not the same: raise the version of one.'
            )
            raise RubricRefused(f"{arguments.before} and {arguments.now} {problem}")
        record = RubricDiff(store, RejudgeSelection(SubjectKind.SUBMISSION, span, ""), rubrics, prompts)
        rows = list(record.rows())
    differences = RubricDifferences(
        before=names[0],
        now=names[1],
        compared=len(rows),
        by_record=sum(row.model is not None for row in rows),
        left_out=record.left_out,
        changes=tuple(row for row in rows if row.is_different),
        asked=tuple(row for row in rows if row.is_asked_otherwise),
        moved=sum(not row.is_different and row.before.score != row.now.score for row in rows),
        agreement=count_agreement(rows, OUTCOME_STRENGTHS, is_borne_out),
        unread=record.survey.unread_count,
        by_prompts=prompts is not None,
    )
    return CommandResult(
        Exit.ACCEPT, _json(differences) if arguments.json else differences_text(differences, terminal_page())
    )


def promote(arguments: argparse.Namespace) -> CommandResult:
    """Let a demoted signal reject alone again; its overridden rejects count from now on."""
    if arguments.signal not in REGISTERED_NAMES:
        raise InputError(f'"{arguments.signal}" is no signal. All of them: docs/signals.md.')
    with open_store(load_settings()) as store:
        was_demoted = store.demotions.promote(InstallationId(arguments.installation), arguments.signal)
    return CommandResult(Exit.ACCEPT, promotion_text(arguments.signal, arguments.installation, was_demoted=was_demoted))


def _rubric(name: str) -> Rubric:
    return load_rubric(None if name == SHIPPED_NAME else Path(name))


def _json(difference: RubricDifferences) -> str:
    fields = {
        "before": difference.before,
        "now": difference.now,
        "compared": difference.compared,
        "by_record": difference.by_record,
        "left_out": difference.left_out,
        "unread": difference.unread,
        "changes": [_sides(row) for row in difference.changes],
        "asked_otherwise": [_sides(row) for row in difference.asked],
        "moved": difference.moved,
        "agreement": [_sides(agreement) for agreement in difference.agreement],
    }
    return f"{json.dumps(fields, indent=2)}\n"


def _sides(compared: ComparedChange | StrengthAgreement) -> dict[str, object]:
    return {**compared._asdict(), "before": compared.before._asdict(), "now": compared.now._asdict()}


def explain(arguments: argparse.Namespace) -> CommandResult:
    """Explain one signal. Raises InputError for a name that no signal has."""
    from worker.signals.heuristic_opinion import SIGNALS
    from worker.signals.signal import explain_signal

    signal = next((signal for signal in SIGNALS if signal.name == arguments.signal), None)
    if signal is None:
        raise InputError(f'"{arguments.signal}" is no signal. All of them: docs/signals.md.')
    return CommandResult(Exit.ACCEPT, explain_signal(signal, load_rubric().signals, terminal_page().width))
