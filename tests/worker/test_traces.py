"""One id from the delivery to the check run: no line about a request is without it."""

import json
import subprocess
import sys

from tests.worker.adapters.redis.played import HEAD, NEWER, wish
from worker.traces import log_fields

SPEAKER = """
import logging
from worker.log import log_json
from worker.traces import bind_log_fields

log_json("INFO")
log = logging.getLogger("somebody.elses")
with bind_log_fields({"delivery_id": "guid-1", "number": 3}):
    log.info("asked", extra={"number": 4})
log.info("done")
"""


def test_a_request_is_told_by_its_delivery_its_pull_request_and_its_head() -> None:
    request = wish(delivery_id="guid-1")
    known = {"delivery_id": "guid-1", "repository": "acme/widgets", "number": 1, "head_sha": HEAD}
    assert log_fields(request) == known
    assert log_fields(request, NEWER) == {**known, "head_sha": NEWER}


def test_whatever_is_logged_about_a_request_carries_its_fields_and_what_a_line_says_itself_stands() -> None:
    said = subprocess.run([sys.executable, "-c", SPEAKER], capture_output=True, text=True, check=True)
    during, after = map(json.loads, said.stderr.splitlines())
    assert (during["delivery_id"], during["number"]) == ("guid-1", 4)
    assert "delivery_id" not in after
