"""What an author claims of the change itself: that a file was changed, or that tests were added.

No clean change at hand names a changed file in words, so the rate was measured on silence: it stays a suspicion.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Category
from worker.signals.acceptance_gap.criteria_not_met import has_no_tests
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal
from worker.signals.spec_violation.case_citations import MOST_CLAIMS

_LONGEST_BODY: Final = 20_000


_FENCED: Final = pattern(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)|^ {0,3}>.*?$|<!--.*?(?:-->|\Z)", re.MULTILINE | re.DOTALL)


_ENDING: Final = r"(?:py|pyi|[cm]?[jt]sx?|go|rs|java|kts?|rb|cs|php|swift|c|cc|cpp|h|hpp|vue|svelte|sql|sh|md|mdx|rst|toml|ya?ml|json|xml|proto)"


_BY_WHOM: Final = r"(?:\b(?:I|we|this (?:pr|pull request|change|commit|patch))(?:'ve| have)? (?:also |now |just )?|^\s{0,6}[-*+] (?:\[x\] )?)"


_CHANGE_CLAIM: Final = pattern(
    rf"{_BY_WHOM}(?P<verb>change[sd]?|modif(?:y|ies|ied)|update[sd]?|edit(?:s|ed)?|rewrote|rewritten|rewrites?|extend(?:s|ed)?|refactor(?:s|ed)?|adjust(?:s|ed)?|touched|add(?:s|ed)? [\w -]{{1,40}} (?:to|in))"
    rf" (?:(?:the|file|files|module|source|our|my) ){{0,3}}`?(?P<path>(?:[\w.@-]{{1,80}}/){{1,12}}[\w.@-]{{1,80}}\.{_ENDING}|(?:README|CHANGELOG|CHANGES|HISTORY|NEWS|UPGRADING|CONTRIBUTING)\.(?:md|rst|txt|adoc))`?(?![\w/(]|\.\w)(?P<behind>.{{0,40}})",
    re.MULTILINE | re.IGNORECASE,
)


_TEST_CLAIM: Final = pattern(
    rf"{_BY_WHOM}(?:add(?:s|ed)?|include[sd]?|wrote|writes?|extend(?:s|ed)?) (?:(?:an?|some|new|more|the|unit|regression|integration|automated|corresponding|missing|additional) ){{0,4}}(?:tests?|test cases?)\b(?! (?:data|fixtures?|helpers?|files?|plan|utils?|utilit\w+|infrastructure|runner|output|class(?:es)?|command|target|script|step|job|mode|env\w*|dependenc\w+))(?P<behind>.{{0,60}})",
    re.MULTILINE | re.IGNORECASE,
)


_NOT_IN_THIS_CHANGE: Final = pattern(
    r"\b(?:earlier|previous|already|before|last|upstream|another|later|separate|follow-?up|next|#\d+)\b|^ (?:to|in|into|from) `",
    re.IGNORECASE,
)


@signal(Category.SPEC_VIOLATION, SignalKind.SUSPICION, SignalScope.ANYTHING)
def claimed_change_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """The author claims that a file was changed, by its path, and the change does not touch it; or that tests were added, and it holds none.

    Why it matters: A description that is wrong in one point is not trusted in the others.
    Example: "Updated `docs/retry.md`", in a change that does not touch it.
    False alarms: 21 of 30214 clean changes with anything (0.1 %, at most 0.11 %).
    """
    texts = list(_author_texts(change))
    claims = (
        match
        for text in texts
        for match in _CHANGE_CLAIM.finditer(text)
        if not _NOT_IN_THIS_CHANGE.search(match["behind"])
    )
    names = {path.rpartition("/")[2] for file in change.files for path in (file.path, file.diff.old_path) if path}
    for path in dict.fromkeys(match["path"].removeprefix("./") for match in claims):
        if path.rpartition("/")[2] not in names:  # a file of that name may be in another folder
            yield SignalMatch(f"the author says that {path} was changed, and this change does not touch it")
    is_test_claimed = any(
        not _NOT_IN_THIS_CHANGE.search(match["behind"]) for text in texts for match in _TEST_CLAIM.finditer(text)
    )
    if is_test_claimed and has_no_tests(change):
        yield SignalMatch("the author says that tests were added, and this change holds none")


def _author_texts(change: CodeChange) -> Iterator[str]:
    yield _FENCED.sub(" ", change.dossier.pull_request.body[:_LONGEST_BODY])
    case = change.dossier.case
    if case is not None:
        claims = (
            text for claim in case.ac_coverage[:MOST_CLAIMS] for text in (claim.addressed_by, claim.evidence or "")
        )
        yield from (text[:_LONGEST_BODY] for text in (case.summary, *case.work_arounds, *claims))
