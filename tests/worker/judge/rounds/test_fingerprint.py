"""What is in the fingerprint, and what is not."""

from collections.abc import Mapping

import pytest

from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Fingerprint
from worker.domain.verdict.rubric import Rubric, RubricCriterion
from worker.domain.verdict.verdict import Category
from worker.judge.rounds.fingerprint import fingerprint

DIFF = """\
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


def dossier(changed: Changed | None = None, pull: Changed | None = None) -> Dossier:
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
        "diff": DIFF,
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
    assert of(dossier()) == of(dossier())
    assert of(dossier()).startswith("sha256:")
    assert len(of(dossier())) == len("sha256:") + 64


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
        ({"diff": DIFF.replace("-10,2 +10,3", "-90,2 +95,3").replace(" context", " moved")}, {}),
        ({"diff": DIFF.replace("1111111..2222222", "3333333..4444444")}, {}),
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
    assert of(dossier(changed, pull)) == of(dossier())


@pytest.mark.parametrize(
    "changed",
    [
        {"diff": DIFF.replace("+newer", "+newest")},
        {"diff": DIFF.replace("-old", "-odd")},
        {"diff": DIFF.replace("up.py", "down.py")},
        {"diff": DIFF.replace("100644", "100755")},
        {"diff": DIFF + "\\ No newline at end of file\n"},
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
    assert of(dossier(changed)) != of(dossier())


def test_rubric_prompt_and_judges_change_it() -> None:
    prints = [
        of(dossier()),
        of(dossier(), rubric=RUBRIC.model_copy(update={"signals": {"skipped_test": 0.4}})),
        of(dossier(), rubric=RUBRIC.model_copy(update={"version": "2"})),
        of(dossier(), prompt="sha256:2"),
        of(dossier(), judges="heuristic+claude"),
    ]
    assert len(set(prints)) == len(prints)


def test_two_versions_of_a_binary_file_differ_and_the_length_of_ids_does_not_count() -> None:
    first, other = dossier({"diff": BINARY}), dossier({"diff": BINARY.replace("2222222", "3333333")})
    longer = dossier({"diff": BINARY.replace("1111111..2222222", "11111119..22222229")})
    assert of(first) != of(other)
    assert of(first) == of(longer)


def test_the_order_of_files_guidance_and_checks_does_not_count() -> None:
    two = DIFF + BINARY
    rules = [{"path": "A", "text": "a"}, {"path": "B", "text": "b"}]
    checks = [{"name": "a", "conclusion": "success"}, {"name": "b", "conclusion": None}]
    first = dossier({"diff": two, "guidance": rules, "ci": {"checks": checks}})
    other = dossier({"diff": BINARY + DIFF, "guidance": rules[::-1], "ci": {"checks": checks[::-1]}})
    assert of(first) == of(other)
