"""From a rules file to its rules.

Does not look at any change. Invariant: the order of the file, each rule with the line of its sentence, and at most
MOST_RULES of them.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from worker.domain.dossier import Guidance
from worker.domain.pattern import pattern
from worker.domain.rules.duties import duties_in
from worker.domain.rules.forbidding import Sentence, forbidden_in
from worker.domain.rules.rule import Origin, Rule
from worker.domain.rules.scoping import Understood, besides, surrounding
from worker.domain.rules.statements import Statement, statements

MOST_RULES: Final = 300
_LONGEST_STATEMENT: Final = 3_000
_MOST_SENTENCES: Final = 30
_LONGEST_FILE: Final = 500_000
_SHOWN: Final = 160

_END: Final = pattern(
    r"[.!?;](?=\s|$)\s*|\s+(?:—|–|--|-)\s+|(?<=[^\s:]):\s+(?=(?:do not|don't|never|no|must not)\b)", re.IGNORECASE
)
_LABEL: Final = pattern(r"([^:«»]{1,60}):\s+(.*)", re.DOTALL)
_NOT_ENDS: Final = pattern(r"\b(?:e\.g|i\.e|etc|vs|cf)\.\s*$", re.IGNORECASE)
_NEGATIVE_LEAD: Final = pattern(
    r"(?:please )?(?:do not(?: use| do| add)?|don'?ts?|never(?: use| do| add)?|forbidden|banned|prohibited|not allowed|must not)"
    r"(?: (?:any of )?(?:the following|these|this))?(?: things| apis| calls| functions)?[ :]*",
    re.IGNORECASE,
)


def rules_of(guidance: Guidance) -> tuple[Rule, ...]:
    """What the file asks for that a program can check."""
    return _rules(guidance.path, guidance.text)


@lru_cache(maxsize=64)
def _rules(path: str, text: str) -> tuple[Rule, ...]:
    return tuple(
        islice((rule for one in statements(text[:_LONGEST_FILE]) for rule in _of_statement(path, one)), MOST_RULES)
    )


def _of_statement(path: str, statement: Statement) -> Iterator[Rule]:
    if len(statement.prose) > _LONGEST_STATEMENT:
        return
    root = folder_of(path)
    pieces = list(islice(_sentences(statement.prose), _MOST_SENTENCES))
    for index, (offset, prose) in enumerate(pieces):
        label, body = _labelled(prose)
        others = tuple(other for place, (_, other) in enumerate(pieces) if place != index)
        around = surrounding(statement, label, root)
        around = _joined(around, besides(" . ".join(others), around.scope))
        origin = Origin(path, statement.line_at(offset), _shown(statement.written(prose)))
        sentence = Sentence(_negated(statement, body), statement.spans, origin, around, others)
        yield from forbidden_in(sentence)
        yield from duties_in(sentence)


def _joined(around: Understood, more: Understood) -> Understood:
    return Understood(more.scope, around.is_sure and more.is_sure)


def folder_of(path: str) -> str:
    """The folder that a rules file rules: its own, the whole repository for one in `.github`."""
    folder = path.rpartition("/")[0]
    return f"{folder}/" if folder not in {"", ".github", ".claude", ".cursor", ".cursor/rules"} else ""


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


def _negated(statement: Statement, prose: str) -> str:
    """A bare item of a list that is led in by "never:" or stands under "Do not" is forbidden."""
    lead = statement.lead or (statement.headings[-1] if statement.headings else "")
    if not _NEGATIVE_LEAD.fullmatch(lead) or re.match(r"(?:do not|don't|never|no|must)\b", prose, re.IGNORECASE):
        return prose
    return f"do not {prose}" if not prose.startswith("«") else f"do not use {prose}"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
