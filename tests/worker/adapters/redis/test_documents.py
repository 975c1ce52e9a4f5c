"""Stored documents: configurations, decisions of people, rubric versions, and records of comments and uploads."""

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
    require,
    start_judging_new,
    ttl_s,
)
from tests.worker.adapters.redis.test_lease_writes import dependencies
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.redis import keys
from worker.adapters.redis.documents import MOST_ANSWERS
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentRecord
from worker.domain.check.check_run import UploadedSarif, UploadRefusal
from worker.domain.check.overrides import NO_DECISIONS, Contest, Override, ReviewDecision
from worker.domain.dossier import NOT_REPORTED, Ci, CiCheck, CiState, ConfigOrigin, ConfigText, Dossier, Policy
from worker.domain.judge_request import FirstSeen, Trigger
from worker.domain.model import DeliveryId, EvalId, hash_base
from worker.domain.verdict.verdict import VersionedRubric
from worker.dossier.assemble import complete_dossier
from worker.dossier.config import config_of, with_last_good
from worker.errors import RubricRefused
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric, load_rubric, shipped_rubrics
from worker.process import SystemClock
from worker.scheduling.pipeline import CiWaitPolicy, assemble, find_ci_wait, with_repository_wait
from worker.wiring.cli import RecordedSource

OWN, OWNERS = ConfigOrigin.REPOSITORY, ConfigOrigin.ORGANISATION
KEY = keys.config(pull_ref().installation_id, pull_ref().repository_id, hash_base("main"))

# The last good configuration


def with_config(
    own: str | None = None, *, owners: str | None = None, is_binary: bool = False, base: str = "main"
) -> Dossier:
    texts = [ConfigText(origin=OWN, text=own)] if own is not None or is_binary else []
    texts += [] if owners is None else [ConfigText(origin=OWNERS, text=owners)]
    sample = dossier(config=tuple(texts))
    return sample.model_copy(update={"pull_request": sample.pull_request.model_copy(update={"base_ref": base})})


def last_good_texts(store: Store, source: Dossier) -> list[str | None]:
    """Store the configuration of a dossier; the last good text for each of its invalid files."""
    return [file.last_good for file in with_last_good(source, pull_ref(), store.configs).config]


