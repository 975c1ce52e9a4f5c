"""`assay stats`, `history` and `export`."""

import csv
import io
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.app.cli.assay_command import run_accepted
from tests.worker.adapters.redis.store_samples import judge_request, ledger_entry_of, pull_ref, start_judging_new
from tests.worker.evaluation.stats.history import (
    HOUR,
    INSTALLATION,
    NOON,
    completed_event,
    failed_event,
    outcome_entry,
    rejected_event,
    started_event,
)
from tests.worker.evaluation.stats.test_cache import write
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.model import InstallationId
from worker.domain.verdict.events import Demotion, OutcomeKind, RejectCounts
from worker.errors import InputError
from worker.evaluation.stats.export import COLUMNS, TYPED_COLUMNS
from worker.process import SystemClock

OTHER = InstallationId(200)
PARQUET = ("export", "--since", "2026-11-20", "--until", "2026-11-22", "--format", "parquet")
AROUND = ("--from", "2026-11-19", "--to", "2026-11-21")
HISTORY = (
    started_event("e1"),
    completed_event("e1"),
    outcome_entry(OutcomeKind.MERGED),
    rejected_event("e2", number=4, author_agent="codex"),
)


@pytest.fixture
def two_installations(records: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """The same events in two installations."""
    for installation in (INSTALLATION, OTHER):
        for at_ms, kind, raw in HISTORY:
            records.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path))
    return records


def run_json(*arguments: str) -> Any:
    return json.loads(run_accepted(*arguments, "--json"))


def test_stats_count_all_installations_or_the_named_one(two_installations: Store, tmp_path: Path) -> None:
    both = run_json("stats", *AROUND)
    assert set(both) == {"quality", "cost", "agreement", "backlog"}
    assert {row["value"]: row["verdict_count"] for row in both["quality"]["data"]} == {"copilot": 2, "codex": 2}
    named = run_json("stats", *AROUND, "--installation", str(INSTALLATION))
    assert {row["value"]: row["verdict_count"] for row in named["quality"]["data"]} == {"copilot": 1, "codex": 1}
    assert run_json("stats", *AROUND, *("--installation", str(INSTALLATION)) * 2) == named, (
        "named twice is counted once"
    )
    assert len(list((tmp_path / "figures").glob("*.sqlite3"))) == 2
    assert two_installations.client.call("KEYS", "*roll*") == []


def test_entries_from_a_clock_ahead_count_unless_an_end_is_named(two_installations: Store) -> None:
    ahead = SystemClock().now() + timedelta(days=400)
    for at_ms, kind, raw in (started_event("late", ahead), completed_event("late", ahead, author_agent="late")):
        two_installations.client.call("XADD", keys.events(INSTALLATION).name, f"{at_ms}-*", "k", kind, "j", raw)
    rows = run_json("stats", "--from", "2026-11-19")["quality"]["data"]
    assert {row["value"]: row["verdict_count"] for row in rows} == {"copilot": 2, "codex": 2, "late": 1}
    ended = run_json("stats", "--from", "2026-11-19", "--to", "0h")["quality"]["data"]
    assert {row["value"] for row in ended} == {"copilot", "codex"}
    assert "late" in run_accepted("stats", "--agents")


