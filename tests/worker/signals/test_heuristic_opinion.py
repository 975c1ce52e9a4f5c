"""The heuristic opinion: its facts, score, confidence and bounded work."""

import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.signals.samples import RUBRIC, dossier_of, plain_dossier
from worker.domain.dossier import Ci, CiCheck, Criterion, Dossier
from worker.domain.verdict.verdict import CERTAIN_CONFIDENCE, Category, HeuristicOpinion
from worker.dossier.diff import DiffError
from worker.judge.rubric import load_rubric
from worker.signals.heuristic_opinion import (
    CRITERIA_IN_DOUBT,
    FACT_SCORE,
    PRIOR_SCORE,
    REGISTERED_NAMES,
    SAFE_SCORE,
    SIGNALS,
    UNSURE_CONFIDENCE,
    form_opinion,
)

STUB = "def load(path):\n    raise NotImplementedError\n"
SKIPPED = "@pytest.mark.skip\ndef test_a():\n    assert up()\n"
UNASSERTED = "def test_b():\n    up()\n"


def form_opinion_on(before: dict[str, str], after: dict[str, str], title: str = "Change") -> HeuristicOpinion:
    return form_opinion(dossier_of(before, after, title=title), RUBRIC)


def test_empty_diff_is_a_fact_without_location() -> None:
    empty = form_opinion(plain_dossier(""), RUBRIC)
    (fact,) = empty.facts
    assert (fact.category, fact.path, fact.line) == (Category.ACCEPTANCE_GAP, None, None)
    assert empty.reason == "a fact: the diff against the merge base is empty"


def test_empty_diff_finding_names_at_most_ten_criteria() -> None:
    criteria = tuple(Criterion(id=f"AC{number}", text="It does.") for number in range(1, 13))
    (fact,) = form_opinion(plain_dossier("").model_copy(update={"criteria": criteria}), RUBRIC).facts
    assert "(AC1, AC2, AC3, AC4, AC5, AC6, AC7, AC8, AC9, AC10)" in fact.step


TYPO = {"README.md": "Old\n\nOdl\n"}, {"README.md": "Old\n\nOld\n"}
EDIT = {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}
NEW_STUB = dict[str, str](), {"a.py": STUB}
UNPROVED = "nothing was found against it, which does not prove it right"
SAFE = "only spelling, layout or links of documentation changed"


@pytest.mark.parametrize(
    ("change", "title", "score", "confidence", "reason"),
    [
        (NEW_STUB, "Change", FACT_SCORE, 0.95, "a fact: the whole body of `load` is a stub (a.py:2)"),
        (TYPO, "Fix typo", SAFE_SCORE, 0.9, SAFE),
        (EDIT, "Change", PRIOR_SCORE, UNSURE_CONFIDENCE, UNPROVED),
    ],
    ids=["a fact", "a safe change", "nothing"],
)
def test_opinion_is_certain_of_facts_and_safe_changes_only(
    change: tuple[dict[str, str], dict[str, str]], title: str, score: float, confidence: float, reason: str
) -> None:
    formed = form_opinion_on(*change, title=title)
    assert (formed.score, formed.confidence, formed.reason) == (score, confidence, reason)
    assert formed.safe == (SAFE if reason == SAFE else None)


def test_findings_list_facts_first_and_each_line_once_per_category() -> None:
    findings = form_opinion_on({}, {"a.py": STUB, "tests/test_b.py": UNASSERTED, "tests/test_a.py": SKIPPED}).findings
    assert [finding.fact for finding in findings] == sorted((finding.fact for finding in findings), reverse=True)
    assert len({(finding.category, finding.path, finding.line) for finding in findings}) == len(findings)


def test_line_is_one_fact_when_two_categories_report_it() -> None:
    """An early return disables the test and makes its assertion unreachable."""
    test = "def test_a():\n    up()\n    assert is_up()\n"
    stopped = form_opinion_on(
        {"tests/test_a.py": test}, {"tests/test_a.py": test.replace("    up()", "    return\n    up()")}
    )
    assert [fact.signal for fact in stopped.facts] == ["test_disabled"]


def test_change_with_suspicion_is_not_safe() -> None:
    claimed = {"title": "Fix typo", "body": "I updated docs/usage.md."}
    formed = form_opinion(dossier_of(*TYPO, pull_request=claimed), RUBRIC)
    assert ([finding.signal for finding in formed.findings], formed.safe) == (["claimed_change_missing"], None)


def policy(**signals: str) -> dict[str, Any]:
    return {"policy": {"signals": signals}}


OTHER_SIGNALS_OFF = dict.fromkeys(("function_uncalled", "function_uncalled_suspected", "parameter_unused"), "off")


