"""What each event makes of a pull request in each state, in whatever order the events come."""

from itertools import pairwise, permutations

import pytest

from tests.worker.domain.lifecycle.scenario import HEAD, NEWER, NEWEST, START, PlayedPullRequest
from worker.domain.ids import BaseHash, DeliveryId, Sha, hash_base
from worker.domain.judge_request import DRAFT_TRIGGERS, Trigger
from worker.domain.lifecycle.intake import (
    MOST_LOOKS,
    NO_HEAD,
    IntakeContext,
    IntakeOutcome,
    NamedHead,
    withdraw,
)
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.state import MOST_LEFT_HEADS, Phase, Retention

MAIN, DEV, NEXT = (hash_base(name) for name in ("main", "dev", "next"))
WINDOW_TRIGGERS = {Trigger.OPENED, Trigger.PUSHED, Trigger.REOPENED, Trigger.TEXT}
SOON_TRIGGERS = {Trigger.EDITED, Trigger.CRITERIA, Trigger.RULES, Trigger.CI, Trigger.SWEEP}


def window_of(trigger: Trigger) -> float:
    """Seconds until a first request of this trigger is judged."""
    return 45 if trigger in WINDOW_TRIGGERS else 2 if trigger in SOON_TRIGGERS else 0


@pytest.fixture
def pull() -> PlayedPullRequest:
    return PlayedPullRequest()


# Each trigger, in each phase


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.TEXT}))
def test_a_first_request_is_due_after_its_window(pull: PlayedPullRequest, trigger: Trigger) -> None:
    assert pull.request(trigger) is IntakeOutcome.QUEUED
    assert (pull.state.phase, pull.due_in_s, pull.state.retention) == (Phase.DUE, window_of(trigger), Retention.OPEN)


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.REVIEW}))
def test_after_a_verdict_each_request_is_due_again(pull: PlayedPullRequest, trigger: Trigger) -> None:
    pull.request()
    assert pull.judge() is FinishResult.CLOSED
    assert pull.state.phase is None
    assert pull.request(trigger) is IntakeOutcome.QUEUED
    assert pull.due_in_s == window_of(trigger)


@pytest.mark.parametrize("phase", [Phase.DISPATCHED, Phase.JUDGING])
@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.REVIEW}))
def test_a_request_during_a_judging_has_it_judged_again(
    pull: PlayedPullRequest, trigger: Trigger, phase: Phase
) -> None:
    pull.request()
    pull.start() if phase is Phase.JUDGING else pull.dispatch()
    assert pull.request(trigger) is IntakeOutcome.COALESCED
    assert pull.state.phase is phase
    if phase is Phase.JUDGING:
        assert pull.end(head=HEAD) is FinishResult.AGAIN
        assert pull.due_in_s == window_of(trigger)


@pytest.mark.parametrize("trigger", sorted(set(Trigger)))
def test_a_request_while_it_is_due_never_delays_it_beyond_its_own_window(
    pull: PlayedPullRequest, trigger: Trigger
) -> None:
    pull.request()
    pull.now += 10_000
    assert pull.request(trigger) is IntakeOutcome.COALESCED
    seconds = 35 if trigger in SOON_TRIGGERS else 45 if trigger is Trigger.BASE else window_of(trigger)
    assert pull.due_in_s == seconds


def test_pushes_extend_the_window_up_to_its_limit(pull: PlayedPullRequest) -> None:
    for number in range(20):
        pull.request(head=f"{number:040x}")
        pull.now += 40_000
    assert pull.due_in_s is not None
    assert (pull.now + pull.due_in_s * 1000 - START) / 1000 == 300


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - DRAFT_TRIGGERS - {Trigger.TEXT}))
def test_a_draft_waits_and_its_check_run_is_opened(pull: PlayedPullRequest, trigger: Trigger) -> None:
    assert pull.request(trigger, draft=True) is IntakeOutcome.QUEUED
    assert (pull.state.phase, pull.state.is_idle_draft, pull.state.retention) == (None, True, Retention.EXPIRING)
    assert pull.state.opening_at == pull.now


