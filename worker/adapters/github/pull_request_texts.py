"""Texts of a pull request: linked issues, patches, files at the head, and configuration.

A private repository's issue stays out of a public pull request. An issue is judged by the newest title and text that
neither the pull request's author nor a bot wrote after it was opened, as far as GitHub shows the history.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import Final, TypeVar

from worker.adapters.github.client import GitHubApi
from worker.adapters.github.responses import (
    GHOST_LOGIN,
    ActorResponse,
    BlobResponse,
    ChangedFileResponse,
    GraphIssue,
    GraphPull,
    NodeConnection,
    RenameResponse,
    RestResponse,
)
from worker.domain.config.config import DEFAULTS_REPOSITORY
from worker.domain.dossier import (
    LINKED_IN_SIDEBAR,
    ConfigOrigin,
    ConfigText,
    Dossier,
    HeadFile,
    Issue,
    LookupRequest,
    LookupResult,
    UnreadFile,
    UnreadReason,
    find_absent,
)
from worker.domain.judge_request import JudgeRequest
from worker.domain.model import RepositoryName
from worker.dossier.authors import BOT, agent_of
from worker.dossier.diff import ChangeKind, Diff
from worker.dossier.issues import IssueLink, TextHistory, TextVersion, select_judged_text

T = TypeVar("T")


def login_of(actor: ActorResponse | None) -> str:
    return actor.full_login if actor else GHOST_LOGIN


def visible_issues(pull: GraphPull) -> tuple[GraphIssue, ...]:
    """Issues without those of a private repository if this one is public: the check that quotes them is public."""
    issues = pull.closing_issues_references.visible_nodes if pull.closing_issues_references else ()
    return tuple(issue for issue in issues if pull.is_private or not issue.is_private)


def linked_issues(pull: GraphPull, named: Sequence[GraphIssue], links: Sequence[IssueLink]) -> tuple[Issue, ...]:
    """All issues that it closes: those that GitHub lists, then those that only its text names."""
    texts = {(link.repository.casefold(), link.number): link.text for link in links}
    return tuple(
        _issue(pull, issue, texts.get((issue.repository.casefold(), issue.number), LINKED_IN_SIDEBAR))
        for issue in (*visible_issues(pull), *named)
    )


def _issue(pull: GraphPull, issue: GraphIssue, linked_by: str) -> Issue:
    author = login_of(pull.author)
    body = select_judged_text(issue.body, _text_history(issue, author), pull.created_at)
    title = select_judged_text(issue.title, _title_history(issue, author), pull.created_at)
    unedited = Issue(
        repository=issue.repository,
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
    """History of an issue's text; without edits on GitHub, the last editor and time."""
    shown = issue.user_content_edits
    edits = _visible_prefix(shown.nodes or () if shown else ())
    versions = tuple(_version(edit.edited_at, edit.editor, author, edit.diff) for edit in edits)
    if not versions and issue.last_edited_at is not None:
        return TextHistory((_version(issue.last_edited_at, issue.editor, author, None),))
    is_all = shown is not None and not shown.page_info.has_next_page and len(edits) == len(shown.nodes or ())
    return TextHistory(versions, is_complete=is_all and issue.includes_created_edit)


def _title_history(issue: GraphIssue, author: str) -> TextHistory:
    """History of an issue's titles. The first title comes from the first rename."""
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
    """The newest items, up to the first hidden one."""
    return tuple(item for item in takewhile(lambda node: node is not None, nodes) if item is not None)


ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
SPECIAL: Final = re.compile(r'[\\"\x00-\x1f\x7f]')


@dataclass(frozen=True, slots=True)
class PatchedDiff:
    """`unread` names the files whose lines are missing from `diff`."""

    diff: str
    unread: tuple[UnreadFile, ...]


def join_patches(files: Sequence[ChangedFileResponse], total: int) -> PatchedDiff:
    """Join the patches of *files*; *total* is the pull request's real number of files."""
    lacking = [file.filename for file in files if file.patch is None and file.changes > 0]
    unread = [UnreadFile(path=path, reason=UnreadReason.TOO_LARGE) for path in lacking]
    if total > len(files):
        rest = f"({total - len(files)} more files that GitHub does not list)"
        unread.append(UnreadFile(path=rest, reason=UnreadReason.OVER_LIMIT))
    return PatchedDiff("".join(_section(file) for file in files), tuple(unread))


def _section(file: ChangedFileResponse) -> str:
    old, new = file.previous_filename or file.filename, file.filename
    if file.status not in {"renamed", "copied"}:
        old = new
    lines = [f"diff --git {_name('a/', old)} {_name('b/', new)}", *_header(file, old)]
    if file.patch is not None:
        lines.append(f"--- {'/dev/null' if file.status == 'added' else _marked_name('a/', old)}")
        lines.append(f"+++ {'/dev/null' if file.status == 'removed' else _marked_name('b/', new)}")
        lines.append(file.patch.removesuffix("\n"))
    return "\n".join(lines) + "\n"


