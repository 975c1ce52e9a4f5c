"""Agents that push and people who comment in several installations, and the conclusion that each head deserves.

Invariant: what a head deserves follows from its files alone.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.world.changes import PROJECT, RETRY, STUB, UPLOAD
from tests.world.fake_github import FakeGitHub
from tests.world.people import Files, Person
from tests.world.pull_requests import PullRequest, Repository
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, RepositoryId

AGENT = "copilot-swe-agent[bot]"
BUSY, QUIET = "acme", "umbrella"
OTHERS = {"globex": 200, "initech": 300, QUIET: 400}
ACCEPTED, REJECTED, UNPROVEN = "success", "failure", "neutral"


@dataclass
class AuthoredPullRequest:
    """A pull request, the files of its branch, and the conclusion that each head deserves, oldest first."""

    pull: PullRequest
    ref: PullRef
    files: dict[str, str]
    deserves: dict[str, str] = field(default_factory=dict[str, str])
    commented: dict[int, datetime] = field(default_factory=dict[int, datetime])

    @property
    def newest(self) -> str:
        return next(reversed(self.deserves))

    @property
    def name(self) -> str:
        return f"{self.ref.installation_id}:{self.ref.repository_id}:{self.ref.number}"

    def add_head(self, head_sha: str) -> None:
        self.deserves.pop(head_sha, None)  # a head that returns is the newest
        self.deserves[head_sha] = deserved_conclusion(self.files)


def deserved_conclusion(files: Mapping[str, str]) -> str:
    """Reject a stub, accept emphasis, and leave all else to a model that is not configured."""
    code = files.get("upload.py", UPLOAD)
    if "def retry" in code:
        return REJECTED
    return UNPROVEN if code != UPLOAD else ACCEPTED


@dataclass
class Authors:
    github: FakeGitHub
    dice: random.Random
    pull_requests: list[AuthoredPullRequest] = field(default_factory=list[AuthoredPullRequest])
    _count: int = 0

    def open_all(self, counts: Mapping[str, int]) -> Iterator[AuthoredPullRequest]:
        """Open these numbers of pull requests, in one new repository per owner."""
        for owner, count in counts.items():
            created = self.github.control("repo", owner=owner, name="widgets", files=PROJECT)
            repository = Repository(self.github, created["full_name"], created["id"])
            for _ in range(count):
                yield self.open_pull_request(repository)

    def open_pull_request(self, repository: Repository) -> AuthoredPullRequest:
        files, branch = self._change(), f"fix-{len(self.pull_requests)}"
        agent = self._agent(repository)
        pull = agent.open_pull_request(files, branch=branch, title="Document how uploads work")
        owner = repository.name.partition("/")[0]
        installation = InstallationId(OTHERS.get(owner, self.github.info.installation_id))
        ref = PullRef(installation_id=installation, repository_id=RepositoryId(repository.id), number=pull.number)
        opened = AuthoredPullRequest(pull, ref, dict(files))
        opened.add_head(pull.head)
        self.pull_requests.append(opened)
        return opened

    def act(self) -> None:
        """Push, force-push, push an empty commit or comment a command, at random."""
        pull_request = self.dice.choice(self.pull_requests)
        roll = self.dice.random()
        if roll < 0.1:
            self.command(pull_request)
        elif roll < 0.2:
            self.push(pull_request, {})
        elif roll < 0.4:
            self.force_push(pull_request)
        else:
            self.push(pull_request, self._change())

    def push(self, pull_request: AuthoredPullRequest, files: dict[str, str]) -> None:
        head_sha = self._agent(pull_request.pull.repository).push(pull_request.pull, files)
        pull_request.files |= files
        pull_request.add_head(head_sha)

    def force_push(self, pull_request: AuthoredPullRequest) -> None:
        pull_request.files = self._change()
        pull_request.add_head(
            self._agent(pull_request.pull.repository).force_push(pull_request.pull, pull_request.files)
        )

    def command(self, pull_request: AuthoredPullRequest) -> None:
        before = datetime.now(UTC)  # noqa: TID251 - the outside world has a real clock
        comment = Person("bob", self.github, pull_request.pull.repository).comment(pull_request.pull, "/rejudge")
        pull_request.commented[comment.id] = before

    def _agent(self, repository: Repository) -> Person:
        return Person(AGENT, self.github, repository)

    def _change(self) -> dict[str, str]:
        """Return a new stub, solution or emphasis."""
        self._count += 1
        change: Files = self.dice.choice(
            (STUB, RETRY, {"README.md": emphasised(PROJECT["README.md"], self._count % 63 + 1)})
        )
        return {
            path: f"{text}\n# {self._count}\n" if path == "upload.py" else str(text) for path, text in change.items()
        }


def emphasised(document: str, number: int) -> str:
    """Set words of the last line in bold, chosen by the bits of *number*."""
    *above, last = document.rstrip("\n").split("\n")
    line = [f"**{word}**" if number >> bit & 1 else word for bit, word in enumerate(last.split())]
    return "\n".join([*above, " ".join(line), ""])
