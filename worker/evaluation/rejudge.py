"""Re-evaluate recorded verdicts: judge their dossiers by other terms, and record the answers beside them. Nothing is published.

A verdict is answered once by the same terms. Each order ends with an entry of the ledger or an `eval.failed` event. A run's
limit is never exceeded; a verdict that the limit kept from the model is recorded only if part of it is paid for. What is done
is on record however a run stops, and the same run resumes from there.

Verdicts on CI checks and whole pull requests are derived again by other weights, by code alone. Only what was known at the time of
the verdict counts, so that the answer differs by its law alone.
"""

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Final, cast

from pydantic import ValidationError

from worker.domain.dossier import Dossier
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, Frozen, InstallationId, eval_id_after, new_eval_id
from worker.domain.ports import Archive, Clock
from worker.domain.verdict.audit import (
    DIGEST_SIGNAL,
    SHADOW_SIGNAL,
    AuditRecord,
    EvaluatedVerdict,
    judge_digest,
    rubric_digest,
    scoring_digest,
)
from worker.domain.verdict.events import (
    CiCheckRubric,
    EvalTrigger,
    EvaluationStarted,
    FailureMode,
    Outcome,
    PullRequestRubric,
    failed_event,
    started_event,
    subject_id,
)
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, JudgeKind, Reject, Subject, SubjectKind, VersionedRubric
from worker.errors import InputError, LeaseLost
from worker.evaluation.engine import Halt, WorkerOpener, run_tasks
from worker.evaluation.forecast import CostMeter, Forecast, forecast_cost, with_meter
from worker.evaluation.recorded_verdicts import UNFINISHED_REASONS, RecordedVerdict, RecordStore, Surveyor
from worker.judge.context import JudgeContext, ModelSkipReason
from worker.judge.judge import judge_with_record
from worker.judge.outcome_scores import CheckVerdict, ci_check_verdicts, pull_request_verdict
from worker.judge.replay import create_child_header
from worker.judge.rubric import load_ci_check_rubric, load_prompt, load_pull_request_rubric, load_rubric
from worker.process import SystemClock
from worker.scheduling.outcomes import derived_entry, whole_evaluation_events
from worker.scheduling.record import VerdictStores, event_publishing, record_beside
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
OpenJudge = Callable[["RejudgeTerms", PullRef | None], AbstractContextManager[JudgeContext]]
"""Opens the judge of these terms, paid by a pull request; without one it is opened only to read its names."""

UNKNOWN_REPOSITORY: Final = "forgotten/forgotten"
"""A repository of which only numbers are left."""

UNKNOWN_SHA: Final = "0" * 40
"""The head of a pull request of which nothing is left."""

SCORED_KINDS: Final = frozenset({SubjectKind.CI_CHECK, SubjectKind.PULL_REQUEST})
"""Subjects whose verdicts code derives from others, without a model."""

CHILDREN_SIGNAL: Final = "child_eval_ids"
SUBMISSIONS_SIGNAL: Final = "submissions"
OUTCOMES_SIGNAL: Final = "outcomes"

POLL_S: Final = 0.2
IDLE_S: Final = 1.0
"""After so many seconds without an answer a run drops the jobs that no longer exist or have no worker."""


