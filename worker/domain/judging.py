"""How one judging of a pull request ends, and what it waits for."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.verdict.verdict import Abstain, Accept, Reject


@dataclass(frozen=True)
class JudgingCompleted:
    """Recorded and published. `retry_in`: not judged because of an outage; it is retried after so long."""

    verdict: Accept | Reject | Abstain
    dossier: Dossier
    retry_in: timedelta | None = None
    decisions: HumanDecisions = NO_DECISIONS
    """Those of the head when it was judged."""


@dataclass(frozen=True)
class JudgingSuperseded:
    """The head moved: its check is cancelled, and the newer one has to be judged.

    `newer_head` None: another input of the judging changed. Its check is open, and it has to be judged again.
    """

    newer_head: Sha | None = None


@dataclass(frozen=True)
class WaitForCi:
    """Other checks still run: retry after `poll`."""

    poll: timedelta
    names: tuple[str, ...]


@dataclass(frozen=True)
class JudgingDiscarded:
    """The verdict is no longer needed."""

    reason: str


JudgingOutcome = JudgingCompleted | JudgingSuperseded | WaitForCi | JudgingDiscarded


@dataclass(frozen=True)
class CiWait:
    """The checks that judging waits for, and its deadline."""

    names: tuple[str, ...]
    until: datetime


FindHead = Callable[[], Sha | None]
"""A request to GitHub whose answer also names the newest head; None: it did not."""
