"""Re-evaluation of a recorded verdict: beside it, once, on the stream from its beginning to its end; runs; the shadow."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.worker.adapters.redis.played import wish
from tests.worker.evaluation.bench.made import DONE, STUB
from tests.worker.evaluation.recorded import ASKED, judged, order, rubric, surveyor, terms
from tests.world.anthropic import MODEL, Anthropic, Asked
from tests.world.replies import cannot_tell
from worker.adapters.redis import keys
from worker.adapters.redis.client import blob, items
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import EvalId, InstallationId
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.events import Event, EventKind, FailureMode
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import InputError, RubricRefused
from worker.evaluation.rejudge import (
    OrderResult,
    RejudgeOrder,
    Rejudger,
    RejudgeRun,
    RejudgeTerms,
    complete_terms,
    forecast_run,
    make_order,
    make_shadow_order,
    shadow_terms,
)
from worker.evaluation.supersession import parse_verdict
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_prompt, load_rubric
from worker.settings import ModelAccess, Settings, ShadowSettings
from worker.wiring.rejudge import open_terms

INSTALLATION = InstallationId(100)


def told(store: Store, after: str = "") -> list[tuple[str, dict[str, Any]]]:
    return [(one.kind.decode(), json.loads(one.raw)) for one in store.events.read(INSTALLATION, after)]


def children(store: Store, made: LedgerEntry) -> list[LedgerEntry]:
    entries = store.ledger.entries(order(made).pull)
    return [one for one in entries if one.verdict.parent_eval_id == made.eval_id]


def test_a_judging_anew_is_a_new_entry_beside_its_verdict_and_ends_once(here: Settings, store: Store) -> None:
    made = judged(store, here, 1)
    by = terms(here)
    assert Rejudger(here, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    (child,) = children(store, made)
    assert (child.verdict.decision, child.verdict.signals["law"]) == ("reject", by.law)
    assert store.ledger.entries(order(made).pull)[0] == made, "what stands is as it was"
    kinds = [(kind, body["eval_id"], body["trigger"]) for kind, body in told(store)[2:]]
    assert kinds == [("eval.started", child.eval_id, "batch"), ("eval.completed", child.eval_id, "batch")]
    assert told(store)[3][1]["parent_eval_id"] == made.eval_id
    assert store.archive.find(child.eval_id) is not None


def test_what_was_judged_by_this_law_already_is_not_judged_again(here: Settings, store: Store, tmp_path: Path) -> None:
    made = judged(store, here, 1)
    desk = Rejudger(here, store, terms(here), open_terms)
    assert [desk.execute(order(made)) for _ in range(3)] == [OrderResult.JUDGED, OrderResult.THERE, OrderResult.THERE]
    other = terms(here, rubric=rubric(tmp_path))
    assert Rejudger(here, store, other, open_terms).execute(order(made)) is OrderResult.JUDGED
    assert len(children(store, made)) == 2


def test_a_dossier_that_is_gone_is_told_as_not_found_and_not_asked_for_again(here: Settings, store: Store) -> None:
    """metis, test 8."""
    made = judged(store, here, 1)
    store.client.call("DEL", keys.dossier(made.eval_id).name)
    by = terms(here)
    assert surveyor(store, by.law).survey.unanswered
    assert Rejudger(here, store, by, open_terms).execute(order(made)) is OrderResult.GONE
    (_, begun), (kind, ended) = told(store)[2:]
    assert (kind, ended["failure_mode"], ended["parent_eval_id"]) == ("eval.failed", "subject_not_found", made.eval_id)
    assert begun["eval_id"] == ended["eval_id"] != made.eval_id
    assert surveyor(store, by.law).survey.unanswered == ()
    assert children(store, made) == []
    assert store.client.call("HLEN", keys.OPEN_EVALUATIONS.name) == 0


def test_an_entry_that_is_gone_is_told_by_its_numbers(here: Settings, store: Store) -> None:
    made = judged(store, here, 1)
    gone = order(made)
    ledger = keys.ledger(gone.pull).name
    (field,) = items(store.client.call("HKEYS", ledger))
    judged(store, here, 1, head="c")
    store.client.call("HDEL", ledger, blob(field))
    assert Rejudger(here, store, terms(here), open_terms).execute(gone) is OrderResult.GONE
    kind, ended = told(store)[-1]
    before = told(store)[1][1]
    assert (kind, ended["failure_mode"], ended["subject_id"]) == (
        "eval.failed",
        "subject_not_found",
        before["subject_id"],
    )


def test_an_order_that_names_no_head_is_told_of_in_the_log_alone(
    here: Settings, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    broken = order(judged(store, here, 1)).model_copy(update={"eval_id": EvalId("a"), "subject_id": "x"})
    before = len(told(store))
    assert Rejudger(here, store, terms(here), open_terms).execute(broken) is OrderResult.GONE
    assert "an order names no head" in caplog.text
    assert len(told(store)) == before


def test_of_a_repository_that_was_forgotten_meanwhile_nothing_is_told(here: Settings, store: Store) -> None:
    gone, by = order(judged(store, here, 1)), terms(here)
    store.client.call("DEL", keys.ledger(gone.pull).name, keys.events(gone.pull.installation_id).name)
    assert Rejudger(here, store, by, open_terms).execute(gone) is OrderResult.GONE
    Rejudger(here, store, by, open_terms).record_failure(gone, FailureMode.JUDGE_CALL_FAILED)
    assert told(store) == []


def test_of_what_is_forgotten_while_it_is_judged_no_model_is_asked_any_more(here: Settings, store: Store) -> None:
    made = judged(store, here, 1, ASKED)
    pull = order(made).pull

    def forgotten(_: Asked) -> str:
        store.client.call("DEL", keys.ledger(pull).name, keys.pull(pull).name, keys.pull_request_cost(pull).name)
        return "no JSON: it would be asked for once more"

    with HTTPServer(threaded=True) as server:
        model = Anthropic(server).decides(forgotten)
        asking = replace(here, tier="hybrid", model=ModelAccess(SecretStr("k"), model.url, MODEL, 10, 1, 0, 8000))
        assert Rejudger(asking, store, terms(asking), open_terms).execute(order(made)) is OrderResult.GONE
        assert len(model.asked) == 1
    assert not store.client.call("EXISTS", keys.pull_request_cost(pull).name)


def test_what_is_paid_for_already_when_the_limit_is_reached_is_recorded(here: Settings, store: Store) -> None:
    made = judged(store, here, 1, ASKED)
    with HTTPServer(threaded=True) as server:
        model = Anthropic(server).answers("no JSON", input_tokens=8, output_tokens=3 * 10**6)
        asking = replace(here, tier="hybrid", model=ModelAccess(SecretStr("k"), model.url, MODEL, 10, 1, 0, 8000))
        by = terms(asking, book="run:x", limit_usd=Decimal(1))
        assert Rejudger(asking, store, by, open_terms).execute(order(made)) is OrderResult.FULL
        model.check()
    (child,) = children(store, made)
    assert store.run_budget("run:x", Decimal(1)).spent_usd == child.verdict.judge_cost_usd
    (ended,) = (body for _, body in told(store) if body.get("parent_eval_id") == made.eval_id)
    assert Decimal(ended["judge_cost_usd"]) > 1
    assert surveyor(store, by.law).survey.unanswered, "with more money it is asked again"


def test_the_rubric_that_ships_says_first_what_its_version_stands_for(
    here: Settings, store: Store, tmp_path: Path
) -> None:
    made, poison = judged(store, here, 1), rubric(tmp_path, "default", load_rubric().version, parameter_unused="0.123")
    by = terms(here, rubric=poison)
    assert Rejudger(here, store, by, open_terms).execute(order(made)) is OrderResult.INVALID
    assert store.rubrics.check(load_rubric()) is None


def test_a_rubric_that_was_deleted_while_a_judging_waited_is_told_as_invalid(
    here: Settings, store: Store, tmp_path: Path
) -> None:
    made, file = judged(store, here, 1), rubric(tmp_path)
    by = terms(here, rubric=file)
    load_rubric.cache_clear()  # another process judges
    file.unlink()
    assert Rejudger(here, store, by, open_terms).execute(order(made)) is OrderResult.INVALID
    kind, ended = told(store)[-1]
    assert (kind, ended["failure_mode"], ended["rubric_id"]) == ("eval.failed", "rubric_invalid", "candidate")
    assert surveyor(store, by.law).survey.unanswered, "with its rubric back, it is judged"


def test_a_rubric_that_was_changed_while_a_judging_waited_is_told_as_invalid(
    here: Settings, store: Store, tmp_path: Path
) -> None:
    made, file = judged(store, here, 1), rubric(tmp_path)
    by = terms(here, rubric=file)
    load_rubric.cache_clear()
    file.write_text(file.read_text().replace('version: "1"', 'version: "2"'))
    assert Rejudger(here, store, by, open_terms).execute(order(made)) is OrderResult.INVALID
    assert told(store)[-1][1]["failure_mode"] == "rubric_invalid"


def test_an_edit_without_a_new_version_is_refused(here: Settings, store: Store, tmp_path: Path) -> None:
    made, file = judged(store, here, 1), rubric(tmp_path)
    store.rubrics.admit(load_rubric(file))
    edited = rubric(tmp_path, unused_parameter="0.1", parameter_unused="0.91")
    load_rubric.cache_clear()
    with pytest.raises(RubricRefused, match='was changed but still says version "1": raise it'):
        store.rubrics.admit(load_rubric(edited), str(edited))
    assert Rejudger(here, store, terms(here, rubric=edited), open_terms).execute(order(made)) is OrderResult.INVALID
    raised = rubric(tmp_path, version="2", parameter_unused="0.91")
    store.rubrics.admit(load_rubric(raised))
    assert Rejudger(here, store, terms(here, rubric=raised), open_terms).execute(order(made)) is OrderResult.JUDGED


def test_a_process_that_would_judge_otherwise_says_so(here: Settings, store: Store) -> None:
    made = judged(store, here, 1)
    by = terms(here).model_copy(update={"law": "of-another-model"})
    assert Rejudger(here, store, by, open_terms).execute(order(made)) is OrderResult.UNLIKE
    assert told(store)[-1][1]["failure_mode"] == "judge_call_failed"
    assert surveyor(store, by.law).survey.unanswered


def test_a_verdict_that_was_forgotten_while_it_was_judged_anew_stays_forgotten(here: Settings, store: Store) -> None:
    made = judged(store, here, 1)

    @contextmanager
    def forgetting(
        settings: Settings, opened: Store | None, by: RejudgeTerms, pull: PullRef | None
    ) -> Generator[JudgeContext]:
        with open_terms(settings, opened, by, pull) as context:
            yield context
        store.client.call("DEL", keys.ledger(order(made).pull).name)

    by = terms(here)
    assert Rejudger(here, store, by, forgetting).execute(order(made)) is OrderResult.GONE
    assert store.ledger.entries(order(made).pull) == ()


def test_while_judging_is_paused_the_answer_is_not_final(here: Settings, store: Store) -> None:
    made = judged(store, here, 1)
    by, paused = terms(here), replace(here, is_paused=True)
    assert Rejudger(paused, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    assert children(store, made)[0].verdict.abstain_reason == "paused"
    assert surveyor(store, by.law).survey.unanswered
    assert Rejudger(here, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    assert surveyor(store, by.law).survey.unanswered == ()


def test_a_rubric_that_is_none_is_refused_before_anything_is_judged(here: Settings, tmp_path: Path) -> None:
    (tmp_path / "bad.yml").write_text("id: x\n")
    with pytest.raises(InputError, match="Rubric refused at"):
        terms(here, rubric=tmp_path / "bad.yml")


def test_an_order_and_its_terms_travel_as_json(here: Settings, store: Store, tmp_path: Path) -> None:
    by = terms(here, rubric=rubric(tmp_path), limit_usd=Decimal("0.50"), book="run:x")
    made = order(judged(store, here, 1, DONE))
    assert type(by).model_validate_json(by.model_dump_json()) == by
    assert RejudgeOrder.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("kind", ["submission", "merge_group"])
def test_an_order_says_of_what_kind_its_verdict_is(kind: str) -> None:
    body = {"eval_id": "a", "subject_kind": kind, "subject_id": f"7/1/{'b' * 40}", "repository_id": 7, "number": 1}
    assert make_order(parse_verdict(body, INSTALLATION)).kind == kind


def test_of_two_heads_the_newest_verdict_on_each_stands(here: Settings, store: Store) -> None:
    first, second = judged(store, here, 1), judged(store, here, 1, STUB, head="c")
    again = judged(store, here, 1, DONE)
    found = surveyor(store, "law").survey.standing
    assert [one.eval_id for one in found] == [second.eval_id, again.eval_id]
    assert first.eval_id not in {one.eval_id for one in found}


def test_each_entry_is_read_once_and_what_came_since_is_read_on(here: Settings, store: Store) -> None:
    made = judged(store, here, 1)
    by = terms(here)
    reader = surveyor(store, by.law)
    store.events.publish(INSTALLATION, "broken", Event(EventKind.COMPLETED, {"v": 1}))
    Rejudger(here, store, by, open_terms).execute(order(made))
    assert [one.parent for one in reader.read_new()] == [made.eval_id]
    assert list(reader.read_new()) == []
    assert reader.survey.unread_count == 1


NOBODY = ModelAccess(SecretStr("k"), "http://127.0.0.1:1", MODEL, 10, 1, 0, 8000)


def test_at_its_limit_nothing_more_is_begun(here: Settings, store: Store) -> None:
    orders = [order(judged(store, here, number, ASKED)) for number in (1, 2, 3)]
    asking = replace(here, tier="hybrid", model=NOBODY)
    by = terms(asking, book="run:x", limit_usd=Decimal("0.000001"))
    assert RejudgeRun(asking, store, by, orders, open_terms).run_locally(1, pytest.fail) == {OrderResult.FULL: 1}


def test_nothing_is_forecast_where_nothing_would_be_asked_or_is_kept(here: Settings, store: Store) -> None:
    made = order(judged(store, here, 1, ASKED))
    assert forecast_run(RejudgeRun(here, store, terms(here), [made], open_terms)) is None
    asking = replace(here, tier="hybrid", model=NOBODY)
    assert forecast_run(RejudgeRun(asking, store, terms(asking), [], open_terms)) is None
    gone = made.model_copy(update={"pull": made.pull.model_copy(update={"number": 9})})
    assert forecast_run(RejudgeRun(asking, store, terms(asking), [gone], open_terms)) is None
    known = forecast_run(RejudgeRun(asking, store, terms(asking), [made], open_terms))
    assert known is not None
    assert (known.rows, known.sampled, known.asked) == (1, 1, 1)


@pytest.mark.slow
def test_an_error_in_another_process_reaches_this_one(here: Settings, store: Store) -> None:
    made = order(judged(store, here, 1))
    nowhere = replace(here, redis_url=SecretStr("redis://127.0.0.1:1"))
    with pytest.raises(InputError, match="Redis is unavailable"):
        RejudgeRun(nowhere, store, terms(here), [made, made], open_terms).run_locally(2, lambda: None)


HERE = InstallationId(100)


@pytest.fixture
def model() -> Iterator[Anthropic]:
    with HTTPServer(threaded=True) as server:
        played = Anthropic(server)
        yield played
        played.check()


def asking(here: Settings, model: Anthropic) -> Settings:
    return replace(here, tier="hybrid", model=ModelAccess(SecretStr("k"), model.url, MODEL, 10, 1, 0, 8000))


def candidate_terms(settings: Settings) -> RejudgeTerms:
    named = shadow_terms(settings, HERE, SystemClock())
    assert named is not None
    return complete_terms(settings, named, open_terms)


def child(store: Store, made: LedgerEntry) -> LedgerEntry:
    (found,) = (one for one in store.ledger.entries(order(made).pull) if one.verdict.parent_eval_id == made.eval_id)
    return found


def test_without_a_candidate_nothing_judges_beside(here: Settings) -> None:
    assert shadow_terms(here, HERE, SystemClock()) is None


def test_without_money_it_asks_no_model(here: Settings, store: Store, model: Anthropic, tmp_path: Path) -> None:
    made = judged(store, here, 1, ASKED)
    settings = replace(asking(here, model), shadow=ShadowSettings(rubric(tmp_path)))
    by = candidate_terms(settings)
    assert (by.tier, by.book, by.is_canary) == ("heuristic", "", True)
    assert Rejudger(settings, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    verdict = child(store, made).verdict
    assert (verdict.rubric_id, verdict.signals["canary"], verdict.judge_kind) == ("candidate", True, "heuristic")
    assert store.archive.find(EvalId(verdict.eval_id)) is None


def test_its_money_is_its_own(here: Settings, store: Store, model: Anthropic, tmp_path: Path) -> None:
    made = judged(store, here, 1, ASKED)
    prompt = tmp_path / "prompt.md"
    prompt.write_text(f"{load_prompt().text}\nBe kind.\n")
    settings = replace(asking(here, model), shadow=ShadowSettings(None, prompt, Decimal(1)))
    model.answers(cannot_tell())
    by = candidate_terms(settings)
    assert Rejudger(settings, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    verdict = child(store, made).verdict
    assert (verdict.judge_kind, verdict.prompt_version) == ("hybrid", load_prompt(prompt).version)
    assert "Be kind." in model.asked[0].text
    assert store.run_budget(by.book, Decimal(1)).spent_usd == verdict.judge_cost_usd
    assert store.client.call("EXISTS", keys.pull_request_cost(order(made).pull).name) == 0, (
        "no pull request pays for it"
    )


def test_at_its_own_cap_it_abstains_and_nobody_else_does(
    here: Settings, store: Store, model: Anthropic, tmp_path: Path
) -> None:
    made = judged(store, here, 1, ASKED)
    settings = replace(asking(here, model), shadow=ShadowSettings(rubric(tmp_path), None, Decimal("0.000001")))
    by = candidate_terms(settings)
    assert Rejudger(settings, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    assert child(store, made).verdict.abstain_reason == "budget"
    assert surveyor(store, by.law).survey.unanswered, "with money it is asked again"


def test_a_reply_that_cant_be_used_is_kept_where_its_event_says(
    here: Settings, store: Store, model: Anthropic, tmp_path: Path
) -> None:
    made = judged(store, here, 1, ASKED)
    settings = replace(asking(here, model), shadow=ShadowSettings(rubric(tmp_path), None, Decimal(1)))
    model.answers("no JSON at all").answers("nor this")
    assert Rejudger(settings, store, candidate_terms(settings), open_terms).execute(order(made)) is OrderResult.JUDGED
    told = [(one.kind, json.loads(one.raw)) for one in store.events.read(HERE)]
    troubles = [said for kind, said in told if kind == b"evaluator_parse_error"]
    assert [(one["attempt"], one["payload"]) for one in troubles] == [(1, "audit"), (2, "audit")]
    eval_id = child(store, made).eval_id
    assert {one["eval_id"] for one in troubles} == {eval_id}
    audit = store.archive.audit(EvalId(eval_id))
    assert audit is not None
    assert [one.reply.text for one in audit.exchanges if one.reply] == ["no JSON at all", "nor this"]
    records = store.records()
    records.forget(records.find_holdings("acme/widgets"), SystemClock().now())
    assert store.archive.audit(EvalId(eval_id)) is None


def test_the_last_verdict_is_judged_unless_it_was_carried_over(here: Settings, store: Store) -> None:
    pull = order(judged(store, here, 1)).pull
    second = judged(store, here, 1, head="c")
    assert make_shadow_order(store, pull) == order(second)
    carried = second.verdict.model_copy(update={"eval_id": EvalId("ff"), "carried_from": second.eval_id})
    lease = store.pulls.take_local_lease(wish(1))
    entry = second.model_copy(update={"eval_id": EvalId("ff"), "verdict": carried, "fence": lease.fence})
    store.ledger.append(pull, entry)
    assert make_shadow_order(store, pull) is None
    assert make_shadow_order(store, pull.model_copy(update={"number": 9})) is None
