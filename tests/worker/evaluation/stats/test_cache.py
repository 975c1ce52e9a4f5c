"""Files of figures agree with the stream in any order of counting and after any damage."""

import gc
import json
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from tests.worker.adapters.redis.store_samples import ledger_entry_of, pull_ref, start_judging_new
from tests.worker.evaluation.stats import history
from tests.worker.evaluation.stats.history import HOUR, INSTALLATION, NOON, RawEntry
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.model import InstallationId
from worker.domain.verdict.events import EvalTrigger, OutcomeKind, terminal_event
from worker.errors import Unavailable
from worker.evaluation.stats import cache
from worker.evaluation.stats.answers import answer_query, list_outcomes
from worker.evaluation.stats.cache import NO_LIMIT, FiguresCache, open_figures
from worker.evaluation.stats.figures import LATEST_MS, CountedStream, StatsTopic, parse_query
from worker.evaluation.stats.ingest import ingest_entries
from worker.scheduling.record import EventPublishing, evaluation_started

NOW = NOON + timedelta(days=2)
WEEK = {"from": (NOON - timedelta(days=7)).isoformat(), "to": NOW.isoformat()}


def figures_of(store: Store, folder: Path) -> FiguresCache:
    return FiguresCache(folder / "figures", store.events, store.event_retention)


@pytest.fixture
def figures(store: Store, tmp_path: Path) -> FiguresCache:
    return figures_of(store, tmp_path)


def write(store: Store, *history: RawEntry) -> None:
    stream = keys.events(INSTALLATION).name
    for at_ms, kind, raw in history:
        store.client.call("XADD", stream, f"{at_ms}-*", "k", kind, "j", raw)


def ask(figures: FiguresCache, topic: StatsTopic = StatsTopic.QUALITY, **parameters: str) -> dict[str, Any]:
    question = parse_query({**WEEK, **parameters}, topic, NOW)
    return figures.query([INSTALLATION], NOW, lambda streams: answer_query(topic, question, streams))


def answer_everything(*streams: CountedStream) -> str:
    """Every answer, in every grouping, as text."""
    groups = ("none", "rubric", "repository", "category")
    asked: list[tuple[StatsTopic, dict[str, str]]] = [
        *((topic, {}) for topic in StatsTopic),
        *((StatsTopic.QUALITY, {"group_by": group, "min_confidence": "0.6"}) for group in groups),
        *((StatsTopic.QUALITY, {"to": (NOON + hours * HOUR).isoformat()}) for hours in (1, 30)),
    ]
    questions = [(topic, parse_query({**WEEK, **parameters}, topic, NOW)) for topic, parameters in asked]
    return json.dumps([answer_query(topic, question, streams) for topic, question in questions])


def cached_answers(figures: FiguresCache) -> str:
    return figures.query([INSTALLATION], NOW, lambda streams: answer_everything(*streams))


def file_of(folder: Path) -> Path:
    [path] = (folder / "figures").glob("*.sqlite3")
    return path


HISTORY = (
    history.started_event("e1"),
    history.rejected_event("e1"),
    history.started_event("e2", NOON + HOUR, number=4),
    history.completed_event("e2", NOON + HOUR, number=4, judge_cost_usd="0.02"),
    history.outcome_entry(OutcomeKind.OVERRIDE, "e1", NOON + 20 * HOUR),
    history.completed_event(
        "e3", NOON + 26 * HOUR, parent_eval_id="e2", number=4, trigger="batch", rubric_version="2", score=0.6
    ),
    history.started_event("e4", NOON + 27 * HOUR, number=5),
)


def test_new_events_are_counted_at_the_next_query(store: Store, figures: FiguresCache) -> None:
    assert (ask(figures)["data"], ask(figures)["counted_until"], ask(figures)["is_behind"]) == ([], None, False)
    write(store, *HISTORY[:2])
    assert ask(figures)["data"][0]["verdict_count"] == 1
    write(store, *HISTORY[2:])
    answer = ask(figures)
    assert (answer["data"][0]["verdict_count"], answer["is_behind"]) == (3, False)
    assert answer["counted_until"] == (NOON + 27 * HOUR).isoformat(timespec="milliseconds")
    assert ask(figures, StatsTopic.BACKLOG)["open"] == 1
    assert ask(figures, StatsTopic.OVERRIDES)["signals"][0]["override"] == 1


def test_events_of_the_product_writers_are_counted(store: Store, figures: FiguresCache) -> None:
    lease, entries = start_judging_new(store).lease, ledger_entry_of("e", 0)
    entries = entries.model_copy(update={"fence": lease.fence})
    store.events.record_started(pull_ref(), lease.fence, evaluation_started(entries.verdict, EventPublishing()))
    store.ledger.append(pull_ref(), entries, (terminal_event(entries.verdict, EvalTrigger.BUS),))
    [backlog] = ask(figures, StatsTopic.BACKLOG, to="2030-01-01", **{"from": "2020-01-01"})["data"]
    assert (backlog["started"], backlog["completed"], backlog["open"], backlog["ended_without_start"]) == (1, 1, 0, 0)


