"""Events of a pull request in each state and any order."""

from datetime import UTC, datetime
from itertools import pairwise, permutations
from typing import Any

import pytest

from tests.worker.domain.lifecycle.scenario import HEAD, NEWER, NEWEST, START, PlayedPull
from worker.domain.judge_request import DRAFT_TRIGGERS, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import (
    MOST_LOOKS,
    IntakeContext,
    IntakeOutcome,
    NamedHead,
    ShownPull,
    is_overtaken,
    may_lag,
    withdraw,
)
from worker.domain.lifecycle.judging import Finish, FinishResult
from worker.domain.lifecycle.state import Phase, Retention
from worker.domain.model import BaseHash, DeliveryId, InstallationId, RepositoryId, Sha, hash_base

MAIN, DEV, NEXT = (hash_base(name) for name in ("main", "dev", "next"))
WINDOW_TRIGGERS = {Trigger.OPENED, Trigger.PUSHED, Trigger.REOPENED, Trigger.TEXT}
SOON_TRIGGERS = {Trigger.EDITED, Trigger.CRITERIA, Trigger.RULES, Trigger.CI, Trigger.SWEEP}


def window_of(trigger: Trigger) -> float:
    """Seconds until a first request of this trigger is judged."""
    return 45 if trigger in WINDOW_TRIGGERS else 2 if trigger in SOON_TRIGGERS else 0


@pytest.fixture
def pull() -> PlayedPull:
    return PlayedPull()


# Triggers in each phase


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.TEXT}))
def test_first_request_is_due_after_its_window(pull: PlayedPull, trigger: Trigger) -> None:
    assert pull.request(trigger) is IntakeOutcome.QUEUED
    assert (pull.state.phase, pull.due_in_s, pull.state.retention) == (Phase.DUE, window_of(trigger), Retention.OPEN)


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.REVIEW}))
def test_request_after_a_verdict_is_due_again(pull: PlayedPull, trigger: Trigger) -> None:
    pull.request()
    assert pull.judge() is FinishResult.CLOSED
    assert pull.state.phase is None
    assert pull.request(trigger) is IntakeOutcome.QUEUED
    assert pull.due_in_s == window_of(trigger)


@pytest.mark.parametrize("phase", [Phase.DISPATCHED, Phase.JUDGING])
@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.REVIEW}))
def test_request_during_a_judging_repeats_it(pull: PlayedPull, trigger: Trigger, phase: Phase) -> None:
    pull.request()
    pull.start() if phase is Phase.JUDGING else pull.dispatch()
    assert pull.request(trigger) is IntakeOutcome.COALESCED
    assert pull.state.phase is phase
    if phase is Phase.JUDGING:
        assert pull.end(head=HEAD) is FinishResult.AGAIN
        assert pull.due_in_s == window_of(trigger)


@pytest.mark.parametrize("trigger", sorted(set(Trigger)))
def test_request_delays_a_due_judging_by_at_most_its_own_window(pull: PlayedPull, trigger: Trigger) -> None:
    pull.request()
    pull.now += 10_000
    assert pull.request(trigger) is IntakeOutcome.COALESCED
    seconds = 35 if trigger in SOON_TRIGGERS else 45 if trigger is Trigger.BASE else window_of(trigger)
    assert pull.due_in_s == seconds


def test_pushes_extend_the_window_up_to_its_limit(pull: PlayedPull) -> None:
    for number in range(20):
        pull.request(head=f"{number:040x}")
        pull.now += 40_000
    assert pull.due_in_s is not None
    assert (pull.now + pull.due_in_s * 1000 - START) / 1000 == 300


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - DRAFT_TRIGGERS - {Trigger.TEXT}))
def test_draft_waits_and_its_check_run_is_opened(pull: PlayedPull, trigger: Trigger) -> None:
    assert pull.request(trigger, draft=True) is IntakeOutcome.QUEUED
    assert (pull.state.phase, pull.state.is_idle_draft, pull.state.retention) == (None, True, Retention.EXPIRING)
    assert pull.state.opening_at == pull.now


