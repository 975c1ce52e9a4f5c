"""How one judging of a pull request ends."""

from datetime import timedelta

from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, Accept, Reject


class JudgingCompleted(Value):
    """Recorded and published. `retry_in`: not judged because of an outage; it is retried after so long."""

    verdict: Accept | Reject | Abstain
    dossier: Dossier
    retry_in: timedelta | None = None
    decisions: HumanDecisions = NO_DECISIONS
    """Those of the head when it was judged."""


class JudgingSuperseded(Value):
    """The head moved: its check is cancelled, and the newer one has to be judged.

    `newer_head` None: another input of the judging changed. Its check is open, and it has to be judged again.
    """

    newer_head: Sha | None = None


class WaitForCi(Value):
    """Other checks still run: retry after `poll`."""

    poll: timedelta
    names: tuple[str, ...]


class JudgingDiscarded(Value):
    """The verdict is no longer needed."""

    reason: str


JudgingOutcome = JudgingCompleted | JudgingSuperseded | WaitForCi | JudgingDiscarded
