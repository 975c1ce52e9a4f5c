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
from worker.domain.verdict.demotion import Demotion, RejectCounts
from worker.evaluation.stats.counters import Counters
from worker.evaluation.stats.rollups import open_rollups
from worker.evaluation.stats.tables import OVER_SIGNAL
from worker.evaluation.stats.windows import make_window

LOG: Final = logging.getLogger(__name__)
LOOK_BACK: Final = timedelta(days=90)


def demote_signals(store: Store, installation: InstallationId, clock: Clock) -> tuple[Demotion, ...]:
    """Demote what is to be demoted now; the new demotions."""
    now = clock.now()
    demotions = tuple(_find_demotions(store, installation, now))
    made = tuple(demotion for demotion in demotions if store.demotions.demote(installation, demotion))
    for demotion in made:
        LOG.warning(
            "%s", demotion.notice(installation), extra={"installation": installation, "signal": demotion.signal}
        )
    return made


def _find_demotions(store: Store, installation: InstallationId, now: datetime) -> Iterator[Demotion]:
    demoted = store.demotions.signals(installation)
    cells = _signal_counters(store, installation, now - LOOK_BACK, now)
    promoted = store.demotions.promotion_times(installation)
    for signal in sorted(cells.keys() - demoted):
        tally = tally_cell(cells[signal])
        if tally.is_over_limit and (at := promoted.get(signal)) is not None:  # seldom: it is counted once more
            tally = tally_cell(
                _signal_counters(store, installation, max(at + timedelta(hours=1), now - LOOK_BACK), now).get(
                    signal, Counters()
                )
            )
        if tally.is_over_limit:
            yield Demotion(signal=signal, tally=tally, at=now)


def _signal_counters(store: Store, installation: InstallationId, since: datetime, now: datetime) -> dict[str, Counters]:
    if since >= now:
        return {}
    return dict(open_rollups(store).find(installation, (OVER_SIGNAL,), make_window(since, now), now).table(OVER_SIGNAL))


def tally_cell(cell: Counters) -> RejectCounts:
    """Its rejects, and those that were overridden, or contested and did not stand: each once."""
    rejects = cell.get("rejects")
    return RejectCounts(rejects=rejects, overturned=min(cell.get("overturned"), rejects))
