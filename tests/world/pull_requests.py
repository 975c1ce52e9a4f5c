"""What can be seen of repositories and pull requests on GitHub; each property asks again."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.world.fake_github import CheckRun, Exchange, FakeGitHub

CHECK_NAME = "Assay"
DRAFT_TITLE = "Draft: judged when it is ready"
VERDICT_JSON = re.compile(r"The verdict as JSON</summary>\s+(?P<fence>`{3,})json\n(?P<json>.*?)\n(?P=fence)", re.DOTALL)
CHECK_JSON = re.compile(
    r"This check as JSON</summary>\s+(?P<fence>`{3,})json\n(?P<json>.*?)\n(?P=fence)\s+</details>\Z", re.DOTALL
)


class CheckLine(NamedTuple):
    """A check run as the merge box shows it."""

    status: str
    conclusion: str | None
    title: str


@dataclass(frozen=True, slots=True)
class CiCheck:
    """An unfinished check run of another App."""

    repository: "Repository"
    id: int

    def complete(self, conclusion: str) -> None:
        body = {"id": self.id, "status": "completed", "conclusion": conclusion}
        self.repository.github.control("ci", repo=self.repository.name, branch="main", **body)


@dataclass(frozen=True)
class Repository:
    """`name` is "owner/name"; `installation` is set if it is another than the default one."""

    github: FakeGitHub
    name: str
    id: int
    installation: int | None = None

    @property
    def checks(self) -> list[CheckRun]:
        """Assay's check runs, oldest first."""
        return [run for run in self.github.state(self.name, "check_runs")["check_runs"] if run["name"] == CHECK_NAME]

    @property
    def open_checks(self) -> list[CheckRun]:
        """Unfinished check runs, but for drafts."""
        return [run for run in self.checks if run["status"] != "completed" and run["output"]["title"] != DRAFT_TITLE]

    @property
    def requests(self) -> list[Exchange]:
        """The product's requests about this repository."""
        return self.github.requests(self.name)

    def push(self, branch: str, files: Mapping[str, Any], start: str | None = None, **options: Any) -> str:
        """Push a commit to a branch, which begins at *start*, and return its SHA."""
        order = {"repo": self.name, "branch": branch, "files": files, **({"from": start} if start else {}), **options}
        return str(self.github.control("push", **order)["sha"])

    def report_ci(self, sha: str, name: str, conclusion: str, report: str = "", **more: str) -> None:
        """A finished check run of another App; `log` is the job's log."""
        output = {"title": name, "summary": report or f"{name}: {conclusion}"}
        self.github.control("ci", repo=self.name, sha=sha, name=name, conclusion=conclusion, output=output, **more)

    def hold_workflow(self, sha: str, workflow: str) -> None:
        """Add a workflow that awaits approval."""
        self.github.control("hold", repo=self.name, sha=sha, workflow=workflow)

    def approve_workflow(self, sha: str, job: str) -> CiCheck:
        """Approve the workflow, which then runs as *job*."""
        return CiCheck(self, self.github.control("approve", repo=self.name, sha=sha, name=job)["id"])

    def start_ci(self, sha: str, name: str) -> CiCheck:
        made = self.github.control("ci", repo=self.name, sha=sha, name=name, status="in_progress", conclusion=None)
        return CiCheck(self, made["id"])

    def add_to_merge_queue(self, *pulls: "PullRequest", **options: Any) -> "MergeGroup":
        """Options: `on` (behind another group), `squash`, `files` (a conflict resolution)."""
        order = {"repo": self.name, "pulls": [pull.number for pull in pulls], **options}
        made = self.github.control("merge-group", **order)
        return MergeGroup(self, made["head_sha"], made["head_ref"])

    def reactions(self, comment_id: int) -> list[tuple[str, str]]:
        """Reactions to a comment, such as ("assay[bot]", "eyes")."""
        path = f"/repos/{self.name}/issues/comments/{comment_id}/reactions"
        return [(entry["user"]["login"], entry["content"]) for entry in self.github.request_as("alice", "GET", path)]


