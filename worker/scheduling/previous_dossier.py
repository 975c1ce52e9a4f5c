"""What a pull request was judged from the last time, as long as that is kept.

Does not ask GitHub. Invariant: what can't be read, as of a later version, is not remembered, and keeps nobody from judging.
"""

from typing import Protocol

from pydantic import ValidationError

from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId
from worker.domain.ports import Ledger
from worker.domain.request.judge_request import PullRef
from worker.domain.value import Value
from worker.errors import Unreadable


class ArchivedDossiers(Protocol):
    """`worker.adapters.redis.ledger`."""

    def find(self, eval_id: EvalId) -> Dossier | None: ...


class PreviousDossier(Value):
    """The dossier of the newest verdict on a pull request itself."""

    ledger: Ledger
    dossiers: ArchivedDossiers

    def __call__(self, pull: PullRef) -> Dossier | None:
        own = (entry.eval_id for entry in reversed(self.ledger.entries(pull)) if entry.verdict.parent_eval_id is None)
        newest = next(own, None)
        try:
            return self.dossiers.find(newest) if newest else None
        except (Unreadable, ValidationError):
            return None
