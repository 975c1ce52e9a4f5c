"""The plan of the chaos run, and how its end is held against the books."""

from collections import Counter

import pytest

from bench.storm.plan import TARGETS, Act, Blow, Fault, Step, Victim, plan
from bench.storm.record import cut_short

SHUT = {Act.CLOSES: False, Act.REOPENS: True}


def test_the_same_seed_makes_the_same_plan() -> None:
    assert plan(3, 60, 20) == plan(3, 60, 20)
    assert plan(3, 60, 20) != plan(4, 60, 20)


@pytest.mark.parametrize("kills", [0, 7, 100])
def test_it_holds_as_many_kills_as_were_asked_for_and_every_victim_its_share(kills: int) -> None:
    blows = [move for move in plan(1, 200, kills) if isinstance(move, Blow)]
    hit = Counter(blow.victim for blow in blows)
    assert hit.total() - hit[Victim.STOPPED] == kills
    assert all(hit[victim] >= kills * share // 100 for victim, (share, _) in TARGETS.items())


def test_a_hundred_kills_reach_every_stage_of_every_victim() -> None:
    hit = {(move.victim, move.stage) for move in plan(1, 500, 100) if isinstance(move, Blow)}
    assert hit == {(victim, stage) for victim, (_, stages) in TARGETS.items() for stage in stages}


def test_there_is_trouble_beside_each_kill() -> None:
    assert sum(isinstance(move, Fault) for move in plan(1, 100, 30)) >= 30


def test_every_act_is_possible_when_its_turn_comes() -> None:
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


def test_only_a_pull_request_whose_judges_came_to_no_end_so_often_may_go_unjudged() -> None:
    begins = [line("judging started", fence) for fence in (1, 2, 3, 4)]
    assert cut_short(begins) == {("acme/widgets", 1)}
    assert cut_short(begins[:3]) == frozenset()
    assert cut_short([begins[0], begins[0], *begins[1:3]]) == frozenset(), "a judging that was told of twice"
    assert cut_short([*begins[:3], line("judging ended", 3, answer="later"), begins[3]]) == frozenset()
    late = line("judging ended", 1, answer="lost")
    assert cut_short([*begins[:3], late, begins[3]]) == {("acme/widgets", 1)}
