"""When a signal's rejects are taken back so often that it may not reject alone any more, in one installation.

Does not count and stores nothing. Invariant: few rejects prove nothing; a person's word (`assay rubric promote`) begins the
count anew.
"""

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from worker.domain.ids import InstallationId
from worker.domain.model import Frozen

LEAST_REJECTS: Final = 40
MOST_PERCENT: Final = 5


class RejectCounts(Frozen):
    """The rejects that name a signal as a fact, and how many of them people overrode."""

    rejects: Annotated[int, Field(ge=0)]
    overturned: Annotated[int, Field(ge=0)]

    @property
    def is_over_limit(self) -> bool:
        return self.rejects >= LEAST_REJECTS and 100 * self.overturned > MOST_PERCENT * self.rejects


class Demotion(Frozen):
    """A signal that is a suspicion now, why, and since when."""

    signal: Annotated[str, Field(min_length=1)]
    tally: RejectCounts
    at: datetime

    @property
    def summary(self) -> str:
        """The notice."""
        tally = self.tally
        return (
            f"{self.signal} is a suspicion since {self.at:%Y-%m-%d}: {tally.overturned} of its {tally.rejects} rejects were "
            f"overridden, more than {MOST_PERCENT} %"
        )

    def notice(self, installation: InstallationId) -> str:
        """With what takes it back: for the log, `assay doctor` and `assay stats`."""
        how = f"`assay rubric promote {self.signal} --installation {installation}`"
        return f"{self.summary} (installation {installation}). {how} takes it back."