@pytest.mark.parametrize("trigger", sorted(DRAFT_TRIGGERS))
def test_a_person_has_a_draft_judged(pull: PlayedPullRequest, trigger: Trigger) -> None:
    pull.request(draft=True)
    pull.request(trigger, draft=True)
    assert (pull.state.phase, pull.due_in_s, pull.state.is_idle_draft) == (Phase.DUE, 0, False)
    pull.request(head=NEWER, draft=True)
    assert (pull.state.phase, pull.state.is_idle_draft) == (Phase.DUE, trigger is Trigger.LOCAL), "it was asked for"


@pytest.mark.parametrize("phase", [Phase.DUE, Phase.DISPATCHED, Phase.JUDGING])
def test_a_late_event_of_a_draft_leaves_what_is_due(pull: PlayedPullRequest, phase: Phase) -> None:
    pull.request()
    if phase is not Phase.DUE:
        pull.start() if phase is Phase.JUDGING else pull.dispatch()
    assert pull.request(Trigger.EDITED, draft=True) is IntakeOutcome.COALESCED
    assert (pull.state.phase, pull.state.retention) == (phase, Retention.OPEN)


def test_a_draft_with_another_head_than_the_judged_one_is_looked_at(pull: PlayedPullRequest) -> None:
    pull.request(head=NEWER)
    pull.judge(NEWER)
    assert pull.request(head=HEAD, draft=True) is IntakeOutcome.QUEUED
    assert (pull.state.phase, pull.due_in_s) == (Phase.DUE, 0)


def test_a_draft_that_a_judge_has_seen_is_not_looked_at_for_each_push(pull: PlayedPullRequest) -> None:
    pull.request()
    pull.judge()
    pull.request(head=NEWER, draft=True)
    pull.judge(None)
    pull.request(head=NEWEST, draft=True)
    assert (pull.state.phase, pull.state.retention) == (None, Retention.EXPIRING)


@pytest.mark.parametrize("head", [HEAD, NEWER])
def test_a_draft_waits_for_the_checks_of_the_head_that_was_judged(pull: PlayedPullRequest, head: Sha) -> None:
    pull.request()
    pull.judge(later="again")
    pull.request(Trigger.EDITED, head, draft=True)
    assert pull.state.ci_request == ("again" if head == HEAD else None)


@pytest.mark.parametrize("head", [HEAD, None])
def test_a_verdict_shows_that_it_is_no_draft_and_a_review_request_starts_a_draft(
    pull: PlayedPullRequest, head: Sha | None
) -> None:
    pull.request()
    pull.request(draft=True)
    pull.judge(head)
    assert pull.state.is_idle_draft is (head is None)
    assert pull.request(Trigger.REVIEW) is (IntakeOutcome.QUEUED if head is None else IntakeOutcome.UNKNOWN)


def test_a_review_request_starts_only_what_waits(pull: PlayedPullRequest) -> None:
    pull.request()
    pull.judge()
    assert pull.request(Trigger.REVIEW) is IntakeOutcome.UNKNOWN
    assert pull.state.phase is None


@pytest.mark.parametrize("has_case", [True, False])
def test_a_push_with_a_case_needs_no_window(pull: PlayedPullRequest, *, has_case: bool) -> None:
    pull.request(by=NamedHead(has_case=has_case))
    assert pull.due_in_s == (0 if has_case else 45)


@pytest.mark.parametrize(("trigger", "seconds"), [(Trigger.PUSHED, 600), (Trigger.EDITED, 2), (Trigger.COMMAND, 0)])
def test_the_configuration_of_the_base_sets_the_window(
    pull: PlayedPullRequest, trigger: Trigger, seconds: float
) -> None:
    pull.request(trigger, context=IntakeContext(quiet_ms=600_000))
    assert pull.due_in_s == seconds


def test_an_event_without_a_window_leaves_the_one_of_the_base(pull: PlayedPullRequest) -> None:
    pull.request(context=IntakeContext(quiet_ms=600_000))
    pull.request(Trigger.EDITED)
    assert (pull.state.quiet_ms, pull.due_in_s) == (600_000, 600)


@pytest.mark.parametrize("trigger", [Trigger.RESUMED, Trigger.LATE, Trigger.REOPENED, Trigger.PUSHED])
def test_assays_own_requests_do_not_reopen_a_closed_pull_request(pull: PlayedPullRequest, trigger: Trigger) -> None:
    pull.request()
    pull.judge()
    pull.close()
    pull.request(trigger)
    assert pull.state.is_closed is (trigger in {Trigger.RESUMED, Trigger.LATE})


