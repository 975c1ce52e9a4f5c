"""`assay judge` on a pull request of GitHub prints the verdict and publishes nothing."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.conversations.conftest import mark_slow
from tests.world.changes import ISSUE, RETRY_AT, STUB
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World

DECIDED = ("decision", "category", "abstain_reason", "criteria", "scores", "score", "findings", "fingerprint")
"""The fields that do not depend on the source of the dossier."""


def build_settings(world: World, folder: Path, **more: str) -> dict[str, str]:
    return {
        "ASSAY_GITHUB_API_URL": world.github.url,
        "ANTHROPIC_BASE_URL": world.model.url,
        "ANTHROPIC_API_KEY": "sk-ant-bench",
        "ASSAY_DATA_DIR": str(folder / "state"),
        **more,
    }


def select_decision(verdict: Any) -> dict[str, Any]:
    return {name: verdict[name] for name in DECIDED}


def format_name(pull: PullRequest) -> str:
    return f"{pull.repository.name}#{pull.number}"


def parse_output(ended: CompletedProcess[str]) -> Any:
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
def test_app_command_line_and_saved_dossier_decide_alike(world: World, tmp_path: Path) -> None:
    issue = world.alice.write_issue(*ISSUE)
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(body=f"Closes #{issue.number}", ci={"tests": "success"})
    checks = world.repository.checks
    environment = build_settings(world, tmp_path, GITHUB_TOKEN="bench-alice")
    saved = str(tmp_path / "dossier.json")

    fetched = run_assay(environment, "judge", format_name(pull), "--json", "--save-dossier", saved)
    recorded = run_assay(environment, "judge", "--dossier", saved, "--json")

    assert (fetched.returncode, recorded.returncode) == (0, 0)
    assert select_decision(parse_output(fetched)) == select_decision(parse_output(recorded))
    assert {**select_decision(pull.verdict), "fingerprint": 0} == {
        **select_decision(parse_output(fetched)),
        "fingerprint": 0,
    }
    assert world.repository.checks == checks, "nothing is published"


@pytest.mark.slow
def test_judging_without_a_token_takes_few_requests(world: World, tmp_path: Path) -> None:
    pull = world.open_and_judge(files=STUB)
    ended = run_assay(build_settings(world, tmp_path), "judge", format_name(pull))

    assert ended.returncode == 1, ended.stderr
    assert "upload.py:" in ended.stdout
    paths = [exchange["path"] for exchange in world.github.requests(world.repository.name, "anonymous")]
    texts = [path for path in paths if "/contents/" in path]
    assert len(paths) - len(texts) <= 6
    assert len(texts) <= 20


@pytest.mark.parametrize("target", [*mark_slow("acme/nothing-here#1", "acme#1"), "acme/widgets"])
def test_unknown_pull_request_is_a_usage_error(world: World, tmp_path: Path, target: str) -> None:
    ended = run_assay(build_settings(world, tmp_path, GITHUB_TOKEN="bench-alice"), "judge", target)

    assert ended.returncode == 2
    assert ended.stderr.startswith("assay: ") or "usage" in ended.stderr
    assert "Traceback" not in ended.stderr
