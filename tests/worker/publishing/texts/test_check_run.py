import json
from datetime import UTC, datetime
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.rendered import ACTIVE, GITHUB, shown
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
from worker.domain.check.check_run import (
    CONTEST,
    HELPFUL,
    NOT_HELPFUL,
    REJUDGE,
    Annotation,
    AnnotationLevel,
    CheckContent,
    Conclusion,
)
from worker.domain.dossier import (
    AWAITING_APPROVAL,
    DESCRIPTION,
    Ci,
    CiCheck,
    CiState,
    Criterion,
    Guidance,
    Issue,
    LateEdit,
    Policy,
)
from worker.domain.ids import EvalId
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    AbstainReason,
    Category,
    ClaimStatus,
    ClaimVerdict,
    ClosingCondition,
    Coverage,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Finding,
    JudgeKind,
    Score,
    Side,
    ThrottledReason,
    Verdict,
)
from worker.publishing.texts.check_run import (
    annotations,
    check_content,
    checks_page,
    closed_content,
    conclusion,
    failed_content,
    judging_content,
    superseded_content,
    waiting_for_ci_content,
)
from worker.publishing.texts.json_block import check_text

OBSERVED = dossier(policy=Policy(mode="observe"))


def human(text: str) -> str:
    return text.partition("<details>")[0]


def test_a_verdict_asks_for_an_opinion_and_what_is_none_does_not() -> None:
    assert check_content(accepted(), dossier()).buttons == (REJUDGE, HELPFUL, NOT_HELPFUL)
    assert check_content(rejected(), dossier()).buttons == (REJUDGE, CONTEST, HELPFUL)
    assert check_content(abstained(AbstainReason.BUDGET), dossier()).buttons == (REJUDGE,)
    for content in (judging_content(), closed_content(), failed_content("x"), superseded_content("a" * 40)):
        assert content.buttons == ()


def test_githubs_limits_for_buttons_are_kept() -> None:
    for button in (REJUDGE, CONTEST, HELPFUL, NOT_HELPFUL):
        assert max(len(button.label), len(button.identifier)) <= 20
        assert len(button.description) <= 40


def test_what_comes_again_by_itself_says_when() -> None:
    at = datetime(2026, 11, 21, 17, 5, tzinfo=UTC)
    verdict = abstained(AbstainReason.JUDGE_UNAVAILABLE)
    assert check_content(verdict, dossier(), again_at=at).summary.partition("\n\n")[0] == snapshot(
        "**Assay judges this again by itself at 17:05 UTC** (2026-11-21); a push, a re-run of this check or `/rejudge` does so at once."
    )
    assert "by itself" not in check_content(verdict, dossier()).summary


def everything() -> CheckContent:
    """The check run of a verdict that carries all that a verdict can carry."""
    verdict = rejected(
        evidence=(
            STUB,
            EvidencePointer(path="docs/a b.md", line=3, end_line=4, side=Side.BASE),
            EvidencePointer(path="x"),
        ),
        claims=(ClaimVerdict(claim="AC1 -> upload.py:retry", status=ClaimStatus.CONTRADICTED, note="a stub"),),
        scores=(Score(criterion="correctness", score=2, reasoning="a stub", improvement="implement it"),),
        closing_conditions=(ClosingCondition(id="c1", text="`retry` retries"),),
        coverage=Coverage(read=("upload.py",), partly=("big.py",), unread=("logo.png",)),
        carried_from=EvalId("0199aaaa-0000-7000-8000-000000000000"),
    )
    given = dossier(
        files_unread=UNREAD, case_error='ac_coverage[1].addressed_by: "upload.py" names no symbol.', ci=None,
        issues=(Issue(number=9, title="Retry", body=""),), guidance=(Guidance(path="AGENTS.md", text="x"),),
    )  # fmt: skip
    return check_content(verdict, given, "https://ghe.example")


def test_on_a_telephone_nothing_is_out_of_sight_beside_the_screen() -> None:
    """At 375 px a list wraps, and a table of four columns shows one and a half."""
    content = everything()
    assert "**AC1**" in content.summary
    assert "correctness 2/10" in content.text
    assert [line for line in f"{content.summary}\n{content.text}".splitlines() if line.startswith("|")] == []


def test_of_an_accept_a_few_places_are_shown_and_of_prose_how_it_begins() -> None:
    prose = Criterion(id="AC1", text="Retry uploads\n\n" + "Whoever uploads waits too long. " * 20, inferred=True)
    content = check_content(accepted(evidence=(STUB,) * 23), dossier(criteria=(prose,)))
    text = human(content.summary + content.text)
    assert text.count("blob") == 6 + 1, "each place a link, and one of the criterion's"
    assert "… and 17 more places, in the verdict below." in text
    (asked,) = [line for line in text.splitlines() if line.startswith("- **AC1**")]
    assert asked.startswith("- **AC1** met, as claimed: Retry uploads Whoever uploads waits")
    assert "…; see " in asked


