"""Rollups in Redis: whatever the order of counting, what they say is what the stream says."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as tries
from hypothesis import strategies as st

from tests.worker.adapters.redis.played import pull
from tests.worker.adapters.redis.test_kept import entry, judging
from tests.worker.evaluation.stats import told
from tests.worker.evaluation.stats.told import HEAD, HERE, HOUR, NOON, Told
from worker.adapters.redis import keys, stream_pages
from worker.adapters.redis.client import RedisRefused, items, text, whole
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId
from worker.domain.verdict.events import EvalTrigger, terminal_event
from worker.domain.verdict.outcomes import OutcomeKind
from worker.evaluation.stats import rollups
from worker.evaluation.stats.queries import answer_query, tables_needed
from worker.evaluation.stats.rollups import Rollups, open_rollups
from worker.evaluation.stats.stats_query import StatsTopic, parse_query
from worker.evaluation.stats.tables import FLOW, SKIPPED
from worker.evaluation.stats.windows import HOUR_MS, LATEST_MS, HourWindow, buckets_of
from worker.scheduling.record import EventPublishing, evaluation_started

NOW = NOON + timedelta(days=2)
DAY_AFTER = next(buckets_of(told.at(NOON + 26 * HOUR) // HOUR_MS))
WEEK = {"from": (NOON - timedelta(days=7)).isoformat(), "to": NOW.isoformat()}


def write(store: Store, *history: Told) -> None:
    """Onto the stream, in their order, at their times."""
    stream = keys.events(HERE).name
    for at_ms, kind, raw in history:
        store.client.call("XADD", stream, f"{at_ms}-*", "k", kind, "j", raw)


def ask(store: Store, topic: StatsTopic = StatsTopic.QUALITY, **given: str) -> dict[str, Any]:
    question = parse_query({**WEEK, **given}, topic, NOW)
    found = open_rollups(store).find(HERE, tables_needed(topic, question), question.window, NOW)
    return answer_query(topic, question, found)


def everything(store: Store) -> str:
    """Every answer, in every grouping, as text."""
    said = [ask(store, topic) for topic in StatsTopic]
    said += [ask(store, group_by=group, min_confidence="0.6") for group in ("none", "rubric", "repository", "category")]
    said += [ask(store, to=(NOON + hours * HOUR).isoformat()) for hours in (1, 30)]
    return json.dumps(said)


def small(monkeypatch: pytest.MonkeyPatch, portion: int) -> None:
    monkeypatch.setattr(rollups, "PORTION", portion)
    monkeypatch.setattr(stream_pages, "PAGE", 3)


HISTORY = (
    told.started("e1"),
    told.rejected("e1"),
    told.started("e2", NOON + HOUR, number=4),
    told.completed("e2", NOON + HOUR, number=4, judge_cost_usd="0.02"),
    told.outcome(OutcomeKind.OVERRIDE, "e1", NOON + 20 * HOUR),
    told.completed(
        "e3", NOON + 26 * HOUR, parent_eval_id="e2", number=4, trigger="batch", rubric_version="2", score=0.6
    ),
    told.started("e4", NOON + 27 * HOUR, number=5),
)


def test_what_is_told_is_counted_at_the_next_question(store: Store) -> None:
    assert ask(store)["data"] == []
    assert ask(store)["counted_until"] is None
    write(store, *HISTORY[:2])
    assert ask(store)["data"][0]["verdict_count"] == 1
    write(store, *HISTORY[2:])
    said = ask(store)
    assert (said["data"][0]["verdict_count"], said["is_behind"]) == (3, False)
    assert said["counted_until"] == (NOON + 27 * HOUR).isoformat(timespec="milliseconds")
    assert ask(store, StatsTopic.BACKLOG)["open"] == 1
    assert ask(store, StatsTopic.OVERRIDES)["signals"][0]["override"] == 1


def test_what_the_products_own_writers_tell_is_counted(store: Store) -> None:
    lease, made = judging(store).lease, entry("e", 0)
    made = made.model_copy(update={"fence": lease.fence})
    store.events.record_started(pull(), lease.fence, evaluation_started(made.verdict, EventPublishing()))
    store.ledger.append(pull(), made, (terminal_event(made.verdict, EvalTrigger.BUS),))
    question = parse_query({"to": "2030-01-01", "from": "2020-01-01"}, StatsTopic.BACKLOG, NOW)
    found = open_rollups(store).find(HERE, tables_needed(StatsTopic.BACKLOG, question), question.window, NOW)
    [said] = answer_query(StatsTopic.BACKLOG, question, found)["data"]
    assert (said["started"], said["completed"], said["open"], said["ended_without_start"]) == (1, 1, 0, 0)


happenings = st.lists(
    st.tuples(
        st.sampled_from(["started", "completed", "rejected", "failed", "outcome", "broken"]),
        st.integers(0, 6),
        st.integers(1, 3),
        st.sampled_from(sorted(OutcomeKind)),
        st.integers(0, 30),
    ),
    max_size=25,
)


def history_of(some: list[tuple[str, int, int, OutcomeKind, int]]) -> list[Told]:
    made: list[Told] = []
    when = NOON
    for what, number, rubric, kind, hours in some:
        when += min(timedelta(hours=hours), NOW - when) / 4
        common: dict[str, Any] = {"number": number % 3, "rubric_version": str(rubric), "score": 0.5 + rubric / 10}
        match what:
            case "broken":
                made.append((told.at(when), b"eval.completed", b'{"v":9}'))
            case "outcome":
                made.append(told.outcome(kind, f"e{number}" if rubric > 1 else None, when, number=number % 3))
            case "rejected":
                made.append(told.rejected(f"e{number}", when, number=number % 3, rubric_version=str(rubric)))
            case _:
                made.append(getattr(told, what)(f"e{number}", when, **common))
    return made


@tries(
    max_examples=tries().max_examples * 3 // 10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(happenings, st.integers(1, 7), st.lists(st.integers(0, 25), max_size=3))
def test_counting_again_from_the_stream_gives_the_same_answers(
    store: Store, some: list[tuple[str, int, int, OutcomeKind, int]], portion: int, stops: list[int]
) -> None:
    store.client.call("FLUSHALL")
    history = history_of(some)
    with pytest.MonkeyPatch.context() as patch:
        small(patch, portion)
        for start, end in zip([0, *sorted(stops)], [*sorted(stops), len(history)], strict=True):
            write(store, *history[start:end])
            open_rollups(store).catch_up(HERE)
    grown = everything(store)
    open_rollups(store).rebuild(HERE)
    assert everything(store) == grown


def test_two_who_count_at_once_count_everything_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 4)
    write(store, *(told.completed(f"e{n}", NOON + n * HOUR / 9, number=n) for n in range(120)))
    with ThreadPoolExecutor(4) as several:
        list(several.map(open_rollups(store).catch_up, [HERE] * 8))
    assert ask(store)["data"][0]["verdict_count"] == 120
    grown = everything(store)
    open_rollups(store).rebuild(HERE)
    assert everything(store) == grown


def test_who_read_an_older_state_writes_nothing(store: Store) -> None:
    on = [keys.rollup(HERE), keys.pull_rollups(HERE)]
    assert run_script(store.client, Script.ROLLUP, on, "", "1 a 1-0", 1, "h1:x", "one", "7/3", "pull") == 1
    assert run_script(store.client, Script.ROLLUP, on, "", "1 b 1-0", 1, "h1:x", "other") == 0
    assert run_script(store.client, Script.ROLLUP, on, "1 b 1-0", "1 b 2-0", 1, "h1:x", "other") == 0
    assert text(store.client.call("HGET", on[0].name, "h1:x")) == "one"
    assert text(store.client.call("HGET", on[1].name, "7/3")) == "pull"
    assert run_script(store.client, Script.ROLLUP, on, "1 a 1-0", "1 a 2-0", 1, "h1:x", "") == 1
    assert store.client.call("HGET", on[0].name, "h1:x") is None


def test_one_question_counts_so_much_and_says_that_there_is_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 2)
    write(store, *HISTORY)
    counting = open_rollups(store)
    assert counting.catch_up(HERE, at_most=3) == (f"{told.at(NOON + HOUR)}-0", True, 3)
    assert counting.catch_up(HERE, at_most=0)[1:] == (True, 0)
    assert not counting.catch_up(HERE, at_most=4).is_behind
    assert not counting.catch_up(HERE, at_most=1).is_behind
    counting.drop(HERE)
    monkeypatch.setattr(Rollups.catch_up, "__defaults__", (2,))
    assert not counting.rebuild(HERE).is_behind


@pytest.mark.parametrize(
    ("key", "field", "broken"),
    [
        ("rollup", f"{DAY_AFTER.name}:quality:submission:verdicts:author_agent", "junk"),
        ("rollup", "mark", "0 abc 1-0"),
        ("rollup", "mark", "1"),
        ("rollup", "open", "[]"),
        ("rolled", "7/3", "junk"),
        ("rolled", "7/3", "\x07junk"),
    ],
)
def test_a_rollup_that_somebody_broke_is_counted_again(store: Store, key: str, field: str, broken: str) -> None:
    write(store, *HISTORY)
    before = everything(store)
    name = {"rollup": keys.rollup(HERE), "rolled": keys.pull_rollups(HERE)}[key].name
    assert whole(store.client.call("HEXISTS", name, field)) == 1
    store.client.call("HSET", name, field, broken)
    write(store, told.outcome(OutcomeKind.HELPFUL, "e1", NOON + 28 * HOUR))
    after = everything(store)
    open_rollups(store).rebuild(HERE)
    assert after == everything(store) != before


def test_hours_whose_entries_are_gone_are_not_counted_and_dropped(store: Store) -> None:
    short = replace(store, event_retention=timedelta(hours=36))
    write(store, told.completed("e0", number=9), *HISTORY)
    assert ask(store)["data"][0]["verdict_count"] == 4
    assert ask(short)["data"][0]["verdict_count"] == 1
    fields = whole(store.client.call("HLEN", keys.rollup(HERE).name))
    assert open_rollups(short).trim(HERE) == 0
    store.client.call("XTRIM", keys.events(HERE).name, "MINID", told.at(NOON + 12 * HOUR))
    assert open_rollups(short).trim(HERE) > 1
    assert whole(store.client.call("HLEN", keys.rollup(HERE).name)) < fields
    assert sorted(text(one) for one in items(store.client.call("HKEYS", keys.pull_rollups(HERE).name))) == [
        "7/3",
        "7/4",
    ]
    assert open_rollups(short).trim(HERE) == 0
    assert ask(short)["data"][0]["verdict_count"] == 1


def test_what_is_counted_while_it_is_trimmed_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    short = replace(store, event_retention=timedelta(hours=36))
    write(store, told.completed("e0", number=9))
    counting = open_rollups(short)
    counting.catch_up(HERE)
    older = counting._mark(HERE)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what a slower one had read
    write(store, *HISTORY)
    counting.catch_up(HERE)
    store.client.call("XTRIM", keys.events(HERE).name, "MAXLEN", 1)
    monkeypatch.setattr(counting, "_mark", lambda _: older)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] - the same
    assert counting.trim(HERE) == 0
    assert whole(store.client.call("HEXISTS", keys.pull_rollups(HERE).name, "7/9")) == 1


def test_every_entry_comes_once_in_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 2)
    write(store, *HISTORY)
    found = list(stream_pages.read_entries(store.client, HERE))
    assert [(one.at_ms, one.kind, one.raw) for one in found] == list(HISTORY)
    assert list(stream_pages.read_entries(store.client, HERE, found[3].id)) == found[4:]
    assert list(stream_pages.read_entries(store.client, HERE, until_ms=told.at(NOON))) == found[:2]
    started = list(stream_pages.read_entries(store.client, HERE, kinds=("eval.started",)))
    assert [one.kind for one in started] == [b"eval.started"] * 3
    assert list(stream_pages.read_entries(store.client, InstallationId(5))) == []


def test_who_reads_all_has_the_next_page_under_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 2)
    write(store, *HISTORY)
    found = list(stream_pages.read_entries(store.client, HERE))
    assert list(stream_pages.read_entries_ahead(store.client, HERE)) == found
    assert list(
        stream_pages.read_entries_ahead(store.client, HERE, found[1].id, found[5].at_ms, ("outcome.recorded",))
    ) == [found[4]]
    some = stream_pages.read_entries_ahead(store.client, HERE)
    assert next(some) == found[0]
    some.close()
    store.client.call("SET", keys.events(InstallationId(6)).name, "no stream")
    with pytest.raises(RedisRefused, match="WRONGTYPE"):
        list(stream_pages.read_entries_ahead(store.client, InstallationId(6)))


def test_what_assay_did_not_write_into_a_stream_is_skipped_and_counted(store: Store) -> None:
    stream = keys.events(HERE).name
    write(store, told.completed())
    wrong = (
        ["k", "eval.completed", "j", "{\n}"],
        ["k", "a\tb\n", "j", "\t"],
        ["x", "y", "z", "w"],
        ["k", "eval.completed", "j", ""],
    )
    for fields in wrong:
        store.client.call("XADD", stream, f"{told.at(NOON)}-*", *fields)
    store.client.call("XADD", stream, f"{told.at(NOON)}-*", "alone", "")
    said = ask(store)
    assert said["skipped"] == {"unreadable": 5}
    assert said["data"][0]["verdict_count"] == 1


@pytest.mark.parametrize("portion", [1, 100])
def test_an_entry_of_no_time_of_ours_is_skipped_and_counted(
    store: Store, monkeypatch: pytest.MonkeyPatch, portion: int
) -> None:
    small(monkeypatch, portion)
    write(store, *HISTORY)
    for name in (f"{LATEST_MS + 1}-0", f"{2**64 - 1}-0"):
        store.client.call("XADD", keys.events(HERE).name, name, *_fields(told.completed("x")))
    store.client.call("XADD", keys.events(HERE).name, f"{2**64 - 1}-1", *_fields(told.started("y")))
    assert ask(store)["data"][0]["verdict_count"] == 3
    said = ask(store, StatsTopic.QUALITY, **{"from": "9998-12-31", "to": "9999-01-01"})
    assert (said["skipped"], said["counted_until"]) == ({}, "9999-01-01T00:00:00.000+00:00")
    ever = HourWindow(0, LATEST_MS // HOUR_MS + 1)
    counted = open_rollups(store).find(HERE, (SKIPPED, FLOW), ever, NOW)
    assert counted.table(SKIPPED)["broken"].get("n") == 3
    assert counted.table(FLOW)["submission"].get("started") == 3
    found = open_rollups(store).catch_up_pull(pull(3))
    assert found is not None
    assert len(found.rows) == 1


def _fields(one: Told) -> tuple[str | bytes, ...]:
    return "k", one[1], "j", one[2]


@pytest.mark.parametrize(("start", "end"), [(1, 30), (0, 60), (-30, 10**6), (26, 27)])
def test_of_a_time_without_end_only_what_is_there_is_looked_at_and_it_is_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch, start: int, end: int
) -> None:
    write(store, *HISTORY, told.completed("later", NOON + 500_000 * HOUR, number=6))
    over = HourWindow(told.at(NOON) // HOUR_MS + start, told.at(NOON) // HOUR_MS + end)
    names = tables_needed(StatsTopic.QUALITY, parse_query(WEEK, StatsTopic.QUALITY, NOW))
    before = open_rollups(store).find(HERE, names, over, NOW)
    monkeypatch.setattr(rollups, "LONG_WINDOW_HOURS", 0 if end < rollups.LONG_WINDOW_HOURS else 10**9)
    assert open_rollups(store).find(HERE, names, over, NOW).tables == before.tables != {}


def test_a_pull_request_is_remembered(store: Store) -> None:
    write(store, *HISTORY)
    open_rollups(store).catch_up(HERE)
    found = open_rollups(store).pull(pull(3))
    assert found is not None
    assert [row.eval_id for row in found.rows] == ["e1"]
    assert found.rows[0].subject_key == HEAD[:12]
    assert open_rollups(store).pull(pull(99)) is None


def test_a_repository_that_was_forgotten_is_in_no_figure(store: Store) -> None:
    write(store, *HISTORY, told.completed("x", NOON + 28 * HOUR, repository_id=9))
    store.client.call("SADD", keys.repository_numbers("acme/widgets").name, f"{HERE}:7")
    assert {row["value"] for row in ask(store, group_by="repository")["data"]} == {"7", "9"}
    records = store.records()
    records.forget(records.find_holdings("acme/widgets"), NOW)
    assert {row["value"] for row in ask(store, group_by="repository")["data"]} == {"9"}
    assert open_rollups(store).pull(pull(3)) is None


def test_figures_of_a_stream_that_is_gone_are_dropped(store: Store) -> None:
    write(store, *HISTORY)
    assert ask(store)["data"][0]["verdict_count"] == 3
    store.client.call("UNLINK", keys.events(HERE).name)
    assert ask(store)["data"] == []
    assert open_rollups(store).trim(HERE) > 0
    assert whole(store.client.call("EXISTS", keys.pull_rollups(HERE).name)) == 0


def test_only_hours_that_have_entries_are_read_however_long_the_window(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, *HISTORY)
    counting, asked_for = open_rollups(store), list[int]()
    ever = parse_query({"from": "1970-01-01T01:00", "to": "9998-01-01T01:00"}, StatsTopic.QUALITY, NOW)
    names = tables_needed(StatsTopic.QUALITY, ever)
    reading = counting._fields  # pyright: ignore[reportPrivateUsage] - what is read is measured

    def fields(name: str, wanted: Sequence[str]) -> dict[str, bytes]:
        asked_for.append(len(wanted))
        return reading(name, wanted)

    counting.catch_up(HERE)
    monkeypatch.setattr(counting, "_fields", fields)
    found = counting.find(HERE, names, ever.window, NOW)
    assert answer_query(StatsTopic.QUALITY, ever, found)["data"] == ask(store)["data"]
    assert asked_for == [len(names) * (2 + 1)]
    first, later = (NOON + n * timedelta(days=900) for n in (1, 2))
    nothing = parse_query({"from": first.isoformat(), "to": later.isoformat()}, StatsTopic.QUALITY, NOW)
    assert counting.find(HERE, names, nothing.window, NOW).tables == {}


def test_a_memory_that_somebody_broke_is_counted_again(store: Store) -> None:
    write(store, *HISTORY)
    open_rollups(store).catch_up(HERE)
    store.client.call("HSET", keys.pull_rollups(HERE).name, "7/3", "junk")
    found = open_rollups(store).catch_up_pull(pull(3))
    assert found is not None
    assert [one.outcome for one in found.outcomes] == ["override"]
