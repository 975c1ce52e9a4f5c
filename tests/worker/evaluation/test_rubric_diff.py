"""Two rubrics side by side, and `assay rubric check` and `diff` on recorded pull requests."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.cli.parser import Exit
from tests.app.cli.assay_command import run_command
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import (
    DEFAULT,
    INSTALLATION,
    SUSPICIOUS,
    AssayCommand,
    children,
    judge_live,
    order,
    rejudge,
    rubric,
    settings_with_model,
    terms,
)
from tests.worker.publishing.texts.samples import abstained, accepted
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from tests.world.replies import cannot_tell, reject
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.ids import EvalId
from worker.domain.verdict.events import Event, EventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome, OutcomeKind, outcome_event
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
from worker.settings import Settings

AT = datetime(2026, 11, 20, tzinfo=UTC)


def diff(assay: AssayCommand, *arguments: object) -> dict[str, Any]:
    code, out, err = assay.run("rubric", "diff", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def reacts(store: Store, made: LedgerEntry, kind: OutcomeKind) -> None:
    event = outcome_event(order(made).pull, Outcome(kind=kind, eval_id=EvalId(made.eval_id), at=AT))
    store.events.publish(INSTALLATION, f"{kind}-{made.eval_id}", event)


def test_at_no_cost_a_weight_moves_scores_and_a_threshold_who_is_asked(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path
) -> None:
    made = [judge_live(store, settings, number, text) for number, text in enumerate((STUB, DONE, SUSPICIOUS), start=1)]
    heavier = rubric(tmp_path, "heavier", parameter_unused="0.9")
    found = diff(assay, "default", heavier)
    assert (found["compared"], found["by_record"], found["changes"], found["moved"]) == (3, 0, [], 1)
    timid = rubric(tmp_path, "timid")
    timid.write_text(timid.read_text().replace("escalation_threshold: 0.7", "escalation_threshold: 0.1"))
    asked = diff(assay, "default", timid)["asked_otherwise"]
    assert {change["eval_id"] for change in asked} == {made[1].eval_id, made[2].eval_id}
    assert asked[0]["before"]["asks"] is not asked[0]["now"]["asks"]
    assert not any(children(store, entry) for entry in made), "nothing is recorded"


def test_rejects_are_held_against_what_people_did(assay: AssayCommand, store: Store, settings: Settings) -> None:
    for number, kind in enumerate((OutcomeKind.MERGED, OutcomeKind.CLOSED_UNMERGED, OutcomeKind.HELPFUL)):
        reacts(store, judge_live(store, settings, number + 1, STUB), kind)
    agreement = {row["strength"]: row["before"] for row in diff(assay, "default", "default")["agreement"]}
    assert {name: (share["hits"], share["of"]) for name, share in agreement.items()} == {
        "lifecycle": (1, 2),
        "explicit": (1, 1),
        "implicit": (0, 0),
    }
    assert agreement["implicit"]["interval"] is None


def test_where_a_model_judged_by_both_its_verdicts_are_compared(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path, model: FakeAnthropic
) -> None:
    made, candidate, settings = (
        judge_live(store, settings, 1, SUSPICIOUS),
        rubric(tmp_path),
        settings_with_model(settings, model),
    )
    for file, reply in ((None, cannot_tell()), (candidate, reject("half_finished", "load.py:2"))):
        model.reply_with(reply)
        assert rejudge(settings, store, terms(settings, rubric=file), made) is OrderResult.JUDGED
    found = diff(assay, "default", candidate)
    assert (found["by_record"], found["now"]) == (1, "candidate 1")
    (change,) = found["changes"]
    assert (change["before"]["words"], change["now"]["words"]) == ("abstain needs_human", "reject half_finished")
    assert (change["model"], change["now"]["places"]) == (MODEL, ["load.py:2"])


def test_a_candidate_prompt_is_held_against_ours_where_one_model_was_asked_with_both(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path, model: FakeAnthropic
) -> None:
    prompt = tmp_path / "kind.md"
    prompt.write_text(f"{load_prompt().text}\nBe kind.\n")
    assert diff(assay, "default", "default", "--prompt", prompt)["compared"] == 0
    both, ours = judge_live(store, settings, 1, SUSPICIOUS), judge_live(store, settings, 2, SUSPICIOUS)
    settings = settings_with_model(settings, model)
    for file, made, reply in (
        (None, both, reject("half_finished", "load.py:2")),
        (None, ours, cannot_tell()),
        (prompt, both, cannot_tell()),
    ):
        model.reply_with(reply)
        assert rejudge(settings, store, terms(settings, prompt=file), made) is OrderResult.JUDGED
    found = diff(assay, "default", "default", "--prompt", prompt)
    assert (found["compared"], found["by_record"], found["left_out"]) == (1, 1, 1)
    (change,) = found["changes"]
    assert (change["before"]["words"], change["now"]["words"]) == ("reject half_finished", "abstain needs_human")
    _, out, _ = assay.run("rubric", "diff", "default", "default", "--prompt", prompt)
    version = load_rubric().version
    assert out.startswith(f"1 recorded changes by default {version} and by default {version} with {prompt}.\n")
    assert "1 are left out: no model was asked with both prompts (ASSAY_CANARY_PROMPT" in out


def test_what_is_gone_or_broken_is_left_out_and_counted(assay: AssayCommand, store: Store, settings: Settings) -> None:
    first, second, _ = (judge_live(store, settings, number) for number in (1, 2, 3))
    store.client.call("DEL", keys.dossier(first.eval_id).name, keys.ledger(order(second).pull).name)
    broken = [
        Event(EventKind.COMPLETED, {"v": 1}),
        Event(EventKind.COMPLETED, {"v": 1, "eval_id": 7, "signals": "x"}),
        Event(EventKind.OUTCOME, {"v": 1}),
        Event(EventKind.OUTCOME, {"v": 1, "subject_id": "7/1", "eval_id": ["x"], "outcome": "merged"}),
    ]
    for number, event in enumerate(broken):
        store.events.publish(INSTALLATION, f"x{number}", event)
    found = diff(assay, "default", "default")
    assert (found["compared"], found["left_out"], found["unread"]) == (1, 2, 4)


def test_the_difference_is_shown_to_people(assay: AssayCommand, store: Store, settings: Settings) -> None:
    judge_live(store, settings, 1)
    code, out, _ = assay.run("rubric", "diff", "default", DEFAULT)
    assert code == 0
    assert out.startswith(f"1 recorded changes by default and by {DEFAULT}.\n")


@pytest.mark.parametrize(("option", "value"), [("--since", "soon"), ("--prompt", "/none.md")])
def test_a_wrong_option_is_refused(assay: AssayCommand, option: str, value: str) -> None:
    assert assay.run("rubric", "diff", "default", "default", option, value)[0] == Exit.USAGE


def test_a_rubric_that_is_well_formed_is_summed_up(assay: AssayCommand, tmp_path: Path) -> None:
    file = rubric(tmp_path)
    code, out, _ = assay.run("rubric", "check", file)
    assert code == 0
    assert out.startswith(f'{file}: "candidate" version 1, ')


@pytest.mark.parametrize(
    ("before", "after", "refusal"),
    [
        ("escalation_threshold: 0.7", "escalation_threshold: much", "Rubric refused at escalation_threshold: "),
        (
            "  parameter_unused: ",
            "  no_such_signal: ",
            "Rubric refused at signals.no_such_signal: no signal has this name; docs/signals.md lists all",
        ),
    ],
)
def test_a_rubric_is_read_strictly(assay: AssayCommand, tmp_path: Path, before: str, after: str, refusal: str) -> None:
    file = rubric(tmp_path)
    file.write_text(file.read_text().replace(before, after))
    code, _, err = assay.run("rubric", "check", file)
    assert (code, refusal in err) == (Exit.USAGE, True)


def test_an_edit_under_an_old_version_is_neither_checked_compared_nor_replayed(
    assay: AssayCommand, store: Store, settings: Settings, tmp_path: Path
) -> None:
    made, first, edited = judge_live(store, settings, 1), rubric(tmp_path), tmp_path / "edited.yml"
    edited.write_text(first.read_text().replace("parameter_unused:", "parameter_unused: 0.777 #"))
    for pair in ((first, edited), (edited, first)):
        code, _, err = assay.run("rubric", "diff", *pair)
        assert (code, "and are not the same: raise the version of one." in err) == (Exit.USAGE, True)
    assert assay.run("replay", made.eval_id, "--rubric", first)[0] == Exit.REJECT, "which claims the version"
    for arguments in (
        ("rubric", "check", edited),
        ("rubric", "diff", "default", edited),
        ("rubric", "diff", edited, "default"),
        ("replay", made.eval_id, "--rubric", edited),
    ):
        code, out, err = assay.run(*arguments)
        assert (code, f'{edited} was changed but still says version "1": raise it' in out + err) == (Exit.USAGE, True)
    assert assay.run("rubric", "diff", first, first)[0] == 0
    assert len(children(store, made)) == 1


def test_a_rubric_is_read_where_no_store_can_be_reached(assay: AssayCommand, tmp_path: Path) -> None:
    assay.set_environment(REDIS_URL="redis://127.0.0.1:1")
    code, out, _ = assay.run("rubric", "check", rubric(tmp_path))
    assert (code, "Its version was not compared with the store's: Redis is unavailable" in out) == (0, True)


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


OURS, OTHER = OLD._replace(prompt="ours"), OLD._replace(prompt="other")


@pytest.mark.parametrize(
    ("verdicts", "sides", "common"),
    [
        ((said("a", OLD), said("d", NEW), said("c", NEW), said("b", OLD)), (OLD, NEW), ("b", "d")),
        ((said("a", OLD), said("b", NEW, judge_model="opus")), (OLD, NEW), None),
        (
            (said("a", OLD), said("b", NEW, judge_model="opus"), said("c", OLD, judge_model="opus")),
            (OLD, NEW),
            ("c", "b"),
        ),
        ((said("a", OURS), said("b", OTHER), said("c", OLD)), (OURS, OTHER), ("a", "b")),
        ((said("a", OURS), said("c", OLD)), (OURS, OTHER), None),
        ((said("a", OURS), said("b", OTHER), said("c", OLD)), (OLD, OLD), ("c", "c")),
    ],
    ids=["the last", "two models", "of one model", "two prompts", "one of two prompts", "any prompt"],
)
def test_the_last_verdicts_of_both_by_one_model_are_compared(
    verdicts: tuple[Verdict, ...], sides: tuple[RubricIdentity, RubricIdentity], common: tuple[str, str] | None
) -> None:
    assert pair(*verdicts, of=sides) == common


COST = {"judge_kind": "hybrid", "judge_cost_usd": Decimal("0.1"), "judge_pricing_version": "2026-11"}
BY_NEW = {"rubric_id": NEW.rubric_id, "rubric_version": NEW.rubric_version, "judge_model": "haiku", **COST}


@pytest.mark.parametrize(
    ("last", "is_pair"),
    [
        (said("b", NEW), True),
        (said("b", NEW, rubric_id="another"), False),
        (said("b", NEW, rubric_version="3"), False),
        (said("b", NEW, throttled_reason=ThrottledReason.DAILY_CAP), False),
        (said("b", NEW, signals={"opinion_of": 2}), False),
        (
            said(
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
def test_what_is_not_the_same_judges_last_word_is_no_pair(last: Verdict, *, is_pair: bool) -> None:
    assert (pair(said("a", OLD), last) is not None) is is_pair


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
    assert [(name, before[:2], now[:2]) for name, before, now in count_agreement(rows, strengths, bore_out)] == [
        ("lifecycle", (1, 1), (0, 2)),
        ("implicit", (0, 1), (1, 1)),
        ("explicit", (0, 0), (0, 0)),
    ]


def test_a_signal_is_explained_by_its_name() -> None:
    code, text = run_command("explain", "conflict_marker")
    assert code == Exit.ACCEPT
    assert text.startswith(
        "conflict_marker: fact, half_finished, looks at anything\n\nWhat it does\n  A merge conflict"
    )
    with pytest.raises(InputError, match='"conflict" is no signal'):
        run_command("explain", "conflict")
