"""Code's suspicions as numbered questions, and which of them an accept leaves open.

An answer needs a place that can settle the question: another line than the suspected one, about the same thing, of the kind that
the signal needs. An import settles none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, EvidencePointer, Finding, HeuristicOpinion, ModelOpinion, Side
from worker.judge.context import EvidenceBundle
from worker.signals.acceptance_gap.criteria_not_met import is_settled_by
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.file_roles import FileRole, role_of
from worker.signals.analysis.proofs import is_check_name
from worker.signals.analysis.relatedness import NAME_PATTERN, common_stems, find_request_words, stems_of_all
from worker.signals.analysis.tests import Test, find_tests
from worker.signals.heuristic_opinion import SIGNALS
from worker.signals.signal import SettlingLine

MOST_QUESTIONS: Final = 40
"""The most questions about one change."""

JUDGE_ADDRESSING_SIGNAL: Final = "verdict_planted"
"""The signal of text that addresses the judge: it changes no decision."""

NEARBY_LINES: Final = 3
"""Lines around a place that words about it may refer to."""

_CRITERION_PREFIX: Final = pattern(r"([^\s:]{1,100}): ")


_SETTLED_BY: Final[Mapping[str, SettlingLine]] = {signal.name: signal.settled_by for signal in SIGNALS}
_WORDS_IN_COMMON: Final[Mapping[SettlingLine, int]] = {SettlingLine.ASKED: 1, SettlingLine.TIED: 2}
"""Words of the request that the line needs: three of ten files of another task have a line with one by chance."""


@dataclass(frozen=True)
class Suspicion:
    """`criterion`: the id of the one that the change seems to fall short of."""

    id: str
    finding: Finding
    criterion: str | None = None

    @property
    def settling_line(self) -> SettlingLine:
        """The kind of line that settles it, by its signal."""
        if self.criterion is not None:
            return SettlingLine.FOUND
        return _SETTLED_BY.get(self.finding.signal, SettlingLine.ANY)


def suspicions_of(opinion: HeuristicOpinion) -> tuple[Suspicion, ...]:
    """Every finding that is no fact, and every doubt.

    A criterion whose words are not found is no suspicion alone: so is one met criterion in four.
    """
    findings = chain((finding for finding in opinion.findings if not finding.fact), opinion.doubts)
    suspicions: list[Suspicion] = []
    for number, finding in enumerate(islice(findings, MOST_QUESTIONS), 1):
        named = _CRITERION_PREFIX.match(finding.note) if finding.category is Category.ACCEPTANCE_GAP else None
        suspicions.append(Suspicion(f"q{number}", finding, named[1] if named else None))
    return tuple(suspicions)


def find_unanswered(opinion: ModelOpinion, bundle: EvidenceBundle) -> tuple[Suspicion, ...]:
    """The suspicions that no answer settles."""
    change = CodeChange(bundle.dossier)
    places = {answer.id: answer.evidence for answer in opinion.settled if answer.why}
    return tuple(
        suspicion
        for suspicion in suspicions_of(bundle.opinion)
        if suspicion.finding.signal != JUDGE_ADDRESSING_SIGNAL
        and not any(_is_settled_by(pointer, suspicion, change, bundle) for pointer in places.get(suspicion.id, ()))
    )


def _is_settled_by(pointer: EvidencePointer, suspicion: Suspicion, change: CodeChange, bundle: EvidenceBundle) -> bool:
    """Whether a line can settle a suspicion."""
    finding, settling = suspicion.finding, suspicion.settling_line
    if pointer.line is None or (pointer.path, pointer.line, pointer.side) == (finding.path, finding.line, finding.side):
        return False
    line = bundle.places.line(pointer.path, pointer.line, pointer.side) or ""
    if suspicion.criterion is not None:
        return is_settled_by(change, suspicion.criterion, pointer.path, pointer.line, line)
    files = [file for file in bundle.diff.files if file.path == pointer.path]
    changed = {(line.head_line, Side.HEAD) for file in files for line in file.added_lines}
    changed |= {(line.base_line, Side.BASE) for file in files for line in file.removed_lines}
    is_changed = (pointer.line, pointer.side) in changed
    if settling in _WORDS_IN_COMMON:
        shared = stems_in((line,)) & find_request_words(change.dossier).stems
        return pointer.path == finding.path and is_changed and len(shared) >= _WORDS_IN_COMMON[settling]
    if not _is_settling_line(line, pointer, suspicion, change, is_changed=is_changed):
        return False
    if finding.line is None:
        return finding.path in {pointer.path, None}
    suspected = lines_near(finding.path or "", finding.line, finding, bundle)
    return not stems_in((line,)).isdisjoint(stems_in((finding.note, *suspected)))


_IMPORT: Final = pattern(
    r"\s*(?:from\s+\S+\s+import\b|import\b(?!\s*[(.])|(?:pub(?:\([^)]{0,50}\))?\s+)?use\s|#\s*include\b|using\s+(?![(])|package\s"
    r"|(?:require|require_relative|load)\s+['\"]|(?:const|let|var)\s[^=]{1,200}=\s*require\s*\(|export\s[^=(]{1,200}\sfrom\s)"
)
_CHECK: Final = pattern(
    r"\b(?:assert|expect|should|raises?|throws?|panic|unreachable)\b|\bt\.(?:Error|Fatal)f?\b|\.should\b|\bexpected\s*="
)
_REPORT: Final = pattern(
    r"\b(?:raise|throw|panic|abort|exit|warn|warning|error|errors|fail|fatal|log|logger|logging|console|print\w*|eprintln|report\w*"
    r"|reject|return)\b",
    re.IGNORECASE,
)
_CALLED_NAME: Final = pattern(r"([^\W\d]\w{0,100})!?\s*(?:<[^<>()]{0,100}>)?\(")
_QUOTED_NAME: Final = pattern(r"`(?:--)?([\w$-]{1,100})`")


def _is_settling_line(
    line: str, pointer: EvidencePointer, suspicion: Suspicion, change: CodeChange, *, is_changed: bool
) -> bool:
    """Whether the line is of the kind that settles a suspicion."""
    finding, is_import = suspicion.finding, _IMPORT.match(line) is not None
    match suspicion.settling_line:
        case SettlingLine.USE:
            may_use = not is_import or (finding.signal == "import_unused" and pointer.path != finding.path)
            return may_use and any(_uses(name, line) for name in _QUOTED_NAME.findall(finding.note))
        case _ if is_import:
            return False
        case SettlingLine.CHECK | SettlingLine.OWN_CHECK as kind:
            is_elsewhere = kind is SettlingLine.OWN_CHECK and _is_of_another_test(pointer, finding, change)
            return pointer.side is Side.HEAD and _is_check(line) and not is_elsewhere
        case SettlingLine.CHANGE:
            # in a test a new line can take the place of what went, for a weaker assertion another assertion
            is_check = finding.signal not in _WEAKENED_SIGNALS or _is_check(line)
            is_code = role_of(pointer.path) is not FileRole.TEST
            return is_changed and (is_code or (pointer.side is Side.HEAD and is_check))
        case SettlingLine.REPORT:
            return _REPORT.search(line) is not None
        case _:
            return True


def _is_check(line: str) -> bool:
    return _CHECK.search(line) is not None or any(map(is_check_name, _CALLED_NAME.findall(line)))


def _uses(name: str, line: str) -> bool:
    """Whether a line uses a name without defining it."""
    word = rf"(?<![\w$-]){re.escape(name)}(?![\w$-])"
    defines = (
        rf"\b(?:def|class|func|fn|fun|function|struct|enum|trait|interface|type|void)\s+(?:\([^)]{{0,200}}\)\s*)?{word}"
    )
    return re.search(word, line) is not None and re.search(defines, line) is None


_WEAKENED_SIGNALS: Final = frozenset({"assertion_dropped", "assertion_loosened", "assertion_widened"})


def _is_of_another_test(pointer: EvidencePointer, finding: Finding, change: CodeChange) -> bool:
    """Whether a place lies in a test that does not contain the finding."""
    sources = (source for file in change.files if file.path == pointer.path for source in file.sources)
    tests = [test for source in sources for test in find_tests(source) if _contains_line(test, pointer.line)]
    is_shared = pointer.path == finding.path and any(_contains_line(test, finding.line) for test in tests)
    return bool(tests) and not is_shared


def _contains_line(test: Test, line: int | None) -> bool:
    return line is not None and test.first_line <= line <= test.last_line


def lines_near(path: str, line: int, source: EvidencePointer | Finding, bundle: EvidenceBundle) -> Iterator[str]:
    """The known lines at a place and beside it; *source* gives its end and side."""
    for number in range(max(1, line - NEARBY_LINES), (source.end_line or line) + NEARBY_LINES + 1):
        if (text := bundle.places.line(path, number, source.side)) is not None:
            yield text


def stems_in(lines: Iterable[str]) -> frozenset[str]:
    """The stems of all names in these texts, without common ones."""
    return stems_of_all({name for line in lines for name in NAME_PATTERN.findall(line)}) - common_stems()
