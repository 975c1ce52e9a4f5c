"""People, and what they do on GitHub: the half of the tester that acts.

Does not look at what the product does (`pull_requests.py`). Invariant: everything goes through GitHub's own REST
with the person's token, except pushes and buttons, which are verbs of the bench.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from tests.world.fake_github import FakeGitHub, RequestRefused
from tests.world.pull_requests import PullRequest, Repository

File = str | None | Mapping[str, str]
"""A text, None (deleted), {"base64": ...} for bytes, or {"text": ..., "mode": ...}."""

Files = Mapping[str, File]


class Proposal(TypedDict, total=False):
    """What a pull request says; all of it may be left out. `ci` maps a check's name to its conclusion."""

    title: str
    body: str
    branch: str
    draft: bool
    ci: Mapping[str, str]
    message: str


@dataclass(frozen=True, slots=True)
class Issue:
    number: int
    url: str


@dataclass(frozen=True, slots=True)
class Comment:
    """`reactions` of it are seen through `Repository.reactions`."""

    id: int


@dataclass(frozen=True, slots=True)
class Review:
    id: int


@dataclass(frozen=True, slots=True)
class Merge:
    """`words` are GitHub's, when it refused."""

    is_merged: bool
    message: str


@dataclass(frozen=True)
class Person:
    """Somebody with an account. They act in *repository*, the one that this test is about."""

    login: str
    github: FakeGitHub
    repository: Repository

    def write_issue(self, title: str, body: str) -> Issue:
        made = self._request("POST", "/issues", title=title, body=body)
        return Issue(made["number"], made["html_url"])

    def open_pull_request(self, files: Files, **proposal: Unpack[Proposal]) -> PullRequest:
        """Push *files* to a branch and open a pull request from it. CI reports first, if there is any."""
        return self._open_pull_request(self.repository.name, files, proposal)

    def open_from_fork(self, files: Files, **proposal: Unpack[Proposal]) -> PullRequest:
        """From the one fork that GitHub lets them have."""
        try:
            fork = self.github.control("fork", repo=self.repository.name, **{"as": self.login})["full_name"]
        except RequestRefused:
            fork = f"{self.login}/{self.repository.name.partition('/')[2]}"
        return self._open_pull_request(fork, files, proposal)

    def push(self, pull: PullRequest, files: Files, message: str = "Better") -> str:
        """One more commit on the pull request's branch; answers its id."""
        return self._push(pull.source, pull.branch, files, message)

    def force_push(self, pull: PullRequest, files: Files) -> str:
        """Throw the branch away and start again from main."""
        order = {"repo": pull.source, "branch": pull.branch, "files": files, "force": True, "as": self.login}
        return str(self.github.control("push", **order)["sha"])

    def reset_branch(self, pull: PullRequest, sha: str) -> None:
        """Force the branch back to a commit that it was at."""
        order = {"repo": pull.source, "branch": pull.branch, "to": sha, "force": True, "as": self.login}
        self.github.control("push", **order)

    def comment(self, pull: PullRequest, body: str) -> Comment:
        return Comment(self._request("POST", f"/issues/{pull.number}/comments", body=body)["id"])

    def comment_on_line(self, pull: PullRequest, location: str, body: str) -> Comment:
        """At a line of the change ("upload.py:5")."""
        path, _, line = location.rpartition(":")
        said = {"path": path, "line": int(line), "side": "RIGHT", "commit_id": pull.head, "body": body}
        where = f"/repos/{self.repository.name}/pulls/{pull.number}/comments"
        return Comment(self.github.request_as(self.login, "POST", where, **said)["id"])

    def edit_line_comment(self, comment: Comment, body: str) -> None:
        self._request("PATCH", f"/pulls/comments/{comment.id}", body=body)

    def edit_comment(self, comment: Comment, body: str) -> None:
        self._request("PATCH", f"/issues/comments/{comment.id}", body=body)

    def submit_review(self, pull: PullRequest, event: str, body: str = "") -> Review:
        """`APPROVE`, `REQUEST_CHANGES` or `COMMENT`, of the newest commit."""
        said = {"event": event, "body": body, "commit_id": pull.head}
        return Review(self._request("POST", f"/pulls/{pull.number}/reviews", **said)["id"])

    def edit_review(self, pull: PullRequest, review: Review, body: str) -> None:
        self._request("PUT", f"/pulls/{pull.number}/reviews/{review.id}", body=body)

    def dismiss_review(self, pull: PullRequest, review: Review) -> None:
        self._request("PUT", f"/pulls/{pull.number}/reviews/{review.id}/dismissals", message="Not any more.")

    def edit(self, pull: PullRequest, **changes: str) -> None:
        self._request("PATCH", f"/pulls/{pull.number}", **changes)

    def close(self, pull: PullRequest) -> None:
        self.edit(pull, state="closed")

    def reopen(self, pull: PullRequest) -> None:
        self.edit(pull, state="open")

    def edit_issue(self, issue: Issue, **changes: str) -> None:
        self._request("PATCH", f"/issues/{issue.number}", **changes)

    def request_review(self, pull: PullRequest, *logins: str) -> None:
        self._request("POST", f"/pulls/{pull.number}/requested_reviewers", reviewers=[*logins])

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
