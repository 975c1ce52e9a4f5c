"""What can be seen of a repository and its pull requests on GitHub: the half of the tester that looks.

Does not wait (`tester.py` does). Invariant: every property asks GitHub anew.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.world.github_bench import CheckRun, GitHub

OURS = "Assay"
MACHINE = re.compile(r"The verdict as JSON</summary>\s+(?P<fence>`{3,})json\n(?P<json>.*?)\n(?P=fence)", re.DOTALL)


class Shown(NamedTuple):
    """A check run in one line, as the merge box shows it."""

    status: str
    conclusion: str | None
    title: str


@dataclass(frozen=True, slots=True)
class CiCheck:
    """Another App's check run that is not done yet."""

    repository: "Repository"
    id: int

    def finishes(self, conclusion: str) -> None:
        body = {"id": self.id, "status": "completed", "conclusion": conclusion}
        self.repository.github.verb("ci", repo=self.repository.name, branch="main", **body)


@dataclass(frozen=True)
class Repository:
    """`name` is "owner/name", `id` GitHub's number for it."""

    github: GitHub
    name: str
    id: int

    @property
    def checks(self) -> list[CheckRun]:
        """All check runs called Assay, oldest first."""
        return [run for run in self.github.state(self.name)["check_runs"] if run["name"] == OURS]

    @property
    def open_checks(self) -> list[CheckRun]:
        return [run for run in self.checks if run["status"] != "completed"]

    def reports_ci(self, sha: str, name: str, conclusion: str, report: str = "") -> None:
        """Another App's check run, done."""
        output = {"title": name, "summary": report or f"{name}: {conclusion}"}
        self.github.verb("ci", repo=self.name, sha=sha, name=name, conclusion=conclusion, output=output)

    def starts_ci(self, sha: str, name: str) -> CiCheck:
        made = self.github.verb("ci", repo=self.name, sha=sha, name=name, status="in_progress", conclusion=None)
        return CiCheck(self, made["id"])

    def reactions(self, comment_id: int) -> list[tuple[str, str]]:
        """Who reacted to a comment, and how: [("assay[bot]", "eyes")]."""
        path = f"/repos/{self.name}/issues/comments/{comment_id}/reactions"
        return [(one["user"]["login"], one["content"]) for one in self.github.user("alice", "GET", path)]


@dataclass(frozen=True)
class Pull:
    """One pull request. `source` is the repository that its branch is in."""

    repository: Repository
    number: int
    source: str
    branch: str

    @property
    def view(self) -> Any:
        return self.repository.github.user("alice", "GET", f"/repos/{self.repository.name}/pulls/{self.number}")

    @property
    def head(self) -> str:
        return str(self.view["head"]["sha"])

    @property
    def check(self) -> Shown:
        """The newest Assay check of the head commit; fails if there is none."""
        return _shown(self.check_run)

    @property
    def check_run(self) -> CheckRun:
        head = self.head
        runs = self.runs_of(head)
        assert runs, f"No check called {OURS} at the head {head[:7]} of {self.repository.name}#{self.number}."
        return runs[-1]

    @property
    def text(self) -> str:
        """All that a reader finds on the check's page: title, summary, text, annotations."""
        run = self.check_run
        output = run["output"]
        notes = [f"{note['path']}:{note['start_line']}: {note['message']}" for note in run["annotations"]]
        return "\n".join([output["title"] or "", output["summary"] or "", output["text"] or "", *notes])

    @property
    def verdict(self) -> Any:
        """The machine-readable block of the check."""
        text = self.check_run["output"]["text"] or ""
        block = MACHINE.search(text)
        assert block, f"The check holds no verdict in JSON:\n{text}"
        return json.loads(block["json"])

    def runs_of(self, sha: str) -> list[CheckRun]:
        return [run for run in self.repository.checks if run["head_sha"] == sha]

    def checks_of(self, sha: str) -> list[Shown]:
        """Every Assay check of this commit, oldest first. More than one is one too many."""
        return [_shown(run) for run in self.runs_of(sha)]

    def press(self, identifier: str) -> None:
        """One of our own buttons."""
        self.repository.github.verb("press", button="action", check_run=self.check_run["id"], identifier=identifier)

    def press_rerun(self) -> None:
        """The button beside the check."""
        self.repository.github.verb("press", button="rerun", check_run=self.check_run["id"])


def _shown(run: CheckRun) -> Shown:
    return Shown(run["status"], run["conclusion"], run["output"]["title"] or "")
