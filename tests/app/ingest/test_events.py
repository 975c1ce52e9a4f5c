"""Delivery -> event. Invariant: a delivery without a rule is ignored by its name, refs are passed on unchanged."""

from pathlib import Path
from typing import Any

import pytest

from app.ingest.event_types import (
    BranchPushed,
    CiChanged,
    CommandIssued,
    Event,
    FeedbackGiven,
    HeadEvent,
    HeadRerunRequested,
    Ignored,
    InstallationChanged,
    IssueChanged,
    MergeGroupChanged,
    PullClosed,
    PullDrafted,
    PullEdited,
    PullOpened,
    PullPushed,
    PullReady,
    PullReopened,
    PullRequestEdit,
    RerunRequested,
    ReviewRequested,
    VisibleRepository,
)
from app.ingest.events import DELIVERY_RULES, SUBSCRIBED_EVENTS
from app.ingest.payloads import MalformedPayload
from tests.app.ingest.deliveries import (
    ABOUT,
    ALICE,
    BOT,
    OLD,
    REPOSITORY,
    SHA,
    SOMEWHERE,
    button_pressed,
    check_run,
    check_suite,
    listed_pull,
    pull_request,
    push,
    translate_payload,
)
from worker.domain.config.github_app import EVENT_PERMISSIONS, IMPLICIT_EVENTS
from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import AuthorKind, CommandName
from worker.domain.model import InstallationId, RepositoryId

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_handled_delivery_with_a_missing_field_is_malformed() -> None:
    with pytest.raises(MalformedPayload, match='"repository": expected a value, found nothing'):
        translate_payload("pull_request", {"action": "opened", "installation": {"id": 1}})


def test_unhandled_delivery_is_not_validated() -> None:
    payload: dict[str, Any] = {"action": "labeled", "pull_request": 5, "installation": "x", "repository": []}
    assert translate_payload("pull_request", payload) == Ignored("label")


def test_app_subscribes_to_handled_events_only() -> None:
    handled = {event_name for (event_name, _), row in DELIVERY_RULES.items() if row.is_handled}
    assert handled - IMPLICIT_EVENTS == SUBSCRIBED_EVENTS
    assert {"pull_request", "issue_comment", "issues", "check_run", "check_suite", "status"} < SUBSCRIBED_EVENTS
    assert not {"member", "membership", "team", "repository", "installation"} & SUBSCRIBED_EVENTS


def test_every_subscription_has_a_known_permission() -> None:
    assert EVENT_PERMISSIONS.keys() >= SUBSCRIBED_EVENTS


def test_triggers_page_lists_every_delivery_rule() -> None:
    ignored: dict[str, list[str]] = {}
    handled: list[str] = []
    for (event, action), row in DELIVERY_RULES.items():
        name = f"`{event}.{action}`" if action else f"`{event}`"
        if row.is_handled:
            permission = "always" if event in IMPLICIT_EVENTS else f"`{EVENT_PERMISSIONS[event]}`"
            handled.append(f"| {name} | {row.description} | {permission} |")
        else:
            ignored.setdefault(row.description, []).append(name)
    reasons = [f"- {reason}: {', '.join(names)}" for reason, names in ignored.items()]
    table, _, after = (
        (DOCS / "triggers.md").read_text().partition("|---|---|---|\n")[2].partition("\n\nIgnored, by reason:\n\n")
    )
    assert table.splitlines() == handled
    assert after.partition("\n\n")[0].splitlines() == reasons


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


@pytest.mark.parametrize("base", [{"ref": {"from": "dev"}, "sha": {"from": OLD}}, {"sha": {"from": OLD}}, {}])
def test_change_of_base_is_an_edit(base: dict[str, Any]) -> None:
    assert edit_of({"base": base}) is PullRequestEdit.BASE


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


ANOTHER = {"id": 1}
PASSED: dict[str, Any] = {"app": ANOTHER, "head_sha": SHA, "conclusion": "success"}
PRESSED: dict[str, Any] = {**REPOSITORY, "comment_id": None, "login": "alice", "head_sha": SHA}
DONE, FAILED = CiChanged(**SOMEWHERE, head_sha=SHA), CiChanged(**SOMEWHERE, head_sha=SHA, has_failed=True)


def status(state: str) -> Event | Ignored:
    return translate_payload("status", {**ABOUT, "sha": SHA, "state": state})


@pytest.mark.parametrize("action", ["created", "completed"])
@pytest.mark.parametrize(
    ("conclusion", "event"),
    [("failure", FAILED), ("timed_out", FAILED), ("startup_failure", FAILED), ("success", DONE), ("cancelled", DONE)],
)
def test_completed_foreign_check_run_is_a_ci_change(action: str, conclusion: str, event: Event) -> None:
    assert check_run(action, app=ANOTHER, conclusion=conclusion) == event


PULLS_WITH_OTHER_HEADS = [listed_pull(9, base_repository=8), listed_pull(3, sha=OLD), listed_pull(4)]
RERUN, RERUN_OF_ALL = RerunRequested(**REPOSITORY, head_sha=SHA), HeadRerunRequested(**SOMEWHERE, head_sha=SHA)


