"""Who is judged, when, and what wakes a head again."""

import re
import time
from datetime import datetime

import pytest

from tests.conversations.conftest import OpenWorld
from tests.world.changes import FOR_EVERYONE, ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.fake_anthropic import ModelRequest, Reply
from tests.world.pull_requests import PullRequest
from tests.world.replies import accept, reject
from tests.world.world import World

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
    world.create_repository({**PROJECT, ".github/assay.yml": "authors:\n  people: skip\n"})
    pull = world.bob.open_pull_request(RETRY)
    signed = world.open_and_judge(
        files=ONLY_DOCUMENTATION, by=world.bob, title="Document how uploads work", branch="signed", message=SIGNED
    )

    assert (pull.check.conclusion, pull.check.title) == ("skipped", "Skipped: written by a person")
    assert "/rejudge" in pull.text
    assert signed.check.conclusion == "success"
    assert world.model.requests == []

    world.comment_and_wait(pull, "/rejudge", accept(RETRY_AT))
    assert pull.check.conclusion == "success"
    assert world.bob.merge(pull).is_merged


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
        world.create_repository({**PROJECT, ".github/assay.yml": f"authors: {{{authors}}}\n"})
        replies = [] if conclusion == "skipped" else [reject("weak_test", RETRY_AT)]
        pull = world.open_and_judge(*replies, by=world.person(login), branch=f"dependabot/pip/widgets-{number}")
        assert pull.check.conclusion == conclusion
        assert pull.check.title.startswith(title)
        assert said in pull.text
        assert world.person("bob").merge(pull).is_merged is (conclusion != "failure")
    assert len(world.model.requests) == 3


