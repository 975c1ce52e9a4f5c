"""What comes of a pull request is told once, counted, and weighed when it is over; what comes later is weighed anew."""

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
    latest_whole_verdict,
    merge_event,
    outcome_kinds,
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
    settings_for,
    ttl_s,
)
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import find_server_time, text
from worker.adapters.redis.store import Store, open_store
from worker.domain.lifecycle.intake import IntakeOutcome as Taken
from worker.domain.lifecycle.work import DuePullRequest
from worker.domain.pull_request_events import PullRequestEventKind
from worker.domain.verdict.outcomes import Outcome, OutcomeKind
from worker.domain.verdict.verdict import Abstain, Accept
from worker.errors import LeaseLost
from worker.judge.outcome_scores import next_eval_id
from worker.judge.rubric import load_pull_request_rubric
from worker.scheduling.outcomes import WholePullRequestJudge
from worker.settings import Timing

RUBRIC = load_pull_request_rubric()


def due_at(store: Store, number: int = 1) -> float | None:
    stored = store.client.call("ZSCORE", keys.LOOKAHEAD.name, keys.watch(pull_ref(number)).name)
    return None if stored is None else float(text(stored))


def concluding(store: Store) -> WholePullRequestJudge:
    return WholePullRequestJudge(store.ledger, store.outcomes, RUBRIC, FixedClock(REQUESTED_AT + timedelta(hours=1)))


# The verdict on the whole


def test_a_merge_brings_the_verdict_on_the_whole_and_a_later_revert_a_new_lower_one(store: Store) -> None:
    submission = judge_head(store)
    record_outcomes(store, merge_event())
    assert judge_whole_pull_requests(store) == 1
    record_outcomes(store, revert_event())
    assert judge_whole_pull_requests(store) == 1

    merged, reverted = whole_verdicts(store)
    assert isinstance(merged, Accept)
    assert isinstance(reverted, Abstain)
    assert (reverted.score < merged.score, reverted.eval_id > merged.eval_id) == (True, True)
    assert {one.parent_eval_id for one in whole_verdicts(store)} == {submission.eval_id}
    stream = [
        (one["subject_kind"], one.get("outcome") or one.get("trigger"))
        for one in event_bodies(store, "outcome.recorded", "eval.started", "eval.completed")
    ]
    assert stream == [
        ("pull_request", "merged"),
        ("pull_request", "bus"),
        ("pull_request", "bus"),
        ("pull_request", "reverted"),
        ("pull_request", "feedback_arrived"),
        ("pull_request", "feedback_arrived"),
    ]
    assert {one["subject_id"] for one in event_bodies(store, "eval.completed")} == {"7/1"}


