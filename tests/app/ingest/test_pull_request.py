"""Deliveries about pull requests. Invariant: an event carries the author's kind and the draft state."""

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
    ("action", "event_type"),
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
def test_action_becomes_an_event_with_head_author_and_draft(
    action: str, event_type: type[HeadEvent], *, draft: bool
) -> None:
    event = pull_request(action, draft=draft, user=BOT)
    assert event == event_type(**REPOSITORY, head_sha=SHA, author=AuthorKind.BOT, draft=draft)


BASE_REPOSITORY, FORK = {"id": 7}, {"id": 8}
BOB = {"login": "bob", "type": "User"}
COPILOT, DEPENDABOT = ({"login": login, "type": "Bot"} for login in ("copilot-swe-agent[bot]", "dependabot[bot]"))


def head(ref: str = "fix", **more: Any) -> dict[str, Any]:
    return {"sha": SHA, "ref": ref, **more}


def open_from(association: str, repo: Any) -> Any:
    return pull_request("opened", head=head(repo=repo), author_association=association)


def push_by(sender: Any, opener: Any) -> Any:
    return pull_request("synchronize", {"sender": sender}, user=opener)


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        (open_from("NONE", FORK), {"is_outside": True}),
        (open_from("CONTRIBUTOR", FORK), {"is_outside": True}),
        (open_from("FIRST_TIMER", None), {"is_outside": True}),
        (open_from("MEMBER", FORK), {"is_outside": False}),
        (open_from("COLLABORATOR", FORK), {"is_outside": False}),
        (open_from("NONE", BASE_REPOSITORY), {"is_outside": False}),
        (open_from("OWNER", BASE_REPOSITORY), {"is_outside": False}),
        (pull_request("opened", user=COPILOT, head=head()), {"author": AuthorKind.AGENT}),
        (pull_request("opened", user=ALICE, head=head("claude/fix")), {"author": AuthorKind.AGENT}),
        (pull_request("opened", user=ALICE, head=head()), {"author": AuthorKind.PERSON}),
        (pull_request("opened", user=DEPENDABOT, head=head("dependabot/x")), {"author": AuthorKind.BOT}),
        (pull_request("opened", user=None, head=head()), {"author": None}),
        (pull_request("synchronize", base={"sha": OLD, "ref": "main"}), {"base_sha": OLD, "base_ref": "main"}),
        (pull_request("synchronize"), {"base_sha": None, "base_ref": None}),
        (pull_request("synchronize", {"before": OLD, "after": SHA}), {"head_sha": SHA, "before": OLD}),
        (pull_request("synchronize", {"before": None, "after": SHA}), {"head_sha": SHA, "before": None}),
        (push_by(ALICE, BOT), {"by_another": True}),
        (push_by(ALICE, BOB), {"by_another": True}),
        (push_by(ALICE, None), {"by_another": True}),
        (push_by(ALICE, ALICE), {"by_another": False}),
        (push_by(BOT, ALICE), {"by_another": False}),
        (push_by(None, BOT), {"by_another": False}),
        (pull_request("reopened", {"sender": ALICE}), {"by_person": True}),
        (pull_request("reopened", {"sender": BOT}), {"by_person": False}),
    ],
)
def test_head_event_carries_origin_author_base_and_sender(event: Event | Ignored, fields: dict[str, Any]) -> None:
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
def test_new_head_says_whether_the_description_has_a_case(action: str, body: str | None, *, has_case: bool) -> None:
    assert getattr(pull_request(action, body=body), "has_case", None) is has_case


def edit_of(changes: dict[str, Any], **pull: Any) -> PullRequestEdit | Ignored | None:
    event = pull_request("edited", {"changes": changes}, **pull)
    return event.edit if isinstance(event, PullEdited) else event if isinstance(event, Ignored) else None