@pytest.mark.slow
def test_where_people_are_skipped_and_what_an_agent_signed_is_not(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_PEOPLE": "skip", "ASSAY_QUIET_WINDOW": "600"})
    pull = world.open_and_judge(by=world.bob)

    assert (pull.check.conclusion, pull.check.title) == ("skipped", "Skipped: written by a person")
    assert "/rejudge" in pull.text
    assert world.model.requests == []

    world.comment_and_wait(pull, "/rejudge", accept(RETRY_AT))
    assert pull.check.conclusion == "success"

    agents = world.bob.open_pull_request({"other.py": "x = 1\n"}, branch="signed", message=SIGNED)
    world.wait_until(lambda: bool(agents.check_runs_of(agents.head)), "the agent's pull request has its check")
    assert (agents.check.status, agents.check.title[:17]) == ("queued", "Judging starts at")

    told = world.bob.open_pull_request({"third.py": "x = 1\n"}, branch="told", body=f"A third one.\n\n{FOOTER}\n")
    world.wait_until(
        lambda: bool(told.check_runs_of(told.head)), "the pull request that says so in its description has its check"
    )
    assert (told.check.status, told.check.title[:17]) == ("queued", "Judging starts at")

    assert world.bob.merge(pull).is_merged
    world.bob.close(agents)
    world.bob.close(told)


def test_pain_17_an_agents_pull_request_is_judged_though_its_author_is_a_bot(world: World) -> None:
    world.create_repository(PROJECT)
    world.model.reply_with(accept(RETRY_AT))
    pull = world.person("copilot-swe-agent[bot]").open_pull_request(RETRY)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"


def test_pain_02_rerun_all_and_rerun_without_a_pull_request_are_answered(world: World) -> None:
    here = world.create_repository({**PROJECT, **FOR_EVERYONE})
    world.model.reply_with(accept(RETRY_AT))
    pull = world.mallory.open_from_fork(RETRY)
    world.wait_until_idle()
    first = pull.verdict["eval_id"]

    for press, told in ((pull.press_rerun, "check_run"), (pull.press_rerun_all, "check_suite")):
        before = len(written(world, here.name))
        press()
        world.wait_until_idle()
        assert world.github.deliveries_of(here.name, told)[-1][told]["pull_requests"] == []
        assert written(world, here.name)[before:] == ["in_progress", "completed"]
        assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", first)
    assert len(world.model.requests) == 1


@pytest.mark.slow
def test_pain_04_a_forks_ci_names_no_pull_request_and_wakes_it_all_the_same(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_CI_POLL": "600"})
    here = world.create_repository({**PROJECT, **FOR_EVERYONE})
    pull = world.mallory.open_from_fork(RETRY, draft=True)
    tests = here.start_ci(pull.head, "unit tests")
    world.mallory.mark_ready(pull)
    world.wait_until(lambda: bool(here.checks) and "Waiting for CI" in pull.check.title, "the check waits for CI")

    tests.complete("failure")
    world.wait_until_idle()
    assert world.github.deliveries_of(here.name, "check_run")[-1]["check_run"]["pull_requests"] == []
    assert pull.verdict["abstain_reason"] == "ci_failed"

    world.model.reply_with(accept(RETRY_AT))
    here.report_ci(pull.head, "unit tests", "success")
    world.wait_until(lambda: pull.check.conclusion == "success", "the green run woke it")


def test_pain_20_an_edited_issue_is_judged_again_by_its_new_list_and_says_so(world: World) -> None:
    issue = world.alice.write_issue("Retry uploads", ISSUE)
    pull = world.open_and_judge(reject("acceptance_gap", RETRY_AT, criteria=2), body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "failure"

    world.model.reply_with(accept(RETRY_AT))
    world.alice.edit_issue(issue, body=EASIER)
    world.wait_until_idle()
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
    world.create_repository(PROJECT, collaborators={"copilot-swe-agent[bot]": "push"})
    made = world.alice.write_issue(*issue)
    pull = world.open_and_judge(reject("acceptance_gap", RETRY_AT, criteria=criteria[0]), body=f"Closes #{made.number}")
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    world.agent.edit_issue(made, **by_agent)
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first)
    assert len(pull.verdict["criteria"]) == criteria[0]
    assert says in pull.text.replace("\\", "")
    assert len(world.model.requests) == 1

    world.model.reply_with(accept(RETRY_AT))
    world.alice.edit_issue(made, **by_person)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert len(pull.verdict["criteria"]) == criteria[1]
    assert all(line in world.model.requests[-1].text for text in by_person.values() for line in text.split("\n"))
    assert says not in pull.text.replace("\\", "")


@pytest.mark.slow
def test_an_edited_issue_of_another_repository_has_who_closes_it_judged_again(world: World) -> None:
    specs = world.create_repository()
    planner = world.person("alice")
    issue = planner.write_issue("Retry uploads", ISSUE)
    world.create_repository(PROJECT)
    pull = world.open_and_judge(
        reject("acceptance_gap", RETRY_AT, criteria=2), body=f"Closes {specs.name}#{issue.number}"
    )
    assert pull.check.conclusion == "failure"

    world.model.reply_with(accept(RETRY_AT))
    planner.edit_issue(issue, body=EASIER)
    world.wait_until(lambda: pull.check.conclusion == "success", "the edit woke it")
    assert "the issue was edited" in pull.text


def test_a_description_that_says_what_is_asked_for_is_judged_by_anew_when_it_is_edited(world: World) -> None:
    pull = world.open_and_judge(
        reject("acceptance_gap", RETRY_AT), accept(RETRY_AT), body="Uploads are retried on 503 and on 504."
    )
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    world.alice.edit(pull, body="Uploads are retried on 503, and on nothing else.")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert "on 503, and on nothing else" in world.model.requests[-1].text
    assert "its title or description was edited" in pull.text

    world.alice.edit(pull, body="Uploads are retried on 503 and on 504.")
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first), "who takes it back pays nothing"
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_an_edit_that_asks_for_nothing_else_leaves_the_verdict(world: World) -> None:
    here = world.create_repository(PROJECT)
    issue = world.alice.write_issue("Retry uploads", ISSUE)
    world.model.reply_with(accept(RETRY_AT)).reply_with(accept(RETRY_AT, criteria=2))
    alone = world.bob.open_pull_request(RETRY, body="Uploads are retried on 503.", branch="alone")
    closing = world.open_and_judge(body=f"Closes #{issue.number}")
    assert {alone.check.conclusion, closing.check.conclusion} == {"success"}
    began = len(world.github.requests(here.name))

    summary = "Uploads are retried on 503.\n\n## Summary by a bot\n\nRetries."
    world.person("copilot-swe-agent[bot]").edit(alone, body=summary)
    world.alice.edit(alone, body=f"{summary}\n\n<!-- a note to ourselves -->\n")
    world.alice.edit(closing, title="Retry", body=f"Told in other words. Closes #{issue.number}")
    world.wait_until_idle()
    written = [one["path"] for one in world.github.requests(here.name)[began:] if "check-runs" in one["path"]]
    assert written == []
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_ten_edits_in_a_row_are_one_judging_by_the_last_of_them(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "600", "ASSAY_QUIET_MAX": "600"})
    pull = world.open_and_judge(accept(RETRY_AT), accept(RETRY_AT), body=CASE)
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "success"

    for status in range(504, 514):
        world.agent.edit(pull, body=f"And on {status}. {CASE}")
    world.wait_until(lambda: pull.check.status == "queued", "what was accepted for another description passes no more")
    assert pull.check.title.startswith("Judging starts at")
    assert "by the title and description as they stood before" in pull.text
    assert len(world.model.requests) == 1

    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert pull.verdict["eval_id"] != first
    assert "And on 513." in world.model.requests[-1].text
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_a_case_that_goes_from_a_draft_has_nobody_judge_it_and_elsewhere_it_is_judged_without(world: World) -> None:
    draft = world.open_and_judge(accept(RETRY_AT), body=CASE, draft=True, branch="draft")
    assert draft.check.conclusion == "success", "its case asked for it"
    world.agent.edit(draft, body="Retries.")
    world.wait_until_idle()
    assert (draft.check.conclusion, len(world.model.requests)) == ("success", 1)

    pull = world.open_and_judge(reject("weak_test", RETRY_AT), accept(RETRY_AT), body=CASE)
    assert pull.check.conclusion == "failure"
    world.agent.edit(pull, body="Retries.")
    world.wait_until_idle()
    assert pull.check.conclusion == "success"


