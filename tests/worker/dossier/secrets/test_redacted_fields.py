"""A record's fields are shown without what looks like a secret in any of its texts."""

import pytest

from worker.dossier.secrets.redacted_fields import ID_FIELDS, redact_fields

TOKEN = "ghp_" + "a1B2" * 9
SHOWN = "[redacted: github token]"


def test_texts_are_concealed_however_deep_they_stand_and_nothing_else_changes() -> None:
    fields = {
        "concern": f"It holds {TOKEN}.",
        "evidence": [{"quote": TOKEN, "line": 4}],
        "score": 0.5,
        "category": None,
    }
    assert redact_fields(fields) == {
        "concern": f"It holds {SHOWN}.", "evidence": [{"quote": SHOWN, "line": 4}], "score": 0.5, "category": None,
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(ID_FIELDS))
def test_hashes_and_ids_stay(name: str) -> None:
    assert redact_fields({name: "0" * 39 + "f"}) == {name: "0" * 39 + "f"}


def test_a_word_of_a_closed_set_stays() -> None:
    assert redact_fields({"decision": "reject", "words": ["half_finished", ""]}) == {
        "decision": "reject", "words": ["half_finished", ""],
    }  # fmt: skip
