"""docs/privacy.md says of every field whether it leaves, and the question keeps to it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.worker.judge.making import HEAD, dossier, entry, new_file, pull_request, question, rejected
from worker.domain.dossier import (
    Ci,
    CiCheck,
    Commit,
    Criterion,
    Dossier,
    HeadFile,
    Issue,
    LateEdit,
    NameLookup,
    Policy,
    Seed,
)
from worker.dossier.secrets import SecretKind

PAGE = (Path(__file__).resolve().parents[3] / "docs/privacy.md").read_text(encoding="utf-8")
CANARY = "CANARY-TEXT"
LATE = (LateEdit(by=CANARY, at=datetime(2026, 11, 20, tzinfo=UTC)),)
AROUND: Any = {"author": CANARY, "url": CANARY, "edited_by": CANARY, "late_edits": LATE, "late_renames": LATE}
STAYS = {
    "title": {"pull_request": pull_request(title=CANARY)},
    "body": {"pull_request": pull_request(body=CANARY)},
    "labels": {"pull_request": pull_request(labels=(CANARY,))},
    "commits": {"pull_request": pull_request(commits=(Commit(sha="c" * 40, message=CANARY),))},
    "author": {"pull_request": pull_request(author=CANARY)},
    "branch names": {"pull_request": pull_request(head_ref=CANARY, base_ref=CANARY)},
    "repository name": {"pull_request": pull_request(repository=f"acme/{CANARY}")},
    "author of the issue": {"issues": (Issue(number=7, title="t", body="b", **AROUND),)},
    "source of a criterion": {"criteria": (Criterion(id="AC1", text="x", source=CANARY),)},
    "cited file": {"files": (HeadFile(path="docs/x.md", text=CANARY),)},
    "lookups": {"lookups": (NameLookup(name="_load", paths=(CANARY,)),)},
    "log tail": {"ci": Ci(checks=(CiCheck(name="t", conclusion="success", log_tail=CANARY),))},
    "policy": {"policy": Policy(never_send=(CANARY,))},
    "seed": {"seed": Seed(head_sha=HEAD, diff=new_file("a.py", CANARY))},
    "hashes of the ledger": {"ledger": (entry(rejected(), changed_lines={CANARY: (CANARY,)}),)},
}


def test_every_field_of_the_dossier_stands_in_the_table() -> None:
    fields = set(Dossier.model_fields) - {"dossier_version", "case_error"}
    assert {name for name in fields if f"`{name}" not in PAGE} == set()


@pytest.mark.parametrize("field", STAYS)
def test_what_the_page_says_stays_is_not_in_the_question(field: str) -> None:
    prompt = question(dossier(**STAYS[field])).prompt
    assert CANARY not in prompt.system + "".join(prompt.turns)


@pytest.mark.parametrize("kind", SecretKind)
def test_every_kind_of_secret_has_its_own_mark(kind: SecretKind) -> None:
    assert kind.mark == f"[redacted: {kind.value}]"
