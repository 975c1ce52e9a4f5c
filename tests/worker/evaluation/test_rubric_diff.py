"""`assay rubric check` and `assay rubric diff` on recorded pull requests."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from tests.worker.evaluation import live_judging as live
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import DEFAULT, INSTALLATION, SUSPICIOUS, AssayCommand
from tests.worker.publishing.texts.samples import abstained, accepted
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from tests.world.replies import cannot_tell, reject
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.model import EvalId
from worker.domain.verdict.events import Event, EventKind, Outcome, OutcomeKind, outcome_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason, ThrottledReason, Verdict
from worker.errors import InputError
from worker.evaluation.recorded_verdicts import UNFINISHED_REASONS
from worker.evaluation.rejudge import OrderResult
from worker.evaluation.rubric_diff import (
    ComparedChange,
    RubricIdentity,
    RubricOpinion,
    count_agreement,
    find_common_verdicts,
)
from worker.judge.rubric import load_prompt, load_rubric

AT = datetime(2026, 11, 20, tzinfo=UTC)


def diff(assay: AssayCommand, *arguments: object) -> dict[str, Any]:
    code, out, err = assay.run("rubric", "diff", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def publish_outcome(store: Store, original: LedgerEntry, kind: OutcomeKind) -> None:
    event = outcome_event(live.order(original).pull, Outcome(kind=kind, eval_id=EvalId(original.eval_id), at=AT))
    store.events.publish(INSTALLATION, f"{kind}-{original.eval_id}", event)


def test_diff_lists_moved_scores_and_changed_escalations_at_no_cost(assay: AssayCommand, tmp_path: Path) -> None:
    original = [assay.judge_live(number, text) for number, text in enumerate((STUB, DONE, SUSPICIOUS), start=1)]
    heavier = live.rubric(tmp_path, "heavier", parameter_unused="0.9")
    report = diff(assay, "default", heavier)
    assert (report["compared"], report["by_record"], report["changes"], report["moved"]) == (3, 0, [], 1)
    timid = live.rubric(tmp_path, "timid")
    timid.write_text(timid.read_text().replace("escalation_threshold: 0.7", "escalation_threshold: 0.1"))
    asked = diff(assay, "default", timid)["asked_otherwise"]
    assert {change["eval_id"] for change in asked} == {original[1].eval_id, original[2].eval_id}
    assert asked[0]["before"]["asks"] is not asked[0]["now"]["asks"]
    assert not any(assay.children(entry) for entry in original), "nothing is recorded"


def test_diff_compares_rejects_with_outcomes(assay: AssayCommand) -> None:
    for number, kind in enumerate((OutcomeKind.MERGED, OutcomeKind.CLOSED_UNMERGED, OutcomeKind.HELPFUL)):
        publish_outcome(assay.store, assay.judge_live(number + 1, STUB), kind)
    agreement = {row["strength"]: row["before"] for row in diff(assay, "default", "default")["agreement"]}
    assert {name: (share["hits"], share["of"]) for name, share in agreement.items()} == {
        "lifecycle": (1, 2),
        "explicit": (1, 1),
        "implicit": (0, 0),
    }
    assert agreement["implicit"]["interval"] is None


def test_diff_compares_model_verdicts_of_two_rubrics(assay: AssayCommand, tmp_path: Path, model: FakeAnthropic) -> None:
    original, candidate = assay.judge_live(1, SUSPICIOUS), live.rubric(tmp_path)
    settings = live.settings_with_model(assay.settings, model)
    for file, reply in ((None, cannot_tell()), (candidate, reject("half_finished", "load.py:2"))):
        model.reply_with(reply)
        assert live.rejudge(settings, assay.store, live.terms(settings, rubric=file), original) is OrderResult.JUDGED
    report = diff(assay, "default", candidate)
    assert (report["by_record"], report["now"]) == (1, "candidate 1")
    (change,) = report["changes"]
    assert (change["before"]["words"], change["now"]["words"]) == ("abstain needs_human", "reject half_finished")
    assert (change["model"], change["now"]["places"]) == (MODEL, ["load.py:2"])


def test_diff_compares_prompts_asked_of_one_model(assay: AssayCommand, tmp_path: Path, model: FakeAnthropic) -> None:
    prompt = tmp_path / "kind.md"
    prompt.write_text(f"{load_prompt().text}\nBe kind.\n")
    assert diff(assay, "default", "default", "--prompt", prompt)["compared"] == 0
    both, ours = assay.judge_live(1, SUSPICIOUS), assay.judge_live(2, SUSPICIOUS)
    settings = live.settings_with_model(assay.settings, model)
    for file, original, reply in (
        (None, both, reject("half_finished", "load.py:2")),
        (None, ours, cannot_tell()),
        (prompt, both, cannot_tell()),
    ):
        model.reply_with(reply)
        assert live.rejudge(settings, assay.store, live.terms(settings, prompt=file), original) is OrderResult.JUDGED
    report = diff(assay, "default", "default", "--prompt", prompt)
    assert (report["compared"], report["by_record"], report["left_out"]) == (1, 1, 1)
    (change,) = report["changes"]
    assert (change["before"]["words"], change["now"]["words"]) == ("reject half_finished", "abstain needs_human")
    _, out, _ = assay.run("rubric", "diff", "default", "default", "--prompt", prompt)
    version = load_rubric().version
    assert out.startswith(f"1 recorded changes by default {version} and by default {version} with {prompt}.\n")
    assert "1 are left out: no model was asked with both prompts (ASSAY_CANARY_PROMPT" in out


def test_diff_skips_and_counts_missing_and_broken_records(assay: AssayCommand) -> None:
    first, second, _ = (assay.judge_live(number) for number in (1, 2, 3))
    assay.store.client.call("DEL", keys.dossier(first.eval_id).name, keys.ledger(live.order(second).pull).name)
    broken = [
        Event(EventKind.COMPLETED, {"v": 1}),
        Event(EventKind.COMPLETED, {"v": 1, "eval_id": 7, "signals": "x"}),
        Event(EventKind.OUTCOME, {"v": 1}),
        Event(EventKind.OUTCOME, {"v": 1, "subject_id": "7/1", "eval_id": ["x"], "outcome": "merged"}),
    ]
    for number, event in enumerate(broken):
        assay.store.events.publish(INSTALLATION, f"x{number}", event)
    report = diff(assay, "default", "default")
    assert (report["compared"], report["left_out"], report["unread"]) == (1, 2, 4)


def test_diff_prints_text(assay: AssayCommand) -> None:
    assay.judge_live(1)
    code, out, _ = assay.run("rubric", "diff", "default", DEFAULT)
    assert code == 0
    assert out.startswith(f"1 recorded changes by default and by {DEFAULT}.\n")


@pytest.mark.parametrize(("option", "value"), [("--since", "soon"), ("--prompt", "/none.md")])
def test_diff_refuses_an_invalid_option(assay: AssayCommand, option: str, value: str) -> None:
    assert assay.run("rubric", "diff", "default", "default", option, value)[0] == Exit.USAGE


def test_check_summarises_a_valid_rubric(assay: AssayCommand, tmp_path: Path) -> None:
    file = live.rubric(tmp_path)
    code, out, _ = assay.run("rubric", "check", file)
    assert code == 0
    assert out.startswith(f'{file}: "candidate" version 1, ')


@pytest.mark.parametrize(
    ("before", "after", "error"),
    [
        ("escalation_threshold: 0.7", "escalation_threshold: much", "Rubric refused at escalation_threshold: "),
        (
            "  parameter_unused: ",
            "  no_such_signal: ",
            "Rubric refused at signals.no_such_signal: no signal has this name; docs/signals.md lists all",
        ),
    ],
)
def test_check_refuses_invalid_rubric(assay: AssayCommand, tmp_path: Path, before: str, after: str, error: str) -> None:
    file = live.rubric(tmp_path)
    file.write_text(file.read_text().replace(before, after))
    code, _, err = assay.run("rubric", "check", file)
    assert (code, error in err) == (Exit.USAGE, True)


def test_edited_rubric_under_an_old_version_is_refused_by_each_command(assay: AssayCommand, tmp_path: Path) -> None:
    original, first, edited = assay.judge_live(1), live.rubric(tmp_path), tmp_path / "edited.yml"
    edited.write_text(first.read_text().replace("parameter_unused:", "parameter_unused: 0.777 #"))
    for pair in ((first, edited), (edited, first)):
        code, _, err = assay.run("rubric", "diff", *pair)
        assert (code, "and are not the same: raise the version of one." in err) == (Exit.USAGE, True)
    assert assay.run("replay", original.eval_id, "--rubric", first)[0] == Exit.REJECT, "replay registers the version"
    for arguments in (
        ("rubric", "check", edited),
        ("rubric", "diff", "default", edited),
        ("rubric", "diff", edited, "default"),
        ("replay", original.eval_id, "--rubric", edited),
        ("evaluate", "--jobs", "1", "--rubric", edited),
    ):
        code, out, err = assay.run(*arguments)
        assert (code, f'{edited} was changed but still says version "1": raise it' in out + err) == (Exit.USAGE, True)
    assert out == ""
    assert assay.run("rubric", "diff", first, first)[0] == 0
    assert len(assay.children(original)) == 1


def test_check_works_without_a_store(assay: AssayCommand, tmp_path: Path) -> None:
    assay.set_environment(REDIS_URL="redis://127.0.0.1:1")
    code, out, _ = assay.run("rubric", "check", live.rubric(tmp_path))
    assert (code, "Its version was not compared with the store's: Redis is unavailable" in out) == (0, True)


OLD, NEW = RubricIdentity("default", "1"), RubricIdentity("default", "2")
ACCEPT = RubricOpinion("accept", "accept", 0.9, asks=False)
REJECT = RubricOpinion("reject weak_test", "reject", 0.1, asks=False)
UNPROVEN = RubricOpinion("abstain unproven", "abstain", 0.5, asks=True)


def verdict_by(eval_id: str, by: RubricIdentity, **changes: Any) -> Verdict:
    standard = {"eval_id": EvalId(eval_id), "rubric_id": by.rubric_id, "rubric_version": by.rubric_version}
    return accepted(**{**standard, "judge_model": "haiku", "prompt_version": by.prompt, **changes})


def pair(*verdicts: Verdict, of: tuple[RubricIdentity, RubricIdentity] = (OLD, NEW)) -> tuple[str, str] | None:
    common = find_common_verdicts(verdicts, *of)
    return None if common is None else (common[0].eval_id, common[1].eval_id)


OURS, OTHER = OLD._replace(prompt="ours"), OLD._replace(prompt="other")


@pytest.mark.parametrize(
    ("verdicts", "sides", "common"),
    [
        (
            (verdict_by("a", OLD), verdict_by("d", NEW), verdict_by("c", NEW), verdict_by("b", OLD)),
            (OLD, NEW),
            ("b", "d"),
        ),
        ((verdict_by("a", OLD), verdict_by("b", NEW, judge_model="opus")), (OLD, NEW), None),
        (
            (verdict_by("a", OLD), verdict_by("b", NEW, judge_model="opus"), verdict_by("c", OLD, judge_model="opus")),
            (OLD, NEW),
            ("c", "b"),
        ),
        ((verdict_by("a", OURS), verdict_by("b", OTHER), verdict_by("c", OLD)), (OURS, OTHER), ("a", "b")),
        ((verdict_by("a", OURS), verdict_by("c", OLD)), (OURS, OTHER), None),
        ((verdict_by("a", OURS), verdict_by("b", OTHER), verdict_by("c", OLD)), (OLD, OLD), ("c", "c")),
    ],
    ids=["the last", "two models", "of one model", "two prompts", "one of two prompts", "any prompt"],
)
def test_latest_verdicts_of_both_rubrics_by_one_model_are_compared(
    verdicts: tuple[Verdict, ...], sides: tuple[RubricIdentity, RubricIdentity], common: tuple[str, str] | None
) -> None:
    assert pair(*verdicts, of=sides) == common


COST = {"judge_kind": "hybrid", "judge_cost_usd": Decimal("0.1"), "judge_pricing_version": "2026-11"}
BY_NEW = {"rubric_id": NEW.rubric_id, "rubric_version": NEW.rubric_version, "judge_model": "haiku", **COST}


@pytest.mark.parametrize(
    ("last", "is_pair"),
    [
        (verdict_by("b", NEW), True),
        (verdict_by("b", NEW, rubric_id="another"), False),
        (verdict_by("b", NEW, rubric_version="3"), False),
        (verdict_by("b", NEW, throttled_reason=ThrottledReason.DAILY_CAP), False),
        (verdict_by("b", NEW, signals={"opinion_of": 2}), False),
        (
            verdict_by(
                "b",
                NEW,
                judge_model=None,
                judge_kind="heuristic",
                judge_cost_usd=Decimal(0),
                judge_pricing_version=None,
            ),
            False,
        ),
        (abstained(AbstainReason.NEEDS_HUMAN, eval_id=EvalId("b"), **BY_NEW), True),
        *((abstained(reason, eval_id=EvalId("b"), **BY_NEW), False) for reason in sorted(UNFINISHED_REASONS)),
    ],
)
def test_unfinished_or_other_verdicts_are_not_compared(last: Verdict, *, is_pair: bool) -> None:
    assert (pair(verdict_by("a", OLD), last) is not None) is is_pair


def row(before: RubricOpinion, now: RubricOpinion, *outcomes: str) -> ComparedChange:
    return ComparedChange("acme/widgets#1", EvalId("a"), before, now, None, outcomes)


def test_change_differs_in_decision_or_escalation() -> None:
    assert row(ACCEPT, REJECT).is_different
    assert not row(ACCEPT, REJECT).is_asked_otherwise
    quiet = UNPROVEN._replace(asks=False)
    assert row(UNPROVEN, quiet).is_asked_otherwise
    assert not row(UNPROVEN, quiet).is_different
    assert not row(UNPROVEN, UNPROVEN).is_asked_otherwise


def test_agreement_counts_outcomes_by_strength() -> None:
    def is_borne_out(decision: str, outcome: str) -> bool | None:
        return {"accept": outcome == "merged", "reject": outcome == "reverted"}.get(decision)

    rows = [row(ACCEPT, REJECT, "merged", "reverted"), row(UNPROVEN, REJECT, "merged"), row(REJECT, ACCEPT, "other")]
    strengths = {"merged": "lifecycle", "reverted": "implicit", "helpful": "explicit"}
    assert [(name, before[:2], now[:2]) for name, before, now in count_agreement(rows, strengths, is_borne_out)] == [
        ("lifecycle", (1, 1), (0, 2)),
        ("implicit", (0, 1), (1, 1)),
        ("explicit", (0, 0), (0, 0)),
    ]


def test_explain_describes_a_signal() -> None:
    code, text = run_command("explain", "conflict_marker")
    assert code == Exit.ACCEPT
    assert text.startswith(
        "conflict_marker: fact, half_finished, looks at anything\n\nWhat it does\n  A merge conflict"
    )
    with pytest.raises(InputError, match='"conflict" is no signal'):
        run_command("explain", "conflict")