# Edited text


def test_an_edited_text_of_an_unknown_pull_request_is_nothing(pull: PlayedPullRequest) -> None:
    assert pull.request(Trigger.TEXT) is IntakeOutcome.UNKNOWN
    assert pull.request(Trigger.TEXT, context=IntakeContext(has_ledger=True)) is IntakeOutcome.QUEUED
    assert pull.state.outdated_by == Trigger.TEXT


def test_an_edited_text_is_nothing_where_an_issue_states_the_criteria(pull: PlayedPullRequest) -> None:
    pull.request()
    before = pull.state
    assert pull.request(Trigger.TEXT, context=IntakeContext(is_judged_by_issue=True)) is IntakeOutcome.UNKNOWN
    assert pull.state == before


@pytest.mark.parametrize("is_concluded", [True, False])
def test_an_edited_text_makes_a_verdict_stale_and_only_extends_a_wait(
    pull: PlayedPullRequest, *, is_concluded: bool
) -> None:
    pull.request()
    first = pull.state.request
    pull.request(Trigger.TEXT, context=IntakeContext(is_concluded=is_concluded))
    assert (pull.state.outdated_by is None, pull.state.request == first) == (not is_concluded, not is_concluded)


@pytest.mark.parametrize("head", [HEAD, NEWER])
def test_an_edited_text_in_the_window_has_its_check_run_show_the_new_time_or_head(
    pull: PlayedPullRequest, head: Sha
) -> None:
    pull.request()
    first = pull.state.request
    pull.change(opening_at=None)
    pull.now += 1000
    pull.request(Trigger.TEXT, head)
    assert (pull.state.head, pull.state.opening_at, pull.due_in_s) == (head, pull.now, 45)
    assert (pull.state.request == first) is (head == HEAD)


# Outdated verdicts


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.REVIEW}))
def test_some_events_make_the_published_verdict_stale(pull: PlayedPullRequest, trigger: Trigger) -> None:
    pull.request()
    pull.judge()
    pull.change(opening_at=None)
    pull.request(trigger, base=MAIN)
    outdating = {
        Trigger.EDITED, Trigger.TEXT, Trigger.BASE, Trigger.CASE, Trigger.CRITERIA, Trigger.RULES, Trigger.REOPENED,
        Trigger.READY,
    }  # fmt: skip
    assert (pull.state.outdated_by, pull.state.opening_at) == (
        (trigger, pull.now) if trigger in outdating else (None, None)
    )


def test_what_was_stale_at_the_start_of_a_judging_without_a_verdict_stays_so(pull: PlayedPullRequest) -> None:
    pull.request()
    pull.judge()
    pull.request(Trigger.RULES)
    pull.start()
    assert pull.state.outdated_by is None
    pull.end(Finish.RETRY, wait_ms=1000)
    assert pull.state.outdated_by == Trigger.RULES
    pull.start()
    pull.request(Trigger.CRITERIA)
    pull.end(Finish.RETRY, wait_ms=1000)
    assert pull.state.outdated_by == Trigger.CRITERIA


# The order of heads


@pytest.mark.parametrize(
    ("first", "order"),
    [("a", order) for order in permutations([("a", "b"), ("b", "c"), ("c", "d")])]
    + [("", order) for order in permutations([(NO_HEAD, "a"), ("a", "b"), ("b", "c")])],
)
def test_the_newest_announced_commit_is_the_head_in_any_order(
    pull: PlayedPullRequest, first: str, order: tuple[tuple[str, str], ...]
) -> None:
    newest = first
    if first:
        pull.request(Trigger.OPENED, first * 40, by=NamedHead(NO_HEAD))
    for before, head in order:
        trigger = Trigger.OPENED if before == NO_HEAD else Trigger.PUSHED
        pull.request(trigger, head * 40, by=NamedHead(before if before == NO_HEAD else before * 40))
        newest = max(newest, head)
        assert pull.state.head == newest * 40