def test_new_rules_of_the_base_branch_have_what_is_open_judged_by_them(world: World) -> None:
    here = world.create_repository(PROJECT)
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), accept(RETRY_AT))
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    here.github.control("push", repo=here.name, branch="main", files={"AGENTS.md": "Retries need no tests here.\n"})
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert "Retries need no tests here." in world.model.requests[-1].text
    assert "the rules changed" in pull.text

    here.github.control("push", repo=here.name, branch="main", files={"AGENTS.md": None})
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first)
    here.github.control("push", repo=here.name, branch="main", files={".github/assay.yml": "quiet_window: 2m\n"})
    world.wait_until_idle()
    assert pull.verdict["carried_from"] == first
    assert len(world.model.requests) == 2


def test_a_draft_waits_and_says_so_and_is_judged_when_it_is_ready(world: World) -> None:
    pull = world.open_and_judge(draft=True)
    assert (pull.check.status, pull.check.title) == ("queued", "Draft: judged when it is ready")
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    world.agent.mark_ready(pull)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1


@pytest.mark.slow
def test_what_becomes_a_draft_waits_with_its_next_push_and_what_was_judged_stays_so(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "600"})
    here = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY)
    world.wait_until(lambda: bool(here.checks), "its check is there")
    assert pull.check.title.startswith("Judging starts at")

    def becomes(*, draft: bool) -> None:
        here.github.control("draft", repo=here.name, pull=pull.number, draft=draft)
        world.github.settle()

    becomes(draft=True)
    held = ("queued", None, "Draft: judged when it is ready")
    world.wait_until(lambda: pull.check == held, "the check says that it is a draft")
    world.agent.push(pull, {"notes.md": "Three times.\n"})
    world.wait_until(lambda: len(here.checks) > 1 and pull.check == held, "so does the next head's")
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    world.bob.comment(pull, "/rejudge")
    world.wait_until(lambda: pull.check.conclusion == "success", "whoever asks has a draft judged")
    for draft in (False, True):
        becomes(draft=draft)
        world.wait_until_idle()
        assert (pull.check.conclusion, len(world.model.requests)) == ("success", 1)