def test_a_finding_of_the_whole_change_names_no_place() -> None:
    finding = rejected().findings[0].model_copy(update={"path": None, "line": None})
    assert "- fact: stub body\n" in check_content(rejected(findings=(finding,)), dossier()).text


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        (AbstainReason.CI_FAILED, snapshot("Not judged: CI failed")),
        (AbstainReason.CI_PENDING, snapshot("Not judged: CI did not finish in time")),
        (AbstainReason.UNPROVEN, snapshot("Not judged: no fact against it, and no model was asked")),
        (AbstainReason.JUDGE_UNAVAILABLE, snapshot("Not judged: the judge could not be reached")),
        (AbstainReason.REPLY_INVALID, snapshot("Not judged: the model's answer could not be used")),
        (AbstainReason.BUDGET, snapshot("Not judged: the budget is used up")),
        (AbstainReason.TOO_LARGE, snapshot("Not judged: not everything could be read")),
        (AbstainReason.NO_CRITERIA, snapshot("Not judged: no linked issue says what is wanted")),
        (AbstainReason.NEEDS_HUMAN, snapshot("Not judged: a person has to decide")),
        (AbstainReason.PAUSED, snapshot("Not judged: judging is paused")),
    ],
)
def test_each_reason_to_abstain_has_its_title(reason: AbstainReason, title: str) -> None:
    assert check_content(abstained(reason), dossier()).title == title


def test_a_diff_that_can_not_be_read_is_titled_so() -> None:
    content = check_content(abstained(AbstainReason.TOO_LARGE), dossier(diff="no diff"))
    assert content.title == "Not judged: the diff can't be read"


def test_ci_that_never_ran_is_not_called_slow() -> None:
    held = CiCheck(name="tests.yml", status=AWAITING_APPROVAL, conclusion=None)
    pending = abstained(AbstainReason.CI_PENDING)
    silenced = check_content(pending, dossier(ci=Ci(state=CiState.MISSING, silenced="[skip ci]")))
    assert silenced.title == "Not judged: CI did not run"
    assert '- CI: not run, skipped by the author: the commit message says "\\[skip ci\\]"' in silenced.text
    assert check_content(pending, dossier(ci=Ci(checks=(held,)))).title == "Not judged: CI did not run"
    running = CiCheck(name="lint", status="in_progress", conclusion=None)
    assert (
        check_content(pending, dossier(ci=Ci(checks=(held, running)))).title == "Not judged: CI did not finish in time"
    )


def conclusion_of(verdict: Verdict) -> Conclusion:
    return conclusion(verdict, dossier())


def test_only_an_accept_is_a_success_and_only_a_reject_is_a_failure() -> None:
    assert conclusion_of(accepted()) is Conclusion.SUCCESS
    assert conclusion_of(rejected()) is Conclusion.FAILURE


@pytest.mark.parametrize("reason", [reason for reason in AbstainReason if reason is not AbstainReason.PAUSED])
def test_whoever_could_not_judge_blocks(reason: AbstainReason) -> None:
    assert conclusion_of(abstained(reason)) is Conclusion.ACTION_REQUIRED


def test_a_pause_and_an_operator_without_a_model_do_not_block() -> None:
    assert conclusion_of(abstained(AbstainReason.PAUSED)) is Conclusion.NEUTRAL
    no_model = {"escalation_skipped": "no_model"}
    assert conclusion_of(abstained(AbstainReason.UNPROVEN, signals=no_model)) is Conclusion.NEUTRAL
    assert conclusion_of(abstained(AbstainReason.TOO_LARGE, signals=no_model)) is Conclusion.ACTION_REQUIRED


@pytest.mark.parametrize("verdict", [accepted(), rejected(), abstained(AbstainReason.CI_FAILED)])
def test_who_only_observes_is_neither_passed_nor_blocked(verdict: Verdict) -> None:
    content = check_content(verdict, OBSERVED)
    assert content.conclusion is Conclusion.NEUTRAL
    assert content.summary.startswith("*This repository only observes")