class RejudgeTerms(Frozen):
    """How a run judges. `law`: the hash of all that a verdict depends on; `book`: the name of the run's budget, "" for none.

    `weighs`: the kind of verdicts that code derives from others, by the weights of `rubric`; None: the judge judges.
    `judgings`: the law by which those others may have been re-evaluated, and `over` its rubric's name.
    It travels with each job as small JSON, so files are named here, and read where the job runs.
    """

    law: str
    digest: str
    rubric_id: str
    rubric_version: str
    tier: str
    rubric: Path | None = None
    prompt: Path | None = None
    model: str | None = None
    book: str = ""
    limit_usd: Decimal = Decimal(0)
    is_capped: bool = True
    is_canary: bool = False
    weighs: SubjectKind | None = None
    judgings: str = ""
    over: str = ""

    @property
    def trigger(self) -> EvalTrigger:
        return EvalTrigger.BUS if self.is_canary else EvalTrigger.BATCH

    @property
    def signals(self) -> dict[str, str | bool]:
        """The signals that mark a verdict by these terms."""
        return {DIGEST_SIGNAL: self.law, **({SHADOW_SIGNAL: True} if self.is_canary else {})}

    @property
    def limit_reached(self) -> str:
        """What is said where the run's limit is reached."""
        return f"The limit of ${self.limit_usd} is reached. Give a larger --max-usd to go on."

    def is_full(self, store: RecordStore) -> bool:
        """Whether the run's limit is reached."""
        return bool(self.book) and store.run_budget(self.book, self.limit_usd).is_full


class RejudgeOrder(Frozen):
    """Re-evaluate this verdict. `subject_id`: what its events name, should nothing else be left."""

    pull: PullRef
    eval_id: EvalId
    subject_id: str
    kind: SubjectKind = SubjectKind.SUBMISSION

    def __str__(self) -> str:
        return self.eval_id


class RejudgeTask(Frozen):
    """The arguments of a job: an order by these terms, or (*pull* alone) the shadow evaluation of a pull request.

    `looks`: also check whether a signal of its installation is to be demoted.
    """

    pull: PullRef
    looks: bool = False
    order: RejudgeOrder | None = None
    terms: RejudgeTerms | None = None


class OrderResult(StrEnum):
    """How an order ended. FULL: the run's limit is reached; UNLIKE: this process would judge by another law."""

    JUDGED = "judged"
    THERE = "there"
    GONE = "gone"
    INVALID = "invalid"
    UNLIKE = "unlike"
    FULL = "full"


def load_scoring_rubric(kind: SubjectKind, path: Path | None = None) -> CiCheckRubric | PullRequestRubric:
    """The weights for verdicts of a kind in SCORED_KINDS; without *path* the ones that ship. Raises InputError."""
    return load_ci_check_rubric(path) if kind is SubjectKind.CI_CHECK else load_pull_request_rubric(path)


def find_entry(entries: Sequence[LedgerEntry], eval_id: EvalId | None) -> LedgerEntry | None:
    """The entry of this evaluation."""
    return next((entry for entry in entries if entry.eval_id == eval_id), None)


