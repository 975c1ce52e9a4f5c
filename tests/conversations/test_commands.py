"""What people may ask for, and who may."""

import pytest

from tests.conversations.conftest import Open, rejected
from tests.conversations.test_feedback import comments
from tests.conversations.test_outcomes import outcomes
from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.people import Comment
from tests.world.product import run
from tests.world.pulls import Pull
from tests.world.replies import accept, cannot_tell, reject
from tests.world.tester import World


def unjudged(world: World) -> Pull:
    """A pull request that could not be judged: the model refused our key."""
    world.repository(PROJECT)
    world.model.fails(401)
    pull = world.opened()
    assert pull.check.conclusion == "action_required"
    return pull


def reactions(world: World, comment: Comment) -> list[tuple[str, str]]:
    return world.here.reactions(comment.id)


def test_rejudge_by_somebody_who_may_write_is_seen_and_judged(world: World) -> None:
    pull = unjudged(world)
    comment = world.commented(pull, "Nothing wrong there.\n\n/rejudge\n", accept(RETRY_AT))

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1
    assert reactions(world, comment) == [("assay[bot]", "eyes")]


def test_pain_24_a_stranger_spends_nothing_and_a_maintainer_commands_on_a_bots_pull_request(world: World) -> None:
    pull = rejected(world)
    first = world.mallory.comments(pull, "/rejudge")
    second = world.commented(pull, "/rejudge", by=world.mallory)

    assert [reactions(world, one) for one in (first, second)] == [[("assay[bot]", "-1")]] * 2
    assert pull.answers == [
        "`/rejudge` is for people with the role write, maintain or admin in this repository. `mallory` has read."
    ]
    assert len(world.model.asked) == 1

    forced = world.commented(pull, "/rejudge force", accept(RETRY_AT))
    assert reactions(world, forced) == [("assay[bot]", "eyes")]
    assert pull.check.conclusion == "success"


def test_pain_09_an_empty_commit_brings_the_verdict_back_and_only_force_asks_again(world: World) -> None:
    pull = rejected(world)
    first = pull.verdict
    world.pushed(pull, {})
    again = pull.verdict
    assert pull.check.conclusion == "failure"
    assert again["subject"]["head_sha"] == pull.head != first["subject"]["head_sha"]
    assert (again["carried_from"], again["judge_cost_usd"]) == (first["eval_id"], "0")
    same = ("decision", "category", "concern", "next_step", "evidence", "round")
    assert [again[name] for name in same] == [first[name] for name in same]
    assert len(world.model.asked) == 1

    world.commented(pull, "/rejudge force", accept(RETRY_AT))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert len(world.model.asked) == 2

    world.commented(pull, "/rejudge")
    assert pull.verdict["carried_from"] is not None, "what force asked for is done"
    assert len(world.model.asked) == 2


def test_pain_25_an_override_is_of_one_commit_by_name_and_reason_and_gone_on_the_next(world: World) -> None:
    pull = rejected(world)
    verdict = pull.verdict
    refused = world.bob.comments(pull, "/override The fix is urgent.")
    taken = world.commented(pull, "/override The fix is *urgent*,\nsee @bob.", by=world.alice)

    assert (reactions(world, refused), reactions(world, taken)) == ([("assay[bot]", "-1")], [("assay[bot]", "eyes")])
    check = pull.check
    assert (check.conclusion, check.title) == ("neutral", "Overridden by @alice: The fix is urgent, see @bob.")
    assert pull.verdict == verdict, "the verdict itself is never rewritten"
    pull.press_rerun()
    world.settles()
    assert pull.check.title.startswith("Overridden by @alice")
    assert len(world.model.asked) == 1
    assert outcomes(world, pull) == ["override"]
    told = next(one for one in comments(world) if "Earlier verdicts" in one)
    assert told.startswith(f"A maintainer overrode the verdict on `{pull.head[:12]}`. Nothing is left to do here.")

    overridden = pull.head
    world.pushed(pull, {})
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", verdict["eval_id"])

    world.agent.goes_back(pull, overridden)
    world.settles()
    assert pull.head == overridden
    assert pull.check[1:] == ("neutral", "Overridden by @alice: The fix is urgent, see @bob."), "it is that very commit"
    assert "where the branch comes back to it" in pull.text
    assert len(world.model.asked) == 1


