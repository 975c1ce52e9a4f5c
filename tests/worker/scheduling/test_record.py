"""Each opinion is an entry of its own beside the verdict it led to, and decides nothing in later rounds."""

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
from worker.adapters.redis.connection.encryption import Codec
from worker.adapters.redis.store import Store
from worker.domain.dossier import Ci, CiCheck, CiState, Dossier
from worker.domain.ids import BaseHash, InstallationId, RepositoryId, new_eval_id
from worker.domain.judge_request import PullRef
from worker.domain.ports import EntryWithEvents
from worker.domain.verdict.audit import AuditRecord
from worker.domain.verdict.events import EvalTrigger, EvaluationStarted, Event
from worker.domain.verdict.ledger import LedgerEntry
from worker.judge.judge import fingerprint_of, judge_with_record
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


class Shelf:
    """A ledger and an archive that write down what they are told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, LedgerEntry]] = []
        self.events: dict[str, list[str]] = {}
        self.appended = 0

    def store(self, pull: PullRef, entry: LedgerEntry, dossier: Dossier, audit: AuditRecord) -> None:
        assert (pull, dossier.diff, audit.eval_id) == (PULL, DIFF, entry.eval_id)
        self.told.append(("archive", entry))

    def append(
        self,
        pull: PullRef,
        entry: LedgerEntry,
        events: Sequence[Event] = (),
        child_entries: Sequence[EntryWithEvents] = (),
    ) -> None:
        assert pull == PULL
        self.appended += 1
        for one, said in ((entry, events), *child_entries):
            self.told.append(("ledger", one))
            self.events[one.eval_id] = [each.kind.value for each in said]

    def record_started(self, pull: PullRef, fence: int, evaluation: EvaluationStarted) -> None:
        raise NotImplementedError

    def record_ended(self, pull: PullRef, event: Event) -> bool:
        raise NotImplementedError

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        return tuple(one for where, one in self.told if where == "ledger" and pull == PULL)


class Held:
    """A lease that is never lost."""

    fence = 3

    def renew(self) -> None:
        """It is kept."""


def test_opinions_are_recorded_beside_their_verdict_in_the_same_step() -> None:
    heard = judge_with_record(
        dossier(),
        evaluation_header(),
        replace(judge_context(model_of(reject_answer())), second_model=model_of(accept_answer())),
    )
    shelf = Shelf()
    made = record(PULL, heard, dossier(), VerdictRecorder(shelf, shelf, shelf, Held()))
    written = [(where, one.verdict.signals.get("opinion_of"), one.fence) for where, one in shelf.told]
    assert written == [
        ("archive", None, 3),
        ("archive", "first", 3),
        ("archive", "second", 3),
        ("ledger", None, 3),
        ("ledger", "first", 3),
        ("ledger", "second", 3),
    ]
    assert shelf.appended == 1, "or whoever dies in between loses some"
    beside = [one for _, one in shelf.told if one.eval_id != made.eval_id]
    assert {one.verdict.parent_eval_id for one in beside} == {made.eval_id}
    assert all(one.open_conditions == () for one in beside)
    children = [shelf.events[one.eval_id] for where, one in shelf.told[4:] if where == "ledger"]
    assert made.verdict.signals["child_eval_ids"] == tuple(one.eval_id for _, one in shelf.told[4:])
    assert shelf.events[made.eval_id] == ["eval.completed"], "it was told when it began"
    assert children == [["eval.started", "eval.completed"]] * 2


class Watching:
    """Who is told that a verdict is about to be recorded."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.seen: list[tuple[str, tuple[tuple[str, int], ...], int]] = []

    def begin_submission(self, pull: PullRef, author: str, base: BaseHash, issues: tuple[tuple[str, int], ...]) -> bool:
        raise AssertionError(pull, author, base, issues)

    def add_verdict(self, pull: PullRef, entry: LedgerEntry, issues: tuple[tuple[str, int], ...]) -> None:
        assert pull == PULL
        self.seen.append((entry.eval_id, issues, len(self.shelf.entries(pull))))


