"""The heuristic opinion: what makes it sure, how it scores, and that nothing makes it fail."""

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
from worker.domain.dossier import Criterion, Dossier
from worker.domain.verdict.verdict import CERTAIN_CONFIDENCE, Category, HeuristicOpinion
from worker.dossier.diff.parser import DiffError
from worker.judge.rubric import load_rubric
from worker.signals.heuristic_opinion import (
    CRITERIA_IN_DOUBT,
    FACT_SCORE,
    PRIOR_SCORE,
    SAFE_SCORE,
    UNSURE_CONFIDENCE,
    form_opinion,
)
from worker.signals.registry import REGISTERED_NAMES, SIGNALS

STUB = "def load(path):\n    raise NotImplementedError\n"
SKIPPED = "@pytest.mark.skip\ndef test_a():\n    assert up()\n"
UNASSERTED = "def test_b():\n    up()\n"


def opinion(before: dict[str, str], after: dict[str, str], title: str = "Change") -> HeuristicOpinion:
    return form_opinion(dossier_of(before, after, title=title), RUBRIC)


def test_an_empty_diff_is_a_fact_without_a_place() -> None:
    empty = form_opinion(plain_dossier(""), RUBRIC)
    (fact,) = empty.facts
    assert (fact.category, fact.path, fact.line) == (Category.ACCEPTANCE_GAP, None, None)
    assert empty.reason == "a fact: the diff against the merge base is empty"


def test_an_empty_diff_names_ten_criteria_at_most() -> None:
    criteria = tuple(Criterion(id=f"AC{number}", text="It does.") for number in range(1, 13))
    (fact,) = form_opinion(plain_dossier("").model_copy(update={"criteria": criteria}), RUBRIC).facts
    assert "(AC1, AC2, AC3, AC4, AC5, AC6, AC7, AC8, AC9, AC10)" in fact.step


TYPO = {"README.md": "Old\n\nOdl\n"}, {"README.md": "Old\n\nOld\n"}
SAFE = "only spelling, layout or links of documentation changed"


@pytest.mark.parametrize(
    ("change", "title", "score", "confidence", "reason"),
    [
        (
            (dict[str, str](), {"a.py": STUB}),
            "Change",
            FACT_SCORE,
            0.95,
            "a fact: the whole body of `load` is a stub (a.py:2)",
        ),
        (TYPO, "Fix typo", SAFE_SCORE, 0.9, SAFE),
        (
            ({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}),
            "Change",
            PRIOR_SCORE,
            UNSURE_CONFIDENCE,
            "nothing was found against it, which does not prove it right",
        ),
    ],
    ids=["a fact", "a safe change", "nothing"],
)
def test_a_fact_and_a_safe_change_are_sure_and_without_either_it_is_not(
    change: tuple[dict[str, str], dict[str, str]], title: str, score: float, confidence: float, reason: str
) -> None:
    formed = opinion(*change, title=title)
    assert (formed.score, formed.confidence, formed.reason) == (score, confidence, reason)
    assert formed.safe == (SAFE if reason == SAFE else None)


def test_facts_come_first_and_one_place_is_told_once_per_category() -> None:
    found = opinion({}, {"a.py": STUB, "tests/test_b.py": UNASSERTED, "tests/test_a.py": SKIPPED}).findings
    assert [one.fact for one in found] == sorted((one.fact for one in found), reverse=True)
    assert len({(one.category, one.path, one.line) for one in found}) == len(found)


def test_one_place_is_one_fact_though_two_categories_know_it() -> None:
    """An early return switches the test off, and what it asserts is not reached: there is one thing to mend."""
    test = "def test_a():\n    up()\n    assert is_up()\n"
    stopped = opinion({"tests/test_a.py": test}, {"tests/test_a.py": test.replace("    up()", "    return\n    up()")})
    assert [one.signal for one in stopped.facts] == ["test_disabled"]


def test_a_suspicion_keeps_a_change_from_being_safe() -> None:
    claimed = {"title": "Fix typo", "body": "I updated docs/usage.md."}
    noted = form_opinion(dossier_of(*TYPO, pull_request=claimed), RUBRIC)
    assert ([one.signal for one in noted.findings], noted.safe) == (["claimed_change_missing"], None)


def policy(**signals: str) -> dict[str, Any]:
    return {"policy": {"signals": signals}}


OTHERS_OFF = dict.fromkeys(("function_uncalled", "function_uncalled_suspected", "parameter_unused"), "off")


def demoted(after: dict[str, str], **more: Any) -> HeuristicOpinion:
    """Stubs as suspicions, and what else may be said of them left out."""
    rules = policy(stub_body="suspicion", **OTHERS_OFF)
    return form_opinion(dossier_of({}, after, **rules, **more), RUBRIC)


def test_a_repository_demotes_a_fact_to_a_suspicion() -> None:
    judged = demoted({"a.py": STUB})
    assert [(one.signal, one.fact) for one in judged.findings] == [("stub_body", False)]
    assert judged.score == pytest.approx(PRIOR_SCORE * 0.6)
    assert UNSURE_CONFIDENCE < judged.confidence < CERTAIN_CONFIDENCE


