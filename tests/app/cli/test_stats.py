"""`assay stats`, `history` and `export`, called as the command line calls them."""

import csv
import io
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from tests.worker.adapters.redis.store_samples import judge_request, pull_ref
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
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
from worker.clock import SystemClock
from worker.domain.ids import InstallationId
from worker.domain.verdict.outcomes import Demotion, OutcomeKind, RejectCounts
from worker.errors import InputError
from worker.evaluation.stats.export import COLUMNS, TYPED_COLUMNS

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
def told(records: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """Two installations; the environment leads to their Redis."""
    for installation in (INSTALLATION, OTHER):
        for at_ms, kind, raw in HISTORY:
            records.client.call("XADD", keys.events(installation).name, f"{at_ms}-*", "k", kind, "j", raw)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path))
    return records


def assay(*given: str) -> str:
    """What a command prints; it has to end well."""
    code, text = run_command(*given)
    assert code == Exit.ACCEPT
    return text


def as_json(*given: str) -> Any:
    return json.loads(assay(*given, "--json"))


def test_all_installations_are_counted_together_or_the_one_that_is_named(told: Store, tmp_path: Path) -> None:
    both = as_json("stats", *AROUND)
    assert set(both) == {"quality", "cost", "agreement", "backlog"}
    assert {row["value"]: row["verdict_count"] for row in both["quality"]["data"]} == {"copilot": 2, "codex": 2}
    one = as_json("stats", *AROUND, "--installation", str(INSTALLATION))
    assert {row["value"]: row["verdict_count"] for row in one["quality"]["data"]} == {"copilot": 1, "codex": 1}
    assert as_json("stats", *AROUND, *("--installation", str(INSTALLATION)) * 2) == one, "named twice is counted once"
    assert len(list((tmp_path / "figures").glob("*.sqlite3"))) == 2
    assert told.client.call("KEYS", "*roll*") == []


def test_what_a_clock_that_was_ahead_has_written_is_told_unless_an_end_is_named(told: Store) -> None:
    ahead = SystemClock().now() + timedelta(days=400)
    for at_ms, kind, raw in (started_event("late", ahead), completed_event("late", ahead, author_agent="late")):
        told.client.call("XADD", keys.events(INSTALLATION).name, f"{at_ms}-*", "k", kind, "j", raw)
    rows = as_json("stats", "--from", "2026-11-19")["quality"]["data"]
    assert {row["value"]: row["verdict_count"] for row in rows} == {"copilot": 2, "codex": 2, "late": 1}
    ended = as_json("stats", "--from", "2026-11-19", "--to", "0h")["quality"]["data"]
    assert {row["value"] for row in ended} == {"copilot", "codex"}
    assert "late" in assay("stats", "--agents")


def test_what_somebody_else_wrote_stops_no_command(told: Store, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    told.client.call("XADD", "assay:abc:events", "*", "k", "x", "j", "{}")
    told.client.call("SET", "assay:8:events", "no stream")
    told.client.call(
        "XADD", keys.events(INSTALLATION).name, f"{2**64 - 1}-0", "k", "eval.completed", "j", completed_event("x")[2]
    )
    said = as_json("stats", "--from", "2026-11-19")["quality"]
    assert {row["value"]: row["verdict_count"] for row in said["data"]} == {"copilot": 2, "codex": 2}
    assert said["skipped"] == {"broken": 1}
    assay("stats")
    capsysbinary.readouterr()
    assay("export", "--since", "2026-11-20")
    out, err = capsysbinary.readouterr()
    assert out.count(b"\n") == 4
    assert err == b"assay: left out, since it can't be read: 1 entry of the stream.\n"


@pytest.mark.usefixtures("told")
def test_the_page_tells_of_every_day() -> None:
    said = assay("stats", *AROUND, "--group-by", "rubric", "--min-confidence", "0.5")
    assert "2026-11-19 00:00 to 2026-11-21 00:00 UTC, by rubric" in said
    assert "Verdicts a day         _#  most 4" in said
    assert "Verdicts a day" not in assay("stats", "--from", "2020-01-01", "--to", "2026-11-21")


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("option", "said", "topics"),
    [
        ("--would-block", "would block", {"quality", "overrides"}),
        ("--overrides", "By signal", {"overrides"}),
        ("--agents", "codex: 2 pull requests", {"agents"}),
    ],
)
def test_other_pages_are_asked_for_by_name(option: str, said: str, topics: set[str]) -> None:
    assert said in assay("stats", *AROUND, option)
    assert set(as_json("stats", *AROUND, option)) == topics


