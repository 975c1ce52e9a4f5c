"""From a rules file to its rules, in the order of the file, each with the line of its sentence; at most MOST_RULES."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Final

from worker.domain.dossier import Guidance
from worker.domain.pattern import pattern
from worker.dossier.repo_rules.duties import find_dependency_bans, find_duties
from worker.dossier.repo_rules.files import folder_of
from worker.dossier.repo_rules.phrases import to_imperative
from worker.dossier.repo_rules.prohibitions import RuleSentence, find_prohibitions, is_path
from worker.dossier.repo_rules.scope import (
    SPAN_LIST,
    RepoRule,
    RuleOrigin,
    RuleScope,
    ScopeReading,
    read_exceptions,
    read_qualifiers,
    read_surroundings,
)
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
    """The rules of the file that a program can check."""
    return _parse_rules(guidance.path, guidance.text)


@lru_cache(maxsize=64)
def _parse_rules(path: str, text: str) -> tuple[RepoRule, ...]:
    front, body = split_front_matter(text[:_LONGEST_FILE])
    start = ScopeReading(RuleScope(root=folder_of(path), inside=front.globs), front.is_always)
    parsed = (rule for statement in parse_statements(body) for rule in _parse_statement(path, statement, start))
    rules = tuple(islice(parsed, MOST_RULES))
    if not front.globs:
        return rules
    # a rule with places of its own in a file for some paths: both together are more than we understand
    return tuple(rule if rule.scope.inside == front.globs else replace(rule, is_sure=False) for rule in rules)


def _parse_statement(path: str, statement: Statement, start: ScopeReading) -> Iterator[RepoRule]:
    if len(statement.prose) > _LONGEST_STATEMENT:
        return
    pieces = list(_split_pieces(statement.prose))
    for piece in pieces:
        labelled = _LABEL.fullmatch(piece.prose)  # `Imports: never use x` is a label and its sentence
        label, body = (labelled[1], labelled[2]) if labelled else ("", piece.prose)
        others = (*(other.prose for other in pieces if other is not piece), *filter(None, (statement.following_text,)))
        around = _merge_readings(start, read_surroundings(statement, label, start.scope))
        around = _merge_readings(around, read_exceptions(" . ".join(others), around.scope))
        quoted = statement.restore_spans(piece.quoted)
        shown = quoted if len(quoted) <= _SHOWN else f"{quoted[:_SHOWN]} ..."
        origin = RuleOrigin(path, statement.line_at(piece.offset), shown)
        sentence = RuleSentence(_negate_item(statement, label, body), statement.spans, origin, around, others)
        if "«" in sentence.prose or _ON_DEPENDENCIES.search(sentence.prose):  # nothing else names what to leave alone
            plain = to_imperative(sentence.prose)
            around = _merge_readings(around, read_qualifiers(plain.scope_text, sentence.spans, around.scope))
            banning = replace(sentence, prose=plain.prose, surroundings=around)
            yield from find_prohibitions(banning)
            yield from find_dependency_bans(banning)
        yield from find_duties(sentence)


_ON_DEPENDENCIES: Final = pattern(r"dependenc|packages|libraries|crates", re.IGNORECASE)


@dataclass(frozen=True)
class _Piece:
    """A sentence, where it begins, and its text in the file."""

    offset: int
    prose: str
    quoted: str


def _split_pieces(prose: str) -> Iterator[_Piece]:
    """The sentences; a path or code alone before a dash or a colon is the subject of the words behind it."""
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


def _merge_readings(around: ScopeReading, more: ScopeReading) -> ScopeReading:
    return ScopeReading(more.scope, around.is_sure and more.is_sure)


def _split_sentences(prose: str) -> Iterator[tuple[int, str]]:
    """Each sentence, and where it begins; a dash or a semicolon ends one, too."""
    stops = [
        end.span() for end in _END.finditer(prose) if not _NOT_ENDS.search(prose[max(0, end.start() - 8) : end.end()])
    ]
    start = 0
    for end, following in (*stops, (len(prose), 0)):
        if part := prose[start:end].strip():
            yield start, part
        start = following


def _negate_item(statement: Statement, label: str, prose: str) -> str:
    """Forbid a bare item of a list that is led in by "never:" or is under "Do not"."""
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


_MOST_LINES: Final = 60
_MOST_GLOBS: Final = 40
_DASHES: Final = "---"
_LINE: Final = pattern(r"([A-Za-z]{1,40}):\s*(.{0,2000})")
_ITEM: Final = pattern(r"\s{0,8}-\s+(.{1,500})")
_KEYS: Final = frozenset({"globs", "applyTo", "paths"})
_EVERYTHING: Final = frozenset({"*", "**", "**/*"})
_OUTSIDE_BRACES: Final = pattern(r",(?![^{}]{0,300}\})")
_BRACES: Final = pattern(r"\{([^{}]{1,300})\}")


@dataclass(frozen=True)
class FrontMatter:
    """The paths that the file is for (none: all), and whether tools always read it there."""

    globs: tuple[str, ...] = ()
    is_always: bool = True


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """The lines between dashes on top, where tools read the paths that the file is for; empty lines take their place in the text.

    A key has one value, or a list below it. A file that tools read only when they think it fits is not always read.
    """
    lines = text.split("\n", _MOST_LINES)
    if lines[0].rstrip() != _DASHES:
        return FrontMatter(), text
    last = next((at for at, line in enumerate(lines[1:_MOST_LINES], 1) if line.rstrip() == _DASHES), None)
    if last is None:
        return FrontMatter(), text
    values = _values(lines[1:last])
    globs = tuple(glob for key in _KEYS & values.keys() for glob in _globs(values[key]))[:_MOST_GLOBS]
    body = "\n" * (last + 1) + "\n".join(lines[last + 1 :])
    always = "".join(values.get("alwaysApply", [])).strip().casefold()
    if always == "true" or not _EVERYTHING.isdisjoint(globs):
        return FrontMatter(), body
    return FrontMatter(globs, is_always=bool(globs) or always != "false"), body


def _values(lines: list[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    key = ""
    for line in lines:
        if named := _LINE.fullmatch(line.rstrip()):
            key = named[1]
            values[key] = [named[2]]
        elif (item := _ITEM.fullmatch(line.rstrip())) and key:
            values[key].append(item[1])
    return values


def _globs(values: list[str]) -> Iterator[str]:
    for value in values:
        for item in _OUTSIDE_BRACES.split(value.strip().strip("[]")):
            glob = item.strip().strip("\"'").strip()
            yield from _expand_braces(glob) if glob else ()


def _expand_braces(glob: str) -> Iterator[str]:
    """`*.{ts,tsx}` as two globs."""
    braces = _BRACES.search(glob)
    if braces is None:
        yield glob
        return
    for option in braces[1].split(","):
        yield f"{glob[: braces.start()]}{option.strip()}{glob[braces.end() :]}"