def test_a_reject_marks_its_lines_of_the_head_and_no_other() -> None:
    evidence = (STUB, EvidencePointer(path="upload.py", line=2, side=Side.BASE), EvidencePointer(path="whole.py"))
    (note,) = annotations(rejected(evidence=evidence), dossier())
    assert note == snapshot(
        Annotation(
            path="upload.py",
            start_line=17,
            end_line=17,
            level=AnnotationLevel.FAILURE,
            title="Half finished",
            message="""\
The whole body of `retry` is a stub.

Next step: Implement `retry` in upload.py: three tries on 503.\
""",
        )
    )


def test_what_does_not_block_warns_and_an_accept_marks_nothing() -> None:
    bare = STUB.model_copy(update={"note": "", "end_line": 19})
    (observed,) = annotations(rejected(), OBSERVED)
    (unproven,) = annotations(abstained(AbstainReason.UNPROVEN, evidence=(bare,)), dossier())
    assert observed.level is AnnotationLevel.WARNING
    assert unproven == snapshot(
        Annotation(
            path="upload.py",
            start_line=17,
            end_line=19,
            level=AnnotationLevel.WARNING,
            title="Not judged",
            message="""\
Nothing was found against this change.

Next step: Have a person review it, or configure a model.\
""",
        )
    )
    assert annotations(accepted(), dossier()) == ()


def told_of(*issues: Issue) -> list[str]:
    """What a check says of the edits of these issues."""
    blocks = check_content(rejected(), dossier(issues=issues)).summary.split("\n\n")
    return [block for block in blocks if "edited" in block or "renamed" in block]


def test_an_edit_of_the_issue_that_came_too_late_is_told() -> None:
    other = LATE.model_copy(update={"by": "alice"})
    edited = ISSUE.model_copy(update={"late_edits": (LATE, other, LATE)})
    unsure = ISSUE.model_copy(update={"number": 8, "late_edits": (LateEdit(by="bob", at=LATE.at, used=True),)})
    assert told_of(ISSUE) == []
    assert told_of(edited) == snapshot(
        [
            "The issue was edited by copilot-swe-agent\\[bot\\] and alice after this pull request was opened; it was judged by the issue as it stood before."
        ]
    )
    assert told_of(unsure) == snapshot(
        [
            "The issue was edited by bob after this pull request was opened, and GitHub does not show what stood there before; it was judged by the issue as it stands."
        ]
    )
    assert told_of(ISSUE, edited, unsure) == snapshot(
        [
            "The issue acme/widgets#&#8203;7 was edited by copilot-swe-agent\\[bot\\] and alice after this pull request was opened; it was judged by the issue as it stood before.",
            "The issue acme/widgets#&#8203;8 was edited by bob after this pull request was opened, and GitHub does not show what stood there before; it was judged by the issue as it stands.",
        ]
    )


def test_a_pull_request_can_not_speak_through_its_check() -> None:
    pointer = EvidencePointer(path=HOSTILE, line=1, quote=HOSTILE, note=HOSTILE)
    verdict = rejected(
        concern=HOSTILE, next_step=HOSTILE, evidence=(pointer,), escalation_reason=HOSTILE,
        criteria=(CriterionVerdict(id=HOSTILE, status=CriterionStatus.MISSING, evidence=(pointer,), note=HOSTILE),),
        claims=(ClaimVerdict(claim=HOSTILE, status=ClaimStatus.UNSUPPORTED, note=HOSTILE),),
        coverage=Coverage(read=(HOSTILE,)),
    )  # fmt: skip
    issue = Issue(repository="acme/widgets", number=7, title=HOSTILE, body="", linked_by=HOSTILE)
    late = (LATE.model_copy(update={"by": HOSTILE}),)
    issue = issue.model_copy(update={"late_edits": late, "late_renames": late})
    content = check_content(verdict, dossier(issues=(issue,), case_error=HOSTILE))
    for text in (content.summary, human(content.text)):
        page = shown(text)
        assert set(page.tags) <= {
            *["p", "strong", "em", "code", "pre", "h3", "ul", "li", "a", "table", "thead", "tbody", "tr", "th", "td"]
        }
        assert all(url.startswith("https://github.com/acme/widgets/") for url in page.links)
        assert not ACTIVE.search(page.plain.replace("Next step:", ""))
        assert "\x1b" not in text
    assert "\x1b" not in content.title


def verdict_in(text: str) -> dict[str, Any]:
    block = next(token for token in GITHUB.parse(text) if token.info == "json")
    return json.loads(block.content)


def test_the_text_carries_the_verdict_for_programs() -> None:
    verdict = rejected(concern="``` `````` \x7f \u202e </details>")
    content = check_content(verdict, dossier())
    assert VERDICT_ADAPTER.validate_python(verdict_in(content.text), strict=False) == verdict
    assert content.text.isascii()
    assert content.text.endswith("\n\n</details>")


