"""Whether a model may be asked about a pull request.

For a fork whose author has no write access it may not, until an account with write access asks or the repository allows it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from worker.domain.config.config import AskModelFor
from worker.domain.dossier.dossier import Dossier
from worker.domain.request.judge_request import MANUAL_TRIGGERS, JudgeRequest
from worker.dossier.config import config_of
from worker.scheduling.ports import Decisions


@dataclass(frozen=True)
class SpendingPolicy:
    """`may_write`: whether an account may write in the repository, by GitHub's own answer."""

    decisions: Decisions
    may_write: Callable[[JudgeRequest, str], bool]

    def is_allowed(self, request: JudgeRequest, dossier: Dossier) -> bool:
        """Whether a model may be asked. Raises on GitHub's outages. A branch of the repository itself proves write access."""
        if request.trigger in MANUAL_TRIGGERS:
            self.decisions.mark_vouched(request.pull)
            return True
        pull = dossier.pull_request
        if not pull.is_from_fork or config_of(dossier).ask_model_for is AskModelFor.EVERYONE:
            return True
        return self.decisions.is_vouched(request.pull) or self.may_write(request, pull.author)
