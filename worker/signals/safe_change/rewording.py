"""Whether a change of a document keeps what it says: the same words in the same order, but for mends of their spelling.

A hunk is read side by side, before and after the change. Each difference has to be on a short list: a mend of a word, an
article, another form of a verb, a link that moves within its host or into the repository, a mark of code around a word that
stays. Invariant: a word takes the place of another only where it is a function word or the document used it before.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from worker.domain.pattern import pattern
from worker.dossier.diff.parser import DiffLine, Hunk, LineKind
from worker.signals.analysis.change import ChangedFile
from worker.signals.safe_change.obstacle import Obstacle, obstacle_at
from worker.signals.safe_change.sentences import (
    Atom,
    Kind,
    Syntax,
    address_of,
    is_link_inside,
    is_same_link,
    may_be_kept,
    parts_of,
)

_NEGATION: Final = (
    r"not|no|nor|never|none|nothing|cannot|must|shall|should|may|always|only|without|unless|except|.*n['’]t"
)
_NEGATES: Final = pattern(_NEGATION, re.IGNORECASE)
"""Negations and duties: the punctuation beside them says what they belong to."""
_DECIDES: Final = pattern(
    rf".*\d.*|{_NEGATION}|and|or|if|all|any|some|both|either|neither|yes|true|false|before|after|until|since|with|within"
    r"|on|off|in|out|up|down|over|under|above|below|into|from|to|more|less|most|least|first|last|half|once|twice"
    r"|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million",
    re.IGNORECASE,
)
"""Function words of negation, condition, direction and number: a closed class of the language, and no list of topics."""
_ARTICLES: Final = frozenset({"a", "an", "the", "The"})
_FORMS: Final = (
    frozenset({"a", "an", "the"}),
    frozenset({"is", "are"}),
    frozenset({"was", "were"}),
    frozenset({"has", "have"}),
    frozenset({"does", "do"}),
    frozenset({"this", "these"}),
    frozenset({"that", "those", "which"}),
)
_FUNCTION_WORDS: Final = frozenset[str]().union(*_FORMS)


class Words(NamedTuple):
    """The words of a document before and after the change, code included."""

    before: frozenset[str]
    after: frozenset[str]


_WORD: Final = pattern(r"[^\W_]+(?:['’][^\W_]+)*")


def words_of(base: str, head: str) -> Words:
    """Return the words of both texts in lower case."""
    return Words(*(frozenset(_WORD.findall(text.casefold())) for text in (base, head)))


def obstacles_to_rewording(file: ChangedFile, words: Words, syntax: Syntax) -> Iterator[Obstacle]:
    """Yield what of the change is more than a mend of the document's words."""
    for line in file.diff.added:
        for atom in parts_of(line.text, syntax):
            if not may_be_kept(atom):
                yield obstacle_at(file, line, f"{_shown(atom.text)} is no plain word")
    for hunk in file.diff.hunks:
        before, after = (_parts_in(hunk, changed, syntax) for changed in (LineKind.REMOVED, LineKind.ADDED))
        difference = _first_difference(before, after, words, file.path)
        if difference is not None:
            old, new = difference
            is_removed = old.is_changed and not new.is_changed
            line = (old if is_removed else new).line
            yield obstacle_at(file, line, _what_differs(old, new, is_removed=is_removed))
        elif _punctuation(hunk, LineKind.REMOVED) != _punctuation(hunk, LineKind.ADDED):
            line = next(line for line in hunk.lines if line.kind is not LineKind.CONTEXT)
            yield obstacle_at(file, line, "punctuation changes in a question, or beside a negation or a duty")


class _Part(NamedTuple):
    atom: Atom
    line: DiffLine

    @property
    def is_changed(self) -> bool:
        return self.atom is not _END and self.line.kind is not LineKind.CONTEXT

    @property
    def shown(self) -> str:
        """What it says; of a mark of the structure, the line that it stands in."""
        return self.line.text.strip() if self.atom.kind is Kind.MARK else self.atom.text


_END: Final = Atom(Kind.MARK, "end")
"""Stands behind the last part of a hunk."""


def _parts_in(hunk: Hunk, changed: LineKind, syntax: Syntax) -> list[_Part]:
    lines = [line for line in hunk.lines if line.kind in {changed, LineKind.CONTEXT}]
    parts = [_Part(atom, line) for line in lines for atom in parts_of(line.text, syntax)]
    return [*parts, _Part(_END, hunk.lines[-1])]


def _punctuation(hunk: Hunk, changed: LineKind) -> str:
    """The question marks of the changed lines, and where they hold a negation or a duty, all of their punctuation."""
    text = "\n".join(line.text for line in hunk.lines if line.kind is changed)
    is_strict = any(map(_NEGATES.fullmatch, _WORD.findall(text)))
    return "".join(mark for mark in text if mark in (".,:;!?()" if is_strict else "?"))