@pytest.mark.parametrize("letter", ["x", "é", "`", "@", "|", "\n"])
@pytest.mark.parametrize("times", [10, 60])
def test_the_largest_verdict_keeps_githubs_limits_and_says_what_is_left_out(letter: str, times: int) -> None:
    long = "a" + letter * 5_000 + "b"
    pointer = EvidencePointer(path=long, line=1, quote=long, note=long)
    unmet = CriterionVerdict(id="AC1", status=CriterionStatus.MISSING, note=long, evidence=(pointer,))
    finding = rejected().findings[0].model_copy(update={"note": long, "path": long})
    verdict = rejected(
        concern=long, next_step=long, evidence=(pointer,) * times, criteria=(unmet,) * times,
        findings=(finding,) * times, coverage=Coverage(read=(long,) * times), escalation_reason=long,
        signals={"a": long},
    )  # fmt: skip
    content = check_content(verdict, dossier())
    assert len(content.title.encode()) <= 255
    assert len(content.summary.encode()) <= 65_535
    assert len(check_text(content).encode()) <= 65_535
    assert "*Cut here" in content.summary
    assert "*Cut here" in content.text
    machine = verdict_in(content.text)
    assert machine["decision"] == "reject"
    assert "findings" in machine["cut"]
    assert all(len(one.message.encode()) <= 65_536 for one in content.annotations)
    assert len(content.annotations) <= 50


def test_the_details_name_the_delivery_that_asked_so_that_the_log_can_be_searched_for_it() -> None:
    asked = check_content(accepted(), dossier(), delivery_id="72d3162e-cc78-11e3-81ab-4c9367dc0958").text
    assert "- Delivery `72d3162e-cc78-11e3-81ab-4c9367dc0958`" in human(asked).split("\n")
    assert "Delivery" not in human(check_content(accepted(), dossier()).text), "on a laptop nothing was delivered"
    assert failed_content("GitHub is unavailable", "72d3162e").text == "Delivery `72d3162e`"
    assert failed_content("GitHub is unavailable").text == ""


MET_DESCRIPTION = (CriterionVerdict(id=DESCRIPTION, status=CriterionStatus.MET, evidence=(STUB,)),)
LOOSE = Finding(
    signal="assertion_removed", category=Category.WEAK_TEST, fact=False, path="tests/test_upload.py", line=4,
    side=Side.BASE, note="this assertion was removed from a test that stays",
)  # fmt: skip


def test_where_nothing_was_judged_the_summary_says_what_to_look_at() -> None:
    spoken = CriterionVerdict(
        id="AC1", status=CriterionStatus.UNVERIFIABLE,
        evidence=(EvidencePointer(path="upload.py", line=17), EvidencePointer(path="tests/test_upload.py", line=4)),
    )  # fmt: skip
    silent = CriterionVerdict(
        id="AC2", status=CriterionStatus.UNVERIFIABLE, note="not looked at; the name `retry` does not occur"
    )
    asked = (Criterion(id="AC1", text="Uploads are tried again"), Criterion(id="AC2", text="`retry` is public"))
    verdict = abstained(AbstainReason.UNPROVEN, criteria=(spoken, silent), findings=(LOOSE,))
    content = check_content(verdict, dossier(criteria=asked))
    assert content.summary == snapshot("""\
Nothing was found against this change.

**Next step:** Have a person review it, or configure a model.

### What to look at

- [`tests/test_upload.py:4`](https://github.com/acme/widgets/blob/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/tests/test_upload.py#L4) (before the change): this assertion was removed from a test that stays

### What was asked for

- **AC1** not judged: Uploads are tried again; the change speaks of it at [`upload.py:17`](https://github.com/acme/widgets/blob/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/upload.py#L17), [`tests/test_upload.py:4`](https://github.com/acme/widgets/blob/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/tests/test_upload.py#L4)
- **AC2** not judged: `retry` is public (not looked at; the name `retry` does not occur)\
""")
    assert "What the code checks saw" not in content.text
    assert "What to look at" not in check_content(rejected(), dossier()).summary


def test_of_a_change_without_criteria_nothing_is_called_one() -> None:
    unasked = dossier(issues=(), criteria=(Criterion(id=DESCRIPTION, text="Retry uploads", inferred=True),))
    open_ones = (CriterionVerdict(id=DESCRIPTION, status=CriterionStatus.UNVERIFIABLE),)
    content = check_content(abstained(AbstainReason.UNPROVEN, criteria=open_ones), unasked)
    assert content.summary == snapshot("""\
Nothing was found against this change.

**Next step:** Have a person review it, or configure a model.

No issue and no list says what is wanted: only facts, the repository's rules and what the description itself claims count.\
""")
    assert "AC1" not in content.summary
    assert "**description** met" in check_content(accepted(criteria=MET_DESCRIPTION), unasked).summary


