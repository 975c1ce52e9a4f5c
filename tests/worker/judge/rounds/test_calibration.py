"""The first judged head is a fixed mark for the rounds after it; all other scores stay out."""

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import HEAD, accept, dossier, entry, model_of, scores
from tests.worker.judge.verdicts import rejected
from worker.domain.dossier.dossier import Dossier, Seed
from worker.domain.ids import EvalId
from worker.domain.verdict.verdict import JudgeKind, Reject, Score
from worker.judge.judge import judge
from worker.judge.llm.sections import calibration_sections
from worker.judge.rounds.calibration import calibration_signals, first_scores
from worker.judge.rounds.previous_rounds import PreviousRounds
from worker.judge.scoring import moved_scores


def scored(*numbers: int, why: str = "It was looked at.") -> tuple[Score, ...]:
    return tuple(Score.model_validate({**score, "reasoning": why}) for score in scores(*numbers))


def judged_as(name: str, *numbers: int, **changes: object) -> Reject:
    fields = {"judge_kind": JudgeKind.HYBRID, "judge_model": "m", "scores": scored(*numbers, why=f"Reason of {name}.")}
    return rejected(**{"eval_id": name, "fingerprint": f"sha256:{name}", **fields, **changes})


def with_ledger(*verdicts: Reject) -> Dossier:
    return dossier(ledger=[entry(verdict, head_sha=f"{n:040x}") for n, verdict in enumerate(verdicts, start=1)])


def told(of: Dossier) -> str:
    model = model_of(accept(conditions=[{"id": "c1", "state": "resolved"}] if of.ledger else []))
    judge(of, docket(), bench(model, 2.0))
    return model.asked[0].turns[0]


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
    model = model_of(accept(conditions=[{"id": "c1", "state": "resolved"}]))
    verdict = judge(of, docket(), bench(model, 2.0))
    assert verdict.signals["progress_since_first"] == (
        "solves_the_issue 2 to 8, soundness 2 to 8, proof 2 to 8, fit 2 to 8"
    )
