"""The canary: a candidate rubric or prompt that judges what was judged live, is shown to nobody, and can be compared.

Does not judge itself (`worker.evaluation.rejudge` does) and is no part of a live judging: it comes after, in a process of its own.
Invariant: without money of its own it asks no model; what it costs counts nowhere else.
"""

from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.ports import Clock
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.events import subject_id
from worker.evaluation.rejudge import RejudgeOrder, RejudgeTerms
from worker.judge.escalation import ModelSkipReason
from worker.settings import Settings


def shadow_terms(settings: Settings, installation: InstallationId, clock: Clock) -> RejudgeTerms | None:
    """By what the candidate judges today, before its files are read; None where there is none."""
    canary = settings.shadow
    if not canary.is_set:
        return None
    return RejudgeTerms(
        law="",
        digest="",
        rubric_id="canary",
        rubric_version="canary",
        tier=settings.tier if canary.day_usd else "heuristic",
        rubric=canary.rubric,
        prompt=canary.prompt,
        book=f"canary:{installation}:{clock.now():%Y-%m-%d}" if canary.day_usd else "",
        limit_usd=canary.day_usd,
        is_capped=False,
        is_canary=True,
    )


def make_shadow_order(store: Store, pull: PullRef) -> RejudgeOrder | None:
    """The verdict that was made last, if somebody judged: what was carried over was judged by the canary before.

    Where no model may be asked about the author's change the canary asks none either.
    """
    entries = [entry for entry in store.ledger.entries(pull) if entry.verdict.parent_eval_id is None]
    last = max(entries, key=lambda entry: entry.eval_id, default=None)
    if last is None or last.verdict.carried_from is not None:
        return None
    if last.verdict.signals.get("escalation_skipped") == ModelSkipReason.OUTSIDER:
        return None
    subject = last.verdict.subject
    return RejudgeOrder(pull=pull, eval_id=last.eval_id, subject_id=subject_id(subject), kind=subject.kind)