REVERTING = {"message": f'Revert "Retry uploads"\n\nThis reverts commit {OLD}.\n'}
CONFIG = ".github/assay.yml"
QUEUE = "refs/heads/gh-readonly-queue/main/pr-3-" + OLD


def issue(action: str, changes: dict[str, Any] | None = None, **fields: Any) -> Event | Ignored:
    about = {"issue": {"number": 9, "state": "open", **fields}, "changes": changes or {}}
    return translate_payload("issues", {**ABOUT, "action": action, **about})


def merge_group(action: str, **about: Any) -> Event | Ignored:
    fields = {"head_sha": SHA, "head_ref": QUEUE, "base_sha": OLD, "base_ref": "refs/heads/main"}
    return translate_payload("merge_group", {**ABOUT, "action": action, "merge_group": fields, **about})


def merge_group_event(ended: GroupEnd | None) -> MergeGroupChanged:
    refs: dict[str, Any] = {"head_ref": QUEUE, "base_ref": "refs/heads/main"}
    return MergeGroupChanged(**SOMEWHERE, repository="acme/widgets", head_sha=SHA, base_sha=OLD, **refs, ended=ended)


def installation(action: str, event_name: str = "installation", **about: Any) -> Event | Ignored:
    return translate_payload(event_name, {"installation": {"id": 1}, "action": action, **about})


def installation_event(*, is_installed: bool = True, **fields: Any) -> InstallationChanged:
    return InstallationChanged(installation_id=InstallationId(1), is_installed=is_installed, **fields)


