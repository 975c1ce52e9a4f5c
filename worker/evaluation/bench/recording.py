"""A finished run on the stream: each of its verdicts as an evaluation that a bench led to.

Does not judge or count. Invariant: a verdict is told once, however often its run is recorded; a row is the same subject in every
run, and no other row's; nothing of it is a verdict on a pull request.
"""

import hashlib
from collections.abc import Iterable
from typing import Final, Protocol

from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.judge_request import LAPTOP
from worker.domain.verdict.events import EvalTrigger, Event, started, terminal
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.evaluation.bench.expectations import Outcome
from worker.scheduling.record import Telling, begun_of

NOWHERE: Final = RepositoryId(0)
"""Benches are in no repository."""

DIGITS: Final = 4
"""Bytes of what stands for a row's number."""


class Stream(Protocol):
    """Tells once under a name (`worker.adapters.redis.event_stream`). False: it is known."""

    def tell(self, installation: InstallationId, name: str, *events: Event) -> bool: ...


def record(outcomes: Iterable[Outcome], stream: Stream) -> int:
    """Tell of each row's verdict; how many were new."""
    return sum(stream.tell(LAPTOP, f"bench:{one.verdict.eval_id}", *_told(_placed(one))) for one in outcomes)


def _told(verdict: Accept | Reject | Abstain) -> tuple[Event, Event]:
    begun = begun_of(verdict, Telling(EvalTrigger.BENCHMARK))
    return started(begun), terminal(verdict, EvalTrigger.BENCHMARK)


def _placed(outcome: Outcome) -> Accept | Reject | Abstain:
    """The verdict, on a subject that no other row has: rows may be of one commit, and their ids are somebody's words."""
    named = hashlib.sha256(f"{outcome.traits.file}\n{outcome.traits.id}".encode()).digest()
    place = {"repository_id": NOWHERE, "number": int.from_bytes(named[:DIGITS]), "installation_id": LAPTOP}
    subject = outcome.verdict.subject.model_copy(update=place)
    return outcome.verdict.model_copy(update={"subject": subject})
