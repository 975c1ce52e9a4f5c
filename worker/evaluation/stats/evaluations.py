"""A pull request's verdicts, to show to whoever may see them.

Does not decide who may. Invariant: what looks like a secret is taken out of every text; ids, hashes and figures stay as they are.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from worker.domain.check.wait_status import Awaited
from worker.domain.ids import Sha
from worker.domain.verdict.ledger import LedgerEntry
from worker.dossier.secrets.fields import without_secrets
from worker.evaluation.stats.pulls import Pull
from worker.evaluation.stats.windows import EPOCH


def evaluations(entries: Sequence[LedgerEntry]) -> list[dict[str, Any]]:
    """Each verdict as docs/verdict.md has it, oldest first."""
    return [without_secrets(one.verdict.model_dump(mode="json")) for one in entries]


def outcomes(pulls: Sequence[Pull]) -> list[dict[str, Any]]:
    """What was done about them, oldest first."""
    done = sorted((one for pull in pulls for one in pull.done), key=lambda one: one.at_ms)
    return [{"outcome": one.outcome, "eval_id": one.eval_id or None, "at": _time(one.at_ms)} for one in done]


def shown(found: Awaited, repository: str, sha: Sha) -> dict[str, Any]:
    """What who waits for the verdict on one commit is told; a verdict in it is as docs/verdict.md has it, without secrets."""
    return {
        "repository": repository,
        "sha": sha,
        "state": found.state,
        "reason": found.reason,
        "why": found.why,
        "number": found.number,
        "superseded_by": found.newer,
        "other_pull_requests": found.others,
        "overridden_by": found.overridden_by,
        "verdict": without_secrets(found.verdict.model_dump(mode="json")) if found.verdict else None,
    }


def _time(at_ms: int) -> str:
    return (EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")
