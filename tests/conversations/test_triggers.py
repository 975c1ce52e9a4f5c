"""Who is judged, when, and which events lead to another judging."""

import re
import time

import pytest

from tests.conversations.conftest import OpenWorld, open_accepted, open_rejected, wait_for_next_second
from tests.world.changes import FOR_EVERYONE, ONLY_DOCUMENTATION, PROJECT, RETRY, RETRY_AT
from tests.world.fake_anthropic import ModelRequest, Reply
from tests.world.pull_requests import Repository
from tests.world.replies import accept, reject
from tests.world.world import World

CASE = "Retries.\n\n```assay\nsummary: Retries on 503\n```\n"
EASIER = "## Acceptance criteria\n\n- Uploads are retried on 503\n"
ISSUE = f"{EASIER}- Uploads are retried on 504\n"

EDITED = "The issue was edited by copilot-swe-agent[bot] after this pull request was opened; it was judged by the issue as it stood before."
RENAMED = "The issue was renamed by copilot-swe-agent[bot] after this pull request was opened; it was judged by the title that it had before."
FOOTER = "🤖 Generated with [Claude Code](https://claude.com/claude-code)"
SIGNED = "Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"


def read_check_writes(repository: Repository, field: str) -> list[str]:
    """The values of *field* that were written to check runs, oldest first."""
    bodies = [exchange["sent"] or "" for exchange in repository.requests if "/check-runs" in exchange["path"]]
    return [match[1] for body in bodies if (match := re.search(rf'"{field}": ?"(\w+)"', body))]


def read_passing_conclusions(repository: Repository) -> list[str]:
    written = read_check_writes(repository, "conclusion")
    return [conclusion for conclusion in written if conclusion in {"success", "neutral", "skipped"}]


