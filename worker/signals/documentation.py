"""Changes of documentation that code accepts alone: they keep its words and correct their spelling, layout or links.

An allow-list; what is not on it is not accepted alone. A document that a program or an agent reads is no documentation: its
name, its folder or the repository's own rules show it. A hunk is read side by side, before and after the change, and each
difference has to be a corrected word, an article, another form of a verb, a link that moves within its host or into the
repository, or a mark of code around a word that stays. A word replaces another only where it is a function word or the document
used it before.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from worker.domain.dossier import Guidance
from worker.domain.pattern import pattern
from worker.dossier.diff import ChangeKind, DiffLine, Hunk, LineKind
from worker.dossier.markup import (
    AtomKind,
    DocumentSyntax,
    TextAtom,
    find_prose_lines,
    find_undecidable_reason,
    has_title,
    split_line,
)
from worker.dossier.repo_rules.files import is_rules_file
from worker.signals.analysis.change import AnalyzedFile, CodeChange

SAFE_REASON: Final = "only spelling, layout or links of documentation changed"
_DOCUMENT: Final = pattern(
    r"(?P<folders>(?:[A-Za-z0-9][\w.-]*/)*)(?P<stem>[A-Za-z0-9][A-Za-z0-9_-]*)\.(?P<ending>md|markdown|rst|txt)"
)
_WELL_KNOWN: Final = pattern(
    r"(?:readme|change(?:s|-?log)?|history|news|release-?notes?|faq|upgrading|migration|roadmap|architecture|ecosystem|glossary"
    r"|usage|overview|concepts|examples|errors?|performance|benchmarks?|compatibility|getting-?started|quick-?start|tutorial|install(?:ation)?|troubleshooting)",
    re.IGNORECASE,
)
_HOME: Final = pattern(r"(?:docs?|documentation|manual|guides?)", re.IGNORECASE)
_FOLDERS_READ_BY_PROGRAMS: Final = pattern(
    r"(?:.*(?:templates?|fixtures?|includes?|partials?|snippets?|snapshots?|tests?|test-?data|specs?)|commands?|testing|__.*|goldens?|resources"
    r"|assets|static|public|layouts|vendor|third_party|node_modules|dist|build|locales?|i18n|site-packages|workflows|hooks|features)",
    re.IGNORECASE,
)
_READ_AS_RULES: Final = pattern(
    r"(?:agents?|ai|llms?|claude|codex|gemini|copilot|cursor|windsurf|cline|roo|aider|bots?|assistants?|prompts?|skills?|personas?|system|memory"
    r"|rules?|guidelines?|guidance|conventions?|standards|styleguide|instructions?|polic(?:y|ies)|security|vulnerability|legal|licen[cs]es?|licensing"
    r"|copying|notices?|terms|privacy|conduct|governance|maintainers?|owners|codeowners|contribut(?:e|ing|ors?)|releas(?:e|ing)|templates?"
    r"|requirements?|constraints?|wordlist|spelling|allowlist|denylist|runbooks?|playbooks?|plans?|tasks?|todo|summary|sidebar|navbar|toc|nav"
    r"|robots|humans|funding|sponsors?|donat(?:e|ions?)|incidents?|deploy(?:ment|ing)?|version|superpowers)",
    re.IGNORECASE,
)
_PART: Final = pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_REGULAR: Final = "100644"
_LARGEST: Final = 400_000
_NEGATION: Final = (
    r"not|no|nor|never|none|nothing|cannot|must|shall|should|may|always|only|without|unless|except|.*n['’]t"
)
_NEGATES: Final = pattern(_NEGATION, re.IGNORECASE)
"""Negations and duties: the punctuation beside them shows what they belong to."""
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
_WORD: Final = pattern(r"[^\W_]+(?:['’][^\W_]+)*")
_ENDING: Final = ".,;:"
_SHORTEST: Final = 3
_SHOWN: Final = 60
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Mn", "Me"})
_ANCHOR: Final = pattern(r"#[\w-]+", re.ASCII)
_PAGE: Final = pattern(
    r"(?P<path>(?:\.{1,2}/)*(?:[\w-]+/)*[\w-]+(?:/|\.(?:md|rst|txt|html|py|rs|go|js|ts|java|rb|toml|json|ya?ml))?)(?:#[\w-]+)?",
    re.ASCII,
)
_PLAIN_SEGMENT: Final = pattern(r"[A-Za-z][A-Za-z_-]{0,40}(?:\.html?|\.md|\.rst)?|v?\d{1,3}(?:\.\d{1,3}){0,2}")
_OWNER_SEGMENTS: Final = 2
"""Segments of a path that name the owner of the page, as in `github.com/owner/repository`."""


@dataclass(frozen=True)
class Obstacle:
    """A clause about what could not be proved, and where: a file, a line of the head or, if removed, of the base."""

    reason: str
    path: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        position = self.path if self.line is None else f"{self.path}:{self.line}"
        return self.reason if position is None else f"{position}: {self.reason}"


def is_documentation_only(change: CodeChange) -> bool:
    """Whether all that changed is documentation, so that code can accept it alone, or explain why not."""
    return bool(change.files) and all(_is_documentation(file.path) or _can_be_rules(file.path) for file in change.files)


def find_obstacle(change: CodeChange) -> Obstacle | None:
    """What keeps a change of documentation from being accepted alone; None where its harmlessness is proved."""
    dossier = change.dossier
    if dossier.policy is not None and not dossier.policy.accept_alone:
        return Obstacle("this repository accepts nothing without a model (`accept_alone`)")
    if dossier.issues or any(not criterion.inferred for criterion in dossier.criteria or ()):
        return Obstacle("whether the words are those that were asked for, code can't tell")
    return next((obstacle for file in change.files for obstacle in _find_obstacles(file, dossier.guidance)), None)


def _is_documentation(path: str) -> bool:
    """Whether people read the path as documentation, and no program or agent."""
    match = _DOCUMENT.fullmatch(path)
    if match is None or is_rules_file(path) or _has_rules_name(match):
        return False
    folders = match["folders"].split("/")[:-1]
    if any(map(_FOLDERS_READ_BY_PROGRAMS.fullmatch, folders)):
        return False
    if any(map(_HOME.fullmatch, folders)):
        return True
    return match["ending"] != "txt" and _WELL_KNOWN.fullmatch(match["stem"].replace("_", "-")) is not None


def _can_be_rules(path: str) -> bool:
    """Whether an agent reads the path as rules, or may do so by its name."""
    match = _DOCUMENT.fullmatch(path)
    return is_rules_file(path) or (match is not None and match["ending"] != "txt" and _has_rules_name(match))


def _has_rules_name(document: re.Match[str]) -> bool:
    names = (*document["folders"].split("/")[:-1], document["stem"])
    parts = (part for name in names for part in _PART.findall(name))
    return any(map(_READ_AS_RULES.fullmatch, (*parts, *names)))


def _find_obstacles(file: AnalyzedFile, guidance: Sequence[Guidance]) -> Iterator[Obstacle]:
    """What in this document's change is not proved to be harmless, the first reason first."""
    diff, name = file.diff, file.path.rpartition("/")[2].casefold()
    if _can_be_rules(file.path):
        yield Obstacle("it may be read as rules", file.path)
    if diff.change is not ChangeKind.MODIFIED:
        reason = f"the file is {diff.change.value}: only the words of a document that stays can be proved"
        yield Obstacle(reason, file.path)
    if diff.is_binary or not diff.hunks or {diff.old_mode, diff.new_mode} != {_REGULAR}:
        yield Obstacle("it is no regular text file without the right to be executed", file.path)
    if any(name in entry.text.casefold() for entry in guidance):
        yield Obstacle("the repository's rules for agents point at it", file.path)
    if file.path.endswith(".txt") and not (file.base_text and has_title(file.base_text)):
        yield Obstacle("a text without a title in reStructuredText may be a list that a program reads", file.path)
    if file.head_text is None or file.base_text is None:
        yield Obstacle("the whole file was not read", file.path)
    else:
        syntax = DocumentSyntax.RST if file.path.endswith((".rst", ".txt")) else DocumentSyntax.MARKDOWN
        yield from _find_misplaced_lines(file, syntax, file.base_text, file.head_text)
        yield from _find_rewordings(file, syntax, file.base_text, file.head_text)


