"""What people may ask for, and who may."""

import pytest

from tests.conversations.conftest import OpenWorld, open_rejected
from tests.conversations.test_feedback import read_comments
from tests.conversations.test_outcomes import read_outcomes
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.people import Comment
from tests.world.product import run_assay
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, cannot_tell, reject
from tests.world.world import World


def unjudged(world: World) -> PullRequest:
    """A pull request that could not be judged: the model refused our key."""
    world.create_repository(PROJECT)
    world.model.reply_with_error(401)
    pull = world.open_and_judge()
    assert pull.check.conclusion == "action_required"
    return pull


def reactions(world: World, comment: Comment) -> list[tuple[str, str]]:
    return world.repository.reactions(comment.id)


def test_rejudge_by_somebody_who_may_write_is_seen_and_judged(world: World) -> None:
    pull = unjudged(world)
    comment = world.comment_and_wait(pull, "Nothing wrong there.\n\n/rejudge\n", accept(RETRY_AT))

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1
    assert reactions(world, comment) == [("assay[bot]", "eyes")]


def test_pain_24_a_stranger_spends_nothing_and_a_maintainer_commands_on_a_bots_pull_request(world: World) -> None:
    pull = open_rejected(world)
    first = world.mallory.comment(pull, "/rejudge")
    second = world.comment_and_wait(pull, "/rejudge", by=world.mallory)

    assert [reactions(world, one) for one in (first, second)] == [[("assay[bot]", "-1")]] * 2
    assert pull.command_replies == [
        "`/rejudge` is for people with the role write, maintain or admin in this repository. `mallory` has read."
    ]
    assert len(world.model.requests) == 1

    forced = world.comment_and_wait(pull, "/rejudge force", accept(RETRY_AT))
    assert reactions(world, forced) == [("assay[bot]", "eyes")]
    assert pull.check.conclusion == "success"


def test_pain_09_an_empty_commit_brings_the_verdict_back_and_only_force_asks_again(world: World) -> None:
    pull = open_rejected(world)
    first = pull.verdict
    world.push_and_judge(pull, {})
    again = pull.verdict
    assert pull.check.conclusion == "failure"
    assert again["subject"]["head_sha"] == pull.head != first["subject"]["head_sha"]
    assert (again["carried_from"], again["judge_cost_usd"]) == (first["eval_id"], "0")
    same = ("decision", "category", "concern", "next_step", "evidence", "round")
    assert [again[name] for name in same] == [first[name] for name in same]
    assert len(world.model.requests) == 1

    world.comment_and_wait(pull, "/rejudge force", accept(RETRY_AT))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert len(world.model.requests) == 2

    world.comment_and_wait(pull, "/rejudge")
    assert pull.verdict["carried_from"] is not None, "what force asked for is done"
    assert len(world.model.requests) == 2


def test_pain_25_an_override_is_of_one_commit_by_name_and_reason_and_gone_on_the_next(world: World) -> None:
    pull = open_rejected(world)
    verdict = pull.verdict
    refused = world.bob.comment(pull, "/override The fix is urgent.")
    taken = world.comment_and_wait(pull, "/override The fix is *urgent*,\nsee @bob.", by=world.alice)

    assert (reactions(world, refused), reactions(world, taken)) == ([("assay[bot]", "-1")], [("assay[bot]", "eyes")])
    check = pull.check
    assert (check.conclusion, check.title) == ("neutral", "Overridden by @alice: The fix is urgent, see @bob.")
    assert pull.verdict == verdict, "the verdict itself is never rewritten"
    pull.press_rerun()
    world.wait_until_idle()
    assert pull.check.title.startswith("Overridden by @alice")
    assert len(world.model.requests) == 1
    assert read_outcomes(world, pull) == ["override"]
    told = next(one for one in read_comments(world) if "Earlier verdicts" in one)
    assert told.startswith(f"A maintainer overrode the verdict on `{pull.head[:12]}`. Nothing is left to do here.")

    overridden = pull.head
    world.push_and_judge(pull, {})
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", verdict["eval_id"])

    world.agent.reset_branch(pull, overridden)
    world.wait_until_idle()
    assert pull.head == overridden
    assert pull.check[1:] == ("neutral", "Overridden by @alice: The fix is urgent, see @bob."), "it is that very commit"
    assert "where the branch comes back to it" in pull.text
    assert len(world.model.requests) == 1


