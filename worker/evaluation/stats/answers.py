"""The answers as they are sent: figures of a window, a pull request's verdicts and outcomes, and the wait for a verdict.

Secrets are redacted from every text.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from worker.domain.check.wait_status import WaitStatus
from worker.domain.ids import Sha
from worker.domain.judge_request import PullRef
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.secrets.redactor import redact_fields
from worker.evaluation.stats.figures import CountedStream, format_time
from worker.evaluation.stats.people import (
    agents_answer,
    agreement_answer,
    backlog_answer,
    count_values,
    overrides_answer,
)
from worker.evaluation.stats.quality import cost_answer, quality_answer
from worker.evaluation.stats.stats_query import StatsQuery, StatsTopic

ANSWERS: Final[Mapping[StatsTopic, Callable[[StatsQuery, Sequence[CountedStream]], dict[str, Any]]]] = {
    StatsTopic.QUALITY: quality_answer,
    StatsTopic.COST: cost_answer,
    StatsTopic.AGREEMENT: agreement_answer,
    StatsTopic.BACKLOG: backlog_answer,
    StatsTopic.AGENTS: agents_answer,
    StatsTopic.OVERRIDES: overrides_answer,
}
MOST_OUTCOMES: Final = 40
OUTCOMES: Final = """
SELECT at_ms, outcome, eval_id FROM outcomes WHERE repository_id = ? AND number = ? ORDER BY at_ms DESC, seq DESC LIMIT ?
"""


def answer_query(topic: StatsTopic, question: StatsQuery, streams: Sequence[CountedStream]) -> dict[str, Any]:
    """The whole answer, as it is sent: over all hours of the window whose entries are kept."""
    until_ms = max((stream.until_ms for stream in streams), default=0)
    return {
        "window": {"from": question.window.since.isoformat(), "to": question.window.until.isoformat()},
        "counted_until": format_time(until_ms) if until_ms else None,
        "is_behind": any(stream.is_behind for stream in streams),
        "skipped": count_values(streams, "skipped", question.window),
        "troubles": count_values(streams, "troubles", question.window),
        **ANSWERS[topic](question, streams),
    }


def list_evaluations(entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    """Each verdict as docs/verdict.md has it, oldest first."""
    return [redact_fields(entry.verdict.model_dump(mode="json")) for entry in entries]


def list_outcomes(stream: CountedStream, pull: PullRef) -> list[dict[str, Any]]:
    """The last outcomes of a pull request, oldest first."""
    rows = stream.db.execute(OUTCOMES, (pull.repository_id, pull.number, MOST_OUTCOMES)).fetchall()
    return [
        {"outcome": outcome, "eval_id": eval_id or None, "at": format_time(at_ms)}
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
