"""Outcomes of a pull request: each is published once, and the whole pull request is judged when they are complete."""

from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.outcome_samples import (
    MERGE,
    FixedClock,
    end_window,
    event_bodies,
    judge_head,
    judge_whole_pull_requests,
    merge_event,
    pull_request_event,
    record_outcomes,
    recorded_outcomes,
    revert_event,
    whole_verdicts,
)
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    expire_hold,
    pull_ref,
    require,
    settings_for,
    ttl_s,
)
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import find_server_time, text
from worker.adapters.redis.store import Store, open_store
from worker.domain.github_events import PullRequestEventKind
from worker.domain.lifecycle.intake import IntakeOutcome as Taken
from worker.domain.lifecycle.work import DuePullRequest
from worker.domain.verdict.events import Outcome, OutcomeKind
from worker.domain.verdict.verdict import Abstain, Accept
from worker.judge.outcome_scores import next_eval_id
from worker.judge.rubric import load_pull_request_rubric
from worker.scheduling.outcomes import WholePullRequestJudge
from worker.settings import Timing


def find_due_time(store: Store, number: int = 1) -> float | None:
    stored = store.client.call("ZSCORE", keys.LOOKAHEAD.name, keys.watch(pull_ref(number)).name)
    return None if stored is None else float(text(stored))


def whole_judge(store: Store) -> WholePullRequestJudge:
    clock = FixedClock(REQUESTED_AT + timedelta(hours=1))
    return WholePullRequestJudge(store.ledger, store.outcomes, load_pull_request_rubric(), clock)


def test_merge_leads_to_a_verdict_and_a_revert_to_a_lower_one(store: Store) -> None:
    entry = judge_head(store)
    record_outcomes(store, merge_event())
    assert judge_whole_pull_requests(store) == 1
    record_outcomes(store, revert_event())
    assert judge_whole_pull_requests(store) == 1

    merged, reverted = whole_verdicts(store)
    assert isinstance(merged, Accept)
    assert isinstance(reverted, Abstain)
    assert (reverted.score < merged.score, reverted.eval_id > merged.eval_id) == (True, True)
    assert {verdict.parent_eval_id for verdict in whole_verdicts(store)} == {entry.eval_id}
    bodies = event_bodies(store, "outcome.recorded", "eval.started", "eval.completed")
    assert {body["subject_kind"] for body in bodies} == {"pull_request"}
    reasons = [body.get("outcome") or body.get("trigger") for body in bodies]
    assert reasons == ["merged", "bus", "bus", "reverted", "feedback_arrived", "feedback_arrived"]
    assert {body["subject_id"] for body in event_bodies(store, "eval.completed")} == {"7/1"}


