"""The case's claims are held against what is there, and none is called a lie without certainty."""

import pytest

from tests.worker.judge.making import DIFF, dossier, new_file
from worker.domain.dossier import Criterion, Dossier, HeadFile
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import Category, ClaimStatus, ClaimVerdict, Finding
from worker.dossier.diff.parser import parse_diff
from worker.judge.checks.claims import check_case, check_claims, claimed_ids, draft_claims
from worker.judge.checks.evidence import Places

GONE = "diff --git a/old.py b/old.py\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"


def claims(*pairs: tuple[str, str], **changes: object) -> tuple[ClaimVerdict, ...]:
    case = Case(summary="s", ac_coverage=tuple(CoverageClaim(criterion=c, addressed_by=p) for c, p in pairs))
    judged = dossier(case=case, **changes)
    return check_claims(judged, parse_diff(judged.diff.encode()), Places(judged))


@pytest.mark.parametrize(
    ("pointer", "status", "note"),
    [
        ("upload.py", ClaimStatus.VERIFIED, ""),
        ("upload.py:send", ClaimStatus.VERIFIED, ""),
        ("upload.py:2", ClaimStatus.VERIFIED, ""),
        ("upload.py:2-9", ClaimStatus.VERIFIED, ""),
        ("`./upload.py`", ClaimStatus.VERIFIED, ""),
        ("test_upload.py::test_503", ClaimStatus.VERIFIED, ""),
        ("tests/test_upload.py > test_503", ClaimStatus.VERIFIED, ""),
        ("upload.py:10", ClaimStatus.CONTRADICTED, "upload.py has 9 lines"),
        ("upload.py:2-10", ClaimStatus.CONTRADICTED, "upload.py has 9 lines"),
        ("upload.py:resend", ClaimStatus.UNSUPPORTED, '"resend" is not found in upload.py'),
        ("gone.py:x", ClaimStatus.CONTRADICTED, "gone.py does not exist at the head commit"),
        ("old.py", ClaimStatus.CONTRADICTED, "old.py is deleted by this change"),
        ("elsewhere.py", ClaimStatus.UNSUPPORTED, "elsewhere.py is neither changed nor known"),
        ("the retry loop", ClaimStatus.UNSUPPORTED, '"the retry loop" names no file'),
        ("upload.py: the retry loop", ClaimStatus.VERIFIED, ""),
        ("upload.py, line 10", ClaimStatus.UNSUPPORTED, "upload.py has 9 lines"),
        ("the loop in gone.py", ClaimStatus.UNSUPPORTED, "gone.py does not exist at the head commit"),
    ],
    ids=range(17),
)
def test_a_claim_is_as_good_as_its_place(pointer: str, status: ClaimStatus, note: str) -> None:
    files = (*(dossier().files or ()), HeadFile(path="gone.py", exists=False))
    first = claims(("AC1", pointer), diff=DIFF + GONE, files=files)[0]
    assert (first.claim, first.status, first.note) == (f"AC1 -> {pointer}", status, note)


@pytest.mark.parametrize(
    ("pointer", "status"),
    [
        ("upload.py:attempt", ClaimStatus.VERIFIED),
        ("upload.py:LIMIT", ClaimStatus.VERIFIED),
        ("upload.py:elsewhere", ClaimStatus.UNSUPPORTED),
        ("upload.py:2", ClaimStatus.VERIFIED),
        ("upload.py:12", ClaimStatus.UNSUPPORTED),
    ],
)
def test_where_only_the_diff_is_known_nothing_is_contradicted(pointer: str, status: ClaimStatus) -> None:
    assert claims(("AC1", pointer), files=None)[0].status is status


def test_a_file_that_two_paths_end_in_is_not_guessed() -> None:
    twice = new_file("a/x.py", "x = 1") + new_file("b/x.py", "x = 1")
    assert claims(("AC1", "x.py"), diff=twice, files=None)[0].status is ClaimStatus.UNSUPPORTED


