"""From a rules file to its rules.

Does not look at any change. Invariant: the order of the file, each rule with the line of its sentence, and at most
MOST_RULES of them.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from worker.domain.dossier.dossier import Guidance
from worker.domain.pattern import pattern
from worker.domain.value import Value, replace
from worker.dossier.repo_rules.duties import find_dependency_bans, find_duties
from worker.dossier.repo_rules.files import folder_of
from worker.dossier.repo_rules.front_matter import split_front_matter
from worker.dossier.repo_rules.phrases import to_imperative
from worker.dossier.repo_rules.prohibitions import RuleSentence, find_prohibitions, is_path
from worker.dossier.repo_rules.rule import RepoRule, RuleOrigin, RuleScope
from worker.dossier.repo_rules.scope import SPAN_LIST, ScopeReading, read_exceptions, read_qualifiers, read_surroundings
from worker.dossier.repo_rules.statements import Statement, parse_statements

MOST_RULES: Final = 300
_LONGEST_STATEMENT: Final = 3_000
_MOST_SENTENCES: Final = 30
_LONGEST_FILE: Final = 500_000
_SHOWN: Final = 160

_END: Final = pattern(
    r"[.!?;](?=\s|$)\s*|(?<!\s)\s++(?:—|–|--|-|\|)\s+|(?<=[^\s:]):\s+(?=(?:do not|don't|never|no|must not)\b)",
    re.IGNORECASE,
)
_LABEL: Final = pattern(r"([^:«»]{1,60}):\s+(.*)", re.DOTALL)
_NOT_ENDS: Final = pattern(r"\b(?:e\.g|i\.e|etc|vs|cf)\.\s*$", re.IGNORECASE)
_VERBS: Final = (
    r"(?: (?:use|do|add|touch|edit|modify|change|call|import|commit|write|modify or delete|edit or delete))?"
)
_NEGATIVE_LEAD: Final = pattern(
    rf"(?:please )?(?:(?:(?:files|paths|folders|things|apis|functions|calls|code) )?(?:(?:you|agents|we) )?(?:do not|must not|may not|never|don'?ts?){_VERBS}|(?:the following|these)?(?: [a-z]{{1,12}})?(?: (?:are|is))? ?"
    r"(?:strictly )?(?:forbidden|banned|prohibited|not allowed|disallowed|off[- ]limits|read[- ]only|hands off))"
    r"(?: (?:any of )?(?:the following|these|this|any of these))?(?: things| apis?| calls| functions| files| paths| folders| directories| imports| patterns| code)?[ :!*]*",
    re.IGNORECASE,
    needs=("not", "never", "don", "forbidden", "banned", "prohibited", "disallowed", "off", "read"),
)


def parse_guidance(guidance: Guidance) -> tuple[RepoRule, ...]:
    """What the file asks for that a program can check."""
    return _rules(guidance.path, guidance.text)


@lru_cache(maxsize=64)
def _rules(path: str, text: str) -> tuple[RepoRule, ...]:
    front, body = split_front_matter(text[:_LONGEST_FILE])
    start = ScopeReading(RuleScope(root=folder_of(path), inside=front.globs), front.is_always)
    rules = (rule for statement in parse_statements(body) for rule in _parse_statement(path, statement, start))
    return tuple(islice((_limit_to_globs(rule, front.globs) for rule in rules), MOST_RULES))


def _limit_to_globs(rule: RepoRule, globs: tuple[str, ...]) -> RepoRule:
    """A rule of a file for some paths that names places of its own: both together are more than we understand."""
    return replace(rule, is_sure=False) if globs and rule.scope.inside != globs else rule


def _parse_statement(path: str, statement: Statement, start: ScopeReading) -> Iterator[RepoRule]:
    if len(statement.prose) > _LONGEST_STATEMENT:
        return
    pieces = list(_split_pieces(statement.prose))
    for piece in pieces:
        label, body = _split_label(piece.prose)
        others = (*(other.prose for other in pieces if other is not piece), *filter(None, (statement.following_text,)))
        around = _merge_surroundings(start, read_surroundings(statement, label, start.scope))
        around = _merge_surroundings(around, read_exceptions(" . ".join(others), around.scope))
        origin = RuleOrigin(path, statement.line_at(piece.offset), _shorten(statement.restore_spans(piece.quoted)))
        sentence = RuleSentence(_negate_item(statement, label, body), statement.spans, origin, around, others)
        if "«" in sentence.prose or _ON_DEPENDENCIES.search(sentence.prose):  # nothing else names what to leave alone
            plain = _to_plain_words(sentence)
            yield from find_prohibitions(plain)
            yield from find_dependency_bans(plain)
        yield from find_duties(sentence)


_ON_DEPENDENCIES: Final = pattern(r"dependenc|packages|libraries|crates", re.IGNORECASE)


def _to_plain_words(sentence: RuleSentence) -> RuleSentence:
    plain = to_imperative(sentence.prose)
    around = _merge_surroundings(
        sentence.surroundings, read_qualifiers(plain.scope_text, sentence.spans, sentence.surroundings.scope)
    )
    return replace(sentence, prose=plain.prose, surroundings=around)


class _Piece(Value):
    """A sentence, where it begins, and what stands there in the file."""

    offset: int
    prose: str
    quoted: str


def _split_pieces(prose: str) -> Iterator[_Piece]:
    """The sentences; a path or code alone before a dash or a colon is what the words behind it speak of."""
    subject: _Piece | None = None
    for offset, part in islice(_split_sentences(prose), _MOST_SENTENCES):
        piece = _Piece(offset, part, part)
        if subject is not None:
            link = "is out of reach," if _NEGATIVE.match(part) else "is"
            quoted = prose[subject.offset : offset + len(part)].strip()
            piece = _Piece(subject.offset, f"{subject.prose.rstrip(':')} {link} {part}", quoted)
        subject = piece if _CODE_ALONE.fullmatch(part) else None
        if subject is None:
            yield piece
    if subject is not None:
        yield subject


_CODE_ALONE: Final = pattern(rf"{SPAN_LIST}:?")


def _merge_surroundings(around: ScopeReading, more: ScopeReading) -> ScopeReading:
    return ScopeReading(more.scope, around.is_sure and more.is_sure)


def _split_sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Each sentence, and where it begins; a dash or a semicolon ends one, too."""
    start = 0
    for end in _END.finditer(prose):
        if _NOT_ENDS.search(prose[max(0, end.start() - 8) : end.end()]):
            continue
        yield from _piece(prose, start, end.start())
        start = end.end()
    yield from _piece(prose, start, len(prose))


def _piece(prose: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    part = prose[start:end].strip()
    if part:
        yield start, part


def _split_label(prose: str) -> tuple[str, str]:
    """`Imports: never use x` is a label and its sentence."""
    match = _LABEL.fullmatch(prose)
    return (match[1], match[2]) if match else ("", prose)


def _negate_item(statement: Statement, label: str, prose: str) -> str:
    """A bare item of a list that is led in by "never:" or stands under "Do not" is forbidden."""
    lead = statement.lead or (statement.headings[-1] if statement.headings else "")
    is_led = _NEGATIVE_LEAD.fullmatch(label) or _NEGATIVE_LEAD.fullmatch(lead)
    if not is_led or _NEGATIVE.match(prose):
        return prose
    first = _FIRST.match(prose)
    if first is None:
        return f"do not {prose}"
    return f"do not touch {prose}" if is_path(statement.spans[int(first[1])]) else f"do not use {prose}"


_NEGATIVE: Final = pattern(r"(?:do not|don't|never|no|must|nobody)\b", re.IGNORECASE)
_FIRST: Final = pattern(rf"(?:the )?(?={SPAN_LIST})«(\d+)»", re.IGNORECASE)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