def test_verdict_on_the_whole_is_no_round(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    judge_whole_pull_requests(store)
    children = [entry for entry in store.ledger.entries(pull_ref()) if entry.verdict.parent_eval_id is not None]
    assert [entry.verdict.subject.kind.value for entry in children] == ["pull_request"]
    assert (children[0].changed_lines, children[0].case, children[0].open_conditions) == ({}, None, ())


def test_untouched_pull_request_is_judged_when_its_window_ends(store: Store) -> None:
    judge_head(store)
    assert judge_whole_pull_requests(store) == 0
    end_window(store)
    assert judge_whole_pull_requests(store) == 1
    assert whole_verdicts(store)[0].signals["outcomes"] == 0
    assert judge_whole_pull_requests(store) == 0, "it is judged once"


def test_events_of_people_delay_the_verdict_and_the_fifth_triggers_it(store: Store) -> None:
    judge_head(store)
    soon = require(find_due_time(store))
    in_a_minute = find_server_time(store.client) + 60_000
    store.client.call("ZADD", keys.LOOKAHEAD.name, "XX", in_a_minute, keys.watch(pull_ref()).name)
    record_comments(store, 4)
    put_off = require(find_due_time(store))
    assert put_off >= soon
    assert judge_whole_pull_requests(store) == 0
    record_comments(store)
    assert judge_whole_pull_requests(store) == 1
    record_comments(store, 9)
    assert judge_whole_pull_requests(store) == 0, "comments alone do not reopen a verdict"


def test_window_and_number_of_events_are_settings(redis_server: RedisServer, store: Store) -> None:
    store.ping()
    settings = settings_for(redis_server.url, Timing(lookahead=0.001), lookahead_events=1)
    with open_store(settings) as quick:
        judge_head(quick, 1)
        judge_head(quick, 2)
        record_outcomes(quick, pull_request_event(PullRequestEventKind.SPOKE, 2, by_person=True))
        count_judged = judge_whole_pull_requests(quick)
        while not count_judged:  # for a thousandth of a second
            count_judged = judge_whole_pull_requests(quick)
        assert count_judged >= 1
        assert find_due_time(quick, 2) is None


def test_event_of_a_bot_does_not_count(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, *[pull_request_event(PullRequestEventKind.REOPENED) for _ in range(9)])
    assert judge_whole_pull_requests(store) == 0
    assert [outcome.kind for outcome in store.outcomes.outcomes_of(pull_ref())] == [OutcomeKind.REOPENED] * 9


def record_comments(store: Store, times: int = 1) -> None:
    record_outcomes(store, *[pull_request_event(PullRequestEventKind.SPOKE, by_person=True) for _ in range(times)])


def test_new_submission_opens_a_new_window(store: Store) -> None:
    judge_head(store)
    record_comments(store, 4)
    judge_head(store, head=NEWER)
    record_comments(store)
    assert judge_whole_pull_requests(store) == 0, "it is the first event of the new window"
    record_outcomes(store, pull_request_event(PullRequestEventKind.CLOSED, by_person=True))
    assert judge_whole_pull_requests(store) == 1
    assert whole_verdicts(store)[0].signals["submissions"] == 2


def test_verdict_after_a_new_submission_is_not_triggered_by_feedback(store: Store) -> None:
    for head in (HEAD, NEWER):
        judge_head(store, head=head)
        record_outcomes(store, pull_request_event(PullRequestEventKind.CLOSED))
        judge_whole_pull_requests(store)
    assert [body["trigger"] for body in event_bodies(store, "eval.completed")] == ["bus", "bus"]


def judge_next_due(store: Store) -> DuePullRequest:
    """Judge what is due, without completing it."""
    due = require(store.outcomes.next_due())
    whole_judge(store).judge(due)
    return due


def test_outcome_during_a_judging_makes_the_pull_request_due_again(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    due = judge_next_due(store)
    record_outcomes(store, revert_event())
    store.outcomes.complete(due)
    assert judge_whole_pull_requests(store) == 1
    assert [verdict.signals["outcomes"] for verdict in whole_verdicts(store)] == [1, 2]


def test_submission_during_a_judging_keeps_its_window(store: Store) -> None:
    judge_head(store)
    end_window(store)
    due = judge_next_due(store)
    judge_head(store, head=NEWER)
    store.outcomes.complete(due)
    assert find_due_time(store) is not None
    record_outcomes(store, pull_request_event(PullRequestEventKind.CLOSED))
    assert judge_whole_pull_requests(store) == 1


def test_interrupted_judging_is_repeated_with_one_verdict(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    judge_next_due(store)
    expire_hold(store, keys.LOOKAHEAD, keys.watch(pull_ref()).name)
    assert (judge_whole_pull_requests(store), len(whole_verdicts(store)), judge_whole_pull_requests(store)) == (1, 1, 0)


def test_claimed_eval_id_is_reused(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    claimed = store.outcomes.claim(pull_ref(), next_eval_id(REQUESTED_AT + timedelta(minutes=30), ()), 1)
    record_outcomes(store, revert_event())
    assert judge_whole_pull_requests(store) == 1
    [verdict] = whole_verdicts(store)
    assert (verdict.eval_id, verdict.signals["outcomes"]) == (claimed, 2)
    assert judge_whole_pull_requests(store) == 0


def test_forgotten_pull_request_is_not_judged(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    due = require(store.outcomes.next_due())
    store.records().forget(store.records().find_holdings("acme/widgets"), REQUESTED_AT)
    whole_judge(store).judge(due)
    store.outcomes.complete(due)
    assert store.outcomes.next_due() is None
    assert find_due_time(store) is None
    assert store.outcomes.outcomes_of(pull_ref()) == ()
    assert store.client.call("EXISTS", keys.ledger(pull_ref()).name) == 0


def test_deleted_watch_is_skipped(store: Store) -> None:
    judge_head(store, 1)
    judge_head(store, 2)
    for number in (1, 2):
        end_window(store, number)
    latest_id = store.ledger.entries(pull_ref(2))[-1].eval_id
    store.client.call("DEL", keys.watch(pull_ref(1)).name)
    due = require(store.outcomes.next_due())
    assert due.pull == pull_ref(2)
    assert store.outcomes.claim(pull_ref(1), latest_id, 0) is None


def test_pull_request_without_a_submission_gets_no_verdict(store: Store) -> None:
    whole_judge(store).judge(DuePullRequest(pull_ref(9), 1, is_reevaluation=False))
    assert store.ledger.entries(pull_ref(9)) == ()


def test_eval_ids_grow_when_a_clock_is_behind(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    judge_whole_pull_requests(store, REQUESTED_AT + timedelta(hours=5))
    record_outcomes(store, revert_event())
    judge_whole_pull_requests(store, REQUESTED_AT - timedelta(hours=5))
    first, second = event_bodies(store, "eval.completed")
    assert first["signals"]["outcomes"] < second["signals"]["outcomes"]
    assert first["eval_id"] < second["eval_id"]


def test_due_time_follows_the_clock_of_redis(store: Store) -> None:
    judge_head(store)
    ahead = REQUESTED_AT + timedelta(days=4000)
    record_outcomes(
        store,
        pull_request_event(PullRequestEventKind.SPOKE, by_person=True, at=ahead),
        merge_event(at=REQUESTED_AT - timedelta(days=4000)),
    )
    assert judge_whole_pull_requests(store) == 1
    record_outcomes(store, revert_event().model_copy(update={"at": ahead}))
    assert recorded_outcomes(store) == [(1, "merged"), (1, "reverted")], "thirty days by the clock of Redis"


@pytest.mark.parametrize("times", [2, 5])
def test_repeated_delivery_is_published_once(store: Store, times: int) -> None:
    judge_head(store)
    events = [
        merge_event(),
        revert_event(),
        pull_request_event(PullRequestEventKind.HELPFUL, by_person=True),
        pull_request_event(PullRequestEventKind.REOPENED, by_person=True),
        pull_request_event(PullRequestEventKind.CI_FAILED, None, head_sha=HEAD),
    ]
    for _ in range(times):
        record_outcomes(store, *events)
    kinds = sorted(kind for _, kind in recorded_outcomes(store))
    assert kinds == ["ci_red_later", "helpful", "merged", "reopened", "reverted"]
    assert len(store.outcomes.outcomes_of(pull_ref())) == 5
    assert store.client.call("HGET", keys.watch(pull_ref()).name, "events") == b"3", (
        "each event of a person counts once"
    )


def test_event_is_queued_once_and_for_judged_pull_requests_only(store: Store) -> None:
    events, closed = store.pull_request_events, pull_request_event(PullRequestEventKind.CLOSED)
    assert events.put(closed) is Taken.UNKNOWN
    judge_head(store)
    while noted := events.next():  # the judging's own event with the issues it closes
        assert noted.event.what is PullRequestEventKind.JUDGED
        events.complete(noted.event)
    assert [events.put(closed) for _ in range(2)] == [Taken.QUEUED, Taken.DUPLICATE]
    for attempt in (1, 2):
        waiting = require(events.next())
        assert (waiting.event, waiting.attempt, events.next()) == (closed, attempt, None)
        events.postpone(closed, timedelta(0))
    events.complete(closed)
    assert (events.next(), events.put(closed)) == (None, Taken.DUPLICATE)


@pytest.mark.parametrize(
    ("kind", "changes", "taken"),
    [
        (PullRequestEventKind.CI_FAILED, {"head_sha": HEAD}, Taken.QUEUED),
        (PullRequestEventKind.CI_FAILED, {"head_sha": NEWER}, Taken.UNKNOWN),
        (PullRequestEventKind.REVERTED, {"reverted_shas": (NEWER,)}, Taken.QUEUED),
        (PullRequestEventKind.MERGED, {"number": 5}, Taken.UNKNOWN),
        (PullRequestEventKind.MERGED, {"number": 5, "reverts": (1,)}, Taken.QUEUED),
    ],
)
def test_event_is_matched_by_its_commits_and_reverts(
    store: Store, kind: PullRequestEventKind, changes: dict[str, Any], taken: Taken
) -> None:
    judge_head(store)
    assert store.pull_request_events.put(pull_request_event(kind, **{"number": None, **changes})) is taken


def test_outcome_without_a_watch_is_published(store: Store) -> None:
    judge_head(store)
    store.client.call("DEL", keys.watch(pull_ref()).name)
    store.outcomes.publish(pull_ref(), "late", Outcome(kind=OutcomeKind.REVERTED, at=REQUESTED_AT), is_event=False)
    assert recorded_outcomes(store) == [(1, "reverted")]
    assert judge_whole_pull_requests(store) == 0


def test_repeated_verdict_opens_no_second_window(store: Store) -> None:
    entry = judge_head(store)
    end_window(store)
    store.outcomes.add_verdict(pull_ref(), entry, ())
    assert judge_whole_pull_requests(store) == 1


def test_outcome_keys_expire_and_are_forgotten_with_the_repository(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, pull_request_event(PullRequestEventKind.JUDGED, issues=("abc",)), merge_event())
    related = (
        keys.watch(pull_ref()),
        keys.outcomes(pull_ref()),
        keys.merged_lines(pull_ref()),
        keys.commit(pull_ref().installation_id, pull_ref().repository_id, MERGE),
        keys.commit(pull_ref().installation_id, pull_ref().repository_id, HEAD),
        keys.merges(pull_ref().installation_id, pull_ref().repository_id),
        keys.issue_pulls(pull_ref().installation_id, "abc"),
    )
    for key in related:
        assert 0 < ttl_s(store, key) <= key.seconds, key.name
    store.records().forget(store.records().find_holdings("acme/widgets"), REQUESTED_AT)
    assert [key.name for key in related if store.client.call("EXISTS", key.name)] == []
