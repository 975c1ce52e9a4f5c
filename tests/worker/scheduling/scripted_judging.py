"""Handlers that follow a script in Redis (keys `world:*`) and write check runs there.

They stand in for `worker.wiring.app.open_app`. Invariant: like the real handlers, they write only under a valid lease.
"""

import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from tests.worker.adapters.redis.store_samples import ledger_entry, pull_ref, settings_for
from tests.worker.publishing.texts.samples import dossier, rejected
from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import items, text, whole
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentJob
from worker.domain.check.check_run import CheckContent, Conclusion, SarifUpload
from worker.domain.check.shared_head import CommitRef
from worker.domain.github_events import MergeGroup, PullRequestEvent, RepositoryAdded
from worker.domain.judge_request import CommandRequest, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import ShownPull
from worker.domain.lifecycle.judging import (
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
    WaitForCi,
)
from worker.domain.lifecycle.work import DuePullRequest, LeasedGroup, PendingGroup, QueuedDelivery
from worker.domain.model import CheckRunId, EvalId, Sha, hash_base
from worker.domain.ports import Fence, Lease
from worker.domain.verdict.ledger import LedgerEntry
from worker.errors import Forbidden, Outage, RateLimited, SubjectGone, Unavailable
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.texts.states import failed_content
from worker.scheduling.ports import Subject
from worker.scheduling.queue import JudgeQueue
from worker.settings import Settings

GIVEN_UP = "given up: "
NO_PULL, A_GROUP = pull_ref(0), pull_ref(5_000)
"""The script keys of merge groups: of their answer and of their judging."""


def name_of(pull: PullRef) -> str:
    return f"{pull.installation_id}/{pull.number}"


def entry_for(head_sha: Sha, fence: int) -> LedgerEntry:
    """Return the verdict that these handlers record for any head."""
    subject = rejected().subject.model_copy(update={"head_sha": head_sha})
    return ledger_entry(rejected(eval_id=EvalId(f"{fence}"), subject=subject), fence, head_sha)


class ScriptedGitHub:
    """The scripted GitHub of these handlers."""

    def __init__(self, store: Store) -> None:
        self._client = store.client

    def head(self, pull: PullRef) -> Sha:
        return text(self._client.call("HGET", "world:heads", name_of(pull)))

    def push(self, pull: PullRef, head_sha: Sha) -> None:
        self._client.call("HSET", "world:heads", name_of(pull), head_sha)

    def script(self, pull: PullRef, *steps: str) -> None:
        """Set one step for each of the next judgings of this pull request; later ones just judge."""
        self._client.call("RPUSH", f"world:orders:{name_of(pull)}", *steps)

    def fail_next_create(self, reason: str) -> None:
        self._client.call("SET", "world:creates_none", reason)

    def fail_next_update(self, reason: str) -> None:
        self._client.call("SET", "world:updates_none", reason)

    def next_step(self, pull: PullRef) -> str:
        return text(self._client.call("LPOP", f"world:orders:{name_of(pull)}"))

    def note(self, what: str, **fields: object) -> None:
        fields |= {"process": os.getpid(), "parent": os.getppid()}
        self._client.call("RPUSH", "world:story", json.dumps({"what": what} | fields))

    def notes(self, what: str) -> list[dict[str, object]]:
        notes = [json.loads(text(line)) for line in items(self._client.call("LRANGE", "world:story", 0, -1))]
        return [note for note in notes if note["what"] == what]

    def checks(self) -> dict[str, str]:
        """Return every check run as `pull head` -> `state: title`."""
        flat = [text(item) for item in items(self._client.call("HGETALL", "world:checks"))]
        return dict(zip(flat[::2], flat[1::2], strict=True))


Action = Callable[[], object]


def raise_error(error: BaseException) -> Action:
    def run() -> None:
        raise error

    return run


