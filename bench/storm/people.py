"""People of the storm, who follow the plan, and the model, which answers by a rule over HTTP.

Invariant: what a head deserves follows from its content; what the model answers follows from the change that it is shown; and
every answer costs the same, received or not.
"""

import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final, assert_never

from typing_extensions import override
from werkzeug import Request, Response

from bench.storm.plan import Act, Content, Step
from tests.world.changes import PROJECT, RETRY, STUB
from tests.world.fake_anthropic import DIFF, MODEL, ROW, FakeAnthropic, ModelRequest
from tests.world.fake_github import FakeGitHub, RequestRefused
from tests.world.json_client import CONNECTION_ERRORS
from tests.world.people import Person
from tests.world.pull_requests import CiCheck, MergeGroup, PullRequest, Repository
from tests.world.replies import accept, reject
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, RepositoryId
from worker.domain.verdict.budget import BilledTokens, cost_of, to_nano

AGENT = "copilot-swe-agent[bot]"
OTHERS = {"globex": 200, "initech": 300}
OWNERS = ("acme", *OTHERS)
EACH = 25
"""Pull requests in one repository."""

PERSISTS: Final = 5
WRONG = "range(1)"
RIGHT = "range(3)"
CI = "unit tests"
DESERVES = {Content.STUB: "failure", Content.GOOD: "success", Content.BAD: "failure", Content.WORDS: "success"}


@dataclass
class Head:
    """`ci`: the conclusions of the other check, oldest first."""

    content: Content
    ci: list[str] = field(default_factory=list[str])

    @property
    def deserved(self) -> frozenset[str]:
        """The conclusions that its check may have at the end.

        Failing CI stops a later judging. The end of CI repeats a judging, and a second equal reject is left to a person.
        """
        says = DESERVES[self.content]
        is_stopped = self.ci[-1:] == ["failure"] or (self.content is Content.BAD and self.ci)
        return frozenset({says, "action_required"} if is_stopped else {says})


@dataclass
class Conversation:
    """One pull request and its history."""

    number: int
    pull: PullRequest
    ref: PullRef
    heads: dict[str, Head] = field(default_factory=dict[str, Head])
    is_open: bool = True
    is_draft: bool = False
    running: CiCheck | None = None
    groups: list[MergeGroup] = field(default_factory=list[MergeGroup])
    code: Content = Content.WORDS

    @property
    def newest(self) -> str:
        return next(reversed(self.heads))

    @property
    def name(self) -> str:
        return f"{self.pull.repository.name}#{self.pull.number}"