@pytest.mark.parametrize("trigger", sorted(DRAFT_TRIGGERS))
def test_command_has_a_draft_judged(pull: PlayedPull, trigger: Trigger) -> None:
    pull.request(draft=True)
    pull.request(trigger, draft=True)
    assert (pull.state.phase, pull.due_in_s, pull.state.is_idle_draft) == (Phase.DUE, 0, False)
    pull.request(head=NEWER, draft=True)
    assert (pull.state.phase, pull.state.is_idle_draft) == (Phase.DUE, trigger is Trigger.LOCAL), (
        "a command keeps the judging due"
    )


@pytest.mark.parametrize("phase", [Phase.DUE, Phase.DISPATCHED, Phase.JUDGING])
def test_late_draft_event_keeps_the_due_judging(pull: PlayedPull, phase: Phase) -> None:
    pull.request()
    if phase is not Phase.DUE:
        pull.start() if phase is Phase.JUDGING else pull.dispatch()
    assert pull.request(Trigger.EDITED, draft=True) is IntakeOutcome.COALESCED
    assert (pull.state.phase, pull.state.retention) == (phase, Retention.OPEN)


def test_draft_with_another_head_than_the_judged_one_is_judged(pull: PlayedPull) -> None:
    pull.request(head=NEWER)
    pull.judge(NEWER)
    assert pull.request(head=HEAD, draft=True) is IntakeOutcome.QUEUED
    assert (pull.state.phase, pull.due_in_s) == (Phase.DUE, 0)


def test_judged_draft_is_not_judged_for_each_push(pull: PlayedPull) -> None:
    pull.request()
    pull.judge()
    pull.request(head=NEWER, draft=True)
    pull.judge(None)
    pull.request(head=NEWEST, draft=True)
    assert (pull.state.phase, pull.state.retention) == (None, Retention.EXPIRING)


@pytest.mark.parametrize("head", [HEAD, NEWER])
def test_draft_waits_for_ci_of_the_judged_head(pull: PlayedPull, head: Sha) -> None:
    pull.request()
    pull.judge(later="again")
    pull.request(Trigger.EDITED, head, draft=True)
    assert pull.state.ci_request == ("again" if head == HEAD else None)


@pytest.mark.parametrize("head", [HEAD, None])
def test_verdict_ends_the_draft_state_and_a_review_request_starts_a_draft(pull: PlayedPull, head: Sha | None) -> None:
    pull.request()
    pull.request(draft=True)
    pull.judge(head)
    assert pull.state.is_idle_draft is (head is None)
    outcome, phase = (IntakeOutcome.QUEUED, Phase.DUE) if head is None else (IntakeOutcome.UNKNOWN, None)
    assert (pull.request(Trigger.REVIEW), pull.state.phase) == (outcome, phase)


@pytest.mark.parametrize("has_case", [True, False])
def test_push_with_a_case_needs_no_window(pull: PlayedPull, *, has_case: bool) -> None:
    pull.request(by=NamedHead(has_case=has_case))
    assert pull.due_in_s == (0 if has_case else 45)


@pytest.mark.parametrize(("trigger", "seconds"), [(Trigger.PUSHED, 600), (Trigger.EDITED, 2), (Trigger.COMMAND, 0)])
def test_base_configuration_sets_the_window(pull: PlayedPull, trigger: Trigger, seconds: float) -> None:
    pull.request(trigger, context=IntakeContext(quiet_ms=600_000))
    assert pull.due_in_s == seconds


def test_event_without_a_window_keeps_that_of_the_base(pull: PlayedPull) -> None:
    pull.request(context=IntakeContext(quiet_ms=600_000))
    pull.request(Trigger.EDITED)
    assert (pull.state.quiet_ms, pull.due_in_s) == (600_000, 600)


@pytest.mark.parametrize("trigger", [Trigger.RESUMED, Trigger.LATE, Trigger.REOPENED, Trigger.PUSHED])
def test_requests_of_assay_do_not_reopen_a_closed_pull_request(pull: PlayedPull, trigger: Trigger) -> None:
    pull.request()
    pull.judge()
    pull.close()
    pull.request(trigger)
    assert pull.state.is_closed is (trigger in {Trigger.RESUMED, Trigger.LATE})