class ScriptedCheckRuns:
    """The CheckPublisher and CheckRuns ports. *before*, *after*: what runs right before and after the next write."""

    def __init__(self, store: Store, before: Action | None = None, after: Action | None = None) -> None:
        self._client = store.client
        self._world = ScriptedGitHub(store)
        self._before, self._after = [before] if before else [], [after] if after else []
        self.fence: Fence = no_lease

    def with_fence(self, fence: Fence) -> Self:
        self.fence = fence
        return self

    def create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        check = f"{name_of(request.pull)} {head_sha}"
        if refused := text(self._client.call("GETDEL", "world:creates_none")):
            raise Unavailable("GitHub", refused)
        number = whole(self._client.call("HGET", "world:check_ids", check))
        if not number:
            number = whole(self._client.call("INCR", "world:check_count"))
            self._client.call("HSET", "world:check_ids", check, number)
            self._client.call("HSET", "world:check_names", number, check)
            self._world.note("created", check=check)
        elif content.gives_way and not self._world.checks()[check].startswith("in_progress"):
            return CheckRunId(number)
        self.update(request, CheckRunId(number), content)
        return CheckRunId(number)

    def create_first(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        return self.create(request, head_sha, content)

    def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
        number = whole(self._client.call("HGET", "world:check_ids", f"{name_of(request.pull)} {head_sha}"))
        return CheckRunId(number) if number else None

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        if self._before:
            self._before.pop()()
        if refused := text(self._client.call("GETDEL", "world:updates_none")):
            raise Forbidden(refused)
        state = f"{content.conclusion or 'in_progress'}: {content.title}"
        name = text(self._client.call("HGET", "world:check_names", check))
        assert name.startswith(name_of(request.pull))
        self.fence()
        self._client.call("HSET", "world:checks", name, state)
        self._world.note("wrote", check=name, state=state)
        if self._after:
            self._after.pop()()


@dataclass(frozen=True, slots=True)
class ScriptedHandlers:
    """Handlers that follow the script."""

    store: Store
    world: ScriptedGitHub

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> JudgingOutcome:
        head_sha = self.world.head(request.pull) or request.head_sha or "0" * 40
        common = {"pull": name_of(request.pull), "fence": lease.fence, "head": head_sha, "trigger": request.trigger}
        step = self.world.next_step(request.pull)
        self.world.note("began", waiting=waiting_since is not None, **common)
        if step == "lose":
            self.store.client.call("ZADD", keys.DISPATCHED.name, "XX", 1, keys.pull(request.pull).name)
        if (outcome := self._step(step)) is not None:
            return outcome
        lease.renew()
        self._service(lease.renew).restart(request, head_sha)
        if self.world.head(request.pull) not in ("", head_sha):
            return JudgingSuperseded(self.world.head(request.pull))
        entry = entry_for(head_sha, lease.fence)
        self.store.ledger.append(request.pull, entry)
        if step == "record":
            raise Outage("GitHub", "502")
        lease.renew()
        self._service(lease.renew).write(request, head_sha, CheckContent("judged", "", conclusion=Conclusion.FAILURE))
        self._service(lease.renew).supersede(request, head_sha)
        self.world.note("ended", **common)
        return JudgingCompleted(entry.verdict, dossier())

    def _step(self, step: str) -> JudgingOutcome | None:  # noqa: C901, PLR0912 - one arm a step
        word, _, rest = step.partition(" ")
        match word:
            case "unavailable":
                raise Unavailable("GitHub", "502")
            case "away":
                raise Outage("GitHub", "502")
            case "limited":
                raise RateLimited("GitHub", datetime.now(UTC) + timedelta(seconds=float(rest)))  # noqa: TID251 - played
            case "limited_until":
                raise RateLimited("GitHub", datetime.fromisoformat(rest))
            case "forbidden":
                raise Forbidden("checks: write is missing")
            case "gone":
                raise SubjectGone("deleted")
            case "bug":
                raise ZeroDivisionError(rest)
            case "wait":
                return WaitForCi(timedelta(seconds=float(rest)), ("test",))
            case "outage":
                return JudgingCompleted(rejected(), dossier(), timedelta(seconds=float(rest)))
            case "dropped":
                return JudgingDiscarded("closed")
            case "crash":
                os.kill(os.getpid(), 9)
            case "think":
                time.sleep(float(rest))
            case _:
                pass
        return None

    def fail_check(self, request: JudgeRequest, lease: Lease, reason: str) -> None:
        lease.renew()
        step = self.world.next_step(request.pull)
        if step == "mute":
            raise ZeroDivisionError("the check can't be told")
        if step == "away":
            raise Outage("GitHub", "502")
        head_sha = self.world.head(request.pull) or request.head_sha or "0" * 40
        content = CheckContent(GIVEN_UP + reason, "", conclusion=Conclusion.ACTION_REQUIRED)
        self._service(lease.renew).write(request, head_sha, content)

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None:
        self._step(self.world.next_step(request.pull.model_copy(update={"number": request.pull.number + 1000})))
        if self.world.head(request.pull) in ("", head_sha):
            self._service().open(request, head_sha)

    def close_expired_check(self, subject: Subject, head_sha: Sha, check: CheckRunId) -> None:
        if isinstance(subject, MergeGroup):
            self.world.note("closed group", head=head_sha, check=check)
            self.store.checks().record_expired(NO_PULL, head_sha, check)
            return
        step = self.world.next_step(subject.pull.model_copy(update={"number": subject.pull.number + 2000}))
        self._step(step)
        self._service().expire(subject, head_sha, check, failed_content("overdue", subject.delivery_id))
        if step == "a judge begins":
            self._service().restart(subject, head_sha)

    def confirm_delivery(self, queued: QueuedDelivery) -> None:
        pull, announced = queued.delivery.request.pull, queued.delivery.request.head_sha or "0" * 40
        self._step(self.world.next_step(pull.model_copy(update={"number": pull.number + 3000})))
        shown = ShownPull(self.world.head(pull) or announced, hash_base("main"), draft=False)
        self.store.unconfirmed.confirm(queued, shown, is_last=True)

    def answer_command(self, command: CommandRequest) -> None:
        self.world.note("asked", delivery=command.delivery_id)
        self._step(self.world.next_step(command.pull))
        self.store.pulls.request_judging(
            JudgeRequest(
                pull=command.pull,
                repository=command.repository,
                head_sha=None,
                trigger=Trigger.COMMAND,
                delivery_id=command.delivery_id,
                requested_at=command.asked_at,
            )
        )

    def record_outcomes(self, event: PullRequestEvent) -> None:
        self.world.note("followed", delivery=event.delivery_id)
        self._step(self.world.next_step(event.pull_with_number(event.number or 0)))

    def judge_whole_pull_request(self, due: DuePullRequest) -> None:
        self.world.note("concluded", pull=name_of(due.pull))
        self._step(self.world.next_step(due.pull))

    def answer_merge_group(self, pending: PendingGroup) -> None:
        """Judge a leased group; dispatch a pending one if its step says so, else complete it."""
        if isinstance(pending, LeasedGroup):
            self.world.note("group judged", attempt=pending.attempt)
            step = self.world.next_step(A_GROUP)
            self._step(step)
            if step == "lose":
                self.store.groups.requeue_dead(pending.group.id, pending.lease.token.partition(" ")[0])
                self.store.groups.dispatch(pending.group)
            pending.lease.renew()
            self.store.groups.complete(pending.group)
            return
        self.world.note("group", attempt=pending.attempt, failed=pending.queued.failed)
        step = self.world.next_step(NO_PULL)
        self._step(step)
        token = self.store.groups.dispatch(pending.group) if step == "dispatch" else None
        if token is None:
            self.store.groups.complete(pending.group)
            return
        queue = JudgeQueue(settings_for(self.store.url.get_secret_value()))
        queue.submit_group(pending.group.id, token)
        queue.close()

    def show_repository_added(self, added: RepositoryAdded) -> None:
        self.world.note("greeted", repository=added.repository)

    def sync_shared_head(self, commit: CommitRef) -> None: ...

    def clean_up(self) -> None: ...

    def reconcile(self) -> None: ...

    def upload_sarif(self, scan: SarifUpload) -> None: ...

    def update_author_comment(self, job: CommentJob) -> None: ...

    def postpone(self, request: JudgeRequest, lease: Lease, until: datetime, *, is_away: bool = False) -> None:
        lease.renew()
        self.world.note("put off", pull=name_of(request.pull), until=until.isoformat(), away=is_away)

    def _service(self, fence: Fence = no_lease) -> CheckRunService:
        return CheckRunService(ScriptedCheckRuns(self.store), self.store.checks(), fence)


@contextmanager
def open_scripted_handlers(settings: Settings, store: Store) -> Generator[ScriptedHandlers]:
    assert settings.redis_url is not None
    yield ScriptedHandlers(store, ScriptedGitHub(store))
