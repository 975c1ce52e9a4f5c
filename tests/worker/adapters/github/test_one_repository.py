"""What the App knows of one repository that a person names, over a played GitHub that is held to the published API."""

import json
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr

from tests.worker.adapters.github.conftest import INSTALLATION, Place
from worker.adapters.github.client import GitHubApi
from worker.adapters.github.doctor import (
    RepositoryNumbers,
    ask_as_app,
    find_installation,
    find_numbers,
    repository_api,
)
from worker.clock import SystemClock
from worker.errors import Forbidden, Unavailable
from worker.settings import AppCredentials, Settings


def test_github_tells_the_numbers_of_a_repository_of_which_nothing_was_heard(place: Place, settings: Settings) -> None:
    pull = place.pull({"a.py": "x = 3\n"})
    repository = pull.place.github.user("alice", "GET", f"/repos/{place.name}")["id"]
    assert find_numbers(settings, SystemClock(), place.name) == RepositoryNumbers(INSTALLATION, repository)
    made = place.github.traffic("POST /app/installations/100/access_tokens")[-1]
    assert made["sent"] == f'{{"repositories":["{place.name.partition("/")[2]}"],"permissions":{{"metadata":"read"}}}}'


def test_one_that_the_app_does_not_see_has_none(settings: Settings) -> None:
    assert find_numbers(settings, SystemClock(), "acme/nowhere") is None


def test_an_outage_is_told_as_one(place: Place, settings: Settings) -> None:
    place.github.fault("GET .*/installation$", kind="status", status=502, count=3)
    with pytest.raises(Unavailable):
        find_numbers(settings, SystemClock(), place.name)


def test_a_key_that_github_refuses_gives_way_to_the_next_one(place: Place, settings: Settings) -> None:
    app = settings.require_app()
    other = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    old_first, old_alone = (
        replace(settings, app=AppCredentials(app.app_id, keys, app.webhook_secrets))
        for keys in ((SecretStr(other), *app.private_keys), (SecretStr(other),))
    )
    assert find_numbers(old_first, SystemClock(), place.name) is not None
    with pytest.raises(Forbidden):
        find_numbers(old_alone, SystemClock(), place.name)


def test_what_was_not_granted_is_not_asked_for(place: Place, settings: Settings) -> None:
    def read(api: GitHubApi) -> None:
        found = find_installation(api, place.name)
        assert found is not None
        assert "administration" not in found.permissions
        with repository_api(settings, SystemClock(), api, (found, place.name), ("metadata", "administration")):
            pass

    ask_as_app(settings, SystemClock(), read)
    made = place.github.traffic("POST /app/installations/100/access_tokens")[-1]
    assert json.loads(made["sent"])["permissions"] == {"metadata": "read"}, "GitHub refuses a token for more than that"
