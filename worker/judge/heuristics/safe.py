"""A change that can't be wrong: documentation or comments only, where nothing else was asked for.

Does not weigh. Invariant: every file is proved harmless on its own, nothing was found against the change, and
no issue, criterion or title asks for more than words.
"""

import re
from typing import Final

from worker.domain.dossier import Dossier
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.safe_comments import is_comments_only
from worker.judge.heuristics.safe_docs import is_prose_only

_WORDS: Final = re.compile(
    r"\b(docs?|document(s|ed|ing|ation)?|read-?me|change-?logs?|typos?|spelling|misspell\w*|grammar|wording|docstrings?|java-?docs?|js-?docs?"
    r"|rust-?docs?|go-?docs?|tutorials?|how-?tos?|cookbook|(broken|dead) links?|re-?phras(e|es|ed|ing)|re-?word(s|ed|ing)?|clarif(y|ies|ied|ication)"
    r"|contributing|faq|release notes|migration notes|translations?|user guide|code comments?|comment typos?|(in|of|to|the|outdated|stale|wrong"
    r"|misleading|missing|fix|update|correct|improve|add|remove) comments?)\b",
    re.IGNORECASE,
)
"""What can only be about words. "Headers", "markdown" or "style" may be about anything."""

_LAYOUT: Final = re.compile(
    r"\b(white-?space|(re)?format(ted|ting)?|lint(er|ing|s)?|pep-?8|ruff|black|gofmt|rustfmt|fmt|prettier|code style|coding style|indent(ation)?"
    r"|blank lines?|newlines?|comments?|trailing spaces?)\b",
    re.IGNORECASE,
)
"""What may be asked for where only the layout of code or its comments changed."""

_BEHAVIOUR: Final = re.compile(
    r"\b(implement\w*|crash\w*|bugs?|regression|exceptions?|traceback|segfault|leaks?|race|deadlock|features?|refactor\w*|performance|optimi[sz]\w*"
    r"|support for|endpoint|vulnerab\w+|cve-\d+|retry|retries|timeout|fails?|failing|failure|broken (?!links?)|tests?|coverage|upgrade|bump|dependency"
    r"|dependencies)\b",
    re.IGNORECASE,
)
_DOCS: Final = re.compile(r"\s*(\w+: )?docs?(\(|:|!|/)", re.IGNORECASE)
_DOCS_FILE: Final = re.compile(r"\b[\w-]+\.(md|rst|adoc)\b", re.IGNORECASE)
_FILE: Final = re.compile(
    r"\b[\w-]+\.(md|rst|adoc|pyi?|jsx?|mjs|tsx?|go|rs|java|kt|rb|php|cs|cc?|cpp|hp?p?|sql|ya?ml|toml|json|sh)\b",
    re.IGNORECASE,
)


def why_safe(change: Change) -> str | None:
    """Say in a clause why the change can't be wrong; None where that is not proved."""
    is_code = all(file.language is not None for file in change.files)
    if not change.files or not asks_for_words_only(change.dossier, is_code=is_code) or not _answers(change):
        return None
    if not all(map(_is_harmless, change.files)):
        return None
    return "only documentation, comments or white space changed, and nothing else is asked for"


def _is_harmless(file: ChangedFile) -> bool:
    return is_comments_only(file) if file.language is not None else is_prose_only(file)


def asks_for_words_only(dossier: Dossier, *, is_code: bool = False) -> bool:
    """Whether what was asked for can be fulfilled by documentation or comments (by layout, too, in code).

    An issue has to say so in its title, and each listed criterion in its text; prose may not speak of behaviour.
    Without an issue the title of the pull request counts: who announces a behaviour and delivers words did not deliver.
    """
    criteria = dossier.criteria or ()
    titles = [issue.title for issue in dossier.issues] or [dossier.pull_request.title]
    return (
        not any(_BEHAVIOUR.search(_CODE.sub(" ", one.text)) for one in criteria)
        and all(_is_about_words(one.text, is_code=is_code) for one in criteria if not one.inferred)
        and all(_DOCS.match(title) or _is_about_words(title, is_code=is_code) for title in titles)
    )


_CODE: Final = re.compile(r"```.*?(```|\Z)|`[^`\n]*`", re.DOTALL)


def _answers(change: Change) -> bool:
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


_TERM: Final = re.compile(r"[^\W\d_]{4,}")
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


def _is_about_words(text: str, *, is_code: bool) -> bool:
    named = _WORDS.search(text) or _DOCS_FILE.search(text) or (is_code and _LAYOUT.search(text))
    return bool(named) and _BEHAVIOUR.search(text) is None