CASES: dict[str, tuple[list[Dossier], list[str | None]]] = {
    "both files are valid": ([with_config("mode: observe", owners="ci_wait: 5m")], [None, None]),
    "one is invalid": (
        [with_config("mode: observe", owners="ci_wait: 5m"), with_config("mode: x", owners="ci_wait: 5m")],
        ["mode: observe", None],
    ),
    "both are invalid": (
        [with_config("mode: observe", owners="ci_wait: 5m"), with_config(is_binary=True, owners="ci_wait: x")],
        ["mode: observe", "ci_wait: 5m"],
    ),
    "the newest valid text": (
        [with_config("mode: observe"), with_config("ci_wait: 5m"), with_config("mode: x")],
        ["ci_wait: 5m"],
    ),
    "no valid text": ([with_config("mode: x")], [None]),
    "no file": ([with_config()], []),
    "a deleted file": (
        [
            with_config("mode: observe", owners="ci_wait: 5m"),
            with_config(owners="ci_wait: 5m"),
            with_config("mode: x", owners="a: 1"),
        ],
        [None, "ci_wait: 5m"],
    ),
    "another base": ([with_config("ci_wait: 5m"), with_config("mode: x", base="new")], [None]),
    "another base with the owner's file": (
        [
            with_config("ci_wait: 5m"),
            with_config("mode: observe", owners="mode: block", base="agents-own"),
            with_config(base="old", owners="mode: block"),
            with_config("mode: x", owners="x: 1"),
        ],
        ["ci_wait: 5m", "mode: block"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_invalid_file_is_replaced_by_the_last_good_text_of_its_base(store: Store, case: str) -> None:
    dossiers, last_good = CASES[case]
    assert [last_good_texts(store, source) for source in dossiers][-1] == last_good


def test_unchanged_configuration_is_prolonged_without_a_write(store: Store) -> None:
    last_good_texts(store, with_config("mode: observe"))
    before = store.client.call("HGET", KEY.name, OWN)
    store.client.call("EXPIRE", KEY.name, 5)
    last_good_texts(store, with_config("mode: observe"))
    assert store.client.call("HGET", KEY.name, OWN) == before
    assert ttl_s(store, KEY) > 5


def test_configuration_stored_without_a_base_is_not_used(store: Store) -> None:
    before = keys.config(pull_ref().installation_id, pull_ref().repository_id, None)
    sealed = store.codec.seal(b"mode: observe", before.name)
    store.client.call("HSET", before.name, OWN, sealed, f"{OWN}:of", "x")
    assert last_good_texts(store, with_config("mode: x", owners="x: 1")) == [None, None]


def test_quiet_window_follows_the_newest_valid_file(store: Store) -> None:
    key = keys.window(pull_ref().installation_id, pull_ref().repository_id, hash_base("main")).name
    for text, window_ms in (("quiet_window: 2m", b"120000"), ("quiet_window: x", b"120000"), ("mode: block", None)):
        last_good_texts(store, with_config(text))
        last_good_texts(store, with_config("quiet_window: 24h", base="agents-own"))
        assert store.client.call("GET", key) == window_ms


def test_configuration_is_encrypted_and_forgotten_with_its_repository(store: Store) -> None:
    last_good_texts(store, with_config("never_send: [canary-of-the-config]"))
    assert b"canary" not in bytes(str(store.client.call("HGETALL", KEY.name)), "utf-8")
    assert KEY.name.startswith(keys.prefix("config", pull_ref().installation_id, pull_ref().repository_id))
    assert "config" in keys.PULL_KEY_KINDS


def test_policy_comes_from_the_file_unless_it_is_recorded() -> None:
    assert complete_dossier(with_config("mode: observe")).policy == Policy(mode="observe")
    assert complete_dossier(with_config("ci_wait: 5m")).policy is None
    recorded = with_config("mode: observe").model_copy(update={"policy": Policy(model="x")})
    assert complete_dossier(recorded).policy == Policy(model="x")


def test_assembled_dossier_has_the_files_policy_and_the_demoted_signals(store: Store) -> None:
    last_good_texts(store, with_config("signals: {stub_body: off}"))
    base_deps = dependencies(store, with_config("signals: {stub_body: x}"), start_judging_new(store).lease)
    demoted = frozenset({"stub_body", "test_empty"})
    deps = replace(base_deps, demoted_signals=demoted, configs=store.configs)
    assembled = assemble(judge_request(), deps)
    assert config_of(assembled).policy.signals == {"stub_body": "off"}
    assert assembled.policy == Policy(signals={"stub_body": "off", "test_empty": "suspicion"}, accept_alone=False)
    assert [file.last_good for file in assembled.config] == ["signals: {stub_body: off}"]
    assert assemble(judge_request(), replace(deps, source=RecordedSource(assembled))).config == assembled.config


# Waiting for CI


@pytest.mark.parametrize(
    ("text", "wait_s", "required_s"),
    [
        ("", 60, 3000),
        ("ci_wait: 5s", 5, 5),
        ("ci_wait: 10m", 600, 600),
        ("ci_wait: 24h", 3000, 3000),
        ("ci_wait: x", 60, 3000),
    ],
)
def test_ci_wait_of_a_file_is_limited_by_that_for_required_checks(text: str, wait_s: float, required_s: float) -> None:
    policy = CiWaitPolicy(timedelta(seconds=60), timedelta(seconds=1), None, timedelta(seconds=3000))
    chosen = with_repository_wait(with_config(text), policy)
    assert chosen.longest_wait == timedelta(seconds=wait_s)
    assert chosen.longest_required_wait == timedelta(seconds=required_s)


def test_zero_ci_wait_stays_zero_with_and_without_a_file() -> None:
    nothing = CiWaitPolicy(timedelta(0), timedelta(0), None)
    assert with_repository_wait(with_config("ci_wait: 5m"), nothing).longest_wait == timedelta(0)
    assert with_repository_wait(with_config(), nothing) is nothing


def test_poll_interval_grows_with_the_time_waited() -> None:
    policy = CiWaitPolicy(timedelta(0), timedelta(seconds=20), REQUESTED_AT, timedelta(hours=6))
    looks = [policy.next_poll(REQUESTED_AT + timedelta(minutes=waited)).total_seconds() for waited in (0, 5, 60, 300)]
    assert looks == [20, 20, 180, 900]
    assert replace(policy, waiting_since=None).next_poll(REQUESTED_AT) == timedelta(seconds=20)


@pytest.mark.parametrize(
    ("checks", "minutes"),
    [
        ([("build", "in_progress", False)], 30),
        ([("tests", "in_progress", True)], 360),
        ([("tests", NOT_REPORTED, True)], 30),
        ([("tests", NOT_REPORTED, True), ("build", "in_progress", False)], 360),
    ],
)
def test_required_check_extends_the_wait_while_one_runs(checks: list[tuple[str, str, bool]], minutes: float) -> None:
    policy = CiWaitPolicy(timedelta(minutes=30), timedelta(seconds=20), REQUESTED_AT, timedelta(minutes=360))
    reported = [
        CiCheck(name=name, status=status, conclusion=None, required=is_required) for name, status, is_required in checks
    ]
    wait = require(find_ci_wait(dossier(ci=Ci(state=CiState.PENDING, checks=tuple(reported))), REQUESTED_AT, policy))
    assert wait.until == REQUESTED_AT + timedelta(minutes=minutes)


# Decisions about heads

OVERRIDE = Override(login="alice", reason="canary-words", at=REQUESTED_AT, eval_id=EvalId("e1"))
CONTEST = Contest(login="bob", reason="canary-words", at=REQUESTED_AT)
FIRST, OTHER = DeliveryId("one"), DeliveryId("other")
LATER = REQUESTED_AT + timedelta(minutes=1)


def test_first_override_of_a_head_is_kept(store: Store) -> None:
    assert store.decisions.override(pull_ref(), HEAD, OVERRIDE)
    assert not store.decisions.override(pull_ref(), HEAD, OVERRIDE.model_copy(update={"login": "carol"}))
    assert store.decisions.find_decisions(pull_ref(), HEAD).override == OVERRIDE
    assert store.decisions.find_decisions(pull_ref(), NEWER) == NO_DECISIONS
    assert store.decisions.find_decisions(pull_ref(2), HEAD) == NO_DECISIONS


@pytest.mark.parametrize("draft", [False, True])
def test_override_ends_when_the_base_changes(store: Store, *, draft: bool) -> None:
    store.decisions.override(pull_ref(), HEAD, OVERRIDE)
    store.pulls.request_judging(judge_request(trigger=Trigger.EDITED))
    assert store.decisions.find_decisions(pull_ref(), HEAD).override == OVERRIDE
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE, draft=draft))
    assert store.decisions.find_decisions(pull_ref(), HEAD) == NO_DECISIONS
    later = OVERRIDE.model_copy(update={"login": "carol", "at": SystemClock().now() + timedelta(seconds=1)})
    assert store.decisions.override(pull_ref(), HEAD, later)
    assert store.decisions.find_decisions(pull_ref(), HEAD).override == later


def test_base_change_is_recorded_as_long_as_the_ledger(store: Store) -> None:
    store.client.call("SET", keys.ledger(pull_ref()).name, "x", "EX", 100)
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    assert 0 < ttl_s(store, keys.decisions(pull_ref())) <= 100


def test_reasons_and_logins_are_encrypted(store: Store) -> None:
    store.decisions.override(pull_ref(), HEAD, OVERRIDE)
    store.decisions.contest(pull_ref(), HEAD, CONTEST)
    store.decisions.record_requested_reviewers(pull_ref(), ("canary-words",))
    store.decisions.claim_action(pull_ref(), "canary-words", FIRST, REQUESTED_AT)
    store.decisions.claim_answer(pull_ref(), "canary-words", FIRST)
    stored = [store.client.call("HGETALL", make(pull_ref()).name) for make in (keys.decisions, keys.answered_topics)]
    assert not any(secret in str(stored) for secret in ("canary", "alice", "bob"))


def test_contest_is_open_until_judged_and_stays_recorded(store: Store) -> None:
    store.decisions.record_judged(pull_ref(), HEAD, NO_DECISIONS)
    assert store.client.call("EXISTS", keys.decisions(pull_ref()).name) == 0, "no decision was made"
    store.decisions.contest(pull_ref(), HEAD, CONTEST)
    store.decisions.force(pull_ref(), HEAD, REQUESTED_AT)
    before = store.decisions.find_decisions(pull_ref(), HEAD)
    assert (before.open_contest_reason, before.rejudge_requested_at) == ("canary-words", REQUESTED_AT)
    again = CONTEST.model_copy(update={"at": LATER})
    store.decisions.contest(pull_ref(), HEAD, again)
    store.decisions.record_judged(pull_ref(), HEAD, before)
    after = store.decisions.find_decisions(pull_ref(), HEAD)
    assert (after.contest, after.contested_at, after.forced_at) == (again, LATER, None), "contested again meanwhile"
    store.decisions.record_judged(pull_ref(), HEAD, after)
    closed = store.decisions.find_decisions(pull_ref(), HEAD)
    assert (closed.contest, closed.rejudge_requested_at) == (again, None)


def test_newest_review_is_kept(store: Store) -> None:
    for is_approved in (True, False):
        store.decisions.review(
            pull_ref(), HEAD, ReviewDecision(login="alice", at=REQUESTED_AT, is_approved=is_approved)
        )
    review = require(store.decisions.find_decisions(pull_ref(), HEAD).review)
    assert not review.is_approved


def test_requested_reviewers_are_recorded_once(store: Store) -> None:
    assert store.decisions.find_requested_reviewers(pull_ref()) is None
    for names in (("alice", "acme/platform"), ()):
        store.decisions.record_requested_reviewers(pull_ref(), names)
    assert store.decisions.find_requested_reviewers(pull_ref()) == ("alice", "acme/platform")
    store.decisions.record_requested_reviewers(pull_ref(2), ())
    assert store.decisions.find_requested_reviewers(pull_ref(2)) == ()


def test_command_of_a_comment_is_claimed_once_but_resumed_by_its_delivery(store: Store) -> None:
    assert [
        store.decisions.claim_action(pull_ref(), act, delivery, at)
        for act, delivery, at in (
            ("5 rejudge", FIRST, REQUESTED_AT),
            ("5 rejudge", FIRST, LATER),
            ("5 rejudge", OTHER, LATER),
            ("6 rejudge", OTHER, LATER),
        )
    ] == [REQUESTED_AT, REQUESTED_AT, None, LATER]


def test_answer_is_claimed_once_and_answers_are_limited(store: Store) -> None:
    assert store.decisions.claim_answer(pull_ref(), "bob role", FIRST)
    assert store.decisions.claim_answer(pull_ref(), "bob role", FIRST), "the same delivery is retried"
    assert not store.decisions.claim_answer(pull_ref(), "bob role", OTHER)
    answers = [store.decisions.claim_answer(pull_ref(), f"bob {number}", OTHER) for number in range(100)]
    assert sum(answers) == MOST_ANSWERS - 1
    assert store.decisions.claim_answer(pull_ref(2), "bob role", OTHER)


def test_arrival_of_the_newest_head_is_stored(store: Store) -> None:
    assert store.decisions.newest_arrival(pull_ref()) is None
    first_seen = FirstSeen(head_sha=HEAD, at=REQUESTED_AT)
    store.pulls.request_judging(judge_request(arrived=first_seen))
    assert store.decisions.newest_arrival(pull_ref()) == first_seen


# Rubric versions

EDITED = load_rubric().model_copy(update={"escalation_threshold": 0.123})


def test_first_use_of_a_rubric_version_fixes_its_content(store: Store) -> None:
    assert store.rubrics.check(EDITED) is None, "a check records nothing"
    for _ in range(2):
        for rubric in shipped_rubrics():
            store.rubrics.admit(rubric)
    assert store.rubrics.check(load_rubric()) is None
    assert "raise it" in (store.rubrics.check(EDITED) or "")
    for change in ({"version": "another"}, {"id": "another"}):
        store.rubrics.admit(EDITED.model_copy(update=change))


@pytest.mark.parametrize(
    ("edited", "name", "label"),
    [
        (EDITED, "rubrics/x.yml", r"rubrics/x\.yml"),
        (load_ci_check_rubric().model_copy(update={"passed": 0.9}), "", 'The rubric "[^"]+"'),
        (load_pull_request_rubric().model_copy(update={"last": 0.6}), "", 'The rubric "[^"]+"'),
    ],
    ids=["model", "ci check", "pull request"],
)
def test_changed_rubric_with_the_same_version_is_refused(
    store: Store, edited: VersionedRubric, name: str, label: str
) -> None:
    for rubric in shipped_rubrics():
        store.rubrics.admit(rubric)
    with pytest.raises(RubricRefused, match=f'^{label} was changed but still says version "{edited.version}": raise'):
        store.rubrics.admit(edited, name)


# Records of comments and uploads

SENT = UploadedSarif(head_sha=HEAD, origin=EvalId("e"))
NOTE = CommentRecord(nonce="n", comment_id=7, head_sha=HEAD)
NAME = "acme/widgets"


def test_records_are_kept_for_known_pull_requests_only(store: Store) -> None:
    for is_known in (False, True):
        store.author_comments.put(pull_ref(), NOTE)
        store.scan_notes.note(pull_ref(), SENT, UploadRefusal.PERMISSION)
        assert store.author_comments.find_record(pull_ref()) == (NOTE if is_known else None)
        assert store.scan_notes.last_scan(pull_ref()) == (SENT if is_known else None)
        assert store.scan_notes.refusal(pull_ref()) is (UploadRefusal.PERMISSION if is_known else None)
        register_pull_requests(store, pull_ref())
    scan_keys = [keys.scan_note(pull_ref().installation_id, pull_ref().repository_id, number) for number in (1, None)]
    assert all(ttl_s(store, key) > 0 for key in (keys.note(pull_ref()), *scan_keys))


def test_upload_refusal_covers_the_repository_until_an_upload_succeeds(store: Store) -> None:
    register_pull_requests(store, pull_ref(), pull_ref(2))
    member = f"{pull_ref().installation_id}:{pull_ref().repository_id}"
    store.client.call("SADD", keys.repository_numbers(NAME).name, member)
    store.scan_notes.note(pull_ref(), SENT, UploadRefusal.PERMISSION)
    assert (store.scan_notes.last_scan(pull_ref()), store.scan_notes.last_scan(pull_ref(2))) == (SENT, None)
    assert store.scan_notes.refusal(pull_ref(2)) is UploadRefusal.PERMISSION
    assert store.scan_notes.refusals(NAME) == (UploadRefusal.PERMISSION,)
    store.scan_notes.note(pull_ref(2), SENT, None)
    assert (store.scan_notes.refusal(pull_ref()), store.scan_notes.refusals(NAME)) == (None, ())


def test_unknown_upload_refusal_is_ignored(store: Store) -> None:
    refused = keys.scan_note(pull_ref().installation_id, pull_ref().repository_id, None)
    store.client.call("SET", refused.name, "moon_phase")
    assert store.scan_notes.refusal(pull_ref()) is None
