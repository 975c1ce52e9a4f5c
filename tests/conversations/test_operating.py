"""Operating Assay with real processes: stops, several servers and versions, backups, pauses, logs and metrics."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conversations.conftest import OpenWorld
from tests.worker.adapters.redis.store_samples import wait_until
from tests.world.changes import PROJECT, RETRY_AT, STUB
from tests.world.product import STORE_KEY, Process
from tests.world.pull_requests import PullRequest
from tests.world.redis import RedisServer
from tests.world.replies import accept
from tests.world.world import World

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SHORT = {"ASSAY_LEASE": "600", "ASSAY_HOLD": "600", "ASSAY_SWEEP": "0.3"}
"""Leases that a test must not wait for."""


def build_stub(number: int) -> dict[str, str]:
    """A stub in a distinct commit."""
    return {**STUB, "NOTES.md": f"# Note {number}\n"}


def is_listening(url: str) -> bool:
    try:
        httpx.get(f"{url}/livez")
    except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError):
        return False
    return True


def assert_stops(world: World, process: Process, seconds: float) -> None:
    process.popen.wait(seconds)
    assert process.stop() == 0
    world.product.processes.remove(process)


def find_log_lines(world: World, delivery: str) -> list[tuple[str, dict[str, Any]]]:
    lines = [(line.source, dict(line.fields)) for line in world.product.log.lines]
    return [(source, fields) for source, fields in lines if delivery in str(fields.get("delivery_id"))]


@pytest.mark.parametrize("grace_s", ["0", "30"], ids=["lease released", "judging finished"])
def test_stopped_worker_leaves_no_check_run_open(open_world: OpenWorld, grace_s: str) -> None:
    world = open_world(SHORT | {"ASSAY_STOP_GRACE": grace_s})
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    [work] = [process for process in world.product.processes if process.command == "work"]
    work.popen.send_signal(signal.SIGTERM)
    if grace_s == "30":
        held_reply.release()
    assert_stops(world, work, 20)
    if grace_s == "30":
        assert pull.check.conclusion == "success"
    world.wait_after(world.product.start("work"))
    held_reply.release()

    assert pull.conclusions == ["success"]


def test_stopped_web_server_completes_a_half_sent_request(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.create_repository(PROJECT)
    [web_server] = [process for process in world.product.processes if process.command == "serve"]
    body = json.dumps({"zen": "x" * 50_000}).encode()
    head = {"Content-Type": "application/json", "X-GitHub-Event": "ping", "X-GitHub-Delivery": "guid-1"}
    signed = head | {"X-Hub-Signature-256": world.webhook_sender.signature(body), "Content-Length": str(len(body))}
    connection = http.client.HTTPConnection(world.product.url.removeprefix("http://"), timeout=10)
    connection.putrequest("POST", "/github/webhooks")
    for name, value in signed.items():
        connection.putheader(name, value)
    connection.endheaders(body[:20_000])
    world.wait_until(lambda: httpx.get(f"{world.product.url}/livez").is_success, "the sent part is read")
    web_server.popen.send_signal(signal.SIGTERM)
    world.wait_until(lambda: not is_listening(world.product.url), "it stops listening")
    connection.send(body[20_000:])
    assert connection.getresponse().status == 202
    connection.close()
    assert_stops(world, web_server, 5)
    world.start_processes("serve")
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"


def test_several_web_servers_and_workers_give_one_verdict_per_head(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_WORKERS": "2"}, ["serve", "serve", "work", "work"])
    world.create_repository(PROJECT)
    world.wait_until(lambda: all(process.url for process in world.product.processes[:2]), "both web servers listen")
    urls = [f"{process.url}/github/webhooks" for process in world.product.processes[:2]]
    pulls: list[PullRequest] = []
    for number in range(6):
        world.github.control("hooks", url=urls[number % 2], copies=2)
        pulls.append(world.agent.open_pull_request(build_stub(number), branch=f"stub-{number}"))
        world.github.settle()
    world.wait_until_idle()

    assert [pull.conclusions for pull in pulls] == [["failure"]] * 6


@pytest.fixture
def previous_version(tmp_path: Path) -> Path:
    """The product's code before the newest commit or change."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("no history with a previous version")
    log_command = [git, "-C", str(ROOT), "log", "-2", "--format=%H", "--", "app", "worker"]
    commits = subprocess.run(log_command, capture_output=True, text=True, check=True).stdout.split()
    status_command = [git, "-C", str(ROOT), "status", "--porcelain", "--", "app", "worker"]
    is_clean = not subprocess.run(status_command, capture_output=True, text=True, check=True).stdout
    before = commits[-1] if is_clean else commits[0]
    packed = subprocess.run([git, "-C", str(ROOT), "archive", before], capture_output=True, check=True).stdout
    folder = tmp_path / "before"
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    if (folder / "uv.lock").read_text() != (ROOT / "uv.lock").read_text():  # needs its own packages
        uv = [str(Path(sys.executable).with_name("uv")), "sync", "--quiet", "--frozen", "--no-default-groups"]
        environ = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(folder / ".venv")}  # noqa: TID251 - for a child
        environ.pop("VIRTUAL_ENV", None)
        subprocess.run([*uv, "--python", sys.executable], cwd=folder, env=environ, check=True)
    return folder