@pytest.mark.slow
def test_what_is_overridden_stays_so_whatever_other_checks_do(world: World) -> None:
    here = world.repository(PROJECT)
    pull = world.opened(ci={"unit": "failure"})
    world.commented(pull, "/override we ship today", by=world.alice)
    asked = len(world.github.requests(here.name))
    for conclusion in ("neutral", "success"):
        here.reports_ci(pull.head, "lint", conclusion)
        world.settles()

    assert pull.check[1:] == ("neutral", "Overridden by @alice: we ship today")
    assert len(world.github.requests(here.name)) == asked


@pytest.mark.slow
def test_the_rerun_button_judges_again(world: World) -> None:
    pull = unjudged(world)
    world.model.answers(accept(RETRY_AT))
    pull.press_rerun()
    world.settles()

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


@pytest.mark.slow
def test_rejudge_while_judging_is_not_lost(world: World) -> None:
    late, pull = world.judging({"no": "verdict"})
    world.model.answers({"still": "none"}).answers(accept(RETRY_AT))
    comment = world.bob.comments(pull, "/rejudge")
    world.until(lambda: reactions(world, comment) == [("assay[bot]", "eyes")], "the command was seen")
    late.arrives()
    world.settles()

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_command_of_somebody_whose_permission_cannot_be_asked_is_asked_again_later(world: World) -> None:
    pull = unjudged(world)
    world.model.answers(accept(RETRY_AT))
    world.github.fault("GET .*/collaborators/bob/permission", status=502, count=1)
    comment = world.bob.comments(pull, "/rejudge")
    world.until(lambda: reactions(world, comment) == [("assay[bot]", "eyes")], "the command was seen in the end")
    world.settles()

    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_contest_is_judged_anew_with_its_reason_and_told_when_it_was_right(world: World) -> None:
    pull = rejected(world)
    world.commented(pull, "/contest The test *does* cover it: see `test_retry`.", accept(RETRY_AT))

    assert "The test does cover it: see test_retry." in world.model.asked[-1].text
    assert pull.check.conclusion == "success"
    assert "Contested by `bob`" in pull.text
    assert outcomes(world, pull) == ["contest", "contest_upheld"]
    world.commented(pull, "/rejudge")
    assert len(world.model.asked) == 2


@pytest.mark.slow
def test_a_contest_that_nobody_could_judge_does_not_stand_in_the_way_of_those_who_ask_again(world: World) -> None:
    pull = rejected(world)
    world.model.fails(401)
    world.commented(pull, "/contest It is covered.")
    assert pull.check.title == "Not judged: the judge could not be reached"

    world.model.answers(accept(RETRY_AT))
    pull.press_rerun()
    world.settles()
    assert pull.check.conclusion == "success"
    assert "It is covered." in world.model.asked[-1].text


@pytest.mark.slow
def test_a_person_decides_about_what_a_contest_left_to_them_and_nobody_is_asked_again(world: World) -> None:
    world.repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    pull = world.opened(reject("weak_test", RETRY_AT), cannot_tell())
    world.commented(pull, "/contest It is covered.", by=world.alice)
    assert pull.check.title == "Not judged: a person has to decide"

    world.bob.reviews(pull, "APPROVE")
    world.settles()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert len(world.model.asked) == 2


