import re

import pytest
from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.samples import (
    FAILED_CI,
    HOSTILE,
    ISSUE,
    LATE,
    STUB,
    UNREAD,
    abstained,
    accepted,
    dossier,
    rejected,
)
from worker.domain.dossier import DESCRIPTION, Ci, CiCheck, CiState, Criterion, Issue
from worker.domain.ids import EvalId
from worker.domain.verdict.verdict import (
    AbstainReason,
    Category,
    Coverage,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    JudgeKind,
    Side,
)
from worker.publishing.texts.markdown import INVISIBLE
from worker.publishing.texts.terminal import Ink, TerminalPage, display_width, quote_lines, verdict_report, wrap_lines

PAGE = TerminalPage(width=80)
SGR = re.compile(r"\x1b\[[0-9;]*m")


def test_a_place_that_the_change_took_away_is_said_to_be_one() -> None:
    gone = rejected().findings[1].model_copy(update={"path": "upload.py", "line": 17, "side": Side.BASE, "note": ""})
    text = verdict_report(rejected(findings=(gone,)), dossier(), PAGE)
    assert "\nAlso seen\n  no assertions at upload.py:17 (before the change)\n" in text


def test_a_fact_without_a_place_is_said_once() -> None:
    empty = rejected().findings[0].model_copy(update={"path": None, "line": None, "note": "the diff is empty"})
    unmet = (CriterionVerdict(id="any-change", status=CriterionStatus.MISSING),)
    verdict = rejected(findings=(empty,), evidence=(), criteria=unmet, concern="The diff is empty.")
    text = verdict_report(verdict, dossier(), PAGE)
    assert text.casefold().count("the diff is empty") == 1
    assert "Also seen" not in text
    not_judged = abstained(AbstainReason.CI_FAILED, findings=(empty,))
    assert "\nAlso seen\n  stub body: the diff is empty\n" in verdict_report(not_judged, dossier(ci=FAILED_CI), PAGE)


def test_a_verdict_that_is_carried_over_does_not_claim_that_the_model_was_asked_again() -> None:
    text = verdict_report(accepted(carried_from=EvalId("0199")), dossier(), PAGE)
    assert "\nModel      asked for the verdict that is carried over: confidence 0.58 < 0.70:" in text


def test_long_lists_are_cut_and_say_so() -> None:
    paths = tuple(f"{number}.py" for number in range(45))
    finding = rejected().findings[1]
    verdict = rejected(
        evidence=(STUB,) * 23, coverage=Coverage(read=paths),
        findings=[finding.model_copy(update={"line": line}) for line in range(10, 24)],
    )  # fmt: skip
    text = verdict_report(verdict, dossier(), TerminalPage(width=200))
    assert "… and 3 more places (--json shows all)" in text
    assert "… and 4 more (--json shows all)" in text
    assert "39.py … and 5 more" in text


def test_of_an_accept_a_few_places_are_shown() -> None:
    text = verdict_report(accepted(evidence=(STUB,) * 23), dossier(), PAGE)
    evidence = text.partition("Evidence\n")[2].partition("\n\n")[0]
    assert evidence.count("upload.py:17") == 6
    assert evidence.endswith("  … and 17 more places (--json shows all)")


def test_prose_that_is_one_criterion_shows_how_it_begins() -> None:
    prose = Criterion(id="AC1", text="Retry uploads\n\n" + "Whoever uploads waits too long. " * 20, inferred=True)
    text = verdict_report(accepted(), dossier(criteria=(prose,)), TerminalPage(width=400))
    assert len(next(line for line in text.splitlines() if "AC1 met" in line).encode()) < 200
    assert "AC1 met, as claimed: Retry uploads Whoever uploads waits" in text


def test_a_criterion_shows_its_places_and_why_it_stands_so() -> None:
    partly = CriterionVerdict(id="AC1", status=CriterionStatus.PARTIAL, evidence=(STUB,), note="only once")
    text = verdict_report(rejected(criteria=(partly,)), dossier(), PAGE)
    assert "  AC1 partly met: Uploads are retried three times on 503\n    see upload.py:17\n    only once\n" in text


def test_a_check_that_failed_without_a_word_is_named_all_the_same() -> None:
    silent = Ci(state=CiState.FAILURE, checks=(CiCheck(name="build", conclusion="timed_out"),))
    text = verdict_report(abstained(AbstainReason.CI_FAILED), dossier(ci=silent), PAGE)
    assert "\n\nbuild: timed_out\n\n" in text