@pytest.mark.parametrize(
    ("reason", "coverage", "title"),
    [
        (AbstainReason.TOO_LARGE, Coverage(unread=("a.bin",)), "Not judged: nothing of it could be read"),
        (AbstainReason.TOO_LARGE, Coverage(partly=("a.py",)), "Not judged: not everything could be read"),
        (AbstainReason.UNPROVEN, Coverage(read=("a.py",), unread=("a.bin",)), "Not judged: no fact in what could be read, and no model was asked"),
    ],
)  # fmt: skip
def test_what_was_not_read_is_not_called_free_of_facts(reason: AbstainReason, coverage: Coverage, title: str) -> None:
    assert check_content(abstained(reason, coverage=coverage), dossier()).title == title


def test_what_was_too_large_to_read_blames_no_line() -> None:
    assert annotations(abstained(AbstainReason.TOO_LARGE, evidence=(STUB,)), dossier()) == ()
    assert [one.level for one in annotations(abstained(AbstainReason.NEEDS_HUMAN, evidence=(STUB,)), dossier())] == [
        AnnotationLevel.WARNING
    ]


def test_names_and_errors_of_others_stay_text_in_the_states_beside_a_verdict() -> None:
    waiting = waiting_for_ci_content(("test", "l`int"))
    assert waiting.title == "Waiting for CI: test, l`int"
    assert waiting.summary == "Assay judges when these checks have finished:\n\n- `test`\n- ``l`int``"
    assert "502 @&#8203;acme/team" in failed_content("GitHub is unavailable: 502 @acme/team").summary


def test_a_failed_ci_shows_its_report_and_a_superseded_check_links_the_newer_one() -> None:
    failed = check_content(abstained(AbstainReason.CI_FAILED), dossier(ci=FAILED_CI)).summary
    assert failed.endswith("### test: failure\n\n```\n1 failed\n```\n\n```\nE assert 1 == 2\n```")
    long = CiCheck(name="test", conclusion="failure", summary=f"begin{'x' * 9_000}", log_tail=f"{'x' * 9_000}end")
    cut = check_content(abstained(AbstainReason.CI_FAILED), dossier(ci=Ci(checks=(long,)))).summary
    assert "\nbegin" in cut
    assert cut.endswith("end\n```"), "a report is cut at its end, a log at its start"
    page = checks_page("https://github.example", "acme/widgets", "c" * 40)
    link = f"[`{'c' * 12}`](https://github.example/acme/widgets/commit/{'c' * 40}/checks)"
    assert superseded_content("c" * 40, page).summary.endswith(f"The verdict is on {link}.")


def pages() -> Pages:
    content = everything()
    yield "the summary shows everything that decides", content.summary
    content = everything()
    yield "the text shows everything that it rests on", human(content.text)
    unmet = (CriterionVerdict(id="AC2", status=CriterionStatus.PARTIAL),)
    throttled = abstained(AbstainReason.BUDGET, throttled_reason=ThrottledReason.DAILY_CAP)
    unasked = dossier(issues=(), criteria=(Criterion(id=DESCRIPTION, text="Retry uploads", inferred=True),))
    alone = accepted(judge_kind=JudgeKind.HEURISTIC, judge_model=None, judge_cost_usd=0, judge_pricing_version=None)
    yield (
        "titles name what there is to name",
        check_content(rejected(evidence=(), criteria=unmet), dossier()).title,
        check_content(accepted(), unasked).title,
        check_content(alone, unasked).title,
        check_content(rejected(), unasked).title,
        check_content(abstained(AbstainReason.UNPROVEN), unasked).title,
        check_content(abstained(AbstainReason.PAUSED), unasked).title,
        check_content(throttled, dossier()).title,
        check_content(rejected(), OBSERVED).title,
        check_content(accepted(), OBSERVED).title,
    )
    edited = ISSUE.model_copy(update={"late_edits": (LATE,), "late_renames": (LATE,)})
    unsure = ISSUE.model_copy(update={"number": 8, "late_renames": (LateEdit(by="bob", at=LATE.at, used=True),)})
    yield (
        "a title of the issue that came too late is told beside its text",
        "\n".join(told_of(edited)),
        "\n".join(told_of(unsure)),
        "\n".join(told_of(ISSUE, unsure)),
    )


def test_what_people_read(golden: Golden) -> None:
    golden.holds_pages("prose/texts/check_run.md", pages())
