"""What is known of a pull request before it is read, so that it can be asked for at once: commits, branches, changed paths.

Does not ask. Invariant: a guess decides what is asked for, never what is believed: an answer for other commits than GitHub names
in the same answer is thrown away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from worker.adapters.github.configs import has_default
from worker.adapters.github.pull_request_query import Answered, Asked
from worker.adapters.github.responses import Blob
from worker.adapters.github.texts import BATCH, wanted
from worker.domain.config.config_place import CONFIG_PLACES
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha, base_mark
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.dossier.diff.parser import parse_diff
from worker.dossier.repo_rules.files import AT_THE_ROOT, FOLDERS, NAMES, folders_above

MOST_RULED_FOLDERS: Final = 20
"""Folders above changed files that are asked for rules files: they ride along in a request that is made anyway."""


class Memory(Protocol):
    """What pull requests were judged from."""

    def __call__(self, pull: PullRef) -> Dossier | None: ...


@dataclass(frozen=True, slots=True)
class Guess:
    """Where head and base are thought to be, and what is changed between them.

    `base_ref`: the base branch, whose newest commit says the rules; None: not known, and they are asked for at `base_sha`.
    """

    head_sha: Sha
    base_sha: Sha
    paths: tuple[str, ...]
    ruled_by: tuple[str, ...]
    base_ref: str | None = None

    def asked(self, request: JudgeRequest) -> Asked:
        at = self.base_sha if self.base_ref is None else tip_of(self.base_ref)
        rules = rules_asked(at, self.ruled_by, (), request)
        texts = [f"{self.head_sha}:{path}" for path in self.paths]
        return replace(rules, expressions=[*rules.expressions, *texts])


@dataclass(frozen=True, slots=True)
class Have:
    """What was answered to a guess that was right. `ruled_by` None: it was not."""

    texts: Mapping[str, Blob] = field(default_factory=dict[str, Blob])
    ruled_by: tuple[str, ...] | None = None
    answered: Answered | None = None


def had(guess: Guess, answered: Answered) -> Have:
    """What is known once the guess is known to be right. A text that is not there is asked for again."""
    texts = zip(guess.paths, answered.blobs[len(guess.ruled_by) + len(CONFIG_PLACES) :], strict=True)
    return Have({path: blob for path, blob in texts if blob is not None}, guess.ruled_by, answered)


def by_diff(request: JudgeRequest, before: Dossier | None, diff: str) -> Guess | None:
    """The diff was read, and is of the head that the request names, else of the one that was judged before."""
    head_sha, base_sha = head_of(request, before), base_of(request, before)
    if head_sha is None or base_sha is None:
        return None
    changed = parse_diff(diff.encode())
    rules = rules_files_for([file.path for file in changed.files])
    base_ref = base_ref_of(request, before)
    return Guess(head_sha, base_sha, wanted(changed).paths[:BATCH], rules, base_ref=base_ref)


def head_of(request: JudgeRequest, before: Dossier | None) -> Sha | None:
    return request.head_sha or (before.pull_request.head_sha if before else None)


def base_of(request: JudgeRequest, before: Dossier | None) -> Sha | None:
    return request.base_sha or (before.pull_request.base_sha if before else None)


def base_ref_of(request: JudgeRequest, before: Dossier | None) -> str | None:
    """The base branch as it was recorded, unless a delivery told of a base, and not that this is it."""
    name = before.pull_request.base_ref if before else ""
    is_told = request.base is not None or request.base_sha is not None
    return name if name and (not is_told or request.base == base_mark(name)) else None


def tip_of(base_ref: str) -> str:
    """The newest commit of a branch: what GitHub calls the base of a pull request stays behind when the branch moves on."""
    return f"refs/heads/{base_ref}"


def rules_asked(at: str, ruled_by: Sequence[str], issues: Sequence[int], request: JudgeRequest) -> Asked:
    """The rules files, the configuration, and issues. *at*: a commit, or a branch."""
    rules = [f"{at}:{path}" for path in (*ruled_by, *CONFIG_PLACES)]
    return Asked(rules, issues, [f"{at}:{folder}" for folder in FOLDERS], has_default(request.repository))


def rules_files_for(changed: Sequence[str]) -> tuple[str, ...]:
    """The rules files that may rule these, but for those in folders of their own."""
    above = folders_above(changed, MOST_RULED_FOLDERS)
    return (*AT_THE_ROOT, *(f"{folder}{name}" for folder in above for name in NAMES))
