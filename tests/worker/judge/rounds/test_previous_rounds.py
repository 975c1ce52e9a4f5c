"""Which lines are new since the change was judged: by what they say, not by where they stand."""

import pytest

from tests.worker.judge.samples import (
    HEAD,
    NOW,
    abstain_verdict,
    accept_answer,
    accept_verdict,
    dossier,
    evaluation_header,
    judge_context,
    ledger_entry,
    model_of,
    new_file,
    opinion,
    reject_verdict,
    score_answers,
)
from worker.domain.dossier import Ci, Dossier, Seed
from worker.domain.ids import EvalId
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import EvidencePointer, JudgeKind, Reject, Score, Side
from worker.dossier.diff.parser import diff_of, hash_changed_lines
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.evidence import Places
from worker.judge.judge import judge
from worker.judge.llm.prompt import calibration_sections
from worker.judge.rounds.previous_rounds import (
    ChangedLines,
    OpenCondition,
    PreviousRounds,
    calibration_signals,
    find_changed_lines,
    first_scores,
    read_previous_rounds,
)
from worker.judge.rulings import EvidenceBundle, moved_scores


def since(before: str, now: str) -> ChangedLines:
    return find_changed_lines(hash_changed_lines(diff_of(before)), diff_of(now))


def new(before: str, now: str) -> list[tuple[str, str, int]]:
    return [(path, side.value, line) for path, side, line in sorted(since(before, now).new_lines)]


def new_at(path: str, line: int | None, end: int | None = None, **changes: object) -> EvidencePointer:
    return EvidencePointer.model_validate({"path": path, "line": line, "end_line": end, "quote": "then", **changes})


