"""What was asked for: whether documentation, comments or layout can be all of it.

Does not look into the change but for what it is about. Invariant: an issue, a listed criterion or a title that may
ask for a behaviour is not fulfilled by words.
"""

import re
from typing import Final

from worker.domain.dossier import Criterion, Dossier
from worker.domain.pattern import pattern
from worker.judge.heuristics.change import Change

_WORDS: Final = pattern(
    r"\b(docs?|document(s|ed|ing|ation)?|read-?me|change-?logs?|typos?|spelling|misspell\w*|grammar|wording|docstrings?|java-?docs?|js-?docs?"
    r"|rust-?docs?|go-?docs?|tutorials?|how-?tos?|cookbook|(broken|dead) links?|re-?phras(e|es|ed|ing)|re-?word(s|ed|ing)?|clarif(y|ies|ied|ication)"
    r"|mention(s|ed|ing)? (that|how|why|when|in|of)|(to|not) mention|notes? (about|on|that|explaining)|^links? to|(outdated|stale|broken|old) references?|word-?smith\w*|terminology|capitali[sz]ation|casing|(add|fix|update|change|correct|remove)(s|ed|ing)? (an? |the )?(broken |missing )?(hyper)?links? (to|in|for)"
    r"|headings?|paragraphs?|sentences?|table of contents|badges?|(white-?space|spacing) (changes?|fix(es)?|clean-?up)|contributing|faq|release notes|migration notes|translations?|user guide|code comments?|comment typos?|(in|of|to|the|outdated|stale|wrong"
    r"|misleading|missing|fix|update|correct|improve|add|remove) comments?)\b",
    re.IGNORECASE,
)
"""What can only be about words. "Headers", "markdown" or "style" may be about anything."""

_LAYOUT: Final = pattern(
    r"\b(white-?spaces?|spacing|(re-?)?format(s|ted|ter|ting)?|lint(er|ing|s)?|pep-?8\w*|flake-?8|pycodestyle|pylint|ruff|black|yapf|autopep8|gofmt|gofumpt"
    r"|goimports|golangci(-lint)?|rustfmt|(cargo )?fmt|eslint|prettier|biome|checkstyle|spotless|clang-format|(code|coding) style|style (issues?|fix(es)?|nits?"
    r"|guide|errors?|warnings?|violations?)|(re-?)?indent(ed|ing|ation)?|(blank|empty|long) lines?|line (length|endings?|breaks?|wrap(s|ping)?)|new-?lines?"
    r"|comments?|commented([- ]out)? code|trailing (spaces?|commas?)|(single|double) quotes|semi-?colons|cosmetics?|nits?|nit-?picks?|clean-?ups?|tid(y|ied|ying)"
    r"|consistency|consistent)\b|^style(\(|:|!)",
    re.IGNORECASE,
)
"""What may be asked for where only the layout of code or its comments changed."""

_BEHAVIOUR: Final = pattern(
    r"\b(implement\w*|crash\w*|bugs?|regression|exceptions?|traceback|segfault|leaks?|race|deadlock|features?|refactor\w*|performance|optimi[sz]\w*"
    r"|support for|endpoint|vulnerab\w+|cve-\d+|retry|retries|timeout|fails?|failing|failure|broken (?!(cross-?)?(links?|references?))|tests?|coverage|upgrade|bump|dependency"
    r"|dependencies)\b",
    re.IGNORECASE,
)
_DOCS: Final = pattern(r"\s*(\w+: )?docs?(\(|:|!|/)", re.IGNORECASE)
_DOCS_FILE: Final = pattern(r"\b[\w-]{1,100}\.(md|rst|adoc)\b", re.IGNORECASE)
_FILE: Final = pattern(
    r"\b[\w-]{1,100}\.(md|rst|adoc|pyi?|jsx?|mjs|tsx?|go|rs|java|kt|rb|php|cs|cc?|cpp|hp?p?|sql|ya?ml|toml|json|sh)\b",
    re.IGNORECASE,
)

_TOPIC: Final = pattern(
    r"\b(in|of|for|on|about|regarding|how|why|that|when|where|whether|from|with)\b[^,;&+]*?(?=\b(and|also|plus|but)\b|[,;&+]|$)",
    re.IGNORECASE,
)
"""What words are about is not what is done: "fix a typo in the retry tests"."""

