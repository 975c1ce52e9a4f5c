"""Logs are one JSON object a line, and every line about a request carries its id."""

import json
import subprocess
import sys

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, judge_request
from worker.log import log_fields

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


REQUEST_SPEAKER = """
import logging
from worker.log import log_json
from worker.log import bind_log_fields

log_json("INFO")
log = logging.getLogger("somebody.elses")
with bind_log_fields({"delivery_id": "guid-1", "number": 3}):
    log.info("asked", extra={"number": 4})
log.info("done")
"""


def test_a_request_is_told_by_its_delivery_its_pull_request_and_its_head() -> None:
    request = judge_request(delivery_id="guid-1")
    known = {"delivery_id": "guid-1", "repository": "acme/widgets", "number": 1, "head_sha": HEAD}
    assert log_fields(request) == known
    assert log_fields(request, NEWER) == {**known, "head_sha": NEWER}


def test_whatever_is_logged_about_a_request_carries_its_fields_and_what_a_line_says_itself_stands() -> None:
    said = subprocess.run([sys.executable, "-c", REQUEST_SPEAKER], capture_output=True, text=True, check=True)
    during, after = map(json.loads, said.stderr.splitlines())
    assert (during["delivery_id"], during["number"]) == ("guid-1", 4)
    assert "delivery_id" not in after