@dataclass(frozen=True)
class PullRequest:
    """A pull request whose branch is in the repository `source`."""

    repository: Repository
    number: int
    source: str
    branch: str

    def in_repository(self, moved: Repository) -> "PullRequest":
        """The pull request in its renamed or transferred repository."""
        return PullRequest(moved, self.number, moved.name, self.branch)

    @property
    def view(self) -> Any:
        return self.repository.github.request_as("alice", "GET", f"/repos/{self.repository.name}/pulls/{self.number}")

    @property
    def head(self) -> str:
        return str(self.view["head"]["sha"])

    @property
    def check(self) -> CheckLine:
        """The newest Assay check run of the head."""
        return _check_line(self.check_run)

    @property
    def check_run(self) -> CheckRun:
        head = self.head
        runs = self.check_runs_of(head)
        assert runs, f"No check called {CHECK_NAME} at the head {head[:7]} of {self.repository.name}#{self.number}."
        return runs[-1]

    @property
    def comments(self) -> list[tuple[str, str]]:
        """Author and text of all comments, oldest first."""
        path = f"/repos/{self.repository.name}/issues/{self.number}/comments"
        return [
            (entry["user"]["login"], entry["body"]) for entry in self.repository.github.request_as("alice", "GET", path)
        ]

    @property
    def command_replies(self) -> list[str]:
        """Assay's comments, but for those to an agent."""
        return [body for login, body in self.comments if login == "assay[bot]" and not body.startswith("@")]

    @property
    def reviewers(self) -> list[str]:
        """Logins with a pending review request."""
        return [item["login"] for item in self.view["requested_reviewers"]]

    @property
    def labels(self) -> list[str]:
        return [item["name"] for item in self.view["labels"]]

    @property
    def text(self) -> str:
        """The check's whole page: title, summary, text, annotations."""
        run = self.check_run
        output = run["output"]
        notes = [f"{note['path']}:{note['start_line']}: {note['message']}" for note in run["annotations"]]
        return "\n".join([output["title"] or "", output["summary"] or "", output["text"] or "", *notes])

    @property
    def verdict(self) -> Any:
        """The verdict in the check run's text."""
        return _read_json(VERDICT_JSON, self.check_run["output"]["text"] or "")

    @property
    def check_json(self) -> Any:
        """The JSON block at the end of the check run's text."""
        return read_check_json(self.check_run)

    def check_runs_of(self, sha: str) -> list[CheckRun]:
        return [run for run in self.repository.checks if run["head_sha"] == sha]

    def checks_of(self, sha: str) -> list[CheckLine]:
        return [_check_line(run) for run in self.check_runs_of(sha)]

    @property
    def conclusions(self) -> list[str | None]:
        """Of all Assay check runs of the head commit, oldest first."""
        return self.conclusions_of(self.head)

    def conclusions_of(self, sha: str) -> list[str | None]:
        return [run["conclusion"] for run in self.check_runs_of(sha)]

    def press_button(self, identifier: str, by: str = "alice") -> None:
        """Press one of Assay's buttons."""
        order = {"check_run": self.check_run["id"], "identifier": identifier, "as": by}
        self.repository.github.control("press", button="action", **order)

    def press_rerun_all(self) -> None:
        """Press the button above all check runs of the App."""
        self.repository.github.control("press", button="rerun_all", check_run=self.check_run["id"])

    def press_rerun(self) -> None:
        self.repository.github.control("press", button="rerun", check_run=self.check_run["id"])


@dataclass(frozen=True)
class MergeGroup:
    """A commit of the merge queue; `ref` is its branch."""

    repository: Repository
    sha: str
    ref: str

    @property
    def checks(self) -> list[CheckLine]:
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
        """The verdict on the group itself."""
        return _read_json(VERDICT_JSON, self._runs[-1]["output"]["text"] or "")

    @property
    def check_json(self) -> Any:
        return read_check_json(self._runs[-1])

    @property
    def external_id(self) -> str:
        return str(self._runs[-1]["external_id"])

    @property
    def _runs(self) -> list[CheckRun]:
        return [run for run in self.repository.checks if run["head_sha"] == self.sha]

    def press_rerun(self) -> None:
        self.repository.github.control("press", button="rerun", check_run=self._runs[-1]["id"])

    def end(self, reason: str) -> list[str]:
        """End the group as `merged`, `dequeued` or `invalidated`; the obstacles refuse a merge."""
        ended = self.repository.github.control("merge-group/end", head_sha=self.sha, reason=reason)
        return list(ended["complaints"])


def _check_line(run: CheckRun) -> CheckLine:
    return CheckLine(run["status"], run["conclusion"], run["output"]["title"] or "")


def read_check_json(run: CheckRun) -> Any:
    return _read_json(CHECK_JSON, run["output"]["text"] or "")


def _read_json(pattern: re.Pattern[str], text: str) -> Any:
    block = pattern.search(text)
    assert block, f"There is no such JSON block:\n{text}"
    return json.loads(block["json"])