@pytest.mark.slow
def test_what_is_overridden_stays_so_whatever_other_checks_do(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(ci={"unit": "failure"})
    world.comment_and_wait(pull, "/override we ship today", by=world.alice)
    asked = len(world.github.requests(here.name))
    for conclusion in ("neutral", "success"):
        here.report_ci(pull.head, "lint", conclusion)
        world.wait_until_idle()

    assert pull.check[1:] == ("neutral", "Overridden by @alice: we ship today")
    assert len(world.github.requests(here.name)) == asked


@pytest.mark.slow
def test_the_rerun_button_judges_again(world: World) -> None:
    pull = unjudged(world)
    world.model.reply_with(accept(RETRY_AT))
    pull.press_rerun()
    world.wait_until_idle()

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


@pytest.mark.slow
def test_rejudge_while_judging_is_not_lost(world: World) -> None:
    late, pull = world.open_and_hold_model({"no": "verdict"})
    world.model.reply_with({"still": "none"}).reply_with(accept(RETRY_AT))
    comment = world.bob.comment(pull, "/rejudge")
    world.wait_until(lambda: reactions(world, comment) == [("assay[bot]", "eyes")], "the command was seen")
    late.release()
    world.wait_until_idle()

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_command_of_somebody_whose_permission_cannot_be_asked_is_asked_again_later(world: World) -> None:
    pull = unjudged(world)
    world.model.reply_with(accept(RETRY_AT))
    world.github.fault("GET .*/collaborators/bob/permission", status=502, count=1)
    comment = world.bob.comment(pull, "/rejudge")
    world.wait_until(lambda: reactions(world, comment) == [("assay[bot]", "eyes")], "the command was seen in the end")
    world.wait_until_idle()

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_contest_is_judged_anew_with_its_reason_and_told_when_it_was_right(world: World) -> None:
    pull = open_rejected(world)
    world.comment_and_wait(pull, "/contest The test *does* cover it: see `test_retry`.", accept(RETRY_AT))

    assert "The test does cover it: see test_retry." in world.model.requests[-1].text
    assert pull.check.conclusion == "success"
    assert "Contested by `bob`" in pull.text
    assert read_outcomes(world, pull) == ["contest", "contest_upheld"]
    world.comment_and_wait(pull, "/rejudge")
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_a_contest_that_nobody_could_judge_does_not_stand_in_the_way_of_those_who_ask_again(world: World) -> None:
    pull = open_rejected(world)
    world.model.reply_with_error(401)
    world.comment_and_wait(pull, "/contest It is covered.")
    assert pull.check.title == "Not judged: the judge could not be reached"

    world.model.reply_with(accept(RETRY_AT))
    pull.press_rerun()
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert "It is covered." in world.model.requests[-1].text


@pytest.mark.slow
def test_a_person_decides_about_what_a_contest_left_to_them_and_nobody_is_asked_again(world: World) -> None:
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), cannot_tell())
    world.comment_and_wait(pull, "/contest It is covered.", by=world.alice)
    assert pull.check.title == "Not judged: a person has to decide"

    world.bob.submit_review(pull, "APPROVE")
    world.wait_until_idle()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert len(world.model.requests) == 2