def push(pull: PlayedPullRequest, before: Sha | None, head: Sha, **changes: str) -> IntakeOutcome:
    return pull.request(Trigger.PUSHED, head, by=NamedHead(before), **changes)  # pyright: ignore[reportArgumentType]


def test_a_pull_request_that_was_opened_has_left_no_head(pull: PlayedPullRequest) -> None:
    push(pull, NO_HEAD, HEAD)
    assert pull.state.left_heads == ()


@pytest.mark.parametrize("head", [HEAD, None])
def test_a_check_run_shows_that_its_pull_request_became_a_draft(pull: PlayedPullRequest, head: Sha | None) -> None:
    pull.request()
    pull.change(opening_at=None)
    pull.now += 1000
    pull.request(Trigger.EDITED, head, draft=True)
    assert pull.state.opening_at == (pull.now if head else None)


def test_a_push_to_a_head_that_was_left_is_late(pull: PlayedPullRequest) -> None:
    push(pull, NO_HEAD, HEAD)
    push(pull, NEWER, NEWEST)
    pull.judge(NEWEST)
    before = pull.state
    assert push(pull, HEAD, NEWER) is IntakeOutcome.LATE
    assert pull.state._replace(left_heads=before.left_heads) == before
    assert pull.request(Trigger.EDITED, HEAD, by=NamedHead(), draft=True) is IntakeOutcome.LATE


def test_a_push_from_a_head_that_was_left_moves_no_head_and_is_looked_at(pull: PlayedPullRequest) -> None:
    push(pull, NO_HEAD, HEAD)
    push(pull, NEWER, NEWEST, first_seen_at="2026-11-20T20:05:00Z")
    pull.judge(NEWEST)
    assert push(pull, HEAD, "4" * 40) is IntakeOutcome.QUEUED
    assert (pull.state.head, pull.state.head_first_seen_at) == (NEWEST, "2026-11-20T20:05:00Z")


def test_a_forced_push_back_to_an_earlier_head_counts(pull: PlayedPullRequest) -> None:
    push(pull, NO_HEAD, HEAD)
    push(pull, HEAD, NEWER)
    assert push(pull, NEWER, HEAD) is IntakeOutcome.COALESCED
    assert pull.state.head == HEAD


def test_github_is_asked_and_its_answer_is_the_head(pull: PlayedPullRequest) -> None:
    push(pull, NO_HEAD, HEAD)
    push(pull, HEAD, NEWER)
    pull.request(Trigger.SWEEP, HEAD)
    assert pull.state.head == HEAD
    pull.judge(NEWEST)
    assert (pull.state.head, pull.state.published_head) == (NEWEST, NEWEST)
    assert push(pull, HEAD, NEWER) is IntakeOutcome.LATE


def test_another_event_with_an_older_head_counts_for_the_newest(pull: PlayedPullRequest) -> None:
    push(pull, NO_HEAD, HEAD)
    push(pull, HEAD, NEWER)
    pull.judge(NEWER)
    assert pull.request(Trigger.EDITED, HEAD, by=NamedHead()) is IntakeOutcome.QUEUED
    assert (pull.state.head, pull.state.outdated_by) == (NEWER, Trigger.EDITED)


def test_a_limited_number_of_heads_is_remembered(pull: PlayedPullRequest) -> None:
    heads = [f"{number:040x}" for number in range(1, 30)]
    for before, head in pairwise(heads):
        push(pull, before, head)
        push(pull, before, head)
    assert pull.state.left_heads == tuple(heads[-1 - MOST_LEFT_HEADS : -1])


def test_the_time_of_an_older_head_is_not_that_of_the_newest(pull: PlayedPullRequest) -> None:
    push(pull, HEAD, NEWER)
    pull.judge(NEWEST)
    pull.request(Trigger.OPENED, HEAD, by=NamedHead(NO_HEAD), first_seen_at="earlier")
    assert pull.state.head_first_seen_at is None
    push(pull, NEWER, NEWEST, first_seen_at="now")
    assert pull.state.head_first_seen_at == "now"


