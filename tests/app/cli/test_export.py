"""`assay export`: where no lines are wanted, and where all are."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.cli.test_stats import assay
from tests.worker.adapters.redis.played import KEY
from tests.worker.evaluation.stats.test_cache import write
from tests.worker.evaluation.stats.told import HERE, HOUR, NOON, completed, failed, rejected, started
from tests.world.redis import Redis
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.errors import InputError
from worker.evaluation.stats.export import COLUMNS, TYPED_COLUMNS

WINDOW = ("export", "--since", "2026-11-20", "--until", "2026-11-22", "--format", "parquet")


@pytest.fixture
def told(store: Store, redis_server: Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("ASSAY_STORE_KEYS", KEY.get_secret_value())
    store.client.call("FLUSHALL")
    write(store, started("e1"), rejected("e1"), failed("e2", bare=True), completed("e3", score="high"))
    yield store
    store.client.call("FLUSHALL")


@pytest.mark.usefixtures("told")
def test_without_the_extra_the_error_names_it_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'assay\[parquet\]'"):
        assay(*WINDOW, "--out", str(tmp_path / "all.parquet"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("told")
def test_parquet_needs_a_file() -> None:
    with pytest.raises(InputError, match="name a file with --out"):
        assay(*WINDOW)


@pytest.mark.usefixtures("told")
def test_parquet_has_a_column_of_its_kind_for_every_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="an extra")
    assay(*WINDOW, "--out", str(tmp_path / "all.parquet"))
    found = parquet.read_table(tmp_path / "all.parquet")
    assert found.column_names == list(TYPED_COLUMNS)
    first, second = found.to_pylist()
    assert (first["at"], first["installation_id"], first["eval_id"]) == (NOON, HERE, "e1")
    assert (first["score"], first["facts"], first["escalated"], first["signals"]) == (0.1, ["stub_body"], False, "{}")
    assert (first["judge_cost_usd"], second["failure_mode"], second["score"]) == ("0", "judge_call_failed", None)
    assert "1 entry" in capsys.readouterr().err
    with pytest.raises(InputError, match="can't be written"):
        assay(*WINDOW, "--out", str(tmp_path / "no" / "folder"))


@pytest.mark.usefixtures("told")
def test_all_since_1970_is_all_that_is_there(tmp_path: Path) -> None:
    assay("export", "--since", "1970-01-01", "--out", str(tmp_path / "all"))
    assert (tmp_path / "all").read_bytes().count(b"\n") == 3


def exported(to: Path, *given: str) -> list[str]:
    assay("export", *given, "--out", str(to))
    return to.read_text().splitlines()


def test_what_is_exported_up_to_a_moment_and_from_it_on_is_each_there_once(told: Store, tmp_path: Path) -> None:
    told.client.call("FLUSHALL")
    write(told, *(completed(f"e{n}", NOON + n * HOUR / 4) for n in range(4)))
    between, end = ((NOON + HOUR * part).isoformat() for part in (0.5, 1))
    before = exported(tmp_path / "a", "--since", "2026-11-20", "--until", between)
    behind = exported(tmp_path / "b", "--since", between, "--until", end)
    assert [json.loads(line)["eval_id"] for line in (*before, *behind)] == ["e0", "e1", "e2", "e3"]
    assert (len(before), len(behind)) == (2, 2)


def test_without_an_end_all_is_exported_also_what_a_clock_ahead_of_ours_wrote(told: Store, tmp_path: Path) -> None:
    told.client.call("FLUSHALL")
    now = SystemClock().now()
    write(
        told, completed("old", now - 8 * 24 * HOUR), completed("recent", now - HOUR), completed("ahead", now + 3 * HOUR)
    )
    assert [json.loads(line)["eval_id"] for line in exported(tmp_path / "a")] == ["recent", "ahead"]


@pytest.mark.usefixtures("told")
def test_an_installation_that_is_named_twice_is_exported_once(tmp_path: Path) -> None:
    once = ("--since", "1970-01-01", "--installation", str(HERE))
    assert exported(tmp_path / "a", *once, "--installation", str(HERE)) == exported(tmp_path / "b", *once)


def test_a_table_of_nothing_has_its_columns(told: Store, tmp_path: Path) -> None:
    told.client.call("FLUSHALL")
    assert exported(tmp_path / "a", "--format", "csv") == [",".join(COLUMNS)]
    assert exported(tmp_path / "b") == []


@pytest.mark.usefixtures("told")
def test_parquet_of_nothing_has_its_columns(tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="an extra")
    assay(
        "export", "--since", "2026-11-21", "--until", "2026-11-22", "--format", "parquet", "--out", str(tmp_path / "a")
    )
    assert parquet.read_table(tmp_path / "a").shape == (0, len(TYPED_COLUMNS))