@pytest.mark.slow
def test_a_retargeted_pull_request_is_judged_anew(world: World) -> None:
    here = world.create_repository(PROJECT)
    world.github.control("push", repo=here.name, branch="below", files={"other.py": "x = 1\n"})
    world.github.control("push", repo=here.name, branch="fix", files={}, **{"from": "below"})
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), accept(RETRY_AT))
    assert pull.check.conclusion == "failure"

    world.alice.retarget(pull, "below")
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_what_is_stacked_on_a_branch_that_was_force_pushed_is_judged_for_what_it_changes_now(world: World) -> None:
    here = world.create_repository(PROJECT)
    below = {"upload.py": PROJECT["upload.py"].replace("200", "201")}
    world.github.control("push", repo=here.name, branch="below", files=below)
    download = {"download.py": "def download(name):\n    return name\n\n\nNEWEST = download('newest')\n"}
    world.github.control("push", repo=here.name, branch="fix", files=download, **{"from": "below"})
    world.model.reply_with(accept("download.py:1"))
    proposal = {"title": "Download", "body": "", "head": "fix", "base": "below"}
    made = world.github.request_as(world.agent.login, "POST", f"/repos/{here.name}/pulls", **proposal)
    pull = PullRequest(here, made["number"], here.name, "fix")
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.verdict["coverage"]["read"]) == ("success", ["download.py"])
    world.comment_and_wait(pull, "/override we ship what we looked at", by=world.alice)
    assert pull.check.conclusion == "neutral"

    world.model.reply_with(reject("scope_creep", "upload.py:9"))
    world.github.control("push", repo=here.name, branch="below", files={"other.py": "x = 1\n"}, force=True)
    world.wait_until_idle()
    assert pull.check.conclusion == "failure"
    assert sorted(pull.verdict["coverage"]["read"]) == ["download.py", "upload.py"]
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_judging_waits_for_the_quiet_window_unless_a_case_or_green_ci_ends_it(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "600", "ASSAY_QUIET_MAX": "600"})
    world.model.reply_with(accept(RETRY_AT)).reply_with(accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    world.wait_until(lambda: bool(pull.check_runs_of(pull.head)), "the check is there")
    assert (pull.check.status, pull.check.title[:17]) == ("queued", "Judging starts at")
    time.sleep(1)
    assert world.model.requests == []

    world.agent.edit(pull, body=CASE)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"

    other = world.open_and_judge(branch="other", body=CASE)
    assert other.check.conclusion == "success"

    world.push_and_judge(other, {"note.md": "With a case.\n"}, accept(RETRY_AT), accept(RETRY_AT))
    assert other.check.conclusion == "success"

    green = world.agent.open_pull_request({**RETRY, "note.md": "Without one.\n"}, branch="green")
    world.wait_until(lambda: bool(green.check_runs_of(green.head)), "the check is there")
    assert green.check.status == "queued"
    world.repository.report_ci(green.head, "unit tests", "success")
    world.wait_until_idle()
    assert green.check.conclusion == "success"


@pytest.mark.slow
@pytest.mark.parametrize(("protect", "concludes"), [([], "neutral"), (["Assay"], "action_required")])
def test_installing_judges_nothing_old_and_says_how_to_have_it_judged(
    world: World, protect: list[str], concludes: str
) -> None:
    here = world.create_repository(PROJECT, protect=protect)
    world.github.control("hooks", paused=True)
    pull = world.agent.open_pull_request(RETRY)
    world.github.settle()  # what the push brings comes after its answer, and is dropped with it
    world.github.control("hooks", drop=True, paused=False)
    opened = datetime.fromisoformat(pull.view["created_at"]).timestamp()
    world.wait_until(
        lambda: time.time() >= opened + 1, "the second in which it was opened is over: what came in that is not old"
    )
    world.github.control("install", repositories=[here.name])
    world.wait_until(lambda: bool(pull.check_runs_of(pull.head)), "the old pull request has its check")
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.check.title) == (concludes, "Opened before Assay was installed")
    assert world.model.requests == []

    world.push_and_judge(pull, {"note.md": "x\n"}, accept(RETRY_AT))
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_a_draft_that_is_closed_leaves_no_check_open(world: World) -> None:
    pull = world.open_and_judge(draft=True)
    world.agent.close(pull)
    world.wait_until(lambda: pull.check_run["status"] == "completed", "the draft's check is concluded")
    assert pull.check.conclusion == "cancelled"


