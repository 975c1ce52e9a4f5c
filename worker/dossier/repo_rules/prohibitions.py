"""Sentences that forbid: code that must not be added, paths that must not be touched.

The many ways to forbid are put into one first: "do not <verb> <objects> ...". Only imperatives count ("never", "do not", "no ...");
soft words ("avoid", "prefer", "should not") make no rule.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.repo_rules.scope import (
    DOUBT_WORDS,
    SPAN_LIST,
    PathTouch,
    RepoRule,
    RuleKind,
    RuleOrigin,
    ScopeReading,
    read_qualifiers,
    select_spans,
)

_NOT: Final = (
    r"(?:(?:must|shall|may|can) ?(?:not|never)|(?:do|does|are|is) not|don't|dont|never|cannot|can't)(?: ever)?"
)
_BANNED_WORDS: Final = (
    r"(?:strictly |explicitly |absolutely )?(?:forbidden|banned|not allowed|never allowed|prohibited|disallowed|not permitted|off[- ]limits"
    r"|a no-go|rejected|not accepted|never accepted|never to be used|taboo)"
)
_GERUNDS: Final = {
    "using": "use",
    "calling": "call",
    "importing": "import",
    "adding": "add",
    "catching": "catch",
    "writing": "write",
    "introducing": "introduce",
    "leaving": "leave",
    "committing": "commit",
    "printing": "print",
    "throwing": "throw",
    "raising": "raise",
    "editing": "edit",
    "changing": "change",
    "modifying": "modify",
    "touching": "touch",
    "patching": "edit",
    "updating": "update",
    "deleting": "delete",
    "removing": "remove",
    "renaming": "rename",
    "suppressing": "suppress",
    "silencing": "silence",
    "disabling": "disable",
}
_GERUND: Final = rf"(?:{'|'.join(_GERUNDS)})"
_VERB: Final = rf"(?:{'|'.join(sorted(set(_GERUNDS.values())))}|contain|log|rely|depend|reach|include|have|hold|invoke|insert|put|pull|keep|create|merge|ship)"
_PEOPLE: Final = r"(?:nobody|no one|no (?:agent|contributor|developer|pull request|pr|commit|patch|bot|code|module|file|class|function|package)s?)"
_CODE_WORDS: Final = r"(?:code|files?|modules?|classes|packages?|sources?|source files?|functions?|components?|tests?|anything|everything)"
_INSTEAD: Final = r"(?:instead of|rather than|,? and not|,? but not|,? not|,? and never|[,;]? never)"
_ABOUT: Final = r"(?:any |all |the |a |an |calls? to |uses? of |bare |plain |raw )"


@dataclass(frozen=True)
class PlainSentence:
    """A sentence in plain words, and apart from it the words that name where it holds."""

    prose: str
    scope_text: str = ""


def to_imperative(prose: str) -> PlainSentence:
    """The sentence as an imperative that forbids, if it is another wording of one."""
    where = ""
    for regex, preposition in _SCOPE_PATTERNS:
        match = regex.match(prose)
        if match is not None:
            where, prose = f"{preposition}{match['where']}", match["rest"]
            break
    for regex, put in _REPLACEMENTS:
        prose = regex.sub(put, prose, count=1)
    return PlainSentence(prose, where)


_SCOPE_PATTERNS: Final = (
    (
        pattern(
            rf"(?P<where>(?:in|inside|within|under|outside(?: of)?) (?:[^«»,:;.]{{1,40}}|(?:the )?{SPAN_LIST}(?: (?:folder|directory|package|code|files))?))"
            rf"(?:, |: )(?:always )?(?P<rest>(?:{_NOT}|no|use) .*)",
            re.IGNORECASE | re.DOTALL,
        ),
        "",
    ),
    (
        pattern(
            rf"(?:all |any |the |our |new )*{_CODE_WORDS} (?:in|under|inside|within|of|below) (?:the )?(?P<where>{SPAN_LIST})(?: folder| directory)? (?P<rest>{_NOT} (?!(?:be|been)\b).*)",
            re.IGNORECASE | re.DOTALL,
        ),
        "in ",
    ),
    (
        pattern(
            rf"(?:the )?(?P<where>{SPAN_LIST})(?: folder| directory| package| code)? (?P<rest>{_NOT} (?:import|depend on|use|call|rely on|reach for|contain) .*)",
            re.IGNORECASE | re.DOTALL,
        ),
        "in ",
    ),
    (
        pattern(
            r"(?:the |all |our )?(?P<where>(?:library|production|source|application|package|non-test|test|shipped)(?: code| files?| modules?)?|tests|packages|libraries)"
            rf" (?P<rest>{_NOT} (?!(?:be|been)\b).*)",
            re.IGNORECASE | re.DOTALL,
        ),
        "in ",
    ),
)


def _replace_gerund(match: "re.Match[str]") -> str:
    return f"do not {_GERUNDS[match['verb'].casefold()]} {match['rest']}"


def _replace_instead(match: "re.Match[str]") -> str:
    verb = _GERUNDS[match["verb"].casefold()] if match["verb"] else "use"
    return f"do not {verb} {match['what']}"


_FREE: Final = r"(?:must |has to |have to |is to |should always )?(?:stays?|be|kept|keep|remains?|is|are)? ?(?:kept )?free (?:of|from)"
_REPLACEMENTS: Final[tuple[tuple["re.Pattern[str]", "str | Callable[[re.Match[str]], str]"], ...]] = (
    (pattern(r"^(?:absolutely|strictly|definitely|really|remember|important|note)[,:]? (?:that )?(?=no |never|do not|don't|we )", re.IGNORECASE), ""),
    (pattern(r"^(never|do not), ever,? ", re.IGNORECASE), r"\1 "),
    (pattern(r"^i (?:have not|haven't|did not|didn't) (?:added|add|used|use|left|leave|introduced|introduce) ", re.IGNORECASE), "do not add "),
    (pattern(rf"^(?:avoid )?({SPAN_LIST})((?: \w+)?) (?:has no (?:place|business)|have no place|(?:does|do) not belong|must not appear|may not appear|must never appear|never appears?)\b", re.IGNORECASE), r"do not use \1\2"),
    (pattern(rf"^keep ({SPAN_LIST})((?: \w+)?) out of ", re.IGNORECASE), r"do not use \1\2 in "),
    (pattern(rf"^keep ([^«]{{3,40}}) free (?:of|from) ({SPAN_LIST})", re.IGNORECASE), r"do not use \2 in \1"),
    (pattern(rf"^([^«]{{3,40}}?) {_FREE} ({SPAN_LIST})", re.IGNORECASE), r"do not use \2 in \1"),
    (pattern(rf"^no ({SPAN_LIST})((?: \w+)?) (?:may|must|can|shall) (?:ever )?be (?:committed|used|left|added|merged|introduced)\b", re.IGNORECASE), r"no \1\2"),
    (pattern(rf"^({SPAN_LIST})((?: \w+)?) (?:must|has to|have to) be (?:removed|deleted) (?:before|prior to) [\w ]{{3,40}}", re.IGNORECASE), r"do not commit \1\2"),
    (pattern(rf"^(?:[a-z]+ ){{1,4}}\(({SPAN_LIST})\) (?=(?:must|may|is|are|shall)\b)", re.IGNORECASE), r"\1 "),
    (pattern(rf"^({SPAN_LIST})((?: \w+)?) (?:(?:is|are) (?:only (?:allowed|permitted|ok|fine)|(?:allowed|permitted|ok|fine) only)|may only be (?:used|called)|may be used only|(?:is|are) (?:allowed|permitted|ok|fine)(?= in [a-z ]{{3,20}} only)) in (?:the )?(tests?|main)\b(?: code| functions?)?(?: only)?", re.IGNORECASE), r"do not use \1\2 outside of \3"),
    (pattern(rf"^(?:types?|nothing|values?) ({_NOT}|may|must) be (?:typed )?(?:as )?(?=«)", re.IGNORECASE), "do not use "),
    (pattern(rf"^({_NOT}) type [a-z ]{{3,30}} as (?=«)", re.IGNORECASE), "do not use "),
    (pattern(rf"^({SPAN_LIST})(?: (?:folder|directory|files?))? (?:must |shall |has to )?(?:stays?|remains?) (?:untouched|unchanged|as (?:it|they) (?:is|are)|as is|alone)", re.IGNORECASE), r"do not touch \1"),
    (pattern(r"^only (?:the |our )?[a-z -]{3,40} (?:may|can|is allowed to|are allowed to) (?:edit|change|modify|touch|update) (?:the |files in |anything in )*(?=«)", re.IGNORECASE), "do not touch "),
    (pattern(rf"^({SPAN_LIST}) \((?:do not|don't|never) (?:edit|touch|modify|change)\)", re.IGNORECASE), r"do not touch \1"),
    (pattern(rf"^(?:any )?(?:edits?|changes?) (?:to|in|under) (?:files (?:in|under) )?(?:the )?({SPAN_LIST}) are reserved (?:to|for) [a-z ]{{3,40}}", re.IGNORECASE), r"do not touch \1"),
    (pattern(rf"^(?:manual |any )?(?:edits?|changes?) (?:to|in|under) (?:files (?:in|under) )?(?:the )?({SPAN_LIST}) (?:will be|are|get) (?:overwritten|lost|discarded)", re.IGNORECASE), r"do not edit \1 by hand"),
    (pattern(rf"^(?:{_NOT}) mix (?:changes (?:to|in|of) )?({SPAN_LIST})(?: changes)? (?:with|and) (?:other )?(?:code|changes|features?|code changes|anything else)(?: changes)?", re.IGNORECASE), r"\1 is changed in its own pull request"),
    (pattern(rf"^(?:change|edit|update|bump) ({SPAN_LIST}) (?:only )?in (?:a (?:separate|dedicated) pull request|a pull request of its own|its own pull request|a pr of its own|its own pr)", re.IGNORECASE), r"\1 is changed in its own pull request"),
    (pattern(rf"^({SPAN_LIST}) changes (?=(?:belong|go|must))", re.IGNORECASE), r"changes to \1 "),
    (pattern(r"^[❌🚫⛔️]+\s*(?=«)"), "do not use "),
    (pattern(rf"^[❌🚫⛔️]+\s*(?={_VERB}\b)", re.IGNORECASE), "do not "),
    (pattern(r"^[❌🚫⛔️]+\s*"), ""),
    (pattern(rf"^(?:it is|it's) {_BANNED_WORDS} to ", re.IGNORECASE), "do not "),
    (pattern(rf"^(?:please |strictly )?refrain from (?P<verb>{_GERUND}) (?P<rest>.*)", re.IGNORECASE | re.DOTALL), _replace_gerund),
    (pattern(rf"^(?P<verb>{_GERUND}) (?P<rest>[^.;]{{0,200}}?) (?:is|are) {_BANNED_WORDS}", re.IGNORECASE | re.DOTALL), _replace_gerund),
    (pattern(r"^(?:please )?(?:(?:stay|keep) (?:out of|away from|your hands off|clear of)|hands off(?: of)?) (?:the |files in |anything in )*", re.IGNORECASE), "do not touch "),
    (pattern(rf"^(?:the )?({SPAN_LIST}):? (?:is )?(?:hands off|off[- ]limits|do not (?:touch|edit)$)", re.IGNORECASE), r"do not touch \1"),
    (pattern(rf"^(?:the )?({SPAN_LIST}): (?=(?:do not|don't|never) (?:touch|edit|modify|change)\b)", re.IGNORECASE), r"\1 is off limits, "),
    (pattern(rf"^{_PEOPLE} (?:ever )?(?:(?:may|can|must|is allowed to|shall) )?(?:ever )?(?P<verb>{_VERB})e?s? ", re.IGNORECASE), r"do not \g<verb> "),
    (pattern(rf"^nothing (?:in|under|inside|within) (?:the )?({SPAN_LIST}) (?:may|can|must|is allowed to|shall) (?:ever )?(.*)", re.IGNORECASE | re.DOTALL), r"do not \2 in \1"),
    (pattern(r"^no (?:more )?(?:manual |direct |hand )?(?:changes?|edits?|modifications?|writes?) (?:to|in|under|inside|of|within) ", re.IGNORECASE), "do not edit "),
    (pattern(rf"^(?:always )?(?:re)?generate ({SPAN_LIST})[^;]{{0,80}}(?:instead of|rather than) (?:editing|changing) (?:it|them)\b", re.IGNORECASE), r"do not edit \1 by hand"),
    (pattern(rf"^(?:(?:for|to) [\w ]{{1,20}},? )?(?:always )?(?:use|log with|log through|log via|log to|return|raise|throw|fix|write|call|run|go through|import|read|inject)\b[^;]{{0,120}}?{_INSTEAD} (?:(?P<verb>{_GERUND}) )?(?:the )?{_ABOUT}{{0,3}}(?P<what>«\d)", re.IGNORECASE | re.DOTALL), _replace_instead),
    (pattern(rf"^(?:{_NOT}) (?:suppress|silence|disable|bypass|hide|paper over|cover up|get around|mute|circumvent|switch off|turn off|work around|shut up)\b[^«(]{{0,60}}?(?:with|via|using|through|by adding|by means of|by)? ?(?=[(«])", re.IGNORECASE), "do not use "),
    (pattern(rf"^(?:we |you |agents? |one )?{_NOT} (?=«)", re.IGNORECASE), "do not use "),
    (pattern(rf"^(?:(?:classes|modules|functions|components|code|new code|our code|source code|files|source files) )({_NOT}) ", re.IGNORECASE), r"\1 "),
    (pattern(rf"^({_NOT}) (call|use|import|contain|log|throw|print|catch|touch|edit)e?s ", re.IGNORECASE), r"\1 \2 "),
    (pattern(rf"^(?:a |the )?(?:ban on|veto on) ({SPAN_LIST})", re.IGNORECASE), r"do not use \1"),
    (pattern(rf"^(?:new )?imports? (?:of|from) ((?:the )?{SPAN_LIST})(?: package| module| library)? (?:is|are) {_BANNED_WORDS}", re.IGNORECASE), r"do not import \1"),
)  # fmt: skip

_NEVER: Final = (
    r"(?:please |and |also |important |you |we |agents? |contributors? |pull requests? |prs? |commits? |bots? |copilot |claude )*(?:(?:must|shall|may) (?:not|never)|do not|don't|dont|never"
    r"|cannot|can't)(?: ever| directly| manually| hand-| make any manual)* ?"
)
_CODE_VERB: Final = (
    r"(?:make use of|use|using|call|add|write to|write|introduce|import from|import|invoke|print with|print using|print through|log with|log through|log via"
    r"|leave|commit|include|catch|contain|have|hold|keep|pull in|bring in"
    r"|insert|create|put|rely on|depend on|reach for|return|cast to|merge|ship|check in|apply|annotate with|throw|raise|log|print)"
)
_PATH_VERB: Final = (
    r"(?:hand[- ]?edit|edit|modify|change|touch|alter|update|write to|write in|write into|rewrite|delete|remove|rename|move|commit"
    r"|add(?: new)?(?: files?| code| anything)?(?: to| in| under)?|create(?: new)? files? (?:in|under)|put files? (?:in|under|into)"
    r"|check in|patch|make (?:any |manual |direct )*(?:changes?|edits?) (?:to|in|under)|create|reformat|tamper with)"
)
_JOIN: Final = r"(?:,? (?:or|and|nor) |, ?|/)"
_CODE: Final = pattern(rf"{_NEVER}{_CODE_VERB}(?:{_JOIN}{_CODE_VERB}){{0,4}} (.*)", re.IGNORECASE | re.DOTALL)
_PATH: Final = pattern(
    rf"{_NEVER}({_PATH_VERB}(?:{_JOIN}{_PATH_VERB}){{0,4}}) (?:(?:the|any|a|all|of|files?|code|anything|content|contents|something"
    r"|in|inside|under|within|below|to|generated|vendored|file|folder|directory|everything|sources?) )*?"
    rf"\(?({SPAN_LIST})\)?(.*)",
    re.IGNORECASE | re.DOTALL,
)
_NO: Final = pattern(r"(?:there must be |and )?no (.*)", re.IGNORECASE | re.DOTALL)
_BANNED: Final = pattern(
    rf"(?:the |all |any |new |bare |calls to |uses? of |usages? of |using )*({SPAN_LIST})((?: \w+){{0,2}}) (?:is|are) "
    r"(?:strictly |explicitly |absolutely )?(?:forbidden|banned|not allowed|never allowed|prohibited|disallowed|off[- ]limits|not permitted|rejected|not accepted"
    r"|never to be (?:used|called|imported|added|committed))(.*)",
    re.IGNORECASE | re.DOTALL,
)
_MUST_NOT: Final = pattern(
    rf"(?:the |all |any |new |bare |calls to |uses? of )*({SPAN_LIST})((?: \w+)?) (?:must|shall|may|can) (?:not|never) (?:ever )?be "
    r"(?:used|called|imported|added|introduced|committed|left|written|caught|printed)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_PATH_MUST_NOT: Final = pattern(
    rf"(?:(?:the|all|any|generated|vendored|files?|code|everything|anything|in|under|inside|below|within|contents?|of|folder|file) )*\(?"
    rf"({SPAN_LIST})\)?(?: (?:folder|directory|files?))? (?:must|may|shall|should|can) ?(?:not|never) (?:ever |be )*"
    r"(?:(?:manually|hand-)\s?)?(?:edited|changed|modified|touched|altered|updated|removed|deleted|renamed|edit)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_PATH_IS: Final = pattern(
    rf"(?:(?:the|all|any|folder|directory|files?|code|sources?|everything|anything|in|under|inside|below|within|contents?|of|generated|vendored) )*"
    rf"({SPAN_LIST})(?: (?:folder|directory|files?))? (?:(?:is|are|was|were|belongs?|holds?|contains?|comes?) )+([^.;,:()]{{1,100}}?)"
    r"((?:$|[,;:(]| and (?:must|may|can) ).*)",
    re.IGNORECASE | re.DOTALL,
)
_PATH_HOLDS: Final = pattern(
    rf"(?:[a-z-]{{2,20}} ){{1,4}}(?:lives?|is|are|sits?|stands?|found) (?:in|under) (?:the )?({SPAN_LIST})()((?:$|[,;:(]).*)",
    re.IGNORECASE | re.DOTALL,
)
_PATHS_PRONOUN: Final = pattern(
    rf"{_NEVER}{_PATH_VERB}(?:{_JOIN}{_PATH_VERB}){{0,3}} (?:them|it|these|those|this|that|its contents?|these files|this file"
    r"|this folder|anything there|anything in there|by hand|manually)\b(.*)|(?:please )?leave (?:it|them) (?:alone|as (?:it|they) (?:is|are))(.*)|.{0,80}\binstead of (?:editing|changing) (?:them|it)\b(.*)"
    rf"|{_NEVER}{_PATH_VERB}$()"
    r"|(?:always )?(?:edit|change) (?:the |its )?[^.;]{3,60} instead(.*)"
    r"|(?:and )?(?:must|may|can) ?(?:not|never) be (?:manually |ever )?(?:edited|changed|modified|touched|altered)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_LEAVE: Final = pattern(
    rf"(?:please )?(?:leave|keep) (?:the |everything (?:in|under) |files (?:in|under) )?({SPAN_LIST})(?: (?:folder|directory|files?))? "
    r"(?:alone|untouched|as (?:it|they) (?:is|are)|unchanged|as is)(.*)"
    rf"|treat (?:the |everything in |files in )?({SPAN_LIST})(?: (?:folder|directory|files?))? as (?:read[- ]only|frozen|generated|vendored|off[- ]limits|immutable)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_PATHS_OWNED: Final = pattern(
    rf"(?:changes? to |edits? (?:to|of) )?({SPAN_LIST}) (?:is|are|must be|may be|may only be|must go|go(?:es)?|belongs?)(?: only)?(?: changed| edited| updated)?"
    r"(?: only)? (?:in|into) (?:its|their|a|an) (?:own|separate|dedicated) (?:pull request|pr)s?(?: only)?(.*)",
    re.IGNORECASE | re.DOTALL,
)
_PATH_BANNED: Final = pattern(
    rf"(?:manual |hand )?(?:edits?|changes?|modifications?|writes?|editing|changing|modifying) (?:to |in |under |of |inside |files (?:in|under) )?(?:the )?({SPAN_LIST})"
    r"(?: (?:folder|directory|files?))? (?:by hand )?(?:is|are) (?:strictly )?(?:not allowed|not accepted|forbidden|prohibited|disallowed|off[- ]limits|rejected)(.*)",
    re.IGNORECASE | re.DOTALL,
)
_BY_HAND: Final = pattern(
    r"\bby hand\b|\bmanual(?:ly)?\b|\bgenerated\b|\bhand-|\bvendored\b|\bdirectly\b|\block ?files?\b|\bbuild (?:output|artifacts?)\b|\bbuilt\b",
    re.IGNORECASE,
)

_BEFORE: Final = pattern(
    r"(?:(?:the|any|a|an|new|more|raw|direct|plain|bare|inline|calls?|to|uses?|usages?|of|log|logging|print|debug|debugging|statements?"
    r"|stray|leftover|blanket|functions?|comments?|ever|global|unchecked|empty|all|directives?|suppressions?|in|code|java|wildcard"
    r"|type|casts?|imports?|from|skipped|disabled|third-party|external|library|package|module|use|using|calling|markers?) )*\(?",
    re.IGNORECASE,
)
_NOUN: Final = pattern(
    r"(?:s\b|type )?\s?(casts?|types?|blocks?|comments?|directives?|statements?|attributes?|annotations?|calls?|macros?|imports?"
    r"|functions?|keywords?|decorators?|methods?|declarations?|exports?|markers?|notes?|suppressions?|package|module|library|builtin"
    r"|assertions?|operators?|pragmas?|variables?|usages?|invocations?|expressions?|handlers?|clauses?)?\b(?: comments?\b)?",
    re.IGNORECASE,
)
_INNER: Final = pattern(rf"\s?\(({SPAN_LIST})\)", re.IGNORECASE)
_COMMAND: Final = pattern(
    r"(?:git|npm|pnpm|yarn|go|cargo|make|gh|bd|pip|uv|docker|kubectl|pytest|mvn|gradle|npx|bun|deno|brew) \S|-{1,2}\w|\$|<<"
)
_PATHS: Final = pattern(
    r"[\w.@*{}-]*(?:/[\w.@*{}\[\]-]*)+|(?:[\w*-][\w.*-]*)?\.(?:lock|json|toml|ya?ml|md|rst|txt|xml|sum|mod|cfg|ini|sql|proto|svg|png|csv"
    r"|snap|lockb|gradle|kts|html|css|min\.js|pb\.go|generated\.\w+|g\.\w+|py|ts|js|go|rs|java)"
    r"|Makefile|Dockerfile|CODEOWNERS|LICENSE|go\.sum|go\.mod|\.gitignore|\.env|yarn\.lock"
)


def is_path(span: str) -> bool:
    """Whether a code span names files rather than code."""
    return _PATHS.fullmatch(span) is not None and span.strip("/*.") != "" and not span.startswith(("//", "/*", "@/"))


@dataclass(frozen=True)
class RuleSentence:
    """One sentence of a statement, and where it holds by its surroundings. `other_sentences` are the statement's others."""

    prose: str
    spans: tuple[str, ...]
    origin: RuleOrigin
    surroundings: ScopeReading
    other_sentences: tuple[str, ...] = ()


