"""By all that is known of a head: is it judged here. Invariant: the repository's word counts over the operator's."""

import pytest

from tests.worker.adapters.redis.played import AT, pull
from tests.worker.publishing.texts.samples import dossier, rejected
from worker.domain.config.config import Authors, Handling
from worker.domain.dossier.dossier import Commit, ConfigOrigin, ConfigText, Dossier, Policy
from worker.domain.ids import DeliveryId
from worker.domain.request.judge_request import AuthorKind, JudgeRequest, Trigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Category
from worker.dossier.eligibility import AuthorSkipped, DraftHeld, Eligible
from worker.publishing.eligibility import as_observed, eligibility_of, idle_content
from worker.publishing.texts.states import draft_content, skipped_content

NOBODY = Authors(agents=Handling.SKIP)


def asked(trigger: Trigger = Trigger.PUSHED, author: AuthorKind | None = None) -> JudgeRequest:
    return JudgeRequest(
        pull=pull(),
        repository="acme/widgets",
        head_sha=None,
        trigger=trigger,
        delivery_id=DeliveryId("d"),
        requested_at=AT,
        author=author,
    )


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
