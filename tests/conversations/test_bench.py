"""`assay bench` judges a team's own history."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.app.cli.assay_command import ASSAY, environment, run_assay
from tests.worker.evaluation.bench.samples import DONE, STUB, row, write_rows
from tests.world.fake_anthropic import FakeAnthropic, HeldReply
from tests.world.replies import cannot_tell
from worker.evaluation.bench.runner import forecast_rows
from worker.settings import read_settings
from worker.wiring.judge import open_judge_context
from worker.wiring.rejudge import prompt_meter

ROOT = Path(__file__).resolve().parent.parent.parent
GOOD, STUBBED = {"decision": "accept", "why": "clean"}, {"decision": "reject", "category": "half_finished"}
UNTESTED = "def test_load():\n    load('a')\n"
ROWS = 60
INVALID_LIMITS = ("-1", "x", "1e3", "1.0000000001", "")
EASY_ROWS, HARD_ROWS, HARD_MARK = 6, 6, "    # hard row\n"
"""The model replies to easy rows immediately; replies to hard rows are held."""


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """Matplotlib's font cache is kept, because to build it takes seconds."""
    return environment(tmp_path / "state", XDG_CACHE_HOME=str(Path.home() / ".cache"))


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Good changes, stubs, and tests without assertions, a third each."""
    kinds = ((DONE, GOOD), (STUB, STUBBED), (UNTESTED, {"decision": "reject", "category": "weak_test"}))
    rows = (row(f"row-{number}", kinds[number % 3][0], expect=kinds[number % 3][1]) for number in range(ROWS))
    return write_rows(tmp_path / "history.jsonl", *rows)


def run_bench(settings: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_assay("bench", *map(str, arguments), environ=settings)


def read_verdicts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]


def read_decisions(folder: Path) -> list[tuple[str, str, float]]:
    return [(entry["id"], entry["verdict"]["decision"], entry["verdict"]["score"]) for entry in read_verdicts(folder)]


def read_report(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text())


def stop_bench(process: "subprocess.Popen[str]", folder: Path, how: signal.Signals) -> tuple[int, str]:
    """Stop a run at the first hard row, and return its status and stderr."""
    verdicts = folder / "verdicts.jsonl"
    while not verdicts.exists() or verdicts.read_bytes().count(b"\n") < EASY_ROWS:
        assert process.poll() is None, process.communicate()
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    else:
        process.send_signal(how)
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr


def test_corpus_is_judged_and_reported(settings: dict[str, str], history: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run_bench(settings, history, "--tier", "heuristic", "--out", out, "--jobs", 2)

    assert (done.returncode, re.sub(r"assay: \d+ of \d+ dossiers.*\n", "", done.stderr)) == (0, "")  # each ten seconds
    assert done.stdout.splitlines()[0].startswith(f"{ROWS} dossiers judged, ")
    assert "half_finished: rejected 100.0 % (20 of 20; " in done.stdout
    assert "Good changes rejected: 0.0 % (0 of 20; " in done.stdout
    assert [entry["id"] for entry in read_verdicts(out)] == [f"row-{number}" for number in range(ROWS)]
    assert read_verdicts(out)[0]["verdict"]["subject"]["kind"] == "benchmark"
    assert read_report(out)["recalls"]["category"]["half_finished"]["rejected"]["rate"] == 1.0
    text = (out / "report.md").read_text()
    assert "| reject: half_finished | 20 | 0.0 % (0) | 100.0 % (20) | 0.0 % (0) |" in text
    for name in re.findall(r"!\[[^]]+\]\(([^)]+)\)", text):
        assert (out / name).read_text().startswith("<?xml")
    assert ("decisions.svg" in text) is not ("There are no plots: they need matplotlib. Install `assay[bench]`" in text)


@pytest.mark.slow
def test_run_is_compared_with_an_earlier_run(settings: dict[str, str], history: Path, tmp_path: Path) -> None:
    rubric = tmp_path / "rubric.yml"
    text = (ROOT / "rubrics" / "default.yml").read_text()
    before = re.search(r"^  parameter_unused: .*$", text, re.MULTILINE)
    assert before is not None
    rubric.write_text(text.replace(before[0], "  parameter_unused: 0.9"))
    old, new = tmp_path / "old", tmp_path / "new"
    half = "def load(path, mode):\n    print(path)\n"
    expect = {"decision": "reject", "category": "scope_creep"}
    changed = write_rows(tmp_path / "more.jsonl", row("half", half, expect=expect))

    assert run_bench(settings, history, changed, "--out", old).returncode == 0
    refused = run_bench(settings, history, changed, "--out", old, "--rubric", rubric)
    assert refused.returncode == 2
    assert "holds a run with another rubric. Give another folder with --out" in refused.stderr

    done = run_bench(settings, history, changed, "--out", new, "--rubric", rubric, "--against", old)
    assert (done.returncode, done.stderr) == (0, "")
    against = read_report(new)["against"]
    assert (against["rows"], against["only_now"], against["differences"]) == (ROWS + 1, 0, [])
    moved = {move["id"]: move for move in against["moved"]}
    assert "half" in moved
    assert moved["half"]["now"] < moved["half"]["before"]
    assert moved["half"]["is_better"] is True
    page = (new / "report.md").read_text()
    assert f"Both hold {ROWS + 1} dossiers; 0 only this one, 0 only the earlier one." in page
    assert "| `half` | reject: scope_creep |" in page


@pytest.mark.slow
def test_dossier_saved_by_command_line_is_a_row(settings: dict[str, str], tmp_path: Path) -> None:
    saved = tmp_path / "dossier.json"
    assert run_assay("judge", "--example", "--save-dossier", str(saved), environ=settings).returncode == 1
    line = {"id": "example", "dossier": json.loads(saved.read_text()), "evaluate": {"grounding_tokens": ["upload"]}}
    done = run_bench(settings, write_rows(tmp_path / "one.jsonl", line), "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    verdict = read_verdicts(tmp_path / "out")[0]["verdict"]
    assert (verdict["decision"], verdict["category"]) == ("reject", "half_finished")
    assert "workload_grounding_score" in verdict["signals"]
    assert read_report(tmp_path / "out")["evaluated"][0] == 1


@pytest.mark.slow
def test_invalid_arguments_are_reported_before_anything_is_judged(
    settings: dict[str, str], model_settings: dict[str, str], history: Path, tmp_path: Path
) -> None:
    bad = write_rows(tmp_path / "bad.jsonl", row("fine"), {**row("bad"), "expect": {"decision": "maybe"}})
    (tmp_path / "twin").mkdir()
    doubled = write_rows(tmp_path / "twin" / "history.jsonl", row("fine"))
    out = tmp_path / "out"
    run = (history, "--out", out)
    for environ, arguments, expected in (
        (settings, [bad, "--out", out], f"{bad}:2: expect.decision: "),
        (settings, [history, doubled, "--out", out], "Two files are called history.jsonl"),
        (settings, [*run, "--against", tmp_path / "none"], "none/verdicts.jsonl can't be read"),
        (settings, [*run, "--against", out], "--against and --out are both"),
        (settings, [tmp_path / "none.jsonl", "--out", out], "none.jsonl can't be read"),
        (settings, [*run, "--rubric", tmp_path / "none.yml"], "none.yml"),
        (settings, [*run, "--jobs", "0"], "expected a number from 1"),
        (settings, [history, "--out", ""], "argument --out: expected a path, found ''"),
        (settings, [*run, "--rubric", ""], "argument --rubric: expected a path, found ''"),
        (settings, [*run, "--against", ""], "argument --against: expected a path, found ''"),
        (settings, [history], "--out"),
        (settings, [*run, "--max-usd", "1"], "--max-usd: no model would be asked"),
        (model_settings, run, "Say with --max-usd what it may cost"),
        *((settings, [*run, f"--max-usd={limit}"], "expected dollars like 2.50") for limit in INVALID_LIMITS),
    ):
        done = run_bench(environ, *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert expected in done.stderr
        assert "Traceback" not in done.stderr
        assert not out.exists()


@pytest.mark.parametrize("is_installed", [True, False])
@pytest.mark.slow
def test_report_has_plots_only_with_matplotlib(
    settings: dict[str, str],
    tmp_path: Path,
    is_installed: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    if is_installed:
        pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    arguments = ["bench", str(write_rows(tmp_path / "rows.jsonl", row("a", expect=GOOD))), "--out", str(out)]
    hide = (
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'matplotlib' else find(name, package)\n"
    )
    program = f"{'' if is_installed else hide}from app.cli.main import run\nrun()"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, *arguments], env=settings, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert ("Install `assay[bench]`" in (out / "report.md").read_text()) is not is_installed
    assert (out / "decisions.svg").exists() is is_installed


@pytest.fixture
def model() -> Iterator[FakeAnthropic]:
    with HTTPServer(threaded=True) as server:
        fake = FakeAnthropic(server)
        yield fake
        fake.assert_script_done()


@pytest.fixture
def model_settings(settings: dict[str, str], model: FakeAnthropic) -> dict[str, str]:
    return {**settings, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": model.url, "ASSAY_MODEL_ATTEMPTS": "1"}


@pytest.fixture
def hard_rows(tmp_path: Path) -> Path:
    rows = (
        row(f"row-{number}", DONE if number < EASY_ROWS else f"{DONE}{HARD_MARK}")
        for number in range(EASY_ROWS + HARD_ROWS)
    )
    return write_rows(tmp_path / "hard.jsonl", *rows)


@pytest.fixture
def held_reply(model: FakeAnthropic) -> HeldReply:
    held = model.hold_replies_to(lambda asked: HARD_MARK in asked.text)
    model.reply_by(lambda _: cannot_tell())
    return held


def start_bench(settings: dict[str, str], *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(ASSAY), "bench", *map(str, arguments)], env=settings, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed within a line"])
def test_interrupted_run_continues_where_it_stopped(
    model_settings: dict[str, str], held_reply: HeldReply, hard_rows: Path, tmp_path: Path, how: signal.Signals
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    arguments = (hard_rows, "--max-usd", "1", "--jobs", 2)
    code, stderr = stop_bench(start_bench(model_settings, *arguments, "--out", out), out, how)

    kept = read_verdicts(out)
    assert len(kept) == EASY_ROWS
    assert not (out / "report.md").exists()
    if how is signal.SIGINT:
        assert code == 130
        assert (
            f"{EASY_ROWS} of {EASY_ROWS + HARD_ROWS} are judged; the same command goes on from there."
            in stderr.splitlines()
        )
        assert "Traceback" not in stderr
    else:
        assert code == -signal.SIGKILL
        with (out / "verdicts.jsonl").open("a") as file:
            file.write('{"id": "row-half", "verd')

    held_reply.release()
    resumed = run_bench(model_settings, *arguments, "--out", out)
    assert resumed.returncode == 0, resumed.stderr
    assert read_verdicts(out)[:EASY_ROWS] == kept
    assert [entry["id"] for entry in read_verdicts(out)] == [f"row-{number}" for number in range(EASY_ROWS + HARD_ROWS)]
    if how is signal.SIGINT:
        assert run_bench(model_settings, hard_rows, "--max-usd", "1", "--jobs", 1, "--out", whole).returncode == 0
        assert read_decisions(out) == read_decisions(whole)


@pytest.mark.slow
def test_run_with_model_states_its_price_and_stops_at_the_limit(
    model_settings: dict[str, str], model: FakeAnthropic, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", *(row(f"row-{number}", expect=GOOD) for number in range(12)))
    model.reply_by(lambda _: cannot_tell())
    out = tmp_path / "out"
    limit = estimate_request_usd(rows, model_settings) + Decimal("0.0004")  # three replies
    first = run_bench(model_settings, rows, "--out", out, "--max-usd", limit, "--jobs", 1)

    assert first.returncode == 2, first.stdout
    assert "About 12 of 12 dossiers need the model: about $" in first.stderr
    assert f"The limit is ${limit}, $0.0000 of it spent." in first.stderr
    assert "The limit is reached. Give a larger --max-usd to go on." in first.stderr
    kept = len(read_verdicts(out))
    assert 0 < kept < 12
    assert f"{kept} of 12 are judged; the same command goes on from there." in first.stderr
    asked = len(model.requests)

    resumed = run_bench(model_settings, rows, "--out", out, "--max-usd", "1", "--jobs", 1)
    assert resumed.returncode == 0, resumed.stderr
    assert len(model.requests) - asked == (12 - kept) * (asked // kept)
    text = (out / "report.md").read_text()
    assert "## Beside the $0 tier" in text
    assert "The model was asked about 100.0 % (12 of 12;" in text
    assert "calibration error (ECE)" in text
    figures = read_report(out)["tiers"]
    assert float(figures["spent_usd"]) == pytest.approx(float(read_report(out)["cost_usd"]))
    assert figures["zero"]["decided"]["hits"] == 0


def estimate_request_usd(rows: Path, environ: dict[str, str]) -> Decimal:
    """The reservation for one request and its correction, halved."""
    settings = read_settings(environ)
    assert settings.model is not None
    with open_judge_context(settings, "hybrid") as judges:
        forecast = forecast_rows([rows], 12, judges, prompt_meter(settings.model))
    assert forecast.most_usd is not None
    return forecast.most_usd / 12 / 2


@pytest.mark.slow
def test_run_stops_on_model_outage(model_settings: dict[str, str], model: FakeAnthropic, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", *(row(f"row-{number}") for number in range(3)))
    model.fail_from_now_on(401)
    done = run_bench(model_settings, rows, "--out", tmp_path / "out", "--max-usd", "1", "--jobs", 1)
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY is not accepted" in done.stderr
    assert "0 of 3 are judged; the same command goes on from there." in done.stderr
    assert read_verdicts(tmp_path / "out") == []


@pytest.mark.slow
def test_recorded_run_counts_only_in_benchmark_statistics(settings: dict[str, str], tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", row("good", expect=GOOD), row("stub", STUB, expect=STUBBED))
    for _ in range(2):
        assert run_bench(settings, rows, "--out", tmp_path / "run", "--tier", "heuristic", "--record").returncode == 0
    own, others = (
        json.loads(run_assay("stats", "--json", *more, environ=settings).stdout)
        for more in (("--subject", "benchmark"), ())
    )
    assert [point["verdict_count"] for point in own["quality"]["data"]] == [2]
    assert [point["open"] for point in own["backlog"]["data"]] == [0]
    assert (others["quality"]["data"], others["cost"]["data"]) == ([], [])
