"""The judging processes: one dispatcher and the workers, forked from a parent that has everything loaded.

The parent runs no thread and holds no connection when it forks; each job creates its own clients.
"""

import argparse
import gc
import logging
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pkgutil import resolve_name
from types import FrameType
from typing import Final

from worker.adapters.redis.store import FolderRole, Store, open_store, wait_for_redis, with_store_url
from worker.domain.lifecycle.work import workers_for_strangers
from worker.errors import InputError, Unavailable
from worker.judge.rubric import shipped_rubrics
from worker.log import log_json
from worker.process import SystemClock, die_with_parent
from worker.scheduling import dispatcher
from worker.scheduling.jobs import JOB_CONTEXT, JobContext, handle_killed_job
from worker.scheduling.queue import EVALUATE_QUEUE, JUDGE_QUEUE, OUTSIDE_QUEUE, open_queue, rq_connection
from worker.settings import Settings, load_settings
from worker.wiring.judge import open_judge_context
from worker.wiring.process_supervisor import ProcessSupervisor, SupervisedProcess
from worker.wiring.rq_worker import EvaluateWorker, JudgeWorker

LOG: Final = logging.getLogger(__name__)

APP_FACTORY: Final = "worker.wiring.app:open_app"
"""The context manager that opens an AppContext: `open_app(settings, store)`."""

PRELOADED_MODULES: Final = (
    "anthropic.resources.messages",
    "githubkit",
    "worker.adapters.anthropic",
    "worker.scheduling.pipeline",
    "cryptography.hazmat.primitives.ciphers.aead",
)
"""What a job imports late; loaded here, before the fork."""

LOW_PRIORITY_NICENESS: Final = 10
"""The niceness of processes that re-evaluate verdicts or judge outsiders' forks."""

USAGE_EXIT: Final = 2
FAILURE_EXIT: Final = 4


class StopFlag:
    """Set by a signal. Not an Event: the interrupted code may hold its lock."""

    is_requested = False

    def request(self, _signal: int, _frame: FrameType | None) -> None:
        self.is_requested = True


def main(arguments: list[str] | None = None) -> int:
    """`python -m worker`: work until a signal."""
    parser = argparse.ArgumentParser(prog="python -m worker", description="Judge what is due.")
    parser.add_argument("--app", default=APP_FACTORY, help="what opens the App's context, as module:function")
    parser.add_argument("--with-parent", action="store_true", help="stop when the parent process ends")
    options = parser.parse_args(arguments)
    if options.with_parent:
        die_with_parent(os.getppid(), signal.SIGTERM)
    try:
        run_work(load_settings(), app_factory=options.app)
    except InputError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the reason of the exit code
        return USAGE_EXIT
    except Unavailable as error:
        print(error, file=sys.stderr)  # noqa: T201 - the reason of the exit code
        return FAILURE_EXIT
    return 0


def run_work(settings: Settings, *, app_factory: str = APP_FACTORY, role: FolderRole = FolderRole.GUEST) -> None:
    """Dispatch and judge until SIGINT or SIGTERM. To be called in a process without other threads."""
    log_json(settings.log_level)
    wait_for_redis(settings, LOG.warning)
    with open_store(settings, role) as store:
        here = with_store_url(settings, store)
        for rubric in shipped_rubrics():
            store.rubrics.admit(rubric)
        _preload(here, store, app_factory)
        store.client.close()
        numbers = range(1, settings.workers + 1)
        work = [
            ("dispatcher", run_dispatcher),
            *((f"worker {n}", run_worker) for n in numbers),
            *(
                (f"worker for strangers {n}", run_outside_worker)
                for n in range(1, workers_for_strangers(settings.workers) + 1)
            ),
            *((f"evaluator {n}", run_evaluator) for n in numbers),
        ]
        processes = [SupervisedProcess(name, partial(run, here, app_factory)) for name, run in work]
        ProcessSupervisor(processes, settings.timing.stop_grace).run()


def run_dispatcher(settings: Settings, app_factory: str = APP_FACTORY) -> None:
    """Run a dispatcher, which leads if no other does."""
    stop = StopFlag()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, stop.request)
    with open_store(settings) as store:
        dispatcher.Dispatcher(settings, store, partial(resolve_name(app_factory), settings, store), SystemClock()).run(
            lambda: stop.is_requested
        )


def run_worker(settings: Settings, app_factory: str = APP_FACTORY) -> None:
    """Run a worker: one job after the other, each in a process of its own."""
    with _job_context(settings, app_factory):
        JudgeWorker.for_queue(open_queue(JUDGE_QUEUE, rq_connection(settings)), handle_killed_job).work(
            logging_level=None
        )


def run_outside_worker(settings: Settings, app_factory: str = APP_FACTORY) -> None:
    """Run a worker for outsiders' forks alone, at low priority."""
    os.nice(LOW_PRIORITY_NICENESS)
    with _job_context(settings, app_factory):
        JudgeWorker.for_queue(open_queue(OUTSIDE_QUEUE, rq_connection(settings)), handle_killed_job).work(
            logging_level=None
        )


def run_evaluator(settings: Settings, app_factory: str = APP_FACTORY) -> None:
    """Run a worker for re-evaluations alone, at low priority."""
    os.nice(LOW_PRIORITY_NICENESS)
    import_module("worker.evaluation.evaluate_jobs")
    with _job_context(settings, app_factory):
        EvaluateWorker.for_queue(open_queue(EVALUATE_QUEUE, rq_connection(settings))).work(logging_level=None)


@contextmanager
def _job_context(settings: Settings, app_factory: str) -> Generator[None]:
    """Set what the jobs forked from here work with."""
    with open_store(settings) as store:
        store.client.close()
        JOB_CONTEXT.set(JobContext(settings, app_factory, SystemClock(), store))
        yield


def _preload(settings: Settings, store: Store, app_factory: str) -> None:
    """Load what jobs need by opening the contexts once, and freeze it, so that collecting does not copy it into each job."""
    for module in PRELOADED_MODULES:
        import_module(module)
    with resolve_name(app_factory)(settings, store), open_judge_context(settings, settings.tier):
        pass
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
