"""Sentences that ask for something beside the code: a changelog entry, a docstring, a test; no new dependency, names of files.

A duty is sure only where the sentence, read to its end, falls on every change or on every change of behaviour.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.repo_rules.prohibitions import RuleSentence
from worker.dossier.repo_rules.scope import (
    SPAN_LIST,
    DutyScope,
    RepoRule,
    RuleKind,
    RuleScope,
    read_qualifiers,
    select_spans,
)

_LOG_PATH: Final = pattern(
    r"(?:.*/)?(?:\.?change[-_]?logs?|changes|changeset|history|news|newsfragments|release[-_/]?notes?|releases|whats[-_]?new|upgrading)"
    r"(?:(?:\.\w+|\.d)?/?(?:\*.*)?|(?:\.d)?/[\w+-]{1,60}(?:\.\w{1,20}){0,2}\.(?:md|rst|txt|ya?ml))",
    re.IGNORECASE,
)
_LOG_WORD: Final = r"(?:changelog|change log|release notes?|news file|newsfragment|news fragment|changeset)"
_ENTRY: Final = (
    r"(?:entry|line|note|item|record|fragment|bullet|section|mention|news fragment|changelog entry|changeset)"
)
_SUBJECT: Final = (
    r"(?P<subject>(?:(?:user[- ](?:visible|facing)|visible|notable|public|breaking|significant|relevant) )?(?:code |functional |behaviou?r(?:al)? |source |production )?(?:changes?|pull requests?|prs?|commits?|patch(?:es)?"
    r"|contributions?|bug ?fix(?:es)?|fix(?:es)?|features?|new features?)"
    r"(?: (?:of|in|to|that (?:changes?|alters?|affects?|touches)) (?:the |its )?(?:behaviou?r|functionality|code|source|logic))?"
    r"(?:,? (?:and|or) (?:bug ?fix(?:es)?|fix(?:es)?|features?|new features?|changes? of behaviou?r|behaviou?r changes?))?)"
)
_ALL: Final = r"(?:every|each|all|any|(?:every|any) single)(?: new)?"
_NEEDS: Final = (
    r"(?:needs?|requires?|must (?:have|add|include|come with|contain|carry|bring|also add|be accompanied by|ship with|get|leave)|comes? with"
    r"|has to (?:add|have|include|come with)|have to (?:add|have|include|come with)|gets?|adds?|updates?|must update|includes?|needs to (?:add|have|update))"
)
_SOME_ONLY: Final = pattern(r"user|visible|notable|public|breaking|significant|relevant", re.IGNORECASE)
_ANY_SUBJECT: Final = _SUBJECT.replace("?P<subject>", "?:")
_LOG_FORMS: Final = tuple(
    pattern(form, re.IGNORECASE | re.DOTALL)
    for form in (
        (
            rf"(?:{_ALL} )?{_SUBJECT},? {_NEEDS} (?:(?:its|their|an?|one|own|new|short|matching|corresponding) )*(?:{_ENTRY} )?"
            rf"(?:(?:in|to|under|into|inside|at the top of) )?(?:the )?(?P<log>{SPAN_LIST}|{_LOG_WORD}(?: {_ENTRY})?)(?: (?:file|folder|directory|entry))?(?P<after>.*)"
        ),
        (
            rf"(?:{_ALL} )?{_SUBJECT} (?:must|has to|have to|needs? to|is to|are to) be "
            rf"(?:recorded|noted|documented|listed|mentioned|described|logged|announced|added) (?:in|to|under) (?:the )?(?P<log>{SPAN_LIST}|{_LOG_WORD})(?P<after>.*)"
        ),
        (
            rf"(?:always |you must |please |remember to )*(?:add|write|create|put|record|update|include|leave|extend) (?:(?:an?|the|one|new|short) )*"
            rf"(?:{_ENTRY} )?(?:(?:in|to|under|into|for) )?(?:the )?(?P<log>{SPAN_LIST}|{_LOG_WORD}(?: {_ENTRY})?) "
            rf"(?:for|with|in|on) (?:{_ALL}) {_SUBJECT}(?P<after>.*)"
        ),
        (
            rf"(?P<log>{SPAN_LIST}|the {_LOG_WORD}) (?:(?:must|has to|needs to) (?:always )?be|is|gets) (?:updated|extended|touched|changed) (?:for|with|in|by|on) "
            rf"(?:{_ALL}) {_SUBJECT}(?P<after>.*)"
        ),
        rf"(?:always |please )*(?:record|note|document|list|mention|describe|log|announce) (?:{_ALL}) {_SUBJECT} (?:in|to|under) (?:the )?(?P<log>{SPAN_LIST}|{_LOG_WORD})(?P<after>.*)",
        (
            rf"(?:no )?{_SUBJECT} (?:without|that (?:lack|miss)(?:es)?) (?:(?:an?|its|their) )?(?:{_ENTRY} )?(?:(?:in|to) )?(?:the )?(?P<log>{SPAN_LIST}|{_LOG_WORD}(?: {_ENTRY})?)"
            r" (?:is|are|will be|gets?) (?:rejected|closed|not (?:accepted|merged))(?P<after>.*)"
        ),
        (
            rf"(?:an? |the |new )*(?P<log>{_LOG_WORD}(?: {_ENTRY})?|{_ENTRY} in (?:the )?(?:{SPAN_LIST}|{_LOG_WORD}))(?: file)? (?:is|are) (?:always )?(?:required|mandatory|obligatory|needed|a must)"
            rf"(?: (?:for|with|in|on) (?:{_ALL}) {_SUBJECT})?(?P<after>.*)"
        ),
        (
            rf"(?:(?:do not|don't|never|must not) (?:open|merge|submit|send|file|push|make|create|ship|commit)(?: (?:an? |any )?{_ANY_SUBJECT})?|no {_SUBJECT})"
            rf" without (?:(?:an?|its|their|the|new|updating|touching|adding|extending|matching) )*(?:{_ENTRY} (?:in|to) (?:the )?)?(?P<log>{SPAN_LIST}|{_LOG_WORD}(?: {_ENTRY})?)(?P<after>.*)"
        ),
        rf"(?:you |agents |we |please )?(?:(?:must )?always (?:remember to )?(?:update|extend|write to|touch|add (?:an? )?(?:new )?(?:{_ENTRY} )?to)|(?:add|record|note|describe|list) (?:your|the|each|every) changes? (?:to|in)) (?:the )?(?P<log>{SPAN_LIST}|{_LOG_WORD}(?: {_ENTRY})?)(?P<after>.*)",
        rf"always (?:add|write|include|update|leave) (?:(?:an?|the) )?(?P<log>{_LOG_WORD}(?: {_ENTRY})?(?: (?:(?:in|to) )?\(?{SPAN_LIST}\)?)?)(?P<after>.*)",
    )
)
"""What asks for an entry in a changelog: `log` names where, and `after` goes on. The first form that matches counts."""
_SOME_CHANGES: Final = r"(?:for|with|when|whenever|after|on|if) [^.;]{0,200}\b(?:chang\w+|features?|fix\w*|pull requests?|prs?)\b[^.;]{0,100}"
_LOG_SOFT: Final = pattern(
    rf"(?:(?P<before>{_SOME_CHANGES}), )?(?:always |also |please )*(?:add|update|write|record|include) "
    rf"(?:[^.;«]{{0,60}} )?(?:(?:the )?{_LOG_WORD}|«(?P<target>\d+)»)(?: entry)?(?P<after> {_SOME_CHANGES})?",
    re.IGNORECASE,
)
_BEHAVIOUR: Final = pattern(r"behaviou?r|functional|code|source|production|logic|fix|feature", re.IGNORECASE)

_CODE_ITEM: Final = r"(?:functions?|methods?|apis?|classes|types|symbols|class|items|interfaces|structs|identifiers|members|definitions)"
_DOC: Final = (
    r"(?:doc ?strings?|doc(?:umentation)?[ -]comments?|jsdoc(?: comments?| blocks?)?|javadocs?(?: comments?)?|godoc(?: comments?)?"
    r"|rustdoc(?: comments?)?|doc comment|«\d+» comments?|tsdoc(?: comments?)?)"
)
_DOC_FORMS: Final = tuple(
    pattern(form, re.IGNORECASE | re.DOTALL, needs=("doc", "» comment"))
    for form in (
        (
            rf"(?:all |every |each |any |new |the )*(public|exported|)(?: and exported| or exported)? ?{_CODE_ITEM}"
            rf"(?:(?:,| and| or|,? and) (?:(?:public|exported) )?{_CODE_ITEM}){{0,3}} "
            rf"(?:must|has to|have to|needs?|requires?|shall|gets?|carry|carries|has|have|comes? with)(?: have| be documented with| come with| carry| to have| include)? ?(?:an? )?{_DOC}(.*)"
        ),
        (
            rf"(?:always |you must |we )*(?:add|write|give|provide|include) (?:an? )?{_DOC} (?:for|to|on|above|in) (?:(?:all|every|each|any|new|the) )+"
            rf"(public|exported|)(?: and exported)? ?{_CODE_ITEM}(.*)"
        ),
        rf"(?:(?:do not|don't|never) (?:add|write|introduce|leave)|no) (?:an? |any |new )*(public|exported|) ?{_CODE_ITEM} without (?:an? |its )?{_DOC}(.*)",
        rf"(?:always )?document (?:all|every|each|any)(?: new)? (public|exported|) ?{_CODE_ITEM}(?: (?:you|that you|we) (?:add|write|introduce))? with (?:an? )?{_DOC}(.*)",
        rf"(?:an? )?{_DOC} (?:is|are) (?:always )?(?:required|mandatory|obligatory|a must) (?:for|on|in) (?:(?:all|every|each|any|new|the) )*(public|exported|) ?{_CODE_ITEM}(.*)",
        rf"always (?:add|write|give|provide|include) (?:an? )?{_DOC} (?:for|to|on|above|in) (public|exported|) ?{_CODE_ITEM}(.*)",
        rf"(?:all |any |new )*(public|exported|) ?{_CODE_ITEM} without (?:an? |its |their )?{_DOC} (?:are|is|will be|get) (?:rejected|not accepted|not allowed|forbidden|sent back)(.*)",
        rf"(?:always )?give (?:all |every |each |any |new )*(public|exported|) ?{_CODE_ITEM} (?:an? )?{_DOC}(.*)",
    )
)
"""What asks for documentation: whether of public code alone, and how the sentence goes on. The first that matches counts."""
_TESTS: Final = pattern(
    rf"(?:{_ALL}|public|new|features?) ?(?:.{{0,60}}?) ?(?:needs?|requires?|must (?:have|include|come with|be covered by|be accompanied by)"
    r"|comes? with|has to (?:come with|have)) (?:(?:its|an?|at least|one|new|own|matching) )*tests?\b(?: coverage)?\.?",
    re.IGNORECASE | re.DOTALL,
    needs=("test",),
)
_NEW: Final = r"(?:(?:(?:new|additional|extra|third-party|external|runtime|production|npm|python) ))"
_DEPENDENCY: Final = r"(?:dependency|dependencies|packages|libraries|crates)"
_DEPENDENCIES: Final = pattern(
    rf"(?:we (?:add|accept|take|introduce) no {_NEW}*{_DEPENDENCY}|{_NEW}*{_DEPENDENCY} (?:must|may|can) (?:not|never) be (?:added|introduced|installed)"
    rf"|(?:we |you |agents? )?(?:do not|don't|never|must not|may not) (?:ever )?(?:add|introduce|install|pull in|bring in|accept|take on) (?:any |a |more )?{_NEW}*{_DEPENDENCY}"
    rf"|no {_NEW}+{_DEPENDENCY}(?: (?:are|is) (?:accepted|allowed|permitted))?"
    rf"|(?:any )?{_NEW}+{_DEPENDENCY} (?:are|is) (?:strictly )?(?:not allowed|forbidden|prohibited|banned|not accepted|rejected|not permitted))(?!\s(?:to|in) «)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)


def find_duties(sentence: RuleSentence) -> Iterator[RepoRule]:
    """The rules that the sentence makes by asking for something."""
    yield from _find_changelog_duties(sentence)
    yield from _find_docstring_duties(sentence)
    if _TESTS.match(sentence.prose):
        yield RepoRule(RuleKind.TESTS, sentence.origin, scope=sentence.surroundings.scope)


def find_dependency_bans(sentence: RuleSentence) -> Iterator[RepoRule]:
    """The rule that a sentence in plain words makes against new dependencies."""
    match = _DEPENDENCIES.match(sentence.prose)
    if match is None:
        return
    scope, is_sure = _scope(sentence, match[match.lastindex or 0])
    noun = "runtime" if _RUNTIME.search(match[0]) else ""
    yield RepoRule(RuleKind.DEPENDENCIES, sentence.origin, scope=scope, is_sure=is_sure, noun=noun)


_RUNTIME: Final = pattern(r"\b(?:runtime|production)\b", re.IGNORECASE)


def _scope(sentence: RuleSentence, after: str) -> tuple[RuleScope, bool]:
    understood = read_qualifiers(after, sentence.spans, sentence.surroundings.scope)
    return understood.scope, understood.is_sure and sentence.surroundings.is_sure


_IN_THE_REQUEST: Final = pattern(
    r"\b(?:description|body|template|label|labels|title|release-notes? (?:block|section|field)|commit messages?|blocks?|none)\b",
    re.IGNORECASE,
)
"""Where a note about a change is written if not in a file."""
_LOG_FILE: Final = pattern(r"change ?log|news|changeset|file", re.IGNORECASE)
_LOG_NAMES: Final = ("changelog", "change log", "release note", "news", "changeset")


def _find_changelog_duties(sentence: RuleSentence) -> Iterator[RepoRule]:
    lowered = sentence.prose.casefold()
    if not any(name in lowered for name in _LOG_NAMES) and not any(map(_LOG_PATH.fullmatch, sentence.spans)):
        return iter(())
    whole = " ".join((sentence.prose, *sentence.other_sentences))
    is_file = _LOG_FILE.search(whole) is not None and _IN_THE_REQUEST.search(whole) is None
    return (rule for rule in _match_changelog(sentence) if rule.targets or is_file)


def _match_changelog(sentence: RuleSentence) -> Iterator[RepoRule]:
    for form in _LOG_FORMS:
        match = form.match(sentence.prose)
        if match is None:
            continue
        subject = match.groupdict().get("subject") or ""
        targets = select_spans(match["log"], sentence.spans)
        if not all(map(_LOG_PATH.fullmatch, targets)):
            continue
        scope, is_sure = _scope(sentence, match["after"])
        is_sure = is_sure and not _SOME_ONLY.search(subject)
        asked = DutyScope.BEHAVIOUR if _BEHAVIOUR.search(subject) else DutyScope.EVERY_CHANGE
        yield RepoRule(RuleKind.CHANGELOG, sentence.origin, targets, scope, is_sure=is_sure, duty_scope=asked)
        return
    match = _LOG_SOFT.match(sentence.prose)
    if match is None or not (match["before"] or match["after"]):
        return
    targets = (sentence.spans[int(match["target"])],) if match["target"] else ()
    if all(map(_LOG_PATH.fullmatch, targets)):
        yield RepoRule(
            RuleKind.CHANGELOG, sentence.origin, targets, sentence.surroundings.scope, duty_scope=DutyScope.BEHAVIOUR
        )


def _find_docstring_duties(sentence: RuleSentence) -> Iterator[RepoRule]:
    for form in _DOC_FORMS:
        if match := form.match(sentence.prose):
            scope, is_sure = _scope(sentence, match[2])
            noun = "public" if match[1] else ""
            yield RepoRule(RuleKind.DOCSTRING, sentence.origin, (), scope, is_sure=is_sure, noun=noun)
            return
