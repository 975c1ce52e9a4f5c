"""What a script is made of. Invariant: no word is missing where a script is sent without all of them."""

import re

import pytest

from worker.adapters.redis.scripts import FOLDER, FREQUENT_SCRIPTS, Script, source

WORD = re.compile(r"^local function (\w+)\(", re.MULTILINE)


@pytest.mark.parametrize("script", sorted(FREQUENT_SCRIPTS))
def test_what_runs_often_uses_no_word_that_it_is_sent_without(script: Script) -> None:
    sent = source(script).decode()
    left_out = set(WORD.findall((FOLDER / "judging.lua").read_text())) - set(WORD.findall(sent))
    assert {"owe", "hold", "close"} <= left_out
    assert [word for word in sorted(left_out) if re.search(rf"\b{word}\(", sent)] == []


def test_every_other_script_has_all_words_before_it() -> None:
    words = b"".join((FOLDER / name).read_bytes() for name in ("pull.lua", "judging.lua"))
    assert [
        script
        for script in Script
        if script not in {*FREQUENT_SCRIPTS, Script.COMMIT} and not source(script).startswith(words)
    ] == []
