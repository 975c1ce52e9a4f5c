"""Rejects that deny an existing name or cite a missing rule."""

from typing import Any

import pytest

from tests.worker.judge.samples import (
    HEAD_TEXTS,
    accept_answer,
    decision_of,
    dossier,
    evidence_at,
    judge_dossier,
    model_of,
    reject_answer,
)
from worker.domain.dossier import Ci, CiCheck, CiState, Guidance, HeadFile, UnreadFile, UnreadReason
from worker.domain.verdict.verdict import (
    Category,
    CriterionStatus,
    CriterionVerdict,
    EvidencePointer,
    Leaning,
    ModelOpinion,
)
from worker.judge.checks.missing import (
    MOST_CHARACTERS,
    SHOWN_CHARACTERS,
    find_missing_rule,
    find_refuted_claim,
)

UPLOAD = "from net import backoff\n\n\ndef upload(data):\n    return backoff(send(data))\n\n\nclass Sender:\n    async def send(self): ...\n"
NET = "LIMIT = 3\n\n\ndef backoff(reply):\n    return reply\n\n\ndef jitter():\n    return 0\n"
GO = "package a\n\nfunc (s *Sender) Dial() error { return nil }\n"
SCRIPT = "const { post } = require('./http')\nexport default async function go() {}\nexport const get = () => 1\n"
HTTP = "module.exports = { post }\nfunction post() {}\n"
BUSY = "try:\n    go()\nexcept BusyError:\n    raise TimeoutError\n"
JAVA = "class Sender {\n    public void close() throws IOException {\n    }\n}\n"
TEXTS = {
    "upload.py": UPLOAD,
    "net.py": NET,
    "a.go": GO,
    "go.js": SCRIPT,
    "http.js": HTTP,
    "Sender.java": JAVA,
    "busy.py": BUSY,
}
FILES = (*(HeadFile(path=path, text=text) for path, text in TEXTS.items()), HeadFile(path="gone.py", exists=False))


def reject_saying(
    concern: str, path: str = "upload.py", category: Category = Category.HALF_FINISHED, **changes: Any
) -> ModelOpinion:
    fields: dict[str, Any] = {
        "decision": Leaning.REJECT,
        "category": category,
        "concern": concern,
        "evidence": (EvidencePointer(path=path, line=1),),
        "next_step": "Do it.",
        "score": 0.2,
        "confidence": 0.9,
    }
    return ModelOpinion(**{**fields, **changes})


def find_definition(answer: ModelOpinion, **changes: Any) -> str | None:
    """The location of the name that the reject denies."""
    claim = find_refuted_claim(answer, dossier(**changes))
    if claim is None:
        return None
    assert f"`{claim.name}" in answer.concern
    return f"{claim.path}:{claim.line}{' (imported)' if claim.is_imported else ''}"


