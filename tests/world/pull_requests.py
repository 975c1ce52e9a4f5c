"""What can be seen of a repository and its pull requests on GitHub: the half of the tester that looks.

Does not wait (`world.py` does). Invariant: every property asks GitHub anew.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.world.fake_github import CheckRun, FakeGitHub

CHECK_NAME = "Assay"
DRAFT_TITLE = "Draft: judged when it is ready"
VERDICT_JSON = re.compile(r"The verdict as JSON</summary>\s+(?P<fence>`{3,})json\n(?P<json>.*?)\n(?P=fence)", re.DOTALL)
CHECK_JSON = re.compile(
    r"This check as JSON</summary>\s+(?P<fence>`{3,})json\n(?P<json>.*?)\n(?P=fence)\s+</details>\Z", re.DOTALL
)


class CheckLine(NamedTuple):
    """A check run in one line, as the merge box shows it."""

    status: str
    conclusion: str | None
    title: str


@dataclass(frozen=True, slots=True)
class CiCheck:
    """Another App's check run that is not done yet."""

    repository: "Repository"
    id: int

    def complete(self, conclusion: str) -> None:
        body = {"id": self.id, "status": "completed", "conclusion": conclusion}
        self.repository.github.control("ci", repo=self.repository.name, branch="main", **body)


@dataclass(frozen=True)
class Repository:
    """`name` is "owner/name", `id` GitHub's number for it. `home`: the installation that sees it, if it is not the usual one."""

    github: FakeGitHub
    name: str
    id: int
    installation: int | None = None

    @property
    def checks(self) -> list[CheckRun]:
        """All check runs called Assay, oldest first."""
        return [run for run in self.github.state(self.name, "check_runs")["check_runs"] if run["name"] == CHECK_NAME]

    @property
    def open_checks(self) -> list[CheckRun]:
        """All that somebody waits for; a draft waits for its author."""
        return [run for run in self.checks if run["status"] != "completed" and run["output"]["title"] != DRAFT_TITLE]

    def report_ci(self, sha: str, name: str, conclusion: str, report: str = "", **more: str) -> None:
        """Another App's check run, done. `log`: the job's log."""
        output = {"title": name, "summary": report or f"{name}: {conclusion}"}
        self.github.control("ci", repo=self.name, sha=sha, name=name, conclusion=conclusion, output=output, **more)

    def hold_workflow(self, sha: str, workflow: str) -> None:
        """A workflow that somebody has to approve before it runs."""
        self.github.control("hold", repo=self.name, sha=sha, workflow=workflow)

    def approve_workflow(self, sha: str, job: str) -> CiCheck:
        """It runs now, as this job."""
        return CiCheck(self, self.github.control("approve", repo=self.name, sha=sha, name=job)["id"])

    def start_ci(self, sha: str, name: str) -> CiCheck:
        made = self.github.control("ci", repo=self.name, sha=sha, name=name, status="in_progress", conclusion=None)
        return CiCheck(self, made["id"])

    def add_to_merge_queue(self, *pulls: "PullRequest", **options: Any) -> "MergeGroup":
        """The merge queue tries a pull request. `on`: behind another group; `squash`; `files`: how conflicts were resolved."""
        order = {"repo": self.name, "pulls": [pull.number for pull in pulls], **options}
        made = self.github.control("merge-group", **order)
        return MergeGroup(self, made["head_sha"], made["head_ref"])

    def reactions(self, comment_id: int) -> list[tuple[str, str]]:
        """Who reacted to a comment, and how: [("assay[bot]", "eyes")]."""
        path = f"/repos/{self.name}/issues/comments/{comment_id}/reactions"
        return [(one["user"]["login"], one["content"]) for one in self.github.request_as("alice", "GET", path)]


