"""`assay show`, `replay`, `report`, `forget` and `token`: what is on record, and who may read it.

Show a recorded verdict, judge it again, share its dossier, delete a repository; create and revoke read-only tokens of the API, each
for the installations named at its creation. A rejudging is a new entry; recorded ones never change.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.cli.parser import VERDICT_EXITS, CommandResult, Exit
from app.cli.terminal import terminal_page
from worker.domain.check.overrides import dump_decisions
from worker.domain.dossier import Dossier
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, InstallationId
from worker.domain.pattern import pattern
from worker.domain.verdict.audit import AuditRecord, RecordedRedaction, dump_audit
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.tree_sitter import sandboxed_parsing
from worker.errors import InputError
from worker.process import SystemClock
from worker.publishing.texts.audit import (
    StoredCounts,
    StoredKind,
    VerdictRecord,
    created_message,
    deletion_report,
    dossier_report,
    missing_dossier_reason,
    name_taken_message,
    rejudged_note,
    replay_report,
    revoked_message,
    token_list,
    unknown_name_message,
    verdict_record,
)
from worker.publishing.texts.terminal import verdict_report as judged_report
from worker.settings import load_settings, missing_setting
from worker.wiring.store import Store, open_store

if TYPE_CHECKING:
    from worker.wiring.store import RepositoryHoldings

NAME: Final = pattern(r"[^/\s]{1,200}/[^/\s]{1,200}")
OTHER_KINDS: Final = ("ledger", "decisions", "answered", "checks", "spent", "kept", "paused", "shelf")


def show(arguments: argparse.Namespace) -> CommandResult:
    """Show all that is on record of one verdict."""
    from worker.judge.replay import verdict_without_secrets, without_secrets

    eval_id = EvalId(arguments.eval_id)
    with open_store(load_settings()) as store:
        verdict, audit = _entry(store, eval_id).verdict, store.archive.audit(eval_id)
        left = store.archive.time_left(eval_id)
        of = verdict.subject
        pull = PullRef(installation_id=of.installation_id, repository_id=of.repository_id, number=of.number)
        decisions = store.decisions.find_decisions(pull, of.head_sha)
    until = None if left is None else SystemClock().now() + left
    verdict, audit = verdict_without_secrets(verdict), without_secrets(audit) if audit else None
    if not arguments.json:
        record = VerdictRecord(verdict, audit, until, decisions)
        return CommandResult(Exit.ACCEPT, verdict_record(record, terminal_page()))
    fields = {
        "verdict": verdict.model_dump(mode="json"),
        "audit": dump_audit(audit) if audit else None,
        "kept_until": until.isoformat(timespec="seconds") if until else None,
        "said": dump_decisions(decisions),
    }
    return CommandResult(Exit.ACCEPT, f"{json.dumps(fields, indent=2)}\n")


def _entry(store: Store, eval_id: EvalId) -> LedgerEntry:
    entry = store.records().find_entry(eval_id)
    if entry is None:
        raise InputError(
            f'No verdict "{eval_id}" is on record here. Its id stands on the check and in the report of `assay judge`; '
            "REDIS_URL or ASSAY_DATA_DIR say where to look."
        )
    return entry


def replay(arguments: argparse.Namespace) -> CommandResult:
    """Judge a recorded dossier again: with the recorded replies, or by asking the model."""
    if arguments.ask or arguments.model or arguments.rubric:
        return _rejudge(arguments)
    from worker.judge.replay import replay as replay_recorded
    from worker.judge.rubric import load_prompt, load_rubric

    eval_id = EvalId(arguments.eval_id)
    with open_store(load_settings()) as store:
        while (origin := _entry(store, eval_id).verdict.carried_from) is not None:
            print(f"assay: {eval_id} was carried over from {origin}, which is replayed.", file=sys.stderr)
            eval_id = origin
        entry, dossier, audit = _load_judged(store, eval_id)
    if "opinion_of" in entry.verdict.signals:
        raise InputError(f"{entry.eval_id} is one opinion of several. Replay {entry.verdict.parent_eval_id}.")
    if audit is None:
        raise InputError(f"How {entry.eval_id} came about is not on record. To judge it again: --ask.")
    result = replay_recorded(entry.verdict, audit, dossier, load_rubric(), load_prompt())
    code = Exit.FAILED if result.differing else Exit.ACCEPT
    if not arguments.json:
        return CommandResult(code, replay_report(result, terminal_page()))
    parted = result.first_difference and [
        step and {"stage": step.stage, "outcome": step.outcome, "reason": step.reason}
        for step in result.first_difference
    ]
    fields = {
        "eval_id": result.recorded.eval_id,
        "is_same": result.is_same,
        "differing": result.differing,
        "parted": parted,
        "again": result.replayed.model_dump(mode="json"),
    }
    return CommandResult(code, f"{json.dumps(fields, indent=2)}\n")


def _rejudge(arguments: argparse.Namespace) -> CommandResult:
    """Judge it again as a new entry, by another rubric or model where one is named."""
    settings = load_settings()
    if arguments.model:
        if settings.model is None:
            raise missing_setting("ANTHROPIC_API_KEY")
        settings = replace(settings, model=replace(settings.model, name=arguments.model), models=())
    from worker.wiring.cli import rejudge_recorded

    with sandboxed_parsing(), open_store(settings) as store:
        entry, dossier, _ = _load_judged(store, EvalId(arguments.eval_id))
        rubric = Path(arguments.rubric) if arguments.rubric else None
        verdict = rejudge_recorded(settings, store, entry, dossier, rubric)
    text = f"{verdict.model_dump_json(indent=2)}\n"
    if not arguments.json:
        text = judged_report(verdict, dossier, terminal_page(), (rejudged_note(entry.eval_id),))
    return CommandResult(VERDICT_EXITS[verdict.decision], text)


def _load_judged(store: Store, eval_id: EvalId) -> tuple[LedgerEntry, Dossier, AuditRecord | None]:
    """The entry, its dossier and its audit. Raises InputError where the dossier is not kept."""
    entry, dossier = _entry(store, eval_id), store.archive.find(eval_id)
    if dossier is None and (reason := missing_dossier_reason(entry.verdict)):
        raise InputError(f"{eval_id} can't be judged again or reported: {reason}")
    if dossier is None:
        raise InputError(
            f"The dossier of {eval_id} is no longer kept, or never was. ASSAY_RETENTION_DAYS says how long one is."
        )
    return entry, dossier, store.archive.audit(eval_id)


def report(arguments: argparse.Namespace) -> CommandResult:
    """Write a dossier without secrets to share, and report what it holds."""
    from worker.judge.replay import make_shareable

    with open_store(load_settings()) as store:
        _, dossier, _ = _load_judged(store, EvalId(arguments.eval_id))
    shareable, redactions = make_shareable(dossier.model_copy(update={"dossier_version": dossier.dossier_version}))
    written = f"{shareable.model_dump_json(indent=1, exclude_unset=True)}\n"
    if arguments.out == "-":
        return CommandResult(Exit.ACCEPT, written)
    name = arguments.out or f"assay-report-{arguments.eval_id}.json"
    try:
        Path(name).write_text(written, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: {name} can't be written: {error.strerror}.") from error
    removed = [RecordedRedaction(redaction.kind.value, redaction.where, redaction.line) for redaction in redactions]
    return CommandResult(Exit.ACCEPT, dossier_report(shareable, name, removed, terminal_page()))


def forget(arguments: argparse.Namespace) -> CommandResult:
    """Delete all that is stored about a repository; without --yes, report what that is."""
    if not NAME.fullmatch(arguments.repository):
        raise InputError(f'"{arguments.repository}" is no repository. Expected: OWNER/REPO.')
    with open_store(load_settings()) as store:
        records = store.records()
        holdings = records.find_holdings(arguments.repository)
        stored = _count_stored(holdings)
        if holdings.is_empty or not arguments.yes:
            code = Exit.ACCEPT if holdings.is_empty else Exit.USAGE
            return CommandResult(code, deletion_report(stored, terminal_page()))
        records.forget(holdings, SystemClock().now())
        left = records.find_holdings(arguments.repository)
    code = Exit.ACCEPT if left.is_empty else Exit.FAILED
    return CommandResult(code, deletion_report(_count_stored(left), terminal_page(), stored))


def _count_stored(holdings: "RepositoryHoldings") -> StoredCounts:
    counts = {
        StoredKind.VERDICTS: holdings.verdicts,
        StoredKind.PULLS: holdings.count("pull"),
        StoredKind.DOSSIERS: holdings.count("dossier"),
        StoredKind.AUDITS: holdings.count("audit"),
        StoredKind.CHECKS: holdings.count("check"),
        StoredKind.COMMANDS: len(holdings.commands),
        StoredKind.EVENTS: holdings.events + sum(len(owner.evals) for owner in holdings.owned),
        StoredKind.OTHER: sum(map(holdings.count, OTHER_KINDS)),
    }
    return StoredCounts(holdings.repository, counts, holdings.forgotten_at)


def token(arguments: argparse.Namespace) -> CommandResult:
    """Create a token and print it, which is not possible later; list the tokens, or revoke one."""
    with open_store(load_settings()) as store:
        tokens, name = store.tokens(), getattr(arguments, "name", "")
        if arguments.answer == "list":
            return CommandResult(Exit.ACCEPT, token_list(tokens.grants()))
        if arguments.answer == "revoke":
            if tokens.revoke(name):
                return CommandResult(Exit.ACCEPT, revoked_message(name))
            return CommandResult(Exit.USAGE, unknown_name_message(name))
        numbers = frozenset(map(InstallationId, arguments.installation))
        made = tokens.create(name, numbers, SystemClock().now())
    if made is None:
        return CommandResult(Exit.USAGE, name_taken_message(name))
    return CommandResult(Exit.ACCEPT, created_message(name, made, numbers))
