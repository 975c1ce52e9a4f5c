"""A pull request on GitHub as a raw dossier, in three requests and one more for each further hundred files or checks.

In two, where head and base are known from the request or from the last verdict. Does not derive anything (`worker.dossier.assemble` does) and knows neither policy nor
ledger. Invariant: diff, texts and checks of one dossier belong to one head; if the head moves while they are read, they are read
again, or whoever asks for the newest head before he tells a verdict (`was_just_told` says when he must) finds out.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final
from urllib.parse import urlsplit

from worker.adapters.github.ci_checks import Around, Ourselves, around, ci_from, reports_of
from worker.adapters.github.client import DIFF, Access, Api, Call
from worker.adapters.github.configs import config_texts
from worker.adapters.github.errors import TooLargeToShow
from worker.adapters.github.issues import issues, listed_issues, login
from worker.adapters.github.known import (
    Guess,
    Have,
    Memory,
    base_of,
    by_diff,
    had,
    head_of,
    rules_asked,
    rules_files_for,
    tip_of,
)
from worker.adapters.github.logs import JobLogs, with_logs
from worker.adapters.github.lookups import looked_up_at
from worker.adapters.github.patches import PatchedDiff, joined
from worker.adapters.github.pull_request_query import Answered, Asked, PullGraph, Seen
from worker.adapters.github.responses import (
    Blob,
    ChangedFiles,
    Folder,
    GraphContext,
    GraphIssue,
    GraphPull,
    Nodes,
    PullCommit,
    PullState,
)
from worker.adapters.github.roles import role_in
from worker.adapters.github.texts import BATCH, MOST_CHARACTERS, SMALL_BATCH, Shelf, batches, wanted
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.command_permissions import Role, roles_from
from worker.domain.config.config_place import CONFIG_PLACES
from worker.domain.dossier.dossier import Ci, Commit, ConfigText, Dossier, Guidance, PullRequest
from worker.domain.dossier.lookups import LookedUp, Sought
from worker.domain.ids import Sha
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.value import Value
from worker.dossier.diff.parser import DiffError, parse_diff
from worker.dossier.issue_links import IssueLink, closing_links
from worker.dossier.repo_rules.files import AT_THE_ROOT, FOLDERS, MOST_IN_A_FOLDER, are_rules, distinct
from worker.errors import Gone, RateLimited, Unavailable

READINGS: Final = 3
"""How often a pull request is read from the start because its head moved meanwhile."""

FILES_PER_PAGE: Final = 100
MOST_LISTED: Final = 3000
MOST_NAMED_ISSUES: Final = 5
JUST_S: Final = 2.0
"""As fresh as an answer that one more request would bring: how long one may take, and what follows it."""


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
    """The PullSource of the live App, and of `assay judge OWNER/REPO#N` with a token. *memory*: what was judged before."""

    def __init__(self, access: Access, looking: Looking, memory: Memory | None = None) -> None:
        self._access = access
        self._looking = looking
        self._memory = memory
        self._told: Told | None = None

    def dossier(self, request: JudgeRequest) -> Dossier:
        self._told = None
        before = self._memory(request.pull) if self._memory else None
        reading = PullReading(self._access.api(request.pull.installation_id), request, self._looking, before)
        for _ in range(READINGS):
            if dossier := reading.dossier():
                self._told = Told(request.pull, dossier.pull_request.head_sha, reading.told_at)
                return dossier
        raise Unavailable("the pull request", "it is pushed to faster than it can be read")

    def head_sha(self, request: JudgeRequest) -> Sha:
        api = self._access.api(request.pull.installation_id)
        head = PullGraph(api, request.repository, request.pull.number).head()
        still_open(head, self._looking)
        return head.head_ref_oid

    def look_up(self, request: JudgeRequest, dossier: Dossier, sought: Sought) -> LookedUp:
        return looked_up_at(self._access.api(request.pull.installation_id), request, dossier, sought)

    def may_write(self, request: JudgeRequest, login: str) -> bool:
        """Whether an account may write in the pull request's repository."""
        role = role_in(self._access.api(request.pull.installation_id), request.repository, login)
        return role in roles_from(Role.WRITE)

    def was_just_told(self, request: JudgeRequest, head_sha: Sha) -> bool:
        """Whether GitHub said a moment ago that this is the newest head of an open pull request.

        And whether nothing was read since that could be another head's.
        """
        told = self._told
        if told is None or (told.pull, told.head_sha) != (request.pull, head_sha):
            return False
        return time.monotonic() - told.at <= JUST_S


