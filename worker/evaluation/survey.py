"""The streams of all installations, read into a survey: at first from the window's begin, then what came since.

Does not decide what stands (`worker.evaluation.supersession` does). Invariant: an entry is read once.
"""

from collections.abc import Iterator
from typing import Final

from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.window import Window
from worker.evaluation.supersession import RecordedVerdict, RejudgeSelection, VerdictSurvey

LAST_SEQUENCE: Final = 2**64 - 1
"""The greatest number that Redis gives to an entry of one millisecond."""


def last_entry_before(window: Window) -> str:
    """The name of the last entry that may stand before it."""
    return f"{max(window.since_ms - 1, 0)}-{LAST_SEQUENCE}"


class Surveyor:
    """A survey, and up to where each stream was read."""

    def __init__(self, store: Store, wanted: RejudgeSelection) -> None:
        self.survey = VerdictSurvey(wanted)
        self._store = store
        self._begin = last_entry_before(wanted.window)
        self._read: dict[InstallationId, str] = {}
        listed = wanted.repositories
        self._listed = None if listed is None else sorted({InstallationId(installation) for installation, _ in listed})

    def read_new(self) -> Iterator[RecordedVerdict]:
        """Read on; the answers that came."""
        if self._listed is None:
            self._listed = list(self._store.events.installations())  # looks through all keys: once
        for installation in self._listed:
            for entry in self._store.events.read(installation, self._read.get(installation, self._begin)):
                self._read[installation] = entry.id
                if answer := self.survey.add_entry(installation, entry.at_ms, entry.kind, entry.raw):
                    yield answer