def test_needs_a_person_has_a_way_back(world: World) -> None:
    config = {".github/assay.yml": "review:\n  label: needs-a-person\n"}
    here = world.create_repository({**PROJECT, **config, "CODEOWNERS": "* @alice\n*.bin @bob @mallory\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "too_large")
    assert (sorted(pull.reviewers), pull.labels) == (["alice", "bob"], ["needs-a-person"])
    verdict = pull.verdict

    world.bob.submit_review(pull, "REQUEST_CHANGES", "What is in there?")
    world.wait_until_idle()
    assert pull.check[1:] == ("action_required", "Decided by @bob: changes requested")
    world.bob.submit_review(pull, "APPROVE")
    world.wait_until_idle()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert pull.verdict == verdict

    world.push_and_judge(pull, {"data.bin": {"base64": "AAECAwQFBgcI"}})
    assert pull.check.conclusion == "action_required", "a review is of one commit"
    asked = [one["path"].rpartition("/")[2] for one in world.github.requests(here.name) if one["method"] == "POST"]
    assert asked.count("labels") == 1, "once"


@pytest.mark.slow
@pytest.mark.parametrize(("what", "status"), [("labels", 404), ("labels", 422), ("requested_reviewers", 404)])
def test_what_github_says_to_asking_a_person_changes_nothing_about_the_verdict(
    world: World, what: str, status: int
) -> None:
    asks = {"CODEOWNERS": "* @bob\n", ".github/assay.yml": "review:\n  label: needs-review\n"}
    world.create_repository({**PROJECT, **asks})
    world.github.fault(f"POST .*/{what}$", status=status, body={"message": "Not taken"}, count=50)
    pull = world.open_and_judge(cannot_tell())
    assert pull.check[1:] == ("action_required", "Not judged: a person has to decide")
    assert pull.reviewers == ([] if what == "requested_reviewers" else ["bob"])


@pytest.mark.slow
def test_an_approval_that_was_given_before_the_verdict_counts_where_a_person_has_to_decide(world: World) -> None:
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}}, draft=True)
    world.bob.submit_review(pull, "APPROVE")
    world.wait_until_idle()
    assert pull.check.status == "queued"
    world.alice.mark_ready(pull)
    world.wait_until_idle()

    assert pull.verdict["abstain_reason"] == "too_large"
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert pull.reviewers == []
    looks = [one for one in world.github.requests(pull.repository.name) if one["operation"] == "AssayReviews"]
    assert len(looks) == 1


