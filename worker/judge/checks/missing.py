"""Names that a reject calls missing although they are there, and rules that it quotes although they stand nowhere.

A name counts only in code marks, next to a phrase that denies its definition or handling. It is refuted by a definition in a file at
head or in an added line, or by an import from a file that was not read. A rule counts by its quote or its file's name, and is refuted
where that occurs in no text of the dossier.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category, Leaning, ModelOpinion
from worker.dossier.diff.parser import diff_of

MOST_NAMES: Final = 10
MOST_CHARACTERS: Final = 400_000
"""Longer texts are not searched."""

_NAME: Final = r"`([A-Za-z_$][\w$]{0,99})(?:\(\))?`"
_KINDS: Final = r"(?:functions?|methods?|class(?:es)?|helpers?|symbols?|constants?|types?|modules?)"
_PLACE: Final = r"(?:\s+(?:in|of|from)\s+`?[\w./-]{1,200}`?)?"
_WHOLE: Final = r"(?:change|diff|patch|head|tree|file|module|class|type|package|repo(?:sitory)?|code ?base|pull request|it|this|\w\.\w{1,5}`?)"
"""What may contain a definition: a loop that lacks a name does not."""
_BEFORE: Final = (
    r"(?:^|[.;:!?,(]\s*|\b(?:but|yet|and|or|nor|neither|because|since|that|as|the|an?|calls?|uses?|imports?|which|however|then"
    rf"|{_KINDS})\s+)"
)
_SUBJECT: Final = rf"{_BEFORE}{_NAME}(?:\s+{_KINDS})?{_PLACE}\s+"
_OBJECT: Final = rf"\s+(?:(?:the|an?|any|its)\s+)?(?:(?:new|private|public|definition\s+of|{_KINDS})\s+)*(?:(?:called|named)\s+)?{_NAME}(?:\s+{_KINDS})?"
_AFTER: Final = (
    r"(?=\s*(?:[.,;:!?)]|$)|\s+(?:anywhere|nowhere|yet|here|and|so|but|though|or|nor)\b|\s+(?:by|within)\s+th(?:e|is)\s+change\b"
    rf"|\s+(?:in|at|on|from|of)\s+(?:`?[\w/.-]{{1,200}}\.\w{{1,5}}\b|(?:(?:the|this|its|head|whole|entire)\s+){{0,3}}{_WHOLE}\b))"
)
"""The phrase ends here: "not defined for empty data" and "missing in the changelog" deny something else."""
_NOT: Final = r"(?:not|never|nowhere|no\s+longer)"
_IS_NOT: Final = (
    rf"(?:(?:is|are|was|were|has\s+been|have\s+been|been)\s+{_NOT}|(?:has|have|had)\s+{_NOT}\s+been"
    r"|(?:is|are|was|were)n't|(?:has|have)n't\s+been)"
)
_DOES_NOT: Final = r"(?:(?:does|do|did)(?:\s+not|n't)|never|fails?\s+to|no\s+longer)"
_ABSENT: Final = r"(?:missing|absent|undefined|undeclared|nowhere(?:\s+to\s+be\s+(?:found|seen))?|non-?existent)"


def _denial_patterns(*, subject: str, active: str, negative: str) -> tuple["re.Pattern[str]", ...]:
    """The ways to deny a verb of a name: passive, active, and with "nothing" as the subject."""
    return tuple(
        pattern(phrase, re.IGNORECASE | re.MULTILINE)
        for phrase in (
            rf"{_SUBJECT}{subject}{_AFTER}",
            rf"{_DOES_NOT}\s+{active}{_OBJECT}{_AFTER}",
            rf"\b(?:nothing|nobody|no\s+(?:line|file|code|module))\s+{negative}{_OBJECT}{_AFTER}",
        )
    )


_DENIALS: Final = (
    *_denial_patterns(
        subject=rf"(?:{_IS_NOT}\s+(?:defined|declared|added|introduced|created|there|found)|(?:is|are|was|were)\s+{_ABSENT}"
        rf"|(?:{_DOES_NOT}\s+exists?|exists?\s+nowhere|appears?\s+nowhere)"
        r"|(?:can(?:not|'t|\s+not)|could\s+not|couldn't)\s+be\s+found|has\s+no\s+definition)",
        active=r"(?:define|declare|add|introduce|create)s?",
        negative=r"(?:defines|declares|adds|introduces|creates)",
    ),
    *(
        pattern(phrase, re.IGNORECASE | re.MULTILINE)
        for phrase in (
            rf"\bdefinition\s+of\s+{_NAME}{_PLACE}\s+is\s+{_ABSENT}{_AFTER}",
            rf"\bthere\s+(?:is|are|was)\s+no{_OBJECT}{_AFTER}",
            rf"\bn(?:either|or)\s+{_NAME}\s+(?:(?:is|was)\s+(?:defined|declared|there)|exists?){_AFTER}",
            rf"\b{_WHOLE}\s+(?:(?:has|have|holds|contains)\s+no|lacks?|omits?|(?:(?:is|comes|ships|stays)\s+)?without){_OBJECT}{_AFTER}",
            rf"\b(?:(?:can(?:not|'t|\s+not)|could\s+not|couldn't)\s+find|found\s+no){_OBJECT}{_AFTER}",
            rf"\b(?:undefined|undeclared|non-?existent)(?:\s+{_KINDS})?\s+{_NAME}",
            rf"\b(?:no|missing)\s+(?:{_KINDS}|definition)\s+(?:(?:called|named|of|for)\s+)?{_NAME}",
        )
    ),
)
_UNHANDLED_DENIALS: Final = (
    *_denial_patterns(
        subject=rf"(?:{_IS_NOT}\s+(?:handled|caught)|(?:is|are)\s+(?:unhandled|uncaught))",
        active=r"(?:handle|catche?)s?",
        negative=r"(?:handles|catches)",
    ),
    pattern(rf"\b(?:unhandled|uncaught)\s+{_NAME}{_AFTER}", re.IGNORECASE),
)
_HANDLES: Final = (
    r"^[^\n#]{0,300}(?:\b(?:except|catch|case|rescue|when|match|if|elif|instanceof|isinstance|errors\.(?:Is|As))\b[^\n]{0,300}"
    r"(?<![\w$]){name}(?![\w$])|(?<![\w$]){name}(?![\w$])[^\n]{0,100}=>)"
)
_DEFINES: Final = (
    r"^[^\S\n]*(?:(?:export|default|pub|public|private|protected|internal|static|final|abstract|async|unsafe|override)(?:\([^)\n]*\))?[^\S\n]+)*"
    r"(?:def|class|function\*?|func|fn|struct|interface|trait|enum|type|const|let|var|val|object|module|protocol|macro_rules!)"
    r"[^\S\n]+(?:\([^)\n]*\)[^\S\n]*)?{name}(?![\w$])"
    r"|^[^\S\n]*(?:[\w.<>\[\],?*&@]{1,100}[^\S\n]+){0,6}{name}[^\S\n]*\([^()\n]{0,300}\)[^;{}()\n]{0,100}\{[^\S\n]*$"  # a method
    r"|^(?:[^\S\n]{0,8}(?:self|this)\.)?{name}[^\S\n]*(?::[^=\n]{1,100})?=(?![=>])"
)
_IMPORTS: Final = r"^(?=[^\n]*\b(?:import|from|require|use|using|include)\b)[^\n]*(?<![\w$]){name}(?![\w$])"
_SOURCE: Final = pattern(
    r"\bfrom\s[\w.]{0,200}?\b(\w{1,100})\s+import\b"  # Python
    r"|[\"'](?:[^\"'\n]{0,200}/)?([\w-]{1,100})(?:\.\w{1,9})?[\"']"  # JavaScript, TypeScript
    r"|\b(\w{1,100})(?:::|\.)(?:\{[^}\n]{0,300}\}|\w{1,100});?\s*$"  # Rust, Java
)
"""What an import line imports from: its last word, the name of a file or folder."""
_LONGEST: Final = 500
_FOLDER_FILES: Final = frozenset({"__init__", "index", "mod", "lib"})


@dataclass(frozen=True)
class MissingNameClaim:
    """A name that was called missing, and the line that defines or handles it. `is_imported`: it imports it from an unread file."""

    name: str
    path: str
    line: int
    is_imported: bool = False


def find_refuted_claim(opinion: ModelOpinion, dossier: Dossier) -> MissingNameClaim | None:
    """The first name that a reject calls missing although it is there."""
    if opinion.decision is not Leaning.REJECT:
        return None
    places = (*opinion.evidence, *(pointer for criterion in opinion.criteria for pointer in criterion.evidence))
    text = "\n".join([opinion.concern, *(pointer.note for pointer in places)])
    denied = (
        (match[1], shows)  # with the pattern of a line that shows it
        for forms, shows in ((_DENIALS, _DEFINES), (_UNHANDLED_DENIALS, _HANDLES))
        for form in forms
        for match in form.finditer(text)
    )
    names = list(islice(dict.fromkeys(denied), MOST_NAMES))
    if not names:
        return None
    contents = ((file.path, file.text) for file in dossier.files or () if file.exists)
    texts = {path: text for path, text in contents if text is not None and len(text) <= MOST_CHARACTERS}
    pointed = [path for path in dict.fromkeys(pointer.path for pointer in places) if path in texts]
    found_by_name = (_find_definitions(name, shows, pointed, texts, dossier) for name, shows in names)
    return next(chain.from_iterable(found_by_name), None)


def _find_definitions(
    name: str, shows: str, pointed: list[str], texts: Mapping[str, str], dossier: Dossier
) -> Iterator[MissingNameClaim]:
    """Where the name is: in files at head, in added lines, or imported from an unread file."""
    takes = re.compile(_IMPORTS.replace("{name}", re.escape(name)), re.MULTILINE)
    defines = re.compile(shows.replace("{name}", re.escape(name)), re.MULTILINE)
    taken = [(path, match) for path in pointed if shows is _DEFINES for match in [takes.search(texts[path])] if match]
    for path in [*pointed, *sorted(texts.keys() - set(pointed))]:
        if match := defines.search(texts[path]):
            yield MissingNameClaim(name, path, _line_number(texts[path], match))
    files = diff_of(dossier.diff).files
    for file in files:
        for line in file.added_lines:
            if line.head_line is not None and defines.search(line.text[:_LONGEST]):
                yield MissingNameClaim(name, file.path, line.head_line)
    if not taken or any(defines.search(line.text) for file in files for line in file.removed_lines):
        return  # where a definition was removed, the reject may be right
    for path, match in taken:
        line = texts[path][match.start() : match.end() + _LONGEST].partition("\n")[0][-2 * _LONGEST :]
        if not _was_source_searched(name, line, path, texts):
            yield MissingNameClaim(name, path, _line_number(texts[path], match), is_imported=True)


def _line_number(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.end()) + 1


def _was_source_searched(name: str, takes: str, path: str, texts: Mapping[str, str]) -> bool:
    """Whether the file that the line imports from is known, and does not contain the name."""
    source = _SOURCE.search(takes)
    module = next(filter(None, source.groups()), "").lower() if source else ""
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    kind = path.rpartition(".")[2]
    beside = ((other, text) for other, text in texts.items() if other != path and other.rpartition(".")[2] == kind)
    for other, text in beside:
        folder, _, file = other.rpartition("/")
        stem = file.partition(".")[0].lower()
        is_own = stem in _FOLDER_FILES and folder  # a package's own file has its folder's name
        if module == (folder.rpartition("/")[2].lower() if is_own else stem) and word.search(text) is None:
            return True
    return False


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
