"""Many pull requests while everything that can die dies: the coalescing rules on the real product.

The door, the dispatchers, the workers, the judge and GitHub's API are the real ones, over HTTP, and every delivery is
sent twice. Judges, workers and dispatchers are killed, and stopped past their lease; machines, the door and Redis are
killed. Then it gets quiet, and GitHub is asked what it shows, and Redis' file what happened.
"""

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import settings_for, wait_until
from tests.worker.scheduling.authors import CROWDED, LONELY, OTHERS, AuthoredPullRequest, Authors
from tests.worker.scheduling.lease_history import interrupted_fences
from tests.worker.scheduling.traces import Traces, left_over, machine_part, repositories
from tests.worker.scheduling.two_machines import Chaos, Fleet
from tests.world.fake_github import FakeGitHub
from tests.world.product import STORE_KEY
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store

pytestmark = pytest.mark.slow

PULLS = {CROWDED: 10, "globex": 6, "initech": 6}
CROWD = 14
ACTS = 120
BETWEEN_BLOWS = 3
DURING_AN_OUTAGE = 4
QUIET_S = 90.0
HARM = {
    "a judge killed": 5,
    "a judge stopped": 5,
    "a worker killed": 1,
    "a dispatcher killed": 1,
    "a dispatcher stopped": 1,
    "an answer lost": 10,
    "a machine killed": 2,
    "the door killed": 1,
    "Redis killed": 2,
    "Redis stopped": 1,
}
"""At least so often, or nothing was proved."""


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    bench = FakeGitHub.start(OTHERS)
    yield bench
    bench.stop()


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer.launch()
    yield server
    server.end()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [3])
