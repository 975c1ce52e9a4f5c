"""Who is judged, when, and what wakes a head again."""

import re
import time
from datetime import datetime

import pytest

from tests.conversations.conftest import Open
from tests.world.anthropic import Asked, Reply
from tests.world.changes import FOR_EVERYONE, ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.pulls import Pull
from tests.world.replies import accept, reject
from tests.world.tester import World

CASE = "Retries.\n\n```assay\nsummary: Retries on 503\n```\n"
EASIER = "## Acceptance criteria\n\n- Uploads are retried on 503\n"
ISSUE = f"{EASIER}- Uploads are retried on 504\n"

EDITED = "The issue was edited by copilot-swe-agent[bot] after this pull request was opened; it was judged by the issue as it stood before."
RENAMED = "The issue was renamed by copilot-swe-agent[bot] after this pull request was opened; it was judged by the title that it had before."
FOOTER = "🤖 Generated with [Claude Code](https://claude.com/claude-code)"
SIGNED = "Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"


def passes_written(world: World, repository: str) -> list[str]:
    """Each conclusion that lets merge which was ever written to a check of this repository."""
    written = [one["sent"] or "" for one in world.github.requests(repository) if "/check-runs" in one["path"]]
    return [found[1] for one in written if (found := re.search(r'"conclusion": ?"(success|neutral|skipped)"', one))]


def written(world: World, repository: str) -> list[str]:
    """Each status that was written to a check of this repository."""
    sent = [one["sent"] or "" for one in world.github.requests(repository) if "/check-runs" in one["path"]]
    return [found[1] for one in sent if (found := re.search(r'"status": ?"(\w+)"', one))]


