"""The scripted model's replies are of the schema that the judge asks for."""

import json

import pytest

from tests.world.changes import RETRY, RETRY_AT, STUB, STUB_LINES
from tests.world.replies import accept, cannot_tell, reject
from worker.judge.llm.reply_schema import ReplyDocument


@pytest.mark.parametrize(
    "reply", [accept("a.py:1"), accept("a.py:1", criteria=3), reject("weak_test", "a.py:1"), cannot_tell()], ids=str
)
def test_a_built_reply_is_a_whole_reply(reply: object) -> None:
    ReplyDocument.model_validate_json(json.dumps(reply), strict=True)


def test_the_lines_that_the_stories_cite_are_there() -> None:
    stub, retry = STUB["upload.py"].splitlines(), RETRY["upload.py"].splitlines()
    assert [stub[number - 1] for number in STUB_LINES][::2] == ["def retry(data: bytes) -> int:", "    pass"]
    path, line = RETRY_AT.split(":")
    assert (path, retry[int(line) - 1]) == ("upload.py", "    for _ in range(3):")
