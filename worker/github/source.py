"""A pull request on GitHub as a raw dossier, in three requests and one more for each further hundred files.

Does not derive anything (`worker.assemble` does) and knows neither policy nor ledger. Invariant: diff, texts and
checks of one dossier belong to one head; if the head moves while they are read, they are read again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from worker.domain.config_place import PLACE
from worker.domain.diff import parse_diff
from worker.domain.dossier import Ci, Commit, ConfigText, Dossier, Guidance, Issue, PullRequest
from worker.domain.ids import Sha
from worker.domain.issue_links import IssueLink, closing_links
from worker.domain.request import JudgeRequest
from worker.domain.rules.files import AT_THE_ROOT, FOLDERS, MOST_IN_A_FOLDER, NAMES, are_rules, distinct, folders_above
from worker.domain.value import Value
from worker.errors import Gone, RateLimited, Unavailable
from worker.github.client import DIFF, Access, Api, Call
from worker.github.configs import config_texts, has_default
from worker.github.errors import TooLargeToShow
from worker.github.graph import Answered, Asked, PullGraph
from worker.github.logs import JobLogs, with_logs
from worker.github.patches import PatchedDiff, joined
from worker.github.replies import (
    Actor,
    ChangedFiles,
    Folder,
    GraphContext,
    GraphIssue,
    GraphPull,
    Nodes,
    PullCommit,
    PullState,
)
from worker.github.texts import BATCH, MOST_CHARACTERS, SMALL_BATCH, Shelf, batches, wanted
from worker.github.validators import Around, Ourselves, around, ci_of

READINGS: Final = 3
"""How often a pull request is read from the start because its head moved meanwhile."""

MOST_RULED_FOLDERS: Final = 20
"""Folders above changed files that are asked for rules files: they ride along in a request that is made anyway."""

FILES_PER_PAGE: Final = 100
MOST_LISTED: Final = 3000
MOST_NAMED_ISSUES: Final = 5
BY_HAND: Final = "linked on GitHub"


class Looking(Value):
    """Who looks, at what, and how much of it. `app_id` None: our own checks can only be told by their name."""

    app_id: int | None
    host: str
    open_only: bool = True
    most_characters: int = MOST_CHARACTERS


def looking(app_id: int | None, api_url: str, *, open_only: bool = True) -> Looking:
    host = urlsplit(api_url).hostname or ""
    return Looking(app_id, "github.com" if host == "api.github.com" else host, open_only)


class GitHubPullSource:
    """The PullSource of the live App, and of `assay judge OWNER/REPO#N` with a token."""

    def __init__(self, access: Access, looking: Looking) -> None:
        self._access = access
        self._looking = looking

    def dossier(self, request: JudgeRequest) -> Dossier:
        reading = PullReading(self._access.api(request.pull.installation_id), request, self._looking)
        for _ in range(READINGS):
            if dossier := reading.dossier():
                return dossier
        raise Unavailable("the pull request", "it is pushed to faster than it can be read")

    def head_sha(self, request: JudgeRequest) -> Sha:
        api = self._access.api(request.pull.installation_id)
        head = PullGraph(api, request.repository, request.pull.number).head()
        still_open(head, self._looking)
        return head.head_ref_oid


def still_open(head: PullState, looking: Looking) -> None:
    if looking.open_only and head.state != "OPEN":
        raise Gone(head.state.lower())


class PullReading:
    """One pull request while it is read."""

    def __init__(self, api: Api, request: JudgeRequest, looking: Looking) -> None:
        self._api = api
        self._path = f"/repos/{request.repository}/pulls/{request.pull.number}"
        self._graph = PullGraph(api, request.repository, request.pull.number)
        self._request = request
        self._looking = looking

    def dossier(self) -> Dossier | None:
        """Read everything once; None when the head moved meanwhile."""
        pull = self._graph.pull()
        still_open(pull, self._looking)
        contexts = tuple(self._contexts(pull))
        diff = self._diff(pull)
        links = closing_links(pull.body, self._request.repository, self._looking.host)
        rest = self._rest(pull, diff, links)
        if rest is None:
            return None
        return Dossier(
            pull_request=pull_request(pull, self._request),
            issues=issues(pull, rest.issues, links),
            diff=diff.diff,
            files=tuple(rest.shelf.files),
            files_unread=(*diff.unread, *rest.shelf.unread),
            ci=self._ci(pull, contexts, rest.config),
            guidance=rest.guidance,
            config=rest.config,
        )

    def _contexts(self, pull: GraphPull) -> Iterator[GraphContext]:
        page = pull.status_check_rollup.contexts if pull.status_check_rollup else None
        while page is not None:
            yield from page.seen
            cursor = page.page_info.end_cursor
            page = self._graph.contexts_after(cursor) if page.page_info.has_next_page and cursor else None

    def _ci(self, pull: GraphPull, contexts: Sequence[GraphContext], config: Sequence[ConfigText]) -> Ci:
        ci = ci_of(contexts, Ourselves(self._looking.app_id), chosen(around(pull), config))
        return with_logs(ci, contexts, JobLogs(self._api, self._request.repository))

    def _diff(self, pull: GraphPull) -> PatchedDiff:
        try:
            return PatchedDiff(self._api.get_bytes(self._path, DIFF).decode("utf-8", "replace"), ())
        except TooLargeToShow:
            return self._patches(pull.changed_files)

    def _patches(self, total: int) -> PatchedDiff:
        pages = range(1, -(-min(total, MOST_LISTED) // FILES_PER_PAGE) + 1)
        calls = (
            Call("GET", f"{self._path}/files", {"per_page": FILES_PER_PAGE, "page": page}, is_repeatable=True)
            for page in pages
        )
        files = [file for call in calls for file in self._api.fetch(call, ChangedFiles).root]
        return joined(files, total)

    def _rest(self, pull: GraphPull, diff: PatchedDiff, links: Sequence[IssueLink]) -> "Rest | None":
        """Texts, guidance and the issues that only the body names; None when the head moved."""
        missing = {file.path for file in diff.unread}
        changed = parse_diff(diff.diff.encode())
        files = wanted(changed)
        paths = [path for path in files.paths if path not in missing]
        rest = Rest(
            Shelf([*files.unread], self._looking.most_characters),
            rules_files_for([file.path for file in changed.files]),
        )
        rules = [f"{pull.base_ref_oid}:{path}" for path in (*rest.ruled_by, PLACE)]
        folders = [f"{pull.base_ref_oid}:{folder}" for folder in FOLDERS]
        first = Asked(rules, self._named_only(pull, links), folders, has_default(self._request.repository))
        for at, batch in enumerate(batches(paths, BATCH) or [[]]):
            if rest.shelf.is_full:
                rest.shelf.leave(batch)
            elif not self._read(pull, batch, first if at == 0 else Asked(), rest):
                return None
        return rest

    def _read(self, pull: GraphPull, paths: Sequence[str], beside: Asked, rest: "Rest") -> bool:
        """Read one batch, in smaller pieces if GitHub can't answer it at once; False when the head moved."""
        try:
            return self._read_at_once(pull, paths, beside, rest)
        except RateLimited:
            raise
        except Unavailable:
            if len(paths) <= SMALL_BATCH:
                raise
            pieces = batches(paths, SMALL_BATCH)
            return all(
                self._read_at_once(pull, piece, beside if at == 0 else Asked(), rest) for at, piece in enumerate(pieces)
            )

    def _read_at_once(self, pull: GraphPull, paths: Sequence[str], beside: Asked, rest: "Rest") -> bool:
        files = [f"{self._texts_at(pull)}:{path}" for path in paths]
        found = self._graph.ask(replace(beside, expressions=[*beside.expressions, *files]))
        still_open(found.head, self._looking)
        if found.head.head_ref_oid != pull.head_ref_oid:
            return False
        blobs = found.blobs[len(beside.expressions) :]
        if blobs and not any(blobs):
            raise Unavailable("the head commit", "GitHub can't read it yet")
        rest.shelf.put(paths, blobs)
        if beside.expressions:
            rest.take(found)
        return True

    def _texts_at(self, pull: GraphPull) -> Sha:
        """The commit whose files are read."""
        return pull.head_ref_oid

    def _named_only(self, pull: GraphPull, links: Sequence[IssueLink]) -> list[int]:
        """Issues of this repository that the body closes and GitHub does not list, as for another base branch."""
        listed = {issue.number for issue in listed_issues(pull)}
        here = self._request.repository.casefold()
        numbers = [link.number for link in links if link.repository.casefold() == here and link.number not in listed]
        return numbers[:MOST_NAMED_ISSUES]


