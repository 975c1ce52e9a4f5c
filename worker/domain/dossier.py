"""The dossier: everything the judge may see, and nothing else.

A field that was left out means "unknown, derive it"; `null` or `[]` means "known to be none": see `model_fields_set`.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator

from worker.domain.judge_request import AuthorKind
from worker.domain.model import Frozen, RepositoryName, Sha
from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import AuthorText, Case, LedgerEntry
from worker.domain.verdict.verdict import AbstainReason, Category, Score

Path = Annotated[str, StringConstraints(min_length=1)]


class Commit(Frozen):
    sha: Sha
    message: str = ""
    author: str = ""


class PullRequest(Frozen):
    repository: RepositoryName
    number: Annotated[int, Field(ge=0)]
    title: str
    body: str
    author: str
    author_agent: str | None = None
    base_ref: str = ""
    base_sha: Sha
    merge_base_sha: Sha | None = None
    head_ref: str = ""
    head_sha: Sha
    pushed_at: datetime | None = None
    """When this head was first seen; None: not known."""
    draft: bool = False
    is_from_fork: bool | None = None
    """Whether its branch is in another repository, so that its author needs no write access to this one; None: not known."""
    labels: tuple[str, ...] = ()
    commits: tuple[Commit, ...] = ()


LINKED_IN_SIDEBAR: Final = "linked on GitHub"
"""`linked_by` of an issue that is linked in GitHub's sidebar, and not in the text."""


class LateEdit(Frozen):
    """An edit of an issue by the pull request's author, or by a bot. `used`: the text before is not shown, so this one counts."""

    by: str
    at: datetime
    used: bool = False


class Issue(Frozen):
    """A linked issue. `linked_by`: the words that link it. `title` and `body`: the versions that count (`select_judged_text`)."""

    repository: RepositoryName | None = None
    number: Annotated[int, Field(ge=0)]
    title: str
    body: str
    url: str | None = None
    author: str | None = None
    author_association: str | None = None
    edited_by: str | None = None
    edited_at: str | None = None
    linked_by: str | None = None
    late_edits: tuple[LateEdit, ...] = ()
    """Edits of the body since the pull request was opened, by its author or a bot, the newest first."""
    late_renames: tuple[LateEdit, ...] = ()
    """The same of the title."""


DESCRIPTION: Final = "description"
"""The id of the only criterion of a change without an issue: it does what its description claims."""


class Criterion(Frozen):
    """What the issue asks for. `inferred`: prose taken as one criterion, not an item of a list."""

    id: Annotated[str, StringConstraints(min_length=1)]
    text: Annotated[str, StringConstraints(min_length=1)]
    source: str | None = None
    inferred: bool = False


class HeadFile(Frozen):
    """A file at the head commit: its text, or the knowledge that it is not there."""

    path: Path
    text: str | None = None
    exists: bool = True

    @model_validator(mode="after")
    def _text_stands_in_a_file_that_exists(self) -> "HeadFile":
        if self.exists != (self.text is not None):
            msg = 'a file has a text, or "exists": false'
            raise ValueError(msg)
        return self


class UnreadReason(StrEnum):
    TOO_LARGE = "too_large"
    BINARY = "binary"
    NOT_UTF8 = "not_utf8"
    GENERATED = "generated"
    NEVER_SEND = "never_send"
    OVER_LIMIT = "over_limit"


class UnreadFile(Frozen):
    path: Path
    reason: UnreadReason


class CiState(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    PENDING = "pending"
    MISSING = "missing"


FAILED_CONCLUSIONS: Final = frozenset(
    {"failure", "timed_out", "startup_failure", "action_required", "cancelled", "error"}
)
"""GitHub's words for a check that did not pass."""

AWAITING_APPROVAL: Final = "awaiting_approval"
"""The status of a workflow that runs only once a maintainer approves it, as for a fork's first pull request."""

NOT_REPORTED: Final = "expected"
"""The status of a required check that has not reported on this head yet, and may never start."""


class CiCheck(Frozen):
    """One CI check's report on this head. `conclusion` is GitHub's word, None while it runs."""

    name: str
    app: str | None = None
    status: str = "completed"
    conclusion: str | None
    required: bool | None = None
    attempt: int = 1
    summary: str = ""
    log_tail: str = ""


class Ci(Frozen):
    """`silenced`: the words of the head commit's message by which its author kept CI from running."""

    state: CiState | None = None
    checks: tuple[CiCheck, ...] = ()
    silenced: str | None = None


class Guidance(Frozen):
    """A rules file (AGENTS.md and the like) at the base commit."""

    path: Path
    text: str


Glob = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^!\s]")]
"""As in a .gitignore, without its negations; matched by `worker.domain.dossier`."""


