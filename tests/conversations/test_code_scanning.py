"""SARIF for GitHub's code scanning, where a repository wants it."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conversations.conftest import open_rejected
from tests.conversations.test_configuration import CONFIG_PATH
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World
from worker.domain.config.app_permissions import OptIn, requested_permissions

WANTED = {**PROJECT, CONFIG_PATH: "sarif: true\n"}
BETTER = {**RETRY, "notes.md": "Retried three times.\n"}


@contextmanager
def granted(world: World, *opt_ins: OptIn) -> Generator[None]:
    """While this lasts, the installation's owner has approved these choices beside comments and merge queues."""
    world.github.control(
        "permissions", permissions=requested_permissions({OptIn.COMMENTS, OptIn.MERGE_QUEUE, *opt_ins})
    )
    try:
        yield
    finally:
        world.github.control("permissions", permissions=None)


def uploads(world: World) -> list[dict[str, Any]]:
    return world.github.state(world.repository.name, "uploads")["uploads"]


def alerts(world: World) -> list[tuple[str, str, int]]:
    found = world.github.state(world.repository.name, "alerts")["alerts"]
    return [(one["rule"], one["path"], one["line"]) for one in found]


def tries(world: World) -> int:
    return sum("/code-scanning/" in one["path"] for one in world.github.requests(world.repository.name))


def mended(world: World, pull: PullRequest) -> None:
    world.push_and_judge(pull, BETTER, accept(RETRY_AT))
    assert pull.check.conclusion == "success"


def test_a_reject_raises_an_alert_and_the_mend_closes_it(world: World) -> None:
    world.create_repository(WANTED)
    with granted(world, OptIn.CODE_SCANNING):
        pull = open_rejected(world)
        [first] = uploads(world)
        path, _, line = RETRY_AT.rpartition(":")
        assert alerts(world) == [("weak_test", path, int(line))]
        assert (first["commit_sha"], first["ref"]) == (pull.head, f"refs/pull/{pull.number}/head")
        assert (first["tool_name"], first["category"]) == ("Assay", "assay/")

        pull.press_rerun()
        world.wait_until_idle()
        assert tries(world) == 1, "once per head and verdict"

        mended(world, pull)
    assert alerts(world) == []
    assert [one["commit_sha"] for one in uploads(world)] == [first["commit_sha"], pull.head]
    assert "SARIF" not in pull.text


@pytest.mark.slow
def test_without_the_permission_the_next_check_says_so_and_the_verdict_stands(world: World) -> None:
    world.create_repository(WANTED)
    pull = open_rejected(world)
    assert (uploads(world), tries(world)) == ([], 1), "a refusal is not asked for again"
    mended(world, pull)
    line = "**SARIF was not uploaded** (`sarif: true`): the App lacks the permission *Code scanning alerts: write*"
    assert line in pull.text
    assert tries(world) == 2


@pytest.mark.slow
def test_where_code_scanning_is_off_the_next_check_says_so_until_it_is_on(world: World) -> None:
    here = world.create_repository(WANTED)
    world.github.control("scanning", repo=here.name, enabled=False)
    with granted(world, OptIn.CODE_SCANNING):
        pull = open_rejected(world)
        told = run_assay(world.product.environment, "doctor", "--repo", here.name).stdout
        assert "SARIF not uploaded when it was tried last: code scanning is not enabled" in " ".join(told.split())
        world.github.control("scanning", repo=here.name, enabled=True)
        mended(world, pull)
        assert "code scanning is not enabled for this repository" in pull.text
        assert [one["results"] for one in uploads(world)] == [[]]

        world.push_and_judge(pull, {"notes.md": "Retried thrice.\n"}, accept(RETRY_AT))
    assert "SARIF" not in pull.text


@pytest.mark.slow
def test_an_upload_that_github_failed_at_is_tried_again(world: World) -> None:
    here = world.create_repository(WANTED)
    world.github.fault(rf"POST /repos/{here.name}/code-scanning/sarifs", kind="status", status=503, count=1)
    world.expected_errors = ("task postponed",)
    with granted(world, OptIn.CODE_SCANNING):
        open_rejected(world)
    assert (len(uploads(world)), tries(world)) == (1, 2)


@pytest.mark.slow
def test_nobody_is_asked_to_take_sarif_where_no_repository_wants_it(world: World) -> None:
    world.create_repository(PROJECT)
    with granted(world, OptIn.CODE_SCANNING):
        open_rejected(world)
    assert (uploads(world), tries(world)) == ([], 0)
