"""Demote signals whose rejects are overridden too often, until a person promotes them. Each demotion is logged."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from worker.domain.model import InstallationId
from worker.domain.ports import Clock
from worker.domain.verdict.events import Demotion, RejectCounts
from worker.evaluation.stats.answers import reject_sums
from worker.evaluation.stats.cache import FiguresCache
from worker.evaluation.stats.figures import Sums, make_window

LOG: Final = logging.getLogger(__name__)
LOOK_BACK: Final = timedelta(days=90)


class DemotionRecords(Protocol):
    """The demoted signals of each installation. Raises Unavailable."""

    def signals(self, installation: InstallationId) -> frozenset[str]: ...

    def promotion_times(self, installation: InstallationId) -> Mapping[str, datetime]:
        """Time of the last promotion of each signal."""
        ...

    def demote(self, installation: InstallationId, demotion: Demotion) -> bool:
        """Demote a signal; False: it is already demoted."""
        ...


def demote_signals(
    records: DemotionRecords, figures: FiguresCache, installation: InstallationId, clock: Clock
) -> tuple[Demotion, ...]:
    """Demote what is over its limit now; the new demotions."""
    now, made = clock.now(), list[Demotion]()
    demoted = records.signals(installation)
    sums = _signal_sums(figures, installation, now - LOOK_BACK, now)
    promoted = records.promotion_times(installation)
    for signal in sorted(sums.keys() - demoted):
        tally = _tally(sums[signal])
        if tally.is_over_limit and (at := promoted.get(signal)) is not None:  # seldom: counted from the promotion on
            since = max(at + timedelta(hours=1), now - LOOK_BACK)
            tally = _tally(_signal_sums(figures, installation, since, now).get(signal, Sums()))
        demotion = Demotion(signal=signal, tally=tally, at=now)
        if tally.is_over_limit and records.demote(installation, demotion):
            LOG.warning("%s", demotion.notice(installation), extra={"installation": installation, "signal": signal})
            made.append(demotion)
    return tuple(made)


def _signal_sums(
    figures: FiguresCache, installation: InstallationId, since: datetime, now: datetime
) -> dict[str, Sums]:
    """Sums of rejects by signal; none before all entries are counted here, as a part may say something else."""
    if since >= now:
        return {}
    window = make_window(since, now)
    return figures.query(
        [installation],
        now,
        lambda streams: {} if streams[0].is_behind else reject_sums(streams, window, "signals"),
    )


def _tally(sums: Sums) -> RejectCounts:
    """Its rejects, and those that were overridden, or contested and not upheld, each once."""
    rejects = sums["rejects"]
    return RejectCounts(rejects=rejects, overturned=min(sums["overturned"], rejects))
