"""A run of judgings anew: here, in as many processes as are wanted, or by the workers of a running server.

Does not say what is judged and shows nothing. Invariant: what is done is on record, whenever a run stops; the same run again
goes on from there.
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from worker.adapters.redis.store import Store, open_store
from worker.clock import SystemClock
from worker.domain.value import Value, replace
from worker.evaluation.bench.cost import SAMPLE, Forecast, PromptMeter, extrapolate
from worker.evaluation.process_pool import run_tasks
from worker.evaluation.rejudge import OpenJudge, OrderResult, RejudgeOrder, Rejudger, RejudgeTerms, with_model
from worker.evaluation.supersession import RecordedVerdict
from worker.evaluation.survey import Surveyor
from worker.judge.judge import judge_with_record
from worker.judge.replay import create_child_header
from worker.settings import Settings

POLL_S: Final = 0.2
IDLE_S: Final = 1.0
"""After so long without an answer it is looked whether the jobs that are left still exist, and a worker for them."""


class RejudgerOpener(NamedTuple):
    """Opens a desk in whatever process."""

    settings: Settings
    terms: RejudgeTerms
    open_judge: OpenJudge

    @contextmanager
    def __call__(self) -> Generator[Callable[[RejudgeOrder], OrderResult]]:
        with open_store(self.settings) as store:
            yield Rejudger(self.settings, store, self.terms, self.open_judge).execute


class RejudgeRun(Value):
    """What is judged anew, by what terms. `settings` lead every process to the store that is open here."""

    settings: Settings
    store: Store
    terms: RejudgeTerms
    orders: Sequence[RejudgeOrder]
    open_judge: OpenJudge

    def run_locally(self, jobs: int, progress: Callable[[], object]) -> Counter[OrderResult]:
        """Judge all of it in so many processes; ends early where the run's limit is reached."""
        counts: Counter[OrderResult] = Counter()
        for _, ended in run_tasks(
            RejudgerOpener(self.settings, self.terms, self.open_judge), self.orders, min(jobs, len(self.orders))
        ):
            counts[ended] += 1
            if ended is OrderResult.FULL:
                break
            progress()
        return counts

    def run_by_workers(self, surveyor: Surveyor, progress: Callable[[], object]) -> None:
        """Have the workers of a server judge all of it. What they did is seen on the stream."""
        from worker.evaluation.evaluate_jobs import RejudgeTask  # noqa: PLC0415 - loads RQ, which a run in this process does without
        from worker.scheduling.queue import EvaluateQueue  # noqa: PLC0415 - as above

        queue = EvaluateQueue.from_settings(self.settings)
        waiting = {order.eval_id: f"anew-{order.eval_id}-{self.terms.law}" for order in self.orders}
        try:
            for order in self.orders:
                errand = RejudgeTask(pull=order.pull, order=order, terms=self.terms)
                queue.submit(waiting[order.eval_id], errand.model_dump_json())
            heard = time.monotonic()
            while waiting and not self._is_full():
                for verdict in surveyor.read_new():
                    if waiting.pop(verdict.parent, None) if verdict.parent is not None else None:
                        heard = time.monotonic()
                        progress()
                if time.monotonic() - heard > IDLE_S:
                    left = queue.unfinished(waiting.values()) if queue.workers() else ()
                    lost = {eval_id: name for eval_id, name in waiting.items() if name not in left}
                    queue.withdraw(lost.values())
                    waiting = {eval_id: name for eval_id, name in waiting.items() if name in left}
                time.sleep(POLL_S)
        finally:
            queue.withdraw(waiting.values())
            queue.close()
        for _ in surveyor.read_new():
            pass

    def _is_full(self) -> bool:
        return bool(self.terms.book) and self.store.run_budget(self.terms.book, self.terms.limit_usd).is_full


def has_workers(settings: Settings) -> bool:
    """Whether a running server takes judgings anew."""
    from worker.scheduling.queue import EvaluateQueue  # noqa: PLC0415 - loads RQ

    queue = EvaluateQueue.from_settings(settings)
    try:
        return queue.workers() > 0
    finally:
        queue.close()


def forecast_run(run: RejudgeRun) -> Forecast | None:
    """What its model would cost; nobody is asked. None: no model would be asked, or no dossier is kept."""
    access = with_model(run.settings, run.terms.model).model
    if access is None or run.terms.tier == "heuristic" or not run.orders:
        return None
    weighing, sampled = PromptMeter(access), 0
    for order in run.orders[:: -(-len(run.orders) // SAMPLE)]:
        sampled += _measure_order(run, order, weighing)
    return extrapolate(weighing, len(run.orders), sampled) if sampled else None


def _measure_order(run: RejudgeRun, order: RejudgeOrder, weighing: PromptMeter) -> bool:
    parent = next((entry for entry in run.store.ledger.entries(order.pull) if entry.eval_id == order.eval_id), None)
    dossier = run.store.archive.find(order.eval_id)
    if parent is None or dossier is None:
        return False
    with run.open_judge(run.settings, run.store, run.terms, order.pull) as bench:
        second = weighing if bench.second_model is not None else None
        weighed = replace(bench, model=weighing, second_model=second, choices={})
        judge_with_record(dossier, create_child_header(parent.verdict, dossier, weighed, SystemClock()), weighed)
    return True


def make_order(verdict: RecordedVerdict) -> RejudgeOrder:
    """What is to be done about a verdict that stands."""
    return RejudgeOrder(pull=verdict.pull, eval_id=verdict.eval_id, subject_id=verdict.subject, kind=verdict.kind)
