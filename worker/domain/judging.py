"""How one judging of a pull request ends."""

from datetime import timedelta

from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, Accept, Reject


class JudgingCompleted(Value):
    """Recorded and published. `retry_in`: nobody judged, for an outage; it comes again after so long."""

    verdict: Accept | Reject | Abstain
    dossier: Dossier
    retry_in: timedelta | None = None
    decisions: HumanDecisions = NO_DECISIONS
    """What people had said about the head when it was judged."""


class JudgingSuperseded(Value):
    """The head moved: its check is cancelled, and the newer one has to be judged.

    `newer_head` None: something else that it was judged by did. Its check is open, and it has to be judged again.
    """

    newer_head: Sha | None = None


class WaitForCi(Value):
    """Other checks still run: look again after `poll`."""

    poll: timedelta
    names: tuple[str, ...]


class JudgingDiscarded(Value):
    """Nobody waits for this verdict any more."""

    reason: str


JudgingOutcome = JudgingCompleted | JudgingSuperseded | WaitForCi | JudgingDiscarded
