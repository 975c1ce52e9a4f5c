"""The reply schema, the length of its fields and the tokens reserved for a reply."""

import json
from typing import Any

import pytest

from tests.worker.judge.samples import (
    ALWAYS_ASK,
    DIFF,
    ScriptedModel,
    accept_answer,
    dossier,
    evidence_at,
    judge_dossier,
    model_of,
    new_file,
    reject_answer,
)
from worker.domain.verdict.verdict import Verdict
from worker.judge.llm.reply_schema import (
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
    ReplyDocument,
    reply_schema,
    reply_tokens,
)
from worker.judge.rubric import load_prompt, load_rubric
from worker.publishing.texts.check_run import check_content

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
    for criteria, conditions in ((0, 0), (1, 0), (3, 2), (12, 5)):
        assert len(long_reply(criteria, conditions)) / BYTES_A_TOKEN <= tokens(criteria, conditions)
        assert len(long_reply(criteria, conditions, is_wide=True)) / BYTES_A_TOKEN <= tokens(
            criteria, conditions, *paths
        )


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
