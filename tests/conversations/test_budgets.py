"""Caps, pauses and forks of strangers: facts still count, and no model is called."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conversations.conftest import OpenWorld
from tests.worker.judge.samples import dossier
from tests.world.changes import FOR_EVERYONE, ISSUE, ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT, STUB
from tests.world.people import Proposal
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept
from tests.world.world import World


def solved(world: World, branch: str) -> PullRequest:
    return world.open_and_judge(branch=branch)


@pytest.mark.slow
def test_facts_and_safe_changes_still_count_after_the_daily_cap(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_TIER": "llm", "ASSAY_DAY_MAX_USD": "0.0100", "ASSAY_PR_MAX_USD": "1"})
    issue = world.alice.write_issue(*ISSUE)
    world.model.reply_with(accept(RETRY_AT), input_tokens=90_000)
    first = solved(world, "first")

    assert first.check.conclusion == "success"
    assert "The budget of today is almost used up: &#36;0.009" in first.text
    assert len([line for line in world.product.log.lines if "budget is almost used up" in line.text]) == 1

    second = solved(world, "second")

    assert second.check == ("completed", "action_required", "Not judged: today's budget is used up")
    assert (second.verdict["abstain_reason"], second.verdict["throttled_reason"]) == ("budget", "daily_cap")
    assert (second.verdict["judge_kind"], second.verdict["judge_cost_usd"]) == ("heuristic", "0")
    assert "after midnight UTC" in second.text
    assert not world.alice.merge(second).is_merged

    stub = world.agent.open_pull_request(STUB, body=f"Closes #{issue.number}", branch="stub")
    proposal: Proposal = {"title": "Document how uploads work", "body": "Adds a sentence.", "branch": "words"}
    documentation = world.open_and_judge(files=ONLY_DOCUMENTATION, **proposal)

    assert (stub.check.conclusion, stub.verdict["category"]) == ("failure", "half_finished")
    assert documentation.check.conclusion == "success"
    assert {pull.verdict["throttled_reason"] for pull in (stub, documentation)} == {"daily_cap"}
    assert len(world.model.requests) == 1


def test_fork_of_a_stranger_costs_nothing_until_a_writer_asks(world: World) -> None:
    pull = world.wait_after(world.mallory.open_from_fork(RETRY))
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "unproven")
    assert (pull.verdict["judge_cost_usd"], pull.verdict["signals"]["escalation_skipped"]) == ("0", "outsider")
    assert "its author has no write access here" in pull.text

    stub = world.wait_after(world.mallory.open_from_fork(STUB, branch="stub"))
    assert (stub.check.conclusion, stub.verdict["category"]) == ("failure", "half_finished")
    world.comment_and_wait(pull, "/rejudge", by=world.mallory)
    assert world.model.requests == []

    world.comment_and_wait(pull, "/rejudge", accept(RETRY_AT))
    assert pull.check.conclusion == "success"
    world.push_and_judge(pull, {"note.md": "Retried.\n"}, accept(RETRY_AT), by=world.mallory)
    assert pull.check.conclusion == "success", "the author stays trusted"
    assert len(world.model.requests) == 2

    world.repository.push("main", FOR_EVERYONE)
    world.model.reply_with(accept(RETRY_AT))
    free = world.wait_after(world.mallory.open_from_fork({**RETRY, "free.md": "Free.\n"}, branch="free"))
    assert free.check.conclusion == "success"


@pytest.mark.slow
def test_fork_of_a_writer_is_judged(world: World) -> None:
    world.model.reply_with(accept(RETRY_AT))
    pull = world.wait_after(world.bob.open_from_fork(RETRY))
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_paused_repository_is_judged_when_resumed(world: World) -> None:
    repository = world.create_repository(PROJECT)
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(files=ONLY_DOCUMENTATION, title="Document uploads", branch="words")
    why = ("--until", "2h", "--reason", "load tests", "--by", "alice")
    paused = world.run_assay("pause", repository.name, *why)
    assert (paused.returncode, paused.stdout.split(":")[0]) == (0, f"Judging is paused in {repository.name}")
    pull = world.open_and_judge(files=STUB, body=f"Closes #{issue.number}")

    assert pull.check[:2] == ("completed", "neutral")
    assert pull.check.title.startswith("Not judged: judging is paused until 20")
    assert "Judging is paused in this repository by alice until 20" in pull.text
    assert "Reason: load tests." in pull.text
    assert (pull.verdict["abstain_reason"], pull.verdict["findings"]) == ("paused", [])
    running = repository.start_ci(pull.head, "test")
    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    assert pull.check.title.startswith("Not judged: judging is paused"), "a pause does not wait for CI"
    running.complete("success")

    resumed = world.run_assay("resume", repository.name)
    assert (resumed.returncode, resumed.stdout.split(":")[0]) == (0, f"Judging goes on in {repository.name}")
    world.wait_until(lambda: pull.check.conclusion == "failure")

    assert pull.verdict["category"] == "half_finished"


LAPTOP: dict[str, tuple[dict[str, str], tuple[str, str | None], str]] = {
    "a cap": ({"ASSAY_PR_MAX_USD": "0.0001"}, ("budget", "pr_cap"), "The operator raises ASSAY_PR_MAX_USD"),
    "an unknown price": (
        {"ASSAY_MODEL": "claude-nine"},
        ("judge_unavailable", None),
        'the price of "claude-nine" is not known',
    ),
    "a pause": ({"ASSAY_PAUSED": "1"}, ("paused", None), "once ASSAY_PAUSED is 0 again"),
}


@pytest.mark.parametrize("obstacle", LAPTOP)
@pytest.mark.slow
def test_caps_hold_for_local_judging_too(world: World, tmp_path: Path, obstacle: str) -> None:
    changes, expected, expected_text = LAPTOP[obstacle]
    recorded = tmp_path / "dossier.json"
    recorded.write_text(dossier().model_dump_json(exclude_unset=True), encoding="utf-8")
    settings = build_local_settings(world, tmp_path) | changes
    verdict = run_abstain(settings, "judge", "--dossier", str(recorded), "--tier", "llm")

    assert (verdict["abstain_reason"], verdict["throttled_reason"]) == expected
    assert expected_text in f"{verdict['concern']} {verdict['next_step']}"
    replayed = run_abstain(settings, "replay", verdict["eval_id"], "--ask")
    assert (replayed["abstain_reason"], replayed["throttled_reason"]) == expected
    assert world.model.requests == []


def run_abstain(settings: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    done = run_assay(settings, *arguments, "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


def build_local_settings(world: World, folder: Path) -> dict[str, str]:
    shared = {"REDIS_URL", "ASSAY_STORE_KEYS"}
    settings = {name: value for name, value in world.product.environment.items() if name not in shared}
    return {**settings, "ASSAY_DATA_DIR": str(folder / "data")}
