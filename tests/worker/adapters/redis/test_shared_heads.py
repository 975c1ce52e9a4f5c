"""What the checks of one commit say. Invariant: nobody who shares a commit goes unseen, and what is wrong stays in the line."""

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
from worker.domain.ids import InstallationId, RepositoryId
from worker.publishing.texts.check_run import check_content
from worker.publishing.texts.states import judging_content, superseded_content

HERE = CommitRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), head_sha=HEAD)
THERE = HERE.model_copy(update={"head_sha": NEWER})
NOTE = Annotation("a.py", 1, 1, AnnotationLevel.FAILURE, "Weak test", "x")
REJECTED = CheckContent("Rejected", "No.", "{}", Conclusion.FAILURE, (NOTE,), (HELPFUL,))


VERDICT = replace(check_content(rejected(), dossier()), annotations=())


def record_both(store: Store) -> None:
    """Two pull requests have HEAD; the first was rejected, and the other one is judged."""
    store.pulls.request_judging(judge_request(1))
    store.pulls.request_judging(judge_request(2))
    store.shared_heads.record_content(pull_ref(1), HEAD, REJECTED)
    store.shared_heads.record_content(pull_ref(2), HEAD, judging_content())


def is_waiting(store: Store, place: CommitRef = HERE) -> bool:
    """Whether somebody is to look at this commit."""
    name = keys.shared_head_states(place.installation_id, place.repository_id, place.head_sha).name
    return store.client.call("ZSCORE", SHARED_HEADS.order.name, name) is not None


def list_others(store: Store, number: int, content: CheckContent = REJECTED) -> list[tuple[int, str]]:
    """What is known of the others, as this one records its content."""
    known = store.shared_heads.record_content(pull_ref(number), HEAD, content).others(number)
    return [(other.number, other.state) for other in known]


def write_content(store: Store, number: int, content: CheckContent) -> SharedHeadState:
    """It records its content, and that GitHub shows it."""
    recorded = store.shared_heads.record_content(pull_ref(number), HEAD, content)
    store.shared_heads.record_written(pull_ref(number), HEAD, recorded.version, content)
    return recorded


def close_current_version(store: Store, place: CommitRef = HERE) -> None:
    """All that the check runs of this commit say is up to date."""
    store.shared_heads.close_version(place, store.shared_heads.find_state(place).version)


def test_one_alone_says_its_own_and_nobody_has_to_look(store: Store) -> None:
    store.pulls.request_judging(judge_request(1))
    told = write_content(store, 1, judging_content())
    assert (told.is_here(1), told.others(1)) == (True, ())
    assert not is_waiting(store)


def test_who_comes_second_sees_the_first_and_both_are_looked_at(store: Store) -> None:
    record_both(store)
    assert list_others(store, 2, judging_content()) == [(1, "failure")]
    assert list_others(store, 1) == [(2, IN_PROGRESS)]
    assert is_waiting(store)
    assert store.shared_heads.next() is None, "who was about to write does so first"


def test_what_is_kept_of_a_check_is_all_of_it_but_its_annotations_and_nobody_can_read_it(store: Store) -> None:
    record_both(store)
    assert store.shared_heads.own_content(pull_ref(1), HEAD) == replace(REJECTED, annotations=())
    assert store.shared_heads.own_content(pull_ref(2), HEAD) == judging_content()
    store.shared_heads.record_content(pull_ref(2), HEAD, VERDICT)
    assert store.shared_heads.own_content(pull_ref(2), HEAD) == VERDICT, "with what it says to programs"
    key = keys.shared_head_states(HERE.installation_id, HERE.repository_id, HEAD)
    assert b"Rejected" not in str(store.client.call("HGETALL", key.name)).encode()
    assert 0 < whole(store.client.call("TTL", key.name)) <= 30 * 86_400


def test_once_it_was_told_a_commit_is_looked_at_now_and_then_no_more(store: Store) -> None:
    record_both(store)
    write_content(store, 2, judging_content())
    found = store.shared_heads.next()
    assert found == (HERE, 1)
    met = store.shared_heads.find_state(HERE)
    assert [bool(one.shown) for one in met.members] == [False, True]
    assert store.shared_heads.close_version(HERE, met.version)
    assert not is_waiting(store)


