"""A pull request that was judged, what happens to it afterwards, and what is told of that. Nothing is played: the store is."""

import json
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

from tests.worker.adapters.redis.played import AT, HEAD, pull, starts, wish
from tests.worker.adapters.redis.test_kept import audit
from tests.worker.publishing.texts.samples import accepted, dossier
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId, InstallationId, new_eval_id
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.judging import Finish
from worker.domain.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import OutcomeKind
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.judge.rubric import load_pull_request_rubric
from worker.scheduling.outcomes import OutcomeRecorder, WholePullRequestJudge
from worker.scheduling.record import ledger_entry

DELIVERIES = count(1)
HERE: Final = InstallationId(100)
MERGE: Final = "e" * 40
CLOSES: Final = (("acme/widgets", 7),)
"""What the sample dossier closes."""


class Standing:
    """A clock that shows what it is told to."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 0


def judged(
    store: Store,
    number: int = 1,
    verdict: Accept | Reject | Abstain | None = None,
    diff: str = "",
    head: str = HEAD,
) -> LedgerEntry:
    """Judge a head of a pull request, as a worker does."""
    ref = pull(number)
    store.pulls.request_judging(wish(number, head_sha=head))
    taken = starts(store, ref)
    verdict = verdict or accepted()
    at = AT + timedelta(seconds=next(DELIVERIES))
    subject = verdict.subject.model_copy(
        update={"number": number, "head_sha": head, "repository_id": ref.repository_id}
    )
    verdict = verdict.model_copy(update={"eval_id": new_eval_id(at), "created_at": at, "subject": subject})
    source = dossier(diff=diff)
    made = ledger_entry(verdict, source, taken.lease.fence)
    store.archive.store(ref, made, source, audit(made.eval_id))
    store.outcomes.add_verdict(ref, made, CLOSES)
    store.ledger.append(ref, made, ())
    store.pulls.finish(taken.lease, Finish.JUDGED)
    return made


def happening(what: PullRequestEventKind, number: int | None = 1, **changes: Any) -> PullRequestEvent:
    fields: dict[str, Any] = {
        "what": what,
        "installation_id": HERE,
        "repository_id": pull().repository_id,
        "number": number,
        "delivery_id": f"happened-{next(DELIVERIES)}",
        "at": AT,
        "head_sha": HEAD if number is not None else None,
    }
    return PullRequestEvent(**{**fields, **changes})


def merge(number: int = 1, **changes: Any) -> PullRequestEvent:
    return happening(PullRequestEventKind.MERGED, number, **{"merge_sha": MERGE, "by_person": True, **changes})


def revert(*shas: str) -> PullRequestEvent:
    return happening(PullRequestEventKind.REVERTED, None, reverted_shas=shas or (MERGE,))


def follow(store: Store, *happenings: PullRequestEvent) -> None:
    for one in happenings:
        OutcomeRecorder(store.outcomes, store.ledger, store.archive).record(one)


def conclude(store: Store, at: datetime = AT + timedelta(hours=1)) -> int:
    """Make every verdict on a whole that is due; how many there were."""
    made = 0
    while due := store.outcomes.next_due():
        WholePullRequestJudge(store.ledger, store.outcomes, load_pull_request_rubric(), Standing(at)).judge(due)
        store.outcomes.complete(due)
        made += 1
    return made


def told(store: Store, *kinds: str) -> list[dict[str, Any]]:
    """The bodies of these events, in the order of the stream."""
    return [json.loads(one.raw) for one in store.events.read(HERE) if one.kind.decode() in kinds]


def outcomes(store: Store) -> list[tuple[int, str]]:
    return [(one["number"], one["outcome"]) for one in told(store, "outcome.recorded")]


def kinds_of(store: Store, ref: PullRef) -> list[OutcomeKind]:
    return [one.kind for one in store.outcomes.outcomes_of(ref)]


def wholes(store: Store, number: int = 1) -> list[Accept | Reject | Abstain]:
    """The verdicts on the whole of a pull request, oldest first."""
    found = [one.verdict for one in store.ledger.entries(pull(number)) if one.verdict.subject.kind == "pull_request"]
    return sorted(found, key=lambda one: one.eval_id)


def time_passes(store: Store, number: int = 1) -> None:
    """Its window is over."""
    store.client.call("ZADD", keys.LOOKAHEAD.name, "XX", 1, keys.watch(pull(number)).name)


def latest(store: Store, number: int = 1) -> EvalId:
    return wholes(store, number)[-1].eval_id