def test_whatever_dies_each_newest_head_gets_its_one_verdict(github: FakeGitHub, redis: RedisServer, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - dice
    authors = Authors(github, dice)
    with Fleet.on(github, redis) as fleet, opened(redis) as store:
        chaos = Chaos(fleet, dice)
        rages(authors, chaos)
        gets_quiet(fleet, store, authors)
        assert not HARM.keys() - {what for what, least in HARM.items() if chaos.done[what] >= least}, chaos.done
        traces = Traces.of(authors, store, redis)
        killed = {line["fence"] for line in fleet.log_entries('"judge process killed"')}
    for one in authors.proposed:
        the_newest_head_has_its_verdict(one, traces)
        all_else_is_closed(one, traces)
        nothing_else_was_ever_said(one, traces, killed)
        nothing_was_judged_twice(one, traces)
        commands_were_answered(one, traces)
        one_judge_held_it_at_a_time(one, traces, killed)
    a_head_has_one_check_run(authors, traces, stops=chaos.done["a judge stopped"] + chaos.done["a dispatcher stopped"])


@pytest.mark.timeout(120)
def test_a_crowd_in_one_installation_does_not_starve_another(github: FakeGitHub, redis: RedisServer) -> None:
    authors = Authors(github, random.Random(3))  # noqa: S311 - dice
    with Fleet.on(github, redis) as fleet, opened(redis) as store:
        github.control("hooks", paused=True)
        crowd = list(authors.open_all({CROWDED: CROWD}))
        [lonely] = authors.open_all({LONELY: 1})
        github.control("hooks", paused=False)
        gets_quiet(fleet, store, authors)
        traces = Traces.of(authors, store, redis)
    told = {one.name: traces.written(one)[-1].at_ms for one in crowd}
    [last_of_all] = traces.written(lonely)
    before = [name for name, at_ms in told.items() if at_ms < last_of_all.at_ms]
    assert len(before) < CROWD / 2, "though its delivery came last of all"


def opened(redis: RedisServer) -> AbstractContextManager[Store]:
    return open_store(settings_for(redis.url, store_keys=(SecretStr(STORE_KEY),)))


# What happens


def rages(authors: Authors, chaos: Chaos) -> None:
    """Everybody acts while everything dies."""
    for _ in authors.open_all(PULLS):
        chaos.fail_answers()
        chaos.strike()
    for n in range(ACTS):
        match n * 10 // ACTS if n % (ACTS // 10) == 0 else None:
            case 2 | 6:
                with chaos.without_redis():
                    acts(authors, DURING_AN_OUTAGE)
            case 4:
                with chaos.with_redis_stopped():
                    acts(authors, DURING_AN_OUTAGE)
            case 3 | 7:
                chaos.kill_machine()
            case 5:
                chaos.kill_web_process()
            case _:
                pass
        authors.act()
        if n % BETWEEN_BLOWS == 0:
            chaos.fail_answers()
            chaos.strike()
    chaos.resume()


def acts(authors: Authors, times: int) -> None:
    for _ in range(times):
        authors.act()


def gets_quiet(fleet: Fleet, store: Store, authors: Authors) -> None:
    """Wait until nobody has anything left to do; what the door did not take is delivered again, as its owner would."""

    def is_quiet() -> bool:
        fleet.product.assert_alive()
        fleet.github.settle()  # first: what is still on its way may be refused
        if fleet.github.redeliver_refused():
            return False
        return not left_over(store) and not any(one.open_checks for one in repositories(authors))

    assert wait_until(is_quiet, QUIET_S), picture(fleet, store, authors)


def picture(fleet: Fleet, store: Store, authors: Authors) -> str:
    """What a person would want to see when it does not get quiet."""
    open_runs = [run for one in repositories(authors) for run in one.open_checks]
    shown = [f"{run['external_id']} {run['head_sha'][:7]} {run['output']['title']}" for run in open_runs]
    return "\n".join(["Left over:", *left_over(store), "Open:", *shown, "Log:", fleet.product.log.tail()])


# What must hold


def the_newest_head_has_its_verdict(one: AuthoredPullRequest, traces: Traces) -> None:
    run = traces.runs(one)[one.newest][-1]
    assert (run["status"], run["conclusion"]) == ("completed", one.deserves[one.newest]), one
    last = traces.ledgers[one.name][-1]
    shown = machine_part(run)
    assert (
        (shown["eval_id"], shown["subject"]["head_sha"]) == (last.eval_id, last.head_sha) == (last.eval_id, one.newest)
    )


def all_else_is_closed(one: AuthoredPullRequest, traces: Traces) -> None:
    """Whatever does not speak: cancelled, or with a verdict that was right for that head."""
    for head_sha, runs in traces.runs(one).items():
        said = {run["conclusion"] for run in runs}
        assert said <= {"cancelled", one.deserves[head_sha]}, (one.name, head_sha, said)


def a_head_has_one_check_run(authors: Authors, traces: Traces, stops: int) -> None:
    """But where somebody was stopped between his last look and his word: GitHub creates what is asked for, and knows no claims."""
    several = {
        (one.name, head_sha): [run["output"]["title"] for run in runs]
        for one in authors.proposed
        for head_sha, runs in traces.runs(one).items()
        if len(runs) > 1
    }
    assert sum(len(titles) - 1 for titles in several.values()) <= stops, several


def nothing_else_was_ever_said(one: AuthoredPullRequest, traces: Traces, killed: set[object]) -> None:
    """Not even for a moment: a verdict is right for its head, and GitHub had just called that head the newest.

    Whoever was stopped between his last look and his word may speak too late, but notices, and has it repaired; who was killed
    with it on his tongue has nothing more to notice, and the next one begins anew.
    """
    said = [made for made in traces.written(one) if made.conclusion != "cancelled"]
    assert [made for made in said if made.conclusion != one.deserves[made.head_sha]] == [], one.name
    docket = traces.dockets[one.name]
    noticed = [sitting for sitting in docket.terms if sitting.token in traces.late]
    late = [made for made in said if made.head_sha != made.newest or not docket.may_publish(made.eval_id, made.at_ms)]
    late = [made for made in late if (writer := docket.writer(made.eval_id)) is None or writer.fence not in killed]
    assert len(late) <= len(noticed), (one.name, late)


def nothing_was_judged_twice(one: AuthoredPullRequest, traces: Traces) -> None:
    """One entry for one content of one head, unless somebody had asked for another by then."""
    known: set[tuple[str, str]] = set()
    for entry in traces.ledgers[one.name]:
        content = (entry.head_sha, entry.fingerprint)
        asked = [at for at in one.commented.values() if at < entry.created_at]
        assert content not in known or asked, (one.name, entry.head_sha)
        known.add(content)


def commands_were_answered(one: AuthoredPullRequest, traces: Traces) -> None:
    reactions = traces.states[one.pull.repository.name]["reactions"]
    for comment, written_at in one.commented.items():
        seen = [made["content"] for made in reactions if made["on"]["id"] == comment]
        assert seen == ["eyes"], (one.name, comment)
        assert any(entry.created_at > written_at for entry in traces.ledgers[one.name]), (one.name, comment)


def one_judge_held_it_at_a_time(one: AuthoredPullRequest, traces: Traces, killed: set[object]) -> None:
    """Fences grow, and nobody was overtaken whose lease ran, unless he was known to be dead."""
    docket = traces.dockets[one.name]
    assert docket.violations == []
    assert interrupted_fences(docket) <= killed, one.name
    held = {eval_id: sitting.fence for sitting in docket.terms for eval_id in sitting.entries}
    assert held == {entry.eval_id: entry.fence for entry in traces.ledgers[one.name]}
