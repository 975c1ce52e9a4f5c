"""What is heard of a pull request itself. Invariant: who opened it, and whether it is a draft, go along."""

from typing import Any

import pytest

from app.ingest.event_types import (
    Event,
    HeadEvent,
    Ignored,
    PullClosed,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    PullRequestEdit,
    ReviewRequested,
)
from tests.app.ingest.deliveries import ALICE, BOT, OLD, REPOSITORY, SHA, pull_request
from worker.domain.judge_request import AuthorKind

CASE = "Retries.\n\n```assay\nsummary: Retries on 503\n```\n"
OTHER_CASE = CASE.replace("503", "503 and 504")


@pytest.mark.parametrize(
    ("action", "event"),
    [
        ("opened", PullOpened),
        ("synchronize", PullPushed),
        ("reopened", PullReopened),
        ("ready_for_review", PullReady),
        ("converted_to_draft", PullDrafted),
        ("review_requested", ReviewRequested),
    ],
)
@pytest.mark.parametrize("draft", [False, True])
def test_what_happened_is_an_event_with_head_author_and_draft(
    action: str, event: type[HeadEvent], *, draft: bool
) -> None:
    found = pull_request(action, draft=draft, user=BOT)
    assert found == event(**REPOSITORY, head_sha=SHA, author=AuthorKind.BOT, draft=draft)


HOME, FORK = {"id": 7}, {"id": 8}
BOB = {"login": "bob", "type": "User"}
COPILOT, DEPENDABOT = ({"login": login, "type": "Bot"} for login in ("copilot-swe-agent[bot]", "dependabot[bot]"))


def head(ref: str = "fix", **more: Any) -> dict[str, Any]:
    return {"sha": SHA, "ref": ref, **more}


def opened(association: str, repo: Any) -> Any:
    return pull_request("opened", head=head(repo=repo), author_association=association)