@pytest.mark.slow
def test_who_owns_another_branch_decides_nothing_about_main(world: World) -> None:
    here = world.create_repository({**PROJECT, "CODEOWNERS": "* @alice\n"})
    here.github.control("push", repo=here.name, branch="below", files={"CODEOWNERS": "* @bob\n"}, **{"from": "main"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    world.bob.retarget(pull, "below")
    world.wait_until_idle()
    world.bob.submit_review(pull, "APPROVE")
    world.wait_until_idle()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")

    world.bob.retarget(pull, "main")
    world.wait_until_idle()
    assert pull.check.conclusion == "action_required"
    world.alice.submit_review(pull, "APPROVE")
    world.wait_until_idle()
    assert pull.check[1:] == ("neutral", "Decided by @alice: approved")


@pytest.mark.slow
def test_a_decision_is_taken_back_by_dismissing_the_review_or_by_its_author(world: World) -> None:
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    verdict, asked, plain = pull.verdict, len(world.model.requests), pull.check
    review = world.bob.submit_review(pull, "APPROVE")
    world.wait_until_idle()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")

    world.alice.dismiss_review(pull, review)
    world.wait_until_idle()
    assert pull.check == plain
    assert "Taken back by `alice`" in pull.text
    assert (pull.verdict, len(world.model.requests)) == (verdict, asked), "as it is on record, at $0"

    world.bob.submit_review(pull, "APPROVE", "Looked at it by hand.\n\n/assay help")
    world.wait_until_idle()
    assert (pull.check.conclusion, len(pull.command_replies)) == ("neutral", 1), (
        "a command beside it takes nothing away"
    )
    world.bob.submit_review(pull, "REQUEST_CHANGES", "No, wait.")
    world.wait_until_idle()
    assert pull.check[1:] == ("action_required", "Decided by @bob: changes requested")
    assert (len(world.model.requests), "Taken back" in pull.text) == (asked, False)


@pytest.mark.slow
def test_a_typo_is_answered_once_its_mending_is_followed_and_bots_never_talk_for_ever(world: World) -> None:
    pull = unjudged(world)
    world.agent.comment(pull, "There is no command `/rejuge`.\n\n/rejuge")
    typo = world.bob.comment(pull, "/rejuge\nplease")
    again = world.bob.comment(pull, "/rejuge")
    world.comment_and_wait(pull, "/retest\n/lgtm\n/label bug")
    assert pull.command_replies == [
        "There is no command `/rejuge`. The nearest one is `/rejudge`; `/assay help` lists all of them."
    ]
    assert [reactions(world, one) for one in (typo, again)] == [[("assay[bot]", "confused")]] * 2

    world.model.reply_with(accept(RETRY_AT))
    world.alice.edit_comment(typo, "/override By somebody else.")
    world.bob.edit_comment(again, "/rejudge")
    world.wait_until_idle()
    assert pull.check.conclusion == "success", "judged, and not overridden in bob's name"
    assert ("assay[bot]", "eyes") in reactions(world, again)

    review = world.alice.submit_review(pull, "COMMENT", "/override")
    world.wait_until_idle()
    world.alice.edit_review(pull, review, "/override Seen.")
    world.wait_until_idle()
    assert pull.check.title == "Overridden by @alice: Seen."
    left = [
        one["content"] for one in world.github.state(pull.repository.name)["reactions"] if one["on"]["what"] == "review"
    ]
    assert left == ["-1", "eyes"], "refused without a reason, then taken"


@pytest.mark.slow
def test_a_command_at_a_line_of_the_change_is_followed_and_so_is_one_that_an_edit_put_there(world: World) -> None:
    pull = unjudged(world)
    refused = world.mallory.comment_on_line(pull, RETRY_AT, "/rejudge")
    remark = world.bob.comment_on_line(pull, RETRY_AT, "Three times?")
    world.wait_until_idle()
    assert pull.verdict["abstain_reason"] is not None

    world.model.reply_with(accept(RETRY_AT))
    world.bob.edit_line_comment(remark, "Three times?\n\n/rejudge")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    left = [(one["on"]["id"], one["content"]) for one in world.github.state(pull.repository.name)["reactions"]]
    assert left == [(refused.id, "-1"), (remark.id, "eyes")]


@pytest.mark.slow
def test_buttons_judge_again_and_contest_by_whoever_may(world: World) -> None:
    pull = open_rejected(world)
    pull.press_button("rejudge", by="mallory")
    world.wait_until_idle()
    assert (len(world.model.requests), pull.command_replies) == (1, [])
    pull.press_button("rejudge", by="bob")
    world.wait_until_idle()
    assert (pull.check.conclusion, len(world.model.requests)) == ("failure", 1)

    world.model.reply_with(accept(RETRY_AT))
    pull.press_button("contest", by="bob")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert "pressed Contest" in pull.text
    assert read_outcomes(world, pull) == ["retry", "contest", "contest_upheld"]


@pytest.mark.slow
def test_judging_is_paused_by_a_comment_until_another_resumes_it(world: World) -> None:
    world.model.reply_by(lambda _: accept(RETRY_AT))
    first = world.open_and_judge()
    world.bob.comment(first, "/assay pause")
    world.comment_and_wait(first, "/assay pause for 2h a *release*", by=world.alice)
    assert {one.split(" until ")[0] for one in first.command_replies} == {
        "`/assay pause [for 2h] [REASON]` is for people with the role maintain or admin in this repository. `bob` has write.",
        "Judging is paused in this repository",
    }
    world.push_and_judge(first, {"upload.py": RETRY["upload.py"].replace("range(3)", "range(4)")})
    assert first.check.conclusion == "neutral"
    assert "alice" in first.text

    world.comment_and_wait(first, "/assay resume", by=world.alice)
    assert first.check.conclusion == "success"


def refuse(world: World, *endings: str) -> None:
    """The App lacks the permission that these requests need."""
    words = {"message": "Resource not accessible by integration"}
    for one in endings:
        world.github.fault(f"POST .*/{one}$", status=403, body=words, count=50)


@pytest.mark.slow
def test_where_the_app_may_not_write_commands_work_all_the_same(world: World) -> None:
    world.expected_errors = ("review not requested",)
    world.create_repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.reply_by(lambda _: accept(RETRY_AT))
    refuse(world, "requested_reviewers")
    pull = world.open_and_judge(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    assert pull.check.conclusion == "action_required"
    assert "it needs *Pull requests: write*" in pull.text

    world.github.control("hooks", paused=True)
    world.mallory.comment(pull, "/override Mine.")
    world.alice.comment(pull, "/override Seen.")
    refuse(world, "reactions", "comments")
    world.github.control("hooks", paused=False)
    world.wait_until_idle()
    assert (pull.check.title, pull.command_replies) == ("Overridden by @alice: Seen.", [])
    refused = [one for one in world.github.requests(world.repository.name) if one["status"] == 403]
    assert len(refused) <= 6, "no storm"


def requested(world: World, ending: str) -> list[str]:
    """What GitHub was asked to write, of paths that end so."""
    asked = [one for one in world.github.requests(world.repository.name) if one["method"] == "POST"]
    return [one["path"] for one in asked if one["path"].endswith(ending) or one["operation"] == "AssayReact"]


@pytest.mark.slow
def test_who_chose_comments_without_reactions_is_obeyed_and_answered_and_no_reaction_is_asked_for(
    open_world: OpenWorld,
) -> None:
    world = open_world({"ASSAY_REACTIONS": "0"})
    pull = open_rejected(world)
    assert len(read_comments(world)) == 1, "the agent is told"
    world.comment_and_wait(pull, "/rejudge", by=world.mallory)
    assert pull.command_replies == [
        "`/rejudge` is for people with the role write, maintain or admin in this repository. `mallory` has read."
    ]

    world.model.reply_with(accept(RETRY_AT))
    world.bob.comment(pull, "/rejudge force")
    world.alice.submit_review(pull, "COMMENT", "/assay help")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert "`/override REASON`" in pull.command_replies[-1], "all commands are listed"
    assert requested(world, "/reactions") == []
    assert world.github.state(pull.repository.name)["reactions"] == []


@pytest.mark.slow
def test_who_chose_reactions_without_comments_sees_the_sign_alone_and_nobody_is_asked(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_COMMENTS": "0"})
    world.create_repository(
        {**PROJECT, "CODEOWNERS": "* @bob\n", ".github/assay.yml": "review:\n  label: needs-review\n"}
    )
    pull = world.open_and_judge(reject("weak_test", RETRY_AT))
    assert pull.check.conclusion == "failure"
    refused, typo = world.mallory.comment(pull, "/rejudge"), world.bob.comment(pull, "/rejuge")
    taken = world.comment_and_wait(pull, "/rejudge force", cannot_tell())

    assert [reactions(world, one) for one in (refused, typo, taken)] == [
        [("assay[bot]", "-1")],
        [("assay[bot]", "confused")],
        [("assay[bot]", "eyes")],
    ]
    assert pull.check.conclusion == "action_required"
    assert "ASSAY_COMMENTS" in pull.text
    assert [requested(world, one) for one in ("/comments", "/requested_reviewers", "/labels")] == [[], [], []]
    assert read_comments(world) == []


@pytest.mark.slow
def test_an_override_is_told_by_show_and_history(world: World) -> None:
    pull = open_rejected(world)
    eval_id = pull.verdict["eval_id"]
    world.comment_and_wait(pull, "/override A hotfix.", by=world.alice)

    told = run_assay(world.product.environment, "show", eval_id).stdout
    assert "Overridden by @alice at " in told
    listed = run_assay(world.product.environment, "history", f"{pull.repository.name}#{pull.number}").stdout
    assert "A hotfix." in listed


def test_the_only_maintainer_may_override_their_own_pull_request_and_it_is_titled_and_counted_as_such(
    world: World,
) -> None:
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
    another = world.person("alice").open_pull_request(RETRY)
    world.wait_until_idle()
    world.person("alice").comment(another, "/override the same")
    world.wait_until_idle()
    assert another.check.conclusion == "failure"
    assert "own pull request" in another.command_replies[-1]
