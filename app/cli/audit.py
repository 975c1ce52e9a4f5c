"""`assay show`, `replay`, `report` and `forget`: what is on record of a verdict, looked at, judged again, given away, deleted.

Does not judge itself and posts nothing. Invariant: nothing on record is ever changed: a judging anew is a new entry, and
what is forgotten goes whole; what is shown or written for others holds no secret that Assay knows.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from app.cli.exit_codes import Answer, Exit
from app.cli.judge import code_of
from app.cli.page import page
from worker.adapters.redis.records import Holdings
from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.check.overrides import said_json
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId
from worker.domain.pattern import pattern
from worker.domain.request.judge_request import PullRef
from worker.domain.value import replace
from worker.domain.verdict.audit import AuditRecord, Replay, Taken, audit_json
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.parser_sandbox import tasting
from worker.errors import InputError
from worker.publishing.texts.audit import (
    Kind,
    Shown,
    Stored,
    beside,
    forgotten,
    replayed,
    reported,
    shown,
    without_dossier,
)
from worker.publishing.texts.terminal import report as judged_report
from worker.settings import from_environment, missing

NAME: Final = pattern(r"[^/\s]{1,200}/[^/\s]{1,200}")


def show(arguments: argparse.Namespace) -> Answer:
    """Tell all that is on record of one verdict."""
    settings = from_environment()
    with open_store(settings) as store:
        found = _shown(store, EvalId(arguments.eval_id))
    if arguments.json:
        return Answer(Exit.ACCEPT, _json(found))
    return Answer(Exit.ACCEPT, shown(found, page()))


def _shown(store: Store, eval_id: EvalId) -> Shown:
    from worker.judge.disclosure import verdict_without_secrets, without_secrets

    entry, audit = _entry(store, eval_id), store.archive.audit(eval_id)
    left = store.archive.left(eval_id)
    until = None if left is None else SystemClock().now() + left
    subject = entry.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    said = store.decisions.of(pull, subject.head_sha)
    return Shown(verdict_without_secrets(entry.verdict), without_secrets(audit) if audit else None, until, said)


def _json(found: Shown) -> str:
    said = {
        "verdict": found.verdict.model_dump(mode="json"),
        "audit": audit_json(found.audit) if found.audit else None,
        "kept_until": found.until.isoformat(timespec="seconds") if found.until else None,
        "said": said_json(found.said),
    }
    return f"{json.dumps(said, indent=2)}\n"


def _entry(store: Store, eval_id: EvalId) -> LedgerEntry:
    entry = store.records().find(eval_id)
    if entry is None:
        raise InputError(
            f'No verdict "{eval_id}" is on record here. Its id stands on the check and in the report of `assay judge`; '
            "REDIS_URL or ASSAY_DATA_DIR say where to look."
        )
    return entry


def replay(arguments: argparse.Namespace) -> Answer:
    """Judge a recorded dossier again: with the recorded replies, or anew."""
    if arguments.ask or arguments.model or arguments.rubric:
        return _anew(arguments)
    from worker.judge.replay import replay as made_again
    from worker.judge.rubric import load_prompt, load_rubric

    with open_store(from_environment()) as store:
        entry, dossier, audit = _whole(store, _judged(store, EvalId(arguments.eval_id)))
    if "opinion_of" in entry.verdict.signals:
        raise InputError(f"{entry.eval_id} is one opinion of several. Replay {entry.verdict.parent_eval_id}.")
    if audit is None:
        raise InputError(f"How {entry.eval_id} came about is not on record. To judge it anew: --ask.")
    made = made_again(entry.verdict, audit, dossier, load_rubric(), load_prompt())
    code = Exit.FAILED if made.differing else Exit.ACCEPT
    return Answer(code, _compared(made) if arguments.json else replayed(made, page()))


def _judged(store: Store, eval_id: EvalId) -> EvalId:
    """The verdict that this one was carried over from, however often; the verdict itself where it was judged."""
    while (origin := _entry(store, eval_id).verdict.carried_from) is not None:
        print(f"assay: {eval_id} was carried over from {origin}, which is replayed.", file=sys.stderr)
        eval_id = origin
    return eval_id


def _compared(made: Replay) -> str:
    said = {
        "eval_id": made.recorded.eval_id,
        "is_same": made.is_same,
        "differing": made.differing,
        "parted": [
            step and {"stage": step.stage, "outcome": step.outcome, "reason": step.reason} for step in made.parted
        ]
        if made.parted
        else None,
        "again": made.again.model_dump(mode="json"),
    }
    return f"{json.dumps(said, indent=2)}\n"


def _anew(arguments: argparse.Namespace) -> Answer:
    """A new entry beside the recorded one: by another rubric or model, or the same ones asked again."""
    settings = from_environment()
    if arguments.model:
        if settings.model is None:
            raise missing("ANTHROPIC_API_KEY")
        settings = replace(settings, model=replace(settings.model, name=arguments.model), models=())
    from worker.wiring.cli import judge_anew

    with tasting(), open_store(settings) as store:
        entry, dossier, _ = _whole(store, EvalId(arguments.eval_id))
        rubric = Path(arguments.rubric) if arguments.rubric else None
        verdict = judge_anew(settings, store, entry, dossier, rubric)
    if arguments.json:
        return Answer(code_of(verdict), f"{verdict.model_dump_json(indent=2)}\n")
    return Answer(code_of(verdict), judged_report(verdict, dossier, page(), (beside(entry.eval_id),)))


def _whole(store: Store, eval_id: EvalId) -> tuple[LedgerEntry, Dossier, AuditRecord | None]:
    """All three, or an InputError: without its dossier nothing can be judged again."""
    entry, dossier = _entry(store, eval_id), store.archive.find(eval_id)
    if dossier is None and (said := without_dossier(entry.verdict)):
        raise InputError(f"{eval_id} can't be judged again or reported: {said}")
    if dossier is None:
        raise InputError(f"The dossier of {eval_id} is not kept (any more). ASSAY_RETENTION_DAYS says how long one is.")
    return entry, dossier, store.archive.audit(eval_id)


def report(arguments: argparse.Namespace) -> Answer:
    """Write a dossier to give away, and say what it holds."""
    from worker.judge.disclosure import shareable

    with open_store(from_environment()) as store:
        _, dossier, _ = _whole(store, EvalId(arguments.eval_id))
    given, redactions = shareable(dossier.model_copy(update={"dossier_version": dossier.dossier_version}))
    written = f"{given.model_dump_json(indent=1, exclude_unset=True)}\n"
    if arguments.out == "-":
        return Answer(Exit.ACCEPT, written)
    name = arguments.out or f"assay-report-{arguments.eval_id}.json"
    try:
        Path(name).write_text(written, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: {name} can't be written: {error.strerror}.") from error
    taken = [Taken(one.kind.value, one.where, one.line) for one in redactions]
    return Answer(Exit.ACCEPT, reported(given, name, taken, page()))


def forget(arguments: argparse.Namespace) -> Answer:
    """Delete all that is stored about a repository; without --yes, say what that is."""
    if not NAME.fullmatch(arguments.repository):
        raise InputError(f'"{arguments.repository}" is no repository. Expected: OWNER/REPO.')
    with open_store(from_environment()) as store:
        records = store.records()
        found = records.of_repository(arguments.repository)
        if found.is_empty or not arguments.yes:
            return Answer(Exit.ACCEPT if found.is_empty else Exit.USAGE, forgotten(_stored(found), page()))
        records.forget(found, SystemClock().now())
        left = records.of_repository(arguments.repository)
    return Answer(Exit.ACCEPT if left.is_empty else Exit.FAILED, forgotten(_stored(left), page(), _stored(found)))


def _stored(found: Holdings) -> Stored:
    counts = {
        Kind.VERDICTS: found.verdicts,
        Kind.PULLS: found.count("pull"),
        Kind.DOSSIERS: found.count("dossier"),
        Kind.AUDITS: found.count("audit"),
        Kind.CHECKS: found.count("check"),
        Kind.COMMANDS: len(found.commands),
        Kind.EVENTS: found.events + sum(len(one.evals) for one in found.owned),
        Kind.OTHER: sum(
            found.count(what)
            for what in ("ledger", "decisions", "answered", "checks", "spent", "kept", "paused", "shelf")
        ),
    }
    return Stored(found.repository, counts, found.forgotten_at)