BELOW, RELEASE = "refs/heads/below", "refs/heads/release/2"
EDITED = IssueChanged(**SOMEWHERE, repository="acme/widgets", number=9)
CONFIGURED = BranchPushed(**SOMEWHERE, branch="release/2", has_new_config=True, has_new_rules=True)
RULED = BranchPushed(**SOMEWHERE, branch="main", has_new_rules=True)
ADDED = {"id": 7, "full_name": "acme/widgets"}
VISIBLE = VisibleRepository(repository_id=RepositoryId(7), repository="acme/widgets")
EVENTS: dict[str, tuple[Event | Ignored, Event]] = {
    "a suite": (check_suite("completed", app=1), DONE),
    "a suite that passed": (
        translate_payload("check_suite", {**ABOUT, "action": "completed", "check_suite": PASSED}),
        CiChanged(**SOMEWHERE, head_sha=SHA, is_green=True),
    ),
    "a workflow": (
        translate_payload("workflow_run", {**ABOUT, "action": "completed", "workflow_run": {"head_sha": SHA}}),
        DONE,
    ),
    "a status": (status("success"), DONE),
    "a status that failed": (status("failure"), FAILED),
    "a status of an error": (status("error"), FAILED),
    "a thumb up": (button_pressed("helpful"), FeedbackGiven(**REPOSITORY, head_sha=SHA, is_helpful=True)),
    "a thumb down": (button_pressed("not_helpful"), FeedbackGiven(**REPOSITORY, head_sha=SHA, is_helpful=False)),
    "the button Re-judge": (button_pressed("rejudge"), CommandIssued(**PRESSED, command=CommandName.REJUDGE)),
    "the button Contest": (button_pressed("contest"), CommandIssued(**PRESSED, command=CommandName.CONTEST)),
    "Re-run, by the external id": (check_run("rerequested"), RERUN),
    "Re-run in a fork, without listed pull requests": (
        check_run("rerequested", pull_requests=[]),
        RerunRequested(**REPOSITORY, head_sha=None),
    ),
    "Re-run without our external id, by the first listed pull request of this repository": (
        check_run("rerequested", external_id="", pull_requests=PULLS_WITH_OTHER_HEADS),
        RerunRequested(**REPOSITORY, head_sha=OLD),
    ),
    "Re-run of a shared commit, with the head of its own pull request": (
        check_run("rerequested", pull_requests=[listed_pull(4, sha=OLD), listed_pull(3)]),
        RERUN,
    ),
    "Re-run at an old commit, without a head": (
        check_run("rerequested", head_sha=OLD, pull_requests=[]),
        RerunRequested(**REPOSITORY, head_sha=None),
    ),
    "Re-run without a pull request, of all with that head": (
        check_run("rerequested", external_id=None, pull_requests=[]),
        RERUN_OF_ALL,
    ),
    "Re-run with a pull request of another repository": (
        check_run("rerequested", external_id=None, pull_requests=[listed_pull(9, base_repository=8)]),
        RERUN_OF_ALL,
    ),
    "Re-run all": (check_suite("rerequested"), RERUN_OF_ALL),
    "an issue's new text": (issue("edited", {"body": {"from": "Retry"}}), EDITED),
    "an issue's new title": (issue("edited", {"title": {"from": "Retry"}}), EDITED),
    "a deleted issue": (issue("deleted"), EDITED),
    "a transferred issue": (issue("transferred"), EDITED),
    "a push that reverts commits, each named once": (
        push({"message": "Docs"}, REVERTING, REVERTING),
        BranchPushed(**SOMEWHERE, branch="main", reverted_commits=(OLD,)),
    ),
    "an added configuration": (push({"message": "Rules", "added": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "a changed configuration": (push({"message": "Rules", "modified": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "a removed configuration": (push({"message": "Rules", "removed": [CONFIG]}, ref=RELEASE), CONFIGURED),
    "rules for agents": (push({"message": "Retry"}, {"message": "Rules", "modified": ["AGENTS.md"]}), RULED),
    "rules in a folder": (push({"message": "Rules", "modified": ["upload.py", "docs/CLAUDE.md"]}), RULED),
    "rules of an editor": (push({"message": "Rules", "modified": [".cursor/rules/tests.mdc"]}), RULED),
    "a forced push": (
        push({"message": "Retry"}, ref=BELOW, forced=True),
        BranchPushed(**SOMEWHERE, branch="below", is_rewritten=True),
    ),
    "a requested merge group": (merge_group("checks_requested"), merge_group_event(None)),
    "a merged group": (merge_group("destroyed", reason="merged"), merge_group_event(GroupEnd.MERGED)),
    "a dequeued group": (merge_group("destroyed", reason="dequeued"), merge_group_event(GroupEnd.DEQUEUED)),
    "a group destroyed for an unknown reason": (
        merge_group("destroyed", reason="new"),
        merge_group_event(GroupEnd.INVALIDATED),
    ),
    "a group destroyed without a reason": (
        merge_group("destroyed", reason=None),
        merge_group_event(GroupEnd.INVALIDATED),
    ),
    "the App is installed": (
        installation("created", repositories=[ADDED]),
        installation_event(added_repositories=(VISIBLE,)),
    ),
    "an added repository": (
        installation("added", "installation_repositories", repositories_added=[ADDED]),
        installation_event(added_repositories=(VISIBLE,)),
    ),
    "a removed repository": (
        installation("removed", "installation_repositories", repositories_removed=[ADDED]),
        installation_event(removed_repositories=(VISIBLE.repository_id,)),
    ),
    "the App is uninstalled": (installation("deleted"), installation_event(is_installed=False)),
    "accepted permissions": (installation("new_permissions_accepted"), installation_event(has_new_permissions=True)),
}


@pytest.mark.parametrize(("event", "expected"), EVENTS.values(), ids=EVENTS)
def test_delivery_becomes_an_event(event: Event | Ignored, expected: Event) -> None:
    assert event == expected


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (
            translate_payload("deployment", {"action": "created", "installation": {"id": 1}}),
            "unhandled:deployment.created",
        ),
        (translate_payload("ping", {"zen": "Keep it logically awesome."}), "unhandled:ping"),
        (translate_payload("pull_request", {"action": "opened"}), "no_installation"),
        (translate_payload("installation", {"action": "suspend"}), "suspended"),
        (pull_request("labeled", {"label": {"name": "assay"}}), "label"),
        (pull_request("unlabeled", {"label": {"name": "assay"}}), "label"),
        (check_run("created"), "own_check_run"),
        (check_run("completed"), "own_check_run"),
        (check_run("created", app=ANOTHER), "not_done"),
        (check_run("completed", app=ANOTHER, conclusion="failure", head_sha=None), "no_commit"),
        (check_run("rerequested", app=ANOTHER), "other_apps_check_run"),
        (check_run("rerequested", app=None), "other_apps_check_run"),
        (check_run("rerequested", external_id=None, head_sha=None, pull_requests=[]), "no_commit"),
        (check_suite("completed"), "own_check_suite"),
        (check_suite("rerequested", app=1), "other_apps_check_suite"),
        (status("pending"), "not_done"),
        (button_pressed("helpful", app=ANOTHER), "other_apps_check_run"),
        (button_pressed("merge_it"), "unknown_button"),
        (check_run("requested_action"), "unknown_button"),
        (button_pressed("rejudge", {"sender": BOT}), "bot_pressed"),
        (button_pressed("helpful", {"sender": None}), "bot_pressed"),
        (button_pressed("helpful", external_id=None, pull_requests=[]), "no_pull_request"),
        (issue("edited"), "nothing_judged_by"),
        (issue("edited", {"body": {"from": ""}}, pull_request={"url": "x"}), "not_an_issue"),
        (issue("closed"), "issue_state"),
        (push(REVERTING, ref="refs/heads/fix"), "nothing_judged_by"),
        (push({"message": "Retry uploads", "added": ["upload.py"]}), "nothing_judged_by"),
        (push(), "nothing_judged_by"),
        (push(ref=BELOW, forced=True, created=True), "nothing_judged_by"),
        (push(ref=BELOW, forced=True, deleted=True), "nothing_judged_by"),
    ],
)
def test_delivery_without_effect_is_ignored_with_its_reason(event: Event | Ignored, reason: str) -> None:
    assert event == Ignored(reason)
