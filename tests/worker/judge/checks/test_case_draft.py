"""A case is drafted from the words of criteria and change, and checked by the functions of a judging."""

from tests.worker.judge.making import dossier
from worker.domain.dossier.case import Case, CoverageClaim
from worker.domain.dossier.dossier import Criterion
from worker.domain.verdict.verdict import ClaimStatus
from worker.judge.checks.case_draft import check_case, draft_claims


def asked(*texts: str, inferred: bool = False) -> tuple[Criterion, ...]:
    return tuple(Criterion(id=f"AC{at}", text=text, inferred=inferred) for at, text in enumerate(texts, 1))


def test_a_criterion_is_drafted_with_the_added_lines_that_speak_of_it() -> None:
    (first, second, third) = draft_claims(
        dossier(
            criteria=asked("Each attempt reads the reply's status", "A test sends while it is busy", "Colours are blue")
        )
    )
    assert first.places
    assert all(location.startswith("upload.py:") for location in first.places)
    assert second.places == ("tests/test_upload.py:6",)
    assert second.tests == ()
    assert (third.criterion.text, third.places, third.tests) == ("Colours are blue", (), ())


def test_prose_that_was_taken_as_a_criterion_is_none_to_cover() -> None:
    judged = dossier(criteria=asked("Retry the upload", inferred=True))
    assert draft_claims(judged) == ()
    case = Case(summary="s", ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="upload.py:2"),))
    result = check_case(judged, case, ("issue",))
    assert [(claim.claim, claim.status) for claim in result.claims] == [("AC1 -> upload.py:2", ClaimStatus.VERIFIED)]
    assert (result.has_criteria, result.problem_count, result.unread) == (False, 0, ("issue",))


def test_what_signals_find_in_a_case_is_found_when_it_is_checked() -> None:
    case = Case(summary="s", ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="upload.py:99"),))
    result = check_case(dossier(), case)
    assert ("cited_line_missing", True) in [(finding.signal, finding.fact) for finding in result.findings]
    assert [claim.status for claim in result.claims] == [ClaimStatus.CONTRADICTED, ClaimStatus.OMITTED]
    assert result.problem_count == 2