@pytest.mark.parametrize("by_verdict", [True, False])
def test_another_head_has_no_history(pull: PlayedPullRequest, *, by_verdict: bool) -> None:
    pull.request(first_seen_at="then")
    pull.request(Trigger.RERUN, first_seen_at="later")
    assert pull.state.head_first_seen_at == "then"
    pull.change(looks=3, waiting_since=START)
    pull.judge(NEWER) if by_verdict else pull.request(head=NEWER)
    assert (pull.state.head, pull.state.head_first_seen_at) == (NEWER, None)
    assert (pull.state.looks, pull.state.waiting_since) == (0, None)


def test_a_verdict_on_a_head_that_no_event_named_is_the_first(pull: PlayedPullRequest) -> None:
    pull.request(Trigger.COMMAND, None)
    pull.judge(NEWER)
    assert (pull.state.head, pull.state.left_heads) == (NEWER, ())


# The order of bases


def move(pull: PlayedPullRequest, left: BaseHash | None, base: BaseHash) -> IntakeOutcome:
    return pull.request(Trigger.BASE, base=base, by=NamedHead(previous_base=left))


@pytest.mark.parametrize(
    "route",
    [
        (MAIN, DEV),
        (MAIN, DEV, MAIN),
        (MAIN, DEV, NEXT),
        (MAIN, DEV, NEXT, MAIN),
        (MAIN, DEV, NEXT, DEV),
        (MAIN, DEV, MAIN, DEV),
    ],
)
def test_after_all_edits_the_last_base_is_known_in_any_order(route: tuple[BaseHash, ...]) -> None:
    for order in permutations(pairwise(route)):
        pull = PlayedPullRequest()
        pull.request(Trigger.OPENED, base=MAIN)
        for left, base in order:
            move(pull, left, base)
        assert (pull.state.base, pull.state.base_moves) == (route[-1], ())


def test_a_late_edit_of_the_base_changes_neither_base_nor_decisions(pull: PlayedPullRequest) -> None:
    pull.request(Trigger.OPENED, base=MAIN)
    move(pull, DEV, MAIN)
    assert pull.intakes[-1].is_rebased
    due_in_s = pull.due_in_s
    pull.now += 1000
    assert move(pull, MAIN, DEV) is IntakeOutcome.COALESCED
    assert (pull.state.base, pull.intakes[-1].is_rebased, pull.due_in_s) == (MAIN, False, due_in_s and due_in_s - 1)
    assert f'"base":"{MAIN}"' in (pull.state.request or "")
    pull.judge(base=MAIN)
    assert not pull.state.is_base_unconfirmed


def test_where_the_order_is_unknown_the_next_judging_decides(pull: PlayedPullRequest) -> None:
    pull.request(Trigger.OPENED, base=NEXT)
    move(pull, MAIN, DEV)
    assert pull.state.base == DEV
    pull.start()
    move(pull, MAIN, NEXT)
    pull.end(head=HEAD, base=NEXT)
    assert pull.state.is_base_unconfirmed, "an edit came during the judging"
    pull.judge(base=NEXT)
    assert (pull.state.base, pull.state.is_base_unconfirmed) == (NEXT, False)


@pytest.mark.parametrize(
    ("left", "head", "base"), [(None, HEAD, DEV), (None, None, MAIN), (DEV, HEAD, NEXT)], ids=["head", "none", "left"]
)
def test_an_edit_of_the_base_that_names_no_former_one(
    pull: PlayedPullRequest, left: BaseHash | None, head: Sha | None, base: BaseHash
) -> None:
    pull.request(Trigger.OPENED, base=None if left else MAIN)
    new = NEXT if left else DEV
    pull.request(Trigger.BASE, head, base=new, by=NamedHead(previous_base=left) if left else None)
    assert pull.state.base == base


def test_unfinished_moves_do_not_grow_without_end(pull: PlayedPullRequest) -> None:
    pull.request(Trigger.OPENED, base=MAIN)
    for number in range(40):
        move(pull, hash_base(f"left {number}"), hash_base(f"base {number}"))
    assert pull.state.base == hash_base("base 39")
    assert len(pull.state.base_moves) <= 8


def test_a_new_base_while_it_is_due_counts_with_its_own_window(pull: PlayedPullRequest) -> None:
    pull.request(base=MAIN)
    pull.now += 40_000
    move(pull, MAIN, DEV)
    assert pull.due_in_s == 45
    pull.judge()
    move(pull, DEV, MAIN)
    assert pull.due_in_s == 0


