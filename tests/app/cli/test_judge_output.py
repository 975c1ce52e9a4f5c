"""`assay judge --output` as a process: one output, a batch, and what a caller gets wrong."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from tests.app.cli.assay_command import assay, environment
from tests.world.anthropic import Anthropic
from tests.world.replies import reject

pytestmark = pytest.mark.slow  # each command is a process of its own

TEXT = "name,price\napple,1\n"


@pytest.fixture
def model() -> Iterator[Anthropic]:
    with HTTPServer(threaded=True) as server:
        played = Anthropic(server)
        yield played
        played.check()


@pytest.fixture
def told(model: Anthropic, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "out.txt").write_text(TEXT)
    (tmp_path / "asked.md").write_text("- has ten rows\n")
    return environment(
        tmp_path / "state", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=model.url, ASSAY_MODEL_ATTEMPTS="1"
    )


def judge(told: dict[str, str], folder: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return assay("judge", *arguments, environ=told, cwd=folder, given=given)


def test_one_output_is_judged_and_told(model: Anthropic, told: dict[str, str], tmp_path: Path) -> None:
    model.answers(reject("acceptance_gap"))
    done = judge(told, tmp_path, "--output", "out.txt", "--criteria", "asked.md")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("FAIL: ")
    assert "FAIL        AC1  has ten rows" in done.stdout


@pytest.mark.slow
def test_an_outage_is_its_own_exit_code_and_word(model: Anthropic, told: dict[str, str], tmp_path: Path) -> None:
    model.fails(529)
    done = judge(told, tmp_path, "--output", "out.txt", "--criteria", "asked.md", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (3, "UNAVAILABLE")


def test_without_criteria_nobody_is_asked(model: Anthropic, told: dict[str, str], tmp_path: Path) -> None:
    done = judge(told, tmp_path, "--output", "-", given=TEXT)
    assert (done.returncode, done.stdout, model.asked) == (
        0, "PASS: No acceptance criteria were given, so nothing was judged.\n", []
    )  # fmt: skip


@pytest.mark.slow
def test_a_batch_is_judged_line_by_line_with_the_criteria_of_each(
    model: Anthropic, told: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        {"task_index": 0, "status": "completed", "summary": "a\n", "acceptance_criteria": "It is b."},
        {"task_index": 1, "summary": "unchanged"},
        {"output": "c\n", "acceptance_criteria": ["It is d."]},
    ]
    (tmp_path / "batch.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    model.answers(reject("acceptance_gap")).fails(529)
    done = judge(told, tmp_path, "--output", "batch.jsonl")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert lines[1] == rows[1]
    assert [one["judge"]["verdict"] for one in (lines[0], lines[2])] == ["FAIL", "UNAVAILABLE"]
    assert {key: lines[0][key] for key in rows[0]} == rows[0]
    assert "AC1: It is b." in model.asked[0].text
    assert "AC1: It is d." in model.asked[1].text


@pytest.mark.slow
def test_criteria_beside_a_batch_are_for_those_that_bring_none(
    model: Anthropic, told: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "batch.jsonl").write_text('{"output": "a"}')
    model.answers(reject("acceptance_gap"))
    assert judge(told, tmp_path, "--output", "batch.jsonl", "--criteria", "asked.md").returncode == 1
    assert "AC1: has ten rows" in model.asked[0].text


def test_a_batch_without_criteria_comes_out_as_it_went_in(told: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text('{"output": "ä", "n": 1}\n{"summary": "b"}\n')
    done = judge(told, tmp_path, "--output", "batch.jsonl")
    assert (done.returncode, done.stdout) == (0, (tmp_path / "batch.jsonl").read_text())


def test_a_batch_whose_store_is_away_is_unavailable(told: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text('{"output": "a", "acceptance_criteria": "x"}\n')
    away = {**told, "REDIS_URL": "unix:///nowhere/r.sock", "ASSAY_STORE_KEYS": "A" * 43 + "="}
    done = judge(away, tmp_path, "--output", "batch.jsonl")
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout)["judge"]["verdict"] == "UNAVAILABLE"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "bad.jsonl:2: not JSON"),
        ("[]", "bad.jsonl:2: expected a JSON object"),
        ('{"output": 1}', 'bad.jsonl:2: "output" (or "summary"): expected a text'),
        ('{"output": "x", "acceptance_criteria": 5}', "bad.jsonl:2: acceptance_criteria: expected a text or a list"),
        ('{"output": "x", "acceptance_criteria": [5]}', "bad.jsonl:2: acceptance_criteria: expected a text or a list"),
        (
            json.dumps({"output": "x", "acceptance_criteria": ["a"] * 100}),
            "bad.jsonl:2: acceptance_criteria: at most 99",
        ),
        ("[" * 100_000, "bad.jsonl:2: not JSON"),
    ],
    ids=["nonsense", "list", "no text", "number", "numbers", "too many criteria", "too deep"],
)
@pytest.mark.slow
def test_a_bad_line_is_told_before_any_is_judged(
    model: Anthropic, told: dict[str, str], tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "bad.jsonl").write_text(f'{{"output": "a", "acceptance_criteria": "x"}}\n{line}\n')
    done = judge(told, tmp_path, "--output", "bad.jsonl")
    assert done.returncode == 2
    assert said in done.stderr
    assert model.asked == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--output", "gone.txt"), "--output: gone.txt can't be read"),
        (("--output", "out.txt", "--criteria", "gone.md"), "--criteria: gone.md can't be read"),
        (("--output", "-", "--criteria", "-"), "can't both read standard input"),
        (("--output", "out.txt", "--tier", "llm"), "--tier does not go with --output"),
        (("--output", "out.txt", "--format", "sarif"), "--format does not go with --output"),
        (("--output", "out.txt", "--issue", "asked.md"), "--issue does not go with --output"),
        (("--criteria", "asked.md"), "--criteria belongs to --output"),
        (("--output", "latin.txt"), "--output: latin.txt is not UTF-8 at byte 0"),
    ],
)
@pytest.mark.slow
def test_what_a_caller_gets_wrong_is_said(
    told: dict[str, str], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "latin.txt").write_bytes(b"\xe4")
    done = judge(told, tmp_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
