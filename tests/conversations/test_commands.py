"""Commands of people: permissions, replies and effects."""

import pytest

from tests.conversations.conftest import OpenWorld, open_rejected
from tests.conversations.test_feedback import read_comments
from tests.conversations.test_outcomes import read_outcomes
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.people import Comment
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, cannot_tell, reject
from tests.world.world import World


def open_unjudged(world: World) -> PullRequest:
    """Open a pull request whose model call is refused."""
    world.model.reply_with_error(401)
    pull = world.open_and_judge()
    assert pull.check.conclusion == "action_required"
    return pull


def read_reactions(world: World, comment: Comment) -> list[tuple[str, str]]:
    return world.repository.reactions(comment.id)


def test_rejudge_command_of_a_writer_is_acknowledged_and_judged(world: World) -> None:
    pull = open_unjudged(world)
    comment = world.comment_and_wait(pull, "Nothing wrong there.\n\n/rejudge\n", accept(RETRY_AT))

    assert pull.conclusions == ["success"]
    assert read_reactions(world, comment) == [("assay[bot]", "eyes")]


def test_pain_24_stranger_spends_nothing_and_writer_commands_on_bot_pull_request(world: World) -> None:
    pull = open_rejected(world)
    first = world.mallory.comment(pull, "/rejudge")
    second = world.comment_and_wait(pull, "/rejudge", by=world.mallory)

    assert [read_reactions(world, comment) for comment in (first, second)] == [[("assay[bot]", "-1")]] * 2
    assert pull.command_replies == [
        "`/rejudge` is for people with the role write, maintain or admin in this repository. `mallory` has read."
    ]
    assert len(world.model.requests) == 1

    forced = world.comment_and_wait(pull, "/rejudge force", accept(RETRY_AT))
    assert read_reactions(world, forced) == [("assay[bot]", "eyes")]
    assert pull.check.conclusion == "success"


def test_pain_09_empty_commit_carries_verdict_over_and_only_force_asks_again(world: World) -> None:
    pull = open_rejected(world)
    first = pull.verdict
    world.push_and_judge(pull, {})
    carried = pull.verdict
    assert pull.check.conclusion == "failure"
    assert carried["subject"]["head_sha"] == pull.head != first["subject"]["head_sha"]
    assert (carried["carried_from"], carried["judge_cost_usd"]) == (first["eval_id"], "0")
    same = ("decision", "category", "concern", "next_step", "evidence", "round")
    assert [carried[name] for name in same] == [first[name] for name in same]
    assert len(world.model.requests) == 1

    world.comment_and_wait(pull, "/rejudge force", accept(RETRY_AT))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert len(world.model.requests) == 2

    world.comment_and_wait(pull, "/rejudge")
    assert pull.verdict["carried_from"] is not None
    assert len(world.model.requests) == 2


def test_pain_25_override_names_person_and_reason_and_holds_for_one_commit(world: World) -> None:
    pull = open_rejected(world)
    verdict = pull.verdict
    refused = world.bob.comment(pull, "/override The fix is urgent.")
    taken = world.comment_and_wait(pull, "/override The fix is *urgent*,\nsee @bob.", by=world.alice)

    assert read_reactions(world, refused) == [("assay[bot]", "-1")]
    assert read_reactions(world, taken) == [("assay[bot]", "eyes")]
    check = pull.check
    assert (check.conclusion, check.title) == ("neutral", "Overridden by @alice: The fix is urgent, see @bob.")
    assert pull.verdict == verdict
    world.wait_after(pull.press_rerun())
    assert pull.check.title.startswith("Overridden by @alice")
    assert len(world.model.requests) == 1
    assert read_outcomes(world, pull) == ["override"]
    text = next(comment for comment in read_comments(world) if "Earlier verdicts" in comment)
    assert text.startswith(f"A maintainer overrode the verdict on `{pull.head[:12]}`. Nothing is left to do here.")

    overridden = pull.head
    world.push_and_judge(pull, {})
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", verdict["eval_id"])

    world.wait_after(world.agent.reset_branch(pull, overridden))
    assert pull.head == overridden
    assert pull.check[1:] == ("neutral", "Overridden by @alice: The fix is urgent, see @bob.")
    assert "where the branch comes back to it" in pull.text
    assert len(world.model.requests) == 1


