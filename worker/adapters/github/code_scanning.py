"""Upload SARIF to GitHub's code scanning, in one request without retries.

A refusal that a person has to resolve is returned, not raised.
"""

import logging
from typing import Final

from worker.adapters.github.client import ApiCall, GitHubAccess
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.responses import RestResponse
from worker.domain.check.code_scanning import TOOL_NAME, UploadRefusal, classify_refusal, ref_of
from worker.domain.ids import RepositoryName, Sha
from worker.domain.request.judge_request import PullRef
from worker.errors import Forbidden, SubjectGone

LOG: Final = logging.getLogger(__name__)


class UploadReceipt(RestResponse):
    id: str | None = None


class GitHubScans:
    """The Scans of `worker.publishing.code_scanning`.

    Skipped when few requests are left, since judging needs them. Raises Gone for a removed App or head.
    """

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

    def upload(self, pull: PullRef, repository: RepositoryName, head_sha: Sha, sarif: str) -> UploadRefusal | None:
        body = {"commit_sha": head_sha, "ref": ref_of(pull), "sarif": sarif, "tool_name": TOOL_NAME}
        call = ApiCall("POST", f"/repos/{repository}/code-scanning/sarifs", body=body, need=RequestPriority.SWEEP)
        try:
            self._access.api(pull.installation_id).fetch(call, UploadReceipt)
        except Forbidden as refused:
            return classify_refusal(str(refused))
        except SubjectGone as gone:
            if gone.reason != "deleted":  # a removed App has no page to report to
                raise
            return UploadRefusal.NOT_FOUND
        except GitHubBadRequest as refused:
            LOG.warning("GitHub takes no such SARIF: %s", refused, extra={"repository": repository})
            return UploadRefusal.NOT_TAKEN
        return None
