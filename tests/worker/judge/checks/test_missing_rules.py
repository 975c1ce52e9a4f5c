"""Rules that a reject rests on and that stand nowhere."""

from typing import Any

import pytest

from tests.worker.judge.courtroom import bench, docket
from tests.worker.judge.making import accept, dossier, model_of, place, reject
from worker.domain.dossier.dossier import Ci, CiCheck, CiState, Guidance, UnreadFile, UnreadReason
from worker.domain.verdict.opinion import Leaning, ModelOpinion
from worker.domain.verdict.verdict import AbstainReason, Category, EvidencePointer
from worker.judge.checks.missing_rules import SHOWN_CHARACTERS, find_missing_rule
from worker.judge.judge import judge

RULES = Guidance(
    path="AGENTS.md",
    text="# Rules\n\n- **Never** edit files in `dist/`: run\n  `make gen` instead.\n- See docs/CONTRIBUTING.md, too.\n",
)
CHECKED = Ci(
    state=CiState.SUCCESS, checks=(CiCheck(name="lint", conclusion="success", summary="3 warnings: line too long"),)
)


def said(concern: str, **changes: Any) -> ModelOpinion:
    fields: dict[str, Any] = {
        "decision": Leaning.REJECT,
        "category": Category.SPEC_VIOLATION,
        "concern": concern,
        "evidence": (EvidencePointer(path="upload.py", line=2),),
        "next_step": "Do it.",
        "score": 0.2,
        "confidence": 0.9,
    }
    return ModelOpinion(**{**fields, **changes})


@pytest.mark.parametrize(
    ("concern", "missing"),
    [
        ('AGENTS.md says "never edit files in dist".', None),
        ("AGENTS.md says \u201cNever edit files in `dist/`: run `make gen`\u201d.", None),
        ('AGENTS.md says "Never edit \u2026 run `make gen` instead".', None),
        ('AGENTS.md says "Never edit files in ... always".', "Never edit files in ... always"),
        ('AGENTS.md says "never write to the log".', "never write to the log"),
        ('The issue asks: "Never edit files in src".', "Never edit files in src"),
        ("CLAUDE.md forbids it.", "CLAUDE.md"),
        ("docs/agents/AGENTS.md forbids it.", "docs/agents/AGENTS.md"),
        ("docs/CONTRIBUTING.md forbids it.", None),  # a file that was read names it
        ("agents.md forbids it.", None),
        ("It breaks .cursorrules of this repository.", ".cursorrules"),
        ('The function is called "too early".', None),
        ('It prints "line too long" again.', None),
        ('It breaks "reply = post(data)" of the module.', None),
        ("It breaks the rule on generated files.", None),
    ],
)
def test_what_a_reject_for_a_rule_quotes_or_names_stands_somewhere(concern: str, missing: str | None) -> None:
    assert find_missing_rule(said(concern), dossier(guidance=(RULES,), ci=CHECKED)) == missing


def test_a_rules_file_that_is_there_and_was_not_read_is_no_invention() -> None:
    unread = (UnreadFile(path="CLAUDE.md", reason=UnreadReason.TOO_LARGE),)
    assert find_missing_rule(said("CLAUDE.md forbids it."), dossier(files_unread=unread)) is None


def test_only_a_reject_for_a_broken_rule_is_held_against_what_was_read() -> None:
    text = "CLAUDE.md forbids it."
    assert find_missing_rule(said(text, category=Category.HALF_FINISHED), dossier()) is None
    assert find_missing_rule(said(text, decision=Leaning.CANNOT_TELL, category=None, next_step=None), dossier()) is None


def test_a_long_quote_is_cut_where_it_is_told() -> None:
    rule = find_missing_rule(said(f'AGENTS.md says "{"never edit it " * 20}".'), dossier(guidance=(RULES,)))
    assert rule is not None
    assert len(rule) == SHOWN_CHARACTERS
    assert rule.endswith("…")


INVENTED = reject(category="spec_violation", evidence=[place("upload.py", 2)], concern="CLAUDE.md forbids loops.")


def test_who_rests_on_it_once_is_told_and_who_does_so_twice_leaves_it_to_a_person() -> None:
    verdict = judge(dossier(), docket(), bench(model_of(INVENTED, INVENTED)))
    assert (verdict.decision, verdict.abstain_reason) == ("abstain", AbstainReason.NEEDS_HUMAN)
    assert verdict.signals["vetoed_by"] == "rules"
    assert "CLAUDE.md" in verdict.concern
    assert judge(dossier(), docket(), bench(model_of(INVENTED, accept()))).decision == "accept"
