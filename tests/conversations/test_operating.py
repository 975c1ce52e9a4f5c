"""Operating Assay: stopped, doubled, of two versions at once, restored from a backup, paused for a while, and looked into.

All of it is slow: it starts and stops real processes.
"""

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
from tests.world.product import STORE_KEY, Process, run_assay
from tests.world.pull_requests import PullRequest
from tests.world.redis import RedisServer
from tests.world.replies import accept
from tests.world.world import World

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SHORT = {"ASSAY_LEASE": "600", "ASSAY_HOLD": "600", "ASSAY_SWEEP": "0.3"}
"""What a judge held when it was told to stop is not to wait for this."""


def stub(number: int) -> dict[str, str]:
    """The same mistake in a commit of its own: equal files of one second are one commit, on however many branches."""
    return {**STUB, "NOTES.md": f"# Note {number}\n"}


def listens(url: str) -> bool:
    try:
        httpx.get(f"{url}/livez")
    except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError):  # the last two: it waited to be taken in
        return False
    return True


def lines_about(world: World, delivery: str) -> list[tuple[str, dict[str, Any]]]:
    found = [(line.source, dict(line.fields)) for line in world.product.log.lines]
    return [(source, fields) for source, fields in found if delivery in str(fields.get("delivery_id"))]


@pytest.mark.parametrize("grace_s", ["0", "30"], ids=["handed back", "finished"])
def test_a_worker_told_to_stop_while_the_model_thinks_leaves_no_check_open(open_world: OpenWorld, grace_s: str) -> None:
    world = open_world(SHORT | {"ASSAY_STOP_GRACE": grace_s})
    thought, pull = world.open_and_hold_model(accept(RETRY_AT))
    world.model.reply_by(lambda _: accept(RETRY_AT))
    [work] = [one for one in world.product.processes if one.command == "work"]
    work.popen.send_signal(signal.SIGTERM)
    if grace_s == "30":
        thought.release()
    work.popen.wait(20)
    assert work.stop() == 0
    world.product.processes.remove(work)
    if grace_s == "30":
        assert pull.check.conclusion == "success", "it finished what it had begun"
    world.product.start("work")
    world.wait_until_idle()
    thought.release()

    assert [one.conclusion for one in pull.checks_of(pull.head)] == ["success"]


