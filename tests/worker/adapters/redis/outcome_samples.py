"""A judged pull request, events after its verdict, and what the store records of them."""

import json
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

from tests.worker.adapters.redis.store_samples import HEAD, REQUESTED_AT, audit_record, pull_ref, start_judging_new
from tests.worker.publishing.texts.samples import accepted, dossier
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind
from worker.domain.lifecycle.judging import Finish
from worker.domain.model import InstallationId, new_eval_id
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.judge.rubric import load_pull_request_rubric
from worker.scheduling.outcomes import OutcomeRecorder, WholePullRequestJudge
from worker.scheduling.record import ledger_entry

DELIVERIES = count(1)
INSTALLATION: Final = InstallationId(100)
MERGE: Final = "e" * 40
CLOSES: Final = (("acme/widgets", 7),)
"""The issue that the sample dossier closes."""


class FixedClock:
    """A clock that shows a set time."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic_ms(self) -> int:
        return 5


def judge_head(
    store: Store, number: int = 1, verdict: Accept | Reject | Abstain | None = None, diff: str = "", head: str = HEAD
) -> LedgerEntry:
    ref = pull_ref(number)
    leased = start_judging_new(store, number, head_sha=head)
    verdict = verdict or accepted()
    at = REQUESTED_AT + timedelta(seconds=next(DELIVERIES))
    subject = verdict.subject.model_copy(
        update={"number": number, "head_sha": head, "repository_id": ref.repository_id}
    )
    verdict = verdict.model_copy(update={"eval_id": new_eval_id(at), "created_at": at, "subject": subject})
    source = dossier(diff=diff)
    entry = ledger_entry(verdict, source, leased.lease.fence)
    store.archive.store(ref, entry, source, audit_record(entry.eval_id))
    store.outcomes.add_verdict(ref, entry, CLOSES)
    store.ledger.append(ref, entry, ())
    store.pulls.finish(leased.lease, Finish.JUDGED)
    return entry


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
    for event in events:
        OutcomeRecorder(store.outcomes, store.ledger, store.archive).record(event)


def judge_whole_pull_requests(store: Store, at: datetime = REQUESTED_AT + timedelta(hours=1)) -> int:
    """Judge each whole pull request that is due, and count them."""
    count_judged = 0
    while due := store.outcomes.next_due():
        WholePullRequestJudge(store.ledger, store.outcomes, load_pull_request_rubric(), FixedClock(at)).judge(due)
        store.outcomes.complete(due)
        count_judged += 1
    return count_judged


def event_bodies(store: Store, *kinds: str) -> list[dict[str, Any]]:
    """The bodies of the events of these kinds, in the order of the stream."""
    return [json.loads(event.raw) for event in store.events.read(INSTALLATION) if event.kind.decode() in kinds]


def recorded_outcomes(store: Store) -> list[tuple[int, str]]:
    return [(body["number"], body["outcome"]) for body in event_bodies(store, "outcome.recorded")]


def whole_verdicts(store: Store, number: int = 1) -> list[Accept | Reject | Abstain]:
    """The verdicts on a whole pull request, oldest first."""
    verdicts = [entry.verdict for entry in store.ledger.entries(pull_ref(number))]
    wholes = [verdict for verdict in verdicts if verdict.subject.kind == "pull_request"]
    return sorted(wholes, key=lambda verdict: verdict.eval_id)


def end_window(store: Store, number: int = 1) -> None:
    store.client.call("ZADD", keys.LOOKAHEAD.name, "XX", 1, keys.watch(pull_ref(number)).name)
