"""GitHub's list of deliveries, read in parts."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.worker.adapters.github.conftest import Place
from worker.adapters.github import installations
from worker.adapters.github.client import GitHubApi, key_api
from worker.adapters.github.installations import GitHubDeliveries
from worker.clock import SystemClock
from worker.domain.pull_request_events import DeliveryAttempt
from worker.errors import SubjectGone
from worker.settings import Settings

AGES_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def api(settings: Settings) -> Iterator[GitHubApi]:
    app = settings.require_app()
    with key_api(settings, app, app.private_keys[0], SystemClock()) as api:
        yield api


@pytest.fixture
def sent(place: Place, api: GitHubApi, monkeypatch: pytest.MonkeyPatch) -> list[DeliveryAttempt]:
    """Nine deliveries that reached nobody, the newest first; GitHub shows two at a time, and one look reads four."""
    place.github.verb("hooks", url="http://127.0.0.1:9/nowhere", events=["issues"])
    for number in range(9):
        place.issue(f"Issue {number}", "")
    place.github.settle()
    whole, _ = GitHubDeliveries(api).list_since(AGES_AGO, None)
    place.github.verb("hooks", url=None, events=[])
    monkeypatch.setattr(installations, "PER_PAGE", 2)
    monkeypatch.setattr(installations, "MOST_DELIVERY_PAGES", 2)
    return whole


def test_a_look_reads_so_much_and_the_next_one_goes_on(api: GitHubApi, sent: list[DeliveryAttempt]) -> None:
    assert len(sent) >= 9
    hooks, found, looks = GitHubDeliveries(api), list[DeliveryAttempt](), 1
    some, cursor = hooks.list_since(AGES_AGO, None)
    while cursor:
        assert len(some) == 4
        found += some
        some, cursor = hooks.list_since(AGES_AGO, cursor)
        looks += 1
    assert [*found, *some] == sent
    assert looks == -(-len(sent) // 4)


def test_what_is_older_is_left(api: GitHubApi, sent: list[DeliveryAttempt]) -> None:
    assert GitHubDeliveries(api).list_since(sent[0].at + timedelta(seconds=1), None) == ([], None)


def test_with_a_cursor_that_github_does_not_know_a_look_begins_at_the_newest(
    api: GitHubApi, sent: list[DeliveryAttempt]
) -> None:
    some, _ = GitHubDeliveries(api).list_since(AGES_AGO, "strange")
    assert some == sent[:4]


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_what_github_does_not_deliver_again_is_let_go(
    place: Place, api: GitHubApi, sent: list[DeliveryAttempt], status: int
) -> None:
    place.github.fault("POST /app/hook/deliveries", kind="status", status=status, body={"message": "No."})
    assert [GitHubDeliveries(api).redeliver(one) for one in sent[:2]] == [False, True]


def test_a_refusal_of_the_newest_is_one(place: Place, api: GitHubApi) -> None:
    place.github.fault("GET /app/hook/deliveries", kind="status", status=404, body={"message": "Not Found"})
    with pytest.raises(SubjectGone):
        GitHubDeliveries(api).list_since(AGES_AGO, None)


def test_installations_are_read_by_so_many_pages_and_the_last_one_leads_to_the_first(
    place: Place, api: GitHubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [following for _, following in installations.list_installation_pages(api, 1)] == [1]
    assert len(list(installations.list_installations(api))) == 1
    monkeypatch.setattr(installations, "PER_PAGE", 1)
    monkeypatch.setattr(installations, "MOST_PAGES", 1)
    assert [(len(page), following) for page, following in installations.list_installation_pages(api, 1)] == [(1, 2)]
    place.github.fault("GET /app/installations", kind="status", status=200, body=[])
    assert [(len(page), following) for page, following in installations.list_installation_pages(api, 2)] == [(0, 1)]
