"""Everybody who writes in the storm: does what the plan says, and knows what each head deserves.

Does not look at checks. Invariant: what a head deserves is known from what it is made of, before anybody judges it.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, assert_never

from bench.storm.plan import Act, Content, Step
from tests.world.changes import PROJECT, RETRY, STUB
from tests.world.github_bench import GitHub, Refused
from tests.world.people import Person
from tests.world.pulls import CiCheck, Group, Pull, Repository
from tests.world.spoken import BROKEN
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.request.judge_request import PullRef

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
    """`ci`: what the other check concluded here, oldest first."""

    content: Content
    ci: list[str] = field(default_factory=list[str])

    @property
    def deserved(self) -> frozenset[str]:
        """What its check may say at the end. Failing CI stops a judging that comes after it, and only that.

        CI's end has a head judged again, and a second reject in the same words is left to a person.
        """
        says = DESERVES[self.content]
        is_stopped = self.ci[-1:] == ["failure"] or (self.content is Content.BAD and self.ci)
        return frozenset({says, "action_required"} if is_stopped else {says})


@dataclass
class Conversation:
    """One pull request, and all that was done to it."""

    number: int
    pull: Pull
    ref: PullRef
    heads: dict[str, Head] = field(default_factory=dict[str, Head])
    is_open: bool = True
    is_draft: bool = False
    overrides: int = 0
    running: CiCheck | None = None
    groups: list[Group] = field(default_factory=list[Group])
    code: Content = Content.WORDS

    @property
    def newest(self) -> str:
        return next(reversed(self.heads))

    @property
    def name(self) -> str:
        return f"{self.pull.repository.name}#{self.pull.number}"


@dataclass
class Crowd:
    """All conversations, by number."""

    github: GitHub
    conversations: dict[int, Conversation] = field(default_factory=dict[int, Conversation])
    repositories: list[Repository] = field(default_factory=list[Repository])
    refused: list[str] = field(default_factory=list[str])
    _count: int = 0

    def does(self, step: Step) -> None:
        """One act. What GitHub refuses a person is written down."""
        try:
            self._does(step)
        except (Refused, *BROKEN) as refused:
            self.refused.append(f"{step}: {refused}")

    def installation(self, repository: Repository) -> int:
        return OTHERS.get(repository.name.partition("/")[0], self.github.ready.installation_id)

    def ends_ci(self) -> None:
        """No other check runs for ever."""
        for one in self.conversations.values():
            self._ci_ends(one, "success")

    def _does(self, step: Step) -> None:
        if step.act is Act.OPENS or step.act is Act.DRAFTS:
            self._opens(step)
        elif (one := self.conversations.get(step.conversation)) is not None:
            self._goes_on(one, step)

    def _goes_on(self, one: Conversation, step: Step) -> None:
        match step.act:
            case Act.OPENS | Act.DRAFTS:
                pass
            case Act.PUSHES | Act.EMPTY | Act.FORCES | Act.RETURNS:
                self._moves(one, step)
            case Act.REJUDGE | Act.OVERRIDE | Act.REFUSED:
                self._commands(one, step.act)
            case Act.CI_STARTS | Act.CI_FAILS | Act.CI_PASSES:
                self._runs_ci(one, step.act)
            case Act.QUEUES | Act.RESOLVES | Act.DEQUEUES:
                self._queues(one, step.act)
            case Act.CLOSES | Act.REOPENS | Act.READY:
                self._turns(one, step.act)
            case _ as never:
                assert_never(never)

    def _opens(self, step: Step) -> None:
        repository = self._place(step.conversation)
        files, branch = self._files(step.content), f"fix-{step.conversation}"
        is_draft = step.act is Act.DRAFTS
        said = {"title": "Document how uploads work", "branch": branch}
        pull = self._agent(repository).opens(files, title=said["title"], branch=branch, draft=is_draft)
        ref = PullRef(
            installation_id=InstallationId(self.installation(repository)),
            repository_id=RepositoryId(repository.id),
            number=pull.number,
        )
        made = Conversation(step.conversation, pull, ref, is_draft=is_draft, code=step.content)
        made.heads[_head_of(pull)] = Head(step.content)
        self.conversations[step.conversation] = made

    def _moves(self, one: Conversation, step: Step) -> None:
        agent = self._agent(one.pull.repository)
        match step.act:
            case Act.PUSHES:
                head = agent.pushes(one.pull, self._files(step.content))
                one.code = one.code if step.content is Content.WORDS else step.content
            case Act.EMPTY:
                head = agent.pushes(one.pull, {})
            case _:
                head = agent.force_pushes(one.pull, self._files(step.content))
                one.code = step.content
        one.heads[head] = Head(one.code)
        one.running = None

    def _commands(self, one: Conversation, act: Act) -> None:
        login, words = ("bob", "/rejudge") if act is Act.REJUDGE else ("alice", "/override It is urgent.")
        login = "bob" if act is Act.REFUSED else login
        Person(login, self.github, one.pull.repository).comments(one.pull, words)
        one.overrides += act is Act.OVERRIDE

    def _runs_ci(self, one: Conversation, act: Act) -> None:
        if act is Act.CI_STARTS:
            one.running = one.pull.repository.starts_ci(one.newest, CI)
        else:
            self._ci_ends(one, "failure" if act is Act.CI_FAILS else "success")

    def _ci_ends(self, one: Conversation, conclusion: str) -> None:
        if one.running is not None:
            one.running.finishes(conclusion)
            one.heads[one.newest].ci.append(conclusion)
            one.running = None

    def _queues(self, one: Conversation, act: Act) -> None:
        if act is Act.DEQUEUES:
            one.groups[-1].ends("dequeued")
            return
        resolved = {"upload.py": self._files(Content.GOOD)["upload.py"]} if act is Act.RESOLVES else {}
        one.groups.append(one.pull.repository.queues(one.pull, files=resolved))

    def _turns(self, one: Conversation, act: Act) -> None:
        agent = self._agent(one.pull.repository)
        match act:
            case Act.CLOSES:
                agent.closes(one.pull)
                one.is_open = False
            case Act.REOPENS:
                agent.reopens(one.pull)
                one.is_open = True
            case _:
                agent.marks_ready(one.pull)
                one.is_draft = False

    def _place(self, number: int) -> Repository:
        while len(self.repositories) <= number // EACH:
            place = len(self.repositories)
            order = {"owner": OWNERS[place % len(OWNERS)], "name": f"widgets-{place}", "files": PROJECT}
            made = self.github.verb("repo", **order)
            self.repositories.append(Repository(self.github, made["full_name"], made["id"]))
        return self.repositories[number // EACH]

    def _agent(self, repository: Repository) -> Person:
        return Person(AGENT, self.github, repository)

    def _files(self, content: Content) -> dict[str, str]:
        """Each time another one."""
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


def _head_of(pull: Pull) -> str:
    """People meet GitHub's faults too, and ask again."""
    for _ in range(PERSISTS):
        with suppress(Refused, *BROKEN):
            return pull.head
    return pull.head