@dataclass(frozen=True, slots=True)
class Told:
    """What GitHub said is the newest head. `at`: when it was asked."""

    pull: PullRef
    head_sha: Sha
    at: float


def still_open(head: PullState, looking: Looking) -> None:
    if looking.open_only and head.state != "OPEN":
        raise Gone(head.state.lower())


@dataclass(frozen=True, slots=True)
class Opening:
    """A pull request, and what was read together with it. `diff` None: it is still to be read."""

    pull: GraphPull
    diff: PatchedDiff | None = None
    have: Have = field(default_factory=Have)


class PullReading:
    """One pull request while it is read. *before*: what was read of it the last time. `told_at`: when its head was asked for last."""

    def __init__(self, api: Api, request: JudgeRequest, looking: Looking, before: Dossier | None = None) -> None:
        self._api = api
        self._path = f"/repos/{request.repository}/pulls/{request.pull.number}"
        self._graph = PullGraph(api, request.repository, request.pull.number)
        self._request = request
        self._looking = looking
        self._before = before
        self._is_guessing = True
        self._is_too_large = False
        self.told_at = -inf

    def dossier(self) -> Dossier | None:
        """Read everything once; None when the head moved meanwhile."""
        opening = self._opening()
        pull = opening.pull
        still_open(pull, self._looking)
        contexts = self._contexts(pull)
        if contexts is None:
            return None
        diff = opening.diff or self._diff(pull)
        links = closing_links(pull.body, self._request.repository, self._looking.host)
        rest = self._rest(pull, diff, links, opening.have)
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
            is_required=CHECK_NAME in around(pull).required,
        )

    def _opening(self) -> Opening:
        """Guess once where head and base are: then the request after the diff brings the rest, if that is so."""
        is_guessing, self._is_guessing = self._is_guessing, False
        request, before = self._request, self._before
        is_known = head_of(request, before) is not None and base_of(request, before) is not None
        return self._diff_first() if is_guessing and is_known else self._plainly()

    def _plainly(self) -> Opening:
        self._asks_for_the_head()
        return Opening(self._graph.pull())

    def _diff_first(self) -> Opening:
        """The diff is the newest head's: that it is the one that the request names is said by what is asked afterwards."""
        try:
            diff = self._shown_diff()
            guess = by_diff(self._request, self._before, diff)
        except TooLargeToShow:
            self._is_too_large = True
            return self._plainly()
        except DiffError:
            return self._plainly()
        seen = self._guessed(guess) if guess else None
        if guess is None or seen is None or not _is_at(seen.pull, guess):
            return Opening(seen.pull) if seen else self._plainly()
        return Opening(seen.pull, PatchedDiff(diff, ()), had(guess, seen.answered))

    def _guessed(self, guess: Guess) -> Seen | None:
        """None: it was too much to be answered at once."""
        self._asks_for_the_head()
        try:
            return self._graph.pull_with(guess.asked(self._request))
        except RateLimited:
            raise
        except Unavailable:
            if len(guess.paths) <= SMALL_BATCH:
                raise
            return None

    def _asks_for_the_head(self) -> None:
        self.told_at = time.monotonic()

    def _contexts(self, pull: GraphPull) -> list[GraphContext] | None:
        """All pages of what others say of its head; None when that moved."""
        found, rollup = list[GraphContext](), pull.status_check_rollup
        while rollup is not None:
            page = rollup.contexts.page_info
            found += rollup.contexts.seen
            if not page.has_next_page or not page.end_cursor:
                break
            self._asks_for_the_head()
            more = self._graph.contexts_after(page.end_cursor)
            still_open(more, self._looking)
            if more.head_ref_oid != pull.head_ref_oid:
                return None
            rollup = more.status_check_rollup
        return found

    def _ci(self, pull: GraphPull, contexts: Sequence[GraphContext], config: Sequence[ConfigText]) -> Ci:
        known = chosen(around(pull), config)
        reports = reports_of(contexts, Ourselves(self._looking.app_id), known)
        return ci_from(with_logs(reports, JobLogs(self._api, self._request.repository)), known)

    def _diff(self, pull: GraphPull) -> PatchedDiff:
        try:
            return self._patches(pull.changed_files) if self._is_too_large else PatchedDiff(self._shown_diff(), ())
        except TooLargeToShow:
            return self._patches(pull.changed_files)

    def _shown_diff(self) -> str:
        return self._api.get_bytes(self._path, DIFF).decode("utf-8", "replace")

    def _patches(self, total: int) -> PatchedDiff:
        pages = range(1, -(-min(total, MOST_LISTED) // FILES_PER_PAGE) + 1)
        calls = (
            Call("GET", f"{self._path}/files", {"per_page": FILES_PER_PAGE, "page": page}, is_repeatable=True)
            for page in pages
        )
        files = [file for call in calls for file in self._api.fetch(call, ChangedFiles).root]
        return joined(files, total)

    def _rest(self, pull: GraphPull, diff: PatchedDiff, links: Sequence[IssueLink], have: Have) -> "Rest | None":
        """Texts, guidance and the issues that only the body names; None when the head moved."""
        missing = {file.path for file in diff.unread}
        changed = parse_diff(diff.diff.encode())
        files = wanted(changed)
        paths = [path for path in files.paths if path not in missing]
        rest = Rest(
            Shelf([*files.unread], self._looking.most_characters),
            rules_files_for([file.path for file in changed.files]),
            have.texts,
        )
        first = self._beside(pull, rest, self._named_only(pull, links), have)
        for at, batch in enumerate(batches(paths, BATCH) or [[]]):
            if rest.shelf.is_full:
                rest.shelf.leave(batch)
            elif not self._read(pull, batch, first if at == 0 else Asked(), rest):
                return None
        return rest

    def _beside(self, pull: GraphPull, rest: "Rest", named: list[int], have: Have) -> Asked:
        """What else the first request has to bring: nothing, if it was answered already."""
        if have.answered is None or have.ruled_by != rest.ruled_by or named:
            return rules_asked(tip_of(pull.base_ref_name), rest.ruled_by, named, self._request)
        rest.take(have.answered)
        return Asked()

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
        lacking = [path for path in paths if path not in rest.texts]
        if not lacking and not beside.expressions:
            rest.shelf.put(paths, [rest.texts[path] for path in paths])
            return True
        files = [f"{self._texts_at(pull)}:{path}" for path in lacking]
        self._asks_for_the_head()
        found = self._graph.ask(replace(beside, expressions=[*beside.expressions, *files]))
        still_open(found.head, self._looking)
        if found.head.head_ref_oid != pull.head_ref_oid:
            return False
        blobs = found.blobs[len(beside.expressions) :]
        if blobs and not any((*blobs, *rest.texts.values())):
            raise Unavailable("the head commit", "GitHub can't read it yet")
        read = {**rest.texts, **dict(zip(lacking, blobs, strict=True))}
        rest.shelf.put(paths, [read[path] for path in paths])
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
    from worker.dossier.config_file import configured  # noqa: PLC0415 - YAML, for those who have a configuration

    said = configured(config).config
    required = tuple(name for name in (*known.required, *said.ci_expect) if name not in said.ci_ignore)
    return Around(required, frozenset(said.ci_ignore), known.held, known.silencing)


def _is_at(pull: GraphPull, guess: Guess) -> bool:
    is_there = (pull.head_ref_oid, pull.base_ref_oid) == (guess.head_sha, guess.base_sha)
    return is_there and guess.base_ref in (None, pull.base_ref_name)


@dataclass(slots=True)
class Rest:
    """What the second kind of question brings."""

    shelf: Shelf
    ruled_by: tuple[str, ...]
    texts: Mapping[str, Blob] = field(default_factory=dict[str, Blob])
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
        own, misnamed = found.blobs[len(self.ruled_by) :][: len(CONFIG_PLACES)]
        self.config = config_texts(own, found.owners_default, misnamed)


def rules_in(name: str, folder: Folder | None) -> list[tuple[str, str | None]]:
    """The rules files of a folder that is kept for them."""
    entries = sorted((folder.entries or () if folder else ()), key=lambda entry: entry.name)
    files = [(entry.name, entry.object.text) for entry in entries if entry.object and are_rules(name, entry.name)]
    return [(f"{name}/{file}", text) for file, text in files[:MOST_IN_A_FOLDER]]


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
        is_from_fork=pull.is_cross_repository,
        labels=tuple(label.name for label in pull.labels.seen) if pull.labels else (),
        commits=tuple(commits(pull.commits)),
    )


def commits(written: Nodes[PullCommit]) -> Iterator[Commit]:
    for commit in (node.commit for node in written.seen):
        author = commit.author
        name = (author.user.login if author.user else author.name) if author else None
        yield Commit(sha=commit.oid, message=commit.message, author=name or "")
