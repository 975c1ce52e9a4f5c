"""What people may ask for, and who may."""

from tests.world.changes import PROJECT, RETRY, RETRY_AT
from tests.world.people import Comment
from tests.world.pulls import Pull
from tests.world.replies import accept, reject
from tests.world.tester import World


def rejected(world: World) -> Pull:
    """A pull request whose first verdict is a reject."""
    world.repository(PROJECT)
    world.model.answers(reject("weak_test", RETRY_AT))
    pull = world.agent.opens(RETRY)
    world.settles()
    assert pull.check.conclusion == "failure"
    return pull


def unjudged(world: World) -> Pull:
    """A pull request that could not be judged: the model refused our key."""
    world.repository(PROJECT)
    world.model.fails(401)
    pull = world.agent.opens(RETRY)
    world.settles()
    assert pull.check.conclusion == "action_required"
    return pull


def reactions(world: World, comment: Comment) -> list[tuple[str, str]]:
    return world.here.reactions(comment.id)


def test_rejudge_by_somebody_who_may_write_is_seen_and_judged(world: World) -> None:
    pull = unjudged(world)
    world.model.answers(accept(RETRY_AT))
    comment = world.bob.comments(pull, "Nothing wrong there.\n\n/rejudge\n")
    world.settles()

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1
    assert reactions(world, comment) == [("assay[bot]", "eyes")]


def test_rejudge_by_a_stranger_is_refused_with_a_reaction_and_judges_nothing(world: World) -> None:
    pull = rejected(world)
    comment = world.mallory.comments(pull, "/rejudge")
    world.settles()

    assert reactions(world, comment) == [("assay[bot]", "-1")]
    assert pull.check.conclusion == "failure"
    assert len(world.model.asked) == 1


NO_COMMANDS = (
    "```\n/rejudge\n```",
    "> /rejudge",
    "    /rejudge",
    "Please do not /rejudge this.",
    "- /rejudge",
    "<!-- /rejudge -->",
    "`/rejudge`",
    "/rejudgement",
)


def test_what_only_looks_like_a_command_is_none(world: World) -> None:
    pull = rejected(world)
    comments = [world.bob.comments(pull, words) for words in NO_COMMANDS]
    world.settles()

    assert [reactions(world, one) for one in comments] == [[]] * len(NO_COMMANDS)
    assert len(world.model.asked) == 1


def test_a_bot_gives_no_commands(world: World) -> None:
    pull = rejected(world)
    comment = world.agent.comments(pull, "/rejudge")
    world.settles()

    assert reactions(world, comment) == []
    assert len(world.model.asked) == 1


def test_a_command_at_an_issue_is_not_for_us(world: World) -> None:
    here = world.repository(PROJECT)
    issue = world.alice.writes_issue("Anything", "at all")
    world.github.user("bob", "POST", f"/repos/{here.name}/issues/{issue.number}/comments", body="/rejudge")
    world.settles()

    assert here.checks == []


def test_the_rerun_button_judges_again(world: World) -> None:
    pull = unjudged(world)
    world.model.answers(accept(RETRY_AT))
    pull.press_rerun()
    world.settles()

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


def test_a_fork_is_judged_and_its_rerun_button_works_too(world: World) -> None:
    world.repository(PROJECT)
    world.model.fails(401).answers(accept(RETRY_AT))
    pull = world.mallory.opens_from_a_fork(RETRY)
    world.settles()
    assert pull.check.conclusion == "action_required"
    pull.press_rerun()
    world.settles()

    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


def test_rejudge_while_judging_is_not_lost(world: World) -> None:
    world.repository(PROJECT)
    late = world.model.thinks_about({"no": "verdict"})
    world.model.answers({"still": "none"}).answers(accept(RETRY_AT))
    pull = world.agent.opens(RETRY)
    late.was_asked()
    comment = world.bob.comments(pull, "/rejudge")
    world.until(lambda: reactions(world, comment) == [("assay[bot]", "eyes")], "the command was seen")
    late.arrives()
    world.settles()

    assert pull.check.conclusion == "success"


def test_a_command_of_somebody_whose_permission_cannot_be_asked_is_asked_again_later(world: World) -> None:
    pull = unjudged(world)
    world.model.answers(accept(RETRY_AT))
    world.github.fault("GET .*/collaborators/bob/permission", status=502, count=1)
    comment = world.bob.comments(pull, "/rejudge")
    world.until(lambda: reactions(world, comment) == [("assay[bot]", "eyes")], "the command was seen in the end")
    world.settles()

    assert pull.check.conclusion == "success"
