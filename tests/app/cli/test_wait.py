"""`assay wait`, called as the command line calls it: from the records here, and from a server that runs."""

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
from tests.worker.adapters.redis.store_samples import HEAD, KEY, NEWER, REQUESTED_AT, judge_request, pull_ref
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store
from worker.adapters.redis.tokens import RedisTokens
from worker.domain.check.overrides import Override
from worker.domain.ids import InstallationId
from worker.domain.lifecycle.judging import Finish
from worker.errors import InputError, SettingError, Unavailable

WAIT = """
import sys
from app.cli.main import main
main(["wait", sys.argv[1]])
print("loaded", *sys.modules)
"""


@pytest.fixture
def judged(web_server: WebServer, records: Store) -> Store:
    """One head was rejected; the environment leads to the records."""
    assert web_server
    taken = start_judging_new(records)
    records.ledger.append(pull_ref(), ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", taken.lease.fence))
    records.pulls.finish(taken.lease, Finish.JUDGED)
    return records


wait = partial(run_command, "wait")


@pytest.mark.usefixtures("judged")
def test_the_records_here_are_asked_without_a_server() -> None:
    code, text = wait(f"acme/widgets@{HEAD}")
    assert (code, text.splitlines()[0]) == (Exit.REJECT, f"acme/widgets@{HEAD[:12]} (#1): rejected, half finished")


def test_neither_the_web_nor_a_queue_is_loaded_to_wait(
    judged: Store, redis_server: RedisServer, tmp_path: Path
) -> None:
    assert judged
    environ = environment(tmp_path, REDIS_URL=redis_server.url, ASSAY_STORE_KEYS=KEY.get_secret_value())
    waited = [sys.executable, "-c", WAIT, f"acme/widgets@{HEAD}"]
    done = subprocess.run(waited, env=environ, capture_output=True, text=True, check=True, timeout=100)
    told, _, loaded = done.stdout.rpartition("loaded ")
    assert "rejected, half finished" in told
    assert {"litestar", "app.web.asgi", "uvicorn", "rq", "githubkit", "anthropic"}.isdisjoint(loaded.split())


def test_what_was_replaced_is_no_verdict(judged: Store) -> None:
    judged.pulls.request_judging(judge_request(head_sha=NEWER))
    code, text = wait(f"acme/widgets@{HEAD}", "--json", "--timeout", "0")
    assert (code, json.loads(text)["state"], json.loads(text)["superseded_by"]) == (Exit.ABSTAIN, "superseded", NEWER)


def test_what_a_maintainer_overrode_asks_nothing_of_who_waits(judged: Store) -> None:
    judged.decisions.override(pull_ref(), HEAD, Override(login="alice", reason="we ship", at=REQUESTED_AT))
    code, text = wait(f"acme/widgets@{HEAD}")
    assert (code, text.splitlines()[0]) == (Exit.ABSTAIN, f"acme/widgets@{HEAD[:12]} (#1): rejected, half finished")
    assert "@alice overrode what is said of this commit: nothing is left to do." in " ".join(text.split())
    assert "Next step" not in text
    told = json.loads(wait(f"acme/widgets@{HEAD}", "--json")[1])
    assert (told["state"], told["overridden_by"], told["verdict"]["decision"]) == ("done", "alice", "reject")


def test_what_is_pending_is_said_before_the_wait_and_when_the_time_is_up(
    judged: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.pulls.request_judging(judge_request(head_sha=NEWER))
    code, text = wait(f"acme/widgets@{NEWER}", "--timeout", "0.1")
    assert (code, "not judged yet" in text) == (Exit.ABSTAIN, True)
    assert f"acme/widgets@{NEWER[:12]} (#1): not judged yet" in capsys.readouterr().err
    wait(f"acme/widgets@{HEAD}", "--timeout", "0.1")
    assert capsys.readouterr().err == "", "what is decided is the answer"


def test_a_server_is_asked_with_its_token(
    judged: Store, web_server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RedisTokens(judged.client).create("agent", [InstallationId(100)], datetime(2026, 11, 20, tzinfo=UTC))
    assert made is not None
    monkeypatch.setenv("ASSAY_SERVER", str(web_server.http.base_url))
    with pytest.raises(SettingError, match="ASSAY_TOKEN"):
        wait(f"acme/widgets@{HEAD}")
    monkeypatch.setenv("ASSAY_TOKEN", "wrong")
    with pytest.raises(InputError, match=r"The server refuses \(401\): Authorization: expected Bearer"):
        wait(f"acme/widgets@{HEAD}")
    monkeypatch.setenv("ASSAY_TOKEN", made)
    assert wait(f"acme/widgets@{HEAD}")[0] == Exit.REJECT


@pytest.mark.usefixtures("judged")
def test_a_server_that_is_away_is_said_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands_wait, "POLL_PAUSE_S", 0.05)
    monkeypatch.setenv("ASSAY_SERVER", "http://127.0.0.1:9")
    monkeypatch.setenv("ASSAY_TOKEN", "any")
    with pytest.raises(Unavailable, match="does not answer"):
        wait(f"acme/widgets@{HEAD}", "--timeout", "0.2")


@pytest.mark.parametrize("given", ["acme/widgets", "acme/widgets@abc", "widgets@" + HEAD, f"acme/widgets@{HEAD}x"])
def test_a_commit_has_a_repository_and_forty_characters(given: str) -> None:
    with pytest.raises(InputError, match="expected OWNER/REPO@SHA"):
        wait(given)


@pytest.mark.parametrize("given", ["-1", "soon", "86401", "1e3"])
def test_a_timeout_is_seconds(given: str) -> None:
    with pytest.raises(SystemExit):
        wait(f"acme/widgets@{HEAD}", "--timeout", given)
