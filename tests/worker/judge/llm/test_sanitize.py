"""Foreign text is escaped and fenced, and a prompt holds no secret, no never-send file and no field that docs/privacy.md excludes."""

import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.generated import Size, generate_dossier
from tests.worker.dossier.secret_samples import Sample, look_alikes, secrets
from tests.worker.judge.samples import (
    DIFF,
    HEAD,
    dossier,
    fact,
    ledger_entry,
    new_file,
    opinion,
    prompt_question,
    pull_request,
    reject_verdict,
)
from worker.domain.dossier import (
    Ci,
    CiCheck,
    Commit,
    Criterion,
    Dossier,
    Guidance,
    HeadFile,
    Issue,
    LateEdit,
    NameLookup,
    Policy,
    Seed,
    UnreadFile,
    UnreadReason,
)
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, EvidencePointer
from worker.dossier.assemble import complete_dossier
from worker.dossier.diff import parse_diff
from worker.dossier.secrets import Redaction, SecretKind
from worker.judge.llm.sanitize import (
    WITHHELD_LINE,
    RedactedDossier,
    cut_text,
    escape_hidden,
    make_fence,
    redact_dossier,
    shown_path,
)
from worker.judge.rubric import load_rubric
from worker.signals.heuristic_opinion import form_opinion

TOKEN = "gh" + "p_" + "q7Rk2Zp9XvTn4Lw8sYd3Hc6MaB1cD5eF0gJ2"
DRAWN_KEY = "q7Rk" + "2Zp9XvTn4Lw8sYd3Hc6M"
BODY = "MIIEowIBAAKCAQEA0123456789abcdefABCDEF+/0123456789abcdefABCDEF+/"
MARK = "[redacted: github token]"
ENV = new_file("deploy/.env", "HOST=CANARY-TEXT", "PORT=1")
WITHHOLDING = {"policy": Policy(never_send=(".env*",)), "files": None}


def redact(**changes: Any) -> RedactedDossier:
    return redact_dossier(dossier(**changes), opinion(), ())


def test_dossier_without_secrets_is_unchanged() -> None:
    subject = dossier(seed=Seed(head_sha=HEAD, diff=DIFF), contest="why")
    assert redact_dossier(subject, opinion(), ()) == RedactedDossier(subject, opinion(), (), ())


def test_secret_is_redacted_in_every_field() -> None:
    leaked = redact(
        issues=(Issue(number=7, title=TOKEN, body=f"see\n{TOKEN}"),),
        criteria=(Criterion(id="AC1", text=f"use {TOKEN}"),),
        case=Case(summary=TOKEN, ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="a.py", evidence=TOKEN),)),
        ci=Ci(checks=(CiCheck(name="test", conclusion="success", summary=TOKEN, log_tail=TOKEN),)),
        guidance=(Guidance(path="AGENTS.md", text=TOKEN),),
        files=(HeadFile(path="a.py", text=f"x = 1\nkey = '{TOKEN}'\n"),),
        contest=TOKEN,
        ledger=(ledger_entry(reject_verdict(concern=TOKEN, signals={"saw": TOKEN, "count": 1})),),
        pull_request=pull_request(title=TOKEN, body=TOKEN),
        diff=new_file("b.py", "a = 1", f"key = '{TOKEN}'"),
        seed=Seed(head_sha=HEAD, diff=new_file("c.py", TOKEN)),
    )
    assert TOKEN not in leaked.dossier.model_dump_json()
    assert leaked.dossier.issues[0].body == f"see\n{MARK}"
    places = {(redaction.where, redaction.line) for redaction in leaked.redactions}
    assert {("issues[7].body", 2), ("files[a.py].text", 2), ("diff[b.py]", 2), ("seed.diff[c.py]", 1)} <= places
    assert {redaction.kind for redaction in leaked.redactions} == {SecretKind.GITHUB_TOKEN}
    assert len(leaked.redactions) >= 15


def test_redacted_diff_keeps_its_structure() -> None:
    diff = (
        "diff --git a/a.py b/a.py\nindex 1111111..2222222 100644\n--- a/a.py\n+++ b/a.py\n"
        f"@@ -5,3 +5,3 @@ key = '{TOKEN}'\n context\n-old = '{TOKEN}'\n+new = '{TOKEN}'\n last\n\\ No newline at end of file\n"
    )
    leaked = redact(diff=diff, files=None)
    assert leaked.dossier.diff == diff.replace(TOKEN, MARK)
    assert leaked.redactions == (
        Redaction(kind=SecretKind.GITHUB_TOKEN, where="diff", line=1),
        Redaction(kind=SecretKind.GITHUB_TOKEN, where="diff[a.py] (base)", line=6),
        Redaction(kind=SecretKind.GITHUB_TOKEN, where="diff[a.py]", line=6),
    )


