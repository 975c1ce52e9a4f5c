"""Re-evaluation of recorded verdicts: the entry and its events, runs, and the shadow judge."""

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
from tests.worker.evaluation import live_judging as live
from tests.worker.evaluation.bench.samples import DONE
from tests.worker.evaluation.live_judging import INSTALLATION, SUSPICIOUS
from tests.worker.judge.test_outcome_scores import entry_of
from tests.worker.publishing.texts.samples import accepted
from tests.world.fake_anthropic import FakeAnthropic, ModelRequest
from tests.world.replies import cannot_tell
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId
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
from worker.process import SystemClock
from worker.settings import Settings, ShadowSettings
from worker.wiring.rejudge import RejudgerOpener, open_terms, prompt_meter, rejudger


@pytest.fixture
def original(settings: Settings, store: Store) -> LedgerEntry:
    """A live verdict of code."""
    return live.judge_live(store, settings, 1)


@pytest.fixture
def suspicious(settings: Settings, store: Store) -> LedgerEntry:
    """A live verdict about which a model would be asked."""
    return live.judge_live(store, settings, 1, SUSPICIOUS)


@pytest.fixture
def hybrid(settings: Settings, model: FakeAnthropic) -> Settings:
    return live.settings_with_model(settings, model)


def test_rejudging_appends_one_entry(settings: Settings, store: Store, original: LedgerEntry, tmp_path: Path) -> None:
    by = live.terms(settings)
    assert live.rejudge(settings, store, by, original) is OrderResult.JUDGED
    (child,) = live.children(store, original)
    assert (child.verdict.decision, child.verdict.signals["law"]) == ("reject", by.law)
    assert store.ledger.entries(live.order(original).pull)[0] == original, "the original is unchanged"
    begun, ended = live.events(store)[2:]
    assert [(kind, body["eval_id"], body["trigger"]) for kind, body in (begun, ended)] == [
        ("eval.started", child.eval_id, "batch"),
        ("eval.completed", child.eval_id, "batch"),
    ]
    assert ended[1]["parent_eval_id"] == original.eval_id
    assert store.archive.find(child.eval_id) is not None
    assert live.rejudge(settings, store, by, original) is OrderResult.THERE
    by = live.terms(settings, rubric=live.rubric(tmp_path))
    assert live.rejudge(settings, store, by, original) is OrderResult.JUDGED
    assert len(live.children(store, original)) == 2


def test_missing_dossier_is_subject_not_found_once(settings: Settings, store: Store, original: LedgerEntry) -> None:
    """metis, test 8."""
    store.client.call("DEL", keys.dossier(original.eval_id).name)
    by = live.terms(settings)
    assert not live.is_answered(store, by)
    assert live.rejudge(settings, store, by, original) is OrderResult.GONE
    (_, begun), (kind, ended) = live.events(store)[2:]
    assert (kind, ended["failure_mode"]) == ("eval.failed", "subject_not_found")
    assert ended["parent_eval_id"] == original.eval_id
    assert begun["eval_id"] == ended["eval_id"] != original.eval_id
    assert live.is_answered(store, by)
    assert live.children(store, original) == []
    assert store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


def test_missing_entry_is_published_with_subject_id(settings: Settings, store: Store, original: LedgerEntry) -> None:
    (_, before) = live.events(store)[1]
    live.judge_live(store, settings, 1, head="c")
    store.client.call("HDEL", keys.ledger(live.order(original).pull).name, original.eval_id)
    assert live.rejudge(settings, store, live.terms(settings), original) is OrderResult.GONE
    kind, ended = live.events(store)[-1]
    assert (kind, ended["failure_mode"]) == ("eval.failed", "subject_not_found")
    assert ended["subject_id"] == before["subject_id"]


def test_order_without_a_head_is_only_logged(
    settings: Settings, store: Store, original: LedgerEntry, caplog: pytest.LogCaptureFixture
) -> None:
    broken = live.order(original).model_copy(update={"eval_id": EvalId("a"), "subject_id": "x"})
    before = live.events(store)
    assert rejudger(settings, store, live.terms(settings)).execute(broken) is OrderResult.GONE
    assert "order without a head" in caplog.text
    assert live.events(store) == before


