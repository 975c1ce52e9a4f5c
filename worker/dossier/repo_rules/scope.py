"""What a rule of a rules file is, and the words around its sentence: where it holds, and what may hide an exception.

A rule `is_sure` only where every word of its sentence was understood; words not understood make it unsure.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from worker.domain.pattern import pattern


class RuleKind(StrEnum):
    FORBIDDEN_CODE = "forbidden code"
    FORBIDDEN_PATH = "forbidden path"
    OWN_PULL_REQUEST = "own pull request"
    """These files may change, but with nothing else."""
    CHANGELOG = "changelog"
    DOCSTRING = "docstring"
    TESTS = "tests"
    DEPENDENCIES = "no new dependency"


class RuleReach(StrEnum):
    """Which code a rule is about."""

    ALL = "all code"
    LIBRARY = "library code"
    TESTS = "tests"


class PathTouch(StrEnum):
    """What a rule forbids to do to a path."""

    CHANGE = "change"
    ADD = "add"
    REMOVE = "remove"


class DutyScope(StrEnum):
    """Which changes a duty falls on."""

    EVERY_CHANGE = "every change"
    BEHAVIOUR = "a change of behaviour"


@dataclass(frozen=True)
class RuleScope:
    """`inside` and `outside` are paths as the rule writes them; `root` is the folder of the rules file, `""` or `a/b/`."""

    root: str = ""
    reach: RuleReach = RuleReach.ALL
    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RuleOrigin:
    """Where the rule is written. `text` is its sentence."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class RepoRule:
    """`targets` are the code, the paths or the file-name patterns that the rule names.

    `noun` is what the rule calls them ("calls", "blocks", "imports"), `is_by_hand` tells a path that a tool may change.
    """

    kind: RuleKind
    origin: RuleOrigin
    targets: tuple[str, ...] = ()
    scope: RuleScope = RuleScope()
    is_sure: bool = False
    noun: str = ""
    touches: frozenset[PathTouch] = frozenset()
    is_by_hand: bool = False
    duty_scope: DutyScope = DutyScope.EVERY_CHANGE


SPAN_LIST: Final = r"«\d+»(?:(?:,? (?:and|or|nor) |, ?| ?/ ?)«\d+»){0,20}"
SPAN_NUMBER: Final = pattern(r"«(\d+)»")

LANGUAGES: Final = {
    "python": "python",
    "go": "go",
    "golang": "go",
    "rust": "rust",
    "java": "java",
    "typescript": "typescript",
    "ts": "typescript",
    "javascript": "javascript",
    "js": "javascript",
    "tsx": "tsx",
    "react": "tsx",
}
LANGUAGE_WORD: Final = r"(python|golang|go|rust|java|typescript|ts|javascript|js)"
_LIBRARY: Final = r"(?:library|production|prod|source|non-test|shipped|runtime|application|app|package|published)"

_NOTHING: Final = pattern(
    r"[\s,.;:!]+|(?:directly|anywhere|at all|ever|yourself|by hand|manually|please|here|behind|left|remaining|in place|lying around|for any reason|under any circumstances)\b"
    r"|(?:in|to|into|from) (?:(?:the|our|any|this|new|your|a|all|of) )*(?:code ?base|code|repo|repository|project)\b|for (?:agents|bots|everyone|all of us|now)\b"
    r"|unless (?:(?:a|the|an|one|some|our) )?(?:maintainers?|owners?|issue|code ?owners?|you are|you're|you were|explicitly|specifically|it is|it's)\b[^.;«]{0,20}"
    r"\b(?:asks?|asked|requests?|requested|told|wants?)\b(?: (?:for|you|to|it|so|do|otherwise|this|that|explicitly|for it)\b){0,4}"
    r"|to (?:make|get) (?:the |all |ci |your )*(?:checks?|tests?|build|linter|lint|ci|types?|type ?checker) (?:pass|green|through|happy)\b"
    r"|in new code\b|in (?:commits|committed code)\b",
    re.IGNORECASE,
)
_IN_LIBRARY: Final = pattern(
    rf"(?:in|inside|within) (?:the |any |our )?(?:{_LIBRARY}(?: code| files?| modules?| packages?| sources?)?"
    rf"|packages|libraries|libs?)\b(?: code\b)?"
    r"|(?:outside(?: of)?|except(?: in| for)?|other than in|but not in|apart from(?: in)?|not in)"
    r" (?:the |unit |any |our )?(?:tests?|main|examples|scripts|the cli)\b(?: code\b| files?\b| functions?\b| packages?\b| suites?\b)?"
    r"|in non-test (?:code|files)",
    re.IGNORECASE,
)
_IN_ALL: Final = pattern(
    rf"(?:in|inside) (?:the |any )?(?:tests? (?:or|and|nor) (?:in )?(?:the )?{_LIBRARY}"
    rf"|{_LIBRARY} (?:code )?(?:or|and|nor) (?:in )?(?:the )?tests?)(?: code| files)?\b",
    re.IGNORECASE,
)
_IN_TESTS: Final = pattern(
    r"(?:in|inside|within) (?:the |unit |any |our )?tests?\b(?: code\b| files?\b)?", re.IGNORECASE
)
_IN_LANGUAGE: Final = pattern(
    rf"in (?:any |our |new )?{LANGUAGE_WORD}\b(?: code\b| files?\b| sources?\b)?", re.IGNORECASE
)
_INSIDE: Final = pattern(
    rf"(?:in|inside|within|under|below|from)(?: of)? (?:the |any file (?:in|under) |files (?:in|under) )?({SPAN_LIST})"
    r"(?: (?:folder|directory|package|module|files?|tree|code)\b)?",
    re.IGNORECASE,
)
_OUTSIDE: Final = pattern(
    rf"(?:outside(?: of)?|except(?: in| under| for)?|other than in|but not in)(?: the)? ({SPAN_LIST})"
    r"(?: (?:folder|directory|package|module|files?|tree)\b)?",
    re.IGNORECASE,
)
_EXPLANATION: Final = pattern(
    r"(?:(?:an?|the|our|another) [\w -]{1,30}?(?:writes?|rewrites?|overwrites?|generates?|owns?|maintains?|makes?|creates?|breaks?|has|have|will|would)\b"
    r"|use|call|return|prefer|log|raise|throw|inject|pass|instead|because|since|as (?:it|they|this|these)\b|it |it's|they |this "
    r"|these |that |name |ask |write |rather|always |see |fix )",
    re.IGNORECASE,
)
_MAY: Final = pattern(
    r"\b(?:unit )?(tests?|scripts?|examples?|benchmarks?|the cli|main)(?: code| files)?(?:,? (?:and|or) (?:tests?|scripts?|examples?"
    r"|benchmarks?|the cli|main))?(?: code| files)? (?:may|can|are (?:fine|exempt|excluded|ok|okay|allowed)|is (?:fine|ok|okay|allowed))"
    r"|\b(?:fine|allowed|ok|okay|permitted|acceptable) in (?:the |unit )?tests?\b",
    re.IGNORECASE,
    needs=("may", "can", "fine", "exempt", "excluded", "ok", "allowed", "permitted", "acceptable"),
)
DOUBT_WORDS: Final = pattern(
    r"\b(?:unless|except|exceptions?|exempt|excluding|however|but|only|if|when|whenever|while|where|without|allowed|permitted"
    r"|may|fine|ok|okay|possible|necessary|needed|by default|usually|generally|typically|mostly|prefer\w*|try|should|avoid|ideally"
    r"|consider|for example|e\.g|such as|like|mainly|legacy|new (?:files|modules)|until|before|after|during|rarely|sparingly)\b",
    re.IGNORECASE,
)
_MOST_QUALIFIERS: Final = 12


