from worker.domain.ids import InstallationId, RepositoryId
from worker.store.connection import Store

OURS, THEIRS = InstallationId(100), InstallationId(101)
WIDGETS, GADGETS = RepositoryId(7), RepositoryId(8)


def test_a_repository_is_paused_until_it_is_resumed_and_no_other_one_is(store: Store) -> None:
    switches = store.switches
    assert not switches.is_paused(OURS, WIDGETS)
    switches.pause(OURS, WIDGETS)
    switches.pause(OURS, WIDGETS)
    assert switches.is_paused(OURS, WIDGETS)
    assert not switches.is_paused(OURS, GADGETS)
    assert not switches.is_paused(THEIRS, WIDGETS)
    switches.resume(OURS, WIDGETS)
    assert not switches.is_paused(OURS, WIDGETS)
