"""What is told late of a head that the branch has left moves no head. GitHub delivers in any order, and again."""

from datetime import timedelta
from itertools import count, pairwise, permutations
from typing import Any

import pytest

from tests.worker.adapters.redis.played import AT, becomes_due, pull, wish
from worker.adapters.redis import intake, keys
from worker.adapters.redis.client import items, text, whole
from worker.adapters.redis.pull_requests import DispatchLimits, JudgedHead
from worker.adapters.redis.store import Store
from worker.domain.ids import Sha
from worker.domain.lifecycle.intake import NO_HEAD, IntakeOutcome, NamedHead
from worker.domain.lifecycle.judging import Finish
from worker.domain.request.judge_request import FirstSeen, Trigger
from worker.settings import Timing

CALLS = count(1)
WEEKS = timedelta(weeks=2)
QUIET = Timing(quiet_window=45, quiet_max=300, gather=2)
A = f"{'0' * 39}a"  # begins as what stands for no commit
B, C, D = (digit * 40 for digit in "123")


def told(
    store: Store, head: Sha, before: Sha | None, trigger: Trigger = Trigger.PUSHED, **changes: Any
) -> IntakeOutcome:
    return intake.request_judging(
        store.client, wish(head_sha=head, trigger=trigger, **changes), QUIET, NamedHead(before)
    ).outcome


def opened(store: Store, head: Sha = A, trigger: Trigger = Trigger.OPENED, **changes: Any) -> IntakeOutcome:
    return told(store, head, NO_HEAD, trigger, **changes)


def pushed(store: Store, before: Sha, head: Sha) -> IntakeOutcome:
    return told(store, head, before)


def field(store: Store, name: str) -> str:
    return text(store.client.call("HGET", keys.pull(pull()).name, name))


def head(store: Store) -> Sha:
    return field(store, "head")


def everything(store: Store) -> list[str]:
    """All that is known of the pull request, but for what the branch has left."""
    found = [text(one) for one in items(store.client.call("HGETALL", keys.pull(pull()).name))]
    return sorted(f"{name} {said}" for name, said in zip(found[::2], found[1::2], strict=True) if name != "earlier")


def judged(store: Store, at: Sha | None = None) -> None:
    becomes_due(store, pull())
    given = store.pulls.next_due(f"call-{next(CALLS)}", DispatchLimits(3, 3))
    assert given is not None
    taken = store.pulls.take_lease(pull(), given.fence)
    assert taken is not None
    store.pulls.finish(taken.lease, Finish.JUDGED, of=None if at is None else JudgedHead(at))


@pytest.mark.parametrize("order", list(permutations([(A, B), (B, C), (C, D)])))
def test_the_newest_commit_that_was_told_of_is_the_head_in_whatever_order(
    store: Store, order: tuple[tuple[Sha, Sha], ...]
) -> None:
    opened(store)
    newest = A
    for before, after in order:
        pushed(store, before, after)
        newest = max(newest, after)
        assert head(store) == newest


@pytest.mark.parametrize("order", list(permutations([(NO_HEAD, A), (A, B), (B, C)])))
def test_so_it_is_where_that_it_was_opened_is_told_late_too(store: Store, order: tuple[tuple[Sha, Sha], ...]) -> None:
    for before, after in order:
        opened(store) if before == NO_HEAD else pushed(store, before, after)
    assert head(store) == C


def test_a_push_to_a_commit_that_was_left_changes_nothing_and_is_known_as_an_earlier_head(store: Store) -> None:
    opened(store)
    pushed(store, B, C)
    judged(store)
    store.pulls.mark_opened(pull(), C)
    known = everything(store)
    assert pushed(store, A, B) is IntakeOutcome.LATE
    assert everything(store) == known
    assert store.pulls.next_to_open() is None
    here = pull()
    heads = keys.heads(here.installation_id, here.repository_id, B).name
    assert items(store.client.call("SMEMBERS", heads)) == [b"1"], "who waits for it is told of the newer one"
    assert whole(store.client.call("TTL", heads)) > 0


def test_a_late_push_does_not_reopen_what_was_closed(store: Store) -> None:
    opened(store)
    pushed(store, B, C)
    judged(store)
    intake.close_pull_request(store.client, pull(), WEEKS)
    pushed(store, A, B)
    assert field(store, "over")


def test_a_push_from_a_commit_that_was_left_moves_no_head_and_has_it_looked_at(store: Store) -> None:
    """The one in between may have been lost; then GitHub says so to who looks."""
    opened(store)
    pushed(store, C, D)
    judged(store)
    came = field(store, "came")
    assert pushed(store, A, B) is IntakeOutcome.QUEUED
    assert (head(store), field(store, "state"), field(store, "came")) == (D, "due", came)
    assert pushed(store, B, C) is IntakeOutcome.LATE


def test_a_push_back_to_an_earlier_commit_counts_and_what_led_away_from_it_is_late_no_more(store: Store) -> None:
    opened(store)
    pushed(store, A, B)
    assert pushed(store, B, A) is IntakeOutcome.COALESCED
    assert head(store) == A
    assert pushed(store, A, C) is IntakeOutcome.COALESCED
    assert head(store) == C
    assert pushed(store, B, A) is IntakeOutcome.LATE, "delivered again"