def _find_misplaced_lines(file: AnalyzedFile, syntax: DocumentSyntax, base: str, head: str) -> Iterator[Obstacle]:
    """Changed lines that are not prose in the whole document, or change what is not prose."""
    undecidable = find_undecidable_reason(base) or find_undecidable_reason(head)
    if max(len(base), len(head)) > _LARGEST:
        yield Obstacle("it is too long to be proved", file.path)
    elif undecidable is not None:
        yield Obstacle(undecidable, file.path)
    kept: list[list[str]] = []
    for text, lines in ((base, file.diff.removed_lines), (head, file.diff.added_lines)):
        prose = find_prose_lines(text, syntax)
        for line in lines:
            if (line.head_line or line.base_line) not in prose:
                yield _obstacle_at(file, line, "the line is no prose, but code, markup or data")
        kept.append([line for number, line in enumerate(text.split("\n"), start=1) if number not in prose])
    if kept[0] != kept[1]:
        yield Obstacle("the change turns prose into code or markup, or code or markup into prose", file.path)


def _obstacle_at(file: AnalyzedFile, line: DiffLine, reason: str) -> Obstacle:
    return Obstacle(reason, file.path, line.head_line or line.base_line)


class _DocumentWords(NamedTuple):
    """The words of a document before and after the change in lower case, code included."""

    before: frozenset[str]
    after: frozenset[str]


