"""Who is judged, who waits, who is left alone. Invariant: what is asked for by hand is judged."""

from typing import Any

import pytest

from worker.domain.config.config import Authors, Handling
from worker.domain.dossier.dossier import Commit, PullRequest
from worker.domain.request.judge_request import DRAFT_TRIGGERS, MANUAL_TRIGGERS, AuthorKind, Trigger
from worker.domain.request.pull_request_events import RepositoryAdded
from worker.dossier.eligibility import (
    AuthorSkipped,
    DraftHeld,
    EligibilityInput,
    Eligible,
    classify_account,
    classify_author,
    decide_eligibility,
    with_operator_defaults,
)

AGENT, BOT, PERSON = AuthorKind.AGENT, AuthorKind.BOT, AuthorKind.PERSON
UNASKED = sorted(set(Trigger) - MANUAL_TRIGGERS)


def about(author: AuthorKind = AGENT, trigger: Trigger = Trigger.PUSHED, **facts: bool) -> EligibilityInput:
    return EligibilityInput(author=author, trigger=trigger, **facts)


def pull(author: str = "alice", head_ref: str = "fix", message: str = "Retry") -> PullRequest:
    sha = "1" * 40
    commits = (Commit(sha=sha, message=message, author="alice"),)
    fields: dict[str, Any] = {"title": "", "body": "", "base_sha": sha, "head_sha": sha, "commits": commits}
    return PullRequest(repository="acme/widgets", number=1, author=author, head_ref=head_ref, **fields)


@pytest.mark.parametrize("trigger", UNASKED)
def test_by_default_agents_are_judged_and_people_and_other_bots_are_observed(trigger: Trigger) -> None:
    assert decide_eligibility(about(AGENT, trigger), Authors()) == Eligible()
    assert decide_eligibility(about(PERSON, trigger), Authors()) == Eligible(PERSON)
    assert decide_eligibility(about(BOT, trigger), Authors()) == Eligible(BOT)
    assert decide_eligibility(about(BOT, trigger), Authors(bots=Handling.SKIP)) == AuthorSkipped(BOT)


@pytest.mark.parametrize("author", AuthorKind)
@pytest.mark.parametrize("trigger", sorted(MANUAL_TRIGGERS))
def test_what_is_asked_for_by_hand_is_judged_whoever_wrote_it_draft_or_not(
    trigger: Trigger, author: AuthorKind
) -> None:
    asked = about(author, trigger, draft=True)
    assert (
        decide_eligibility(asked, Authors(agents=Handling.SKIP, people=Handling.SKIP, bots=Handling.SKIP)) == Eligible()
    )


def test_a_draft_waits_until_somebody_asks() -> None:
    held = [
        trigger
        for trigger in UNASKED
        if decide_eligibility(about(trigger=trigger, draft=True), Authors()) == DraftHeld()
    ]
    assert held == sorted(set(Trigger) - DRAFT_TRIGGERS)


def test_a_head_that_was_judged_once_stays_judged() -> None:
    later = about(BOT, Trigger.CI, draft=True, was_judged=True)
    assert decide_eligibility(later, Authors(bots=Handling.SKIP)) == Eligible()


def test_who_is_only_observed_is_judged_and_never_blocked() -> None:
    authors = Authors(people=Handling.OBSERVE)
    assert decide_eligibility(about(PERSON), authors) == Eligible(observed_author=PERSON)
    assert decide_eligibility(about(PERSON, Trigger.COMMAND), authors) == Eligible(observed_author=PERSON)
    assert decide_eligibility(about(PERSON, draft=True), authors) == DraftHeld()


def test_what_a_repository_says_of_authors_counts_and_for_the_rest_the_operators_word() -> None:
    operators = Authors(people=Handling.JUDGE, bots=Handling.OBSERVE)
    assert with_operator_defaults(Authors(people=Handling.SKIP), operators) == Authors(
        people=Handling.SKIP, bots=Handling.OBSERVE
    )
    assert with_operator_defaults(Authors(), operators) == operators


@pytest.mark.parametrize(
    ("login", "account_type", "head_ref", "kind"),
    [
        ("Copilot", "Bot", "fix", AGENT),
        ("alice", "User", "copilot/fix-7", AGENT),
        ("alice", "User", "fix", PERSON),
        ("dependabot[bot]", "Bot", "dependabot/npm", BOT),
        ("renovate", "Bot", "renovate/all", BOT),
        ("renovate[bot]", "", "renovate/all", BOT),
    ],
)
def test_an_account_and_a_branch_tell_who_opened_it(
    login: str, account_type: str, head_ref: str, kind: AuthorKind
) -> None:
    assert classify_account(login, account_type, head_ref) is kind


def test_commits_show_the_agent_behind_a_person() -> None:
    signed = "Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    assert classify_author(pull(message=signed), PERSON) is AGENT
    assert classify_author(pull()) is PERSON
    assert classify_author(pull(), AGENT) is AGENT
    assert classify_author(pull(), BOT) is BOT
    assert classify_author(pull(author="dependabot[bot]")) is BOT


def test_a_greeting_is_the_same_however_often_it_is_heard() -> None:
    fields = {"installation_id": 1, "repository_id": 2, "repository": "acme/widgets"}
    first = RepositoryAdded.model_validate({**fields, "since": "2026-11-20T12:00:00Z"})
    again = RepositoryAdded.model_validate({**fields, "since": "2026-11-20T13:00:00Z"})
    assert (first.id, again.id) == ("1:2:0", "1:2:0")
