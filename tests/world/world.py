"""The world of one conversation: people, GitHub, the model, the product, and what must hold at the end.

Does not assert what a story is about. Invariant: a story that ends well left nothing behind: no violation of
GitHub's contract, no surprise for the model, no delivery refused, no error in the product's log.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Unpack
from uuid import uuid4

from tests.world.changes import PROJECT, RETRY
from tests.world.contract import find_violations
from tests.world.fake_anthropic import FakeAnthropic, HeldReply, Reply
from tests.world.fake_github import Delivery, FakeGitHub
from tests.world.people import Comment, Files, Person, Proposal
from tests.world.product import Product
from tests.world.pull_requests import PullRequest, Repository
from tests.world.redis import RedisServer
from tests.world.sender import WebhookSender
from worker.adapters.redis import keys
from worker.adapters.redis.keys import COMMANDS, COMMENT_JOBS, GROUPS, PULL_REQUEST_EVENTS, SCANS, SHARED_HEADS
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.judge_request import PullRef

IDLE_TIMEOUT_S = 40.0
"""How long a world may take to settle before the test calls it broken."""

POLL_S = 0.03


@dataclass
class World:
    """One test's world. `repository(...)` comes first, then people act in it."""

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

    # --- the stage ------------------------------------------------------------------------------

    def create_repository(
        self, files: Files | None = None, installation: int | None = None, **options: Any
    ) -> Repository:
        """A new repository whose main branch requires Assay, unless `protect=[]`; *home*: another owner's installation."""
        name = f"widgets-{uuid4().hex[:8]}"
        order = {"protect": ["Assay"], **options}
        made = self.github.control("repo", name=name, files=dict(files or {"README.md": "# Widgets\n"}), **order)
        repository = Repository(self.github, made["full_name"], made["id"], installation)
        self._repositories.append(repository)
        return repository

    def forget_repository(self, repository: Repository) -> None:
        """Nothing is expected of this repository any more: the story took it away."""
        self._repositories.remove(repository)

    def move_repository(self, repository: Repository, installation: int | None = None, **where: str) -> Repository:
        """It is called another `name` from now on, or belongs to another `owner`: another installation's, whose number is *home*."""
        made = self.github.control("move", repo=repository.name, **where)
        moved = Repository(self.github, made["full_name"], made["id"], installation)
        self._repositories[self._repositories.index(repository)] = moved
        self._old_names.append(repository.name)
        return moved

    @property
    def repository(self) -> Repository:
        """The newest repository; one with the usual project is made when the story did not ask for any."""
        return self._repositories[-1] if self._repositories else self.create_repository(PROJECT)

    @cached_property
    def agent(self) -> Person:
        return self.person("copilot-swe-agent[bot]")

    @cached_property
    def dependabot(self) -> Person:
        """A bot that is no coding agent."""
        return self.person("dependabot[bot]")

    @cached_property
    def alice(self) -> Person:
        """Administers."""
        return self.person("alice")

    @cached_property
    def bob(self) -> Person:
        """May write."""
        return self.person("bob")

    @cached_property
    def mallory(self) -> Person:
        """A stranger."""
        return self.person("mallory")

    def person(self, login: str) -> Person:
        return Person(login, self.github, self.repository)

    @cached_property
    def webhook_sender(self) -> WebhookSender:
        """Deliveries made by hand."""
        return WebhookSender.to(self.product.url, self.github.info.webhook_secret)

    # --- steps that stories share: an act, what the model says to it, and all that follows ----------

    def open_and_judge(
        self, *replies: Reply, files: Files = RETRY, by: Person | None = None, **proposal: Unpack[Proposal]
    ) -> PullRequest:
        """A pull request of the agent, or of *by*."""
        self._script(replies)
        pull = (by or self.agent).open_pull_request(files, **proposal)
        self.wait_until_idle()
        return pull

    def open_and_hold_model(
        self, reply: Reply, files: Files = RETRY, by: Person | None = None, **proposal: Unpack[Proposal]
    ) -> tuple[HeldReply, PullRequest]:
        """A pull request about which the model still thinks: *reply* arrives when the story says so."""
        thought = self.model.hold_reply(reply)
        pull = (by or self.agent).open_pull_request(files, **proposal)
        thought.wait_for_request(90)
        return thought, pull

    def push_and_judge(self, pull: PullRequest, files: Files, *replies: Reply, by: Person | None = None) -> str:
        """One more commit, of the agent or of *by*; answers its id."""
        self._script(replies)
        sha = (by or self.agent).push(pull, files)
        self.wait_until_idle()
        return sha

    def comment_and_wait(self, pull: PullRequest, body: str, *replies: Reply, by: Person | None = None) -> Comment:
        """A comment of bob, who may write, or of *by*."""
        self._script(replies)
        comment = (by or self.bob).comment(pull, body)
        self.wait_until_idle()
        return comment

    def start_processes(self, *commands: str) -> None:
        """Processes that were stopped or killed; GitHub delivers to the web process that listens then."""
        for command in commands:
            self.product.start(command)
        self.product.wait_until_ready()
        self.github.control("hooks", url=self.product.webhook_url)

    def _script(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            self.model.reply_with(reply)

    # --- waiting --------------------------------------------------------------------------------

    def wait_until_idle(self, seconds: float = IDLE_TIMEOUT_S) -> None:
        """Wait until every delivery is answered and nothing about this repository is due, running or open."""
        self.wait_until(self._is_idle, "nothing is left to do", seconds)

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = IDLE_TIMEOUT_S) -> None:
        """Look again and again until *condition* holds; fail with a picture of the world if it never does."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.product.assert_alive()
            assert time.monotonic() < deadline, f"Waited {seconds:.0f} s in vain until {what}.\n{self.describe()}"
            time.sleep(POLL_S)

    def _is_idle(self) -> bool:
        if self.pending_keys():
            return False
        self.github.settle()
        before = self._delivery_count()
        if self.pending_keys() or any(one.open_checks for one in self._repositories):
            return False
        self.github.settle()
        return not self.pending_keys() and self._delivery_count() == before

    def _delivery_count(self) -> int:
        return sum(self.github.state(one.name, "heard")["heard"] for one in self._repositories)

    def pending_keys(self) -> list[str]:
        """What the queue still holds about this test's repositories."""
        return [
            key
            for one in self._repositories
            for key in pending_keys(self._client, one, one.installation or self.installation)
        ]

    @cached_property
    def _client(self) -> Any:
        """Asked many times a second: to open another one takes longer than to ask."""
        return self.redis.client

    def close(self) -> None:
        if "_client" in self.__dict__:
            self._client.close()

    @property
    def installation(self) -> int:
        return self.github.info.installation_id

    def describe(self) -> str:
        """What a person would want to see when the world does not do what it should."""
        checks = [
            f"  {one.name} {run['head_sha'][:7]} {run['status']} {run['conclusion']} {run['output']['title']}"
            for one in self._repositories
            for run in one.checks
        ]
        parts = [
            "Checks:",
            *(checks or ["  none"]),
            f"Busy: {self.pending_keys()}",
            f"Model asked: {len(self.model.requests)}",
        ]
        return "\n".join(
            [
                *parts,
                "Refused:",
                *self._refused_deliveries(),
                "Log:",
                self.product.log.tail(self._first_log_line),
                *self.product.crashes(),
            ]
        )

    # --- the end --------------------------------------------------------------------------------

    def assert_clean(self) -> None:
        """What must hold after every story."""
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
        """After a failed story: leave nothing running that would disturb the next one."""
        self._release()
        self.github.clear_faults()
        self.github.control("hooks", url=self.product.webhook_url, paused=False, copies=1)
        for repository in self._repositories:
            for pull in self.github.state(repository.name)["pulls"]:
                self.github.request_as(
                    "alice", "PATCH", f"/repos/{repository.name}/pulls/{pull['number']}", state="closed"
                )

    def _release(self) -> None:
        self.model.release()
        if "webhook_sender" in self.__dict__:
            self.webhook_sender.client.close()

    def _violations(self) -> list[str]:
        homes = {f"installation:{one.installation}" for one in self._repositories if one.installation}
        names = [*(one.name for one in self._repositories), *self._old_names]
        return [found for name in names for found in find_violations(self.github.requests(name, None, *homes))]

    def _incomplete_evaluations(self) -> list[str]:
        """Evaluations that did not begin and end exactly once, in this order."""
        ours = {one.id for one in self._repositories}
        homes = {self.installation, *(one.installation for one in self._repositories if one.installation)}
        with self.redis.client as client:
            return [found for home in homes for found in incomplete_evaluations(client, ours, home)]

    def _refused_deliveries(self) -> list[str]:
        deliveries = [
            made for one in self._repositories for made in self.github.state(one.name, "deliveries")["deliveries"]
        ]
        return [_describe_delivery(one) for one in deliveries if one["repo"] is not None and not _is_accepted(one)]

    def _unexpected_log_lines(self) -> list[str]:
        loud = self.product.log.warnings(self._first_log_line)
        return [line for line in loud if not any(words in line for words in self.expected_errors)]