@dataclass(frozen=True)
class Rescoring:
    """What is derived again, when and by which law. *entry*: the verdict that is answered.

    *entries*: the ledger of its pull request. *rejudged*: the answers to some of them by the law that is tried.
    """

    entry: LedgerEntry
    entries: Sequence[LedgerEntry]
    rejudged: Mapping[EvalId, LedgerEntry]
    judge_digest: str
    now: datetime

    def submission(self) -> LedgerEntry | None:
        """The verdict that a check's verdict was made beside."""
        return find_entry(self.entries, self.entry.verdict.parent_eval_id)

    def rescore_check(self, recorded_as: str, dossier: Dossier, rubric: CiCheckRubric) -> CheckVerdict | None:
        """The verdict on the check that events name *recorded_as*; None: the dossier has no such check."""
        beside = self.submission()
        if beside is None or dossier.ci is None:
            return None
        judged = self.rejudged.get(beside.eval_id, beside).verdict
        for check in dossier.ci.checks:
            [made] = ci_check_verdicts(judged, [check], rubric)
            if subject_id(made.verdict.subject, made.part) == recorded_as:
                return CheckVerdict(made.part, self._as_answer(made.verdict))
        return None

    def rescore_pull_request(
        self, outcomes: Sequence[Outcome], rubric: PullRequestRubric
    ) -> Accept | Reject | Abstain | None:
        """The verdict on the pull request; None: not all that it was derived from is kept."""
        signals = self.entry.verdict.signals
        listed = frozenset(cast("tuple[EvalId, ...]", signals.get(CHILDREN_SIGNAL, ())))
        counted = cast("int", signals.get(OUTCOMES_SIGNAL, 0))
        if not listed or not listed <= {entry.eval_id for entry in self.entries} or len(outcomes) < counted:
            return None
        entries = tuple(self._listed_entries(listed))
        verdict = pull_request_verdict(self.entry.eval_id, self.now, entries, outcomes[:counted], rubric)
        return self._as_answer(verdict)

    def _listed_entries(self, listed: frozenset[EvalId]) -> Iterator[LedgerEntry]:
        """What the verdict was derived from, in its order: of each head the verdict that it lists, or the answer to that.

        Other verdicts on these heads count, as people may have reacted to them. It lists the last fifty: all before count.
        """
        heads = {entry.head_sha for entry in self.entries if entry.eval_id in listed}
        submissions = cast("int", self.entry.verdict.signals.get(SUBMISSIONS_SIGNAL, 0))
        first = min(listed) if submissions > len(listed) else ""
        for entry in self.entries:
            if entry.eval_id not in listed and (entry.head_sha in heads or entry.eval_id < first):
                yield entry
        for entry in self.entries:
            if entry.eval_id in listed:
                yield entry
                if (answer := self.rejudged.get(entry.eval_id)) is not None:  # in the place of what it answers
                    yield answer.model_copy(
                        update={"verdict": answer.verdict.model_copy(update={"parent_eval_id": None})}
                    )

    def _as_answer(self, made: Accept | Reject | Abstain) -> Accept | Reject | Abstain:
        return made.model_copy(
            update={
                "eval_id": eval_id_after(self.now, (entry.eval_id for entry in self.entries)),
                "parent_eval_id": self.entry.eval_id,
                "created_at": self.now,
                "signals": {**made.signals, DIGEST_SIGNAL: self.judge_digest},
            }
        )