def _first_difference(
    before: Sequence[_Part], after: Sequence[_Part], words: Words, path: str
) -> tuple[_Part, _Part] | None:
    """Return the first parts that differ by more than is allowed; None where there are none."""
    at, to = 0, 0
    while (old := before[at].atom) is not _END or after[to].atom is not _END:
        new = after[to].atom
        if _is_same(old, new, path) or _is_mended(old, new, words):
            at, to = at + 1, to + 1
        elif _is_article(before, at) or _is_doubled(before, at):
            at += 1
        elif _is_article(after, to) or is_link_inside(new, path):
            to += 1
        else:
            return before[at], after[to]
    return None


def _is_same(old: Atom, new: Atom, path: str) -> bool:
    """Whether a part stays: what it says, not its case, its apostrophes, its mark of code, or the label of a link."""
    if {old.kind, new.kind} == {Kind.WORD}:
        is_louder = old != new and (old.text.isupper() or new.text.isupper()) and _DECIDES.fullmatch(old.text)
        return _without_apostrophes(old.text) == _without_apostrophes(new.text) and not is_louder
    if {old.kind, new.kind} == {Kind.LINK}:
        return old.text == new.text or is_same_link(old, new) or is_link_inside(new, path)
    if {old.kind, new.kind} == {Kind.NAME}:
        return (old.text.rstrip(_ENDING) or old.text) == (new.text.rstrip(_ENDING) or new.text)
    return old.text == new.text and (old.kind is new.kind or {old.kind, new.kind} <= {Kind.WORD, Kind.NAME, Kind.CODE})


_ENDING: Final = ".,;:"


def _without_apostrophes(word: str) -> str:
    return word.casefold().replace("'", "").replace("’", "")


_SHORTEST: Final = 3


def _is_mended(old: Atom, new: Atom, words: Words) -> bool:
    """Whether a word became another form of itself, or a misspelling a word that the document knows."""
    if {old.kind, new.kind} != {Kind.WORD}:
        return False
    wrong, right = old.text.casefold(), new.text.casefold()
    if any({old.text, new.text} <= forms for forms in _FORMS):
        return True
    is_known = {*_WORD.findall(right)} <= words.before | _FUNCTION_WORDS
    if not is_known or _DECIDES.fullmatch(wrong) or _DECIDES.fullmatch(right) or len(wrong) < _SHORTEST:
        return False
    return _is_form(wrong, right) or (wrong not in words.after and _is_typo(wrong, right))


def _is_form(word: str, other: str) -> bool:
    """Whether one of the two is a plural or a form of the verb that the other is."""
    base, form = sorted((word, other), key=len)
    return form in {f"{base}{ending}" for ending in ("s", "es", "ed", "ing")} | {
        f"{base.removesuffix('e')}{ending}" for ending in ("ed", "ing") if base.endswith("e")
    }


def _is_typo(wrong: str, right: str) -> bool:
    """Whether two letters change places, or a letter after the first is missing or too many."""
    if len(wrong) == len(right):
        swapped = (wrong[:at] + wrong[at + 1] + wrong[at] + wrong[at + 2 :] for at in range(len(wrong) - 1))
        return right in swapped
    longer, shorter = sorted((wrong, right), key=len, reverse=True)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(1, len(longer)))


def _is_article(parts: Sequence[_Part], at: int) -> bool:
    """Whether an article stands before a word or code: not the A of a name, a list or a table."""
    is_article = parts[at].atom.kind is Kind.WORD and parts[at].atom.text in _ARTICLES
    return is_article and parts[at + 1].atom.kind is not Kind.MARK


def _is_doubled(parts: Sequence[_Part], at: int) -> bool:
    word, other = parts[at].atom, parts[at - 1].atom
    is_word = word.kind is other.kind is Kind.WORD and _DECIDES.fullmatch(word.text) is None
    return is_word and word.text.casefold() == other.text.casefold()


def _what_differs(old: _Part, new: _Part, *, is_removed: bool) -> str:
    if is_removed:
        return f"{_shown(old.shown)} is taken out"
    if new.atom.kind is Kind.LINK:
        hosts = [_host(part.atom.text) for part in (old, new) if part.atom.kind is Kind.LINK]
        if len({*hosts}) > 1:
            return f"the changed link leaves {_shown(hosts[0])} for {_shown(hosts[1])}"
        return f"the link to {_shown(hosts[-1])} is added or changed"
    if not old.is_changed:
        return f"{_shown(new.shown)} is added"
    return f"{_shown(old.shown)} becomes {_shown(new.shown)}, which is no mend of its spelling"


def _host(link: str) -> str:
    address = address_of(link)
    return address.netloc if address is not None and address.netloc else link


def _shown(text: str) -> str:
    """The text in ASCII, cut where it is long: what can't be seen is spelled out."""
    safe = text.encode("ascii", "backslashreplace").decode()
    return f"`{safe if len(safe) <= _SHOWN else f'{safe[:_SHOWN]}...'}`"


_SHOWN: Final = 60