def test_private_key_in_a_diff_is_redacted_by_line() -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", BODY, BODY, "-----END RSA PRIVATE KEY-----", "x = 1"]
    clean = parse_diff(redact(diff=DIFF + new_file("key.pem", *lines), files=None).dossier.diff.encode())
    assert [line.text for line in clean.by_path["key.pem"].added_lines] == [
        lines[0], "[redacted: private key]", "[redacted: private key]", lines[3], "x = 1",
    ]  # fmt: skip
    assert clean.by_path["upload.py"] == parse_diff(DIFF.encode()).by_path["upload.py"]


def test_unreadable_diff_is_not_sent() -> None:
    broken = redact(diff="no diff", policy=Policy(never_send=("*.env",)), seed=Seed(head_sha=HEAD, diff="no diff"))
    assert broken.dossier.diff == ""
    assert broken.dossier.seed == Seed(head_sha=HEAD, diff="")


def test_secret_recognized_by_name_is_redacted_elsewhere() -> None:
    leaked = redact(contest=f"it printed {DRAWN_KEY}!", guidance=(Guidance(path="A.md", text=f"api_key: {DRAWN_KEY}"),))
    assert leaked.dossier.contest == "it printed [redacted: key]!"


def test_findings_and_claims_quote_no_part_of_a_secret() -> None:
    judged = dossier(criteria=(Criterion(id="AC1", text=f"set TOKEN={TOKEN}"),))
    notes = opinion(
        fact(fact=False, note=f"AC1: {TOKEN[4:20]} is not found, nor {TOKEN[4:16]}..., nor upload"), confidence=0.5
    )
    leaked = redact_dossier(judged, notes, (ClaimVerdict(claim=TOKEN[4:], status=ClaimStatus.OMITTED),))
    assert leaked.opinion.findings[0].note == "AC1: [redacted: secret] is not found, nor [redacted: secret], nor upload"
    assert leaked.claims[0].claim == "[redacted: secret]"
    assert ("claims.claim", 1) in {(redaction.where, redaction.line) for redaction in leaked.redactions}


def test_never_send_file_is_not_in_the_prompt() -> None:
    report = "deploy/.env:1 CANARY-TEXT\nupload.py:2 fine"
    quoted = EvidencePointer(path="deploy/.env", line=1, quote="HOST=CANARY-TEXT", note="CANARY-TEXT")
    judged = dossier(
        policy=Policy(never_send=(".env*", "private/")),
        diff=DIFF + ENV,
        files=(HeadFile(path="deploy/.env", text="HOST=CANARY-TEXT\n"),),
        guidance=(
            Guidance(path="private/AGENTS.md", text="CANARY-TEXT"),
            Guidance(path="AGENTS.md", text="No sleeps."),
        ),
        ci=Ci(checks=(CiCheck(name="lint", conclusion="success", summary=report),)),
        ledger=(ledger_entry(reject_verdict(evidence=(quoted,))),),
    )
    suspicion = fact(fact=False, path="deploy/.env", line=1, note="CANARY-TEXT")
    question = prompt_question(judged, opinion(suspicion, confidence=0.5))
    text = "\n".join(question.prompt.turns)
    assert "CANARY" not in text
    assert "CANARY" not in question.sent_dossier.model_dump_json()
    assert f"{WITHHELD_LINE}\nupload.py:2 fine" in text
    assert "No sleeps." in text
    assert '"deploy/.env": added, +0 -0, not read (whole text not read: never send)' in text
    assert question.coverage.unread == ("deploy/.env",)
    assert "upload.py" in question.coverage.read