def demote_stub(after: dict[str, str], **more: Any) -> HeuristicOpinion:
    """The opinion with stub_body as a suspicion and the other signals of a stub off."""
    rules = policy(stub_body="suspicion", **OTHER_SIGNALS_OFF)
    return form_opinion(dossier_of({}, after, **rules, **more), RUBRIC)


def test_policy_demotes_fact_to_suspicion() -> None:
    formed = demote_stub({"a.py": STUB})
    assert [(finding.signal, finding.fact) for finding in formed.findings] == [("stub_body", False)]
    assert formed.score == pytest.approx(PRIOR_SCORE * 0.6)
    assert UNSURE_CONFIDENCE < formed.confidence < CERTAIN_CONFIDENCE


def test_policy_disables_signal_and_unknown_signal_is_reported() -> None:
    formed = form_opinion(dossier_of({}, {"a.py": STUB}, **policy(stub_body="off", stub_boddy="off")), RUBRIC)
    assert "stub_body" not in {finding.signal for finding in formed.findings}
    assert formed.signals["policy_unknown_signals"] == "stub_boddy"


def test_signal_lowers_score_once() -> None:
    several = {f"a{n}.py": STUB.replace("load", f"load_{n}") for n in range(4)}
    assert demote_stub(several).score == pytest.approx(demote_stub({"a0.py": STUB}).score, rel=0.01)


def test_reason_names_two_findings_and_counts_the_rest() -> None:
    many = demote_stub({f"a{n}.py": STUB for n in range(4)})
    stub = "the whole body of `load` is a stub"
    assert many.reason == f"a suspicion: {stub} (a0.py:2); {stub} (a1.py:2), and 2 more"


def test_signal_reports_at_most_twenty_findings() -> None:
    formed = form_opinion_on({}, {f"a{n}.py": STUB for n in range(60)})
    assert Counter(finding.signal for finding in formed.findings)["stub_body"] == 20


def test_signal_without_weight_keeps_score_and_its_facts() -> None:
    silent = RUBRIC.model_copy(update={"signals": {}})
    assert form_opinion(dossier_of({}, {"a.py": STUB}, **policy(stub_body="suspicion")), silent).score == PRIOR_SCORE
    assert form_opinion(dossier_of({}, {"a.py": STUB}), silent).facts


def ci(*checks: dict[str, object]) -> dict[str, Any]:
    return {
        "ci": {"state": "success", "checks": [{"name": "test", "conclusion": "success", **check} for check in checks]}
    }


@pytest.mark.parametrize(
    ("check", "doubt"),
    [
        ({"name": "fuzz", "conclusion": "failure", "required": False}, "fuzz failed, though it is not required"),
        ({"required": True, "attempt": 2}, "test passed only at attempt 2"),
    ],
)
def test_flaky_ci_check_lowers_score_and_no_change_is_safe(check: dict[str, object], doubt: str) -> None:
    typo = dossier_of({"README.md": "Odl\n"}, {"README.md": "Old\n"}, title="Fix typo", **ci(check))
    formed = form_opinion(typo, RUBRIC)
    assert formed.safe is None
    assert formed.score <= PRIOR_SCORE - 0.3
    assert formed.confidence < CERTAIN_CONFIDENCE
    assert (formed.reason, formed.signals["ci_doubt"]) == (doubt, doubt)


def test_unmet_criterion_is_listed_and_lowers_score() -> None:
    criteria = [{"id": "AC1", "text": "`retry_upload` is documented in `docs/retry.md`"}]
    formed = form_opinion(dossier_of(*EDIT, criteria=criteria), RUBRIC)
    assert [criterion.id for criterion in formed.criteria] == ["AC1"]
    assert formed.score < PRIOR_SCORE


def test_unmet_criterion_is_the_reason_without_findings() -> None:
    criteria = [{"id": "AC1", "text": "Uploads that hit a timeout are retried with exponential backoff"}]
    off = policy(**dict.fromkeys(("name_not_found", "path_not_changed", "test_not_found", "docs_not_changed"), "off"))
    formed = form_opinion(dossier_of(*EDIT, criteria=criteria, **off), RUBRIC)
    assert formed.findings == ()
    assert formed.reason == f"AC1: {formed.criteria[0].note}"
    assert formed.signals[CRITERIA_IN_DOUBT] == "AC1"


def test_suspicion_contradicts_met_criteria_and_lowers_confidence() -> None:
    criteria = [{"id": "AC1", "text": "Add `load`"}]
    formed = demote_stub({"a.py": STUB}, criteria=criteria)
    assert CRITERIA_IN_DOUBT not in formed.signals
    assert formed.signals["contradiction"] is True
    assert formed.confidence < demote_stub({"a.py": STUB}).confidence


