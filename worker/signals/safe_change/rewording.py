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
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.safe_change.obstacle import Obstacle, build_obstacle
from worker.signals.safe_change.sentences import (
    AtomKind,
    DocumentSyntax,
    TextAtom,
    is_keepable,
    is_link_inside,
    is_same_link,
    parse_link,
    split_line,
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


class DocumentWords(NamedTuple):
    """The words of a document before and after the change, code included."""

    before: frozenset[str]
    after: frozenset[str]


_WORD: Final = pattern(r"[^\W_]+(?:['’][^\W_]+)*")


def find_document_words(base: str, head: str) -> DocumentWords:
    """Return the words of both texts in lower case."""
    return DocumentWords(*(frozenset(_WORD.findall(text.casefold())) for text in (base, head)))


def find_rewording_obstacles(
    file: AnalyzedFile, document_words: DocumentWords, syntax: DocumentSyntax
) -> Iterator[Obstacle]:
    """Yield what of the change is more than a mend of the document's words."""
    for line in file.diff.added_lines:
        for atom in split_line(line.text, syntax):
            if not is_keepable(atom):
                yield build_obstacle(file, line, f"{_escape(atom.text)} is no plain word")
    for hunk in file.diff.hunks:
        before, after = (_find_parts(hunk, changed, syntax) for changed in (LineKind.REMOVED, LineKind.ADDED))
        difference = _find_first_difference(before, after, document_words, file.path)
        if difference is not None:
            old, new = difference
            is_removed = old.is_changed and not new.is_changed
            line = (old if is_removed else new).line
            yield build_obstacle(file, line, _describe_difference(old, new, is_removed=is_removed))
        elif _find_punctuation(hunk, LineKind.REMOVED) != _find_punctuation(hunk, LineKind.ADDED):
            line = next(line for line in hunk.lines if line.kind is not LineKind.CONTEXT)
            yield build_obstacle(file, line, "punctuation changes in a question, or beside a negation or a duty")


class _LinePart(NamedTuple):
    atom: TextAtom
    line: DiffLine

    @property
    def is_changed(self) -> bool:
        return self.atom is not _END and self.line.kind is not LineKind.CONTEXT

    @property
    def visible_text(self) -> str:
        """What it says; of a mark of the structure, the line that it stands in."""
        return self.line.text.strip() if self.atom.kind is AtomKind.MARK else self.atom.text


_END: Final = TextAtom(AtomKind.MARK, "end")
"""Stands behind the last part of a hunk."""


def _find_parts(hunk: Hunk, changed: LineKind, syntax: DocumentSyntax) -> list[_LinePart]:
    lines = [line for line in hunk.lines if line.kind in {changed, LineKind.CONTEXT}]
    parts = [_LinePart(atom, line) for line in lines for atom in split_line(line.text, syntax)]
    return [*parts, _LinePart(_END, hunk.lines[-1])]


def _find_punctuation(hunk: Hunk, changed: LineKind) -> str:
    """The question marks of the changed lines, and where they hold a negation or a duty, all of their punctuation."""
    text = "\n".join(line.text for line in hunk.lines if line.kind is changed)
    is_strict = any(map(_NEGATES.fullmatch, _WORD.findall(text)))
    return "".join(mark for mark in text if mark in (".,:;!?()" if is_strict else "?"))


def _find_first_difference(
    before: Sequence[_LinePart], after: Sequence[_LinePart], document_words: DocumentWords, path: str
) -> tuple[_LinePart, _LinePart] | None:
    """Return the first parts that differ by more than is allowed; None where there are none."""
    at, to = 0, 0
    while (old := before[at].atom) is not _END or after[to].atom is not _END:
        new = after[to].atom
        if _is_same(old, new, path) or _is_corrected(old, new, document_words):
            at, to = at + 1, to + 1
        elif _is_article(before, at) or _is_repeated(before, at):
            at += 1
        elif _is_article(after, to) or is_link_inside(new, path):
            to += 1
        else:
            return before[at], after[to]
    return None


def _is_same(old: TextAtom, new: TextAtom, path: str) -> bool:
    """Whether a part stays: what it says, not its case, its apostrophes, its mark of code, or the label of a link."""
    if {old.kind, new.kind} == {AtomKind.WORD}:
        is_louder = old != new and (old.text.isupper() or new.text.isupper()) and _DECIDES.fullmatch(old.text)
        return _without_apostrophes(old.text) == _without_apostrophes(new.text) and not is_louder
    if {old.kind, new.kind} == {AtomKind.LINK}:
        return old.text == new.text or is_same_link(old, new) or is_link_inside(new, path)
    if {old.kind, new.kind} == {AtomKind.NAME}:
        return (old.text.rstrip(_ENDING) or old.text) == (new.text.rstrip(_ENDING) or new.text)
    return old.text == new.text and (
        old.kind is new.kind or {old.kind, new.kind} <= {AtomKind.WORD, AtomKind.NAME, AtomKind.CODE}
    )


_ENDING: Final = ".,;:"


def _without_apostrophes(word: str) -> str:
    return word.casefold().replace("'", "").replace("’", "")


_SHORTEST: Final = 3


def _is_corrected(old: TextAtom, new: TextAtom, document_words: DocumentWords) -> bool:
    """Whether a word became another form of itself, or a misspelling a word that the document knows."""
    if {old.kind, new.kind} != {AtomKind.WORD}:
        return False
    wrong, right = old.text.casefold(), new.text.casefold()
    if any({old.text, new.text} <= forms for forms in _FORMS):
        return True
    is_known = {*_WORD.findall(right)} <= document_words.before | _FUNCTION_WORDS
    if not is_known or _DECIDES.fullmatch(wrong) or _DECIDES.fullmatch(right) or len(wrong) < _SHORTEST:
        return False
    return _is_form(wrong, right) or (wrong not in document_words.after and _is_typo(wrong, right))


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


def _is_article(parts: Sequence[_LinePart], at: int) -> bool:
    """Whether an article stands before a word or code: not the A of a name, a list or a table."""
    is_article = parts[at].atom.kind is AtomKind.WORD and parts[at].atom.text in _ARTICLES
    return is_article and parts[at + 1].atom.kind is not AtomKind.MARK


def _is_repeated(parts: Sequence[_LinePart], at: int) -> bool:
    word, other = parts[at].atom, parts[at - 1].atom
    is_word = word.kind is other.kind is AtomKind.WORD and _DECIDES.fullmatch(word.text) is None
    return is_word and word.text.casefold() == other.text.casefold()


def _describe_difference(old: _LinePart, new: _LinePart, *, is_removed: bool) -> str:
    if is_removed:
        return f"{_escape(old.visible_text)} is taken out"
    if new.atom.kind is AtomKind.LINK:
        hosts = [_host_of(part.atom.text) for part in (old, new) if part.atom.kind is AtomKind.LINK]
        if len({*hosts}) > 1:
            return f"the changed link leaves {_escape(hosts[0])} for {_escape(hosts[1])}"
        return f"the link to {_escape(hosts[-1])} is added or changed"
    if not old.is_changed:
        return f"{_escape(new.visible_text)} is added"
    return f"{_escape(old.visible_text)} becomes {_escape(new.visible_text)}, which is no mend of its spelling"


def _host_of(link: str) -> str:
    address = parse_link(link)
    return address.netloc if address is not None and address.netloc else link


def _escape(text: str) -> str:
    """The text in ASCII, cut where it is long: what can't be seen is spelled out."""
    safe = text.encode("ascii", "backslashreplace").decode()
    return f"`{safe if len(safe) <= _SHOWN else f'{safe[:_SHOWN]}...'}`"


_SHOWN: Final = 60