_DEMAND: Final = pattern(
    r"(?:(?:^|\n)[ \t]*+(?:[-*+]|\d++[.)])[ \t]++(?:\[[ x]\][ \t]*+)?|\b(?:also|additionally|moreover|besides|furthermore|and then|while at it),?[ \t]++(?:(?:this|it|we|i)[ \t]*+)?)"
    r"(?:(?:feat|fix|perf|refactor|build|ci|test)(?:\([^)\n]{0,100}\))?!?:|(?:make|implement|handle|support|retry|prevent|avoid|ensure|return|raise|throw|allow|enable|disable"
    r"|refactor|introduce|upgrade|bump|extend|rewrite|validate|migrate|deprecate|replace|rename|add|fix|remove|drop|use|change|speed)(?:s|es|ed|d|ing)?\b)[^\n]*",
    re.IGNORECASE,
)
"""What a body lists as done, or as done besides."""


def asks_for_words_only(dossier: Dossier, *, is_code: bool = False) -> bool:
    """Whether what was asked for can be fulfilled by documentation or comments (by layout, too, in code).

    An issue has to say so in its title, and each listed criterion in its text; prose may not speak of behaviour.
    Without an issue the title of the pull request counts, and what its body says was done besides: who announces a
    behaviour and delivers words did not deliver.
    """
    criteria = dossier.criteria or ()
    titles = [issue.title for issue in dossier.issues] or [dossier.pull_request.title]
    return all(_is_about_words(title, is_code=is_code) for title in titles) and all(
        _allows_words(one, dossier, is_code=is_code) for one in criteria
    )


def _allows_words(criterion: Criterion, dossier: Dossier, *, is_code: bool) -> bool:
    text = _CODE.sub(" ", criterion.text)
    if not criterion.inferred:
        return _is_about_words(criterion.text, is_code=is_code) and _BEHAVIOUR.search(text) is None
    if dossier.issues:
        return _BEHAVIOUR.search(text) is None
    return all(_is_about_words(one.group(), is_code=is_code) for one in _DEMAND.finditer(text[:_LONGEST]))


_LONGEST: Final = 20_000
_CODE: Final = pattern(r"```.*?(```|\Z)|`[^`\n]*`", re.DOTALL)


def _is_about_words(text: str, *, is_code: bool) -> bool:
    if _DOCS.match(text):
        return True
    named = _WORDS.search(text) or _DOCS_FILE.search(text) or (is_code and _LAYOUT.search(text))
    return bool(named) and _BEHAVIOUR.search(_TOPIC.sub(" ", text)) is None


def answers(change: Change) -> bool:
    """Whether the change is recognisably about what its issue asks for.

    That words can't break anything does not say that they are the words that were wanted. Of a list with several
    items code can't tell whether each is done; of one request it can at least see whether it is the same matter.
    """
    dossier = change.dossier
    if not dossier.issues:
        return True
    listed = [one.text for one in dossier.criteria or () if not one.inferred]
    if len(listed) > 1:
        return False
    said = _matter(" ".join([*change.added_texts, *change.removed_texts, *(file.path for file in change.files)]))
    files = {file.path.rpartition("/")[2].casefold() for file in change.files}
    asked = [*listed, *(f"{issue.title} {issue.body}" for issue in dossier.issues if not listed)]
    named = {name.group().casefold() for text in asked for name in _FILE.finditer(text)}
    stems = {name.partition(".")[0] for name in files}
    return named <= files and all(_matter(text) & said or _terms(text) & stems for text in asked)


_TERM: Final = pattern(r"[^\W\d_]{4,}")
_COMMON: Final = frozenset(
    _TERM.findall(
        "that this with from have when what which there should must will also into only more about their them then "
        "than some such make made does using used uses your file files page section please issue change changes update "
        "updates updated fixes fixed improve improved missing wrong incorrect"
    )
)


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.casefold() for term in _TERM.findall(text))


def _matter(text: str) -> frozenset[str]:
    """The words of a text that say what it is about: no filling words, and none that any documentation issue has."""
    return frozenset(term for term in _terms(text) - _COMMON if not _WORDS.fullmatch(term))