def test_a_demoted_signal_is_told_under_what_was_overridden_of_the_installations_that_are_meant(told: Store) -> None:
    demotion = Demotion(signal="stub_body", tally=RejectCounts(rejects=41, overturned=3), at=NOON)
    told.demotions.demote(OTHER, demotion)
    assert "assay rubric promote stub_body --installation 200" in " ".join(assay("stats", "--overrides").split())
    assert as_json("stats", "--overrides")["overrides"]["demotions"] == [demotion.notice(OTHER)]
    assert as_json("stats", "--overrides", "--installation", str(INSTALLATION))["overrides"]["demotions"] == []


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("given", "said"),
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
def test_an_option_that_can_not_be_used_is_told(given: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        assay(*given)


def test_a_pull_requests_history_is_told(told: Store) -> None:
    made = ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000", start_judging_new(told).lease.fence)
    told.ledger.append(pull_ref(), made)
    said = assay("history", "acme/widgets#1")
    assert said.startswith("acme/widgets#1: 1 verdict\n")
    assert made.eval_id in said
    assert as_json("history", "acme/widgets#1")["evaluations"][0]["eval_id"] == made.eval_id


def test_what_a_laptop_judged_of_the_same_pull_request_is_in_its_history(told: Store) -> None:
    first = start_judging_new(told).lease
    told.ledger.append(pull_ref(), ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-000000000000", first.fence))
    second = told.pulls.take_local_lease(judge_request(installation=0))
    told.ledger.append(pull_ref(installation=0), ledger_entry_of("0190aaaa-bbbb-7ccc-8ddd-000000000001", second.fence))
    told.client.call("SADD", keys.repository_numbers("acme/widgets").name, "0:7", "300:7")
    shown = as_json("history", "acme/widgets#1")["evaluations"]
    assert [one["eval_id"][-1] for one in shown] == ["0", "1"]


def test_verdicts_are_written_as_lines(told: Store, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    told.client.call("XADD", keys.events(INSTALLATION).name, f"{HISTORY[0][0]}-*", "k", "eval.completed", "j", "{")
    window = ("--since", "2026-11-20", "--until", "2026-11-21")
    assert assay("export", *window) == ""
    out, err = capsysbinary.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["installation_id"], line["eval_id"]) for line in lines] == [
        (INSTALLATION, "e1"),
        (INSTALLATION, "e2"),
        (OTHER, "e1"),
        (OTHER, "e2"),
    ]
    assert err == b"assay: left out, since it can't be read: 1 entry of the stream.\n"
    assay("export", *window, "--format", "csv", "--out", str(tmp_path / "all.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert [row["eval_id"] for row in rows] == ["e1", "e2", "e1", "e2"]
    assert {row["at"] for row in rows} == {NOON.isoformat(timespec="milliseconds")}
    assay("export", "--since", "2026-11-21", "--until", "2026-11-22", "--out", str(tmp_path / "none.jsonl"))
    assert (tmp_path / "none.jsonl").read_bytes() == b""


@pytest.fixture
def stream(told: Store) -> Store:
    """One installation, of whose entries one is broken."""
    told.client.call("FLUSHALL")
    write(
        told,
        started_event("e1"),
        rejected_event("e1"),
        failed_event("e2", bare=True),
        completed_event("e3", score="high"),
    )
    return told


@pytest.mark.usefixtures("stream")
def test_without_the_extra_the_error_names_it_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'assay\[parquet\]'"):
        assay(*PARQUET, "--out", str(tmp_path / "all.parquet"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("stream")
def test_parquet_has_a_column_of_its_kind_for_every_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="an extra")
    assay(*PARQUET, "--out", str(tmp_path / "all.parquet"))
    found = parquet.read_table(tmp_path / "all.parquet")
    assert found.column_names == list(TYPED_COLUMNS)
    first, second = found.to_pylist()
    assert (first["at"], first["installation_id"], first["eval_id"]) == (NOON, INSTALLATION, "e1")
    assert (first["score"], first["facts"], first["escalated"], first["signals"]) == (0.1, ["stub_body"], False, "{}")
    assert (first["judge_cost_usd"], second["failure_mode"], second["score"]) == ("0", "judge_call_failed", None)
    assert "1 entry" in capsys.readouterr().err


@pytest.mark.usefixtures("stream")
def test_all_since_1970_is_all_that_is_there(tmp_path: Path) -> None:
    assay("export", "--since", "1970-01-01", "--out", str(tmp_path / "all"))
    assert (tmp_path / "all").read_bytes().count(b"\n") == 3


def exported(to: Path, *given: str) -> list[str]:
    assay("export", *given, "--out", str(to))
    return to.read_text().splitlines()


def test_what_is_exported_up_to_a_moment_and_from_it_on_is_each_there_once(stream: Store, tmp_path: Path) -> None:
    stream.client.call("FLUSHALL")
    write(stream, *(completed_event(f"e{n}", NOON + n * HOUR / 4) for n in range(4)))
    between, end = ((NOON + HOUR * part).isoformat() for part in (0.5, 1))
    before = exported(tmp_path / "a", "--since", "2026-11-20", "--until", between)
    behind = exported(tmp_path / "b", "--since", between, "--until", end)
    assert [json.loads(line)["eval_id"] for line in (*before, *behind)] == ["e0", "e1", "e2", "e3"]
    assert (len(before), len(behind)) == (2, 2)


def test_without_an_end_all_is_exported_also_what_a_clock_ahead_of_ours_wrote(stream: Store, tmp_path: Path) -> None:
    stream.client.call("FLUSHALL")
    now = SystemClock().now()
    write(
        stream,
        completed_event("old", now - 8 * 24 * HOUR),
        completed_event("recent", now - HOUR),
        completed_event("ahead", now + 3 * HOUR),
    )
    assert [json.loads(line)["eval_id"] for line in exported(tmp_path / "a")] == ["recent", "ahead"]


@pytest.mark.usefixtures("stream")
def test_an_installation_that_is_named_twice_is_exported_once(tmp_path: Path) -> None:
    once = ("--since", "1970-01-01", "--installation", str(INSTALLATION))
    assert exported(tmp_path / "a", *once, "--installation", str(INSTALLATION)) == exported(tmp_path / "b", *once)


def test_a_table_of_nothing_has_its_columns(stream: Store, tmp_path: Path) -> None:
    stream.client.call("FLUSHALL")
    assert exported(tmp_path / "a", "--format", "csv") == [",".join(COLUMNS)]
    assert exported(tmp_path / "b") == []


@pytest.mark.usefixtures("stream")
def test_parquet_of_nothing_has_its_columns(tmp_path: Path) -> None:
    parquet: Any = pytest.importorskip("pyarrow.parquet", reason="an extra")
    assay(
        "export", "--since", "2026-11-21", "--until", "2026-11-22", "--format", "parquet", "--out", str(tmp_path / "a")
    )
    assert parquet.read_table(tmp_path / "a").shape == (0, len(TYPED_COLUMNS))
