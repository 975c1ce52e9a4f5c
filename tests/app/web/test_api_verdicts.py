"""The verdict on one commit over HTTP, for agents that wait for it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Timer

import httpx
import pytest

from tests.app.web.served import ServedDoor
from tests.worker.adapters.redis.played import HEAD, NEWER, pull, wish
from tests.worker.adapters.redis.test_kept import entry, judging
from tests.worker.publishing.test_review_requests import recorded
from tests.worker.publishing.texts.samples import accepted, rejected
from worker.adapters.redis.intake import close_pull_request
from worker.adapters.redis.pull_requests import DispatchLimits, Finish
from worker.adapters.redis.store import Store
from worker.adapters.redis.tokens import RedisTokens
from worker.domain.ids import InstallationId
from worker.domain.request.judge_request import PullRef, Trigger
from worker.domain.verdict.ledger import LedgerEntry


def ask(door: ServedDoor, store: Store, sha: str = HEAD, wait: str = "0", of: int = 100) -> httpx.Response:
    made = RedisTokens(store.client).create(
        f"for-{of}-{sha}-{wait}", [InstallationId(of)], datetime(2026, 11, 20, tzinfo=UTC)
    )
    assert made is not None
    headers = {"Authorization": f"Bearer {made}"}
    return door.http.get(f"/api/verdicts/acme/widgets/{sha}", params={"wait": wait}, headers=headers, timeout=30)


def judged(store: Store) -> None:
    """The first head of the pull request gets its verdict."""
    taken = judging(store)
    store.ledger.append(pull(), entry("verdict-of-a", taken.lease.fence))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def test_pain_06_an_agent_that_waits_on_its_commit_never_gets_another_ones_verdict(
    door: ServedDoor, store: Store
) -> None:
    judged(store)
    found = ask(door, store).json()
    assert (found["state"], found["number"], found["verdict"]["eval_id"]) == ("done", 1, "verdict-of-a")

    store.pulls.request_judging(wish(head_sha=NEWER))
    waiting = ask(door, store, NEWER).json()
    assert (waiting["state"], waiting["verdict"]) == ("pending", None)
    late = ask(door, store, wait="0.1").json()
    assert (late["state"], late["verdict"], late["superseded_by"]) == ("superseded", None, NEWER)


def test_who_waits_is_answered_when_the_verdict_is_there(door: ServedDoor, store: Store) -> None:
    taken = judging(store)

    def finish() -> None:
        store.ledger.append(pull(), entry("late", taken.lease.fence))
        store.pulls.finish(taken.lease, Finish.JUDGED)

    timer = Timer(0.2, finish)
    timer.start()
    found = ask(door, store, wait="20").json()
    timer.join()
    assert (found["state"], found["verdict"]["eval_id"]) == ("done", "late")


def decided(store: Store, ref: PullRef, entry_of: Callable[[int], LedgerEntry]) -> None:
    """Somebody judges what is due of this pull request."""
    job = store.pulls.next_due(f"call-{ref.installation_id}-{ref.number}", DispatchLimits(1, 10))
    taken = job and store.pulls.take_lease(ref, job.fence)
    assert taken is not None
    store.ledger.append(ref, entry_of(taken.lease.fence))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def green(fence: int) -> LedgerEntry:
    return recorded(accepted(), fence=fence, head_sha=HEAD)


def red(fence: int) -> LedgerEntry:
    return recorded(rejected(), fence=fence, head_sha=HEAD)


def test_an_accept_is_not_told_while_another_open_pull_request_of_the_commit_is_judged_or_rejected(
    door: ServedDoor, store: Store
) -> None:
    store.pulls.request_judging(wish(number=2))
    decided(store, pull(2), green)
    assert ask(door, store).json()["verdict"]["decision"] == "accept"

    store.pulls.request_judging(wish())
    found = ask(door, store, wait="0.01").json()
    assert (found["state"], found["number"], found["verdict"]) == ("pending", 1, None)
    decided(store, pull(), red)
    found = ask(door, store, wait="0.02").json()
    assert (found["state"], found["number"], found["verdict"]["decision"]) == ("done", 1, "reject")

    close_pull_request(store.client, pull(), timedelta(days=1))
    found = ask(door, store, wait="0.03").json()
    assert (found["number"], found["verdict"]["decision"], found["other_pull_requests"]) == (2, "accept", [1])


def test_what_an_installation_that_is_gone_said_of_a_commit_gives_way_to_the_one_that_came_after(
    door: ServedDoor, store: Store
) -> None:
    store.pulls.request_judging(wish())
    decided(store, pull(), red)
    store.pulls.request_judging(wish(installation=200))
    decided(store, pull(installation=200), green)
    both = [InstallationId(100), InstallationId(200)]
    made = RedisTokens(store.client).create("both", both, datetime(2026, 11, 20, tzinfo=UTC))
    found = door.http.get(f"/api/verdicts/acme/widgets/{HEAD}", headers={"Authorization": f"Bearer {made}"}).json()
    assert (found["verdict"]["decision"], found["other_pull_requests"]) == ("accept", [])


def test_a_commit_that_is_not_known_is_waited_for_and_then_said(door: ServedDoor, store: Store) -> None:
    found = ask(door, store, "9" * 40, wait="0.6")
    assert (found.status_code, found.json()["state"], found.json()["number"]) == (200, "none", None)
    assert found.headers["Cache-Control"] == "no-store"


def test_a_draft_has_no_verdict_coming(door: ServedDoor, store: Store) -> None:
    store.pulls.request_judging(wish(trigger=Trigger.OPENED, draft=True))
    found = ask(door, store, wait="20").json()
    assert (found["state"], found["number"], "draft" in found["why"]) == ("none", 1, True)


def test_a_token_of_another_installation_sees_nothing(door: ServedDoor, store: Store) -> None:
    judged(store)
    assert ask(door, store, of=200).json()["state"] == "none"


def test_without_a_token_nothing_is_answered(door: ServedDoor) -> None:
    assert door.http.get(f"/api/verdicts/acme/widgets/{HEAD}").status_code == 401


@pytest.mark.parametrize(
    ("sha", "wait", "parameter"),
    [
        ("abc", "0", "sha"),
        ("g" * 40, "0", "sha"),
        (HEAD, "61", "wait"),
        (HEAD, "-1", "wait"),
        (HEAD, "nan", "wait"),
        (HEAD, "٣", "wait"),
    ],
)
def test_what_can_not_be_used_is_told(door: ServedDoor, store: Store, sha: str, wait: str, parameter: str) -> None:
    refused = ask(door, store, sha, wait)
    assert (refused.status_code, refused.json()["parameter"]) == (400, parameter)