@dataclass
class People:
    """All conversations, by number."""

    github: FakeGitHub
    conversations: dict[int, Conversation] = field(default_factory=dict[int, Conversation])
    repositories: list[Repository] = field(default_factory=list[Repository])
    refused: list[str] = field(default_factory=list[str])
    _count: int = 0

    def act(self, step: Step) -> None:
        """Do one act, and record GitHub's refusal."""
        try:
            if step.act in {Act.OPENS, Act.DRAFTS}:
                self._open(step)
            elif (conversation := self.conversations.get(step.conversation)) is not None:
                self._continue(conversation, step)
        except (RequestRefused, *CONNECTION_ERRORS) as refused:
            self.refused.append(f"{step}: {refused}")

    def installation(self, repository: Repository) -> int:
        return OTHERS.get(repository.name.partition("/")[0], self.github.info.installation_id)

    def end_ci(self) -> None:
        """Conclude every running CI check."""
        for conversation in self.conversations.values():
            self._end_ci(conversation, "success")

    def _open(self, step: Step) -> None:
        repository = self._repository(step.conversation)
        branch, is_draft = f"fix-{step.conversation}", step.act is Act.DRAFTS
        files, title = self._files(step.content), "Document how uploads work"
        pull = Person(AGENT, self.github, repository).open_pull_request(
            files, title=title, branch=branch, draft=is_draft
        )
        installation = InstallationId(self.installation(repository))
        ref = PullRef(installation_id=installation, repository_id=RepositoryId(repository.id), number=pull.number)
        made = Conversation(step.conversation, pull, ref, is_draft=is_draft, code=step.content)
        made.heads[_head_of(pull)] = Head(step.content)
        self.conversations[step.conversation] = made

    def _continue(self, conversation: Conversation, step: Step) -> None:
        repository = conversation.pull.repository
        agent = Person(AGENT, self.github, repository)
        match step.act:
            case Act.PUSHES | Act.EMPTY | Act.FORCES | Act.RETURNS:
                self._move(conversation, step, agent)
            case Act.REJUDGE:
                Person("bob", self.github, repository).comment(conversation.pull, "/rejudge")
            case Act.OVERRIDE | Act.REFUSED:
                login = "alice" if step.act is Act.OVERRIDE else "bob"
                Person(login, self.github, repository).comment(conversation.pull, "/override It is urgent.")
            case Act.CI_STARTS:
                conversation.running = repository.start_ci(conversation.newest, CI)
            case Act.CI_FAILS | Act.CI_PASSES:
                self._end_ci(conversation, "failure" if step.act is Act.CI_FAILS else "success")
            case Act.DEQUEUES:
                conversation.groups[-1].end("dequeued")
            case Act.QUEUES | Act.RESOLVES:
                solved = {"upload.py": self._files(Content.GOOD)["upload.py"]} if step.act is Act.RESOLVES else {}
                conversation.groups.append(repository.add_to_merge_queue(conversation.pull, files=solved))
            case Act.CLOSES:
                agent.close(conversation.pull)
                conversation.is_open = False
            case Act.REOPENS:
                agent.reopen(conversation.pull)
                conversation.is_open = True
            case Act.READY:
                agent.mark_ready(conversation.pull)
                conversation.is_draft = False
            case Act.OPENS | Act.DRAFTS:
                raise AssertionError(step)
            case _ as never:
                assert_never(never)

    def _move(self, conversation: Conversation, step: Step, agent: Person) -> None:
        files = {} if step.act is Act.EMPTY else self._files(step.content)
        push = agent.push if step.act in {Act.PUSHES, Act.EMPTY} else agent.force_push
        head = push(conversation.pull, files)
        if step.act is not Act.EMPTY and (step.act is not Act.PUSHES or step.content is not Content.WORDS):
            conversation.code = step.content
        conversation.heads[head] = Head(conversation.code)
        conversation.running = None

    def _end_ci(self, conversation: Conversation, conclusion: str) -> None:
        if conversation.running is not None:
            conversation.running.complete(conclusion)
            conversation.heads[conversation.newest].ci.append(conclusion)
            conversation.running = None

    def _repository(self, number: int) -> Repository:
        while len(self.repositories) <= number // EACH:
            index = len(self.repositories)
            order = {"owner": OWNERS[index % len(OWNERS)], "name": f"widgets-{index}", "files": PROJECT}
            made = self.github.control("repo", **order)
            self.repositories.append(Repository(self.github, made["full_name"], made["id"]))
        return self.repositories[number // EACH]

    def _files(self, content: Content) -> dict[str, str]:
        """Return new files each time."""
        self._count += 1
        number = self._count
        match content:
            case Content.WORDS:
                return {"README.md": f"# Widgets\n\nUploads file {number}.\n"}
            case Content.STUB:
                return {**STUB, "upload.py": f"{STUB['upload.py']}\n# {number}\n"}
            case Content.GOOD | Content.BAD:
                code = RETRY["upload.py"].replace(RIGHT, RIGHT if content is Content.GOOD else WRONG)
                return {**RETRY, "upload.py": f"{code}\n# {number}\n"}
            case _ as never:
                assert_never(never)


def _head_of(pull: PullRequest) -> str:
    """Return the head, and repeat the query where a fault stops it."""
    for _ in range(PERSISTS):
        with suppress(RequestRefused, *CONNECTION_ERRORS):
            return pull.head
    return pull.head


IN_TOKENS, OUT_TOKENS = 812, 96
HELD_S: Final = 2.0


def cost_nano() -> int:
    """Return the cost of each answer."""
    billed = BilledTokens(input=IN_TOKENS, output=OUT_TOKENS, write_5m=0, write_1h=0, cache_read=0)
    usd = cost_of(MODEL, billed)
    return to_nano(usd or Decimal(0))


def ruled(asked: ModelRequest) -> dict[str, Any]:
    """Reject a change that retries once only, and accept all others."""
    places = [
        (block[1], row[1], row[3])
        for block in DIFF.finditer(asked.text)
        for row in ROW.finditer(block[2])
        if row[2] == "+"
    ]
    wrong = [f"{path}:{line}" for path, line, text in places if WRONG in text]
    if wrong:
        return reject("tests_pass_but_wrong", wrong[0])
    return accept(*(f"{path}:{line}" for path, line, _ in places[:1]))


@dataclass
class Trap:
    """Delays the next request until a blow fell on its sender."""

    sprung: threading.Event = field(default_factory=threading.Event)
    port: int | None = None


@dataclass
class RuledModel(FakeAnthropic):
    """A model that answers in many threads. `billed` counts the answers that cost something, received or not."""

    billed: int = 0
    lost: int = 0
    free: int = 0
    _trap: Trap | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_fault(self, fault: str) -> None:
        """Set the fault of the next answer: `lost` (billed, and broken off), or an error's number."""
        if fault == "lost":
            self.break_connection()
        else:
            self.reply_with_error(int(fault))

    def clear(self) -> None:
        self._script.clear()

    def trap(self) -> Trap:
        self._trap = Trap()
        return self._trap

    @override
    def _respond(self, http_request: Request) -> Response:
        self._spring(int(http_request.environ.get("REMOTE_PORT", 0)))
        with self._lock:
            before = len(self._script)
            response = super()._respond(http_request)
            is_fault, is_free = len(self._script) < before, response.status_code >= HTTPStatus.BAD_REQUEST
            self.billed += not is_free
            self.free += is_free
            self.lost += is_fault and not is_free
        return response

    def _spring(self, port: int) -> None:
        with self._lock:
            trap, self._trap = self._trap, None
        if trap is not None:
            trap.port = port
            trap.sprung.set()
            time.sleep(HELD_S * (1 + random.SystemRandom().random()))