def test_file_renamed_from_never_send_path_is_not_sent() -> None:
    moved = (
        "diff --git a/.env b/env.txt\nsimilarity index 50%\nrename from .env\nrename to env.txt\nindex 1111111..2222222 100644\n"
        "--- a/.env\n+++ b/env.txt\n@@ -1 +1 @@\n-a=CANARY\n+b=CANARY\n@@ -9 +9 @@\n-a=CANARY\n+b=CANARY\n"
    )
    redacted = redact(diff=moved + DIFF, **WITHHOLDING)
    assert "CANARY" not in redacted.dossier.diff
    assert redacted.dossier.files_unread == (UnreadFile(path="env.txt", reason=UnreadReason.NEVER_SEND),)
    paths = [file.path for file in parse_diff(redacted.dossier.diff.encode()).files]
    assert paths == ["env.txt", "upload.py", "tests/test_upload.py"]


def test_never_send_file_is_listed_once() -> None:
    unread = (UnreadFile(path="deploy/.env", reason=UnreadReason.NEVER_SEND),)
    assert redact(diff=ENV, files_unread=unread, **WITHHOLDING).dossier.files_unread == unread


# --- secrets in every field -----------------------------------------------------------------------


LEAKED_CHARACTERS: Final = 12
"""The length of a part of a secret that counts as a leak."""

MOST_ALIKE: Final = 0.01


def changed_test_with(text: str) -> dict[str, Any]:
    path, at = "tests/test_app.py", text.count("\n") + 2
    head = f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
    return {
        "diff": f"{head}@@ -{at} +{at} @@\n-a = 1\n+a = 2\n",
        "files": (HeadFile(path=path, text=f"{text}\na = 2\n"),),
    }


FIELDS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "diff": lambda text: {"diff": new_file("app.cfg", *text.split("\n")), "files": None},
    "changed test": changed_test_with,
    "issue": lambda text: {"issues": (Issue(number=7, title="Uploads", body=text),)},
    "criterion": lambda text: {"criteria": (Criterion(id="AC1", text=text),)},
    "case": lambda text: {"case": Case(summary="As asked.", work_arounds=(text,))},
    "CI log": lambda text: {"ci": Ci(checks=(CiCheck(name="test", conclusion="success", summary=text),))},
    "rules file": lambda text: {"guidance": (Guidance(path="AGENTS.md", text=text),)},
    "contest": lambda text: {"contest": text},
}
"""The fields that the prompt is built from."""


def prompts_with(samples: Iterable[Sample]) -> Iterator[tuple[Sample, str, str]]:
    """Each sample with its field and the resulting prompt."""
    base = complete_dossier(generate_dossier(["python"], Size(files=1), whole=False))
    for index, sample in enumerate(samples):
        field = list(FIELDS)[index % len(FIELDS)]
        judged = base.model_copy(update=FIELDS[field](sample.text))
        yield sample, field, prompt_question(judged, form_opinion(judged, load_rubric())).prompt.turns[0]


def is_leaked(secret: str, prompt: str) -> bool:
    size = LEAKED_CHARACTERS
    return any(secret[at : at + size] in prompt for at in range(0, max(1, len(secret) - size + 1), size))


