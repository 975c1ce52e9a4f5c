"""Scripted models read a real request and answer in its schema: what they say can be used, and is what their rule says."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pydantic import SecretStr

from bench.scripted.models import Label, errs, fooled
from bench.scripted.requests import read, reply
from bench.scripted.serving import FIRST, Played, played
from tests.worker.signals.made import dossier_of
from worker.clock import SystemClock
from worker.domain.dossier.dossier import Criterion, Dossier
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.evaluation.bench.judge_row import judge_row
from worker.evaluation.bench.rows import BenchRow, ExpectedVerdict
from worker.settings import ModelAccess, Settings
from worker.wiring.judge import open_judge_context

CRITERIA = (Criterion(id="AC1", text="`load` reads the file"), Criterion(id="AC2", text="`load` closes\nthe file: it"))
CHANGE = "def load(path):\n    with open(path) as file:\n        return file.read()\n"
TEST = "def test_load(tmp_path):\n    (tmp_path / 'a').write_text('x')\n    assert load(tmp_path / 'a') == 'x'\n"
GOOD = Label("row", is_good=True, category="")
BAD = Label("row", is_good=False, category="half_finished", where=({"path": "load.py", "line": 2, "side": "head"},))

GAP = Label("row", is_good=False, category="acceptance_gap", missing=("AC2",))


def dossier() -> Dossier:
    return dossier_of({}, {"load.py": CHANGE, "tests/test_load.py": TEST}, criteria=CRITERIA)


@pytest.fixture
def server() -> Iterator[Played]:
    with played({"good": GOOD, "bad": BAD, "gap": GAP}) as running:
        yield running


def judged(server: Played, model: str, row: str) -> Accept | Reject | Abstain:
    access = ModelAccess(
        api_key=SecretStr(f"{model} {row}"), base_url=server.url, name=FIRST, timeout_s=20, attempts=1,
        retry_delay_s=0, max_output_tokens=8000,
    )  # fmt: skip
    with open_judge_context(Settings(data_dir=Path("/nowhere"), model=access), "llm") as bench:
        verdict, _ = judge_row(BenchRow(id=row, dossier=dossier(), expect=ExpectedVerdict()), "f", bench, SystemClock())
    assert server.troubles == []
    return verdict


def test_the_oracle_accepts_what_is_good_and_points_at_the_code(server: Played) -> None:
    verdict = judged(server, "oracle", "good")
    assert verdict.decision == "accept", verdict.concern
    assert server.corrections == []
    assert {place.path for one in verdict.criteria for place in one.evidence} == {"load.py"}


def test_the_oracle_rejects_what_is_bad_at_its_place(server: Played) -> None:
    verdict = judged(server, "oracle", "bad")
    assert (verdict.decision, verdict.category) == ("reject", "half_finished")
    assert [one.location for one in verdict.evidence] == ["load.py:2"]


def test_the_oracle_names_the_criterion_that_is_not_done_and_the_line_that_falls_short(server: Played) -> None:
    verdict = judged(server, "oracle", "gap")
    assert (verdict.decision, verdict.category) == ("reject", "acceptance_gap")
    assert "AC2 is not done: `load` closes" in verdict.concern
    assert [(one.id, one.status) for one in verdict.criteria] == [("AC1", "unverifiable"), ("AC2", "partial")]
    assert server.corrections == []


@pytest.mark.parametrize("model", ["accepts", "rejects", "lies", "fooled", "parrot", "flips"])
def test_every_model_gives_replies_that_can_be_read(server: Played, model: str) -> None:
    verdict = judged(server, model, "good")
    assert verdict.escalated
    assert "reply_invalid" not in str(verdict.abstain_reason), verdict.concern


def test_a_tenth_of_the_rows_is_erred_about_and_always_the_same_ones() -> None:
    wrong = [number for number in range(2000) if errs(GOOD._replace(seed=f"{number}"))]
    assert 150 < len(wrong) < 250
    assert wrong == [number for number in range(2000) if errs(GOOD._replace(seed=f"{number}"))]


def test_a_reply_has_the_fields_of_the_schema_and_no_other() -> None:
    schema = {
        "properties": {
            "decision": {"enum": ["accept", "reject"]},
            "new": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "kind": {"enum": ["other", "none"]},
            "count": {"type": "integer"},
        },
        "$defs": {
            "Item": {"properties": {"id": {"type": "string"}, "held": {"properties": {"n": {"type": "number"}}}}}
        },
    }
    body = {
        "system": [{"text": "Score these criteria:\n\n- `scope`: Is it? 10/10: yes.\n\nCategories:\n\n- `x`: y"}],
        "messages": [{"content": "[[m begin: criteria]]\nAC1: a\nmore: b\n[[m end]]"}],
        "output_config": {"format": {"schema": schema}},
    }
    asked = read(body)
    assert (dict(asked.criteria), asked.rubric) == ({"AC1": "a"}, ("scope",))
    assert reply(asked, {"decision": "accept", "gone": 1, "list": [{"id": "AC1"}]}) == {
        "decision": "accept", "new": None, "list": [{"id": "AC1", "held": {"n": 0.5}}], "kind": "none", "count": 1,
    }  # fmt: skip


SHOWN = """[[m begin: diff "tests/test_a.py"]]
1 -assert send(old)
1 +assert send(new)
2 +it("should send old", () => {
3 +expect(send(old)).ok()
4 +expect(send()).ok()
[[m end]]
[[m begin: questions]]
- q1: Does this make it `weak_test` at tests/test_a.py:1 (base)? (it) send old [settled by an assertion about the same thing]
[[m end]]"""
SETTLED = {
    "properties": {
        "id": {"type": "string"},
        "evidence": {"type": "array", "items": {"properties": {"line": {"type": "integer"}}}},
    }
}


@pytest.mark.parametrize(
    ("corrections", "line"),
    [((), 3), (("Your accept leaves questions open: q1. Answer each",), 1), (("open: q1.",), 3)],
)
def test_a_suspicion_is_answered_by_the_assertion_that_fits_best_and_then_by_the_next(
    corrections: tuple[str, ...], line: int
) -> None:
    turns = [{"content": SHOWN}, *(turn for said in corrections for turn in ({"content": "{}"}, {"content": said}))]
    schema = {"properties": {"settled": {"type": "array", "items": SETTLED}}}
    asked = read({"system": [], "messages": turns, "output_config": {"format": {"schema": schema}}})
    assert fooled(asked, GOOD, Random("x"))["settled"] == [{"id": "q1", "evidence": [{"line": line}]}]  # noqa: S311 - played
