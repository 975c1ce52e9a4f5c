"""The output of `assay case`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from worker.domain.dossier import Criterion
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import Category, ClaimStatus, ClaimVerdict, Finding
from worker.dossier.case import read_case
from worker.judge.checks.evidence import CheckedCase, DraftClaim
from worker.publishing.texts.case import check_report, draft, parse_error_report
from worker.publishing.texts.terminal import TerminalPage

PAGE = TerminalPage()


def claim(number: int, text: str, places: tuple[str, ...] = (), tests: tuple[str, ...] = ()) -> DraftClaim:
    return DraftClaim(Criterion(id=f"AC{number}", text=text), places, tests)


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_every_draft_is_a_readable_case(title: str, text: str, location: str) -> None:
    case = read_case(draft(title, (claim(1, text, (location,), (location,)), claim(2, text))))
    assert isinstance(case, Case)
    assert [claim.criterion for claim in case.ac_coverage] == ["AC1"]
    assert case.summary.endswith("(to be confirmed)")


def test_unreadable_case_report_names_its_line() -> None:
    assert parse_error_report("case.md", 7, "Case refused: x.", PAGE) == "case.md:7: Case refused: x.\n"
    assert parse_error_report("\x1b[31mcase.md", None, "x", PAGE) == snapshot("␛[31mcase.md: x\n")


@pytest.mark.parametrize(("is_fact", "word"), [(True, "Rejects"), (False, "Doubted")])
def test_case_report_lists_each_claim(is_fact: bool, word: str) -> None:  # noqa: FBT001 - a table
    case = CheckedCase(
        case=Case(summary="x", ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="a.py:3 (to be confirmed)"),)),
        claims=(
            ClaimVerdict(claim="AC1 -> a.py:3", status=ClaimStatus.VERIFIED),
            ClaimVerdict(claim="AC2 -> b.py", status=ClaimStatus.UNSUPPORTED, note="b.py is neither changed nor known"),
        ),
        findings=(Finding(signal="cited_file_missing", category=Category.SPEC_VIOLATION, fact=is_fact, note="b.py"),),
        unread=("issue",),
        has_criteria=False,
    )
    assert check_report("case.md", case, PAGE).replace(word, "WORD") == snapshot("""\
case.md holds a case.
  there      AC1 -> a.py:3
  not found  AC2 -> b.py
             b.py is neither changed nor known
  WORD (cited_file_missing): b.py
  Not read: issue. docs/case.md lists the fields.
  1 still marked "to be confirmed": look at each place, and take the words out.
  No criterion is known: name the issue with --issue.
2 to mend.
""")


def pages() -> Pages:
    claims = (
        claim(1, "`upload` tries again", ("upload.py:17", "client.py:3"), ("tests/test_upload.py:8",)),
        claim(2, "A test\nshows it", ("tests/test_upload.py:8",)),
        claim(3, f"It gives up {'after a while ' * 20}"),
    )
    yield "a draft holds each criterion with its places", draft("Retry: on 503", claims)
    verified = (ClaimVerdict(claim="AC1 -> a.py:3", status=ClaimStatus.VERIFIED),)
    whole = CheckedCase(case=Case(summary="x"), claims=verified, findings=(), unread=(), has_criteria=True)
    yield "of a case in order there is nothing to mend", check_report("case.md", whole, PAGE)


def test_case_texts_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/case.md", pages())
