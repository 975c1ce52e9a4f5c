"""A pull request that was judged, what happens to it afterwards, and what is told of that. Nothing is played: the store is."""

import json
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

from tests.worker.adapters.redis.store_samples import HEAD, REQUESTED_AT, judge_request, pull_ref, start_judging
from tests.worker.adapters.redis.test_lease_writes import audit_record
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
INSTALLATION: Final = InstallationId(100)
MERGE: Final = "e" * 40
CLOSES: Final = (("acme/widgets", 7),)
"""What the sample dossier closes."""


class FixedClock:
    """A clock that shows what it is told to."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 0


def judge_head(
    store: Store,
    number: int = 1,
    verdict: Accept | Reject | Abstain | None = None,
    diff: str = "",
    head: str = HEAD,
) -> LedgerEntry:
    """Judge a head of a pull request, as a worker does."""
    ref = pull_ref(number)
    store.pulls.request_judging(judge_request(number, head_sha=head))
    taken = start_judging(store, ref)
    verdict = verdict or accepted()
    at = REQUESTED_AT + timedelta(seconds=next(DELIVERIES))
    subject = verdict.subject.model_copy(
        update={"number": number, "head_sha": head, "repository_id": ref.repository_id}
    )
    verdict = verdict.model_copy(update={"eval_id": new_eval_id(at), "created_at": at, "subject": subject})
    source = dossier(diff=diff)
    made = ledger_entry(verdict, source, taken.lease.fence)
    store.archive.store(ref, made, source, audit_record(made.eval_id))
    store.outcomes.add_verdict(ref, made, CLOSES)
    store.ledger.append(ref, made, ())
    store.pulls.finish(taken.lease, Finish.JUDGED)
    return made


def pull_request_event(kind: PullRequestEventKind, number: int | None = 1, **changes: Any) -> PullRequestEvent:
    fields: dict[str, Any] = {
        "what": kind,
        "installation_id": INSTALLATION,
        "repository_id": pull_ref().repository_id,
        "number": number,
        "delivery_id": f"happened-{next(DELIVERIES)}",
        "at": REQUESTED_AT,
        "head_sha": HEAD if number is not None else None,
    }
    return PullRequestEvent(**{**fields, **changes})


def merge_event(number: int = 1, **changes: Any) -> PullRequestEvent:
    return pull_request_event(PullRequestEventKind.MERGED, number, **{"merge_sha": MERGE, "by_person": True, **changes})


def revert_event(*shas: str) -> PullRequestEvent:
    return pull_request_event(PullRequestEventKind.REVERTED, None, reverted_shas=shas or (MERGE,))


def record_outcomes(store: Store, *events: PullRequestEvent) -> None:
    for one in events:
        OutcomeRecorder(store.outcomes, store.ledger, store.archive).record(one)


def judge_whole_pull_requests(store: Store, at: datetime = REQUESTED_AT + timedelta(hours=1)) -> int:
    """Make every verdict on a whole that is due; how many there were."""
    made = 0
    while due := store.outcomes.next_due():
        WholePullRequestJudge(store.ledger, store.outcomes, load_pull_request_rubric(), FixedClock(at)).judge(due)
        store.outcomes.complete(due)
        made += 1
    return made


def event_bodies(store: Store, *kinds: str) -> list[dict[str, Any]]:
    """The bodies of these events, in the order of the stream."""
    return [json.loads(one.raw) for one in store.events.read(INSTALLATION) if one.kind.decode() in kinds]


def recorded_outcomes(store: Store) -> list[tuple[int, str]]:
    return [(one["number"], one["outcome"]) for one in event_bodies(store, "outcome.recorded")]


def outcome_kinds(store: Store, ref: PullRef) -> list[OutcomeKind]:
    return [one.kind for one in store.outcomes.outcomes_of(ref)]


def whole_verdicts(store: Store, number: int = 1) -> list[Accept | Reject | Abstain]:
    """The verdicts on the whole of a pull request, oldest first."""
    found = [
        one.verdict for one in store.ledger.entries(pull_ref(number)) if one.verdict.subject.kind == "pull_request"
    ]
    return sorted(found, key=lambda one: one.eval_id)


def end_window(store: Store, number: int = 1) -> None:
    """Its window is over."""
    store.client.call("ZADD", keys.LOOKAHEAD.name, "XX", 1, keys.watch(pull_ref(number)).name)


def latest_whole_verdict(store: Store, number: int = 1) -> EvalId:
    return whole_verdicts(store, number)[-1].eval_id
