"""Recorded verdicts are shown, replayed, reported and forgotten."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.conversations.conftest import OpenWorld
from tests.world.changes import ISSUE, RETRY, RETRY_AT
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

pytestmark = pytest.mark.slow  # each command is a process

TOKEN = "ghp_" + "a1B2" * 9
CANARY = "canary_in_the_source_5d1e"
CLOCK = re.compile(r"\d\d:\d\d:\d\d")


def judge_once(world: World, **files: str) -> PullRequest:
    issue = world.alice.write_issue(ISSUE[0], f"{ISSUE[1]}\nThe server's token is {TOKEN}.\n")
    body = " ".join([f"Closes #{issue.number}", *(f"and needs `{path}`." for path in files)])
    return world.open_and_judge(files={**RETRY, **files}, body=body)


def run_json(world: World, *arguments: str) -> Any:
    done = world.run_assay(*arguments, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_record_holds_every_stage_of_a_judging(world: World) -> None:
    world.model.reply_with(accept("upload.py:4000")).reply_with(accept(RETRY_AT, concern=f"It uses {TOKEN}."))
    eval_id = judge_once(world).verdict["eval_id"]
    record = run_json(world, "show", eval_id)

    stages = [step["stage"] for step in record["audit"]["steps"]]
    assert stages == [
        "law", "validators", "code checks", "route", "question", "reply", "correction", "reply", "evidence", "vetoes",
        "ruling", "verdict",
    ]  # fmt: skip
    first, second = record["audit"]["exchanges"]
    sent = world.model.requests[0].body["messages"][0]["content"]
    assert first["turns"][0] in (sent, sent[0]["text"] if isinstance(sent, list) else "")
    assert "4000" in first["problems"][0]
    assert second["reply"]["tokens"]["input"] == 812
    assert second["reply"]["request_id"]

    shown = world.run_assay("show", eval_id)
    assert shown.returncode == 0
    for expected in (
        "Question to claude-haiku-5-5 (",
        "Correction to claude-haiku-5-5 (",
        "Reply (",
        "upload.py:5: found",
        "github token at issues",
    ):
        assert expected in shown.stdout
    assert TOKEN not in shown.stdout + json.dumps(record)


def test_replay_repeats_the_decision_without_a_model_call(world: World) -> None:
    world.model.reply_with("I think it is fine.").reply_with(reject("weak_test", RETRY_AT))
    pull = judge_once(world)
    asked, checks = len(world.model.requests), world.repository.checks
    replayed = run_json(world, "replay", pull.verdict["eval_id"])

    assert (replayed["is_same"], replayed["parted"]) == (True, None)
    assert replayed["again"]["category"] == "weak_test"
    assert (len(world.model.requests), world.repository.checks) == (asked, checks)


def test_replay_of_an_outage_is_an_outage(world: World) -> None:
    world.model.fail_from_now_on(529)
    replayed = run_json(world, "replay", judge_once(world).verdict["eval_id"])

    assert replayed["is_same"]
    assert replayed["again"]["abstain_reason"] == "judge_unavailable"


def test_replay_with_another_model_is_recorded_and_not_published(world: World) -> None:
    world.model.reply_with(accept(RETRY_AT))
    pull = judge_once(world)
    verdict, checks = pull.verdict, world.repository.checks
    world.model.reply_with(reject("weak_test", RETRY_AT))
    raised_caps = {**world.product.environment, "ASSAY_PR_MAX_USD": "5", "ASSAY_DAY_MAX_USD": "5"}
    model = "claude-sonnet-5-5"
    replayed = json.loads(run_assay(raised_caps, "replay", verdict["eval_id"], "--model", model, "--json").stdout)

    assert (replayed["parent_eval_id"], replayed["decision"]) == (verdict["eval_id"], "reject")
    assert replayed["judge_model"] == world.model.requests[-1].body["model"] == model
    assert world.repository.checks == checks, "nothing is published"
    assert run_json(world, "show", verdict["eval_id"])["verdict"]["decision"] == "accept"

    world.model.reply_with(reject("weak_test", RETRY_AT))
    assert run_json(world, "replay", verdict["eval_id"], "--ask")["decision"] == "reject"

    world.wait_after(world.agent.push(pull, {}, message="Nothing new"))
    assert pull.check.conclusion == "success"
    assert pull.verdict["carried_from"] == verdict["eval_id"], "the replay is not carried over"


def test_report_holds_no_secret_and_can_be_judged(world: World, tmp_path: Path) -> None:
    world.model.reply_with(accept(RETRY_AT))
    eval_id = judge_once(world).verdict["eval_id"]
    file = tmp_path / "report.json"
    done = world.run_assay("report", eval_id, "--out", str(file))

    assert done.returncode == 0
    assert "github token at issues" in done.stdout
    assert TOKEN not in file.read_text()
    offline = run_assay({"ASSAY_DATA_DIR": str(tmp_path / "state")}, "judge", "--dossier", str(file), "--json")
    assert json.loads(offline.stdout)["abstain_reason"] == "unproven"


def test_forgotten_repository_leaves_nothing_in_redis(open_world: OpenWorld) -> None:
    world = open_world({})
    world.model.reply_with(accept(RETRY_AT))
    pull = judge_once(world, **{"mascot.py": f'{CANARY} = "{TOKEN}"\n'})
    name, number = pull.repository.name, pull.repository.id
    eval_id = pull.verdict["eval_id"]
    assert world.run_assay("forget", name).returncode == 2
    assert find_keys(world, name)
    gone = world.run_assay("forget", name.upper(), "--yes")

    assert (gone.returncode, gone.stdout.startswith("Forgotten: 1 verdict,")) == (0, True), gone.stdout + gone.stderr
    for expected in (name, f":{number}:", CANARY, eval_id, pull.head):
        assert find_keys(world, expected) == [], expected
    assert world.run_assay("show", eval_id).returncode == 2


def find_keys(world: World, text: str) -> list[str]:
    """The keys whose name or content holds *text*, times left out."""
    client: Any
    with Redis(unix_socket_path=str(world.redis.socket)) as client:
        whole = {key: CLOCK.sub("", repr((key, read_key(client, key)))) for key in client.scan_iter()}
    return [repr(key) for key, content in whole.items() if text in content]


def read_key(client: Any, key: bytes) -> object:
    match client.type(key):
        case b"string":
            return client.get(key)
        case b"hash":
            return client.hgetall(key)
        case b"set":
            return client.smembers(key)
        case b"zset":
            return client.zrange(key, 0, -1)
        case b"stream":
            return client.xrange(key)
        case kind:
            assert kind == b"list", kind
            return client.lrange(key, 0, -1)