class Policy(Frozen):
    """The repository's configuration at the base commit."""

    mode: Literal["block", "observe"] = "block"
    categories: dict[Category, Literal["block", "observe"]] = Field(
        default_factory=dict[Category, Literal["block", "observe"]]
    )
    """Categories whose rejects only observe (or block, where `mode` observes)."""
    abstains: dict[AbstainReason, Literal["block", "neutral"]] = Field(
        default_factory=dict[AbstainReason, Literal["block", "neutral"]]
    )
    """What each reason for not judging concludes, where that is not the default of docs/verdict.md."""
    require_issue: bool = False
    """Whether a pull request without a linked issue is `no_criteria`."""
    accept_alone: bool = True
    """Whether code may accept a change of documentation without a model."""
    signals: dict[str, Literal["off", "suspicion"]] = Field(default_factory=dict)
    """Heuristic signals switched off, or demoted from fact to suspicion."""
    never_send: Annotated[tuple[Glob, ...], Field(max_length=200)] = ()
    """Files whose text no model is sent: they count as unread."""
    model: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """The model that shall judge here, if the operator allows it."""


class ConfigOrigin(StrEnum):
    """Whose `.github/assay.yml` it is."""

    REPOSITORY = "repository"
    ORGANISATION = "organisation"


class ConfigText(Frozen):
    """A `.github/assay.yml` at the base: the repository's own, or its owner's default. It decides by `policy` alone."""

    origin: ConfigOrigin
    text: str | None
    """None: it is there, and is no text or too long."""
    last_good: str | None = None
    """The last version without a mistake, where this one has a mistake."""
    is_misnamed: bool = False
    """Its name is `.github/assay.yaml`, which is not read, and there is no `.github/assay.yml`."""


MOST_PATHS: Final = 10


@dataclass(frozen=True)
class Definition:
    """A new function to look up. `callers`: a regular expression for the paths of files that could call it.

    `is_private`: it is a fact unless a caller is found.
    """

    name: str
    callers: str
    is_private: bool

    def can_be_called_in(self, path: str) -> bool:
        return pattern(self.callers).search(path) is not None


@dataclass(frozen=True)
class LookupRequest:
    """What to look up: functions, and the named paths of files."""

    definitions: tuple[Definition, ...] = ()
    paths: tuple[str, ...] = ()


class NameLookup(Frozen):
    """A name, and the first files of the head tree that could call it, hold it as a word, and have no text in the dossier."""

    name: Annotated[str, Field(min_length=1)]
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class LookupResult:
    """The result. A name that could not be looked up is left out; `absent_paths`: paths without a file."""

    names: tuple[NameLookup, ...] = ()
    absent_paths: tuple[str, ...] = ()


def build_lookup(definition: Definition, paths: Iterable[str], dossier_paths: Collection[str]) -> NameLookup:
    """Reduce the *paths* that hold the name to those that could call it. *dossier_paths*: files whose text the dossier holds."""
    callers = dict.fromkeys(path for path in paths if path not in dossier_paths and definition.can_be_called_in(path))
    return NameLookup(name=definition.name, paths=tuple(callers)[:MOST_PATHS])


def find_absent(tree: Collection[str], paths: Iterable[str]) -> tuple[str, ...]:
    """Those of *paths* that are no file of the *tree*, nor the end of one, nor a folder."""
    return tuple(path for path in paths if not any(stands_at(existing, path) for existing in tree))


def stands_at(existing: str, path: str) -> bool:
    """Whether a file has this path, or ends in it, or is below it, in any case of letters.

    Underscores in pairs do not count: Markdown takes `__init__.py` for an emphasis.
    """
    folded, wanted = (name.casefold().replace("__", "") for name in (existing, path))
    return folded == wanted or folded.endswith(f"/{wanted}") or folded.startswith(f"{wanted}/")


class Seed(Frozen):
    """The first judged head, for calibration."""

    head_sha: Sha
    diff: str
    scores: tuple[Score, ...] = ()


