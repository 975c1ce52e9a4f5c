"""A reply: its schema, the tokens reserved for it, and reading it into an opinion or into problems for the correction."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.judge.samples import (
    ALWAYS_ASK,
    DIFF,
    ScriptedModel,
    accept_answer,
    cannot_tell_answer,
    criteria,
    dossier,
    evidence_at,
    judge_dossier,
    model_of,
    new_file,
    reject_answer,
    reply,
    scores,
)
from worker.domain.ports import StopReason
from worker.domain.verdict.verdict import (
    Category,
    CriterionStatus,
    EvidencePointer,
    Leaning,
    ModelOpinion,
    Side,
    Verdict,
)
from worker.judge.checks.evidence import Places
from worker.judge.llm.reply import (
    BYTES_A_TOKEN,
    CONCERN_WORDS,
    IMPROVEMENT_WORDS,
    NOTE_WORDS,
    PLACES,
    QUOTE_CHARACTERS,
    REASONING_WORDS,
    SIDE_WORDS,
    STEP_WORDS,
    WIDE_CHANGE_FILES,
    Attempt,
    ReplyDocument,
    ReplyError,
    ReplyFault,
    ReplyRequirements,
    read_reply,
    reply_schema,
    reply_tokens,
)
from worker.judge.rubric import load_prompt, load_rubric
from worker.publishing.texts.check_run import check_content

DOSSIER = dossier()
REQUIREMENTS = ReplyRequirements(DOSSIER.criteria or (), load_rubric(), Places(DOSSIER), frozenset({"AC1"}))


def read_answer(
    answer: dict[str, Any] | str, required: ReplyRequirements = REQUIREMENTS, **changes: Any
) -> ModelOpinion | ReplyError:
    return read_reply(reply(answer, **changes), required)


def read_error(answer: dict[str, Any] | str, required: ReplyRequirements = REQUIREMENTS, **changes: Any) -> ReplyError:
    result = read_answer(answer, required, **changes)
    assert isinstance(result, ReplyError)
    return result


def read_opinion(answer: dict[str, Any], required: ReplyRequirements = REQUIREMENTS) -> ModelOpinion:
    result = read_answer(answer, required)
    assert isinstance(result, ModelOpinion), result
    return result


def test_accept_is_read_with_quoted_lines() -> None:
    made = read_opinion(accept_answer())
    assert (made.decision, made.category, made.next_step) == (Leaning.ACCEPT, None, None)
    assert made.criteria[0].evidence[0].quote == "    for attempt in range(3):"
    assert [(criterion.id, criterion.claimed) for criterion in made.criteria] == [("AC1", True), ("AC2", False)]
    assert (made.score, made.confidence) == (0.778, 0.9)


def test_reject_is_read_with_category_and_next_step() -> None:
    made = read_opinion(reject_answer())
    assert (made.decision, made.category) == (Leaning.REJECT, Category.WEAK_TEST)
    assert made.next_step == "Assert the number of attempts."
    assert made.evidence[0].location == "tests/test_upload.py:6"
    assert made.score < 0.5


def test_cannot_tell_is_a_valid_answer() -> None:
    made = read_opinion(cannot_tell_answer())
    assert (made.decision, made.criteria[1].status) == (Leaning.CANNOT_TELL, CriterionStatus.UNVERIFIABLE)


def test_criteria_and_scores_keep_the_order_asked() -> None:
    answer = accept_answer()
    made = read_opinion({**answer, "criteria": answer["criteria"][::-1], "scores": answer["scores"][::-1]})
    assert [criterion.id for criterion in made.criteria] == ["AC1", "AC2"]
    assert [score.criterion for score in made.scores] == [criterion.id for criterion in load_rubric().criteria]


def test_white_space_is_stripped_and_empty_text_is_none() -> None:
    made = read_opinion(accept_answer(concern="  It retries. \n", category="", next_step=" "))
    assert (made.concern, made.category, made.next_step) == ("It retries.", None, None)


LOOP = EvidencePointer(path="upload.py", line=2, quote="    for attempt in range(3):")


@pytest.mark.parametrize(
    ("entry", "changes", "pointer"),
    [
        # fields with an obvious value may be omitted
        ({"path": "upload.py", "line": 2, "quote": "for attempt in range(3):"}, {}, LOOP),
        (evidence_at(line=2, side="base", note=""), {}, EvidencePointer(path="upload.py", line=2, side=Side.BASE, quote="    return post(data)")),
        # an escaped path is resolved
        ({**evidence_at(note=""), "path": "upl\\u200boad.py"}, {"paths": {"upl\\u200boad.py": "upload.py"}}, LOOP),
        # a file without lines is named as a whole
        (evidence_at(line=None, note=""), {"bare_names": frozenset({"upload.py"})}, EvidencePointer(path="upload.py")),
    ],
    ids=["bare", "removed", "escaped", "whole"],
)  # fmt: skip
def test_evidence_is_read_as_its_real_location(
    entry: dict[str, Any], changes: dict[str, Any], pointer: EvidencePointer
) -> None:
    assert read_opinion(accept_answer(evidence=[entry]), replace(REQUIREMENTS, **changes)).evidence == (pointer,)


REPEATED_KEY = '{"decision": "reject", "decision": "accept"}'
WHOLE_REPLY = json.dumps(accept_answer())


@pytest.mark.parametrize(
    ("answer", "stop", "fault", "problem"),
    [
        # a reply that stopped early, even if it is valid JSON
        (WHOLE_REPLY, StopReason.REFUSED, ReplyFault.REFUSED, "You declined to answer (cyber)."),
        (WHOLE_REPLY, StopReason.TRUNCATED, ReplyFault.TRUNCATED, "cut off at the length limit"),
        (WHOLE_REPLY, StopReason.CONTEXT_EXCEEDED, ReplyFault.TOO_LONG, "did not fit"),
        (" \n", StopReason.END, ReplyFault.EMPTY, ""),
        (" \n", StopReason.OTHER, ReplyFault.EMPTY, ""),
        *(
            (text, StopReason.END, ReplyFault.NOT_JSON, "Your answer is not one JSON object")
            for text in (
                "I accept.",
                f"The answer is:\n{WHOLE_REPLY}",
                WHOLE_REPLY + WHOLE_REPLY,
                WHOLE_REPLY[:-5],
                REPEATED_KEY,
                "[" * 100_000,
            )
        ),
        ('```json\n{"decision": "accept"}\n```', StopReason.END, ReplyFault.NOT_JSON, "Your answer is not one"),
    ],
    ids=range(12),
)
def test_reply_must_be_one_whole_json_object(answer: str, stop: StopReason, fault: ReplyFault, problem: str) -> None:
    result = read_error(answer, stop=stop, stop_detail="cyber")
    assert result.fault is fault
    assert problem in result.problems[0]


def test_refusal_without_detail_is_reported() -> None:
    assert read_error("", stop=StopReason.REFUSED).problems[0].startswith("You declined to answer. ")


def accept_without(field: str) -> dict[str, Any]:
    return {key: value for key, value in accept_answer().items() if key != field}


NUMBER = "(2 × lowest + mean) / 3 is"
EACH = "criteria: expected one entry for each of"
BARE = [{**score, "improvement": " "} for score in scores(8)]
UNREASONED = [{**score, "reasoning": ""} for score in scores(8)]
LISTS = "- Do this\n- Do that", "1. Do this. 2. Do that.", "Do this:\n1) a\n2) b", "First (1) do this, (2) do that."


WRONG: dict[str, list[tuple[dict[str, Any] | str, str]]] = {
    "schema": [
        (accept_without("concern"), "concern: Field required."),
        (accept_answer(verdict="accept"), "verdict: unknown field."),
        (accept_answer(decision="approve"), "decision: Input should be 'accept', 'reject' or 'cannot_tell'."),
        (reject_answer(category="bad_style"), "category: Input should be "),
        (accept_answer(criteria=[{"id": "AC1", "status": "done", "evidence": []}]), "criteria.0.status: Input should "),
        (accept_answer(scores=[{**scores(8)[0], "score": 7.5}]), "scores.0.score: Input should be a valid integer."),
        (accept_answer(evidence=[evidence_at(line="2")]), "evidence.0.line: Input should be a valid integer."),
        (accept_answer(confidence="high"), "confidence: Input should be a valid number."),
        (accept_answer(evidence={}), "evidence: Input should be a valid array."),
        ("[]", "the answer: Input should be an object."),
        ('"accept"', "the answer: Input should be an object."),
    ],
    "contradiction": [
        (accept_answer(confidence=1.5), "confidence: expected a number from 0 to 1, found 1.5."),
        (accept_answer(scores=scores(8, 8, 8, 11)), "scores, fit: expected an integer from 1 to 10, found 11."),
        (accept_answer(scores=scores(0)), "scores, solves_the_issue: expected an integer from 1 to 10, found 0."),
        (accept_answer(concern=" "), "concern: expected one to three sentences, found none."),
        (accept_answer(scores=UNREASONED), "scores, solves_the_issue: the reasoning is empty."),
        (accept_answer(scores=BARE), "scores, solves_the_issue: the improvement is empty"),
        (accept_answer(criteria=criteria("met")), f'{EACH} "AC1", "AC2", found "AC1".'),
        (accept_answer(criteria=criteria("met", "met", "met")), f'{EACH} "AC1", "AC2", found "AC1", "AC2", "AC3".'),
        (accept_answer(criteria=[*criteria("met"), *criteria("met")]), EACH),
        (accept_answer(scores=scores(8)[:1]), "scores: expected one entry for each of"),
        (accept_answer(category="weak_test"), 'An accept has no category, found "weak_test"'),
        (accept_answer(next_step="Test it."), "An accept has no next_step"),
        (accept_answer(criteria=criteria("met", "partial")), "An accept needs every criterion met, AC2 is partial"),
        (accept_answer(criteria=criteria("met", "unverifiable")), "An accept needs every criterion met, AC2 is unverifiable"),
        (accept_answer(criteria=criteria("met", "met", evidence=[])), "An accept needs evidence for every criterion: point at the line that meets AC1"),
        (accept_answer(scores=scores(9, 9, 9, 3)), f"The scores contradict the accept: {NUMBER} 4.50, expected at least 5.5."),
        (reject_answer(category=None), "A reject needs its category."),
        (reject_answer(next_step=None), "A reject needs its next_step"),
        (reject_answer(criteria=criteria("met", "met"), evidence=[]), "A reject needs evidence"),
        (reject_answer(criteria=criteria("met", "unverifiable"), evidence=[]), "A reject needs evidence"),
        (reject_answer(scores=scores(8)), f"The scores contradict the reject: {NUMBER} 8.00, expected below 5.5."),
        (cannot_tell_answer(category="weak_test"), 'Only a reject has a category, found "weak_test"'),
        *((reject_answer(next_step=step), "next_step: expected the one step that helps most") for step in LISTS),
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
        (evidence_at(line=3, quote="get(data)"), "Line 3 of `upload.py` reads `reply = post(data)`, not `get(data)`. No line"),
        (evidence_at(line=3, quote="return reply"), "Line 3 of `upload.py` reads `reply = post(data)`, not `return reply`. Line 5"),
        (evidence_at(quote=""), "Line 2 of `upload.py` is not quoted."),
        (evidence_at(quote="  "), "Line 2 of `upload.py` is not quoted."),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "answer", "problem"), [(fault, *row) for fault, rows in WRONG.items() for row in rows]
)
def test_invalid_answer_is_reported(fault: str, answer: dict[str, Any] | str, problem: str) -> None:
    answers = [answer]
    if isinstance(answer, dict) and fault == "pointer":  # repeated in the evidence, and in a criterion
        answers = [
            accept_answer(evidence=[answer] * 2),
            accept_answer(criteria=criteria("met", "met", evidence=[answer])),
        ]
    for wrong in answers:
        result = read_error(wrong)
        assert result.fault == fault
        assert result.problems[0].startswith(problem)
        assert fault != "pointer" or len(result.problems) == 1, "a repeated problem is reported once"


WITHOUT_CRITERIA = replace(REQUIREMENTS, criteria=())


def test_accept_without_criteria_needs_evidence() -> None:
    (problem,) = read_error(accept_answer(criteria=[]), WITHOUT_CRITERIA).problems
    assert problem.startswith("An accept needs evidence: point at")
    opinion = read_opinion(accept_answer(criteria=[], evidence=[evidence_at()]), WITHOUT_CRITERIA)
    assert (opinion.decision, len(opinion.evidence)) == (Leaning.ACCEPT, 1)


def test_unmet_criterion_supports_reject_without_evidence() -> None:
    assert read_opinion(reject_answer(evidence=[])).evidence == ()


def test_several_problems_are_reported_together() -> None:
    assert len(read_error(accept_answer(category="weak_test", next_step="x", confidence=7)).problems) == 3


# --- the last attempt -----------------------------------------------------------------------------

PAST_END = evidence_at(line=99, quote="never written")
MISREAD = evidence_at(line=3, quote="reply = get(data)")


def read_last(answer: dict[str, Any], required: ReplyRequirements = REQUIREMENTS) -> ModelOpinion | ReplyError:
    return read_reply(reply(answer), required, Attempt.LAST)


def read_last_opinion(answer: dict[str, Any], required: ReplyRequirements = REQUIREMENTS) -> ModelOpinion:
    result = read_last(answer, required)
    assert isinstance(result, ModelOpinion), result
    return result


def second_criterion(status: str, *evidence: dict[str, Any]) -> dict[str, Any]:
    """Criteria whose second one has this status and evidence."""
    return {"criteria": [*criteria("met"), {"id": "AC2", "status": status, "evidence": list(evidence)}]}


@pytest.mark.parametrize("wrong", [PAST_END, MISREAD], ids=["no such line", "another line"])
def test_last_attempt_drops_invalid_evidence(wrong: dict[str, Any]) -> None:
    made = read_last_opinion(reject_answer(evidence=[wrong, evidence_at()]))
    assert [pointer.location for pointer in made.evidence] == ["upload.py:2"]
    assert (len(made.dropped), made.decision) == (1, Leaning.REJECT)


GAP = {"category": "acceptance_gap", "evidence": [PAST_END]}
WITH_EVIDENCE = [item for item in Category if item is not Category.ACCEPTANCE_GAP]


@pytest.mark.parametrize(
    ("answer", "required", "problem"),
    [
        *(
            (
                accept_answer(**second_criterion("met", *at)),
                REQUIREMENTS,
                "An accept needs every criterion met, AC2 is unverifiable",
            )
            for at in ((PAST_END,), (MISREAD,), (PAST_END, MISREAD))
        ),
        (accept_answer(criteria=[], evidence=[PAST_END]), WITHOUT_CRITERIA, "An accept needs evidence"),
        *(
            (
                reject_answer(category=name.value, evidence=[PAST_END, MISREAD]),
                REQUIREMENTS,
                "The reject is left without evidence: no place",
            )
            for name in WITH_EVIDENCE
        ),
        (reject_answer(**GAP, **second_criterion("met", PAST_END)), REQUIREMENTS, "A reject needs evidence"),
        (reject_answer(**GAP, **second_criterion("partial", PAST_END)), REQUIREMENTS, "A reject needs evidence"),
    ],
)
def test_last_attempt_needs_valid_evidence(answer: dict[str, Any], required: ReplyRequirements, problem: str) -> None:
    result = read_last(answer, required)
    assert isinstance(result, ReplyError)
    assert (result.fault, result.problems[0][: len(problem)]) == (ReplyFault.POINTER, problem)


def test_last_accept_stands_on_evidence_of_its_criteria() -> None:
    made = read_last_opinion(accept_answer(evidence=[PAST_END]))
    assert (made.decision, made.evidence) == (Leaning.ACCEPT, ())
    assert made.dropped[0].startswith("`upload.py` has 9 lines")


@pytest.mark.parametrize("unmet", [{}, second_criterion("missing", PAST_END)])
def test_last_acceptance_gap_stands_on_its_unmet_criterion(unmet: dict[str, Any]) -> None:
    assert read_last_opinion(reject_answer(**GAP, **unmet)).criteria[1].status is CriterionStatus.MISSING


def test_criterion_without_valid_evidence_becomes_unverifiable() -> None:
    made = read_last_opinion(reject_answer(**second_criterion("partial", MISREAD)))
    assert [(criterion.status, criterion.note) for criterion in made.criteria] == [
        ("met", ""),
        ("unverifiable", "the place that was named for it does not exist"),
    ]


def test_condition_keeps_state_without_invalid_evidence() -> None:
    answer = reject_answer(conditions=[{"id": "c1", "state": "open", "evidence": [PAST_END, evidence_at()]}])
    made = read_last_opinion(answer, replace(REQUIREMENTS, conditions=("c1",)))
    assert [pointer.location for pointer in made.conditions[0].evidence] == ["upload.py:2"]


@pytest.mark.parametrize("attempt", list(Attempt))
@pytest.mark.parametrize(
    "answer", [accept_answer(category="weak_test"), accept_answer(scores=scores(1)), reject_answer(next_step=None)]
)
def test_contradiction_is_refused_on_every_attempt(attempt: Attempt, answer: dict[str, Any]) -> None:
    result = read_reply(reply(answer), REQUIREMENTS, attempt)
    assert isinstance(result, ReplyError)
    assert result.fault is ReplyFault.CONTRADICTION


# --- breakdowns and the next step -----------------------------------------------------------------


def complete_failure(**changes: Any) -> dict[str, Any]:
    step = "Make upload.py return what post() returned."
    return reject_answer(
        **{
            "breakdown": "complete_failure",
            "scores": scores(1),
            "evidence": [evidence_at()],
            "next_step": step,
            **changes,
        }
    )


@pytest.mark.parametrize("breakdown", ["complete_failure", "contract_violation"])
def test_complete_failure_is_a_reject_with_score_one(breakdown: str) -> None:
    made = read_opinion(complete_failure(breakdown=breakdown))
    assert (made.breakdown, made.score, {score.score for score in made.scores}) == (breakdown, 0.0, {1})


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (complete_failure(scores=scores(1, 1, 2, 1)), "A complete_failure scores 1 on every criterion"),
        (complete_failure(decision="accept", category=None, next_step=None, scores=scores(8), criteria=criteria("met", "met")),
         "A complete_failure is a reject, found accept"),
        (complete_failure(decision="cannot_tell", category=None), "A complete_failure is a reject, found cannot_tell"),
        (complete_failure(next_step="Add a few more logs."), "The next_step of a complete_failure aims at its cause"),
        (complete_failure(breakdown="infrastructure"), "What the infrastructure did says nothing about the change, found reject"),
        (cannot_tell_answer(breakdown="infrastructure"), "A suspected failure of the infrastructure needs its next_step"),
    ],
    ids=range(6),
)  # fmt: skip
def test_breakdown_must_fit_the_rest_of_the_reply(answer: dict[str, Any], problem: str) -> None:
    result = read_error(answer)
    assert result.fault is ReplyFault.CONTRADICTION
    assert any(text.startswith(problem) for text in result.problems), result.problems


@pytest.mark.parametrize("step", ["Let `upload` return.", "AC2: write it.", "In upload.py, return."])
def test_step_of_complete_failure_names_file_or_criterion(step: str) -> None:
    assert read_opinion(complete_failure(next_step=step)).next_step == step


@pytest.mark.parametrize("scores", [[], scores(5)], ids=["none", "all"])
def test_infrastructure_breakdown_is_not_scored(scores: list[dict[str, Any]]) -> None:
    made = read_opinion(cannot_tell_answer(breakdown="infrastructure", next_step="Run e2e again.", scores=scores))
    assert (made.scores, made.score, made.next_step) == ((), 0.5, "Run e2e again.")


@pytest.mark.parametrize("step", ["- Do this.", "Retry 3 times, as in v1. Then log it.", "Set LIMIT to 10."])
def test_next_step_may_hold_numbers(step: str) -> None:
    assert read_opinion(reject_answer(next_step=step)).next_step == step


# --- closing conditions ---------------------------------------------------------------------------

TWO_OPEN = replace(REQUIREMENTS, conditions=("c1", "c4"))


def conditions(*states: str, **changes: Any) -> list[dict[str, Any]]:
    return [
        {"id": name, "state": state, "evidence": [], **changes}
        for name, state in zip(("c1", "c4"), states, strict=True)
    ]


def test_every_open_condition_is_answered_with_evidence() -> None:
    made = read_opinion(reject_answer(conditions=conditions("open", "resolved", evidence=[evidence_at()])), TWO_OPEN)
    assert [(condition.id, condition.state, condition.evidence[0].quote) for condition in made.conditions] == [
        ("c1", "open", "    for attempt in range(3):"),
        ("c4", "resolved", "    for attempt in range(3):"),
    ]
    done = read_opinion(accept_answer(conditions=conditions("resolved", "resolved")), TWO_OPEN)
    assert done.decision is Leaning.ACCEPT


OPEN_ANSWERS = conditions("open", "open")


@pytest.mark.parametrize(
    ("answer", "required", "problem"),
    [
        (reject_answer(conditions=[]), TWO_OPEN, 'conditions: expected one entry for each of "c1", "c4", found '),
        (reject_answer(conditions=OPEN_ANSWERS[:1]), TWO_OPEN, 'conditions: expected one entry for each of "c1", "c4", found '),
        (reject_answer(conditions=OPEN_ANSWERS * 2), TWO_OPEN, 'conditions: expected one entry for each of "c1", "c4", found '),
        (reject_answer(conditions=OPEN_ANSWERS), REQUIREMENTS, "conditions: expected one entry"),
        (accept_answer(conditions=conditions("resolved", "open")), TWO_OPEN, "An accept needs every closing condition resolved, c4 is"),
        (reject_answer(conditions=conditions("open", "open", evidence=[evidence_at(line=99)])), TWO_OPEN, "`upload.py` has 9 lines"),
    ],
    ids=["left out", "one left out", "twice", "not given", "accepted while open", "no such place"],
)  # fmt: skip
def test_invalid_condition_is_reported(answer: dict[str, Any], required: ReplyRequirements, problem: str) -> None:
    result = read_error(answer, required)
    assert (len(result.problems), result.problems[0][: len(problem)]) == (1, problem)


# --- any reply -----------------------------------------------------------------------------------


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 50) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELD = st.sampled_from(sorted(accept_answer()))


@given(st.sampled_from([accept_answer(), reject_answer(), cannot_tell_answer()]), FIELD, JSON)
def test_any_field_value_is_read_safely(answer: dict[str, Any], field: str, value: object) -> None:
    result = read_answer({**answer, field: value})
    if isinstance(result, ModelOpinion) and result.decision is Leaning.ACCEPT:
        assert result.category is None
        assert result.score >= 0.5
        assert all(criterion.status is CriterionStatus.MET and criterion.evidence for criterion in result.criteria)


@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    assert isinstance(read_answer(text), ReplyError)


RUBRIC = [criterion.id for criterion in load_rubric().criteria]
PATH = "worker/judge/heuristics/words.py"
GOAL = 700
UNSUPPORTED_KEYWORDS = {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern", "format"}


def words_of(count: int) -> str:
    return " ".join(["words"] * count)


def entry() -> dict[str, Any]:
    text = "    return retry".ljust(QUOTE_CHARACTERS, ".")
    return {"path": PATH, "line": 4_711, "end_line": 4_713, "side": "head", "quote": text, "note": words_of(NOTE_WORDS)}


def long_reply(criteria: int, conditions: int, questions: int = 0, *, is_wide: bool = False) -> str:
    side = words_of(SIDE_WORDS) if is_wide else ""
    score = {"score": 10, "reasoning": words_of(REASONING_WORDS), "improvement": words_of(IMPROVEMENT_WORDS)}
    reply = {
        "criteria": [{"id": f"AC{n}", "status": "missing", "evidence": [entry()]} for n in range(criteria)],
        "conditions": [{"id": f"c{n}", "state": "open", "evidence": [entry()]} for n in range(conditions)],
        "settled": [
            {"id": f"q{number}", "why": words_of(REASONING_WORDS), "evidence": [entry()]} for number in range(questions)
        ],
        "breakdown": "contract_violation",
        "scores": [{"criterion": criterion, **score} for criterion in RUBRIC],
        "what_works": side,
        "what_does_not": side,
        "concern": words_of(CONCERN_WORDS),
        "evidence": [entry()] * PLACES,
        "decision": "reject",
        "category": "tests_pass_but_wrong",
        "next_step": words_of(STEP_WORDS),
        "confidence": 0.85,
    }
    assert set(reply) == set(json.loads(json.dumps(reply_schema()["properties"])))
    return json.dumps(reply, separators=(",", ":"))


def tokens(criteria: int, conditions: int, *paths: str, questions: int = 0) -> int:
    names = [f"AC{n}" for n in range(criteria)]
    condition_ids = [f"c{n}" for n in range(conditions)]
    return reply_tokens(names, condition_ids, RUBRIC, [PATH, *paths], [f"q{number}" for number in range(questions)])


def test_reply_within_stated_lengths_fits_reserved_tokens() -> None:
    paths = [f"{number}.py" for number in range(WIDE_CHANGE_FILES)]
    assert len(long_reply(1, 0, 7)) / BYTES_A_TOKEN <= tokens(1, 0, questions=7)
    for count, open_count in ((0, 0), (1, 0), (3, 2), (12, 5)):
        assert len(long_reply(count, open_count)) / BYTES_A_TOKEN <= tokens(count, open_count)
        assert len(long_reply(count, open_count, is_wide=True)) / BYTES_A_TOKEN <= tokens(count, open_count, *paths)


def test_reserved_tokens_grow_with_criteria_conditions_and_paths() -> None:
    assert tokens(1, 0) <= GOAL < tokens(2, 0) < tokens(2, 1)
    assert tokens(1, 0, "p" * 100) > tokens(1, 0)
    assert reply_tokens([], [], RUBRIC, []) > 0


def test_prompt_states_every_length() -> None:
    text = load_prompt().text
    for stated in (
        f"`concern` has {CONCERN_WORDS} words",
        f"`next_step` {STEP_WORDS}",
        f"each `reasoning` and each `why` {REASONING_WORDS}",
        f"each `improvement` {IMPROVEMENT_WORDS}",
        f"each `note` {NOTE_WORDS}",
        f"`what_works` and `what_does_not` {SIDE_WORDS} each",
        f"a `quote` has {QUOTE_CHARACTERS} characters",
        f"of one that is longer than {QUOTE_CHARACTERS} characters, the first {QUOTE_CHARACTERS}",
    ):
        assert stated in text
    assert PLACES == 2
    assert "two in `evidence`" in text


def test_schema_objects_are_closed_and_use_supported_keywords() -> None:
    nodes: list[dict[str, Any]] = []
    schema_json = json.dumps(dict(reply_schema()))
    json.loads(schema_json, object_hook=lambda node: nodes.append(node) or node)
    objects = [node for node in nodes if node.get("type") == "object"]
    assert len(objects) == 6
    for item in objects:
        assert (item["additionalProperties"], item["required"]) == (False, list(item["properties"]))
    assert not [word for word in UNSUPPORTED_KEYWORDS if f'"{word}"' in schema_json]


def test_schema_puts_criteria_and_scores_before_the_decision() -> None:
    fields = list(ReplyDocument.model_fields)
    assert fields.index("criteria") < fields.index("scores") < fields.index("decision")


WIDE = DIFF + "".join(new_file(f"part{number}.py", f"VALUE = {number}") for number in range(WIDE_CHANGE_FILES - 2))
SIDES = {"what_works": "The retry itself.", "what_does_not": "No caller reads the last reply."}
OBJECTION = reject_answer(evidence=[evidence_at("upload.py", 2)])


def judge_diff(diff: str, *replies: dict[str, Any]) -> tuple[ScriptedModel, Verdict]:
    model = model_of(*replies)
    return model, judge_dossier(model, ALWAYS_ASK, diff=diff)


def test_wide_change_is_asked_for_one_strategic_direction() -> None:
    model, verdict = judge_diff(WIDE, {**OBJECTION, **SIDES})
    ending = model.prompts[0].turns[0].rpartition("# Now judge")[2]
    assert f"This change is over {WIDE_CHANGE_FILES} files." in ending
    assert "one strategic direction" in ending
    assert SIDES.items() <= verdict.signals.items()
    assert (model.prompts[0].reply_tokens or 0) > tokens(2, 0)
    summary = check_content(verdict, dossier(diff=WIDE)).summary
    lines = ("**What works:** The retry itself.", f"**What does not:** {SIDES['what_does_not']}", "**Next step:**")
    assert sorted(lines, key=summary.index) == list(lines)


def test_missing_direction_is_corrected_once() -> None:
    model, verdict = judge_diff(WIDE, OBJECTION, OBJECTION)
    correction = model.prompts[1].turns[2]
    assert "1. what_works: this change is over many files" in correction
    assert "2. what_does_not: this change is over many files" in correction
    assert (verdict.decision, SIDES.keys() & verdict.signals.keys()) == ("reject", set())


@pytest.mark.parametrize(
    ("diff", "answer", "decision"),
    [(WIDE, accept_answer(), "accept"), (DIFF, OBJECTION, "reject")],
    ids=["accept", "small"],
)
def test_accept_and_small_change_need_no_direction(diff: str, answer: dict[str, Any], decision: str) -> None:
    model, verdict = judge_diff(diff, {**answer, **SIDES})
    assert (len(model.prompts), verdict.decision, SIDES.keys() & verdict.signals.keys()) == (1, decision, set())
    assert ("strategic direction" in model.prompts[0].turns[0]) is (diff == WIDE)