def test_each_check_of_the_head_is_recorded_beside_its_submission_and_people_are_watched_from_before_on() -> None:
    checks = (CiCheck(name="test", conclusion="success"), CiCheck(name="lint", conclusion="skipped"))
    here = dossier(ci=Ci(state=CiState.SUCCESS, checks=checks))
    heard = judge_with_record(here, evaluation_header(), judge_context(model_of(accept_answer())))
    shelf = Shelf()
    watching = Watching(shelf)
    made = record(PULL, heard, here, VerdictRecorder(shelf, shelf, shelf, Held(), submissions=watching))
    closes = tuple((one.repository or here.pull_request.repository, one.number) for one in here.issues)
    assert watching.seen == [(made.eval_id, closes, 0)], "before the entry, so that a close right after it is heard"
    assert shelf.appended == 1
    submission, *children = [one for where, one in shelf.told if where == "ledger"]
    assert submission == made
    assert made.verdict.signals["child_eval_ids"] == tuple(one.eval_id for one in children)
    assert [one.verdict.subject.kind.value for one in children] == ["ci_check", "ci_check"]
    assert {one.verdict.parent_eval_id for one in children} == {made.eval_id}
    assert [shelf.events[one.eval_id] for one in children] == [["eval.started", "eval.completed"]] * 2
    assert all(one.fence == 3 and not one.changed_lines for one in children)
    assert len([one for where, one in shelf.told if where == "archive"]) == 1, "they were made from the same dossier"
    known = tuple(one for one in shelf.entries(PULL) if one.verdict.parent_eval_id is None)
    assert known == (submission,), "what a judge is shown"


@pytest.mark.parametrize("ci", [None, Ci(state=CiState.MISSING)])
def test_a_head_without_checks_has_none_on_record(ci: Ci | None) -> None:
    here = dossier(ci=ci)
    shelf = Shelf()
    heard = judge_with_record(here, evaluation_header(), judge_context(model_of(accept_answer())))
    record(PULL, heard, here, VerdictRecorder(shelf, shelf, shelf, Held(), submissions=Watching(shelf)))
    (made,) = shelf.entries(PULL)
    assert "child_eval_ids" not in made.verdict.signals


def test_a_verdict_that_is_carried_over_names_no_children_of_the_first_one() -> None:
    shelf = Shelf()
    heard = judge_with_record(dossier(), evaluation_header(), judge_context(model_of(accept_answer())))
    first = heard.verdict.model_copy(update={"signals": {"child_eval_ids": ("a",), "findings": 1}})
    made = record(PULL, replace(heard, verdict=first), dossier(), VerdictRecorder(shelf, shelf, shelf, Held()))
    assert made.verdict.signals == {"findings": 1}


def test_a_judging_anew_keeps_its_opinions_beside_itself() -> None:
    asked = replace(judge_context(model_of(accept_answer(), accept_answer(), accept_answer())), is_panel=True)
    heard = judge_with_record(dossier(), evaluation_header(), asked)
    shelf = Shelf()
    record_beside(
        ledger_entry(reject_verdict()),
        heard,
        dossier(),
        VerdictStores(shelf, shelf),
        EventPublishing(EvalTrigger.BATCH),
    )
    assert shelf.appended == 1
    parents = [one.verdict.parent_eval_id for where, one in shelf.told if where == "ledger"]
    assert parents == [None, *[heard.verdict.eval_id] * 3]


@pytest.mark.parametrize(("contest", "asked"), [(None, 0), ("Look again.", 1)])
def test_a_contested_verdict_is_not_carried_over(contest: str | None, asked: int) -> None:
    model = model_of(accept_answer())
    judges = judge_context(model)
    content = fingerprint_of(dossier(), judges)
    known = judge_with_record(
        dossier(), evaluation_header(fingerprint=content), judge_context(model_of(accept_answer()))
    ).verdict
    of: Dossier = dossier(ledger=[ledger_entry(known)], contest=contest)
    assert carry_over_or_judge(of, evaluation_header(fingerprint=content), judges).verdict.decision == "accept"
    assert len(model.prompts) == asked


def test_the_newest_verdict_on_the_pull_request_itself_counts(store: Store) -> None:
    memory = PreviousDossier(store.ledger, store.archive)
    assert memory(pull_ref()) is None
    judge_head(store, diff="first", head=HEAD)
    newest = judge_head(store, diff="second", head=NEWER)
    found = memory(pull_ref())
    assert found
    assert found.diff == "second"
    beside = newest.verdict.model_copy(
        update={"eval_id": new_eval_id(newest.created_at), "parent_eval_id": newest.eval_id}
    )
    judge_head(store, verdict=beside, diff="of a group")
    assert memory(pull_ref()) == found
    assert memory(pull_ref(2)) is None


def test_what_is_not_kept_or_can_not_be_read_is_not_remembered(store: Store) -> None:
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
