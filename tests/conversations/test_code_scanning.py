"""SARIF uploads to GitHub's code scanning."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conversations.conftest import open_rejected
from tests.conversations.test_configuration import CONFIG_PATH
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World
from worker.domain.config.github_app import OptIn, requested_permissions

WANTED = {**PROJECT, CONFIG_PATH: "sarif: true\n"}
BETTER = {**RETRY, "notes.md": "Retried three times.\n"}


@contextmanager
def grant_permissions(world: World, *opt_ins: OptIn) -> Generator[None]:
    """Grant the permissions of *opt_ins* during the block."""
    permissions = requested_permissions({OptIn.COMMENTS, OptIn.MERGE_QUEUE, *opt_ins})
    world.github.control("permissions", permissions=permissions)
    try:
        yield
    finally:
        world.github.control("permissions", permissions=None)


def read_uploads(world: World) -> list[dict[str, Any]]:
    return world.github.state(world.repository.name, "uploads")["uploads"]


def read_alerts(world: World) -> list[tuple[str, str, int]]:
    entries = world.github.state(world.repository.name, "alerts")["alerts"]
    return [(alert["rule"], alert["path"], alert["line"]) for alert in entries]


def count_uploads_tried(world: World) -> int:
    return sum("/code-scanning/" in exchange["path"] for exchange in world.repository.requests)


def push_fix(world: World, pull: PullRequest) -> None:
    world.push_and_judge(pull, BETTER, accept(RETRY_AT))
    assert pull.check.conclusion == "success"


def test_reject_raises_an_alert_and_fix_closes_it(world: World) -> None:
    world.create_repository(WANTED)
    with grant_permissions(world, OptIn.CODE_SCANNING):
        pull = open_rejected(world)
        [first] = read_uploads(world)
        path, _, line = RETRY_AT.rpartition(":")
        assert read_alerts(world) == [("weak_test", path, int(line))]
        assert (first["commit_sha"], first["ref"]) == (pull.head, f"refs/pull/{pull.number}/head")
        assert (first["tool_name"], first["category"]) == ("Assay", "assay/")

        world.wait_after(pull.press_rerun())
        assert count_uploads_tried(world) == 1

        push_fix(world, pull)
    assert read_alerts(world) == []
    assert [upload["commit_sha"] for upload in read_uploads(world)] == [first["commit_sha"], pull.head]
    assert "SARIF" not in pull.text


@pytest.mark.slow
def test_next_check_run_reports_missing_code_scanning_permission(world: World) -> None:
    world.create_repository(WANTED)
    pull = open_rejected(world)
    assert (read_uploads(world), count_uploads_tried(world)) == ([], 1), "a refused upload is not retried"
    push_fix(world, pull)
    line = "**SARIF was not uploaded** (`sarif: true`): the App lacks the permission *Code scanning alerts: write*"
    assert line in pull.text
    assert count_uploads_tried(world) == 2


@pytest.mark.slow
def test_next_check_run_reports_disabled_code_scanning(world: World) -> None:
    repository = world.create_repository(WANTED)
    world.github.control("scanning", repo=repository.name, enabled=False)
    with grant_permissions(world, OptIn.CODE_SCANNING):
        pull = open_rejected(world)
        output = world.run_assay("doctor", "--repo", repository.name).stdout
        assert "SARIF not uploaded when it was tried last: code scanning is not enabled" in " ".join(output.split())
        world.github.control("scanning", repo=repository.name, enabled=True)
        push_fix(world, pull)
        assert "code scanning is not enabled for this repository" in pull.text
        assert [upload["results"] for upload in read_uploads(world)] == [[]]

        world.push_and_judge(pull, {"notes.md": "Retried thrice.\n"}, accept(RETRY_AT))
    assert "SARIF" not in pull.text


@pytest.mark.slow
def test_failed_upload_is_retried(world: World) -> None:
    repository = world.create_repository(WANTED)
    world.github.fault(rf"POST /repos/{repository.name}/code-scanning/sarifs", kind="status", status=503, count=1)
    world.expected_errors = ("task postponed",)
    with grant_permissions(world, OptIn.CODE_SCANNING):
        open_rejected(world)
    assert (len(read_uploads(world)), count_uploads_tried(world)) == (1, 2)


@pytest.mark.slow
def test_sarif_is_not_uploaded_unless_configured(world: World) -> None:
    world.create_repository(PROJECT)
    with grant_permissions(world, OptIn.CODE_SCANNING):
        open_rejected(world)
    assert (read_uploads(world), count_uploads_tried(world)) == ([], 0)
