"""Logs are one JSON object a line, whoever wrote them."""

import json
import subprocess
import sys

SPEAKER = """
import logging
from worker.log import log_json

log_json("INFO")
logging.getLogger("worker.x").info("judged %s", "it", extra={"fence": 7})
logging.getLogger("rq.worker").info("chatter")
logging.getLogger("worker.x").debug("detail")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("worker.x").exception("failed")
"""


def test_every_line_is_an_object_with_its_fields_and_its_traceback() -> None:
    said = subprocess.run([sys.executable, "-c", SPEAKER], capture_output=True, text=True, check=True)
    first, second = map(json.loads, said.stderr.splitlines())
    assert (first["event"], first["level"], first["fence"], first["logger"]) == ("judged it", "info", 7, "worker.x")
    assert first["timestamp"].endswith("Z")
    assert "ZeroDivisionError" in second["exception"]
    assert said.stdout == ""


def test_a_library_says_no_more_than_was_asked_for() -> None:
    quiet = SPEAKER.replace("INFO", "ERROR").replace(".info(", ".warning(")
    said = subprocess.run([sys.executable, "-c", quiet], capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in said.stderr.splitlines()] == ["failed"]