def test_pain_03_a_persons_pull_request_in_an_agents_only_repository_is_mergeable_at_once(world: World) -> None:
    world.repository({**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"})
    pull = world.bob.opens(RETRY)
    signed = world.opened(
        files=ONLY_DOCUMENTATION, by=world.bob, title="Document how uploads work", branch="signed", message=SIGNED
    )

    assert (pull.check.conclusion, pull.check.title) == ("skipped", "Skipped: written by a person")
    assert "/rejudge" in pull.text
    assert signed.check.conclusion == "success"
    assert world.model.asked == []

    world.commented(pull, "/rejudge", accept(RETRY_AT))
    assert pull.check.conclusion == "success"
    assert world.bob.merges(pull).is_merged


@pytest.mark.slow
def test_a_repository_says_whether_bots_and_people_are_observed_skipped_or_judged(world: World) -> None:
    for number, (login, authors, conclusion, title, said) in enumerate(
        (
            (
                "dependabot[bot]",
                "",
                "neutral",
                "Would have rejected",
                "bots that are no coding agents are only observed",
            ),
            ("dependabot[bot]", "bots: skip", "skipped", "Skipped: opened by a bot that is no coding agent", ""),
            ("dependabot[bot]", "bots: judge", "failure", "Rejected", ""),
            ("bob", "people: observe", "neutral", "Would have rejected", ""),
        )
    ):
        world.repository({**PROJECT, ".github/assay.yml": f"authors: {{{authors}}}\n"})
        replies = [] if conclusion == "skipped" else [reject("weak_test", RETRY_AT)]
        pull = world.opened(*replies, by=world.person(login), branch=f"dependabot/pip/widgets-{number}")
        assert pull.check.conclusion == conclusion
        assert pull.check.title.startswith(title)
        assert said in pull.text
        assert world.person("bob").merges(pull).is_merged is (conclusion != "failure")
    assert len(world.model.asked) == 3


@pytest.mark.slow
def test_where_people_are_skipped_and_what_an_agent_signed_is_not(another_world: Open) -> None:
    world = another_world({"ASSAY_PEOPLE": "skip", "ASSAY_QUIET_WINDOW": "600"})
    pull = world.opened(by=world.bob)

    assert (pull.check.conclusion, pull.check.title) == ("skipped", "Skipped: written by a person")
    assert "/rejudge" in pull.text
    assert world.model.asked == []

    world.commented(pull, "/rejudge", accept(RETRY_AT))
    assert pull.check.conclusion == "success"

    agents = world.bob.opens({"other.py": "x = 1\n"}, branch="signed", message=SIGNED)
    world.until(lambda: bool(agents.runs_of(agents.head)), "the agent's pull request has its check")
    assert (agents.check.status, agents.check.title[:17]) == ("queued", "Judging starts at")

    told = world.bob.opens({"third.py": "x = 1\n"}, branch="told", body=f"A third one.\n\n{FOOTER}\n")
    world.until(lambda: bool(told.runs_of(told.head)), "the pull request that says so in its description has its check")
    assert (told.check.status, told.check.title[:17]) == ("queued", "Judging starts at")

    assert world.bob.merges(pull).is_merged
    world.bob.closes(agents)
    world.bob.closes(told)


def test_pain_17_an_agents_pull_request_is_judged_though_its_author_is_a_bot(world: World) -> None:
    world.repository(PROJECT)
    world.model.answers(accept(RETRY_AT))
    pull = world.person("copilot-swe-agent[bot]").opens(RETRY)
    world.settles()
    assert pull.check.conclusion == "success"


def test_pain_02_rerun_all_and_rerun_without_a_pull_request_are_answered(world: World) -> None:
    here = world.repository({**PROJECT, **FOR_EVERYONE})
    world.model.answers(accept(RETRY_AT))
    pull = world.mallory.opens_from_a_fork(RETRY)
    world.settles()
    first = pull.verdict["eval_id"]

    for press, told in ((pull.press_rerun, "check_run"), (pull.press_rerun_all, "check_suite")):
        before = len(written(world, here.name))
        press()
        world.settles()
        assert world.github.told(here.name, told)[-1][told]["pull_requests"] == []
        assert written(world, here.name)[before:] == ["in_progress", "completed"]
        assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", first)
    assert len(world.model.asked) == 1


@pytest.mark.slow
def test_pain_04_a_forks_ci_names_no_pull_request_and_wakes_it_all_the_same(another_world: Open) -> None:
    world = another_world({"ASSAY_CI_POLL": "600"})
    here = world.repository({**PROJECT, **FOR_EVERYONE})
    pull = world.mallory.opens_from_a_fork(RETRY, draft=True)
    tests = here.starts_ci(pull.head, "unit tests")
    world.mallory.marks_ready(pull)
    world.until(lambda: bool(here.checks) and "Waiting for CI" in pull.check.title, "the check waits for CI")

    tests.finishes("failure")
    world.settles()
    assert world.github.told(here.name, "check_run")[-1]["check_run"]["pull_requests"] == []
    assert pull.verdict["abstain_reason"] == "ci_failed"

    world.model.answers(accept(RETRY_AT))
    here.reports_ci(pull.head, "unit tests", "success")
    world.until(lambda: pull.check.conclusion == "success", "the green run woke it")


def test_pain_20_an_edited_issue_is_judged_again_by_its_new_list_and_says_so(world: World) -> None:
    issue = world.alice.writes_issue("Retry uploads", ISSUE)
    pull = world.opened(reject("acceptance_gap", RETRY_AT, criteria=2), body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "failure"

    world.model.answers(accept(RETRY_AT))
    world.alice.edits_issue(issue, body=EASIER)
    world.settles()
    assert pull.check.conclusion == "success"
    assert [one["id"] for one in pull.verdict["criteria"]] == ["AC1"]
    assert "the issue was edited" in pull.text


@pytest.mark.parametrize(
    ("issue", "by_agent", "by_person", "says", "criteria"),
    [
        (("Retry uploads", ISSUE), {"body": EASIER}, {"body": f"{EASIER}\nSaid by who wants it."}, EDITED, (2, 1)),
        pytest.param(
            ("Retry uploads on 503 and on 504", "Uploads fail."),
            {"title": "Retry uploads on 503"},
            {"title": "Retry uploads on 503 only"},
            RENAMED,
            (1, 1),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["text", "title"],
)
def test_what_an_agent_makes_of_the_issue_once_it_was_rejected_is_not_judged_by_and_a_persons_edit_is(
    world: World,
    issue: tuple[str, str],
    by_agent: dict[str, str],
    by_person: dict[str, str],
    says: str,
    criteria: tuple[int, int],
) -> None:
    world.repository(PROJECT, collaborators={"copilot-swe-agent[bot]": "push"})
    made = world.alice.writes_issue(*issue)
    pull = world.opened(reject("acceptance_gap", RETRY_AT, criteria=criteria[0]), body=f"Closes #{made.number}")
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    world.agent.edits_issue(made, **by_agent)
    world.settles()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first)
    assert len(pull.verdict["criteria"]) == criteria[0]
    assert says in pull.text.replace("\\", "")
    assert len(world.model.asked) == 1

    world.model.answers(accept(RETRY_AT))
    world.alice.edits_issue(made, **by_person)
    world.settles()
    assert pull.check.conclusion == "success"
    assert len(pull.verdict["criteria"]) == criteria[1]
    assert all(line in world.model.asked[-1].text for text in by_person.values() for line in text.split("\n"))
    assert says not in pull.text.replace("\\", "")


@pytest.mark.slow
def test_an_edited_issue_of_another_repository_has_who_closes_it_judged_again(world: World) -> None:
    specs = world.repository()
    planner = world.person("alice")
    issue = planner.writes_issue("Retry uploads", ISSUE)
    world.repository(PROJECT)
    pull = world.opened(reject("acceptance_gap", RETRY_AT, criteria=2), body=f"Closes {specs.name}#{issue.number}")
    assert pull.check.conclusion == "failure"

    world.model.answers(accept(RETRY_AT))
    planner.edits_issue(issue, body=EASIER)
    world.until(lambda: pull.check.conclusion == "success", "the edit woke it")
    assert "the issue was edited" in pull.text


def test_a_description_that_says_what_is_asked_for_is_judged_by_anew_when_it_is_edited(world: World) -> None:
    pull = world.opened(
        reject("acceptance_gap", RETRY_AT), accept(RETRY_AT), body="Uploads are retried on 503 and on 504."
    )
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    world.alice.edits(pull, body="Uploads are retried on 503, and on nothing else.")
    world.settles()
    assert pull.check.conclusion == "success"
    assert "on 503, and on nothing else" in world.model.asked[-1].text
    assert "its title or description was edited" in pull.text

    world.alice.edits(pull, body="Uploads are retried on 503 and on 504.")
    world.settles()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first), "who takes it back pays nothing"
    assert len(world.model.asked) == 2


@pytest.mark.slow
def test_an_edit_that_asks_for_nothing_else_leaves_the_verdict(world: World) -> None:
    here = world.repository(PROJECT)
    issue = world.alice.writes_issue("Retry uploads", ISSUE)
    world.model.answers(accept(RETRY_AT)).answers(accept(RETRY_AT, criteria=2))
    alone = world.bob.opens(RETRY, body="Uploads are retried on 503.", branch="alone")
    closing = world.opened(body=f"Closes #{issue.number}")
    assert {alone.check.conclusion, closing.check.conclusion} == {"success"}
    began = len(world.github.requests(here.name))

    summary = "Uploads are retried on 503.\n\n## Summary by a bot\n\nRetries."
    world.person("copilot-swe-agent[bot]").edits(alone, body=summary)
    world.alice.edits(alone, body=f"{summary}\n\n<!-- a note to ourselves -->\n")
    world.alice.edits(closing, title="Retry", body=f"Told in other words. Closes #{issue.number}")
    world.settles()
    written = [one["path"] for one in world.github.requests(here.name)[began:] if "check-runs" in one["path"]]
    assert written == []
    assert len(world.model.asked) == 2


@pytest.mark.slow
def test_ten_edits_in_a_row_are_one_judging_by_the_last_of_them(another_world: Open) -> None:
    world = another_world({"ASSAY_QUIET_WINDOW": "600", "ASSAY_QUIET_MAX": "600"})
    pull = world.opened(accept(RETRY_AT), accept(RETRY_AT), body=CASE)
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "success"

    for status in range(504, 514):
        world.agent.edits(pull, body=f"And on {status}. {CASE}")
    world.until(lambda: pull.check.status == "queued", "what was accepted for another description passes no more")
    assert pull.check.title.startswith("Judging starts at")
    assert "by the title and description as they stood before" in pull.text
    assert len(world.model.asked) == 1

    world.commented(pull, "/rejudge", by=world.alice)
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert pull.verdict["eval_id"] != first
    assert "And on 513." in world.model.asked[-1].text
    assert len(world.model.asked) == 2


@pytest.mark.slow
def test_a_case_that_goes_from_a_draft_has_nobody_judge_it_and_elsewhere_it_is_judged_without(world: World) -> None:
    draft = world.opened(accept(RETRY_AT), body=CASE, draft=True, branch="draft")
    assert draft.check.conclusion == "success", "its case asked for it"
    world.agent.edits(draft, body="Retries.")
    world.settles()
    assert (draft.check.conclusion, len(world.model.asked)) == ("success", 1)

    pull = world.opened(reject("weak_test", RETRY_AT), accept(RETRY_AT), body=CASE)
    assert pull.check.conclusion == "failure"
    world.agent.edits(pull, body="Retries.")
    world.settles()
    assert pull.check.conclusion == "success"


def test_new_rules_of_the_base_branch_have_what_is_open_judged_by_them(world: World) -> None:
    here = world.repository(PROJECT)
    pull = world.opened(reject("weak_test", RETRY_AT), accept(RETRY_AT))
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    here.github.verb("push", repo=here.name, branch="main", files={"AGENTS.md": "Retries need no tests here.\n"})
    world.settles()
    assert pull.check.conclusion == "success"
    assert "Retries need no tests here." in world.model.asked[-1].text
    assert "the rules changed" in pull.text

    here.github.verb("push", repo=here.name, branch="main", files={"AGENTS.md": None})
    world.settles()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first)
    here.github.verb("push", repo=here.name, branch="main", files={".github/assay.yml": "quiet_window: 2m\n"})
    world.settles()
    assert pull.verdict["carried_from"] == first
    assert len(world.model.asked) == 2


def test_a_draft_waits_and_says_so_and_is_judged_when_it_is_ready(world: World) -> None:
    pull = world.opened(draft=True)
    assert (pull.check.status, pull.check.title) == ("queued", "Draft: judged when it is ready")
    assert world.model.asked == []

    world.model.answers(accept(RETRY_AT))
    world.agent.marks_ready(pull)
    world.settles()
    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


@pytest.mark.slow
def test_what_becomes_a_draft_waits_with_its_next_push_and_what_was_judged_stays_so(another_world: Open) -> None:
    world = another_world({"ASSAY_QUIET_WINDOW": "600"})
    here = world.repository(PROJECT)
    pull = world.agent.opens(RETRY)
    world.until(lambda: bool(here.checks), "its check is there")
    assert pull.check.title.startswith("Judging starts at")

    def becomes(*, draft: bool) -> None:
        here.github.verb("draft", repo=here.name, pull=pull.number, draft=draft)
        world.github.settle()

    becomes(draft=True)
    held = ("queued", None, "Draft: judged when it is ready")
    world.until(lambda: pull.check == held, "the check says that it is a draft")
    world.agent.pushes(pull, {"notes.md": "Three times.\n"})
    world.until(lambda: len(here.checks) > 1 and pull.check == held, "so does the next head's")
    assert world.model.asked == []

    world.model.answers(accept(RETRY_AT))
    world.bob.comments(pull, "/rejudge")
    world.until(lambda: pull.check.conclusion == "success", "whoever asks has a draft judged")
    for draft in (False, True):
        becomes(draft=draft)
        world.settles()
        assert (pull.check.conclusion, len(world.model.asked)) == ("success", 1)


@pytest.mark.slow
def test_a_retargeted_pull_request_is_judged_anew(world: World) -> None:
    here = world.repository(PROJECT)
    world.github.verb("push", repo=here.name, branch="below", files={"other.py": "x = 1\n"})
    world.github.verb("push", repo=here.name, branch="fix", files={}, **{"from": "below"})
    pull = world.opened(reject("weak_test", RETRY_AT), accept(RETRY_AT))
    assert pull.check.conclusion == "failure"

    world.alice.retargets(pull, "below")
    world.settles()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_what_is_stacked_on_a_branch_that_was_force_pushed_is_judged_for_what_it_changes_now(world: World) -> None:
    here = world.repository(PROJECT)
    below = {"upload.py": PROJECT["upload.py"].replace("200", "201")}
    world.github.verb("push", repo=here.name, branch="below", files=below)
    download = {"download.py": "def download(name):\n    return name\n\n\nNEWEST = download('newest')\n"}
    world.github.verb("push", repo=here.name, branch="fix", files=download, **{"from": "below"})
    world.model.answers(accept("download.py:1"))
    proposal = {"title": "Download", "body": "", "head": "fix", "base": "below"}
    made = world.github.user(world.agent.login, "POST", f"/repos/{here.name}/pulls", **proposal)
    pull = Pull(here, made["number"], here.name, "fix")
    world.settles()
    assert (pull.check.conclusion, pull.verdict["coverage"]["read"]) == ("success", ["download.py"])
    world.commented(pull, "/override we ship what we looked at", by=world.alice)
    assert pull.check.conclusion == "neutral"

    world.model.answers(reject("scope_creep", "upload.py:9"))
    world.github.verb("push", repo=here.name, branch="below", files={"other.py": "x = 1\n"}, force=True)
    world.settles()
    assert pull.check.conclusion == "failure"
    assert sorted(pull.verdict["coverage"]["read"]) == ["download.py", "upload.py"]
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_judging_waits_for_the_quiet_window_unless_a_case_or_green_ci_ends_it(another_world: Open) -> None:
    world = another_world({"ASSAY_QUIET_WINDOW": "600", "ASSAY_QUIET_MAX": "600"})
    world.model.answers(accept(RETRY_AT)).answers(accept(RETRY_AT))
    pull = world.agent.opens(RETRY)
    world.until(lambda: bool(pull.runs_of(pull.head)), "the check is there")
    assert (pull.check.status, pull.check.title[:17]) == ("queued", "Judging starts at")
    time.sleep(1)
    assert world.model.asked == []

    world.agent.edits(pull, body=CASE)
    world.settles()
    assert pull.check.conclusion == "success"

    other = world.opened(branch="other", body=CASE)
    assert other.check.conclusion == "success"

    world.pushed(other, {"note.md": "With a case.\n"}, accept(RETRY_AT), accept(RETRY_AT))
    assert other.check.conclusion == "success"

    green = world.agent.opens({**RETRY, "note.md": "Without one.\n"}, branch="green")
    world.until(lambda: bool(green.runs_of(green.head)), "the check is there")
    assert green.check.status == "queued"
    world.here.reports_ci(green.head, "unit tests", "success")
    world.settles()
    assert green.check.conclusion == "success"


@pytest.mark.slow
@pytest.mark.parametrize(("protect", "concludes"), [([], "neutral"), (["Assay"], "action_required")])
def test_installing_judges_nothing_old_and_says_how_to_have_it_judged(
    world: World, protect: list[str], concludes: str
) -> None:
    here = world.repository(PROJECT, protect=protect)
    world.github.verb("hooks", paused=True)
    pull = world.agent.opens(RETRY)
    world.github.settle()  # what the push brings comes after its answer, and is dropped with it
    world.github.verb("hooks", drop=True, paused=False)
    opened = datetime.fromisoformat(pull.view["created_at"]).timestamp()
    world.until(
        lambda: time.time() >= opened + 1, "the second in which it was opened is over: what came in that is not old"
    )
    world.github.verb("install", repositories=[here.name])
    world.until(lambda: bool(pull.runs_of(pull.head)), "the old pull request has its check")
    world.settles()
    assert (pull.check.conclusion, pull.check.title) == (concludes, "Opened before Assay was installed")
    assert world.model.asked == []

    world.pushed(pull, {"note.md": "x\n"}, accept(RETRY_AT))
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_draft_that_is_closed_leaves_no_check_open(world: World) -> None:
    pull = world.opened(draft=True)
    world.agent.closes(pull)
    world.until(lambda: pull.check_run["status"] == "completed", "the draft's check is concluded")
    assert pull.check.conclusion == "cancelled"


def test_what_was_edited_while_a_judge_thought_about_it_is_accepted_only_as_it_reads_now(world: World) -> None:
    here = world.repository(PROJECT)
    thinking, pull = world.judging(accept(RETRY_AT), body="Uploads are retried.")
    world.agent.edits(pull, body="Uploads are retried on 503.")
    world.github.settle()
    world.model.answers(accept(RETRY_AT))
    thinking.arrives()
    world.settles()

    assert pull.check.conclusion == "success"
    assert "Uploads are retried on 503." in world.model.asked[-1].text
    assert passes_written(world, here.name) == ["success"], "never for what nobody judged"


@pytest.mark.slow
def test_an_issue_that_is_edited_while_the_first_verdict_is_made_by_it_is_judged_by_as_it_reads_now(
    world: World,
) -> None:
    here = world.repository(PROJECT)
    issue = world.alice.writes_issue("Retry uploads", EASIER)
    thinking, pull = world.judging(accept(RETRY_AT), body=f"Closes #{issue.number}")
    world.alice.edits_issue(issue, body=ISSUE)
    world.github.settle()
    world.model.answers(reject("acceptance_gap", RETRY_AT, criteria=2))
    thinking.arrives()
    world.settles()

    assert pull.check.conclusion == "failure"
    assert [one["id"] for one in pull.verdict["criteria"]] == ["AC1", "AC2"]
    assert "the issue was edited" in pull.text
    assert passes_written(world, here.name) == [], "never by what it asked for before"


def test_an_issue_that_is_edited_between_its_being_read_and_the_beginning_of_the_first_verdict_is_judged_by_as_it_reads_now(
    world: World,
) -> None:
    here = world.repository(PROJECT)
    issue = world.alice.writes_issue("Retry uploads", EASIER)
    world.model.decides(judged_by_the_list)
    with world.github.holding("POST /graphql AssayPull") as held:
        pull = world.agent.opens(RETRY, body=f"Closes #{issue.number}")
        assert held() == "POST /graphql AssayPull"
        world.alice.edits_issue(issue, body=ISSUE)
        world.github.settle()
    world.settles()

    assert pull.check.conclusion == "failure"
    assert [one["id"] for one in pull.verdict["criteria"]] == ["AC1", "AC2"]
    assert passes_written(world, here.name) == [], "never by what it asked for before"
    assert len(world.model.asked) == 1, "nor was a model asked about that"


def judged_by_the_list(asked: Asked) -> Reply:
    """An accept by the list without 504, a reject by the whole."""
    return reject("acceptance_gap", RETRY_AT, criteria=2) if "on 504" in asked.text else accept(RETRY_AT)


@pytest.mark.slow
def test_what_was_accepted_for_another_base_or_issue_passes_no_more_before_anybody_judges_again(
    another_world: Open,
) -> None:
    world = another_world({"ASSAY_GATHER": "6", "ASSAY_QUIET_WINDOW": "0"})
    here = world.repository(PROJECT)
    issue = world.alice.writes_issue("Retry uploads", ISSUE)
    pull = world.opened(accept(RETRY_AT, criteria=2), accept(RETRY_AT), body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "success"
    began = len(world.github.requests(here.name))

    world.alice.edits_issue(issue, body=EASIER)
    world.until(lambda: pull.check.status != "completed", "its check is open again", 3)
    assert pull.check == ("in_progress", None, "Judging again: the issue was edited")
    assert not world.alice.merges(pull).is_merged
    world.settles()
    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1
    asked = [f"{one['method']} {one['path']}" for one in world.github.requests(here.name)[began:]]
    assert sum(one.startswith("PATCH") and "/check-runs/" in one for one in asked) == 2, (
        "one to open it, and the verdict"
    )

    world.agent.closes(pull)
    world.settles()
    world.agent.reopens(pull)
    world.until(lambda: pull.check.status != "completed", "its check is open again", 3)
    world.settles()
    assert pull.check.conclusion == "success"
