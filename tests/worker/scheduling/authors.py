"""Agents that push, and people who comment, in several installations: and what each head deserves.

Does not look at checks. Invariant: what a head deserves is known from its files alone, before anybody judges it.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.world.changes import PROJECT, RETRY, STUB, UPLOAD
from tests.world.fake_github import FakeGitHub
from tests.world.people import Files, Person
from tests.world.pull_requests import PullRequest, Repository
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.judge_request import PullRef

AGENT = "copilot-swe-agent[bot]"
CROWDED, LONELY = "acme", "umbrella"
OTHERS = {"globex": 200, "initech": 300, LONELY: 400}
ACCEPTED, REJECTED, UNPROVEN = "success", "failure", "neutral"


@dataclass
class AuthoredPullRequest:
    """One pull request: what its branch holds now, and what each of its heads deserves, oldest first."""

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

    def now_at(self, head_sha: str) -> None:
        self.deserves.pop(head_sha, None)  # a head may come back: it is the newest then
        self.deserves[head_sha] = deserved(self.files)


def deserved(files: Mapping[str, str]) -> str:
    """A stub is a fact, emphasis can't be wrong, everything else is for a model that is not configured."""
    code = files.get("upload.py", UPLOAD)
    if "def retry" in code:
        return REJECTED
    return UNPROVEN if code != UPLOAD else ACCEPTED


@dataclass
class Authors:
    """Everybody who writes."""

    github: FakeGitHub
    dice: random.Random
    proposed: list[AuthoredPullRequest] = field(default_factory=list[AuthoredPullRequest])
    _count: int = 0

    def open_all(self, counts: Mapping[str, int]) -> Iterator[AuthoredPullRequest]:
        """Open so many pull requests in a new repository of each owner, one at a time."""
        for owner, count in counts.items():
            made = self.github.control("repo", owner=owner, name="widgets", files=PROJECT)
            repository = Repository(self.github, made["full_name"], made["id"])
            for _ in range(count):
                yield self.open_pull_request(repository)

    def open_pull_request(self, repository: Repository) -> AuthoredPullRequest:
        files = self._change()
        branch = f"fix-{len(self.proposed)}"
        title = "Document how uploads work"
        pull = self._agent(repository).open_pull_request(files, branch=branch, title=title)
        ref = PullRef(
            installation_id=InstallationId(_installation(self.github, repository)),
            repository_id=RepositoryId(repository.id),
            number=pull.number,
        )
        made = AuthoredPullRequest(pull, ref, dict(files))
        made.now_at(pull.head)
        self.proposed.append(made)
        return made

    def act(self) -> None:
        """One event, by dice: a push, a force-push, an empty commit, a command."""
        one = self.dice.choice(self.proposed)
        roll = self.dice.random()
        if roll < 0.1:
            self.command(one)
        elif roll < 0.2:
            self.push(one, {})
        elif roll < 0.4:
            self.force_push(one)
        else:
            self.push(one, self._change())

    def push(self, one: AuthoredPullRequest, files: dict[str, str]) -> None:
        head_sha = self._agent(one.pull.repository).push(one.pull, files)
        one.files |= files
        one.now_at(head_sha)

    def force_push(self, one: AuthoredPullRequest) -> None:
        one.files = self._change()
        one.now_at(self._agent(one.pull.repository).force_push(one.pull, one.files))

    def command(self, one: AuthoredPullRequest) -> None:
        before = datetime.now(UTC)  # noqa: TID251 - this is the world outside
        comment = Person("bob", self.github, one.pull.repository).comment(one.pull, "/rejudge")
        one.commented[comment.id] = before

    def _agent(self, repository: Repository) -> Person:
        return Person(AGENT, self.github, repository)

    def _change(self) -> dict[str, str]:
        """A stub, a solution or emphasis, each time another one."""
        self._count += 1
        change: Files = self.dice.choice(
            (STUB, RETRY, {"README.md": emphasised(PROJECT["README.md"], self._count % 63 + 1)})
        )
        return {
            path: f"{text}\n# {self._count}\n" if path == "upload.py" else str(text) for path, text in change.items()
        }


def emphasised(document: str, number: int) -> str:
    """The document with words of its last line in bold, chosen by the bits of *number*."""
    *above, last = document.rstrip("\n").split("\n")
    words = [f"**{word}**" if number >> place & 1 else word for place, word in enumerate(last.split())]
    return "\n".join([*above, " ".join(words), ""])


def _installation(github: FakeGitHub, repository: Repository) -> int:
    return OTHERS.get(repository.name.partition("/")[0], github.info.installation_id)