def chosen(known: Around, config: Sequence[ConfigText]) -> Around:
    """With the checks that the repository expects, and without those that it ignores."""
    if not config:
        return known
    from worker.config_file import configured  # noqa: PLC0415 - YAML, for those who have a configuration

    said = configured(config).config
    required = tuple(name for name in (*known.required, *said.ci_expect) if name not in said.ci_ignore)
    return Around(required, frozenset(said.ci_ignore), known.held, known.silencing)


def rules_files_for(changed: Sequence[str]) -> tuple[str, ...]:
    """The rules files that may rule these, but for those in folders of their own."""
    above = folders_above(changed, MOST_RULED_FOLDERS)
    return (*AT_THE_ROOT, *(f"{folder}{name}" for folder in above for name in NAMES))


@dataclass(slots=True)
class Rest:
    """What the second kind of question brings."""

    shelf: Shelf
    ruled_by: tuple[str, ...]
    guidance: tuple[Guidance, ...] = ()
    issues: tuple[GraphIssue, ...] = ()
    config: tuple[ConfigText, ...] = ()

    def take(self, found: Answered) -> None:
        texts = [(path, blob.text) for path, blob in zip(self.ruled_by, found.blobs, strict=False) if blob is not None]
        inside = [one for name, folder in zip(FOLDERS, found.folders, strict=True) for one in rules_in(name, folder)]
        at_the_root = sum(path in AT_THE_ROOT for path, _ in texts)
        texts[at_the_root:at_the_root] = inside
        self.guidance = distinct(Guidance(path=path, text=text) for path, text in texts if text)
        self.issues = tuple(issue for issue in found.issues if issue is not None)
        self.config = config_texts(found.blobs[len(self.ruled_by)], found.owners_default)


