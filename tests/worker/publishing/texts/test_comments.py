"""What Assay answers to commands, word for word."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from app.ingest.slash_commands import command_lines
from tests.worker.publishing.texts.rendered import ACTIVE, GITHUB, Shown
from tests.worker.publishing.texts.samples import HOSTILE
from worker.domain.config.command_permissions import COMMAND_RIGHTS, CommandRefusal, Role
from worker.domain.request.judge_request import CommandName, CommandRequest
from worker.domain.request.pause import JudgingPause
from worker.publishing.texts.comments import (
    commands_table,
    help_comment,
    pause_comment,
    refusal_comment,
    resume_comment,
    unknown_command_comment,
)

NOON, EVENING = datetime(2026, 11, 20, 12, tzinfo=UTC), datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
DOCS = Path(__file__).parents[4] / "docs" / "using.md"


def ask(command: CommandName = CommandName.OVERRIDE, **changes: Any) -> CommandRequest:
    standard = {
        "pull": {"installation_id": 1, "repository_id": 2, "number": 3},
        "repository": "acme/widgets",
        "comment_id": 5,
        "login": "mallory",
        "command": command,
        "delivery_id": "d",
        "asked_at": NOON,
    }
    return CommandRequest.model_validate({**standard, **changes})


def test_a_refusal_says_who_may_or_what_to_do() -> None:
    assert refusal_comment(ask(), CommandRefusal.ROLE, Role.READ) == snapshot(
        "`/override REASON` is for people with the role maintain or admin in this repository. `mallory` has read."
    )
    assert refusal_comment(ask(CommandName.REJUDGE), CommandRefusal.ROLE, Role.NONE) == snapshot(
        "`/rejudge` is for people with the role write, maintain or admin in this repository. `mallory` has none."
    )
    assert refusal_comment(ask(), CommandRefusal.AUTHOR, Role.ADMIN) == snapshot(
        "`/override REASON` is not for `mallory` here. No account decides about its own pull request: ask another account with the role maintain or admin."
    )
    assert refusal_comment(ask(), CommandRefusal.REASON, Role.ADMIN) == snapshot(
        "A reason is missing. Write it behind the command, on the same line: `/override REASON`."
    )
    assert refusal_comment(ask(CommandName.PAUSE), CommandRefusal.TIME, Role.ADMIN, '"2hours" is no time.') == snapshot(
        'Not paused: "2hours" is no time.'
    )
    assert refusal_comment(ask(), CommandRefusal.OVERTAKEN, Role.ADMIN, "1" * 40) == snapshot(
        "Not done: your words are not about `111111111111`, the newest commit. Look at it, and write `/override REASON` again if it still holds."
    )
    assert refusal_comment(ask(), CommandRefusal.BOT, Role.ADMIN) == snapshot("`/override REASON` is not for bots.")


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    assert unknown_command_comment(ask(CommandName.REJUDGE, misspelt="rejuge")) == snapshot(
        "There is no command `/rejuge`. The nearest one is `/rejudge`; `/assay help` lists all of them."
    )


def test_a_pause_is_told_with_its_end_and_its_reason() -> None:
    whole = JudgingPause(by="alice", at=NOON, until=EVENING, reason="load tests", repository="acme/widgets")
    assert pause_comment(whole) == snapshot(
        "Judging is paused in this repository until 2026-11-20 18:30 UTC. `/assay resume` goes on. Reason: load tests"
    )
    assert pause_comment(JudgingPause()) == snapshot("Judging is paused in this repository. `/assay resume` goes on.")
    assert resume_comment(was_paused=True) == snapshot("Judging goes on. What waited is judged now.")
    assert resume_comment(was_paused=False) == snapshot("Judging was not paused here.")


@pytest.mark.parametrize("said", [HOSTILE[:95], HOSTILE[95:190], HOSTILE[-90:]], ids=["begin", "middle", "end"])
def test_words_of_others_do_nothing_in_an_answer(said: str) -> None:
    texts = [
        unknown_command_comment(ask(misspelt=said)),
        refusal_comment(ask(login=said), CommandRefusal.ROLE, Role.READ),
        refusal_comment(ask(), CommandRefusal.TIME, Role.READ, said),
        pause_comment(JudgingPause(reason=said)),
    ]
    for text in texts:
        shown = Shown(GITHUB.render(text))
        assert set(shown.tags) <= {"p", "code"}
        assert not ACTIVE.search(shown.plain)
        assert [*command_lines(text)] == []


def test_every_command_is_listed_with_what_it_does_and_who_may_and_nothing_is_a_table() -> None:
    first, _, *rows = help_comment().splitlines()
    assert first == "Assay takes these commands, each at the start of a line:"
    assert rows[0] == snapshot(
        "- `/rejudge`: Judges the newest commit now. Content that was decided before keeps its verdict, at $0. For write, maintain or admin."
    )
    assert len(rows) == len(COMMAND_RIGHTS)
    assert all(row.startswith("- ") and row.endswith(".") for row in rows)


def test_no_answer_is_a_command_itself() -> None:
    assert [*command_lines(help_comment())] == []


def test_the_documentation_has_the_table_of_the_code() -> None:
    assert commands_table() in DOCS.read_text(encoding="utf-8")