def _is_accepted(delivery: Delivery) -> bool:
    return delivery["status"] is not None and 200 <= delivery["status"] < 300


def _describe_delivery(delivery: Delivery) -> str:
    return f"  {delivery['event']}.{delivery['action']}: {delivery['status']} {delivery['error']}"


def incomplete_evaluations(client: Any, repositories: set[int], installation: int) -> list[str]:
    """The evaluations on the stream that did not begin and end exactly once."""
    told: dict[str, list[str]] = {}
    for _, entry in client.xrange(keys.events(InstallationId(installation)).name):
        body = json.loads(entry["j"])
        if body["repository_id"] in repositories and entry["k"].startswith("eval."):
            told.setdefault(body["eval_id"], []).append(entry["k"].removeprefix("eval."))
    ends = (["started", "completed"], ["started", "failed"])
    return [f"{name}: {kinds}" for name, kinds in told.items() if kinds not in ends]


def pending_keys(client: Any, repository: Repository, installation: int) -> list[str]:
    """Pull requests of this repository that are due, given or held, or to be judged as a whole; what nobody answered yet."""
    every = PullRef(installation_id=InstallationId(installation), repository_id=RepositoryId(repository.id), number=0)
    pattern = keys.pull(every).name.removesuffix("0") + "*"
    inbox = client.lrange(keys.INBOX.name, 0, -1)  # first: what is applied from here on has a state
    known = list(client.scan_iter(match=pattern, count=1000))
    with client.pipeline() as questions:  # at one moment: nothing goes from one line to another between two of them
        for line in (keys.pending_checks, keys.pending_checks_outside):
            questions.zrange(line(InstallationId(installation)).name, 0, -1)
        for line in (COMMANDS, PULL_REQUEST_EVENTS, GROUPS, SHARED_HEADS):
            questions.hvals(line.texts.name)
        questions.hkeys(COMMENT_JOBS.texts.name)
        questions.hkeys(SCANS.texts.name)
        questions.zrangebyscore(keys.LOOKAHEAD.name, 0, time.time() * 1000)
        for key in known:
            questions.hget(key, "state")
        opening, outside, commands, happenings, groups, commits, letters, scans, ahead, *states = questions.execute()
    found = dict(zip(known, states, strict=True))
    asks = [one for one in (*opening, *outside) if one.startswith(pattern.removesuffix("*"))]
    asks += [text for text in commands if repository.name in text]
    asks += [text for text in (*inbox, *happenings, *groups, *commits) if f'"repository_id":{repository.id},' in text]
    asks += [one for one in (*letters, *scans) if one.startswith(pattern[:-1])]
    watch = keys.watch(every).name.removesuffix("0")
    asks += [one for one in ahead if one.startswith(watch)]
    return [f"{key} {state}" for key, state in found.items() if state] + asks
