"""What is in the fingerprint, and what is not."""

from collections.abc import Mapping
from decimal import Decimal

import pytest

from tests.worker.judge.making import (
    DIFF,
    TEXTS,
    accept,
    bench,
    cannot_tell,
    criteria,
    docket,
    dossier,
    entry,
    model_of,
    new_file,
    place,
    reject,
)
from worker.domain.dossier import Dossier, HeadFile
from worker.domain.ids import EvalId, Fingerprint
from worker.domain.verdict.rubric import Rubric, RubricCriterion
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    Category,
    ClosingCondition,
    ConditionState,
    CriterionStatus,
    EvidencePointer,
    Reject,
    Tokens,
)
from worker.judge.checks.evidence import Places
from worker.judge.judge import judge
from worker.judge.rounds.carry_over import carry_over_verdict, fingerprint

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
Changed = Mapping[str, object]
ISSUE = {"number": 7, "title": "Retry", "body": "On 503"}
LATE = {"by": "agent[bot]", "at": "2026-11-20T20:05:00Z"}


def fingerprinted(changed: Changed | None = None, pull: Changed | None = None) -> Dossier:
    request = {
        "repository": "acme/widgets",
        "number": 1,
        "title": "Retry",
        "body": "Closes #7",
        "author": "alice",
        "base_sha": "a" * 40,
        "head_sha": "b" * 40,
    }
    whole = {
        "pull_request": request | dict(pull or {}),
        "diff": TWO_FILES,
        "issues": [ISSUE],
        "criteria": [{"id": "AC1", "text": "Retries", "source": "acme/widgets#7"}],
        "case": {"summary": "Retries now"},
        "guidance": [{"path": "AGENTS.md", "text": "No print"}],
        "policy": {"mode": "block"},
        "ci": {"state": "success", "checks": [{"name": "test", "conclusion": "success"}]},
    }
    return Dossier.model_validate(whole | dict(changed or {}))


def of(judged: Dossier, rubric: Rubric = RUBRIC, prompt: str = "sha256:1", judges: str = "heuristic") -> Fingerprint:
    return fingerprint(judged, rubric, prompt, judges)


def test_it_is_a_sha256_that_stays() -> None:
    assert of(fingerprinted()) == of(fingerprinted())
    assert of(fingerprinted()).startswith("sha256:")
    assert len(of(fingerprinted())) == len("sha256:") + 64


ENTRY = {
    "eval_id": "e1",
    "created_at": "2026-11-20T20:05:00Z",
    "round": 1,
    "fence": 1,
    "head_sha": "c" * 40,
    "fingerprint": "sha256:0",
    "diff_summary": "",
    "verdict": {
        "decision": "abstain",
        "eval_id": "e1",
        "subject": {
            "installation_id": 1,
            "repository_id": 1,
            "repository": "acme/widgets",
            "number": 1,
            "head_sha": "c" * 40,
        },
        "author_agent": None,
        "round": 1,
        "concern": "c",
        "next_step": "n",
        "abstain_reason": "unproven",
        "score": 0.5,
        "confidence": 0.5,
        "judge_kind": "heuristic",
        "escalated": False,
        "escalation_reason": "r",
        "rubric_id": "default",
        "rubric_version": "1",
        "fingerprint": "sha256:0",
        "created_at": "2026-11-20T20:05:00Z",
    },
}


@pytest.mark.parametrize(
    ("changed", "pull"),
    [
        ({}, {"base_sha": "d" * 40, "head_sha": "e" * 40, "merge_base_sha": "f" * 40}),
        ({}, {"title": "Other", "labels": ["bug"], "body": "Other", "author": "bob", "draft": True, "head_ref": "x"}),
        ({}, {"commits": [{"sha": "d" * 40, "message": "m"}]}),
        ({"issues": [{"number": 8, "title": "Retry", "body": "On 503", "edited_at": "2026-11-20T20:05:00Z"}]}, {}),
        ({"issues": [{**ISSUE, "late_edits": [LATE], "late_renames": [LATE]}]}, {}),
        ({"diff": TWO_FILES.replace("-10,2 +10,3", "-90,2 +95,3").replace(" context", " moved")}, {}),
        ({"diff": TWO_FILES.replace("1111111..2222222", "3333333..4444444")}, {}),
        (
            {
                "ci": {
                    "state": "success",
                    "checks": [
                        {"name": "test", "conclusion": "success", "attempt": 2, "log_tail": "x", "summary": "y"}
                    ],
                }
            },
            {},
        ),
        ({"ledger": [ENTRY]}, {}),
        ({"files": [{"path": "up.py", "text": "x"}]}, {}),
        ({"criteria": [{"id": "AC1", "text": "Retries", "source": "acme/widgets#8"}]}, {}),
    ],
)
def test_what_is_no_content_does_not_change_it(changed: Changed, pull: Changed) -> None:
    assert of(fingerprinted(changed, pull)) == of(fingerprinted())


