"""People, and what they do on GitHub: the half of the tester that acts.

Does not look at what the product does (`pulls.py`). Invariant: everything goes through GitHub's own REST
with the person's token, except pushes and buttons, which are verbs of the bench.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from tests.world.github_bench import GitHub, Refused
from tests.world.pulls import Pull, Repository

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
    words: str


@dataclass(frozen=True)
class Person:
    """Somebody with an account. They act in *repository*, the one that this test is about."""

    login: str
    github: GitHub
    repository: Repository

    def writes_issue(self, title: str, body: str) -> Issue:
        made = self._does("POST", "/issues", title=title, body=body)
        return Issue(made["number"], made["html_url"])

    def opens(self, files: Files, **proposal: Unpack[Proposal]) -> Pull:
        """Push *files* to a branch and open a pull request from it. CI reports first, if there is any."""
        return self._opens(self.repository.name, files, proposal)

    def opens_from_a_fork(self, files: Files, **proposal: Unpack[Proposal]) -> Pull:
        """From the one fork that GitHub lets them have."""
        try:
            fork = self.github.verb("fork", repo=self.repository.name, **{"as": self.login})["full_name"]
        except Refused:
            fork = f"{self.login}/{self.repository.name.partition('/')[2]}"
        return self._opens(fork, files, proposal)

    def pushes(self, pull: Pull, files: Files, message: str = "Better") -> str:
        """One more commit on the pull request's branch; answers its id."""
        return self._push(pull.source, pull.branch, files, message)

    def force_pushes(self, pull: Pull, files: Files) -> str:
        """Throw the branch away and start again from main."""
        order = {"repo": pull.source, "branch": pull.branch, "files": files, "force": True, "as": self.login}
        return str(self.github.verb("push", **order)["sha"])

    def goes_back(self, pull: Pull, sha: str) -> None:
        """Force the branch back to a commit that it was at."""
        order = {"repo": pull.source, "branch": pull.branch, "to": sha, "force": True, "as": self.login}
        self.github.verb("push", **order)

    def comments(self, pull: Pull, body: str) -> Comment:
        return Comment(self._does("POST", f"/issues/{pull.number}/comments", body=body)["id"])

    def comments_at(self, pull: Pull, place: str, body: str) -> Comment:
        """At a line of the change ("upload.py:5")."""
        path, _, line = place.rpartition(":")
        said = {"path": path, "line": int(line), "side": "RIGHT", "commit_id": pull.head, "body": body}
        where = f"/repos/{self.repository.name}/pulls/{pull.number}/comments"
        return Comment(self.github.user(self.login, "POST", where, **said)["id"])

    def edits_comment_at(self, comment: Comment, body: str) -> None:
        self._does("PATCH", f"/pulls/comments/{comment.id}", body=body)

    def edits_comment(self, comment: Comment, body: str) -> None:
        self._does("PATCH", f"/issues/comments/{comment.id}", body=body)

    def reviews(self, pull: Pull, event: str, body: str = "") -> Review:
        """`APPROVE`, `REQUEST_CHANGES` or `COMMENT`, of the newest commit."""
        said = {"event": event, "body": body, "commit_id": pull.head}
        return Review(self._does("POST", f"/pulls/{pull.number}/reviews", **said)["id"])

    def edits_review(self, pull: Pull, review: Review, body: str) -> None:
        self._does("PUT", f"/pulls/{pull.number}/reviews/{review.id}", body=body)

    def dismisses(self, pull: Pull, review: Review) -> None:
        self._does("PUT", f"/pulls/{pull.number}/reviews/{review.id}/dismissals", message="Not any more.")

    def edits(self, pull: Pull, **changes: str) -> None:
        self._does("PATCH", f"/pulls/{pull.number}", **changes)

    def closes(self, pull: Pull) -> None:
        self.edits(pull, state="closed")

    def reopens(self, pull: Pull) -> None:
        self.edits(pull, state="open")

    def edits_issue(self, issue: Issue, **changes: str) -> None:
        self._does("PATCH", f"/issues/{issue.number}", **changes)

    def asks_for_review(self, pull: Pull, *logins: str) -> None:
        self._does("POST", f"/pulls/{pull.number}/requested_reviewers", reviewers=[*logins])

    def retargets(self, pull: Pull, base: str) -> None:
        self.edits(pull, base=base)

    def marks_ready(self, pull: Pull) -> None:
        self.github.verb("draft", repo=self.repository.name, pull=pull.number, draft=False)

    def merges(self, pull: Pull) -> Merge:
        try:
            self._does("PUT", f"/pulls/{pull.number}/merge")
        except Refused as refused:
            return Merge(is_merged=False, words=refused.message)
        return Merge(is_merged=True, words="")

    def _opens(self, source: str, files: Files, proposal: Proposal) -> Pull:
        branch = proposal.get("branch", "fix")
        sha = self._push(source, branch, files, proposal.get("message", "Change"))
        for name, conclusion in proposal.get("ci", {}).items():
            self.repository.reports_ci(sha, name, conclusion)
        made = self._does(
            "POST",
            "/pulls",
            title=proposal.get("title", "Retry uploads on 503"),
            body=proposal.get("body", ""),
            draft=proposal.get("draft", False),
            base="main",
            head=branch if source == self.repository.name else f"{source.partition('/')[0]}:{branch}",
        )
        return Pull(self.repository, made["number"], source, branch)

    def _push(self, source: str, branch: str, files: Files, message: str) -> str:
        order = {"repo": source, "branch": branch, "files": files, "message": message, "as": self.login}
        return str(self.github.verb("push", **order)["sha"])

    def _does(self, method: str, path: str, **body: Any) -> Any:
        return self.github.user(self.login, method, f"/repos/{self.repository.name}{path}", **body)
