"""What judging on a laptop looks after, where no dispatcher does."""

from dataclasses import replace

from tests.worker.adapters.redis.played import lease_runs_out, pull
from tests.worker.adapters.redis.test_event_stream import begun, kinds, look_now
from tests.worker.adapters.redis.test_kept import judging
from tests.worker.evaluation.bench.made import STUB
from tests.worker.evaluation.recorded import dossier
from worker.adapters.git.recorded_dossier import RecordedSource
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.settings import Settings
from worker.wiring.cli import judge_locally


def test_the_next_judging_ends_the_evaluations_whose_judges_are_dead(store: Store, here: Settings) -> None:
    store.events.record_started(pull(), judging(store).lease.fence, begun("e"))
    lease_runs_out(store, pull())
    look_now(store)
    source = RecordedSource(dossier(1, STUB))
    judge_locally(replace(here, tier="heuristic"), store, source, source.request(SystemClock().now()))
    assert kinds(store) == ["eval.started", "eval.failed"]
