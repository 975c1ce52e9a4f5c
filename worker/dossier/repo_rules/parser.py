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
from worker.dossier.repo_rules.duties import dependencies_in, duties_in
from worker.dossier.repo_rules.files import folder_of
from worker.dossier.repo_rules.forbidding import Sentence, forbidden_in, is_path
from worker.dossier.repo_rules.front_matter import front_matter
from worker.dossier.repo_rules.phrases import plainly
from worker.dossier.repo_rules.rule import Origin, Rule, Scope
from worker.dossier.repo_rules.scope import LIST, Understood, besides, qualified, surrounding
from worker.dossier.repo_rules.statements import Statement, statements

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
_DOING: Final = (
    r"(?: (?:use|do|add|touch|edit|modify|change|call|import|commit|write|modify or delete|edit or delete))?"
)
_NEGATIVE_LEAD: Final = pattern(
    rf"(?:please )?(?:(?:(?:files|paths|folders|things|apis|functions|calls|code) )?(?:(?:you|agents|we) )?(?:do not|must not|may not|never|don'?ts?){_DOING}|(?:the following|these)?(?: [a-z]{{1,12}})?(?: (?:are|is))? ?"
    r"(?:strictly )?(?:forbidden|banned|prohibited|not allowed|disallowed|off[- ]limits|read[- ]only|hands off))"
    r"(?: (?:any of )?(?:the following|these|this|any of these))?(?: things| apis?| calls| functions| files| paths| folders| directories| imports| patterns| code)?[ :!*]*",
    re.IGNORECASE,
    needs=("not", "never", "don", "forbidden", "banned", "prohibited", "disallowed", "off", "read"),
)


def rules_of(guidance: Guidance) -> tuple[Rule, ...]:
    """What the file asks for that a program can check."""
    return _rules(guidance.path, guidance.text)


@lru_cache(maxsize=64)
def _rules(path: str, text: str) -> tuple[Rule, ...]:
    front, body = front_matter(text[:_LONGEST_FILE])
    start = Understood(Scope(root=folder_of(path), inside=front.globs), front.is_always)
    found = (rule for one in statements(body) for rule in _of_statement(path, one, start))
    return tuple(islice((_held(rule, front.globs) for rule in found), MOST_RULES))


def _held(rule: Rule, globs: tuple[str, ...]) -> Rule:
    """A rule of a file for some paths that names places of its own: both together are more than we understand."""
    return replace(rule, is_sure=False) if globs and rule.scope.inside != globs else rule


def _of_statement(path: str, statement: Statement, start: Understood) -> Iterator[Rule]:
    if len(statement.prose) > _LONGEST_STATEMENT:
        return
    pieces = list(_pieces(statement.prose))
    for piece in pieces:
        label, body = _labelled(piece.prose)
        others = (*(other.prose for other in pieces if other is not piece), *filter(None, (statement.below,)))
        around = _joined(start, surrounding(statement, label, start.scope))
        around = _joined(around, besides(" . ".join(others), around.scope))
        origin = Origin(path, statement.line_at(piece.offset), _shown(statement.written(piece.quoted)))
        sentence = Sentence(_negated(statement, label, body), statement.spans, origin, around, others)
        if "«" in sentence.prose or _ON_DEPENDENCIES.search(sentence.prose):  # nothing else names what to leave alone
            plain = _in_plain_words(sentence)
            yield from forbidden_in(plain)
            yield from dependencies_in(plain)
        yield from duties_in(sentence)


_ON_DEPENDENCIES: Final = pattern(r"dependenc|packages|libraries|crates", re.IGNORECASE)


def _in_plain_words(sentence: Sentence) -> Sentence:
    plain = plainly(sentence.prose)
    around = _joined(sentence.around, qualified(plain.where, sentence.spans, sentence.around.scope))
    return replace(sentence, prose=plain.prose, around=around)


class _Piece(Value):
    """A sentence, where it begins, and what stands there in the file."""

    offset: int
    prose: str
    quoted: str


def _pieces(prose: str) -> Iterator[_Piece]:
    """The sentences; a path or code alone before a dash or a colon is what the words behind it speak of."""
    subject: _Piece | None = None
    for offset, words in islice(_sentences(prose), _MOST_SENTENCES):
        piece = _Piece(offset, words, words)
        if subject is not None:
            link = "is out of reach," if _NEGATIVE.match(words) else "is"
            quoted = prose[subject.offset : offset + len(words)].strip()
            piece = _Piece(subject.offset, f"{subject.prose.rstrip(':')} {link} {words}", quoted)
        subject = piece if _ALONE.fullmatch(words) else None
        if subject is None:
            yield piece
    if subject is not None:
        yield subject


_ALONE: Final = pattern(rf"{LIST}:?")


def _joined(around: Understood, more: Understood) -> Understood:
    return Understood(more.scope, around.is_sure and more.is_sure)


def _sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Each sentence, and where it begins; a dash or a semicolon ends one, too."""
    start = 0
    for end in _END.finditer(prose):
        if _NOT_ENDS.search(prose[max(0, end.start() - 8) : end.end()]):
            continue
        yield from _piece(prose, start, end.start())
        start = end.end()
    yield from _piece(prose, start, len(prose))


def _piece(prose: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    words = prose[start:end].strip()
    if words:
        yield start, words


def _labelled(prose: str) -> tuple[str, str]:
    """`Imports: never use x` is a label and its sentence."""
    found = _LABEL.fullmatch(prose)
    return (found[1], found[2]) if found else ("", prose)


def _negated(statement: Statement, label: str, prose: str) -> str:
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
_FIRST: Final = pattern(rf"(?:the )?(?={LIST})«(\d+)»", re.IGNORECASE)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