def rules_in(name: str, folder: Folder | None) -> list[tuple[str, str | None]]:
    """The rules files of a folder that is kept for them."""
    entries = sorted((folder.entries or () if folder else ()), key=lambda entry: entry.name)
    files = [(entry.name, entry.object.text) for entry in entries if entry.object and are_rules(name, entry.name)]
    return [(f"{name}/{file}", text) for file, text in files[:MOST_IN_A_FOLDER]]


def login(actor: Actor | None) -> str:
    """A deleted account is shown as `ghost`."""
    return actor.full_login if actor else "ghost"


def pull_request(pull: GraphPull, request: JudgeRequest) -> PullRequest:
    return PullRequest(
        repository=request.repository,
        number=request.pull.number,
        title=pull.title,
        body=pull.body,
        author=login(pull.author),
        base_ref=pull.base_ref_name,
        base_sha=pull.base_ref_oid,
        head_ref=pull.head_ref_name,
        head_sha=pull.head_ref_oid,
        draft=pull.is_draft,
        labels=tuple(label.name for label in pull.labels.seen) if pull.labels else (),
        commits=tuple(commits(pull.commits)),
    )


def commits(written: Nodes[PullCommit]) -> Iterator[Commit]:
    for commit in (node.commit for node in written.seen):
        author = commit.author
        name = (author.user.login if author.user else author.name) if author else None
        yield Commit(sha=commit.oid, message=commit.message, author=name or "")


def listed_issues(pull: GraphPull) -> tuple[GraphIssue, ...]:
    """Without those that stand in a private repository where this one is public: anybody reads the check that quotes them."""
    found = pull.closing_issues_references.seen if pull.closing_issues_references else ()
    if pull.base_repository is not None and pull.base_repository.is_private:
        return found
    return tuple(issue for issue in found if not issue.repository.is_private)


def issues(pull: GraphPull, named: Sequence[GraphIssue], links: Sequence[IssueLink]) -> tuple[Issue, ...]:
    words = {(link.repository.casefold(), link.number): link.words for link in links}
    return tuple(
        Issue(
            repository=issue.repository.name_with_owner,
            number=issue.number,
            title=issue.title,
            body=issue.body,
            url=issue.url,
            author=login(issue.author),
            author_association=issue.author_association,
            edited_by=login(issue.editor) if issue.editor else None,
            edited_at=issue.last_edited_at,
            linked_by=words.get((issue.repository.name_with_owner.casefold(), issue.number), BY_HAND),
        )
        for issue in (*listed_issues(pull), *named)
    )