def _find_rewordings(file: AnalyzedFile, syntax: DocumentSyntax, base: str, head: str) -> Iterator[Obstacle]:
    """What of the change is more than a correction of the document's words."""
    for line in file.diff.added_lines:
        for atom in split_line(line.text, syntax):
            is_invisible = any(unicodedata.category(letter) in _INVISIBLE and letter != " " for letter in atom.text)
            if is_invisible or (atom.kind is AtomKind.NAME and "<" in atom.text):  # HTML
                yield _obstacle_at(file, line, f"{_escape(atom.text)} is no plain word")
    document_words = _DocumentWords(*(frozenset(_WORD.findall(text.casefold())) for text in (base, head)))
    for hunk in file.diff.hunks:
        before, after = (_find_parts(hunk, changed, syntax) for changed in (LineKind.REMOVED, LineKind.ADDED))
        difference = _find_first_difference(before, after, document_words, file.path)
        if difference is not None:
            old, new = difference
            is_removed = old.is_changed and not new.is_changed
            line = (old if is_removed else new).line
            yield _obstacle_at(file, line, _describe_difference(old, new, is_removed=is_removed))
        elif _find_punctuation(hunk, LineKind.REMOVED) != _find_punctuation(hunk, LineKind.ADDED):
            line = next(line for line in hunk.lines if line.kind is not LineKind.CONTEXT)
            yield _obstacle_at(file, line, "punctuation changes in a question, or beside a negation or a duty")


class _LinePart(NamedTuple):
    atom: TextAtom
    line: DiffLine

    @property
    def is_changed(self) -> bool:
        return self.atom is not _END and self.line.kind is not LineKind.CONTEXT

    @property
    def visible_text(self) -> str:
        """Its text; for a mark of the structure, its line."""
        return self.line.text.strip() if self.atom.kind is AtomKind.MARK else self.atom.text


_END: Final = TextAtom(AtomKind.MARK, "end")
"""The atom behind the last part of a hunk."""


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
    before: Sequence[_LinePart], after: Sequence[_LinePart], document_words: _DocumentWords, path: str
) -> tuple[_LinePart, _LinePart] | None:
    """The first parts that differ by more than is allowed; None where there are none."""
    at, to = 0, 0
    while (old := before[at].atom) is not _END or after[to].atom is not _END:
        new = after[to].atom
        if _is_same(old, new, path) or _is_corrected(old, new, document_words):
            at, to = at + 1, to + 1
        elif _is_article(before, at) or _is_repeated(before, at):
            at += 1
        elif _is_article(after, to) or _is_link_inside(new, path):
            to += 1
        else:
            return before[at], after[to]
    return None


