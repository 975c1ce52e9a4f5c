"""A git checkout as a source of pull requests: the branch against its merge base.

Only commits are judged; `notes` mentions uncommitted changes. The same commits and inputs give the same dossier, and
nothing of the repository is executed (see `worker.adapters.git.git`).
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final

from worker.adapters.git.git import (
    FOLDER,
    SUBMODULE,
    GitFailedError,
    GitFileChange,
    GitRepository,
    changes_between,
    commits_between,
    diff_between,
    entries_at,
    find_reverted_commit,
    look_up_at,
    open_repository,
    paths_at,
    texts_of,
)
from worker.domain.config.config import CONFIG_PATH, CONFIG_PATHS
from worker.domain.dossier import (
    Ci,
    CiCheck,
    ConfigOrigin,
    ConfigText,
    Dossier,
    Guidance,
    HeadFile,
    Issue,
    LookupRequest,
    LookupResult,
    PullRequest,
    find_absent,
)
from worker.domain.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.domain.model import DeliveryId, RepositoryId, Sha
from worker.domain.verdict.ledger import Case
from worker.dossier.case import CaseError, cited_paths, read_case, read_case_file
from worker.dossier.issues import find_closing_links
from worker.dossier.repo_rules.files import (
    FOLDER_NAMES,
    MOST_IN_A_FOLDER,
    ROOT_NAMES,
    RULE_FOLDERS,
    folders_above,
    is_rules_name,
    unique_files,
)
from worker.errors import InputError, SubjectGone, Unavailable

DEFAULT_BASES: Final = ("refs/remotes/origin/HEAD", "main", "master", "origin/main", "origin/master")
REMOTE_PATTERN: Final = re.compile(
    r"(?:[a-z+]+://[^/]+/|[^/:]+@[^/:]+:)(?:.*/)?(?P<owner>[^/\s]+)/(?P<name>[^/\s]+?)(?:\.git)?/*"
)

NO_CASE: Final = (
    "--case: the file holds no case: expected Markdown with a fenced `assay` block, or the YAML or JSON of one. "
    "`assay case new` drafts one."
)


@dataclass(frozen=True, slots=True)
class CheckoutInputs:
    """Inputs besides the commits: texts of files, and reports of CI.

    `body` None: the last commit's message. `case` (a file's text) None: the block in the body.
    """

    issue: str | None = None
    case: str | None = None
    body: str | None = None
    checks: tuple[CiCheck, ...] = ()


class CheckoutSource:
    """A PullSource over the checkout that contains *path*. Raises InputError for an unreadable checkout."""

    def __init__(
        self, path: Path, *, base: str | None = None, head: str | None = None, inputs: CheckoutInputs | None = None
    ) -> None:
        self._repository = open_repository(path)
        self._inputs = inputs or CheckoutInputs()
        issue = self._inputs.issue
        if issue is not None and not issue.strip().lstrip("#").strip():
            # Judging by the title alone would look as if it had been used.
            raise InputError("--issue: the issue is empty: expected Markdown that says what is asked for.")
        if self._inputs.case is not None and read_case_file(self._inputs.case) is None:
            raise InputError(NO_CASE)
        self._head = head or "HEAD"
        self._base = _find_base(self._repository, base)
        self._head_at_start = _commit(self._repository, self._head, "--head")
        self._branch = _branch(self._repository, self._head)
        self._merge_base(_commit(self._repository, self._base, "--base"), self._head_at_start)

    @property
    def name(self) -> str:
        """The repository's name: `owner/name` of its remote, else `local/folder`."""
        return repository_name(self._repository)

    def notes(self) -> tuple[str, ...]:
        """Notes for the user about what is judged."""
        if self._head != "HEAD":
            return ()
        try:
            left_out = self._repository.list_uncommitted()
        except (GitFailedError, Unavailable):
            return ("Uncommitted changes, if there are any, are not judged: `git status` failed.",)
        if not left_out:
            return ()
        files = left_out[0] if len(left_out) == 1 else f"{left_out[0]} and {len(left_out) - 1} more"
        return (f"Uncommitted changes are not judged: {files}. Commit them to have them judged.",)

    def request(self, at: datetime) -> JudgeRequest:
        """Build the request to judge this branch at *at*."""
        identity = str(self._repository.common_dir)
        return JudgeRequest(
            pull=PullRef(
                installation_id=LOCAL_INSTALLATION,
                repository_id=RepositoryId(_number(identity, bits=48)),
                number=_number(self._branch, bits=31),
            ),
            repository=self.name,
            head_sha=self._head_at_start,
            trigger=Trigger.LOCAL,
            delivery_id=DeliveryId(f"local-{self._head_at_start}-{at.timestamp():.6f}"),
            requested_at=at,
        )

    def head_sha(self, request: JudgeRequest) -> Sha:  # noqa: ARG002 - this source has one pull request
        """The current commit of the branch. Raises Gone for a deleted branch."""
        commit = _find_commit(self._repository, self._head)
        if commit is None:
            raise SubjectGone("deleted")
        return commit

    def dossier(self, request: JudgeRequest) -> Dossier:
        """Build a dossier from the commits and the inputs; fields that neither fills stay unset."""
        try:
            return self._dossier(request, self.head_sha(request))
        except GitFailedError as error:
            raise _input_error(error) from error

    def look_up(
        self,
        request: JudgeRequest,  # noqa: ARG002 - this source has one pull request
        dossier: Dossier,
        sought: LookupRequest,
    ) -> LookupResult:
        try:
            return look_up_at(self._repository, dossier, sought)
        except GitFailedError as error:
            raise _input_error(error) from error

    def _dossier(self, request: JudgeRequest, head: Sha) -> Dossier:
        repository = self._repository
        base = _commit(repository, self._base, "--base")
        merge_base = self._merge_base(base, head)
        changes = changes_between(repository, merge_base, head)
        diff, over_limit = diff_between(repository, merge_base, head, changes)
        files = [(change.path, change.blob) for change in changes if change.blob is not None and change.is_file]
        texts = texts_of(repository, files)
        pull = self._pull_request(request, base, merge_base, head)
        dossier = Dossier(
            pull_request=pull,
            issues=_issues(self._inputs.issue, pull),
            diff=diff,
            files=(*texts.files, *self._read_cited(pull, changes)),
            files_unread=tuple({file.path: file for file in (*over_limit, *texts.unread)}.values()),
            reverts=find_reverted_commit(repository, merge_base, head),
            guidance=guidance_at(repository, base, [change.path for change in changes]),
            config=config_at(repository, base),
        )
        inputs: dict[str, object] = {"ci": Ci(checks=self._inputs.checks)} if self._inputs.checks else {}
        if self._inputs.case is not None:  # it replaces the one in the body
            case = read_case_file(self._inputs.case)
            is_refused = isinstance(case, CaseError)
            inputs |= {"case": None if is_refused else case, "case_error": case.message if is_refused else None}
        return dossier.model_copy(update=inputs)

    def _merge_base(self, base: Sha, head: Sha) -> Sha:
        merge_base = self._repository.read_line("merge-base", base, head)
        if merge_base is None:
            remedy = ". Name the branch that this one left: --base BRANCH."
            if self._repository.read_line("rev-parse", "--is-shallow-repository") == "true":
                remedy = " in this shallow clone. Fetch the rest: git fetch --unshallow."
            raise InputError(f'"{self._head}" and "{self._base}" have no common commit{remedy}')
        if merge_base != head:
            return merge_base
        problem = f'"{self._branch}" has no commits that "{self._base}" lacks. Commit on a branch'
        if self._branch == self._base:
            problem = f'"{self._base}" is what changes are compared with. Switch to the branch to judge'
        raise InputError(f"Nothing to judge: {problem}, or name what to compare with: --base.")

    def _pull_request(self, request: JudgeRequest, base: Sha, merge_base: Sha, head: Sha) -> PullRequest:
        commits = commits_between(self._repository, base, head)
        # Title and body as GitHub proposes them: the first commit's subject, the last commit's text.
        title = commits[0].message.partition("\n")[0].strip() if commits else ""
        body = commits[-1].message.partition("\n")[2].strip() if commits else ""
        return PullRequest(
            repository=request.repository,
            number=request.pull.number,
            title=title or self._branch,
            body=body if self._inputs.body is None else self._inputs.body,
            author=commits[-1].author if commits else "",
            base_ref=self._base,
            base_sha=base,
            merge_base_sha=merge_base,
            head_ref=self._branch,
            head_sha=head,
            commits=commits,
        )

    def _read_cited(self, pull: PullRequest, changes: tuple[GitFileChange, ...]) -> tuple[HeadFile, ...]:
        case = read_case(pull.body) if self._inputs.case is None else read_case_file(self._inputs.case)
        if not isinstance(case, Case):
            return ()
        return read_cited_files(self._repository, pull.head_sha, case, frozenset(change.path for change in changes))