class ShadowArchive:
    """The Archive port of a shadow evaluation: keeps only what a model's unusable reply leaves, as an event names it.

    The rest is never shown, and can be judged again from its parent's dossier.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        if any(exchange.fault is not None for exchange in audit.exchanges):
            self._archive.store(pull, entry, dossier, audit)


@dataclass(frozen=True)
class Rejudger:
    """Executes orders by the same terms, one after the other."""

    settings: Settings
    store: RecordStore
    terms: RejudgeTerms
    open_judge: OpenJudge

    def execute(self, order: RejudgeOrder) -> OrderResult:
        """Re-evaluate a verdict, unless it has been or can't be. Raises worker.errors."""
        entries = self.store.ledger.entries(order.pull)
        parent = find_entry(entries, order.eval_id)
        if order.eval_id in find_answers(entries, self.terms.law):
            return OrderResult.THERE
        if self._find_refusal():
            self.record_failure(order, FailureMode.RUBRIC_INVALID, parent)
            return OrderResult.INVALID
        result = None
        try:
            if parent is not None and self.terms.weighs is not None:
                result = self._rescore(order, parent, entries)
            elif parent is not None and (dossier := self.store.archive.find(order.eval_id)) is not None:
                result = self._rejudge(order, parent, dossier)
        except LeaseLost:  # the repository was forgotten meanwhile: no model is asked about it, and nothing is recorded
            return OrderResult.GONE
        if result is None:
            self.record_failure(order, FailureMode.SUBJECT_NOT_FOUND, parent)
        return result or OrderResult.GONE

    def _rescore(self, order: RejudgeOrder, parent: LedgerEntry, entries: Sequence[LedgerEntry]) -> OrderResult | None:
        """None: what the verdict is derived from is gone. Raises LeaseLost."""
        rubric = load_scoring_rubric(order.kind, self.terms.rubric)
        rejudged = find_answers(entries, self.terms.judgings)
        rescoring = Rescoring(parent, entries, rejudged, self.terms.law, SystemClock().now())
        if isinstance(rubric, CiCheckRubric):
            submission = rescoring.submission()
            dossier = self.store.archive.find(submission.eval_id) if submission is not None else None
            check = rescoring.rescore_check(order.subject_id, dossier, rubric) if dossier is not None else None
            verdict, part = (None, "") if check is None else (check.verdict, check.part)
        else:
            outcomes = self.store.outcomes.outcomes_of(order.pull)
            verdict, part = rescoring.rescore_pull_request(outcomes, rubric), ""
        if verdict is None:
            return None
        answer = derived_entry(parent, verdict)
        self.store.ledger.append(order.pull, answer, whole_evaluation_events(answer, EvalTrigger.BATCH, part))
        return OrderResult.JUDGED

    def _rejudge(self, order: RejudgeOrder, parent: LedgerEntry, dossier: Dossier) -> OrderResult:
        """Raises LeaseLost."""
        terms, store = self.terms, self.store
        with self.open_judge(terms, order.pull) as context:
            digest = judge_digest(context.rubric, context.prompt.version, context.judges)
            if context.pause is None and digest != terms.law:
                LOG.error("judge settings differ from the order: %s", context.judges)
                self.record_failure(order, FailureMode.JUDGE_CALL_FAILED, parent)
                return OrderResult.UNLIKE
            judged = judge_recorded(parent, dossier, context)
        is_full = judged.verdict.throttled_reason is not None and not terms.is_canary and terms.is_full(store)
        if is_full and judged.verdict.judge_cost_usd == 0:
            return OrderResult.FULL
        signals = {**judged.verdict.signals, **terms.signals}
        judged = replace(judged, verdict=judged.verdict.model_copy(update={"signals": signals}))
        archive = ShadowArchive(store.archive) if terms.is_canary else store.archive
        stores, publishing = VerdictStores(store.ledger, archive), event_publishing(self.settings, terms.trigger)
        record_beside(parent, judged, dossier, stores, publishing)
        return OrderResult.FULL if is_full else OrderResult.JUDGED

    def _find_refusal(self) -> str | None:
        """Why the rubric or the prompt can't be used: gone, malformed, or changed since."""
        terms, rubrics = self.terms, self.store.rubrics
        try:
            rubric, shipped = _load_rubric(terms, terms.rubric), _load_rubric(terms)
            load_prompt(terms.prompt)
        except InputError as error:
            LOG.warning("rubric unusable: %s", error)
            return str(error)
        if rubric_digest(rubric) != terms.digest:
            LOG.warning("rubric changed while a re-evaluation waited", extra={"rubric": rubric.id})
            return "changed"
        refused = rubrics.refusal(shipped)
        if refused is None and terms.rubric is not None:
            refused = rubrics.refusal(rubric, str(terms.rubric))
        if refused:
            LOG.warning("rubric unusable: %s", refused)
        return refused

    def execute_or_halt(self, order: RejudgeOrder) -> OrderResult | Halt:
        """As execute. At the run's limit no other order can be executed."""
        result = self.execute(order)
        return Halt(self.terms.limit_reached) if result is OrderResult.FULL else result

    def record_failure(self, order: RejudgeOrder, mode: FailureMode, parent: LedgerEntry | None = None) -> None:
        """Publish that an order failed; of a repository that was forgotten meanwhile nothing is published."""
        if parent is None and not self.store.ledger.entries(order.pull):
            return
        terms = self.terms
        _, _, head, *_ = [*order.subject_id.split("/"), "", ""]
        try:
            subject = (
                parent.verdict.subject
                if parent
                else Subject(
                    kind=order.kind,
                    installation_id=order.pull.installation_id,
                    repository_id=order.pull.repository_id,
                    repository=UNKNOWN_REPOSITORY,
                    number=order.pull.number,
                    head_sha=UNKNOWN_SHA if order.kind is SubjectKind.PULL_REQUEST else head,
                )
            )
        except ValidationError:  # the event that named it was malformed
            LOG.error("failure not published, order without a head", extra={"eval_id": order.eval_id})  # noqa: TRY400 - no bug
            return
        eval_id = new_eval_id(SystemClock().now())
        planned = JudgeKind(terms.tier) if self.settings.model is not None else JudgeKind.HEURISTIC
        begun = EvaluationStarted(eval_id, subject, terms.rubric_id, terms.rubric_version, planned, terms.trigger)
        named = {"subject_id": order.subject_id}  # a CI check's own: its ledger entry does not have its name
        about = {"parent_eval_id": order.eval_id, "signals": terms.signals, "trigger": terms.trigger.value}
        started, failed = started_event(begun), failed_event(begun, mode)
        started = replace(started, body={**started.body, **named})
        failed = replace(failed, body={**failed.body, **named, **about})
        self.store.events.publish(order.pull.installation_id, eval_id, started, failed)


