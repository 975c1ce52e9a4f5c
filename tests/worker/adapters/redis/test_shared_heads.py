"""What the checks of one commit say. Invariant: nobody who shares a commit goes unseen, and what is wrong stays in the line."""

from tests.worker.adapters.redis.played import HEAD, NEWER, pull, wish
from tests.worker.publishing.texts.samples import dossier, rejected
from worker.adapters.redis import intake, keys
from worker.adapters.redis.client import text, whole
from worker.adapters.redis.store import Store
from worker.adapters.redis.waiting_keys import COMMITS
from worker.domain.check.check_run import HELPFUL, Annotation, AnnotationLevel, CheckContent, Conclusion
from worker.domain.check.shared_head import IDLE, IN_PROGRESS, Place, Sibling
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.value import replace
from worker.publishing.texts.check_run import check_content, closed, judging, superseded
from worker.publishing.texts.states import draft, old

HERE = Place(installation_id=InstallationId(100), repository_id=RepositoryId(7), head_sha=HEAD)
THERE = HERE.model_copy(update={"head_sha": NEWER})
NOTE = Annotation("a.py", 1, 1, AnnotationLevel.FAILURE, "Weak test", "x")
REJECTED = CheckContent("Rejected", "No.", "{}", Conclusion.FAILURE, (NOTE,), (HELPFUL,))


VERDICT = replace(check_content(rejected(), dossier()), annotations=())


def both(store: Store) -> None:
    """Two pull requests have HEAD; the first was rejected, and the other one is judged."""
    store.pulls.want(wish(1))
    store.pulls.want(wish(2))
    store.siblings.says(pull(1), HEAD, REJECTED)
    store.siblings.says(pull(2), HEAD, judging())


def waits(store: Store, place: Place = HERE) -> bool:
    """Whether somebody is to look at this commit."""
    name = keys.shown(place.installation_id, place.repository_id, place.head_sha).name
    return store.wire.call("ZSCORE", COMMITS.order.name, name) is not None


def others(store: Store, number: int, content: CheckContent = REJECTED) -> tuple[Sibling, ...]:
    return store.siblings.says(pull(number), HEAD, content).others


def test_one_alone_says_its_own_and_nobody_has_to_look(store: Store) -> None:
    store.pulls.want(wish(1))
    told = store.siblings.says(pull(1), HEAD, judging())
    assert (told.is_here, told.others) == (True, ())
    assert not waits(store)


def test_who_comes_second_sees_the_first_and_both_are_looked_at(store: Store) -> None:
    both(store)
    assert others(store, 2, judging()) == (Sibling(1, "failure"),)
    assert others(store, 1) == (Sibling(2, IN_PROGRESS),)
    assert waits(store)
    assert store.siblings.next() is None, "who was about to write does so first"


def test_what_is_kept_of_a_check_is_all_of_it_but_its_annotations_and_nobody_can_read_it(store: Store) -> None:
    both(store)
    assert store.siblings.own(HERE, 1) == replace(REJECTED, annotations=())
    assert store.siblings.own(HERE, 2) == judging()
    store.siblings.says(pull(2), HEAD, VERDICT)
    assert store.siblings.own(HERE, 2) == VERDICT, "with what it says to programs"
    key = keys.shown(HERE.installation_id, HERE.repository_id, HEAD)
    assert b"Rejected" not in str(store.wire.call("HGETALL", key.name)).encode()
    assert 0 < whole(store.wire.call("TTL", key.name)) <= 30 * 86_400


def test_once_it_was_told_a_commit_is_looked_at_now_and_then_no_more(store: Store) -> None:
    both(store)
    told = store.siblings.says(pull(2), HEAD, judging())
    store.siblings.told(pull(2), HEAD, told.version, judging())
    found = store.siblings.next()
    assert found == (HERE, 1)
    met = store.siblings.at(HERE)
    assert [bool(one.shown) for one in met.members] == [False, True]
    assert store.siblings.done(HERE, met.version)
    assert not waits(store)


