"""What stays on record of a verdict: it can be looked at, made again, given away and forgotten."""

import json
import re
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from redis import Redis

from tests.conversations.conftest import OpenWorld
from tests.world.changes import ISSUE, RETRY, RETRY_AT
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

pytestmark = pytest.mark.slow  # each command is a process of its own

TOKEN = "ghp_" + "a1B2" * 9
CANARY = "canary_in_the_source_5d1e"
CLOCK = re.compile(r"\d\d:\d\d:\d\d")


def judged(world: World, **files: str) -> PullRequest:
    issue = world.alice.write_issue(ISSUE[0], f"{ISSUE[1]}\nThe server's token is {TOKEN}.\n")
    body = " ".join([f"Closes #{issue.number}", *(f"and needs `{path}`." for path in files)])
    return world.open_and_judge(files={**RETRY, **files}, body=body)


def assay(world: World, *arguments: str) -> CompletedProcess[str]:
    return run_assay(world.product.environment, *arguments)


def told(world: World, *arguments: str) -> Any:
    done = assay(world, *arguments, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_every_stage_of_a_judging_with_a_correction_is_on_record(world: World) -> None:
    world.model.reply_with(accept("upload.py:4000")).reply_with(accept(RETRY_AT, concern=f"It uses {TOKEN}."))
    eval_id = judged(world).verdict["eval_id"]
    record = told(world, "show", eval_id)

    stages = [step["stage"] for step in record["audit"]["steps"]]
    assert stages == [
        "law", "validators", "code checks", "route", "question", "reply", "correction", "reply", "evidence", "vetoes",
        "ruling", "verdict",
    ]  # fmt: skip
    first, second = record["audit"]["exchanges"]
    sent = world.model.requests[0].body["messages"][0]["content"]
    assert first["turns"][0] in (sent, sent[0]["text"] if isinstance(sent, list) else ""), "as it was sent"
    assert "4000" in first["problems"][0]
    assert second["reply"]["tokens"]["input"] == 812
    assert second["reply"]["request_id"]

    shown = assay(world, "show", eval_id)
    assert shown.returncode == 0
    for said in (
        "Question to claude-haiku-5-5 (",
        "Correction to claude-haiku-5-5 (",
        "Reply (",
        "upload.py:5: found",
        "github token at issues",
    ):
        assert said in shown.stdout
    assert TOKEN not in shown.stdout + json.dumps(record)


def test_a_replay_makes_the_same_decision_of_the_recorded_replies_and_asks_nobody(world: World) -> None:
    world.model.reply_with("I think it is fine.").reply_with(reject("weak_test", RETRY_AT))
    pull = judged(world)
    asked, checks = len(world.model.requests), world.repository.checks
    replayed = told(world, "replay", pull.verdict["eval_id"])

    assert (replayed["is_same"], replayed["parted"]) == (True, None)
    assert replayed["again"]["category"] == "weak_test"
    assert (len(world.model.requests), world.repository.checks) == (asked, checks)


def test_an_outage_is_replayed_as_one(world: World) -> None:
    world.model.fail_from_now_on(529)
    replayed = told(world, "replay", judged(world).verdict["eval_id"])

    assert replayed["is_same"]
    assert replayed["again"]["abstain_reason"] == "judge_unavailable"


def test_a_judging_anew_by_another_model_is_an_entry_of_its_own_and_decides_nothing_here(world: World) -> None:
    world.model.reply_with(accept(RETRY_AT))
    pull = judged(world)
    verdict, checks = pull.verdict, world.repository.checks
    world.model.reply_with(reject("weak_test", RETRY_AT))
    rich = {**world.product.environment, "ASSAY_PR_MAX_USD": "5", "ASSAY_DAY_MAX_USD": "5"}
    anew = json.loads(run_assay(rich, "replay", verdict["eval_id"], "--model", "claude-sonnet-5-5", "--json").stdout)

    assert (anew["parent_eval_id"], anew["decision"], anew["judge_model"]) == (
        verdict["eval_id"], "reject", "claude-sonnet-5-5",
    )  # fmt: skip
    assert world.model.requests[-1].body["model"] == "claude-sonnet-5-5"
    assert world.repository.checks == checks, "nothing is posted"
    assert told(world, "show", verdict["eval_id"])["verdict"]["decision"] == "accept", "the old entry stays"

    world.model.reply_with(reject("weak_test", RETRY_AT))
    assert told(world, "replay", verdict["eval_id"], "--ask")["decision"] == "reject"

    world.agent.push(pull, {}, message="Nothing new")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert pull.verdict["carried_from"] == verdict["eval_id"], "what was judged anew is not carried over"


def test_a_report_holds_no_secret_and_can_be_judged(world: World, tmp_path: Path) -> None:
    world.model.reply_with(accept(RETRY_AT))
    eval_id = judged(world).verdict["eval_id"]
    file = tmp_path / "report.json"
    done = assay(world, "report", eval_id, "--out", str(file))

    assert done.returncode == 0
    assert "github token at issues" in done.stdout
    assert TOKEN not in file.read_text()
    offline = run_assay({"ASSAY_DATA_DIR": str(tmp_path / "state")}, "judge", "--dossier", str(file), "--json")
    assert json.loads(offline.stdout)["abstain_reason"] == "unproven"


def test_nothing_of_a_forgotten_repository_is_left_in_redis(open_world: OpenWorld) -> None:
    world = open_world({})
    world.model.reply_with(accept(RETRY_AT))
    pull = judged(world, **{"mascot.py": f'{CANARY} = "{TOKEN}"\n'})
    name, number = pull.repository.name, pull.repository.id
    eval_id = pull.verdict["eval_id"]
    assert assay(world, "forget", name).returncode == 2
    assert found(world, name), "or this test looks in the wrong place"
    gone = assay(world, "forget", name.upper(), "--yes")

    assert (gone.returncode, gone.stdout.startswith("Forgotten: 1 verdict,")) == (0, True), gone.stdout + gone.stderr
    for said in (name, f":{number}:", CANARY, eval_id, pull.head):
        assert found(world, said) == [], said
    assert assay(world, "show", eval_id).returncode == 2


def found(world: World, said: str) -> list[str]:
    """The keys whose name or content holds *said*, times left out: `22:17:34` is not the repository 17."""
    with Redis(unix_socket_path=str(world.redis.socket)) as client:
        whole = {key: CLOCK.sub("", repr((key, content_of(client, key)))) for key in every(client)}
    return [repr(key) for key, content in whole.items() if said in content]


def every(client: Any) -> list[bytes]:
    return list(client.scan_iter())


def content_of(client: Any, key: bytes) -> object:
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