def test_forgotten_repository_gets_no_event(settings: Settings, store: Store, original: LedgerEntry) -> None:
    gone, by = live.order(original), live.terms(settings)
    store.client.call("DEL", keys.ledger(gone.pull).name, keys.events(INSTALLATION).name)
    assert rejudger(settings, store, by).execute(gone) is OrderResult.GONE
    rejudger(settings, store, by).record_failure(gone, FailureMode.JUDGE_CALL_FAILED)
    assert live.events(store) == []


def test_model_is_not_asked_again_about_a_forgotten_pull_request(
    store: Store, model: FakeAnthropic, suspicious: LedgerEntry, hybrid: Settings
) -> None:
    pull = live.order(suspicious).pull

    def forget_then_reply(_: ModelRequest) -> str:
        store.client.call("DEL", keys.ledger(pull).name, keys.pull(pull).name, keys.pull_request_cost(pull).name)
        return "no JSON"

    model.reply_by(forget_then_reply)
    assert live.rejudge(hybrid, store, live.terms(hybrid), suspicious) is OrderResult.GONE
    assert len(model.requests) == 1
    assert not store.client.call("EXISTS", keys.pull_request_cost(pull).name)


def test_verdict_forgotten_meanwhile_stays_forgotten(settings: Settings, store: Store, original: LedgerEntry) -> None:

    @contextmanager
    def open_then_forget(by: RejudgeTerms, pull: PullRef | None) -> Generator[JudgeContext]:
        with open_terms(settings, store, by, pull) as context:
            yield context
        store.client.call("DEL", keys.ledger(live.order(original).pull).name)

    forgetful = Rejudger(settings, store, live.terms(settings), open_then_forget)
    assert forgetful.execute(live.order(original)) is OrderResult.GONE
    assert store.ledger.entries(live.order(original).pull) == ()


def test_overspend_is_recorded(store: Store, model: FakeAnthropic, suspicious: LedgerEntry, hybrid: Settings) -> None:
    model.reply_with("no JSON", input_tokens=8, output_tokens=3 * 10**6)
    by = live.terms(hybrid, book="run:x", limit_usd=Decimal(1))
    assert live.rejudge(hybrid, store, by, suspicious) is OrderResult.FULL
    (child,) = live.children(store, suspicious)
    assert store.run_budget("run:x", Decimal(1)).spent_usd == child.verdict.judge_cost_usd
    (ended,) = (body for _, body in live.events(store) if body.get("parent_eval_id") == suspicious.eval_id)
    assert Decimal(ended["judge_cost_usd"]) > 1
    assert not live.is_answered(store, by), "a larger limit asks again"


def raise_version(file: Path) -> None:
    file.write_text(file.read_text().replace('version: "1"', 'version: "2"'))


@pytest.mark.parametrize("edit", [Path.unlink, raise_version])
def test_missing_or_changed_rubric_file_is_rubric_invalid(
    settings: Settings, store: Store, original: LedgerEntry, tmp_path: Path, edit: Callable[[Path], None]
) -> None:
    file = live.rubric(tmp_path)
    by = live.terms(settings, rubric=file)
    load_rubric.cache_clear()  # another process judges
    edit(file)
    assert live.rejudge(settings, store, by, original) is OrderResult.INVALID
    kind, ended = live.events(store)[-1]
    assert (kind, ended["failure_mode"], ended["rubric_id"]) == ("eval.failed", "rubric_invalid", "candidate")
    assert not live.is_answered(store, by), "the restored rubric judges it"


@pytest.mark.parametrize("name", ["default", "candidate"])
def test_rubric_with_a_version_of_other_content_judges_nothing(
    settings: Settings, store: Store, original: LedgerEntry, tmp_path: Path, name: str
) -> None:
    """The shipped rubric defines its version first."""
    version = load_rubric().version
    if name == "candidate":
        store.rubrics.admit(load_rubric(live.rubric(tmp_path, name, version)))
        load_rubric.cache_clear()
    by = live.terms(settings, rubric=live.rubric(tmp_path, name, version, parameter_unused="0.123"))
    assert live.rejudge(settings, store, by, original) is OrderResult.INVALID
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
def test_final_verdict_with_the_judge_digest_answers_its_parent(changes: dict[str, Any], *, is_answer: bool) -> None:
    answer = entry_of(accepted(**{"parent_eval_id": EvalId("a"), "signals": {"law": "l"}, **changes}), "b")
    assert find_answers([answer], "l") == ({"a": answer} if is_answer else {})


