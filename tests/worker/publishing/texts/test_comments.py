"""What Assay answers to commands, word for word."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest.slash_commands import paragraphs
from tests.golden.golden import Golden, Pages
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of
from tests.worker.publishing.texts.rendered import ACTIVE, GITHUB, RenderedPage
from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, rejected
from worker.domain.check.author_comment import comment_marker
from worker.domain.config.command_permissions import CommandRefusal, Role
from worker.domain.judge_request import CommandName, CommandRequest
from worker.domain.pause import JudgingPause
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason, CiFailure, ClosingCondition, ConditionState, Verdict
from worker.publishing.texts.comments import (
    COMMENT_BYTES,
    commands_table,
    feedback_comment,
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


@pytest.mark.parametrize("said", [HOSTILE[:95], HOSTILE[95:190], HOSTILE[-90:]], ids=["begin", "middle", "end"])
def test_words_of_others_do_nothing_in_an_answer(said: str) -> None:
    texts = [
        unknown_command_comment(ask(misspelt=said)),
        refusal_comment(ask(login=said), CommandRefusal.ROLE, Role.READ),
        refusal_comment(ask(), CommandRefusal.TIME, Role.READ, said),
        pause_comment(JudgingPause(reason=said)),
    ]
    for text in texts:
        shown = RenderedPage(GITHUB.render(text))
        assert set(shown.tags) <= {"p", "code"}
        assert not ACTIVE.search(shown.plain)
        assert not any(line.is_command for lines in paragraphs(text) for line in lines)


def test_no_answer_is_a_command_itself() -> None:
    assert not any(line.is_command for lines in paragraphs(help_comment()) for line in lines)


def test_the_documentation_has_the_table_of_the_code() -> None:
    assert commands_table() in DOCS.read_text(encoding="utf-8")


COMMENT_LIMIT: Final = 65_535
"""What fits into a comment."""
MARK = comment_marker("4f" * 16)


def on_record(verdict: Verdict, eval_id: str = "a") -> LedgerEntry:
    return ledger_entry_of(eval_id, 1).model_copy(update={"verdict": verdict, "head_sha": verdict.subject.head_sha})


def told(*verdicts: Verdict) -> str:
    return feedback_comment([on_record(one, str(number)) for number, one in enumerate(verdicts)], 5)


def conditions() -> tuple[ClosingCondition, ...]:
    fields: list[dict[str, Any]] = [
        {"id": "c1", "text": "AC1 is met", "state": ConditionState.RESOLVED},
        {"id": "c2", "text": "A test calls `retry`", "state": ConditionState.OPEN},
    ]
    return tuple(ClosingCondition.model_validate(one) for one in fields)


REFUSED: Final = "Case refused at ac_coverage[1].addressed_by (line 5 of the block): missing. Each item has criterion and addressed_by."


RED = CiFailure(
    check="unit tests",
    test="tests/test_retry.py::test_503",
    log="____ test_503 ____\n/lgtm\nE   assert 503 == 200 @alice",
)


def test_words_of_others_mention_nobody_and_end_no_comment() -> None:
    said = told(rejected(author_agent="copilot", concern=f"{HOSTILE} {MARK} /rejudge", next_step=HOSTILE))
    assert said.count("@copilot") == 1
    assert "@acme" not in said
    assert "<!--" not in said
    assert not [line for line in said.splitlines() if line.startswith("/")]


@pytest.mark.parametrize("sign", ["x", "@", "|", "&", "漢", "`|", "<!--"])
def test_the_comment_fits_with_its_mark_and_no_part_of_it_pushes_another_out(sign: str) -> None:
    long = sign * 100_000
    conditions = [{"id": f"c{one}", "text": long, "state": ConditionState.OPEN} for one in range(50)]
    closing = tuple(ClosingCondition.model_validate(one) for one in conditions)
    said = told(*[rejected(concern=long)] * 100, rejected(concern=long, next_step=long, closing_conditions=closing))
    assert len(said.encode()) <= COMMENT_BYTES
    assert COMMENT_BYTES + len(f"\n\n{MARK}") <= COMMENT_LIMIT
    for part in (
        "**Next step:**",
        "What closes this:",
        "Earlier verdicts",
        "and again only if the verdict on it turns.",
    ):
        assert part in said
    assert "Cut here" not in said


WORDS = st.text(st.sampled_from("ab`|@<&*_[]-\n漢"), max_size=60).map(lambda text: text * 200 + "x")


@settings(max_examples=settings().max_examples * 3 // 10)
@given(st.lists(WORDS, min_size=3, max_size=3), st.lists(WORDS, max_size=50))
def test_whatever_is_said_the_comment_fits(words: list[str], closing: list[str]) -> None:
    concern, step, earlier = words
    open_ones = [
        ClosingCondition.model_validate({"id": f"c{one}", "text": text, "state": ConditionState.OPEN})
        for one, text in enumerate(closing)
    ]
    said = told(
        *[rejected(concern=earlier)] * 30,
        rejected(concern=concern, next_step=step, closing_conditions=tuple(open_ones)),
    )
    assert len(said.encode()) <= COMMENT_BYTES


def pages() -> Pages:
    yield (
        "a refusal says who may or what to do",
        refusal_comment(ask(), CommandRefusal.ROLE, Role.READ),
        refusal_comment(ask(CommandName.REJUDGE), CommandRefusal.ROLE, Role.NONE),
        refusal_comment(ask(), CommandRefusal.AUTHOR, Role.ADMIN),
        refusal_comment(ask(), CommandRefusal.REASON, Role.ADMIN),
        refusal_comment(ask(CommandName.PAUSE), CommandRefusal.TIME, Role.ADMIN, '"2hours" is no time.'),
        refusal_comment(ask(), CommandRefusal.OVERTAKEN, Role.ADMIN, "1" * 40),
        refusal_comment(ask(), CommandRefusal.BOT, Role.ADMIN),
    )
    yield (
        "an unknown command is answered with the nearest",
        unknown_command_comment(ask(CommandName.REJUDGE, misspelt="rejuge")),
    )
    whole = JudgingPause(by="alice", at=NOON, until=EVENING, reason="load tests", repository="acme/widgets")
    yield (
        "a pause is told with its end and its reason",
        pause_comment(whole),
        pause_comment(JudgingPause()),
        resume_comment(was_paused=True),
        resume_comment(was_paused=False),
    )
    yield (
        "a reject says what to do next what is open and what was said before",
        told(accepted(), rejected(author_agent="copilot", closing_conditions=conditions(), round=2)),
    )
    verdict = abstained(
        AbstainReason.BUDGET, author_agent="copilot", case_error=REFUSED, concern="The budget is used up."
    )
    yield "a case that cant be read is told where nobody judged", told(verdict)
    unreadable = {"author_agent": "copilot", "case_error": REFUSED}
    yield (
        "a case that cant be read is told beside a reject and beside red ci, and not beside an accept",
        *map(told, (rejected(**unreadable), abstained(AbstainReason.CI_FAILED, **unreadable), accepted(**unreadable))),
    )
    red = abstained(AbstainReason.CI_FAILED, author_agent="copilot", ci_failure=RED, next_step="Make it pass.")
    yield (
        "red ci is told with its first failing test and the log of that",
        told(rejected(), red),
        told(abstained(AbstainReason.CI_FAILED, author_agent="aider", next_step="Make CI pass.")),
    )
    yield "somebody without a name of their own is told plainly", told(rejected(author_agent="aider"))
    yield "what was carried over is no earlier verdict", told(rejected(), rejected(carried_from="0"), accepted())
    yield "every command is listed with what it does and who may", help_comment()
    yield "that ci is mended is told with why nobody judged", told(abstained(AbstainReason.UNPROVEN))
    yield "an accept leaves nothing to do", told(rejected(), accepted())
    yield (
        "where a person decides nobody is addressed",
        told(abstained(AbstainReason.NEEDS_HUMAN, author_agent="copilot")),
    )
    entries = [on_record(rejected(author_agent="copilot"))]
    yield (
        "an override leaves nothing to do and lists what it overrode",
        feedback_comment(entries, 5, is_overridden=True),
    )


def test_what_people_read(golden: Golden) -> None:
    golden.check_pages("prose/texts/comments.md", pages())
