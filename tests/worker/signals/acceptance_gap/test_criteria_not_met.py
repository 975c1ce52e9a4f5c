"""What a criterion or a claim promises and the change does not hold."""

import pytest

from tests.worker.signals.made import dossier_of
from worker.signals.acceptance_gap import SIGNALS, criteria_not_met
from worker.signals.analysis.change import CodeChange

AFTER = {
    "net/upload.py": "def send(payload):\n    return retry(payload, max_tries=3)\n",
    "net/__init__.py": "x = 1\n",
    "tests/test_upload.py": "def test_send():\n    assert send(broken) is None\n",
}


def change(text: str, claim: str | None = None, criterion: str = "AC1: it") -> CodeChange:
    case = {"summary": "s", "ac_coverage": [{"criterion": criterion, "addressed_by": claim}]} if claim else None
    return CodeChange(dossier_of({}, AFTER, criteria=[{"id": "AC1", "text": text}], case=case))


def fired(change: CodeChange) -> list[tuple[str, str]]:
    return [(finding.signal, finding.note) for signal in SIGNALS for finding in signal.findings(change)]


@pytest.mark.parametrize(
    ("text", "signal", "note"),
    [
        ("Extend the tests in `test_download.py`", "path_not_changed", "AC1: test_download.py is not changed"),
        ("Introduce `Backoff`", "name_not_found", "AC1: the name `Backoff` does not occur"),
        ("Covered by a test: resumes halted transfers", "test_not_found", "AC1: no added test speaks of it"),
        ("Describe it in the documentation", "docs_not_changed", "AC1: no documentation is changed"),
    ],
)
def test_what_is_absent_is_suspected_once(text: str, signal: str, note: str) -> None:
    assert fired(change(text)) == [(signal, note)]


@pytest.mark.parametrize("text", ["Retry a payload", "Compress thumbnails lazily", "Provide `send`"])
def test_what_is_there_and_what_is_only_put_in_other_words_is_not(text: str) -> None:
    assert fired(change(text)) == []


def claimed(text: str, claim: str, criterion: str = "AC1: it") -> list[str]:
    return [finding.note for finding in criteria_not_met.claim_shows_nothing.findings(change(text, claim, criterion))]


def test_a_claim_that_points_at_a_file_without_any_of_it_is_suspected() -> None:
    note = "AC1: the case points at net/__init__.py, where nothing of it is changed"
    assert claimed("Compress thumbnails lazily", "net/__init__.py:1") == [note]


def test_a_claim_that_points_at_an_unchanged_file_is_suspected() -> None:
    note = "AC1: the case points at net/thumbs.py, where nothing of it is changed"
    assert claimed("Introduce `Thumbnail`", "net/thumbs.py:Thumbnail") == [note]


@pytest.mark.parametrize(
    ("text", "claim", "criterion"),
    [
        ("Retry a payload", "net/__init__.py", "AC1"),  # it is met, wherever
        ("Retry payload compress thumbnails", "net/upload.py:send", "AC1"),  # a part of it is there
        ("Send `max_tries` and `Backoff` to `Thumbnail`", "net/upload.py", "AC1"),
        ("`Backoff` in `net/upload.py`", "net/upload.py", "AC1"),  # what was asked for was touched
        ("Compress thumbnails lazily", "see the diff", "AC1"),  # no place
        ("Compress thumbnails lazily", "net/__init__.py", "AC9"),  # another criterion
    ],
)
def test_other_claims_are_not(text: str, claim: str, criterion: str) -> None:
    assert claimed(text, claim, criterion) == []


def test_a_word_beside_the_changed_lines_does_not_carry_a_claim() -> None:
    claim = {"criterion": "AC1", "addressed_by": "a.py"}
    dossier = dossier_of(
        {"a.py": "compress = 1\n"},
        {"a.py": "compress = 1\nx = 1\n"},
        criteria=[{"id": "AC1", "text": "Compress thumbnails"}],
        case={"summary": "s", "ac_coverage": [claim]},
    )
    assert [finding.signal for finding in criteria_not_met.claim_shows_nothing.findings(CodeChange(dossier))] == [
        "claim_shows_nothing"
    ]
