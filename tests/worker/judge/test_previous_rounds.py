"""Changed lines, open conditions and calibration from previous rounds."""

import pytest

from tests.worker.judge.samples import (
    HEAD,
    NOW,
    abstain_verdict,
    accept_answer,
    accept_verdict,
    dossier,
    evaluation_header,
    evidence_bundle,
    judge_context,
    ledger_entry,
    model_of,
    new_file,
    reject_verdict,
    scores,
)
from worker.domain.dossier import Dossier, Seed
from worker.domain.model import EvalId
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import EvidencePointer, JudgeKind, Reject, Score, Side
from worker.dossier.diff import diff_of, hash_changed_lines
from worker.judge.context import EvidenceBundle
from worker.judge.convergence import (
    ChangedLines,
    OpenCondition,
    PreviousRounds,
    calibration_signals,
    find_changed_lines,
    first_scores,
    read_previous_rounds,
)
from worker.judge.judge import judge
from worker.judge.llm.prompt import calibration_sections
from worker.judge.rulings import moved_scores


def changes_between(before: str, now: str) -> ChangedLines:
    return find_changed_lines(hash_changed_lines(diff_of(before)), diff_of(now))


def new_lines(before: str, now: str) -> list[tuple[str, str, int]]:
    return [(path, side.value, line) for path, side, line in sorted(changes_between(before, now).new_lines)]


def pointer(
    line: int | None, end: int | None = None, path: str = "tests/test_upload.py", **changes: object
) -> EvidencePointer:
    return EvidencePointer.model_validate({"path": path, "line": line, "end_line": end, "quote": "x", **changes})


