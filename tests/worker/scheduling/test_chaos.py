"""Chaos test: the whole product, with every delivery sent twice, while its processes and Redis are killed and stopped."""

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import settings_for, wait_until
from tests.worker.scheduling.authors import BUSY, OTHERS, QUIET, AuthoredPullRequest, Authors
from tests.worker.scheduling.lease_history import interrupted_fences
from tests.worker.scheduling.traces import Traces, left_over, machine_part, repositories
from tests.worker.scheduling.two_machines import Chaos, Fleet
from tests.world.fake_github import FakeGitHub
from tests.world.product import STORE_KEY
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store, open_store

pytestmark = pytest.mark.slow

PULLS = {BUSY: 10, "globex": 6, "initech": 6}
BUSY_PULLS = 14
ACTS = 120
BETWEEN_BLOWS = 3
DURING_AN_OUTAGE = 4
QUIET_S = 90.0
MINIMUM_FAULTS = {
    "a judge killed": 5,
    "a judge stopped": 5,
    "a worker killed": 1,
    "a dispatcher killed": 1,
    "a dispatcher stopped": 1,
    "an answer lost": 10,
    "a machine killed": 2,
    "the web server killed": 1,
    "Redis killed": 2,
    "Redis stopped": 1,
}
"""How often each fault has to occur at least."""


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    server = FakeGitHub.start(OTHERS)
    yield server
    server.stop()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [3])
