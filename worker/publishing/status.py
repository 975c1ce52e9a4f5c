"""The port on which the pipeline reports the state of a judging, and the one of a laptop, which shows nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha
from worker.domain.ports import PullSource
from worker.domain.request.judge_request import JudgeRequest
from worker.domain.verdict.verdict import Abstain, Accept, Reject


@dataclass(frozen=True)
class CiWait:
    """The checks that judging waits for, and its deadline."""

    names: tuple[str, ...]
    until: datetime


FindHead = Callable[[], Sha | None]
"""A request to GitHub whose answer also names the newest head; None: it did not."""


class StatusReporter(Protocol):
    """Shows the state of a pull request's judging."""

    def begin(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def show_skipped(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> None: ...

    def wait_for_ci(self, request: JudgeRequest, head_sha: Sha, wait: CiWait) -> None: ...

    def find_newer_head(
        self, request: JudgeRequest, head_sha: Sha, *, is_fresh: bool = False, find_head: FindHead | None = None
    ) -> Sha | None:
        """The newest head if it is not *head_sha*.

        *is_fresh*: no time passed since the dossier was read; *find_head*: a write to GitHub whose answer may name it.
        """
        ...

    def publish(
        self, request: JudgeRequest, verdict: Accept | Reject | Abstain, dossier: Dossier, again_at: datetime | None
    ) -> bool:
        """Show the verdict. False: something that it depends on changed meanwhile; the head is judged again instead."""
        ...

    def show_decision(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...


class NullStatusReporter:
    """Shows nothing, and still detects a newer head."""

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
        is_fresh: bool = False,  # noqa: ARG002 - asking git costs nothing
        find_head: FindHead | None = None,  # noqa: ARG002 - a laptop writes nothing
    ) -> Sha | None:
        newest = self._source.head_sha(request)
        return None if newest == head_sha else newest

    def publish(
        self,
        request: JudgeRequest,  # noqa: ARG002 - shows nothing
        verdict: Accept | Reject | Abstain,  # noqa: ARG002
        dossier: Dossier,  # noqa: ARG002
        again_at: datetime | None,  # noqa: ARG002
    ) -> bool:
        return True

    def show_decision(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close(self, request: JudgeRequest, *, is_over: bool) -> None: ...
