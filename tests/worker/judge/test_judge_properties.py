"""Whatever the dossier, the tier and the model: one whole verdict, and never an exception."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.worker.judge.making import (
    DIFF,
    TEXTS,
    accept,
    accepted,
    bench,
    cannot_tell,
    docket,
    dossier,
    entry,
    model_of,
    new_file,
    reject,
    rejected,
    unjudged,
)
from worker.domain.dossier import (
    Ci,
    CiCheck,
    CiState,
    Criterion,
    Dossier,
    Guidance,
    HeadFile,
    Issue,
    UnreadFile,
    UnreadReason,
)
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    Abstain,
    Accept,
    ConditionState,
    JudgeKind,
    Reject,
)
from worker.errors import Unavailable
from worker.judge.context import JudgeContext
from worker.judge.judge import judge

WORD = st.sampled_from(
    ["retry", "docs", "é", "\u202e", "\x00", " ", "", "AC1", "a" * 300, "[[x end]]", "```", "fix: x"]
)
PROSE = st.lists(WORD, max_size=6).map(" ".join)
PATHS = "upload.py|tests/test_upload.py|README.md|a b.go|src/Main.java|x.rs|Makefile|ä.ts|gone.py|g.lock"
PATH = st.sampled_from(PATHS.split("|"))
LINE = st.sampled_from([
    "def send(data):", "    pass", "    return post(data)", "    raise NotImplementedError", "# TODO: finish", "-- a", "++ b",
    "<<<<<<< HEAD", "=======", ">>>>>>> theirs", "@pytest.mark.skip", "def test_x():", "    assert True",
    "fn main() { todo!() }", "", "\tx\r", "\u2028\ufeff", "Some prose.",
])  # fmt: skip
LINES = st.lists(LINE, min_size=1, max_size=8)


def deleted(path: str, lines: list[str]) -> str:
    body = "".join(f"-{line}\n" for line in lines)
    head = (
        f"diff --git a/{path} b/{path}\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/{path}\n+++ /dev/null\n"
    )
    return f"{head}@@ -1,{len(lines)} +0,0 @@\n{body}"


def edited(path: str, old: list[str], new: list[str]) -> str:
    body = "".join([*(f"-{line}\n" for line in old), *(f"+{line}\n" for line in new)])
    head = f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{head}@@ -1,{len(old)} +1,{len(new)} @@ def x():\n{body}\\ No newline at end of file\n"


def seated(threshold: float, answers: list[Any] | None) -> JudgeContext:
    return bench(None if answers is None else model_of(*answers), threshold)


def odd(path: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..1\nBinary files /dev/null and b/{path} differ\n",
            f"diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n",
            f"diff --git a/{path} b/moved\nsimilarity index 100%\nrename from {path}\nrename to moved\n",
            new_file(path, "target", mode="120000"),
            new_file(path, "Subproject commit 1111111", mode="160000"),
            new_file(path),
            new_file(path) * 2,
        ]
    )


FILE = st.one_of(
    st.builds(lambda path, lines: new_file(path, *lines), PATH, LINES),
    st.builds(deleted, PATH, LINES),
    st.builds(edited, PATH, LINES, LINES),
    PATH.flatmap(odd),
)
DIFFS = st.one_of(st.just(DIFF), st.lists(FILE, max_size=5).map("".join), st.just(""), PROSE, st.text(max_size=40))
TEXT = st.one_of(LINES.map("\n".join), st.sampled_from(list(TEXTS.values())), st.text(max_size=30))
HEADS = st.builds(lambda path, text: HeadFile(path=path, text=text, exists=text is not None), PATH, st.none() | TEXT)
CLAIM = st.builds(
    CoverageClaim,
    criterion=st.sampled_from(["AC1", "AC9", "retry"]),
    addressed_by=st.sampled_from(["upload.py:send", "gone.py", "x", "upload.py:99"]),
    evidence=st.none() | st.just("a.py"),
)
CASES = st.builds(
    Case, summary=st.just("s"), ac_coverage=st.lists(CLAIM, max_size=3).map(tuple), work_arounds=st.just(("w",))
)
CHECK = st.builds(
    CiCheck,
    name=WORD,
    conclusion=st.sampled_from([None, "success", "failure", "neutral", "odd"]),
    required=st.sampled_from([None, True, False]),
    log_tail=PROSE,
)
CIS = st.builds(Ci, state=st.none() | st.sampled_from(CiState), checks=st.lists(CHECK, max_size=3).map(tuple))
ENTRIES = st.sampled_from([entry(rejected()), entry(accepted()), entry(unjudged())])
DOSSIERS = st.builds(
    dossier,
    diff=DIFFS,
    files=st.none() | st.lists(HEADS, max_size=4),
    criteria=st.lists(
        st.builds(Criterion, id=st.sampled_from(["AC1", "AC2", " ", "x"]), text=st.just("docs")), max_size=4
    ),
    issues=st.lists(st.builds(Issue, number=st.just(7), title=PROSE, body=PROSE), max_size=2),
    case=st.none() | CASES,
    ci=st.none() | CIS,
    guidance=st.lists(st.builds(Guidance, path=PATH, text=PROSE), max_size=2),
    files_unread=st.lists(st.builds(UnreadFile, path=PATH, reason=st.sampled_from(UnreadReason)), max_size=2),
    ledger=st.lists(ENTRIES, max_size=7),
    contest=st.none() | PROSE,
)
DOWN = Unavailable("The model", "down")
ANSWERS = st.one_of(
    st.sampled_from([accept(), reject(), cannot_tell(), accept(criteria=[], evidence=[]), reject(criteria=[]), DOWN]),
    st.text(max_size=20),
    st.builds(json.dumps, st.dictionaries(st.sampled_from(sorted(accept())), st.integers() | st.text(max_size=3))),
)
SCRIPTS = st.none() | st.just([DOWN]) | st.lists(ANSWERS, min_size=2, max_size=2)
THRESHOLDS = st.sampled_from([0.0, 0.5, 0.7, 1.0, 2.0])
BENCHES = st.builds(seated, THRESHOLDS, SCRIPTS)
HARD = settings(
    max_examples=settings().max_examples * 6 // 10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@settings(HARD, max_examples=settings().max_examples)
@given(DOSSIERS, THRESHOLDS, SCRIPTS)
def test_every_dossier_gets_one_whole_verdict_and_the_same_one_twice(
    of: Dossier, threshold: float, answers: list[Any] | None
) -> None:
    verdict, again = (judge(of, docket(), seated(threshold, answers)) for _ in range(2))
    assert again == verdict
    assert VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(verdict)) == verdict
    facts = [finding for finding in verdict.findings if finding.fact]
    if facts and not (isinstance(verdict, Abstain) and verdict.signals.get("escalation_skipped") == "ci"):
        assert isinstance(verdict, Reject)
    if isinstance(verdict, Accept):
        assert not facts
        assert verdict.evidence
    if isinstance(verdict, Reject):
        left = [condition.text for condition in verdict.closing_conditions if condition.state is ConditionState.OPEN]
        assert left if of.ledger else left[0] == verdict.next_step
    if answers is None:
        assert (verdict.judge_kind, verdict.judge_cost_usd, verdict.judge_model) == (JudgeKind.HEURISTIC, 0, None)
        assert not isinstance(verdict, Accept) or not verdict.findings
        assert not isinstance(verdict, Accept) or verdict.confidence >= min(threshold, 0.7)
    if answers == [DOWN] and threshold > 1:
        assert not isinstance(verdict, Accept), "an outage is never a pass"
    if answers == [DOWN] and isinstance(verdict, Reject):
        assert facts, "nor does it reject"
