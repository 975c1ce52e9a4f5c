"""The delegate judge with a real store and a scripted model: PASS, FAIL or UNAVAILABLE."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.world.fake_anthropic import FakeAnthropic
from tests.world.replies import accept, cannot_tell, reject
from worker.adapters.redis.store import open_store
from worker.domain.verdict.verdict import AbstainReason
from worker.errors import InputError
from worker.judge.task_judgement import TaskRuling, criteria_from, dossier_of
from worker.process import SystemClock
from worker.settings import ModelAccess, Settings
from worker.wiring.cli import RecordedSource
from worker.wiring.delegate import add_judgement, judge_output, open_judge

CRITERIA = "The table has the columns name and price."
OUTPUT = "name,price\napple,1\n"


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as fake:
        yield fake


@pytest.fixture
def model(server: HTTPServer) -> Iterator[FakeAnthropic]:
    fake = FakeAnthropic(server)
    yield fake
    fake.assert_script_done()


@pytest.fixture
def settings(model: FakeAnthropic, tmp_path: Path) -> Settings:
    limits: dict[str, Any] = {"timeout_s": 20, "attempts": 1, "retry_delay_s": 0, "max_output_tokens": 4000}
    access = ModelAccess(api_key=SecretStr("k"), base_url=model.url, name="claude-haiku-5-5", **limits)
    return Settings(data_dir=tmp_path, model=access)


def pass_reply(output: str = OUTPUT, line: int = 1, criteria: int = 1) -> dict[str, Any]:
    """Return a reply that finds every criterion met at this line of the output."""
    quote = (*output.split("\n"), *[""] * line)[line - 1]
    evidence = {"path": "output.txt", "line": line, "end_line": None, "side": "head", "quote": quote, "note": "here"}
    met = [{"id": f"AC{number}", "status": "met", "evidence": [evidence]} for number in range(1, criteria + 1)]
    return accept() | {"criteria": met, "evidence": [evidence]}


class TestJudgeOutput:
    """The five rulings of a delegated task."""

    def test_judge_pass(self, model: FakeAnthropic, settings: Settings) -> None:
        model.reply_with(pass_reply())
        judgement = judge_output(OUTPUT, CRITERIA, settings)
        assert (judgement.verdict, judgement.judged) == (TaskRuling.PASS, True)
        assert judgement.reasoning == "The change does what the issue asks for."
        assert [(criterion.verdict, criterion.text) for criterion in judgement.criteria] == [
            (TaskRuling.PASS, CRITERIA)
        ]
        assert judgement.criteria[0].evidence[0].quote == "name,price"

    def test_judge_fail(self, model: FakeAnthropic, settings: Settings) -> None:
        model.reply_with(reject("acceptance_gap"))
        judgement = judge_output(OUTPUT, CRITERIA, settings)
        assert judgement.verdict is TaskRuling.FAIL
        assert [criterion.verdict for criterion in judgement.criteria] == [TaskRuling.FAIL]
        assert judgement.next_step

    @pytest.mark.parametrize("criteria", [None, "", " \n", [], [" "]])
    def test_no_criteria_no_judge(
        self, model: FakeAnthropic, settings: Settings, criteria: str | list[str] | None
    ) -> None:
        judgement = judge_output(OUTPUT, criteria, settings)
        assert (judgement.verdict, judgement.judged, judgement.criteria) == (TaskRuling.PASS, False, ())
        assert model.requests == []
        result = {"task_index": 0, "status": "completed", "summary": OUTPUT}
        with open_judge(settings) as judge:
            assert add_judgement(result, OUTPUT, criteria, judge) is result

    def test_judge_unavailable_skips(self, model: FakeAnthropic, settings: Settings) -> None:
        model.reply_with_error(529)
        judgement = judge_output(OUTPUT, CRITERIA, settings)
        assert (judgement.verdict, judgement.reason) == (TaskRuling.UNAVAILABLE, AbstainReason.JUDGE_UNAVAILABLE)
        assert "529" in judgement.reasoning
        assert "This output was not judged." in judgement.reasoning
        assert judgement.next_step == "Ask again when the model can be reached; nothing has to change in the output."

    def test_delegate_task_passes_acceptance_criteria(self, model: FakeAnthropic, settings: Settings) -> None:
        model.reply_with(pass_reply(f"{OUTPUT}row 0")).reply_with(reject("acceptance_gap"))
        results = [
            {"task_index": number, "status": "completed", "summary": f"{OUTPUT}row {number}\n"} for number in range(3)
        ]
        criteria = ["It has a header.", None, ["It has ten rows."]]
        with open_judge(settings) as judge:
            pairs = zip(results, criteria, strict=True)
            done = [add_judgement(result, str(result["summary"]), asked, judge) for result, asked in pairs]
        assert ["judge" in judged for judged in done] == [True, False, True]
        assert "AC1: It has a header." in model.requests[0].text
        assert "AC1: It has ten rows." in model.requests[1].text
        assert "It has ten rows." not in model.requests[0].text


def test_each_criterion_of_a_list_is_judged_separately(model: FakeAnthropic, settings: Settings) -> None:
    model.reply_with(pass_reply(criteria=2))
    judgement = judge_output(OUTPUT, "- has a header\n- has a row\n", settings)
    assert [(criterion.id, criterion.text) for criterion in judgement.criteria] == [
        ("AC1", "has a header"),
        ("AC2", "has a row"),
    ]


def test_same_output_is_judged_and_charged_once(model: FakeAnthropic, settings: Settings) -> None:
    model.reply_with(pass_reply())
    first, second = (judge_output(OUTPUT, CRITERIA, settings) for _ in range(2))
    assert first.cost_usd
    assert (second.verdict, second.cost_usd, len(model.requests)) == (TaskRuling.PASS, 0, 1)


def test_invalid_location_is_sent_back_to_the_model(model: FakeAnthropic, settings: Settings) -> None:
    model.reply_with(pass_reply(line=40)).reply_with(pass_reply())
    assert judge_output(OUTPUT, CRITERIA, settings).verdict is TaskRuling.PASS
    assert len(model.requests) == 2


def test_undecided_reply_is_unavailable(model: FakeAnthropic, settings: Settings) -> None:
    model.reply_with(cannot_tell())
    judgement = judge_output(OUTPUT, CRITERIA, settings)
    assert (judgement.verdict, judgement.reason) == (TaskRuling.UNAVAILABLE, AbstainReason.NEEDS_HUMAN)
    assert [criterion.verdict for criterion in judgement.criteria] == [TaskRuling.UNAVAILABLE]


def test_empty_output_fails_without_a_model_request(model: FakeAnthropic, settings: Settings) -> None:
    judgement = judge_output(" \n", CRITERIA, settings)
    assert (judgement.verdict, model.requests) == (TaskRuling.FAIL, [])
    assert [criterion.verdict for criterion in judgement.criteria] == [TaskRuling.FAIL]


def test_exhausted_budget_is_unavailable(model: FakeAnthropic, settings: Settings) -> None:
    poor = replace(settings, caps=replace(settings.caps, pull_usd=Decimal(0)))
    judgement = judge_output(OUTPUT, CRITERIA, poor)
    assert (judgement.verdict, judgement.reason) == (TaskRuling.UNAVAILABLE, AbstainReason.BUDGET)
    assert model.requests == []


def test_unreachable_store_is_unavailable(settings: Settings) -> None:
    away = replace(settings, redis_url=SecretStr("unix:///nowhere/r.sock"), store_keys=(SecretStr("A" * 43 + "="),))
    assert judge_output(OUTPUT, CRITERIA, away).verdict is TaskRuling.UNAVAILABLE


def test_half_finished_code_is_left_to_the_model(model: FakeAnthropic, settings: Settings) -> None:
    output = "<<<<<<< HEAD\ndef load():\n    pass\n=======\n>>>>>>> x\n"
    model.reply_with(pass_reply(output))
    assert judge_output(output, CRITERIA, settings).verdict is TaskRuling.PASS


@pytest.mark.parametrize("output", ["no newline", "\n\nx\r\n\x00\u202e", "a\ud800b", "\\ No newline at end of file\n"])
def test_any_text_can_be_judged(model: FakeAnthropic, settings: Settings, output: str) -> None:
    model.reply_with(reject("acceptance_gap"))
    assert judge_output(output, CRITERIA, settings).verdict is TaskRuling.FAIL


def test_too_many_criteria_are_refused(settings: Settings) -> None:
    with pytest.raises(InputError, match="at most 99 criteria"):
        judge_output(OUTPUT, [f"rule {number}" for number in range(100)], settings)


def test_open_judge_does_not_judge_without_criteria(settings: Settings) -> None:
    with open_judge(settings) as judge:
        assert judge(OUTPUT, None).judged is False


def test_output_under_a_lease_is_unavailable(settings: Settings) -> None:
    request = RecordedSource(dossier_of(OUTPUT, criteria_from(CRITERIA), [])).request(SystemClock().now())
    with open_store(settings) as store:
        store.pulls.take_local_lease(request)
        judgement = judge_output(OUTPUT, CRITERIA, settings)
    assert (judgement.verdict, "right now" in judgement.reasoning) == (TaskRuling.UNAVAILABLE, True)