# Edited text


def test_edited_text_of_an_unknown_pull_request_is_ignored(pull: PlayedPull) -> None:
    assert pull.request(Trigger.TEXT) is IntakeOutcome.UNKNOWN
    assert pull.request(Trigger.TEXT, context=IntakeContext(has_ledger=True)) is IntakeOutcome.QUEUED
    assert pull.state.outdated_by == Trigger.TEXT


def test_edited_text_is_ignored_when_an_issue_holds_the_criteria(pull: PlayedPull) -> None:
    pull.request()
    before = pull.state
    assert pull.request(Trigger.TEXT, context=IntakeContext(is_judged_by_issue=True)) is IntakeOutcome.UNKNOWN
    assert pull.state == before


@pytest.mark.parametrize("is_concluded", [True, False])
def test_edited_text_outdates_a_verdict_and_extends_a_window(pull: PlayedPull, *, is_concluded: bool) -> None:
    pull.request()
    first = pull.state.request
    pull.request(Trigger.TEXT, context=IntakeContext(is_concluded=is_concluded))
    assert (pull.state.outdated_by is None, pull.state.request == first) == (not is_concluded, not is_concluded)


@pytest.mark.parametrize("head", [HEAD, NEWER])
def test_edited_text_in_the_window_updates_the_check_run(pull: PlayedPull, head: Sha) -> None:
    pull.request()
    first = pull.state.request
    pull.change(opening_at=None)
    pull.now += 1000
    pull.request(Trigger.TEXT, head)
    assert (pull.state.head, pull.state.opening_at, pull.due_in_s) == (head, pull.now, 45)
    assert (pull.state.request == first) is (head == HEAD)


# Outdated verdicts


@pytest.mark.parametrize("trigger", sorted(set(Trigger) - {Trigger.REVIEW}))
def test_only_some_triggers_outdate_the_published_verdict(pull: PlayedPull, trigger: Trigger) -> None:
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


def test_outdated_mark_survives_a_judging_without_a_verdict(pull: PlayedPull) -> None:
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


# The order of deliveries


def deliver(pull: PlayedPull, shown: ShownPull, by: NamedHead, **named: Any) -> IntakeOutcome:
    """Receive a delivery, and ask GitHub about it where its order is unknown."""
    if (outcome := pull.request(by=by, **named)) is not IntakeOutcome.UNCONFIRMED:
        return outcome
    fields = {"head_sha" if name == "head" else name: value for name, value in named.items()}
    if is_overtaken(pull.state, judge_request(**fields), shown):
        return IntakeOutcome.LATE
    confirmed: dict[str, Any] = named | {"head": shown.head_sha, "base": shown.base}
    return pull.request(by=by, is_confirmed=True, **confirmed)


def judge_request(**fields: Any) -> JudgeRequest:
    pull = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(1), number=1)
    common = {"repository": "acme/widgets", "delivery_id": "d", "requested_at": datetime(2026, 11, 20, tzinfo=UTC)}
    return JudgeRequest.model_validate(common | {"pull": pull, "head_sha": HEAD} | fields)


@pytest.mark.parametrize(
    ("first", "order"),
    [("a", order) for order in permutations([("a", "b"), ("b", "c"), ("c", "d")])]
    + [("", order) for order in permutations([("", "a"), ("a", "b"), ("b", "c")])],
)
def test_newest_head_is_known_after_pushes_in_any_order(
    pull: PlayedPull, first: str, order: tuple[tuple[str, str], ...]
) -> None:
    shown = ShownPull(max(head for _, head in order) * 40, MAIN, draft=False)
    if first:
        pull.request(Trigger.OPENED, first * 40, by=NamedHead())
    for before, head in order:
        trigger = Trigger.PUSHED if before else Trigger.OPENED
        by = NamedHead(before * 40 or None)
        deliver(pull, shown, by, trigger=trigger, head=head * 40)
    assert pull.state.head == shown.head_sha