SAMPLE_COUNTS = [24, pytest.param(1_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", SAMPLE_COUNTS)
def test_no_secret_is_in_the_prompt(count: int) -> None:
    leaked = [
        f"{sample.shape} in the {field}"
        for sample, field, prompt in prompts_with(secrets(count, 1))
        if any(is_leaked(secret, prompt) for secret in sample.secrets)
    ]
    assert leaked == []


@pytest.mark.parametrize("count", SAMPLE_COUNTS)
def test_harmless_texts_are_rarely_redacted(count: int) -> None:
    redacted = [sample.shape for sample, _, prompt in prompts_with(look_alikes(count, 1)) if "[redacted: " in prompt]
    assert len(redacted) <= MOST_ALIKE * count, redacted


def test_plain_text_of_every_field_is_in_the_prompt() -> None:
    word = "perfectly-ordinary-wording"
    results = list(prompts_with([Sample("word", f"It says {word} here.", (word,))] * len(FIELDS)))
    assert {field for _, field, _ in results} == set(FIELDS)
    assert all(is_leaked(word, prompt) for _, _, prompt in results)


# --- docs/privacy.md ------------------------------------------------------------------------------


PAGE = (Path(__file__).resolve().parents[4] / "docs/privacy.md").read_text(encoding="utf-8")
CANARY = "CANARY-TEXT"
LATE = (LateEdit(by=CANARY, at=datetime(2026, 11, 20, tzinfo=UTC)),)
UNSENT_ISSUE: Any = {"author": CANARY, "url": CANARY, "edited_by": CANARY, "late_edits": LATE, "late_renames": LATE}
UNSENT_FIELDS = {
    "title": {"pull_request": pull_request(title=CANARY)},
    "body": {"pull_request": pull_request(body=CANARY)},
    "labels": {"pull_request": pull_request(labels=(CANARY,))},
    "commits": {"pull_request": pull_request(commits=(Commit(sha="c" * 40, message=CANARY),))},
    "author": {"pull_request": pull_request(author=CANARY)},
    "branch names": {"pull_request": pull_request(head_ref=CANARY, base_ref=CANARY)},
    "repository name": {"pull_request": pull_request(repository=f"acme/{CANARY}")},
    "author of the issue": {"issues": (Issue(number=7, title="t", body="b", **UNSENT_ISSUE),)},
    "source of a criterion": {"criteria": (Criterion(id="AC1", text="x", source=CANARY),)},
    "cited file": {"files": (HeadFile(path="docs/x.md", text=CANARY),)},
    "lookups": {"lookups": (NameLookup(name="_load", paths=(CANARY,)),)},
    "log tail": {"ci": Ci(checks=(CiCheck(name="t", conclusion="success", log_tail=CANARY),))},
    "policy": {"policy": Policy(never_send=(CANARY,))},
    "seed": {"seed": Seed(head_sha=HEAD, diff=new_file("a.py", CANARY))},
    "hashes of the ledger": {"ledger": (ledger_entry(reject_verdict(), changed_lines={CANARY: (CANARY,)}),)},
}


def test_privacy_page_lists_every_dossier_field() -> None:
    fields = set(Dossier.model_fields) - {"dossier_version", "case_error"}
    assert {name for name in fields if f"`{name}" not in PAGE} == set()


@pytest.mark.parametrize("field", UNSENT_FIELDS)
def test_unsent_field_is_not_in_the_prompt(field: str) -> None:
    prompt = prompt_question(dossier(**UNSENT_FIELDS[field])).prompt
    assert CANARY not in prompt.system + "".join(prompt.turns)


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb", "a\\u200bb"),
        ("\ufeffa", "\\ufeffa"),
        ("a\u00adb", "a\\xadb"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\rb", "a\\rb"),
        ("a\x00b\x7f", "a\\x00b\\x7f"),
        ("a\u2028b", "a\\u2028b"),
        ("a\x85b", "a\\x85b"),
        ("a\U000e0041b", "a\\U000e0041b"),
        ("a\ufe0fb", "a\\ufe0fb"),
        ("a\U000e0100b", "a\\U000e0100b"),
        ("a\u3164b", "a\\u3164b"),
        ("a\ud800b", "a\\ud800b"),
        ("a\ue000b", "a\\ue000b"),
    ],
    ids=range(16),
)
def test_hidden_characters_are_escaped(hidden: str, shown: str) -> None:
    assert escape_hidden(hidden) == shown


@pytest.mark.parametrize("text", ["plain\ttext\n", "naïve Straße", "日本語", "русский", "🙂", "العربية", "e\u0301"])
def test_readable_text_of_any_language_is_kept(text: str) -> None:
    assert escape_hidden(text) == text


@given(st.text())
def test_escaping_keeps_the_line_count(text: str) -> None:
    assert escape_hidden(text).count("\n") == text.count("\n")


def test_path_is_shown_on_one_line() -> None:
    assert shown_path("a\nb\tc\u202e.py") == "a\\nb\\tc\\u202e.py"
    assert shown_path("gh" + "p_" + "a1" * 18 + ".txt") == "[redacted: github token].txt"


def test_text_that_fits_is_not_cut() -> None:
    assert cut_text("äöü", 6) == "äöü"


def test_cut_text_ends_with_whole_line_and_byte_count() -> None:
    assert cut_text("first\nsecond\nthird", 9) == "first\n[cut here: 13 more bytes are not shown]"
    assert cut_text("äöü", 3) == "ä\n[cut here: 4 more bytes are not shown]"


@given(st.text(string.printable), st.lists(st.text(string.printable)))
def test_fence_word_occurs_in_no_text(seed: str, texts: list[str]) -> None:
    word = make_fence(seed, texts).word
    assert not any(word in text for text in texts)
    assert make_fence(seed, [*texts, "another"]).word != word


def test_fence_encloses_text_between_two_marks() -> None:
    fence = make_fence("seed", ["x"])
    assert fence.enclose("case", "x") == f"[[{fence.word} begin: case]]\nx\n[[{fence.word} end]]"
