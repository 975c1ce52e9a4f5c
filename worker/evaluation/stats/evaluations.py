"""A pull request's verdicts and outcomes, with secrets redacted from every text."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from worker.domain.check.wait_status import WaitStatus
from worker.domain.ids import Sha
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.secrets.redactor import redact_fields
from worker.evaluation.stats.pulls import PullStats
from worker.evaluation.stats.windows import EPOCH


def list_evaluations(entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    """Each verdict as docs/verdict.md has it, oldest first."""
    return [redact_fields(entry.verdict.model_dump(mode="json")) for entry in entries]


def list_outcomes(pulls: Sequence[PullStats]) -> list[dict[str, Any]]:
    """The outcomes, oldest first."""
    done = sorted((outcome for pull in pulls for outcome in pull.outcomes), key=lambda outcome: outcome.at_ms)
    return [
        {"outcome": outcome.outcome, "eval_id": outcome.eval_id or None, "at": _time(outcome.at_ms)} for outcome in done
    ]


def wait_answer(pulls: WaitStatus, repository: str, sha: Sha) -> dict[str, Any]:
    """The answer to a wait for the verdict on one commit; a verdict in it is as docs/verdict.md has it, without secrets."""
    return {
        "repository": repository,
        "sha": sha,
        "state": pulls.state,
        "reason": pulls.reason,
        "why": pulls.explanation,
        "number": pulls.number,
        "superseded_by": pulls.newer_head,
        "other_pull_requests": pulls.others,
        "overridden_by": pulls.overridden_by,
        "verdict": redact_fields(pulls.verdict.model_dump(mode="json")) if pulls.verdict else None,
    }


def _time(at_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")