def pushed(sender: Any, opener: Any) -> Any:
    return pull_request("synchronize", {"sender": sender}, user=opener)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        (opened("NONE", FORK), {"is_outside": True}),
        (opened("CONTRIBUTOR", FORK), {"is_outside": True}),
        (opened("FIRST_TIMER", None), {"is_outside": True}),
        (opened("MEMBER", FORK), {"is_outside": False}),
        (opened("COLLABORATOR", FORK), {"is_outside": False}),
        (opened("NONE", HOME), {"is_outside": False}),
        (opened("OWNER", HOME), {"is_outside": False}),
        (pull_request("opened", user=COPILOT, head=head()), {"author": AuthorKind.AGENT}),
        (pull_request("opened", user=ALICE, head=head("claude/fix")), {"author": AuthorKind.AGENT}),
        (pull_request("opened", user=ALICE, head=head()), {"author": AuthorKind.PERSON}),
        (pull_request("opened", user=DEPENDABOT, head=head("dependabot/x")), {"author": AuthorKind.BOT}),
        (pull_request("opened", user=None, head=head()), {"author": None}),
        (pull_request("synchronize", base={"sha": OLD, "ref": "main"}), {"base_sha": OLD, "base_ref": "main"}),
        (pull_request("synchronize"), {"base_sha": None, "base_ref": None}),
        (pull_request("synchronize", {"before": OLD, "after": SHA}), {"head_sha": SHA, "before": OLD}),
        (pull_request("synchronize", {"before": None, "after": SHA}), {"head_sha": SHA, "before": None}),
        (pushed(ALICE, BOT), {"by_another": True}),
        (pushed(ALICE, BOB), {"by_another": True}),
        (pushed(ALICE, None), {"by_another": True}),
        (pushed(ALICE, ALICE), {"by_another": False}),
        (pushed(BOT, ALICE), {"by_another": False}),
        (pushed(None, BOT), {"by_another": False}),
        (pull_request("reopened", {"sender": ALICE}), {"by_person": True}),
        (pull_request("reopened", {"sender": BOT}), {"by_person": False}),
    ],
)
def test_what_goes_along_with_a_head(event: Event | Ignored, fields: dict[str, Any]) -> None:
    """A stranger's fork, by its repository and the association; who opened it, by account and branch; what it is compared with."""
    assert {name: getattr(event, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("body", "has_case"),
    [
        (CASE, True),
        ("```yaml\nac_coverage: []\n```", True),
        (None, False),
        ("about assay", False),
        ("> ```assay\n> summary: x\n> ```", False),
    ],
)
@pytest.mark.parametrize("action", ["opened", "synchronize"])
def test_a_case_in_the_description_is_seen_when_a_head_comes(action: str, body: str | None, *, has_case: bool) -> None:
    assert getattr(pull_request(action, body=body), "has_case", None) is has_case


def edited(changes: dict[str, Any], **pull: Any) -> PullRequestEdit | Ignored | None:
    found = pull_request("edited", {"changes": changes}, **pull)
    return found.edit if isinstance(found, PullEdited) else found if isinstance(found, Ignored) else None


@pytest.mark.parametrize(
    ("base", "left"),
    [({"ref": {"from": "dev"}, "sha": {"from": OLD}}, "dev"), ({"sha": {"from": OLD}}, None), ({}, None)],
)
def test_another_base_says_which_one_was_left(base: dict[str, Any], left: str | None) -> None:
    found = pull_request("edited", {"changes": {"base": base}})
    assert isinstance(found, PullEdited)
    assert (found.edit, found.left_base_ref) == (PullRequestEdit.BASE, left)


@pytest.mark.parametrize(
    ("changes", "body", "edit"),
    [
        ({"base": {"ref": {"from": "main"}, "sha": {"from": OLD}}}, "", PullRequestEdit.BASE),
        ({"body": {"from": "Retries."}}, CASE, PullRequestEdit.CASE),
        ({"body": {"from": CASE}}, OTHER_CASE, PullRequestEdit.CASE),
        ({"body": {"from": CASE}}, None, PullRequestEdit.TEXT),
        ({"body": {"from": CASE}}, "Retries.", PullRequestEdit.TEXT),
        ({"body": {"from": CASE}}, "Closes #7", PullRequestEdit.LINKS),
        ({"body": {"from": f"Closes #7\n\n{CASE}"}}, "Closes #7", PullRequestEdit.TEXT),
        ({"body": {"from": "Closes #7"}}, "Closes #8", PullRequestEdit.LINKS),
        ({"body": {"from": None}}, "Closes https://github.com/acme/widgets/issues/8", PullRequestEdit.LINKS),
        ({"body": {"from": "Closes #7"}}, "It closes #7", PullRequestEdit.TEXT),
        ({"body": {"from": "Closes #7, #8"}}, "Closes #7. Fixes #9", PullRequestEdit.LINKS),
        ({"body": {"from": CASE}}, f"Hello.\n\n{CASE}", PullRequestEdit.TEXT),
        ({"body": {"from": "Retries."}}, "Retries on 504.", PullRequestEdit.TEXT),
        ({"body": {"from": "Retries."}}, "Retries.\n<!-- on 504? -->\n", Ignored("nothing_judged_by")),
        ({"title": {"from": "Retry"}}, "", PullRequestEdit.TEXT),
        ({"title": {"from": "Retry"}}, "Closes #7", PullRequestEdit.TEXT),
        ({"body": {"from": "Closes #7"}}, "Closes #7<!-- at last -->", Ignored("nothing_judged_by")),
        ({"title": {"from": ""}, "body": {"from": None}}, None, Ignored("nothing_judged_by")),
        ({}, "", Ignored("nothing_judged_by")),
    ],
)
def test_of_an_edit_base_case_issues_to_close_and_without_these_its_own_words_matter(
    changes: dict[str, Any], body: str | None, edit: PullRequestEdit | Ignored
) -> None:
    assert edited(changes, body=body) == edit


def test_an_issue_is_named_by_its_url_on_this_github_alone() -> None:
    changes, url = {"body": {"from": ""}}, "https://ghe.acme.test/acme/widgets"
    body = f"Closes {url}/issues/8"
    assert edited(changes, body=body, html_url=f"{url}/pull/3") is PullRequestEdit.LINKS
    assert edited(changes, body=body) is PullRequestEdit.TEXT


@pytest.mark.parametrize(
    ("before", "body", "closes"),
    [
        ("Retries.", "Retries on 504.", ()),
        ("Closes #7", "Closes #7, closes Acme/Widgets#8", None),
        (
            "Closes #7. Fixes other/tracker#12",
            "It closes #7, fixes other/tracker#12.",
            (("acme/widgets", 7), ("other/tracker", 12)),
        ),
        (f"Closes #7\n\n{CASE}", "Closes #7", ()),
    ],
)
def test_which_issues_may_say_what_is_asked_for_instead_of_its_text_goes_along(
    before: str, body: str, closes: Any
) -> None:
    found = pull_request("edited", {"changes": {"body": {"from": before}}}, body=body)
    assert isinstance(found, PullEdited)
    assert found.closes == (() if closes is None else closes)
    assert found.edit is (PullRequestEdit.LINKS if closes is None else PullRequestEdit.TEXT)


SUMMARY: dict[str, Any] = {"changes": {"body": {"from": "Retries."}}}
OTHER_BOT = {"login": "summaries[bot]", "type": "Bot"}


@pytest.mark.parametrize(
    ("sender", "opener", "edit"),
    [
        (OTHER_BOT, ALICE, Ignored("nothing_judged_by")),
        (OTHER_BOT, BOT, Ignored("nothing_judged_by")),
        (OTHER_BOT, None, Ignored("nothing_judged_by")),
        (BOT, BOT, PullRequestEdit.TEXT),
        (ALICE, BOT, PullRequestEdit.TEXT),
        (None, BOT, PullRequestEdit.TEXT),
    ],
)
def test_a_bot_that_edits_anothers_description_asks_for_nothing(
    sender: Any, opener: Any, edit: PullRequestEdit | Ignored
) -> None:
    found = pull_request("edited", {**SUMMARY, "sender": sender}, body="Retries on 504.", user=opener)
    assert (found.edit if isinstance(found, PullEdited) else found) == edit


def test_a_bot_that_takes_a_case_away_does_so_for_everybody() -> None:
    about: dict[str, Any] = {"changes": {"body": {"from": CASE}}, "sender": OTHER_BOT}
    found = pull_request("edited", about, body="Retries.", user=ALICE)
    assert isinstance(found, PullEdited)
    assert found.edit is PullRequestEdit.TEXT


@pytest.mark.parametrize("action", ["edited", "review_requested", "converted_to_draft"])
def test_what_is_written_at_a_closed_pull_request_asks_for_nothing(action: str) -> None:
    found = pull_request(action, {"changes": {"body": {"from": ""}}}, body=CASE, state="closed")
    assert found == Ignored("pull_request_closed")


@pytest.mark.parametrize("action", ["labeled", "unlabeled"])
def test_a_label_means_nothing_by_itself(action: str) -> None:
    assert pull_request(action, {"label": {"name": "assay"}}) == Ignored("label")


def closed(sender: dict[str, Any] | None = None, **changes: Any) -> Any:
    fields = {"head": {"sha": SHA, "ref": "fix"}, "title": "Retry", "body": None, "state": "closed", **changes}
    return pull_request("closed", {"sender": sender}, **fields)


def test_a_close_without_a_merge_says_nothing_of_other_pull_requests() -> None:
    named = {"title": "Fix it", "body": "Reverts acme/widgets#12", "head": {"sha": SHA, "ref": "revert-12-fix"}}
    assert closed(ALICE, merge_commit_sha=OLD, **named) == PullClosed(**REPOSITORY, head_sha=SHA, by_person=True)


def test_a_merge_names_its_commit_and_what_it_says_of_others() -> None:
    named = {"title": "Fix it", "body": "Reverts acme/widgets#12", "head": {"sha": SHA, "ref": "revert-12-fix"}}
    event = closed(BOT, merged=True, merge_commit_sha=OLD, **named)
    said: dict[str, Any] = {"merge_sha": OLD, "mends": True, "reverts": (12,)}
    assert event == PullClosed(**REPOSITORY, head_sha=SHA, by_person=False, **said)


def test_a_merge_without_a_commit_of_its_own_is_its_head() -> None:
    event = closed(merged=True)
    assert (event.merge_sha, event.mends, event.reverts) == (SHA, False, ())
