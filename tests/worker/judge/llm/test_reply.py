"""A reply becomes an opinion, or sentences that the model can act on."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import (
    accept_answer,
    cannot_tell_answer,
    criterion_answers,
    dossier,
    evidence_at,
    reject_answer,
    reply,
    score_answers,
)
from worker.domain.ports import ModelReply, StopReason
from worker.domain.verdict.verdict import Category, CriterionStatus, EvidencePointer, Leaning, ModelOpinion, Side
from worker.judge.checks.evidence import Places
from worker.judge.llm.reply import Attempt, ReplyError, ReplyFault, read_reply
from worker.judge.llm.reply_schema import ReplyRequirements
from worker.judge.rubric import load_rubric

DOSSIER = dossier()
ASKED = ReplyRequirements(DOSSIER.criteria or (), load_rubric(), Places(DOSSIER), frozenset({"AC1"}))


def read(answer: dict[str, Any] | str, asked: ReplyRequirements = ASKED, **changes: Any) -> ModelOpinion | ReplyError:
    return read_reply(reply(answer, **changes), asked)


def error(answer: dict[str, Any] | str, asked: ReplyRequirements = ASKED, **changes: Any) -> ReplyError:
    result = read(answer, asked, **changes)
    assert isinstance(result, ReplyError)
    return result


def opinion(answer: dict[str, Any], asked: ReplyRequirements = ASKED) -> ModelOpinion:
    result = read(answer, asked)
    assert isinstance(result, ModelOpinion), result
    return result


def test_an_accept_is_read_with_the_lines_as_they_stand_in_the_files() -> None:
    made = opinion(accept_answer())
    assert (made.decision, made.category, made.next_step) == (Leaning.ACCEPT, None, None)
    assert made.criteria[0].evidence[0].quote == "    for attempt in range(3):"
    assert [(criterion.id, criterion.claimed) for criterion in made.criteria] == [("AC1", True), ("AC2", False)]
    assert (made.score, made.confidence) == (0.778, 0.9)


def test_a_reject_is_read_with_its_category_and_its_one_next_step() -> None:
    made = opinion(reject_answer())
    assert (made.decision, made.category) == (Leaning.REJECT, Category.WEAK_TEST)
    assert made.next_step == "Assert the number of attempts."
    assert made.evidence[0].location == "tests/test_upload.py:6"
    assert made.score < 0.5


def test_not_being_able_to_tell_is_an_answer() -> None:
    made = opinion(cannot_tell_answer())
    assert (made.decision, made.criteria[1].status) == (Leaning.CANNOT_TELL, CriterionStatus.UNVERIFIABLE)


def test_criteria_and_scores_stand_in_the_order_in_which_they_were_asked() -> None:
    answer = accept_answer()
    made = opinion({**answer, "criteria": answer["criteria"][::-1], "scores": answer["scores"][::-1]})
    assert [criterion.id for criterion in made.criteria] == ["AC1", "AC2"]
    assert [score.criterion for score in made.scores] == [criterion.id for criterion in load_rubric().criteria]


def test_white_space_is_tidied_and_an_empty_word_is_none() -> None:
    made = opinion(accept_answer(concern="  It retries. \n", category="", next_step=" "))
    assert (made.concern, made.category, made.next_step) == ("It retries.", None, None)


LOOP = EvidencePointer(path="upload.py", line=2, quote="    for attempt in range(3):")


@pytest.mark.parametrize(
    ("where", "asked", "pointer"),
    [
        # fields that have an obvious value may be left out
        ({"path": "upload.py", "line": 2, "quote": "for attempt in range(3):"}, {}, LOOP),
        (
            evidence_at(line=2, side="base", note=""),
            {},
            EvidencePointer(path="upload.py", line=2, side=Side.BASE, quote="    return post(data)"),
        ),
        # a path that was shown escaped is the real one
        ({**evidence_at(note=""), "path": "upl\\u200boad.py"}, {"paths": {"upl\\u200boad.py": "upload.py"}}, LOOP),
        # a file without lines is cited as a whole
        (evidence_at(line=None, note=""), {"bare_names": frozenset({"upload.py"})}, EvidencePointer(path="upload.py")),
    ],
    ids=["bare", "removed", "escaped", "whole"],
)
def test_a_place_is_read_as_the_real_one(
    where: dict[str, Any], asked: dict[str, Any], pointer: EvidencePointer
) -> None:
    assert opinion(accept_answer(evidence=[where]), replace(ASKED, **asked)).evidence == (pointer,)


DOUBLED = '{"decision": "reject", "decision": "accept"}'
WHOLE = json.dumps(accept_answer())


@pytest.mark.parametrize(
    ("answer", "stop", "fault", "problem"),
    [
        # a reply that stopped early is none even if it reads whole
        (WHOLE, StopReason.REFUSED, ReplyFault.REFUSED, "You declined to answer (cyber)."),
        (WHOLE, StopReason.TRUNCATED, ReplyFault.TRUNCATED, "cut off at the length limit"),
        (WHOLE, StopReason.CONTEXT_EXCEEDED, ReplyFault.TOO_LONG, "did not fit"),
        (" \n", StopReason.END, ReplyFault.EMPTY, ""),
        (" \n", StopReason.OTHER, ReplyFault.EMPTY, ""),
        *(
            (text, StopReason.END, ReplyFault.NOT_JSON, "Your answer is not one JSON object")
            for text in ("I accept.", f"The answer is:\n{WHOLE}", WHOLE + WHOLE, WHOLE[:-5], DOUBLED, "[" * 100_000)
        ),
        ('```json\n{"decision": "accept"}\n```', StopReason.END, ReplyFault.NOT_JSON, "Your answer is not one"),
    ],
    ids=range(12),
)
def test_what_is_not_one_whole_json_object_is_refused(
    answer: str, stop: StopReason, fault: ReplyFault, problem: str
) -> None:
    result = error(answer, stop=stop, stop_detail="cyber")
    assert result.fault is fault
    assert problem in result.problems[0]


def test_a_refusal_without_a_detail_is_named_all_the_same() -> None:
    assert error("", stop=StopReason.REFUSED).problems[0].startswith("You declined to answer. ")


def without(field: str) -> dict[str, Any]:
    return {key: value for key, value in accept_answer().items() if key != field}


NUMBER = "(2 × lowest + mean) / 3 is"
EACH = "criteria: expected one entry for each of"
BARE = [{**score, "improvement": " "} for score in score_answers(8)]
UNREASONED = [{**score, "reasoning": ""} for score in score_answers(8)]


WRONG: dict[str, list[tuple[dict[str, Any] | str, str]]] = {
    "schema": [
        (without("concern"), "concern: Field required."),
        (accept_answer(verdict="accept"), "verdict: unknown field."),
        (accept_answer(decision="approve"), "decision: Input should be 'accept', 'reject' or 'cannot_tell'."),
        (reject_answer(category="bad_style"), "category: Input should be "),
        (accept_answer(criteria=[{"id": "AC1", "status": "done", "evidence": []}]), "criteria.0.status: Input should "),
        (
            accept_answer(scores=[{**score_answers(8)[0], "score": 7.5}]),
            "scores.0.score: Input should be a valid integer.",
        ),
        (accept_answer(evidence=[evidence_at(line="2")]), "evidence.0.line: Input should be a valid integer."),
        (accept_answer(confidence="high"), "confidence: Input should be a valid number."),
        (accept_answer(evidence={}), "evidence: Input should be a valid array."),
        ("[]", "the answer: Input should be an object."),
        ('"accept"', "the answer: Input should be an object."),
    ],
    "contradiction": [
        (accept_answer(confidence=1.5), "confidence: expected a number from 0 to 1, found 1.5."),
        (accept_answer(scores=score_answers(8, 8, 8, 11)), "scores, fit: expected an integer from 1 to 10, found 11."),
        (
            accept_answer(scores=score_answers(0)),
            "scores, solves_the_issue: expected an integer from 1 to 10, found 0.",
        ),
        (accept_answer(concern=" "), "concern: expected one to three sentences, found none."),
        (accept_answer(scores=UNREASONED), "scores, solves_the_issue: the reasoning is empty."),
        (accept_answer(scores=BARE), "scores, solves_the_issue: the improvement is empty"),
        (accept_answer(criteria=criterion_answers("met")), f'{EACH} "AC1", "AC2", found "AC1".'),
        (
            accept_answer(criteria=criterion_answers("met", "met", "met")),
            f'{EACH} "AC1", "AC2", found "AC1", "AC2", "AC3".',
        ),
        (accept_answer(criteria=[*criterion_answers("met"), *criterion_answers("met")]), EACH),
        (accept_answer(scores=score_answers(8)[:1]), "scores: expected one entry for each of"),
        (accept_answer(category="weak_test"), 'An accept has no category, found "weak_test"'),
        (accept_answer(next_step="Test it."), "An accept has no next_step"),
        (
            accept_answer(criteria=criterion_answers("met", "partial")),
            "An accept needs every criterion met, AC2 is partial",
        ),
        (
            accept_answer(criteria=criterion_answers("met", "unverifiable")),
            "An accept needs every criterion met, AC2 is unverifiable",
        ),
        (
            accept_answer(criteria=criterion_answers("met", "met", evidence=[])),
            "An accept needs evidence for every criterion: point at the line that meets AC1",
        ),
        (
            accept_answer(scores=score_answers(9, 9, 9, 3)),
            f"The scores contradict the accept: {NUMBER} 4.50, expected at least 5.5.",
        ),
        (reject_answer(category=None), "A reject needs its category."),
        (reject_answer(next_step=None), "A reject needs its next_step"),
        (reject_answer(criteria=criterion_answers("met", "met"), evidence=[]), "A reject needs evidence"),
        (reject_answer(criteria=criterion_answers("met", "unverifiable"), evidence=[]), "A reject needs evidence"),
        (
            reject_answer(scores=score_answers(8)),
            f"The scores contradict the reject: {NUMBER} 8.00, expected below 5.5.",
        ),
        (cannot_tell_answer(category="weak_test"), 'Only a reject has a category, found "weak_test"'),
    ],
    "pointer": [
        (evidence_at(line=10), "`upload.py` has 9 lines at the head commit, line 10 does not exist."),
        (evidence_at(end_line=99), "`upload.py` has 9 lines at the head commit, line 99 does not exist."),
        (evidence_at("uplod.py"), "`uplod.py` is neither changed by the diff nor among the files you were given."),
        (evidence_at(line=0), "`upload.py`: line 0 does not exist, lines are counted from 1."),
        (evidence_at(line=-3), "`upload.py`: line -3 does not exist, lines are counted from 1."),
        (evidence_at(line=5, end_line=4), "`upload.py`: end_line 4 needs a line that is not after it."),
        (evidence_at(line=None), "`upload.py`: which line?"),
        (evidence_at(""), "A place in the evidence has an empty path."),
        (evidence_at(line=9, side="base"), "`upload.py` has 4 lines at the base commit, line 9 does not exist."),
        (
            evidence_at(line=3, quote="get(data)"),
            "Line 3 of `upload.py` reads `reply = post(data)`, not `get(data)`. No line",
        ),
        (
            evidence_at(line=3, quote="return reply"),
            "Line 3 of `upload.py` reads `reply = post(data)`, not `return reply`. Line 5",
        ),
        (evidence_at(quote=""), "Line 2 of `upload.py` is not quoted."),
        (evidence_at(quote="  "), "Line 2 of `upload.py` is not quoted."),
    ],
}


@pytest.mark.parametrize(
    ("fault", "answer", "problem"), [(fault, *row) for fault, rows in WRONG.items() for row in rows]
)
def test_what_is_wrong_is_named(fault: str, answer: dict[str, Any] | str, problem: str) -> None:
    answers = [answer]
    if isinstance(answer, dict) and fault == "pointer":  # twice in the evidence, and of a criterion
        answers = [
            accept_answer(evidence=[answer] * 2),
            accept_answer(criteria=criterion_answers("met", "met", evidence=[answer])),
        ]
    for wrong in answers:
        result = error(wrong)
        assert result.fault == fault
        assert result.problems[0].startswith(problem)
        assert fault != "pointer" or len(result.problems) == 1, "the same wrong place is named once"


BARE_ASKED = replace(ASKED, criteria=())


def test_an_accept_without_criteria_needs_evidence_of_its_own() -> None:
    assert error(accept_answer(criteria=[]), BARE_ASKED).problems[0].startswith("An accept needs evidence: point at")
    assert opinion(accept_answer(criteria=[], evidence=[evidence_at()]), BARE_ASKED).decision is Leaning.ACCEPT


def test_an_unmet_criterion_carries_a_reject_without_a_place() -> None:
    assert opinion(reject_answer(evidence=[])).evidence == ()


def test_several_problems_are_named_at_once() -> None:
    assert len(error(accept_answer(category="weak_test", next_step="x", confidence=7)).problems) == 3


# --- the last attempt: what is wrong is left out --------------------------------------------------

GONE = evidence_at(line=99, quote="never written")
MISREAD = evidence_at(line=3, quote="reply = get(data)")


def last(node: dict[str, Any], asked: ReplyRequirements = ASKED) -> ModelOpinion | ReplyError:
    return read_reply(reply(node), asked, Attempt.LAST)


def left(answer: dict[str, Any], asked: ReplyRequirements = ASKED) -> ModelOpinion:
    result = last(answer, asked)
    assert isinstance(result, ModelOpinion), result
    return result


def second(status: str, *at: dict[str, Any]) -> dict[str, Any]:
    """Criteria of which the second one stands so, at these places."""
    return {"criteria": [*criterion_answers("met"), {"id": "AC2", "status": status, "evidence": list(at)}]}


@pytest.mark.parametrize("wrong", [GONE, MISREAD], ids=["no such line", "another line"])
def test_at_last_a_wrong_place_is_left_out_and_the_rest_stands(wrong: dict[str, Any]) -> None:
    made = left(reject_answer(evidence=[wrong, evidence_at()]))
    assert [pointer.location for pointer in made.evidence] == ["upload.py:2"]
    assert (len(made.dropped), made.decision) == (1, Leaning.REJECT)


GAP = {"category": "acceptance_gap", "evidence": [GONE]}
PROVEN = [item for item in Category if item is not Category.ACCEPTANCE_GAP]


@pytest.mark.parametrize(
    ("answer", "asked", "problem"),
    [
        *(
            (accept_answer(**second("met", *at)), ASKED, "An accept needs every criterion met, AC2 is unverifiable")
            for at in ((GONE,), (MISREAD,), (GONE, MISREAD))
        ),
        (accept_answer(criteria=[], evidence=[GONE]), BARE_ASKED, "An accept needs evidence"),
        *(
            (
                reject_answer(category=name.value, evidence=[GONE, MISREAD]),
                ASKED,
                "The reject is left without evidence: no place",
            )
            for name in PROVEN
        ),
        (reject_answer(**GAP, **second("met", GONE)), ASKED, "A reject needs evidence"),
        (reject_answer(**GAP, **second("partial", GONE)), ASKED, "A reject needs evidence"),
    ],
)
def test_what_pointed_at_nothing_real_does_not_stand(
    answer: dict[str, Any], asked: ReplyRequirements, problem: str
) -> None:
    result = last(answer, asked)
    assert isinstance(result, ReplyError)
    assert (result.fault, result.problems[0][: len(problem)]) == (ReplyFault.POINTER, problem)


def test_an_accept_whose_criteria_are_still_shown_stands_without_its_other_places() -> None:
    made = left(accept_answer(evidence=[GONE]))
    assert (made.decision, made.evidence) == (Leaning.ACCEPT, ())
    assert made.dropped[0].startswith("`upload.py` has 9 lines")


@pytest.mark.parametrize("unmet", [{}, second("missing", GONE)])
def test_a_gap_stands_on_its_unmet_criterion(unmet: dict[str, Any]) -> None:
    assert left(reject_answer(**GAP, **unmet)).criteria[1].status is CriterionStatus.MISSING


def test_a_criterion_whose_places_are_all_wrong_is_open_and_says_why() -> None:
    made = left(reject_answer(**second("partial", MISREAD)))
    assert [(criterion.status, criterion.note) for criterion in made.criteria] == [
        ("met", ""),
        ("unverifiable", "the place that was named for it does not exist"),
    ]


def test_a_condition_keeps_its_state_without_the_wrong_place() -> None:
    answer = reject_answer(conditions=[{"id": "c1", "state": "open", "evidence": [GONE, evidence_at()]}])
    made = left(answer, replace(ASKED, conditions=("c1",)))
    assert [pointer.location for pointer in made.conditions[0].evidence] == ["upload.py:2"]


@pytest.mark.parametrize("attempt", list(Attempt))
@pytest.mark.parametrize(
    "answer",
    [accept_answer(category="weak_test"), accept_answer(scores=score_answers(1)), reject_answer(next_step=None)],
)
def test_what_is_left_is_not_corrected_in_any_other_way(attempt: Attempt, answer: dict[str, Any]) -> None:
    result = read_reply(reply(answer), ASKED, attempt)
    assert isinstance(result, ReplyError)
    assert result.fault is ReplyFault.CONTRADICTION


# --- Simmer: failures beyond a score, and the one step --------------------------------------------


def broken(**changes: Any) -> dict[str, Any]:
    step = "Make upload.py return what post() returned."
    return reject_answer(
        **{
            "breakdown": "complete_failure",
            "scores": score_answers(1),
            "evidence": [evidence_at()],
            "next_step": step,
            **changes,
        }
    )


@pytest.mark.parametrize("breakdown", ["complete_failure", "contract_violation"])
def test_a_complete_failure_is_a_reject_that_scores_one_everywhere(breakdown: str) -> None:
    made = opinion(broken(breakdown=breakdown))
    assert (made.breakdown, made.score, {score.score for score in made.scores}) == (breakdown, 0.0, {1})


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (broken(scores=score_answers(1, 1, 2, 1)), "A complete_failure scores 1 on every criterion"),
        (broken(decision="accept", category=None, next_step=None, scores=score_answers(8), criteria=criterion_answers("met", "met")),
         "A complete_failure is a reject, found accept"),
        (broken(decision="cannot_tell", category=None), "A complete_failure is a reject, found cannot_tell"),
        (broken(next_step="Add a few more logs."), "The next_step of a complete_failure aims at its cause"),
        (broken(breakdown="infrastructure"), "What the infrastructure did says nothing about the change, found reject"),
        (cannot_tell_answer(breakdown="infrastructure"), "A suspected failure of the infrastructure needs its next_step"),
    ],
    ids=range(6),
)  # fmt: skip
def test_a_breakdown_and_the_rest_of_the_reply_go_together(answer: dict[str, Any], problem: str) -> None:
    result = error(answer)
    assert result.fault is ReplyFault.CONTRADICTION
    assert any(text.startswith(problem) for text in result.problems), result.problems


@pytest.mark.parametrize("step", ["Let `upload` return.", "AC2: write it.", "In upload.py, return."])
def test_a_step_aims_by_the_name_of_a_file_or_of_an_unmet_criterion(step: str) -> None:
    assert opinion(broken(next_step=step)).next_step == step


@pytest.mark.parametrize("breakdowns", [[], score_answers(5)], ids=["none", "all"])
def test_a_suspected_run_is_repeated_and_not_scored(breakdowns: list[dict[str, Any]]) -> None:
    made = opinion(cannot_tell_answer(breakdown="infrastructure", next_step="Run e2e again.", scores=breakdowns))
    assert (made.scores, made.score, made.next_step) == ((), 0.5, "Run e2e again.")


@pytest.mark.parametrize(
    "step",
    ["- Do this\n- Do that", "1. Do this. 2. Do that.", "Do this:\n1) a\n2) b", "First (1) do this, (2) do that."],
)
def test_a_list_is_not_one_next_step(step: str) -> None:
    assert (
        error(reject_answer(next_step=step)).problems[0].startswith("next_step: expected the one step that helps most")
    )


@pytest.mark.parametrize("step", ["- Do this.", "Retry 3 times, as in v1. Then log it.", "Set LIMIT to 10."])
def test_one_step_may_hold_figures(step: str) -> None:
    assert opinion(reject_answer(next_step=step)).next_step == step


# --- closing conditions ---------------------------------------------------------------------------

TWO_OPEN = replace(ASKED, conditions=("c1", "c4"))


def answered(*states: str, **changes: Any) -> list[dict[str, Any]]:
    return [
        {"id": name, "state": state, "evidence": [], **changes}
        for name, state in zip(("c1", "c4"), states, strict=True)
    ]


def test_each_open_condition_is_answered_with_the_place_that_shows_it() -> None:
    made = opinion(reject_answer(conditions=answered("open", "resolved", evidence=[evidence_at()])), TWO_OPEN)
    assert [(condition.id, condition.state, condition.evidence[0].quote) for condition in made.conditions] == [
        ("c1", "open", "    for attempt in range(3):"),
        ("c4", "resolved", "    for attempt in range(3):"),
    ]
    assert opinion(accept_answer(conditions=answered("resolved", "resolved")), TWO_OPEN).decision is Leaning.ACCEPT


OPEN = answered("open", "open")


@pytest.mark.parametrize(
    ("answer", "asked", "problem"),
    [
        (reject_answer(conditions=[]), TWO_OPEN, 'conditions: expected one entry for each of "c1", "c4", found '),
        (reject_answer(conditions=OPEN[:1]), TWO_OPEN, 'conditions: expected one entry for each of "c1", "c4", found '),
        (reject_answer(conditions=OPEN * 2), TWO_OPEN, 'conditions: expected one entry for each of "c1", "c4", found '),
        (reject_answer(conditions=OPEN), ASKED, "conditions: expected one entry"),
        (accept_answer(conditions=answered("resolved", "open")), TWO_OPEN, "An accept needs every closing condition resolved, c4 is"),
        (reject_answer(conditions=answered("open", "open", evidence=[evidence_at(line=99)])), TWO_OPEN, "`upload.py` has 9 lines"),
    ],
    ids=["left out", "one left out", "twice", "not given", "accepted while open", "no such place"],
)  # fmt: skip
def test_a_wrong_answer_for_a_condition_is_named(
    answer: dict[str, Any], asked: ReplyRequirements, problem: str
) -> None:
    result = error(answer, asked)
    assert (len(result.problems), result.problems[0][: len(problem)]) == (1, problem)


# --- any reply -----------------------------------------------------------------------------------


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 50) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELD = st.sampled_from(sorted(accept_answer()))


@given(st.sampled_from([accept_answer(), reject_answer(), cannot_tell_answer()]), FIELD, JSON)
def test_no_reply_is_read_wrong_or_crashes(answer: dict[str, Any], field: str, value: object) -> None:
    result = read({**answer, field: value})
    if isinstance(result, ModelOpinion) and result.decision is Leaning.ACCEPT:
        assert result.category is None
        assert result.score >= 0.5
        assert all(criterion.status is CriterionStatus.MET and criterion.evidence for criterion in result.criteria)


@given(st.text())
def test_no_text_crashes_the_reader(text: str) -> None:
    assert isinstance(read_reply(ModelReply(text, StopReason.END, "", reply("").tokens, None, None), ASKED), ReplyError)
