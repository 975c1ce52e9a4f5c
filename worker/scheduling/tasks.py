"""Background tasks of the dispatcher at GitHub, each with its completion and its retry."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import inf
from typing import Final, Protocol

from worker.domain.check.author_comment import CommentJob
from worker.domain.check.check_run import SarifUpload
from worker.domain.check.merge_group import MergeGroup
from worker.domain.check.shared_head import CommitRef
from worker.domain.ids import CheckRunId, Sha
from worker.domain.judge_request import CommandRequest, JudgeRequest
from worker.domain.lifecycle.work import DuePullRequest, PendingGroup
from worker.domain.pull_request_events import PullRequestEvent, RepositoryAdded
from worker.errors import RetryRule
from worker.settings import Settings

MAX_DELAY_FACTOR: Final = 6
"""The longest retry delay of an urgent task during an outage of GitHub, in multiples of its first delay."""


Subject = JudgeRequest | MergeGroup
"""What a check run is about: a pull request, as its newest request has it, or a merge group."""


class TaskHandlers(Protocol):
    """The work of each task. Raises `worker.errors`."""

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close_expired_check(self, subject: Subject, head_sha: Sha, check: CheckRunId) -> None: ...

    def answer_command(self, command: CommandRequest) -> None: ...

    def record_outcomes(self, event: PullRequestEvent) -> None: ...

    def judge_whole_pull_request(self, due: DuePullRequest) -> None: ...

    def answer_merge_group(self, pending: PendingGroup) -> None: ...

    def update_author_comment(self, job: CommentJob) -> None: ...

    def upload_sarif(self, scan: SarifUpload) -> None: ...

    def show_repository_added(self, added: RepositoryAdded) -> None: ...

    def sync_shared_head(self, commit: CommitRef) -> None: ...

    def clean_up(self) -> None: ...

    def reconcile(self) -> None: ...


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """A task at GitHub. `complete`: record that it is done; `postpone`: retry it later; *first_retry_s*: its first retry delay.

    `discard`: called where it is given up; None: `complete` is. `installation` 0: of none.
    `is_prioritized`: a merge queue waits for it, so after a rate limit it is not spread among others.
    `is_outside`: it is about an outsider's fork; few of these run at a time.
    """

    name: str
    work: Callable[[TaskHandlers], None]
    complete: Callable[[], None]
    postpone: Callable[[timedelta], None] = lambda _: None
    discard: Callable[[], None] | None = None
    first_retry_s: float = inf
    attempt: int = 1
    installation: int = 0
    is_prioritized: bool = False
    is_outside: bool = False
    fields: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of a task across its retries."""
        return (self.name, *map(str, self.fields.values()))


def retry_rule_for(task: BackgroundTask, settings: Settings) -> RetryRule:
    """The retry rule of a task; an urgent one is retried sooner."""
    rule = settings.retry_rule
    if task.first_retry_s == inf:
        return rule
    soon = timedelta(seconds=task.first_retry_s)
    return replace(
        rule, first_delay=min(rule.first_delay, soon), longest_delay=min(rule.longest_delay, soon * MAX_DELAY_FACTOR)
    )
