"""Which files are documentation, and whether the change of one of them is proved to be harmless.

Invariant: a document that a program or an agent reads is none: its name, its folder or the repository's own rules say so.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.dossier.dossier import Guidance
from worker.domain.pattern import pattern
from worker.dossier.diff.parser import ChangeKind
from worker.dossier.repo_rules.files import is_rules_file
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.safe_change import blocks
from worker.signals.safe_change.obstacle import Obstacle, build_obstacle
from worker.signals.safe_change.rewording import find_document_words, find_rewording_obstacles
from worker.signals.safe_change.sentences import DocumentSyntax

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


def is_documentation(path: str) -> bool:
    """Whether the path is one of documentation that people read, and no program or agent."""
    match = _DOCUMENT.fullmatch(path)
    if match is None or is_rules_file(path) or _has_rules_name(match):
        return False
    folders = match["folders"].split("/")[:-1]
    if any(map(_FOLDERS_READ_BY_PROGRAMS.fullmatch, folders)):
        return False
    if any(map(_HOME.fullmatch, folders)):
        return True
    return match["ending"] != "txt" and _WELL_KNOWN.fullmatch(match["stem"].replace("_", "-")) is not None


def can_be_rules(path: str) -> bool:
    """Whether the path is one of a document that an agent reads as rules, or may read so by its name."""
    match = _DOCUMENT.fullmatch(path)
    return is_rules_file(path) or (match is not None and match["ending"] != "txt" and _has_rules_name(match))


def _has_rules_name(document: re.Match[str]) -> bool:
    names = (*document["folders"].split("/")[:-1], document["stem"])
    parts = (part for name in names for part in _PART.findall(name))
    return any(map(_READ_AS_RULES.fullmatch, (*parts, *names)))


def find_file_obstacle(file: AnalyzedFile, guidance: Sequence[Guidance]) -> Obstacle | None:
    """Return what in this document's change is not proved to be harmless."""
    diff = file.diff
    if can_be_rules(file.path):
        return Obstacle("it may be read as rules", file.path)
    if diff.change is not ChangeKind.MODIFIED:
        return Obstacle(
            f"the file is {diff.change.value}: only the words of a document that stays can be proved", file.path
        )
    if diff.is_binary or not diff.hunks or {diff.old_mode, diff.new_mode} != {_REGULAR}:
        return Obstacle("it is no regular text file without the right to be executed", file.path)
    name = file.path.rpartition("/")[2].casefold()
    if any(name in entry.text.casefold() for entry in guidance):
        return Obstacle("the repository's rules for agents point at it", file.path)
    return next(_find_obstacles(file), None)


def _find_obstacles(file: AnalyzedFile) -> Iterator[Obstacle]:
    syntax = DocumentSyntax.RST if file.path.endswith((".rst", ".txt")) else DocumentSyntax.MARKDOWN
    if file.path.endswith(".txt") and not (file.base_text and blocks.has_title(file.base_text)):
        yield Obstacle("a text without a title in reStructuredText may be a list that a program reads", file.path)
    if file.head_text is None or file.base_text is None:
        yield Obstacle("the whole file was not read", file.path)
    else:
        yield from _find_misplaced_lines(file, syntax, file.base_text, file.head_text)
        yield from find_rewording_obstacles(file, find_document_words(file.base_text, file.head_text), syntax)


def _find_misplaced_lines(file: AnalyzedFile, syntax: DocumentSyntax, base: str, head: str) -> Iterator[Obstacle]:
    """Changed lines that are not prose in the whole document, or change what is not prose."""
    undecidable = blocks.find_undecidable_reason(base) or blocks.find_undecidable_reason(head)
    if max(len(base), len(head)) > _LARGEST:
        yield Obstacle("it is too long to be proved", file.path)
    elif undecidable is not None:
        yield Obstacle(undecidable, file.path)
    kept: list[list[str]] = []
    for text, lines in ((base, file.diff.removed_lines), (head, file.diff.added_lines)):
        prose = blocks.find_prose_lines(text, syntax)
        for line in lines:
            if (line.head_line or line.base_line) not in prose:
                yield build_obstacle(file, line, "the line is no prose, but code, markup or data")
        kept.append([line for number, line in enumerate(text.split("\n"), start=1) if number not in prose])
    if kept[0] != kept[1]:
        yield Obstacle("the change turns prose into code or markup, or code or markup into prose", file.path)