stream_actions = st.lists(
    st.tuples(
        st.sampled_from(["started", "completed", "rejected", "failed", "outcome", "broken"]),
        st.integers(0, 6),
        st.integers(1, 3),
        st.sampled_from(sorted(OutcomeKind)),
        st.integers(0, 30),
    ),
    max_size=25,
)


def make_history(actions: list[tuple[str, int, int, OutcomeKind, int]]) -> list[RawEntry]:
    entries: list[RawEntry] = []
    when = NOON
    for action, number, rubric, kind, hours in actions:
        when += min(timedelta(hours=hours), NOW - when) / 4
        common: dict[str, Any] = {"number": number % 3, "rubric_version": str(rubric), "score": 0.5 + rubric / 10}
        common["round"] = rubric
        match action:
            case "broken":
                entries.append((history.milliseconds(when), b"eval.completed", b'{"v":9}'))
            case "outcome":
                entries.append(
                    history.outcome_entry(kind, f"e{number}" if rubric > 1 else None, when, number=number % 3)
                )
            case "rejected":
                entries.append(
                    history.rejected_event(f"e{number}", when, number=number % 3, rubric_version=str(rubric))
                )
            case _:
                entries.append(getattr(history, f"{action}_event")(f"e{number}", when, **common))
    return entries


@tries(deadline=None)
@given(stream_actions, st.lists(st.integers(1, 24), max_size=4))
def test_portions_give_the_same_answers(
    actions: list[tuple[str, int, int, OutcomeKind, int]], stops: list[int]
) -> None:
    entries = history.entries(*make_history(actions))
    borders = sorted({0, *(stop for stop in stops if stop < len(entries)), len(entries)})

    def answers(*portions: slice) -> str:
        with open_figures(":memory:") as db:
            for portion in portions:
                ingest_entries(db, entries[portion])
            return answer_everything(CountedStream(db, 0, 0, is_behind=False))

    if entries:
        assert answers(*map(slice, borders, borders[1:])) == answers(slice(None))