@dataclass(frozen=True)
class ScopeReading:
    """A scope, and whether all words around it were understood."""

    scope: RuleScope
    is_sure: bool = True


def read_qualifiers(text: str, spans: tuple[str, ...], start: RuleScope) -> ScopeReading:
    """Read the words behind a rule's objects, as long as they are understood."""
    scope, rest = start, text.strip()
    for _ in range(_MOST_QUALIFIERS):
        taken = _read_first(rest, spans, scope)
        if taken is None:
            break
        scope, rest = taken
    if rest and _EXPLANATION.match(rest):
        rest = rest if DOUBT_WORDS.search(rest) else ""
    return ScopeReading(scope, not rest)


def _read_first(rest: str, spans: tuple[str, ...], scope: RuleScope) -> tuple[RuleScope, str] | None:
    """The scope after the first qualifier, and what is left."""
    if rest.startswith("("):
        return _in_brackets(rest, scope)
    for form, reach in ((_IN_ALL, RuleReach.ALL), (_IN_LIBRARY, RuleReach.LIBRARY), (_IN_TESTS, RuleReach.TESTS)):
        if match := form.match(rest):
            return replace(scope, reach=reach), rest[match.end() :]
    if match := _IN_LANGUAGE.match(rest):
        return replace(scope, languages=find_languages(match[1])), rest[match.end() :]
    if match := _INSIDE.match(rest):
        return replace(scope, inside=(*scope.inside, *select_spans(match[1], spans))), rest[match.end() :]
    if match := _OUTSIDE.match(rest):
        return replace(scope, outside=(*scope.outside, *select_spans(match[1], spans))), rest[match.end() :]
    match = _NOTHING.match(rest)
    return (scope, rest[match.end() :]) if match else None


def _in_brackets(rest: str, scope: RuleScope) -> tuple[RuleScope, str] | None:
    inner, closed, after = rest[1:].partition(")")
    if not closed:
        return None
    if _MAY.search(inner):
        return replace(scope, reach=RuleReach.LIBRARY), after
    return None if DOUBT_WORDS.search(inner) else (scope, after)


def read_exceptions(others: str, scope: RuleScope) -> ScopeReading:
    """Read the rest of the statement, which may make an exception."""
    if _MAY.search(others):
        scope, others = replace(scope, reach=RuleReach.LIBRARY), _MAY.sub(" ", others)
    return ScopeReading(scope, not _EXCEPTION.search(others))


_EXCEPTION: Final = pattern(
    r"\b(?:unless|except(?! ?:)|(?:only|one|single|an|the only|no|with the|sole) exceptions?|exceptions? (?:is|are|for|to|apply)|exceptions?:"
    r"|exempt|excluding|however|but|only if|only when|allowed|permitted|may be|may use|is fine"
    r"|are fine|if (?:you|it|there|absolutely|really|genuinely|necessary|needed)|ask first|by default|where (?:possible|necessary)"
    r"|when (?:possible|necessary|needed)|prefer)\b",
    re.IGNORECASE,
)


def find_languages(word: str) -> frozenset[str]:
    language = LANGUAGES[word.casefold()]
    return frozenset({language, "tsx"} if language in {"typescript", "javascript"} else {language})


def select_spans(text: str, spans: tuple[str, ...]) -> tuple[str, ...]:
    """The code spans that *text* number."""
    return tuple(spans[int(number)] for number in SPAN_NUMBER.findall(text))