@pytest.mark.parametrize(
    "route",
    [(MAIN, DEV), (MAIN, DEV, MAIN), (MAIN, DEV, NEXT), (MAIN, DEV, NEXT, MAIN), (MAIN, DEV, NEXT, DEV)],
)
def test_last_base_is_known_after_edits_in_any_order(route: tuple[BaseHash, ...]) -> None:
    for order in permutations(pairwise(route)):
        pull = PlayedPull()
        pull.request(Trigger.OPENED, base=MAIN)
        for _, base in order:
            deliver(pull, ShownPull(HEAD, route[-1], draft=False), NamedHead(), trigger=Trigger.BASE, base=base)
            assert pull.state.base == route[-1]


def push(pull: PlayedPull, before: Sha | None, head: Sha, **named: Any) -> IntakeOutcome:
    return pull.request(Trigger.PUSHED, head, by=NamedHead(before), **named)


def move(pull: PlayedPull, base: BaseHash, **named: Any) -> IntakeOutcome:
    return pull.request(Trigger.BASE, base=base, by=NamedHead(), **named)


@pytest.mark.parametrize(
    ("trigger", "by"),
    [
        (Trigger.OPENED, NamedHead()),
        (Trigger.PUSHED, NamedHead(NEWEST)),
        (Trigger.READY, NamedHead()),
        (Trigger.EDITED, NamedHead()),
        (Trigger.REOPENED, NamedHead()),
    ],
)
def test_delivery_with_another_head_waits_for_github(pull: PlayedPull, trigger: Trigger, by: NamedHead) -> None:
    push(pull, None, HEAD)
    pull.judge(HEAD)
    before = pull.state
    assert (pull.request(trigger, NEWER, by=by), pull.state) == (IntakeOutcome.UNCONFIRMED, before)
    assert pull.request(trigger, NEWER, by=by, is_confirmed=True) is IntakeOutcome.QUEUED
    assert (pull.state.head, pull.state.phase) == (NEWER, Phase.DUE)


def test_confirmed_reopening_ends_the_close(pull: PlayedPull) -> None:
    push(pull, None, HEAD)
    pull.close()
    assert pull.request(Trigger.REOPENED, NEWER, by=NamedHead()) is IntakeOutcome.UNCONFIRMED
    assert pull.state.is_closed
    pull.request(Trigger.REOPENED, NEWER, by=NamedHead(), is_confirmed=True)
    assert (pull.state.is_closed, pull.state.expires_at, pull.intakes[-1].is_reopened) == (False, None, True)


def test_base_edit_counts_immediately_without_a_known_base(pull: PlayedPull) -> None:
    pull.request(Trigger.OPENED, base=None)
    assert (move(pull, NEXT), pull.state.base) == (IntakeOutcome.COALESCED, NEXT)
    assert pull.intakes[-1].is_rebased


def test_base_edit_waits_for_github(pull: PlayedPull) -> None:
    pull.request(Trigger.OPENED, base=MAIN)
    before = pull.state
    assert (move(pull, NEXT), pull.state) == (IntakeOutcome.UNCONFIRMED, before)
    assert move(pull, NEXT, is_confirmed=True) is IntakeOutcome.COALESCED
    assert (pull.state.base, pull.intakes[-1].is_rebased) == (NEXT, True)


def test_confirmed_base_edit_to_the_known_base_keeps_decisions(pull: PlayedPull) -> None:
    pull.request(Trigger.OPENED, base=MAIN)
    assert move(pull, MAIN, head=NEWER, is_confirmed=True) is IntakeOutcome.COALESCED
    assert (pull.state.head, pull.intakes[-1].is_rebased) == (NEWER, False)


def test_rewritten_base_ends_decisions_and_keeps_the_base(pull: PlayedPull) -> None:
    pull.request(Trigger.OPENED, base=MAIN)
    pull.request(Trigger.BASE, None, base=DEV)
    assert (pull.state.base, pull.intakes[-1].is_rebased) == (MAIN, True)
    pull.request(Trigger.BASE, HEAD, base=DEV)
    assert pull.state.base == DEV


