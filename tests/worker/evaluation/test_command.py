"""`assay evaluate` on recorded pull requests."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from app.cli.evaluate import run_budget_name
from app.cli.exit_codes import Exit
from app.cli.main import main
from app.cli.parser import build_parser
from tests.worker.adapters.redis.played import KEY
from tests.worker.evaluation.bench.made import DONE, STUB
from tests.worker.evaluation.recorded import ASKED, judged, order, rubric
from tests.world.anthropic import Anthropic
from tests.world.redis import Redis
from tests.world.replies import cannot_tell, reject
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.verdict.events import Event, EventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.judge.rubric import load_rubric
from worker.settings import Settings


@pytest.fixture(autouse=True)
def environment(redis_server: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "REDIS_URL": redis_server.url,
        "ASSAY_STORE_KEYS": KEY.get_secret_value(),
        "ASSAY_TIER": "heuristic",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def anthropic(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Anthropic:
    made = Anthropic(httpserver)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", httpserver.url_for("").rstrip("/"))
    monkeypatch.setenv("ASSAY_TIER", "hybrid")
    return made


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["evaluate", "--jobs", "1", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    code, out, err = run(capsys, "--json", *arguments)
    assert out, (code, err)
    return {"code": code, **json.loads(out)}


def history(store: Store, here: Settings) -> list[LedgerEntry]:
    return [judged(store, here, number, STUB if number % 2 else DONE) for number in range(1, 5)]


def test_a_window_is_judged_anew_once_and_the_same_command_finds_it_done(
    store: Store, here: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    history(store, here)
    first, again = told(capsys), told(capsys)
    assert (first["code"], first["subjects"], first["answered"], first["earlier"]) == (0, 4, 4, 0)
    assert first["decisions"] == {"reject half_finished": 2, "abstain unproven": 2}
    assert first["changes"] == []
    assert (again["answered"], again["earlier"], again["cost_usd"]) == (4, 4, "0")
    pull = order(judged(store, here, 9)).pull
    assert len(store.ledger.entries(pull)) == 1
    assert told(capsys)["answered"] == 5


def test_what_a_dry_run_says_judges_nothing(store: Store, here: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    history(store, here)
    code, out, _ = run(capsys, "--dry-run")
    assert (code, out) == (
        0,
        (
            f"4 subjects in this window, 0 of them judged anew by default {load_rubric().version} already.\n"
            "4 would be judged; nothing was.\n"
            "Cost: $0.00, no model would be asked.\n"
        ),
    )
    assert told(capsys, "--dry-run")["todo"] == 4


def test_a_dry_run_with_a_model_says_what_it_would_cost_and_asks_nobody(
    store: Store, here: Settings, anthropic: Anthropic, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2, 3):
        judged(store, here, number, ASKED if number > 1 else STUB)
    said = told(capsys, "--dry-run")
    assert (said["todo"], said["asked"], said["sampled"], said["has_model"]) == (3, 2, 3, True)
    assert 0 < float(said["expected_usd"]) <= float(said["most_usd"])
    assert anthropic.asked == []


def test_what_comes_out_otherwise_is_named_with_its_place(
    store: Store, here: Settings, anthropic: Anthropic, capsys: pytest.CaptureFixture[str]
) -> None:
    made = judged(store, here, 1, ASKED)
    anthropic.answers(reject("half_finished", "load.py:2"))
    code, out, err = run(capsys, "--max-usd", "1")
    assert (code, err) == (0, "")
    assert "1 decided otherwise:\n  acme/widgets#1  abstain unproven -> reject half_finished  " in out
    assert "    load.py:2\n" in out
    assert "Cost: $0.0" in out
    anthropic.check()
    assert told(capsys, "--max-usd", "1")["earlier"] == 1
    assert len(store.ledger.entries(order(made).pull)) == 2


def test_a_run_stops_at_its_limit_and_goes_on_with_a_larger_one(
    store: Store, here: Settings, anthropic: Anthropic, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        judged(store, here, number, ASKED)
    stopped = told(capsys, "--max-usd", "0.0001")
    assert (stopped["code"], stopped["answered"], stopped["left"]) == (Exit.USAGE, 0, 2)
    assert stopped["stopped"] == "The limit of $0.0001 is reached. Give a larger --max-usd to go on."
    anthropic.decides(lambda _: cannot_tell())
    on = told(capsys, "--max-usd", "1")
    assert (on["code"], on["answered"], on["left"], on["stopped"]) == (0, 2, 0, "")
    anthropic.check()


def test_the_caps_bind_a_batch_as_they_bind_live_judgings_unless_they_are_overridden(
    store: Store,
    here: Settings,
    anthropic: Anthropic,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged(store, here, 1, ASKED)
    monkeypatch.setenv("ASSAY_DAY_MAX_USD", "0")
    capped = told(capsys, "--max-usd", "1")
    assert (capped["answered"], capped["capped"], capped["failed"], capped["left"]) == (0, 1, 0, 0)
    assert (capped["stopped"], capped["code"]) == ("", Exit.USAGE)
    anthropic.answers(cannot_tell())
    free = told(capsys, "--max-usd", "1", "--override-caps")
    assert (free["answered"], free["failed"], free["code"]) == (1, 0, 0)
    anthropic.check()


def test_what_is_gone_is_counted_and_told_once(
    store: Store, here: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    made = history(store, here)
    store.client.call("DEL", keys.dossier(made[0].eval_id).name)
    for _ in range(2):
        code, out, _ = run(capsys)
        assert code == 0
        assert "1 can't be: the dossier is not kept any more (ASSAY_RETENTION_DAYS).\n" in out
    kinds = [one.kind for one in store.events.read(made[0].verdict.subject.installation_id)]
    assert kinds.count(b"eval.failed") == 1
    assert kinds.count(b"eval.started") == len(kinds) / 2


def test_an_entry_that_names_a_verdict_nobody_made_ends_no_run_and_is_left_in_none(
    store: Store, here: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, *_) = history(store, here)
    body = {"v": 1, "eval_id": "a", "subject_kind": "submission", "subject_id": "x", "repository_id": 7, "number": 1}
    store.events.publish(
        first.verdict.subject.installation_id, "x", Event(EventKind.COMPLETED, {**body, "decision": "accept"})
    )
    said = told(capsys)
    assert (said["answered"], said["left"], said["unread"], said["code"]) == (4, 0, 1, Exit.ACCEPT)


def test_only_the_repository_that_is_named_is_judged(
    store: Store, here: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    history(store, here)
    assert told(capsys, "--repository", "acme/other")["subjects"] == 0
    assert told(capsys, "--repository", "Acme/Widgets")["subjects"] == 4


@pytest.mark.slow
def test_several_processes_do_the_same(store: Store, here: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    history(store, here)
    code = main(["evaluate", "--jobs", "2", "--json"])
    assert (code, json.loads(capsys.readouterr().out)["answered"]) == (0, 4)


def test_an_edited_rubric_is_refused_until_its_version_is_raised(
    store: Store, here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history(store, here)
    assert told(capsys, "--rubric", rubric(tmp_path))["code"] == 0
    load_rubric.cache_clear()
    edited = rubric(tmp_path, parameter_unused="0.123")
    code, out, err = run(capsys, "--rubric", edited)
    assert (code, out) == (Exit.USAGE, "")
    assert f'{edited} was changed but still says version "1": raise it.' in err


def test_a_file_never_says_what_the_version_that_ships_with_assay_stands_for(
    store: Store, here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, version = judged(store, here, 1), load_rubric().version
    store.client.call("DEL", keys.RUBRICS.name)
    poison = rubric(tmp_path, "default", version, parameter_unused="0.123")
    for command in (["evaluate", "--jobs", "1"], ["replay", made.eval_id], ["rubric", "check"]):
        named = [str(poison)] if command[0] == "rubric" else ["--rubric", str(poison)]
        assert main([*command, *named]) == Exit.USAGE
        said = capsys.readouterr()
        assert f'{poison} was changed but still says version "{version}"' in said.out + said.err
        assert store.rubrics.check(load_rubric()) is None
        store.client.call("DEL", keys.RUBRICS.name)


def book(*arguments: str, law: str = "l") -> str:
    return run_budget_name(build_parser("evaluate").parse_args(["evaluate", *arguments]), law)


def test_a_run_is_named_by_what_it_judges_and_its_window() -> None:
    assert book("--since", "7d") == book("--since", "1w") == book("--since", "7d", "--max-usd", "5")
    fixed = ("--since", "2026-11-01", "--until", "2026-11-02")
    assert book(*fixed) == book("--since", "2026-11-01T00:00Z", "--until", "2026-11-02")
    others = [("--since", "1d"), ("--since", "2d"), fixed, ("--since", "1d", "--repository", "a/b")]
    assert len({*(book(*one) for one in others), book("--since", "1d", law="m")}) == len(others) + 1


class Tomorrow(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(days=1)


def test_a_run_that_is_taken_up_after_midnight_goes_on_with_its_money_until_all_is_judged(
    store: Store,
    here: Settings,
    anthropic: Anthropic,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in (1, 2):
        judged(store, here, number, ASKED)
    anthropic.answers(cannot_tell(), input_tokens=8, output_tokens=3 * 10**6).decides(lambda _: cannot_tell())
    run_of = ("--since", "7d", "--override-caps", "--max-usd")
    stopped = told(capsys, *run_of, "1")
    assert (stopped["answered"], stopped["left"]) == (1, 1)
    monkeypatch.setattr("app.cli.evaluate.SystemClock", Tomorrow)
    again = told(capsys, *run_of, "1")
    assert (again["answered"], again["left"], len(anthropic.asked)) == (1, 1, 1), "its money is spent"
    assert told(capsys, *run_of, "100")["answered"] == 2
    assert store.client.call("KEYS", "assay:book:*") == [], "it is over: the same words are another run from here on"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--since", "soon"], '"soon" is no time'),
        (["--since", "1h", "--until", "2h"], "before it begins"),
        (["--model", "claude-x"], "ANTHROPIC_API_KEY is not set"),
        (["--override-caps"], "leaves this run no limit"),
        (["--max-usd", "1"], "No model would be asked. Set ANTHROPIC_API_KEY, and ASSAY_TIER to hybrid or llm."),
        (["--rubric", "/nowhere.yml"], "/nowhere.yml can't be read"),
    ],
)
def test_what_is_wrong_with_a_call_is_said_before_anything_is_judged(
    store: Store, here: Settings, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    made = judged(store, here, 1)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (Exit.USAGE, "")
    assert said in err
    assert len(store.ledger.entries(order(made).pull)) == 1


def test_nothing_is_judged_while_judging_is_paused(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.ping()
    monkeypatch.setenv("ASSAY_PAUSED", "1")
    assert "ASSAY_PAUSED is 1" in run(capsys)[2]


def test_an_empty_window_is_no_error(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.ping()
    assert told(capsys)["subjects"] == 0
    assert run(capsys, "--dry-run")[0] == 0