@pytest.mark.parametrize(
    ("concern", "path", "expected"),
    [
        ("`send` is not defined.", "upload.py", "upload.py:9"),
        ("It calls `send()`, but `send()` is never defined anywhere", "upload.py", "upload.py:9"),
        ("The helper `send` in upload.py does not exist.", "upload.py", "upload.py:9"),
        ("The function `backoff` is missing.", "upload.py", "net.py:4"),
        ("`backoff` function is absent; nothing works.", "upload.py", "net.py:4"),
        ("The loop uses the undefined function `backoff`.", "upload.py", "net.py:4"),
        ("There is no function `upload` here.", "upload.py", "upload.py:4"),
        ("The definition of `backoff` is missing.", "upload.py", "net.py:4"),
        ("It imports `backoff`. `backoff` doesn't exist.", "upload.py", "net.py:4"),
        ("`Dial` is not defined.", "a.go", "a.go:3"),
        ("`go` is not declared.", "go.js", "go.js:2"),
        ("`get` is not declared.", "go.js", "go.js:3"),
        ("`post` does not exist.", "go.js", "http.js:2"),
        ("`nothing` is not defined, and `send` is not defined.", "upload.py", "upload.py:9"),
        ("`jitter` is not defined.", "upload.py", "net.py:8"),  # whatever the evidence names
        ("`backoff` is not defined.", "a.go", "net.py:4"),
        ("`send` is not defined.", "elsewhere.py", "upload.py:9"),
        ("`jitter` is missing.", "upload.py", "net.py:8"),
        ("There is no `jitter`.", "upload.py", "net.py:8"),
        ("`LIMIT` does not exist.", "upload.py", "net.py:1"),
        ("`close` does not exist.", "upload.py", "Sender.java:2"),
        ("`send` isn't defined.", "upload.py", "upload.py:9"),
        ("`send` hasn't been added", "upload.py", "upload.py:9"),
        ("`send` was never introduced by this change.", "upload.py", "upload.py:9"),
        ("`send` no longer exists.", "upload.py", "upload.py:9"),
        ("`send` appears nowhere.", "upload.py", "upload.py:9"),
        ("`send` cannot be found in the repository.", "upload.py", "upload.py:9"),
        ("Yet `send` has no definition.", "upload.py", "upload.py:9"),
        ("`send` is undefined.", "upload.py", "upload.py:9"),
        ("The methods `jump` and `send` do not exist.", "upload.py", "upload.py:9"),
        ("Neither `jump` nor `send` exists.", "upload.py", "upload.py:9"),
        ("Nothing defines `send`.", "upload.py", "upload.py:9"),
        ("The change never adds the `send` method.", "upload.py", "upload.py:9"),
        ("net.py does not define `backoff`.", "upload.py", "net.py:4"),
        ("The module lacks `backoff`.", "upload.py", "net.py:4"),
        ("The class has no `send`.", "upload.py", "upload.py:9"),
        ("The change comes without a `backoff` helper.", "upload.py", "net.py:4"),
        ("I could not find `backoff`.", "upload.py", "net.py:4"),
        ("It omits the function `backoff`.", "upload.py", "net.py:4"),
        ("`BusyError` is not handled.", "upload.py", "busy.py:3"),
        ("`BusyError` is never caught", "upload.py", "busy.py:3"),
        ("Nothing handles `BusyError`.", "upload.py", "busy.py:3"),
        ("The loop leaves an unhandled `BusyError`.", "upload.py", "busy.py:3"),
        ("`TimeoutError` is not handled.", "upload.py", None),  # it is only raised
        ("`send` is not handled.", "upload.py", None),
        ("The loop returns without `send`.", "upload.py", None),  # denies the call
        ("The finally block lacks `send`.", "upload.py", None),
        ("The loop has no `send` call.", "upload.py", None),
        ("Nothing calls `send`.", "upload.py", None),
        ("`send` is not called.", "upload.py", None),
        ("`send` is not implemented.", "upload.py", None),  # a stub exists
        ("`send` is not tested.", "upload.py", None),
        ("`send` is missing in the changelog.", "upload.py", None),
        ("`send` is not there in the documentation.", "upload.py", None),
        ("If `send` is undefined, nothing is told.", "upload.py", None),
        ("The change does not add `send` to the exports.", "upload.py", None),
        ("Nothing defines what `send` returns.", "upload.py", None),
        ("It does not exist only as `send`.", "upload.py", None),
        ("`LIMITS` is not defined.", "net.py", None),
        ("A call of `send` is missing.", "upload.py", None),
        ("`send` is missing its argument.", "upload.py", None),
        ("The function `send` is missing a return.", "upload.py", None),
        ("When `send` does not exist, nothing is told.", "upload.py", None),
        ("`send` is not defined for empty data.", "upload.py", None),
        ("send is not defined.", "upload.py", None),
        ("`send` is defined and never called.", "upload.py", None),
        ("`Sender.send` does not exist.", "upload.py", None),
    ],
)
def test_denied_name_is_found_at_its_definition(concern: str, path: str, expected: str | None) -> None:
    assert find_definition(reject_saying(concern, path), files=FILES) == expected


IMPORTING_TEXTS = {
    "upload.py": "from net import backoff\nfrom pkg.retry import jitter\nfrom pkg.late import wait, pause\nfrom tools import clock\nimport limits\n\n\ndef upload(data):\n    return send(data)\n",
    "pkg/retry.py": "def wait():\n    return 0\n",
    "pkg/__init__.py": "",
    "tools/__init__.py": "",
    "src/main.rs": "use crate::net::dial;\nuse crate::wire::{send, take};\nuse crate::far::look;\n",
    "src/net.rs": "pub fn hang_up() {}\n",
    "src/wire/mod.rs": "mod a;\n",
    "send.ts": "import { post } from './http'\nimport { get } from './api'\nimport { late } from '../net/wait.js';\n",
    "net/wait.ts": "export const soon = 1\n",
    "api/index.ts": "export * from './get'\nexport { get } from './get'\n",
}