def find_prohibitions(sentence: RuleSentence) -> Iterator[RepoRule]:
    """The rules that the sentence makes by forbidding something."""
    yield from _find_path_bans(sentence) or _find_code_bans(sentence)


def _find_path_bans(sentence: RuleSentence) -> list[RepoRule]:
    if match := _PATHS_OWNED.match(sentence.prose):
        return _of_paths(sentence, RuleKind.OWN_PULL_REQUEST, match[1], match[2])
    if match := _PATH.match(sentence.prose):
        if together := _TOGETHER.match(match[3]):
            return _of_paths(sentence, RuleKind.OWN_PULL_REQUEST, match[2], match[3][together.end() :])
        return _of_paths(sentence, RuleKind.FORBIDDEN_PATH, match[2], match[3], _find_touches(match[1]))
    for form in (_LEAVE, _PATH_MUST_NOT, _PATH_BANNED):
        if match := form.match(sentence.prose):
            objects, after = (group for group in match.groups() if group is not None)
            return _of_paths(sentence, RuleKind.FORBIDDEN_PATH, objects, after)
    return _find_generated_bans(sentence)


def _find_generated_bans(sentence: RuleSentence) -> list[RepoRule]:
    """`x/` is generated: do not edit it."""
    match = _PATH_IS.match(sentence.prose) or _PATH_HOLDS.match(sentence.prose)
    if match is None or DOUBT_WORDS.search(_READ_ONLY.sub("", match[2])):
        return []
    behind = match[3].lstrip(" ,")
    them = next(filter(None, map(_PATHS_PRONOUN.match, (behind, *sentence.other_sentences))), None)
    after = "" if them is None else next((group for group in them.groups() if group), "")
    if them is not None:
        kept = "" if them.string is behind else match[3]
        return _of_paths(sentence, RuleKind.FORBIDDEN_PATH, match[1], f"{kept} {after}")
    if _CLOSED.match(match[2]):
        return _of_paths(sentence, RuleKind.FORBIDDEN_PATH, match[1], match[3])
    return []