def test_needs_a_person_has_a_way_back(world: World) -> None:
    config = {".github/assay.yml": "review:\n  label: needs-a-person\n"}
    here = world.repository({**PROJECT, **config, "CODEOWNERS": "* @alice\n*.bin @bob @mallory\n"})
    world.model.decides(lambda _: accept(RETRY_AT))
    pull = world.opened(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    assert (pull.check.conclusion, pull.verdict["abstain_reason"]) == ("action_required", "too_large")
    assert (sorted(pull.reviewers), pull.labels) == (["alice", "bob"], ["needs-a-person"])
    verdict = pull.verdict

    world.bob.reviews(pull, "REQUEST_CHANGES", "What is in there?")
    world.settles()
    assert pull.check[1:] == ("action_required", "Decided by @bob: changes requested")
    world.bob.reviews(pull, "APPROVE")
    world.settles()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert pull.verdict == verdict

    world.pushed(pull, {"data.bin": {"base64": "AAECAwQFBgcI"}})
    assert pull.check.conclusion == "action_required", "a review is of one commit"
    asked = [one["path"].rpartition("/")[2] for one in world.github.requests(here.name) if one["method"] == "POST"]
    assert asked.count("labels") == 1, "once"


@pytest.mark.slow
@pytest.mark.parametrize(("what", "status"), [("labels", 404), ("labels", 422), ("requested_reviewers", 404)])
def test_what_github_says_to_asking_a_person_changes_nothing_about_the_verdict(
    world: World, what: str, status: int
) -> None:
    asks = {"CODEOWNERS": "* @bob\n", ".github/assay.yml": "review:\n  label: needs-review\n"}
    world.repository({**PROJECT, **asks})
    world.github.fault(f"POST .*/{what}$", status=status, body={"message": "Not taken"}, count=50)
    pull = world.opened(cannot_tell())
    assert pull.check[1:] == ("action_required", "Not judged: a person has to decide")
    assert pull.reviewers == ([] if what == "requested_reviewers" else ["bob"])


@pytest.mark.slow
def test_an_approval_that_was_given_before_the_verdict_counts_where_a_person_has_to_decide(world: World) -> None:
    world.repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.decides(lambda _: accept(RETRY_AT))
    pull = world.opened(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}}, draft=True)
    world.bob.reviews(pull, "APPROVE")
    world.settles()
    assert pull.check.status == "queued"
    world.alice.marks_ready(pull)
    world.settles()

    assert pull.verdict["abstain_reason"] == "too_large"
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")
    assert pull.reviewers == []
    looks = [one for one in world.github.requests(pull.repository.name) if one["operation"] == "AssayReviews"]
    assert len(looks) == 1