@pytest.mark.parametrize(
    ("base", "previous"),
    [({"ref": {"from": "dev"}, "sha": {"from": OLD}}, "dev"), ({"sha": {"from": OLD}}, None), ({}, None)],
)
def test_base_change_names_the_previous_base(base: dict[str, Any], previous: str | None) -> None:
    event = pull_request("edited", {"changes": {"base": base}})
    assert isinstance(event, PullEdited)
    assert (event.edit, event.left_base_ref) == (PullRequestEdit.BASE, previous)


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
def test_edit_counts_by_base_then_case_then_linked_issues_then_text(
    changes: dict[str, Any], body: str | None, edit: PullRequestEdit | Ignored
) -> None:
    assert edit_of(changes, body=body) == edit


def test_issue_url_counts_only_on_the_configured_github() -> None:
    changes, url = {"body": {"from": ""}}, "https://ghe.acme.test/acme/widgets"
    body = f"Closes {url}/issues/8"
    assert edit_of(changes, body=body, html_url=f"{url}/pull/3") is PullRequestEdit.LINKS
    assert edit_of(changes, body=body) is PullRequestEdit.TEXT


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
def test_text_edit_carries_the_issues_it_closes(before: str, body: str, closes: Any) -> None:
    event = pull_request("edited", {"changes": {"body": {"from": before}}}, body=body)
    assert isinstance(event, PullEdited)
    assert event.closes == (() if closes is None else closes)
    assert event.edit is (PullRequestEdit.LINKS if closes is None else PullRequestEdit.TEXT)


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
def test_bot_edit_of_another_authors_description_is_ignored(
    sender: Any, opener: Any, edit: PullRequestEdit | Ignored
) -> None:
    event = pull_request("edited", {**SUMMARY, "sender": sender}, body="Retries on 504.", user=opener)
    assert (event.edit if isinstance(event, PullEdited) else event) == edit


def test_bot_that_removes_a_case_is_a_text_edit() -> None:
    about: dict[str, Any] = {"changes": {"body": {"from": CASE}}, "sender": OTHER_BOT}
    event = pull_request("edited", about, body="Retries.", user=ALICE)
    assert isinstance(event, PullEdited)
    assert event.edit is PullRequestEdit.TEXT


@pytest.mark.parametrize("action", ["edited", "review_requested", "converted_to_draft"])
def test_edit_of_a_closed_pull_request_is_ignored(action: str) -> None:
    event = pull_request(action, {"changes": {"body": {"from": ""}}}, body=CASE, state="closed")
    assert event == Ignored("pull_request_closed")


@pytest.mark.parametrize("action", ["labeled", "unlabeled"])
def test_label_is_ignored(action: str) -> None:
    assert pull_request(action, {"label": {"name": "assay"}}) == Ignored("label")


def close_pull(sender: dict[str, Any] | None = None, **changes: Any) -> Any:
    fields = {"head": {"sha": SHA, "ref": "fix"}, "title": "Retry", "body": None, "state": "closed", **changes}
    return pull_request("closed", {"sender": sender}, **fields)


def test_close_without_a_merge_has_no_revert() -> None:
    named = {"title": "Fix it", "body": "Reverts acme/widgets#12", "head": {"sha": SHA, "ref": "revert-12-fix"}}
    assert close_pull(ALICE, merge_commit_sha=OLD, **named) == PullClosed(**REPOSITORY, head_sha=SHA, by_person=True)


def test_merge_names_its_commit_and_reverted_pull_requests() -> None:
    named = {"title": "Fix it", "body": "Reverts acme/widgets#12", "head": {"sha": SHA, "ref": "revert-12-fix"}}
    event = close_pull(BOT, merged=True, merge_commit_sha=OLD, **named)
    expected: dict[str, Any] = {"merge_sha": OLD, "mends": True, "reverts": (12,)}
    assert event == PullClosed(**REPOSITORY, head_sha=SHA, by_person=False, **expected)


def test_merge_without_a_merge_commit_names_the_head() -> None:
    event = close_pull(merged=True)
    assert (event.merge_sha, event.mends, event.reverts) == (SHA, False, ())