def _input_error(error: GitFailedError) -> InputError:
    remedy = "If this is a partial clone, fetch what is missing: git fetch --refetch --no-filter."
    return InputError(f"git {error.command} failed: {error.complaint}. {remedy}")


def _issues(text: str | None, pull: PullRequest) -> tuple[Issue, ...]:
    """Read the issue from a file. Its number is that of the only issue that the body closes, else 0."""
    if text is None:
        return ()
    first, _, rest = text.strip().partition("\n")
    title, body = (first.lstrip("#").strip(), rest.strip()) if first.startswith("#") else (pull.title, text.strip())
    links = find_closing_links(pull.body, pull.repository)
    if len(links) != 1:
        return (Issue(number=0, title=title, body=body),)
    (link,) = links
    return (Issue(repository=link.repository, number=link.number, title=title, body=body, linked_by=link.text),)


def _find_base(repository: GitRepository, base: str | None) -> str:
    """Name of the ref to compare with. Raises InputError."""
    if base is not None:
        _commit(repository, base, "--base")
        return base
    for name in DEFAULT_BASES:
        if repository.read_line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
            return repository.read_line("rev-parse", "--abbrev-ref", name) or name
    raise InputError("No origin/HEAD, main or master to compare with. Name the branch to merge into: --base BRANCH.")


