"""Same content, same verdict: nobody rolls the dice twice, and nobody pays twice."""

import pytest

from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.replies import accept, reject
from tests.world.tester import World

WORSE = {**RETRY, "upload.py": RETRY["upload.py"].replace("range(3)", "range(1)")}


@pytest.mark.slow
def test_an_empty_commit_after_a_reject_brings_the_recorded_verdict_back(world: World) -> None:
    pull = world.opened(reject("weak_test", RETRY_AT))
    first = pull.verdict

    world.pushed(pull, {})

    again = pull.verdict
    assert pull.check.conclusion == "failure"
    assert again["subject"]["head_sha"] == pull.head != first["subject"]["head_sha"]
    assert (again["carried_from"], again["judge_cost_usd"]) == (first["eval_id"], "0")
    assert [again[name] for name in ("decision", "category", "concern", "next_step", "evidence", "round")] == [
        first[name] for name in ("decision", "category", "concern", "next_step", "evidence", "round")
    ]


@pytest.mark.slow
def test_re_run_and_rejudge_bring_the_recorded_verdict_back(world: World) -> None:
    pull = world.opened(accept(RETRY_AT))
    first = pull.verdict["eval_id"]

    pull.press_rerun()
    world.settles()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", first)

    world.commented(pull, "/rejudge")
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", first)
    assert len(pull.checks_of(pull.head)) == 1


def test_a_rebase_carries_the_verdict_and_sets_its_pointers_anew(world: World) -> None:
    here = world.repository(PROJECT)
    pull = world.opened(reject("weak_test", RETRY_AT))
    path, line = RETRY_AT.split(":")

    longer = "# Uploads.\n"
    world.github.verb("push", repo=here.name, branch="main", files={path: longer + PROJECT[path]})
    world.agent.force_pushes(pull, {**RETRY, path: longer + RETRY[path]})
    world.settles()

    assert pull.check.conclusion == "failure"
    assert pull.verdict["carried_from"] is not None
    assert [(one["path"], one["line"]) for one in pull.verdict["evidence"]] == [(path, int(line) + 1)]


@pytest.mark.slow
def test_another_content_is_judged_anew(world: World) -> None:
    pull = world.opened(accept(RETRY_AT))

    world.pushed(pull, WORSE, reject("tests_pass_but_wrong", RETRY_AT))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", None)


@pytest.mark.slow
def test_an_outage_is_never_carried_over(world: World) -> None:
    world.model.fails(401)
    pull = world.opened()
    assert pull.verdict["abstain_reason"] == "judge_unavailable"

    world.model.answers(accept(RETRY_AT))
    pull.press_rerun()
    world.settles()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
