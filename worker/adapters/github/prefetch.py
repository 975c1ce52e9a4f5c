"""What is known of a pull request before it is read, so that it can be asked for at once: commits, branches, changed paths.

Does not ask. Invariant: a guess decides what is asked for, never what is believed: an answer for other commits than GitHub names
in the same answer is thrown away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from worker.adapters.github.configs import may_have_default
from worker.adapters.github.pull_request_query import PullQueryAnswers, PullQueryItems
from worker.adapters.github.responses import BlobResponse
from worker.adapters.github.texts import BATCH_SIZE, texts_to_read
from worker.domain.config.config_path import CONFIG_PATHS
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha, hash_base
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.dossier.diff.parser import parse_diff
from worker.dossier.repo_rules.files import FOLDER_NAMES, ROOT_NAMES, RULE_FOLDERS, folders_above

MOST_RULED_FOLDERS: Final = 20
"""Folders above changed files that are asked for rules files: they ride along in a request that is made anyway."""


class DossierMemory(Protocol):
    """What pull requests were judged from."""

    def __call__(self, pull: PullRef) -> Dossier | None: ...


@dataclass(frozen=True, slots=True)
class PrefetchGuess:
    """Where head and base are thought to be, and what is changed between them.

    `base_ref`: the base branch, whose newest commit says the rules; None: not known, and they are asked for at `base_sha`.
    """

    head_sha: Sha
    base_sha: Sha
    paths: tuple[str, ...]
    ruled_by: tuple[str, ...]
    base_ref: str | None = None

    def items(self, request: JudgeRequest) -> PullQueryItems:
        at = self.base_sha if self.base_ref is None else branch_ref(self.base_ref)
        rules = rules_items(at, self.ruled_by, (), request)
        texts = [f"{self.head_sha}:{path}" for path in self.paths]
        return replace(rules, expressions=[*rules.expressions, *texts])


@dataclass(frozen=True, slots=True)
class PrefetchedTexts:
    """What was answered to a guess that was right. `ruled_by` None: it was not."""

    texts: Mapping[str, BlobResponse] = field(default_factory=dict[str, BlobResponse])
    ruled_by: tuple[str, ...] | None = None
    answers: PullQueryAnswers | None = None


def prefetched(guess: PrefetchGuess, answered: PullQueryAnswers) -> PrefetchedTexts:
    """What is known once the guess is known to be right. A text that is not there is asked for again."""
    texts = zip(guess.paths, answered.blobs[len(guess.ruled_by) + len(CONFIG_PATHS) :], strict=True)
    return PrefetchedTexts({path: blob for path, blob in texts if blob is not None}, guess.ruled_by, answered)


def guess_from_diff(request: JudgeRequest, before: Dossier | None, diff: str) -> PrefetchGuess | None:
    """The diff was read, and is of the head that the request names, else of the one that was judged before."""
    head_sha, base_sha = guess_head(request, before), guess_base(request, before)
    if head_sha is None or base_sha is None:
        return None
    changed = parse_diff(diff.encode())
    rules = rules_files_for([file.path for file in changed.files])
    base_ref = guess_base_ref(request, before)
    return PrefetchGuess(head_sha, base_sha, texts_to_read(changed).paths[:BATCH_SIZE], rules, base_ref=base_ref)


def guess_head(request: JudgeRequest, before: Dossier | None) -> Sha | None:
    return request.head_sha or (before.pull_request.head_sha if before else None)


def guess_base(request: JudgeRequest, before: Dossier | None) -> Sha | None:
    return request.base_sha or (before.pull_request.base_sha if before else None)


def guess_base_ref(request: JudgeRequest, before: Dossier | None) -> str | None:
    """The base branch as it was recorded, unless a delivery told of a base, and not that this is it."""
    name = before.pull_request.base_ref if before else ""
    is_told = request.base is not None or request.base_sha is not None
    return name if name and (not is_told or request.base == hash_base(name)) else None


def branch_ref(base_ref: str) -> str:
    """The newest commit of a branch: what GitHub calls the base of a pull request stays behind when the branch moves on."""
    return f"refs/heads/{base_ref}"


def rules_items(at: str, ruled_by: Sequence[str], issues: Sequence[int], request: JudgeRequest) -> PullQueryItems:
    """The rules files, the configuration, and issues. *at*: a commit, or a branch."""
    rules = [f"{at}:{path}" for path in (*ruled_by, *CONFIG_PATHS)]
    return PullQueryItems(
        rules, issues, [f"{at}:{folder}" for folder in RULE_FOLDERS], may_have_default(request.repository)
    )


def rules_files_for(changed: Sequence[str]) -> tuple[str, ...]:
    """The rules files that may rule these, but for those in folders of their own."""
    above = folders_above(changed, MOST_RULED_FOLDERS)
    return (*ROOT_NAMES, *(f"{folder}{name}" for folder in above for name in FOLDER_NAMES))