@pytest.mark.parametrize("is_told", [True, False])
def test_one_that_is_closed_counts_no_more_and_the_others_are_looked_at(store: Store, *, is_told: bool) -> None:
    record_both(store)
    close_current_version(store)
    if is_told:
        close_pull_request(store, pull_ref(1), store.ledger_retention)
    else:
        store.shared_heads.leave(pull_ref(1))  # as GitHub shows it
    assert is_waiting(store)
    assert [member.is_here for member in store.shared_heads.find_state(HERE).members] == [False, True]
    assert list_others(store, 2) == []
    assert list_others(store, 1) == [(2, "failure")]
    assert list_others(store, 2) == ([] if is_told else [(1, "failure")]), "it said something again"
    store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    close_current_version(store)
    store.shared_heads.leave(pull_ref(1))
    assert is_waiting(store), "its newest head has no check run yet"


def test_two_that_record_their_contents_together_see_each_other(store: Store) -> None:
    meanwhile = [lambda: store.shared_heads.record_content(pull_ref(2), HEAD, REJECTED)]

    class Interrupted(RedisClient):
        def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
            replies = super().pipeline(commands)
            if meanwhile and any(command[0] == "HKEYS" for command in commands):
                meanwhile.pop()()
            return replies

    wire = Interrupted(store.url.get_secret_value(), 5)
    told = RedisSharedHeads(wire, store.codec, store.timing).record_content(pull_ref(1), HEAD, VERDICT)
    wire.close()
    assert [other.number for other in told.others(1)] == [2]


@pytest.mark.parametrize(
    ("how", "content"),
    [("superseded", superseded_content(NEWER)), ("closed", VERDICT), ("pushed", VERDICT), ("open", VERDICT)],
)
def test_one_that_is_superseded_closed_or_has_another_head_is_not_here(
    store: Store, how: str, content: CheckContent
) -> None:
    record_both(store)
    if how == "closed":
        close_pull_request(store, pull_ref(1), store.ledger_retention)
    elif how == "pushed":
        store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    write_content(store, 1, content)
    assert store.shared_heads.find_state(HERE).members[0].shown
    told = store.shared_heads.record_content(pull_ref(1), HEAD, content)
    assert told.is_here(1) is (how == "open")
    [first, _] = store.shared_heads.find_state(HERE).members
    assert (first.is_here, first.shown) == (how == "open", ""), "until that is written, what GitHub shows is unknown"


def test_one_that_got_another_head_counts_no_more_at_the_old_one(store: Store) -> None:
    record_both(store)
    close_current_version(store)
    store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    assert list_others(store, 2) == []
    close_current_version(store)
    store.shared_heads.record_content(pull_ref(1), NEWER, judging_content())
    assert is_waiting(store)
    assert not is_waiting(store, THERE)


def test_one_that_comes_back_counts_again(store: Store) -> None:
    record_both(store)
    store.pulls.request_judging(judge_request(1, head_sha=NEWER))
    store.pulls.request_judging(judge_request(3, head_sha=NEWER))
    for number in (1, 3):
        store.shared_heads.record_content(pull_ref(number), NEWER, judging_content())
    store.shared_heads.record_content(pull_ref(1), HEAD, superseded_content(NEWER))
    close_current_version(store, THERE)
    store.pulls.request_judging(judge_request(1))
    assert list_others(store, 2) == [], "it is known to have been superseded"
    close_current_version(store)
    store.shared_heads.rejoin(pull_ref(1), HEAD)
    assert is_waiting(store)
    assert is_waiting(store, THERE)
    assert list_others(store, 2) == [(1, "cancelled")]


def test_one_that_never_said_anything_comes_to_nothing(store: Store) -> None:
    store.pulls.request_judging(judge_request(1))
    store.shared_heads.rejoin(pull_ref(1), HEAD)
    store.shared_heads.leave(pull_ref(1))
    store.shared_heads.record_written(pull_ref(1), HEAD, 1, judging_content())
    assert (
        store.client.call("EXISTS", keys.shared_head_states(HERE.installation_id, HERE.repository_id, HEAD).name) == 0
    )
    assert store.shared_heads.close_version(HERE, 0)


def test_who_looks_may_put_it_off_and_nobody_knows_what_is_shown_while_it_is_told(store: Store) -> None:
    record_both(store)
    write_content(store, 1, REJECTED)
    assert store.shared_heads.find_state(HERE).members[0].shown
    store.shared_heads.mark_updating(pull_ref(1), HEAD)
    assert store.shared_heads.find_state(HERE).members[0].shown == ""
    store.shared_heads.postpone(HERE, store.ledger_retention)
    assert store.shared_heads.next() is None
    assert text(store.client.call("HGET", keys.pull(pull_ref(1)).name, "said")) == HEAD
