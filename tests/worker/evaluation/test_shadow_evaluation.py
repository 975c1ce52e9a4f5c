"""The canary: a candidate that judges what was judged live, for its own money, and is not shown."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.worker.adapters.redis.played import wish
from tests.worker.evaluation.recorded import ASKED, judged, order, rubric, surveyor
from tests.world.anthropic import MODEL, Anthropic
from tests.world.replies import cannot_tell
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.ids import EvalId, InstallationId
from worker.domain.value import replace
from worker.domain.verdict.ledger import LedgerEntry
from worker.evaluation.rejudge import OrderResult, Rejudger, RejudgeTerms, complete_terms
from worker.evaluation.shadow_evaluation import make_shadow_order, shadow_terms
from worker.judge.rubric import load_prompt
from worker.settings import ModelAccess, Settings, ShadowSettings
from worker.wiring.rejudge import open_terms

HERE = InstallationId(100)


@pytest.fixture
def model() -> Iterator[Anthropic]:
    with HTTPServer(threaded=True) as server:
        played = Anthropic(server)
        yield played
        played.check()


def asking(here: Settings, model: Anthropic) -> Settings:
    return replace(here, tier="hybrid", model=ModelAccess(SecretStr("k"), model.url, MODEL, 10, 1, 0, 8000))


def terms(settings: Settings) -> RejudgeTerms:
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
    by = terms(settings)
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
    by = terms(settings)
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
    by = terms(settings)
    assert Rejudger(settings, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    assert child(store, made).verdict.abstain_reason == "budget"
    assert surveyor(store, by.law).survey.unanswered, "with money it is asked again"


def test_a_reply_that_cant_be_used_is_kept_where_its_event_says(
    here: Settings, store: Store, model: Anthropic, tmp_path: Path
) -> None:
    made = judged(store, here, 1, ASKED)
    settings = replace(asking(here, model), shadow=ShadowSettings(rubric(tmp_path), None, Decimal(1)))
    model.answers("no JSON at all").answers("nor this")
    assert Rejudger(settings, store, terms(settings), open_terms).execute(order(made)) is OrderResult.JUDGED
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
