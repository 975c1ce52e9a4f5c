"""Re-evaluation of recorded verdicts: the entry and its events, runs, and the shadow judge."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.worker.adapters.redis.store_samples import judge_request
from tests.worker.evaluation import live_judging as live
from tests.worker.evaluation.bench.samples import DONE
from tests.worker.evaluation.live_judging import INSTALLATION, SUSPICIOUS
from tests.worker.judge.test_outcome_scores import entry_of, outcomes_of
from tests.worker.publishing.texts.samples import accepted, dossier, rejected
from tests.world.fake_anthropic import FakeAnthropic, ModelRequest
from tests.world.replies import cannot_tell
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.dossier import Ci, CiCheck, Dossier
from worker.domain.judge_request import PullRef
from worker.domain.model import EvalId, new_eval_id
from worker.domain.verdict.events import CiCheckRubric, FailureMode, Outcome, subject_id
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Category, Finding, ThrottledReason, Verdict
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
    Rescoring,
    complete_terms,
    find_answers,
    forecast_run,
    make_order,
    make_shadow_order,
    shadow_terms,
)
from worker.judge.context import JudgeContext
from worker.judge.outcome_scores import CheckVerdict, ci_check_verdicts, pull_request_verdict
from worker.judge.rubric import load_ci_check_rubric, load_prompt, load_pull_request_rubric, load_rubric
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
    by = complete_terms(named, partial(open_terms, settings, None))
    assert live.rejudge(settings, store, by, original) is OrderResult.JUDGED
    (child,) = live.children(store, original)
    return by, child


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


CHECK_WEIGHTS, WEIGHTS = load_ci_check_rubric(), load_pull_request_rubric()
AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
JUDGE_DIGEST = "aaaabbbbccccdddd"
UNIT = CiCheck(name="unit", app="actions", conclusion="success")
LINT = CiCheck(name="lint", app="actions", conclusion="success", attempt=3)


@cache
def at(seconds: int) -> EvalId:
    return new_eval_id(AT + timedelta(seconds=seconds))


def first(**changes: Any) -> LedgerEntry:
    return entry_of(rejected(**{"eval_id": at(1), **changes}), "a")


def second(**changes: Any) -> LedgerEntry:
    return entry_of(accepted(**{"eval_id": at(2), **changes}), "b")


def pull_request_entry(entries: Sequence[LedgerEntry], reactions: Sequence[Outcome] = ()) -> LedgerEntry:
    """The current verdict on the whole pull request."""
    return entry_of(pull_request_verdict(at(10), AT, entries, reactions, WEIGHTS), "b")


def rescoring(current: LedgerEntry, *entries: LedgerEntry, answers: Sequence[LedgerEntry] = ()) -> Rescoring:
    by_parent = {answer.verdict.parent_eval_id: answer for answer in answers}
    return Rescoring(current, (*entries, current, *answers), by_parent, JUDGE_DIGEST, AT)  # pyright: ignore[reportArgumentType] - all have one


def rescore(
    current: LedgerEntry, *entries: LedgerEntry, reactions: Sequence[Outcome] = (), answers: Sequence[LedgerEntry] = ()
) -> Verdict:
    verdict = rescoring(current, *entries, answers=answers).rescore_pull_request(reactions, WEIGHTS)
    assert verdict is not None
    return verdict


def comparable_fields(verdict: Verdict) -> dict[str, Any]:
    """The verdict without its ids, time and judge digest."""
    ids = {"eval_id", "parent_eval_id", "created_at"}
    fields = {name: value for name, value in dict(verdict).items() if name not in ids}
    return {**fields, "signals": {name: value for name, value in verdict.signals.items() if name != "law"}}


def test_same_weights_give_the_same_pull_request_verdict() -> None:
    reactions = outcomes_of("merged", "not_helpful", about=at(2))
    current = pull_request_entry([first(), second()], reactions)
    rescored = rescore(current, first(), second(), reactions=reactions)
    assert comparable_fields(rescored) == comparable_fields(current.verdict)
    assert (rescored.parent_eval_id, rescored.created_at) == (current.eval_id, AT)
    assert rescored.signals["law"] == JUDGE_DIGEST
    assert rescored.eval_id > current.eval_id, "despite the older clock"


def test_later_outcomes_and_verdicts_do_not_count() -> None:
    reactions = outcomes_of("merged")
    current = pull_request_entry([first(), second()], reactions)
    later = [entry_of(rejected(eval_id=at(20)), "c"), entry_of(rejected(eval_id=at(21)), "b")]
    rescored = rescore(current, first(), second(), *later, reactions=[*reactions, *outcomes_of("reverted")])
    assert comparable_fields(rescored) == comparable_fields(current.verdict)


def test_verdict_recorded_later_does_not_count_despite_its_earlier_id() -> None:
    current = pull_request_entry([second()])
    rescored = rescore(current, entry_of(rejected(eval_id=at(1)), "c"), second())
    assert comparable_fields(rescored) == comparable_fields(current.verdict)


def test_reaction_to_a_rejudged_verdict_still_counts() -> None:
    reactions, again = outcomes_of("not_helpful", about=at(2)), entry_of(accepted(eval_id=at(3), score=0.9), "b")
    current = pull_request_entry([first(), second(), again], reactions)
    assert current.verdict.signals["said_explicit"] == 0
    rescored = rescore(current, first(), second(), again, reactions=reactions)
    assert comparable_fields(rescored) == comparable_fields(current.verdict)


def test_submissions_beyond_the_listed_ones_count() -> None:
    many = [entry_of(accepted(eval_id=at(n), score=0.5 + n / 200), "b") for n in range(60)]
    many = [submission.model_copy(update={"head_sha": f"{n:040x}"}) for n, submission in enumerate(many)]
    current = entry_of(pull_request_verdict(at(99), AT, many, (), WEIGHTS), "b")
    assert (current.verdict.signals["submissions"], len(current.verdict.signals["child_eval_ids"])) == (60, 50)  # type: ignore[arg-type]
    assert comparable_fields(rescore(current, *many)) == comparable_fields(current.verdict)


def test_other_weights_change_score_and_decision() -> None:
    reactions = outcomes_of("merged", "reverted")
    current = pull_request_entry([second()], reactions)
    speaks_for = {**WEIGHTS.speaks_for, reactions[1].kind: 1.0}
    gentle = WEIGHTS.model_copy(update={"id": "gentle", "speaks_for": speaks_for})
    rescored = rescoring(current, second()).rescore_pull_request(reactions, gentle)
    assert rescored is not None
    assert (current.verdict.decision, rescored.decision, rescored.rubric_id) == ("abstain", "accept", "gentle")
    assert rescored.score > 0.5 > current.verdict.score


def test_rejudged_submission_counts_by_its_answer_and_reactions_by_the_original() -> None:
    reactions = outcomes_of("helpful", about=at(2))
    current = pull_request_entry([first(), second()], reactions)
    answer = entry_of(rejected(eval_id=at(30), parent_eval_id=at(2), score=0.1), "b")
    rescored = rescore(current, first(), second(), reactions=reactions, answers=[answer])
    assert (rescored.signals["child_eval_ids"], rescored.signals["last_score"]) == ((at(1), at(30)), 0.1)
    assert rescored.signals["said_explicit"] == 1.0, "the reaction is to the original accept"
    assert (rescored.decision, rescored.parent_eval_id) == ("abstain", current.eval_id)


def test_answer_to_an_earlier_submission_does_not_become_the_last() -> None:
    current = pull_request_entry([first(), second()])
    answer = entry_of(accepted(eval_id=at(30), parent_eval_id=at(1), score=0.8), "a")
    rescored = rescore(current, first(), second(), answers=[answer])
    assert rescored.signals["child_eval_ids"] == (at(30), at(2))
    assert rescored.signals["last_score"] == second().verdict.score


def test_incomplete_records_are_not_rescored() -> None:
    reactions = outcomes_of("merged", "reverted")
    current = pull_request_entry([first(), second()], reactions)
    assert rescoring(current, first(), second()).rescore_pull_request(reactions[:1], WEIGHTS) is None
    assert rescoring(current, second()).rescore_pull_request(reactions, WEIGHTS) is None
    nameless = entry_of(current.verdict.model_copy(update={"signals": {}}), "b")
    assert rescoring(nameless, first(), second()).rescore_pull_request(reactions, WEIGHTS) is None


def check_entry(check: CiCheck, *findings: Finding) -> LedgerEntry:
    """The verdict on a check of the second submission."""
    [scored] = ci_check_verdicts(second(findings=findings).verdict, [check], CHECK_WEIGHTS)
    return entry_of(scored.verdict, "b")


def dossier_with(*checks: CiCheck) -> Dossier:
    return dossier().model_copy(update={"ci": Ci(checks=checks)})


def rescore_check(
    context: Rescoring, check: CiCheck, whole: Dossier, weights: CiCheckRubric = CHECK_WEIGHTS
) -> CheckVerdict | None:
    name = subject_id(context.entry.verdict.subject, f"{check.app}/{check.name}")
    return context.rescore_check(name, whole, weights)


def test_same_weights_give_the_same_check_verdict() -> None:
    for check in (UNIT, LINT):
        current = check_entry(check)
        rescored = rescore_check(rescoring(current, second()), check, dossier_with(UNIT, LINT))
        assert rescored is not None
        assert comparable_fields(rescored.verdict) == comparable_fields(current.verdict)
        assert (rescored.part, rescored.verdict.parent_eval_id) == (f"actions/{check.name}", current.eval_id)
        assert rescored.verdict.signals["law"] == JUDGE_DIGEST
        assert rescored.verdict.eval_id > current.eval_id


def test_other_weights_change_a_checks_score_despite_the_recording_limit() -> None:
    current = check_entry(UNIT)
    strict = CHECK_WEIGHTS.model_copy(update={"passed": 0.9, "most": 1})
    rescored = rescore_check(rescoring(current, second()), UNIT, dossier_with(LINT, UNIT), strict)
    assert rescored is not None
    assert (current.verdict.score, rescored.verdict.score) == (1.0, 0.9)


def test_loosened_check_follows_the_findings_of_the_latest_answer() -> None:
    category = Category.TESTS_PASS_BUT_WRONG
    loosened = Finding(signal="check_cannot_fail", category=category, fact=True, path="ci.yml", line=4, note="|| true")
    current, submission = check_entry(UNIT, loosened), second(findings=(loosened,))
    same = rescore_check(rescoring(current, submission), UNIT, dossier_with(UNIT))
    answer = entry_of(accepted(eval_id=at(30), parent_eval_id=at(2), findings=()), "b")
    now = rescore_check(rescoring(current, submission, answers=[answer]), UNIT, dossier_with(UNIT))
    assert same is not None
    assert now is not None
    assert (same.verdict.decision, now.verdict.decision, now.verdict.signals["loosened_by"]) == ("reject", "accept", ())
    assert now.verdict.parent_eval_id == current.eval_id


@pytest.mark.parametrize("kept", [dossier_with(LINT), dossier_with(), dossier().model_copy(update={"ci": None})])
def test_check_missing_from_the_dossier_is_not_rescored(kept: Dossier) -> None:
    assert rescore_check(rescoring(check_entry(UNIT), second()), UNIT, kept) is None


def test_check_without_its_submission_is_not_rescored() -> None:
    assert rescore_check(rescoring(check_entry(UNIT), first()), UNIT, dossier_with(UNIT)) is None
