"""A pull request read with GITHUB_TOKEN, or anonymously over the REST API, which allows 60 requests an hour.

An anonymous read is one moment of at most six requests and the texts of twenty files; `files_unread` and the notes list
what was left out.
"""

import base64
import binascii
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

from worker.adapters.github.checks import CiContext, OwnChecks, ci_of
from worker.adapters.github.client import DIFF, GitHubApi, token_access
from worker.adapters.github.errors_and_rate_limits import DiffTooLarge
from worker.adapters.github.pull_request_texts import texts_to_read
from worker.adapters.github.pull_requests import GitHubPullSource, make_read_options
from worker.adapters.github.responses import (
    CheckRunResponse,
    CheckRunsPage,
    CombinedStatus,
    GraphContext,
    Page,
    RestCommit,
    RestFile,
    RestIssue,
    RestPull,
    RestStatus,
)
from worker.domain.config.config import CONFIG_PATH, CONFIG_PATHS, MISNAMED_CONFIG_PATH
from worker.domain.dossier import (
    Ci,
    Commit,
    ConfigOrigin,
    ConfigText,
    Dossier,
    Guidance,
    HeadFile,
    Issue,
    PullRequest,
    UnreadFile,
    UnreadReason,
)
from worker.domain.model import InstallationId, RepositoryName
from worker.domain.ports import Clock
from worker.dossier.diff import parse_diff
from worker.dossier.issues import IssueLink, find_closing_links
from worker.dossier.repo_rules.files import FOLDER_NAMES, unique_files
from worker.errors import InputError, SubjectGone
from worker.settings import Settings

MOST_TEXTS: Final = 20
MOST_FILES: Final = MOST_TEXTS - len(FOLDER_NAMES) - len(CONFIG_PATHS)
PER_PAGE: Final = 100
TOKEN_HINT: Final = "Set GITHUB_TOKEN to read it all."  # noqa: S105 - a sentence
SNIFFED_BYTES: Final = 8000
"""Git classifies a file with a NUL in its first 8,000 bytes as binary."""


@dataclass(frozen=True, slots=True)
class PublicPull:
    """A pull request; `notes` has a sentence for each part that could not be read."""

    dossier: Dossier
    notes: tuple[str, ...]


