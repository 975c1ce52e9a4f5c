"""Log lines are JSON objects, and lines about a request carry its fields."""

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


def test_log_line_is_an_object_with_fields_and_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", SPEAKER], capture_output=True, text=True, check=True)
    first, second = map(json.loads, done.stderr.splitlines())
    assert (first["event"], first["level"], first["fence"], first["logger"]) == ("judged it", "info", 7, "worker.x")
    assert first["timestamp"].endswith("Z")
    assert "ZeroDivisionError" in second["exception"]
    assert done.stdout == ""


def test_library_logs_only_the_configured_level() -> None:
    quiet = SPEAKER.replace("INFO", "ERROR").replace(".info(", ".warning(")
    done = subprocess.run([sys.executable, "-c", quiet], capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["failed"]


REQUEST_SPEAKER = """
import logging
from worker.log import log_json
from worker.log import bind_log_fields

log_json("INFO")
log = logging.getLogger("another.package")
with bind_log_fields({"delivery_id": "guid-1", "number": 3}):
    log.info("asked", extra={"number": 4})
log.info("done")
"""


def test_request_is_logged_by_delivery_pull_request_and_head() -> None:
    request = judge_request(delivery_id="guid-1")
    fields = {"delivery_id": "guid-1", "repository": "acme/widgets", "number": 1, "head_sha": HEAD}
    assert log_fields(request) == fields
    assert log_fields(request, NEWER) == {**fields, "head_sha": NEWER}


def test_bound_fields_are_logged_unless_the_line_sets_them() -> None:
    done = subprocess.run([sys.executable, "-c", REQUEST_SPEAKER], capture_output=True, text=True, check=True)
    during, after = map(json.loads, done.stderr.splitlines())
    assert (during["delivery_id"], during["number"]) == ("guid-1", 4)
    assert "delivery_id" not in after
