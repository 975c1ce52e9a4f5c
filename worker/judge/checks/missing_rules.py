"""Rules that a reject rests on although they occur nowhere: quoted words and named rules files.

Texts are compared word by word, so case, punctuation and white space do not matter.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.dossier.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.opinion import Leaning, ModelOpinion
from worker.domain.verdict.verdict import Category

LEAST_WORDS: Final = 3
"""Of a quote: fewer may be a name."""

SHOWN_CHARACTERS: Final = 120
"""The most characters of a claim that are shown."""

_QUOTED: Final = pattern(r'"([^"\n]{1,300})"|\u201c([^\u201d\n]{1,300})\u201d')
_LEFT_OUT: Final = pattern(r"\u2026|\.{3}|\[\.{3}\]")
_RULES_FILE: Final = pattern(
    r"(?<![\w/.-])((?:[\w.-]{1,100}/){0,9}(?:(?:AGENTS|CLAUDE|GEMINI|CONTRIBUTING|CONVENTIONS|STYLEGUIDE|copilot-instructions)\.mdc?|\.cursorrules))\b",
    re.IGNORECASE,
)
_DEMANDS: Final = pattern(
    r"\b(?:must|shall|should|never|always|only|no|not|don't|can't|avoid|forbid\w*|forbidden|prohibit\w*|require[sd]?|mandatory|instead)\b",
    re.IGNORECASE,
)
_WORD: Final = pattern(r"\w+")


def find_missing_rule(opinion: ModelOpinion, dossier: Dossier) -> str | None:
    """The first quote or rules file of a reject for a broken rule that occurs in no text of the dossier."""
    if opinion.decision is not Leaning.REJECT or opinion.category is not Category.SPEC_VIOLATION:
        return None
    concern = opinion.concern
    files, quotes = (match[1] for match in _RULES_FILE.finditer(concern)), _quotes(concern)
    if not (claims := [*files, *quotes]):
        return None
    read = _words_only("\n".join(_read_texts(dossier)))
    missing = next((claim for claim in claims if not all(f" {part} " in read for part in _parts(claim))), None)
    if missing is None:
        return None
    text = " ".join(missing.split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def names_a_rule(opinion: ModelOpinion, dossier: Dossier) -> bool:
    """Whether a reject names the broken rule: by its file, its words, or the criterion that states it.

    Quoted code counts only if it demands something.
    """
    concern = opinion.concern
    criteria = (criterion.id for criterion in dossier.criteria or ())
    is_named = any(re.search(rf"(?<![\w-]){re.escape(criterion)}(?![\w-])", concern) for criterion in criteria)
    if is_named or _RULES_FILE.search(concern) is not None:
        return True
    stated = _words_only("\n".join(_rule_texts(dossier)))
    return any(
        _DEMANDS.search(quote) or all(f" {part} " in stated for part in _parts(quote)) for quote in _quotes(concern)
    )


def _quotes(text: str) -> Iterator[str]:
    quotes = (match[1] or match[2] for match in _QUOTED.finditer(text))
    return (quote for quote in quotes if len(_WORD.findall(quote)) >= LEAST_WORDS)


def _parts(claim: str) -> Iterator[str]:
    """The parts of a quote between its ellipses."""
    spelled = (_words_only(part).strip() for part in _LEFT_OUT.split(claim))
    return (part for part in spelled if part)


def _words_only(text: str) -> str:
    """The words in lower case, each between single spaces."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _read_texts(dossier: Dossier) -> Iterator[str]:
    yield dossier.diff
    yield from _rule_texts(dossier)
    for file in dossier.files or ():
        yield from (file.path, file.text or "")
    yield from (file.path for file in dossier.files_unread)
    for check in dossier.ci.checks if dossier.ci else ():
        yield from (check.name, check.summary, check.log_tail)


def _rule_texts(dossier: Dossier) -> Iterator[str]:
    """Texts that may state a rule: rules files, issues, criteria and the pull request's own."""
    pull = dossier.pull_request
    yield from (pull.title, pull.body or "")
    for rules in dossier.guidance:
        yield from (rules.path, rules.text)
    for issue in dossier.issues:
        yield from (issue.title, issue.body)
    yield from (criterion.text for criterion in dossier.criteria or ())
