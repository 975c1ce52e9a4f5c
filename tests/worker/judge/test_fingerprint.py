"""Fingerprints, and verdicts carried over to a head of the same fingerprint."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from tests.worker.judge.samples import (
    DIFF,
    HEAD_TEXTS,
    abstain_verdict,
    accept_answer,
    cannot_tell_answer,
    criteria,
    dossier,
    evaluation_header,
    evidence_at,
    judge_context,
    ledger_entry,
    model_of,
    new_file,
    pull_request,
    reject_answer,
)
from worker.domain.dossier import HeadFile
from worker.domain.model import EvalId, Fingerprint
from worker.domain.ports import Model
from worker.domain.verdict.verdict import (
    Accept,
    Category,
    ClosingCondition,
    ConditionState,
    EvidencePointer,
    Reject,
    Rubric,
    RubricCriterion,
    Tokens,
    Verdict,
)
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.judge.fingerprint import fingerprint_of
from worker.judge.judge import carry_over_verdict, judge
from worker.judge.rubric import PromptText

TWO_FILES = """\
diff --git a/up.py b/up.py
index 1111111..2222222 100644
--- a/up.py
+++ b/up.py
@@ -10,2 +10,3 @@ def up():
 context
-old
+new
+newer
"""
BINARY = """\
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
Binary files a/logo.png and b/logo.png differ
"""
RUBRIC = Rubric(
    id="default",
    version="1",
    criteria=(RubricCriterion(id="correctness", question="Right?", ten="Right."),),
    categories={Category.WEAK_TEST: "words"},
    signals={"skipped_test": 0.3},
)
Changed = Mapping[str, Any]
ISSUE = {"number": 7, "title": "Retry", "body": "On 503"}
LATE = {"by": "agent[bot]", "at": "2026-11-20T20:05:00Z"}


CONTENT: dict[str, object] = {
    "diff": TWO_FILES,
    "issues": [ISSUE],
    "criteria": [{"id": "AC1", "text": "Retries", "source": "acme/widgets#7"}],
    "case": {"summary": "Retries now"},
    "guidance": [{"path": "AGENTS.md", "text": "No print"}],
    "policy": {"mode": "block"},
    "ci": {"state": "success", "checks": [{"name": "test", "conclusion": "success"}]},
    "files": None,
}


def fingerprint(
    rubric: Rubric = RUBRIC,
    prompt: str = "sha256:1",
    judges: tuple[float, Model | None] = (0.0, None),
    **changes: object,
) -> Fingerprint:
    context = JudgeContext(rubric, PromptText("", prompt), *judges)
    return fingerprint_of(dossier(**{**CONTENT, **changes}), context)


PLAIN_FINGERPRINT = fingerprint()


def test_fingerprint_is_a_stable_sha256() -> None:
    assert re.fullmatch("sha256:[0-9a-f]{64}", PLAIN_FINGERPRINT)
    assert fingerprint() == PLAIN_FINGERPRINT


def with_pull_request(**fields: object) -> Changed:
    return {"pull_request": pull_request(**fields)}


RERUN = {"name": "test", "conclusion": "success", "attempt": 2, "log_tail": "x", "summary": "y"}


@pytest.mark.parametrize(
    "changed",
    [
        with_pull_request(base_sha="d" * 40, head_sha="e" * 40, merge_base_sha="f" * 40),
        with_pull_request(title="Other", labels=["bug"], body="Other", author="bob", draft=True, head_ref="x"),
        with_pull_request(commits=[{"sha": "d" * 40, "message": "m"}]),
        {"issues": [{"number": 8, "title": "Retry", "body": "On 503", "edited_at": "2026-11-20T20:05:00Z"}]},
        {"issues": [{**ISSUE, "late_edits": [LATE], "late_renames": [LATE]}]},
        {"diff": TWO_FILES.replace("-10,2 +10,3", "-90,2 +95,3").replace(" context", " moved")},
        {"diff": TWO_FILES.replace("1111111..2222222", "3333333..4444444")},
        {"ci": {"state": "success", "checks": [RERUN]}},
        {"ledger": [ledger_entry(abstain_verdict())]},
        {"files": [{"path": "up.py", "text": "x"}]},
        {"criteria": [{"id": "AC1", "text": "Retries", "source": "acme/widgets#8"}]},
    ],
    ids=range(11),
)
def test_fingerprint_ignores_what_is_not_content(changed: Changed) -> None:
    assert fingerprint(**changed) == PLAIN_FINGERPRINT


@pytest.mark.parametrize(
    "changed",
    [
        {"diff": TWO_FILES.replace("+newer", "+newest")},
        {"diff": TWO_FILES.replace("-old", "-odd")},
        {"diff": TWO_FILES.replace("up.py", "down.py")},
        {"diff": TWO_FILES.replace("100644", "100755")},
        {"diff": TWO_FILES + "\\ No newline at end of file\n"},
        {"diff": "x"},
        {"issues": [{"number": 7, "title": "Retry", "body": "On 500"}]},
        {"issues": [{"number": 7, "title": "Try", "body": "On 503"}]},
        {"criteria": [{"id": "AC1", "text": "Retries twice"}]},
        {"criteria": [{"id": "AC2", "text": "Retries"}]},
        {"case": {"summary": "Other"}},
        {"case": None},
        {"guidance": [{"path": "AGENTS.md", "text": "Print"}]},
        {"policy": {"mode": "observe"}},
        {"policy": None},
        {"ci": {"state": "success", "checks": [{"name": "test", "conclusion": "failure"}]}},
        {"ci": {"state": "success", "checks": [{"name": "lint", "conclusion": "success"}]}},
        {"ci": {"state": "missing", "checks": []}},
        {"ci": None},
    ],
)
def test_fingerprint_depends_on_each_part_of_the_content(changed: Changed) -> None:
    assert fingerprint(**changed) != PLAIN_FINGERPRINT


def test_fingerprint_depends_on_rubric_prompt_and_judges() -> None:
    prints = [
        PLAIN_FINGERPRINT,
        fingerprint(rubric=RUBRIC.model_copy(update={"signals": {"skipped_test": 0.4}})),
        fingerprint(rubric=RUBRIC.model_copy(update={"version": "2"})),
        fingerprint(prompt="sha256:2"),
        fingerprint(judges=(0.7, None)),
        fingerprint(judges=(0.7, model_of())),
    ]
    assert len(set(prints)) == len(prints)


RULES = [{"path": "A", "text": "a"}, {"path": "B", "text": "b"}]
CHECKS = [{"name": "a", "conclusion": "success"}, {"name": "b", "conclusion": None}]


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ({"diff": BINARY}, {"diff": BINARY.replace("2222222", "3333333")}, False),
        ({"diff": BINARY}, {"diff": BINARY.replace("1111111..2222222", "11111119..22222229")}, True),
        ({"diff": TWO_FILES + BINARY}, {"diff": BINARY + TWO_FILES}, True),
        ({"guidance": RULES}, {"guidance": RULES[::-1]}, True),
        ({"ci": {"checks": CHECKS}}, {"ci": {"checks": CHECKS[::-1]}}, True),
    ],
)
def test_fingerprint_ignores_order_and_length_of_ids(first: Changed, second: Changed, *, is_same: bool) -> None:
    assert (fingerprint(**first) == fingerprint(**second)) is is_same


EARLIER_HEADER = evaluation_header(eval_id=EvalId("0192-then"))
CURRENT_HEADER = evaluation_header(eval_id=EvalId("0193-now"))


def judge_earlier(answer: dict[str, object], **changes: object) -> Verdict:
    return judge(dossier(**changes), EARLIER_HEADER, judge_context(model_of(answer)))


def carry_over(
    *verdicts: Verdict, header: EvaluationHeader = CURRENT_HEADER, **changes: object
) -> Accept | Reject | None:
    return carry_over_verdict(
        dossier(ledger=[ledger_entry(verdict) for verdict in verdicts], **changes), header, judge_context()
    )


def carried_verdict(*verdicts: Verdict, **changes: Any) -> Accept | Reject:
    verdict = carry_over(*verdicts, **changes)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("answer", [accept_answer(), reject_answer()], ids=["accept", "reject"])
def test_accept_and_reject_are_carried_over_at_no_cost(answer: dict[str, object]) -> None:
    earlier = judge_earlier(answer)
    carried = carried_verdict(earlier)
    assert (carried.eval_id, carried.carried_from) == ("0193-now", "0192-then")
    assert (carried.judge_cost_usd, carried.tokens, carried.judge_latency_ms) == (Decimal(0), Tokens(), 0)
    for name in ("decision", "concern", "evidence", "criteria"):
        assert getattr(carried, name) == getattr(earlier, name)


def test_redacted_quote_is_carried_over() -> None:
    plain, secret = "        reply = post(data)", "ghp_" + "4Lw8sYd3Hc6Mq7Rk2Zp9XvTn4Lw8sYd3Hc6M"
    line = f'        reply = post(data, "{secret}", retry=True)'
    changes: dict[str, Any] = {
        "diff": DIFF.replace(plain, line),
        "files": [HeadFile(path=path, text=text.replace(plain, line)) for path, text in HEAD_TEXTS.items()],
    }
    quoted = evidence_at("upload.py", 3, quote='reply = post(data, "[redacted: github token]", retry=True)')
    earlier = judge_earlier(accept_answer(criteria=criteria("met", "met", evidence=[quoted])), **changes)
    assert earlier.evidence[0].quote == '        reply = post(data, "[redacted: github token]", retry=True)'
    assert carried_verdict(earlier, **changes).evidence == earlier.evidence
    assert carry_over(earlier) is None, "the line is gone"


@pytest.mark.parametrize(
    ("line", "quote", "is_match"),
    [
        ("a = b1", "a = [redacted: key]", True),
        ("a = ", "a = [redacted: key]", False),
        ("c = b1", "a = [redacted: key]", False),
        ("a = b1;", "a = [redacted: key]", True),
        ("a = b1", "a = [redacted: key];", False),
        ("u = x:y@z", "u = [redacted: key]:[redacted: password]@z", True),
        ("u = x@z", "u = [redacted: key]:[redacted: password]@z", False),
        ("u = x:@z", "u = [redacted: key]:[redacted: password]@z", False),
        ("MIIEowIBAAKCAQEA", "[redacted: private key]", True),
        ("return a or b", "[redacted: private key]", False),
        ("a = b1", "a = b2", False),
    ],
)
def test_redacted_quote_matches_a_line_that_differs_in_secrets_only(line: str, quote: str, *, is_match: bool) -> None:
    diff = new_file("a.py", line)
    pointer = Places(dossier(diff=diff, files=None)).relocate(EvidencePointer(path="a.py", line=1, quote=quote))
    assert (pointer is not None) is is_match


def test_carried_verdict_names_the_judged_verdict() -> None:
    earlier = judge_earlier(accept_answer())
    twice = carried_verdict(earlier, carried_verdict(earlier), header=evaluation_header(eval_id=EvalId("0194")))
    assert twice.carried_from == "0192-then"


def test_abstain_is_not_carried_over_and_hides_no_older_verdict() -> None:
    unsure = judge_earlier(cannot_tell_answer())
    assert carry_over(unsure) is None
    assert carried_verdict(judge_earlier(accept_answer()), unsure).decision == "accept"


def test_other_content_is_not_carried_over() -> None:
    header = evaluation_header(fingerprint=Fingerprint("sha256:other"))
    assert carry_over(judge_earlier(accept_answer()), header=header) is None


def test_carried_verdict_keeps_unknown_cost_and_round() -> None:
    carried = carried_verdict(judge_earlier(accept_answer()).model_copy(update={"judge_cost_usd": None, "round": 3}))
    assert (carried.judge_cost_usd, carried.round) == (None, 3)


SHIFTED = DIFF.replace("@@ -1,4 +1,9 @@", "@@ -2,4 +2,9 @@")


def test_carried_evidence_follows_its_lines() -> None:
    earlier = judge_earlier(reject_answer())
    texts = {**HEAD_TEXTS, "upload.py": f"# new\n{HEAD_TEXTS['upload.py']}"}
    verdict = carried_verdict(
        earlier, diff=SHIFTED, files=[HeadFile(path=path, text=text) for path, text in texts.items()]
    )
    assert [(pointer.path, pointer.line) for pointer in verdict.evidence] == [
        (pointer.path, pointer.line + 1 if pointer.path == "upload.py" and pointer.line else pointer.line)
        for pointer in earlier.evidence
    ]


@pytest.mark.parametrize("field", ["evidence", "criteria"])
def test_verdict_with_a_vanished_line_is_not_carried_over(field: str) -> None:
    earlier = judge_earlier(accept_answer())
    lost = (earlier.evidence[0].model_copy(update={"quote": "no longer there"}),)
    unmet = tuple(criterion.model_copy(update={"evidence": lost}) for criterion in earlier.criteria)
    changed = {"evidence": lost} if field == "evidence" else {"criteria": unmet}
    assert carry_over(earlier.model_copy(update=changed)) is None


def test_unreadable_diff_is_not_carried_over() -> None:
    assert carry_over(judge_earlier(accept_answer()), diff="diff --git a/x b/x\n@@ -1 +1 @@\n") is None


def conditions(verdict: Verdict) -> str:
    return " ".join(f"{condition.id}:{condition.state}" for condition in verdict.closing_conditions)


def test_carried_verdict_keeps_all_conditions() -> None:
    earlier = judge_earlier(reject_answer())
    resolved = (item.model_copy(update={"state": ConditionState.RESOLVED}) for item in earlier.closing_conditions)
    later = earlier.model_copy(
        update={
            "eval_id": EvalId("0193-later"),
            "fingerprint": Fingerprint("sha256:later"),
            "closing_conditions": (*resolved, ClosingCondition(id="c3", text="Log it.")),
        }
    )
    assert conditions(carried_verdict(earlier, later)) == "c1:open c2:open c3:open"


def test_carried_accept_resolves_every_condition() -> None:
    other = judge_earlier(reject_answer()).model_copy(update={"fingerprint": Fingerprint("sha256:other")})
    assert conditions(carried_verdict(judge_earlier(accept_answer()), other)) == "c1:resolved c2:resolved"