def test_a_repository_switches_a_signal_off_and_one_that_there_is_not_is_told() -> None:
    judged = form_opinion(dossier_of({}, {"a.py": STUB}, **policy(stub_body="off", stub_boddy="off")), RUBRIC)
    assert "stub_body" not in {one.signal for one in judged.findings}
    assert judged.signals["policy_unknown_signals"] == "stub_boddy"


def test_each_signal_takes_its_share_once() -> None:
    several = {f"a{n}.py": STUB.replace("load", f"load_{n}") for n in range(4)}
    assert demoted(several).score == pytest.approx(demoted({"a0.py": STUB}).score, rel=0.01)


def test_the_reason_names_two_findings_and_counts_the_rest() -> None:
    many = demoted({f"a{n}.py": STUB for n in range(4)})
    stub = "the whole body of `load` is a stub"
    assert many.reason == f"a suspicion: {stub} (a0.py:2); {stub} (a1.py:2), and 2 more"


def test_a_change_full_of_findings_is_told_twenty_times_of_each_signal() -> None:
    many = opinion({}, {f"a{n}.py": STUB for n in range(60)})
    assert Counter(one.signal for one in many.findings)["stub_body"] == 20


def test_a_signal_that_the_rubric_does_not_weigh_lowers_nothing_and_a_fact_stays_one() -> None:
    silent = RUBRIC.model_copy(update={"signals": {}})
    assert form_opinion(dossier_of({}, {"a.py": STUB}, **policy(stub_body="suspicion")), silent).score == PRIOR_SCORE
    assert form_opinion(dossier_of({}, {"a.py": STUB}), silent).facts


def ci(*checks: dict[str, object]) -> dict[str, Any]:
    return {"ci": {"state": "success", "checks": [{"name": "test", "conclusion": "success", **one} for one in checks]}}


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"name": "fuzz", "conclusion": "failure", "required": False}, "fuzz failed, though it is not required"),
        ({"required": True, "attempt": 2}, "test passed only at attempt 2"),
    ],
)
def test_a_validator_that_wavered_lowers_the_score_and_makes_no_change_safe(
    check: dict[str, object], said: str
) -> None:
    typo = dossier_of({"README.md": "Odl\n"}, {"README.md": "Old\n"}, title="Fix typo", **ci(check))
    judged = form_opinion(typo, RUBRIC)
    assert judged.safe is None
    assert judged.score <= PRIOR_SCORE - 0.3
    assert judged.confidence < CERTAIN_CONFIDENCE
    assert (judged.reason, judged.signals["ci_doubt"]) == (said, said)