PUSHED, EDITED, BASE = Trigger.PUSHED, Trigger.EDITED, Trigger.BASE
ANNOUNCED: dict[str, tuple[dict[str, Any], ShownPull, bool, bool]] = {
    "the known head": ({"trigger": PUSHED}, ShownPull(HEAD, MAIN, draft=False), True, True),
    "the announced head": ({"trigger": PUSHED}, ShownPull(NEWER, MAIN, draft=False), False, False),
    "a third head": ({"trigger": PUSHED}, ShownPull(NEWEST, MAIN, draft=False), False, False),
    "the known head, when opened": ({"trigger": Trigger.OPENED}, ShownPull(HEAD, MAIN, draft=False), True, True),
    "the known head, with a case": ({"trigger": Trigger.CASE}, ShownPull(HEAD, MAIN, draft=False), True, False),
    "the known head, when edited": ({"trigger": EDITED}, ShownPull(HEAD, MAIN, draft=False), True, False),
    "no draft of the known head": (
        {"trigger": EDITED, "draft": True},
        ShownPull(HEAD, MAIN, draft=False),
        True,
        True,
    ),
    "a draft of the known head": ({"trigger": EDITED, "draft": True}, ShownPull(HEAD, MAIN, draft=True), True, False),
    "the known base": ({"trigger": BASE, "base": DEV}, ShownPull(HEAD, MAIN, draft=False), True, True),
    "the announced base, known": ({"trigger": BASE, "base": MAIN}, ShownPull(HEAD, MAIN, draft=False), True, True),
    "the announced base": ({"trigger": BASE, "base": DEV}, ShownPull(HEAD, DEV, draft=False), False, False),
    "the known base and another head": (
        {"trigger": BASE, "base": DEV},
        ShownPull(NEWER, MAIN, draft=False),
        False,
        False,
    ),
}


@pytest.mark.parametrize(("fields", "shown", "lags", "overtaken"), ANNOUNCED.values(), ids=ANNOUNCED)
def test_github_shows_what_a_delivery_announces_or_only_what_is_known(
    pull: PlayedPull, fields: dict[str, Any], shown: ShownPull, *, lags: bool, overtaken: bool
) -> None:
    pull.request(head=HEAD, base=MAIN)
    request = judge_request(**{"head_sha": NEWER} | fields)
    assert (may_lag(pull.state, request, shown), is_overtaken(pull.state, request, shown)) == (lags, overtaken)


def test_announced_head_that_is_known_does_not_lag(pull: PlayedPull) -> None:
    pull.request(head=HEAD)
    request = judge_request(trigger=EDITED, head_sha=HEAD)
    assert not may_lag(pull.state, request, ShownPull(HEAD, MAIN, draft=False))


@pytest.mark.parametrize(("judged_by", "is_judging"), [(DEV, False), (MAIN, True)])
def test_edit_to_the_known_base_counts_if_another_base_may_be_judged(
    pull: PlayedPull, judged_by: BaseHash, *, is_judging: bool
) -> None:
    pull.request(head=HEAD, base=MAIN)
    pull.start()
    if not is_judging:
        pull.end(head=HEAD)
    pull.change(judged_by=f"{judged_by} issue")
    request = judge_request(trigger=BASE, base=MAIN)
    assert not is_overtaken(pull.state, request, ShownPull(HEAD, MAIN, draft=False))


@pytest.mark.parametrize("head", [HEAD, None])
def test_check_run_is_updated_when_a_pull_request_becomes_a_draft(pull: PlayedPull, head: Sha | None) -> None:
    pull.request()
    pull.change(opening_at=None)
    pull.now += 1000
    pull.request(Trigger.EDITED, head, draft=True)
    assert pull.state.opening_at == (pull.now if head else None)


def test_forced_push_back_to_an_earlier_head_counts(pull: PlayedPull) -> None:
    push(pull, None, HEAD)
    push(pull, HEAD, NEWER)
    assert push(pull, NEWER, HEAD) is IntakeOutcome.COALESCED
    assert pull.state.head == HEAD


