"""The linked issues of a pull request, each with the text that it is judged by.

Does not fetch. Invariant: nothing of a private repository's issues where the pull request is public, and no title or text that
its own author or a bot wrote once it was there, as far as GitHub tells.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import TypeVar

from worker.adapters.github.responses import Actor, GraphIssue, GraphPull, Nodes, Rename
from worker.domain.dossier.dossier import LINKED_BY_HAND, Issue
from worker.domain.dossier.issue_edits import History, Version, standing_text
from worker.dossier.agents import agent_of
from worker.dossier.eligibility import BOT
from worker.dossier.issue_links import IssueLink

T = TypeVar("T")


def login(actor: Actor | None) -> str:
    """A deleted account is shown as `ghost`."""
    return actor.full_login if actor else "ghost"


def listed_issues(pull: GraphPull) -> tuple[GraphIssue, ...]:
    """Without those that stand in a private repository where this one is public: anybody reads the check that quotes them."""
    found = pull.closing_issues_references.seen if pull.closing_issues_references else ()
    if pull.base_repository is not None and pull.base_repository.is_private:
        return found
    return tuple(issue for issue in found if not issue.repository.is_private)


def issues(pull: GraphPull, named: Sequence[GraphIssue], links: Sequence[IssueLink]) -> tuple[Issue, ...]:
    """All that it closes: those that GitHub lists, then those that only its text names."""
    words = {(link.repository.casefold(), link.number): link.words for link in links}
    return tuple(
        _issue(pull, one, words.get((one.repository.name_with_owner.casefold(), one.number), LINKED_BY_HAND))
        for one in (*listed_issues(pull), *named)
    )


def _issue(pull: GraphPull, issue: GraphIssue, linked_by: str) -> Issue:
    author = login(pull.author)
    body = standing_text(issue.body, _texts(issue, author), pull.created_at)
    title = standing_text(issue.title, _titles(issue, author), pull.created_at)
    found = Issue(
        repository=issue.repository.name_with_owner,
        number=issue.number,
        title=title.text,
        body=body.text,
        url=issue.url,
        author=login(issue.author),
        author_association=issue.author_association,
        edited_by=login(issue.editor) if issue.editor else None,
        edited_at=issue.last_edited_at.isoformat() if issue.last_edited_at else None,
        linked_by=linked_by,
    )
    late = {"late_edits": body.late, "late_renames": title.late}
    return found.model_copy(update={name: edits for name, edits in late.items() if edits})


def _version(at: datetime, editor: Actor | None, author: str, text: str | None) -> Version:
    by = login(editor)
    is_bot = (editor is not None and editor.kind == BOT) or agent_of(by, "") is not None
    return Version(at, by, is_bot or by == author, text)


def _texts(issue: GraphIssue, author: str) -> History:
    """What GitHub tells of its texts; where it tells none of them, who edited it last and when."""
    shown = issue.user_content_edits
    edits = _unbroken(shown.nodes or () if shown else ())
    versions = tuple(_version(one.edited_at, one.editor, author, one.diff) for one in edits)
    if not versions and issue.last_edited_at is not None:
        return History((_version(issue.last_edited_at, issue.editor, author, None),))
    is_all = shown is not None and not shown.page_info.has_next_page and len(edits) == len(shown.nodes or ())
    return History(versions, is_whole=is_all and issue.includes_created_edit)


def _titles(issue: GraphIssue, author: str) -> History:
    """What GitHub tells of its titles. The first of all is no rename's: the first rename names it."""
    shown = issue.timeline_items or Nodes[Rename]()
    nodes = (shown.nodes or ())[::-1]
    renames = _unbroken(nodes)
    versions = tuple(_version(one.created_at, one.actor, author, one.current_title) for one in renames)
    if not renames or shown.page_info.has_previous_page or len(renames) < len(nodes):
        return History(versions)
    first = renames[-1]
    named = Version(at=first.created_at, by="", by_judged=False, text=first.previous_title)
    return History((*versions, named), is_whole=True)


def _unbroken(nodes: Sequence[T | None]) -> tuple[T, ...]:
    """The newest of them, up to the first that may not be seen."""
    return tuple(one for one in takewhile(lambda node: node is not None, nodes) if one is not None)