def test_a_criterion_that_nothing_shows_is_marked_and_no_change_is_safe() -> None:
    criteria = [{"id": "AC1", "text": "`retry_upload` is documented in `docs/retry.md`"}]
    judged = form_opinion(dossier_of({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, criteria=criteria), RUBRIC)
    assert [one.id for one in judged.criteria] == ["AC1"]
    assert judged.score < PRIOR_SCORE


def test_an_unmet_criterion_alone_is_the_reason() -> None:
    criteria = [{"id": "AC1", "text": "Uploads that hit a timeout are retried with exponential backoff"}]
    off = policy(**dict.fromkeys(("name_not_found", "path_not_changed", "test_not_found", "docs_not_changed"), "off"))
    judged = form_opinion(dossier_of({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, criteria=criteria, **off), RUBRIC)
    assert judged.findings == ()
    assert judged.reason == f"AC1: {judged.criteria[0].note}"
    assert judged.signals[CRITERIA_IN_DOUBT] == "AC1"


def test_a_strong_suspicion_against_a_change_that_shows_all_that_was_listed_is_a_contradiction() -> None:
    criteria = [{"id": "AC1", "text": "Add `load`"}]
    judged = demoted({"a.py": STUB}, criteria=criteria)
    assert CRITERIA_IN_DOUBT not in judged.signals
    assert judged.signals["contradiction"] is True
    assert judged.confidence < demoted({"a.py": STUB}).confidence


def test_the_rubric_that_ships_weighs_exactly_the_signals_there_are() -> None:
    assert set(load_rubric().signals) == REGISTERED_NAMES
    assert len(REGISTERED_NAMES) == len(SIGNALS)


def test_where_not_all_code_was_looked_at_there_are_no_facts_and_nothing_is_safe() -> None:
    """What is not parsed may use, test or replace anything."""
    words = {"b.py": f"# {'x' * 97}\n" * 5_500}
    stub = {"a.py": STUB, **words}
    judged = opinion({}, stub)
    assert "stub_body" in {one.signal for one in judged.findings}
    assert (judged.facts, judged.signals["files_not_parsed"]) == ((), 1)
    assert opinion({}, words, title="Fix typo").safe is None
    switched = form_opinion(dossier_of({}, stub, **policy(stub_body="off")), RUBRIC)
    assert "stub_body" not in {one.signal for one in switched.findings}


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
def test_it_is_certain_only_through_a_fact_or_a_safe_change(
    before: dict[str, str],
    after: dict[str, str],
    title: str,
    texts: bool,  # noqa: FBT001 - drawn by the property
) -> None:
    judged = form_opinion(dossier_of(before, after, texts=texts, title=title), RUBRIC)
    assert (judged.confidence >= CERTAIN_CONFIDENCE) == bool(judged.facts or judged.safe)
    assert (judged.score < 0.5) or not judged.facts
    assert judged.safe is None or (judged.score >= 0.9 and not judged.findings)
    assert all(finding.path is None or finding.line is not None for finding in judged.findings)


@settings(max_examples=settings().max_examples, deadline=None)
@given(before=TREES, after=TREES)
def test_every_finding_stands_at_a_line_that_exists(before: dict[str, str], after: dict[str, str]) -> None:
    for finding in form_opinion(dossier_of(before, after), RUBRIC).findings:
        if finding.path is not None and finding.line is not None:
            text = (after if finding.side == "head" else before)[finding.path]
            assert finding.line <= (finding.end_line or finding.line) <= text.count("\n")


@settings(max_examples=settings().max_examples, deadline=None)
@given(path=PATHS, junk=st.text(max_size=60), diff=st.text(max_size=60), text=st.text(max_size=60))
def test_nothing_but_a_diff_error_escapes(path: str, junk: str, diff: str, text: str) -> None:
    whole = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{junk}\n+{text}\n"
    for raw in (diff, whole):
        with suppress(DiffError):
            form_opinion(plain_dossier(raw, files=[{"path": path, "text": junk}]), RUBRIC)


PROBE = """
import sys
from tests.worker.signals.samples import RUBRIC, dossier_of
from worker.signals.heuristic_opinion import form_opinion
for path in sys.argv[1:]:
    form_opinion(dossier_of({path: "a" + chr(10)}, {path: "todo" + chr(10)}), RUBRIC)
print(*sorted(name for name in sys.modules if name.startswith("tree_sitter")))
"""


def modules(*paths: str) -> set[str]:
    root = Path(__file__).resolve().parents[3]
    run = subprocess.run([sys.executable, "-c", PROBE, *paths], cwd=root, capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_only_the_grammars_of_the_changed_languages_are_loaded() -> None:
    assert modules("README.md", "Makefile") == {"tree_sitter"}
    assert modules("a.go") == {"tree_sitter", "tree_sitter_go"}


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
def test_no_file_makes_it_look_again_from_each_of_its_places(after: dict[str, str]) -> None:
    assert seconds(dossier_of({}, after)) < PATIENCE


def test_no_text_makes_it_look_again_from_each_of_its_places() -> None:
    words = {"README.md": "odl\n"}, {"README.md": "old\n"}
    documents = {"a.py": DOCUMENTED % "One."}, {"a.py": DOCUMENTED % "Two."}
    banned = [{"path": "AGENTS.md", "text": "# Rules\n\n- Never use `compile()`.\n"}]
    cited = {"summary": "s", "ac_coverage": [{"criterion": "AC1", "addressed_by": "tests/test_a.py::TestB::testc"}]}
    issues = [{"number": 7, "title": "Typo in the README", "body": "a-" * 30_000}]
    besides = [{"id": "AC1", "text": f"Fix typos and then{' ' * 19_000}x", "inferred": True}]
    made = {
        "names in an issue": dossier_of(*words, issues=issues),
        "spaces in a body": dossier_of(*words, title="docs: fix typos", criteria=besides),
        "blank lines below documentation": dossier_of(*documents, title="docs: fix typos"),
        "blank lines before what a rule forbids": dossier_of(
            {}, {"src/a.py": f"x = 1\n{LINES}y = compile(x)\n"}, guidance=banned
        ),
        "blank lines in a file that is cited": dossier_of(
            {}, {"tests/test_a.py": f"def test_a():\n    f()\n{LINES}x = 1\n"}, case=cited
        ),
    }
    assert {name: took for name, one in made.items() if (took := seconds(one)) >= PATIENCE} == {}


PATIENCE = 5
"""Seconds of one processor: what is looked at once takes a tenth of it, what is looked at from each place a minute."""


def seconds(dossier: Dossier) -> float:
    started = time.process_time()
    form_opinion(dossier, RUBRIC)
    return time.process_time() - started


def test_nothing_in_a_language_that_is_not_measured_rejects_and_no_change_of_one_is_safe() -> None:
    cart = "class Cart {\n%s    fun count() = rows.size\n}\n"
    before, after = (
        {"src/main/Cart.kt": cart % ""},
        {"src/main/Cart.kt": cart % "    fun total(a: Int): Int = TODO()\n"},
    )
    opinion = form_opinion(dossier_of(before, after), RUBRIC)
    assert (opinion.findings[0].signal, opinion.findings[0].fact, opinion.safe) == ("stub_body", False, None)
    typo = dossier_of({"a.rb": "# Odl.\n"}, {"a.rb": "# Old.\n"}, title="Fix a typo in a comment")
    assert form_opinion(typo, RUBRIC).safe is None
