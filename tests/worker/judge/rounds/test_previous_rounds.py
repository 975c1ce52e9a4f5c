"""Where earlier rounds left a pull request: which conditions are open, who opened them, and where."""

import pytest

from tests.worker.judge.courtroom import docket
from tests.worker.judge.making import NOW, dossier, entry, opinion
from tests.worker.judge.verdicts import accepted, rejected, unjudged
from worker.domain.dossier.dossier import Ci, Dossier
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import EvidencePointer, Side
from worker.dossier.diff.line_hashes import hash_changed_lines
from worker.dossier.diff.parser import diff_of
from worker.judge.checks.ci_status import read_ci
from worker.judge.checks.evidence import Places
from worker.judge.rounds.previous_rounds import OpenCondition, PreviousRounds, read_previous_rounds
from worker.judge.rulings import EvidenceBundle

HASHES = hash_changed_lines(diff_of(dossier().diff))
FACT = {"signal": "stub_body", "category": "weak_test", "fact": True, "path": "upload.py", "line": 2}


def hearing(*entries: LedgerEntry) -> EvidenceBundle:
    judged: Dossier = dossier(ledger=entries)
    return EvidenceBundle(judged, diff_of(judged.diff), Places(judged), opinion(), read_ci(Ci()), ())


def standing(*entries: LedgerEntry) -> PreviousRounds:
    return read_previous_rounds(hearing(*entries), docket(), "default")


def by_model(verdict: object = None, **changes: object) -> LedgerEntry:
    judged = verdict or rejected(judge_kind="hybrid", **changes)
    return entry(judged, changed_lines=HASHES)  # type: ignore[arg-type] - a verdict


def at(
    line: int | None, end: int | None = None, path: str = "tests/test_upload.py", **changes: object
) -> EvidencePointer:
    return EvidencePointer.model_validate({"path": path, "line": line, "end_line": end, "quote": "x", **changes})


def raised(*places: EvidencePointer) -> OpenCondition:
    by = rejected()
    return OpenCondition(by.closing_conditions[0], by, places)


def test_without_a_ledger_everything_is_new() -> None:
    assert standing() == PreviousRounds()


@pytest.mark.parametrize(
    ("last", "is_judged"),
    [
        (by_model(), True),
        (by_model(accepted(judge_kind="hybrid")), True),
        (entry(rejected(), changed_lines=HASHES), False),
        (by_model(unjudged(judge_kind="hybrid")), False),
        (by_model(scores=(), findings=(FACT,)), False),
        (by_model(findings=(FACT,)), True),
        (by_model(rubric_id="strict"), False),
        (entry(rejected(judge_kind="hybrid")), False),
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
    lone = entry(unjudged(), created_at=NOW, open_conditions=rejected().closing_conditions)
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