@pytest.mark.parametrize(
    ("concern", "path", "expected"),
    [
        ("`backoff` is not defined anywhere.", "upload.py", "upload.py:1 (imported)"),
        ("`post` does not exist.", "send.ts", "send.ts:1 (imported)"),
        ("`get` does not exist.", "send.ts", "send.ts:2 (imported)"),  # re-exported from an unread file
        ("`pause` is not defined.", "upload.py", "upload.py:3 (imported)"),  # pkg/late.py was not read
        ("`look` is not defined.", "src/main.rs", "src/main.rs:3 (imported)"),
        ("`dial` is not defined.", "src/main.rs", None),  # src/net.rs was read
        ("`take` is not defined.", "src/main.rs", None),
        ("`late` is not defined.", "send.ts", None),  # net/wait.ts was read
        ("`jitter` is not defined.", "upload.py", None),  # pkg/retry.py was read
        ("`clock` is not defined.", "upload.py", None),  # tools/__init__.py was read
        ("`send` is not defined.", "upload.py", None),  # no import names it
    ],
)
def test_denied_name_is_found_at_import_from_unread_file(concern: str, path: str, expected: str | None) -> None:
    files = tuple(HeadFile(path=path, text=text) for path, text in IMPORTING_TEXTS.items())
    assert find_definition(reject_saying(concern, path), files=files) == expected


def test_denied_name_is_found_in_the_diff_without_head_texts() -> None:
    added = "diff --git a/net.py b/net.py\n--- a/net.py\n+++ b/net.py\n@@ -3,0 +4,2 @@\n+def wait(seconds):\n+    sleep(seconds)\n"
    assert find_definition(reject_saying("`wait` is missing."), files=None, diff=added) == "net.py:4"
    assert find_definition(reject_saying("`sleep` is missing."), files=None, diff=added) is None


def test_denied_name_is_not_refuted_when_diff_removes_its_definition() -> None:
    files = (HeadFile(path="upload.py", text=IMPORTING_TEXTS["upload.py"]),)
    gone = "diff --git a/net.py b/net.py\n--- a/net.py\n+++ b/net.py\n@@ -1,3 +1,1 @@\n-def backoff(reply):\n-    return reply\n LIMIT = 3\n"
    answer = reject_saying("`backoff` is not defined anywhere.")
    assert find_definition(answer, files=files, diff=gone) is None
    assert find_definition(answer, files=files, diff=gone.replace("backoff", "other")) is not None


def test_denied_name_is_searched_with_evidence_of_criteria() -> None:
    evidence = (EvidencePointer(path="net.py", line=1),)
    unmet = CriterionVerdict(id="AC1", status=CriterionStatus.PARTIAL, evidence=evidence)
    assert (
        find_definition(reject_saying("`jitter` is not defined.", evidence=(), criteria=(unmet,)), files=FILES)
        == "net.py:8"
    )


@pytest.mark.parametrize("decision", [Leaning.ACCEPT, Leaning.CANNOT_TELL])
def test_only_rejects_are_searched_for_denied_names(decision: Leaning) -> None:
    bare: dict[str, Any] = {"decision": decision, "category": None, "next_step": None}
    assert find_definition(reject_saying("`send` is not defined.", **bare), files=FILES) is None
    assert find_missing_rule(reject_saying("CLAUDE.md forbids it.", **bare), dossier()) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        UPLOAD + " " * MOST_CHARACTERS,
        # patterns that once took minutes
        "static\n" * 50_000,
        "static " * 50_000,
        "import a, " * 40_000,
        "fn (" * 90_000,
    ],
    ids=["none", "too long", "static lines", "static", "import", "fn"],
)
def test_missing_and_too_long_texts_are_skipped(text: str | None) -> None:
    files = None if text is None else (HeadFile(path="upload.py", text=text),)
    assert find_definition(reject_saying("`send` is not defined."), files=files) is None


def answer_denying(category: str, concern: str) -> dict[str, Any]:
    return reject_answer(category=category, evidence=[evidence_at("upload.py", 2)], concern=concern)


