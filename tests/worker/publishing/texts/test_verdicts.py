"""A verdict in its check run and in the terminal, and the conclusion of the check run."""

import json
import re
from decimal import Decimal
from typing import Any, Final

import pytest

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.rendered import ACTIVE, GITHUB, render
from tests.worker.publishing.texts.samples import (
    FAILED_CI,
    HOSTILE,
    ISSUE,
    LATE,
    STUB,
    UNREAD,
    abstained,
    accepted,
    config_edit,
    config_texts,
    dossier,
    dossier_editing_config,
    rejected,
)
from worker.domain.check.check_run import CONTEST, HELPFUL, NOT_HELPFUL, REJUDGE, CheckContent, Conclusion
from worker.domain.dossier import (
    AWAITING_APPROVAL,
    DESCRIPTION,
    Ci,
    CiCheck,
    CiState,
    ConfigOrigin,
    ConfigText,
    Criterion,
    Dossier,
    Guidance,
    HeadFile,
    Issue,
    LateEdit,
    Policy,
)
from worker.domain.judge_request import AuthorKind
from worker.domain.model import EvalId
from worker.domain.time_range import JudgingPause, pause_to_signals
from worker.domain.verdict.budget import Cap, CapLevel
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    AbstainReason,
    Category,
    ClaimStatus,
    ClaimVerdict,
    ClosingCondition,
    ConditionState,
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
from worker.judge.context import Pause
from worker.judge.llm.opinions import cap_signals
from worker.judge.texts import budget, cap_reached, dollars, judging_paused
from worker.publishing.texts.check_run import check_content, check_text, conclusion
from worker.publishing.texts.markdown import INVISIBLE
from worker.publishing.texts.phrases import list_phrase, passing_phrase, proposals, value_phrase
from worker.publishing.texts.terminal import TerminalPage, verdict_report

PAGE: Final = TerminalPage(width=80)
WIDE: Final = TerminalPage(width=10_000)
SGR: Final = re.compile(r"\x1b\[[0-9;]*m")
CONFIG: Final = ".github/assay.yml"
OBSERVED: Final = dossier(policy=Policy(mode="observe"))
UNASKED: Final = dossier(issues=(), criteria=(Criterion(id=DESCRIPTION, text="Retry uploads", inferred=True),))
NEAR: Final = CapLevel(Cap.DAY, Decimal("0.823456789"), Decimal("1.00"))
NO_MODEL: Final = {"escalation_skipped": "no_model"}
OPINIONS: Final = "first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"


def visible_part(text: str) -> str:
    return text.partition("<details>")[0]


def lines_of(verdict: Verdict, judged: Dossier) -> tuple[list[str], list[str]]:
    content = check_content(verdict, judged)
    check = f"{content.title}\n{content.summary}\n{visible_part(content.text)}"
    return check.split("\n"), verdict_report(verdict, judged, WIDE).split("\n")


def differences(verdict: Verdict, judged: Dossier | None = None) -> tuple[str, str]:
    """The lines of check and terminal that a plain verdict of this decision does not have."""
    reason = verdict.abstain_reason or AbstainReason.UNPROVEN
    plain = {"accept": accepted, "reject": rejected, "abstain": lambda: abstained(reason)}[verdict.decision]()
    pairs = zip(lines_of(verdict, judged or dossier()), lines_of(plain, dossier()), strict=True)
    check, terminal = ("\n".join(line for line in lines if line and line not in usual) for lines, usual in pairs)
    return check, terminal


