from datetime import UTC, datetime, timedelta

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import text, whole
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.lifecycle.work import ActivePause
from worker.domain.pause import JudgingPause

OURS, THEIRS = InstallationId(100), InstallationId(101)
WIDGETS, GADGETS = RepositoryId(7), RepositoryId(8)
LATER = datetime(2126, 11, 20, tzinfo=UTC)
STORM = JudgingPause(by="alice", at=datetime(2026, 11, 20, tzinfo=UTC), until=LATER, reason="a storm")


def test_a_repository_is_paused_until_it_is_resumed_and_no_other_one_is(store: Store) -> None:
    switches = store.pauses
    assert not switches.is_paused(OURS, WIDGETS)
    switches.pause(OURS, WIDGETS)
    switches.pause(OURS, WIDGETS)
    assert switches.is_paused(OURS, WIDGETS)
    assert not switches.is_paused(OURS, GADGETS)
    assert not switches.is_paused(THEIRS, WIDGETS)
    assert switches.resume(OURS, WIDGETS)
    assert not switches.is_paused(OURS, WIDGETS)
    assert not switches.resume(OURS, WIDGETS), "it was not paused any more"


def test_a_pause_says_who_until_when_and_why_and_ends_by_itself(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, STORM)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(STORM, is_everywhere=False)
    ends_at = whole(store.client.call("PEXPIRETIME", keys.pause(OURS, WIDGETS).name))
    assert ends_at == LATER.timestamp() * 1000


def test_a_pause_that_is_over_stops_nobody(store: Store) -> None:
    over = STORM.model_copy(update={"until": datetime(2026, 11, 20, tzinfo=UTC) - timedelta(days=1)})
    store.pauses.pause(OURS, WIDGETS, over)
    assert not store.pauses.is_paused(OURS, WIDGETS)


def test_a_new_pause_replaces_the_one_before_and_its_end(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, STORM)
    store.pauses.pause(OURS, WIDGETS, JudgingPause(by="bob"))
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(JudgingPause(by="bob"), is_everywhere=False)
    assert whole(store.client.call("PTTL", keys.pause(OURS, WIDGETS).name)) == -1


def test_a_pause_of_everything_stops_all_and_is_taken_back_alone(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, JudgingPause(by="bob"))
    store.pauses.pause_all(STORM)
    assert store.pauses.find_pause(THEIRS, GADGETS) == ActivePause(STORM, is_everywhere=True)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(STORM, is_everywhere=True)
    assert [one.suspension.by for one in store.pauses.list_pauses()] == ["alice", "bob"]
    assert store.pauses.resume_all()
    assert not store.pauses.is_paused(THEIRS, GADGETS)
    assert store.pauses.is_paused(OURS, WIDGETS)


def test_what_the_version_before_wrote_down_is_a_pause_of_which_nobody_knows_more(store: Store) -> None:
    store.client.call("SET", keys.pause(OURS, WIDGETS).name, 1)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(JudgingPause(), is_everywhere=False)
    assert store.pauses.list_pauses() == (ActivePause(JudgingPause(), is_everywhere=False),)


def test_what_a_later_version_knows_of_a_pause_does_not_keep_this_one_from_it(store: Store) -> None:
    said = STORM.model_dump_json().replace("{", '{"colour":"red",', 1)
    store.client.call("SET", keys.pause(OURS, WIDGETS).name, said)
    assert store.pauses.find_pause(OURS, WIDGETS) == ActivePause(STORM, is_everywhere=False)
    assert text(store.client.call("GET", keys.pause(OURS, WIDGETS).name)) == said


def test_what_was_paused_is_found_by_its_name_however_that_is_written(store: Store) -> None:
    store.pauses.pause(OURS, WIDGETS, STORM.model_copy(update={"repository": "acme/widgets"}))
    store.pauses.pause(THEIRS, GADGETS, STORM.model_copy(update={"repository": "acme/gadgets"}))
    store.pauses.pause(THEIRS, WIDGETS)
    store.pauses.pause_all(STORM)
    assert store.pauses.find_by_name("Acme/Widgets") == {(OURS, WIDGETS)}
    assert store.pauses.find_by_name("acme/nowhere") == set()