DENIES_DEFINED = answer_denying("half_finished", "`send` is not defined.")
OBJECTS = answer_denying("half_finished", "The loop ends at any attempt.")
INVENTS_RULE = answer_denying("spec_violation", "CLAUDE.md forbids loops.")


@pytest.mark.parametrize(
    ("answers", "expected", "veto"),
    [
        ((DENIES_DEFINED, DENIES_DEFINED), "abstain needs_human", "names"),
        ((DENIES_DEFINED, accept_answer()), "accept", None),
        ((DENIES_DEFINED, OBJECTS), "reject half_finished", None),
        ((INVENTS_RULE, INVENTS_RULE), "abstain needs_human", "rules"),
        ((INVENTS_RULE, accept_answer()), "accept", None),
    ],
)
def test_refuted_reject_is_corrected_once_and_then_needs_a_human(
    answers: tuple[dict[str, Any], ...], expected: str, veto: str | None
) -> None:
    verdict = judge_dossier(model_of(*answers))
    assert (decision_of(verdict), verdict.signals.get("vetoed_by")) == (expected, veto)
    assert veto != "rules" or "CLAUDE.md" in verdict.concern


def test_repeated_denial_of_imported_name_needs_a_human() -> None:
    files = (HeadFile(path="upload.py", text=f"{HEAD_TEXTS['upload.py']}from net import backoff\n"),)
    denial = answer_denying("half_finished", "`backoff` is not defined anywhere.")
    verdict = judge_dossier(model := model_of(denial, denial), files=files)
    assert (decision_of(verdict), len(model.prompts)) == ("abstain needs_human", 2)
    assert verdict.concern == (
        "The model rejects because backoff is not there, also when told that line 10 of upload.py takes it from elsewhere."
    )
    assert verdict.next_step == "A person looks whether backoff is there: what defines it was not read."


RULES = Guidance(
    path="AGENTS.md",
    text="# Rules\n\n- **Never** edit files in `dist/`: run\n  `make gen` instead.\n- See docs/CONTRIBUTING.md, too.\n",
)
CHECKED = Ci(
    state=CiState.SUCCESS, checks=(CiCheck(name="lint", conclusion="success", summary="3 warnings: line too long"),)
)


def missing_rule(concern: str, category: Category = Category.SPEC_VIOLATION, **changes: Any) -> str | None:
    return find_missing_rule(reject_saying(concern, category=category), dossier(**changes))


@pytest.mark.parametrize(
    ("concern", "rule"),
    [
        ('AGENTS.md says "never edit files in dist".', None),
        ("AGENTS.md says \u201cNever edit files in `dist/`: run `make gen`\u201d.", None),
        ('AGENTS.md says "Never edit \u2026 run `make gen` instead".', None),
        ('AGENTS.md says "Never edit files in ... always".', "Never edit files in ... always"),
        ('AGENTS.md says "never write to the log".', "never write to the log"),
        ('The issue asks: "Never edit files in src".', "Never edit files in src"),
        ("CLAUDE.md forbids it.", "CLAUDE.md"),
        ("docs/agents/AGENTS.md forbids it.", "docs/agents/AGENTS.md"),
        ("docs/CONTRIBUTING.md forbids it.", None),  # a read file names it
        ("agents.md forbids it.", None),
        ("It breaks .cursorrules of this repository.", ".cursorrules"),
        ('The function is called "too early".', None),
        ('It prints "line too long" again.', None),
        ('It breaks "reply = post(data)" of the module.', None),
        ("It breaks the rule on generated files.", None),
    ],
)
def test_spec_violation_must_quote_an_existing_rule(concern: str, rule: str | None) -> None:
    assert missing_rule(concern, guidance=(RULES,), ci=CHECKED) == rule


def test_unread_rules_file_counts_as_existing() -> None:
    unread = (UnreadFile(path="CLAUDE.md", reason=UnreadReason.TOO_LARGE),)
    assert missing_rule("CLAUDE.md forbids it.", files_unread=unread) is None


def test_only_spec_violations_are_checked_for_rules() -> None:
    assert missing_rule("CLAUDE.md forbids it.", Category.HALF_FINISHED) is None


def test_long_rule_quote_is_cut() -> None:
    rule = missing_rule(f'AGENTS.md says "{"never edit it " * 20}".', guidance=(RULES,))
    assert rule is not None
    assert (len(rule), rule[-1]) == (SHOWN_CHARACTERS, "…")
