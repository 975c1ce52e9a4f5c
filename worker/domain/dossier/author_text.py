"""What the author of a pull request may write about one head, as far as a verdict depends on it.

Does not decide what an edit of it leads to (`worker.domain.verdict.ledger` does). Invariant: an issue's own text is no part of it,
nor is a link that stands only in GitHub's sidebar.
"""

import hashlib

from worker.domain.dossier.dossier import DESCRIPTION, LINKED_IN_SIDEBAR, Dossier
from worker.domain.verdict.ledger import AuthorText


def author_text(dossier: Dossier) -> AuthorText:
    """Read it from a *completed* dossier: the case, the issues that the text links, and itself where it is the criterion."""
    own = next((criterion.text for criterion in dossier.criteria or () if criterion.id == DESCRIPTION), None)
    linked = (issue for issue in dossier.issues if issue.linked_by != LINKED_IN_SIDEBAR)
    return AuthorText(
        case=dossier.case,
        is_readable=dossier.case_error is None,
        description=None if own is None else hashlib.sha256(own.encode()).hexdigest(),
        links=tuple(sorted({f"{issue.repository or ''}#{issue.number}".casefold() for issue in linked})),
    )