@dataclass(frozen=True)
class PullRequest:
    """One pull request. `source` is the repository that its branch is in."""

    repository: Repository
    number: int
    source: str
    branch: str

    def in_repository(self, moved: Repository) -> "PullRequest":
        """The same one, in the repository as it is called now."""
        return PullRequest(moved, self.number, moved.name, self.branch)

    @property
    def view(self) -> Any:
        return self.repository.github.request_as("alice", "GET", f"/repos/{self.repository.name}/pulls/{self.number}")

    @property
    def head(self) -> str:
        return str(self.view["head"]["sha"])

    @property
    def check(self) -> CheckLine:
        """The newest Assay check of the head commit; fails if there is none."""
        return _check_line(self.check_run)

    @property
    def check_run(self) -> CheckRun:
        head = self.head
        runs = self.check_runs_of(head)
        assert runs, f"No check called {CHECK_NAME} at the head {head[:7]} of {self.repository.name}#{self.number}."
        return runs[-1]

    @property
    def comments(self) -> list[tuple[str, str]]:
        """Who said what in the conversation, oldest first."""
        path = f"/repos/{self.repository.name}/issues/{self.number}/comments"
        return [(one["user"]["login"], one["body"]) for one in self.repository.github.request_as("alice", "GET", path)]

    @property
    def command_replies(self) -> list[str]:
        """What Assay answered to commands. What it tells an agent begins with the agent's name."""
        return [body for login, body in self.comments if login == "assay[bot]" and not body.startswith("@")]

    @property
    def reviewers(self) -> list[str]:
        """Whose review was asked for and not given yet."""
        return [one["login"] for one in self.view["requested_reviewers"]]

    @property
    def labels(self) -> list[str]:
        return [one["name"] for one in self.view["labels"]]

    @property
    def text(self) -> str:
        """All that a reader finds on the check's page: title, summary, text, annotations."""
        run = self.check_run
        output = run["output"]
        notes = [f"{note['path']}:{note['start_line']}: {note['message']}" for note in run["annotations"]]
        return "\n".join([output["title"] or "", output["summary"] or "", output["text"] or "", *notes])

    @property
    def verdict(self) -> Any:
        """The machine-readable verdict on the check."""
        return _verdict_in(self.check_run["output"]["text"] or "")

    @property
    def check_json(self) -> Any:
        """What the check says to programs, whatever it says."""
        return read_check_json(self.check_run)

    def check_runs_of(self, sha: str) -> list[CheckRun]:
        return [run for run in self.repository.checks if run["head_sha"] == sha]

    def checks_of(self, sha: str) -> list[CheckLine]:
        """Every Assay check of this commit, oldest first. More than one is one too many."""
        return [_check_line(run) for run in self.check_runs_of(sha)]

    def press_button(self, identifier: str, by: str = "alice") -> None:
        """One of our own buttons."""
        order = {"check_run": self.check_run["id"], "identifier": identifier, "as": by}
        self.repository.github.control("press", button="action", **order)

    def press_rerun_all(self) -> None:
        """The button above all checks of our App."""
        self.repository.github.control("press", button="rerun_all", check_run=self.check_run["id"])

    def press_rerun(self) -> None:
        """The button beside the check."""
        self.repository.github.control("press", button="rerun", check_run=self.check_run["id"])


@dataclass(frozen=True)
class MergeGroup:
    """One commit that the merge queue tries. `ref`: what the queue calls its branch."""

    repository: Repository
    sha: str
    ref: str

    @property
    def checks(self) -> list[CheckLine]:
        """Every Assay check of this commit, oldest first. More than one is one too many."""
        return [_check_line(run) for run in self._runs]

    @property
    def check(self) -> CheckLine:
        assert self._runs, f"No check called {CHECK_NAME} at the merge group {self.sha[:7]} of {self.repository.name}."
        return self.checks[-1]

    @property
    def summary(self) -> str:
        return str(self._runs[-1]["output"]["summary"])

    @property
    def verdict(self) -> Any:
        """The machine-readable block of the check, where the group itself was judged."""
        return _verdict_in(self._runs[-1]["output"]["text"] or "")

    @property
    def check_json(self) -> Any:
        """What the check says to programs, whatever it says."""
        return read_check_json(self._runs[-1])

    @property
    def external_id(self) -> str:
        return str(self._runs[-1]["external_id"])

    @property
    def _runs(self) -> list[CheckRun]:
        return [run for run in self.repository.checks if run["head_sha"] == self.sha]

    def press_rerun(self) -> None:
        """The button beside the check."""
        self.repository.github.control("press", button="rerun", check_run=self._runs[-1]["id"])

    def end(self, reason: str) -> list[str]:
        """GitHub gives it up: `merged`, `dequeued` or `invalidated`. What stands in the way; merging is refused by it."""
        ended = self.repository.github.control("merge-group/end", head_sha=self.sha, reason=reason)
        return list(ended["complaints"])


def _check_line(run: CheckRun) -> CheckLine:
    return CheckLine(run["status"], run["conclusion"], run["output"]["title"] or "")


def read_check_json(run: CheckRun) -> Any:
    text = run["output"]["text"] or ""
    block = CHECK_JSON.search(text)
    assert block, f"The check says nothing to programs at its end:\n{text}"
    return json.loads(block["json"])


def _verdict_in(text: str) -> Any:
    block = VERDICT_JSON.search(text)
    assert block, f"The check holds no verdict in JSON:\n{text}"
    return json.loads(block["json"])
