"""Whether a pull request is judged here, waits, or is left alone: one decision, by whoever looks.

Pure; asks nobody. The door knows an account and a branch, the judge knows the commits too: both come here, so that nothing
depends on who was first. Invariant: what somebody who may asked for by hand is judged, whoever wrote it, draft or not; and
a head that was judged once stays judged, whatever is heard about it later.
"""

from typing import Final

from worker.domain.config.config import Authors, Handling
from worker.domain.dossier.dossier import PullRequest
from worker.domain.model import Frozen
from worker.domain.request.judge_request import BY_HAND, DRAFT_TOO, AuthorKind, Trigger
from worker.domain.value import Value
from worker.dossier.agents import agent_of, author_agent

BOT: Final = "Bot"
"""GitHub's type of an account that is no person's."""


class Judge(Value):
    """`observes`: judged, and neither passed nor blocked, since the pull requests of this kind of author are; None: judged."""

    observes: AuthorKind | None = None


class Hold(Value):
    """A draft: until it is ready, or somebody asks."""


class Skip(Value):
    """Nobody judges what these write here."""

    author: AuthorKind


Standing = Judge | Hold | Skip


class About(Frozen):
    """What is known of a pull request. `was_judged`: its head was, for whatever reason."""

    author: AuthorKind
    trigger: Trigger
    draft: bool = False
    was_judged: bool = False


def standing(about: About, authors: Authors) -> Standing:
    """What becomes of it."""
    handling = handling_of(about.author, authors)
    judged = Judge(about.author if handling is Handling.OBSERVE else None)
    if about.trigger in BY_HAND or about.was_judged:
        return judged
    if handling is Handling.SKIP:
        return Skip(about.author)
    if about.draft and about.trigger not in DRAFT_TOO:
        return Hold()
    return judged


def handling_of(author: AuthorKind, authors: Authors) -> Handling:
    return {AuthorKind.AGENT: authors.agents, AuthorKind.BOT: authors.bots, AuthorKind.PERSON: authors.people}[author]


def with_operators(authors: Authors, operators: Authors) -> Authors:
    """What a repository says of authors, and where it says nothing what the operator does."""
    return operators.model_copy(update={name: getattr(authors, name) for name in authors.model_fields_set})


def kind_of_account(login: str, account_type: str, head_ref: str) -> AuthorKind:
    """Who opened it, by what a delivery says."""
    if agent_of(login, head_ref) is not None:
        return AuthorKind.AGENT
    return AuthorKind.BOT if account_type == BOT or login.endswith("[bot]") else AuthorKind.PERSON


def kind_of(pull: PullRequest, told: AuthorKind | None = None) -> AuthorKind:
    """Who wrote it, its commits included. *told*: what a delivery said."""
    if told is AuthorKind.AGENT or author_agent(pull) is not None:
        return AuthorKind.AGENT
    return AuthorKind.BOT if told is AuthorKind.BOT or pull.author.endswith("[bot]") else AuthorKind.PERSON