_READ_ONLY: Final = pattern(r"\bread[- ]only\b", re.IGNORECASE)
_CLOSED: Final = pattern(r"read|off|frozen", re.IGNORECASE)
_TOGETHER: Final = pattern(
    r" (?:together|along|at the same time) (?:with|as) (?:other |any )?(?:code|changes|features?|fixes|source files)(?: changes)?|"
    r" in the same (?:pull request|pr|commit) as (?:other |any )?(?:code|changes)(?: changes)?",
    re.IGNORECASE,
)


def _find_touches(verbs: str) -> frozenset[PathTouch]:
    touches: set[PathTouch] = set()
    for verb in re.split(r",? (?:or|and|nor) |, ?|/", verbs.casefold()):
        if verb.startswith(("delete", "remove", "rename", "move")):
            touches.add(PathTouch.REMOVE)
        elif verb.startswith(("add", "commit", "create", "put", "check")):
            touches.add(PathTouch.ADD)
        else:
            touches |= set(PathTouch)
    return frozenset(touches)


def _of_paths(
    sentence: RuleSentence,
    kind: RuleKind,
    objects: str,
    after: str,
    touches: frozenset[PathTouch] = frozenset(PathTouch),
) -> list[RepoRule]:
    targets = select_spans(objects, sentence.spans)
    if not all(map(is_path, targets)):
        return []
    whole = " ".join((sentence.prose, *sentence.other_sentences))
    understood = read_qualifiers(_PATH_NOUN.sub("", after), sentence.spans, sentence.surroundings.scope)
    return [
        RepoRule(
            kind,
            sentence.origin,
            targets,
            understood.scope,
            is_sure=sentence.surroundings.is_sure and understood.is_sure,
            touches=touches,
            is_by_hand=_BY_HAND.search(whole) is not None,
        )
    ]