def judge_recorded(parent: LedgerEntry, dossier: Dossier, context: JudgeContext) -> EvaluatedVerdict:
    """Judge a recorded dossier as a child of its verdict."""
    header = create_child_header(parent.verdict, dossier, context, SystemClock())
    return judge_with_record(dossier, header, context)


def find_answers(entries: Sequence[LedgerEntry], judge_digest: str) -> dict[EvalId, LedgerEntry]:
    """Final re-evaluations by this law, by the verdict that each answers."""
    return {
        entry.verdict.parent_eval_id: entry
        for entry in entries
        if entry.verdict.signals.get(DIGEST_SIGNAL) == judge_digest
        and entry.verdict.parent_eval_id is not None
        and entry.verdict.throttled_reason is None
        and entry.verdict.abstain_reason not in UNFINISHED_REASONS
    }


def with_model(settings: Settings, model: str | None) -> Settings:
    """The same settings with this model, and no choice left to repositories."""
    if model is None or settings.model is None:
        return settings
    return replace(settings, model=replace(settings.model, name=model), models=())


def complete_terms(terms: RejudgeTerms, open_judge: OpenJudge) -> RejudgeTerms:
    """The terms with the law and the rubric's names. Raises InputError."""
    with open_judge(terms, None) as context:
        rubric = context.rubric
        completed = {
            "law": judge_digest(rubric, context.prompt.version, context.judges),
            "digest": rubric_digest(rubric),
            "rubric_id": rubric.id,
            "rubric_version": rubric.version,
        }
    return terms.model_copy(update=completed)


def rescore_terms(kind: SubjectKind, weights: Path | None, submission_terms: RejudgeTerms) -> RejudgeTerms:
    """The terms of deriving verdicts of this kind again. *submission_terms*: how their submissions are re-evaluated."""
    rubric = load_scoring_rubric(kind, weights)
    return RejudgeTerms(
        law=scoring_digest(rubric, submission_terms.law),
        digest=rubric_digest(rubric),
        rubric_id=rubric.id,
        rubric_version=rubric.version,
        tier=JudgeKind.HEURISTIC.value,
        rubric=weights,
        weighs=kind,
        judgings=submission_terms.law,
        over=f"{submission_terms.rubric_id} {submission_terms.rubric_version}",
    )


def _load_rubric(terms: RejudgeTerms, path: Path | None = None) -> VersionedRubric:
    return load_rubric(path) if terms.weighs is None else load_scoring_rubric(terms.weighs, path)


def shadow_terms(settings: Settings, installation: InstallationId, clock: Clock) -> RejudgeTerms:
    """The terms of today's shadow evaluation, before its files are read. Without a budget of its own it asks no model."""
    shadow = settings.shadow
    return RejudgeTerms(
        law="",
        digest="",
        rubric_id="canary",
        rubric_version="canary",
        tier=settings.tier if shadow.day_usd else "heuristic",
        rubric=shadow.rubric,
        prompt=shadow.prompt,
        book=f"canary:{installation}:{clock.now():%Y-%m-%d}" if shadow.day_usd else "",
        limit_usd=shadow.day_usd,
        is_capped=False,
        is_canary=True,
    )


