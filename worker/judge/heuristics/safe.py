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
    r"\b(docs?|document(s|ed|ing|ation)?|read-?me|change-?logs?|typos?|spell(ing|ed)?|misspell\w*|grammar|wording|comments?|commented|docstrings?"
    r"|java-?docs?|js-?docs?|rust-?docs?|go-?docs?|tutorials?|guides?|how-?tos?|cookbook|(broken |dead )?links?|cross-references?|phras(e|ing)"
    r"|re-?phrase|re-?word|sentences?|paragraphs?|clarif(y|ies|ied|ication)|contributing|faq|release notes|migration notes|markdown|white-?space"
    r"|formatting|format|lint|pep-?8|ruff|black|gofmt|rustfmt|prettier|style|headings?|headers?|translat(e|ion)|explain|explanation|mention"
    r"|describe|description|news|indent(ation)?|blank lines?|newlines?|cleanup|tidy)\b",
    re.IGNORECASE,
)
_BEHAVIOUR: Final = re.compile(
    r"\b(implement\w*|crash\w*|bugs?|regression|exceptions?|traceback|segfault|leaks?|race|deadlock|features?|refactor\w*|performance|optimi[sz]\w*"
    r"|support for|endpoint|vulnerab\w+|cve-\d+|retry|retries|timeout|fails?|failing|failure|broken (?!links?)|tests?|coverage|upgrade|bump|dependency"
    r"|dependencies)\b",
    re.IGNORECASE,
)
_DOCS: Final = re.compile(r"\s*(\w+: )?docs?(\(|:|!|/)", re.IGNORECASE)
_DOCS_FILE: Final = re.compile(r"\b[\w-]+\.(md|rst|adoc)\b", re.IGNORECASE)


def why_safe(change: Change) -> str | None:
    """Say in a clause why the change can't be wrong; None where that is not proved."""
    if not change.files or not asks_for_words_only(change.dossier):
        return None
    if not all(map(_is_harmless, change.files)):
        return None
    return "only documentation, comments or white space changed, and nothing else is asked for"


def _is_harmless(file: ChangedFile) -> bool:
    return is_comments_only(file) if file.language is not None else is_prose_only(file)


def asks_for_words_only(dossier: Dossier) -> bool:
    """Whether what was asked for can be fulfilled by documentation or comments.

    An issue has to say so in its title, and each listed criterion in its text. Without an issue the title of
    the pull request counts: who announces a behaviour and delivers words did not deliver.
    """
    listed = (one.text for one in dossier.criteria or () if not one.inferred)
    titles = [issue.title for issue in dossier.issues] or [dossier.pull_request.title]
    return all(map(_is_about_words, listed)) and all(_DOCS.match(title) or _is_about_words(title) for title in titles)


def _is_about_words(text: str) -> bool:
    named = _WORDS.search(text) or _DOCS_FILE.search(text)
    return named is not None and _BEHAVIOUR.search(text) is None
