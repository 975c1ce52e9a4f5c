"""Judge on a laptop through the App's pipeline, without showing the verdict anywhere, and rejudge a recorded dossier."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final, assert_never

from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Dossier
from worker.domain.judging import JudgingCompleted, JudgingDiscarded, JudgingSuperseded, WaitForCi
from worker.domain.lifecycle.judging import Finish
from worker.domain.ports import PullSource, TreeLookup
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.verdict.events import EvalTrigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import InputError
from worker.judge.rubric import load_rubric
from worker.publishing.status import NullStatusReporter
from worker.scheduling.leases import renewing_lease
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, judge_pull_request
from worker.scheduling.record import VerdictStores, event_publishing, record_beside
from worker.settings import Settings
from worker.wiring.judge import BudgetAccount, open_judge_context, recorder_of

MAX_TRIES: Final = 3
"""How often a branch is judged again that receives commits meanwhile."""


def judge_locally(
    settings: Settings,
    store: Store,
    source: PullSource,
    request: JudgeRequest,
    look_up: TreeLookup | None = None,
    *,
    is_counted: bool = True,
) -> JudgingCompleted:
    """Judge through the App's pipeline. *is_counted*: in figures. Raises AlreadyJudged, InputError, RubricRefused."""
    clock = SystemClock()
    store.events.end_orphaned()  # which the dispatcher does elsewhere
    for _ in range(MAX_TRIES):
        lease = store.pulls.take_local_lease(request)
        try:
            account, recorder = BudgetAccount(store, request.pull), recorder_of(settings, store, lease)
            with (
                open_judge_context(settings, settings.tier, payer=account) as context,
                renewing_lease(lease, settings.timing.lease),
            ):
                outcome = judge_pull_request(
                    request,
                    JudgingDependencies(
                        source=source,
                        status=NullStatusReporter(source),
                        ledger=store.ledger,
                        recorder=recorder if is_counted else replace(recorder, publishing=None),
                        context=context,
                        clock=clock,
                        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), clock.now()),
                        rubric_problem=store.rubrics.refusal(context.rubric),
                        look_up=look_up,
                    ),
                )
        finally:
            store.pulls.finish(lease, Finish.JUDGED)
        match outcome:
            case JudgingCompleted():
                return outcome
            case JudgingDiscarded(reason=reason):
                raise InputError(f"{request.repository}#{request.pull.number} can't be judged: {reason}.")
            case JudgingSuperseded() | WaitForCi():
                continue
            case _:
                assert_never(outcome)
    raise InputError("The branch is committed to faster than it can be judged. Try again when it stands still.")


def rejudge_recorded(
    settings: Settings, store: Store, recorded: LedgerEntry, dossier: Dossier, rubric_file: Path | None
) -> Accept | Reject | Abstain:
    """Judge a recorded dossier again, as a new entry beside its verdict.

    Raises LeaseLost where the verdict was deleted, RubricRefused for an edited rubric with its old version.
    """
    from worker.judge.judge import judge_with_record
    from worker.judge.replay import create_child_header

    store.rubrics.admit(load_rubric())
    if rubric_file is not None:
        store.rubrics.admit(load_rubric(rubric_file), str(rubric_file))
    subject = recorded.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    with open_judge_context(settings, settings.tier, rubric_file, BudgetAccount(store, pull)) as context:
        header = create_child_header(recorded.verdict, dossier, context, SystemClock())
        evaluated = judge_with_record(dossier, header, context)
    publishing = event_publishing(settings, EvalTrigger.BATCH)
    record_beside(recorded, evaluated, dossier, VerdictStores(store.ledger, store.archive), publishing)
    return evaluated.verdict