@pytest.mark.slow
def test_override_stands_when_other_check_runs_change(world: World) -> None:
    repository = world.create_repository(PROJECT)
    pull = world.open_and_judge(ci={"unit": "failure"})
    world.comment_and_wait(pull, "/override we ship today", by=world.alice)
    asked = len(repository.requests)
    for conclusion in ("neutral", "success"):
        world.wait_after(repository.report_ci(pull.head, "lint", conclusion))

    assert pull.check[1:] == ("neutral", "Overridden by @alice: we ship today")
    assert len(repository.requests) == asked


@pytest.mark.slow
def test_rerun_button_judges_again(world: World) -> None:
    pull = open_unjudged(world)
    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(pull.press_rerun())

    assert pull.conclusions == ["success"]


@pytest.mark.slow
def test_rejudge_command_during_judging_is_not_lost(world: World) -> None:
    held_reply, pull = world.open_and_hold_model({"no": "verdict"})
    world.model.reply_with({"still": "none"}).reply_with(accept(RETRY_AT))
    comment = world.bob.comment(pull, "/rejudge")
    world.wait_until(lambda: read_reactions(world, comment) == [("assay[bot]", "eyes")])
    world.wait_after(held_reply.release())

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_command_is_retried_when_permission_lookup_fails(world: World) -> None:
    pull = open_unjudged(world)
    world.model.reply_with(accept(RETRY_AT))
    world.github.fault("GET .*/collaborators/bob/permission", status=502, count=1)
    comment = world.bob.comment(pull, "/rejudge")
    world.wait_until(lambda: read_reactions(world, comment) == [("assay[bot]", "eyes")])
    world.wait_until_idle()

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_contest_is_judged_with_its_reason_and_recorded_when_upheld(world: World) -> None:
    pull = open_rejected(world)
    world.comment_and_wait(pull, "/contest The test *does* cover it: see `test_retry`.", accept(RETRY_AT))

    assert "The test does cover it: see test_retry." in world.model.requests[-1].text
    assert pull.check.conclusion == "success"
    assert "Contested by `bob`" in pull.text
    assert read_outcomes(world, pull) == ["contest", "contest_upheld"]
    world.comment_and_wait(pull, "/rejudge")
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_contest_survives_a_model_outage(world: World) -> None:
    pull = open_rejected(world)
    world.model.reply_with_error(401)
    world.comment_and_wait(pull, "/contest It is covered.")
    assert pull.check.title == "Not judged: the judge could not be reached"

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(pull.press_rerun())
    assert pull.check.conclusion == "success"
    assert "It is covered." in world.model.requests[-1].text


@pytest.mark.slow
def test_review_decides_after_undecided_contest(world: World) -> None:
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), cannot_tell())
    world.comment_and_wait(pull, "/contest It is covered.", by=world.alice)
    assert pull.check.title == "Not judged: a person has to decide"

    world.wait_after(world.bob.submit_review(pull, "APPROVE"))
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert len(world.model.requests) == 2


