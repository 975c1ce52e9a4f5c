"""Two rubrics side by side, and `assay rubric check` and `diff` on recorded pull requests."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from app.cli.exit_codes import Exit
from app.cli.main import main
from tests.worker.adapters.redis.played import KEY
from tests.worker.evaluation.bench.made import DONE, STUB
from tests.worker.evaluation.recorded import ASKED, DEFAULT, judged, order, rubric, terms
from tests.worker.publishing.texts.samples import abstained, accepted
from tests.world.anthropic import MODEL, Anthropic
from tests.world.redis import Redis
from tests.world.replies import cannot_tell, reject
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId
from worker.domain.verdict.events import Event, EventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome, OutcomeKind, outcome_event
from worker.domain.verdict.verdict import AbstainReason, ThrottledReason, Verdict
from worker.evaluation.rejudge import OrderResult, Rejudger
from worker.evaluation.rubric_diff import (
    ComparedChange,
    OutcomeAgreement,
    RubricIdentity,
    RubricOpinion,
    count_agreement,
    find_common_verdicts,
)
from worker.evaluation.supersession import UNFINISHED_REASONS
from worker.judge.rubric import load_prompt, load_rubric, read_rubric
from worker.settings import ModelAccess, Settings
from worker.wiring.rejudge import open_terms

AT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture(autouse=True)
def environment(redis_server: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("ASSAY_STORE_KEYS", KEY.get_secret_value())


def diff(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    code = main(["rubric", "diff", *map(str, arguments), "--json"])
    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    return json.loads(said.out)


def came(store: Store, made: LedgerEntry, kind: OutcomeKind) -> None:
    event = outcome_event(order(made).pull, Outcome(kind=kind, eval_id=EvalId(made.eval_id), at=AT))
    store.events.publish(made.verdict.subject.installation_id, f"{kind}-{made.eval_id}", event)


def test_at_no_cost_a_weight_moves_scores_and_a_threshold_who_is_asked(
    store: Store, here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [judged(store, here, number, text) for number, text in enumerate((STUB, DONE, ASKED), start=1)]
    heavier = rubric(tmp_path, "heavier", parameter_unused="0.9")
    said = diff(capsys, "default", heavier)
    assert (said["compared"], said["by_record"], said["changes"], said["moved"]) == (3, 0, [], 1)
    timid = tmp_path / "timid.yml"
    timid.write_text(
        rubric(tmp_path, "timid").read_text().replace("escalation_threshold: 0.7", "escalation_threshold: 0.1")
    )
    asked = diff(capsys, "default", timid)["asked_otherwise"]
    assert {one["eval_id"] for one in asked} == {made[1].eval_id, made[2].eval_id}
    assert asked[0]["before"]["asks"] is not asked[0]["now"]["asks"]
    assert all(len(store.ledger.entries(order(one).pull)) == 1 for one in made), "nothing is recorded"


def test_rejects_are_held_against_what_people_did(
    store: Store, here: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = (judged(store, here, number, STUB) for number in (1, 2, 3))
    came(store, first, OutcomeKind.MERGED)
    came(store, second, OutcomeKind.CLOSED_UNMERGED)
    came(store, third, OutcomeKind.HELPFUL)
    found = {one["strength"]: one["before"] for one in diff(capsys, "default", "default")["agreement"]}
    assert (found["lifecycle"]["hits"], found["lifecycle"]["of"]) == (1, 2)
    assert (found["explicit"]["hits"], found["explicit"]["of"]) == (1, 1)
    assert found["implicit"] == {"hits": 0, "of": 0, "interval": None}


def test_where_a_model_judged_by_both_its_verdicts_are_compared(
    store: Store, here: Settings, tmp_path: Path, httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    made, candidate = judged(store, here, 1, ASKED), rubric(tmp_path)
    played = Anthropic(httpserver)
    access = ModelAccess(SecretStr("k"), played.url, MODEL, 10, 1, 0, 8000)
    asking = replace(here, tier="hybrid", model=access)
    for file, reply in ((None, cannot_tell()), (candidate, reject("half_finished", "load.py:2"))):
        played.answers(reply)
        by = terms(asking, rubric=file)
        assert Rejudger(asking, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    played.check()
    said = diff(capsys, "default", candidate)
    assert (said["by_record"], said["now"]) == (1, "candidate 1")
    (change,) = said["changes"]
    assert (change["before"]["words"], change["now"]["words"]) == ("abstain needs_human", "reject half_finished")
    assert (change["model"], change["now"]["places"]) == (MODEL, ["load.py:2"])


def test_a_candidate_prompt_is_held_against_ours_where_one_model_was_asked_with_both(
    store: Store, here: Settings, tmp_path: Path, httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = tmp_path / "kind.md"
    prompt.write_text(f"{load_prompt().text}\nBe kind.\n")
    assert diff(capsys, "default", "default", "--prompt", prompt)["compared"] == 0
    both, ours = judged(store, here, 1, ASKED), judged(store, here, 2, ASKED)
    played = Anthropic(httpserver)
    access = ModelAccess(SecretStr("k"), played.url, MODEL, 10, 1, 0, 8000)
    asking = replace(here, tier="hybrid", model=access)
    asked = (
        (None, both, reject("half_finished", "load.py:2")),
        (None, ours, cannot_tell()),
        (prompt, both, cannot_tell()),
    )
    for file, made, reply in asked:
        played.answers(reply)
        by = terms(asking, prompt=file)
        assert Rejudger(asking, store, by, open_terms).execute(order(made)) is OrderResult.JUDGED
    played.check()
    said = diff(capsys, "default", "default", "--prompt", prompt)
    assert (said["compared"], said["by_record"], said["left_out"]) == (1, 1, 1)
    (change,) = said["changes"]
    assert (change["before"]["words"], change["now"]["words"]) == ("reject half_finished", "abstain needs_human")
    assert main(["rubric", "diff", "default", "default", "--prompt", str(prompt)]) == 0
    out = capsys.readouterr().out
    version = load_rubric().version
    assert out.startswith(f"1 recorded changes by default {version} and by default {version} with {prompt}.\n")
    assert "1 are left out: no model was asked with both prompts (ASSAY_CANARY_PROMPT" in out
    assert main(["rubric", "diff", "default", "default", "--prompt", str(tmp_path / "none.md")]) == Exit.USAGE


def test_what_is_gone_or_broken_is_left_out_and_counted(
    store: Store, here: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, _ = (judged(store, here, number) for number in (1, 2, 3))
    store.client.call("DEL", keys.dossier(first.eval_id).name)
    store.client.call("DEL", keys.ledger(order(second).pull).name)
    broken = [
        Event(EventKind.COMPLETED, {"v": 1}),
        Event(EventKind.COMPLETED, {"v": 1, "eval_id": 7, "signals": "x"}),
        Event(EventKind.OUTCOME, {"v": 1}),
        Event(EventKind.OUTCOME, {"v": 1, "subject_id": "7/1", "eval_id": ["x"], "outcome": "merged"}),
    ]
    for number, event in enumerate(broken):
        store.events.publish(first.verdict.subject.installation_id, f"x{number}", event)
    said = diff(capsys, "default", "default")
    assert (said["compared"], said["left_out"], said["unread"]) == (1, 2, 4)


def test_the_difference_is_shown_to_people(store: Store, here: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    judged(store, here, 1)
    assert main(["rubric", "diff", "default", str(DEFAULT)]) == 0
    assert capsys.readouterr().out.startswith(f"1 recorded changes by default and by {DEFAULT}.\n")
    assert main(["rubric", "diff", "default", "default", "--since", "soon"]) == Exit.USAGE


def test_a_rubric_is_read_strictly(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.ping()
    good = rubric(tmp_path)
    assert main(["rubric", "check", str(good)]) == 0
    assert capsys.readouterr().out.startswith(f'{good}: "candidate" version 1, ')
    bad = tmp_path / "bad.yml"
    for before, after, said in (
        ("escalation_threshold: 0.7", "escalation_threshold: much", "Rubric refused at escalation_threshold: "),
        (
            "  parameter_unused: ",
            "  no_such_signal: ",
            "Rubric refused at signals.no_such_signal: no signal has this name; docs/signals.md lists all",
        ),
    ):
        bad.write_text(good.read_text().replace(before, after))
        assert main(["rubric", "check", str(bad)]) == Exit.USAGE
        assert said in capsys.readouterr().err
        bad = tmp_path / "worse.yml"


def test_a_check_finds_an_edit_without_a_new_version(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = rubric(tmp_path)
    store.rubrics.admit(read_rubric(good.read_text()))
    edited = rubric(tmp_path, parameter_unused="0.777")
    load_rubric.cache_clear()
    assert main(["rubric", "check", str(edited)]) == Exit.USAGE
    assert "raise it" in capsys.readouterr().out


def test_a_comparison_takes_no_edit_under_an_old_version(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = rubric(tmp_path), tmp_path / "second.yml"
    second.write_text(first.read_text().replace("parameter_unused:", "parameter_unused: 0.777 #"))
    for pair in ((first, second), (second, first)):
        assert main(["rubric", "diff", *map(str, pair)]) == Exit.USAGE
        assert "and are not the same: raise the version of one." in capsys.readouterr().err
    store.rubrics.admit(read_rubric(first.read_text()))
    for pair in (("default", second), (second, "default")):
        assert main(["rubric", "diff", *map(str, pair)]) == Exit.USAGE
        assert f"{second} was changed but still says version" in capsys.readouterr().err
    assert main(["rubric", "diff", str(first), str(first)]) == 0


def test_a_rubric_is_read_where_no_store_can_be_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")
    assert main(["rubric", "check", str(rubric(tmp_path))]) == 0
    assert "Its version was not compared with the store's: Redis is unavailable" in capsys.readouterr().out


def test_a_replay_by_an_edited_rubric_is_refused(
    store: Store, here: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, file = judged(store, here, 1), rubric(tmp_path)
    assert main(["replay", made.eval_id, "--rubric", str(file)]) == Exit.REJECT
    load_rubric.cache_clear()
    rubric(tmp_path, parameter_unused="0.777")
    assert main(["replay", made.eval_id, "--rubric", str(file)]) == Exit.USAGE
    assert f"{file} was changed but still says" in capsys.readouterr().err
    assert len(store.ledger.entries(order(made).pull)) == 2


OLD, NEW = RubricIdentity("default", "1"), RubricIdentity("default", "2")
ACCEPT, REJECT = (
    RubricOpinion("accept", "accept", 0.9, asks=False),
    RubricOpinion("reject weak_test", "reject", 0.1, asks=False),
)
UNPROVEN = RubricOpinion("abstain unproven", "abstain", 0.5, asks=True)


def said(eval_id: str, by: RubricIdentity, **changes: Any) -> Verdict:
    standard = {"eval_id": EvalId(eval_id), "rubric_id": by.rubric_id, "rubric_version": by.rubric_version}
    return accepted(**{**standard, "judge_model": "haiku", "prompt_version": by.prompt, **changes})


def pair(*given: Verdict, of: tuple[RubricIdentity, RubricIdentity] = (OLD, NEW)) -> tuple[str, str] | None:
    found = find_common_verdicts(given, *of)
    return None if found is None else (found[0].eval_id, found[1].eval_id)


def test_the_last_verdicts_of_both_by_one_model_are_compared() -> None:
    assert pair(said("a", OLD), said("d", NEW), said("c", NEW), said("b", OLD)) == ("b", "d")
    assert pair(said("a", OLD), said("b", NEW, judge_model="opus")) is None
    assert pair(said("a", OLD), said("b", NEW, judge_model="opus"), said("c", OLD, judge_model="opus")) == ("c", "b")


def test_of_two_prompts_each_counts_for_its_own_side_and_of_none_whichever() -> None:
    ours, other = OLD._replace(prompt="ours"), OLD._replace(prompt="other")
    given = said("a", ours), said("b", other), said("c", OLD)
    assert pair(*given, of=(ours, other)) == ("a", "b")
    assert pair(*given[::2], of=(ours, other)) is None
    assert pair(*given, of=(OLD, OLD)) == ("c", "c")


@pytest.mark.parametrize(
    "changes",
    [
        {"rubric_id": "another"},
        {"rubric_version": "3"},
        {"throttled_reason": ThrottledReason.DAILY_CAP},
        {"signals": {"opinion_of": 2}},
        {"judge_model": None, "judge_kind": "heuristic", "judge_cost_usd": Decimal(0), "judge_pricing_version": None},
    ],
)
def test_what_is_not_the_same_judges_last_word_is_no_pair(changes: dict[str, Any]) -> None:
    assert pair(said("a", OLD), said("b", NEW)) == ("a", "b")
    assert pair(said("a", OLD), said("b", NEW, **changes)) is None


@pytest.mark.parametrize("reason", sorted(UNFINISHED_REASONS))
def test_who_was_asked_in_vain_said_nothing(reason: AbstainReason) -> None:
    cost = {"judge_kind": "hybrid", "judge_cost_usd": Decimal("0.1"), "judge_pricing_version": "2026-11"}
    by = {"rubric_id": NEW.rubric_id, "rubric_version": NEW.rubric_version, "judge_model": "haiku", **cost}
    assert pair(said("a", OLD), abstained(AbstainReason.NEEDS_HUMAN, eval_id=EvalId("b"), **by)) == ("a", "b")
    assert pair(said("a", OLD), abstained(reason, eval_id=EvalId("b"), **by)) is None


def row(before: RubricOpinion, now: RubricOpinion, *outcomes: str) -> ComparedChange:
    return ComparedChange("acme/widgets#1", EvalId("a"), before, now, None, outcomes)


def test_a_decision_or_only_who_is_asked_may_differ() -> None:
    assert row(ACCEPT, REJECT).is_different
    assert not row(ACCEPT, REJECT).is_asked_otherwise
    quiet = UNPROVEN._replace(asks=False)
    assert row(UNPROVEN, quiet).is_asked_otherwise
    assert not row(UNPROVEN, quiet).is_different
    assert not row(UNPROVEN, UNPROVEN).is_asked_otherwise


def test_outcomes_are_counted_by_strength_for_each_that_decided() -> None:
    def bore_out(decision: str, outcome: str) -> bool | None:
        return {"accept": outcome == "merged", "reject": outcome == "reverted"}.get(decision)

    rows = [
        row(ACCEPT, REJECT, "merged", "reverted"),
        row(UNPROVEN, REJECT, "merged"),
        row(REJECT, ACCEPT, "of another kind"),
    ]
    strengths = {"merged": "lifecycle", "reverted": "implicit", "helpful": "explicit"}
    assert count_agreement(rows, strengths, bore_out) == (
        OutcomeAgreement("lifecycle", (1, 1), (0, 2)),
        OutcomeAgreement("implicit", (0, 1), (1, 1)),
        OutcomeAgreement("explicit", (0, 0), (0, 0)),
    )