def test_nothing_in_a_repository_can_act_on_the_terminal() -> None:
    pointer = EvidencePointer(path=HOSTILE, line=1, quote=f"{HOSTILE}\n\tsecond\r", note=HOSTILE)
    verdict = rejected(
        concern=HOSTILE, next_step=HOSTILE, evidence=(pointer,), escalation_reason=HOSTILE,
        coverage=Coverage(read=(HOSTILE,)),
    )  # fmt: skip
    late = LATE.model_copy(update={"by": HOSTILE})
    issue = Issue(number=0, title=HOSTILE, body="", linked_by=HOSTILE, late_edits=(late,), late_renames=(late,))
    text = verdict_report(verdict, dossier(issues=(issue,), case_error=HOSTILE), PAGE, [HOSTILE])
    assert not INVISIBLE.search(text)
    assert "␛[2J" in text


@pytest.mark.parametrize("verdict", [rejected(), accepted(), abstained(AbstainReason.PAUSED)])
def test_colour_changes_no_word(verdict: object) -> None:
    assert isinstance(verdict, type(rejected()) | type(accepted()) | type(abstained(AbstainReason.PAUSED)))
    coloured = verdict_report(verdict, dossier(), TerminalPage(has_colour=True))
    assert coloured != SGR.sub("", coloured)
    assert SGR.sub("", coloured) == verdict_report(verdict, dossier(), TerminalPage())


def test_lines_break_at_the_page_and_wide_characters_count_twice() -> None:
    assert display_width("漢e\u0301") == 3
    assert wrap_lines("漢字漢字 漢字漢字 漢字漢字", TerminalPage(width=20), 0) == ["漢字漢字 漢字漢字", "漢字漢字"]
    assert wrap_lines("one\n\ntwo", PAGE, 2) == ["  one", "  ", "  two"]


def test_a_path_longer_than_the_page_stays_whole() -> None:
    path = "a/" * 60 + "b.py:12"
    assert wrap_lines(f"see {path} there", PAGE) == ["see", path, "there"]


def test_a_quoted_line_is_cut_at_the_edge_and_shows_its_blanks() -> None:
    assert quote_lines("\tx", PAGE, 2) == ["  |     x"]
    assert quote_lines("x" * 100, TerminalPage(width=30), 2) == ["  | " + "x" * 24 + " …"]
    assert quote_lines("", TerminalPage(has_colour=True), 0) == [f"\x1b[{Ink.DIM}m|\x1b[0m"]


def test_a_change_without_criteria_is_said_to_have_none() -> None:
    unasked = dossier(issues=(), criteria=(Criterion(id=DESCRIPTION, text="Retry uploads", inferred=True),))
    open_ones = (CriterionVerdict(id=DESCRIPTION, status=CriterionStatus.UNVERIFIABLE),)
    text = verdict_report(abstained(AbstainReason.UNPROVEN, criteria=open_ones), unasked, PAGE)
    assert text.partition("Read ")[0] == snapshot("""\
Not judged: no criteria, no fact against it, and no model was asked
  Nothing was found against this change.

Next step
  Have a person review it, or configure a model.

No issue and no list says what is wanted: only facts, the repository's rules and
what the description itself claims count.

""")
    missing = CriterionVerdict(id="cited-file", status=CriterionStatus.MISSING, note="the case cites a.py")
    assert "What is not there\n  cited-file not met\n" in verdict_report(rejected(criteria=(missing,)), unasked, PAGE)


def test_what_the_author_claims_and_nothing_judged_is_called_a_claim() -> None:
    claimed = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, claimed=True)
    text = verdict_report(abstained(AbstainReason.UNPROVEN, criteria=(claimed,)), dossier(), PAGE)
    assert "AC1 not judged, claimed by the author: Uploads" in text


def pages() -> Pages:
    verdict = rejected(
        evidence=(EvidencePointer(path="a.py", line=3, side=Side.BASE), STUB),
        coverage=Coverage(read=("upload.py",), partly=("big.py",), unread=("logo.png",)),
        judge_kind=JudgeKind.LLM,
        judge_cost_usd=None,
        carried_from=EvalId("0199"),
    )
    given = dossier(files_unread=UNREAD, case_error="summary is missing.", ci=None, issues=())
    facts = verdict_report(verdict, given, PAGE).partition("Read ")[2]
    yield "what was not read and what could not be used is said", facts
    edited = ISSUE.model_copy(update={"late_edits": (LATE,)})
    text = verdict_report(rejected(), dossier(issues=(edited,)), PAGE)
    yield "an edit of the issue that came too late is said", text.partition("Edited")[2].partition("CI ")[0]
    place = (EvidencePointer(path="upload.py", line=17),)
    spoken = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, evidence=place)
    doubt = Finding(signal="sleep_added", category=Category.TESTS_PASS_BUT_WRONG, fact=False, path="a.py", line=3)
    text = verdict_report(abstained(AbstainReason.UNPROVEN, criteria=(spoken,), findings=(doubt,)), dossier(), PAGE)
    yield "where nothing was judged the terminal says what to look at", text.partition("Read ")[0]


def test_what_people_read(golden: Golden) -> None:
    golden.holds_pages("prose/texts/terminal.md", pages())