def start_version(world: World, command: str, code: Path) -> Process:
    """Start a command of another version."""
    environment = {**world.product.environment, "PYTHONPATH": str(code), "PYTHONSAFEPATH": "1"}
    own = code / ".venv" / "bin" / "python"
    program = (str(own) if own.exists() else sys.executable, "-m", "app.cli.main")
    process = Process.start(command, environment, world.product.log, program)
    world.product.processes.append(process)
    return process


def test_previous_version_works_in_parallel_and_after_rollback(open_world: OpenWorld, previous_version: Path) -> None:
    world = open_world({"ASSAY_LEASE": "2", "ASSAY_HOLD": "2"})
    world.create_repository(PROJECT)
    start_version(world, "work", previous_version)
    pulls = [world.agent.open_pull_request(build_stub(number), branch=f"stub-{number}") for number in range(4)]
    world.wait_until_idle()
    # A rollback begins with the web server, which may not know the newer inbox.
    world.product.kill("serve")
    start_version(world, "serve", previous_version)
    world.product.wait_until_ready()
    world.github.control("hooks", url=world.product.webhook_url)
    world.product.kill("work")
    start_version(world, "work", previous_version)
    pulls.append(world.agent.open_pull_request(build_stub(4), branch="back"))
    world.comment_and_wait(pulls[0], "/rejudge", by=world.alice)
    world.product.kill("work")
    world.product.start("work")
    world.comment_and_wait(pulls[-1], "/rejudge", by=world.alice)

    assert [pull.conclusions for pull in pulls] == [["failure"]] * 5


def test_restored_backup_keeps_verdicts_and_due_jobs(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    judged = world.open_and_judge(files=build_stub(1), branch="known")
    world.product.kill("work")
    due = world.agent.open_pull_request(build_stub(2), branch="due")
    world.github.settle()
    eval_id = judged.verdict["eval_id"]

    backup = save_backup(world.redis)
    world.product.stop()
    world.redis.kill()
    world.redis.restore(backup)
    shown = world.run_assay("show", eval_id)
    assert (shown.returncode, world.repository.name in shown.stdout) == (0, True), shown.stderr
    world.wait_after(world.start_processes("serve", "work"))

    assert due.conclusions == ["failure"]
    assert judged.conclusions == ["failure"]


def test_check_run_reopened_after_the_backup_does_not_stay_open(open_world: OpenWorld) -> None:
    world = open_world(SHORT | {"ASSAY_CATCH_UP": "0.5"})
    pull = world.open_and_judge(accept(RETRY_AT))
    verdict = pull.verdict["eval_id"]
    backup = save_backup(world.redis)
    held_reply = world.model.hold_reply(accept(RETRY_AT))
    world.bob.comment(pull, "/rejudge force")
    held_reply.wait_for_request()
    assert pull.check.status == "in_progress"

    world.github.settle()
    world.product.kill("serve", "work")
    world.redis.kill()
    world.redis.restore(backup)
    world.start_processes("serve", "work")
    world.wait_until(lambda: pull.check.status == "completed")
    held_reply.release()

    assert (pull.check.conclusion, pull.verdict["eval_id"]) == ("success", verdict)
    assert len(pull.checks_of(pull.head)) == 1


def save_backup(redis: RedisServer) -> bytes:
    """Save a backup as docs/operating.md says."""
    client: Any
    with redis.client as client:
        client.bgsave()
        assert wait_until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])
        assert client.info("persistence")["rdb_last_bgsave_status"] == "ok"
    return (redis.folder / "dump.rdb").read_bytes()


