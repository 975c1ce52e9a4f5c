"""One recorded subject judged anew: its dossier found, judged by the terms of a run, recorded beside its verdict.

What code alone makes of other verdicts (`worker.evaluation.rescore`) is made again from those, and recorded likewise.

Does not choose what is judged (`worker.evaluation.survey`) and publishes nothing. Invariant: what was judged by these terms already is
not judged again; every evaluation that begins here ends once, as an entry of the ledger or told as failed; a run's limit is
never passed, and what it kept from being asked is not recorded unless something of it is paid for already.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import EvalId, new_eval_id
from worker.domain.model import Frozen
from worker.domain.ports import Archive
from worker.domain.request.judge_request import PullRef
from worker.domain.value import replace
from worker.domain.verdict.audit import AuditRecord, EvaluatedVerdict
from worker.domain.verdict.events import EvalTrigger, EvaluationStarted, FailureMode, failed_event, started_event
from worker.domain.verdict.judge_digest import DIGEST_SIGNAL, SHADOW_SIGNAL, judge_digest, rubric_digest, scoring_digest
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcome_rubric import CiCheckRubric
from worker.domain.verdict.rubric import VersionedRubric
from worker.domain.verdict.verdict import Abstain, Accept, JudgeKind, Reject, Subject, SubjectKind
from worker.errors import InputError, LeaseLost
from worker.evaluation.rescore import Rescoring, load_scoring_rubric
from worker.evaluation.supersession import UNFINISHED_REASONS
from worker.judge.context import JudgeContext
from worker.judge.judge import judge_with_record
from worker.judge.replay import create_child_header
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.outcomes import derived_entry, whole_evaluation_events
from worker.scheduling.record import VerdictStores, event_publishing, record_beside
from worker.settings import Settings

LOG: Final = logging.getLogger(__name__)
OpenJudge = Callable[[Settings, Store | None, "RejudgeTerms", PullRef | None], AbstractContextManager[JudgeContext]]
"""Opens the judge of these terms, paid by a pull request; without one it is opened only to read its names."""

UNKNOWN_REPOSITORY: Final = "forgotten/forgotten"
"""A repository of which only numbers are left."""

UNKNOWN_SHA: Final = "0" * 40
"""Of a pull request that nothing is left of. Nobody is told of it."""


class RejudgeTerms(Frozen):
    """How a run judges. `law`: the hash of all of it that a verdict depends on; `book`: whose money it spends, "" nobody's.

    `weighs`: the kind of verdicts that code makes again of others, by the weights of `rubric`; None: the court judges.
    `judgings`: the law by which those others may have been judged anew, and `over` its rubric's name.
    Small JSON, so that it travels with each job: files are named, and read where it is judged.
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


class RejudgeOrder(Frozen):
    """Judge this verdict anew. `subject_id`: what it was told as, should nothing else be left."""

    pull: PullRef
    eval_id: EvalId
    subject_id: str
    kind: SubjectKind = SubjectKind.SUBMISSION

    def __str__(self) -> str:
        return self.eval_id


class OrderResult(StrEnum):
    """What became of an order. FULL: the run's limit is reached; UNLIKE: this process would judge by another law."""

    JUDGED = "judged"
    THERE = "there"
    GONE = "gone"
    INVALID = "invalid"
    UNLIKE = "unlike"
    FULL = "full"


