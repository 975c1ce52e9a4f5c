"""The last good configuration of a repository: kept encrypted, given back where the newest can't be used, forgotten with it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, pull, wish
from tests.worker.adapters.redis.test_kept import judging
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import whole
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier import NOT_REPORTED, Ci, CiCheck, CiState, ConfigOrigin, ConfigText, Dossier, Policy
from worker.domain.ids import hash_base
from worker.dossier.assemble import complete_dossier
from worker.dossier.config import config_of, with_last_good
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.pipeline import (
    CiWaitPolicy,
    JudgingDependencies,
    NullStatusReporter,
    assemble,
    find_ci_wait,
    with_repository_wait,
)
from worker.scheduling.record import VerdictRecorder
from worker.wiring.cli import RecordedSource

OWN, OWNERS = ConfigOrigin.REPOSITORY, ConfigOrigin.ORGANISATION
MAIN = hash_base("main")
KEY = keys.config(pull().installation_id, pull().repository_id, MAIN)


def having(
    own: str | None = None, *, owners: str | None = None, is_binary: bool = False, base: str = "main"
) -> Dossier:
    texts = [ConfigText(origin=OWN, text=own)] if own is not None or is_binary else []
    texts += [] if owners is None else [ConfigText(origin=OWNERS, text=owners)]
    read = dossier(config=tuple(texts))
    return read.model_copy(update={"pull_request": read.pull_request.model_copy(update={"base_ref": base})})


def heard(store: Store, read: Dossier) -> list[str | None]:
    """What stands in for each file of it."""
    return [one.last_good for one in with_last_good(read, pull(), store.configs).config]


def test_a_file_with_a_mistake_is_replaced_by_the_last_one_without(store: Store) -> None:
    assert heard(store, having("mode: observe", owners="ci_wait: 5m")) == [None, None]
    broken = with_last_good(having("mode: x", owners="ci_wait: 5m"), pull(), store.configs)
    assert [one.last_good for one in broken.config] == ["mode: observe", None]
    assert config_of(broken).policy.mode == "observe"
    assert heard(store, having(is_binary=True, owners="ci_wait: x")) == ["mode: observe", "ci_wait: 5m"]


def test_the_newest_one_without_a_mistake_is_the_last_good_one(store: Store) -> None:
    for text in ("mode: observe", "ci_wait: 5m", "mode: x"):
        last = heard(store, having(text))
    assert last == ["ci_wait: 5m"]


def test_where_there_was_none_without_a_mistake_nothing_stands_in(store: Store) -> None:
    assert heard(store, having("mode: x")) == [None]
    assert heard(store, having()) == []


def test_a_file_that_was_deleted_is_no_last_good_one(store: Store) -> None:
    heard(store, having("mode: observe", owners="ci_wait: 5m"))
    heard(store, having(owners="ci_wait: 5m"))
    assert heard(store, having("mode: x", owners="a: 1")) == [None, "ci_wait: 5m"]


def test_what_is_kept_already_is_not_written_again_and_lives_on(store: Store) -> None:
    heard(store, having("mode: observe"))
    before = store.client.call("HGET", KEY.name, OWN)
    store.client.call("EXPIRE", KEY.name, 5)
    heard(store, having("mode: observe"))
    assert store.client.call("HGET", KEY.name, OWN) == before
    assert whole(store.client.call("TTL", KEY.name)) > 5


def test_what_is_good_at_one_base_never_counts_at_another_and_the_owners_default_does(store: Store) -> None:
    heard(store, having("ci_wait: 5m"))
    heard(store, having("mode: observe", owners="mode: block", base="agents-own"))
    heard(store, having(base="old", owners="mode: block"))
    assert heard(store, having("mode: x", owners="x: 1")) == ["ci_wait: 5m", "mode: block"]
    assert heard(store, having("mode: x", base="new")) == [None]
    assert heard(store, having("mode: x", base="agents-own")) == ["mode: observe"]


def test_what_a_version_remembered_that_knew_no_base_counts_for_nobody(store: Store) -> None:
    before = keys.config(pull().installation_id, pull().repository_id, None)
    sealed = store.codec.seal(b"mode: observe", before.name)
    store.client.call("HSET", before.name, OWN, sealed, f"{OWN}:of", "x")
    assert heard(store, having("mode: x", owners="x: 1")) == [None, None]


def test_the_door_stays_quiet_for_as_long_as_the_newest_good_file_says(store: Store) -> None:
    window = keys.window(pull().installation_id, pull().repository_id, MAIN).name
    for text, kept in (("quiet_window: 2m", b"120000"), ("quiet_window: x", b"120000"), ("mode: block", None)):
        heard(store, having(text))
        heard(store, having("quiet_window: 24h", base="agents-own"))
        assert store.client.call("GET", window) == kept


def test_nobody_reads_in_redis_what_stands_in_it(store: Store) -> None:
    heard(store, having("never_send: [canary-of-the-config]"))
    assert b"canary" not in bytes(str(store.client.call("HGETALL", KEY.name)), "utf-8")


def test_a_configuration_goes_with_its_repository() -> None:
    assert KEY.name.startswith(keys.prefix("config", pull().installation_id, pull().repository_id))
    assert "config" in keys.PULL_KEY_KINDS


def test_the_policy_of_a_dossier_is_the_files_and_a_recorded_one_stays() -> None:
    assert complete_dossier(having("mode: observe")).policy == Policy(mode="observe")
    assert complete_dossier(having("ci_wait: 5m")).policy is None
    recorded = having("mode: observe").model_copy(update={"policy": Policy(model="x")})
    assert complete_dossier(recorded).policy == Policy(model="x")


def test_what_is_judged_has_the_files_policy_with_the_demoted_signals_in_it(store: Store) -> None:
    heard(store, having("signals: {stub_body: off}"))
    source = RecordedSource(having("signals: {stub_body: x}"))
    deps = JudgingDependencies(
        source=source,
        status=NullStatusReporter(source),
        ledger=store.ledger,
        recorder=VerdictRecorder(store.ledger, store.archive, store.events, judging(store).lease),
        context=JudgeContext(load_rubric(), load_prompt(), 0.0),
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
        demoted_signals=frozenset({"stub_body", "test_empty"}),
        configs=store.configs,
    )
    found = assemble(wish(), deps)
    assert found.policy == Policy(signals={"stub_body": "off", "test_empty": "suspicion"}, accept_alone=False)
    assert [one.last_good for one in found.config] == ["signals: {stub_body: off}"]
    assert assemble(wish(), replace(deps, source=RecordedSource(found))).config == found.config


@pytest.mark.parametrize(
    ("text", "waits", "required"),
    [
        ("", 60, 3000),
        ("ci_wait: 5s", 5, 5),
        ("ci_wait: 10m", 600, 600),
        ("ci_wait: 24h", 3000, 3000),
        ("ci_wait: x", 60, 3000),
    ],
)
def test_a_repository_waits_for_ci_as_it_says_up_to_what_required_checks_are_waited_for(
    text: str, waits: float, required: float
) -> None:
    patience = CiWaitPolicy(timedelta(seconds=60), timedelta(seconds=1), None, timedelta(seconds=3000))
    chosen = with_repository_wait(having(text), patience)
    assert (chosen.longest_wait, chosen.longest_required_wait) == (
        timedelta(seconds=waits),
        timedelta(seconds=required),
    )


def test_a_laptop_waits_for_nothing_and_without_a_file_nothing_is_asked() -> None:
    nothing = CiWaitPolicy(timedelta(0), timedelta(0), None)
    assert with_repository_wait(having("ci_wait: 5m"), nothing).longest_wait == timedelta(0)
    assert with_repository_wait(having(), nothing) is nothing


def test_what_waits_for_hours_is_looked_at_more_and_more_rarely() -> None:
    patience = CiWaitPolicy(timedelta(0), timedelta(seconds=20), AT, timedelta(hours=6))
    looks = [patience.next_poll(AT + timedelta(minutes=waited)).total_seconds() for waited in (0, 5, 60, 300)]
    assert looks == [20, 20, 180, 900]
    assert replace(patience, waiting_since=None).next_poll(AT) == timedelta(seconds=20)


@pytest.mark.parametrize(
    ("checks", "minutes"),
    [
        ([("build", "in_progress", False)], 30),
        ([("tests", "in_progress", True)], 360),
        ([("tests", NOT_REPORTED, True)], 30),
        ([("tests", NOT_REPORTED, True), ("build", "in_progress", False)], 360),
    ],
)
def test_a_required_check_is_waited_for_longer_while_any_check_runs(
    checks: list[tuple[str, str, bool]], minutes: float
) -> None:
    patience = CiWaitPolicy(timedelta(minutes=30), timedelta(seconds=20), AT, timedelta(minutes=360))
    reported = tuple(
        CiCheck(name=name, status=status, conclusion=None, required=is_required) for name, status, is_required in checks
    )
    wait = find_ci_wait(dossier(ci=Ci(state=CiState.PENDING, checks=reported)), AT, patience)
    assert wait is not None
    assert wait.until == AT + timedelta(minutes=minutes)
