"""Who is judged, who waits, who is left alone. Invariant: what is asked for by hand is judged."""

from typing import Any

import pytest

from tests.worker.adapters.redis.played import wish
from tests.worker.publishing.texts.samples import dossier, rejected
from worker.domain.config.config import Authors, Handling
from worker.domain.dossier.dossier import Commit, ConfigOrigin, ConfigText, Dossier, Policy, PullRequest
from worker.domain.request.judge_request import DRAFT_TRIGGERS, MANUAL_TRIGGERS, AuthorKind, JudgeRequest, Trigger
from worker.domain.request.pull_request_events import RepositoryAdded
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Category
from worker.dossier.eligibility import (
    AuthorSkipped,
    DraftHeld,
    EligibilityInput,
    Eligible,
    as_observed,
    classify_account,
    classify_author,
    decide_eligibility,
    eligibility_of,
    with_operator_defaults,
)
from worker.publishing.texts.states import draft_content, idle_content, skipped_content

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


NOBODY = Authors(agents=Handling.SKIP)


def asked(trigger: Trigger = Trigger.PUSHED, author: AuthorKind | None = None) -> JudgeRequest:
    return wish(trigger=trigger).model_copy(update={"author": author})


def by(author: str, *, message: str = "Retry", is_draft: bool = False, config: str = "") -> Dossier:
    raw = dossier()
    commits = (Commit(sha=raw.pull_request.head_sha, message=message, author=author),)
    told = {"author": author, "author_agent": None, "head_ref": "fix", "commits": commits, "draft": is_draft}
    texts = (ConfigText(origin=ConfigOrigin.REPOSITORY, text=config),) if config else ()
    changed = raw.pull_request.model_copy(update=told)
    return raw.model_copy(update={"pull_request": changed, "config": texts, "ledger": ()})


def test_commits_tell_of_the_agent_behind_a_person() -> None:
    signed = "Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    assert eligibility_of(asked(author=AuthorKind.PERSON), by("alice", message=signed), Authors()) == Eligible()
    assert eligibility_of(asked(author=AuthorKind.PERSON), by("alice"), Authors()) == Eligible(AuthorKind.PERSON)


def test_what_a_repository_says_counts_and_else_the_operator() -> None:
    config = "authors:\n  people: judge\n"
    assert eligibility_of(asked(), by("alice", config=config), Authors()) == Eligible()
    assert eligibility_of(asked(), by("dependabot[bot]", config=config), Authors(bots=Handling.OBSERVE)) == Eligible(
        AuthorKind.BOT
    )


def test_a_draft_waits() -> None:
    assert eligibility_of(asked(), by("Copilot", is_draft=True), Authors()) == DraftHeld()


def test_a_head_that_was_judged_stays_judged() -> None:
    verdict, known = rejected(), by("alice")
    entry = LedgerEntry(
        eval_id=verdict.eval_id,
        created_at=verdict.created_at,
        round=1,
        fence=1,
        head_sha=known.pull_request.head_sha,
        fingerprint=verdict.fingerprint,
        diff_summary="",
        verdict=verdict,
    )
    later = known.model_copy(update={"ledger": (entry,)})
    skipping = Authors(people=Handling.SKIP)
    assert eligibility_of(asked(Trigger.CI), later, skipping) == Eligible()
    assert eligibility_of(asked(Trigger.CI), known, skipping) == AuthorSkipped(AuthorKind.PERSON)


def test_on_a_laptop_everything_is_judged() -> None:
    assert eligibility_of(asked(), by("alice", is_draft=True), None) == Eligible()


def test_what_is_observed_neither_passes_nor_blocks_in_any_category() -> None:
    policy = Policy(categories={Category.WEAK_TEST: "block"})
    found = as_observed(by("alice").model_copy(update={"policy": policy}), AuthorKind.PERSON)
    assert (found.policy, found.observed_as) == (Policy(mode="observe"), AuthorKind.PERSON)
    without = by("alice").model_copy(update={"policy": None})
    assert as_observed(without, AuthorKind.BOT).policy == Policy(mode="observe")


@pytest.mark.parametrize(
    ("left", "content"),
    [(DraftHeld(), draft_content()), (AuthorSkipped(AuthorKind.BOT), skipped_content(AuthorKind.BOT))],
)
def test_each_way_of_not_being_judged_has_its_words(left: DraftHeld | AuthorSkipped, content: object) -> None:
    assert idle_content(left) == content