def _find_commit(repository: GitRepository, name: str) -> Sha | None:
    return repository.read_line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")


def _commit(repository: GitRepository, name: str, option: str) -> Sha:
    commit = _find_commit(repository, name)
    if commit is None:
        what = "The checkout has no commit yet" if name == "HEAD" else f'{option}: there is no commit "{name}" here'
        raise InputError(f"{what}. Name a branch, a tag or a commit; `git branch -a` lists branches.")
    if not re.fullmatch("[0-9a-f]{40}", commit):
        raise InputError("This repository names its commits by SHA-256: expected SHA-1, as on GitHub.")
    return commit


def _branch(repository: GitRepository, head: str) -> str:
    """Name of the branch; for a detached head or a bare commit its id."""
    name = repository.read_line("rev-parse", "--abbrev-ref", head)
    if name and name != "HEAD":
        return name
    return repository.read_line("rev-parse", "--verify", "--quiet", head) or head


def repository_name(repository: GitRepository) -> str:
    url = repository.read_line("config", "--get", "remote.origin.url") or ""
    remote = REMOTE_PATTERN.fullmatch(url)
    if remote:
        return f"{remote['owner']}/{remote['name']}"
    folder = (repository.worktree or repository.common_dir).name.removesuffix(".git")
    return f"local/{'-'.join(folder.split()) or 'repository'}"


def _number(name: str, bits: int) -> int:
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogateescape")).digest()) >> (256 - bits)


MOST_CITED: Final = 50


def read_cited_files(repository: GitRepository, head: Sha, case: Case, changed: frozenset[str]) -> tuple[HeadFile, ...]:
    """Files at *head* that the case cites, without *changed*."""
    unchanged = (
        path
        for path in dict.fromkeys(cited_paths(case))
        if path not in changed and not any(other.endswith(f"/{path}") for other in changed)
    )
    paths = [*islice(unchanged, MOST_CITED)]
    entries = entries_at(repository, head, paths)
    missing = [path for path in paths if path not in entries]
    everything = paths_at(repository, head) if missing else ()
    absent = (HeadFile(path=path, exists=False) for path in find_absent(everything, missing))
    blobs = [(path, entry.name) for path, entry in entries.items() if entry.mode not in {FOLDER, SUBMODULE}]
    return (*texts_of(repository, blobs).files, *absent)


def config_at(repository: GitRepository, base: Sha) -> tuple[ConfigText, ...]:
    """The configuration file, if it exists; without text if it has none."""
    entries = entries_at(repository, base, CONFIG_PATHS)
    files = {path: entry for path, entry in entries.items() if entry.mode.startswith("100")}
    entry = files.get(CONFIG_PATH)
    if entry is None:
        return (ConfigText(origin=ConfigOrigin.REPOSITORY, text=None, is_misnamed=True),) if files else ()
    texts = texts_of(repository, [(CONFIG_PATH, entry.name)]).files
    return (ConfigText(origin=ConfigOrigin.REPOSITORY, text=texts[0].text if texts else None),)


MOST_FOLDERS: Final = 200


def guidance_at(repository: GitRepository, base: Sha, changed: Iterable[str]) -> tuple[Guidance, ...]:
    """Rules files that apply to *changed*, the root's first."""
    below = [f"{folder}{name}" for folder in folders_above(changed, MOST_FOLDERS) for name in FOLDER_NAMES]
    entries = entries_at(repository, base, [*ROOT_NAMES, *(f"{folder}/" for folder in RULE_FOLDERS), *below])
    inside = list[str]()
    for folder in RULE_FOLDERS:
        in_folder = sorted(
            path for path in entries if path.rpartition("/")[0] == folder and is_rules_name(folder, path)
        )
        inside += in_folder[:MOST_IN_A_FOLDER]
    paths = [*ROOT_NAMES, *inside, *below]
    in_order = ((path, entries[path]) for path in paths if path in entries)
    files = [(path, entry.name) for path, entry in in_order if entry.mode.startswith("100")]
    texts = {file.path: file.text for file in texts_of(repository, files).files}
    return unique_files(Guidance(path=path, text=texts.get(path) or "") for path, _ in files)
