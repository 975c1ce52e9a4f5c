"""Re-evaluation of a recorded verdict: beside it, once, on the stream from its beginning to its end; runs; the shadow."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import judge_request
from tests.worker.evaluation.bench.samples import DONE
from tests.worker.evaluation.live_judging import (
    INSTALLATION,
    SUSPICIOUS,
    children,
    events,
    judge_live,
    order,
    read_survey,
    rejudge,
    rubric,
    settings_with_model,
    terms,
)
from tests.worker.judge.test_outcome_scores import entry
from tests.worker.publishing.texts.samples import accepted
from tests.world.fake_anthropic import FakeAnthropic, ModelRequest
from tests.world.replies import cannot_tell
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import EvalId
from worker.domain.judge_request import PullRef
from worker.domain.verdict.events import FailureMode
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import ThrottledReason
from worker.errors import InputError
from worker.evaluation.engine import HaltedError
from worker.evaluation.forecast import Forecast
from worker.evaluation.recorded_verdicts import RecordedVerdict
from worker.evaluation.rejudge import (
    OrderResult,
    RejudgeOrder,
    Rejudger,
    RejudgeRun,
    RejudgeTerms,
    complete_terms,
    find_answers,
    forecast_run,
    make_order,
    make_shadow_order,
    shadow_terms,
)
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt, load_rubric
from worker.settings import Settings, ShadowSettings
from worker.wiring.rejudge import RejudgerOpener, open_terms, prompt_meter, rejudger


def test_a_judging_anew_is_a_new_entry_beside_its_verdict_and_ends_once(
    settings: Settings, store: Store, tmp_path: Path
) -> None:
    made = judge_live(store, settings, 1)
    by = terms(settings)
    assert rejudge(settings, store, by, made) is OrderResult.JUDGED
    (child,) = children(store, made)
    assert (child.verdict.decision, child.verdict.signals["law"]) == ("reject", by.law)
    assert store.ledger.entries(order(made).pull)[0] == made, "what stands is as it was"
    begun, ended = events(store)[2:]
    assert [(kind, body["eval_id"], body["trigger"]) for kind, body in (begun, ended)] == [
        ("eval.started", child.eval_id, "batch"),
        ("eval.completed", child.eval_id, "batch"),
    ]
    assert ended[1]["parent_eval_id"] == made.eval_id
    assert store.archive.find(child.eval_id) is not None
    assert rejudge(settings, store, by, made) is OrderResult.THERE
    assert rejudge(settings, store, terms(settings, rubric=rubric(tmp_path)), made) is OrderResult.JUDGED
    assert len(children(store, made)) == 2


def test_a_dossier_that_is_gone_is_told_as_not_found_and_not_asked_for_again(settings: Settings, store: Store) -> None:
    """metis, test 8."""
    made = judge_live(store, settings, 1)
    store.client.call("DEL", keys.dossier(made.eval_id).name)
    by = terms(settings)
    assert read_survey(store, by.law).survey.unanswered_verdicts
    assert rejudge(settings, store, by, made) is OrderResult.GONE
    (_, begun), (kind, ended) = events(store)[2:]
    assert (kind, ended["failure_mode"], ended["parent_eval_id"]) == ("eval.failed", "subject_not_found", made.eval_id)
    assert begun["eval_id"] == ended["eval_id"] != made.eval_id
    assert read_survey(store, by.law).survey.unanswered_verdicts == ()
    assert children(store, made) == []
    assert store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


def test_an_entry_that_is_gone_is_told_by_its_numbers(settings: Settings, store: Store) -> None:
    made = judge_live(store, settings, 1)
    (_, before) = events(store)[1]
    judge_live(store, settings, 1, head="c")
    store.client.call("HDEL", keys.ledger(order(made).pull).name, made.eval_id)
    assert rejudge(settings, store, terms(settings), made) is OrderResult.GONE
    kind, ended = events(store)[-1]
    assert (kind, ended["failure_mode"]) == ("eval.failed", "subject_not_found")
    assert ended["subject_id"] == before["subject_id"]


def test_an_order_that_names_no_head_is_told_of_in_the_log_alone(
    settings: Settings, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    broken = order(judge_live(store, settings, 1)).model_copy(update={"eval_id": EvalId("a"), "subject_id": "x"})
    before = events(store)
    assert rejudger(settings, store, terms(settings)).execute(broken) is OrderResult.GONE
    assert "order without a head" in caplog.text
    assert events(store) == before


def test_of_a_repository_that_was_forgotten_meanwhile_nothing_is_told(settings: Settings, store: Store) -> None:
    gone, by = order(judge_live(store, settings, 1)), terms(settings)
    store.client.call("DEL", keys.ledger(gone.pull).name, keys.events(INSTALLATION).name)
    assert rejudger(settings, store, by).execute(gone) is OrderResult.GONE
    rejudger(settings, store, by).record_failure(gone, FailureMode.JUDGE_CALL_FAILED)
    assert events(store) == []


def test_of_what_is_forgotten_while_it_is_judged_no_model_is_asked_any_more(
    settings: Settings, store: Store, model: FakeAnthropic
) -> None:
    made = judge_live(store, settings, 1, SUSPICIOUS)
    pull = order(made).pull

    def forgotten(_: ModelRequest) -> str:
        store.client.call("DEL", keys.ledger(pull).name, keys.pull(pull).name, keys.pull_request_cost(pull).name)
        return "no JSON: it would be asked for once more"

    model.reply_by(forgotten)
    settings = settings_with_model(settings, model)
    assert rejudge(settings, store, terms(settings), made) is OrderResult.GONE
    assert len(model.requests) == 1
    assert not store.client.call("EXISTS", keys.pull_request_cost(pull).name)


def test_a_verdict_that_was_forgotten_while_it_was_judged_anew_stays_forgotten(
    settings: Settings, store: Store
) -> None:
    made = judge_live(store, settings, 1)

    @contextmanager
    def forgetting(by: RejudgeTerms, pull: PullRef | None) -> Generator[JudgeContext]:
        with open_terms(settings, store, by, pull) as context:
            yield context
        store.client.call("DEL", keys.ledger(order(made).pull).name)

    assert Rejudger(settings, store, terms(settings), forgetting).execute(order(made)) is OrderResult.GONE
    assert store.ledger.entries(order(made).pull) == ()


def test_what_is_paid_for_already_when_the_limit_is_reached_is_recorded(
    settings: Settings, store: Store, model: FakeAnthropic
) -> None:
    made = judge_live(store, settings, 1, SUSPICIOUS)
    model.reply_with("no JSON", input_tokens=8, output_tokens=3 * 10**6)
    settings = settings_with_model(settings, model)
    by = terms(settings, book="run:x", limit_usd=Decimal(1))
    assert rejudge(settings, store, by, made) is OrderResult.FULL
    (child,) = children(store, made)
    assert store.run_budget("run:x", Decimal(1)).spent_usd == child.verdict.judge_cost_usd
    (ended,) = (body for _, body in events(store) if body.get("parent_eval_id") == made.eval_id)
    assert Decimal(ended["judge_cost_usd"]) > 1
    assert read_survey(store, by.law).survey.unanswered_verdicts, "with more money it is asked again"


def changed(file: Path) -> None:
    file.write_text(file.read_text().replace('version: "1"', 'version: "2"'))


@pytest.mark.parametrize("happens", [Path.unlink, changed])
def test_a_rubric_that_is_gone_or_another_when_a_judging_begins_is_told_as_invalid(
    settings: Settings, store: Store, tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    made, file = judge_live(store, settings, 1), rubric(tmp_path)
    by = terms(settings, rubric=file)
    load_rubric.cache_clear()  # another process judges
    happens(file)
    assert rejudge(settings, store, by, made) is OrderResult.INVALID
    kind, ended = events(store)[-1]
    assert (kind, ended["failure_mode"], ended["rubric_id"]) == ("eval.failed", "rubric_invalid", "candidate")
    assert read_survey(store, by.law).survey.unanswered_verdicts, "with its rubric back, it is judged"


@pytest.mark.parametrize("name", ["default", "candidate"])
def test_a_rubric_under_a_version_that_stands_for_another_judges_nothing(
    settings: Settings, store: Store, tmp_path: Path, name: str
) -> None:
    """The rubric that ships says first what its version stands for."""
    made, version = judge_live(store, settings, 1), load_rubric().version
    if name == "candidate":
        store.rubrics.admit(load_rubric(rubric(tmp_path, name, version)))
        load_rubric.cache_clear()
    by = terms(settings, rubric=rubric(tmp_path, name, version, parameter_unused="0.123"))
    assert rejudge(settings, store, by, made) is OrderResult.INVALID
    assert store.rubrics.check(load_rubric()) is None


@pytest.mark.parametrize(
    ("changes", "is_answer"),
    [
        ({}, True),
        ({"throttled_reason": ThrottledReason.DAILY_CAP}, False),
        ({"signals": {"law": "another"}}, False),
        ({"parent_eval_id": None}, False),
    ],
)
def test_a_final_verdict_with_the_mark_of_a_law_answers_its_parent(changes: dict[str, Any], *, is_answer: bool) -> None:
    answer = entry(accepted(**{"parent_eval_id": EvalId("a"), "signals": {"law": "l"}, **changes}), "b")
    assert find_answers([answer], "l") == ({"a": answer} if is_answer else {})


def test_a_process_that_would_judge_otherwise_says_so(settings: Settings, store: Store) -> None:
    made = judge_live(store, settings, 1)
    by = terms(settings).model_copy(update={"law": "of-another-model"})
    assert rejudge(settings, store, by, made) is OrderResult.UNLIKE
    assert events(store)[-1][1]["failure_mode"] == "judge_call_failed"
    assert read_survey(store, by.law).survey.unanswered_verdicts


def test_while_judging_is_paused_the_answer_is_not_final(settings: Settings, store: Store) -> None:
    made = judge_live(store, settings, 1)
    by = terms(settings)
    assert rejudge(replace(settings, is_paused=True), store, by, made) is OrderResult.JUDGED
    assert children(store, made)[0].verdict.abstain_reason == "paused"
    assert read_survey(store, by.law).survey.unanswered_verdicts
    assert rejudge(settings, store, by, made) is OrderResult.JUDGED
    assert read_survey(store, by.law).survey.unanswered_verdicts == ()


def test_an_order_and_its_terms_travel_as_json(settings: Settings, store: Store, tmp_path: Path) -> None:
    by = terms(settings, rubric=rubric(tmp_path), limit_usd=Decimal("0.50"), book="run:x")
    made = order(judge_live(store, settings, 1, DONE))
    assert type(by).model_validate_json(by.model_dump_json()) == by
    assert RejudgeOrder.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("kind", ["submission", "merge_group"])
def test_an_order_says_of_what_kind_its_verdict_is(kind: str) -> None:
    body: dict[str, Any] = {"eval_id": "a", "subject_kind": kind, "subject_id": f"7/1/{'b' * 40}"}
    body = {**body, "repository_id": 7, "number": 1, "installation": INSTALLATION}
    assert make_order(RecordedVerdict.model_validate(body)).kind == kind


def test_at_its_limit_nothing_more_is_begun(settings: Settings, store: Store, model: FakeAnthropic) -> None:
    orders = [order(judge_live(store, settings, number, SUSPICIOUS)) for number in (1, 2, 3)]
    settings = settings_with_model(settings, model)
    by = terms(settings, book="run:x", limit_usd=Decimal("0.000001"))
    run = RejudgeRun(settings, store, by, orders)
    with pytest.raises(HaltedError, match=r"The limit of \$0.000001 is reached\."):
        list(run.run_locally(RejudgerOpener(settings, by), 1))
    assert not any(store.ledger.entries(asked.pull)[1:] for asked in orders)


def test_nothing_is_forecast_where_nothing_is_kept(settings: Settings, store: Store, model: FakeAnthropic) -> None:
    made, settings = order(judge_live(store, settings, 1, SUSPICIOUS)), settings_with_model(settings, model)
    assert settings.model is not None
    meter = prompt_meter(settings.model)

    def forecast(*orders: RejudgeOrder) -> Forecast:
        run = RejudgeRun(settings, store, terms(settings), orders)
        return forecast_run(run, partial(open_terms, settings, store), meter)

    assert forecast() == Forecast(0, 0, 0, None, None)
    unknown = made.model_copy(update={"pull": made.pull.model_copy(update={"number": 9})})
    assert forecast(unknown) == Forecast(1, 0, 0, None, None)
    cost = forecast(made)
    assert (cost.rows, cost.sampled, cost.asked) == (1, 1, 1)


@pytest.mark.slow
def test_an_error_in_another_process_reaches_this_one(settings: Settings, store: Store) -> None:
    made = order(judge_live(store, settings, 1))
    nowhere = replace(settings, redis_url=SecretStr("redis://127.0.0.1:1"))
    run = RejudgeRun(nowhere, store, terms(settings), [made, made])
    with pytest.raises(InputError, match="Redis is unavailable"):
        list(run.run_locally(RejudgerOpener(nowhere, run.terms), 2))


def candidate_terms(settings: Settings) -> RejudgeTerms:
    named = shadow_terms(settings, INSTALLATION, SystemClock())
    assert named is not None
    return complete_terms(named, partial(open_terms, settings, None))


def shadowed(settings: Settings, store: Store, made: LedgerEntry) -> tuple[RejudgeTerms, LedgerEntry]:
    """The terms of the candidate, and its verdict."""
    by = candidate_terms(settings)
    assert rejudge(settings, store, by, made) is OrderResult.JUDGED
    (child,) = children(store, made)
    return by, child


def test_without_a_candidate_nothing_judges_beside(settings: Settings) -> None:
    assert shadow_terms(settings, INSTALLATION, SystemClock()) is None


def test_without_money_it_asks_no_model(settings: Settings, store: Store, model: FakeAnthropic, tmp_path: Path) -> None:
    made = judge_live(store, settings, 1, SUSPICIOUS)
    by, child = shadowed(
        replace(settings_with_model(settings, model), shadow=ShadowSettings(rubric(tmp_path))), store, made
    )
    assert (by.tier, by.book, by.is_canary) == ("heuristic", "", True)
    verdict = child.verdict
    assert (verdict.rubric_id, verdict.signals["canary"], verdict.judge_kind) == ("candidate", True, "heuristic")
    assert store.archive.find(child.eval_id) is None


def test_its_money_is_its_own(settings: Settings, store: Store, model: FakeAnthropic, tmp_path: Path) -> None:
    made = judge_live(store, settings, 1, SUSPICIOUS)
    prompt = tmp_path / "prompt.md"
    prompt.write_text(f"{load_prompt().text}\nBe kind.\n")
    model.reply_with(cannot_tell())
    by, child = shadowed(
        replace(settings_with_model(settings, model), shadow=ShadowSettings(None, prompt, Decimal(1))), store, made
    )
    assert (child.verdict.judge_kind, child.verdict.prompt_version) == ("hybrid", load_prompt(prompt).version)
    assert "Be kind." in model.requests[0].text
    assert store.run_budget(by.book, Decimal(1)).spent_usd == child.verdict.judge_cost_usd
    paid = keys.pull_request_cost(order(made).pull)
    assert store.client.call("EXISTS", paid.name) == 0, "no pull request pays for it"


def test_at_its_own_cap_it_abstains_and_nobody_else_does(
    settings: Settings, store: Store, model: FakeAnthropic, tmp_path: Path
) -> None:
    made = judge_live(store, settings, 1, SUSPICIOUS)
    shadow = ShadowSettings(rubric(tmp_path), None, Decimal("0.000001"))
    by, child = shadowed(replace(settings_with_model(settings, model), shadow=shadow), store, made)
    assert child.verdict.abstain_reason == "budget"
    assert read_survey(store, by.law).survey.unanswered_verdicts, "with money it is asked again"


def test_a_reply_that_cant_be_used_is_kept_where_its_event_says(
    settings: Settings, store: Store, model: FakeAnthropic, tmp_path: Path
) -> None:
    made = judge_live(store, settings, 1, SUSPICIOUS)
    model.reply_with("no JSON at all").reply_with("nor this")
    shadow = ShadowSettings(rubric(tmp_path), None, Decimal(1))
    _, child = shadowed(replace(settings_with_model(settings, model), shadow=shadow), store, made)
    troubles = [body for kind, body in events(store) if kind == "evaluator_parse_error"]
    assert [(body["eval_id"], body["attempt"], body["payload"]) for body in troubles] == [
        (child.eval_id, 1, "audit"),
        (child.eval_id, 2, "audit"),
    ]
    audit = store.archive.audit(child.eval_id)
    assert audit is not None
    assert [exchange.reply.text for exchange in audit.exchanges if exchange.reply] == ["no JSON at all", "nor this"]
    records = store.records()
    records.forget(records.find_holdings("acme/widgets"), SystemClock().now())
    assert store.archive.audit(child.eval_id) is None


def test_the_last_verdict_is_judged_unless_it_was_carried_over(settings: Settings, store: Store) -> None:
    pull = order(judge_live(store, settings, 1)).pull
    second = judge_live(store, settings, 1, head="c")
    assert make_shadow_order(store, pull) == order(second)
    carried = second.verdict.model_copy(update={"eval_id": EvalId("ff"), "carried_from": second.eval_id})
    lease = store.pulls.take_local_lease(judge_request(1))
    entry = second.model_copy(update={"eval_id": EvalId("ff"), "verdict": carried, "fence": lease.fence})
    store.ledger.append(pull, entry)
    assert make_shadow_order(store, pull) is None
    assert make_shadow_order(store, pull.model_copy(update={"number": 9})) is None
