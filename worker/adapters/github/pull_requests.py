"""A pull request on GitHub as a raw dossier, in three requests and one more per further hundred files or checks.

Two requests suffice if head and base are known from the request or the last verdict. Diff, texts and checks of a
dossier belong to one head: if it moves during the read, the read restarts, or the check of the newest head before
publishing (see `is_newest_head`) detects it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final
from urllib.parse import urlsplit

from worker.adapters.github.checks import CiContext, JobLogs, OwnChecks, add_logs, ci_from, read_ci_context, reports_of
from worker.adapters.github.client import DIFF, ApiCall, GitHubAccess, GitHubApi
from worker.adapters.github.collaborators import read_role
from worker.adapters.github.errors_and_rate_limits import DiffTooLarge
from worker.adapters.github.pull_request_query import (
    DossierMemory,
    PrefetchedTexts,
    PrefetchGuess,
    PullQueries,
    PullQueryAnswers,
    PullQueryItems,
    branch_ref,
    guess_from_diff,
    guess_range,
    rules_files_for,
    rules_items,
    to_prefetched_texts,
)
from worker.adapters.github.pull_request_texts import (
    BATCH_SIZE,
    MOST_CHARACTERS,
    SMALL_BATCH,
    HeadTexts,
    PatchedDiff,
    batches,
    config_texts,
    join_patches,
    linked_issues,
    login_of,
    look_up_at,
    texts_to_read,
    visible_issues,
)
from worker.adapters.github.responses import (
    BlobResponse,
    ChangedFileResponse,
    FolderResponse,
    GraphContext,
    GraphIssue,
    GraphPull,
    NodeConnection,
    Page,
    PullCommit,
    PullState,
)
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.command_permissions import Role, roles_from
from worker.domain.config.config import CONFIG_PATHS
from worker.domain.dossier import Ci, Commit, ConfigText, Dossier, Guidance, LookupRequest, LookupResult, PullRequest
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.model import Sha
from worker.dossier.diff import DiffError, parse_diff
from worker.dossier.issues import IssueLink, find_closing_links
from worker.dossier.repo_rules.files import MOST_IN_A_FOLDER, ROOT_NAMES, RULE_FOLDERS, is_rules_name, unique_files
from worker.errors import RateLimited, SubjectGone, Unavailable

MOST_READINGS: Final = 3
"""Reads of a pull request whose head moves meanwhile."""

FILES_PER_PAGE: Final = 100
MOST_LISTED: Final = 3000
MOST_NAMED_ISSUES: Final = 5
RECENT_S: Final = 2.0
"""Age of an answer that is as fresh as another request: the duration of one and of what follows it."""


@dataclass(frozen=True)
class ReadOptions:
    """Credential, App and limits of a read. `app_id` None: our own checks are identified by name only."""

    app_id: int | None
    host: str
    open_only: bool = True
    most_characters: int = MOST_CHARACTERS


def make_read_options(app_id: int | None, api_url: str, *, open_only: bool = True) -> ReadOptions:
    host = urlsplit(api_url).hostname or ""
    return ReadOptions(app_id, "github.com" if host == "api.github.com" else host, open_only)


class GitHubPullSource:
    """The PullSource of the live App, and of `assay judge OWNER/REPO#N` with a token. *memory*: earlier dossiers."""

    def __init__(self, access: GitHubAccess, looking: ReadOptions, memory: DossierMemory | None = None) -> None:
        self._access = access
        self._looking = looking
        self._memory = memory
        self._recent_head: RecentHead | None = None

    def open_reader(self, request: JudgeRequest) -> "PullReader":
        before = self._memory(request.pull) if self._memory else None
        return PullReader(self._access.api(request.pull.installation_id), request, self._looking, before)

    def dossier(self, request: JudgeRequest) -> Dossier:
        self._recent_head, reading = None, self.open_reader(request)
        for _ in range(MOST_READINGS):
            if dossier := reading.dossier():
                self._recent_head = RecentHead(request.pull, dossier.pull_request.head_sha, reading.head_asked_at)
                return dossier
        raise Unavailable("the pull request", "it is pushed to faster than it can be read")

    def head_sha(self, request: JudgeRequest) -> Sha:
        api = self._access.api(request.pull.installation_id)
        head = PullQueries(api, request.repository, request.pull.number).head()
        require_open(head, self._looking)
        return head.head_ref_oid

    def look_up(self, request: JudgeRequest, dossier: Dossier, sought: LookupRequest) -> LookupResult:
        return look_up_at(self._access.api(request.pull.installation_id), request, dossier, sought)

    def may_write(self, request: JudgeRequest, login: str) -> bool:
        """Whether an account has write access to the pull request's repository."""
        role = read_role(self._access.api(request.pull.installation_id), request.repository, login)
        return role in roles_from(Role.WRITE)

    def is_newest_head(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Whether GitHub just returned this as the newest head of an open pull request.

        False if a later read could belong to another head.
        """
        previous = self._recent_head
        if previous is None or (previous.pull, previous.head_sha) != (request.pull, head_sha):
            return False
        return time.monotonic() - previous.at <= RECENT_S


@dataclass(frozen=True, slots=True)
class RecentHead:
    """The newest head from GitHub. `at`: when it was queried."""

    pull: PullRef
    head_sha: Sha
    at: float


def require_open(head: PullState, looking: ReadOptions) -> None:
    if looking.open_only and head.state != "OPEN":
        raise SubjectGone(head.state.lower())


@dataclass(frozen=True, slots=True)
class InitialRead:
    """A pull request, and what was read with it. `diff` None: not read yet."""

    pull: GraphPull
    diff: PatchedDiff | None = None
    prefetched: PrefetchedTexts = field(default_factory=PrefetchedTexts)


class PullReader:
    """One read of a pull request. *before*: its last dossier. `head_asked_at`: when its head was last queried."""

    def __init__(
        self, api: GitHubApi, request: JudgeRequest, looking: ReadOptions, before: Dossier | None = None
    ) -> None:
        self._api = api
        self._path = f"/repos/{request.repository}/pulls/{request.pull.number}"
        self._graph = PullQueries(api, request.repository, request.pull.number)
        self._request = request
        self._looking = looking
        self._before = before
        self._is_guessing = True
        self._is_too_large = False
        self.head_asked_at = -inf

    def dossier(self) -> Dossier | None:
        """Read everything once; None if the head moved meanwhile."""
        opening = self._read_initial()
        pull = opening.pull
        require_open(pull, self._looking)
        contexts = self._contexts(pull)
        if contexts is None:
            return None
        diff = opening.diff or self._diff(pull)
        links = find_closing_links(pull.body, self._request.repository, self._looking.host)
        rest = self._read_rest(pull, diff, links, opening.prefetched)
        if rest is None:
            return None
        return Dossier(
            pull_request=to_pull_request(pull, self._request),
            issues=linked_issues(pull, rest.issues, links),
            diff=diff.diff,
            files=tuple(rest.head_texts.files),
            files_unread=(*diff.unread, *rest.head_texts.unread),
            ci=self._ci(pull, contexts, rest.config),
            guidance=rest.guidance,
            config=rest.config,
            is_required=CHECK_NAME in read_ci_context(pull).required,
        )

    def _read_initial(self) -> InitialRead:
        """Guess head and base once: a correct guess lets the request after the diff bring the rest."""
        is_guessing, self._is_guessing = self._is_guessing, False
        if is_guessing and guess_range(self._request, self._before) is not None:
            return self._diff_first()
        return self._open_plainly()

    def _open_plainly(self) -> InitialRead:
        self._note_head_request()
        return InitialRead(self._graph.pull())

    def _diff_first(self) -> InitialRead:
        """Read the diff of the newest head; the next answer confirms which head that is."""
        try:
            diff = self._shown_diff()
            guess = guess_from_diff(self._request, self._before, diff)
        except DiffTooLarge:
            self._is_too_large = True
            return self._open_plainly()
        except DiffError:
            return self._open_plainly()
        seen = self._try_guess(guess) if guess else None
        if guess is None or seen is None:
            return self._open_plainly()
        pull, answers = seen
        is_there = (pull.head_ref_oid, pull.base_ref_oid) == (guess.head_sha, guess.base_sha)
        if not is_there or guess.base_ref not in {None, pull.base_ref_name}:
            return InitialRead(pull)
        return InitialRead(pull, PatchedDiff(diff, ()), to_prefetched_texts(guess, answers))

    def _try_guess(self, guess: PrefetchGuess) -> tuple[GraphPull, PullQueryAnswers] | None:
        """Query with a guess. None: too much for one answer."""
        self._note_head_request()
        try:
            return self._graph.pull_with(guess.items(self._request))
        except RateLimited:
            raise
        except Unavailable:
            if len(guess.paths) <= SMALL_BATCH:
                raise
            return None

    def _note_head_request(self) -> None:
        self.head_asked_at = time.monotonic()

    def _contexts(self, pull: GraphPull) -> list[GraphContext] | None:
        """All pages of the head's check runs and statuses; None if the head moved."""
        contexts, page = list[GraphContext](), pull.contexts
        while page is not None:
            contexts += page.visible_nodes
            if not page.page_info.has_next_page or not page.page_info.end_cursor:
                break
            self._note_head_request()
            more = self._graph.contexts_after(page.page_info.end_cursor)
            require_open(more, self._looking)
            if more.head_ref_oid != pull.head_ref_oid:
                return None
            page = more.contexts
        return contexts

    def _ci(self, pull: GraphPull, contexts: Sequence[GraphContext], config: Sequence[ConfigText]) -> Ci:
        ci = apply_check_settings(read_ci_context(pull), config)
        reports = reports_of(contexts, OwnChecks(self._looking.app_id), ci)
        return ci_from(add_logs(reports, JobLogs(self._api, self._request.repository)), ci)

    def _diff(self, pull: GraphPull) -> PatchedDiff:
        try:
            return self._patches(pull.changed_files) if self._is_too_large else PatchedDiff(self._shown_diff(), ())
        except DiffTooLarge:
            return self._patches(pull.changed_files)

    def _shown_diff(self) -> str:
        return self._api.get_bytes(self._path, DIFF).decode("utf-8", "replace")

    def _patches(self, total: int) -> PatchedDiff:
        pages = range(1, -(-min(total, MOST_LISTED) // FILES_PER_PAGE) + 1)
        params = ({"per_page": FILES_PER_PAGE, "page": page} for page in pages)
        calls = (ApiCall("GET", f"{self._path}/files", page, is_repeatable=True) for page in params)
        files = [file for call in calls for file in self._api.fetch(call, Page[ChangedFileResponse]).root]
        return join_patches(files, total)

    def _read_rest(
        self, pull: GraphPull, diff: PatchedDiff, links: Sequence[IssueLink], have: PrefetchedTexts
    ) -> "RemainingTexts | None":
        """Read texts, guidance and issues that only the body names; None if the head moved."""
        missing = {file.path for file in diff.unread}
        changed = parse_diff(diff.diff.encode())
        files = texts_to_read(changed)
        paths = [path for path in files.paths if path not in missing]
        rest = RemainingTexts(
            HeadTexts([*files.unread], self._looking.most_characters),
            rules_files_for([file.path for file in changed.files]),
            have.texts,
        )
        # After a correct guess the first request has nothing else to bring.
        listed = {issue.number for issue in visible_issues(pull)}
        here = self._request.repository.casefold()
        # Issues of this repository that the body closes and GitHub does not list, as for another base branch.
        named = [link.number for link in links if link.repository.casefold() == here and link.number not in listed]
        first = PullQueryItems()
        if have.answers is None or have.ruled_by != rest.rules_paths or named:
            branch = branch_ref(pull.base_ref_name)
            first = rules_items(branch, rest.rules_paths, named[:MOST_NAMED_ISSUES], self._request)
        else:
            rest.add_answers(have.answers)
        for at, batch in enumerate(batches(paths, BATCH_SIZE) or [[]]):
            if rest.head_texts.is_full:
                rest.head_texts.mark_unread(batch)
            elif not self._read(pull, batch, first if at == 0 else PullQueryItems(), rest):
                return None
        return rest

    def _read(self, pull: GraphPull, paths: Sequence[str], beside: PullQueryItems, rest: "RemainingTexts") -> bool:
        """Read one batch, in smaller pieces if GitHub times out; False if the head moved."""
        try:
            return self._read_in_one_query(pull, paths, beside, rest)
        except RateLimited:
            raise
        except Unavailable:
            if len(paths) <= SMALL_BATCH:
                raise
            pieces = batches(paths, SMALL_BATCH)
            return all(
                self._read_in_one_query(pull, piece, beside if at == 0 else PullQueryItems(), rest)
                for at, piece in enumerate(pieces)
            )

    def _read_in_one_query(
        self, pull: GraphPull, paths: Sequence[str], beside: PullQueryItems, rest: "RemainingTexts"
    ) -> bool:
        lacking = [path for path in paths if path not in rest.texts]
        if not lacking and not beside.expressions:
            rest.head_texts.put(paths, [rest.texts[path] for path in paths])
            return True
        files = [f"{self._texts_at(pull)}:{path}" for path in lacking]
        self._note_head_request()
        items = self._graph.fetch_items(replace(beside, expressions=[*beside.expressions, *files]))
        require_open(items.head, self._looking)
        if items.head.head_ref_oid != pull.head_ref_oid:
            return False
        blobs = items.blobs[len(beside.expressions) :]
        if blobs and not any((*blobs, *rest.texts.values())):
            raise Unavailable("the head commit", "GitHub can't read it yet")
        read = {**rest.texts, **dict(zip(lacking, blobs, strict=True))}
        rest.head_texts.put(paths, [read[path] for path in paths])
        if beside.expressions:
            rest.add_answers(items)
        return True

    def _texts_at(self, pull: GraphPull) -> Sha:
        """The commit whose files are read."""
        return pull.head_ref_oid


def apply_check_settings(context: CiContext, config: Sequence[ConfigText]) -> CiContext:
    """Add the checks that the configuration requires, and remove those that it ignores."""
    if not config:
        return context
    from worker.dossier.config import resolve_config  # noqa: PLC0415 - YAML, for those who have a configuration

    resolved = resolve_config(config).config
    required = tuple(name for name in (*context.required, *resolved.ci_expect) if name not in resolved.ci_ignore)
    return CiContext(required, frozenset(resolved.ci_ignore), context.held_workflows, context.skip_words)


@dataclass(slots=True)
class RemainingTexts:
    """Texts and issues of the second kind of query."""

    head_texts: HeadTexts
    rules_paths: tuple[str, ...]
    texts: Mapping[str, BlobResponse] = field(default_factory=dict[str, BlobResponse])
    guidance: tuple[Guidance, ...] = ()
    issues: tuple[GraphIssue, ...] = ()
    config: tuple[ConfigText, ...] = ()

    def add_answers(self, answers: PullQueryAnswers) -> None:
        files = zip(self.rules_paths, answers.blobs, strict=False)
        texts = [(path, blob.text) for path, blob in files if blob is not None]
        folders = zip(RULE_FOLDERS, answers.folders, strict=True)
        inside = [file for name, folder in folders for file in rules_files_in(name, folder)]
        at_the_root = sum(path in ROOT_NAMES for path, _ in texts)
        texts[at_the_root:at_the_root] = inside
        self.guidance = unique_files(Guidance(path=path, text=text) for path, text in texts if text)
        self.issues = tuple(issue for issue in answers.issues if issue is not None)
        own, misnamed = answers.blobs[len(self.rules_paths) :][: len(CONFIG_PATHS)]
        self.config = config_texts(own, answers.owners_default, misnamed)


def rules_files_in(name: str, folder: FolderResponse | None) -> list[tuple[str, str | None]]:
    """Rules files of a folder for rules."""
    entries = sorted((folder.entries or () if folder else ()), key=lambda entry: entry.name)
    files = [(entry.name, entry.object.text) for entry in entries if entry.object and is_rules_name(name, entry.name)]
    return [(f"{name}/{file}", text) for file, text in files[:MOST_IN_A_FOLDER]]


def to_pull_request(pull: GraphPull, request: JudgeRequest) -> PullRequest:
    return PullRequest(
        repository=request.repository,
        number=request.pull.number,
        title=pull.title,
        body=pull.body,
        author=login_of(pull.author),
        base_ref=pull.base_ref_name,
        base_sha=pull.base_ref_oid,
        head_ref=pull.head_ref_name,
        head_sha=pull.head_ref_oid,
        draft=pull.is_draft,
        is_from_fork=pull.is_cross_repository,
        labels=tuple(label.name for label in pull.labels.visible_nodes) if pull.labels else (),
        commits=tuple(to_commits(pull.commits)),
    )


def to_commits(written: NodeConnection[PullCommit]) -> Iterator[Commit]:
    for commit in written.visible_nodes:
        author = commit.author_login or commit.author_name or ""
        yield Commit(sha=commit.oid, message=commit.message, author=author)