def test_paused_pull_requests_are_judged_when_the_pause_expires(open_world: OpenWorld) -> None:
    world = open_world({})
    first = world.open_and_judge(files=build_stub(9), branch="first")
    until = datetime.now(UTC) + timedelta(seconds=8)  # noqa: TID251 - a person's clock
    options = ("--until", until.isoformat(timespec="milliseconds"), "--reason", "moving the database", "--by", "olga")
    paused = world.run_assay("pause", *options)
    assert (paused.returncode, paused.stdout.partition(":")[0]) == (0, "Judging is paused everywhere")
    listed = world.run_assay("pause", "--list")
    assert "by olga: moving the database" in listed.stdout
    left = [world.agent.open_pull_request(build_stub(number), branch=f"left-{number}") for number in range(2)]
    world.wait_until_idle()

    assert {pull.check.conclusion for pull in left} == {"neutral"}
    assert {pull.verdict["signals"]["paused_name"] for pull in left} == {"olga"}
    world.wait_until(lambda: {pull.check.conclusion for pull in left} == {"failure"})
    world.wait_until_idle()
    assert first.check.conclusion == "failure"
    assert "nowhere" in world.run_assay("pause", "--list").stdout


def test_unknown_repository_can_be_paused_if_the_app_is_installed(world: World) -> None:
    name = world.create_repository(PROJECT).name
    paused = world.run_assay("pause", name, "--reason", "not yet", "--by", "olga")
    assert (paused.returncode, paused.stdout.partition(":")[0]) == (0, f"Judging is paused in {name}")
    first = world.open_and_judge(files=build_stub(1))

    assert first.check.conclusion == "neutral"
    assert first.verdict["signals"]["paused_name"] == "olga"
    assert world.run_assay("resume", name).returncode == 0
    world.wait_until(lambda: first.check.conclusion == "failure")
    strange = world.run_assay("pause", "acme/nowhere")
    why = "acme/nowhere is not known here, and GitHub says that the App is not installed in it. Check the name.\n"
    assert (strange.returncode, strange.stdout) == (2, why)


def test_delivery_id_is_logged_by_every_process_and_shown_in_the_check_run(open_world: OpenWorld) -> None:
    world = open_world({})
    pull = world.open_and_judge(accept(RETRY_AT))
    match = re.search(r"Delivery `([0-9a-f-]{36})`", pull.text)
    assert match, pull.text
    lines = find_log_lines(world, match[1])
    assert {source for source, _ in lines} == {"serve", "work"}
    events = [fields["event"] for _, fields in lines]
    assert events[0] == "delivery"
    for event in ("judging dispatched", "judging started", "judging ended"):
        assert event in events, event
    heads = {fields.get("head_sha") for source, fields in lines if source == "work"}
    assert heads == {pull.head}


def test_metrics_are_served_at_their_own_address_only(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_METRICS_ADDRESS": "127.0.0.1:0"})
    pull = world.open_and_judge(files=STUB)
    assert pull.check.conclusion == "failure"
    assert httpx.get(f"{world.product.url}/metrics").status_code == 404
    [url] = [line.fields["url"] for line in world.product.log.lines if line.fields.get("event") == "metrics"]
    text = httpx.get(url).text
    samples = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    metrics = {name: float(value) for name, value in samples}
    assert metrics['assay_verdicts_total{decision="reject",reason="half_finished"}'] == 1
    assert (metrics["assay_first_check_seconds_count"], metrics["assay_verdict_seconds_count"]) == (1, 1)
    assert (metrics["assay_queue_due"], metrics["assay_dispatcher_leads"], metrics["assay_store_up"]) == (0, 1, 1)
    assert world.repository.name not in text


NEW_KEY = "bm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkwMTIzNDU2Nzg="


def restart_with_keys(world: World, store_keys: str) -> Mapping[str, str]:
    """Restart everything with *store_keys*, and return the readiness."""
    world.product.stop()
    world.product.environment = {**world.product.environment, "ASSAY_STORE_KEYS": store_keys}
    world.start_processes("serve", "work")
    return httpx.get(f"{world.product.url}/readyz").json()


def test_check_run_reports_data_encrypted_with_a_missing_key(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_SWEEP": "0.3"})
    pull = world.open_and_judge(files=STUB, branch="known")
    assert pull.check.conclusion == "failure"

    assert "lacks a key" in restart_with_keys(world, NEW_KEY)["problem"]
    assert "lacks a key" in " ".join(world.run_assay("doctor").stdout.split())
    world.agent.push(pull, {"NOTES.md": "# Another try\n"})
    other = world.open_and_judge(files={**STUB, "NOTES.md": "# Of its own\n"}, branch="new")

    assert pull.check.conclusion == "action_required"
    assert "is encrypted with a key that" in pull.text
    assert other.check.conclusion == "failure"

    assert restart_with_keys(world, f"{NEW_KEY} {STORE_KEY}") == {"status": "ready"}
    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    assert pull.check.conclusion == "failure"
