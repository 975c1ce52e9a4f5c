"""Demote signals whose rejects are overridden too often, until a person promotes them. Each demotion is logged."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.ports import Clock
from worker.domain.verdict.outcomes import Demotion, RejectCounts
from worker.evaluation.stats.counters import Counters
from worker.evaluation.stats.rollups import open_rollups
from worker.evaluation.stats.tables import OVER_SIGNAL
from worker.evaluation.stats.windows import make_window

LOG: Final = logging.getLogger(__name__)
LOOK_BACK: Final = timedelta(days=90)


def demote_signals(store: Store, installation: InstallationId, clock: Clock) -> tuple[Demotion, ...]:
    """Demote what is over its limit now; the new demotions."""
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
    counters = _signal_counters(store, installation, now - LOOK_BACK, now)
    promoted = store.demotions.promotion_times(installation)
    for signal in sorted(counters.keys() - demoted):
        tally = _tally(counters[signal])
        if tally.is_over_limit and (at := promoted.get(signal)) is not None:  # seldom: counted from the promotion on
            since = max(at + timedelta(hours=1), now - LOOK_BACK)
            tally = _tally(_signal_counters(store, installation, since, now).get(signal, Counters()))
        if tally.is_over_limit:
            yield Demotion(signal=signal, tally=tally, at=now)


def _signal_counters(store: Store, installation: InstallationId, since: datetime, now: datetime) -> dict[str, Counters]:
    if since >= now:
        return {}
    return dict(open_rollups(store).find(installation, (OVER_SIGNAL,), make_window(since, now), now).table(OVER_SIGNAL))


def _tally(counters: Counters) -> RejectCounts:
    """Its rejects, and those that were overridden, or contested and not upheld, each once."""
    rejects = counters.get("rejects")
    return RejectCounts(rejects=rejects, overturned=min(counters.get("overturned"), rejects))