def test_foreign_stream_entries_are_skipped_and_reported(
    two_installations: Store, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    two_installations.client.call("XADD", "assay:abc:events", "*", "k", "x", "j", "{}")
    two_installations.client.call("SET", "assay:8:events", "no stream")
    two_installations.client.call(
        "XADD", keys.events(INSTALLATION).name, f"{2**64 - 1}-0", "k", "eval.completed", "j", completed_event("x")[2]
    )
    quality = run_json("stats", "--from", "2026-11-19")["quality"]
    assert {row["value"]: row["verdict_count"] for row in quality["data"]} == {"copilot": 2, "codex": 2}
    assert quality["skipped"] == {"broken": 1}
    run_accepted("stats")
    capsysbinary.readouterr()
    run_accepted("export", "--since", "2026-11-20")
    out, err = capsysbinary.readouterr()
    assert out.count(b"\n") == 4
    assert err == b"assay: left out, since it can't be read: 1 entry of the stream.\n"


@pytest.mark.usefixtures("two_installations")
def test_stats_page_has_a_daily_chart() -> None:
    page = run_accepted("stats", *AROUND, "--group-by", "rubric", "--min-confidence", "0.5")
    assert "2026-11-19 00:00 to 2026-11-21 00:00 UTC, by rubric" in page
    assert "Verdicts a day         _#  most 4" in page
    assert "Verdicts a day" not in run_accepted("stats", "--from", "2020-01-01", "--to", "2026-11-21")


@pytest.mark.usefixtures("two_installations")
@pytest.mark.parametrize(
    ("option", "expected", "topics"),
    [
        ("--would-block", "would block", {"quality", "overrides"}),
        ("--overrides", "By signal", {"overrides"}),
        ("--agents", "codex: 2 pull requests", {"agents"}),
    ],
)
def test_option_selects_another_page(option: str, expected: str, topics: set[str]) -> None:
    assert expected in run_accepted("stats", *AROUND, option)
    assert set(run_json("stats", *AROUND, option)) == topics


def test_overrides_page_lists_demotions_of_the_named_installations(two_installations: Store) -> None:
    demotion = Demotion(signal="stub_body", tally=RejectCounts(rejects=41, overturned=3), at=NOON)
    two_installations.demotions.demote(OTHER, demotion)
    assert "assay rubric promote stub_body --installation 200" in " ".join(run_accepted("stats", "--overrides").split())
    assert run_json("stats", "--overrides")["overrides"]["demotions"] == [demotion.notice(OTHER)]
    assert run_json("stats", "--overrides", "--installation", str(INSTALLATION))["overrides"]["demotions"] == []


@pytest.mark.usefixtures("two_installations")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (PARQUET, "name a file with --out"),
        ((*PARQUET, "--out", "/nowhere/all.parquet"), "can't be written"),
        (("export", "--out", "/nowhere/all.jsonl"), "can't be written"),
        (("history", "acme/widgets#2"), "Nothing is on record of acme/widgets#2 here"),
        (("history", "acme/widgets#1440016645"), "Nothing is on record of acme/widgets#1440016645 here"),
        (("stats", "--from", "soon"), "--from: expected an ISO 8601"),
        (("stats", "--group-by", "model"), "--group-by: expected one of"),
        (("export", "--until", "soon"), "--until: expected an ISO 8601"),
    ],
)
def test_unusable_option_is_an_input_error(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_accepted(*arguments)


def test_history_lists_the_verdicts_of_a_pull_request(two_installations: Store) -> None:
    entry = ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", start_judging_new(two_installations).lease.fence)
    two_installations.ledger.append(pull_ref(), entry)
    text = run_accepted("history", "acme/widgets#1")
    assert text.startswith("acme/widgets#1: 1 verdict\n")
    assert entry.eval_id in text
    assert run_json("history", "acme/widgets#1")["evaluations"][0]["eval_id"] == entry.eval_id


def test_history_includes_local_verdicts_of_the_pull_request(two_installations: Store) -> None:
    first = start_judging_new(two_installations).lease
    two_installations.ledger.append(pull_ref(), ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-000000000000", first.fence))
    second = two_installations.pulls.take_local_lease(judge_request(installation=0))
    two_installations.ledger.append(
        pull_ref(installation=0), ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-000000000001", second.fence)
    )
    two_installations.client.call("SADD", keys.repository_numbers("acme/widgets").name, "0:7", "300:7")
    shown = run_json("history", "acme/widgets#1")["evaluations"]
    assert [verdict["eval_id"][-1] for verdict in shown] == ["0", "1"]


def test_export_writes_json_lines_and_csv(
    two_installations: Store, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    two_installations.client.call(
        "XADD", keys.events(INSTALLATION).name, f"{HISTORY[0][0]}-*", "k", "eval.completed", "j", "{"
    )
    window = ("--since", "2026-11-20", "--until", "2026-11-21")
    assert run_accepted("export", *window) == ""
    out, err = capsysbinary.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["installation_id"], line["eval_id"]) for line in lines] == [
        (INSTALLATION, "e1"),
        (INSTALLATION, "e2"),
        (OTHER, "e1"),
        (OTHER, "e2"),
    ]
    assert err == b"assay: left out, since it can't be read: 1 entry of the stream.\n"
    run_accepted("export", *window, "--format", "csv", "--out", str(tmp_path / "all.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert [row["eval_id"] for row in rows] == ["e1", "e2", "e1", "e2"]
    assert {row["at"] for row in rows} == {NOON.isoformat(timespec="milliseconds")}
    run_accepted("export", "--since", "2026-11-21", "--until", "2026-11-22", "--out", str(tmp_path / "none.jsonl"))
    assert (tmp_path / "none.jsonl").read_bytes() == b""


@pytest.fixture
def one_installation(two_installations: Store) -> Store:
    """One installation with one broken entry."""
    two_installations.client.call("FLUSHALL")
    write(
        two_installations,
        started_event("e1"),
        rejected_event("e1"),
        failed_event("e2", bare=True),
        completed_event("e3", score="high"),
    )
    return two_installations


@pytest.mark.usefixtures("one_installation")
def test_parquet_without_its_extra_is_refused_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'assay\[parquet\]'"):
        run_accepted(*PARQUET, "--out", str(tmp_path / "all.parquet"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("one_installation")
def test_parquet_has_a_typed_column_for_every_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="an extra")
    run_accepted(*PARQUET, "--out", str(tmp_path / "all.parquet"))
    table = parquet.read_table(tmp_path / "all.parquet")
    assert table.column_names == list(TYPED_COLUMNS)
    first, second = table.to_pylist()
    assert (first["at"], first["installation_id"], first["eval_id"]) == (NOON, INSTALLATION, "e1")
    assert (first["score"], first["facts"], first["escalated"], first["signals"]) == (0.1, ["stub_body"], False, "{}")
    assert (first["judge_cost_usd"], second["failure_mode"], second["score"]) == ("0", "judge_call_failed", None)
    assert "1 entry" in capsys.readouterr().err


@pytest.mark.usefixtures("one_installation")
def test_export_since_1970_holds_everything(tmp_path: Path) -> None:
    run_accepted("export", "--since", "1970-01-01", "--out", str(tmp_path / "all"))
    assert (tmp_path / "all").read_bytes().count(b"\n") == 3


def export_lines(to: Path, *arguments: str) -> list[str]:
    run_accepted("export", *arguments, "--out", str(to))
    return to.read_text().splitlines()


def test_adjacent_export_windows_hold_each_entry_once(one_installation: Store, tmp_path: Path) -> None:
    one_installation.client.call("FLUSHALL")
    write(one_installation, *(completed_event(f"e{n}", NOON + n * HOUR / 4) for n in range(4)))
    between, end = ((NOON + HOUR * part).isoformat() for part in (0.5, 1))
    before = export_lines(tmp_path / "a", "--since", "2026-11-20", "--until", between)
    behind = export_lines(tmp_path / "b", "--since", between, "--until", end)
    assert [json.loads(line)["eval_id"] for line in (*before, *behind)] == ["e0", "e1", "e2", "e3"]
    assert (len(before), len(behind)) == (2, 2)


def test_export_without_an_end_includes_entries_from_a_clock_ahead(one_installation: Store, tmp_path: Path) -> None:
    one_installation.client.call("FLUSHALL")
    now = SystemClock().now()
    write(
        one_installation,
        completed_event("old", now - 8 * 24 * HOUR),
        completed_event("recent", now - HOUR),
        completed_event("ahead", now + 3 * HOUR),
    )
    assert [json.loads(line)["eval_id"] for line in export_lines(tmp_path / "a")] == ["recent", "ahead"]


@pytest.mark.usefixtures("one_installation")
def test_installation_named_twice_is_exported_once(tmp_path: Path) -> None:
    once = ("--since", "1970-01-01", "--installation", str(INSTALLATION))
    assert export_lines(tmp_path / "a", *once, "--installation", str(INSTALLATION)) == export_lines(
        tmp_path / "b", *once
    )


def test_empty_csv_has_its_header(one_installation: Store, tmp_path: Path) -> None:
    one_installation.client.call("FLUSHALL")
    assert export_lines(tmp_path / "a", "--format", "csv") == [",".join(COLUMNS)]
    assert export_lines(tmp_path / "b") == []


@pytest.mark.usefixtures("one_installation")
def test_empty_parquet_has_its_columns(tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="an extra")
    run_accepted(
        "export", "--since", "2026-11-21", "--until", "2026-11-22", "--format", "parquet", "--out", str(tmp_path / "a")
    )
    assert parquet.read_table(tmp_path / "a").shape == (0, len(TYPED_COLUMNS))