def test_what_github_says_when_it_is_asked_is_the_head_though_the_branch_had_left_it(store: Store) -> None:
    opened(store)
    pushed(store, A, B)
    judged(store)
    intake.request_judging(store.client, wish(head_sha=A, trigger=Trigger.SWEEP), QUIET)
    assert head(store) == A
    assert pushed(store, A, C) is IntakeOutcome.COALESCED
    assert head(store) == C


def test_what_a_look_around_found_is_not_taken_back_by_the_deliveries_that_were_missed(store: Store) -> None:
    opened(store)
    judged(store)
    intake.request_judging(store.client, wish(head_sha=C, trigger=Trigger.SWEEP), QUIET)
    heads = [pushed(store, A, B) and head(store), pushed(store, B, C) and head(store)]
    assert heads == [C, C]


def test_what_a_judge_found_at_github_is_not_taken_back_by_the_deliveries_that_were_missed(store: Store) -> None:
    opened(store)
    judged(store, C)
    assert head(store) == C
    heads = [pushed(store, A, B) and head(store), pushed(store, B, C) and head(store)]
    assert heads == [C, C]


def test_a_judge_may_find_a_head_that_nobody_named(store: Store) -> None:
    intake.request_judging(store.client, wish(head_sha=None, trigger=Trigger.COMMAND), QUIET)
    judged(store, B)
    assert (head(store), field(store, "earlier")) == (B, "")


@pytest.mark.parametrize("trigger", [Trigger.EDITED, Trigger.REOPENED, Trigger.READY])
def test_what_else_is_told_with_an_older_head_counts_for_the_newest(store: Store, trigger: Trigger) -> None:
    opened(store)
    pushed(store, A, B)
    judged(store)
    store.pulls.mark_opened(pull(), B)
    told(store, A, None, trigger)
    assert (head(store), field(store, "state"), field(store, "again")) == (B, "due", trigger)
    opening = store.pulls.next_to_open()
    assert opening is not None
    assert opening.head_sha == B


def test_a_case_that_it_was_opened_with_is_judged_at_once_though_a_push_was_told_before(store: Store) -> None:
    pushed(store, A, B)
    came = field(store, "came")
    assert opened(store, trigger=Trigger.CASE) is IntakeOutcome.COALESCED
    plan = store.pulls.find_plan(pull())
    assert plan is not None
    assert (head(store), field(store, "came"), plan.window_s) == (B, came, 45)
    assert field(store, "flags") == "asked "
    assert float(field(store, "due")) <= float(field(store, "since")) + 10_000


def test_that_an_older_head_was_a_drafts_says_nothing_of_the_newest(store: Store) -> None:
    opened(store)
    pushed(store, A, B)
    judged(store)
    known = everything(store)
    assert told(store, A, None, Trigger.EDITED, draft=True) is IntakeOutcome.LATE
    assert everything(store) == known


def test_what_a_version_wrote_that_remembers_no_earlier_heads_is_followed_as_far_as_it_goes(store: Store) -> None:
    opened(store)
    pushed(store, A, B)
    store.client.call("HDEL", keys.pull(pull()).name, "earlier")
    assert pushed(store, A, B) is IntakeOutcome.COALESCED
    assert told(store, A, None, Trigger.EDITED) is IntakeOutcome.COALESCED
    assert head(store) == B


def test_a_push_of_which_nothing_is_known_is_taken_for_the_newest(store: Store) -> None:
    opened(store)
    assert told(store, B, None) is IntakeOutcome.COALESCED
    assert head(store) == B


def test_the_last_sixteen_are_remembered_each_once(store: Store) -> None:
    shas = [f"{number:040x}" for number in range(1, 30)]
    opened(store, shas[0])
    for before, after in pairwise(shas):
        pushed(store, before, after)
        pushed(store, before, after)
    assert field(store, "earlier").split() == shas[-17:-1]


def test_what_names_an_older_head_moves_none_however_often_it_comes(store: Store) -> None:
    opened(store)
    pushed(store, A, B)
    pushed(store, B, C)
    for _ in range(2):
        for older in (A, B):
            told(store, older, "-", Trigger.CASE)
            assert head(store) == C
    assert C not in field(store, "earlier"), "it was not left"


def test_a_late_push_to_an_older_head_tells_what_it_led_from(store: Store) -> None:
    told(store, B, "-", Trigger.CASE)
    pushed(store, B, C)
    assert pushed(store, D, B) is IntakeOutcome.LATE
    told(store, D, "-", Trigger.CASE)
    assert head(store) == C, "it was there before the one that was left before"


def test_when_an_older_head_came_says_nothing_of_the_newer_one(store: Store) -> None:
    pushed(store, A, B)
    judged(store, C)
    assert (head(store), field(store, "came")) == (C, "")
    opened(store, arrived=FirstSeen(head_sha=A, at=AT))
    assert (head(store), field(store, "came")) == (C, "")
    told(store, C, A, arrived=FirstSeen(head_sha=C, at=AT))
    assert field(store, "came").startswith("2026-")