def test_what_was_edited_while_a_judge_thought_about_it_is_accepted_only_as_it_reads_now(world: World) -> None:
    here = world.create_repository(PROJECT)
    thinking, pull = world.open_and_hold_model(accept(RETRY_AT), body="Uploads are retried.")
    world.agent.edit(pull, body="Uploads are retried on 503.")
    world.github.settle()
    world.model.reply_with(accept(RETRY_AT))
    thinking.release()
    world.wait_until_idle()

    assert pull.check.conclusion == "success"
    assert "Uploads are retried on 503." in world.model.requests[-1].text
    assert passes_written(world, here.name) == ["success"], "never for what nobody judged"


@pytest.mark.slow
def test_an_issue_that_is_edited_while_the_first_verdict_is_made_by_it_is_judged_by_as_it_reads_now(
    world: World,
) -> None:
    here = world.create_repository(PROJECT)
    issue = world.alice.write_issue("Retry uploads", EASIER)
    thinking, pull = world.open_and_hold_model(accept(RETRY_AT), body=f"Closes #{issue.number}")
    world.alice.edit_issue(issue, body=ISSUE)
    world.github.settle()
    world.model.reply_with(reject("acceptance_gap", RETRY_AT, criteria=2))
    thinking.release()
    world.wait_until_idle()

    assert pull.check.conclusion == "failure"
    assert [one["id"] for one in pull.verdict["criteria"]] == ["AC1", "AC2"]
    assert "the issue was edited" in pull.text
    assert passes_written(world, here.name) == [], "never by what it asked for before"


def test_an_issue_that_is_edited_between_its_being_read_and_the_beginning_of_the_first_verdict_is_judged_by_as_it_reads_now(
    world: World,
) -> None:
    here = world.create_repository(PROJECT)
    issue = world.alice.write_issue("Retry uploads", EASIER)
    world.model.reply_by(judged_by_the_list)
    with world.github.hold_answers("POST /graphql AssayPull") as held:
        pull = world.agent.open_pull_request(RETRY, body=f"Closes #{issue.number}")
        assert held() == "POST /graphql AssayPull"
        world.alice.edit_issue(issue, body=ISSUE)
        world.github.settle()
    world.wait_until_idle()

    assert pull.check.conclusion == "failure"
    assert [one["id"] for one in pull.verdict["criteria"]] == ["AC1", "AC2"]
    assert passes_written(world, here.name) == [], "never by what it asked for before"
    assert len(world.model.requests) == 1, "nor was a model asked about that"


def judged_by_the_list(asked: ModelRequest) -> Reply:
    """An accept by the list without 504, a reject by the whole."""
    return reject("acceptance_gap", RETRY_AT, criteria=2) if "on 504" in asked.text else accept(RETRY_AT)


@pytest.mark.slow
def test_what_was_accepted_for_another_base_or_issue_passes_no_more_before_anybody_judges_again(
    open_world: OpenWorld,
) -> None:
    world = open_world({"ASSAY_GATHER": "6", "ASSAY_QUIET_WINDOW": "0"})
    here = world.create_repository(PROJECT)
    issue = world.alice.write_issue("Retry uploads", ISSUE)
    pull = world.open_and_judge(accept(RETRY_AT, criteria=2), accept(RETRY_AT), body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "success"
    began = len(world.github.requests(here.name))

    world.alice.edit_issue(issue, body=EASIER)
    world.wait_until(lambda: pull.check.status != "completed", "its check is open again", 3)
    assert pull.check == ("in_progress", None, "Judging again: the issue was edited")
    assert not world.alice.merge(pull).is_merged
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
    assert len(pull.checks_of(pull.head)) == 1
    asked = [f"{one['method']} {one['path']}" for one in world.github.requests(here.name)[began:]]
    assert sum(one.startswith("PATCH") and "/check-runs/" in one for one in asked) == 2, (
        "one to open it, and the verdict"
    )

    world.agent.close(pull)
    world.wait_until_idle()
    world.agent.reopen(pull)
    world.wait_until(lambda: pull.check.status != "completed", "its check is open again", 3)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
