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
    AbstainReason,
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
PATH = st.sampled_from(
    [
        "upload.py",
        "tests/test_upload.py",
        "README.md",
        "a b.go",
        "src/Main.java",
        "x.rs",
        "Makefile",
        "ä.ts",
        "gone.py",
        "g.lock",
    ]
)
LINE = st.sampled_from(
    [
        "def send(data):",
        "    pass",
        "    return post(data)",
        "    raise NotImplementedError",
        "# TODO: finish",
        "<<<<<<< HEAD",
        "=======",
        ">>>>>>> theirs",
        "@pytest.mark.skip",
        "def test_x():",
        "    assert True",
        "fn main() { todo!() }",
        "-- a",
        "++ b",
        "",
        "\tx\r",
        "\u2028\ufeff",
        "Some prose.",
    ]
)
LINES = st.lists(LINE, min_size=1, max_size=8)


def added(path: str, lines: list[str]) -> str:
    return new_file(path, *lines)


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


def head(path: str, text: str | None) -> HeadFile:
    return HeadFile(path=path, text=text, exists=text is not None)


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
    st.builds(added, PATH, LINES),
    st.builds(deleted, PATH, LINES),
    st.builds(edited, PATH, LINES, LINES),
    PATH.flatmap(odd),
)
DIFFS = st.one_of(st.just(DIFF), st.lists(FILE, max_size=5).map("".join), st.just(""), PROSE, st.text(max_size=40))
TEXT = st.one_of(LINES.map("\n".join), st.sampled_from(list(TEXTS.values())), st.text(max_size=30))
HEADS = st.builds(head, PATH, st.none() | TEXT)
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
ANSWERS = st.one_of(
    st.sampled_from([accept(), reject(), cannot_tell(), accept(criteria=[], evidence=[]), reject(criteria=[])]),
    st.text(max_size=20),
    st.builds(json.dumps, st.dictionaries(st.sampled_from(sorted(accept())), st.integers() | st.text(max_size=3))),
    st.just(Unavailable("The model", "down")),
)
BENCHES = st.builds(
    seated, st.sampled_from([0.0, 0.5, 0.7, 1.0, 2.0]), st.none() | st.lists(ANSWERS, min_size=2, max_size=2)
)
HARD = settings(
    max_examples=settings().max_examples * 6 // 10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@HARD
@given(DOSSIERS, BENCHES)
def test_every_dossier_gets_one_whole_verdict(judged: Dossier, asked: JudgeContext) -> None:
    verdict = judge(judged, docket(), asked)
    assert VERDICT_ADAPTER.validate_json(VERDICT_ADAPTER.dump_json(verdict)) == verdict
    facts = [finding for finding in verdict.findings if finding.fact]
    if facts and not (isinstance(verdict, Abstain) and verdict.signals.get("escalation_skipped") == "ci"):
        assert isinstance(verdict, Reject)
    if isinstance(verdict, Accept):
        assert not facts
        assert verdict.evidence
    if isinstance(verdict, Reject):
        left = [condition.text for condition in verdict.closing_conditions if condition.state is ConditionState.OPEN]
        assert left if judged.ledger else left[0] == verdict.next_step


@HARD
@given(DOSSIERS)
def test_without_a_model_nothing_costs_and_nothing_is_accepted_but_what_is_safe(judged: Dossier) -> None:
    verdict = judge(judged, docket(), bench())
    assert (verdict.judge_kind, verdict.judge_cost_usd, verdict.judge_model) == (JudgeKind.HEURISTIC, 0, None)
    if isinstance(verdict, Accept):
        assert not verdict.findings
        assert verdict.confidence >= 0.7


@HARD
@given(DOSSIERS)
def test_an_outage_is_never_a_pass_and_rejects_only_on_facts(judged: Dossier) -> None:
    down = model_of(Unavailable("The model", "down"))
    verdict = judge(judged, docket(), bench(down, threshold=2.0))
    assert not isinstance(verdict, Accept)
    if isinstance(verdict, Reject):
        assert any(finding.fact for finding in verdict.findings)


@HARD
@given(DOSSIERS)
def test_orders_of_the_model_and_the_dossier_decide_the_same_twice(judged: Dossier) -> None:
    def decided() -> Any:
        verdict = judge(judged, docket(), bench(model_of(accept(), reject()), threshold=2.0))
        return verdict.model_dump(exclude={"judge_latency_ms"})

    assert decided() == decided()


def test_red_validators_are_never_an_opinion_on_the_solution() -> None:
    for diff in (DIFF, "", new_file("upload.py", "def send(data):", "    pass")):
        verdict = judge(dossier(diff=diff, files=None, ci=Ci(state=CiState.FAILURE)), docket(), bench())
        assert isinstance(verdict, Abstain)
        assert verdict.abstain_reason is AbstainReason.CI_FAILED
