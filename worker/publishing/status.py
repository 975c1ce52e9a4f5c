"""Where the state of one judging is shown: the port that the pipeline knows, and a laptop's board, which shows nothing.

Does not know check runs (`worker.publishing.check_runs` does). Invariant: a head that moved is seen on every board.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.ports import PullSource
from worker.domain.request.judge_request import JudgeRequest
from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, Accept, Reject


class CiWait(Value):
    """What is waited for, and until when at the latest."""

    names: tuple[str, ...]
    until: datetime


FindHead = Callable[[], Sha | None]
"""What finds the newest head out beside something else that it does; None: it did not, and it is still to be asked for."""


class StatusReporter(Protocol):
    """Where the state of a pull request's judging is shown."""

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def show_skipped(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None: ...

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: CiWait) -> None: ...

    def find_newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, is_fresh: bool = False, find_head: FindHead | None = None
    ) -> Sha | None:
        """The newest head if it is not *head_sha*.

        *at_once*: nobody took any time since the dossier was read; *look*: what may find it out, and writes at GitHub.
        """
        ...

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> bool:
        """Show the verdict. False: something that it was judged by changed meanwhile. It is judged again, and this is not shown."""
        ...

    def show_decision(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...


class NullStatusReporter:
    """A laptop's board: shows nothing, and still asks whether the head moved."""

    def __init__(self, source: PullSource) -> None:
        self._source = source

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def show_skipped(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None: ...

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: CiWait) -> None: ...

    def find_newer_head(
        self,
        request: JudgeRequest,
        head_sha: Sha,
        *,
        is_fresh: bool = False,  # noqa: ARG002 - it costs nothing
        find_head: FindHead | None = None,  # noqa: ARG002 - a laptop writes nothing
    ) -> Sha | None:
        newest = self._source.head_sha(request)
        return None if newest == head_sha else newest

    def publish(
        self,
        request: JudgeRequest,  # noqa: ARG002 - it shows nothing
        verdict: Accept | Reject | Abstain,  # noqa: ARG002
        dossier: Dossier,  # noqa: ARG002
        again_at: datetime | None,  # noqa: ARG002
    ) -> bool:
        return True

    def show_decision(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...
