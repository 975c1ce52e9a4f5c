"""Whatever a model objects to, and however its author pushes: it ends, and never with something new on old lines."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.worker.judge.making import bench, reply, scores
from tests.worker.judge.rounds.rounds import History, Tree, Verdict
from worker.domain.ports import ModelReply, Prompt
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import (
    Abstain,
    AbstainReason,
    Accept,
    Category,
    ClosingCondition,
    ConditionState,
    EvidencePointer,
    Reject,
    Side,
)

LIMIT = 3
PATHS = st.sampled_from(["upload.py", "retry.py"])
AT = st.integers(0, 11)
STATUS = st.sampled_from(["met", "met", "met", "unverifiable", "partial", "missing"])
STEPS = ["Retry it.", "Retry it on 503.", "Log each attempt."]


@dataclass
class Adversary:
    """Objects somewhere, always: where and why, hypothesis says."""

    history: History
    draw: Callable[[st.SearchStrategy[Any]], Any]
    said: int = 0
    name: str = "claude-haiku-5-5"
    pricing_version: str | None = "2026-11"

    def ask(self, prompt: Prompt) -> ModelReply:  # noqa: ARG002 - whatever it is told, it objects
        self.said += 1
        states = [self.draw(STATUS), self.draw(STATUS)]
        evidence = self.places(0 if {"missing", "partial"} & set(states) else 1)
        return reply(
            {
                "criteria": [
                    {"id": f"AC{number}", "status": status, "evidence": self.places(0)}
                    for number, status in enumerate(states, start=1)
                ],
                "conditions": [self.answer(condition) for condition in self.open()],
                "scores": scores(2),
                "concern": f"Objection {self.said}.",
                "evidence": evidence,
                "decision": "reject",
                "category": self.draw(st.sampled_from(Category)),
                "next_step": self.draw(st.sampled_from([*STEPS, f"Do thing {self.said} at once."])),
                "confidence": 0.9,
            }
        )

    def open(self) -> tuple[ClosingCondition, ...]:
        earlier = self.history.ledger[-1].verdict.closing_conditions if self.history.ledger else ()
        return tuple(condition for condition in earlier if condition.state is ConditionState.OPEN)

    def answer(self, condition: ClosingCondition) -> dict[str, Any]:
        state = self.draw(st.sampled_from(["open", "resolved"]))
        return {"id": condition.id, "state": state, "evidence": self.places(0)}

    def places(self, least: int) -> list[dict[str, Any]]:
        return [self.place() for _ in range(self.draw(st.integers(least, 2)))]

    def place(self) -> dict[str, Any]:
        """A changed line, mostly; else any line of a file that is shown, or a few of them."""
        changed = sorted(self.history.changed())
        if changed and self.draw(st.booleans()):
            where: tuple[str, Side, int] = self.draw(st.sampled_from(changed))
            path, side, line = where
            text = self.history.changed()[where][1]
            return {"path": path, "line": line, "end_line": None, "side": side.value, "quote": text, "note": ""}
        path: str = self.draw(PATHS)
        line: int = self.draw(st.integers(1, len(self.history.head[path])))
        end = self.draw(st.none() | st.integers(line, len(self.history.head[path])))
        quote: str = self.history.head[path][int(line) - 1]
        return {"path": path, "line": line, "end_line": end, "side": "head", "quote": quote, "note": ""}


class Rounds(RuleBasedStateMachine):
    """An author who pushes, and a model that objects."""

    @initialize(path=PATHS, at=AT)
    def open_pull_request(self, path: str, at: int) -> None:
        self.history = History()
        self.trees: list[Tree] = []
        self.judged: list[tuple[LedgerEntry, frozenset[tuple[str, str]]]] = []
        self.history.replaces(path, at + 1)

    @rule(path=PATHS, at=AT)
    def write_a_line_anew(self, path: str, at: int) -> None:
        self.history.push(path, lambda lines: lines.__setitem__(at % len(lines), self.history.new_line()))

    @rule(path=PATHS, at=AT, data=st.data())
    def write_a_line_anew_and_judge(self, path: str, at: int, data: st.DataObject) -> None:
        self.write_a_line_anew(path, at)
        self.judge(data)

    @rule(path=PATHS, at=AT)
    def add_a_line(self, path: str, at: int) -> None:
        self.history.push(path, lambda lines: lines.insert(at, self.history.new_line()))

    @rule(path=PATHS, at=AT)
    def take_a_line_out(self, path: str, at: int) -> None:
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
    def go_back(self, data: st.DataObject) -> None:
        """To a head that was judged; what a rebase wrote since stays away from it, as a line taken out."""
        self.history.head = data.draw(st.sampled_from(self.trees))
        self.history.commits += 1

    @rule()
    def retitle(self) -> None:
        self.history.title += "!"
        self.history.commits += 1

    @rule(data=st.data())
    def judge(self, data: st.DataObject) -> None:
        if self.history.base == self.history.head:
            return  # an empty change is a fact of its own
        model = Adversary(self.history, data.draw)
        verdict = self.history.judged(replace(bench(threshold=2.0), model=model, round_limit=LIMIT))
        assert not [finding for finding in verdict.findings if finding.fact], "the lines of this test are no facts"
        self.must_converge(verdict)
        self.trees.append(self.history.head)
        if not isinstance(verdict, Abstain):
            self.judged.append((self.history.ledger[-1], frozenset(self.history.changed().values())))

    def must_converge(self, verdict: Verdict) -> None:
        match verdict:
            case Reject():
                assert verdict.round <= LIMIT
                assert any(condition.state is ConditionState.OPEN for condition in verdict.closing_conditions)
                if verdict.carried_from is None and self.judged:
                    self.must_be_about_what_is_new_or_open(verdict)
            case Abstain():
                assert verdict.abstain_reason is AbstainReason.NEEDS_HUMAN
            case Accept():
                assert not [
                    condition for condition in verdict.closing_conditions if condition.state is ConditionState.OPEN
                ]

    def must_be_about_what_is_new_or_open(self, verdict: Reject) -> None:
        new = [self.is_new(pointer) for pointer in verdict.evidence]
        for pointer, is_new in zip(verdict.evidence, new, strict=True):
            assert is_new or self.is_where_it_was_asked(pointer, verdict), pointer
        before = {
            condition.text
            for condition in self.history.ledger[-2].verdict.closing_conditions
            if condition.state is ConditionState.OPEN
        }
        steps = {
            condition.text for condition in verdict.closing_conditions if condition.state is ConditionState.OPEN
        } - before
        asked = {step for step in steps if not step.startswith("AC")}
        unmet = [criterion for criterion in verdict.criteria if criterion.status in {"missing", "partial"}]
        new += [self.is_new(pointer) for criterion in unmet for pointer in criterion.evidence]
        assert not asked or any(new) or self.is_broken(verdict), "a step was asked for that rests on nothing new"

    def is_new(self, pointer: EvidencePointer) -> bool:
        """Every line of it was written since the change was judged the last time."""
        _, old = self.judged[-1]
        changed = self.history.changed()
        numbers = range(pointer.line or 0, (pointer.end_line or pointer.line or 0) + 1)
        lines = [changed.get((pointer.path, pointer.side, number)) for number in numbers]
        return all(line is not None and line not in old for line in lines)

    def is_where_it_was_asked(self, pointer: EvidencePointer, verdict: Reject) -> bool:
        """A condition that is open still, of this category, was raised at that line."""
        for condition in verdict.closing_conditions:
            by = [entry.verdict for entry, _ in self.judged if has(entry.verdict, condition)]
            raised = [pointer for reject in by if isinstance(reject, Reject) for pointer in reject.evidence]
            same = any(isinstance(reject, Reject) and reject.category is verdict.category for reject in by)
            if condition.state is ConditionState.OPEN and same and any(self.overlaps(pointer, spot) for spot in raised):
                return True
        return False

    def overlaps(self, pointer: EvidencePointer, other: EvidencePointer) -> bool:
        """Whether the pointer names a line that reads as the first of the place did, or one shortly behind it."""
        last = pointer.end_line or pointer.line or 0
        span = (other.end_line or other.line or 0) - (other.line or 0)
        lines = self.history.head[pointer.path] if pointer.side is Side.HEAD else self.history.base[pointer.path]
        reach = range(max(1, (pointer.line or 1) - span), last + 1)
        return pointer.path == other.path and any(lines[n - 1] == other.quote for n in reach if n <= len(lines))

    def is_broken(self, verdict: Reject) -> bool:
        """A criterion is called unmet now that was not then."""
        entry, _ = self.judged[-1]
        then = {criterion.id: criterion.status for criterion in entry.verdict.criteria}
        return any(
            criterion.status in {"missing", "partial"} and then.get(criterion.id) == "met"
            for criterion in verdict.criteria
        )

    @invariant()
    def conditions_travel_for_ever(self) -> None:
        ledger = getattr(self, "history", History()).ledger
        for earlier, later in pairwise(ledger):
            now = {condition.id: condition for condition in later.verdict.closing_conditions}
            assert len(now) == len(later.verdict.closing_conditions)
            for condition in earlier.verdict.closing_conditions:
                assert now[condition.id].text == condition.text
                if condition.state is ConditionState.RESOLVED and now[condition.id].state is ConditionState.OPEN:
                    assert isinstance(later.verdict, Reject)


def has(verdict: Verdict, condition: ClosingCondition) -> bool:
    return any(item.id == condition.id and item.state is ConditionState.OPEN for item in verdict.closing_conditions)


Rounds.TestCase.settings = settings(
    max_examples=settings().max_examples * 6 // 10,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestAModelThatAlwaysObjects = Rounds.TestCase
