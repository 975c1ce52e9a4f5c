"""The status of each claim of the case."""

from typing import Any

import pytest

from tests.worker.judge.samples import DIFF, case_with_claims, dossier, new_file
from worker.domain.dossier import Criterion, HeadFile
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import Category, ClaimVerdict, Finding
from worker.dossier.diff.parser import diff_of
from worker.judge.checks.claims import check_case, check_claims, claimed_ids, draft_claims
from worker.judge.checks.evidence import Places

GONE = "diff --git a/old.py b/old.py\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"


def check_case_claims(case: Case | None, *findings: Finding, **changes: object) -> list[ClaimVerdict]:
    judged = dossier(case=case, **changes)
    return list(check_claims(judged, diff_of(judged.diff), Places(judged), findings))


def check_pairs(*pairs: tuple[str, str], **changes: object) -> list[ClaimVerdict]:
    return check_case_claims(case_with_claims(*pairs), **changes)


FILES = (*(dossier().files or ()), HeadFile(path="gone.py", exists=False))
WHOLE_FILES, TWICE = {"diff": DIFF + GONE, "files": FILES}, new_file("a/x.py", "x = 1") + new_file("b/x.py", "x = 1")
DIFF_ALONE = {"files": None}
VERIFIED, CONTRADICTED, UNSUPPORTED, OMITTED = "verified", "contradicted", "unsupported", "omitted"


@pytest.mark.parametrize(
    ("pointer", "status", "note", "changes"),
    [
        ("upload.py", VERIFIED, "", WHOLE_FILES),
        ("upload.py:send", VERIFIED, "", WHOLE_FILES),
        ("upload.py:2", VERIFIED, "", WHOLE_FILES),
        ("upload.py:2-9", VERIFIED, "", WHOLE_FILES),
        ("`./upload.py`", VERIFIED, "", WHOLE_FILES),
        ("test_upload.py::test_503", VERIFIED, "", WHOLE_FILES),
        ("tests/test_upload.py > test_503", VERIFIED, "", WHOLE_FILES),
        ("upload.py:10", CONTRADICTED, "upload.py has 9 lines", WHOLE_FILES),
        ("upload.py:2-10", CONTRADICTED, "upload.py has 9 lines", WHOLE_FILES),
        ("upload.py:resend", UNSUPPORTED, '"resend" is not found in upload.py', WHOLE_FILES),
        ("gone.py:x", CONTRADICTED, "gone.py does not exist at the head commit", WHOLE_FILES),
        ("old.py", CONTRADICTED, "old.py is deleted by this change", WHOLE_FILES),
        ("elsewhere.py", UNSUPPORTED, "elsewhere.py is neither changed nor known", WHOLE_FILES),
        ("the retry loop", UNSUPPORTED, '"the retry loop" names no file', WHOLE_FILES),
        ("upload.py: the retry loop", VERIFIED, "", WHOLE_FILES),
        ("upload.py, line 10", UNSUPPORTED, "upload.py has 9 lines", WHOLE_FILES),
        ("the loop in gone.py", UNSUPPORTED, "gone.py does not exist at the head commit", WHOLE_FILES),
        # nothing is contradicted when only the diff is known
        ("upload.py:attempt", VERIFIED, None, DIFF_ALONE),
        ("upload.py:LIMIT", VERIFIED, None, DIFF_ALONE),
        ("upload.py:elsewhere", UNSUPPORTED, None, DIFF_ALONE),
        ("upload.py:2", VERIFIED, None, DIFF_ALONE),
        ("upload.py:12", UNSUPPORTED, None, DIFF_ALONE),
        # an ambiguous path is not resolved
        ("x.py", UNSUPPORTED, None, {"diff": TWICE, "files": None}),
    ],
)
def test_claim_status_follows_location(pointer: str, status: str, note: str | None, changes: dict[str, Any]) -> None:
    first = check_pairs(("AC1", pointer), **changes)[0]
    assert (first.claim, first.status) == (f"AC1 -> {pointer}", status)
    assert note is None or first.note == note