def make_shadow_order(store: RecordStore, pull: PullRef) -> RejudgeOrder | None:
    """The pull request's last verdict, unless it was carried over or no model may be asked about its author's changes."""
    entries = [entry for entry in store.ledger.entries(pull) if entry.verdict.parent_eval_id is None]
    last = max(entries, key=lambda entry: entry.eval_id, default=None)
    if last is None or last.verdict.carried_from is not None:
        return None
    if last.verdict.signals.get("escalation_skipped") == ModelSkipReason.OUTSIDER:
        return None
    subject = last.verdict.subject
    return RejudgeOrder(pull=pull, eval_id=last.eval_id, subject_id=subject_id(subject), kind=subject.kind)


def make_order(verdict: RecordedVerdict) -> RejudgeOrder:
    """The order to re-evaluate a verdict that is not superseded."""
    return RejudgeOrder(
        pull=verdict.pull, eval_id=verdict.eval_id, subject_id=verdict.subject_id, kind=verdict.subject_kind
    )


@dataclass(frozen=True)
class RejudgeRun:
    """What is re-evaluated, by what terms."""

    settings: Settings
    store: RecordStore
    terms: RejudgeTerms
    orders: Sequence[RejudgeOrder]

    def run_locally(self, opening: WorkerOpener[RejudgeOrder, OrderResult | Halt], jobs: int) -> Generator[int]:
        """Execute the orders in so many processes; yields how many are. Raises HaltedError where the run's limit is reached."""
        results = run_tasks(opening, self.orders, min(jobs, len(self.orders)))
        yield from (done for done, _ in enumerate(results, start=1))

    def run_by_workers(self, surveyor: Surveyor) -> Generator[int]:
        """Have the workers of a server execute the orders; yields how many are, as their answers are read off the stream."""
        from worker.scheduling.queue import EvaluateQueue  # noqa: PLC0415 - loads RQ, which a run in this process does without

        waiting = {order.eval_id: f"anew-{order.eval_id}-{self.terms.law}" for order in self.orders}
        done = 0
        with closing(EvaluateQueue.from_settings(self.settings)) as queue:
            try:
                for order in self.orders:
                    task = RejudgeTask(pull=order.pull, order=order, terms=self.terms)
                    queue.submit(waiting[order.eval_id], task.model_dump_json())
                answered_at = time.monotonic()
                while waiting and not self.terms.is_full(self.store):
                    for answer in surveyor.read_new():
                        if answer.parent_eval_id is not None and waiting.pop(answer.parent_eval_id, None):
                            answered_at = time.monotonic()
                            done += 1
                            yield done
                    if time.monotonic() - answered_at > IDLE_S:
                        left = queue.find_unfinished(waiting.values()) if queue.workers() else ()
                        queue.withdraw([name for name in waiting.values() if name not in left])
                        waiting = {eval_id: name for eval_id, name in waiting.items() if name in left}
                    time.sleep(POLL_S)
            finally:
                queue.withdraw(waiting.values())


def has_workers(settings: Settings) -> bool:
    """Whether a running server has workers for re-evaluations."""
    from worker.scheduling.queue import EvaluateQueue  # noqa: PLC0415 - loads RQ

    with closing(EvaluateQueue.from_settings(settings)) as queue:
        return queue.workers() > 0


def forecast_run(run: RejudgeRun, open_judge: OpenJudge, meter: CostMeter) -> Forecast:
    """What the model of the run would cost."""

    def judge(order: RejudgeOrder) -> EvaluatedVerdict | None:
        parent = find_entry(run.store.ledger.entries(order.pull), order.eval_id)
        dossier = run.store.archive.find(order.eval_id)
        if parent is None or dossier is None:
            return None
        with open_judge(run.terms, order.pull) as context:
            return judge_recorded(parent, dossier, with_meter(context, meter))

    return forecast_cost(run.orders, len(run.orders), judge, meter)
