"""What a criterion can be held against: its paths, names and words, and whether it wants tests or documentation.

Does not look at the change. Invariant: words of the request itself ("add", "support", "covered by a test") are no words of
what is wanted.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from worker.domain.dossier.dossier import Criterion
from worker.domain.pattern import pattern
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.relatedness import NAME_PATTERN, fold_name, stem, stems_of

_LONGEST: Final = 1_500
_MOST_WORDS: Final = 24
_MOST_NAMES: Final = 8

_QUOTED: Final = pattern(r"`([^`\n]{1,200})`")
_PATH: Final = pattern(
    r"(?<![\w/.:%-])(?:\.{1,2}/)?((?:[\w.@$+-]{1,100}/){0,12}[\w.@$+-]{0,100}\w\.(?:pyi?|[mc]?[jt]sx?|go|rs|java|kts?|rb|cs|php"
    r"|swift|scala|c|cc|cpp|h|hpp|sh|sql|vue|svelte|css|scss|html?|mdx?|rst|adoc|txt|toml|jsonc?|ya?ml|xml|cfg|ini|proto|gradle"
    r"|lock))(?![\w/%-]|\.\w)"
)
_CALLED: Final = pattern(
    r"(?<![\w.])(?:--[a-z][\w-]{1,60}|[a-z]\w{0,60}_\w{1,60}|[A-Za-z]\w{0,60}[a-z][A-Z]\w{0,60})(?![\w/])"
)
"""A flag or a name in the spelling of code, though nobody put it in backticks."""

_TESTS: Final = pattern(
    r"(?i)\b(?:unit |regression |integration |e2e )?(?:tests?|tested|testing|test[- ]cases?|specs?)\b"
)
_NEW_TEST: Final = r"(?:(?:an?|one|some|new|more|automated|unit|regression|integration|e2e|end-to-end) ){0,4}tests?"
_ADDS_TEST: Final = pattern(
    rf"(?i)^\W*(?:(?:please )?(?:add|write|create|include|provide|introduce) {_NEW_TEST}(?: (?:for|that|which|to|covering)\b|\W*$)"
    rf"|{_NEW_TEST} (?:shows?|covers?|proves?|verif(?:y|ies)|checks?|demonstrates?)\b)"
)
_CONDITION: Final = pattern(
    r"(?i)coverage|%|\b(?:if|unless|already|exist\w*|optional\w*|needed|necessary|possible|ideally)\b"
)
"""A criterion with such a word may be met without a new test."""

_DOCS: Final = pattern(r"(?i)\b(?:docs?|documentation|readme|changelog|change log|release notes?)\b")
_GOES: Final = pattern(r"(?i)\b(?:remov|delet|drop|renam|replac|no longer|get rid)")

_REQUEST: Final = """
a an the and or not of to in on for with from by is are be was has have had it its this that these those as at if else then
than do does did can could should would will may must so no yes we you i they there here when where which who what how all
any each some into out up also one only just now both via per
test tests tested testing covered covers cover coverage check checks checked regression unit integration spec specs case cases
verify verified verifies prove proves proved show shows shown demonstrate demonstrates assert asserts exercise exercises
add added adds adding provide provides provided introduce introduces introduced implement implements implemented support
supports supported allow allows allowed ensure ensures make made makes possible exist exists available offer offers expose
exposes create creates created include includes included contain contains
caller callers user users developer change changed changes part taken take takes account handle handles handled deal deals
adapt adapts adapted use used uses update updated updates describe describes described speak speaks mention mentions
mentioned explain explains explained document documentation documented documents docs page entry extend extends extended
work works working accordingly new function functions method methods class type types constant code file files tell ask
whether asked defined define defines definition able want wants need needs needed respect respects consider considers
changelog readme release note notes given expected correct correctly properly behave behaves instead
"""


class CriterionName(NamedTuple):
    """A name as it is spelled, and its folded parts: of `Foo.bar()` the last, of a piece of code all."""

    text: str
    parts: tuple[str, ...]


class CriterionTerms(NamedTuple):
    """One criterion, taken apart."""

    criterion: Criterion
    paths: tuple[str, ...]
    names: tuple[CriterionName, ...]
    words: tuple[str, ...]
    """Stems, each once, in their order."""
    numbers: frozenset[str]
    """They say which line is meant, and prove nothing."""
    is_about_tests: bool
    is_test_required: bool
    """It begins with the demand to add a test, or with what a test shows, names no file and sets no condition."""
    is_about_documentation: bool
    is_removal: bool
    """Something is to be taken away: it may stand in removed lines only."""


_MOST_CRITERIA: Final = 60


def find_terms(change: CodeChange) -> tuple[CriterionTerms, ...]:
    """The criteria that somebody wrote; call it by `change.once(find_terms)`."""
    asked = [criterion for criterion in change.dossier.criteria or () if not criterion.inferred][:_MOST_CRITERIA]
    return tuple(parse_criterion(criterion) for criterion in asked if not _PLEDGE.match(criterion.text))


_PLEDGE: Final = pattern(
    r"\W*(?:if \w+, )?(?:I|we) (?:have|did|am|agree|confirm|understand|will|checked)\b|\W*(?:I|we)'(?:ve|m)\b|\W*my (?:code|change|pull request|pr)\b",
    2,
)
"""A box of a template, by which the author says what he did: no line of a change shows it."""


def parse_criterion(criterion: Criterion) -> CriterionTerms:
    text = criterion.text[:_LONGEST]
    paths = tuple(dict.fromkeys(_PATH.findall(text)))
    prose = _PATH.sub(" ", text)
    quoted: list[str] = [name for name in _QUOTED.findall(prose) if name.strip()] or [
        name for name in _CALLED.findall(prose) if not name.endswith("_")
    ]  # `a_` begins a pattern: `a_[b|c]`
    stems = (word for name in NAME_PATTERN.findall(prose) for word in stems_of(name))
    asked = _QUOTED.sub(" ", prose)
    return CriterionTerms(
        criterion,
        paths,
        tuple(CriterionName(name, parts) for name in quoted[:_MOST_NAMES] if (parts := _parts(name))),
        tuple(dict.fromkeys(word for word in stems if word not in _request_stems()))[:_MOST_WORDS],
        numbers=frozenset(NUMBER_PATTERN.findall(prose)),
        is_about_tests=_TESTS.search(asked) is not None,
        is_test_required=not paths and _ADDS_TEST.search(text) is not None and _CONDITION.search(asked) is None,
        is_about_documentation=_DOCS.search(asked) is not None,
        is_removal=_GOES.search(asked) is not None,
    )


NUMBER_PATTERN: Final = pattern(r"(?<![\w.])\d{2,9}(?![\w.])")


@lru_cache(maxsize=1)
def _request_stems() -> frozenset[str]:
    return frozenset(map(stem, _REQUEST.split()))


_OPTION: Final = pattern(r"([A-Za-z_][\w.]{0,100})=[^=]")


def _parts(quoted: str) -> tuple[str, ...]:
    option = _OPTION.match(quoted)  # of `option="value"` the option is wanted, the value is an example
    names = tuple(fold_name(name) for name in NAME_PATTERN.findall(option[1] if option else quoted))
    return names if " " in quoted.strip() or quoted.startswith("-") else names[-1:]
