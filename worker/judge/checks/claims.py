"""Check the case's claims against the dossier by code, before a model reads them, and help the author to draft them.

A claim is about a place, not about what the code does. `unsupported` means not found; `contradicted` needs certainty: a file that is
known to be absent, or a line past the end, in a documented form of a pointer. No claim rejects, and none clears anything.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from worker.domain.dossier import Criterion, Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, Finding
from worker.dossier.claim_pointer import ClaimPointer, read_pointer
from worker.dossier.diff.parser import ChangeKind, Diff, diff_of, text_lines
from worker.judge.checks.evidence import Places
from worker.signals.acceptance_gap.change_index import build_index, find_terms
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.registry import SIGNALS
from worker.signals.signal import SignalScope

_WORD: Final = pattern(r"[^\W\d]\w*")
_WORD_OR_NUMBER: Final = pattern(r"\w+")


def check_claims(
    dossier: Dossier, diff: Diff, places: Places, findings: Sequence[Finding] = ()
) -> tuple[ClaimVerdict, ...]:
    """One verdict per claim, then one `omitted` for each criterion without a claim.

    A place where *findings* show no change for the criterion supports no claim.
    """
    if dossier.case is None:
        return ()
    criteria = dossier.criteria or ()
    files = _KnownFiles.from_dossier(dossier, diff, places)
    idle = frozenset(finding.note.partition(": ")[0] for finding in findings if finding.signal == SHOWS_NOTHING)
    made = [_check_claim(claim, criteria, files, idle) for claim in dossier.case.ac_coverage]
    claimed = claimed_ids(dossier.case, criteria)
    omitted = [
        ClaimVerdict(claim=criterion.id, status=ClaimStatus.OMITTED, note="the case says nothing about this criterion")
        for criterion in criteria
        if criterion.id not in claimed
    ]
    return (*made, *omitted)


def claimed_ids(case: Case | None, criteria: tuple[Criterion, ...]) -> frozenset[str]:
    """Ids of the criteria that the case claims to meet."""
    claims = case.ac_coverage if case else ()
    return frozenset(
        criterion.id for criterion in criteria if any(names_criterion(claim, criterion) for claim in claims)
    )


def names_criterion(claim: CoverageClaim, criterion: Criterion) -> bool:
    """Whether *claim* is about *criterion*, which agents name by its id (`AC1`, `AC-1`, `criterion 1`, `1`) or its text."""
    name, wanted = _normalize(claim.criterion), _normalize(criterion.id)
    number = wanted.removeprefix("ac")
    by_number = rf"(?:(?:ac|criterion)[ #-]{{0,2}})?{number}|#{number}" if number.isdecimal() else re.escape(wanted)
    by_id = rf"{re.escape(wanted)}\b|(?:ac|criterion)[ #-]{{1,2}}{re.escape(number)}\b"
    return (
        re.fullmatch(by_number, name) is not None
        or re.match(by_id, name) is not None
        or _WORD_OR_NUMBER.findall(name) == _WORD_OR_NUMBER.findall(_normalize(criterion.text))
    )


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())


@dataclass(frozen=True)
class _KnownFiles:
    """The dossier's files: whole texts at the head, lines that the diff shows, and absent paths."""

    texts: dict[str, str]
    shown_lines: dict[str, str]
    absent_paths: frozenset[str]
    deleted_paths: frozenset[str]
    places: Places

    @classmethod
    def from_dossier(cls, dossier: Dossier, diff: Diff, places: Places) -> "_KnownFiles":
        files = dossier.files or ()
        return cls(
            texts={file.path: file.text for file in files if file.text is not None},
            shown_lines={file.path: file.head_side for file in diff.files if file.change is not ChangeKind.DELETED},
            absent_paths=frozenset(file.path for file in files if not file.exists),
            deleted_paths=frozenset(file.path for file in diff.files if file.change is ChangeKind.DELETED),
            places=places,
        )

    def find(self, path: str) -> str | None:
        """The path that *path* names: itself, or the only one that ends in it."""
        paths = {**self.texts, **self.shown_lines}
        if path in paths:
            return path
        alike = [other for other in paths if other.endswith(f"/{path}")]
        return alike[0] if len(alike) == 1 else None


def _check_claim(
    claim: CoverageClaim, criteria: tuple[Criterion, ...], files: _KnownFiles, idle: frozenset[str]
) -> ClaimVerdict:
    """The worst of the claimed place and the place given as evidence; prose is no place."""
    text = f"{claim.criterion} -> {claim.addressed_by}"
    asked = [criterion.id for criterion in criteria if names_criterion(claim, criterion)]
    if not asked:
        return ClaimVerdict(claim=text, status=ClaimStatus.UNSUPPORTED, note="there is no such criterion")
    results = [_check_place(claim.addressed_by, files)]
    pointer = read_pointer(claim.evidence or "")
    if pointer is not None and pointer.is_exact:
        results.append(_check_place(claim.evidence or "", files))
    status, note = min(results, key=lambda result: _WORST_FIRST.index(result[0]))
    if status is ClaimStatus.VERIFIED and not idle.isdisjoint(asked):
        status, note = ClaimStatus.UNSUPPORTED, "nothing of it is changed there"
    return ClaimVerdict(claim=text, status=status, note=note)


SHOWS_NOTHING: Final = "claim_shows_nothing"
"""The signal of a claim about a place without a change for its criterion."""