def test_code_owner_review_decides_when_a_person_is_needed(world: World) -> None:
    config = {".github/assay.yml": "review:\n  label: needs-a-person\n"}
    repository = world.create_repository({**PROJECT, **config, "CODEOWNERS": "* @alice\n*.bin @bob @mallory\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "too_large")
    assert (sorted(pull.reviewers), pull.labels) == (["alice", "bob"], ["needs-a-person"])
    verdict = pull.verdict

    world.wait_after(world.bob.submit_review(pull, "REQUEST_CHANGES", "What is in there?"))
    assert pull.check[1:] == ("action_required", "Decided by @bob: changes requested")
    world.wait_after(world.bob.submit_review(pull, "APPROVE"))
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert pull.verdict == verdict

    world.push_and_judge(pull, {"data.bin": {"base64": "AAECAwQFBgcI"}})
    assert pull.check.conclusion == "action_required"
    asked = [exchange["path"].rpartition("/")[2] for exchange in repository.requests if exchange["method"] == "POST"]
    assert asked.count("labels") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("what", "status"), [("labels", 404), ("labels", 422), ("requested_reviewers", 404)])
def test_verdict_stands_when_github_refuses_review_request_or_label(world: World, what: str, status: int) -> None:
    asks = {"CODEOWNERS": "* @bob\n", ".github/assay.yml": "review:\n  label: needs-review\n"}
    world.create_repository({**PROJECT, **asks})
    world.github.fault(f"POST .*/{what}$", status=status, body={"message": "Not taken"}, count=50)
    pull = world.open_and_judge(cannot_tell())
    assert pull.check[1:] == ("action_required", "Not judged: a person has to decide")
    assert pull.reviewers == ([] if what == "requested_reviewers" else ["bob"])


@pytest.mark.slow
def test_approval_before_the_verdict_counts_when_a_person_is_needed(world: World) -> None:
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}}, draft=True)
    world.wait_after(world.bob.submit_review(pull, "APPROVE"))
    assert pull.check.status == "queued"
    world.wait_after(world.alice.mark_ready(pull))

    assert pull.verdict["abstain_reason"] == "too_large"
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert pull.reviewers == []
    looks = [exchange for exchange in pull.repository.requests if exchange["operation"] == "AssayReviews"]
    assert len(looks) == 1


@pytest.mark.slow
def test_code_owner_of_another_base_does_not_decide(world: World) -> None:
    repository = world.create_repository({**PROJECT, "CODEOWNERS": "* @alice\n"})
    repository.push("below", {"CODEOWNERS": "* @bob\n"}, start="main")
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    world.wait_after(world.bob.retarget(pull, "below"))
    world.wait_after(world.bob.submit_review(pull, "APPROVE"))
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")

    world.wait_after(world.bob.retarget(pull, "main"))
    assert pull.check.conclusion == "action_required"
    world.wait_after(world.alice.submit_review(pull, "APPROVE"))
    assert pull.check[1:] == ("neutral", "Decided by @alice: approved")


@pytest.mark.slow
def test_decision_is_withdrawn_when_review_is_dismissed_or_replaced(world: World) -> None:
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    verdict, asked, plain = pull.verdict, len(world.model.requests), pull.check
    review = world.wait_after(world.bob.submit_review(pull, "APPROVE"))
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")

    world.wait_after(world.alice.dismiss_review(pull, review))
    assert pull.check == plain
    assert "Taken back by `alice`" in pull.text
    assert (pull.verdict, len(world.model.requests)) == (verdict, asked)

    world.wait_after(world.bob.submit_review(pull, "APPROVE", "Looked at it by hand.\n\n/assay help"))
    assert (pull.check.conclusion, len(pull.command_replies)) == ("neutral", 1)
    world.wait_after(world.bob.submit_review(pull, "REQUEST_CHANGES", "No, wait."))
    assert pull.check[1:] == ("action_required", "Decided by @bob: changes requested")
    assert (len(world.model.requests), "Taken back" in pull.text) == (asked, False)