def test_shipped_rubric_weighs_exactly_the_registered_signals() -> None:
    assert set(load_rubric().signals) == REGISTERED_NAMES
    assert len(REGISTERED_NAMES) == len(SIGNALS)


def test_partly_parsed_change_has_no_facts_and_is_not_safe() -> None:
    comments = {"b.py": f"# {'x' * 97}\n" * 5_500}
    stub = {"a.py": STUB, **comments}
    formed = form_opinion_on({}, stub)
    assert "stub_body" in {finding.signal for finding in formed.findings}
    assert (formed.facts, formed.signals["files_not_parsed"]) == ((), 1)
    assert form_opinion_on({}, comments, title="Fix typo").safe is None
    switched = form_opinion(dossier_of({}, stub, **policy(stub_body="off")), RUBRIC)
    assert "stub_body" not in {finding.signal for finding in switched.findings}


PIECES = st.sampled_from(
    [
        STUB, SKIPPED, UNASSERTED, "# TODO: implement\n", "x = 1\n", "<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n", "# words\n", "class A(B):\n    x = 1\n",
        "    def f(self) -> int:\n        pass\n", "fn f() {\n    todo!()\n}\n", 'func F() {\n\tpanic("TODO")\n}\n', "}\n", "'''\n", "/*\n", "```\n", "\x0c\n",
        "it.only('a', () => {\n", "\u2028\n", "#[ignore]\n", "@Disabled\n",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=6).map("".join)
PATHS = st.sampled_from(
    "a.py a.rs a.go A.java a.ts a.js a.tsx tests/test_a.py a.test.ts README.md docs/a.rst a.adoc".split()  # noqa: SIM905
)
TREES = st.dictionaries(PATHS, TEXTS, max_size=3)


@settings(max_examples=settings().max_examples * 15 // 10, deadline=None)
@given(before=TREES, after=TREES, title=st.sampled_from(["Fix typo", "Add upload"]), texts=st.booleans())
def test_generated_opinion_is_certain_of_facts_and_safe_changes_only(
    before: dict[str, str],
    after: dict[str, str],
    title: str,
    texts: bool,  # noqa: FBT001 - drawn by the property
) -> None:
    formed = form_opinion(dossier_of(before, after, texts=texts, title=title), RUBRIC)
    assert (formed.confidence >= CERTAIN_CONFIDENCE) == bool(formed.facts or formed.safe)
    assert (formed.score < 0.5) or not formed.facts
    assert formed.safe is None or (formed.score >= 0.9 and not formed.findings)
    assert all(finding.path is None or finding.line is not None for finding in formed.findings)


@settings(max_examples=settings().max_examples, deadline=None)
@given(before=TREES, after=TREES)
def test_finding_names_an_existing_line(before: dict[str, str], after: dict[str, str]) -> None:
    for finding in form_opinion(dossier_of(before, after), RUBRIC).findings:
        if finding.path is not None and finding.line is not None:
            text = (after if finding.side == "head" else before)[finding.path]
            assert finding.line <= (finding.end_line or finding.line) <= text.count("\n")


@settings(max_examples=settings().max_examples, deadline=None)
@given(path=PATHS, junk=st.text(max_size=60), diff=st.text(max_size=60), text=st.text(max_size=60))
def test_opinion_raises_only_diff_errors(path: str, junk: str, diff: str, text: str) -> None:
    whole = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{junk}\n+{text}\n"
    for raw in (diff, whole):
        with suppress(DiffError):
            form_opinion(plain_dossier(raw, files=[{"path": path, "text": junk}]), RUBRIC)


PROBE = """
import sys
from tests.worker.signals.samples import RUBRIC, dossier_of
from worker.signals.heuristic_opinion import form_opinion
for path in ("README.md", "Makefile", "a.go"):
    form_opinion(dossier_of({path: "a" + chr(10)}, {path: "todo" + chr(10)}), RUBRIC)
    print(*sorted({name.partition(".")[0] for name in sys.modules if name.startswith("tree_sitter")}))
"""


def test_opinion_loads_only_grammars_of_changed_languages() -> None:
    root = Path(__file__).resolve().parents[3]
    run = subprocess.run([sys.executable, "-c", PROBE], cwd=root, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["tree_sitter", "tree_sitter", "tree_sitter tree_sitter_go"]


LINES = "\n" * 40_000
DOCUMENTED = 'def f():\n    """%s"""\n    return 1\n' + LINES
HOSTILE: dict[str, dict[str, str]] = {
    "a long name of a class above": {
        "test_a.py": f"class TestA({'Aa' * 20_000}):\n    def test_a(self):\n        pytest.skip('x')\n"
    },
    "blank lines below a double": {
        "test_a.py": f"def test_a():\n    x.y.return_value = 3\n{LINES}    assert x.y() == 3\n"
    },
    "a long name in a test": {"test_a.py": f"def test_a():\n    got = {'a' * 40_000} + 1\n    assert got == run(1)\n"},
    "blank lines in a comment of PHP": {
        "tests/ATest.php": f"<?php\nclass ATest extends TestCase {{\n/*\n{LINES}*/\n  public function a() {{ f(); }}\n}}\n"
    },
    "a long folder": {f"src/{'_' * 3_900}/{number}.cs": "x\n" for number in range(60)},
    "signs that no grammar makes anything of": {"src/a.rs": "&\n" * 60_000},
    "such signs in rows": {"src/a.ts": ("!\n" * 400 + "a\n") * 150},
    "blank lines in a last comment": {"a.test.ts": "test('a', () => {\n  load()\n  /* " + " \n" * 20_000 + "*/\n})\n"},
}


@pytest.mark.parametrize("after", HOSTILE.values(), ids=HOSTILE)
def test_opinion_on_hostile_file_takes_linear_time(after: dict[str, str]) -> None:
    assert cpu_seconds(dossier_of({}, after)) < CPU_LIMIT


def test_opinion_on_hostile_text_takes_linear_time() -> None:
    readme = {"README.md": "odl\n"}, {"README.md": "old\n"}
    documents = {"a.py": DOCUMENTED % "One."}, {"a.py": DOCUMENTED % "Two."}
    rules = [{"path": "AGENTS.md", "text": "# Rules\n\n- Never use `compile()`.\n"}]
    cited = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": "tests/test_a.py::TestB::testc"}]}
    issues = [{"number": 7, "title": "Typo in the README", "body": "a-" * 30_000}]
    besides = [{"id": "AC1", "text": f"Fix typos and then{' ' * 19_000}x", "inferred": True}]
    dossiers = {
        "names in an issue": dossier_of(*readme, issues=issues),
        "spaces in a body": dossier_of(*readme, title="docs: fix typos", criteria=besides),
        "blank lines below documentation": dossier_of(*documents, title="docs: fix typos"),
        "blank lines before what a rule forbids": dossier_of(
            {}, {"src/a.py": f"x = 1\n{LINES}y = compile(x)\n"}, guidance=rules
        ),
        "blank lines in a file that is cited": dossier_of(
            {}, {"tests/test_a.py": f"def test_a():\n    f()\n{LINES}x = 1\n"}, case=cited
        ),
    }
    assert {name: took for name, dossier in dossiers.items() if (took := cpu_seconds(dossier)) >= CPU_LIMIT} == {}


CPU_LIMIT = 5
"""Seconds; linear work takes a tenth of it, quadratic work a minute."""


def cpu_seconds(dossier: Dossier) -> float:
    started = time.process_time()
    form_opinion(dossier, RUBRIC)
    return time.process_time() - started


def test_unmeasured_language_yields_no_facts_and_no_safe_change() -> None:
    cart = "class Cart {\n%s    fun count() = rows.size\n}\n"
    before, after = (
        {"src/main/Cart.kt": cart % ""},
        {"src/main/Cart.kt": cart % "    fun total(a: Int): Int = TODO()\n"},
    )
    opinion = form_opinion(dossier_of(before, after), RUBRIC)
    assert (opinion.findings[0].signal, opinion.findings[0].fact, opinion.safe) == ("stub_body", False, None)
    typo = dossier_of({"a.rb": "# Odl.\n"}, {"a.rb": "# Old.\n"}, title="Fix a typo in a comment")
    assert form_opinion(typo, RUBRIC).safe is None


def check(name: str, conclusion: str | None, *, required: bool | None = None, attempt: int = 1) -> CiCheck:
    return CiCheck(name=name, conclusion=conclusion, required=required, attempt=attempt)


FUZZ_FAILED = check("fuzz", "failure", required=False)


@pytest.mark.parametrize(
    ("ci", "doubt"),
    [
        (Ci(checks=(check("test", "success", required=True), FUZZ_FAILED)), "fuzz failed, though it is not required"),
        (Ci(checks=(check("test", "success", required=True, attempt=3),)), "test passed only at attempt 3"),
        (None, None),
        (Ci(), None),
        (Ci(checks=(check("test", "success", required=True),)), None),
        (Ci(checks=(check("lint", "success", attempt=2),)), None),
        (Ci(checks=(check("lint", "failure"),)), None),
        (Ci(checks=(check("docs", None, required=False),)), None),
    ],
)
def test_unreliable_check_raises_a_ci_doubt(ci: Ci | None, doubt: str | None) -> None:
    dossier = plain_dossier("").model_copy(update={"ci": ci})
    assert form_opinion(dossier, RUBRIC).signals.get("ci_doubt") == doubt
