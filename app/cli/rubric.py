"""`assay rubric`: reads a rubric strictly, and holds two of them against what is on record.

Does not judge with a model and records no verdict. Invariant: `check` and `diff` cost $0.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app.cli.exit_codes import Answer, Exit
from app.cli.page import page
from worker.adapters.redis.rubrics import differ_unsaid
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.domain.verdict.outcomes import STRENGTHS
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import SubjectKind
from worker.domain.window import WindowError, window
from worker.dossier.parser_sandbox import tasting
from worker.errors import AssayError, InputError, RubricRefused
from worker.evaluation.differing import Compared, heard
from worker.evaluation.rubric_diff import OnRecord, Rubrics
from worker.evaluation.stats.figures import wilson
from worker.evaluation.stats.truth import bore_out
from worker.evaluation.supersession import Wanted
from worker.evaluation.texts.rubric import Agreement, Differing, Part, checked, differing, promoted
from worker.judge.rubric import load_prompt, load_rubric
from worker.settings import from_environment
from worker.signals.registry import NAMES

SHIPPED: Final = "default"


def rubric(arguments: argparse.Namespace) -> Answer:
    """What was asked for."""
    return ANSWERS[arguments.answer](arguments)


def check(arguments: argparse.Namespace) -> Answer:
    """Read a rubric strictly: what is wrong is named by its path."""
    read = _rubric(arguments.file)
    try:
        with open_store(from_environment()) as store:
            store.rubrics.refusal(load_rubric())  # what ships with Assay says first what its version stands for
            refusal = store.rubrics.look(read, arguments.file)
    except AssayError as error:  # it can be read all the same, and that is what was asked
        return Answer(
            Exit.ACCEPT, checked(read, arguments.file, f"Its version was not compared with the store's: {error}")
        )
    return Answer(Exit.ACCEPT if refusal is None else Exit.USAGE, checked(read, arguments.file, refusal))


def diff(arguments: argparse.Namespace) -> Answer:
    """Which recorded changes two rubrics decide otherwise."""
    rubrics = Rubrics(_rubric(arguments.before), _rubric(arguments.now))
    try:
        span = window(arguments.since, arguments.until, SystemClock().now())
    except WindowError as error:
        raise InputError(str(error)) from error
    names, prompts = _names(rubrics, arguments), _prompts(arguments.prompt)
    with tasting(), open_store(from_environment()) as store:
        _must_be_what_they_say(rubrics, arguments, store)
        record = OnRecord(store, Wanted(SubjectKind.SUBMISSION, span, ""), rubrics, prompts)
        rows = list(record.rows())
    one = Differing(
        before=names[0],
        now=names[1],
        compared=len(rows),
        by_record=sum(row.model is not None for row in rows),
        left_out=record.left_out,
        changes=tuple(row for row in rows if row.differs),
        asked=tuple(row for row in rows if row.is_asked_otherwise),
        moved=sum(not row.differs and row.before.score != row.now.score for row in rows),
        agreement=_agreement(rows),
        unread=record.survey.unread,
        by_prompts=prompts is not None,
    )
    return Answer(Exit.ACCEPT, _json(one) if arguments.json else differing(one, page()))


def promote(arguments: argparse.Namespace) -> Answer:
    """Let a signal reject alone again; its rejects are counted from now on."""
    if arguments.signal not in NAMES:
        raise InputError(f'"{arguments.signal}" is no signal. All of them: docs/signals.md.')
    with open_store(from_environment()) as store:
        was_demoted = store.demotions.promote(InstallationId(arguments.installation), arguments.signal)
    return Answer(Exit.ACCEPT, promoted(arguments.signal, arguments.installation, was_demoted=was_demoted))


def _rubric(name: str) -> Rubric:
    return load_rubric(None if name == SHIPPED else Path(name))


def _must_be_what_they_say(rubrics: Rubrics, arguments: argparse.Namespace, store: Store) -> None:
    """Raises RubricRefused where a version stands for another content: verdicts that name it would be told as this one's."""
    known = store.rubrics
    known.refusal(load_rubric())  # what ships with Assay says first what its version stands for
    for read, name in zip(rubrics, (arguments.before, arguments.now), strict=True):
        if refusal := known.look(read, name):
            raise RubricRefused(refusal)
    if differ_unsaid(*rubrics):
        said = f'both say "{rubrics.now.id}" {rubrics.now.version}, and are not the same: raise the version of one.'
        raise RubricRefused(f"{arguments.before} and {arguments.now} {said}")


def _names(rubrics: Rubrics, arguments: argparse.Namespace) -> tuple[str, str]:
    """By their ids and versions; where these are the same, by what was typed."""
    before, now = (f"{one.id} {one.version}" for one in rubrics)
    if arguments.prompt:
        return before, f"{now} with {arguments.prompt}"
    return (before, now) if before != now else (arguments.before, arguments.now)


def _prompts(candidate: str | None) -> tuple[str, str] | None:
    """The versions of our prompt and of the candidate. Raises InputError."""
    return (load_prompt().version, load_prompt(Path(candidate)).version) if candidate else None


def _agreement(rows: list[Compared]) -> tuple[Agreement, ...]:
    found = heard(rows, {kind.value: strength.value for kind, strength in STRENGTHS.items()}, bore_out)
    return tuple(
        Agreement(one.strength, *(Part(*counts, wilson(*counts)) for counts in (one.before, one.now))) for one in found
    )


def _json(one: Differing) -> str:
    said = {
        "before": one.before,
        "now": one.now,
        "compared": one.compared,
        "by_record": one.by_record,
        "left_out": one.left_out,
        "unread": one.unread,
        "changes": [_row(row) for row in one.changes],
        "asked_otherwise": [_row(row) for row in one.asked],
        "moved": one.moved,
        "agreement": [
            {"strength": each.strength, "before": _part(each.before), "now": _part(each.now)} for each in one.agreement
        ],
    }
    return f"{json.dumps(said, indent=2)}\n"


def _row(row: Compared) -> dict[str, object]:
    return {**row._asdict(), "before": row.before._asdict(), "now": row.now._asdict()}


def _part(part: Part) -> dict[str, object]:
    return {"hits": part.hits, "of": part.of, "interval": part.interval}


ANSWERS: Final[Mapping[str, Callable[[argparse.Namespace], Answer]]] = {
    "check": check,
    "diff": diff,
    "promote": promote,
}