def everything() -> CheckContent:
    """The check run of a verdict with all fields."""
    verdict = rejected(
        evidence=(STUB, EvidencePointer(path="docs/a b.md", line=3, end_line=4, side=Side.BASE), EvidencePointer(path="x")),
        claims=(ClaimVerdict(claim="AC1 -> upload.py:retry", status=ClaimStatus.CONTRADICTED, note="a stub"),),
        scores=(Score(criterion="correctness", score=2, reasoning="a stub", improvement="implement it"),),
        closing_conditions=(ClosingCondition(id="c1", text="`retry` retries"),),
        coverage=Coverage(read=("upload.py",), partly=("big.py",), unread=("logo.png",)),
        carried_from=EvalId("0199aaaa-0000-7000-8000-000000000000"),
    )  # fmt: skip
    judged = dossier(
        files_unread=UNREAD, case_error='ac_coverage[1].addressed_by: "upload.py" names no symbol.', ci=None,
        issues=(Issue(number=9, title="Retry", body=""),), guidance=(Guidance(path="AGENTS.md", text="x"),),
    )  # fmt: skip
    return check_content(verdict, judged, "https://ghe.example")


def edits_shown_of(issues: list[Issue]) -> str:
    """The lines of a check about edits of these issues."""
    blocks = check_content(rejected(), dossier(issues=tuple(issues))).summary.split("\n\n")
    return "\n".join(block for block in blocks if "edited" in block or "renamed" in block)


def judged_by_line(verdict: Verdict) -> str:
    [line] = [line for line in check_content(verdict, dossier()).text.split("\n") if line.startswith("- Judged by")]
    return line


def notes_of(verdict: Verdict, judged: Dossier | None = None) -> str:
    notes = check_content(verdict, judged or dossier()).annotations
    return "\n".join(
        f"{note.path}:{note.start_line}-{note.end_line} {note.level}, {note.title}:\n{note.message}" for note in notes
    )


# Golden pages


def checks() -> Pages:
    yield "the summary shows everything that decides", everything().summary
    yield "the text shows everything that it rests on", visible_part(everything().text)
    unmet = (CriterionVerdict(id="AC2", status=CriterionStatus.PARTIAL),)
    throttled = abstained(AbstainReason.BUDGET, throttled_reason=ThrottledReason.DAILY_CAP)
    alone = accepted(judge_kind=JudgeKind.HEURISTIC, judge_model=None, judge_cost_usd=0, judge_pricing_version=None)
    unasked = (accepted(), alone, rejected(), abstained(AbstainReason.UNPROVEN), abstained(AbstainReason.PAUSED))
    yield (
        "titles name what there is to name",
        check_content(rejected(evidence=(), criteria=unmet), dossier()).title,
        *(check_content(verdict, UNASKED).title for verdict in unasked),
        check_content(throttled, dossier()).title,
        *(check_content(verdict, OBSERVED).title for verdict in (rejected(), accepted())),
    )
    edited_too = ISSUE.model_copy(update={"late_edits": (LATE,), "late_renames": (LATE,)})
    unsure = ISSUE.model_copy(update={"number": 8, "late_renames": (LateEdit(by="bob", at=LATE.at, used=True),)})
    issues = ([edited_too], [unsure], [ISSUE, unsure])
    yield "a title of the issue that came too late is told beside its text", *map(edits_shown_of, issues)
    both = LATE, LATE.model_copy(update={"by": "alice"}), LATE
    twice = ISSUE.model_copy(update={"late_edits": both})
    unsure = ISSUE.model_copy(update={"number": 8, "late_edits": (LateEdit(by="bob", at=LATE.at, used=True),)})
    issues = ([ISSUE], [twice], [unsure], [ISSUE, twice, unsure])
    yield "an edit of the issue that came too late is told", *map(edits_shown_of, issues)
    of_base, of_file = EvidencePointer(path="upload.py", line=2, side=Side.BASE), EvidencePointer(path="whole.py")
    bare = STUB.model_copy(update={"note": "", "end_line": 19})
    yield (
        "a reject and an abstain mark lines of the head",
        notes_of(rejected(evidence=(STUB, of_base, of_file))),
        notes_of(rejected(), OBSERVED),
        notes_of(rejected(), dossier(policy=Policy(categories={Category.HALF_FINISHED: "observe"}))),
        notes_of(abstained(AbstainReason.UNPROVEN, evidence=(bare,))),
        notes_of(abstained(AbstainReason.NEEDS_HUMAN, evidence=(STUB,))),
        notes_of(abstained(AbstainReason.TOO_LARGE, evidence=(STUB,))),
        notes_of(accepted()),
        notes_of(accepted(), dossier_editing_config("\nmode: x\n", "mode: block\n")),
    )
    contents = (check_content(accepted(), dossier(), delivery_id=delivery) for delivery in ("72d3162e", ""))
    shown = (visible_part(content.text) for content in contents)
    yield "the delivery that asked is named, so that the log can be searched for it", *shown


