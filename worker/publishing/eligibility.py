"""Whether a head is judged, from its dossier, and the check of a head that is not.

The repository's configuration overrides the operator's. Dossiers of a laptop are judged whatever their author.
"""

from typing import assert_never

from worker.domain.check.check_run import CheckContent
from worker.domain.config.config import Authors
from worker.domain.dossier.dossier import Dossier, Policy
from worker.domain.request.judge_request import AuthorKind, JudgeRequest
from worker.dossier.eligibility import (
    AuthorSkipped,
    DraftHeld,
    Eligibility,
    EligibilityInput,
    Eligible,
    classify_author,
    decide_eligibility,
    with_operator_defaults,
)


def eligibility_of(request: JudgeRequest, dossier: Dossier, operators: Authors | None) -> Eligibility:
    """Whether this head is judged. *operators* None: every head is."""
    if operators is None:
        return Eligible()
    pull = dossier.pull_request
    inputs = EligibilityInput(
        author=classify_author(pull, request.author),
        trigger=request.trigger,
        draft=pull.draft,
        was_judged=any(entry.head_sha == pull.head_sha for entry in dossier.ledger),
    )
    return decide_eligibility(inputs, with_operator_defaults(repository_authors(dossier), operators))


def repository_authors(dossier: Dossier) -> Authors:
    """The repository's `authors`."""
    if not dossier.config:
        return Authors()
    from worker.dossier.config import config_of  # noqa: PLC0415 - most repositories have no configuration

    return config_of(dossier).authors


def as_observed(dossier: Dossier, author: AuthorKind) -> Dossier:
    """The same dossier, judged in observe mode: its check neither passes nor blocks."""
    policy = (dossier.policy or Policy()).model_copy(update={"mode": "observe", "categories": {}})
    return dossier.model_copy(update={"policy": policy, "observed_as": author})


def idle_content(skipped: DraftHeld | AuthorSkipped) -> CheckContent:
    """The check of a head that is not judged."""
    from worker.publishing.texts.states import draft_content, skipped_content  # noqa: PLC0415 - a laptop leaves nothing alone

    match skipped:
        case DraftHeld():
            return draft_content()
        case AuthorSkipped(author=author):
            return skipped_content(author)
        case _:
            assert_never(skipped)