class ShadowArchive:
    """The Archive port of a canary: what is shown to nobody, and can be made again from its parent's dossier.

    Only where a model's reply could not be used it is kept: the event that tells of it says so.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        if any(exchange.fault is not None for exchange in audit.exchanges):
            self._archive.store(pull, entry, dossier, audit)


class Rejudger:
    """Where a process judges anew, one order after the other."""

    def __init__(self, settings: Settings, store: Store, terms: RejudgeTerms, open_judge: OpenJudge) -> None:
        self._settings = settings
        self._store = store
        self._terms = terms
        self._open_judge = open_judge

    def execute(self, order: RejudgeOrder) -> OrderResult:
        """Judge it anew, unless it was or can't be. Raises worker.errors."""
        entries = self._store.ledger.entries(order.pull)
        parent = next((entry for entry in entries if entry.eval_id == order.eval_id), None)
        if any(is_answer(entry.verdict, order.eval_id, self._terms.law) for entry in entries):
            return OrderResult.THERE
        if self._find_refusal():
            self.record_failure(order, FailureMode.RUBRIC_INVALID, parent)
            return OrderResult.INVALID
        if self._terms.weighs is not None:
            return self._rescore(order, parent, entries)
        dossier = self._store.archive.find(order.eval_id) if parent is not None else None
        if parent is None or dossier is None:
            self.record_failure(order, FailureMode.SUBJECT_NOT_FOUND, parent)
            return OrderResult.GONE
        return self._rejudge(order, parent, dossier)

    def _rescore(self, order: RejudgeOrder, parent: LedgerEntry | None, entries: Sequence[LedgerEntry]) -> OrderResult:
        made = None if parent is None else self._rescored_verdict(order, parent, entries)
        if parent is None or made is None:
            self.record_failure(order, FailureMode.SUBJECT_NOT_FOUND, parent)
            return OrderResult.GONE
        verdict, part = made
        answer = derived_entry(parent, verdict)
        try:
            self._store.ledger.append(order.pull, answer, whole_evaluation_events(answer, EvalTrigger.BATCH, part))
        except LeaseLost:  # it was forgotten meanwhile
            return OrderResult.GONE
        return OrderResult.JUDGED

    def _rescored_verdict(
        self, order: RejudgeOrder, parent: LedgerEntry, entries: Sequence[LedgerEntry]
    ) -> tuple[Accept | Reject | Abstain, str] | None:
        """The verdict by other weights, and which part of its head it is on; None: what it is made of is gone."""
        weights, law = load_scoring_rubric(order.kind, self._terms.rubric), self._terms.judgings
        anew = {entry.verdict.parent_eval_id: entry for entry in entries if is_rejudged_by(entry.verdict, law)}
        answers = {eval_id: entry for eval_id, entry in anew.items() if eval_id is not None}
        weighing = Rescoring(parent, entries, answers, self._terms.law, SystemClock().now())
        if isinstance(weights, CiCheckRubric):
            submission = weighing.submission()
            dossier = self._store.archive.find(submission.eval_id) if submission is not None else None
            check = weighing.rescore_check(order.subject_id, dossier, weights) if dossier is not None else None
            return None if check is None else (check.verdict, check.part)
        whole = weighing.rescore_pull_request(self._store.outcomes.outcomes_of(order.pull), weights)
        return None if whole is None else (whole, "")

    def _rejudge(self, order: RejudgeOrder, parent: LedgerEntry, dossier: Dossier) -> OrderResult:
        with self._open_judge(self._settings, self._store, self._terms, order.pull) as bench:
            if (
                bench.pause is None
                and judge_digest(bench.rubric, bench.prompt.version, bench.judges) != self._terms.law
            ):
                LOG.error("this process judges otherwise than whoever asked: %s", bench.judges)
                self.record_failure(order, FailureMode.JUDGE_CALL_FAILED, parent)
                return OrderResult.UNLIKE
            try:
                heard = _judge(parent, dossier, bench, self._terms)
            except LeaseLost:  # it was forgotten meanwhile, and nobody is asked about it any more
                return OrderResult.GONE
        is_full = heard.verdict.throttled_reason is not None and not self._terms.is_canary and self._is_full()
        if is_full and heard.verdict.judge_cost_usd == 0:
            return OrderResult.FULL
        try:
            self._record(parent, heard, dossier)
        except LeaseLost:  # it was forgotten while it was judged
            return OrderResult.GONE
        return OrderResult.FULL if is_full else OrderResult.JUDGED

    def _find_refusal(self) -> str | None:
        """Why the rubric or the prompt can't be judged by (any more): gone, malformed, or another one now."""
        terms = self._terms
        try:
            rubric, shipped = _rubric(terms, terms.rubric), _rubric(terms)
            load_prompt(terms.prompt)
        except InputError as error:
            LOG.warning("the rubric can't be used: %s", error)
            return str(error)
        if rubric_digest(rubric) != terms.digest:
            LOG.warning("the rubric was changed while a judging by it waited", extra={"rubric": rubric.id})
            return "changed"
        refused = self._store.rubrics.refusal(shipped)
        if refused is None and terms.rubric is not None:
            refused = self._store.rubrics.refusal(rubric, str(terms.rubric))
        if refused:
            LOG.warning("the rubric can't be used: %s", refused)
        return refused

    def _is_full(self) -> bool:
        return bool(self._terms.book) and self._store.run_budget(self._terms.book, self._terms.limit_usd).is_full

    def _record(self, parent: LedgerEntry, heard: EvaluatedVerdict, dossier: Dossier) -> None:
        archive: Archive = ShadowArchive(self._store.archive) if self._terms.is_canary else self._store.archive
        trigger = EvalTrigger.BUS if self._terms.is_canary else EvalTrigger.BATCH
        record_beside(
            parent,
            heard,
            dossier,
            VerdictStores(self._store.ledger, archive),
            event_publishing(self._settings, trigger),
        )

    def record_failure(self, order: RejudgeOrder, mode: FailureMode, parent: LedgerEntry | None = None) -> None:
        """Tell that an order came to nothing; of a repository that was forgotten meanwhile nothing is told any more."""
        if parent is None and not self._store.client.call("EXISTS", keys.ledger(order.pull).name):
            return
        terms = self._terms
        try:
            subject = parent.verdict.subject if parent else _subject(order)
        except ValidationError:  # what it was read from was broken
            LOG.error("an order names no head, and can't be told of", extra={"eval_id": order.eval_id})  # noqa: TRY400 - no bug
            return
        trigger = EvalTrigger.BUS if terms.is_canary else EvalTrigger.BATCH
        eval_id = new_eval_id(SystemClock().now())
        planned = JudgeKind(terms.tier) if self._settings.model is not None else JudgeKind.HEURISTIC
        begun = EvaluationStarted(eval_id, subject, terms.rubric_id, terms.rubric_version, planned, trigger)
        named = {"subject_id": order.subject_id}  # of a check only that is left: its name is nowhere on record
        about = {"parent_eval_id": order.eval_id, "signals": _signals(terms), "trigger": trigger.value}
        begins = started_event(begun)
        begins = replace(begins, body={**begins.body, **named})
        ends = failed_event(begun, mode)
        ends = replace(ends, body={**ends.body, **named, **about})
        self._store.events.publish(order.pull.installation_id, eval_id, begins, ends)