@pytest.mark.slow
def test_typo_in_command_is_answered_once_and_its_edit_is_followed(world: World) -> None:
    pull = open_unjudged(world)
    world.agent.comment(pull, "There is no command `/rejuge`.\n\n/rejuge")
    typo = world.bob.comment(pull, "/rejuge\nplease")
    second_typo = world.bob.comment(pull, "/rejuge")
    world.comment_and_wait(pull, "/retest\n/lgtm\n/label bug")
    assert pull.command_replies == [
        "There is no command `/rejuge`. The nearest one is `/rejudge`; `/assay help` lists all of them."
    ]
    assert [read_reactions(world, comment) for comment in (typo, second_typo)] == [[("assay[bot]", "confused")]] * 2

    world.model.reply_with(accept(RETRY_AT))
    world.alice.edit_comment(typo, "/override By another person.")
    world.wait_after(world.bob.edit_comment(second_typo, "/rejudge"))
    assert pull.check.conclusion == "success"
    assert ("assay[bot]", "eyes") in read_reactions(world, second_typo)

    review = world.wait_after(world.alice.submit_review(pull, "COMMENT", "/override"))
    world.wait_after(world.alice.edit_review(pull, review, "/override Seen."))
    assert pull.check.title == "Overridden by @alice: Seen."
    left = [
        reaction["content"]
        for reaction in world.github.state(pull.repository.name)["reactions"]
        if reaction["on"]["what"] == "review"
    ]
    assert left == ["-1", "eyes"]


@pytest.mark.slow
def test_command_in_line_comment_is_followed_even_if_edited_in(world: World) -> None:
    pull = open_unjudged(world)
    refused = world.mallory.comment_on_line(pull, RETRY_AT, "/rejudge")
    remark = world.wait_after(world.bob.comment_on_line(pull, RETRY_AT, "Three times?"))
    assert pull.verdict["abstain_reason"] is not None

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.bob.edit_line_comment(remark, "Three times?\n\n/rejudge"))
    assert pull.check.conclusion == "success"
    left = [
        (reaction["on"]["id"], reaction["content"])
        for reaction in world.github.state(pull.repository.name)["reactions"]
    ]
    assert left == [(refused.id, "-1"), (remark.id, "eyes")]


@pytest.mark.slow
def test_buttons_rejudge_and_contest_if_permitted(world: World) -> None:
    pull = open_rejected(world)
    world.wait_after(pull.press_button("rejudge", by="mallory"))
    assert (len(world.model.requests), pull.command_replies) == (1, [])
    world.wait_after(pull.press_button("rejudge", by="bob"))
    assert (pull.check.conclusion, len(world.model.requests)) == ("failure", 1)

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(pull.press_button("contest", by="bob"))
    assert pull.check.conclusion == "success"
    assert "pressed Contest" in pull.text
    assert read_outcomes(world, pull) == ["retry", "contest", "contest_upheld"]


@pytest.mark.slow
def test_comments_pause_and_resume_judging(world: World) -> None:
    world.model.reply_by(lambda _: accept(RETRY_AT))
    first = world.open_and_judge()
    world.bob.comment(first, "/assay pause")
    world.comment_and_wait(first, "/assay pause for 2h a *release*", by=world.alice)
    assert {reply.split(" until ")[0] for reply in first.command_replies} == {
        "`/assay pause [for 2h] [REASON]` is for people with the role maintain or admin in this repository. `bob` has write.",
        "Judging is paused in this repository",
    }
    world.push_and_judge(first, {"upload.py": RETRY["upload.py"].replace("range(3)", "range(4)")})
    assert first.check.conclusion == "neutral"
    assert "alice" in first.text

    world.comment_and_wait(first, "/assay resume", by=world.alice)
    assert first.check.conclusion == "success"


def refuse_requests(world: World, *endings: str) -> None:
    """Refuse requests whose path ends like this."""
    body = {"message": "Resource not accessible by integration"}
    for ending in endings:
        world.github.fault(f"POST .*/{ending}$", status=403, body=body, count=50)


@pytest.mark.slow
def test_commands_work_without_write_permission_for_comments(world: World) -> None:
    world.expected_errors = ("review not requested",)
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    refuse_requests(world, "requested_reviewers")
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    assert pull.check.conclusion == "action_required"
    assert "it needs *Pull requests: write*" in pull.text

    world.github.control("hooks", paused=True)
    world.mallory.comment(pull, "/override Mine.")
    world.alice.comment(pull, "/override Seen.")
    refuse_requests(world, "reactions", "comments")
    world.wait_after(world.github.control("hooks", paused=False))
    assert (pull.check.title, pull.command_replies) == ("Overridden by @alice: Seen.", [])
    refused = [exchange for exchange in world.repository.requests if exchange["status"] == 403]
    assert len(refused) <= 6


