"""Statements of Ruby, C#, PHP and Kotlin that refuse to work, and the words that they do it with.

Reads one statement's text, white space folded. Does not say whether the refusal is meant to stay. Invariant: what is
returned is no refusal.
"""

from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.signals.analysis.file_roles import Language


class StubRefusal(NamedTuple):
    """What is thrown: whether its own name says that nothing is written, and its first text."""

    is_named: bool
    message: str | None


_THROWS: Final = {
    Language.RUBY: pattern(r"(?:raise|fail)\b[ (]*(?P<name>[\w:]*)"),
    Language.CSHARP: pattern(r"(?:=> ?)?throw new (?P<name>[\w.]*Exception)\b"),
    Language.PHP: pattern(r"throw new (?P<name>[\w\\\\]*(?:Exception|Error))\b"),
    Language.KOTLIN: pattern(r"(?:throw (?P<name>[\w.]*(?:Exception|Error))|TODO|error)\b(?=\()"),
}
_NAMED: Final = pattern(r"NotImplemented|Unimplemented|NotYetImplemented")
_TEXT: Final = pattern(r"[\"'](.*)[\"']")


def find_refusal(statement: str, language: Language) -> StubRefusal | None:
    """The refusal that a statement is; None if it is something else."""
    match = _THROWS[language].match(statement)
    if match is None:
        return None
    text = _TEXT.search(statement)
    is_named = statement.startswith("TODO") or _NAMED.search(match["name"] or "") is not None
    return StubRefusal(is_named, text[1] if text is not None else None)