def test_a_base_is_known_from_its_first_verdict(pull: PlayedPullRequest) -> None:
    pull.request(Trigger.COMMAND, None)
    pull.judge(base=DEV)
    pull.request(Trigger.COMMAND, None)
    pull.judge(base=MAIN)
    assert pull.state.base == DEV


# Backoffs and outsiders


@pytest.mark.parametrize(
    ("how", "trigger", "head", "seconds"),
    [
        (Finish.AWAY, Trigger.EDITED, HEAD, 600),
        (Finish.AWAY, Trigger.COMMAND, HEAD, 0),
        (Finish.AWAY, Trigger.PUSHED, NEWER, 45),
        (Finish.PUT_OFF, Trigger.PUSHED, NEWER, 600),
        (Finish.PUT_OFF, Trigger.COMMAND, HEAD, 300),
        (Finish.RETRY, Trigger.COMMAND, HEAD, 600),
    ],
)
def test_who_ends_a_wait(pull: PlayedPullRequest, how: Finish, trigger: Trigger, head: Sha, seconds: float) -> None:
    pull.request()
    pull.start()
    pull.end(how, wait_ms=600_000, limit_ms=300_000, retry_at=pull.now + 600_000)
    pull.request(trigger, head)
    assert pull.due_in_s == seconds


def test_a_wait_that_ends_during_a_judging_ends_after_it(pull: PlayedPullRequest) -> None:
    pull.request()
    pull.start()
    pull.end(Finish.AWAY, retry_at=pull.now + 600_000)
    pull.start()
    pull.request(Trigger.COMMAND)
    assert (pull.state.outage_count, pull.state.queued_at) == (0, None)


def test_heads_of_outsiders_take_turns(pull: PlayedPullRequest) -> None:
    waits = list[float | None]()
    for number in range(5):
        other = PlayedPullRequest(outside_turn_at=pull.outside_turn_at)
        other.request(Trigger.COMMAND if number == 4 else Trigger.READY, outside=True)
        pull.outside_turn_at = other.outside_turn_at
        waits.append(other.due_in_s)
    assert waits == [0, 0, 0, 10, 0]


def test_a_request_by_an_insider_ends_the_turn_of_an_outsider(pull: PlayedPullRequest) -> None:
    pull.outside_turn_at = START + 100_000
    pull.request(outside=True)
    assert (pull.state.is_outside, pull.due_in_s, pull.state.opening_at) == (True, 80, START + 80_000)
    pull.request(head=NEWER, outside=True)
    assert pull.due_in_s == 80, "it may push as often as it likes until its turn"
    pull.request(Trigger.COMMAND)
    assert (pull.state.is_outside, pull.due_in_s, pull.state.opening_at) == (False, 0, START)
    pull.request(outside=True)
    assert not pull.state.is_outside


# Other checks


def wait_for_ci(pull: PlayedPullRequest, wait_ms: float = 600_000) -> None:
    pull.request()
    pull.start()
    assert pull.end(Finish.WAIT, wait_ms=wait_ms) is FinishResult.LATER


def test_checks_of_other_heads_and_of_closed_pull_requests_are_nothing(pull: PlayedPullRequest) -> None:
    assert not pull.complete_check()
    wait_for_ci(pull)
    assert not pull.complete_check(NEWER)
    pull.close()
    assert not pull.complete_check()


def test_a_completed_check_neither_starts_nor_ends_a_window(pull: PlayedPullRequest) -> None:
    pull.request()
    assert not pull.complete_check()
    pull.judge()
    assert not pull.complete_check()


def test_a_burst_of_completed_checks_is_looked_at_once_soon(pull: PlayedPullRequest) -> None:
    wait_for_ci(pull)
    for _ in range(20):
        assert pull.complete_check()
        assert pull.due_in_s is not None
        assert pull.due_in_s <= 2
        pull.now += 1000
    assert pull.due_in_s is not None
    assert pull.due_in_s < 0, "it does not wait for the end of the burst"


def test_a_look_that_is_due_earlier_is_not_delayed(pull: PlayedPullRequest) -> None:
    wait_for_ci(pull, wait_ms=500)
    pull.complete_check()
    assert pull.due_in_s == 0.5
    pull.now += 1000
    pull.complete_check()
    assert pull.due_in_s == -0.5