def test_head_read_from_github_replaces_the_announced_one(pull: PlayedPull) -> None:
    push(pull, None, HEAD)
    push(pull, HEAD, NEWER)
    pull.request(Trigger.SWEEP, HEAD)
    assert pull.state.head == HEAD
    pull.judge(NEWEST)
    assert (pull.state.head, pull.state.published_head) == (NEWEST, NEWEST)


@pytest.mark.parametrize("by_verdict", [True, False])
def test_new_head_has_no_history(pull: PlayedPull, *, by_verdict: bool) -> None:
    pull.request(first_seen_at="then")
    pull.request(Trigger.RERUN, first_seen_at="later")
    assert pull.state.head_first_seen_at == "then"
    pull.change(looks=3, waiting_since=START)
    pull.judge(NEWER) if by_verdict else pull.request(head=NEWER)
    assert (pull.state.head, pull.state.head_first_seen_at) == (NEWER, None)
    assert (pull.state.looks, pull.state.waiting_since) == (0, None)


def test_first_verdict_sets_an_unannounced_head(pull: PlayedPull) -> None:
    pull.request(Trigger.COMMAND, None)
    pull.judge(NEWER)
    assert pull.state.head == NEWER


def test_new_base_while_due_counts_with_its_own_window(pull: PlayedPull) -> None:
    pull.request(base=MAIN)
    pull.now += 40_000
    move(pull, DEV, is_confirmed=True)
    assert pull.due_in_s == 45
    pull.judge()
    move(pull, MAIN, is_confirmed=True)
    assert pull.due_in_s == 0


def test_base_is_set_by_the_first_verdict(pull: PlayedPull) -> None:
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
def test_event_that_ends_a_wait(pull: PlayedPull, how: Finish, trigger: Trigger, head: Sha, seconds: float) -> None:
    pull.request()
    pull.start()
    pull.end(how, wait_ms=600_000, limit_ms=300_000, retry_at=pull.now + 600_000)
    pull.request(trigger, head)
    assert pull.due_in_s == seconds


def test_wait_ended_during_a_judging_ends_after_it(pull: PlayedPull) -> None:
    pull.request()
    pull.start()
    pull.end(Finish.AWAY, retry_at=pull.now + 600_000)
    pull.start()
    pull.request(Trigger.COMMAND)
    assert (pull.state.outage_count, pull.state.queued_at) == (0, None)


def test_heads_of_outsiders_take_turns(pull: PlayedPull) -> None:
    waits = list[float | None]()
    for number in range(5):
        other = PlayedPull(outside_turn_at=pull.outside_turn_at)
        other.request(Trigger.COMMAND if number == 4 else Trigger.READY, outside=True)
        pull.outside_turn_at = other.outside_turn_at
        waits.append(other.due_in_s)
    assert waits == [0, 0, 0, 10, 0]


def test_request_by_an_insider_ends_the_turn_of_an_outsider(pull: PlayedPull) -> None:
    pull.outside_turn_at = START + 100_000
    pull.request(outside=True)
    assert (pull.state.is_outside, pull.due_in_s, pull.state.opening_at) == (True, 80, START + 80_000)
    pull.request(head=NEWER, outside=True)
    assert pull.due_in_s == 80, "pushes do not delay the turn"
    pull.request(Trigger.COMMAND)
    assert (pull.state.is_outside, pull.due_in_s, pull.state.opening_at) == (False, 0, START)
    pull.request(outside=True)
    assert not pull.state.is_outside


# Completed checks


def wait_for_ci(pull: PlayedPull, wait_ms: float = 600_000) -> None:
    pull.request()
    pull.start()
    assert pull.end(Finish.WAIT, wait_ms=wait_ms) is FinishResult.LATER


def test_checks_of_other_heads_and_closed_pull_requests_are_ignored(pull: PlayedPull) -> None:
    assert not pull.complete_check()
    wait_for_ci(pull)
    assert not pull.complete_check(NEWER)
    pull.close()
    assert not pull.complete_check()


