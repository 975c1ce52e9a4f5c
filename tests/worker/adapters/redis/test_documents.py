"""Small documents: configurations, decisions of people, rubric versions, and notes of comments and uploads."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    judge_request,
    pull_ref,
    register_pull_requests,
    ttl_s,
)
from tests.worker.adapters.redis.test_lease_writes import dependencies, start_judging_new
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.redis import keys
from worker.adapters.redis.records.documents import MOST_ANSWERS
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.author_comment import CommentRecord
from worker.domain.check.check_run import UploadedSarif, UploadRefusal
from worker.domain.check.overrides import NO_DECISIONS, Contest, Override, ReviewDecision
from worker.domain.dossier import NOT_REPORTED, Ci, CiCheck, CiState, ConfigOrigin, ConfigText, Dossier, Policy
from worker.domain.ids import DeliveryId, EvalId, hash_base
from worker.domain.judge_request import FirstSeen, Trigger
from worker.domain.verdict.rubric import VersionedRubric
from worker.dossier.assemble import complete_dossier
from worker.dossier.config import config_of, with_last_good
from worker.errors import RubricRefused
from worker.judge.rubric import (
    load_ci_check_rubric,
    load_pull_request_rubric,
    load_rubric,
    shipped_rubrics,
)
from worker.scheduling.pipeline import (
    CiWaitPolicy,
    assemble,
    find_ci_wait,
    with_repository_wait,
)
from worker.wiring.cli import RecordedSource

OWN, OWNERS = ConfigOrigin.REPOSITORY, ConfigOrigin.ORGANISATION
KEY = keys.config(pull_ref().installation_id, pull_ref().repository_id, hash_base("main"))

# The last good configuration: kept encrypted, given back where the newest can't be used, forgotten with its repository


def having(
    own: str | None = None, *, owners: str | None = None, is_binary: bool = False, base: str = "main"
) -> Dossier:
    texts = [ConfigText(origin=OWN, text=own)] if own is not None or is_binary else []
    texts += [] if owners is None else [ConfigText(origin=OWNERS, text=owners)]
    read = dossier(config=tuple(texts))
    return read.model_copy(update={"pull_request": read.pull_request.model_copy(update={"base_ref": base})})


def heard(store: Store, read: Dossier) -> list[str | None]:
    """What stands in for each file of it."""
    return [file.last_good for file in with_last_good(read, pull_ref(), store.configs).config]


ROUNDS: dict[str, tuple[list[Dossier], list[str | None]]] = {
    "both are good": ([having("mode: observe", owners="ci_wait: 5m")], [None, None]),
    "one is broken": (
        [having("mode: observe", owners="ci_wait: 5m"), having("mode: x", owners="ci_wait: 5m")],
        ["mode: observe", None],
    ),
    "both are": (
        [having("mode: observe", owners="ci_wait: 5m"), having(is_binary=True, owners="ci_wait: x")],
        ["mode: observe", "ci_wait: 5m"],
    ),
    "the newest good one": ([having("mode: observe"), having("ci_wait: 5m"), having("mode: x")], ["ci_wait: 5m"]),
    "there was none": ([having("mode: x")], [None]),
    "no file": ([having()], []),
    "a deleted one": (
        [
            having("mode: observe", owners="ci_wait: 5m"),
            having(owners="ci_wait: 5m"),
            having("mode: x", owners="a: 1"),
        ],
        [None, "ci_wait: 5m"],
    ),
    "another base": ([having("ci_wait: 5m"), having("mode: x", base="new")], [None]),
    "another base and the owner's": (
        [
            having("ci_wait: 5m"),
            having("mode: observe", owners="mode: block", base="agents-own"),
            having(base="old", owners="mode: block"),
            having("mode: x", owners="x: 1"),
        ],
        ["ci_wait: 5m", "mode: block"],
    ),
}


@pytest.mark.parametrize("case", ROUNDS)
def test_a_file_with_a_mistake_is_replaced_by_the_last_one_without_at_its_base(store: Store, case: str) -> None:
    rounds, stands_in = ROUNDS[case]
    assert [heard(store, read) for read in rounds][-1] == stands_in


def test_what_is_kept_already_is_not_written_again_and_lives_on(store: Store) -> None:
    heard(store, having("mode: observe"))
    before = store.client.call("HGET", KEY.name, OWN)
    store.client.call("EXPIRE", KEY.name, 5)
    heard(store, having("mode: observe"))
    assert store.client.call("HGET", KEY.name, OWN) == before
    assert ttl_s(store, KEY) > 5


def test_what_a_version_remembered_that_knew_no_base_counts_for_nobody(store: Store) -> None:
    before = keys.config(pull_ref().installation_id, pull_ref().repository_id, None)
    sealed = store.codec.seal(b"mode: observe", before.name)
    store.client.call("HSET", before.name, OWN, sealed, f"{OWN}:of", "x")
    assert heard(store, having("mode: x", owners="x: 1")) == [None, None]


def test_the_door_stays_quiet_for_as_long_as_the_newest_good_file_says(store: Store) -> None:
    window = keys.window(pull_ref().installation_id, pull_ref().repository_id, hash_base("main")).name
    for text, kept in (("quiet_window: 2m", b"120000"), ("quiet_window: x", b"120000"), ("mode: block", None)):
        heard(store, having(text))
        heard(store, having("quiet_window: 24h", base="agents-own"))
        assert store.client.call("GET", window) == kept


def test_nobody_reads_in_redis_what_stands_in_it_and_it_goes_with_its_repository(store: Store) -> None:
    heard(store, having("never_send: [canary-of-the-config]"))
    assert b"canary" not in bytes(str(store.client.call("HGETALL", KEY.name)), "utf-8")
    assert KEY.name.startswith(keys.prefix("config", pull_ref().installation_id, pull_ref().repository_id))
    assert "config" in keys.PULL_KEY_KINDS


def test_the_policy_of_a_dossier_is_the_files_and_a_recorded_one_stays() -> None:
    assert complete_dossier(having("mode: observe")).policy == Policy(mode="observe")
    assert complete_dossier(having("ci_wait: 5m")).policy is None
    recorded = having("mode: observe").model_copy(update={"policy": Policy(model="x")})
    assert complete_dossier(recorded).policy == Policy(model="x")


def test_what_is_judged_has_the_files_policy_with_the_demoted_signals_in_it(store: Store) -> None:
    heard(store, having("signals: {stub_body: off}"))
    recorded = dependencies(store, having("signals: {stub_body: x}"), start_judging_new(store).lease)
    demoted = frozenset({"stub_body", "test_empty"})
    deps = replace(recorded, demoted_signals=demoted, configs=store.configs)
    assembled = assemble(judge_request(), deps)
    assert config_of(assembled).policy.signals == {"stub_body": "off"}
    assert assembled.policy == Policy(signals={"stub_body": "off", "test_empty": "suspicion"}, accept_alone=False)
    assert [file.last_good for file in assembled.config] == ["signals: {stub_body: off}"]
    assert assemble(judge_request(), replace(deps, source=RecordedSource(assembled))).config == assembled.config


# How long CI is waited for


@pytest.mark.parametrize(
    ("text", "waits", "required"),
    [
        ("", 60, 3000),
        ("ci_wait: 5s", 5, 5),
        ("ci_wait: 10m", 600, 600),
        ("ci_wait: 24h", 3000, 3000),
        ("ci_wait: x", 60, 3000),
    ],
)
def test_a_repository_waits_for_ci_as_it_says_up_to_what_required_checks_are_waited_for(
    text: str, waits: float, required: float
) -> None:
    patience = CiWaitPolicy(timedelta(seconds=60), timedelta(seconds=1), None, timedelta(seconds=3000))
    chosen = with_repository_wait(having(text), patience)
    assert chosen.longest_wait == timedelta(seconds=waits)
    assert chosen.longest_required_wait == timedelta(seconds=required)


def test_a_laptop_waits_for_nothing_and_without_a_file_nothing_is_asked() -> None:
    nothing = CiWaitPolicy(timedelta(0), timedelta(0), None)
    assert with_repository_wait(having("ci_wait: 5m"), nothing).longest_wait == timedelta(0)
    assert with_repository_wait(having(), nothing) is nothing


def test_what_waits_for_hours_is_looked_at_more_and_more_rarely() -> None:
    patience = CiWaitPolicy(timedelta(0), timedelta(seconds=20), REQUESTED_AT, timedelta(hours=6))
    looks = [patience.next_poll(REQUESTED_AT + timedelta(minutes=waited)).total_seconds() for waited in (0, 5, 60, 300)]
    assert looks == [20, 20, 180, 900]
    assert replace(patience, waiting_since=None).next_poll(REQUESTED_AT) == timedelta(seconds=20)


@pytest.mark.parametrize(
    ("checks", "minutes"),
    [
        ([("build", "in_progress", False)], 30),
        ([("tests", "in_progress", True)], 360),
        ([("tests", NOT_REPORTED, True)], 30),
        ([("tests", NOT_REPORTED, True), ("build", "in_progress", False)], 360),
    ],
)
def test_a_required_check_is_waited_for_longer_while_any_check_runs(
    checks: list[tuple[str, str, bool]], minutes: float
) -> None:
    patience = CiWaitPolicy(timedelta(minutes=30), timedelta(seconds=20), REQUESTED_AT, timedelta(minutes=360))
    reported = [
        CiCheck(name=name, status=status, conclusion=None, required=is_required) for name, status, is_required in checks
    ]
    wait = find_ci_wait(dossier(ci=Ci(state=CiState.PENDING, checks=tuple(reported))), REQUESTED_AT, patience)
    assert wait is not None
    assert wait.until == REQUESTED_AT + timedelta(minutes=minutes)


# What people said about heads

OVERRIDE = Override(login="alice", reason="canary-words", at=REQUESTED_AT, eval_id=EvalId("e1"))
CONTEST = Contest(login="bob", reason="canary-words", at=REQUESTED_AT)
ONE, OTHER = DeliveryId("one"), DeliveryId("other")
LATER = REQUESTED_AT + timedelta(minutes=1)


def test_the_first_override_of_a_head_stands_and_is_about_no_other(store: Store) -> None:
    assert store.decisions.override(pull_ref(), HEAD, OVERRIDE)
    assert not store.decisions.override(pull_ref(), HEAD, OVERRIDE.model_copy(update={"login": "carol"}))
    assert store.decisions.find_decisions(pull_ref(), HEAD).override == OVERRIDE
    assert store.decisions.find_decisions(pull_ref(), NEWER) == NO_DECISIONS
    assert store.decisions.find_decisions(pull_ref(2), HEAD) == NO_DECISIONS


@pytest.mark.parametrize("draft", [False, True])
def test_an_override_ends_where_the_pull_request_goes_into_another_base(store: Store, *, draft: bool) -> None:
    store.decisions.override(pull_ref(), HEAD, OVERRIDE)
    store.pulls.request_judging(judge_request(trigger=Trigger.EDITED))
    assert store.decisions.find_decisions(pull_ref(), HEAD).override == OVERRIDE
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE, draft=draft))
    assert store.decisions.find_decisions(pull_ref(), HEAD) == NO_DECISIONS
    later = OVERRIDE.model_copy(update={"login": "carol", "at": SystemClock().now() + timedelta(seconds=1)})
    assert store.decisions.override(pull_ref(), HEAD, later)
    assert store.decisions.find_decisions(pull_ref(), HEAD).override == later


def test_what_is_noted_of_another_base_goes_with_the_ledger(store: Store) -> None:
    store.client.call("SET", keys.ledger(pull_ref()).name, "x", "EX", 100)
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    assert 0 < ttl_s(store, keys.decisions(pull_ref())) <= 100


def test_words_and_names_are_encrypted(store: Store) -> None:
    store.decisions.override(pull_ref(), HEAD, OVERRIDE)
    store.decisions.contest(pull_ref(), HEAD, CONTEST)
    store.decisions.record_requested_reviewers(pull_ref(), ("canary-words",))
    store.decisions.claim_action(pull_ref(), "canary-words", ONE, REQUESTED_AT)
    store.decisions.claim_answer(pull_ref(), "canary-words", ONE)
    kept = [store.client.call("HGETALL", make(pull_ref()).name) for make in (keys.decisions, keys.answered_topics)]
    assert not any(word in str(kept) for word in ("canary", "alice", "bob"))


def test_a_contest_is_open_until_it_was_judged_and_stays_on_record(store: Store) -> None:
    store.decisions.record_judged(pull_ref(), HEAD, NO_DECISIONS)
    assert store.client.call("EXISTS", keys.decisions(pull_ref()).name) == 0, "nothing was asked for"
    store.decisions.contest(pull_ref(), HEAD, CONTEST)
    store.decisions.force(pull_ref(), HEAD, REQUESTED_AT)
    before = store.decisions.find_decisions(pull_ref(), HEAD)
    assert (before.open_contest_reason, before.rejudge_requested_at) == ("canary-words", REQUESTED_AT)
    again = CONTEST.model_copy(update={"at": LATER})
    store.decisions.contest(pull_ref(), HEAD, again)
    store.decisions.record_judged(pull_ref(), HEAD, before)
    after = store.decisions.find_decisions(pull_ref(), HEAD)
    assert (after.contest, after.contested_at, after.forced_at) == (again, LATER, None), "it was asked again meanwhile"
    store.decisions.record_judged(pull_ref(), HEAD, after)
    closed = store.decisions.find_decisions(pull_ref(), HEAD)
    assert (closed.contest, closed.rejudge_requested_at) == (again, None)


def test_the_newest_review_counts(store: Store) -> None:
    for is_approved in (True, False):
        store.decisions.review(
            pull_ref(), HEAD, ReviewDecision(login="alice", at=REQUESTED_AT, is_approved=is_approved)
        )
    review = store.decisions.find_decisions(pull_ref(), HEAD).review
    assert review is not None
    assert not review.is_approved


def test_nobody_is_asked_for_a_review_twice(store: Store) -> None:
    assert store.decisions.find_requested_reviewers(pull_ref()) is None
    for names in (("alice", "acme/platform"), ()):
        store.decisions.record_requested_reviewers(pull_ref(), names)
    assert store.decisions.find_requested_reviewers(pull_ref()) == ("alice", "acme/platform")
    store.decisions.record_requested_reviewers(pull_ref(2), ())
    assert store.decisions.find_requested_reviewers(pull_ref(2)) == ()


def test_the_same_words_are_followed_once_and_a_broken_errand_goes_on(store: Store) -> None:
    assert [
        store.decisions.claim_action(pull_ref(), act, delivery, at)
        for act, delivery, at in (
            ("5 rejudge", ONE, REQUESTED_AT),
            ("5 rejudge", ONE, LATER),
            ("5 rejudge", OTHER, LATER),
            ("6 rejudge", OTHER, LATER),
        )
    ] == [REQUESTED_AT, REQUESTED_AT, None, LATER]


def test_nobody_is_told_the_same_twice_nor_for_ever(store: Store) -> None:
    assert store.decisions.claim_answer(pull_ref(), "bob role", ONE)
    assert store.decisions.claim_answer(pull_ref(), "bob role", ONE), "its errand broke off"
    assert not store.decisions.claim_answer(pull_ref(), "bob role", OTHER)
    answers = [store.decisions.claim_answer(pull_ref(), f"bob {number}", OTHER) for number in range(100)]
    assert sum(answers) == MOST_ANSWERS - 1
    assert store.decisions.claim_answer(pull_ref(2), "bob role", OTHER)


def test_when_the_newest_head_came_is_known(store: Store) -> None:
    assert store.decisions.newest_arrival(pull_ref()) is None
    came = FirstSeen(head_sha=HEAD, at=REQUESTED_AT)
    store.pulls.request_judging(judge_request(arrived=came))
    assert store.decisions.newest_arrival(pull_ref()) == came


# A version of a rubric stands for one content

EDITED = load_rubric().model_copy(update={"escalation_threshold": 0.123})


def test_the_first_use_of_a_version_says_what_it_stands_for(store: Store) -> None:
    assert store.rubrics.check(EDITED) is None, "to look remembers nothing"
    for _ in range(2):
        for rubric in shipped_rubrics():
            store.rubrics.admit(rubric)
    assert store.rubrics.check(load_rubric()) is None
    assert "raise it" in (store.rubrics.check(EDITED) or "")
    for change in ({"version": "another"}, {"id": "another"}):
        store.rubrics.admit(EDITED.model_copy(update=change))


@pytest.mark.parametrize(
    ("edited", "name", "called"),
    [
        (EDITED, "rubrics/x.yml", r"rubrics/x\.yml"),
        (load_ci_check_rubric().model_copy(update={"passed": 0.9}), "", 'The rubric "[^"]+"'),
        (load_pull_request_rubric().model_copy(update={"last": 0.6}), "", 'The rubric "[^"]+"'),
    ],
    ids=["model", "ci check", "pull request"],
)
def test_another_content_under_a_version_is_refused(
    store: Store, edited: VersionedRubric, name: str, called: str
) -> None:
    for rubric in shipped_rubrics():
        store.rubrics.admit(rubric)
    with pytest.raises(RubricRefused, match=f'^{called} was changed but still says version "{edited.version}": raise'):
        store.rubrics.admit(edited, name)


# Notes of what was written on GitHub, which go with time and with their pull request

SENT = UploadedSarif(head_sha=HEAD, origin=EvalId("e"))
NOTE = CommentRecord(nonce="n", comment_id=7, head_sha=HEAD)
NAME = "acme/widgets"


def test_a_note_is_kept_of_a_pull_request_that_is_known(store: Store) -> None:
    for is_known in (False, True):
        store.author_comments.put(pull_ref(), NOTE)
        store.scan_notes.note(pull_ref(), SENT, UploadRefusal.PERMISSION)
        assert store.author_comments.find_record(pull_ref()) == (NOTE if is_known else None)
        assert store.scan_notes.last_scan(pull_ref()) == (SENT if is_known else None)
        assert store.scan_notes.refusal(pull_ref()) is (UploadRefusal.PERMISSION if is_known else None)
        register_pull_requests(store, pull_ref())
    of_scans = [keys.scan_note(pull_ref().installation_id, pull_ref().repository_id, number) for number in (1, None)]
    assert all(ttl_s(store, key) > 0 for key in (keys.note(pull_ref()), *of_scans))


def test_a_refusal_is_the_repositorys_until_something_of_it_is_taken(store: Store) -> None:
    register_pull_requests(store, pull_ref(), pull_ref(2))
    member = f"{pull_ref().installation_id}:{pull_ref().repository_id}"
    store.client.call("SADD", keys.repository_numbers(NAME).name, member)
    store.scan_notes.note(pull_ref(), SENT, UploadRefusal.PERMISSION)
    assert (store.scan_notes.last_scan(pull_ref()), store.scan_notes.last_scan(pull_ref(2))) == (SENT, None)
    assert store.scan_notes.refusal(pull_ref(2)) is UploadRefusal.PERMISSION
    assert store.scan_notes.refusals(NAME) == (UploadRefusal.PERMISSION,)
    store.scan_notes.note(pull_ref(2), SENT, None)
    assert (store.scan_notes.refusal(pull_ref()), store.scan_notes.refusals(NAME)) == (None, ())


def test_a_word_of_a_later_version_is_none_that_is_told(store: Store) -> None:
    refused = keys.scan_note(pull_ref().installation_id, pull_ref().repository_id, None)
    store.client.call("SET", refused.name, "moon_phase")
    assert store.scan_notes.refusal(pull_ref()) is None
