"""The world of one conversation: GitHub, the model, Redis, the product, and what must hold at the end."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from subprocess import CompletedProcess
from typing import Any, TypeVar, Unpack
from uuid import uuid4

from tests.world.changes import PROJECT, RETRY
from tests.world.contract import find_violations
from tests.world.fake_anthropic import FakeAnthropic, HeldReply, Reply
from tests.world.fake_github import FakeGitHub
from tests.world.people import Comment, Files, Person, Proposal
from tests.world.product import Product, run_in_process
from tests.world.pull_requests import PullRequest, Repository
from tests.world.redis import RedisServer
from tests.world.sender import WebhookSender
from worker.adapters.redis import keys
from worker.adapters.redis.keys import (
    COMMANDS,
    COMMENT_JOBS,
    GROUPS,
    PULL_REQUEST_EVENTS,
    SCANS,
    SHARED_HEADS,
    UNCONFIRMED,
)
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, RepositoryId

IDLE_TIMEOUT_S = 90.0
"""The longest that a world may take to become idle."""

POLL_S = 0.05
Result = TypeVar("Result")


@dataclass
class World:
    """The world of one test."""

    github: FakeGitHub
    product: Product
    model: FakeAnthropic
    redis: RedisServer
    expected_errors: tuple[str, ...] = ()
    _first_log_line: int = 0
    _repositories: list[Repository] = field(default_factory=list[Repository])
    _old_names: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._first_log_line = len(self.product.log.lines)
        self.github.clear_faults()
        self.github.control("hooks", url=self.product.webhook_url, paused=False, copies=1)

    def create_repository(
        self, files: Files | None = None, installation: int | None = None, **options: Any
    ) -> Repository:
        """Create a repository whose main branch requires Assay, unless `protect=[]`."""
        name = f"widgets-{uuid4().hex[:8]}"
        order = {"protect": ["Assay"], **options}
        created = self.github.control("repo", name=name, files=dict(files or {"README.md": "# Widgets\n"}), **order)
        repository = Repository(self.github, created["full_name"], created["id"], installation)
        self._repositories.append(repository)
        return repository

    def forget_repository(self, repository: Repository) -> None:
        """Expect nothing of this repository from now on."""
        self._repositories.remove(repository)

    def move_repository(self, repository: Repository, installation: int | None = None, **where: str) -> Repository:
        """Give it another `name`, or another `owner` with this *installation*."""
        moved_to = self.github.control("move", repo=repository.name, **where)
        moved = Repository(self.github, moved_to["full_name"], moved_to["id"], installation)
        self._repositories[self._repositories.index(repository)] = moved
        self._old_names.append(repository.name)
        return moved

    @property
    def repository(self) -> Repository:
        """The newest repository; the sample project if there is none yet."""
        return self._repositories[-1] if self._repositories else self.create_repository(PROJECT)

    @cached_property
    def agent(self) -> Person:
        return self.person("copilot-swe-agent[bot]")

    @cached_property
    def alice(self) -> Person:
        """An administrator."""
        return self.person("alice")

    @cached_property
    def bob(self) -> Person:
        """A writer."""
        return self.person("bob")

    @cached_property
    def mallory(self) -> Person:
        """A stranger."""
        return self.person("mallory")

    def person(self, login: str) -> Person:
        return Person(login, self.github, self.repository)

    @cached_property
    def webhook_sender(self) -> WebhookSender:
        return WebhookSender.to(self.product.url, self.github.info.webhook_secret)

    # --- an action, the model's replies, and waiting for the results -----------------------------

    def open_and_judge(
        self, *replies: Reply, files: Files = RETRY, by: Person | None = None, **proposal: Unpack[Proposal]
    ) -> PullRequest:
        """Open a pull request of the agent or of *by*."""
        self._script(replies)
        pull = (by or self.agent).open_pull_request(files, **proposal)
        self.wait_until_idle()
        return pull

    def open_and_hold_model(
        self, reply: Reply, files: Files = RETRY, by: Person | None = None, **proposal: Unpack[Proposal]
    ) -> tuple[HeldReply, PullRequest]:
        """Open a pull request whose model reply waits for its release."""
        held_reply = self.model.hold_reply(reply)
        pull = (by or self.agent).open_pull_request(files, **proposal)
        held_reply.wait_for_request(90)
        return held_reply, pull

    def push_and_judge(self, pull: PullRequest, files: Files, *replies: Reply, by: Person | None = None) -> str:
        """Push a commit of the agent or of *by*, and return its SHA."""
        self._script(replies)
        sha = (by or self.agent).push(pull, files)
        self.wait_until_idle()
        return sha

    def comment_and_wait(self, pull: PullRequest, body: str, *replies: Reply, by: Person | None = None) -> Comment:
        """Comment as bob, a writer, or as *by*."""
        self._script(replies)
        comment = (by or self.bob).comment(pull, body)
        self.wait_until_idle()
        return comment

    def run_assay(self, *arguments: str) -> CompletedProcess[str]:
        """Run an `assay` command with the product's environment."""
        return run_in_process(self.product.environment, *arguments)

    def start_processes(self, *commands: str) -> None:
        """Start processes, and have GitHub deliver to the new web server."""
        for command in commands:
            self.product.start(command)
        self.product.wait_until_ready()
        self.github.control("hooks", url=self.product.webhook_url)

    def _script(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            self.model.reply_with(reply)

    def wait_until_idle(self, seconds: float = IDLE_TIMEOUT_S) -> None:
        """Wait until every delivery is answered and no work on these repositories is left."""
        self.wait_until(self._is_idle, "the world is idle", seconds)

    def wait_after(self, result: Result) -> Result:
        """Wait until idle after an action, and return its *result*."""
        self.wait_until_idle()
        return result

    def wait_until(
        self, condition: Callable[[], bool], what: str = "it holds", seconds: float = IDLE_TIMEOUT_S
    ) -> None:
        """Wait until *condition* holds, or fail with a description of the world."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.product.assert_alive()
            assert time.monotonic() < deadline, f"Waited {seconds:.0f} s until {what}.\n{self.describe()}"
            time.sleep(POLL_S)

    def _is_idle(self) -> bool:
        if self.pending_keys():
            return False
        self.github.settle()
        before = self._delivery_count()
        if self.pending_keys() or any(repository.open_checks for repository in self._repositories):
            return False
        self.github.settle()
        return not self.pending_keys() and self._delivery_count() == before

    def _delivery_count(self) -> int:
        return sum(self.github.state(repository.name, "heard")["heard"] for repository in self._repositories)

    def pending_keys(self) -> list[str]:
        """Unfinished work on this test's repositories."""
        return [
            key
            for repository in self._repositories
            for key in pending_keys(self._client, repository, repository.installation or self.installation)
        ]

    @cached_property
    def _client(self) -> Any:
        """Kept open, because it is used many times a second."""
        return self.redis.client

    def close(self) -> None:
        if "_client" in self.__dict__:
            self._client.close()

    @property
    def installation(self) -> int:
        return self.github.info.installation_id

    def describe(self) -> str:
        checks = [
            f"  {repository.name} {run['head_sha'][:7]} {run['status']} {run['conclusion']} {run['output']['title']}"
            for repository in self._repositories
            for run in repository.checks
        ]
        lines = ["Checks:", *(checks or ["  none"]), f"Busy: {self.pending_keys()}"]
        lines += [f"Model requests: {len(self.model.requests)}", "Refused:", *self._refused_deliveries()]
        return "\n".join([*lines, "Log:", self.product.log.tail(self._first_log_line), *self.product.crashes()])

    def assert_clean(self) -> None:
        """Assert what holds at the end of every conversation."""
        self._release()
        self.wait_until_idle()
        self.model.assert_script_done()
        assert self._violations() == []
        refused = self._refused_deliveries()
        assert not refused, refused
        unexpected = self._unexpected_log_lines()
        assert not unexpected, unexpected
        assert self._incomplete_evaluations() == []

    def abort(self) -> None:
        """Leave nothing that would disturb the next test."""
        self._release()
        self.github.clear_faults()
        self.github.control("hooks", url=self.product.webhook_url, paused=False, copies=1)
        for repository in self._repositories:
            for pull in self.github.state(repository.name)["pulls"]:
                path = f"/repos/{repository.name}/pulls/{pull['number']}"
                self.github.request_as("alice", "PATCH", path, state="closed")

    def _release(self) -> None:
        self.model.release()
        if "webhook_sender" in self.__dict__:
            self.webhook_sender.client.close()

    @property
    def _installations(self) -> set[int]:
        return {self.installation, *(repository.installation or self.installation for repository in self._repositories)}

    def _violations(self) -> list[str]:
        credentials = [f"installation:{installation}" for installation in self._installations]
        names = [*(repository.name for repository in self._repositories), *self._old_names]
        return [text for name in names for text in find_violations(self.github.requests(name, *credentials))]

    def _incomplete_evaluations(self) -> list[str]:
        ours = {repository.id for repository in self._repositories}
        with self.redis.client as client:
            return [text for number in self._installations for text in incomplete_evaluations(client, ours, number)]

    def _refused_deliveries(self) -> list[str]:
        return [
            f"  {delivery['event']}.{delivery['action']}: {delivery['status']} {delivery['error']}"
            for repository in self._repositories
            for delivery in self.github.state(repository.name, "deliveries")["deliveries"]
            if delivery["repo"] is not None and not 200 <= (delivery["status"] or 0) < 300
        ]

    def _unexpected_log_lines(self) -> list[str]:
        loud = self.product.log.warnings(self._first_log_line)
        return [line for line in loud if not any(text in line for text in self.expected_errors)]


def incomplete_evaluations(client: Any, repositories: set[int], installation: int) -> list[str]:
    """Evaluations on the stream that did not begin and end exactly once, in this order."""
    kinds_by_evaluation: dict[str, list[str]] = {}
    for _, entry in client.xrange(keys.events(InstallationId(installation)).name):
        body = json.loads(entry["j"])
        if body["repository_id"] in repositories and entry["k"].startswith("eval."):
            kinds_by_evaluation.setdefault(body["eval_id"], []).append(entry["k"].removeprefix("eval."))
    ends = (["started", "completed"], ["started", "failed"])
    return [f"{name}: {kinds}" for name, kinds in kinds_by_evaluation.items() if kinds not in ends]


def pending_keys(client: Any, repository: Repository, installation: int) -> list[str]:
    """Unfinished work on *repository*: queued, leased or unanswered."""
    zero = PullRef(installation_id=InstallationId(installation), repository_id=RepositoryId(repository.id), number=0)
    pattern = keys.pull(zero).name.removesuffix("0") + "*"
    inbox = client.lrange(keys.INBOX.name, 0, -1)  # first, because what is applied later has a state
    pull_keys = list(client.scan_iter(match=pattern, count=1000))
    with client.pipeline() as pipeline:  # atomic, because work moves between these keys
        for queue in (keys.pending_checks, keys.pending_checks_outside):
            pipeline.zrange(queue(InstallationId(installation)).name, 0, -1)
        for queue in (COMMANDS, PULL_REQUEST_EVENTS, GROUPS, SHARED_HEADS, UNCONFIRMED):
            pipeline.hvals(queue.texts.name)
        pipeline.hkeys(COMMENT_JOBS.texts.name)
        pipeline.hkeys(SCANS.texts.name)
        pipeline.zrangebyscore(keys.LOOKAHEAD.name, 0, time.time() * 1000)
        for key in pull_keys:
            pipeline.hget(key, "state")
        replies = pipeline.execute()
        opening, outside, commands, events, groups, commits, unconfirmed, comment_jobs, scans, ahead, *states = replies
    states_by_key = dict(zip(pull_keys, states, strict=True))
    pending = [entry for entry in (*opening, *outside) if entry.startswith(pattern.removesuffix("*"))]
    pending += [text for text in commands if repository.name in text]
    texts = (*inbox, *events, *groups, *commits, *unconfirmed)
    pending += [text for text in texts if f'"repository_id":{repository.id},' in text]
    pending += [entry for entry in (*comment_jobs, *scans) if entry.startswith(pattern[:-1])]
    watch = keys.watch(zero).name.removesuffix("0")
    pending += [entry for entry in ahead if entry.startswith(watch)]
    return [f"{key} {state}" for key, state in states_by_key.items() if state] + pending
