"""A finished run on the stream: each of its verdicts as an evaluation that a bench led to.

Does not judge or count. Invariant: a verdict is told once, however often its run is recorded; a row is the same subject in every
run, and no other row's; nothing of it is a verdict on a pull request.
"""

import hashlib
from collections.abc import Iterable
from typing import Final, Protocol

from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.judge_request import LOCAL_INSTALLATION
from worker.domain.verdict.events import EvalTrigger, Event, started_event, terminal_event
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.evaluation.bench.expectations import RowOutcome
from worker.scheduling.record import EventPublishing, evaluation_started

NO_REPOSITORY: Final = RepositoryId(0)
"""Benches are in no repository."""

DIGITS: Final = 4
"""Bytes of what stands for a row's number."""


class EventPublisher(Protocol):
    """Tells once under a name (`worker.adapters.redis.event_stream`). False: it is known."""

    def publish(self, installation: InstallationId, name: str, *events: Event) -> bool: ...


def record_run(outcomes: Iterable[RowOutcome], stream: EventPublisher) -> int:
    """Tell of each row's verdict; how many were new."""
    return sum(
        stream.publish(
            LOCAL_INSTALLATION, f"bench:{outcome.verdict.eval_id}", *_events_of(_with_unique_subject(outcome))
        )
        for outcome in outcomes
    )


def _events_of(verdict: Accept | Reject | Abstain) -> tuple[Event, Event]:
    begun = evaluation_started(verdict, EventPublishing(EvalTrigger.BENCHMARK))
    return started_event(begun), terminal_event(verdict, EvalTrigger.BENCHMARK)


def _with_unique_subject(outcome: RowOutcome) -> Accept | Reject | Abstain:
    """The verdict, on a subject that no other row has: rows may be of one commit, and their ids are somebody's words."""
    named = hashlib.sha256(f"{outcome.traits.file}\n{outcome.traits.id}".encode()).digest()
    subject_fields = {
        "repository_id": NO_REPOSITORY,
        "number": int.from_bytes(named[:DIGITS]),
        "installation_id": LOCAL_INSTALLATION,
    }
    subject = outcome.verdict.subject.model_copy(update=subject_fields)
    return outcome.verdict.model_copy(update={"subject": subject})