def facts() -> Pages:
    """Lines of check and terminal that a plain verdict does not have."""
    prose = Criterion(id="AC1", text="Retry uploads\n\n" + "The user waits too long. " * 20, inferred=True)
    shown = differences(accepted(evidence=(STUB,) * 23), dossier(criteria=(prose,)))
    yield "of an accept a few places are shown and of prose how it begins", *shown
    many = [rejected().findings[1].model_copy(update={"line": line}) for line in range(10, 24)]
    paths = tuple(f"{number}.py" for number in range(45))
    long = rejected(evidence=(STUB,) * 23, coverage=Coverage(read=paths), findings=many)
    yield "long lists are cut and say so", *differences(long)
    finding, doubt = rejected().findings
    gone = doubt.model_copy(update={"path": "upload.py", "line": 17, "side": Side.BASE, "note": ""})
    yield "a place that the change took away is said to be one", *differences(rejected(findings=(gone,)))
    nowhere = finding.model_copy(update={"path": None, "line": None, "note": "the diff is empty"})
    unmet = (CriterionVerdict(id="any-change", status=CriterionStatus.MISSING),)
    empty = rejected(findings=(nowhere,), evidence=(), criteria=unmet, concern="The diff is empty.")
    yield "a fact without a place is said once of a reject", *differences(empty)
    red = abstained(AbstainReason.CI_FAILED, findings=(nowhere,))
    yield "a fact without a place is seen beside red CI", *differences(red, dossier(ci=FAILED_CI))
    silent = Ci(state=CiState.FAILURE, checks=(CiCheck(name="build", conclusion="timed_out"),))
    shown = differences(abstained(AbstainReason.CI_FAILED), dossier(ci=silent))
    yield "a check that failed without a word is named all the same", *shown
    partly = CriterionVerdict(id="AC1", status=CriterionStatus.PARTIAL, evidence=(STUB,), note="only once")
    yield "a criterion shows its places and why it stands so", *differences(rejected(criteria=(partly,)))
    claimed = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, claimed=True)
    shown = differences(abstained(AbstainReason.UNPROVEN, criteria=(claimed,)))
    yield "what the author claims and nothing judged is called a claim", *shown
    places = (EvidencePointer(path="upload.py", line=17), EvidencePointer(path="tests/test_upload.py", line=4))
    spoken = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, evidence=places)
    unsaid = "not looked at; the name `retry` does not occur"
    silent_one = CriterionVerdict(id="AC2", status=CriterionStatus.UNVERIFIABLE, note=unsaid)
    asked = (Criterion(id="AC1", text="Uploads are tried again"), Criterion(id="AC2", text="`retry` is public"))
    loose = Finding(
        signal="assertion_removed", category=Category.WEAK_TEST, fact=False, path="tests/test_upload.py", line=4,
        side=Side.BASE, note="this assertion was removed from a test that stays",
    )  # fmt: skip
    unproven = abstained(AbstainReason.UNPROVEN, criteria=(spoken, silent_one), findings=(loose,))
    yield "where nothing was judged both say what to look at", *differences(unproven, dossier(criteria=asked))


