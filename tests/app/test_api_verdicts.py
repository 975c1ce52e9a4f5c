"""The verdict on one commit over HTTP, for agents that wait for it."""

from datetime import UTC, datetime
from threading import Timer

import httpx
import pytest

from tests.app.served import ServedDoor
from tests.worker.store.played import HEAD, NEWER, pull, wish
from tests.worker.store.test_kept import entry, judging
from worker.domain.ids import InstallationId
from worker.domain.request import Trigger
from worker.store.connection import Store
from worker.store.pulls import Finish
from worker.store.tokens import Tokens


def ask(door: ServedDoor, store: Store, sha: str = HEAD, wait: str = "0", of: int = 100) -> httpx.Response:
    made = Tokens(store.wire).create(f"for-{of}-{sha}-{wait}", [InstallationId(of)], datetime(2026, 11, 20, tzinfo=UTC))
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

    store.pulls.want(wish(head_sha=NEWER))
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


def test_a_commit_that_is_not_known_is_waited_for_and_then_said(door: ServedDoor, store: Store) -> None:
    found = ask(door, store, "9" * 40, wait="0.6")
    assert (found.status_code, found.json()["state"], found.json()["number"]) == (200, "none", None)
    assert found.headers["Cache-Control"] == "no-store"


def test_a_draft_has_no_verdict_coming(door: ServedDoor, store: Store) -> None:
    store.pulls.want(wish(trigger=Trigger.OPENED, draft=True))
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