_WORST_FIRST: Final = (ClaimStatus.CONTRADICTED, ClaimStatus.UNSUPPORTED, ClaimStatus.VERIFIED)


def _check_place(text: str, files: _KnownFiles) -> tuple[ClaimStatus, str]:
    pointer = read_pointer(text)
    if pointer is None:
        return ClaimStatus.UNSUPPORTED, f'"{text}" names no file'
    path = files.find(pointer.path)
    if path is None:
        problems = [_check_unknown_path(pointer.path, files)]
    else:
        problems = [*_line_problems(pointer, path, files), *_name_problems(pointer, path, files)]
    status, note = next(iter(problems), (ClaimStatus.VERIFIED, ""))
    is_certain = status is not ClaimStatus.CONTRADICTED or pointer.is_exact
    return (status if is_certain else ClaimStatus.UNSUPPORTED), note


def _check_unknown_path(path: str, files: _KnownFiles) -> tuple[ClaimStatus, str]:
    if path in files.deleted_paths:
        return ClaimStatus.CONTRADICTED, f"{path} is deleted by this change"
    if path in files.absent_paths:
        return ClaimStatus.CONTRADICTED, f"{path} does not exist at the head commit"
    return ClaimStatus.UNSUPPORTED, f"{path} is neither changed nor known"


def _line_problems(pointer: ClaimPointer, path: str, files: _KnownFiles) -> Iterator[tuple[ClaimStatus, str]]:
    last = pointer.end_line or pointer.line
    if last is None or files.places.line(path, last) is not None:
        return
    if path in files.texts:
        yield ClaimStatus.CONTRADICTED, f"{path} has {len(text_lines(files.texts[path]))} lines"
    else:
        yield ClaimStatus.UNSUPPORTED, f"line {last} of {path} is not in the diff, and its whole text is not known"


def _name_problems(pointer: ClaimPointer, path: str, files: _KnownFiles) -> Iterator[tuple[ClaimStatus, str]]:
    if pointer.name is None:
        return
    text = files.texts.get(path, files.shown_lines.get(path, ""))
    names = _WORD.findall(pointer.name)
    if pointer.name in text or (names and all(re.search(rf"\b{re.escape(word)}\b", text) for word in names)):
        return
    yield ClaimStatus.UNSUPPORTED, f'"{pointer.name}" is not found in {path}'


CONFIRMATION_MARK: Final = "to be confirmed"
"""A draft's mark behind each place, which its author removes."""


@dataclass(frozen=True)
class DraftClaim:
    """Added lines, as `path:line`, that mention a criterion: of code or documentation, and of tests."""

    criterion: Criterion
    places: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True)
class CheckedCase:
    """Each claim as it was checked, criteria that no claim names among them, and the findings of signals about the case.

    `unread`: fields that are not read. `has_criteria`: whether the criteria are known.
    """

    case: Case
    claims: tuple[ClaimVerdict, ...]
    findings: tuple[Finding, ...]
    unread: tuple[str, ...]
    has_criteria: bool

    @property
    def unconfirmed_count(self) -> int:
        """How many texts still have the mark."""
        texts = [self.case.summary, *(f"{claim.addressed_by} {claim.evidence}" for claim in self.case.ac_coverage)]
        return sum(CONFIRMATION_MARK in text for text in texts)

    @property
    def problem_count(self) -> int:
        """How many claims are not verified, criteria not named and texts not confirmed."""
        return self.unconfirmed_count + sum(claim.status is not ClaimStatus.VERIFIED for claim in self.claims)


def draft_claims(dossier: Dossier) -> tuple[DraftClaim, ...]:
    """One claim for each listed criterion, with the added lines that share its words: the author confirms each place.

    A criterion that asks for a test is met by one. Raises DiffError for a diff that git did not print.
    """
    change = CodeChange(dossier)
    index = build_index(change)
    terms_by_id = {terms.criterion.id: terms for terms in find_terms(change)}
    drafts: list[DraftClaim] = []
    for criterion in dossier.criteria or ():
        if criterion.inferred:
            continue
        terms = terms_by_id.get(criterion.id)
        pointers = index.find_evidence(terms) if terms else ()
        tests = tuple(pointer.location for pointer in pointers if role_of(pointer.path) is FileRole.TEST)
        places = tuple(pointer.location for pointer in pointers if role_of(pointer.path) is not FileRole.TEST)
        is_test = not places or (tests and terms and terms.is_about_tests)
        drafts.append(DraftClaim(criterion, tests, ()) if is_test else DraftClaim(criterion, places, tests))
    return tuple(drafts)


def check_case(dossier: Dossier, case: Case, unread: tuple[str, ...] = ()) -> CheckedCase:
    """Check *case* against the change of *dossier*. Raises DiffError for a diff that git did not print."""
    asked = tuple(criterion for criterion in dossier.criteria or () if not criterion.inferred)
    names = dict.fromkeys(claim.criterion for claim in case.ac_coverage)
    criteria = asked or tuple(Criterion(id=name, text=name) for name in names)  # to look the places up all the same
    whole = dossier.model_copy(update={"case": case, "criteria": criteria})
    change = CodeChange(whole)
    findings = (
        finding for signal in SIGNALS if signal.scope is SignalScope.CASE for finding in signal.findings(change)
    )
    return CheckedCase(
        case=case,
        claims=check_claims(whole, diff_of(whole.diff), Places(whole)),
        findings=tuple(findings),
        unread=unread,
        has_criteria=bool(asked),
    )