def _is_same(old: TextAtom, new: TextAtom, path: str) -> bool:
    """Whether a part stays, whatever its case, its apostrophes, its mark of code, or the label of a link."""
    if {old.kind, new.kind} == {AtomKind.WORD}:
        is_louder = old != new and (old.text.isupper() or new.text.isupper()) and _DECIDES.fullmatch(old.text)
        return _without_apostrophes(old.text) == _without_apostrophes(new.text) and not is_louder
    if {old.kind, new.kind} == {AtomKind.LINK}:
        return old.text == new.text or _is_same_link(old, new) or _is_link_inside(new, path)
    if {old.kind, new.kind} == {AtomKind.NAME}:
        return (old.text.rstrip(_ENDING) or old.text) == (new.text.rstrip(_ENDING) or new.text)
    return old.text == new.text and (
        old.kind is new.kind or {old.kind, new.kind} <= {AtomKind.WORD, AtomKind.NAME, AtomKind.CODE}
    )


def _without_apostrophes(word: str) -> str:
    return word.casefold().replace("'", "").replace("’", "")


def _is_corrected(old: TextAtom, new: TextAtom, document_words: _DocumentWords) -> bool:
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


def _is_link_inside(atom: TextAtom, path: str) -> bool:
    """Whether the document at *path* links to one of its headings, or to a file below the root.

    On GitHub, a link that climbs higher leads to other repositories.
    """
    page = _PAGE.fullmatch(atom.text) if atom.kind is AtomKind.LINK else None
    if page is None:
        return atom.kind is AtomKind.LINK and _ANCHOR.fullmatch(atom.text) is not None
    return not posixpath.normpath(posixpath.join(posixpath.dirname(path), page["path"])).startswith("..")


def _is_same_link(old: TextAtom, new: TextAtom) -> bool:
    """Whether a link only moved within its own host: under the same two folders, to a page with a name of plain words."""
    if old.label != new.label:
        return False
    before, after = _parse_link(old.text), _parse_link(new.text)
    if before is None or after is None or not before.netloc:
        return False
    if (before.scheme, before.netloc, before.query) != (after.scheme, after.netloc, after.query):
        return False
    was, becomes = before.path.split("/")[1:], after.path.split("/")[1:]
    changed = [segment for segment in becomes if segment not in was]
    return (
        len(was) >= _OWNER_SEGMENTS
        and was[:_OWNER_SEGMENTS] == becomes[:_OWNER_SEGMENTS]
        and all(map(_PLAIN_SEGMENT.fullmatch, filter(None, changed)))
    )


def _parse_link(text: str) -> SplitResult | None:
    """The parts of a link; None where it can't be read."""
    try:
        return urlsplit(text)
    except ValueError:
        return None


def _describe_difference(old: _LinePart, new: _LinePart, *, is_removed: bool) -> str:
    if is_removed:
        return f"{_escape(old.visible_text)} is taken out"
    if new.atom.kind is AtomKind.LINK:
        links = [part.atom.text for part in (old, new) if part.atom.kind is AtomKind.LINK]
        addresses = ((link, _parse_link(link)) for link in links)
        hosts = [address.netloc if address is not None and address.netloc else link for link, address in addresses]
        if len({*hosts}) > 1:
            return f"the changed link leaves {_escape(hosts[0])} for {_escape(hosts[1])}"
        return f"the link to {_escape(hosts[-1])} is added or changed"
    if not old.is_changed:
        return f"{_escape(new.visible_text)} is added"
    return f"{_escape(old.visible_text)} becomes {_escape(new.visible_text)}, which is no mend of its spelling"


def _escape(text: str) -> str:
    """The text in ASCII, with invisible characters as escapes, cut where it is long."""
    safe = text.encode("ascii", "backslashreplace").decode()
    return f"`{safe if len(safe) <= _SHOWN else f'{safe[:_SHOWN]}...'}`"