def test_catch_up_stops_at_its_limit(store: Store, figures: FiguresCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PORTION", 2)
    write(store, *HISTORY)
    assert figures.catch_up(INSTALLATION, 3)[1:] == (history.milliseconds(NOON + HOUR), True, 3)
    assert figures.catch_up(INSTALLATION, 0)[1:] == (history.milliseconds(NOON + HOUR), True, 0)
    assert figures.catch_up(INSTALLATION, 4)[1:] == (history.milliseconds(NOON + 27 * HOUR), False, 4)
    assert figures.catch_up(INSTALLATION, 1)[1:] == (history.milliseconds(NOON + 27 * HOUR), False, 0)
    assert figures.cached_installations() == (INSTALLATION,)
    write(store, *(history.completed_event(f"m{n}", NOON + 28 * HOUR) for n in range(12)))
    same_ms = history.milliseconds(NOON + 28 * HOUR)
    assert figures.catch_up(INSTALLATION, 10)[1:] == (same_ms, True, 10)


def test_concurrent_queries_count_entries_once(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PORTION", 4)
    write(store, *(history.completed_event(f"e{n}", NOON + n * HOUR / 9, number=n) for n in range(120)))
    with ThreadPoolExecutor(4) as several:
        for _ in range(8):
            several.submit(figures_of(store, tmp_path).catch_up, INSTALLATION, NO_LIMIT, waits=True)
    grown = figures_of(store, tmp_path)
    assert ask(grown)["data"][0]["verdict_count"] == 120
    assert cached_answers(grown) == cached_answers(figures_of(store, tmp_path / "other"))


def test_answer_is_behind_while_another_process_counts(store: Store, figures: FiguresCache, tmp_path: Path) -> None:
    write(store, *HISTORY[:2])
    assert not ask(figures)["is_behind"]
    write(store, *HISTORY[2:])
    with (tmp_path / "figures" / f"{INSTALLATION}.lock").open() as builder:
        flock(builder, LOCK_EX)
        answer = ask(figures)
        assert (answer["is_behind"], answer["data"][0]["verdict_count"]) == (True, 1)
        assert answer["counted_until"] == NOON.isoformat(timespec="milliseconds")
        file_of(tmp_path).write_bytes(b"no database")
        assert figures.catch_up(INSTALLATION) == (0, 0, True, 0)
        file_of(tmp_path).unlink()
        assert (ask(figures)["is_behind"], ask(figures)["data"]) == (True, [])
        figures.drop(INSTALLATION)
        with ThreadPoolExecutor(1) as beside:
            waiting = beside.submit(figures_of(store, tmp_path).catch_up, INSTALLATION, NO_LIMIT, waits=True)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.2)
            builder.close()
            assert waiting.result()[1:] == (history.milliseconds(NOON + 27 * HOUR), False, len(HISTORY))


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _overwrite_pages(path: Path) -> None:
    """Overwrite all but the first page, so that the file opens and its content is unreadable."""
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\xff" * (len(raw) - 4096))


def _change(statement: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with sqlite3.connect(path) as db:
            db.executescript(statement)
        db.close()

    return change


DAMAGES: dict[str, Callable[[Path], object]] = {
    "junk": lambda path: path.write_bytes(b"no database"),
    "cut": _truncate,
    "pages": _overwrite_pages,
    "version": _change("UPDATE verdicts SET score = 5; PRAGMA user_version = 99;"),
    "table": _change("DROP TABLE verdicts"),
    "other stream": _change("UPDATE progress SET entry_id = '5-5'"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_more_told", [True, False])
def test_damaged_file_is_rebuilt(store: Store, tmp_path: Path, damage: str, *, is_more_told: bool) -> None:
    write(store, *HISTORY)
    figures_of(store, tmp_path).catch_up(INSTALLATION)
    DAMAGES[damage](file_of(tmp_path))
    if is_more_told:
        write(store, history.outcome_entry(OutcomeKind.HELPFUL, "e1", NOON + 28 * HOUR))
    assert cached_answers(figures_of(store, tmp_path)) == cached_answers(figures_of(store, tmp_path / "other"))


def test_unwritable_file_is_unavailable(store: Store, figures: FiguresCache, monkeypatch: pytest.MonkeyPatch) -> None:
    write(store, *HISTORY)
    monkeypatch.setattr(cache, "SCHEMA", "CREATE TABLE progress (x); INSERT INTO no_such VALUES (1);")
    with pytest.raises(Unavailable, match="file of figures is unavailable: no such table"):
        figures.catch_up(INSTALLATION)


def test_query_that_fails_twice_is_unavailable(store: Store, figures: FiguresCache) -> None:
    write(store, *HISTORY)
    with pytest.raises(Unavailable, match="file of figures is unavailable: no such table"):
        figures.query([INSTALLATION], NOW, lambda streams: streams[0].db.execute("SELECT 1 FROM no_such"))


def test_read_only_disk_uses_a_temporary_folder(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    write(store, *HISTORY)
    read_only = figures_of(store, Path("/proc/assay"))
    assert cached_answers(read_only) == cached_answers(figures_of(store, tmp_path))
    assert read_only.folder.parent == tmp_path / "temporary"
    assert "using a temporary one" in caplog.text
    del read_only
    gc.collect()
    assert list((tmp_path / "temporary").iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", "/proc/assay")
    with pytest.raises(Unavailable, match="folder for figures is unavailable"):
        figures_of(store, Path("/proc/assay")).catch_up(INSTALLATION)


def test_expired_hours_are_dropped(store: Store, tmp_path: Path) -> None:
    short = replace(store, event_retention=timedelta(hours=36))
    early = history.completed_event("e0", number=9), history.rejected_event("e9", number=5)
    write(
        store,
        *early,
        history.started_event("lost", number=8),
        history.completed_event("e8", NOON + 20 * HOUR, number=5),
        *HISTORY[4:],
    )
    assert ask(figures_of(store, tmp_path))["data"][0]["verdict_count"] == 4
    assert ask(figures_of(short, tmp_path))["data"][0]["verdict_count"] == 2
    store.client.call("XTRIM", keys.events(INSTALLATION).name, "MINID", history.milliseconds(NOON + 12 * HOUR))
    figures = figures_of(store, tmp_path)
    assert ask(figures)["data"][0]["verdict_count"] == 2
    assert ask(figures, StatsTopic.BACKLOG)["open"] == 1
    [card] = ask(figures, StatsTopic.AGENTS)["data"]
    assert (card["pull_requests"], card["verdicts"]) == (0, 1), "its first verdict was earlier"
    with sqlite3.connect(file_of(tmp_path)) as db:
        assert db.execute("SELECT number FROM pulls").fetchall() == [(5,)]
    db.close()


def test_forgotten_repository_is_in_no_figure_and_no_file(store: Store, figures: FiguresCache, tmp_path: Path) -> None:
    write(store, *HISTORY, history.completed_event("x", NOON + 28 * HOUR, repository_id=9))
    store.client.call("SADD", keys.repository_numbers("acme/widgets").name, f"{INSTALLATION}:7")
    assert {row["value"] for row in ask(figures, group_by="repository")["data"]} == {"7", "9"}
    before = file_of(tmp_path)
    records = store.records()
    records.forget(records.find_holdings("acme/widgets"), NOW)
    assert {row["value"] for row in ask(figures, group_by="repository")["data"]} == {"9"}
    assert file_of(tmp_path) != before


def test_figures_of_a_missing_stream_are_dropped(store: Store, figures: FiguresCache, tmp_path: Path) -> None:
    write(store, *HISTORY)
    assert ask(figures)["data"][0]["verdict_count"] == 3
    store.client.call("UNLINK", keys.events(INSTALLATION).name)
    assert ask(figures)["data"] == []
    assert list((tmp_path / "figures").glob("*.sqlite3*")) == []
    assert figures.cached_installations() == ()


def test_stream_restored_from_a_backup_is_counted_again(store: Store, figures: FiguresCache) -> None:
    write(store, *HISTORY)
    assert ask(figures)["data"][0]["verdict_count"] == 3
    generation = store.client.call("GET", keys.events_generation(INSTALLATION).name)
    store.client.call("UNLINK", keys.events(INSTALLATION).name)
    write(store, *HISTORY[:2], history.completed_event("new", NOON + 40 * HOUR, number=4))
    assert store.client.call("GET", keys.events_generation(INSTALLATION).name) == generation
    assert ask(figures)["data"][0]["verdict_count"] == 2


def test_foreign_entries_are_skipped_and_counted(store: Store, figures: FiguresCache) -> None:
    stream = keys.events(INSTALLATION).name
    write(store, history.completed_event())
    for fields in (
        ["k", "eval.completed", "j", "{\n}"],
        ["k", "a\tb\n", "j", "\t"],
        ["x", "y", "z", "w"],
        ["k", "eval.completed", "j", ""],
        ["alone", ""],
    ):
        store.client.call("XADD", stream, f"{history.milliseconds(NOON)}-*", *fields)
    answer = ask(figures)
    assert answer["skipped"] == {"unreadable": 5}
    assert answer["data"][0]["verdict_count"] == 1


def test_entries_beyond_the_latest_time_are_skipped_and_counted(store: Store, figures: FiguresCache) -> None:
    write(store, *HISTORY)
    for name in (f"{LATEST_MS}-{2**63}", f"{LATEST_MS + 1}-0", f"{2**64 - 1}-0"):
        store.client.call("XADD", keys.events(INSTALLATION).name, name, *_fields(history.completed_event("x")))
    store.client.call("XADD", keys.events(INSTALLATION).name, f"{2**64 - 1}-1", *_fields(history.started_event("y")))
    assert ask(figures)["data"][0]["verdict_count"] == 3
    answer = ask(figures, StatsTopic.QUALITY, **{"from": "9998-12-31", "to": "9999-01-01"})
    assert (answer["skipped"], answer["counted_until"]) == ({}, "9999-01-01T00:00:00.000+00:00")
    with sqlite3.connect(file_of(figures.folder.parent)) as db:
        assert db.execute("SELECT value, n FROM counts WHERE name = 'skipped'").fetchall() == [("broken", 4)]
    db.close()


def _fields(entry: RawEntry) -> tuple[str | bytes, ...]:
    return "k", entry[1], "j", entry[2]


def test_latest_outcomes_of_a_pull_request_are_listed(store: Store, figures: FiguresCache) -> None:
    def outcomes(number: int) -> list[dict[str, Any]]:
        return figures.query([INSTALLATION], NOW, lambda streams: list_outcomes(streams[0], pull_ref(number)))

    retries = [history.outcome_entry(OutcomeKind.RETRY, None, NOW + n * HOUR, number=4) for n in range(45)]
    write(store, *HISTORY, *retries)
    assert outcomes(3) == [{"outcome": "override", "eval_id": "e1", "at": "2026-11-21T08:00:00.000+00:00"}]
    assert [datetime.fromisoformat(outcome["at"]) for outcome in outcomes(4)] == [NOW + n * HOUR for n in range(5, 45)]
    assert outcomes(99) == []


def test_installations_share_the_limit_of_a_query(store: Store, figures: FiguresCache) -> None:
    other = InstallationId(101)
    write(store, *HISTORY)
    entry_id, fields = f"{history.milliseconds(NOON)}-1", _fields(history.completed_event())
    store.client.call("XADD", keys.events(other).name, entry_id, *fields)

    def behind() -> list[bool]:
        installations = [INSTALLATION, other]
        return figures.query(installations, NOW, lambda streams: [s.is_behind for s in streams], len(HISTORY))

    assert [behind(), behind()] == [[False, True], [False, False]]
