"""The heuristic opinion: what makes it sure, how it scores, and that nothing makes it fail."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.judge.heuristics.made import RUBRIC, dossier_of, plain_dossier
from worker.domain.diff import DiffError
from worker.domain.opinion import CERTAIN, HeuristicOpinion
from worker.domain.verdict import Category
from worker.judge.heuristics import FACT_SCORE, PRIOR, SAFE_SCORE, SIGNALS, UNSURE, consider
from worker.rulebook import load_rubric

STUB = "def load(path):\n    raise NotImplementedError\n"
SKIPPED = "@pytest.mark.skip\ndef test_a():\n    assert up()\n"
UNASSERTED = "def test_b():\n    up()\n"


def opinion(before: dict[str, str], after: dict[str, str], title: str = "Change") -> HeuristicOpinion:
    return consider(dossier_of(before, after, title=title), RUBRIC)


def test_an_empty_diff_is_a_fact_without_a_place() -> None:
    empty = consider(plain_dossier(""), RUBRIC)
    (fact,) = empty.facts
    assert (fact.category, fact.path, fact.line) == (Category.ACCEPTANCE_GAP, None, None)
    assert (empty.score, empty.confidence >= CERTAIN) == (FACT_SCORE, True)
    assert empty.reason == "a fact: the diff against the merge base is empty"


def test_a_fact_settles_the_score_and_names_its_place() -> None:
    rejected = opinion({}, {"a.py": STUB, "tests/test_a.py": SKIPPED})
    assert (rejected.score, rejected.confidence) == (FACT_SCORE, 0.95)
    assert rejected.reason == "a fact: the whole body of `load` is a stub (a.py:2)"
    assert len(rejected.findings) == 2


def test_a_safe_change_is_sure_and_says_why() -> None:
    safe = opinion({"README.md": "Odl\n"}, {"README.md": "Old\n"}, title="Fix typo")
    assert (safe.score, safe.confidence) == (SAFE_SCORE, 0.9)
    assert safe.safe == safe.reason


def test_a_suspicion_keeps_a_change_from_being_safe() -> None:
    conflict = "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
    assert opinion({"docs/a.md": "x\n"}, {"docs/a.md": conflict}, title="Fix typo").safe is None


def test_a_comment_that_admits_unfinished_work_is_not_safe() -> None:
    noted = opinion({"a.py": "x = 1\n"}, {"a.py": "x = 1  # TODO: implement the rest\n"}, title="Fix comments")
    assert (noted.safe, len(noted.findings)) == (None, 1)


def test_without_anything_it_is_unsure() -> None:
    plain = opinion({"a.py": "x = 1\n"}, {"a.py": "x = 2\n"})
    assert (plain.score, plain.confidence, plain.findings) == (PRIOR, UNSURE, ())
    assert plain.reason == "nothing was found against it, which does not prove it right"


def test_each_kind_of_suspicion_takes_its_share_once() -> None:
    one = opinion({}, {"tests/test_a.py": SKIPPED})
    twice = opinion({}, {"tests/test_a.py": SKIPPED, "tests/test_c.py": SKIPPED})
    two = opinion({}, {"tests/test_a.py": SKIPPED, "tests/test_b.py": UNASSERTED})
    assert one.score == twice.score == pytest.approx(PRIOR * 0.6)
    assert two.score == pytest.approx(PRIOR * 0.36)
    assert UNSURE < one.confidence < two.confidence < CERTAIN
    assert one.findings[0].weight == 0.4


def test_the_reason_names_two_findings_and_counts_the_rest() -> None:
    many = opinion({}, {f"tests/test_{n}.py": SKIPPED for n in range(4)})
    assert many.reason == (
        "a suspicion: a new test is skipped (tests/test_0.py:1); a new test is skipped (tests/test_1.py:1), and 2 more"
    )


def test_a_change_full_of_findings_is_told_fifty_times() -> None:
    many = opinion({}, {f"a{n}.py": STUB for n in range(60)})
    assert len(many.findings) == 50


def test_a_signal_that_the_rubric_does_not_weigh_lowers_nothing_and_a_fact_stays_one() -> None:
    silent = RUBRIC.model_copy(update={"signals": {}})
    assert consider(dossier_of({}, {"tests/test_a.py": SKIPPED}), silent).score == PRIOR
    assert consider(dossier_of({}, {"a.py": STUB}), silent).facts


def test_the_rubric_that_ships_weighs_exactly_the_signals_there_are() -> None:
    assert set(load_rubric().signals) == set(SIGNALS)
    assert len(SIGNALS) == len(set(SIGNALS))


PIECES = st.sampled_from(
    [
        STUB, SKIPPED, UNASSERTED, "# TODO: implement\n", "x = 1\n", "<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n", "# words\n", "class A(B):\n    x = 1\n",
        "    def f(self) -> int:\n        pass\n", "fn f() {\n    todo!()\n}\n", 'func F() {\n\tpanic("TODO")\n}\n', "}\n", "'''\n", "/*\n", "```\n", "\x0c\n",
        "it.only('a', () => {\n", "\u2028\n", "#[ignore]\n", "@Disabled\n",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=6).map("".join)
PATHS = st.sampled_from(
    [
        "a.py",
        "a.rs",
        "a.go",
        "A.java",
        "a.ts",
        "a.js",
        "a.tsx",
        "tests/test_a.py",
        "a.test.ts",
        "README.md",
        "docs/a.rst",
        "a.adoc",
    ]
)
TREES = st.dictionaries(PATHS, TEXTS, max_size=3)


@settings(max_examples=150, deadline=None)
@given(before=TREES, after=TREES, title=st.sampled_from(["Fix typo", "Add upload"]), texts=st.booleans())
def test_it_is_certain_only_through_a_fact_or_a_safe_change(
    before: dict[str, str],
    after: dict[str, str],
    title: str,
    texts: bool,  # noqa: FBT001 - drawn by the property
) -> None:
    judged = consider(dossier_of(before, after, texts=texts, title=title), RUBRIC)
    assert (judged.confidence >= CERTAIN) == bool(judged.facts or judged.safe)
    assert (judged.score < 0.5) or not judged.facts
    assert judged.safe is None or (judged.score >= 0.9 and not judged.findings)
    assert all(finding.path is None or finding.line is not None for finding in judged.findings)


@settings(max_examples=100, deadline=None)
@given(before=TREES, after=TREES)
def test_every_finding_stands_at_a_line_that_exists(before: dict[str, str], after: dict[str, str]) -> None:
    for finding in consider(dossier_of(before, after), RUBRIC).findings:
        if finding.path is not None and finding.line is not None:
            text = (after if finding.side == "head" else before)[finding.path]
            assert finding.line <= (finding.end_line or finding.line) <= text.count("\n")


@settings(max_examples=100, deadline=None)
@given(path=PATHS, junk=st.text(max_size=60), diff=st.text(max_size=60), text=st.text(max_size=60))
def test_nothing_but_a_diff_error_escapes(path: str, junk: str, diff: str, text: str) -> None:
    whole = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{junk}\n+{text}\n"
    for raw in (diff, whole):
        with suppress(DiffError):
            consider(plain_dossier(raw, files=[{"path": path, "text": junk}]), RUBRIC)


PROBE = """
import sys
from tests.worker.judge.heuristics.made import RUBRIC, dossier_of
from worker.judge.heuristics import consider
for path in sys.argv[1:]:
    consider(dossier_of({path: "a" + chr(10)}, {path: "todo" + chr(10)}), RUBRIC)
print(*sorted(name for name in sys.modules if name.startswith("tree_sitter")))
"""


def modules(*paths: str) -> set[str]:
    root = Path(__file__).resolve().parents[4]
    run = subprocess.run([sys.executable, "-c", PROBE, *paths], cwd=root, capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in run.stdout.split()}


def test_only_the_grammars_of_the_changed_languages_are_loaded() -> None:
    assert modules("README.md", "Makefile") == set()
    assert modules("a.go") == {"tree_sitter", "tree_sitter_go"}