def more_facts() -> Pages:
    open_ones = (CriterionVerdict(id=DESCRIPTION, status=CriterionStatus.UNVERIFIABLE),)
    met = (CriterionVerdict(id=DESCRIPTION, status=CriterionStatus.MET, evidence=(STUB,)),)
    missing = CriterionVerdict(id="cited-file", status=CriterionStatus.MISSING, note="the case cites a.py")
    yield (
        "of a change without criteria nothing is called one",
        *differences(abstained(AbstainReason.UNPROVEN, criteria=open_ones), UNASKED),
        *differences(accepted(criteria=met), UNASKED),
        *differences(rejected(criteria=(missing,)), UNASKED),
    )
    shown = differences(accepted(carried_from=EvalId("0199")))
    yield "a verdict that is carried over does not claim that the model was asked again", *shown
    ticked = ClosingCondition(id="c1", text="Retry it on 503.", state=ConditionState.RESOLVED)
    to_do = ClosingCondition(id="c2", text="AC1 is met: uploads are retried")
    lone = (ClosingCondition(id="c1", text="Write it."),)
    yield (
        "conditions are open or ticked, and a lone one that is the next step is said once in the terminal",
        *differences(rejected(closing_conditions=(ticked, to_do))),
        *differences(accepted(closing_conditions=(ticked,))),
        *differences(rejected(closing_conditions=lone, next_step="Write it.")),
    )
    agreed = accepted(signals={"opinions": OPINIONS, "opinions_agree": True})
    yield "opinions that agree are shown as such", *differences(agreed)
    rows = ((Cap.PULL, "0.08", "0.10"), (Cap.SHARE, "0.40", "0.50"))
    near = (NEAR, *(CapLevel(cap, Decimal(used), Decimal(limit)) for cap, used, limit in rows))
    yield (
        "a cap that is near is a line, and none of a verdict that is carried over",
        *(text for level in (*near, None) for text in differences(accepted(signals=dict(cap_signals(level))))),
        *differences(accepted(signals=dict(cap_signals(NEAR)), carried_from=EvalId("before"))),
    )
    sides = {"what_works": "The retry itself.", "what_does_not": "No caller reads the reply."}
    summary = check_content(rejected(signals=sides), dossier()).summary
    report = verdict_report(rejected(signals=sides), dossier(), PAGE)
    yield "what a change over many files is built on stands above its next step", summary, report


def titles() -> Pages:
    held = CiCheck(name="tests.yml", status=AWAITING_APPROVAL, conclusion=None)
    running = CiCheck(name="lint", status="in_progress", conclusion=None)
    pending, large = abstained(AbstainReason.CI_PENDING), AbstainReason.TOO_LARGE
    unread = Coverage(read=("a.py",), unread=("a.bin",))
    cases: list[tuple[Verdict, Dossier]] = [
        (abstained(large), dossier(diff="no diff")),
        (abstained(large, coverage=Coverage(unread=("a.bin",))), dossier()),
        (abstained(large, coverage=Coverage(partly=("a.py",))), dossier()),
        (abstained(AbstainReason.UNPROVEN, coverage=unread), dossier()),
        (pending, dossier(ci=Ci(state=CiState.MISSING, silenced="[skip ci]"))),
        (pending, dossier(ci=Ci(checks=(held,)))),
        (pending, dossier(ci=Ci(checks=(held, running)))),
        *((abstained(AbstainReason.BUDGET, throttled_reason=reason), dossier()) for reason in ThrottledReason),
    ]
    yield "titles say why a change was not judged", *(check_content(*case).title for case in cases)
    yield "who silenced CI is told", *differences(*cases[4])


def configurations() -> Pages:
    """Lines about `.github/assay.yml`: the files in effect, and changes to them."""
    mistakes = "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\n"
    secret = config_texts("", default="mode: observe\nnever_send: [secret/**]\nmodel: secret\n")
    misnamed = ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True)
    own = HeadFile(path=CONFIG, text="mode: block\nnever_send: []\nmodel: x\n")
    new = "mode: observe\nnever_send: ['a*']\nquiet_window: 2m\n"
    cases: dict[str, Dossier] = {
        "no file and no edit of one": dossier(diff=config_edit("a.py")),
        "who set what": dossier(config=config_texts("mode: block\n", default="ci_wait: 5m\nauthors: {people: judge}\n")),
        "a mistake": dossier(config=config_texts("mode: x")),
        "no text, and a last version without a mistake": dossier(config=config_texts(None, "ci_wait: 5m")),
        "many mistakes": dossier(config=config_texts(mistakes)),
        "a file under the wrong name": dossier(config=(misnamed,)),
        "the owner's file, which may be private": dossier(config=config_texts("mode: block", default="mode: secret")),
        "what would replace the owner's": dossier(diff=config_edit(CONFIG), config=secret, files=(own,)),
        "a model that the operator does not allow": dossier(config=config_texts("model: gpt")),
        "what a pull request would change": dossier_editing_config(new, "signals: {stub_body: suspicion}\n"),
        "a mistake in the new version": dossier_editing_config("\nmode: x\n", "mode: block\n"),
        "a rules file": dossier(diff=config_edit("src/AGENTS.md")),
        "no rules file": dossier(diff=config_edit("a.py").replace("+y", "+see AGENTS.md")),
        "an edit of a misnamed file": dossier(diff=config_edit(".github/assay.yaml")),
        "an edit that could not be read": dossier(diff=config_edit(CONFIG)),
    }  # fmt: skip
    for title, judged in cases.items():
        signals = {"model_not_allowed": "gpt"} if "does not allow" in title else {}
        yield title, *differences(rejected(signals=signals), judged)


def budgets() -> Pages:
    text = verdict_report(accepted(signals=dict(cap_signals(NEAR))), dossier(), TerminalPage(width=200))
    rows = "\n".join([line for line in text.split("\n") if line.startswith("Budget")])
    yield "a cap that is near is a row on the terminal", rows
    amounts = "\n".join(dollars(Decimal(usd)) for usd in ("0", "0.1", "1", "0.012345", "0.00005", "12.34"))
    yield "dollars are cents at least and hundredths of one at most", amounts
    pausers: tuple[dict[str, str], ...] = ({"paused_by": "operator"}, {"paused_by": "repository"}, {})
    paused_lines = "\n".join(judged_by_line(abstained(AbstainReason.PAUSED, signals=pauser)) for pauser in pausers)
    yield "a paused verdict says whose pause kept code checks too from judging", paused_lines
    away, unheard = AbstainReason.JUDGE_UNAVAILABLE, {
        "judge_kind": JudgeKind.HYBRID, "judge_model": "claude-haiku-5-5", "judge_cost_usd": Decimal("0.0046"),
        "judge_pricing_version": "2026-11", "signals": {"unheard_usd": "0.0046"},
    }  # fmt: skip
    carried = accepted(**unheard, carried_from=EvalId("0193"))
    verdicts = (abstained(away, **unheard), abstained(away), accepted(**unheard), carried)
    yield "a cost without a reply is reported as its upper bound", "\n".join(map(judged_by_line, verdicts))
    differ = lines_of(accepted(signals={"opinions": OPINIONS, "opinions_agree": False}), dossier())
    shown = ("\n".join(line for line in lines if "Opinions" in line) for lines in differ)
    yield "opinions that differ are shown", *shown
    for cap in Cap:
        level = CapLevel(cap, Decimal("0.0931"), Decimal("0.10"))
        yield f"a cap that is reached: {cap}", *budget(level, Decimal("0.0123456")), cap_reached(cap)
    storm = JudgingPause(by="alice", until=LATE.at, reason="A storm.")
    for title, pause in {
        "by the operator": judging_paused(Pause.OPERATOR),
        "of a repository": judging_paused(Pause.REPOSITORY),
        "of everything, until a time, for a reason": judging_paused(Pause.OPERATOR, storm),
        "of one repository, by a person": judging_paused(Pause.REPOSITORY, JudgingPause(by="bob")),
        "of which nothing is known": judging_paused(Pause.REPOSITORY, JudgingPause()),
    }.items():
        yield f"a pause {title}", *pause
    hostile = storm.model_copy(update={"reason": "[click](https://evil.example) @acme/everyone <img src=x>"})
    concern, next_step = judging_paused(Pause.OPERATOR, hostile)
    fields = {"concern": concern, "next_step": next_step, "signals": pause_to_signals(hostile)}
    content = check_content(abstained(AbstainReason.PAUSED, **fields), dossier())
    yield "a pause on the check, with no markup of its reason", content.title, str(content.conclusion), content.summary


def terminals() -> Pages:
    verdict = rejected(
        evidence=(EvidencePointer(path="a.py", line=3, side=Side.BASE), STUB),
        coverage=Coverage(read=("upload.py",), partly=("big.py",), unread=("logo.png",)),
        judge_kind=JudgeKind.LLM,
        judge_cost_usd=None,
        carried_from=EvalId("0199"),
    )
    judged = dossier(files_unread=UNREAD, case_error="summary is missing.", ci=None, issues=())
    rest = verdict_report(verdict, judged, PAGE).partition("Read ")[2]
    yield "what was not read and what could not be used is said", rest
    late = ISSUE.model_copy(update={"late_edits": (LATE,)})
    text = verdict_report(rejected(), dossier(issues=(late,)), PAGE)
    yield "an edit of the issue that came too late is said", text.partition("Edited")[2].partition("CI ")[0]
    pointers = (EvidencePointer(path="upload.py", line=17),)
    spoken = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, evidence=pointers)
    doubt = Finding(signal="sleep_added", category=Category.TESTS_PASS_BUT_WRONG, fact=False, path="a.py", line=3)
    text = verdict_report(abstained(AbstainReason.UNPROVEN, criteria=(spoken,), findings=(doubt,)), dossier(), PAGE)
    yield "where nothing was judged the terminal says what to look at", text.partition("Read ")[0]


def test_verdict_texts_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/check_run.md", [*checks(), *facts(), *more_facts(), *titles(), *configurations()])
    golden.check_pages("prose/texts/budget.md", budgets())
    golden.check_pages("prose/texts/terminal.md", terminals())


# Conclusions


@pytest.mark.parametrize(
    ("policy", "verdict", "concludes", "expected"),
    [
        ({}, accepted(), Conclusion.SUCCESS, ""),
        ({}, rejected(), Conclusion.FAILURE, ""),
        ({"mode": "observe"}, rejected(), Conclusion.NEUTRAL, "only observes: whatever is decided here"),
        ({"mode": "observe"}, accepted(), Conclusion.NEUTRAL, "only observes: whatever is decided here"),
        ({"mode": "observe"}, abstained(AbstainReason.CI_FAILED), Conclusion.NEUTRAL, "only observes: whatever"),
        ({"categories": {"half_finished": "observe"}}, rejected(), Conclusion.NEUTRAL, "rejected as half finished"),
        ({"categories": {"weak_test": "observe"}}, rejected(), Conclusion.FAILURE, ""),
        ({"categories": {"weak_test": "observe"}}, accepted(), Conclusion.SUCCESS, ""),
        ({"mode": "observe", "categories": {"half_finished": "block"}}, rejected(), Conclusion.FAILURE, ""),
        (
            {"abstains": {"too_large": "neutral"}},
            abstained(AbstainReason.TOO_LARGE),
            Conclusion.NEUTRAL,
            "says that too_large does not block",
        ),
        ({"abstains": {"too_large": "neutral"}}, abstained(AbstainReason.BUDGET), Conclusion.ACTION_REQUIRED, ""),
        ({}, abstained(AbstainReason.TOO_LARGE, signals=NO_MODEL), Conclusion.ACTION_REQUIRED, ""),
        ({"abstains": {"paused": "block"}}, abstained(AbstainReason.PAUSED), Conclusion.ACTION_REQUIRED, ""),
        (
            {"mode": "observe", "abstains": {"paused": "block"}},
            abstained(AbstainReason.PAUSED),
            Conclusion.NEUTRAL,
            "only observes: whatever",
        ),
    ],
)
def test_policy_decides_the_conclusion_and_is_named_in_the_text(
    policy: dict[str, object], verdict: Verdict, concludes: Conclusion, expected: str
) -> None:
    judged = dossier(policy=Policy.model_validate(policy))
    content = check_content(verdict, judged)
    assert content.conclusion is concludes
    phrase = passing_phrase(verdict, judged)
    assert expected in phrase
    assert bool(expected) is bool(phrase)
    if expected:
        assert content.summary.startswith(f"*{phrase}*")
        assert phrase.split(":")[0] in verdict_report(verdict, judged, WIDE)


@pytest.mark.parametrize(
    ("is_required", "policy", "concludes", "expected"),
    [
        (True, {}, Conclusion.ACTION_REQUIRED, "The base branch requires this check"),
        (False, {}, Conclusion.NEUTRAL, ""),
        (None, {}, Conclusion.NEUTRAL, ""),
        (True, {"abstains": {"unproven": "neutral"}}, Conclusion.NEUTRAL, "says that unproven does not block"),
        (False, {"abstains": {"unproven": "block"}}, Conclusion.ACTION_REQUIRED, ""),
        (True, {"mode": "observe"}, Conclusion.NEUTRAL, "only observes: whatever"),
    ],
)
def test_unproven_blocks_only_a_required_check_without_a_model(
    *, is_required: bool | None, policy: dict[str, object], concludes: Conclusion, expected: str
) -> None:
    unproven = abstained(AbstainReason.UNPROVEN, signals=NO_MODEL)
    judged = dossier(policy=Policy.model_validate(policy), is_required=is_required)
    assert conclusion(unproven, judged) is concludes
    phrase = passing_phrase(unproven, judged)
    assert expected in phrase
    assert bool(expected) is bool(phrase)


@pytest.mark.parametrize("author", AuthorKind)
def test_observed_author_kind_is_named_and_neutral(author: AuthorKind) -> None:
    observing = OBSERVED.model_copy(update={"observed_as": author})
    assert conclusion(rejected(), observing) is Conclusion.NEUTRAL
    assert "only observed here, so the check neither passes nor blocks." in passing_phrase(rejected(), observing)


# Limits, JSON and hostile text


def test_buttons_keep_the_limits_of_github() -> None:
    for button in (REJUDGE, CONTEST, HELPFUL, NOT_HELPFUL):
        assert max(len(button.label), len(button.identifier)) <= 20
        assert len(button.description) <= 40


def test_content_holds_no_table() -> None:
    """At 375 px a list wraps, but a table is cut."""
    content = everything()
    assert not [line for line in f"{content.summary}\n{content.text}".splitlines() if line.startswith("|")]


def test_report_is_cut_at_its_end_and_a_log_at_its_start() -> None:
    long = CiCheck(name="test", conclusion="failure", summary=f"begin{'x' * 9_000}", log_tail=f"{'x' * 9_000}end")
    summary = check_content(abstained(AbstainReason.CI_FAILED), dossier(ci=Ci(checks=(long,)))).summary
    assert "\nbegin" in summary
    assert summary.endswith("end\n```")


def hostile_verdict() -> Verdict:
    pointer = EvidencePointer(path=HOSTILE, line=1, quote=f"{HOSTILE}\n\tsecond\r", note=HOSTILE)
    return rejected(
        concern=HOSTILE, next_step=HOSTILE, evidence=(pointer,), escalation_reason=HOSTILE,
        criteria=(CriterionVerdict(id=HOSTILE, status=CriterionStatus.MISSING, evidence=(pointer,), note=HOSTILE),),
        claims=(ClaimVerdict(claim=HOSTILE, status=ClaimStatus.UNSUPPORTED, note=HOSTILE),),
        coverage=Coverage(read=(HOSTILE,)), closing_conditions=(ClosingCondition(id="c1", text=HOSTILE),),
    )  # fmt: skip


def hostile_dossier() -> Dossier:
    issue = Issue(repository="acme/widgets", number=7, title=HOSTILE, body="", linked_by=HOSTILE)
    late = (LATE.model_copy(update={"by": HOSTILE}),)
    issue = issue.model_copy(update={"late_edits": late, "late_renames": late})
    return dossier(issues=(issue,), case_error=HOSTILE)


def test_hostile_pull_request_stays_inert_in_its_check() -> None:
    content = check_content(hostile_verdict(), hostile_dossier())
    for text in (content.summary, visible_part(content.text)):
        page = render(text)
        assert set(page.tags) <= {"p", "strong", "em", "code", "pre", "h3", "ul", "li", "a"}
        assert all(url.startswith("https://github.com/acme/widgets/") for url in page.links)
        assert not ACTIVE.search(page.plain.replace("Next step:", ""))
        assert "\x1b" not in text
    assert not {"\x1b", "\u202e"} & {*content.title}


def test_hostile_repository_emits_no_control_characters() -> None:
    text = verdict_report(hostile_verdict(), hostile_dossier(), PAGE, [HOSTILE])
    assert not INVISIBLE.search(text)
    assert "␛[2J" in text


def test_configuration_value_is_shown_as_code() -> None:
    quoted = HOSTILE.translate(dict.fromkeys(map(ord, '\x1b\u202e"\\`')))[:90]
    judged = dossier_editing_config(f'model: "{quoted}"\n', f'never_send: ["{quoted}"]\n')
    assert proposals(judged)
    assert f"`{quoted}`" in check_content(rejected(), judged).summary, "as code, and nothing else"


@pytest.mark.parametrize("verdict", [rejected(), accepted(), abstained(AbstainReason.PAUSED)])
def test_colour_changes_no_word(verdict: Verdict) -> None:
    coloured = verdict_report(verdict, dossier(), TerminalPage(has_colour=True))
    assert coloured != SGR.sub("", coloured)
    assert SGR.sub("", coloured) == verdict_report(verdict, dossier(), TerminalPage())


def verdict_in(text: str) -> dict[str, Any]:
    block = next(token for token in GITHUB.parse(text) if token.info == "json")
    return json.loads(block.content)


def test_check_text_holds_the_verdict_as_json() -> None:
    verdict = rejected(concern="``` `````` \x7f \u202e </details>")
    content = check_content(verdict, dossier())
    assert VERDICT_ADAPTER.validate_python(verdict_in(content.text), strict=False) == verdict
    assert content.text.isascii()
    assert content.text.endswith("\n\n</details>")


@pytest.mark.parametrize("character", ["x", "é", "`", "@", "|", "\n"])
@pytest.mark.parametrize(("times", "length"), [(10, 5_000), (60, 1_500)])
def test_largest_verdict_keeps_the_limits_of_github(character: str, times: int, length: int) -> None:
    long = f"a{character * length}b"
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
    assert all(len(note.message.encode()) <= 65_536 for note in content.annotations)
    assert len(content.annotations) <= 50


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "not set"), ("a", "`a`"), (2.5, "`2.5`"), (120.0, "`120`"), ({"a": 1}, '`{"a": 1}`'), (True, "`true`")],
)
def test_value_is_shown_as_in_yaml(value: object, text: str) -> None:
    assert value_phrase(value) == text


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], ": a"), (["a", "b"], ": a, b"), (["a", "b", "c"], ": a, b … and 1 more")]
)
def test_list_names_its_first_items_and_counts_the_rest(items: list[str], text: str) -> None:
    assert list_phrase(items, most=2) == text