def test_process_with_another_digest_refuses_the_order(settings: Settings, store: Store, original: LedgerEntry) -> None:
    by = live.terms(settings).model_copy(update={"law": "of-another-model"})
    assert live.rejudge(settings, store, by, original) is OrderResult.UNLIKE
    assert live.events(store)[-1][1]["failure_mode"] == "judge_call_failed"
    assert not live.is_answered(store, by)


def test_answer_while_paused_is_not_final(settings: Settings, store: Store, original: LedgerEntry) -> None:
    by = live.terms(settings)
    assert live.rejudge(replace(settings, is_paused=True), store, by, original) is OrderResult.JUDGED
    assert live.children(store, original)[0].verdict.abstain_reason == "paused"
    assert not live.is_answered(store, by)
    assert live.rejudge(settings, store, by, original) is OrderResult.JUDGED
    assert live.is_answered(store, by)


def test_order_and_terms_survive_json(settings: Settings, store: Store, tmp_path: Path) -> None:
    by = live.terms(settings, rubric=live.rubric(tmp_path), limit_usd=Decimal("0.50"), book="run:x")
    original = live.order(live.judge_live(store, settings, 1, DONE))
    assert type(by).model_validate_json(by.model_dump_json()) == by
    assert RejudgeOrder.model_validate_json(original.model_dump_json()) == original


@pytest.mark.parametrize("kind", ["submission", "merge_group"])
def test_order_has_the_kind_of_its_verdict(kind: str) -> None:
    body: dict[str, Any] = {"eval_id": "a", "subject_kind": kind, "subject_id": f"7/1/{'b' * 40}"}
    body = {**body, "repository_id": 7, "number": 1, "installation": INSTALLATION}
    assert make_order(RecordedVerdict.model_validate(body)).kind == kind


def test_run_at_its_limit_starts_nothing(store: Store, hybrid: Settings) -> None:
    orders = [live.order(live.judge_live(store, hybrid, number, SUSPICIOUS)) for number in (1, 2, 3)]
    by = live.terms(hybrid, book="run:x", limit_usd=Decimal("0.000001"))
    run = RejudgeRun(hybrid, store, by, orders)
    with pytest.raises(HaltedError, match=r"The limit of \$0.000001 is reached\."):
        list(run.run_locally(RejudgerOpener(hybrid, by), 1))
    assert not any(store.ledger.entries(asked.pull)[1:] for asked in orders)


def test_forecast_without_dossiers_is_empty(store: Store, suspicious: LedgerEntry, hybrid: Settings) -> None:
    assert hybrid.model is not None
    meter, recorded = prompt_meter(hybrid.model), live.order(suspicious)

    def forecast(*orders: RejudgeOrder) -> Forecast:
        run = RejudgeRun(hybrid, store, live.terms(hybrid), orders)
        return forecast_run(run, partial(open_terms, hybrid, store), meter)

    assert forecast() == Forecast(0, 0, 0, None, None)
    unknown = recorded.model_copy(update={"pull": recorded.pull.model_copy(update={"number": 9})})
    assert forecast(unknown) == Forecast(1, 0, 0, None, None)
    cost = forecast(recorded)
    assert (cost.rows, cost.sampled, cost.asked) == (1, 1, 1)


@pytest.mark.slow
def test_error_in_another_process_reaches_the_run(settings: Settings, store: Store, original: LedgerEntry) -> None:
    nowhere = replace(settings, redis_url=SecretStr("redis://127.0.0.1:1"))
    run = RejudgeRun(nowhere, store, live.terms(settings), [live.order(original)] * 2)
    with pytest.raises(InputError, match="Redis is unavailable"):
        list(run.run_locally(RejudgerOpener(nowhere, run.terms), 2))