@pytest.mark.parametrize(
    "changed",
    [
        {"diff": TWO_FILES.replace("+newer", "+newest")},
        {"diff": TWO_FILES.replace("-old", "-odd")},
        {"diff": TWO_FILES.replace("up.py", "down.py")},
        {"diff": TWO_FILES.replace("100644", "100755")},
        {"diff": TWO_FILES + "\\ No newline at end of file\n"},
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
def test_each_part_of_the_content_changes_it(changed: Changed) -> None:
    assert of(fingerprinted(changed)) != of(fingerprinted())


def test_rubric_prompt_and_judges_change_it() -> None:
    prints = [
        of(fingerprinted()),
        of(fingerprinted(), rubric=RUBRIC.model_copy(update={"signals": {"skipped_test": 0.4}})),
        of(fingerprinted(), rubric=RUBRIC.model_copy(update={"version": "2"})),
        of(fingerprinted(), prompt="sha256:2"),
        of(fingerprinted(), judges="heuristic+claude"),
    ]
    assert len(set(prints)) == len(prints)


def test_two_versions_of_a_binary_file_differ_and_the_length_of_ids_does_not_count() -> None:
    first, other = fingerprinted({"diff": BINARY}), fingerprinted({"diff": BINARY.replace("2222222", "3333333")})
    longer = fingerprinted({"diff": BINARY.replace("1111111..2222222", "11111119..22222229")})
    assert of(first) != of(other)
    assert of(first) == of(longer)


def test_the_order_of_files_guidance_and_checks_does_not_count() -> None:
    two = TWO_FILES + BINARY
    rules = [{"path": "A", "text": "a"}, {"path": "B", "text": "b"}]
    checks = [{"name": "a", "conclusion": "success"}, {"name": "b", "conclusion": None}]
    first = fingerprinted({"diff": two, "guidance": rules, "ci": {"checks": checks}})
    other = fingerprinted({"diff": BINARY + TWO_FILES, "guidance": rules[::-1], "ci": {"checks": checks[::-1]}})
    assert of(first) == of(other)


THEN = docket(eval_id=EvalId("0192-then"))
NOW = docket(eval_id=EvalId("0193-now"))


def judged(answer: dict[str, object]) -> Accept | Reject | Abstain:
    return judge(dossier(), THEN, bench(model_of(answer)))


def remembering(*verdicts: Accept | Reject | Abstain, **changes: object) -> Dossier:
    return dossier(ledger=[entry(verdict) for verdict in verdicts], **changes)


@pytest.mark.parametrize("answer", [accept(), reject()], ids=["accept", "reject"])
def test_an_accept_and_a_reject_come_back_with_their_words_and_at_no_cost(answer: dict[str, object]) -> None:
    then = judged(answer)
    now = carry_over_verdict(remembering(then), NOW, bench())
    assert now is not None
    assert (now.eval_id, now.carried_from) == ("0193-now", "0192-then")
    assert (now.judge_cost_usd, now.tokens, now.judge_latency_ms) == (Decimal(0), Tokens(), 0)
    assert (now.decision, now.concern, now.evidence, now.criteria) == (
        then.decision,
        then.concern,
        then.evidence,
        then.criteria,
    )


def test_a_quote_of_a_line_that_held_a_secret_is_carried_as_it_was_sent() -> None:
    secret = "ghp_" + "4Lw8sYd3Hc6Mq7Rk2Zp9XvTn4Lw8sYd3Hc6M"
    line = f'    reply = post(data, "{secret}", retry=True)'
    changes = {
        "diff": DIFF.replace("        reply = post(data)", f"    {line}"),
        "files": [
            HeadFile(path=path, text=text.replace("        reply = post(data)", f"    {line}"))
            for path, text in TEXTS.items()
        ],
    }
    quoted = place("upload.py", 3, quote='reply = post(data, "[redacted: github token]", retry=True)')
    then = judge(dossier(**changes), THEN, bench(model_of(accept(criteria=criteria("met", "met", at=[quoted])))))
    assert isinstance(then, Accept)
    assert then.evidence[0].quote == '        reply = post(data, "[redacted: github token]", retry=True)'
    now = carry_over_verdict(remembering(then, **changes), NOW, bench())
    assert now is not None
    assert now.evidence == then.evidence
    gone = {**changes, "diff": DIFF, "files": [HeadFile(path=path, text=text) for path, text in TEXTS.items()]}
    assert carry_over_verdict(remembering(then, **gone), NOW, bench()) is None


@pytest.mark.parametrize(
    ("line", "quote", "is_it"),
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
def test_a_redacted_quote_stands_where_its_line_differs_in_the_secrets_alone(
    line: str, quote: str, *, is_it: bool
) -> None:
    diff = new_file("a.py", line)
    pointer = Places(dossier(diff=diff, files=None)).relocate(EvidencePointer(path="a.py", line=1, quote=quote))
    assert (pointer is not None) is is_it


def test_what_was_carried_names_the_verdict_that_was_judged() -> None:
    once = carry_over_verdict(remembering(judged(accept())), NOW, bench())
    assert once is not None
    twice = carry_over_verdict(remembering(judged(accept()), once), docket(eval_id=EvalId("0194")), bench())
    assert twice is not None
    assert twice.carried_from == "0192-then"


def test_an_abstain_is_never_carried_and_hides_no_older_verdict() -> None:
    unjudged = judged(cannot_tell())
    assert carry_over_verdict(remembering(unjudged), NOW, bench()) is None
    verdict = carry_over_verdict(remembering(judged(accept()), unjudged), NOW, bench())
    assert verdict is not None
    assert verdict.decision == "accept"


def test_another_content_is_not_carried() -> None:
    other = docket(fingerprint=Fingerprint("sha256:other"))
    assert carry_over_verdict(remembering(judged(accept())), other, bench()) is None


def test_an_unknown_price_stays_unknown() -> None:
    verdict = judged(accept()).model_copy(update={"judge_cost_usd": None})
    carried = carry_over_verdict(remembering(verdict), NOW, bench())
    assert carried is not None
    assert carried.judge_cost_usd is None


SHIFTED = DIFF.replace("@@ -1,4 +1,9 @@", "@@ -2,4 +2,9 @@")


def test_pointers_follow_their_lines() -> None:
    then = judged(reject())
    files = [
        HeadFile(path=path, text=f"# new\n{text}" if path == "upload.py" else text) for path, text in TEXTS.items()
    ]
    verdict = carry_over_verdict(remembering(then, diff=SHIFTED, files=files), NOW, bench())
    assert verdict is not None
    lines = [(pointer.path, pointer.line) for pointer in then.evidence]
    assert [(pointer.path, pointer.line) for pointer in verdict.evidence] == [
        (path, line + 1 if path == "upload.py" and line else line) for path, line in lines
    ]


@pytest.mark.parametrize("where", ["evidence", "criteria"])
def test_a_line_that_stands_nowhere_is_judged_again(where: str) -> None:
    then = judged(accept())
    lost = then.evidence[0].model_copy(update={"quote": "not there any more"})
    criteria = [
        pointer.model_copy(update={"evidence": (lost,), "status": CriterionStatus.MET}) for pointer in then.criteria
    ]
    changed = {"evidence": (lost,)} if where == "evidence" else {"criteria": tuple(criteria)}
    assert carry_over_verdict(remembering(then.model_copy(update=changed)), NOW, bench()) is None


def test_a_diff_that_can_not_be_read_is_judged_again() -> None:
    assert (
        carry_over_verdict(remembering(judged(accept()), diff="diff --git a/x b/x\n@@ -1 +1 @@\n"), NOW, bench())
        is None
    )


def test_what_comes_back_brings_all_conditions_with_it() -> None:
    then = judged(reject())
    later = then.model_copy(
        update={
            "eval_id": EvalId("0193-later"),
            "fingerprint": Fingerprint("sha256:later"),
            "closing_conditions": (
                *(
                    condition.model_copy(update={"state": ConditionState.RESOLVED})
                    for condition in then.closing_conditions
                ),
                ClosingCondition(id="c3", text="Log it."),
            ),
        }
    )
    now = carry_over_verdict(remembering(then, later), NOW, bench())
    assert now is not None
    assert [(condition.id, condition.state) for condition in now.closing_conditions] == [
        ("c1", "open"),
        ("c2", "open"),
        ("c3", "open"),
    ]


def test_an_accept_that_comes_back_leaves_no_condition_open() -> None:
    other = judged(reject()).model_copy(update={"fingerprint": Fingerprint("sha256:other")})
    now = carry_over_verdict(remembering(judged(accept()), other), NOW, bench())
    assert now is not None
    assert [(condition.id, condition.state) for condition in now.closing_conditions] == [
        ("c1", "resolved"),
        ("c2", "resolved"),
    ]
