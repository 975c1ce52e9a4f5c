"""`assay evaluate` on recorded pull requests."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from app.cli.evaluate import run_budget_name
from app.cli.parser import Exit, build_parser
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import INSTALLATION, SUSPICIOUS, AssayCommand, judge_live, order, rubric
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.replies import cannot_tell, reject
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.verdict.events import Event, EventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.judge.rubric import load_rubric
from worker.process import SystemClock
from worker.settings import Settings


@pytest.fixture
def history(store: Store, settings: Settings) -> list[LedgerEntry]:
    return [judge_live(store, settings, number, STUB if number % 2 else DONE) for number in range(1, 5)]


def test_evaluate_rejudges_a_window_once(assay: AssayCommand, history: list[LedgerEntry]) -> None:
    first, again = assay.evaluate_json(), assay.evaluate_json()
    assert (first["code"], first["subjects"], first["answered"], first["earlier"]) == (0, 4, 4, 0)
    assert first["decisions"] == {"reject half_finished": 2, "abstain unproven": 2}
    assert first["changes"] == []
    assert (again["answered"], again["earlier"], again["cost_usd"]) == (4, 4, "0")
    assert all(len(assay.children(entry)) == 1 for entry in history)
    assert assay.children(assay.judge_live(9)) == []
    assert assay.evaluate_json()["answered"] == 5


def test_dry_run_judges_nothing(assay: AssayCommand, history: list[LedgerEntry]) -> None:
    assert assay.evaluate("--dry-run")[:2] == (
        0,
        (
            f"4 subjects in this window, 0 of them re-evaluated by default {load_rubric().version} already.\n"
            "4 would be judged; nothing was.\n"
            "Cost: $0.00, no model would be asked.\n"
        ),
    )
    assert assay.evaluate_json("--dry-run")["todo"] == 4
    assert not any(assay.children(entry) for entry in history)


def test_dry_run_forecasts_the_cost_without_asking_the_model(assay: AssayCommand, model: FakeAnthropic) -> None:
    for number in (1, 2, 3):
        assay.judge_live(number, SUSPICIOUS if number > 1 else STUB)
    assay.use_model(model)
    cost = assay.evaluate_json("--dry-run")
    assert (cost["todo"], cost["asked"], cost["sampled"], cost["has_model"]) == (3, 2, 3, True)
    assert 0 < float(cost["expected_usd"]) <= float(cost["most_usd"])
    assert model.requests == []


def test_changed_decision_is_listed_with_its_location(assay: AssayCommand, model: FakeAnthropic) -> None:
    original = assay.judge_live(1, SUSPICIOUS)
    assay.use_model(model)
    model.reply_with(reject("half_finished", "load.py:2"))
    code, out, err = assay.evaluate("--max-usd", "1")
    assert (code, err) == (0, "")
    assert "1 decided otherwise:\n  acme/widgets#1  abstain unproven -> reject half_finished  " in out
    assert "    load.py:2\n" in out
    assert "Cost: $0.0" in out
    assert assay.evaluate_json("--max-usd", "1")["earlier"] == 1
    assert len(assay.children(original)) == 1


def test_run_stops_at_its_limit_and_resumes_with_a_larger_one(assay: AssayCommand, model: FakeAnthropic) -> None:
    for number in (1, 2):
        assay.judge_live(number, SUSPICIOUS)
    assay.use_model(model)
    stopped = assay.evaluate_json("--max-usd", "0.0001")
    assert (stopped["code"], stopped["answered"], stopped["left"]) == (Exit.USAGE, 0, 2)
    assert stopped["stopped"] == "The limit of $0.0001 is reached. Give a larger --max-usd to go on."
    model.reply_by(lambda _: cannot_tell())
    resumed = assay.evaluate_json("--max-usd", "1")
    assert (resumed["code"], resumed["answered"], resumed["left"], resumed["stopped"]) == (0, 2, 0, "")


def test_caps_apply_to_a_batch_unless_overridden(assay: AssayCommand, model: FakeAnthropic) -> None:
    assay.judge_live(1, SUSPICIOUS)
    assay.use_model(model)
    assay.set_environment(ASSAY_DAY_MAX_USD="0")
    capped = assay.evaluate_json("--max-usd", "1")
    assert (capped["answered"], capped["capped"], capped["failed"], capped["left"]) == (0, 1, 0, 0)
    assert (capped["stopped"], capped["code"]) == ("", Exit.USAGE)
    model.reply_with(cannot_tell())
    free = assay.evaluate_json("--max-usd", "1", "--override-caps")
    assert (free["answered"], free["failed"], free["code"]) == (1, 0, 0)


def test_missing_dossier_is_counted_and_published_once(assay: AssayCommand, history: list[LedgerEntry]) -> None:
    assay.store.client.call("DEL", keys.dossier(history[0].eval_id).name)
    for _ in range(2):
        code, out, _ = assay.evaluate()
        assert code == 0
        assert "1 can't be: the dossier is no longer kept (ASSAY_RETENTION_DAYS).\n" in out
    kinds = [entry.kind for entry in assay.store.events.read(INSTALLATION)]
    assert kinds.count(b"eval.failed") == 1
    assert kinds.count(b"eval.started") == len(kinds) / 2


@pytest.mark.usefixtures("history")
def test_event_without_a_recorded_verdict_is_counted_as_unread(assay: AssayCommand, store: Store) -> None:
    body = {"v": 1, "eval_id": "a", "subject_kind": "submission", "subject_id": "x", "repository_id": 7, "number": 1}
    store.events.publish(INSTALLATION, "x", Event(EventKind.COMPLETED, {**body, "decision": "accept"}))
    summary = assay.evaluate_json()
    assert (summary["answered"], summary["left"], summary["unread"], summary["code"]) == (4, 0, 1, Exit.ACCEPT)


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(("name", "subjects"), [("acme/other", 0), ("Acme/Widgets", 4)])
def test_repository_option_selects_subjects(assay: AssayCommand, name: str, subjects: int) -> None:
    assert assay.evaluate_json("--repository", name)["subjects"] == subjects


@pytest.mark.slow
@pytest.mark.usefixtures("history")
def test_several_processes_rejudge_a_window(assay: AssayCommand) -> None:
    code, out, _ = assay.run("evaluate", "--jobs", "2", "--json")
    assert (code, json.loads(out)["answered"]) == (0, 4)


@pytest.mark.parametrize("command", [("evaluate", "--jobs", "1", "--rubric"), ("rubric", "check"), ("replay",)])
def test_file_cannot_redefine_shipped_version(assay: AssayCommand, tmp_path: Path, command: tuple[str, ...]) -> None:
    original, version = assay.judge_live(1), load_rubric().version
    assay.store.client.call("DEL", keys.RUBRICS.name)
    poison = rubric(tmp_path, "default", version, parameter_unused="0.123")
    code, out, err = assay.run(*command, *([original.eval_id, "--rubric"] if command == ("replay",) else ()), poison)
    assert code == Exit.USAGE
    assert f'{poison} was changed but still says version "{version}"' in out + err
    assert assay.store.rubrics.check(load_rubric()) is None


def budget_of(*arguments: str, judge_digest: str = "l") -> str:
    return run_budget_name(build_parser("evaluate").parse_args(["evaluate", *arguments]), judge_digest)


def test_run_budget_name_depends_on_selection_window_and_judge() -> None:
    assert budget_of("--since", "7d") == budget_of("--since", "1w") == budget_of("--since", "7d", "--max-usd", "5")
    fixed = ("--since", "2026-11-01", "--until", "2026-11-02")
    assert budget_of(*fixed) == budget_of("--since", "2026-11-01T00:00Z", "--until", "2026-11-02")
    others = [("--since", "1d"), ("--since", "2d"), fixed, ("--since", "1d", "--repository", "a/b")]
    names = {*(budget_of(*options) for options in others), budget_of("--since", "1d", judge_digest="m")}
    assert len(names) == len(others) + 1


class Tomorrow(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(days=1)


def test_run_resumed_after_midnight_keeps_its_budget_until_done(assay: AssayCommand, model: FakeAnthropic) -> None:
    for number in (1, 2):
        assay.judge_live(number, SUSPICIOUS)
    assay.use_model(model)
    model.reply_with(cannot_tell(), input_tokens=8, output_tokens=3 * 10**6).reply_by(lambda _: cannot_tell())
    options = ("--since", "7d", "--override-caps", "--max-usd")
    stopped = assay.evaluate_json(*options, "1")
    assert (stopped["answered"], stopped["left"]) == (1, 1)
    assay.monkeypatch.setattr("app.cli.evaluate.SystemClock", Tomorrow)
    again = assay.evaluate_json(*options, "1")
    assert (again["answered"], again["left"], len(model.requests)) == (1, 1, 1), "its budget is spent"
    assert assay.evaluate_json(*options, "100")["answered"] == 2
    assert assay.store.client.call("KEYS", "assay:book:*") == [], "the budget of a finished run is deleted"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--since", "soon"], '"soon" is no time'),
        (["--since", "1h", "--until", "2h"], "before it begins"),
        (["--model", "claude-x"], "ANTHROPIC_API_KEY is not set"),
        (["--override-caps"], "leaves this run no limit"),
        (["--max-usd", "1"], "No model would be asked. Set ANTHROPIC_API_KEY, and ASSAY_TIER to hybrid or llm."),
        (["--rubric", "/nowhere.yml"], "/nowhere.yml can't be read"),
        (["--rubric", "rubrics/ci_check.yml"], "Rubric refused at"),
        (
            ["--subject", "ci_check", "--model", "claude-x"],
            "No model is asked about a ci_check, at $0: leave out --model",
        ),
        (["--subject", "ci_check", "--max-usd", "1"], "No model is asked about a ci_check"),
        (["--subject", "ci_check", "--override-caps"], "No model is asked about a ci_check"),
        (["--subject", "ci_check", "--rubric", "rubrics/pull_request.yml"], "Rubric refused at"),
        (["--subject", "ci_check", "--rubric", "/nowhere.yml"], "/nowhere.yml can't be read"),
    ],
)
def test_invalid_arguments_are_refused_before_judging(assay: AssayCommand, arguments: list[str], problem: str) -> None:
    original = assay.judge_live(1)
    code, out, err = assay.evaluate(*arguments)
    assert (code, out) == (Exit.USAGE, "")
    assert problem in err
    assert assay.store.ledger.entries(order(original).pull) == (original,)


def test_nothing_is_judged_while_judging_is_paused(assay: AssayCommand) -> None:
    assay.set_environment(ASSAY_PAUSED="1")
    assert "ASSAY_PAUSED is 1" in assay.evaluate()[2]


def test_empty_window_is_not_an_error(assay: AssayCommand) -> None:
    assert assay.evaluate_json()["subjects"] == 0
    assert assay.evaluate("--dry-run")[0] == 0
