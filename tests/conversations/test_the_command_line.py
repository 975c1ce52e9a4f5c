"""`assay judge` on a pull request of GitHub: the same verdict, printed and not posted."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.conversations.conftest import mark_slow
from tests.world.changes import ISSUE, PROJECT, RETRY_AT, STUB
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World

DECIDED = ("decision", "category", "abstain_reason", "criteria", "scores", "score", "findings", "fingerprint")
"""The fields that must not depend on where a dossier comes from."""


def settings(world: World, folder: Path, **more: str) -> dict[str, str]:
    return {
        "ASSAY_GITHUB_API_URL": world.github.url,
        "ANTHROPIC_BASE_URL": world.model.url,
        "ANTHROPIC_API_KEY": "sk-ant-bench",
        "ASSAY_DATA_DIR": str(folder / "state"),
        **more,
    }


def decided(verdict: Any) -> dict[str, Any]:
    return {name: verdict[name] for name in DECIDED}


def name(pull: PullRequest) -> str:
    return f"{pull.repository.name}#{pull.number}"


def printed(ended: CompletedProcess[str]) -> Any:
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
def test_live_command_line_and_recorded_dossier_decide_alike(world: World, tmp_path: Path) -> None:
    issue = world.alice.write_issue(*ISSUE)
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(body=f"Closes #{issue.number}", ci={"tests": "success"})
    checks = world.repository.checks
    told = settings(world, tmp_path, GITHUB_TOKEN="bench-alice")
    saved = str(tmp_path / "dossier.json")

    fetched = run_assay(told, "judge", name(pull), "--json", "--save-dossier", saved)
    recorded = run_assay(told, "judge", "--dossier", saved, "--json")

    assert (fetched.returncode, recorded.returncode) == (0, 0)
    assert decided(printed(fetched)) == decided(printed(recorded))
    assert {**decided(pull.verdict), "fingerprint": 0} == {**decided(printed(fetched)), "fingerprint": 0}
    assert world.repository.checks == checks, "nothing is posted"


@pytest.mark.slow
def test_without_a_token_a_public_pull_request_takes_few_requests(world: World, tmp_path: Path) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(files=STUB)
    ended = run_assay(settings(world, tmp_path), "judge", name(pull))

    assert ended.returncode == 1, ended.stderr
    assert "upload.py:" in ended.stdout
    paths = [one["path"] for one in world.github.requests(here.name, "anonymous")]
    texts = [path for path in paths if "/contents/" in path]
    assert len(paths) - len(texts) <= 6
    assert len(texts) <= 20


@pytest.mark.parametrize("target", [*mark_slow("acme/nothing-here#1", "acme#1"), "acme/widgets"])
def test_a_pull_request_that_is_not_there_is_the_callers_mistake(world: World, tmp_path: Path, target: str) -> None:
    ended = run_assay(settings(world, tmp_path, GITHUB_TOKEN="bench-alice"), "judge", target)

    assert ended.returncode == 2
    assert ended.stderr.startswith("assay: ") or "usage" in ended.stderr
    assert "Traceback" not in ended.stderr