def test_pain_03_skipped_pull_request_of_a_person_is_mergeable(world: World) -> None:
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
def test_authors_setting_decides_how_bots_and_people_are_judged(world: World) -> None:
    for number, (login, authors, conclusion, title, expected) in enumerate(
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
        assert expected in pull.text
        assert world.person("bob").merge(pull).is_merged is (conclusion != "failure")
    assert len(world.model.requests) == 3


@pytest.mark.slow
def test_pull_request_signed_by_an_agent_is_judged_where_people_are_skipped(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_PEOPLE": "skip", "ASSAY_QUIET_WINDOW": "600"})
    pull = world.open_and_judge(by=world.bob)

    assert (pull.check.conclusion, pull.check.title) == ("skipped", "Skipped: written by a person")
    assert "/rejudge" in pull.text
    assert world.model.requests == []

    world.comment_and_wait(pull, "/rejudge", accept(RETRY_AT))
    assert pull.check.conclusion == "success"

    agents = world.bob.open_pull_request({"other.py": "x = 1\n"}, branch="signed", message=SIGNED)
    world.wait_until(lambda: bool(agents.check_runs_of(agents.head)))
    assert (agents.check.status, agents.check.title[:17]) == ("queued", "Judging starts at")

    described = world.bob.open_pull_request({"third.py": "x = 1\n"}, branch="told", body=f"A third one.\n\n{FOOTER}\n")
    world.wait_until(lambda: bool(described.check_runs_of(described.head)))
    assert (described.check.status, described.check.title[:17]) == ("queued", "Judging starts at")

    assert world.bob.merge(pull).is_merged
    world.bob.close(agents)
    world.bob.close(described)


def test_pain_17_pull_request_of_a_bot_account_is_judged(world: World) -> None:
    open_accepted(world, by=world.person("copilot-swe-agent[bot]"))


def test_pain_02_rerun_works_when_github_names_no_pull_request(world: World) -> None:
    repository = world.create_repository({**PROJECT, **FOR_EVERYONE})
    world.model.reply_with(accept(RETRY_AT))
    pull = world.wait_after(world.mallory.open_from_fork(RETRY))
    first = pull.verdict["eval_id"]

    for press, event in ((pull.press_rerun, "check_run"), (pull.press_rerun_all, "check_suite")):
        before = len(read_check_writes(repository, "status"))
        world.wait_after(press())
        assert world.github.deliveries_of(repository.name, event)[-1][event]["pull_requests"] == []
        assert read_check_writes(repository, "status")[before:] == ["in_progress", "completed"]
        assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", first)
    assert len(world.model.requests) == 1


@pytest.mark.slow
def test_pain_04_fork_ci_that_names_no_pull_request_wakes_it(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_CI_POLL": "600"})
    repository = world.create_repository({**PROJECT, **FOR_EVERYONE})
    pull = world.mallory.open_from_fork(RETRY, draft=True)
    tests = repository.start_ci(pull.head, "unit tests")
    world.mallory.mark_ready(pull)
    world.wait_until(lambda: bool(repository.checks) and "Waiting for CI" in pull.check.title)

    world.wait_after(tests.complete("failure"))
    assert world.github.deliveries_of(repository.name, "check_run")[-1]["check_run"]["pull_requests"] == []
    assert pull.verdict["abstain_reason"] == "ci_failed"

    world.model.reply_with(accept(RETRY_AT))
    repository.report_ci(pull.head, "unit tests", "success")
    world.wait_until(lambda: pull.check.conclusion == "success")


def test_pain_20_edited_issue_is_judged_again_by_its_new_criteria(world: World) -> None:
    issue = world.alice.write_issue("Retry uploads", ISSUE)
    pull = world.open_and_judge(reject("acceptance_gap", RETRY_AT, criteria=2), body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "failure"

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.alice.edit_issue(issue, body=EASIER))
    assert pull.check.conclusion == "success"
    assert [criterion["id"] for criterion in pull.verdict["criteria"]] == ["AC1"]
    assert "the issue was edited" in pull.text


@pytest.mark.parametrize(
    ("issue", "by_agent", "by_person", "expected", "criteria"),
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
def test_issue_edit_counts_only_if_a_person_made_it(
    world: World,
    issue: tuple[str, str],
    by_agent: dict[str, str],
    by_person: dict[str, str],
    expected: str,
    criteria: tuple[int, int],
) -> None:
    world.create_repository(PROJECT, collaborators={"copilot-swe-agent[bot]": "push"})
    made = world.alice.write_issue(*issue)
    pull = world.open_and_judge(reject("acceptance_gap", RETRY_AT, criteria=criteria[0]), body=f"Closes #{made.number}")
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    world.wait_after(world.agent.edit_issue(made, **by_agent))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first)
    assert len(pull.verdict["criteria"]) == criteria[0]
    assert expected in pull.text.replace("\\", "")
    assert len(world.model.requests) == 1

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.alice.edit_issue(made, **by_person))
    assert pull.check.conclusion == "success"
    assert len(pull.verdict["criteria"]) == criteria[1]
    assert all(line in world.model.requests[-1].text for text in by_person.values() for line in text.split("\n"))
    assert expected not in pull.text.replace("\\", "")


@pytest.mark.slow
def test_edited_issue_of_another_repository_wakes_the_pull_request(world: World) -> None:
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
    world.wait_until(lambda: pull.check.conclusion == "success")
    assert "the issue was edited" in pull.text


def test_edited_description_without_issue_is_judged_again(world: World) -> None:
    pull = world.open_and_judge(reject("acceptance_gap", RETRY_AT), accept(RETRY_AT), body="Retry on 503 and on 504.")
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    world.wait_after(world.alice.edit(pull, body="Uploads are retried on 503, and on nothing else."))
    assert pull.check.conclusion == "success"
    assert "on 503, and on nothing else" in world.model.requests[-1].text
    assert "its title or description was edited" in pull.text

    world.wait_after(world.alice.edit(pull, body="Retry on 503 and on 504."))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first)
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_edit_that_changes_no_criterion_keeps_the_verdict(world: World) -> None:
    issue = world.alice.write_issue("Retry uploads", ISSUE)
    world.model.reply_with(accept(RETRY_AT)).reply_with(accept(RETRY_AT, criteria=2))
    alone = world.bob.open_pull_request(RETRY, body="Uploads are retried on 503.", branch="alone")
    closing = world.open_and_judge(body=f"Closes #{issue.number}")
    assert {alone.check.conclusion, closing.check.conclusion} == {"success"}
    began = len(world.repository.requests)

    summary = "Uploads are retried on 503.\n\n## Summary by a bot\n\nRetries."
    world.person("copilot-swe-agent[bot]").edit(alone, body=summary)
    world.alice.edit(alone, body=f"{summary}\n\n<!-- a note to ourselves -->\n")
    world.wait_after(world.alice.edit(closing, title="Retry", body=f"Told in other words. Closes #{issue.number}"))
    written = [exchange["path"] for exchange in world.repository.requests[began:] if "check-runs" in exchange["path"]]
    assert written == []
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_ten_edits_in_a_row_are_judged_once(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "600", "ASSAY_QUIET_MAX": "600"})
    pull = world.open_and_judge(accept(RETRY_AT), accept(RETRY_AT), body=CASE)
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "success"

    for status in range(504, 514):
        world.agent.edit(pull, body=f"And on {status}. {CASE}")
    world.wait_until(lambda: pull.check.status == "queued")
    assert pull.check.title.startswith("Judging starts at")
    assert "by the title and description as they stood before" in pull.text
    assert len(world.model.requests) == 1

    world.comment_and_wait(pull, "/rejudge", by=world.alice)
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert pull.verdict["eval_id"] != first
    assert "And on 513." in world.model.requests[-1].text
    assert len(world.model.requests) == 2


