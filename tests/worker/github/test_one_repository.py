"""What the App knows of one repository that a person names, over a played GitHub that is held to the published API."""

import pytest

from tests.worker.github.conftest import INSTALLATION, Place
from worker.errors import Unavailable
from worker.github.one_repository import Numbers, numbers
from worker.settings import Settings
from worker.system_clock import SystemClock


def test_github_tells_the_numbers_of_a_repository_of_which_nothing_was_heard(place: Place, settings: Settings) -> None:
    pull = place.pull({"a.py": "x = 3\n"})
    repository = pull.place.github.user("alice", "GET", f"/repos/{place.name}")["id"]
    assert numbers(settings, SystemClock(), place.name) == Numbers(INSTALLATION, repository)
    made = place.github.traffic("POST /app/installations/100/access_tokens")[-1]
    assert made["sent"] == f'{{"repositories":["{place.name.partition("/")[2]}"],"permissions":{{"metadata":"read"}}}}'


def test_one_that_the_app_does_not_see_has_none(settings: Settings) -> None:
    assert numbers(settings, SystemClock(), "acme/nowhere") is None


def test_an_outage_is_told_as_one(place: Place, settings: Settings) -> None:
    place.github.fault("GET .*/installation$", kind="status", status=502, count=3)
    with pytest.raises(Unavailable):
        numbers(settings, SystemClock(), place.name)
