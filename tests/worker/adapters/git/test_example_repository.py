from pathlib import Path

import pytest

from tests.worker.adapters.git.conftest import diff_by_path, dossier_of
from worker.adapters.git.checkout import CheckoutInputs, CheckoutSource
from worker.adapters.git.example_repository import ExampleRepository, make_example
from worker.adapters.git.junit import read_junit
from worker.domain.dossier import CiState, Dossier
from worker.domain.verdict.ledger import Case
from worker.domain.verdict.verdict import Category
from worker.dossier.assemble import complete_dossier
from worker.judge.rubric import load_rubric
from worker.signals.heuristic_opinion import form_opinion


def read_example(example: ExampleRepository) -> Dossier:
    checks = (read_junit(example.junit.read_bytes(), example.junit.name),)
    inputs = CheckoutInputs(issue=example.issue.read_text(), checks=checks)
    source = CheckoutSource(example.checkout, base=example.base, head=example.head, inputs=inputs)
    return complete_dossier(dossier_of(source))


def test_example_is_a_stub_of_an_agent_that_code_checks_reject(tmp_path: Path) -> None:
    dossier = read_example(make_example(tmp_path / "example"))
    assert dossier.pull_request.author_agent == "copilot"
    assert [criterion.text for criterion in dossier.criteria or ()][2] == "A test shows the retry"
    assert isinstance(dossier.case, Case)
    assert dossier.ci is not None
    assert dossier.ci.state is CiState.SUCCESS
    assert [rules.path for rules in dossier.guidance] == ["AGENTS.md"]
    added = [line.text for line in diff_by_path(dossier)["upload.py"].added_lines]
    assert added[-1] == "    pass"
    assert "assert" not in diff_by_path(dossier)["test_upload.py"].added_lines[-1].text
    opinion = form_opinion(dossier, load_rubric())
    assert [(fact.category, fact.path) for fact in opinion.facts] == [(Category.HALF_FINISHED, "upload.py")]


def test_example_is_the_same_on_every_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_example(make_example(tmp_path / "first"))
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = Bob\nemail = b@b\n[commit]\ngpgSign = true\n[init]\ndefaultBranch = trunk\n[core]\nautocrlf = true\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Carol")
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    second = read_example(make_example(tmp_path / "second"))
    assert second.model_dump_json() == first.model_dump_json()
    assert first.pull_request.head_sha == "99ca7cef8fe0e5f3ec3e83be3ac7654404eb1055"