@pytest.mark.slow
def test_removed_case_is_judged_again_except_in_a_draft(world: World) -> None:
    draft = open_accepted(world, body=CASE, draft=True, branch="draft")
    world.wait_after(world.agent.edit(draft, body="Retries."))
    assert (draft.check.conclusion, len(world.model.requests)) == ("success", 1)

    pull = open_rejected(world, accept(RETRY_AT), body=CASE)
    world.wait_after(world.agent.edit(pull, body="Retries."))
    assert pull.check.conclusion == "success"


def test_open_pull_request_is_judged_by_new_rules_of_the_base(world: World) -> None:
    repository = world.create_repository(PROJECT)
    pull = world.open_and_judge(reject("weak_test", RETRY_AT), accept(RETRY_AT))
    first = pull.verdict["eval_id"]
    assert pull.check.conclusion == "failure"

    world.wait_after(repository.push("main", {"AGENTS.md": "Retries need no tests here.\n"}))
    assert pull.check.conclusion == "success"
    assert "Retries need no tests here." in world.model.requests[-1].text
    assert "the rules changed" in pull.text

    world.wait_after(repository.push("main", {"AGENTS.md": None}))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("failure", first)
    world.wait_after(repository.push("main", {".github/assay.yml": "quiet_window: 2m\n"}))
    assert pull.verdict["carried_from"] == first
    assert len(world.model.requests) == 2


def test_draft_is_judged_when_it_is_ready(world: World) -> None:
    pull = world.open_and_judge(draft=True)
    assert (pull.check.status, pull.check.title) == ("queued", "Draft: judged when it is ready")
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(world.agent.mark_ready(pull))
    assert pull.conclusions == ["success"]


@pytest.mark.slow
def test_pull_request_converted_to_draft_waits(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "600"})
    repository = world.create_repository(PROJECT)
    pull = world.agent.open_pull_request(RETRY)
    world.wait_until(lambda: bool(repository.checks))
    assert pull.check.title.startswith("Judging starts at")

    def set_draft(*, draft: bool) -> None:
        repository.github.control("draft", repo=repository.name, pull=pull.number, draft=draft)
        world.github.settle()

    set_draft(draft=True)
    held = ("queued", None, "Draft: judged when it is ready")
    world.wait_until(lambda: pull.check == held)
    world.agent.push(pull, {"notes.md": "Three times.\n"})
    world.wait_until(lambda: len(repository.checks) > 1 and pull.check == held)
    assert world.model.requests == []

    world.model.reply_with(accept(RETRY_AT))
    world.bob.comment(pull, "/rejudge")
    world.wait_until(lambda: pull.check.conclusion == "success")
    for draft in (False, True):
        world.wait_after(set_draft(draft=draft))
        assert (pull.check.conclusion, len(world.model.requests)) == ("success", 1)


