"""Check evidence by code: pointers of a model and of code, and the claims of the author's case.

A pointer that passes carries its line as it is in the file; a problem is a sentence that the model can act on. A claim is about a place,
not about what the code does. `unsupported` means not found; `contradicted` needs certainty: a file that is known to be absent, or a
line past the end, in a documented form of a pointer. No claim rejects, and none clears anything.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from worker.domain.dossier import Criterion, Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import Case, CoverageClaim
from worker.domain.verdict.verdict import ClaimStatus, ClaimVerdict, EvidencePointer, Finding, Side
from worker.dossier.case import ClaimPointer, read_pointer
from worker.dossier.diff import ChangeKind, Diff, DiffError, FileDiff, base_text, diff_of, text_lines
from worker.signals.acceptance_gap.change_index import build_index, find_terms
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import SignalScope

_SHOWN_CHARACTERS: Final = 160
_MOST_RANGES: Final = 8
_MOST_LINES: Final = 400
_MOST_FILES: Final = 200


@dataclass(frozen=True)
class _Version:
    """One side of one file. `is_whole`: every line is known, not only those of the diff.

    `lines` is None for a link, a submodule and a binary file.
    """

    path: str
    side: Side
    lines: Mapping[int, str] | None
    is_whole: bool = True


class Places:
    """Every place of a dossier that evidence may point at."""

    def __init__(self, dossier: Dossier) -> None:
        """Raise DiffError for a diff that git did not print."""
        self._diff: Diff = diff_of(dossier.diff)
        self._texts = {file.path: file.text for file in dossier.files or () if file.text is not None}
        self._absent = frozenset(file.path for file in dossier.files or () if not file.exists)
        self._versions: dict[tuple[str, Side], _Version | None] = {}

    @cached_property
    def paths(self) -> frozenset[str]:
        """Every path that may be named, with the old names of renamed files."""
        old = (file.old_path for file in self._diff.files if file.old_path)
        return frozenset([*(file.path for file in self._diff.files), *old, *self._texts])

    def line(self, path: str, line: int, side: Side = Side.HEAD) -> str | None:
        """The line on that side; None where it does not exist or is unknown."""
        version = self._version(path, side)
        return version.lines.get(line) if version and version.lines is not None else None

    def check(self, pointer: EvidencePointer) -> EvidencePointer | str:
        """The pointer with its real line, or a sentence about what is wrong with it.

        A quote has to match the line; without one (our own code's pointers) any existing line passes.
        """
        located = self._locate(pointer)
        if isinstance(located, EvidencePointer):
            return located
        return f"{located} {other}" if (other := self._describe_location(pointer)) else located

    def _locate(self, pointer: EvidencePointer) -> EvidencePointer | str:
        if pointer.path not in self.paths:
            return self._unknown_path_message(pointer.path)
        version = self._version(pointer.path, pointer.side)
        if pointer.line is None:
            # a path alone points at the side that exists
            side = pointer.side if version else _other_side(pointer.side)
            return pointer.model_copy(update={"side": side, "quote": None})
        if version is None:
            is_head = pointer.side is Side.HEAD
            why = "at the head commit" if is_head else "at the base commit, or not changed"
            return f'`{pointer.path}` is not there {why}: a line of it needs side "{_other_side(pointer.side)}".'
        if version.lines is None:
            return f"`{pointer.path}` is a link, a submodule or a binary file: point at it by its path, without a line."
        last = pointer.end_line or pointer.line
        missing = next((number for number in (pointer.line, last) if number not in version.lines), None)
        if missing is not None:
            return _no_such_line(version, missing)
        return _check_quote(pointer, version, pointer.line)

    def _describe_location(self, pointer: EvidencePointer) -> str:
        """Where the quoted line does stand, in the named file first."""
        quote, near = _first_line(pointer.quote), pointer.line or 1
        if not _normalize(quote):
            return ""
        others = islice(sorted(self.paths - {pointer.path}), _MOST_FILES)
        for path in (pointer.path, *others):
            for side in (pointer.side, _other_side(pointer.side)):
                version = self._version(path, side)
                lines = (version.lines if version else None) or {}
                alike = (number for number, text in lines.items() if matches_quote(text, quote))
                nearest = min(alike, key=lambda number: abs(number - near), default=None)
                if nearest is not None:
                    return f"Line {nearest} of `{path}` (side {side}) reads `{_shorten(quote)}`."
        return f"No line that you were given reads `{_shorten(quote)}`."

    def relocate(self, pointer: EvidencePointer) -> EvidencePointer | None:
        """The pointer at the nearest line that now reads as quoted; None where there is none.

        The quote of a line with a secret is its redacted form.
        """
        if pointer.line is None or pointer.quote is None:
            is_known = pointer.path in self.paths and self._version(pointer.path, pointer.side) is not None
            return pointer if is_known and pointer.line is None else None
        version = self._version(pointer.path, pointer.side)
        lines = (version.lines if version else None) or {}
        alike = (at for at, text in lines.items() if text == pointer.quote or _is_redacted(text, pointer.quote))
        line = min(alike, key=lambda at: abs(at - (pointer.line or 0)), default=None)
        if line is None:
            return None
        end = None if pointer.end_line is None else pointer.end_line + line - pointer.line
        return pointer.model_copy(update={"line": line, "end_line": end})

    def _unknown_path_message(self, path: str) -> str:
        if path in self._absent:
            return f"`{path}` does not exist at the head commit: name another place, or none."
        name = path.rpartition("/")[2]
        alike = sorted(other for other in self.paths if other.rpartition("/")[2] == name)
        if not alike:
            import difflib  # noqa: PLC0415 - 1 ms that only a wrong pointer needs

            alike = difflib.get_close_matches(path, sorted(self.paths), n=1)
        hint = f" Did you mean `{alike[0]}`?" if alike else ""
        return f"`{path}` is neither changed by the diff nor among the files you were given.{hint}"

    def _version(self, path: str, side: Side) -> _Version | None:
        key = (path, side)
        if key not in self._versions:
            self._versions[key] = self._head_version(path) if side is Side.HEAD else self._base_version(path)
        return self._versions[key]

    def _head_version(self, path: str) -> _Version | None:
        here = [file for file in self._diff.files if file.path == path]
        file = next((file for file in reversed(here) if file.change is not ChangeKind.DELETED), None)
        text = self._texts.get(path)
        if file is not None and _is_opaque(file):
            return _Version(path, Side.HEAD, None)
        if text is not None and (file is not None or not here):
            return _Version(path, Side.HEAD, _number_lines(text))
        return None if file is None else _Version(path, Side.HEAD, _shown_lines(file, Side.HEAD), _is_whole(file))

    def _base_version(self, path: str) -> _Version | None:
        here = [file for file in self._diff.files if path in {file.path, file.old_path}]
        file = next((file for file in here if file.change is not ChangeKind.ADDED), None)
        if file is None:
            text = None if here else self._texts.get(path)
            return None if text is None else _Version(path, Side.BASE, _number_lines(text))
        if _is_opaque(file):
            return _Version(path, Side.BASE, None)
        head = self._texts.get(file.path)
        if head is not None and file.change is not ChangeKind.DELETED:
            with suppress(DiffError):  # a text that does not fit the diff: then the diff alone is believed
                return _Version(path, Side.BASE, _number_lines(base_text(head, file)))
        return _Version(path, Side.BASE, _shown_lines(file, Side.BASE), _is_whole(file))


def _is_opaque(file: FileDiff) -> bool:
    return file.is_binary or file.is_symlink or file.is_submodule


def _is_whole(file: FileDiff) -> bool:
    """A diff shows every line of what it adds or deletes."""
    return file.change in {ChangeKind.ADDED, ChangeKind.DELETED}


def _number_lines(text: str) -> dict[int, str]:
    return dict(enumerate(text_lines(text), start=1))


def _shown_lines(file: FileDiff, side: Side) -> dict[int, str]:
    numbered = ((line.head_line if side is Side.HEAD else line.base_line, line.text) for line in file.lines())
    return {number: text for number, text in numbered if number is not None}


def _no_such_line(version: _Version, line: int) -> str:
    lines = version.lines or {}
    if version.is_whole:
        return f"`{version.path}` has {len(lines)} lines at the {version.side} commit, line {line} does not exist."
    starts = sorted(number for number in lines if number - 1 not in lines)
    ends = sorted(number for number in lines if number + 1 not in lines)
    pairs = [f"{start}-{end}" for start, end in zip(starts, ends, strict=True)]
    shown = ", ".join([*pairs[:_MOST_RANGES], *(["..."] if len(pairs) > _MOST_RANGES else [])]) or "none"
    return (
        f"Line {line} of `{version.path}` is not in the diff, and the text of the file was not given: "
        f"known lines at the {version.side} commit are {shown}."
    )


def _check_quote(pointer: EvidencePointer, version: _Version, start: int) -> EvidencePointer | str:
    """Compare the quote with the line, or with as many lines as it has."""
    lines = version.lines or {}
    if pointer.quote is None:
        return pointer.model_copy(update={"quote": lines[start]})
    quote = pointer.quote.strip()
    if not quote:
        blank = "is blank and shows nothing: point at a line that does" if not lines[start].strip() else "is not quoted"
        return f"Line {start} of `{version.path}` {blank}."
    numbers = range(start, start + min(quote.count("\n") + 1, _MOST_LINES))
    if matches_quote("\n".join(lines.get(number, "") for number in numbers), quote):
        return pointer.model_copy(update={"quote": lines[start]})
    return f"Line {start} of `{version.path}` reads `{_shorten(lines[start])}`, not `{_shorten(_first_line(quote))}`."


def matches_quote(text: str, quote: str) -> bool:
    """Whether a quote is this text, apart from white space and a leading `+` or `-` of the diff.

    The beginning of a long line is enough, and hidden characters may be quoted as they were shown.
    """
    from worker.judge.llm.sanitize import NO_NEWLINE, escape_hidden  # noqa: PLC0415 - only what a model quotes was shown to one

    reals = (_normalize(text), _normalize(escape_hidden(text)))
    quote = quote.strip().removesuffix(NO_NEWLINE.strip()).strip()
    spellings = (_normalize(quote), _normalize(quote.removeprefix("+")), _normalize(quote.removeprefix("-")))
    return any(
        spelling == real or (len(spelling) >= LONG_QUOTE and real.startswith(spelling))
        for spelling in spellings
        for real in reals
    )


def _is_redacted(text: str, quote: str) -> bool:
    """Whether a quote is this line with marks in place of secrets. A line that is one mark held one word."""
    first, *others = _MARK.split(quote)
    if not others:
        return False
    *middle, last = others
    if not text.startswith(first) or not text.endswith(last):
        return False
    at = len(first)
    for piece in middle:
        index = text.find(piece, at + 1)
        if index < 0:
            return False
        at = index + len(piece)
    is_whole = not "".join((first, *middle, last)).strip()
    return at + len(last) < len(text) and (not is_whole or len(text.split()) == 1)


_MARK: Final = pattern(r"\[redacted: [a-z ]{1,40}\]")

LONG_QUOTE: Final = 30
"""Characters, without white space, that suffice as the quote of a longer line."""


def _other_side(side: Side) -> Side:
    return Side.BASE if side is Side.HEAD else Side.HEAD


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _normalize(text: str) -> str:
    return "".join(text.split())


def _shorten(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + " ..."


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
    files = _KnownFiles(dossier, diff, places)
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
    name, wanted, asked = (
        " ".join(text.casefold().split()) for text in (claim.criterion, criterion.id, criterion.text)
    )
    number = wanted.removeprefix("ac")
    by_number = rf"(?:(?:ac|criterion)[ #-]{{0,2}})?{number}|#{number}" if number.isdecimal() else re.escape(wanted)
    by_id = rf"{re.escape(wanted)}\b|(?:ac|criterion)[ #-]{{1,2}}{re.escape(number)}\b"
    return (
        re.fullmatch(by_number, name) is not None
        or re.match(by_id, name) is not None
        or _WORD_OR_NUMBER.findall(name) == _WORD_OR_NUMBER.findall(asked)
    )


class _KnownFiles:
    """The dossier's files: whole texts at the head, lines that the diff shows, and absent paths."""

    def __init__(self, dossier: Dossier, diff: Diff, places: Places) -> None:
        files = dossier.files or ()
        self.places = places
        self.texts = {file.path: file.text for file in files if file.text is not None}
        self.shown_lines = {file.path: file.head_side for file in diff.files if file.change is not ChangeKind.DELETED}
        self.absent_paths = frozenset(file.path for file in files if not file.exists)
        self.deleted_paths = frozenset(file.path for file in diff.files if file.change is ChangeKind.DELETED)

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
        status, note = ClaimStatus.CONTRADICTED, f"{pointer.path} does not exist at the head commit"
        if pointer.path in files.deleted_paths:
            note = f"{pointer.path} is deleted by this change"
        elif pointer.path not in files.absent_paths:
            status, note = ClaimStatus.UNSUPPORTED, f"{pointer.path} is neither changed nor known"
    else:
        status, note = _check_line_and_name(pointer, path, files)
    is_certain = status is not ClaimStatus.CONTRADICTED or pointer.is_exact
    return (status if is_certain else ClaimStatus.UNSUPPORTED), note


def _check_line_and_name(pointer: ClaimPointer, path: str, files: _KnownFiles) -> tuple[ClaimStatus, str]:
    last = pointer.end_line or pointer.line
    if last is not None and files.places.line(path, last) is None:
        if path in files.texts:
            return ClaimStatus.CONTRADICTED, f"{path} has {len(text_lines(files.texts[path]))} lines"
        return ClaimStatus.UNSUPPORTED, f"line {last} of {path} is not in the diff, and its whole text is not known"
    text = files.texts.get(path, files.shown_lines.get(path, ""))
    if pointer.name is not None and pointer.name not in text:
        names = _WORD.findall(pointer.name)
        if not names or not all(re.search(rf"\b{re.escape(word)}\b", text) for word in names):
            return ClaimStatus.UNSUPPORTED, f'"{pointer.name}" is not found in {path}'
    return ClaimStatus.VERIFIED, ""


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
