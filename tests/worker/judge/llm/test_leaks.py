"""Secrets and what looks like them, put into every field that a question is made from, and looked for in its prompt."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import pytest

from tests.bench.made import Size, made_dossier
from tests.worker.dossier.secrets.samples import Sample, look_alikes, secrets
from tests.worker.judge.making import new_file, question
from worker.domain.dossier import Ci, CiCheck, Criterion, Guidance, HeadFile, Issue
from worker.domain.verdict.ledger import Case
from worker.dossier.assemble import complete_dossier
from worker.judge.rubric import load_rubric
from worker.signals.heuristic_opinion import form_opinion

LEAKED_CHARACTERS: Final = 12
"""So many characters of a secret in a row are a leak, too."""

MOST_ALIKE: Final = 0.01


def in_test(text: str) -> dict[str, Any]:
    path, at = "tests/test_app.py", text.count("\n") + 2
    head = f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}\n"
    return {
        "diff": f"{head}@@ -{at} +{at} @@\n-a = 1\n+a = 2\n",
        "files": (HeadFile(path=path, text=f"{text}\na = 2\n"),),
    }


FIELDS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "diff": lambda text: {"diff": new_file("app.cfg", *text.split("\n")), "files": None},
    "changed test": in_test,
    "issue": lambda text: {"issues": (Issue(number=7, title="Uploads", body=text),)},
    "criterion": lambda text: {"criteria": (Criterion(id="AC1", text=text),)},
    "case": lambda text: {"case": Case(summary="As asked.", work_arounds=(text,))},
    "CI log": lambda text: {"ci": Ci(checks=(CiCheck(name="test", conclusion="success", summary=text),))},
    "rules file": lambda text: {"guidance": (Guidance(path="AGENTS.md", text=text),)},
    "contest": lambda text: {"contest": text},
}
"""Every field that a question is made from."""


def ask_with(samples: Iterable[Sample]) -> Iterator[tuple[Sample, str, str]]:
    """Each sample with the field that it was put into and the prompt made from that."""
    plain = complete_dossier(made_dossier(["python"], Size(files=1), whole=False))
    for at, sample in enumerate(samples):
        field = list(FIELDS)[at % len(FIELDS)]
        changed = plain.model_copy(update=FIELDS[field](sample.text))
        yield sample, field, question(changed, form_opinion(changed, load_rubric()), "bench").prompt.turns[0]


def is_leaked(secret: str, prompt: str) -> bool:
    size = LEAKED_CHARACTERS
    return any(secret[at : at + size] in prompt for at in range(0, max(1, len(secret) - size + 1), size))


COUNTS = [24, pytest.param(1_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
def test_no_secret_leaves_with_a_question(count: int) -> None:
    leaked = [
        f"{sample.shape} in the {field}"
        for sample, field, prompt in ask_with(secrets(count, 1))
        if any(is_leaked(secret, prompt) for secret in sample.secrets)
    ]
    assert leaked == []


@pytest.mark.parametrize("count", COUNTS)
def test_hardly_anything_harmless_is_redacted(count: int) -> None:
    taken = [sample.shape for sample, _, prompt in ask_with(look_alikes(count, 1)) if "[redacted: " in prompt]
    assert len(taken) <= MOST_ALIKE * count, taken


def test_a_plain_word_is_in_the_prompt_from_every_field() -> None:
    word = "perfectly-ordinary-wording"
    asked = list(ask_with([Sample("word", f"It says {word} here.", (word,))] * len(FIELDS)))
    assert {field for _, field, _ in asked} == set(FIELDS)
    assert all(is_leaked(word, prompt) for _, _, prompt in asked)
