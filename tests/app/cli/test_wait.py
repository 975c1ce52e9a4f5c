"""`assay wait`: on the local store, and on a server."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from app.cli import wait as commands_wait
from app.cli.parser import Exit
from tests.app.cli.assay_command import environment, run_command
from tests.app.web.web_server import WebServer
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    KEY,
    NEWER,
    REQUESTED_AT,
    judge_request,
    ledger_entry_of,
    pull_ref,
    start_judging_new,
)
from tests.world.redis import RedisServer
from worker.adapters.redis.encryption_and_tokens import RedisTokens
from worker.adapters.redis.store import Store
from worker.domain.check.overrides import Override
from worker.domain.lifecycle.judging import Finish
from worker.domain.model import InstallationId
from worker.errors import InputError, SettingError, Unavailable

WAIT = """
import sys
from app.cli.main import main
main(["wait", sys.argv[1]])
print("loaded", *sys.modules)
"""


@pytest.fixture
def rejected_head(web_server: WebServer, records: Store) -> Store:
    """A store with one rejected head."""
    assert web_server
    leased_job = start_judging_new(records)
    records.ledger.append(pull_ref(), ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", leased_job.lease.fence))
    records.pulls.finish(leased_job.lease, Finish.JUDGED)
    return records


run_wait = partial(run_command, "wait")


@pytest.mark.usefixtures("rejected_head")
def test_wait_reads_the_local_store_without_a_server() -> None:
    code, text = run_wait(f"acme/widgets@{HEAD}")
    assert (code, text.splitlines()[0]) == (Exit.REJECT, f"acme/widgets@{HEAD[:12]} (#1): rejected, half finished")


def test_wait_loads_neither_web_nor_queue(rejected_head: Store, redis_server: RedisServer, tmp_path: Path) -> None:
    assert rejected_head
    environ = environment(tmp_path, REDIS_URL=redis_server.url, ASSAY_STORE_KEYS=KEY.get_secret_value())
    command = [sys.executable, "-c", WAIT, f"acme/widgets@{HEAD}"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=100)
    text, _, loaded = done.stdout.rpartition("loaded ")
    assert "rejected, half finished" in text
    assert {"litestar", "app.web.server", "uvicorn", "rq", "githubkit", "anthropic"}.isdisjoint(loaded.split())


def test_superseded_head_is_an_abstain(rejected_head: Store) -> None:
    rejected_head.pulls.request_judging(judge_request(head_sha=NEWER))
    code, text = run_wait(f"acme/widgets@{HEAD}", "--json", "--timeout", "0")
    assert (code, json.loads(text)["state"], json.loads(text)["superseded_by"]) == (Exit.ABSTAIN, "superseded", NEWER)


def test_overridden_verdict_shows_no_next_step(rejected_head: Store) -> None:
    rejected_head.decisions.override(pull_ref(), HEAD, Override(login="alice", reason="we ship", at=REQUESTED_AT))
    code, text = run_wait(f"acme/widgets@{HEAD}")
    assert (code, text.splitlines()[0]) == (Exit.ABSTAIN, f"acme/widgets@{HEAD[:12]} (#1): rejected, half finished")
    assert "@alice overrode what is said of this commit: nothing is left to do." in " ".join(text.split())
    assert "Next step" not in text
    status = json.loads(run_wait(f"acme/widgets@{HEAD}", "--json")[1])
    assert (status["state"], status["overridden_by"], status["verdict"]["decision"]) == ("done", "alice", "reject")


def test_pending_head_is_announced_and_abstains_at_the_timeout(
    rejected_head: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    rejected_head.pulls.request_judging(judge_request(head_sha=NEWER))
    code, text = run_wait(f"acme/widgets@{NEWER}", "--timeout", "0.1")
    assert (code, "not judged yet" in text) == (Exit.ABSTAIN, True)
    assert f"acme/widgets@{NEWER[:12]} (#1): not judged yet" in capsys.readouterr().err
    run_wait(f"acme/widgets@{HEAD}", "--timeout", "0.1")
    assert capsys.readouterr().err == "", "what is decided is the answer"


def test_wait_asks_a_server_with_its_token(
    rejected_head: Store, web_server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = RedisTokens(rejected_head.client).create("agent", [InstallationId(100)], datetime(2026, 11, 20, tzinfo=UTC))
    assert token is not None
    monkeypatch.setenv("ASSAY_SERVER", str(web_server.http.base_url))
    with pytest.raises(SettingError, match="ASSAY_TOKEN"):
        run_wait(f"acme/widgets@{HEAD}")
    monkeypatch.setenv("ASSAY_TOKEN", "wrong")
    with pytest.raises(InputError, match=r"The server refuses \(401\): Authorization: expected Bearer"):
        run_wait(f"acme/widgets@{HEAD}")
    monkeypatch.setenv("ASSAY_TOKEN", token)
    assert run_wait(f"acme/widgets@{HEAD}")[0] == Exit.REJECT


@pytest.mark.usefixtures("rejected_head")
def test_unreachable_server_is_unavailable_at_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands_wait, "POLL_PAUSE_S", 0.05)
    monkeypatch.setenv("ASSAY_SERVER", "http://127.0.0.1:9")
    monkeypatch.setenv("ASSAY_TOKEN", "any")
    with pytest.raises(Unavailable, match="does not answer"):
        run_wait(f"acme/widgets@{HEAD}", "--timeout", "0.2")


@pytest.mark.parametrize("commit", ["acme/widgets", "acme/widgets@abc", "widgets@" + HEAD, f"acme/widgets@{HEAD}x"])
def test_commit_needs_a_repository_and_a_full_sha(commit: str) -> None:
    with pytest.raises(InputError, match="expected OWNER/REPO@SHA"):
        run_wait(commit)


@pytest.mark.parametrize("timeout", ["-1", "soon", "86401", "1e3"])
def test_timeout_is_a_number_of_seconds(timeout: str) -> None:
    with pytest.raises(SystemExit):
        run_wait(f"acme/widgets@{HEAD}", "--timeout", timeout)
