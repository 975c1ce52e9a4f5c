"""Check runs in Redis: states, creation by one process, the search for expired and orphaned ones, and pull requests that share a head: each sees the content of the others, and differences are repaired."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    close_pull_request,
    expire_hold,
    judge_request,
    pull_ref,
    require,
    settings_for,
    start_judging,
    start_judging_new,
)
from tests.worker.adapters.redis.test_merge_groups import merge_group
from tests.worker.publishing.texts.samples import dossier, rejected
from tests.world.redis import RedisServer
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply, text, whole
from worker.adapters.redis.judging.check_runs import RedisCheckRegistry, RedisSharedHeads
from worker.adapters.redis.keys import SHARED_HEADS
from worker.adapters.redis.store import Store, open_store
from worker.domain.check.check_run import HELPFUL, Annotation, AnnotationLevel, CheckContent, Conclusion
from worker.domain.check.shared_head import IN_PROGRESS, CommitRef, SharedHeadState
from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import PullRef, Trigger
from worker.domain.lifecycle.check_runs import CREATION_STARTED, CheckRunState
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import ExpiredCheckRun
from worker.domain.model import CheckRunId, DeliveryId, InstallationId, RepositoryId
from worker.errors import Unavailable
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.states import judging_content, superseded_content
from worker.settings import Timing

CHECK = CheckRunId(77)
EXPIRED = ExpiredCheckRun(pull=pull_ref(), head_sha=HEAD, check=CHECK)
OPEN = CheckRunState(CHECK, None, CHECK, 1)
LOST = CheckRunState(open_check=CREATION_STARTED)


def read_state(store: Store) -> CheckRunState:
    """The state recorded for HEAD, with its deadline reduced to 1."""
    recorded = store.checks().find(pull_ref(), HEAD)
    deadline = None if recorded.deadline is None else 1
    if recorded.deadline is not None:
        assert recorded.deadline / 1000 == pytest.approx(time.time() + store.timing.check_deadline, abs=60)
    assert store.client.call("ZCARD", keys.DEADLINES.name) == (deadline or 0)
    assert store.client.call("HLEN", keys.DEADLINE_NOTES.name) == (deadline or 0)
    return recorded._replace(deadline=deadline)


def test_each_change_of_a_check_run_is_read_back(store: Store) -> None:
    checks, ids = store.checks(), (pull_ref(), HEAD)
    assert checks.claim(*ids) is None
    assert checks.is_first(*ids)
    assert (checks.is_claim_held(*ids), store.checks().is_claim_held(*ids)) == (True, False)
    assert (checks.list_unfinished_heads(pull_ref()), checks.open_checks(pull_ref())) == ((HEAD,), {})
    store.checks().release(*ids)
    assert read_state(store).creator is not None
    checks.release(*ids)
    assert read_state(store) == LOST
    assert checks.claim(*ids) is None
    assert not checks.is_first(*ids)
    checks.record_opened(*ids, CHECK)
    assert read_state(store) == OPEN
    assert (checks.list_unfinished_heads(pull_ref()), checks.open_checks(pull_ref())) == ((), {HEAD: CHECK})
    checks.record_waiting(*ids, CHECK, is_watched=True, is_deferred=True)
    assert read_state(store) == OPEN._replace(is_idle=True, is_deferred=True)
    checks.record_waiting(*ids, CHECK, is_watched=False)
    assert read_state(store) == OPEN._replace(is_idle=True, deadline=None)
    checks.mark_reopened(*ids)
    assert checks.list_overwritten_heads(pull_ref()) == ()
    assert checks.record_still_waiting(*ids, CHECK, CheckContent("", ""))
    assert read_state(store) == OPEN._replace(is_reopening=True)
    assert checks.list_overwritten_heads(pull_ref()) == (HEAD,)
    assert not checks.record_still_waiting(*ids, CHECK, CheckContent("", ""))
    checks.clear_reopened(*ids)
    checks.mark_expiring(*ids)
    assert read_state(store) == OPEN._replace(is_expiring=True)
    assert not checks.record_concluded(*ids)
    assert checks.record_concluded(*ids)
    assert read_state(store) == CheckRunState(CHECK)
    assert checks.claim(*ids) == CHECK
    checks.record_opened(*ids, CHECK)
    assert [checks.record_expired(*ids, check) for check in (CheckRunId(1), CHECK, CHECK)] == [False, True, False]
    assert read_state(store) == CheckRunState(CHECK, is_expiring=True)
    checks.mark_unwritable(*ids)
    assert read_state(store) == LOST


def test_one_process_creates_the_check_run_of_a_head(store: Store) -> None:
    registries = [store.checks() for _ in range(4)]
    creator = registries[0]
    assert [creator.claim(pull_ref(), HEAD) for _ in range(2)] == [None, None], "a claim may be repeated"
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(registry.claim, pull_ref(), HEAD) for registry in registries[1:]]
        creator.record_opened(pull_ref(), HEAD, CHECK)
        assert [claim.result() for claim in waiting] == [77, 77, 77]
    assert store.checks().claim(pull_ref(), NEWER) is None


def test_dead_creator_is_replaced_and_a_slow_one_is_an_outage(store: Store) -> None:
    for _ in range(2):
        assert RedisCheckRegistry(store.client, Timing(open_hold=0.1, tick=0.01)).claim(pull_ref(), HEAD) is None
    store.client.call("SET", keys.check(pull_ref(), HEAD).name, "making another")
    with pytest.raises(Unavailable, match="has not created the check run of 1111111"):
        RedisCheckRegistry(store.client, Timing(open_hold=0.01, tick=0.001)).claim(pull_ref(), HEAD)


def test_newest_head_is_the_last_requested_one(store: Store) -> None:
    assert store.checks().newest_head(pull_ref()) is None
    store.pulls.request_judging(judge_request())
    store.pulls.request_judging(judge_request(head_sha=None))
    assert store.checks().newest_head(pull_ref()) == HEAD


def open_overdue_check(store: Store) -> None:
    store.checks().record_opened(pull_ref(), HEAD, CHECK)
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)


def test_expired_check_run_is_returned_until_it_is_concluded(redis_server: RedisServer, store: Store) -> None:
    store.checks().record_opened(pull_ref(2), HEAD, CheckRunId(79))
    with open_store(settings_for(redis_server.url, Timing(check_deadline=0))) as late:
        late.checks().record_opened(pull_ref(), HEAD, CHECK)
    assert [store.checks().take_expired() for _ in range(2)] == [(EXPIRED,), ()]
    expire_hold(store, keys.DEADLINES, keys.check(pull_ref(), HEAD).name)
    assert store.checks().take_expired() == (EXPIRED,)
    store.checks().record_concluded(pull_ref(), HEAD)
    store.client.call("ZADD", keys.DEADLINES.name, 1, keys.check(pull_ref(), HEAD).name)
    assert store.checks().take_expired() == (), "a deadline without a note is deleted"
    assert store.client.call("ZCARD", keys.DEADLINES.name) == 1


def test_expired_check_run_of_a_forgotten_pull_request_is_dropped(store: Store) -> None:
    open_overdue_check(store)
    store.client.call("DEL", keys.checks(pull_ref()).name)  # it has expired
    assert store.checks().take_expired() == ()
    assert read_state(store) == CheckRunState(CHECK)


def test_expired_check_run_is_left_to_a_waiting_judging(store: Store) -> None:
    store.pulls.finish(start_judging_new(store).lease, Finish.AWAY, timedelta(hours=1))
    open_overdue_check(store)
    assert store.checks().take_expired() == store.checks().take_orphaned() == ()


def test_expired_check_run_can_be_postponed(store: Store) -> None:
    open_overdue_check(store)
    name = keys.check(pull_ref(), HEAD).name
    [late] = store.checks().take_expired()
    store.checks().postpone_expired(late, timedelta(hours=1))
    assert float(text(store.client.call("ZSCORE", keys.DEADLINES.name, name))) > (time.time() + 3500) * 1000
    store.checks().record_concluded(pull_ref(), HEAD)
    store.checks().postpone_expired(late, timedelta(hours=1))
    assert store.client.call("ZSCORE", keys.DEADLINES.name, name) is None, "a concluded check run stays concluded"


def open_old_check(store: Store, ref: PullRef, head_sha: str = HEAD) -> None:
    store.checks().record_opened(ref, head_sha, CHECK)
    store.client.call("ZINCRBY", keys.DEADLINES.name, -Timing().lease * 2000, keys.check(ref, head_sha).name)


def test_orphaned_check_run_is_found_after_the_longest_lease(store: Store) -> None:
    store.pulls.finish(start_judging_new(store).lease, Finish.JUDGED)
    store.checks().record_opened(pull_ref(), HEAD, CHECK)
    assert store.checks().take_orphaned() == (), "its writer may still be alive"
    open_old_check(store, pull_ref())
    assert store.checks().take_orphaned() == (EXPIRED,)


def test_orphaned_check_run_requeues_its_pull_request_once(store: Store) -> None:
    assert not store.pulls.requeue_orphaned(pull_ref(), CHECK), "the pull request is unknown"
    store.pulls.finish(start_judging_new(store).lease, Finish.JUDGED)
    assert store.pulls.requeue_orphaned(pull_ref(), CHECK)
    again = start_judging(store)
    assert (again.request.trigger, again.request.head_sha) == (Trigger.LATE, None)
    store.pulls.finish(again.lease, Finish.JUDGED)
    assert not store.pulls.requeue_orphaned(pull_ref(), CHECK)


def test_orphaned_check_run_of_a_merge_group_is_found(store: Store) -> None:
    store.groups.put(merge_group())
    open_old_check(store, pull_ref(0), merge_group().head_sha)
    assert store.checks().take_orphaned() == (), "the group is still waiting"
    store.groups.complete(merge_group())
    assert store.checks().take_orphaned() == (
        ExpiredCheckRun(pull=pull_ref(0), head_sha=merge_group().head_sha, check=CHECK),
    )


def test_merge_group_with_an_orphaned_check_run_is_reopened_once(store: Store) -> None:
    delivery_id, later = DeliveryId("late-check-77"), REQUESTED_AT + timedelta(hours=1)
    reopen = partial(store.groups.reopen, merge_group().commit, delivery_id, later, is_orphaned=True)
    assert reopen() is IntakeOutcome.UNKNOWN
    store.groups.put(merge_group())
    store.groups.put(merge_group("two", ended=GroupEnd.DEQUEUED))
    store.groups.complete(merge_group("two"))
    assert reopen() is IntakeOutcome.QUEUED
    pending = require(store.groups.next())
    assert (pending.group.ended, pending.group.at) == (GroupEnd.DEQUEUED, later)
    store.groups.complete(pending.group)
    assert reopen() is IntakeOutcome.DUPLICATE
    assert store.groups.next() is None


COMMIT = CommitRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), head_sha=HEAD)
NEWER_COMMIT = COMMIT.model_copy(update={"head_sha": NEWER})
ANNOTATION = Annotation("a.py", 1, 1, AnnotationLevel.FAILURE, "Weak test", "x")
REJECTED = CheckContent("Rejected", "No.", "{}", Conclusion.FAILURE, (ANNOTATION,), (HELPFUL,))
VERDICT = replace(check_content(rejected(), dossier()), annotations=())


def record_both(store: Store) -> None:
    """Let two pull requests share HEAD, the first rejected and the second being judged."""
    store.pulls.request_judging(judge_request(1))
    store.pulls.request_judging(judge_request(2))
    store.shared_heads.record_content(pull_ref(1), HEAD, REJECTED)
    store.shared_heads.record_content(pull_ref(2), HEAD, judging_content())


def is_waiting(store: Store, commit: CommitRef = COMMIT) -> bool:
    """Whether the commit is queued for a repair."""
    name = keys.shared_head_states(commit.installation_id, commit.repository_id, commit.head_sha).name
    return store.client.call("ZSCORE", SHARED_HEADS.order.name, name) is not None


def list_others(store: Store, number: int, content: CheckContent = REJECTED) -> list[tuple[int, str]]:
    """Record the content of a pull request; the states of the others."""
    others = store.shared_heads.record_content(pull_ref(number), HEAD, content).others(number)
    return [(other.number, other.state) for other in others]


def write_content(store: Store, number: int, content: CheckContent) -> SharedHeadState:
    """Record the content of a pull request as shown by GitHub."""
    recorded = store.shared_heads.record_content(pull_ref(number), HEAD, content)
    store.shared_heads.record_written(pull_ref(number), HEAD, recorded.version, content)
    return recorded


def close_current_version(store: Store, commit: CommitRef = COMMIT) -> None:
    store.shared_heads.close_version(commit, store.shared_heads.find_state(commit).version)


def test_single_pull_request_needs_no_repair(store: Store) -> None:
    store.pulls.request_judging(judge_request(1))
    state = write_content(store, 1, judging_content())
    assert (state.is_here(1), state.others(1)) == (True, ())
    assert not is_waiting(store)


def test_second_pull_request_sees_the_first_and_queues_a_repair(store: Store) -> None:
    record_both(store)
    assert list_others(store, 2, judging_content()) == [(1, "failure")]
    assert list_others(store, 1) == [(2, IN_PROGRESS)]
    assert is_waiting(store)
    assert store.shared_heads.next() is None, "a delay leaves time for the writers"


def test_check_content_is_stored_encrypted_without_annotations(store: Store) -> None:
    record_both(store)
    assert store.shared_heads.own_content(pull_ref(1), HEAD) == replace(REJECTED, annotations=())
    assert store.shared_heads.own_content(pull_ref(2), HEAD) == judging_content()
    store.shared_heads.record_content(pull_ref(2), HEAD, VERDICT)
    assert store.shared_heads.own_content(pull_ref(2), HEAD) == VERDICT, "with its data for programs"
    key = keys.shared_head_states(COMMIT.installation_id, COMMIT.repository_id, HEAD)
    assert b"Rejected" not in str(store.client.call("HGETALL", key.name)).encode()
    assert 0 < whole(store.client.call("TTL", key.name)) <= 30 * 86_400


def test_commit_is_due_once_its_content_is_written(store: Store) -> None:
    record_both(store)
    write_content(store, 2, judging_content())
    assert store.shared_heads.next() == (COMMIT, 1)
    state = store.shared_heads.find_state(COMMIT)
    assert [bool(member.shown) for member in state.members] == [False, True]
    assert store.shared_heads.close_version(COMMIT, state.version)
    assert not is_waiting(store)


@pytest.mark.parametrize("by_delivery", [True, False])
def test_closed_pull_request_leaves_the_shared_head(store: Store, *, by_delivery: bool) -> None:
    record_both(store)
    close_current_version(store)
    if by_delivery:
        close_pull_request(store, pull_ref(1), store.ledger_retention)
    else:
        store.shared_heads.leave(pull_ref(1))  # as found at GitHub
    assert is_waiting(store)
    assert [member.is_here for member in store.shared_heads.find_state(COMMIT).members] == [False, True]
    assert list_others(store, 2) == []
    assert list_others(store, 1) == [(2, "failure")]
    assert list_others(store, 2) == ([] if by_delivery else [(1, "failure")]), "it has recorded content again"
    store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    close_current_version(store)
    store.shared_heads.leave(pull_ref(1))
    assert is_waiting(store), "its newest head has no check run"


def test_concurrent_writers_see_each_other(store: Store) -> None:
    meanwhile = [lambda: store.shared_heads.record_content(pull_ref(2), HEAD, REJECTED)]

    class Interrupted(RedisClient):
        def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
            replies = super().pipeline(commands)
            if meanwhile and any(command[0] == "HKEYS" for command in commands):
                meanwhile.pop()()
            return replies

    client = Interrupted(store.url.get_secret_value(), 5)
    state = RedisSharedHeads(client, store.codec, store.timing).record_content(pull_ref(1), HEAD, VERDICT)
    client.close()
    assert [other.number for other in state.others(1)] == [2]


@pytest.mark.parametrize(
    ("how", "content"),
    [("superseded", superseded_content(NEWER)), ("closed", VERDICT), ("pushed", VERDICT), ("open", VERDICT)],
)
def test_superseded_closed_or_pushed_pull_request_has_left(store: Store, how: str, content: CheckContent) -> None:
    record_both(store)
    if how == "closed":
        close_pull_request(store, pull_ref(1), store.ledger_retention)
    elif how == "pushed":
        store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    write_content(store, 1, content)
    assert store.shared_heads.find_state(COMMIT).members[0].shown
    state = store.shared_heads.record_content(pull_ref(1), HEAD, content)
    assert state.is_here(1) is (how == "open")
    [first, _] = store.shared_heads.find_state(COMMIT).members
    assert (first.is_here, first.shown) == (how == "open", ""), "the shown content is unknown until it is written"


def test_pushed_pull_request_leaves_the_old_head(store: Store) -> None:
    record_both(store)
    close_current_version(store)
    store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    assert list_others(store, 2) == []
    close_current_version(store)
    store.shared_heads.record_content(pull_ref(1), NEWER, judging_content())
    assert is_waiting(store)
    assert not is_waiting(store, NEWER_COMMIT)


def test_returning_pull_request_rejoins_the_head(store: Store) -> None:
    record_both(store)
    store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    store.pulls.request_judging(judge_request(3, head_sha=NEWER))
    for number in (1, 3):
        store.shared_heads.record_content(pull_ref(number), NEWER, judging_content())
    store.shared_heads.record_content(pull_ref(1), HEAD, superseded_content(NEWER))
    close_current_version(store, NEWER_COMMIT)
    store.pulls.request_judging(judge_request(1))
    assert list_others(store, 2) == [], "its content is superseded"
    close_current_version(store)
    store.shared_heads.rejoin(pull_ref(1), HEAD)
    assert is_waiting(store)
    assert is_waiting(store, NEWER_COMMIT)
    assert list_others(store, 2) == [(1, "cancelled")]


def test_pull_request_without_content_stores_nothing(store: Store) -> None:
    store.pulls.request_judging(judge_request(1))
    store.shared_heads.rejoin(pull_ref(1), HEAD)
    store.shared_heads.leave(pull_ref(1))
    store.shared_heads.record_written(pull_ref(1), HEAD, 1, judging_content())
    key = keys.shared_head_states(COMMIT.installation_id, COMMIT.repository_id, HEAD)
    assert store.client.call("EXISTS", key.name) == 0
    assert store.shared_heads.close_version(COMMIT, 0)


def test_repair_can_be_postponed_and_hides_the_shown_content(store: Store) -> None:
    record_both(store)
    write_content(store, 1, REJECTED)
    assert store.shared_heads.find_state(COMMIT).members[0].shown
    store.shared_heads.mark_updating(pull_ref(1), HEAD)
    assert store.shared_heads.find_state(COMMIT).members[0].shown == ""
    store.shared_heads.postpone(COMMIT, store.ledger_retention)
    assert store.shared_heads.next() is None
    assert text(store.client.call("HGET", keys.pull(pull_ref(1)).name, "said")) == HEAD
