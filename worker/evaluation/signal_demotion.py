"""Looks how often an installation's rejects were taken back, and demotes the signals for which that is too often.

Does not judge and is no part of a judging. Invariant: what is counted is what the stream tells; each demotion is told in the
log, and stands until a person promotes the signal again.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.ports import Clock
from worker.domain.verdict.demotion import Demotion, Tally
from worker.evaluation.stats.cells import Cell
from worker.evaluation.stats.rollups import open_rollups
from worker.evaluation.stats.tables import OVER_SIGNAL
from worker.evaluation.stats.windows import window

LOG: Final = logging.getLogger(__name__)
LOOKS_BACK: Final = timedelta(days=90)


def look(store: Store, installation: InstallationId, clock: Clock) -> tuple[Demotion, ...]:
    """Demote what is to be demoted now; the new demotions."""
    now = clock.now()
    found = tuple(_found(store, installation, now))
    made = tuple(one for one in found if store.demotions.demote(installation, one))
    for one in made:
        LOG.warning("%s", one.notice(installation), extra={"installation": installation, "signal": one.signal})
    return made


def _found(store: Store, installation: InstallationId, now: datetime) -> Iterator[Demotion]:
    known = store.demotions.signals(installation)
    cells = _cells(store, installation, now - LOOKS_BACK, now)
    promoted = store.demotions.promoted(installation)
    for signal in sorted(cells.keys() - known):
        tally = tally_of(cells[signal])
        if tally.is_too_much and (at := promoted.get(signal)) is not None:  # seldom: it is counted once more
            tally = tally_of(
                _cells(store, installation, max(at + timedelta(hours=1), now - LOOKS_BACK), now).get(signal, Cell())
            )
        if tally.is_too_much:
            yield Demotion(signal=signal, tally=tally, at=now)


def _cells(store: Store, installation: InstallationId, since: datetime, now: datetime) -> dict[str, Cell]:
    if since >= now:
        return {}
    return dict(open_rollups(store).find(installation, (OVER_SIGNAL,), window(since, now), now).table(OVER_SIGNAL))


def tally_of(cell: Cell) -> Tally:
    """Its rejects, and those that were overridden, or contested and did not stand: each once."""
    rejects = cell.get("rejects")
    return Tally(rejects=rejects, overturned=min(cell.get("overturned"), rejects))
