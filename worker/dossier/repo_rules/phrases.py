"""Put the many ways to forbid into the one that `prohibitions` reads: "do not <verb> <objects> ...".

Words that name where the rule holds are handed back apart. What is not understood stays as it was.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.repo_rules.scope import SPAN_LIST

_NOT: Final = (
    r"(?:(?:must|shall|may|can) ?(?:not|never)|(?:do|does|are|is) not|don't|dont|never|cannot|can't)(?: ever)?"
)
_BANNED: Final = (
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
_CODE: Final = r"(?:code|files?|modules?|classes|packages?|sources?|source files?|functions?|components?|tests?|anything|everything)"
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
            rf"(?:all |any |the |our |new )*{_CODE} (?:in|under|inside|within|of|below) (?:the )?(?P<where>{SPAN_LIST})(?: folder| directory)? (?P<rest>{_NOT} (?!(?:be|been)\b).*)",
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
    (pattern(rf"^(?:it is|it's) {_BANNED} to ", re.IGNORECASE), "do not "),
    (pattern(rf"^(?:please |strictly )?refrain from (?P<verb>{_GERUND}) (?P<rest>.*)", re.IGNORECASE | re.DOTALL), _replace_gerund),
    (pattern(rf"^(?P<verb>{_GERUND}) (?P<rest>[^.;]{{0,200}}?) (?:is|are) {_BANNED}", re.IGNORECASE | re.DOTALL), _replace_gerund),
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
    (pattern(rf"^(?:new )?imports? (?:of|from) ((?:the )?{SPAN_LIST})(?: package| module| library)? (?:is|are) {_BANNED}", re.IGNORECASE), r"do not import \1"),
)  # fmt: skip