@dataclass(slots=True)
class PublicPullReader:
    """A pull request during an anonymous read."""

    api: GitHubApi
    repository: RepositoryName
    number: int
    host: str
    notes: list[str] = field(default_factory=list[str])

    def read(self) -> PublicPull:
        pull = self._pull()
        diff = self._diff()
        commits = self._commits()
        issues = self._issues(find_closing_links(pull.body or "", self.repository, self.host))
        files, unread = self._files(pull.head_sha, diff)
        dossier = Dossier(
            pull_request=self._pull_request(pull, commits),
            issues=issues,
            diff=diff,
            files=tuple(files),
            files_unread=tuple(unread),
            ci=self._ci(pull.head_sha),
            guidance=self._guidance(pull.base_sha),
            config=self._config(pull.base_sha),
        )
        return PublicPull(dossier, tuple(self.notes))

    def _path(self, rest: str, repository: str | None = None) -> str:
        return f"/repos/{repository or self.repository}/{rest}"

    def _pull(self) -> RestPull:
        try:
            return self.api.get(self._path(f"pulls/{self.number}"), RestPull)
        except SubjectGone as gone:
            raise InputError(
                f"{self.repository}#{self.number} can't be seen without a token: it is private or not there. "
                "Check the name, or set GITHUB_TOKEN to a token that may read it."
            ) from gone

    def _diff(self) -> str:
        try:
            return self.api.get_bytes(self._path(f"pulls/{self.number}"), DIFF).decode("utf-8", "replace")
        except DiffTooLarge as refusal:
            raise InputError(
                f"{self.repository}#{self.number} is too large to read without a token ({refusal}). "
                "Set GITHUB_TOKEN to a token that may read it."
            ) from refusal

    def _commits(self) -> tuple[Commit, ...]:
        commits = self.api.get(self._path(f"pulls/{self.number}/commits"), Page[RestCommit], per_page=PER_PAGE).root
        if len(commits) == PER_PAGE:
            self.notes.append(f"Only the first {PER_PAGE} commits were read. {TOKEN_HINT}")
        return tuple(
            Commit(sha=commit.sha, message=commit.message, author=commit.author_login or commit.author_name or "")
            for commit in commits
        )

    def _issues(self, links: Sequence[IssueLink]) -> tuple[Issue, ...]:
        """The first linked issue; no request is left for more."""
        if len(links) > 1:
            left = ", ".join(f"{link.repository}#{link.number}" for link in links[1:])
            self.notes.append(f"Of the linked issues these were not read: {left}. {TOKEN_HINT}")
        return tuple(issue for link in links[:1] if (issue := self._issue(link)))

    def _issue(self, link: IssueLink) -> Issue | None:
        try:
            issue = self.api.get(self._path(f"issues/{link.number}", link.repository), RestIssue)
        except SubjectGone:
            self.notes.append(f"The linked issue {link.repository}#{link.number} is private or not there. {TOKEN_HINT}")
            return None
        return Issue(
            repository=link.repository,
            number=issue.number,
            title=issue.title,
            body=issue.body or "",
            url=issue.html_url,
            author=issue.author,
            author_association=issue.author_association,
            linked_by=link.text,
        )

    def _ci(self, sha: str) -> Ci:
        runs = self.api.get(self._path(f"commits/{sha}/check-runs"), CheckRunsPage, per_page=PER_PAGE)
        statuses = self.api.get(self._path(f"commits/{sha}/status"), CombinedStatus, per_page=PER_PAGE).statuses
        if runs.total_count > len(runs.check_runs):
            self.notes.append(f"Only {len(runs.check_runs)} of {runs.total_count} check runs were read. {TOKEN_HINT}")
        contexts = [*map(context_of_run, runs.check_runs), *map(context_of_status, statuses)]
        return ci_of(contexts, OwnChecks(None), CiContext())

    def _files(self, sha: str, diff: str) -> tuple[list[HeadFile], list[UnreadFile]]:
        parsed = parse_diff(diff.encode())
        # For a symbolic link the API returns the file that it points to.
        links = {file.path for file in parsed.files if file.is_symlink}
        files = texts_to_read(parsed, MOST_FILES)
        texts = [self._file(sha, path) for path in files.paths if path not in links]
        unread = [*files.unread, *(file for file in texts if isinstance(file, UnreadFile))]
        unread += [UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT) for path in files.paths if path in links]
        if left := [file.path for file in unread if file.reason is UnreadReason.OVER_LIMIT]:
            self.notes.append(f"The texts of {len(left)} files were not read. {TOKEN_HINT}")
        return [file for file in texts if isinstance(file, HeadFile)], unread

    def _file(self, sha: str, path: str) -> HeadFile | UnreadFile:
        try:
            file = self.api.get(self._path(f"contents/{quote(path)}"), RestFile, ref=sha)
        except SubjectGone:
            return UnreadFile(path=path, reason=UnreadReason.OVER_LIMIT)
        raw = file_content(file)
        if raw is None:
            return UnreadFile(path=path, reason=UnreadReason.TOO_LARGE)
        if b"\0" in raw[:SNIFFED_BYTES]:
            return UnreadFile(path=path, reason=UnreadReason.BINARY)
        return HeadFile(path=path, text=raw.decode("utf-8", "replace"))

    def _guidance(self, sha: str) -> tuple[Guidance, ...]:
        files = ((path, self._file(sha, path)) for path in FOLDER_NAMES)
        return unique_files(
            Guidance(path=path, text=file.text) for path, file in files if isinstance(file, HeadFile) and file.text
        )

    def _config(self, sha: str) -> tuple[ConfigText, ...]:
        """The repository's own configuration; the owner's default is not read."""
        file = self._file(sha, CONFIG_PATH)
        if isinstance(file, HeadFile):
            return (ConfigText(origin=ConfigOrigin.REPOSITORY, text=file.text),)
        is_misnamed = file.reason is UnreadReason.OVER_LIMIT and isinstance(
            self._file(sha, MISNAMED_CONFIG_PATH), HeadFile
        )
        is_there = file.reason is not UnreadReason.OVER_LIMIT or is_misnamed
        return (ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=is_misnamed),) if is_there else ()

    def _pull_request(self, pull: RestPull, commits: tuple[Commit, ...]) -> PullRequest:
        return PullRequest(
            repository=self.repository,
            number=self.number,
            title=pull.title,
            body=pull.body or "",
            author=pull.author,
            base_ref=pull.base_ref,
            base_sha=pull.base_sha,
            head_ref=pull.head_ref,
            head_sha=pull.head_sha,
            draft=pull.draft,
            labels=tuple(label.name for label in pull.labels),
            commits=commits,
        )


def file_content(file: RestFile) -> bytes | None:
    """Bytes of a file; None if GitHub omits them, as over 1 MB."""
    if file.encoding != "base64":
        return None
    try:
        return base64.b64decode(file.content)
    except binascii.Error:
        return None


def context_of_run(run: CheckRunResponse) -> GraphContext:
    """A check run of the REST API in GraphQL's form."""
    return GraphContext(
        kind="CheckRun",
        name=run.name,
        status=run.status.upper(),
        conclusion=run.conclusion.upper() if run.conclusion else None,
        started_at=run.started_at,
        title=run.title,
        summary=run.summary,
        app_slug=run.app_slug,
        app_id=run.app_id,
    )


def context_of_status(status: RestStatus) -> GraphContext:
    return GraphContext(
        kind="StatusContext", context=status.context, state=status.state.upper(), description=status.description
    )


@contextmanager
def open_token_source(settings: Settings, clock: Clock) -> Generator[GitHubPullSource]:
    """Read with GITHUB_TOKEN: all that the live App sees, as far as the token allows."""
    with token_access(settings, clock) as access:
        yield GitHubPullSource(access, make_read_options(None, settings.github_api_url, open_only=False))


def open_public_pull(settings: Settings, clock: Clock, repository: RepositoryName, number: int) -> PublicPull:
    """Read a public pull request anonymously, with notes about omissions."""
    host = make_read_options(None, settings.github_api_url).host
    with token_access(replace(settings, github_token=None), clock) as access:
        return PublicPullReader(access.api(InstallationId(0)), repository, number, host).read()