@pytest.mark.slow
def test_retargeted_pull_request_is_judged_again(world: World) -> None:
    repository = world.create_repository(PROJECT)
    repository.push("below", {"other.py": "x = 1\n"})
    repository.push("fix", {}, start="below")
    pull = open_rejected(world, accept(RETRY_AT))

    world.wait_after(world.alice.retarget(pull, "below"))
    assert (pull.check.conclusion, pull.verdict["carried_from"]) == ("success", None)
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_stacked_pull_request_is_judged_again_after_force_push_of_its_base(world: World) -> None:
    repository = world.create_repository(PROJECT)
    below = {"upload.py": PROJECT["upload.py"].replace("200", "201")}
    repository.push("below", below)
    download = {"download.py": "def download(name):\n    return name\n\n\nNEWEST = download('newest')\n"}
    repository.push("fix", download, start="below")
    world.model.reply_with(accept("download.py:1"))
    pull = world.wait_after(world.agent.open_from_branch("fix", "below", title="Download"))
    assert (pull.check.conclusion, pull.verdict["coverage"]["read"]) == ("success", ["download.py"])
    world.comment_and_wait(pull, "/override we ship what we looked at", by=world.alice)
    assert pull.check.conclusion == "neutral"

    world.model.reply_with(reject("scope_creep", "upload.py:9"))
    world.wait_after(repository.push("below", {"other.py": "x = 1\n"}, force=True))
    assert pull.check.conclusion == "failure"
    assert sorted(pull.verdict["coverage"]["read"]) == ["download.py", "upload.py"]
    assert "the base changed" in pull.text


@pytest.mark.slow
def test_quiet_window_ends_early_with_a_case_or_green_ci(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_QUIET_WINDOW": "600", "ASSAY_QUIET_MAX": "600"})
    world.model.reply_with(accept(RETRY_AT)).reply_with(accept(RETRY_AT))
    pull = world.agent.open_pull_request(RETRY)
    world.wait_until(lambda: bool(pull.check_runs_of(pull.head)))
    assert (pull.check.status, pull.check.title[:17]) == ("queued", "Judging starts at")
    time.sleep(1)
    assert world.model.requests == []

    world.wait_after(world.agent.edit(pull, body=CASE))
    assert pull.check.conclusion == "success"

    other = world.open_and_judge(branch="other", body=CASE)
    assert other.check.conclusion == "success"

    world.push_and_judge(other, {"note.md": "With a case.\n"}, accept(RETRY_AT), accept(RETRY_AT))
    assert other.check.conclusion == "success"

    green = world.agent.open_pull_request({**RETRY, "note.md": "Without one.\n"}, branch="green")
    world.wait_until(lambda: bool(green.check_runs_of(green.head)))
    assert green.check.status == "queued"
    world.wait_after(world.repository.report_ci(green.head, "unit tests", "success"))
    assert green.check.conclusion == "success"


@pytest.mark.slow
@pytest.mark.parametrize(("protect", "concludes"), [([], "neutral"), (["Assay"], "action_required")])
def test_pull_request_older_than_installation_is_not_judged(world: World, protect: list[str], concludes: str) -> None:
    repository = world.create_repository(PROJECT, protect=protect)
    world.github.control("hooks", paused=True)
    pull = world.agent.open_pull_request(RETRY)
    world.github.settle()  # deliveries of the push come later, and are dropped too
    world.github.control("hooks", drop=True, paused=False)
    wait_for_next_second(world, pull)
    world.github.control("install", repositories=[repository.name])
    world.wait_until(lambda: bool(pull.check_runs_of(pull.head)))
    world.wait_until_idle()
    assert (pull.check.conclusion, pull.check.title) == (concludes, "Opened before Assay was installed")
    assert world.model.requests == []

    world.push_and_judge(pull, {"note.md": "x\n"}, accept(RETRY_AT))
    assert pull.check.conclusion == "success"


@pytest.mark.slow
def test_closed_draft_leaves_no_check_run_open(world: World) -> None:
    pull = world.open_and_judge(draft=True)
    world.agent.close(pull)
    world.wait_until(lambda: pull.check_run["status"] == "completed")
    assert pull.check.conclusion == "cancelled"


def test_description_edited_during_judging_is_judged_as_it_reads_now(world: World) -> None:
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT), body="Uploads are retried.")
    world.agent.edit(pull, body="Uploads are retried on 503.")
    world.github.settle()
    world.model.reply_with(accept(RETRY_AT))
    world.wait_after(held_reply.release())

    assert pull.check.conclusion == "success"
    assert "Uploads are retried on 503." in world.model.requests[-1].text
    assert read_passing_conclusions(world.repository) == ["success"]