@pytest.mark.parametrize(
    ("evidence", "status", "note"),
    [
        ("tests/test_upload.py:99", CONTRADICTED, "tests/test_upload.py has 6 lines"),
        # prose does not weaken a claim
        ("the new test covers a 503", VERIFIED, ""),
        ("tests/test_upload.py, line 99", VERIFIED, ""),
        ("see nowhere.py", VERIFIED, ""),
    ],
)
def test_evidence_of_a_claim_is_checked(evidence: str, status: str, note: str) -> None:
    claim = CoverageClaim(criterion="AC1", addressed_by="upload.py", evidence=evidence)
    first = check_case_claims(Case(summary="s", ac_coverage=(claim,)))[0]
    assert (first.status, first.note) == (status, note)


@pytest.mark.parametrize(
    ("named", "changes", "statuses"),
    [
        (["AC1"], {}, [VERIFIED, OMITTED]),
        (["AC9", "AC1", "AC2"], {}, [UNSUPPORTED, VERIFIED, VERIFIED]),
        (["AC1"], {"criteria": ()}, [UNSUPPORTED]),
    ],
    ids=["a criterion passed over", "no such criterion", "no criteria"],
)
def test_every_criterion_and_claim_is_reported(named: list[str], changes: dict[str, Any], statuses: list[str]) -> None:
    made = check_pairs(*((name, "upload.py") for name in named), **changes)
    assert [claim.status for claim in made] == statuses
    assert [claim.claim for claim in made if claim.status == OMITTED] == (["AC2"] if OMITTED in statuses else [])
    assert made[0].status == VERIFIED or made[0].note == "there is no such criterion"


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
def test_claim_names_criterion_by_id_number_or_text(answer: str, criterion: str) -> None:
    assert claimed_ids(case_with_claims((answer, "upload.py")), dossier().criteria or ()) == {criterion} - {""}


def test_no_claims_without_a_case() -> None:
    assert check_case_claims(None) == []
    assert claimed_ids(None, (Criterion(id="AC1", text="x"),)) == frozenset()


def test_claim_is_unsupported_where_nothing_of_it_changed() -> None:
    note = "AC1: the case points at upload.py, where nothing of it is changed"
    finding = Finding(signal="claim_shows_nothing", category=Category.ACCEPTANCE_GAP, fact=False, note=note)
    claim = check_case_claims(case_with_claims(("AC1", "upload.py")), finding)[0]
    assert (claim.status, claim.note) == (UNSUPPORTED, "nothing of it is changed there")


def criteria_of(*texts: str, inferred: bool = False) -> tuple[Criterion, ...]:
    return tuple(Criterion(id=f"AC{at}", text=text, inferred=inferred) for at, text in enumerate(texts, 1))


def test_draft_claims_list_related_added_lines() -> None:
    texts = ("Each attempt reads the reply's status", "A test sends while it is busy", "Colours are blue")
    first, second, third = draft_claims(dossier(criteria=criteria_of(*texts)))
    assert first.places
    assert all(location.startswith("upload.py:") for location in first.places)
    assert (second.places, second.tests) == (("tests/test_upload.py:6",), ())
    assert (third.criterion.text, third.places, third.tests) == ("Colours are blue", (), ())


def test_inferred_criterion_needs_no_claim() -> None:
    judged = dossier(criteria=criteria_of("Retry the upload", inferred=True))
    assert draft_claims(judged) == ()
    result = check_case(judged, case_with_claims(("AC1", "upload.py:2")), ("issue",))
    assert [(claim.claim, claim.status) for claim in result.claims] == [("AC1 -> upload.py:2", VERIFIED)]
    assert (result.has_criteria, result.problem_count, result.unread) == (False, 0, ("issue",))


def test_check_case_reports_signal_findings() -> None:
    result = check_case(dossier(), case_with_claims(("AC1", "upload.py:99")))
    assert ("cited_line_missing", True) in [(finding.signal, finding.fact) for finding in result.findings]
    assert [claim.status for claim in result.claims] == [CONTRADICTED, OMITTED]
    assert result.problem_count == 2