def test_green_ci_ends_the_window_but_no_backoff(pull: PlayedPullRequest) -> None:
    pull.request()
    assert pull.complete_check(is_green=True)
    assert pull.due_in_s == 2
    assert pull.complete_check(is_green=True)
    assert pull.due_in_s == 2
    pull.start()
    pull.end(Finish.RETRY, wait_ms=300_000)
    pull.request(Trigger.TEXT, context=IntakeContext(has_ledger=True))
    pull.complete_check(is_green=True)
    assert pull.due_in_s == 300


def test_a_verdict_that_lacks_ci_is_repeated_when_checks_complete(pull: PlayedPullRequest) -> None:
    pull.request()
    assert pull.judge(later="again") is FinishResult.CLOSED
    assert pull.complete_check()
    assert (pull.due_in_s, pull.state.request, pull.state.retention) == (2, "again", Retention.OPEN)
    pull.start()
    assert pull.complete_check()
    assert pull.end(head=HEAD, later="again") is FinishResult.AGAIN
    assert (pull.due_in_s, pull.state.looks) == (2, 2)


def test_checks_that_complete_while_it_waits_for_ci_are_not_missed(pull: PlayedPullRequest) -> None:
    wait_for_ci(pull)
    pull.start()
    pull.complete_check()
    pull.end(Finish.WAIT, wait_ms=600_000)
    assert pull.due_in_s == 2


@pytest.mark.parametrize("during", [True, False])
def test_looks_come_ever_later_and_end(pull: PlayedPullRequest, *, during: bool) -> None:
    waits = list[float]()
    pull.request()
    pull.start()
    for _ in range(MOST_LOOKS + 1):
        if during:
            pull.complete_check()
        pull.end(head=HEAD, later="again")
        if not during:
            pull.complete_check()
        if pull.due_in_s is None:
            break
        waits.append(pull.due_in_s)
        pull.start()
    assert len(waits) == MOST_LOOKS
    assert (waits[0], waits[2], waits[-1]) == (2, 2, 512)
    pull.request(Trigger.RERUN)
    assert pull.state.looks == 0


def test_no_completed_check_shortens_the_wait_of_a_later_look(pull: PlayedPullRequest) -> None:
    pull.request()
    for _ in range(8):
        pull.judge(later="again")
        pull.complete_check()
    wait_s = pull.due_in_s
    pull.complete_check()
    assert pull.due_in_s == wait_s


# Closed and withdrawn


def test_an_unknown_pull_request_is_closed_without_a_trace(pull: PlayedPullRequest) -> None:
    before = pull.state
    pull.close()
    assert pull.state == before


@pytest.mark.parametrize("has_open_checks", [True, False])
def test_a_closed_pull_request_is_judged_if_something_is_unfinished(
    pull: PlayedPullRequest, *, has_open_checks: bool
) -> None:
    pull.request()
    pull.judge()
    pull.close(has_open_checks=has_open_checks)
    assert (pull.state.is_closed, pull.due_in_s) == (True, 0 if has_open_checks else None)
    assert pull.state.retention is (Retention.OPEN if has_open_checks else Retention.EXPIRING)


@pytest.mark.parametrize("is_judging", [True, False])
def test_a_close_ends_a_window_and_is_not_missed_by_a_judge(pull: PlayedPullRequest, *, is_judging: bool) -> None:
    pull.request()
    if is_judging:
        pull.start()
    pull.close()
    if is_judging:
        assert pull.end(head=HEAD) is FinishResult.AGAIN
    assert pull.due_in_s == 0


def test_a_request_is_withdrawn_unless_something_else_asks(pull: PlayedPullRequest) -> None:
    pull.request()
    delivery = DeliveryId(str(pull.numbers))
    after = withdraw(pull.state, delivery)
    assert after is not None
    assert (after.phase, after.queued_at) == (None, None)
    assert withdraw(after, delivery) is None
    assert withdraw(pull.state, DeliveryId("other")) is None
    pull.request(Trigger.COMMAND)
    assert withdraw(pull.state, DeliveryId(str(pull.numbers))) is None
