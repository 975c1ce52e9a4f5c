"""Checks that are open at GitHub though we take them for ended: opened again after the backup that Redis was restored from.

Does not judge and says nothing: what is on record is shown by whoever looks again. Invariant: a head is asked about once in each
run of Redis' server, MAX_OWNERS in one go, and only while nobody is to judge it; and somebody looks again once for each of its
check runs.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from worker.domain.ids import CheckRunId, InstallationId, Sha
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.value import Value
from worker.judge.merge_group import PublishedCheckRun

MAX_HEADS: Final = 1_000
"""Ten requests. The others come with the next look."""


class PublishedChecks(Protocol):
    """What GitHub shows. Raises as PullSource does."""

    def newest_runs(
        self, installation: InstallationId, asked: Sequence[JudgeRequest]
    ) -> Sequence[PublishedCheckRun | None]:
        """Our newest check run on each head; None: it has none, or another one is the newest head."""
        ...


class EndedChecks(Protocol):
    """What we know of checks that ended. Raises Unavailable."""

    def find_doubt(self, pull: PullRef, head_sha: Sha) -> str:
        """A word as long as Redis may have forgotten that it was opened again; '': it did not."""
        ...

    def confirm_ended(self, pull: PullRef, head_sha: Sha, doubt: str) -> None:
        """GitHub shows it ended, too, unless something happened since this doubt."""
        ...

    def requeue(self, request: JudgeRequest, check: CheckRunId, doubt: str) -> bool:
        """Have somebody look again. False: that was asked for before."""
        ...


class ReopenedCheckSweep(Value):
    """Compares what we take for ended with what GitHub shows."""

    published: PublishedChecks
    ended: EndedChecks

    def requeue_reopened(self, installation: InstallationId, requests: Sequence[JudgeRequest]) -> int:
        """How many of these heads somebody looks at again."""
        doubtful = [(request, doubt) for request in requests if (doubt := self._find_doubt(request))][:MAX_HEADS]
        shown = self.published.newest_runs(installation, [request for request, _ in doubtful])
        return sum(
            self._requeue_if_reopened(request, doubt, run)
            for (request, doubt), run in zip(doubtful, shown, strict=True)
        )

    def _find_doubt(self, request: JudgeRequest) -> str:
        return self.ended.find_doubt(request.pull, request.head_sha) if request.head_sha else ""

    def _requeue_if_reopened(self, request: JudgeRequest, doubt: str, run: PublishedCheckRun | None) -> bool:
        head_sha = request.head_sha
        if head_sha is None or self.ended.find_doubt(request.pull, head_sha) != doubt:
            return False  # whoever judged meanwhile may have ended it after we asked
        if run is not None and run.conclusion is None:
            return self.ended.requeue(request, run.check, doubt)
        self.ended.confirm_ended(request.pull, head_sha, doubt)
        return False
