"""The convergence of rounds: what may still reject, which conditions are resolved, and when a human decides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.worker.judge.rounds import History, Tree, Verdict
from tests.worker.judge.samples import (
    DOCS_CHANGE,
    NOW,
    accept_answer,
    cannot_tell_answer,
    criteria,
    decision_of,
    evidence_at,
    judge_context,
    model_of,
    new_file,
    reject_answer,
    reply,
    scores,
)
from worker.domain.dossier import Ci, CiCheck, CiState, Criterion
from worker.domain.ports import ModelReply, Prompt
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    Category,
    ClosingCondition,
    ConditionState,
    Coverage,
    EvidencePointer,
    Reject,
    Side,
)
from worker.dossier.diff import diff_of, hash_changed_lines
from worker.errors import Unavailable

STEP = "Retry it on 503."
BOTH_MET = {"criteria": criteria("met", "met", evidence=[evidence_at("upload.py", 3)])}


def rejects_at(line: int, path: str = "upload.py", **changes: Any) -> dict[str, Any]:
    """A reject at one line; the criteria are met."""
    fields = {"evidence": [evidence_at(path, line)], "next_step": STEP, "scores": scores(2), **BOTH_MET}
    return reject_answer(**{**fields, **changes})


def accept_all_met(**changes: Any) -> dict[str, Any]:
    return accept_answer(**{**BOTH_MET, **changes})


def conditions(*states: str, at: int | None = None) -> list[dict[str, Any]]:
    evidence = [] if at is None else [evidence_at("upload.py", at)]
    return [{"id": f"c{number}", "state": state, "evidence": evidence} for number, state in enumerate(states, start=1)]


def open_history() -> History:
    """A pull request that changes lines 3 and 9 of upload.py."""
    history = History()
    history.replace_line("upload.py", 3)
    history.replace_line("upload.py", 9)
    return history


def history_rejected_at_3(**changes: Any) -> History:
    history = open_history()
    assert isinstance(ask_model(history, rejects_at(3, **changes)), Reject)
    return history


def ask_model(history: History, *replies: Any, limit: int = 5, **changes: Any) -> Verdict:
    """Judge with these answers; without another diff they quote the current lines."""
    model = model_of(*(replies if "diff" in changes else map(history.quote_lines, replies)))
    verdict = history.judge(replace(judge_context(model, threshold=2.0), round_limit=limit), **changes)
    assert model.answers == [], "every answer is used"
    return verdict


def conditions_of(verdict: Verdict) -> str:
    return " ".join(f"{condition.id}:{condition.state}" for condition in verdict.closing_conditions)


def locations_of(verdict: Verdict) -> str:
    return " ".join(pointer.location for pointer in verdict.evidence)


# --- the second round -----------------------------------------------------------------------------

ELSEWHERE = rejects_at(9, category="acceptance_gap", conditions=conditions("resolved"), next_step="Log it.")
ONE_OPEN: dict[str, Any] = {"conditions": conditions("open")}
ONE_RESOLVED: dict[str, Any] = {"conditions": conditions("resolved")}
CREEP: dict[str, Any] = {"category": "scope_creep", "next_step": "Drop it."}
TWO_LOCATIONS = [evidence_at("upload.py", 9), evidence_at("upload.py", 3, end_line=4)]
GAP_ON_3_AND_4 = rejects_at(4, evidence=TWO_LOCATIONS, category="acceptance_gap", next_step="Log it.", **ONE_RESOLVED)
STILL_OPEN = rejects_at(9, conditions=conditions("open", at=3), **CREEP)
CLEARER = "In line 3, call post up to three times while it answers 503."
MISSING_CRITERION: dict[str, Any] = {"criteria": criteria("missing", "met")}
STILL_MISSING = reject_answer(
    criteria=criteria("partial", "met"), evidence=[], scores=scores(2), category="acceptance_gap",
    conditions=conditions("resolved", "open"), next_step="Call it in send.",
)  # fmt: skip
HUMAN, SAME_REJECT = "abstain needs_human", rejects_at(3, **ONE_OPEN)


@pytest.mark.parametrize(
    ("first", "pushed", "replies", "result", "concern"),
    [
        # an accept with an open condition is corrected; a resolved condition is kept with any decision
        ({}, "upload.py:3", [accept_all_met(**ONE_OPEN), accept_all_met(**ONE_RESOLVED)], ("accept", "", "c1:resolved"), ""),
        ({}, "upload.py:3", [cannot_tell_answer(**ONE_RESOLVED)], (HUMAN, "", "c1:resolved"), ""),
        # a new objection to old lines is corrected once and then needs a human, without evidence
        ({}, "upload.py:3", [ELSEWHERE, ELSEWHERE], (HUMAN, "", "c1:resolved"), "did not change since"),
        ({}, "upload.py:3", [ELSEWHERE, ELSEWHERE], (HUMAN, "", "c1:resolved"), "upload.py:9"),
        ({}, "upload.py:3", [ELSEWHERE, accept_all_met(**ONE_RESOLVED)], ("accept", "", "c1:resolved"), ""),
        # a reject of changed lines keeps only these as evidence
        ({}, "upload.py:4", [GAP_ON_3_AND_4], ("reject acceptance_gap", "upload.py:4", "c1:resolved c2:open"), ""),
        # an open condition may be rejected at its location in its category
        ({}, "upload.py:9", [rejects_at(3, next_step=CLEARER, **ONE_OPEN)], ("reject weak_test", "upload.py:3", "c1:open"), ""),
        ({}, "retry.py:1", [rejects_at(3, **CREEP, **ONE_OPEN)] * 2, (HUMAN, "", "c1:open"),
         "Still open, and not shown to be: c1 (Retry it on 503)."),
        # or where it is shown to be open, in its own words
        ({}, "retry.py:1", [STILL_OPEN], ("reject weak_test", "upload.py:3", "c1:open"), "Condition c1 of round 1 is still open."),
        ({}, "upload.py:3", [STILL_OPEN], ("reject weak_test", "upload.py:3", "c1:open"), ""),
        # an unmet criterion supports a reject without evidence
        (MISSING_CRITERION, "retry.py:1", [STILL_MISSING], ("reject acceptance_gap", "", "c1:resolved c2:open"), ""),
        # a repeated step at the same location is corrected once and then needs a human
        ({}, "upload.py:3", [rejects_at(3, next_step="On 503, retry it!", **ONE_OPEN), rejects_at(3, next_step=CLEARER, **ONE_OPEN)],
         ("reject weak_test", "upload.py:3", "c1:open"), ""),
        ({}, "upload.py:3", [rejects_at(3, next_step="Retry it!", **ONE_OPEN), rejects_at(3, next_step=CLEARER, **ONE_OPEN)],
         ("reject weak_test", "upload.py:3", "c1:open"), ""),
        ({}, "upload.py:3", [SAME_REJECT, SAME_REJECT], (HUMAN, "upload.py:3", "c1:open"),
         "This would be the 2nd reject for the same reason at the same place"),
    ],
    ids=range(14),
)  # fmt: skip
def test_second_round(
    first: dict[str, Any], pushed: str, replies: list[Any], result: tuple[str, str, str], concern: str
) -> None:
    history = history_rejected_at_3(**first)
    path, _, line = pushed.partition(":")
    history.replace_line(path, int(line))
    verdict = ask_model(history, *replies)
    at = "" if verdict.decision == "accept" else locations_of(verdict)
    assert (decision_of(verdict), at, conditions_of(verdict)) == result
    assert concern in verdict.concern
    if len(replies) == 2 and result[0] == HUMAN:
        assert verdict.signals["model_decision"] == "reject"
    if "of round 1" in concern:
        assert verdict.next_step == f"Do what has been asked for since round 1: {STEP}"


def test_conditions_outlive_a_model_outage() -> None:
    history = history_rejected_at_3()
    history.replace_line("upload.py", 5)
    assert conditions_of(ask_model(history, Unavailable("The model", "down"))) == "c1:open"


def test_resolved_condition_reopens_only_on_changed_lines() -> None:
    history = history_rejected_at_3()
    history.replace_line("upload.py", 3)
    ask_model(history, accept_all_met(**ONE_RESOLVED))
    history.replace_line("upload.py", 5)
    reopened = ask_model(history, rejects_at(5, category="acceptance_gap"))
    assert (reopened.decision, conditions_of(reopened)) == ("reject", "c1:open"), "the same text is the same condition"


def test_criterion_that_is_broken_again_gets_a_new_condition() -> None:
    missed: dict[str, Any] = {**MISSING_CRITERION, "evidence": []}
    history = history_rejected_at_3(**missed, concern="No upload is retried.")
    assert conditions_of(history.ledger[0].verdict) == "c1:open c2:open"
    line = history.replace_line("upload.py", 3)
    ask_model(history, accept_all_met(conditions=conditions("resolved", "resolved")))
    history.replace_line("upload.py", line)  # removes the line that met the criterion
    texts = {"concern": "Uploads are no longer retried.", "next_step": "Have an upload retried again."}
    broken = ask_model(history, reject_answer(**missed, scores=scores(2), **texts))
    assert (broken.decision, conditions_of(broken)) == ("reject", "c1:resolved c2:open c3:open")


def test_condition_may_name_a_file_without_lines() -> None:
    mode_change = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    history = History()
    unverifiable = criteria("unverifiable", "unverifiable")
    answer = reject_answer(
        criteria=unverifiable,
        evidence=[evidence_at("run.sh", None)],
        scores=scores(2),
        concern="Nothing says why run.sh may run.",
        next_step="Keep the mode of run.sh.",
    )
    ask_model(history, answer, diff=mode_change + new_file("a.py", "x = 1"), files=None)
    history.commits += 1
    second = {**answer, "conditions": conditions("open"), "next_step": "Set run.sh to 100644 with git update-index."}
    verdict = ask_model(history, second, diff=mode_change + new_file("a.py", "y = 1"), files=None)
    assert (verdict.decision, locations_of(verdict), conditions_of(verdict)) == ("reject", "run.sh", "c1:open")


def test_met_criterion_is_not_missing_on_unchanged_lines() -> None:
    history = history_rejected_at_3()
    history.replace_line("upload.py", 5)
    answer = rejects_at(5, criteria=criteria("missing", "met", evidence=[evidence_at("upload.py", 9)]), category="acceptance_gap",
                   conditions=conditions("resolved"), next_step="Log it.")  # fmt: skip
    verdict = ask_model(history, answer)
    assert isinstance(verdict, Reject)
    assert [(criterion.status, criterion.note) for criterion in verdict.criteria] == [
        ("unverifiable", "called unmet now, on lines that were judged before and did not change since"),
        ("met", ""),
    ]
    assert conditions_of(verdict) == "c1:resolved c2:open"


def test_new_criterion_may_be_missing() -> None:
    history = history_rejected_at_3()
    history.replace_line("upload.py", 5)
    asks = tuple(Criterion(id=f"AC{number}", text="x") for number in (1, 2, 3))
    answer = rejects_at(
        5,
        criteria=criteria("met", "met", "missing"),
        evidence=[],
        conditions=conditions("resolved"),
        next_step="Do it.",
    )
    verdict = ask_model(history, answer, criteria=asks)
    assert [condition.text for condition in verdict.closing_conditions] == [STEP, "Do it.", "AC3 is met: x"]


def test_criterion_may_be_unmet_on_changed_lines() -> None:
    history = history_rejected_at_3()
    history.replace_line("upload.py", 5)
    against = [
        {"id": "AC1", "status": "partial", "evidence": [evidence_at("upload.py", 4, end_line=5)]},
        criteria("met", "met")[1],
    ]
    answer = rejects_at(5, criteria=against, evidence=[], conditions=conditions("resolved"), next_step="Log it.")
    verdict = ask_model(history, answer)
    assert [pointer.location for pointer in verdict.criteria[0].evidence] == ["upload.py:5"]
    assert [condition.text for condition in verdict.closing_conditions][1:] == [
        "Log it.",
        "AC1 is met: an upload is retried when the server is busy at night",
    ]


def test_model_may_reject_after_code_alone_judged() -> None:
    history = open_history()
    history.judge(
        judge_context(), diff=new_file("upload.py", "def send(data):", "    raise NotImplementedError"), files=None
    )
    assert history.ledger[0].verdict.decision == "reject", "code rejects on a fact"
    history.commits += 1
    verdict = ask_model(history, rejects_at(9, conditions=conditions("resolved")))
    assert (verdict.decision, locations_of(verdict)) == ("reject", "upload.py:9")


def without_hashes(last: LedgerEntry) -> LedgerEntry:
    return last.model_copy(update={"changed_lines": {}})


def without_coverage(last: LedgerEntry) -> LedgerEntry:
    unread = last.verdict.model_copy(update={"coverage": Coverage(partly=("upload.py",))})
    return last.model_copy(update={"verdict": unread})


def with_other_rubric(last: LedgerEntry) -> LedgerEntry:
    return last.model_copy(update={"verdict": last.verdict.model_copy(update={"rubric_id": "strict"})})


@pytest.mark.parametrize("change_entry", [without_hashes, without_coverage, with_other_rubric])
def test_model_may_reject_old_lines_that_were_not_judged_by_this_rubric(
    change_entry: Callable[[LedgerEntry], LedgerEntry],
) -> None:
    history = history_rejected_at_3()
    history.ledger[0] = change_entry(history.ledger[0])
    history.replace_line("retry.py", 1)
    answer = rejects_at(9, category="half_finished", next_step="Drop it.", **ONE_RESOLVED)
    assert ask_model(history, answer).decision == "reject"


def test_same_head_judged_after_ci_changed_is_no_repetition() -> None:
    history = history_rejected_at_3()
    passed = Ci(checks=(CiCheck(name="test", conclusion="success"),))
    verdict = ask_model(history, rejects_at(3, conditions=conditions("open")), ci=passed)
    assert (verdict.decision, verdict.round) == ("reject", 1)


# --- rounds ---------------------------------------------------------------------------------------


def test_reject_after_last_round_needs_a_human() -> None:
    history = history_rejected_at_3()
    history.replace_line("upload.py", 3)
    second = ask_model(
        history, rejects_at(3, conditions=conditions("open"), next_step="In line 3, call post thrice."), limit=2
    )
    assert (second.decision, second.round) == ("reject", 2)
    history.replace_line("upload.py", 3)
    third = rejects_at(3, conditions=conditions("open"), next_step="Write a loop.")
    last = ask_model(history, third, limit=2)
    assert decision_of(last) == HUMAN
    assert "After 2 rounds this still does not converge" in last.concern
    assert conditions_of(last) == "c1:open"
    history.replace_line("upload.py", 3)
    assert ask_model(history, accept_all_met(conditions=conditions("resolved")), limit=2).decision == "accept"


def test_push_before_the_reject_was_published_uses_no_round() -> None:
    history = open_history()
    ask_model(history, rejects_at(3), at=NOW)
    history.replace_line("upload.py", 3)
    blind = rejects_at(3, conditions=conditions("open"), next_step="Another step.")
    assert ask_model(history, blind, pushed_at=NOW - timedelta(seconds=1)).round == 1


# --- facts ----------------------------------------------------------------------------------------

STUB = new_file("retry.py", "def again(data):", "    raise NotImplementedError")
STUB_LINES = hash_changed_lines(diff_of(STUB))["retry.py"]
DONE = new_file("retry.py", "def again(data):", "    return post(data)", "", "again(1)")


def judge_by_code(history: History, diff: str, **changes: Any) -> Verdict:
    history.commits += 1
    return history.judge(judge_context(), diff=diff, files=None, **changes)


def test_condition_of_a_fact_is_resolved_when_the_fact_is_gone() -> None:
    history = History()
    assert conditions_of(judge_by_code(history, STUB)) == "c1:open"
    assert conditions_of(judge_by_code(history, DONE)) == "c1:resolved"
    assert conditions_of(judge_by_code(history, STUB)) == "c1:open", "reopened with the fact"


def test_repeated_fact_is_explained_in_the_next_round() -> None:
    history = History()
    first = judge_by_code(history, STUB)
    second = judge_by_code(history, STUB + new_file("more.py", "x = 1"))
    assert (conditions_of(second), second.round) == ("c1:open", 2)
    assert {finding.signal for finding in second.findings} >= {finding.signal for finding in first.findings} > set()
    assert "whatever a name promises has to happen when it is called" in second.concern
    assert second.next_step is not None
    assert second.next_step.startswith(first.next_step or "-")
    assert second.next_step.endswith("It reads `raise NotImplementedError` now. This is asked for the 2nd time.")


def test_fact_keeps_its_condition_open_against_the_model() -> None:
    history = History()
    judge_by_code(history, STUB)
    history.commits += 1
    diff = STUB + new_file("more.py", "x = 1")
    met = criteria("met", "met", evidence=[evidence_at("more.py", 1, quote="x = 1")])
    verdict = ask_model(history, accept_answer(criteria=met, conditions=conditions("resolved")), diff=diff, files=None)
    assert (verdict.decision, conditions_of(verdict)) == ("reject", "c1:open")


def test_fact_on_old_lines_rejects_and_says_it_is_new() -> None:
    history = History()
    met = criteria("met", "met", evidence=[evidence_at("retry.py", 1, quote="def again(data):")])
    ask_model(history, accept_answer(criteria=met), diff=DONE, files=None)
    earlier = history.ledger[0]
    stub = judge_by_code(History(), STUB)
    without_fact = earlier.model_copy(
        update={"changed_lines": {"retry.py": STUB_LINES}}
    )  # a verdict of an older version without this fact
    history.ledger[0] = without_fact
    history.commits += 1
    answer = reject_answer(criteria=criteria("met", "missing", evidence=[evidence_at("more.py", 1, quote="x = 1")]), category="half_finished",
                  evidence=[evidence_at("retry.py", 1, quote="def again(data):"), evidence_at("more.py", 1, quote="x = 1")], scores=scores(2), next_step="Write again.")  # fmt: skip
    verdict = ask_model(history, answer, diff=STUB + new_file("more.py", "x = 1"), files=None)
    assert isinstance(verdict, Reject)
    assert verdict.concern.endswith(
        "(No earlier round said so, though these lines were there: a fact stands wherever it is found.)"
    )
    assert locations_of(verdict) == f"{locations_of(stub)} more.py:1", "the model may add evidence on new lines only"
    assert [criterion.status for criterion in verdict.criteria] == ["met", "unverifiable"]


def test_fact_after_last_round_needs_a_human() -> None:
    history = History()
    judge_by_code(history, STUB)
    history.commits += 1
    verdict = history.judge(replace(judge_context(), round_limit=1), diff=STUB + new_file("m.py", "x = 1"), files=None)
    assert decision_of(verdict) == HUMAN
    assert "NotImplementedError" in verdict.concern or "again" in verdict.concern


def test_empty_change_keeps_its_criteria() -> None:
    history = history_rejected_at_3()
    history.commits += 1
    verdict = history.judge(judge_context(), diff="", files=())
    assert isinstance(verdict, Reject)
    assert [criterion.status for criterion in verdict.criteria] == ["missing", "missing"]


def test_carried_over_reject_does_not_reset_the_round() -> None:
    history = History()
    for number in (0, 1, 2, 3, 0, 4):
        history.commits += 1
        stub = new_file("m.py", f"def made_{number}():", "    raise NotImplementedError")
        verdict = history.judge(replace(judge_context(), round_limit=3), diff=stub, files=None)
    assert [entry.verdict.round for entry in history.ledger] == [1, 2, 3, 4, 3, 4]
    assert [entry.verdict.carried_from for entry in history.ledger][-2:] == ["eval-000", None]
    assert verdict.decision == "abstain"


# --- without a model ------------------------------------------------------------------------------


def test_safe_change_does_not_resolve_conditions_of_a_model() -> None:
    history = history_rejected_at_3()
    history.commits += 1
    by_code = history.judge(judge_context(), **DOCS_CHANGE)
    assert decision_of(by_code) == HUMAN
    assert "what earlier rounds asked for is not shown to be done: c1 (Retry it on 503)" in by_code.concern
    met = criteria("met", evidence=[evidence_at("docs/busy.md", 3, quote="The server is busy at noon.")])
    model = model_of(accept_answer(criteria=met, conditions=conditions("resolved")))
    by_model = history.judge(judge_context(model), **DOCS_CHANGE)
    assert (by_model.decision, conditions_of(by_model)) == ("accept", "c1:resolved")
    assert by_model.escalation_reason.endswith("; still open: c1")


def test_safe_change_resolves_conditions_of_code() -> None:
    history = History()
    judge_by_code(history, STUB)
    history.commits += 1
    verdict = history.judge(judge_context(), **DOCS_CHANGE)
    assert (verdict.decision, conditions_of(verdict)) == ("accept", "c1:resolved")


@pytest.mark.parametrize("changes", [{"ci": Ci(state=CiState.FAILURE)}, {"diff": "no diff at all"}])
def test_abstain_keeps_conditions(changes: dict[str, Any]) -> None:
    history = history_rejected_at_3()
    history.replace_line("upload.py", 3)
    assert conditions_of(history.judge(judge_context(), **changes)) == "c1:open"


# --- any objection --------------------------------------------------------------------------------


LIMIT = 3
PATHS = st.sampled_from(["upload.py", "retry.py"])
AT = st.integers(0, 11)
STATUS = st.sampled_from(["met", "met", "met", "unverifiable", "partial", "missing"])
STEPS = ["Retry it.", "Retry it on 503.", "Log each attempt."]


@dataclass
class Adversary:
    """A model that always rejects, with drawn evidence and reasons."""

    history: History
    draw: Callable[[st.SearchStrategy[Any]], Any]
    answer_count: int = 0
    name: str = "claude-haiku-5-5"
    pricing_version: str | None = "2026-11"

    def ask(self, prompt: Prompt) -> ModelReply:  # noqa: ARG002 - always objects
        self.answer_count += 1
        states = [self.draw(STATUS), self.draw(STATUS)]
        evidence = self.draw_locations(0 if {"missing", "partial"} & set(states) else 1)
        return reply(
            {
                "criteria": [
                    {"id": f"AC{number}", "status": status, "evidence": self.draw_locations(0)}
                    for number, status in enumerate(states, start=1)
                ],
                "conditions": [self.answer_condition(condition) for condition in self.open_conditions()],
                "scores": scores(2),
                "concern": f"Objection {self.answer_count}.",
                "evidence": evidence,
                "decision": "reject",
                "category": self.draw(st.sampled_from(Category)),
                "next_step": self.draw(st.sampled_from([*STEPS, f"Do thing {self.answer_count} now."])),
                "confidence": 0.9,
            }
        )

    def open_conditions(self) -> tuple[ClosingCondition, ...]:
        return open_conditions(self.history.ledger[-1].verdict) if self.history.ledger else ()

    def answer_condition(self, condition: ClosingCondition) -> dict[str, Any]:
        state = self.draw(st.sampled_from(["open", "resolved"]))
        return {"id": condition.id, "state": state, "evidence": self.draw_locations(0)}

    def draw_locations(self, least: int) -> list[dict[str, Any]]:
        return [self.draw_location() for _ in range(self.draw(st.integers(least, 2)))]

    def draw_location(self) -> dict[str, Any]:
        """A changed line, or any line or range of a file."""
        changed = sorted(self.history.changed_lines())
        if changed and self.draw(st.booleans()):
            location: tuple[str, Side, int] = self.draw(st.sampled_from(changed))
            path, side, line = location
            text = self.history.changed_lines()[location][1]
            return {"path": path, "line": line, "end_line": None, "side": side.value, "quote": text, "note": ""}
        path: str = self.draw(PATHS)
        line: int = self.draw(st.integers(1, len(self.history.head[path])))
        end = self.draw(st.none() | st.integers(line, len(self.history.head[path])))
        quote: str = self.history.head[path][int(line) - 1]
        return {"path": path, "line": line, "end_line": end, "side": "head", "quote": quote, "note": ""}


class ConvergenceMachine(RuleBasedStateMachine):
    """An author who pushes and a model that always rejects."""

    @initialize(path=PATHS, at=AT)
    def open_pull_request(self, path: str, at: int) -> None:
        self.history = History()
        self.trees: list[Tree] = []
        self.judged: list[tuple[LedgerEntry, frozenset[tuple[str, str]]]] = []
        self.history.replace_line(path, at + 1)

    @rule(path=PATHS, at=AT)
    def replace_a_line(self, path: str, at: int) -> None:
        self.history.push(path, lambda lines: lines.__setitem__(at % len(lines), self.history.new_line()))

    @rule(path=PATHS, at=AT, data=st.data())
    def replace_a_line_and_judge(self, path: str, at: int, data: st.DataObject) -> None:
        self.replace_a_line(path, at)
        self.judge(data)

    @rule(path=PATHS, at=AT)
    def add_a_line(self, path: str, at: int) -> None:
        self.history.push(path, lambda lines: lines.insert(at, self.history.new_line()))

    @rule(path=PATHS, at=AT)
    def remove_a_line(self, path: str, at: int) -> None:
        if len(self.history.head[path]) > 4:
            self.history.push(path, lambda lines: lines.__delitem__(at % len(lines)))

    @rule(path=PATHS, other=PATHS, at=AT, to=AT)
    def move_a_line(self, path: str, other: str, at: int, to: int) -> None:
        if len(self.history.head[path]) > 4:
            line = self.history.head[path][at % len(self.history.head[path])]
            self.history.push(path, lambda lines: lines.remove(line))
            self.history.push(other, lambda lines: lines.insert(to, line))

    @rule(path=PATHS)
    def rebase(self, path: str) -> None:
        line = f"base_{self.history.new_line()}"
        self.history.base = {**self.history.base, path: (line, *self.history.base[path])}
        self.history.push(path, lambda lines: lines.insert(0, line))

    @precondition(lambda self: self.trees)
    @rule(data=st.data())
    def restore_earlier_head(self, data: st.DataObject) -> None:
        """Restore a judged head; lines of a later rebase count as removed."""
        self.history.head = data.draw(st.sampled_from(self.trees))
        self.history.commits += 1

    @rule()
    def retitle(self) -> None:
        self.history.title += "!"
        self.history.commits += 1

    @rule(data=st.data())
    def judge(self, data: st.DataObject) -> None:
        if self.history.base == self.history.head:
            return  # an empty change is a fact
        model = Adversary(self.history, data.draw)
        verdict = self.history.judge(replace(judge_context(threshold=2.0), model=model, round_limit=LIMIT))
        assert not [finding for finding in verdict.findings if finding.fact], "generated lines cause no facts"
        self.assert_converges(verdict)
        self.trees.append(self.history.head)
        if not isinstance(verdict, Abstain):
            self.judged.append((self.history.ledger[-1], frozenset(self.history.changed_lines().values())))

    def assert_converges(self, verdict: Verdict) -> None:
        match verdict:
            case Reject():
                assert verdict.round <= LIMIT
                assert open_conditions(verdict)
                if verdict.carried_from is None and self.judged:
                    self.assert_reject_is_new_or_open(verdict)
            case Abstain():
                assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
            case Accept():
                assert not open_conditions(verdict)

    def assert_reject_is_new_or_open(self, verdict: Reject) -> None:
        new = [self.is_new(pointer) for pointer in verdict.evidence]
        for pointer, is_new in zip(verdict.evidence, new, strict=True):
            assert is_new or self.is_where_condition_was_raised(pointer, verdict), pointer
        earlier = {condition.text for condition in open_conditions(self.history.ledger[-2].verdict)}
        steps = {condition.text for condition in open_conditions(verdict)} - earlier
        new_steps = {step for step in steps if not step.startswith("AC")}
        unmet = [criterion for criterion in verdict.criteria if criterion.status in {"missing", "partial"}]
        new += [self.is_new(pointer) for criterion in unmet for pointer in criterion.evidence]
        assert not new_steps or any(new) or self.is_broken(verdict), "a new step needs new evidence"

    def is_new(self, pointer: EvidencePointer) -> bool:
        """Whether all its lines are new since the previous verdict."""
        _, old = self.judged[-1]
        changed = self.history.changed_lines()
        numbers = range(pointer.line or 0, (pointer.end_line or pointer.line or 0) + 1)
        lines = [changed.get((pointer.path, pointer.side, number)) for number in numbers]
        return all(line is not None and line not in old for line in lines)

    def is_where_condition_was_raised(self, pointer: EvidencePointer, verdict: Reject) -> bool:
        """Whether an open condition of this category was raised at this location."""
        for condition in verdict.closing_conditions:
            by = [entry.verdict for entry, _ in self.judged if has_open(entry.verdict, condition)]
            raised = [pointer for reject in by if isinstance(reject, Reject) for pointer in reject.evidence]
            same = any(isinstance(reject, Reject) and reject.category is verdict.category for reject in by)
            if condition.state is ConditionState.OPEN and same and any(self.overlaps(pointer, spot) for spot in raised):
                return True
        return False

    def overlaps(self, pointer: EvidencePointer, other: EvidencePointer) -> bool:
        """Whether the pointer covers the first line of the other one, or lines shortly after it."""
        last = pointer.end_line or pointer.line or 0
        span = (other.end_line or other.line or 0) - (other.line or 0)
        lines = self.history.head[pointer.path] if pointer.side is Side.HEAD else self.history.base[pointer.path]
        reach = range(max(1, (pointer.line or 1) - span), last + 1)
        return pointer.path == other.path and any(lines[n - 1] == other.quote for n in reach if n <= len(lines))

    def is_broken(self, verdict: Reject) -> bool:
        """Whether a criterion is unmet now that was met before."""
        entry, _ = self.judged[-1]
        then = {criterion.id: criterion.status for criterion in entry.verdict.criteria}
        return any(
            criterion.status in {"missing", "partial"} and then.get(criterion.id) == "met"
            for criterion in verdict.criteria
        )

    @invariant()
    def conditions_are_kept(self) -> None:
        ledger = getattr(self, "history", History()).ledger
        for earlier, later in pairwise(ledger):
            now = {condition.id: condition for condition in later.verdict.closing_conditions}
            assert len(now) == len(later.verdict.closing_conditions)
            for condition in earlier.verdict.closing_conditions:
                assert now[condition.id].text == condition.text
                if condition.state is ConditionState.RESOLVED and now[condition.id].state is ConditionState.OPEN:
                    assert isinstance(later.verdict, Reject)


def open_conditions(verdict: Verdict) -> tuple[ClosingCondition, ...]:
    return tuple(condition for condition in verdict.closing_conditions if condition.state is ConditionState.OPEN)


def has_open(verdict: Verdict, condition: ClosingCondition) -> bool:
    return condition.id in {item.id for item in open_conditions(verdict)}


ConvergenceMachine.TestCase.settings = settings(
    max_examples=settings().max_examples * 6 // 10,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestConvergence = ConvergenceMachine.TestCase
