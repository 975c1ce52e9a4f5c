"""A verdict as its check and the terminal show it: what decides, what it rests on, and what the check concludes."""

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
from worker.domain.check.check_run import (
    CONTEST,
    HELPFUL,
    NOT_HELPFUL,
    REJUDGE,
    CheckContent,
    Conclusion,
)
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
from worker.domain.ids import EvalId
from worker.domain.judge_request import AuthorKind
from worker.domain.pause import JudgingPause, pause_to_signals
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
from worker.judge.escalation import Pause
from worker.judge.llm.model_judge import cap_signals
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
NEEDS_ONE: Final = abstained(AbstainReason.NEEDS_HUMAN)


def human(text: str) -> str:
    return text.partition("<details>")[0]


def lines_of(verdict: Verdict, judged: Dossier) -> tuple[list[str], list[str]]:
    content = check_content(verdict, judged)
    check = f"{content.title}\n{content.summary}\n{human(content.text)}"
    return check.split("\n"), verdict_report(verdict, judged, WIDE).split("\n")


def changed(verdict: Verdict, judged: Dossier | None = None) -> tuple[str, str]:
    """What check and terminal say of it that they do not say of a plain verdict of its kind."""
    plain = {
        "accept": accepted,
        "reject": rejected,
        "abstain": lambda: abstained(verdict.abstain_reason or AbstainReason.UNPROVEN),
    }[verdict.decision]()
    now, before = lines_of(verdict, judged or dossier()), lines_of(plain, dossier())
    check, terminal = (
        "\n".join(line for line in lines if line and line not in usual)
        for lines, usual in zip(now, before, strict=True)
    )
    return check, terminal


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


def told_of(*issues: Issue) -> str:
    """What a check says of the edits of these issues."""
    blocks = check_content(rejected(), dossier(issues=issues)).summary.split("\n\n")
    return "\n".join(block for block in blocks if "edited" in block or "renamed" in block)


def judged_by(verdict: Verdict) -> str:
    [line] = [line for line in check_content(verdict, dossier()).text.split("\n") if line.startswith("- Judged by")]
    return line


def notes_of(verdict: Verdict, judged: Dossier | None = None) -> str:
    notes = check_content(verdict, judged or dossier()).annotations
    return "\n".join(
        f"{note.path}:{note.start_line}-{note.end_line} {note.level}, {note.title}:\n{note.message}" for note in notes
    )


# --- word for word


def checks() -> Pages:
    yield "the summary shows everything that decides", everything().summary
    yield "the text shows everything that it rests on", human(everything().text)
    unmet = (CriterionVerdict(id="AC2", status=CriterionStatus.PARTIAL),)
    throttled = abstained(AbstainReason.BUDGET, throttled_reason=ThrottledReason.DAILY_CAP)
    alone = accepted(judge_kind=JudgeKind.HEURISTIC, judge_model=None, judge_cost_usd=0, judge_pricing_version=None)
    yield (
        "titles name what there is to name",
        check_content(rejected(evidence=(), criteria=unmet), dossier()).title,
        check_content(accepted(), UNASKED).title,
        check_content(alone, UNASKED).title,
        check_content(rejected(), UNASKED).title,
        check_content(abstained(AbstainReason.UNPROVEN), UNASKED).title,
        check_content(abstained(AbstainReason.PAUSED), UNASKED).title,
        check_content(throttled, dossier()).title,
        check_content(rejected(), OBSERVED).title,
        check_content(accepted(), OBSERVED).title,
    )
    edited_too = ISSUE.model_copy(update={"late_edits": (LATE,), "late_renames": (LATE,)})
    unsure = ISSUE.model_copy(update={"number": 8, "late_renames": (LateEdit(by="bob", at=LATE.at, used=True),)})
    yield (
        "a title of the issue that came too late is told beside its text",
        told_of(edited_too),
        told_of(unsure),
        told_of(ISSUE, unsure),
    )
    both = LATE, LATE.model_copy(update={"by": "alice"}), LATE
    twice = ISSUE.model_copy(update={"late_edits": both})
    unsure = ISSUE.model_copy(update={"number": 8, "late_edits": (LateEdit(by="bob", at=LATE.at, used=True),)})
    yield (
        "an edit of the issue that came too late is told",
        told_of(ISSUE),
        told_of(twice),
        told_of(unsure),
        told_of(ISSUE, twice, unsure),
    )
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
    yield (
        "the delivery that asked is named, so that the log can be searched for it",
        human(check_content(accepted(), dossier(), delivery_id="72d3162e").text),
        human(check_content(accepted(), dossier()).text),
    )


def facts() -> Pages:
    """What check and terminal say beside a plain verdict."""
    prose = Criterion(id="AC1", text="Retry uploads\n\n" + "Whoever uploads waits too long. " * 20, inferred=True)
    yield (
        "of an accept a few places are shown and of prose how it begins",
        *changed(accepted(evidence=(STUB,) * 23), dossier(criteria=(prose,))),
    )
    many = [rejected().findings[1].model_copy(update={"line": line}) for line in range(10, 24)]
    paths = tuple(f"{number}.py" for number in range(45))
    yield (
        "long lists are cut and say so",
        *changed(rejected(evidence=(STUB,) * 23, coverage=Coverage(read=paths), findings=many)),
    )
    finding, doubt = rejected().findings
    gone = doubt.model_copy(update={"path": "upload.py", "line": 17, "side": Side.BASE, "note": ""})
    yield "a place that the change took away is said to be one", *changed(rejected(findings=(gone,)))
    nowhere = finding.model_copy(update={"path": None, "line": None, "note": "the diff is empty"})
    unmet = (CriterionVerdict(id="any-change", status=CriterionStatus.MISSING),)
    empty = rejected(findings=(nowhere,), evidence=(), criteria=unmet, concern="The diff is empty.")
    yield "a fact without a place is said once of a reject", *changed(empty)
    yield (
        "a fact without a place is seen beside red CI",
        *changed(abstained(AbstainReason.CI_FAILED, findings=(nowhere,)), dossier(ci=FAILED_CI)),
    )
    silent = Ci(state=CiState.FAILURE, checks=(CiCheck(name="build", conclusion="timed_out"),))
    yield (
        "a check that failed without a word is named all the same",
        *changed(abstained(AbstainReason.CI_FAILED), dossier(ci=silent)),
    )
    partly = CriterionVerdict(id="AC1", status=CriterionStatus.PARTIAL, evidence=(STUB,), note="only once")
    yield "a criterion shows its places and why it stands so", *changed(rejected(criteria=(partly,)))
    claimed = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, claimed=True)
    yield (
        "what the author claims and nothing judged is called a claim",
        *changed(abstained(AbstainReason.UNPROVEN, criteria=(claimed,))),
    )
    places = (EvidencePointer(path="upload.py", line=17), EvidencePointer(path="tests/test_upload.py", line=4))
    spoken = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, evidence=places)
    unsaid = "not looked at; the name `retry` does not occur"
    silent_one = CriterionVerdict(id="AC2", status=CriterionStatus.UNVERIFIABLE, note=unsaid)
    asked = (Criterion(id="AC1", text="Uploads are tried again"), Criterion(id="AC2", text="`retry` is public"))
    loose = Finding(
        signal="assertion_removed", category=Category.WEAK_TEST, fact=False, path="tests/test_upload.py", line=4,
        side=Side.BASE, note="this assertion was removed from a test that stays",
    )  # fmt: skip
    yield (
        "where nothing was judged both say what to look at",
        *changed(
            abstained(AbstainReason.UNPROVEN, criteria=(spoken, silent_one), findings=(loose,)), dossier(criteria=asked)
        ),
    )


def more_facts() -> Pages:
    open_ones = (CriterionVerdict(id=DESCRIPTION, status=CriterionStatus.UNVERIFIABLE),)
    met = (CriterionVerdict(id=DESCRIPTION, status=CriterionStatus.MET, evidence=(STUB,)),)
    missing = CriterionVerdict(id="cited-file", status=CriterionStatus.MISSING, note="the case cites a.py")
    yield (
        "of a change without criteria nothing is called one",
        *changed(abstained(AbstainReason.UNPROVEN, criteria=open_ones), UNASKED),
        *changed(accepted(criteria=met), UNASKED),
        *changed(rejected(criteria=(missing,)), UNASKED),
    )
    yield (
        "a verdict that is carried over does not claim that the model was asked again",
        *changed(accepted(carried_from=EvalId("0199"))),
    )
    ticked = ClosingCondition(id="c1", text="Retry it on 503.", state=ConditionState.RESOLVED)
    to_do = ClosingCondition(id="c2", text="AC1 is met: uploads are retried")
    lone = (ClosingCondition(id="c1", text="Write it."),)
    yield (
        "conditions are open or ticked, and a lone one that is the next step is said once in the terminal",
        *changed(rejected(closing_conditions=(ticked, to_do))),
        *changed(accepted(closing_conditions=(ticked,))),
        *changed(rejected(closing_conditions=lone, next_step="Write it.")),
    )
    told = "first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"
    yield (
        "opinions that agree are shown as such",
        *changed(accepted(signals={"opinions": told, "opinions_agree": True})),
    )
    near = (
        NEAR,
        CapLevel(Cap.PULL, Decimal("0.08"), Decimal("0.10")),
        CapLevel(Cap.SHARE, Decimal("0.40"), Decimal("0.50")),
    )
    yield (
        "a cap that is near is a line, and none of a verdict that is carried over",
        *(text for level in (*near, None) for text in changed(accepted(signals=dict(cap_signals(level))))),
        *changed(accepted(signals=dict(cap_signals(NEAR)), carried_from=EvalId("before"))),
    )
    sides = {"what_works": "The retry itself.", "what_does_not": "No caller reads the reply."}
    content = check_content(rejected(signals=sides), dossier())
    yield (
        "what a change over many files is built on stands above its next step",
        content.summary,
        verdict_report(rejected(signals=sides), dossier(), PAGE),
    )


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
    yield "who silenced CI is told", *changed(*cases[4])


def configurations() -> Pages:
    """What check and terminal say of `.github/assay.yml`: of the files that count, and of what a pull request would change."""
    mistakes = "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\n"
    secret = config_texts("", default="mode: observe\nnever_send: [secret/**]\nmodel: secret\n")
    misnamed = ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True)
    own = HeadFile(path=CONFIG, text="mode: block\nnever_send: []\nmodel: x\n")
    cases: dict[str, tuple[Verdict, Dossier]] = {
        "no file and no edit of one": (rejected(), dossier(diff=config_edit("a.py"))),
        "who set what": (
            rejected(),
            dossier(config=config_texts("mode: block\n", default="ci_wait: 5m\nauthors: {people: judge}\n")),
        ),
        "a mistake": (rejected(), dossier(config=config_texts("mode: x"))),
        "no text, and a last version without a mistake": (
            rejected(),
            dossier(config=config_texts(None, "ci_wait: 5m")),
        ),
        "many mistakes": (rejected(), dossier(config=config_texts(mistakes))),
        "a file under the wrong name": (rejected(), dossier(config=(misnamed,))),
        "the owner's file, which may be private": (
            rejected(),
            dossier(config=config_texts("mode: block", default="mode: secret")),
        ),
        "what would replace the owner's": (rejected(), dossier(diff=config_edit(CONFIG), config=secret, files=(own,))),
        "a model that the operator does not allow": (
            rejected(signals={"model_not_allowed": "gpt"}),
            dossier(config=config_texts("model: gpt")),
        ),
        "what a pull request would change": (
            rejected(),
            dossier_editing_config(
                "mode: observe\nnever_send: ['a*']\nquiet_window: 2m\n", "signals: {stub_body: suspicion}\n"
            ),
        ),
        "a mistake in the new version": (rejected(), dossier_editing_config("\nmode: x\n", "mode: block\n")),
        "a rules file": (rejected(), dossier(diff=config_edit("src/AGENTS.md"))),
        "no rules file": (rejected(), dossier(diff=config_edit("a.py").replace("+y", "+see AGENTS.md"))),
        "an edit of a misnamed file": (rejected(), dossier(diff=config_edit(".github/assay.yaml"))),
        "an edit that could not be read": (rejected(), dossier(diff=config_edit(CONFIG))),
    }
    for title, case in cases.items():
        yield title, *changed(*case)


def budgets() -> Pages:
    text = verdict_report(accepted(signals=dict(cap_signals(NEAR))), dossier(), TerminalPage(width=200))
    yield (
        "a cap that is near is a row on the terminal",
        "\n".join([line for line in text.split("\n") if line.startswith("Budget")]),
    )
    amounts = ("0", "0.1", "1", "0.012345", "0.00005", "12.34")
    yield (
        "dollars are cents at least and hundredths of one at most",
        "\n".join(dollars(Decimal(usd)) for usd in amounts),
    )
    by = [{"signals": {"paused_by": by}} for by in ("operator", "repository")]
    yield (
        "a paused verdict says whose pause kept code checks too from judging",
        "\n".join(judged_by(abstained(AbstainReason.PAUSED, **changes)) for changes in (*by, {})),
    )
    away, unheard = (
        AbstainReason.JUDGE_UNAVAILABLE,
        {
            "judge_kind": JudgeKind.HYBRID,
            "judge_model": "claude-haiku-5-5",
            "judge_cost_usd": Decimal("0.0046"),
            "judge_pricing_version": "2026-11",
            "signals": {"unheard_usd": "0.0046"},
        },
    )
    carried = accepted(**unheard, carried_from=EvalId("0193"))
    yield (
        "what a model may have cost that nobody heard is told as the most",
        "\n".join(map(judged_by, (abstained(away, **unheard), abstained(away), accepted(**unheard), carried))),
    )
    told = "first (claude-haiku-5-5): reject, weak_test, 0.80; second (claude-opus-5-5): accept, 0.90"
    differ = accepted(signals={"opinions": told, "opinions_agree": False})
    yield (
        "opinions that differ are shown",
        *("\n".join(line for line in lines if "Opinions" in line) for lines in lines_of(differ, dossier())),
    )
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
    signals = pause_to_signals(hostile)
    content = check_content(
        abstained(AbstainReason.PAUSED, concern=concern, next_step=next_step, signals=signals), dossier()
    )
    yield "a pause on the check, with no markup of its reason", content.title, str(content.conclusion), content.summary


def terminals() -> Pages:
    verdict = rejected(
        evidence=(EvidencePointer(path="a.py", line=3, side=Side.BASE), STUB),
        coverage=Coverage(read=("upload.py",), partly=("big.py",), unread=("logo.png",)),
        judge_kind=JudgeKind.LLM,
        judge_cost_usd=None,
        carried_from=EvalId("0199"),
    )
    given = dossier(files_unread=UNREAD, case_error="summary is missing.", ci=None, issues=())
    rest = verdict_report(verdict, given, PAGE).partition("Read ")[2]
    yield "what was not read and what could not be used is said", rest
    late = ISSUE.model_copy(update={"late_edits": (LATE,)})
    text = verdict_report(rejected(), dossier(issues=(late,)), PAGE)
    yield "an edit of the issue that came too late is said", text.partition("Edited")[2].partition("CI ")[0]
    place = (EvidencePointer(path="upload.py", line=17),)
    spoken = CriterionVerdict(id="AC1", status=CriterionStatus.UNVERIFIABLE, evidence=place)
    doubt = Finding(signal="sleep_added", category=Category.TESTS_PASS_BUT_WRONG, fact=False, path="a.py", line=3)
    text = verdict_report(abstained(AbstainReason.UNPROVEN, criteria=(spoken,), findings=(doubt,)), dossier(), PAGE)
    yield "where nothing was judged the terminal says what to look at", text.partition("Read ")[0]


def test_what_people_read(golden: Golden) -> None:
    golden.check_pages("prose/texts/check_run.md", [*checks(), *facts(), *more_facts(), *titles(), *configurations()])
    golden.check_pages("prose/texts/budget.md", budgets())
    golden.check_pages("prose/texts/terminal.md", terminals())


# --- what it concludes


@pytest.mark.parametrize(
    ("policy", "verdict", "concludes", "says"),
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
def test_the_configuration_decides_what_a_verdict_concludes_and_the_text_says_so(
    policy: dict[str, object], verdict: Verdict, concludes: Conclusion, says: str
) -> None:
    judged = dossier(policy=Policy.model_validate(policy))
    content = check_content(verdict, judged)
    assert content.conclusion is concludes
    said = passing_phrase(verdict, judged)
    assert says in said
    assert bool(says) is bool(said)
    if says:
        assert content.summary.startswith(f"*{said}*")
        assert said.split(":")[0] in verdict_report(verdict, judged, WIDE)


@pytest.mark.parametrize(
    ("is_required", "policy", "concludes", "says"),
    [
        (True, {}, Conclusion.ACTION_REQUIRED, "The base branch requires this check"),
        (False, {}, Conclusion.NEUTRAL, ""),
        (None, {}, Conclusion.NEUTRAL, ""),
        (True, {"abstains": {"unproven": "neutral"}}, Conclusion.NEUTRAL, "says that unproven does not block"),
        (False, {"abstains": {"unproven": "block"}}, Conclusion.ACTION_REQUIRED, ""),
        (True, {"mode": "observe"}, Conclusion.NEUTRAL, "only observes: whatever"),
    ],
)
def test_without_a_model_only_a_required_check_blocks_a_change_that_nobody_judged(
    *, is_required: bool | None, policy: dict[str, object], concludes: Conclusion, says: str
) -> None:
    unproven = abstained(AbstainReason.UNPROVEN, signals=NO_MODEL)
    judged = dossier(policy=Policy.model_validate(policy), is_required=is_required)
    assert conclusion(unproven, judged) is concludes
    said = passing_phrase(unproven, judged)
    assert says in said
    assert bool(says) is bool(said)


@pytest.mark.parametrize("author", AuthorKind)
def test_a_check_that_only_observes_a_kind_of_author_says_so(author: AuthorKind) -> None:
    observing = OBSERVED.model_copy(update={"observed_as": author})
    assert conclusion(rejected(), observing) is Conclusion.NEUTRAL
    assert "only observed here, so the check neither passes nor blocks." in passing_phrase(rejected(), observing)


# --- limits, programs and hostile text


def test_githubs_limits_for_buttons_are_kept() -> None:
    for button in (REJUDGE, CONTEST, HELPFUL, NOT_HELPFUL):
        assert max(len(button.label), len(button.identifier)) <= 20
        assert len(button.description) <= 40


def test_on_a_telephone_nothing_is_out_of_sight_beside_the_screen() -> None:
    """At 375 px a list wraps, and a table of four columns shows one and a half."""
    content = everything()
    assert not [line for line in f"{content.summary}\n{content.text}".splitlines() if line.startswith("|")]


def test_a_report_is_cut_at_its_end_and_a_log_at_its_start() -> None:
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


def test_a_pull_request_can_not_speak_through_its_check() -> None:
    content = check_content(hostile_verdict(), hostile_dossier())
    for text in (content.summary, human(content.text)):
        page = render(text)
        assert set(page.tags) <= {"p", "strong", "em", "code", "pre", "h3", "ul", "li", "a"}
        assert all(url.startswith("https://github.com/acme/widgets/") for url in page.links)
        assert not ACTIVE.search(page.plain.replace("Next step:", ""))
        assert "\x1b" not in text
    assert not {"\x1b", "\u202e"} & {*content.title}


def test_nothing_in_a_repository_can_act_on_the_terminal() -> None:
    text = verdict_report(hostile_verdict(), hostile_dossier(), PAGE, [HOSTILE])
    assert not INVISIBLE.search(text)
    assert "␛[2J" in text


def test_what_stands_in_a_file_formats_and_links_nothing() -> None:
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
    assert all(len(note.message.encode()) <= 65_536 for note in content.annotations)
    assert len(content.annotations) <= 50


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "not set"), ("a", "`a`"), (2.5, "`2.5`"), (120.0, "`120`"), ({"a": 1}, '`{"a": 1}`'), (True, "`true`")],
)
def test_a_value_is_shown_as_in_yaml(value: object, text: str) -> None:
    assert value_phrase(value) == text


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], ": a"), (["a", "b"], ": a, b"), (["a", "b", "c"], ": a, b … and 1 more")],
)
def test_a_list_names_its_first_items_and_counts_the_rest(items: list[str], text: str) -> None:
    assert list_phrase(items, most=2) == text