def test_what_is_said_while_somebody_looks_keeps_the_commit_in_the_line(store: Store) -> None:
    both(store)
    met = store.siblings.at(HERE)
    store.siblings.says(pull(1), HEAD, judging())
    assert not store.siblings.done(HERE, met.version)
    assert waits(store)


def test_who_was_told_of_too_late_is_looked_at_again(store: Store) -> None:
    store.pulls.want(wish(1))
    told = store.siblings.says(pull(1), HEAD, old())
    store.pulls.want(wish(2))
    store.siblings.says(pull(2), HEAD, REJECTED)
    store.siblings.done(HERE, store.siblings.at(HERE).version)
    store.siblings.told(pull(1), HEAD, told.version, old())
    assert waits(store), "what the first one showed was true while it was alone"
    assert store.siblings.at(HERE).members[0].shown == ""


def test_a_draft_is_known_for_one(store: Store) -> None:
    store.pulls.want(wish(1))
    store.siblings.says(pull(1), HEAD, draft())
    store.pulls.want(wish(2))
    assert others(store, 2) == (Sibling(1, IDLE),)


def test_one_that_was_closed_counts_no_more_and_the_others_are_looked_at(store: Store) -> None:
    both(store)
    store.siblings.done(HERE, store.siblings.at(HERE).version)
    intake.shut(store.wire, pull(1), store.remembered)
    assert waits(store)
    assert [one.is_here for one in store.siblings.at(HERE).members] == [False, True]
    assert others(store, 2) == ()
    assert not store.siblings.says(pull(1), HEAD, closed()).is_here


def test_one_that_got_another_head_counts_no_more_at_the_old_one(store: Store) -> None:
    both(store)
    store.siblings.done(HERE, store.siblings.at(HERE).version)
    store.pulls.want(wish(1, head_sha=NEWER))
    assert others(store, 2) == ()
    store.siblings.done(HERE, store.siblings.at(HERE).version)
    store.siblings.says(pull(1), NEWER, judging())
    assert waits(store)
    assert not waits(store, THERE)


def test_one_that_comes_back_counts_again(store: Store) -> None:
    both(store)
    store.pulls.want(wish(1, head_sha=NEWER))
    store.siblings.says(pull(1), NEWER, judging())
    store.siblings.says(pull(1), HEAD, superseded(NEWER))
    store.pulls.want(wish(1))
    assert others(store, 2) == (), "it is known to have been superseded"
    store.siblings.done(HERE, store.siblings.at(HERE).version)
    store.siblings.comes(pull(1), HEAD)
    assert waits(store)
    assert others(store, 2) == (Sibling(1, "cancelled"),)


def test_one_that_never_said_anything_comes_to_nothing(store: Store) -> None:
    store.pulls.want(wish(1))
    store.siblings.comes(pull(1), HEAD)
    store.siblings.leaves(pull(1))
    store.siblings.told(pull(1), HEAD, 1, judging())
    assert store.wire.call("EXISTS", keys.shown(HERE.installation_id, HERE.repository_id, HEAD).name) == 0
    assert store.siblings.done(HERE, 0)


def test_one_that_github_says_is_closed_counts_no_more(store: Store) -> None:
    both(store)
    store.siblings.done(HERE, store.siblings.at(HERE).version)
    store.siblings.leaves(pull(1))
    assert waits(store)
    assert others(store, 2) == ()
    assert others(store, 1) == (Sibling(2, "failure"),)
    assert others(store, 2) == (Sibling(1, "failure"),), "it said something again"


def test_who_looks_may_put_it_off_and_nobody_knows_what_is_shown_while_it_is_told(store: Store) -> None:
    both(store)
    told = store.siblings.says(pull(1), HEAD, REJECTED)
    store.siblings.told(pull(1), HEAD, told.version, REJECTED)
    assert store.siblings.at(HERE).members[0].shown
    store.siblings.tells(HERE, 1)
    assert store.siblings.at(HERE).members[0].shown == ""
    store.siblings.later(HERE, store.remembered)
    assert store.siblings.next() is None
    assert text(store.wire.call("HGET", keys.pull(pull(1)).name, "said")) == HEAD