_PATH_NOUN: Final = pattern(r"^ (?:folder|directory|files?|tree|package|module|code|sources?)\b", re.IGNORECASE)


def _find_code_bans(sentence: RuleSentence) -> list[RepoRule]:
    prose = sentence.prose
    if match := _BANNED.match(prose) or _MUST_NOT.match(prose):
        return _of_code(sentence, match[1], match[2], match[3])
    match = _CODE.match(prose) or _NO.match(prose)
    listed = re.search(SPAN_LIST, match[1]) if match else None
    if not match or not listed:
        return []
    before, objects, after = match[1][: listed.start()], listed[0], match[1][listed.end() :]
    noun = _NOUN.match(after)
    kind, after = ((noun[1] or ""), after[noun.end() :]) if noun else ("", after)
    if inner := _INNER.match(after):
        objects, after = inner[1], after[inner.end() :]
    elif before.endswith("("):
        after = after.lstrip().removeprefix(")")
    if _OTHER_OBJECT.match(after) or not _BEFORE.fullmatch(before):
        return []
    if not kind and (verb := _LAST_VERB.search(prose[: match.start(1)])):
        kind = _NOUNS[verb[1].casefold()]
    return _of_code(sentence, objects, kind, after)


_LAST_VERB: Final = pattern(r"\b(import from|import|call|invoke|with|catch) $", re.IGNORECASE)
_NOUNS: Final = dict.fromkeys(("call", "invoke", "with"), "call") | {
    "import": "import",
    "import from": "import",
    "catch": "catch",
}

