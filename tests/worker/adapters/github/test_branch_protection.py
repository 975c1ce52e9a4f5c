"""What `assay doctor --repo` reads of a repository, over a played GitHub that is held to the published API."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pydantic import SecretStr

from tests.worker.adapters.github.conftest import Place
from tests.worker.adapters.github.test_doctor import GRANTED
from worker.adapters.github.doctor import read_branch_protection
from worker.clock import SystemClock
from worker.domain.config.app_permissions import RepositoryProtection, Requirement
from worker.errors import Forbidden, Unavailable
from worker.settings import AppCredentials, Settings

OURS = 4711


@pytest.fixture
def granted(place: Place) -> Iterator[Place]:
    yield place
    place.github.verb("permissions", permissions=GRANTED)


def seen(settings: Settings, place: Place) -> RepositoryProtection:
    return read_branch_protection(settings, SystemClock(), place.name)


def protect(place: Place, *checks: object) -> None:
    name = place.name.partition("/")[2]
    place.github.verb("repo", name=f"{name}-p", files={"a": "b"}, protect=list(checks))


def test_a_repository_without_rules_requires_nothing(place: Place, settings: Settings) -> None:
    gate = seen(settings, place)
    assert gate.installation is not None
    assert (gate.installation.id, gate.installation.account) == (100, "acme")
    assert (gate.branch, gate.requirements, gate.has_queue) == ("main", (), False)


def test_a_ruleset_tells_whether_it_names_us(place: Place, settings: Settings) -> None:
    place.github.verb(
        "ruleset", repo=place.name, required=["ci", "Assay", {"context": "Assay", "integration_id": OURS}]
    )
    assert seen(settings, place).requirements == (Requirement("a ruleset", None), Requirement("a ruleset", OURS))


@pytest.mark.parametrize(("check", "app_id"), [("Assay", None), ({"context": "Assay", "app_id": OURS}, OURS)])
def test_branch_protection_is_seen_without_administration(
    place: Place, settings: Settings, check: object, app_id: int | None
) -> None:
    protect(place, "ci", check)
    gate = read_branch_protection(settings, SystemClock(), f"{place.name}-p")
    assert gate.requirements == (Requirement("branch protection", app_id),)


def test_any_source_has_two_spellings(place: Place, settings: Settings) -> None:
    checks = {"contexts": ["Assay"], "checks": [{"context": "Assay", "app_id": -1}]}
    body = {"protection": {"required_status_checks": checks}}
    place.github.fault("GET /repos/[^/]+/[^/]+/branches/main$", kind="status", status=200, body=body)
    assert seen(settings, place).requirements == (Requirement("branch protection", None),)


def test_an_old_server_tells_names_only_and_knows_no_rulesets(place: Place, settings: Settings) -> None:
    place.github.fault("GET /repos/[^/]+/[^/]+/branches/main$", kind="status", status=200, body={
        "protection": {"required_status_checks": {"contexts": ["Assay"]}}})  # fmt: skip
    place.github.fault("GET .*/rules/branches/main$", kind="status", status=404, body={"message": "Not Found"})
    assert seen(settings, place).requirements == (Requirement("branch protection", None),)


def test_teams_that_own_files_are_told_by_the_file_that_github_reads(place: Place, settings: Settings) -> None:
    assert seen(settings, place).teams == ()
    place.push("main", {"docs/CODEOWNERS": "* @acme/none\n", "CODEOWNERS": "*.py @alice @acme/web\n/x @acme/web\n"})
    assert seen(settings, place).teams == ("acme/web",)
    place.github.fault("AssayOwners", kind="status", status=502, count=9)
    assert seen(settings, place).teams == ()


def test_an_unprotected_branch_says_nothing(place: Place, settings: Settings) -> None:
    place.github.fault("GET /repos/[^/]+/[^/]+/branches/main$", kind="status", status=200, body={"name": "main"})
    assert seen(settings, place).requirements == ()


def test_a_queue_by_a_ruleset_is_seen(place: Place, settings: Settings) -> None:
    place.github.verb("ruleset", repo=place.name, queue=True)
    assert seen(settings, place).has_queue is True


def test_a_queue_by_branch_protection_is_seen_with_the_permission_and_unknown_without(
    granted: Place, settings: Settings
) -> None:
    opened = granted.pull({"a.py": "x = 3\n"})
    granted.github.verb("merge-group", repo=granted.name, pulls=[opened.number])
    assert seen(settings, granted).has_queue is True
    granted.github.verb(
        "permissions", permissions={one: level for one, level in GRANTED.items() if one != "merge_queues"}
    )
    assert seen(settings, granted).has_queue is None


@pytest.mark.usefixtures("place")
def test_where_the_app_is_not_installed_nothing_more_is_asked(settings: Settings) -> None:
    assert read_branch_protection(settings, SystemClock(), "acme/nowhere") == RepositoryProtection("acme/nowhere")


def test_the_token_that_looks_is_of_this_repository_and_reads_only(place: Place, settings: Settings) -> None:
    seen(settings, place)
    made = place.github.traffic("POST /app/installations/100/access_tokens")[-1]
    assert made["sent"] == (
        f'{{"repositories":["{place.name.partition("/")[2]}"],'
        '"permissions":{"metadata":"read","contents":"read","merge_queues":"read"}}'
    )


def test_a_second_key_is_used_where_the_first_is_refused(place: Place, settings: Settings) -> None:
    place.github.fault("GET .*/installation$", kind="status", status=401, body={"message": "no such key"})
    app = settings.require_app()
    both = replace(settings, app=AppCredentials(app.app_id, app.private_keys * 2, app.webhook_secrets))
    assert read_branch_protection(both, SystemClock(), place.name).installation is not None


def test_without_a_good_key_the_refusal_is_told(place: Place, settings: Settings) -> None:
    app = settings.require_app()
    damaged = replace(settings, app=AppCredentials(app.app_id, (SecretStr("no key"),), app.webhook_secrets))
    with pytest.raises(Forbidden, match="GitHub refuses our credentials"):
        read_branch_protection(damaged, SystemClock(), place.name)
    with pytest.raises(Forbidden, match="there is no key"):
        read_branch_protection(replace(settings, app=AppCredentials(app.app_id, (), ())), SystemClock(), place.name)


def test_an_outage_is_told_as_one(place: Place, settings: Settings) -> None:
    place.github.fault(f"GET /repos/{place.name}$", kind="status", status=502, count=3)
    with pytest.raises(Unavailable):
        seen(settings, place)