def read_posts(world: World, ending: str) -> list[str]:
    """The paths of POST requests that end like this."""
    asked = [exchange for exchange in world.repository.requests if exchange["method"] == "POST"]
    return [
        exchange["path"]
        for exchange in asked
        if exchange["path"].endswith(ending) or exchange["operation"] == "AssayReact"
    ]


@pytest.mark.slow
def test_commands_are_answered_by_comment_when_reactions_are_off(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_REACTIONS": "0"})
    pull = open_rejected(world)
    assert len(read_comments(world)) == 1
    world.comment_and_wait(pull, "/rejudge", by=world.mallory)
    assert pull.command_replies == [
        "`/rejudge` is for people with the role write, maintain or admin in this repository. `mallory` has read."
    ]

    world.model.reply_with(accept(RETRY_AT))
    world.bob.comment(pull, "/rejudge force")
    world.wait_after(world.alice.submit_review(pull, "COMMENT", "/assay help"))
    assert pull.check.conclusion == "success"
    assert "`/override REASON`" in pull.command_replies[-1]
    assert read_posts(world, "/reactions") == []
    assert world.github.state(pull.repository.name)["reactions"] == []


@pytest.mark.slow
def test_commands_are_answered_by_reaction_when_comments_are_off(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_COMMENTS": "0"})
    world.create_repository(
        {**PROJECT, "CODEOWNERS": "* @bob\n", ".github/assay.yml": "review:\n  label: needs-review\n"}
    )
    pull = open_rejected(world)
    refused, typo = world.mallory.comment(pull, "/rejudge"), world.bob.comment(pull, "/rejuge")
    taken = world.comment_and_wait(pull, "/rejudge force", cannot_tell())

    assert [read_reactions(world, comment) for comment in (refused, typo, taken)] == [
        [("assay[bot]", "-1")],
        [("assay[bot]", "confused")],
        [("assay[bot]", "eyes")],
    ]
    assert pull.check.conclusion == "action_required"
    assert "ASSAY_COMMENTS" in pull.text
    assert [read_posts(world, ending) for ending in ("/comments", "/requested_reviewers", "/labels")] == [[], [], []]
    assert read_comments(world) == []


@pytest.mark.slow
def test_show_and_history_report_an_override(world: World) -> None:
    pull = open_rejected(world)
    eval_id = pull.verdict["eval_id"]
    world.comment_and_wait(pull, "/override A hotfix.", by=world.alice)

    output = world.run_assay("show", eval_id).stdout
    assert "Overridden by @alice at " in output
    listed = world.run_assay("history", f"{pull.repository.name}#{pull.number}").stdout
    assert "A hotfix." in listed


def test_own_override_needs_a_sole_maintainer_and_is_marked(world: World) -> None:
    pull = world.open_and_judge(
        reject("weak_test", RETRY_AT), by=world.alice, message="Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    )
    assert pull.check.conclusion == "failure"
    world.comment_and_wait(pull, "/override the test is good enough for now", by=world.alice)
    assert pull.check.title == "Overridden by @alice, the author: the test is good enough for now"
    assert pull.check.conclusion == "neutral"
    assert read_outcomes(world, pull) == ["own_override"]

    world.create_repository(PROJECT, collaborators={"bob": "admin"})
    world.model.reply_with(reject("weak_test", RETRY_AT))
    another = world.wait_after(world.person("alice").open_pull_request(RETRY))
    world.wait_after(world.person("alice").comment(another, "/override the same"))
    assert another.check.conclusion == "failure"
    assert "own pull request" in another.command_replies[-1]