class Dossier(Frozen):
    dossier_version: Literal[1] = 1
    pull_request: PullRequest
    issues: tuple[Issue, ...] = ()
    criteria: tuple[Criterion, ...] | None = None
    case: Case | None = None
    case_error: str | None = None
    diff: str
    files: tuple[HeadFile, ...] | None = None
    files_unread: tuple[UnreadFile, ...] = ()
    reverts: Sha | None = None
    """The commit of the base's history whose exact inverse the change is. None: none was found, or it was not searched."""
    lookups: tuple[NameLookup, ...] = ()
    """Names that were looked up in the head tree; others were not."""
    ci: Ci | None = None
    guidance: tuple[Guidance, ...] = ()
    policy: Policy | None = None
    config: tuple[ConfigText, ...] = ()
    is_required: bool | None = None
    """Whether merges into the base branch wait for this check; None: not known. It decides nothing about the change."""
    observed_as: AuthorKind | None = None
    """The kind of author whose pull requests are only observed here, where that is why this one is."""
    contest: str | None = None
    seed: Seed | None = None
    ledger: tuple[LedgerEntry, ...] = ()

    @property
    def has_criteria(self) -> bool:
        """Whether there are criteria of an issue or a list; else only facts, rules and the description's own claims count."""
        return any(criterion.id != DESCRIPTION for criterion in self.criteria or ())

    @property
    def known_paths(self) -> frozenset[str]:
        """The files whose text the dossier holds."""
        return frozenset(file.path for file in self.files or () if file.text is not None)


def read_dossier(raw: bytes) -> Dossier:
    """Parse a recorded dossier. Raises DossierError naming the first field that is wrong, by its path."""
    try:
        return Dossier.model_validate_json(raw)
    except ValidationError as error:
        raise DossierError(error) from error


class DossierError(ValueError):
    """An invalid recorded dossier; the message names the field."""

    def __init__(self, error: ValidationError) -> None:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole file"
        reason = "unknown field" if first["type"] == "extra_forbidden" else first["msg"]
        super().__init__(f"Dossier refused at {field}: {reason}. The format: docs/dossier.md.")


def author_text(dossier: Dossier) -> AuthorText:
    """The author's text of a completed dossier: the case, the issues that it links, and itself where it is the criterion.

    An issue's own text is no part of it, nor is a link in GitHub's sidebar.
    """
    own = next((criterion.text for criterion in dossier.criteria or () if criterion.id == DESCRIPTION), None)
    linked = (issue for issue in dossier.issues if issue.linked_by != LINKED_IN_SIDEBAR)
    return AuthorText(
        case=dossier.case,
        is_readable=dossier.case_error is None,
        description=None if own is None else hashlib.sha256(own.encode()).hexdigest(),
        links=tuple(sorted({f"{issue.repository or ''}#{issue.number}".casefold() for issue in linked})),
    )


_ANY_DEPTH = "**"


def is_withheld(path: str, globs: Sequence[str]) -> bool:
    """Whether one of the globs of `never_send` matches the path, or a folder that it is in.

    They are written as in a .gitignore, without its negations, in any case of letters: a name without a slash at any depth, one
    with a slash from the root, `**` for any number of folders; what matches a folder withholds everything in it. Linear in the path.
    """
    segments = path.casefold().split("/")
    return any(_matches(_parts(glob), segments) for glob in globs)


def _parts(glob: str) -> tuple[str, ...]:
    written = glob.casefold().removeprefix("./")
    inner = written.rstrip("/")
    parts = tuple(part for part in inner.split("/") if part)
    return parts if "/" in inner else (_ANY_DEPTH, *parts)


def _matches(parts: tuple[str, ...], segments: Sequence[str]) -> bool:
    """Follow all ways to match in one pass: *at* are the indexes of the parts that could be next."""
    at = _skip_any_depth(parts, {0})
    for segment in segments:
        if len(parts) in at:
            return True
        here = {index for index in at if parts[index] == _ANY_DEPTH}
        over = {index + 1 for index in at if parts[index] != _ANY_DEPTH and fnmatchcase(segment, parts[index])}
        at = _skip_any_depth(parts, here | over)
    return len(parts) in at


def _skip_any_depth(parts: tuple[str, ...], at: set[int]) -> set[int]:
    """Add the parts behind each `**`, which may match no folder."""
    reached = set(at)
    for index in sorted(at):
        following = index
        while following < len(parts) and parts[following] == _ANY_DEPTH:
            following += 1
            reached.add(following)
    return reached