def test_a_door_told_to_stop_still_takes_what_is_half_way_in_and_ends(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    world.create_repository(PROJECT)
    [door] = [one for one in world.product.processes if one.command == "serve"]
    body = json.dumps({"zen": "x" * 50_000}).encode()
    head = {"Content-Type": "application/json", "X-GitHub-Event": "ping", "X-GitHub-Delivery": "guid-1"}
    signed = head | {"X-Hub-Signature-256": world.webhook_sender.signature(body), "Content-Length": str(len(body))}
    there = http.client.HTTPConnection(world.product.url.removeprefix("http://"), timeout=10)
    there.putrequest("POST", "/github/webhooks")
    for name, value in signed.items():
        there.putheader(name, value)
    there.endheaders(body[:20_000])
    world.wait_until(lambda: httpx.get(f"{world.product.url}/livez").is_success, "it has read that")
    door.popen.send_signal(signal.SIGTERM)
    world.wait_until(lambda: not listens(world.product.url), "it takes nothing new")
    there.send(body[20_000:])
    assert there.getresponse().status == 202
    there.close()
    door.popen.wait(5)
    assert door.stop() == 0
    world.product.processes.remove(door)
    world.start_processes("serve")
    pull = world.open_and_judge(files=STUB)

    assert pull.check.conclusion == "failure"


def test_several_doors_and_workers_share_one_redis_and_each_head_has_one_verdict(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_WORKERS": "2"}, ["serve", "serve", "work", "work"])
    world.create_repository(PROJECT)
    world.wait_until(lambda: all(one.url for one in world.product.processes[:2]), "both doors listen")
    doors = [f"{one.url}/github/webhooks" for one in world.product.processes[:2]]
    pulls: list[PullRequest] = []
    for number in range(6):
        world.github.control("hooks", url=doors[number % 2], copies=2)
        pulls.append(world.agent.open_pull_request(stub(number), branch=f"stub-{number}"))
        world.github.settle()
    world.wait_until_idle()

    assert [[one.conclusion for one in pull.checks_of(pull.head)] for pull in pulls] == [["failure"]] * 6


@pytest.fixture
def version_before(tmp_path: Path) -> Path:
    """The code of the newest commit but the one that is checked out."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("there is no history here to take the version before from")
    found = [git, "-C", str(ROOT), "log", "-2", "--format=%H", "--", "app", "worker"]
    commits = subprocess.run(found, capture_output=True, text=True, check=True).stdout.split()
    changed = [git, "-C", str(ROOT), "status", "--porcelain", "--", "app", "worker"]
    is_clean = not subprocess.run(changed, capture_output=True, text=True, check=True).stdout
    before = commits[-1] if is_clean else commits[0]
    packed = subprocess.run([git, "-C", str(ROOT), "archive", before], capture_output=True, check=True).stdout
    folder = tmp_path / "before"
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    if (folder / "uv.lock").read_text() != (ROOT / "uv.lock").read_text():  # its code needs its own libraries
        uv = [str(Path(sys.executable).with_name("uv")), "sync", "--quiet", "--frozen", "--no-default-groups"]
        environ = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(folder / ".venv")}  # noqa: TID251 - a child's
        environ.pop("VIRTUAL_ENV", None)
        subprocess.run([*uv, "--python", sys.executable], cwd=folder, env=environ, check=True)
    return folder


def start(world: World, command: str, code: Path) -> Process:
    """The same command of another version."""
    environment = {**world.product.environment, "PYTHONPATH": str(code), "PYTHONSAFEPATH": "1"}
    own = code / ".venv" / "bin" / "python"
    program = (str(own) if own.exists() else sys.executable, "-m", "app.cli.main")
    process = Process.start(command, environment, world.product.log, program)
    world.product.processes.append(process)
    return process


def test_the_version_before_and_this_one_work_side_by_side_and_back_again(
    open_world: OpenWorld, version_before: Path
) -> None:
    world = open_world({"ASSAY_LEASE": "2", "ASSAY_HOLD": "2"})
    world.create_repository(PROJECT)
    start(world, "work", version_before)
    pulls = [world.agent.open_pull_request(stub(number), branch=f"stub-{number}") for number in range(4)]
    world.wait_until_idle()
    # Back again to the version before, the web process first: it may not know an inbox that the newer one fills.
    world.product.kill("serve")
    start(world, "serve", version_before)
    world.product.wait_until_ready()
    world.github.control("hooks", url=world.product.webhook_url)
    world.product.kill("work")
    start(world, "work", version_before)
    pulls.append(world.agent.open_pull_request(stub(4), branch="back"))
    world.comment_and_wait(pulls[0], "/rejudge", by=world.alice)
    world.product.kill("work")
    world.product.start("work")
    world.comment_and_wait(pulls[-1], "/rejudge", by=world.alice)

    assert [[one.conclusion for one in pull.checks_of(pull.head)] for pull in pulls] == [["failure"]] * 5


def test_a_backup_that_is_restored_remembers_verdicts_and_judges_what_was_due(open_world: OpenWorld) -> None:
    world = open_world(SHORT)
    repository = world.create_repository(PROJECT)
    known = world.open_and_judge(files=stub(1), branch="known")
    world.product.kill("work")
    due = world.agent.open_pull_request(stub(2), branch="due")
    world.github.settle()
    eval_id = known.verdict["eval_id"]

    backup = saved(world.redis)
    world.product.stop()
    world.redis.kill()
    world.redis.restore(backup)
    shown = run_assay(world.product.environment, "show", eval_id)
    assert (shown.returncode, repository.name in shown.stdout) == (0, True), shown.stderr
    world.start_processes("serve", "work")
    world.wait_until_idle()

    assert [one.conclusion for one in due.checks_of(due.head)] == ["failure"]
    assert [one.conclusion for one in known.checks_of(known.head)] == ["failure"]


def test_a_check_that_was_opened_again_after_the_backup_does_not_stay_open(open_world: OpenWorld) -> None:
    world = open_world(SHORT | {"ASSAY_CATCH_UP": "0.5"})
    pull = world.open_and_judge(accept(RETRY_AT))
    verdict = pull.verdict["eval_id"]
    backup = saved(world.redis)
    thought = world.model.hold_reply(accept(RETRY_AT))
    world.bob.comment(pull, "/rejudge force")
    thought.wait_for_request()
    assert pull.check.status == "in_progress"

    comes_back_from(world, backup)
    world.wait_until(lambda: pull.check.status == "completed", "the check that nobody knew of any more ends")
    thought.release()

    assert (pull.check.conclusion, pull.verdict["eval_id"]) == ("success", verdict), "it says what is on record"
    assert len(pull.checks_of(pull.head)) == 1


def comes_back_from(world: World, backup: bytes) -> None:
    """Redis dies with all that it was told since, and everybody with it. What GitHub tells on the way there was heard."""
    world.github.settle()
    for command in ("serve", "work"):
        world.product.kill(command)
    world.redis.kill()
    world.redis.restore(backup)
    world.start_processes("serve", "work")


def saved(redis: RedisServer) -> bytes:
    """As docs/operating.md says: BGSAVE, and a copy of the file that it made."""
    client: Any
    with redis.client as client:
        client.bgsave()
        assert wait_until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])
        assert client.info("persistence")["rdb_last_bgsave_status"] == "ok"
    return (redis.folder / "dump.rdb").read_bytes()


def test_a_pause_ends_by_itself_and_all_that_it_left_is_judged_then(open_world: OpenWorld) -> None:
    world = open_world({})
    first = world.open_and_judge(files=stub(9), branch="first")
    until = datetime.now(UTC) + timedelta(seconds=8)  # noqa: TID251 - a person reads the clock
    said = ("--until", until.isoformat(timespec="milliseconds"), "--reason", "moving the database", "--by", "olga")
    paused = run_assay(world.product.environment, "pause", *said)
    assert (paused.returncode, paused.stdout.partition(":")[0]) == (0, "Judging is paused everywhere")
    listed = run_assay(world.product.environment, "pause", "--list")
    assert "by olga: moving the database" in listed.stdout
    left = [world.agent.open_pull_request(stub(number), branch=f"left-{number}") for number in range(2)]
    world.wait_until_idle()

    assert {one.check.conclusion for one in left} == {"neutral"}
    assert {one.verdict["signals"]["paused_name"] for one in left} == {"olga"}
    world.wait_until(lambda: {one.check.conclusion for one in left} == {"failure"}, "the pause ended by itself")
    world.wait_until_idle()
    assert first.check.conclusion == "failure"
    assert "nowhere" in run_assay(world.product.environment, "pause", "--list").stdout


def test_a_repository_is_paused_before_anything_of_it_was_heard(world: World) -> None:
    name = world.create_repository(PROJECT).name
    paused = run_assay(world.product.environment, "pause", name, "--reason", "not yet", "--by", "olga")
    assert (paused.returncode, paused.stdout.partition(":")[0]) == (0, f"Judging is paused in {name}")
    first = world.open_and_judge(files=stub(1))

    assert first.check.conclusion == "neutral"
    assert first.verdict["signals"]["paused_name"] == "olga"
    assert run_assay(world.product.environment, "resume", name).returncode == 0
    world.wait_until(lambda: first.check.conclusion == "failure", "it goes on")
    strange = run_assay(world.product.environment, "pause", "acme/nowhere")
    why = "acme/nowhere is not known here, and GitHub says that the App is not installed in it. Check the name.\n"
    assert (strange.returncode, strange.stdout) == (2, why)


def test_one_id_leads_from_the_delivery_through_every_process_to_the_check(open_world: OpenWorld) -> None:
    world = open_world({})
    pull = world.open_and_judge(accept(RETRY_AT))
    found = re.search(r"Delivery `([0-9a-f-]{36})`", pull.text)
    assert found, pull.text
    told = lines_about(world, found[1])
    assert {source for source, _ in told} == {"serve", "work"}
    events = [fields["event"] for _, fields in told]
    assert events[0] == "delivery"
    for event in ("judging dispatched", "judging started", "judging ended"):
        assert event in events, event
    heads = {fields.get("head_sha") for source, fields in told if source == "work"}
    assert heads == {pull.head}


def test_figures_are_told_at_their_own_address_only(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_METRICS_ADDRESS": "127.0.0.1:0"})
    pull = world.open_and_judge(files=STUB)
    assert pull.check.conclusion == "failure"
    assert httpx.get(f"{world.product.url}/metrics").status_code == 404
    [url] = [line.fields["url"] for line in world.product.log.lines if line.fields.get("event") == "metrics"]
    text = httpx.get(url).text
    told = {
        line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")
    }
    assert told['assay_verdicts_total{decision="reject",reason="half_finished"}'] == 1
    assert (told["assay_first_check_seconds_count"], told["assay_verdict_seconds_count"]) == (1, 1)
    assert (told["assay_queue_due"], told["assay_dispatcher_leads"], told["assay_store_up"]) == (0, 1, 1)
    assert world.repository.name not in text


NEW_KEY = "bm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkwMTIzNDU2Nzg="


def starts_again_with(world: World, store_keys: str) -> Mapping[str, str]:
    """The operator sets the keys and starts everything again. What the door says of itself then."""
    world.product.stop()
    world.product.environment = {**world.product.environment, "ASSAY_STORE_KEYS": store_keys}
    world.start_processes("serve", "work")
    return httpx.get(f"{world.product.url}/readyz").json()


def test_with_the_wrong_key_each_check_says_what_can_not_be_read_until_the_key_is_back(
    open_world: OpenWorld,
) -> None:
    world = open_world({"ASSAY_SWEEP": "0.3"})
    pull = world.open_and_judge(files=STUB, branch="known")
    assert pull.check.conclusion == "failure"

    assert "lacks a key" in starts_again_with(world, NEW_KEY)["problem"]
    assert "lacks a key" in " ".join(run_assay(world.product.environment, "doctor").stdout.split())
    world.agent.push(pull, {"NOTES.md": "# Another try\n"})
    other = world.open_and_judge(files={**STUB, "NOTES.md": "# Of its own\n"}, branch="new")

    assert pull.check.conclusion == "action_required"
    assert "is encrypted with a key that" in pull.text
    assert other.check.conclusion == "failure", "a token is asked for again, and nothing else is needed of old"

    assert starts_again_with(world, f"{NEW_KEY} {STORE_KEY}") == {"status": "ready"}
    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    assert pull.check.conclusion == "failure"
