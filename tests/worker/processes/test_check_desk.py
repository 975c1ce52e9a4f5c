"""No check run is left unfinished, whoever died between asking GitHub for it and writing down its number."""

import pytest

from tests.worker.processes.scripted_court import Checks, World
from tests.worker.store.played import HEAD, NEWER, pull, wish
from worker.domain.check import CheckContent
from worker.domain.ids import CheckRunId, Sha
from worker.domain.request import JudgeRequest
from worker.errors import Gone, Unavailable
from worker.publish import CheckDesk
from worker.render.check import closed, judging
from worker.settings import Timing
from worker.store.checks import RedisChecks
from worker.store.connection import Store

NAME = f"100/1 {HEAD}"


@pytest.fixture
def desk(store: Store) -> CheckDesk:
    return CheckDesk(Checks(store), store.checks())


def dies_making(store: Store, *, created: bool) -> None:
    """Somebody claims the check run of HEAD and dies; the claim is soon over."""
    assert RedisChecks(store.wire, Timing(open_hold=0.01)).claim(pull(), HEAD) is None
    if created:
        Checks(store).create(wish(), HEAD, judging())


def test_a_check_run_whose_maker_died_is_cancelled_once_a_newer_head_has_its_verdict(
    store: Store, desk: CheckDesk, world: World
) -> None:
    dies_making(store, created=True)
    assert store.checks().begun(pull()) == (HEAD,)
    desk.end_begun(wish(), NEWER)
    assert world.checks() == {NAME: f"cancelled: Superseded by {NEWER[:12]}"}
    assert store.checks().begun(pull()) == ()
    assert store.checks().open_checks(pull()) == {}


def test_a_check_run_that_was_never_made_is_forgotten(store: Store, desk: CheckDesk, world: World) -> None:
    dies_making(store, created=False)
    desk.end_begun(wish(), NEWER)
    assert world.checks() == {}
    assert store.checks().begun(pull()) == ()


def test_the_judged_head_itself_is_left_to_its_judge(store: Store, desk: CheckDesk) -> None:
    dies_making(store, created=True)
    desk.end_begun(wish(), HEAD)
    assert store.checks().begun(pull()) == (HEAD,)


def test_a_check_run_whose_maker_died_is_concluded_when_the_pull_request_closes(
    store: Store, desk: CheckDesk, world: World
) -> None:
    dies_making(store, created=True)
    desk.finish_all(wish(), closed())
    assert world.checks() == {NAME: "cancelled: Closed before it was judged"}


def test_a_repository_that_is_gone_has_nothing_to_be_found(store: Store) -> None:
    class Empty(Checks):
        def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
            raise Gone(f"{request.repository} {head_sha}")

    dies_making(store, created=True)
    CheckDesk(Empty(store), store.checks()).finish_all(wish(), closed())
    assert store.checks().begun(pull()) == ()


def test_a_head_that_is_not_the_newest_any_more_gets_no_check_run(store: Store, desk: CheckDesk, world: World) -> None:
    store.pulls.want(wish(head_sha=NEWER))
    desk.open(wish(head_sha=HEAD), HEAD)
    assert world.checks() == {}
    assert store.checks().begun(pull()) == ()


def test_what_was_left_on_a_head_that_is_not_the_newest_is_cancelled(
    store: Store, desk: CheckDesk, world: World
) -> None:
    dies_making(store, created=True)
    store.pulls.want(wish(head_sha=NEWER))
    desk.open(wish(head_sha=HEAD), HEAD)
    assert world.checks() == {NAME: f"cancelled: Superseded by {NEWER[:12]}"}


def test_a_check_run_is_known_to_be_open_before_it_is_opened_again(store: Store) -> None:
    class Unreachable(Checks):
        def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
            raise Unavailable("GitHub", f"{request.repository} {check} {content.title}")

    store.checks().opened(pull(), HEAD, CheckRunId(5))
    store.checks().concluded(pull(), HEAD)
    with pytest.raises(Unavailable):
        CheckDesk(Unreachable(store), store.checks()).restart(wish(), HEAD)
    assert store.checks().open_checks(pull()) == {HEAD: 5}