def edit(path: str, old: str, *lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    top = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{top}@@ -5 +5,{len(lines)} @@\n-{old}\n{body}"


def test_a_line_that_was_not_there_is_new_and_the_others_are_not() -> None:
    assert new(new_file("a.py", "one", "two"), new_file("a.py", "one", "2", "two")) == [("a.py", "head", 2)]
    assert new(edit("a.py", "old", "one"), edit("a.py", "older", "one")) == [("a.py", "base", 5)]


def test_lines_that_moved_are_not_new() -> None:
    assert new(new_file("a.py", "one", "two", "three"), new_file("a.py", "three", "one", "two")) == []
    assert new(edit("a.py", "old", "one"), edit("a.py", "old", "one").replace("@@ -5 +5", "@@ -50 +50")) == []


def test_a_line_that_moved_to_another_file_is_not_new_but_a_copy_is() -> None:
    whole = new_file("a.py", "one", "two") + new_file("b.py", "three")
    assert new(whole, new_file("a.py", "one") + new_file("b.py", "two", "three")) == []
    assert new(whole, new_file("a.py", "one", "two") + new_file("b.py", "two", "three")) == [("b.py", "head", 1)]
    assert new(new_file("a.py", "one"), new_file("b.py", "one", "one")) == [("b.py", "head", 2)]


def test_of_lines_alike_the_one_out_of_the_old_order_is_new() -> None:
    before = new_file("a.py", "start", "}", "end")
    assert new(before, new_file("a.py", "start", "}", "end", "more", "}")) == [("a.py", "head", 4), ("a.py", "head", 5)]


def test_a_removed_line_of_a_renamed_file_is_found_under_both_names() -> None:
    top = "diff --git a/a.py b/b.py\nsimilarity index 90%\nrename from a.py\nrename to b.py\n--- a/a.py\n+++ b/b.py\n"
    assert new(new_file("x.py", "x"), f"{top}@@ -3 +2,0 @@\n-old\n") == [("a.py", "base", 3), ("b.py", "base", 3)]


def test_a_pointer_is_cut_to_its_first_new_lines() -> None:
    result = since(new_file("a.py", "1", "4", "7"), new_file("a.py", "1", "2", "3", "4", "5", "7"))
    cut = result.new_part(new_at("a.py", 1, 6))
    assert cut is not None
    assert (cut.line, cut.end_line, cut.quote) == (2, 3, "2")
    item = result.new_part(new_at("a.py", 4, 6))
    assert item is not None
    assert (item.line, item.end_line, item.quote) == (5, None, "5")
    assert result.new_part(new_at("a.py", 2, 3)) == new_at("a.py", 2, 3)
    assert result.new_part(new_at("a.py", 4)) is None
    assert result.new_part(new_at("a.py", 2, side=Side.BASE)) is None


def test_a_file_without_lines_is_new_when_its_content_is() -> None:
    def image(index: str) -> str:
        return f"diff --git a/x.png b/x.png\nindex {index} 100644\nBinary files a/x.png and b/x.png differ\n"

    same, other = image("1111111..2222222"), image("1111111..3333333")
    assert since(same, same).new_part(new_at("x.png", None, quote=None)) is None
    assert since(same, other).new_part(new_at("x.png", None, quote=None)) is not None


def test_what_is_gone_is_known_by_the_line_that_was_pointed_at() -> None:
    part = since(new_file("a.py", "guard", "body") + edit("b.py", "old", "x"), new_file("a.py", "body"))
    assert part.is_lost(new_at("a.py", 1, quote="guard"))
    assert part.is_lost(new_at("b.py", 5, quote="old", side=Side.BASE))
    assert not part.is_lost(new_at("a.py", 2, quote="body"))
    assert not part.is_lost(new_at("c.py", 2, quote="guard"))
    assert not part.is_lost(new_at("a.py", None, quote=None))
    moved = since(new_file("a.py", "guard", "body"), new_file("a.py", "body") + new_file("b.py", "guard"))
    assert not moved.is_lost(new_at("a.py", 1, quote="guard"))


def test_new_lines_are_told_as_ranges_per_file_and_side() -> None:
    result = since(new_file("a.py", "3"), new_file("a.py", "1", "2", "3", "4") + edit("b.py", "old", "x"))
    assert result.ranges() == {
        ("a.py", Side.HEAD): ("1-2", "4"),
        ("b.py", Side.BASE): ("5",),
        ("b.py", Side.HEAD): ("5",),
    }


HASHES = hash_changed_lines(diff_of(dossier().diff))
FACT = {"signal": "stub_body", "category": "weak_test", "fact": True, "path": "upload.py", "line": 2}


def hearing(*entries: LedgerEntry) -> EvidenceBundle:
    judged: Dossier = dossier(ledger=entries)
    return EvidenceBundle(judged, diff_of(judged.diff), Places(judged), opinion(), read_ci(Ci()), ())


def standing(*entries: LedgerEntry) -> PreviousRounds:
    return read_previous_rounds(hearing(*entries), evaluation_header(), "default")


def by_model(verdict: object = None, **changes: object) -> LedgerEntry:
    judged = verdict or reject_verdict(judge_kind="hybrid", **changes)
    return ledger_entry(judged, changed_lines=HASHES)  # type: ignore[arg-type] - a verdict


def at(
    line: int | None, end: int | None = None, path: str = "tests/test_upload.py", **changes: object
) -> EvidencePointer:
    return EvidencePointer.model_validate({"path": path, "line": line, "end_line": end, "quote": "x", **changes})


def raised(*places: EvidencePointer) -> OpenCondition:
    by = reject_verdict()
    return OpenCondition(by.closing_conditions[0], by, places)


def test_without_a_ledger_everything_is_new() -> None:
    assert standing() == PreviousRounds()


@pytest.mark.parametrize(
    ("last", "is_judged"),
    [
        (by_model(), True),
        (by_model(accept_verdict(judge_kind="hybrid")), True),
        (ledger_entry(reject_verdict(), changed_lines=HASHES), False),
        (by_model(abstain_verdict(judge_kind="hybrid")), False),
        (by_model(scores=(), findings=(FACT,)), False),
        (by_model(findings=(FACT,)), True),
        (by_model(rubric_id="strict"), False),
        (ledger_entry(reject_verdict(judge_kind="hybrid")), False),
    ],
    ids=[
        "reject",
        "accept",
        "code alone",
        "nobody",
        "facts, and no answer",
        "facts, and an answer",
        "another law",
        "no hashes",
    ],
)
def test_only_what_a_model_judged_by_this_law_is_held_against_it(last: LedgerEntry, is_judged: bool) -> None:  # noqa: FBT001 - a case
    result = standing(last)
    assert (result.changed_lines is not None) is is_judged
    if result.changed_lines is not None:
        assert result.changed_lines.new_lines == {}, "nothing changed"


def test_a_pointer_is_cut_to_where_the_condition_was_raised() -> None:
    places = hearing().places
    result = raised(at(5, 6)).part_at(at(4, 5), places)
    assert result is not None
    assert (result.line, result.end_line, result.quote) == (5, None, "def test_503():")
    assert raised(at(2), at(5, 6)).part_at(at(5, 6), places) == at(5, 6, quote="def test_503():")


@pytest.mark.parametrize("elsewhere", [at(4), at(5, path="upload.py"), at(5, side=Side.BASE), at(None)])
def test_a_pointer_elsewhere_is_no_part_of_a_condition(elsewhere: EvidencePointer) -> None:
    assert raised(at(5, 6)).part_at(elsewhere, hearing().places) is None


def test_a_whole_file_is_a_place_only_for_itself() -> None:
    places = hearing().places
    whole = at(None, path="run.sh", quote=None)
    assert raised(whole).part_at(whole, places) == whole
    assert raised(whole).part_at(at(3, path="run.sh"), places) is None


def test_a_condition_is_open_since_the_reject_that_opened_it() -> None:
    closed = [{"id": "c1", "text": "Assert the attempts.", "state": "resolved"}]
    first = by_model(concern="First.")
    ticked = by_model(closing_conditions=closed, concern="Ticked.")
    again = by_model(concern="Again.")
    still = by_model(concern="Still.")
    assert [condition.reject.concern for condition in standing(first, ticked, again, still).open_conditions] == [
        "Again."
    ]
    assert [
        condition.reject.concern
        for condition in standing(first, by_model(carried_from="0193-earlier", concern="Carried.")).open_conditions
    ] == ["First."]


def test_a_condition_of_which_no_reject_is_on_record_is_open_and_was_raised_nowhere() -> None:
    lone = ledger_entry(abstain_verdict(), created_at=NOW, open_conditions=reject_verdict().closing_conditions)
    result = standing(lone)
    assert [condition.id for condition in result.conditions] == ["c1"]
    assert result.open_conditions == ()


def test_a_place_that_is_gone_is_no_place_of_a_condition_any_more() -> None:
    gone = by_model(
        evidence=[{"path": "gone.py", "line": 1, "quote": "x"}, {"path": "upload.py", "line": 2, "quote": TEXT}]
    )
    (result,) = standing(gone).open_conditions
    assert [pointer.location for pointer in result.places] == ["upload.py:2"]


TEXT = "    for attempt in range(3):"


def scored(*numbers: int, why: str = "It was looked at.") -> tuple[Score, ...]:
    return tuple(Score.model_validate({**score, "reasoning": why}) for score in score_answers(*numbers))


def judged_as(name: str, *numbers: int, **changes: object) -> Reject:
    fields = {"judge_kind": JudgeKind.HYBRID, "judge_model": "m", "scores": scored(*numbers, why=f"Reason of {name}.")}
    return reject_verdict(**{"eval_id": name, "fingerprint": f"sha256:{name}", **fields, **changes})


def with_ledger(*verdicts: Reject) -> Dossier:
    return dossier(ledger=[ledger_entry(verdict, head_sha=f"{n:040x}") for n, verdict in enumerate(verdicts, start=1)])


def told(of: Dossier) -> str:
    model = model_of(accept_answer(conditions=[{"id": "c1", "state": "resolved"}] if of.ledger else []))
    judge(of, evaluation_header(), judge_context(model, 2.0))
    return model.prompts[0].turns[0]


def test_the_first_scores_are_told_and_those_between_are_not() -> None:
    turn = told(with_ledger(judged_as("first", 2), judged_as("second", 4), judged_as("third", 5)))
    assert "# Calibration\n\nWhat was judged first (2 files, +9 -1) scored this." in turn
    assert turn.count("2/10. Reason of first.") == 4
    assert "Reason of second" not in turn
    assert "Reason of third" not in turn


def test_what_code_judged_or_another_law_is_no_mark() -> None:
    by_code = judged_as("code", 3, judge_kind="heuristic", judge_model=None)
    other = judged_as("other", 3, rubric_id="strict")
    assert "2/10. Reason of first." in told(with_ledger(by_code, other, judged_as("first", 2)))
    assert "# Calibration" not in told(with_ledger(by_code, other))


def test_the_first_round_has_no_mark() -> None:
    assert "# Calibration" not in told(dossier())


def test_a_recorded_dossier_may_bring_its_own_mark() -> None:
    seed = Seed(head_sha=HEAD, diff="", scores=scored(3, why="By hand."))
    assert first_scores(dossier(seed=seed), PreviousRounds()) == ("the first head", seed.scores)
    assert told(dossier(seed=seed)).count("3/10. By hand.") == 4
    assert (
        list(
            calibration_sections(
                dossier(seed=Seed(head_sha=HEAD, diff="")), PreviousRounds(first_eval_id=EvalId("gone"))
            )
        )
        == []
    )


def test_a_long_reasoning_is_cut() -> None:
    (chapter,) = calibration_sections(
        dossier(seed=Seed(head_sha=HEAD, diff="", scores=scored(3, why="x" * 9_000))), PreviousRounds()
    )
    assert len(chapter.texts[0][1]) < 2_000


def test_what_moved_no_more_than_the_noise_is_no_progress() -> None:
    first = scored(2, 5, 5, 5)
    assert [(before.score, now.score) for before, now in moved_scores(first, scored(7, 6, 4, 3))] == [(2, 7), (5, 3)]
    assert calibration_signals(scored(7, 6, 4, 3), first) == {
        "progress_since_first": "solves_the_issue 2 to 7, fit 5 to 3"
    }
    assert calibration_signals(scored(3, 6, 4, 5), first) == {"progress_since_first": "none beyond noise"}
    assert calibration_signals((), first) == calibration_signals(first, ()) == {}
    other = (Score(criterion="other", score=9, reasoning="", improvement=""),)
    assert moved_scores(first, other) == ()


def test_a_verdict_says_what_moved_since_the_first() -> None:
    of = with_ledger(judged_as("first", 2))
    model = model_of(accept_answer(conditions=[{"id": "c1", "state": "resolved"}]))
    verdict = judge(of, evaluation_header(), judge_context(model, 2.0))
    assert verdict.signals["progress_since_first"] == (
        "solves_the_issue 2 to 8, soundness 2 to 8, proof 2 to 8, fit 2 to 8"
    )
