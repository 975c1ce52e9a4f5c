"""A pull request's verdicts and outcomes, with secrets redacted from every text."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from worker.domain.check.wait_status import WaitStatus
from worker.domain.ids import Sha
from worker.domain.judge_request import PullRef
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.secrets.redactor import redact_fields
from worker.evaluation.stats.figures import CountedStream
from worker.evaluation.stats.windows import EPOCH

MOST_OUTCOMES: Final = 40
OUTCOMES: Final = """
SELECT at_ms, outcome, eval_id FROM outcomes WHERE repository_id = ? AND number = ? ORDER BY at_ms DESC, seq DESC LIMIT ?
"""


def list_evaluations(entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    """Each verdict as docs/verdict.md has it, oldest first."""
    return [redact_fields(entry.verdict.model_dump(mode="json")) for entry in entries]


def list_outcomes(stream: CountedStream, pull: PullRef) -> list[dict[str, Any]]:
    """The last outcomes of a pull request, oldest first."""
    rows = stream.db.execute(OUTCOMES, (pull.repository_id, pull.number, MOST_OUTCOMES)).fetchall()
    return [
        {"outcome": outcome, "eval_id": eval_id or None, "at": _time(at_ms)}
        for at_ms, outcome, eval_id in reversed(rows)
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
