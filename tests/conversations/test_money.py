"""What happens when the money is used up, or somebody stopped all judging: never a silence, and facts still count."""

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
def test_a_day_that_is_almost_paid_out_is_said_and_at_its_end_facts_and_safe_changes_still_count(
    open_world: OpenWorld,
) -> None:
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
    said: Proposal = {"title": "Document how uploads work", "body": "Adds a sentence.", "branch": "words"}
    words = world.open_and_judge(files=ONLY_DOCUMENTATION, **said)

    assert (stub.check.conclusion, stub.verdict["category"]) == ("failure", "half_finished")
    assert words.check.conclusion == "success"
    assert {one.verdict["throttled_reason"] for one in (stub, words)} == {"daily_cap"}, (
        "both would have been asked about"
    )
    assert len(world.model.requests) == 1


def test_a_strangers_fork_costs_nothing_until_an_account_with_write_access_asks(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.mallory.open_from_fork(RETRY)
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "unproven")
    assert (pull.verdict["judge_cost_usd"], pull.verdict["signals"]["escalation_skipped"]) == ("0", "outsider")
    assert "its author has no write access here" in pull.text

    stub = world.mallory.open_from_fork(STUB, branch="stub")
    world.wait_until_idle()
    assert (stub.check.conclusion, stub.verdict["category"]) == ("failure", "half_finished"), "facts still reject"
    world.comment_and_wait(pull, "/rejudge", by=world.mallory)
    assert world.model.requests == []

    world.comment_and_wait(pull, "/rejudge", accept(RETRY_AT))
    assert pull.check.conclusion == "success"
    world.push_and_judge(pull, {"note.md": "Retried.\n"}, accept(RETRY_AT), by=world.mallory)
    assert pull.check.conclusion == "success", "who was vouched for once is judged from then on"
    assert len(world.model.requests) == 2

    here.github.control("push", repo=here.name, branch="main", files=FOR_EVERYONE)
    world.model.reply_with(accept(RETRY_AT))
    free = world.mallory.open_from_fork({**RETRY, "free.md": "Free.\n"}, branch="free")
    world.wait_until_idle()
    assert free.check.conclusion == "success"


@pytest.mark.slow
def test_a_writers_fork_is_judged_like_their_branch(world: World) -> None:
    world.model.reply_with(accept(RETRY_AT))
    pull = world.bob.open_from_fork(RETRY)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_repository_can_be_paused_and_is_judged_when_it_goes_on(world: World) -> None:
    repository = world.create_repository(PROJECT)
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(files=ONLY_DOCUMENTATION, title="Document uploads", branch="words")
    why = ("--until", "2h", "--reason", "load tests", "--by", "alice")
    paused = run_assay(world.product.environment, "pause", repository.name, *why)
    assert (paused.returncode, paused.stdout.split(":")[0]) == (0, f"Judging is paused in {repository.name}")
    pull = world.open_and_judge(files=STUB, body=f"Closes #{issue.number}")

    assert pull.check[:2] == ("completed", "neutral")
    assert pull.check.title.startswith("Not judged: judging is paused until 20")
    assert "Judging is paused in this repository by alice until 20" in pull.text
    assert "Reason: load tests." in pull.text
    assert (pull.verdict["abstain_reason"], pull.verdict["findings"]) == ("paused", [])
    running = repository.start_ci(pull.head, "test")
    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    assert pull.check.title.startswith("Not judged: judging is paused"), "nobody waits for CI to say that"
    running.complete("success")

    resumed = run_assay(world.product.environment, "resume", repository.name)
    assert (resumed.returncode, resumed.stdout.split(":")[0]) == (0, f"Judging goes on in {repository.name}")
    world.wait_until(lambda: pull.check.conclusion == "failure", "what the pause left is judged by itself")

    assert pull.verdict["category"] == "half_finished"


LAPTOP: dict[str, tuple[dict[str, str], tuple[str, str | None], str]] = {
    "a cap": (
        {"ASSAY_PR_MAX_USD": "0.0001"},
        ("budget", "pr_cap"),
        "The operator raises ASSAY_PR_MAX_USD",
    ),
    "an unknown price": (
        {"ASSAY_MODEL": "claude-nine"},
        ("judge_unavailable", None),
        'the price of "claude-nine" is not known',
    ),
    "a pause": ({"ASSAY_PAUSED": "1"}, ("paused", None), "once ASSAY_PAUSED is 0 again"),
}


@pytest.mark.parametrize("obstacle", LAPTOP)
@pytest.mark.slow
def test_on_a_laptop_the_same_purse_pays_and_nothing_is_asked_past_it(
    world: World, tmp_path: Path, obstacle: str
) -> None:
    changes, expected, words = LAPTOP[obstacle]
    recorded = tmp_path / "dossier.json"
    recorded.write_text(dossier().model_dump_json(exclude_unset=True), encoding="utf-8")
    told = on_a_laptop(world, tmp_path) | changes
    verdict = abstained(told, "judge", "--dossier", str(recorded), "--tier", "llm")

    assert (verdict["abstain_reason"], verdict["throttled_reason"]) == expected
    assert words in f"{verdict['concern']} {verdict['next_step']}"
    again = abstained(told, "replay", verdict["eval_id"], "--ask")
    assert (again["abstain_reason"], again["throttled_reason"]) == expected, "judging anew is paid from the same purse"
    assert world.model.requests == []


def abstained(told: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    done = run_assay(told, *arguments, "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


def on_a_laptop(world: World, folder: Path) -> dict[str, str]:
    """The product's settings, with a server of its own."""
    shared = {"REDIS_URL", "ASSAY_STORE_KEYS"}
    told = {name: value for name, value in world.product.environment.items() if name not in shared}
    return {**told, "ASSAY_DATA_DIR": str(folder / "data")}