def judge_by_candidate(
    settings: Settings, store: Store, original: LedgerEntry, shadow: ShadowSettings
) -> tuple[RejudgeTerms, LedgerEntry]:
    """The terms of the candidate, and its verdict's entry."""
    settings = replace(settings, shadow=shadow)
    named = shadow_terms(settings, INSTALLATION, SystemClock())
    assert named is not None
    by = complete_terms(named, partial(open_terms, settings, None))
    assert live.rejudge(settings, store, by, original) is OrderResult.JUDGED
    (child,) = live.children(store, original)
    return by, child


def test_no_shadow_terms_without_a_candidate(settings: Settings) -> None:
    assert shadow_terms(settings, INSTALLATION, SystemClock()) is None


def test_unfunded_shadow_asks_no_model(store: Store, suspicious: LedgerEntry, hybrid: Settings, tmp_path: Path) -> None:
    by, child = judge_by_candidate(hybrid, store, suspicious, ShadowSettings(live.rubric(tmp_path)))
    assert (by.tier, by.book, by.is_canary) == ("heuristic", "", True)
    verdict = child.verdict
    assert (verdict.rubric_id, verdict.signals["canary"], verdict.judge_kind) == ("candidate", True, "heuristic")
    assert store.archive.find(child.eval_id) is None


def test_shadow_has_its_own_budget(
    store: Store, model: FakeAnthropic, suspicious: LedgerEntry, hybrid: Settings, tmp_path: Path
) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text(f"{load_prompt().text}\nBe kind.\n")
    model.reply_with(cannot_tell())
    by, child = judge_by_candidate(hybrid, store, suspicious, ShadowSettings(None, prompt, Decimal(1)))
    assert (child.verdict.judge_kind, child.verdict.prompt_version) == ("hybrid", load_prompt(prompt).version)
    assert "Be kind." in model.requests[0].text
    assert store.run_budget(by.book, Decimal(1)).spent_usd == child.verdict.judge_cost_usd
    paid = keys.pull_request_cost(live.order(suspicious).pull)
    assert store.client.call("EXISTS", paid.name) == 0, "no pull request is charged"


def test_shadow_abstains_at_its_cap(store: Store, suspicious: LedgerEntry, hybrid: Settings, tmp_path: Path) -> None:
    shadow = ShadowSettings(live.rubric(tmp_path), None, Decimal("0.000001"))
    by, child = judge_by_candidate(hybrid, store, suspicious, shadow)
    assert child.verdict.abstain_reason == "budget"
    assert not live.is_answered(store, by), "a larger budget asks again"


def test_invalid_reply_is_kept_in_the_audit(
    store: Store, model: FakeAnthropic, suspicious: LedgerEntry, hybrid: Settings, tmp_path: Path
) -> None:
    model.reply_with("no JSON at all").reply_with("nor this")
    _, child = judge_by_candidate(hybrid, store, suspicious, ShadowSettings(live.rubric(tmp_path), None, Decimal(1)))
    parse_errors = [body for kind, body in live.events(store) if kind == "evaluator_parse_error"]
    assert [(body["eval_id"], body["attempt"], body["payload"]) for body in parse_errors] == [
        (child.eval_id, 1, "audit"),
        (child.eval_id, 2, "audit"),
    ]
    audit = store.archive.audit(child.eval_id)
    assert audit is not None
    assert [exchange.reply.text for exchange in audit.exchanges if exchange.reply] == ["no JSON at all", "nor this"]
    records = store.records()
    records.forget(records.find_holdings("acme/widgets"), SystemClock().now())
    assert store.archive.audit(child.eval_id) is None


def test_shadow_skips_a_carried_over_verdict(settings: Settings, store: Store, original: LedgerEntry) -> None:
    pull = live.order(original).pull
    second = live.judge_live(store, settings, 1, head="c")
    assert make_shadow_order(store, pull) == live.order(second)
    carried = second.verdict.model_copy(update={"eval_id": EvalId("ff"), "carried_from": second.eval_id})
    lease = store.pulls.take_local_lease(judge_request(1))
    entry = second.model_copy(update={"eval_id": EvalId("ff"), "verdict": carried, "fence": lease.fence})
    store.ledger.append(pull, entry)
    assert make_shadow_order(store, pull) is None
    assert make_shadow_order(store, pull.model_copy(update={"number": 9})) is None
