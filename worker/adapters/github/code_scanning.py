"""SARIF into GitHub's code scanning.

Does not make it. Invariant: one request, never repeated here; what a person has to change is an answer, and no error.
"""

import logging
from typing import Final

from worker.adapters.github.client import Access, Call
from worker.adapters.github.errors import BadRequest
from worker.adapters.github.rate_limits import Need
from worker.adapters.github.responses import Reply
from worker.domain.check.code_scanning import TOOL, Refusal, ref_of, refusal_of
from worker.domain.ids import RepositoryName, Sha
from worker.domain.request.judge_request import PullRef
from worker.errors import Forbidden, Gone

LOG: Final = logging.getLogger(__name__)


class Receipt(Reply):
    id: str | None = None


class GitHubScans:
    """The Scans of `worker.publishing.code_scanning`. Asks only while much is left to ask: a judging needs it more. Raises Gone where the App, or the head, is not there any more."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def upload(self, pull: PullRef, repository: RepositoryName, head_sha: Sha, sarif: str) -> Refusal | None:
        body = {"commit_sha": head_sha, "ref": ref_of(pull), "sarif": sarif, "tool_name": TOOL}
        call = Call("POST", f"/repos/{repository}/code-scanning/sarifs", body=body, need=Need.SWEEP)
        try:
            self._access.api(pull.installation_id).fetch(call, Receipt)
        except Forbidden as refused:
            return refusal_of(str(refused))
        except Gone as gone:
            if gone.what != "deleted":  # nobody is there to be told
                raise
            return Refusal.NOT_FOUND
        except BadRequest as refused:
            LOG.warning("GitHub takes no such SARIF: %s", refused, extra={"repository": repository})
            return Refusal.NOT_TAKEN
        return None
