"""Builds what the command line judges with: a branch on a laptop, and a recorded dossier anew.

Does not decide, and knows no GitHub. Invariant: nothing is shown anywhere, and what is judged is judged through the same
pipeline as the App's pull requests.
"""

from datetime import timedelta
from pathlib import Path
from typing import Final, assert_never

from worker.adapters.redis.leases import beating
from worker.adapters.redis.pull_requests import Finish
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Dossier
from worker.domain.judging import Dropped, Judged, Overtaken, WaitForCi
from worker.domain.ports import LookUp, PullSource
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.value import replace
from worker.domain.verdict.events import EvalTrigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import InputError
from worker.judge.rubric import load_rubric
from worker.publishing.status import Silent
from worker.scheduling.pipeline import CiPatience, Deps, judge_pull_request
from worker.scheduling.record import Shelves, record_beside, telling_of
from worker.settings import Settings
from worker.wiring.judge import Payer, keepers_of, open_bench

READINGS: Final = 3
"""How often a branch that is committed to while it is judged is judged again, on a laptop."""


def judge_locally(
    settings: Settings,
    store: Store,
    source: PullSource,
    request: JudgeRequest,
    look_up: LookUp | None = None,
    *,
    is_counted: bool = True,
) -> Judged:
    """Judge without showing it anywhere, through the same pipeline. Raises AlreadyJudged, InputError, RubricRefused.

    *is_counted*: whether figures count it.
    """
    clock = SystemClock()
    store.events.end_lost()  # no dispatcher looks after them here
    for _ in range(READINGS):
        lease = store.pulls.seize(request)
        try:
            payer, keepers = Payer(store, request.pull), keepers_of(settings, store, lease)
            with open_bench(settings, settings.tier, payer=payer) as bench, beating(lease, settings.timing.lease):
                outcome = judge_pull_request(
                    request,
                    Deps(
                        source=source,
                        board=Silent(source),
                        ledger=store.ledger,
                        keepers=keepers if is_counted else replace(keepers, telling=None),
                        bench=bench,
                        clock=clock,
                        patience=CiPatience(timedelta(0), timedelta(0), clock.now()),
                        refused=store.rubrics.refusal(bench.rubric),
                        look_up=look_up,
                    ),
                )
        finally:
            store.pulls.finish(lease, Finish.JUDGED)
        match outcome:
            case Judged():
                return outcome
            case Dropped(reason=reason):
                raise InputError(f"{request.repository}#{request.pull.number} can't be judged: {reason}.")
            case Overtaken() | WaitForCi():
                continue
            case _:
                assert_never(outcome)
    raise InputError("The branch is committed to faster than it can be judged. Try again when it stands still.")


def judge_anew(
    settings: Settings, store: Store, recorded: LedgerEntry, dossier: Dossier, rubric_file: Path | None
) -> Accept | Reject | Abstain:
    """Judge a recorded dossier again, as a new entry beside its verdict.

    Raises LeaseLost where that was forgotten, RubricRefused for a rubric that was edited and kept its version.
    """
    from worker.judge.judge import hear
    from worker.judge.replay import docket_beside

    store.rubrics.admit(load_rubric())
    if rubric_file is not None:
        store.rubrics.admit(load_rubric(rubric_file), str(rubric_file))
    subject = recorded.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    with open_bench(settings, settings.tier, rubric_file, Payer(store, pull)) as bench:
        heard = hear(dossier, docket_beside(recorded.verdict, dossier, bench, SystemClock()), bench)
    telling = telling_of(settings, EvalTrigger.BATCH)
    record_beside(recorded, heard, dossier, Shelves(store.ledger, store.archive), telling)
    return heard.verdict