def test_the_proof_given_for_a_claim_is_checked_too() -> None:
    claim = CoverageClaim(criterion="AC1", addressed_by="upload.py", evidence="tests/test_upload.py:99")
    judged = dossier(case=Case(summary="s", ac_coverage=(claim,)))
    first = check_claims(judged, parse_diff(judged.diff.encode()), Places(judged))[0]
    assert (first.status, first.note) == (ClaimStatus.CONTRADICTED, "tests/test_upload.py has 6 lines")


@pytest.mark.parametrize("evidence", ["the new test covers a 503", "tests/test_upload.py, line 99", "see nowhere.py"])
def test_evidence_in_prose_takes_nothing_from_a_claim(evidence: str) -> None:
    claim = CoverageClaim(criterion="AC1", addressed_by="upload.py", evidence=evidence)
    judged = dossier(case=Case(summary="s", ac_coverage=(claim,)))
    assert check_claims(judged, parse_diff(judged.diff.encode()), Places(judged))[0].status is ClaimStatus.VERIFIED


def test_a_criterion_that_the_case_passes_over_is_omitted() -> None:
    made = claims(("AC1", "upload.py"))
    assert [(claim.claim, claim.status) for claim in made] == [
        ("AC1 -> upload.py", ClaimStatus.VERIFIED),
        ("AC2", ClaimStatus.OMITTED),
    ]


def test_a_claim_for_no_criterion_is_unsupported() -> None:
    made = claims(("AC9", "upload.py"), ("AC1", "upload.py"), ("AC2", "upload.py"))
    assert [claim.status for claim in made] == [ClaimStatus.UNSUPPORTED, ClaimStatus.VERIFIED, ClaimStatus.VERIFIED]
    assert made[0].note == "there is no such criterion"


@pytest.mark.parametrize(
    ("answer", "criterion"),
    [
        ("AC1", "AC1"),
        ("AC-1", "AC1"),
        ("ac 1: the retry", "AC1"),
        ("Criterion 1", "AC1"),
        ("criterion #2: a test", "AC2"),
        ("1", "AC1"),
        ("#2", "AC2"),
        ("1 retry at most", ""),
        ("2 tests", ""),
        ("ac1", "AC1"),
        ("AC1: the retry", "AC1"),
        ("AC11", ""),
        ("A test   shows it", "AC2"),
        ("A `test` “shows it”.", "AC2"),
        ("something else", ""),
    ],
)
def test_a_criterion_is_named_by_its_id_or_its_text(answer: str, criterion: str) -> None:
    case = Case(summary="s", ac_coverage=(CoverageClaim(criterion=answer, addressed_by="upload.py"),))
    assert claimed_ids(case, dossier().criteria or ()) == {criterion} - {""}


def test_without_a_case_there_is_no_claim() -> None:
    judged: Dossier = dossier(case=None)
    assert check_claims(judged, parse_diff(judged.diff.encode()), Places(judged)) == ()
    assert claimed_ids(None, (Criterion(id="AC1", text="x"),)) == frozenset()


def test_a_case_without_criteria_claims_nothing_that_exists() -> None:
    assert [claim.status for claim in claims(("AC1", "upload.py"), criteria=())] == [ClaimStatus.UNSUPPORTED]


def test_a_place_where_nothing_of_the_criterion_is_changed_supports_no_claim() -> None:
    note = "AC1: the case points at upload.py, where nothing of it is changed"
    finding = Finding(signal="claim_shows_nothing", category=Category.ACCEPTANCE_GAP, fact=False, note=note)
    case = Case(summary="s", ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="upload.py"),))
    judged = dossier(case=case)
    diff, places = parse_diff(judged.diff.encode()), Places(judged)
    assert check_claims(judged, diff, places)[0].status is ClaimStatus.VERIFIED
    claim = check_claims(judged, diff, places, (finding,))[0]
    assert (claim.status, claim.note) == (ClaimStatus.UNSUPPORTED, "nothing of it is changed there")


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
