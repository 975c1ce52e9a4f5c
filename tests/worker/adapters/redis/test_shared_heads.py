"""Pull requests that share a head: each sees the check content of the others, and differences are repaired."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, close_pull_request, judge_request, pull_ref
from tests.worker.publishing.texts.samples import dossier, rejected
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply, text, whole
from worker.adapters.redis.judging.shared_heads import RedisSharedHeads
from worker.adapters.redis.keys import SHARED_HEADS
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import HELPFUL, Annotation, AnnotationLevel, CheckContent, Conclusion
from worker.domain.check.shared_head import IN_PROGRESS, CommitRef, SharedHeadState
from worker.domain.model import InstallationId, RepositoryId
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.states import judging_content, superseded_content

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
