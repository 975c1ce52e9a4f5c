"""Whether a pull request is judged here, waits, or is left alone.

The webhook intake knows an account and a branch, the judge knows the commits too: both decide here. What was asked for by hand is
judged with any author, draft or not; a head that was judged once stays judged.
"""

from dataclasses import dataclass
from typing import Final

from worker.domain.config.config import Authors, Handling
from worker.domain.dossier.dossier import Dossier, Policy, PullRequest
from worker.domain.model import Frozen
from worker.domain.request.judge_request import DRAFT_TRIGGERS, MANUAL_TRIGGERS, AuthorKind, JudgeRequest, Trigger
from worker.dossier.agents import agent_of, find_author_agent

BOT: Final = "Bot"
"""GitHub's type of an account that is no person's."""


@dataclass(frozen=True)
class Eligible:
    """`observed_author`: the kind of author whose pull requests are judged here, and neither passed nor blocked; None: judged."""

    observed_author: AuthorKind | None = None


@dataclass(frozen=True)
class DraftHeld:
    """A draft: it waits until it is ready, or until a judging is requested."""


@dataclass(frozen=True)
class AuthorSkipped:
    """Pull requests of this kind of author are not judged here."""

    author: AuthorKind


Eligibility = Eligible | DraftHeld | AuthorSkipped


class EligibilityInput(Frozen):
    """What is known of a pull request. `was_judged`: its head was, for whatever reason."""

    author: AuthorKind
    trigger: Trigger
    draft: bool = False
    was_judged: bool = False


def decide_eligibility(eligibility_input: EligibilityInput, authors: Authors) -> Eligibility:
    """Decide whether the pull request is judged, held or skipped."""
    handling = find_handling(eligibility_input.author, authors)
    judged = Eligible(eligibility_input.author if handling is Handling.OBSERVE else None)
    if eligibility_input.trigger in MANUAL_TRIGGERS or eligibility_input.was_judged:
        return judged
    if handling is Handling.SKIP:
        return AuthorSkipped(eligibility_input.author)
    if eligibility_input.draft and eligibility_input.trigger not in DRAFT_TRIGGERS:
        return DraftHeld()
    return judged


def find_handling(author: AuthorKind, authors: Authors) -> Handling:
    return {AuthorKind.AGENT: authors.agents, AuthorKind.BOT: authors.bots, AuthorKind.PERSON: authors.people}[author]


def with_operator_defaults(authors: Authors, operators: Authors) -> Authors:
    """The repository's setting of authors, over the operator's."""
    return operators.model_copy(update={name: getattr(authors, name) for name in authors.model_fields_set})


def classify_account(login: str, account_type: str, head_ref: str) -> AuthorKind:
    """The kind of author who opened it, by the fields of a delivery."""
    if agent_of(login, head_ref) is not None:
        return AuthorKind.AGENT
    return AuthorKind.BOT if account_type == BOT or login.endswith("[bot]") else AuthorKind.PERSON


def classify_author(pull: PullRequest, delivery_kind: AuthorKind | None = None) -> AuthorKind:
    """The kind of author who wrote it, its commits included. *delivery_kind*: by `classify_account`."""
    if delivery_kind is AuthorKind.AGENT or find_author_agent(pull) is not None:
        return AuthorKind.AGENT
    return AuthorKind.BOT if delivery_kind is AuthorKind.BOT or pull.author.endswith("[bot]") else AuthorKind.PERSON


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
