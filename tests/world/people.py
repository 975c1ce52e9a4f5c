"""People and what they do on GitHub, through its REST API or the fake's own control requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, Unpack

from tests.world.fake_github import FakeGitHub, RequestRefused
from tests.world.pull_requests import PullRequest, Repository

File = str | None | Mapping[str, str]
"""A text, None (deleted), {"base64": ...} for bytes, or {"text": ..., "mode": ...}."""

Files = Mapping[str, File]


class Proposal(TypedDict, total=False):
    """A pull request's fields, all optional; `ci` maps check names to conclusions."""

    title: str
    body: str
    branch: str
    draft: bool
    ci: Mapping[str, str]
    message: str


class Issue(NamedTuple):
    number: int
    url: str


class Comment(NamedTuple):
    id: int


class Review(NamedTuple):
    id: int


class Merge(NamedTuple):
    is_merged: bool
    message: str


@dataclass(frozen=True)
class Person:
    """A person who acts in *repository*."""

    login: str
    github: FakeGitHub
    repository: Repository

    def write_issue(self, title: str, body: str) -> Issue:
        made = self._request("POST", "/issues", title=title, body=body)
        return Issue(made["number"], made["html_url"])

    def open_pull_request(self, files: Files, **proposal: Unpack[Proposal]) -> PullRequest:
        """Push *files* to a branch, report CI, and open a pull request."""
        return self._open_pull_request(self.repository.name, files, proposal)

    def open_from_fork(self, files: Files, **proposal: Unpack[Proposal]) -> PullRequest:
        """From this person's only fork."""
        try:
            fork = self.github.control("fork", repo=self.repository.name, **{"as": self.login})["full_name"]
        except RequestRefused:
            fork = f"{self.login}/{self.repository.name.partition('/')[2]}"
        return self._open_pull_request(fork, files, proposal)

    def open_from_branch(self, branch: str, base: str = "main", **fields: Any) -> PullRequest:
        """Open a pull request of a branch that was pushed before."""
        body = {"title": "Retry uploads on 503", "body": "", **fields}
        made = self._request("POST", "/pulls", head=branch, base=base, **body)
        return PullRequest(self.repository, made["number"], self.repository.name, branch)

    def push(self, pull: PullRequest, files: Files, message: str = "Better") -> str:
        """Push a commit to the branch, and return its SHA."""
        return self._push(pull.source, pull.branch, files, message)

    def force_push(self, pull: PullRequest, files: Files) -> str:
        """Replace the branch by one commit on main."""
        order = {"repo": pull.source, "branch": pull.branch, "files": files, "force": True, "as": self.login}
        return str(self.github.control("push", **order)["sha"])

    def reset_branch(self, pull: PullRequest, sha: str) -> None:
        """Force the branch to an earlier commit."""
        order = {"repo": pull.source, "branch": pull.branch, "to": sha, "force": True, "as": self.login}
        self.github.control("push", **order)

    def comment(self, pull: PullRequest, body: str) -> Comment:
        return Comment(self._request("POST", f"/issues/{pull.number}/comments", body=body)["id"])

    def comment_on_line(self, pull: PullRequest, location: str, body: str) -> Comment:
        """At a line of the change ("upload.py:5")."""
        path, _, line = location.rpartition(":")
        comment = {"path": path, "line": int(line), "side": "RIGHT", "commit_id": pull.head, "body": body}
        where = f"/repos/{self.repository.name}/pulls/{pull.number}/comments"
        return Comment(self.github.request_as(self.login, "POST", where, **comment)["id"])

    def edit_line_comment(self, comment: Comment, body: str) -> None:
        self._request("PATCH", f"/pulls/comments/{comment.id}", body=body)

    def edit_comment(self, comment: Comment, body: str) -> None:
        self._request("PATCH", f"/issues/comments/{comment.id}", body=body)

    def submit_review(self, pull: PullRequest, event: str, body: str = "") -> Review:
        """`APPROVE`, `REQUEST_CHANGES` or `COMMENT`, of the newest commit."""
        review = {"event": event, "body": body, "commit_id": pull.head}
        return Review(self._request("POST", f"/pulls/{pull.number}/reviews", **review)["id"])

    def edit_review(self, pull: PullRequest, review: Review, body: str) -> None:
        self._request("PUT", f"/pulls/{pull.number}/reviews/{review.id}", body=body)

    def dismiss_review(self, pull: PullRequest, review: Review) -> None:
        self._request("PUT", f"/pulls/{pull.number}/reviews/{review.id}/dismissals", message="Outdated.")

    def edit(self, pull: PullRequest, **changes: str) -> None:
        self._request("PATCH", f"/pulls/{pull.number}", **changes)

    def close(self, pull: PullRequest) -> None:
        self.edit(pull, state="closed")

    def reopen(self, pull: PullRequest) -> None:
        self.edit(pull, state="open")

    def edit_issue(self, issue: Issue, **changes: str) -> None:
        self._request("PATCH", f"/issues/{issue.number}", **changes)

    def retarget(self, pull: PullRequest, base: str) -> None:
        self.edit(pull, base=base)

    def mark_ready(self, pull: PullRequest) -> None:
        self.github.control("draft", repo=self.repository.name, pull=pull.number, draft=False)

    def merge(self, pull: PullRequest) -> Merge:
        try:
            self._request("PUT", f"/pulls/{pull.number}/merge")
        except RequestRefused as refused:
            return Merge(is_merged=False, message=refused.message)
        return Merge(is_merged=True, message="")

    def _open_pull_request(self, source: str, files: Files, proposal: Proposal) -> PullRequest:
        branch = proposal.get("branch", "fix")
        sha = self._push(source, branch, files, proposal.get("message", "Change"))
        for name, conclusion in proposal.get("ci", {}).items():
            self.repository.report_ci(sha, name, conclusion)
        made = self._request(
            "POST",
            "/pulls",
            title=proposal.get("title", "Retry uploads on 503"),
            body=proposal.get("body", ""),
            draft=proposal.get("draft", False),
            base="main",
            head=branch if source == self.repository.name else f"{source.partition('/')[0]}:{branch}",
        )
        return PullRequest(self.repository, made["number"], source, branch)

    def _push(self, source: str, branch: str, files: Files, message: str) -> str:
        order = {"repo": source, "branch": branch, "files": files, "message": message, "as": self.login}
        return str(self.github.control("push", **order)["sha"])

    def _request(self, method: str, path: str, **body: Any) -> Any:
        return self.github.request_as(self.login, method, f"/repos/{self.repository.name}{path}", **body)
