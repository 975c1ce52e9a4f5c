"""Where the state of one judging is shown: the port that the pipeline knows, and a laptop's board, which shows nothing.

Does not know check runs (`worker.publish` does). Invariant: a head that moved is seen on every board.
"""

from datetime import datetime
from typing import Protocol

from worker.domain.check import CheckContent
from worker.domain.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.request import JudgeRequest
from worker.domain.value import Value
from worker.domain.verdict import Abstain, Accept, Reject
from worker.ports import PullSource


class Wait(Value):
    """What is waited for, and until when at the latest."""

    names: tuple[str, ...]
    until: datetime


class Board(Protocol):
    """Where the state of a pull request's judging is shown."""

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def rest(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None: ...

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: Wait) -> None: ...

    def newer_head(self, request: JudgeRequest, head_sha: Sha, *, at_once: bool = False) -> Sha | None:
        """The newest head if it is not *head_sha*. *at_once*: nobody took any time since the dossier was read."""
        ...

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> None: ...

    def overrule(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...


class Silent:
    """A laptop's board: shows nothing, and still asks whether the head moved."""

    def __init__(self, source: PullSource) -> None:
        self._source = source

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def rest(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None: ...

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: Wait) -> None: ...

    def newer_head(self, request: JudgeRequest, head_sha: Sha, *, at_once: bool = False) -> Sha | None:  # noqa: ARG002 - it costs nothing
        newest = self._source.head_sha(request)
        return None if newest == head_sha else newest

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> None: ...

    def overrule(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...
