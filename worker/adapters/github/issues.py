"""The linked issues of a pull request, each with the text that it is judged by.

Does not fetch. Invariant: nothing of a private repository's issues where the pull request is public, and no title or text that
its own author or a bot wrote once it was there, as far as GitHub tells.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import TypeVar

from worker.adapters.github.responses import ActorResponse, GraphIssue, GraphPull, NodeConnection, RenameResponse
from worker.domain.dossier.dossier import LINKED_IN_SIDEBAR, Issue
from worker.domain.dossier.issue_edits import TextHistory, TextVersion, select_judged_text
from worker.dossier.agents import agent_of
from worker.dossier.eligibility import BOT
from worker.dossier.issue_links import IssueLink

T = TypeVar("T")


def login_of(actor: ActorResponse | None) -> str:
    """A deleted account is shown as `ghost`."""
    return actor.full_login if actor else "ghost"


def visible_issues(pull: GraphPull) -> tuple[GraphIssue, ...]:
    """Without those that stand in a private repository where this one is public: anybody reads the check that quotes them."""
    issues = pull.closing_issues_references.visible_nodes if pull.closing_issues_references else ()
    if pull.base_repository is not None and pull.base_repository.is_private:
        return issues
    return tuple(issue for issue in issues if not issue.repository.is_private)


def linked_issues(pull: GraphPull, named: Sequence[GraphIssue], links: Sequence[IssueLink]) -> tuple[Issue, ...]:
    """All that it closes: those that GitHub lists, then those that only its text names."""
    texts = {(link.repository.casefold(), link.number): link.text for link in links}
    return tuple(
        _issue(pull, issue, texts.get((issue.repository.name_with_owner.casefold(), issue.number), LINKED_IN_SIDEBAR))
        for issue in (*visible_issues(pull), *named)
    )


def _issue(pull: GraphPull, issue: GraphIssue, linked_by: str) -> Issue:
    author = login_of(pull.author)
    body = select_judged_text(issue.body, _text_history(issue, author), pull.created_at)
    title = select_judged_text(issue.title, _title_history(issue, author), pull.created_at)
    unedited = Issue(
        repository=issue.repository.name_with_owner,
        number=issue.number,
        title=title.text,
        body=body.text,
        url=issue.url,
        author=login_of(issue.author),
        author_association=issue.author_association,
        edited_by=login_of(issue.editor) if issue.editor else None,
        edited_at=issue.last_edited_at.isoformat() if issue.last_edited_at else None,
        linked_by=linked_by,
    )
    late = {"late_edits": body.late_edits, "late_renames": title.late_edits}
    return unedited.model_copy(update={name: edits for name, edits in late.items() if edits})


def _version(at: datetime, editor: ActorResponse | None, author: str, text: str | None) -> TextVersion:
    by = login_of(editor)
    is_bot = (editor is not None and editor.kind == BOT) or agent_of(by, "") is not None
    return TextVersion(at, by, is_bot or by == author, text)


def _text_history(issue: GraphIssue, author: str) -> TextHistory:
    """What GitHub tells of its texts; where it tells none of them, who edited it last and when."""
    shown = issue.user_content_edits
    edits = _visible_prefix(shown.nodes or () if shown else ())
    versions = tuple(_version(edit.edited_at, edit.editor, author, edit.diff) for edit in edits)
    if not versions and issue.last_edited_at is not None:
        return TextHistory((_version(issue.last_edited_at, issue.editor, author, None),))
    is_all = shown is not None and not shown.page_info.has_next_page and len(edits) == len(shown.nodes or ())
    return TextHistory(versions, is_complete=is_all and issue.includes_created_edit)


def _title_history(issue: GraphIssue, author: str) -> TextHistory:
    """What GitHub tells of its titles. The first of all is no rename's: the first rename names it."""
    shown = issue.timeline_items or NodeConnection[RenameResponse]()
    nodes = (shown.nodes or ())[::-1]
    renames = _visible_prefix(nodes)
    versions = tuple(_version(rename.created_at, rename.actor, author, rename.current_title) for rename in renames)
    if not renames or shown.page_info.has_previous_page or len(renames) < len(nodes):
        return TextHistory(versions)
    first = renames[-1]
    named = TextVersion(at=first.created_at, author="", is_by_judged=False, text=first.previous_title)
    return TextHistory((*versions, named), is_complete=True)


def _visible_prefix(nodes: Sequence[T | None]) -> tuple[T, ...]:
    """The newest of them, up to the first that may not be seen."""
    return tuple(item for item in takewhile(lambda node: node is not None, nodes) if item is not None)
