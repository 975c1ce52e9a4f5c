"""SARIF for GitHub's code scanning: which verdict's is due or was uploaded, and why GitHub refused it.

Due only where the repository wants it (`sarif`), of an accept or a reject at a pull request's head.
"""

from enum import StrEnum
from typing import Final

from worker.domain.check.author_comment import VerdictTask
from worker.domain.ids import EvalId, Sha
from worker.domain.model import Frozen
from worker.domain.request.judge_request import PullRef

TOOL_NAME: Final = "Assay"
MOST_BYTES: Final = 10_000_000
"""What GitHub takes of one file, gzipped."""
MOST_RESULTS: Final = 5_000
"""What GitHub shows of one run. It takes five times as many, and refuses all of them where there are more."""


class UploadRefusal(StrEnum):
    """Why GitHub has no SARIF of a verdict. A retry is useless before a person acts."""

    PERMISSION = "permission"
    NOT_ENABLED = "not_enabled"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    NOT_TAKEN = "not_taken"
    TOO_LARGE = "too_large"


_NOT_PERMITTED_TEXT: Final = "not accessible by integration"
_NOT_ENABLED_TEXTS: Final = ("code scanning", "code security", "advanced security")


def classify_refusal(message: str) -> UploadRefusal:
    """The refusal that GitHub's message of a 403 means."""
    lowered = message.casefold()
    if _NOT_PERMITTED_TEXT in lowered:
        return UploadRefusal.PERMISSION
    return UploadRefusal.NOT_ENABLED if any(text in lowered for text in _NOT_ENABLED_TEXTS) else UploadRefusal.FORBIDDEN


class SarifUpload(VerdictTask):
    """Upload the SARIF of this verdict. *origin*: the verdict that it was carried over from, or itself."""

    origin: EvalId


class UploadedSarif(Frozen):
    """The verdict and head of the last upload, which is not repeated."""

    head_sha: Sha
    origin: EvalId

    def matches(self, scan: SarifUpload) -> bool:
        return (self.head_sha, self.origin) == (scan.head_sha, scan.origin)


def ref_of(pull: PullRef) -> str:
    """The ref of the head in the base repository, also of a fork's."""
    return f"refs/pull/{pull.number}/head"