def is_answer(verdict: Accept | Reject | Abstain, eval_id: EvalId, law: str) -> bool:
    """Whether this judged that verdict anew by this law, and need not be asked again."""
    return verdict.parent_eval_id == eval_id and is_rejudged_by(verdict, law)


def is_rejudged_by(verdict: Accept | Reject | Abstain, law: str) -> bool:
    """Whether this is a judging anew by this law that need not be made again."""
    if verdict.signals.get(DIGEST_SIGNAL) != law:
        return False
    return verdict.throttled_reason is None and verdict.abstain_reason not in UNFINISHED_REASONS


def with_model(settings: Settings, model: str | None) -> Settings:
    """The same settings with this model, and no choice left to repositories."""
    if model is None or settings.model is None:
        return settings
    return replace(settings, model=replace(settings.model, name=model), models=())


def complete_terms(settings: Settings, terms: RejudgeTerms, open_judge: OpenJudge) -> RejudgeTerms:
    """The terms with what they come to under these settings: the law and the rubric's names. Raises InputError."""
    with open_judge(settings, None, terms, None) as bench:
        rubric, prompt = bench.rubric, bench.prompt
        completed = {
            "law": judge_digest(rubric, prompt.version, bench.judges),
            "digest": rubric_digest(rubric),
            "rubric_id": rubric.id,
            "rubric_version": rubric.version,
        }
    return terms.model_copy(update=completed)


def rescore_terms(kind: SubjectKind, weights: Path | None, submission_terms: RejudgeTerms) -> RejudgeTerms:
    """The terms of weighing again what code alone weighs. *submission_terms*: how its submissions would be judged anew."""
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


def _rubric(terms: RejudgeTerms, path: Path | None = None) -> VersionedRubric:
    return load_rubric(path) if terms.weighs is None else load_scoring_rubric(terms.weighs, path)


def _judge(parent: LedgerEntry, dossier: Dossier, bench: JudgeContext, terms: RejudgeTerms) -> EvaluatedVerdict:
    heard = judge_with_record(dossier, create_child_header(parent.verdict, dossier, bench, SystemClock()), bench)
    signals = {**heard.verdict.signals, **_signals(terms)}
    return replace(heard, verdict=heard.verdict.model_copy(update={"signals": signals}))


def _signals(terms: RejudgeTerms) -> dict[str, str | bool]:
    return {DIGEST_SIGNAL: terms.law, **({SHADOW_SIGNAL: True} if terms.is_canary else {})}


def _subject(order: RejudgeOrder) -> Subject:
    """What is known of a subject whose entry is gone: its numbers and its head. Raises pydantic's error for no head."""
    _, _, head, *_ = [*order.subject_id.split("/"), "", ""]
    is_whole = order.kind is SubjectKind.PULL_REQUEST
    return Subject(
        kind=order.kind,
        installation_id=order.pull.installation_id,
        repository_id=order.pull.repository_id,
        repository=UNKNOWN_REPOSITORY,
        number=order.pull.number,
        head_sha=UNKNOWN_SHA if is_whole else head,
    )
