"""`assay rubric`: reads a rubric strictly, and holds two of them against what is on record.

Does not judge with a model and records no verdict. Invariant: `check` and `diff` cost $0.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app.cli.exit_codes import CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.adapters.redis.documents import is_version_reused
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.domain.verdict.outcomes import STRENGTHS
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import SubjectKind
from worker.domain.window import WindowError, parse_window
from worker.dossier.parser_sandbox import sandboxed_parsing
from worker.errors import AssayError, InputError, RubricRefused
from worker.evaluation.rubric_diff import ComparedChange, RubricDiff, RubricPair, count_agreement
from worker.evaluation.stats.figures import wilson_interval
from worker.evaluation.stats.ground_truth import is_borne_out
from worker.evaluation.supersession import RejudgeSelection
from worker.evaluation.texts.rejudge import (
    RubricDifferences,
    ShareWithInterval,
    StrengthAgreement,
    differences_text,
    promotion_text,
    rubric_ok_text,
)
from worker.judge.rubric import load_prompt, load_rubric
from worker.settings import load_settings
from worker.signals.registry import REGISTERED_NAMES

SHIPPED_NAME: Final = "default"


def rubric(arguments: argparse.Namespace) -> CommandResult:
    """What was asked for."""
    return SUBCOMMANDS[arguments.answer](arguments)


def check(arguments: argparse.Namespace) -> CommandResult:
    """Read a rubric strictly: what is wrong is named by its path."""
    read = _rubric(arguments.file)
    try:
        with open_store(load_settings()) as store:
            store.rubrics.refusal(load_rubric())  # what ships with Assay says first what its version stands for
            refusal = store.rubrics.check(read, arguments.file)
    except AssayError as error:  # it can be read all the same, and that is what was asked
        return CommandResult(
            Exit.ACCEPT, rubric_ok_text(read, arguments.file, f"Its version was not compared with the store's: {error}")
        )
    return CommandResult(Exit.ACCEPT if refusal is None else Exit.USAGE, rubric_ok_text(read, arguments.file, refusal))


def diff(arguments: argparse.Namespace) -> CommandResult:
    """Which recorded changes two rubrics decide otherwise."""
    rubrics = RubricPair(_rubric(arguments.before), _rubric(arguments.now))
    try:
        span = parse_window(arguments.since, arguments.until, SystemClock().now())
    except WindowError as error:
        raise InputError(str(error)) from error
    names, prompts = _names(rubrics, arguments), _prompts(arguments.prompt)
    with sandboxed_parsing(), open_store(load_settings()) as store:
        _check_versions(rubrics, arguments, store)
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
        agreement=_agreement(rows),
        unread=record.survey.unread_count,
        by_prompts=prompts is not None,
    )
    return CommandResult(
        Exit.ACCEPT, _json(differences) if arguments.json else differences_text(differences, terminal_page())
    )


def promote(arguments: argparse.Namespace) -> CommandResult:
    """Let a signal reject alone again; its rejects are counted from now on."""
    if arguments.signal not in REGISTERED_NAMES:
        raise InputError(f'"{arguments.signal}" is no signal. All of them: docs/signals.md.')
    with open_store(load_settings()) as store:
        was_demoted = store.demotions.promote(InstallationId(arguments.installation), arguments.signal)
    return CommandResult(Exit.ACCEPT, promotion_text(arguments.signal, arguments.installation, was_demoted=was_demoted))


def _rubric(name: str) -> Rubric:
    return load_rubric(None if name == SHIPPED_NAME else Path(name))


def _check_versions(rubrics: RubricPair, arguments: argparse.Namespace, store: Store) -> None:
    """Raises RubricRefused where a version stands for another content: verdicts that name it would be told as this one's."""
    known_rubrics = store.rubrics
    known_rubrics.refusal(load_rubric())  # what ships with Assay says first what its version stands for
    for read, name in zip(rubrics, (arguments.before, arguments.now), strict=True):
        if refusal := known_rubrics.check(read, name):
            raise RubricRefused(refusal)
    if is_version_reused(*rubrics):
        problem = f'both say "{rubrics.now.id}" {rubrics.now.version}, and are not the same: raise the version of one.'
        raise RubricRefused(f"{arguments.before} and {arguments.now} {problem}")


def _names(rubrics: RubricPair, arguments: argparse.Namespace) -> tuple[str, str]:
    """By their ids and versions; where these are the same, by what was typed."""
    before, now = (f"{rubric.id} {rubric.version}" for rubric in rubrics)
    if arguments.prompt:
        return before, f"{now} with {arguments.prompt}"
    return (before, now) if before != now else (arguments.before, arguments.now)


def _prompts(candidate: str | None) -> tuple[str, str] | None:
    """The versions of our prompt and of the candidate. Raises InputError."""
    return (load_prompt().version, load_prompt(Path(candidate)).version) if candidate else None


def _agreement(rows: list[ComparedChange]) -> tuple[StrengthAgreement, ...]:
    agreements = count_agreement(
        rows, {kind.value: strength.value for kind, strength in STRENGTHS.items()}, is_borne_out
    )
    return tuple(
        StrengthAgreement(
            agreement.strength,
            *(ShareWithInterval(*counts, wilson_interval(*counts)) for counts in (agreement.before, agreement.now)),
        )
        for agreement in agreements
    )


def _json(difference: RubricDifferences) -> str:
    fields = {
        "before": difference.before,
        "now": difference.now,
        "compared": difference.compared,
        "by_record": difference.by_record,
        "left_out": difference.left_out,
        "unread": difference.unread,
        "changes": [_row(row) for row in difference.changes],
        "asked_otherwise": [_row(row) for row in difference.asked],
        "moved": difference.moved,
        "agreement": [
            {"strength": each.strength, "before": _part(each.before), "now": _part(each.now)}
            for each in difference.agreement
        ],
    }
    return f"{json.dumps(fields, indent=2)}\n"


def _row(row: ComparedChange) -> dict[str, object]:
    return {**row._asdict(), "before": row.before._asdict(), "now": row.now._asdict()}


def _part(part: ShareWithInterval) -> dict[str, object]:
    return {"hits": part.hits, "of": part.of, "interval": part.interval}


SUBCOMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], CommandResult]]] = {
    "check": check,
    "diff": diff,
    "promote": promote,
}
