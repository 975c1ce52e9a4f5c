"""Records of verdicts: the ledger entry, its child entries, the dossier and the events."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.worker.adapters.redis.outcome_samples import judge_head
from tests.worker.adapters.redis.store_samples import HEAD, NEWER, pull_ref
from tests.worker.judge.samples import (
    DIFF,
    accept_answer,
    dossier,
    evaluation_header,
    judge_context,
    ledger_entry,
    model_of,
    reject_answer,
    reject_verdict,
)
from tests.worker.publishing.texts.samples import accepted
from tests.worker.publishing.texts.samples import dossier as stored
from worker.adapters.redis import keys
from worker.adapters.redis.encryption_and_tokens import Codec
from worker.adapters.redis.store import Store
from worker.domain.dossier import Ci, CiCheck, CiState, Dossier
from worker.domain.judge_request import PullRef
from worker.domain.model import BaseHash, InstallationId, RepositoryId, new_eval_id
from worker.domain.ports import EntryWithEvents
from worker.domain.verdict.audit import AuditRecord, EvaluatedVerdict
from worker.domain.verdict.events import EvalTrigger, EvaluationStarted, Event
from worker.domain.verdict.ledger import LedgerEntry
from worker.judge.fingerprint import fingerprint_of
from worker.judge.judge import judge_with_record
from worker.scheduling.pipeline import carry_over_or_judge
from worker.scheduling.record import (
    EventPublishing,
    PreviousDossier,
    VerdictRecorder,
    VerdictStores,
    record,
    record_beside,
)

PULL = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=12)


class RecordingStore:
    """A ledger and an archive that record their writes in order."""

    def __init__(self) -> None:
        self.writes: list[tuple[str, LedgerEntry]] = []
        self.events: dict[str, list[str]] = {}
        self.appended = 0

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        assert (pull, dossier.diff, audit.eval_id) == (PULL, DIFF, entry.eval_id)
        self.writes.append(("archive", entry))

    def append(
        self,
        pull: PullRef,
        entry: LedgerEntry,
        events: Sequence[Event] = (),
        child_entries: Sequence[EntryWithEvents] = (),
    ) -> None:
        assert pull == PULL
        self.appended += 1
        for appended, its_events in ((entry, events), *child_entries):
            self.writes.append(("ledger", appended))
            self.events[appended.eval_id] = [event.kind.value for event in its_events]

    def record_started(self, pull: PullRef, fence: int, evaluation: EvaluationStarted) -> None:
        raise NotImplementedError

    def record_ended(self, pull: PullRef, event: Event) -> bool:
        raise NotImplementedError

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        return tuple(entry for where, entry in self.writes if where == "ledger" and pull == PULL)


class FakeLease:
    fence = 3

    def renew(self) -> None:
        """Never fail."""


class FakeSubmissions:
    """Submissions that record each verdict before it is in the ledger."""

    def __init__(self, store: RecordingStore) -> None:
        self.store = store
        self.seen: list[tuple[str, tuple[tuple[str, int], ...], int]] = []

    def begin_submission(self, pull: PullRef, author: str, base: BaseHash, issues: tuple[tuple[str, int], ...]) -> bool:
        raise AssertionError(pull, author, base, issues)

    def add_verdict(self, pull: PullRef, entry: LedgerEntry, issues: tuple[tuple[str, int], ...]) -> None:
        assert pull == PULL
        self.seen.append((entry.eval_id, issues, len(self.store.entries(pull))))


def accept_with_record(read: Dossier) -> EvaluatedVerdict:
    return judge_with_record(read, evaluation_header(), judge_context(model_of(accept_answer())))


def recorder_of(store: RecordingStore, submissions: FakeSubmissions | None = None) -> VerdictRecorder:
    return VerdictRecorder(store, store, store, FakeLease(), submissions=submissions)


def test_opinions_are_recorded_with_their_verdict_in_one_append() -> None:
    context = replace(judge_context(model_of(reject_answer())), second_model=model_of(accept_answer()))
    judged, store = judge_with_record(dossier(), evaluation_header(), context), RecordingStore()
    made = record(PULL, judged, dossier(), recorder_of(store))
    assert [(where, entry.verdict.signals.get("opinion_of"), entry.fence) for where, entry in store.writes] == [
        ("archive", None, 3),
        ("archive", "first", 3),
        ("archive", "second", 3),
        ("ledger", None, 3),
        ("ledger", "first", 3),
        ("ledger", "second", 3),
    ]
    assert store.appended == 1
    opinions = [entry for _, entry in store.writes if entry.eval_id != made.eval_id]
    assert {entry.verdict.parent_eval_id for entry in opinions} == {made.eval_id}
    assert all(entry.open_conditions == () for entry in opinions)
    assert made.verdict.signals["child_eval_ids"] == tuple(entry.eval_id for _, entry in store.writes[4:])
    assert store.events[made.eval_id] == ["eval.completed"], "its start is recorded earlier"
    assert [store.events[entry.eval_id] for _, entry in store.writes[4:]] == [["eval.started", "eval.completed"]] * 2


def test_ci_checks_are_recorded_as_children_after_their_submission() -> None:
    checks = (CiCheck(name="test", conclusion="success"), CiCheck(name="lint", conclusion="skipped"))
    read = dossier(ci=Ci(state=CiState.SUCCESS, checks=checks))
    store = RecordingStore()
    submissions = FakeSubmissions(store)
    made = record(PULL, accept_with_record(read), read, recorder_of(store, submissions))
    issues = tuple((issue.repository or read.pull_request.repository, issue.number) for issue in read.issues)
    assert submissions.seen == [(made.eval_id, issues, 0)], "before the ledger entry"
    assert store.appended == 1
    submission, *children = store.entries(PULL)
    assert submission == made
    assert made.verdict.signals["child_eval_ids"] == tuple(child.eval_id for child in children)
    assert [child.verdict.subject.kind.value for child in children] == ["ci_check", "ci_check"]
    assert {child.verdict.parent_eval_id for child in children} == {made.eval_id}
    assert [store.events[child.eval_id] for child in children] == [["eval.started", "eval.completed"]] * 2
    assert all(child.fence == 3 and not child.changed_lines for child in children)
    assert [where for where, _ in store.writes].count("archive") == 1, "all are of the same dossier"
    assert submission.verdict.parent_eval_id is None


@pytest.mark.parametrize("ci", [None, Ci(state=CiState.MISSING)])
def test_head_without_ci_checks_has_no_child_entries(ci: Ci | None) -> None:
    read, store = dossier(ci=ci), RecordingStore()
    record(PULL, accept_with_record(read), read, recorder_of(store, FakeSubmissions(store)))
    (made,) = store.entries(PULL)
    assert "child_eval_ids" not in made.verdict.signals


def test_carried_verdict_drops_the_children_of_its_origin() -> None:
    judged = accept_with_record(dossier())
    first = judged.verdict.model_copy(update={"signals": {"child_eval_ids": ("a",), "findings": 1}})
    made = record(PULL, replace(judged, verdict=first), dossier(), recorder_of(RecordingStore()))
    assert made.verdict.signals == {"findings": 1}


def test_batch_judging_keeps_its_opinions_as_children() -> None:
    asked = replace(judge_context(model_of(accept_answer(), accept_answer(), accept_answer())), is_panel=True)
    judged, store = judge_with_record(dossier(), evaluation_header(), asked), RecordingStore()
    stores, publishing = VerdictStores(store, store), EventPublishing(EvalTrigger.BATCH)
    record_beside(ledger_entry(reject_verdict()), judged, dossier(), stores, publishing)
    assert store.appended == 1
    parents = [entry.verdict.parent_eval_id for entry in store.entries(PULL)]
    assert parents == [None, *[judged.verdict.eval_id] * 3]


@pytest.mark.parametrize(("contest", "asked"), [(None, 0), ("Look again.", 1)])
def test_contested_verdict_is_not_carried_over(contest: str | None, asked: int) -> None:
    model = model_of(accept_answer())
    context = judge_context(model)
    header = evaluation_header(fingerprint=fingerprint_of(dossier(), context))
    recorded = judge_with_record(dossier(), header, judge_context(model_of(accept_answer()))).verdict
    contested = dossier(ledger=[ledger_entry(recorded)], contest=contest)
    assert carry_over_or_judge(contested, header, context).verdict.decision == "accept"
    assert len(model.prompts) == asked


def test_previous_dossier_is_of_the_newest_verdict_on_the_pull_request(store: Store) -> None:
    memory = PreviousDossier(store.ledger, store.archive)
    assert memory(pull_ref()) is None
    judge_head(store, diff="first", head=HEAD)
    newest = judge_head(store, diff="second", head=NEWER)
    previous = memory(pull_ref())
    assert previous
    assert previous.diff == "second"
    of_group = newest.verdict.model_copy(
        update={"eval_id": new_eval_id(newest.created_at), "parent_eval_id": newest.eval_id}
    )
    judge_head(store, verdict=of_group, diff="of a group")
    assert memory(pull_ref()) == previous
    assert memory(pull_ref(2)) is None


def test_missing_or_unreadable_dossier_is_no_previous_dossier(store: Store) -> None:
    memory = PreviousDossier(store.ledger, store.archive)
    made = judge_head(store, verdict=accepted(), diff="first")
    key = keys.dossier(made.eval_id).name
    later = json.dumps(stored(diff="").model_dump(mode="json") | {"dossier_version": 2}).encode()
    for sealed in (store.codec.seal(later, key), Codec([bytes(range(32))]).seal(later, key)):
        store.client.call("SET", key, sealed)
        assert memory(pull_ref()) is None
    store.client.call("SET", key, b"junk")
    assert memory(pull_ref()) is None
    store.client.call("DEL", key)
    assert memory(pull_ref()) is None