_OTHER_OBJECT: Final = pattern(
    r"[\s,]*(?!(?:unless|except|for|if|when|whenever|while|where|in|inside|at|to|around|without|by|with|on|under|outside|that|which|or|and|from"
    r"|as|within|anywhere|directly|ever|because|since|but|only|other|apart|not|use|it|they|this|these|call|return|prefer|log|raise"
    r"|throw|instead|anymore|yourself|manually|please|any|into|over|before|after|until|behind|here|left|lying|remain\w*)\b)[a-z]+",
    re.IGNORECASE,
)
"""A word behind the code that makes another thing of it: a `TODO` list, a `print` queue."""


_HAS_LETTER: Final = pattern(r"[A-Za-z_]")


def _of_code(sentence: RuleSentence, objects: str, noun: str, after: str) -> list[RepoRule]:
    targets = tuple("except:" if span == "except" else span for span in select_spans(objects, sentence.spans))
    is_import = noun.startswith(("import", "package", "module", "library"))
    for target in targets:
        if _COMMAND.match(target) or not _HAS_LETTER.search(target) or (is_path(target) and not is_import):
            return []
    understood = read_qualifiers(after, sentence.spans, sentence.surroundings.scope)
    return [
        RepoRule(
            RuleKind.FORBIDDEN_CODE,
            sentence.origin,
            targets,
            understood.scope,
            is_sure=sentence.surroundings.is_sure and understood.is_sure,
            noun=noun.strip().casefold().rstrip("s"),
        )
    ]