@pytest.mark.slow
def test_issue_edited_during_the_first_judging_is_judged_as_it_reads_now(world: World) -> None:
    issue = world.alice.write_issue("Retry uploads", EASIER)
    held_reply, pull = world.open_and_hold_model(accept(RETRY_AT), body=f"Closes #{issue.number}")
    world.alice.edit_issue(issue, body=ISSUE)
    world.github.settle()
    world.model.reply_with(reject("acceptance_gap", RETRY_AT, criteria=2))
    world.wait_after(held_reply.release())

    assert pull.check.conclusion == "failure"
    assert [criterion["id"] for criterion in pull.verdict["criteria"]] == ["AC1", "AC2"]
    assert "the issue was edited" in pull.text
    assert read_passing_conclusions(world.repository) == []


def test_issue_edited_just_after_it_was_read_is_judged_as_it_reads_now(world: World) -> None:
    issue = world.alice.write_issue("Retry uploads", EASIER)
    world.model.reply_by(reply_by_criteria)
    with world.github.hold_answers("POST /graphql AssayPull") as held:
        pull = world.agent.open_pull_request(RETRY, body=f"Closes #{issue.number}")
        assert held() == "POST /graphql AssayPull"
        world.alice.edit_issue(issue, body=ISSUE)
        world.github.settle()
    world.wait_until_idle()

    assert pull.check.conclusion == "failure"
    assert [criterion["id"] for criterion in pull.verdict["criteria"]] == ["AC1", "AC2"]
    assert read_passing_conclusions(world.repository) == []
    assert len(world.model.requests) == 1


def reply_by_criteria(request: ModelRequest) -> Reply:
    """Reject if the prompt asks for 504."""
    return reject("acceptance_gap", RETRY_AT, criteria=2) if "on 504" in request.text else accept(RETRY_AT)


@pytest.mark.slow
def test_check_run_reopens_after_an_issue_edit_or_reopening(open_world: OpenWorld) -> None:
    world = open_world({"ASSAY_GATHER": "6", "ASSAY_QUIET_WINDOW": "0"})
    issue = world.alice.write_issue("Retry uploads", ISSUE)
    pull = world.open_and_judge(accept(RETRY_AT, criteria=2), accept(RETRY_AT), body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "success"
    began = len(world.repository.requests)

    world.alice.edit_issue(issue, body=EASIER)
    world.wait_until(lambda: pull.check.status != "completed", "the check run is open again", 3)
    assert pull.check == ("in_progress", None, "Judging again: the issue was edited")
    assert not world.alice.merge(pull).is_merged
    world.wait_until_idle()
    assert pull.conclusions == ["success"]
    asked = [f"{exchange['method']} {exchange['path']}" for exchange in world.repository.requests[began:]]
    assert sum(line.startswith("PATCH") and "/check-runs/" in line for line in asked) == 2

    world.wait_after(world.agent.close(pull))
    world.agent.reopen(pull)
    world.wait_until(lambda: pull.check.status != "completed", "the check run is open again", 3)
    world.wait_until_idle()
    assert pull.check.conclusion == "success"
