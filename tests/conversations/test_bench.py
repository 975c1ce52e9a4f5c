"""`assay bench`: a team holds its rubric against its own history."""

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
NO_SUMS = ("-1", "x", "1e3", "1.0000000001", "")
EASY, HARD, HARDLY = 6, 6, "    # hardly anybody knows\n"
"""Rows that the model answers at once, then rows that it thinks about, and what those say."""


@pytest.fixture
def told(tmp_path: Path) -> dict[str, str]:
    """What matplotlib knows of the machine's fonts stays where it keeps it: to look for them takes it seconds."""
    return environment(tmp_path / "state", XDG_CACHE_HOME=str(Path.home() / ".cache"))


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A third each: good changes, stubs, and tests that assert nothing."""
    kinds = ((DONE, GOOD), (STUB, STUBBED), (UNTESTED, {"decision": "reject", "category": "weak_test"}))
    rows = (row(f"row-{one}", kinds[one % 3][0], expect=kinds[one % 3][1]) for one in range(ROWS))
    return write_rows(tmp_path / "history.jsonl", *rows)


def bench(told: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_assay("bench", *map(str, arguments), environ=told)


def verdicts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]


def decided(folder: Path) -> list[tuple[str, str, float]]:
    return [(one["id"], one["verdict"]["decision"], one["verdict"]["score"]) for one in verdicts(folder)]


def report(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text())


def stopped(process: "subprocess.Popen[str]", folder: Path, how: signal.Signals) -> tuple[int, str]:
    """Stop a run whose model thinks about the first row that is not judged yet, and see how it ended."""
    verdicts = folder / "verdicts.jsonl"
    while not verdicts.exists() or verdicts.read_bytes().count(b"\n") < EASY:
        assert process.poll() is None, process.communicate()
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does
    else:
        process.send_signal(how)
    _, said = process.communicate(timeout=60)  # it ends when the last process that could write there has
    return process.returncode, said


def test_a_corpus_is_judged_and_reported(told: dict[str, str], history: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = bench(told, history, "--tier", "heuristic", "--out", out, "--jobs", 2)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith(f"{ROWS} dossiers judged, ")
    assert "half_finished: rejected 100.0 % (20 of 20; " in done.stdout
    assert "Good changes rejected: 0.0 % (0 of 20; " in done.stdout
    assert [one["id"] for one in verdicts(out)] == [f"row-{one}" for one in range(ROWS)]
    assert verdicts(out)[0]["verdict"]["subject"]["kind"] == "benchmark"
    assert report(out)["recalls"]["category"]["half_finished"]["rejected"]["rate"] == 1.0
    text = (out / "report.md").read_text()
    assert "| reject: half_finished | 20 | 0.0 % (0) | 100.0 % (20) | 0.0 % (0) |" in text
    for name in re.findall(r"!\[[^]]+\]\(([^)]+)\)", text):
        assert (out / name).read_text().startswith("<?xml")
    assert ("decisions.svg" in text) is not ("There are no plots: they need matplotlib. Install `assay[bench]`" in text)


@pytest.mark.slow
def test_another_weight_is_compared_with_the_earlier_run(told: dict[str, str], history: Path, tmp_path: Path) -> None:
    rubric = tmp_path / "rubric.yml"
    text = (ROOT / "rubrics" / "default.yml").read_text()
    before = re.search(r"^  parameter_unused: .*$", text, re.MULTILINE)
    assert before is not None
    rubric.write_text(text.replace(before[0], "  parameter_unused: 0.9"))
    old, new = tmp_path / "old", tmp_path / "new"
    half = "def load(path, mode):\n    print(path)\n"
    changed = write_rows(
        tmp_path / "more.jsonl", row("half", half, expect={"decision": "reject", "category": "scope_creep"})
    )

    assert bench(told, history, changed, "--out", old).returncode == 0
    refused = bench(told, history, changed, "--out", old, "--rubric", rubric)
    assert refused.returncode == 2
    assert "holds a run with another rubric. Give another folder with --out" in refused.stderr

    done = bench(told, history, changed, "--out", new, "--rubric", rubric, "--against", old)
    assert (done.returncode, done.stderr) == (0, "")
    against = report(new)["against"]
    assert (against["rows"], against["only_now"], against["differences"]) == (ROWS + 1, 0, [])
    moved = {one["id"]: one for one in against["moved"]}
    assert "half" in moved
    assert moved["half"]["now"] < moved["half"]["before"]
    assert moved["half"]["is_better"] is True
    page = (new / "report.md").read_text()
    assert f"Both hold {ROWS + 1} dossiers; 0 only this one, 0 only the earlier one." in page
    assert "| `half` | reject: scope_creep |" in page


@pytest.mark.slow
def test_a_recorded_dossier_of_the_command_line_is_a_row(told: dict[str, str], tmp_path: Path) -> None:
    saved = tmp_path / "dossier.json"
    assert run_assay("judge", "--example", "--save-dossier", str(saved), environ=told).returncode == 1
    line = {"id": "example", "dossier": json.loads(saved.read_text()), "evaluate": {"grounding_tokens": ["upload"]}}
    done = bench(told, write_rows(tmp_path / "one.jsonl", line), "--out", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    verdict = verdicts(tmp_path / "out")[0]["verdict"]
    assert (verdict["decision"], verdict["category"]) == ("reject", "half_finished")
    assert "workload_grounding_score" in verdict["signals"]
    assert report(tmp_path / "out")["evaluated"][0] == 1


@pytest.mark.slow
def test_what_is_wrong_with_a_call_is_said_before_anything_is_judged(
    told: dict[str, str], with_key: dict[str, str], history: Path, tmp_path: Path
) -> None:
    bad = write_rows(tmp_path / "bad.jsonl", row("fine"), {**row("bad"), "expect": {"decision": "maybe"}})
    (tmp_path / "twin").mkdir()
    doubled = write_rows(tmp_path / "twin" / "history.jsonl", row("fine"))
    out = tmp_path / "out"
    run = (history, "--out", out)
    for environ, arguments, said in (
        (told, [bad, "--out", out], f"{bad}:2: expect.decision: "),
        (told, [history, doubled, "--out", out], "Two files are called history.jsonl"),
        (told, [*run, "--against", tmp_path / "none"], "none/verdicts.jsonl can't be read"),
        (told, [*run, "--against", out], "--against and --out are both"),
        (told, [tmp_path / "none.jsonl", "--out", out], "none.jsonl can't be read"),
        (told, [*run, "--rubric", tmp_path / "none.yml"], "none.yml"),
        (told, [*run, "--jobs", "0"], "expected a number from 1"),
        (told, [history, "--out", ""], "argument --out: expected a path, found ''"),
        (told, [*run, "--rubric", ""], "argument --rubric: expected a path, found ''"),
        (told, [*run, "--against", ""], "argument --against: expected a path, found ''"),
        (told, [history], "--out"),
        (told, [*run, "--max-usd", "1"], "--max-usd: no model would be asked"),
        (with_key, run, "Say with --max-usd what it may cost"),
        *((told, [*run, f"--max-usd={limit}"], "expected dollars like 2.50") for limit in NO_SUMS),
    ):
        done = bench(environ, *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert not out.exists()


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.slow
def test_without_matplotlib_the_report_has_its_tables_and_says_what_to_install(
    told: dict[str, str],
    tmp_path: Path,
    there: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    if there:
        pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    arguments = ["bench", str(write_rows(tmp_path / "rows.jsonl", row("a", expect=GOOD))), "--out", str(out)]
    hide = (
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'matplotlib' else find(name, package)\n"
    )
    program = f"{'' if there else hide}from app.cli.main import run\nrun()"
    done = subprocess.run([sys.executable, "-I", "-c", program, *arguments], env=told, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("Install `assay[bench]`" in (out / "report.md").read_text()) is not there
    assert (out / "decisions.svg").exists() is there


@pytest.fixture
def model() -> Iterator[FakeAnthropic]:
    with HTTPServer(threaded=True) as server:
        played = FakeAnthropic(server)
        yield played
        played.assert_script_done()


@pytest.fixture
def with_key(told: dict[str, str], model: FakeAnthropic) -> dict[str, str]:
    return {**told, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": model.url, "ASSAY_MODEL_ATTEMPTS": "1"}


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    rows = (row(f"row-{one}", DONE if one < EASY else f"{DONE}{HARDLY}") for one in range(EASY + HARD))
    return write_rows(tmp_path / "hard.jsonl", *rows)


@pytest.fixture
def thinking(model: FakeAnthropic) -> HeldReply:
    held = model.hold_replies_to(lambda asked: HARDLY in asked.text)
    model.reply_by(lambda _: cannot_tell())
    return held


def started(told: dict[str, str], *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(ASSAY), "bench", *map(str, arguments)], env=told, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed in the middle of a line"])
def test_a_run_that_was_broken_off_goes_on_where_it_stopped(
    with_key: dict[str, str], thinking: HeldReply, hard: Path, tmp_path: Path, how: signal.Signals
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    given = (hard, "--max-usd", "1", "--jobs", 2)
    code, said = stopped(started(with_key, *given, "--out", out), out, how)

    kept = verdicts(out)
    assert len(kept) == EASY
    assert not (out / "report.md").exists()
    if how is signal.SIGINT:
        assert code == 130
        assert f"{EASY} of {EASY + HARD} are judged; the same command goes on from there." in said.splitlines()
        assert "Traceback" not in said
    else:
        assert code == -signal.SIGKILL
        with (out / "verdicts.jsonl").open("a") as file:
            file.write('{"id": "row-half", "verd')

    thinking.release()
    again = bench(with_key, *given, "--out", out)
    assert again.returncode == 0, again.stderr
    assert verdicts(out)[:EASY] == kept, "what was judged is not judged again"
    assert [one["id"] for one in verdicts(out)] == [f"row-{one}" for one in range(EASY + HARD)]
    if how is signal.SIGINT:
        assert bench(with_key, hard, "--max-usd", "1", "--jobs", 1, "--out", whole).returncode == 0
        assert decided(out) == decided(whole)


@pytest.mark.slow
def test_a_run_with_a_model_says_its_price_first_stops_at_the_limit_and_goes_on(
    with_key: dict[str, str], model: FakeAnthropic, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", *(row(f"row-{one}", expect=GOOD) for one in range(12)))
    model.reply_by(lambda _: cannot_tell())
    out = tmp_path / "out"
    limit = worst_question(rows, with_key) + Decimal("0.0004")  # three replies of this model
    first = bench(with_key, rows, "--out", out, "--max-usd", limit, "--jobs", 1)

    assert first.returncode == 2, first.stdout
    assert "About 12 of 12 dossiers need the model: about $" in first.stderr
    assert f"The limit is ${limit}, $0.0000 of it spent." in first.stderr
    assert "The limit is reached. Give a larger --max-usd to go on." in first.stderr
    kept = len(verdicts(out))
    assert 0 < kept < 12
    assert f"{kept} of 12 are judged; the same command goes on from there." in first.stderr
    asked = len(model.requests)

    again = bench(with_key, rows, "--out", out, "--max-usd", "1", "--jobs", 1)
    assert again.returncode == 0, again.stderr
    assert len(model.requests) - asked == (12 - kept) * (asked // kept), "what was judged is not paid for again"
    text = (out / "report.md").read_text()
    assert "## Beside the $0 tier" in text
    assert "The model was asked about 100.0 % (12 of 12;" in text
    assert "calibration error (ECE)" in text
    figures = report(out)["tiers"]
    assert float(figures["spent_usd"]) == pytest.approx(float(report(out)["cost_usd"]))
    assert figures["zero"]["decided"]["hits"] == 0


def worst_question(rows: Path, told: dict[str, str]) -> Decimal:
    """At least the most that one of these questions may cost, as it is reserved: half of it and of its correction."""
    settings = read_settings(told)
    assert settings.model is not None
    with open_judge_context(settings, "hybrid") as judges:
        known = forecast_rows([rows], 12, judges, prompt_meter(settings.model))
    assert known.most_usd is not None
    return known.most_usd / 12 / 2


@pytest.mark.slow
def test_a_model_that_is_away_stops_the_run_instead_of_filling_it_with_abstains(
    with_key: dict[str, str], model: FakeAnthropic, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", *(row(f"row-{one}") for one in range(3)))
    model.fail_from_now_on(401)
    done = bench(with_key, rows, "--out", tmp_path / "out", "--max-usd", "1", "--jobs", 1)
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY is not accepted" in done.stderr
    assert "0 of 3 are judged; the same command goes on from there." in done.stderr
    assert verdicts(tmp_path / "out") == []


@pytest.mark.slow
def test_a_run_that_is_recorded_answers_for_itself_and_for_nothing_else(told: dict[str, str], tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", row("good", expect=GOOD), row("stub", STUB, expect=STUBBED))
    for _ in range(2):
        assert bench(told, rows, "--out", tmp_path / "run", "--tier", "heuristic", "--record").returncode == 0
    own, others = (
        json.loads(run_assay("stats", "--json", *more, environ=told).stdout)
        for more in (("--subject", "benchmark"), ())
    )
    assert [one["verdict_count"] for one in own["quality"]["data"]] == [2]
    assert [one["open"] for one in own["backlog"]["data"]] == [0]
    assert (others["quality"]["data"], others["cost"]["data"]) == ([], [])