def edit(path: str, old: str, *lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    top = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{top}@@ -5 +5,{len(lines)} @@\n-{old}\n{body}"


def test_only_added_lines_are_new() -> None:
    assert new_lines(new_file("a.py", "one", "two"), new_file("a.py", "one", "2", "two")) == [("a.py", "head", 2)]
    assert new_lines(edit("a.py", "old", "one"), edit("a.py", "older", "one")) == [("a.py", "base", 5)]


def test_moved_lines_are_not_new() -> None:
    assert new_lines(new_file("a.py", "one", "two", "three"), new_file("a.py", "three", "one", "two")) == []
    assert new_lines(edit("a.py", "old", "one"), edit("a.py", "old", "one").replace("@@ -5 +5", "@@ -50 +50")) == []


def test_line_moved_to_another_file_is_not_new_but_a_copy_is() -> None:
    whole = new_file("a.py", "one", "two") + new_file("b.py", "three")
    assert new_lines(whole, new_file("a.py", "one") + new_file("b.py", "two", "three")) == []
    assert new_lines(whole, new_file("a.py", "one", "two") + new_file("b.py", "two", "three")) == [("b.py", "head", 1)]
    assert new_lines(new_file("a.py", "one"), new_file("b.py", "one", "one")) == [("b.py", "head", 2)]


def test_repeated_line_out_of_order_is_new() -> None:
    before = new_file("a.py", "start", "}", "end")
    assert new_lines(before, new_file("a.py", "start", "}", "end", "more", "}")) == [
        ("a.py", "head", 4),
        ("a.py", "head", 5),
    ]


def test_removed_line_of_renamed_file_has_both_paths() -> None:
    top = "diff --git a/a.py b/b.py\nsimilarity index 90%\nrename from a.py\nrename to b.py\n--- a/a.py\n+++ b/b.py\n"
    assert new_lines(new_file("x.py", "x"), f"{top}@@ -3 +2,0 @@\n-old\n") == [("a.py", "base", 3), ("b.py", "base", 3)]


def test_pointer_is_cut_to_its_first_new_lines() -> None:
    result = changes_between(new_file("a.py", "1", "4", "7"), new_file("a.py", "1", "2", "3", "4", "5", "7"))
    cut = result.new_part(pointer(1, 6, path="a.py"))
    assert cut is not None
    assert (cut.line, cut.end_line, cut.quote) == (2, 3, "2")
    rest = result.new_part(pointer(4, 6, path="a.py"))
    assert rest is not None
    assert (rest.line, rest.end_line, rest.quote) == (5, None, "5")
    assert result.new_part(pointer(2, 3, path="a.py")) == pointer(2, 3, path="a.py")
    assert result.new_part(pointer(4, path="a.py")) is None
    assert result.new_part(pointer(2, path="a.py", side=Side.BASE)) is None


def test_binary_file_is_new_when_its_content_changes() -> None:
    def image(index: str) -> str:
        return f"diff --git a/x.png b/x.png\nindex {index} 100644\nBinary files a/x.png and b/x.png differ\n"

    same, other = image("1111111..2222222"), image("1111111..3333333")
    assert changes_between(same, same).new_part(pointer(None, path="x.png", quote=None)) is None
    assert changes_between(same, other).new_part(pointer(None, path="x.png", quote=None)) is not None


def test_pointer_is_lost_when_its_line_is_gone() -> None:
    changes = changes_between(new_file("a.py", "guard", "body") + edit("b.py", "old", "x"), new_file("a.py", "body"))
    assert changes.is_lost(pointer(1, path="a.py", quote="guard"))
    assert changes.is_lost(pointer(5, path="b.py", quote="old", side=Side.BASE))
    assert not changes.is_lost(pointer(2, path="a.py", quote="body"))
    assert not changes.is_lost(pointer(2, path="c.py", quote="guard"))
    assert not changes.is_lost(pointer(None, path="a.py", quote=None))
    moved = changes_between(new_file("a.py", "guard", "body"), new_file("a.py", "body") + new_file("b.py", "guard"))
    assert not moved.is_lost(pointer(1, path="a.py", quote="guard"))


def test_new_lines_are_ranges_per_file_and_side() -> None:
    result = changes_between(new_file("a.py", "3"), new_file("a.py", "1", "2", "3", "4") + edit("b.py", "old", "x"))
    assert result.ranges() == {
        ("a.py", Side.HEAD): ("1-2", "4"),
        ("b.py", Side.BASE): ("5",),
        ("b.py", Side.HEAD): ("5",),
    }


HASHES = hash_changed_lines(diff_of(dossier().diff))
FACT = {"signal": "stub_body", "category": "weak_test", "fact": True, "path": "upload.py", "line": 2}


def bundle_with(*entries: LedgerEntry) -> EvidenceBundle:
    return evidence_bundle(dossier(ledger=entries))


def previous_rounds(*entries: LedgerEntry) -> PreviousRounds:
    return read_previous_rounds(bundle_with(*entries), evaluation_header(), "default")


def model_entry(verdict: object = None, **changes: object) -> LedgerEntry:
    recorded = verdict or reject_verdict(judge_kind="hybrid", **changes)
    return ledger_entry(recorded, changed_lines=HASHES)  # type: ignore[arg-type] - a verdict


def condition(*evidence: EvidencePointer) -> OpenCondition:
    reject = reject_verdict()
    return OpenCondition(reject.closing_conditions[0], reject, evidence)


def test_no_previous_rounds_without_a_ledger() -> None:
    assert previous_rounds() == PreviousRounds()


@pytest.mark.parametrize(
    ("last", "is_judged"),
    [
        (model_entry(), True),
        (model_entry(accept_verdict(judge_kind="hybrid")), True),
        (ledger_entry(reject_verdict(), changed_lines=HASHES), False),
        (model_entry(abstain_verdict(judge_kind="hybrid")), False),
        (model_entry(scores=(), findings=(FACT,)), False),
        (model_entry(findings=(FACT,)), True),
        (model_entry(rubric_id="strict"), False),
        (ledger_entry(reject_verdict(judge_kind="hybrid")), False),
    ],
    ids=["reject", "accept", "code alone", "abstain", "facts without an answer", "facts with an answer", "another rubric", "no hashes"],
)  # fmt: skip
def test_only_model_verdicts_of_same_rubric_define_changed_lines(last: LedgerEntry, is_judged: bool) -> None:  # noqa: FBT001 - a case
    result = previous_rounds(last)
    assert (result.changed_lines is not None) is is_judged
    if result.changed_lines is not None:
        assert result.changed_lines.new_lines == {}, "nothing changed"


def test_pointer_is_cut_to_the_raised_lines() -> None:
    places = bundle_with().places
    result = condition(pointer(5, 6)).part_at(pointer(4, 5), places)
    assert result is not None
    assert (result.line, result.end_line, result.quote) == (5, None, "def test_503():")
    assert condition(pointer(2), pointer(5, 6)).part_at(pointer(5, 6), places) == pointer(5, 6, quote="def test_503():")


@pytest.mark.parametrize("elsewhere", [pointer(4), pointer(5, path="upload.py"), pointer(5, side=Side.BASE), pointer(None)])  # fmt: skip
def test_pointer_elsewhere_is_no_part_of_a_condition(elsewhere: EvidencePointer) -> None:
    assert condition(pointer(5, 6)).part_at(elsewhere, bundle_with().places) is None


def test_condition_on_a_whole_file_matches_only_the_file() -> None:
    places = bundle_with().places
    whole = pointer(None, path="run.sh", quote=None)
    assert condition(whole).part_at(whole, places) == whole
    assert condition(whole).part_at(pointer(3, path="run.sh"), places) is None


def test_open_condition_names_the_reject_that_opened_it() -> None:
    closed = [{"id": "c1", "text": "Assert the attempts.", "state": "resolved"}]
    first = model_entry(concern="First.")
    ticked = model_entry(closing_conditions=closed, concern="Ticked.")
    again = model_entry(concern="Again.")
    still = model_entry(concern="Still.")
    carried = model_entry(carried_from="0193-earlier", concern="Carried.")
    for ledger, concern in (((first, ticked, again, still), "Again."), ((first, carried), "First.")):
        assert [opened.reject.concern for opened in previous_rounds(*ledger).open_conditions] == [concern]


def test_condition_without_recorded_reject_has_no_location() -> None:
    lone = ledger_entry(abstain_verdict(), created_at=NOW, open_conditions=reject_verdict().closing_conditions)
    result = previous_rounds(lone)
    assert [condition.id for condition in result.conditions] == ["c1"]
    assert result.open_conditions == ()


def test_vanished_line_is_dropped_from_an_open_condition() -> None:
    gone = model_entry(
        evidence=[{"path": "gone.py", "line": 1, "quote": "x"}, {"path": "upload.py", "line": 2, "quote": TEXT}]
    )
    (result,) = previous_rounds(gone).open_conditions
    assert [pointer.location for pointer in result.places] == ["upload.py:2"]


TEXT = "    for attempt in range(3):"


def scores_of(*numbers: int, why: str = "It was looked at.") -> tuple[Score, ...]:
    return tuple(Score.model_validate({**score, "reasoning": why}) for score in scores(*numbers))


def model_reject(name: str, *numbers: int, **changes: object) -> Reject:
    fields = {
        "judge_kind": JudgeKind.HYBRID,
        "judge_model": "m",
        "scores": scores_of(*numbers, why=f"Reason of {name}."),
    }
    return reject_verdict(**{"eval_id": name, "fingerprint": f"sha256:{name}", **fields, **changes})


def with_ledger(*verdicts: Reject) -> Dossier:
    return dossier(ledger=[ledger_entry(verdict, head_sha=f"{n:040x}") for n, verdict in enumerate(verdicts, start=1)])


def prompt_turn(judged: Dossier) -> str:
    model = model_of(accept_answer(conditions=[{"id": "c1", "state": "resolved"}] if judged.ledger else []))
    judge(judged, evaluation_header(), judge_context(model, 2.0))
    return model.prompts[0].turns[0]


def test_prompt_shows_first_scores_only() -> None:
    turn = prompt_turn(with_ledger(model_reject("first", 2), model_reject("second", 4), model_reject("third", 5)))
    assert "# Calibration\n\nWhat was judged first (2 files, +9 -1) scored this." in turn
    assert turn.count("2/10. Reason of first.") == 4
    assert "Reason of second" not in turn
    assert "Reason of third" not in turn


def test_calibration_skips_code_and_other_rubrics() -> None:
    by_code = model_reject("code", 3, judge_kind="heuristic", judge_model=None)
    other = model_reject("other", 3, rubric_id="strict")
    assert "2/10. Reason of first." in prompt_turn(with_ledger(by_code, other, model_reject("first", 2)))
    assert "# Calibration" not in prompt_turn(with_ledger(by_code, other))


def test_first_round_has_no_calibration() -> None:
    assert "# Calibration" not in prompt_turn(dossier())


def test_seed_scores_are_used_for_calibration() -> None:
    seed = Seed(head_sha=HEAD, diff="", scores=scores_of(3, why="Manual."))
    assert first_scores(dossier(seed=seed), PreviousRounds()) == ("the first head", seed.scores)
    assert prompt_turn(dossier(seed=seed)).count("3/10. Manual.") == 4
    unscored = dossier(seed=Seed(head_sha=HEAD, diff=""))
    assert [*calibration_sections(unscored, PreviousRounds(first_eval_id=EvalId("gone")))] == []


def test_long_reasoning_is_cut_in_calibration() -> None:
    seed = Seed(head_sha=HEAD, diff="", scores=scores_of(3, why="x" * 9_000))
    (chapter,) = calibration_sections(dossier(seed=seed), PreviousRounds())
    assert len(chapter.texts[0][1]) < 2_000


def test_score_changes_within_noise_are_no_progress() -> None:
    first = scores_of(2, 5, 5, 5)
    assert [(before.score, now.score) for before, now in moved_scores(first, scores_of(7, 6, 4, 3))] == [(2, 7), (5, 3)]
    assert calibration_signals(scores_of(7, 6, 4, 3), first) == {
        "progress_since_first": "solves_the_issue 2 to 7, fit 5 to 3"
    }
    assert calibration_signals(scores_of(3, 6, 4, 5), first) == {"progress_since_first": "none beyond noise"}
    assert calibration_signals((), first) == calibration_signals(first, ()) == {}
    other = (Score(criterion="other", score=9, reasoning="", improvement=""),)
    assert moved_scores(first, other) == ()


def test_verdict_reports_progress_since_the_first() -> None:
    judged = with_ledger(model_reject("first", 2))
    model = model_of(accept_answer(conditions=[{"id": "c1", "state": "resolved"}]))
    verdict = judge(judged, evaluation_header(), judge_context(model, 2.0))
    assert verdict.signals["progress_since_first"] == (
        "solves_the_issue 2 to 8, soundness 2 to 8, proof 2 to 8, fit 2 to 8"
    )