@pytest.mark.slow
def test_who_owns_another_branch_decides_nothing_about_main(world: World) -> None:
    here = world.repository({**PROJECT, "CODEOWNERS": "* @alice\n"})
    here.github.verb("push", repo=here.name, branch="below", files={"CODEOWNERS": "* @bob\n"}, **{"from": "main"})
    world.model.decides(lambda _: accept(RETRY_AT))
    pull = world.opened(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    world.bob.retargets(pull, "below")
    world.settles()
    world.bob.reviews(pull, "APPROVE")
    world.settles()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")

    world.bob.retargets(pull, "main")
    world.settles()
    assert pull.check.conclusion == "action_required"
    world.alice.reviews(pull, "APPROVE")
    world.settles()
    assert pull.check[1:] == ("neutral", "Decided by @alice: approved")


@pytest.mark.slow
def test_a_decision_is_taken_back_by_dismissing_the_review_or_by_its_author(world: World) -> None:
    world.repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.decides(lambda _: accept(RETRY_AT))
    pull = world.opened(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    verdict, asked, plain = pull.verdict, len(world.model.asked), pull.check
    review = world.bob.reviews(pull, "APPROVE")
    world.settles()
    assert pull.check[1:] == ("neutral", "Decided by @bob: approved")

    world.alice.dismisses(pull, review)
    world.settles()
    assert pull.check == plain
    assert "Taken back by `alice`" in pull.text
    assert (pull.verdict, len(world.model.asked)) == (verdict, asked), "as it is on record, at $0"

    world.bob.reviews(pull, "APPROVE", "Looked at it by hand.\n\n/assay help")
    world.settles()
    assert (pull.check.conclusion, len(pull.answers)) == ("neutral", 1), "a command beside it takes nothing away"
    world.bob.reviews(pull, "REQUEST_CHANGES", "No, wait.")
    world.settles()
    assert pull.check[1:] == ("action_required", "Decided by @bob: changes requested")
    assert (len(world.model.asked), "Taken back" in pull.text) == (asked, False)


@pytest.mark.slow
def test_a_typo_is_answered_once_its_mending_is_followed_and_bots_never_talk_for_ever(world: World) -> None:
    pull = unjudged(world)
    world.agent.comments(pull, "There is no command `/rejuge`.\n\n/rejuge")
    typo = world.bob.comments(pull, "/rejuge\nplease")
    again = world.bob.comments(pull, "/rejuge")
    world.commented(pull, "/retest\n/lgtm\n/label bug")
    assert pull.answers == [
        "There is no command `/rejuge`. The nearest one is `/rejudge`; `/assay help` lists all of them."
    ]
    assert [reactions(world, one) for one in (typo, again)] == [[("assay[bot]", "confused")]] * 2

    world.model.answers(accept(RETRY_AT))
    world.alice.edits_comment(typo, "/override By somebody else.")
    world.bob.edits_comment(again, "/rejudge")
    world.settles()
    assert pull.check.conclusion == "success", "judged, and not overridden in bob's name"
    assert ("assay[bot]", "eyes") in reactions(world, again)

    review = world.alice.reviews(pull, "COMMENT", "/override")
    world.settles()
    world.alice.edits_review(pull, review, "/override Seen.")
    world.settles()
    assert pull.check.title == "Overridden by @alice: Seen."
    left = [
        one["content"] for one in world.github.state(pull.repository.name)["reactions"] if one["on"]["what"] == "review"
    ]
    assert left == ["-1", "eyes"], "refused without a reason, then taken"


@pytest.mark.slow
def test_a_command_at_a_line_of_the_change_is_followed_and_so_is_one_that_an_edit_put_there(world: World) -> None:
    pull = unjudged(world)
    refused = world.mallory.comments_at(pull, RETRY_AT, "/rejudge")
    remark = world.bob.comments_at(pull, RETRY_AT, "Three times?")
    world.settles()
    assert pull.verdict["abstain_reason"] is not None

    world.model.answers(accept(RETRY_AT))
    world.bob.edits_comment_at(remark, "Three times?\n\n/rejudge")
    world.settles()
    assert pull.check.conclusion == "success"
    left = [(one["on"]["id"], one["content"]) for one in world.github.state(pull.repository.name)["reactions"]]
    assert left == [(refused.id, "-1"), (remark.id, "eyes")]


@pytest.mark.slow
def test_buttons_judge_again_and_contest_by_whoever_may(world: World) -> None:
    pull = rejected(world)
    pull.press("rejudge", by="mallory")
    world.settles()
    assert (len(world.model.asked), pull.answers) == (1, [])
    pull.press("rejudge", by="bob")
    world.settles()
    assert (pull.check.conclusion, len(world.model.asked)) == ("failure", 1)

    world.model.answers(accept(RETRY_AT))
    pull.press("contest", by="bob")
    world.settles()
    assert pull.check.conclusion == "success"
    assert "pressed Contest" in pull.text
    assert outcomes(world, pull) == ["retry", "contest", "contest_upheld"]


@pytest.mark.slow
def test_judging_is_paused_by_a_comment_until_another_resumes_it(world: World) -> None:
    world.model.decides(lambda _: accept(RETRY_AT))
    first = world.opened()
    world.bob.comments(first, "/assay pause")
    world.commented(first, "/assay pause for 2h a *release*", by=world.alice)
    assert {one.split(" until ")[0] for one in first.answers} == {
        "`/assay pause [for 2h] [REASON]` is for people with the role maintain or admin in this repository. `bob` has write.",
        "Judging is paused in this repository",
    }
    world.pushed(first, {"upload.py": RETRY["upload.py"].replace("range(3)", "range(4)")})
    assert first.check.conclusion == "neutral"
    assert "alice" in first.text

    world.commented(first, "/assay resume", by=world.alice)
    assert first.check.conclusion == "success"


def refuse(world: World, *endings: str) -> None:
    """The App lacks the permission that these requests need."""
    words = {"message": "Resource not accessible by integration"}
    for one in endings:
        world.github.fault(f"POST .*/{one}$", status=403, body=words, count=50)


@pytest.mark.slow
def test_where_the_app_may_not_write_commands_work_all_the_same(world: World) -> None:
    world.expected_errors = ("no review was requested",)
    world.repository({**PROJECT, "CODEOWNERS": "* @bob\n"})
    world.model.decides(lambda _: accept(RETRY_AT))
    refuse(world, "requested_reviewers")
    pull = world.opened(files={**RETRY, "data.bin": {"base64": "AAECAwQFBgc="}})
    assert pull.check.conclusion == "action_required"
    assert "it needs *Pull requests: write*" in pull.text

    world.github.verb("hooks", paused=True)
    world.mallory.comments(pull, "/override Mine.")
    world.alice.comments(pull, "/override Seen.")
    refuse(world, "reactions", "comments")
    world.github.verb("hooks", paused=False)
    world.settles()
    assert (pull.check.title, pull.answers) == ("Overridden by @alice: Seen.", [])
    refused = [one for one in world.github.requests(world.here.name) if one["status"] == 403]
    assert len(refused) <= 6, "no storm"


def requested(world: World, ending: str) -> list[str]:
    """What GitHub was asked to write, of paths that end so."""
    asked = [one for one in world.github.requests(world.here.name) if one["method"] == "POST"]
    return [one["path"] for one in asked if one["path"].endswith(ending) or one["operation"] == "AssayReact"]


@pytest.mark.slow
def test_who_chose_comments_without_reactions_is_obeyed_and_answered_and_no_reaction_is_asked_for(
    another_world: Open,
) -> None:
    world = another_world({"ASSAY_REACTIONS": "0"})
    pull = rejected(world)
    assert len(comments(world)) == 1, "the agent is told"
    world.commented(pull, "/rejudge", by=world.mallory)
    assert pull.answers == [
        "`/rejudge` is for people with the role write, maintain or admin in this repository. `mallory` has read."
    ]

    world.model.answers(accept(RETRY_AT))
    world.bob.comments(pull, "/rejudge force")
    world.alice.reviews(pull, "COMMENT", "/assay help")
    world.settles()
    assert pull.check.conclusion == "success"
    assert "`/override REASON`" in pull.answers[-1], "all commands are listed"
    assert requested(world, "/reactions") == []
    assert world.github.state(pull.repository.name)["reactions"] == []


@pytest.mark.slow
def test_who_chose_reactions_without_comments_sees_the_sign_alone_and_nobody_is_asked(another_world: Open) -> None:
    world = another_world({"ASSAY_COMMENTS": "0"})
    world.repository({**PROJECT, "CODEOWNERS": "* @bob\n", ".github/assay.yml": "review:\n  label: needs-review\n"})
    pull = world.opened(reject("weak_test", RETRY_AT))
    assert pull.check.conclusion == "failure"
    refused, typo = world.mallory.comments(pull, "/rejudge"), world.bob.comments(pull, "/rejuge")
    taken = world.commented(pull, "/rejudge force", cannot_tell())

    assert [reactions(world, one) for one in (refused, typo, taken)] == [
        [("assay[bot]", "-1")],
        [("assay[bot]", "confused")],
        [("assay[bot]", "eyes")],
    ]
    assert pull.check.conclusion == "action_required"
    assert "ASSAY_COMMENTS" in pull.text
    assert [requested(world, one) for one in ("/comments", "/requested_reviewers", "/labels")] == [[], [], []]
    assert comments(world) == []


@pytest.mark.slow
def test_an_override_is_told_by_show_and_history(world: World) -> None:
    pull = rejected(world)
    eval_id = pull.verdict["eval_id"]
    world.commented(pull, "/override A hotfix.", by=world.alice)

    told = run(world.product.environment, "show", eval_id).stdout
    assert "Overridden by @alice at " in told
    listed = run(world.product.environment, "history", f"{pull.repository.name}#{pull.number}").stdout
    assert "A hotfix." in listed


def test_the_only_maintainer_may_override_their_own_pull_request_and_it_is_titled_and_counted_as_such(
    world: World,
) -> None:
    pull = world.opened(
        reject("weak_test", RETRY_AT), by=world.alice, message="Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    )
    assert pull.check.conclusion == "failure"
    world.commented(pull, "/override the test is good enough for now", by=world.alice)
    assert pull.check.title == "Overridden by @alice, the author: the test is good enough for now"
    assert pull.check.conclusion == "neutral"
    assert outcomes(world, pull) == ["own_override"]

    world.repository(PROJECT, collaborators={"bob": "admin"})
    world.model.answers(reject("weak_test", RETRY_AT))
    another = world.person("alice").opens(RETRY)
    world.settles()
    world.person("alice").comments(another, "/override the same")
    world.settles()
    assert another.check.conclusion == "failure"
    assert "own pull request" in another.answers[-1]
