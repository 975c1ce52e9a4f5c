"""What leaves: every field without secrets, and nothing of the files that are never sent."""

from typing import Any

from tests.worker.judge.making import (
    DIFF,
    HEAD,
    dossier,
    entry,
    fact,
    new_file,
    opinion,
    pull_request,
    question,
    rejected,
)
from worker.domain.dossier import (
    Ci,
    CiCheck,
    Criterion,
    Guidance,
    HeadFile,
    Issue,
    Policy,
    Seed,
    UnreadFile,
    UnreadReason,
)
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, EvidencePointer
from worker.dossier.diff.parser import parse_diff
from worker.dossier.secrets import Redaction, SecretKind
from worker.judge.llm.redact import WITHHELD_LINE, RedactedDossier, redact_dossier

TOKEN = "gh" + "p_" + "q7Rk2Zp9XvTn4Lw8sYd3Hc6MaB1cD5eF0gJ2"
DRAWN = "q7Rk" + "2Zp9XvTn4Lw8sYd3Hc6M"
BODY = "MIIEowIBAAKCAQEA0123456789abcdefABCDEF+/0123456789abcdefABCDEF+/"
MARK = "[redacted: github token]"
ENV = new_file("deploy/.env", "HOST=CANARY-TEXT", "PORT=1")
WITHHOLDING = {"policy": Policy(never_send=(".env*",)), "files": None}


def sent(**changes: Any) -> RedactedDossier:
    return redact_dossier(dossier(**changes), opinion(), ())


def test_a_dossier_without_secrets_is_sent_as_it_is() -> None:
    subject = dossier(seed=Seed(head_sha=HEAD, diff=DIFF), contest="why")
    assert redact_dossier(subject, opinion(), ()) == RedactedDossier(subject, opinion(), (), ())


def test_a_secret_is_taken_out_of_every_field_and_named() -> None:
    leaked = sent(
        issues=(Issue(number=7, title=TOKEN, body=f"see\n{TOKEN}"),),
        criteria=(Criterion(id="AC1", text=f"use {TOKEN}"),),
        case=Case(summary=TOKEN, ac_coverage=(CoverageClaim(criterion="AC1", addressed_by="a.py", evidence=TOKEN),)),
        ci=Ci(checks=(CiCheck(name="test", conclusion="success", summary=TOKEN, log_tail=TOKEN),)),
        guidance=(Guidance(path="AGENTS.md", text=TOKEN),),
        files=(HeadFile(path="a.py", text=f"x = 1\nkey = '{TOKEN}'\n"),),
        contest=TOKEN,
        ledger=(entry(rejected(concern=TOKEN, signals={"saw": TOKEN, "count": 1})),),
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


def test_a_redacted_diff_keeps_its_lines_numbers_and_marks() -> None:
    diff = (
        "diff --git a/a.py b/a.py\nindex 1111111..2222222 100644\n--- a/a.py\n+++ b/a.py\n"
        f"@@ -5,3 +5,3 @@ key = '{TOKEN}'\n context\n-old = '{TOKEN}'\n+new = '{TOKEN}'\n last\n\\ No newline at end of file\n"
    )
    leaked = sent(diff=diff, files=None)
    assert leaked.dossier.diff == diff.replace(TOKEN, MARK)
    assert leaked.redactions == (
        Redaction(kind=SecretKind.GITHUB_TOKEN, where="diff", line=1),
        Redaction(kind=SecretKind.GITHUB_TOKEN, where="diff[a.py] (base)", line=6),
        Redaction(kind=SecretKind.GITHUB_TOKEN, where="diff[a.py]", line=6),
    )


def test_a_private_key_goes_from_a_diff_line_by_line() -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", BODY, BODY, "-----END RSA PRIVATE KEY-----", "x = 1"]
    clean = parse_diff(sent(diff=DIFF + new_file("key.pem", *lines), files=None).dossier.diff.encode())
    assert [line.text for line in clean.by_path["key.pem"].added_lines] == [
        lines[0], "[redacted: private key]", "[redacted: private key]", lines[3], "x = 1",
    ]  # fmt: skip
    assert clean.by_path["upload.py"] == parse_diff(DIFF.encode()).by_path["upload.py"]


def test_a_diff_that_cant_be_read_is_not_sent() -> None:
    broken = sent(diff="no diff", policy=Policy(never_send=("*.env",)), seed=Seed(head_sha=HEAD, diff="no diff"))
    assert broken.dossier.diff == ""
    assert broken.dossier.seed == Seed(head_sha=HEAD, diff="")


def test_a_secret_that_its_name_gave_away_goes_from_where_it_has_none() -> None:
    leaked = sent(contest=f"it printed {DRAWN}!", guidance=(Guidance(path="A.md", text=f"api_key: {DRAWN}"),))
    assert leaked.dossier.contest == "it printed [redacted: key]!"


def test_what_our_own_code_says_quotes_no_piece_of_a_secret() -> None:
    judged = dossier(criteria=(Criterion(id="AC1", text=f"set TOKEN={TOKEN}"),))
    notes = opinion(
        fact(fact=False, note=f"AC1: {TOKEN[4:20]} is not found, nor {TOKEN[4:16]}..., nor upload"), confidence=0.5
    )
    leaked = redact_dossier(judged, notes, (ClaimVerdict(claim=TOKEN[4:], status=ClaimStatus.OMITTED),))
    assert leaked.opinion.findings[0].note == "AC1: [redacted: secret] is not found, nor [redacted: secret], nor upload"
    assert leaked.claims[0].claim == "[redacted: secret]"
    assert ("claims.claim", 1) in {(redaction.where, redaction.line) for redaction in leaked.redactions}


def test_nothing_of_a_file_that_is_never_sent_is_in_the_question() -> None:
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
        ledger=(entry(rejected(evidence=(quoted,))),),
    )
    suspicion = fact(fact=False, path="deploy/.env", line=1, note="CANARY-TEXT")
    asked = question(judged, opinion(suspicion, confidence=0.5))
    text = "\n".join(asked.prompt.turns)
    assert "CANARY" not in text
    assert "CANARY" not in asked.sent_dossier.model_dump_json()
    assert f"{WITHHELD_LINE}\nupload.py:2 fine" in text
    assert "No sleeps." in text
    assert '"deploy/.env": added, +0 -0, not read (whole text not read: never send)' in text
    assert asked.coverage.unread == ("deploy/.env",)
    assert "upload.py" in asked.coverage.read


def test_a_file_renamed_out_of_what_is_never_sent_is_not_sent_either() -> None:
    moved = (
        "diff --git a/.env b/env.txt\nsimilarity index 50%\nrename from .env\nrename to env.txt\nindex 1111111..2222222 100644\n"
        "--- a/.env\n+++ b/env.txt\n@@ -1 +1 @@\n-a=CANARY\n+b=CANARY\n@@ -9 +9 @@\n-a=CANARY\n+b=CANARY\n"
    )
    kept = sent(diff=moved + DIFF, **WITHHOLDING)
    assert "CANARY" not in kept.dossier.diff
    assert kept.dossier.files_unread == (UnreadFile(path="env.txt", reason=UnreadReason.NEVER_SEND),)
    left = [file.path for file in parse_diff(kept.dossier.diff.encode()).files]
    assert left == ["env.txt", "upload.py", "tests/test_upload.py"]


def test_a_file_that_its_source_knows_as_never_sent_is_listed_once() -> None:
    unread = (UnreadFile(path="deploy/.env", reason=UnreadReason.NEVER_SEND),)
    assert sent(diff=ENV, files_unread=unread, **WITHHOLDING).dossier.files_unread == unread
