"""The plan of the chaos run, and the pull requests whose judging was cut short."""

from collections import Counter

import pytest

from bench.storm.plan import TARGETS, Act, Blow, Fault, Step, Victim, plan
from bench.storm.record import cut_short

SHUT = {Act.CLOSES: False, Act.REOPENS: True}


def test_seed_determines_the_plan() -> None:
    assert plan(3, 60, 20) == plan(3, 60, 20)
    assert plan(3, 60, 20) != plan(4, 60, 20)


@pytest.mark.parametrize("kills", [0, 7, 100])
def test_plan_has_the_requested_kills_and_gives_each_victim_its_share(kills: int) -> None:
    blows = [move for move in plan(1, 200, kills) if isinstance(move, Blow)]
    hit = Counter(blow.victim for blow in blows)
    assert hit.total() - hit[Victim.STOPPED] == kills
    assert all(hit[victim] >= kills * share // 100 for victim, (share, _) in TARGETS.items())


def test_hundred_kills_reach_each_stage_of_each_victim() -> None:
    hit = {(move.victim, move.stage) for move in plan(1, 500, 100) if isinstance(move, Blow)}
    assert hit == {(victim, stage) for victim, (_, stages) in TARGETS.items() for stage in stages}


def test_plan_has_at_least_one_fault_per_kill() -> None:
    assert sum(isinstance(move, Fault) for move in plan(1, 100, 30)) >= 30


def test_each_step_is_valid_in_the_state_of_its_pull_request() -> None:
    is_open: dict[int, bool] = {}
    for step in (move for move in plan(5, 300, 0) if isinstance(move, Step)):
        is_new = step.act in {Act.OPENS, Act.DRAFTS}
        assert is_new is (step.conversation not in is_open)
        if step.act in SHUT:
            assert is_open[step.conversation] is not SHUT[step.act]
        is_open[step.conversation] = SHUT.get(step.act, is_open.get(step.conversation, True))
    assert len(is_open) == 300


def line(event: str, fence: int, **fields: object) -> dict[str, object]:
    return {"event": event, "repository": "acme/widgets", "number": 1, "fence": fence, **fields}


def test_cut_short_lists_pull_requests_whose_judgings_never_ended() -> None:
    begins = [line("judging started", fence) for fence in (1, 2, 3, 4)]
    assert cut_short(begins) == {("acme/widgets", 1)}
    assert cut_short(begins[:3]) == frozenset()
    assert cut_short([begins[0], begins[0], *begins[1:3]]) == frozenset(), "the same judging logged twice"
    assert cut_short([*begins[:3], line("judging ended", 3, answer="later"), begins[3]]) == frozenset()
    late = line("judging ended", 1, answer="lost")
    assert cut_short([*begins[:3], late, begins[3]]) == {("acme/widgets", 1)}