def _header(file: ChangedFileResponse, old: str) -> list[str]:
    match file.status:
        case "added":
            return ["new file mode 100644"]
        case "removed":
            return ["deleted file mode 100644"]
        case "renamed" | "copied":
            word = "rename" if file.status == "renamed" else "copy"
            return [f"{word} from {_name('', old)}", f"{word} to {_name('', file.filename)}"]
        case _:
            return []


def _name(side: str, path: str) -> str:
    """A path as git writes it: quoted if it has special characters."""
    text = side + path
    escaped = SPECIAL.sub(lambda match: ESCAPES.get(match[0], f"\\{ord(match[0]):03o}"), text)
    return text if escaped == text else f'"{escaped}"'


def _marked_name(side: str, path: str) -> str:
    name = _name(side, path)
    return f"{name}\t" if " " in name and not name.startswith('"') else name


MOST_FILES: Final = 1000
MOST_CHARACTERS: Final = 20_000_000
BATCH_SIZE: Final = 100
SMALL_BATCH: Final = 25
"""Batch size of a retry after GitHub timed out on a whole batch."""


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Paths to query, and files that the diff alone shows to be unreadable."""

    paths: tuple[str, ...]
    unread: tuple[UnreadFile, ...]


def texts_to_read(diff: Diff, most: int = MOST_FILES) -> TextRequest:
    """Select the files to read. A deleted file and a submodule have no text at the head."""
    there = [file for file in diff.files if file.change is not ChangeKind.DELETED and not file.is_submodule]
    binary = [file.path for file in there if file.is_binary]
    unnamed = [file.path for file in there if not file.is_binary and "\ufffd" in file.path]
    paths = [file.path for file in there if not file.is_binary and "\ufffd" not in file.path]
    unread = [
        *(UnreadFile(path=path, reason=UnreadReason.BINARY) for path in binary),
        *(UnreadFile(path=path, reason=UnreadReason.NOT_UTF8) for path in unnamed),
        *(UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT) for path in paths[most:]),
    ]
    return TextRequest(tuple(paths[:most]), tuple(unread))


def to_head_file(path: str, blob: BlobResponse | None) -> HeadFile | UnreadFile:
    """Convert a blob to the file at *path*."""
    if blob is None:
        return UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT)
    if blob.is_binary:
        return UnreadFile(path=path, reason=UnreadReason.BINARY)
    if blob.is_truncated or blob.text is None:
        return UnreadFile(path=path, reason=UnreadReason.TOO_LARGE)
    return HeadFile(path=path, text=blob.text)


def batches(paths: Sequence[str], size: int) -> list[Sequence[str]]:
    return [paths[start : start + size] for start in range(0, len(paths), size)]


@dataclass(slots=True)
class HeadTexts:
    """Collects files up to the size limits."""

    unread: list[UnreadFile]
    most_characters: int = MOST_CHARACTERS
    files: list[HeadFile] = field(default_factory=list[HeadFile])
    characters: int = 0

    @property
    def is_full(self) -> bool:
        return self.characters >= self.most_characters

    def put(self, paths: Sequence[str], blobs: Sequence[BlobResponse | None]) -> None:
        for path, blob in zip(paths, blobs, strict=True):
            file = to_head_file(path, blob)
            if isinstance(file, HeadFile):
                self.characters += len(file.text or "")
                self.files.append(file)
            else:
                self.unread.append(file)

    def mark_unread(self, paths: Sequence[str]) -> None:
        """Record files that are not read."""
        self.unread += [UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT) for path in paths]


def may_have_default(repository: RepositoryName) -> bool:
    """Whether the owner's default may apply; in the repository of the defaults the file is its own."""
    return repository.rpartition("/")[2] != DEFAULTS_REPOSITORY


def config_texts(
    own: BlobResponse | None, default: BlobResponse | None, misnamed: BlobResponse | None = None
) -> tuple[ConfigText, ...]:
    """The configuration files, the repository's own first. *misnamed*: a file under the wrong name."""
    sources = ((ConfigOrigin.REPOSITORY, own), (ConfigOrigin.ORGANISATION, default))
    texts = [ConfigText(origin=origin, text=text_of(blob)) for origin, blob in sources if blob and is_file(blob)]
    if misnamed and is_file(misnamed) and not (own and is_file(own)):
        texts.insert(0, ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True))
    return tuple(texts)


def is_file(blob: BlobResponse) -> bool:
    return blob.is_binary is not None or blob.text is not None


def text_of(blob: BlobResponse) -> str | None:
    return None if blob.is_binary or blob.is_truncated else blob.text


class TreeEntryResponse(RestResponse):
    path: str


class TreeResponse(RestResponse):
    tree: tuple[TreeEntryResponse, ...]
    truncated: bool


def look_up_at(api: GitHubApi, request: JudgeRequest, dossier: Dossier, sought: LookupRequest) -> LookupResult:
    if not sought.paths:
        return LookupResult()
    tree = api.get(f"/repos/{request.repository}/git/trees/{dossier.pull_request.head_sha}", TreeResponse, recursive=1)
    return (
        LookupResult()
        if tree.truncated
        else LookupResult(absent_paths=find_absent([entry.path for entry in tree.tree], sought.paths))
    )