def test_no_judge_is_shown_a_verdict_on_the_whole_and_no_round_counts_it(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    judge_whole_pull_requests(store)
    children = [one for one in store.ledger.entries(pull_ref()) if one.verdict.parent_eval_id is not None]
    assert [one.verdict.subject.kind.value for one in children] == ["pull_request"]
    assert (children[0].changed_lines, children[0].case, children[0].open_conditions) == ({}, None, ())


def test_a_pull_request_that_nobody_touches_gets_its_verdict_after_a_while(store: Store) -> None:
    judge_head(store)
    assert judge_whole_pull_requests(store) == 0
    end_window(store)
    assert judge_whole_pull_requests(store) == 1
    assert whole_verdicts(store)[0].signals["outcomes"] == 0
    assert judge_whole_pull_requests(store) == 0, "once"


def test_what_people_do_puts_the_verdict_off_and_the_fifth_thing_brings_it(store: Store) -> None:
    judge_head(store)
    soon = due_at(store)
    assert soon is not None
    in_a_minute = find_server_time(store.client) + 60_000
    store.client.call("ZADD", keys.LOOKAHEAD.name, "XX", in_a_minute, keys.watch(pull_ref()).name)
    speaks(store, 4)
    put_off = due_at(store)
    assert put_off is not None
    assert put_off >= soon
    assert judge_whole_pull_requests(store) == 0
    speaks(store)
    assert judge_whole_pull_requests(store) == 1
    speaks(store, 9)
    assert judge_whole_pull_requests(store) == 0, "words alone change nothing about a verdict that was made"


def test_how_long_and_how_many_are_settings(redis_server: RedisServer, store: Store) -> None:
    store.ping()  # it is empty from here on
    here = settings_for(redis_server.url, Timing(lookahead=0.001), lookahead_events=1)
    with open_store(here) as quick:
        judge_head(quick, 1)
        judge_head(quick, 2)
        record_outcomes(quick, pull_request_event(PullRequestEventKind.SPOKE, 2, by_person=True))
        quick.client.call("PING")
        made = judge_whole_pull_requests(quick)
        while not made:  # a thousandth of a second
            made = judge_whole_pull_requests(quick)
        assert made >= 1
        assert due_at(quick, 2) is None


def test_what_a_bot_does_is_no_event(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, *[pull_request_event(PullRequestEventKind.REOPENED) for _ in range(9)])
    assert judge_whole_pull_requests(store) == 0
    assert outcome_kinds(store, pull_ref()) == [OutcomeKind.REOPENED] * 9


def speaks(store: Store, times: int = 1) -> None:
    record_outcomes(store, *[pull_request_event(PullRequestEventKind.SPOKE, by_person=True) for _ in range(times)])


def test_a_new_submission_opens_a_window_of_its_own(store: Store) -> None:
    judge_head(store)
    speaks(store, 4)
    judge_head(store, head=NEWER)
    speaks(store)
    assert judge_whole_pull_requests(store) == 0, "it is the first event since"
    record_outcomes(store, pull_request_event(PullRequestEventKind.CLOSED, by_person=True))
    assert judge_whole_pull_requests(store) == 1
    assert whole_verdicts(store)[0].signals["submissions"] == 2


def test_a_submission_after_a_verdict_on_the_whole_is_followed_by_one_that_is_not_feedback(store: Store) -> None:
    for head in (HEAD, NEWER):
        judge_head(store, head=head)
        record_outcomes(store, pull_request_event(PullRequestEventKind.CLOSED))
        judge_whole_pull_requests(store)
    assert [body["trigger"] for body in event_bodies(store, "eval.completed")] == ["bus", "bus"]


def weighed(store: Store) -> DuePullRequest:
    """What is due is judged, and that is not recorded yet."""
    due = store.outcomes.next_due()
    assert due is not None
    concluding(store).judge(due)
    return due


def test_an_outcome_that_comes_while_it_is_weighed_makes_it_due_again(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    due = weighed(store)
    record_outcomes(store, revert_event())
    store.outcomes.complete(due)
    assert judge_whole_pull_requests(store) == 1
    assert [whole.signals["outcomes"] for whole in whole_verdicts(store)] == [1, 2]


def test_a_submission_that_comes_while_it_is_weighed_keeps_its_window(store: Store) -> None:
    judge_head(store)
    end_window(store)
    due = weighed(store)
    judge_head(store, head=NEWER)
    store.outcomes.complete(due)
    assert due_at(store) is not None
    record_outcomes(store, pull_request_event(PullRequestEventKind.CLOSED))
    assert judge_whole_pull_requests(store) == 1


# Whoever dies


def test_whoever_dies_over_a_verdict_leaves_its_id_and_it_is_made_once(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    weighed(store)
    expire_hold(store, keys.LOOKAHEAD, keys.watch(pull_ref()).name)
    assert (judge_whole_pull_requests(store), len(whole_verdicts(store)), judge_whole_pull_requests(store)) == (1, 1, 0)


def test_an_id_that_was_claimed_and_never_written_is_used(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    claimed = store.outcomes.claim(pull_ref(), next_eval_id(REQUESTED_AT + timedelta(minutes=30), ()), 1)
    record_outcomes(store, revert_event())
    assert judge_whole_pull_requests(store) == 1
    assert (latest_whole_verdict(store), whole_verdicts(store)[0].signals["outcomes"]) == (claimed, 2)
    assert judge_whole_pull_requests(store) == 0


def test_a_pull_request_that_was_forgotten_is_not_weighed(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    due = store.outcomes.next_due()
    assert due is not None
    store.records().forget(store.records().find_holdings("acme/widgets"), REQUESTED_AT)
    concluding(store).judge(due)
    store.outcomes.complete(due)
    assert store.outcomes.next_due() is None
    assert due_at(store) is None
    assert store.outcomes.outcomes_of(pull_ref()) == ()
    assert store.client.call("EXISTS", keys.ledger(pull_ref()).name) == 0


def test_a_watch_that_is_gone_is_passed_over(store: Store) -> None:
    judge_head(store, 1)
    judge_head(store, 2)
    for number in (1, 2):
        end_window(store, number)
    latest_id = store.ledger.entries(pull_ref(2))[-1].eval_id
    store.client.call("DEL", keys.watch(pull_ref(1)).name)
    due = store.outcomes.next_due()
    assert due is not None
    assert due.pull == pull_ref(2)
    assert store.outcomes.claim(pull_ref(1), latest_id, 0) is None


def test_where_nothing_was_judged_there_is_no_verdict_on_the_whole(store: Store) -> None:
    concluding(store).judge(DuePullRequest(pull_ref(9), 1, is_reevaluation=False))
    assert store.ledger.entries(pull_ref(9)) == ()


def test_the_parent_has_to_be_on_record(store: Store) -> None:
    made = judge_head(store)
    store.client.call("DEL", keys.ledger(pull_ref()).name)
    child = made.verdict.model_copy(update={"parent_eval_id": made.eval_id, "eval_id": "child"})
    with pytest.raises(LeaseLost):
        store.ledger.append(pull_ref(), made.model_copy(update={"eval_id": "child", "verdict": child}))


# Clocks, and deliveries that come twice


def test_clocks_that_are_behind_do_not_make_an_old_verdict_the_latest(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    judge_whole_pull_requests(store, REQUESTED_AT + timedelta(hours=5))
    record_outcomes(store, revert_event())
    judge_whole_pull_requests(store, REQUESTED_AT - timedelta(hours=5))
    first, second = event_bodies(store, "eval.completed")
    assert first["signals"]["outcomes"] < second["signals"]["outcomes"]
    assert first["eval_id"] < second["eval_id"]


def test_what_is_due_is_due_by_the_servers_clock_whatever_a_door_says(store: Store) -> None:
    judge_head(store)
    ahead = REQUESTED_AT + timedelta(days=4000)
    record_outcomes(
        store,
        pull_request_event(PullRequestEventKind.SPOKE, by_person=True, at=ahead),
        merge_event(at=REQUESTED_AT - timedelta(days=4000)),
    )
    assert judge_whole_pull_requests(store) == 1
    record_outcomes(store, revert_event().model_copy(update={"at": ahead}))
    assert recorded_outcomes(store) == [(1, "merged"), (1, "reverted")], "thirty days by Redis' clock"


@pytest.mark.parametrize("again", [2, 5])
def test_a_doubled_delivery_tells_nothing_twice(store: Store, again: int) -> None:
    judge_head(store)
    all_of_them = [
        merge_event(),
        revert_event(),
        pull_request_event(PullRequestEventKind.HELPFUL, by_person=True),
        pull_request_event(PullRequestEventKind.REOPENED, by_person=True),
        pull_request_event(PullRequestEventKind.CI_FAILED, None, head_sha=HEAD),
    ]
    for _ in range(again):
        record_outcomes(store, *all_of_them)
    assert sorted(kind for _, kind in recorded_outcomes(store)) == [
        "ci_red_later",
        "helpful",
        "merged",
        "reopened",
        "reverted",
    ]
    assert len(store.outcomes.outcomes_of(pull_ref())) == 5
    assert store.client.call("HGET", keys.watch(pull_ref()).name, "events") == b"3", "by people, once each"


def test_the_door_notes_a_delivery_once_and_only_about_what_was_judged(store: Store) -> None:
    events, closed = store.pull_request_events, pull_request_event(PullRequestEventKind.CLOSED)
    assert events.put(closed) is Taken.UNKNOWN
    judge_head(store)
    while noted := events.next():  # by the judge itself: which issues it closes
        assert noted.event.what is PullRequestEventKind.JUDGED
        events.complete(noted.event)
    assert [events.put(closed) for _ in range(2)] == [Taken.QUEUED, Taken.DUPLICATE]
    for attempt in (1, 2):
        waiting = events.next()
        assert waiting is not None
        assert (waiting.event, waiting.attempt, events.next()) == (closed, attempt, None)
        events.postpone(closed, timedelta(0))
    events.complete(closed)
    assert (events.next(), events.put(closed)) == (None, Taken.DUPLICATE)


@pytest.mark.parametrize(
    ("what", "changes", "taken"),
    [
        (PullRequestEventKind.CI_FAILED, {"head_sha": HEAD}, Taken.QUEUED),
        (PullRequestEventKind.CI_FAILED, {"head_sha": NEWER}, Taken.UNKNOWN),
        (PullRequestEventKind.REVERTED, {"reverted_shas": (NEWER,)}, Taken.QUEUED),
        (PullRequestEventKind.MERGED, {"number": 5}, Taken.UNKNOWN),
        (PullRequestEventKind.MERGED, {"number": 5, "reverts": (1,)}, Taken.QUEUED),
    ],
)
def test_what_names_no_pull_request_of_ours_is_noted_by_what_it_names(
    store: Store, what: PullRequestEventKind, changes: dict[str, Any], taken: Taken
) -> None:
    judge_head(store)
    assert store.pull_request_events.put(pull_request_event(what, **{"number": None, **changes})) is taken


def test_an_outcome_of_a_pull_request_that_nobody_watches_any_more_is_told_all_the_same(store: Store) -> None:
    judge_head(store)
    store.client.call("DEL", keys.watch(pull_ref()).name)
    store.outcomes.publish(pull_ref(), "late", Outcome(kind=OutcomeKind.REVERTED, at=REQUESTED_AT), is_event=False)
    assert recorded_outcomes(store) == [(1, "reverted")]
    assert judge_whole_pull_requests(store) == 0


def test_judging_the_same_again_opens_no_second_window(store: Store) -> None:
    made = judge_head(store)
    end_window(store)
    store.outcomes.add_verdict(pull_ref(), made, ())
    assert judge_whole_pull_requests(store) == 1


def test_all_of_it_ends_by_itself_or_with_its_repository(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, pull_request_event(PullRequestEventKind.JUDGED, issues=("abc",)), merge_event())
    named = (
        keys.watch(pull_ref()),
        keys.outcomes(pull_ref()),
        keys.merged_lines(pull_ref()),
        keys.commit(pull_ref().installation_id, pull_ref().repository_id, MERGE),
        keys.commit(pull_ref().installation_id, pull_ref().repository_id, HEAD),
        keys.merges(pull_ref().installation_id, pull_ref().repository_id),
        keys.issue_pulls(pull_ref().installation_id, "abc"),
    )
    for key in named:
        assert 0 < ttl_s(store, key) <= key.seconds, key.name
    store.records().forget(store.records().find_holdings("acme/widgets"), REQUESTED_AT)
    assert [key.name for key in named if store.client.call("EXISTS", key.name)] == []