def test_each_newest_head_gets_one_verdict_whatever_is_killed(
    github: FakeGitHub, own_server: RedisServer, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311 - dice
    authors = Authors(github, dice)
    with Fleet.on(github, own_server) as fleet, open_test_store(own_server) as store:
        chaos = Chaos(fleet, dice)
        run_faults(authors, chaos)
        wait_until_quiet(fleet, store, authors)
        assert all(chaos.done[fault] >= least for fault, least in MINIMUM_FAULTS.items()), chaos.done
        traces = Traces.of(authors, store, own_server)
        killed = {line["fence"] for line in fleet.log_entries('"judge process killed"')}
    for authored in authors.pull_requests:
        assert_newest_head_has_its_verdict(authored, traces)
        assert_all_checks_are_concluded(authored, traces)
        assert_no_wrong_verdict_was_shown(authored, traces, killed)
        assert_no_content_was_judged_twice(authored, traces)
        assert_commands_were_answered(authored, traces)
        assert_leases_did_not_overlap(authored, traces, killed)
    assert_heads_have_one_check_run(
        authors, traces, stops=chaos.done["a judge stopped"] + chaos.done["a dispatcher stopped"]
    )


@pytest.mark.timeout(120)
def test_busy_installation_does_not_starve_another(github: FakeGitHub, own_server: RedisServer) -> None:
    authors = Authors(github, random.Random(3))  # noqa: S311 - dice
    with Fleet.on(github, own_server) as fleet, open_test_store(own_server) as store:
        github.control("hooks", paused=True)
        busy = list(authors.open_all({BUSY: BUSY_PULLS}))
        [quiet] = authors.open_all({QUIET: 1})
        github.control("hooks", paused=False)
        wait_until_quiet(fleet, store, authors)
        traces = Traces.of(authors, store, own_server)
    [conclusion] = traces.conclusions_of(quiet)
    before = [pull for pull in busy if traces.conclusions_of(pull)[-1].at_ms < conclusion.at_ms]
    assert len(before) < BUSY_PULLS / 2, "though its delivery came last"


def open_test_store(redis: RedisServer) -> AbstractContextManager[Store]:
    return open_store(settings_for(redis.url, store_keys=(SecretStr(STORE_KEY),)))


# Faults


def run_faults(authors: Authors, chaos: Chaos) -> None:
    """Let the authors act while faults occur."""
    for _ in authors.open_all(PULLS):
        chaos.fail_answers()
        chaos.strike()
    for n in range(ACTS):
        match n * 10 // ACTS if n % (ACTS // 10) == 0 else None:
            case 2 | 6:
                with chaos.without_redis():
                    act_repeatedly(authors, DURING_AN_OUTAGE)
            case 4:
                with chaos.with_redis_stopped():
                    act_repeatedly(authors, DURING_AN_OUTAGE)
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


def act_repeatedly(authors: Authors, times: int) -> None:
    for _ in range(times):
        authors.act()


def wait_until_quiet(fleet: Fleet, store: Store, authors: Authors) -> None:
    """Wait until no work is left, and redeliver what the web server refused."""

    def is_quiet() -> bool:
        fleet.product.assert_alive()
        fleet.github.settle()  # first, since deliveries in flight may be refused
        if fleet.github.redeliver_refused():
            return False
        return not left_over(store) and not any(repository.open_checks for repository in repositories(authors))

    assert wait_until(is_quiet, QUIET_S), describe_leftovers(fleet, store, authors)


def describe_leftovers(fleet: Fleet, store: Store, authors: Authors) -> str:
    open_runs = [run for repository in repositories(authors) for run in repository.open_checks]
    shown = [f"{run['external_id']} {run['head_sha'][:7]} {run['output']['title']}" for run in open_runs]
    return "\n".join(["Left over:", *left_over(store), "Open:", *shown, "Log:", fleet.product.log.tail()])


# Rules


def assert_newest_head_has_its_verdict(authored: AuthoredPullRequest, traces: Traces) -> None:
    run = traces.runs(authored)[authored.newest][-1]
    assert (run["status"], run["conclusion"]) == ("completed", authored.deserves[authored.newest]), authored
    last = traces.ledgers[authored.name][-1]
    shown = machine_part(run)
    assert (shown["eval_id"], shown["subject"]["head_sha"]) == (last.eval_id, authored.newest)
    assert last.head_sha == authored.newest


def assert_all_checks_are_concluded(authored: AuthoredPullRequest, traces: Traces) -> None:
    """Each check run is cancelled or shows the conclusion that its head deserves."""
    for head_sha, runs in traces.runs(authored).items():
        conclusions = {run["conclusion"] for run in runs}
        assert conclusions <= {"cancelled", authored.deserves[head_sha]}, (authored.name, head_sha, conclusions)


def assert_heads_have_one_check_run(authors: Authors, traces: Traces, stops: int) -> None:
    """A process that was stopped between its claim and its write may leave a second check run."""
    several = {
        (authored.name, head_sha): [run["output"]["title"] for run in runs]
        for authored in authors.pull_requests
        for head_sha, runs in traces.runs(authored).items()
        if len(runs) > 1
    }
    assert sum(len(titles) - 1 for titles in several.values()) <= stops, several


def assert_no_wrong_verdict_was_shown(authored: AuthoredPullRequest, traces: Traces, killed: set[object]) -> None:
    """Each conclusion ever shown is the one its head deserves, and GitHub had just named that head the newest.

    A judge that was stopped before its write may write late, but notices and requests a judging; a killed one can't notice.
    """
    conclusions = [made for made in traces.conclusions_of(authored) if made.conclusion != "cancelled"]
    assert [made for made in conclusions if made.conclusion != authored.deserves[made.head_sha]] == [], authored.name
    history = traces.histories[authored.name]
    noticed = [term for term in history.terms if term.token in traces.overtaken]
    late = [
        made
        for made in conclusions
        if made.head_sha != made.newest or not history.may_publish(made.eval_id, made.at_ms)
    ]
    late = [made for made in late if (writer := history.writer(made.eval_id)) is None or writer.fence not in killed]
    assert len(late) <= len(noticed), (authored.name, late)


def assert_no_content_was_judged_twice(authored: AuthoredPullRequest, traces: Traces) -> None:
    """The ledger has one entry per content of a head, unless a command came before."""
    judged: set[tuple[str, str]] = set()
    for entry in traces.ledgers[authored.name]:
        content = (entry.head_sha, entry.fingerprint)
        asked = [at for at in authored.commented.values() if at < entry.created_at]
        assert content not in judged or asked, (authored.name, entry.head_sha)
        judged.add(content)


def assert_commands_were_answered(authored: AuthoredPullRequest, traces: Traces) -> None:
    reactions = traces.states[authored.pull.repository.name]["reactions"]
    for comment, written_at in authored.commented.items():
        seen = [made["content"] for made in reactions if made["on"]["id"] == comment]
        assert seen == ["eyes"], (authored.name, comment)
        assert any(entry.created_at > written_at for entry in traces.ledgers[authored.name]), (authored.name, comment)


def assert_leases_did_not_overlap(authored: AuthoredPullRequest, traces: Traces, killed: set[object]) -> None:
    """Fences grow, and no running lease was overtaken except that of a killed judge."""
    history = traces.histories[authored.name]
    assert history.violations == []
    assert interrupted_fences(history) <= killed, authored.name
    held = {eval_id: term.fence for term in history.terms for eval_id in term.entries}
    assert held == {entry.eval_id: entry.fence for entry in traces.ledgers[authored.name]}