def test_completed_check_neither_starts_nor_ends_a_window(pull: PlayedPull) -> None:
    pull.request()
    assert not pull.complete_check()
    pull.judge()
    assert not pull.complete_check()


def test_burst_of_completed_checks_is_judged_soon_and_once(pull: PlayedPull) -> None:
    wait_for_ci(pull)
    for _ in range(20):
        assert pull.complete_check()
        assert pull.due_in_s is not None
        assert pull.due_in_s <= 2
        pull.now += 1000
    assert pull.due_in_s is not None
    assert pull.due_in_s < 0, "it does not wait for the end of the burst"


def test_earlier_due_judging_is_not_delayed_by_a_check(pull: PlayedPull) -> None:
    wait_for_ci(pull, wait_ms=500)
    pull.complete_check()
    assert pull.due_in_s == 0.5
    pull.now += 1000
    pull.complete_check()
    assert pull.due_in_s == -0.5


def test_green_ci_ends_the_window_but_no_backoff(pull: PlayedPull) -> None:
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


def test_verdict_without_ci_is_repeated_when_checks_complete(pull: PlayedPull) -> None:
    pull.request()
    assert pull.judge(later="again") is FinishResult.CLOSED
    assert pull.complete_check()
    assert (pull.due_in_s, pull.state.request, pull.state.retention) == (2, "again", Retention.OPEN)
    pull.start()
    assert pull.complete_check()
    assert pull.end(head=HEAD, later="again") is FinishResult.AGAIN
    assert (pull.due_in_s, pull.state.looks) == (2, 2)


def test_checks_completed_during_a_wait_for_ci_are_not_missed(pull: PlayedPull) -> None:
    wait_for_ci(pull)
    pull.start()
    pull.complete_check()
    pull.end(Finish.WAIT, wait_ms=600_000)
    assert pull.due_in_s == 2


@pytest.mark.parametrize("during", [True, False])
def test_repeated_judgings_are_delayed_increasingly_and_limited(pull: PlayedPull, *, during: bool) -> None:
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


def test_completed_check_does_not_shorten_a_later_delay(pull: PlayedPull) -> None:
    pull.request()
    for _ in range(8):
        pull.judge(later="again")
        pull.complete_check()
    wait_s = pull.due_in_s
    pull.complete_check()
    assert pull.due_in_s == wait_s


# Closed pull requests and withdrawn requests


def test_unknown_closed_pull_request_leaves_no_state(pull: PlayedPull) -> None:
    before = pull.state
    pull.close()
    assert pull.state == before


@pytest.mark.parametrize("has_open_checks", [True, False])
def test_closed_pull_request_is_judged_when_its_checks_are_open(pull: PlayedPull, *, has_open_checks: bool) -> None:
    pull.request()
    pull.judge()
    pull.close(has_open_checks=has_open_checks)
    assert (pull.state.is_closed, pull.due_in_s) == (True, 0 if has_open_checks else None)
    assert pull.state.retention is (Retention.OPEN if has_open_checks else Retention.EXPIRING)


@pytest.mark.parametrize("is_judging", [True, False])
def test_close_ends_a_window_and_repeats_a_judging(pull: PlayedPull, *, is_judging: bool) -> None:
    pull.request()
    if is_judging:
        pull.start()
    pull.close()
    if is_judging:
        assert pull.end(head=HEAD) is FinishResult.AGAIN
    assert pull.due_in_s == 0


def test_request_is_withdrawn_unless_another_event_asks(pull: PlayedPull) -> None:
    pull.request()
    delivery = DeliveryId(str(pull.numbers))
    after = withdraw(pull.state, delivery)
    assert after is not None
    assert (after.phase, after.queued_at) == (None, None)
    assert withdraw(after, delivery) is None
    assert withdraw(pull.state, DeliveryId("other")) is None
    pull.request(Trigger.COMMAND)
    assert withdraw(pull.state, DeliveryId(str(pull.numbers))) is None
