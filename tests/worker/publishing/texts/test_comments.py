"""Comments: replies to commands, and feedback to authors."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest.comments import paragraphs
from tests.golden.golden import Golden, Pages
from tests.worker.adapters.redis.store_samples import ledger_entry_of
from tests.worker.publishing.texts.rendered import ACTIVE, render
from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, rejected
from worker.domain.check.author_comment import comment_marker
from worker.domain.config.command_permissions import CommandRefusal, Role
from worker.domain.judge_request import CommandName, CommandRequest
from worker.domain.time_range import JudgingPause
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


def ask(command: CommandName = CommandName.OVERRIDE, **changes: Any) -> CommandRequest:
    pull = {"installation_id": 1, "repository_id": 2, "number": 3}
    origin = {"pull": pull, "repository": "acme/widgets", "comment_id": 5, "login": "mallory"}
    return CommandRequest.model_validate(
        {**origin, "command": command, "delivery_id": "d", "asked_at": NOON, **changes}
    )


@pytest.mark.parametrize("text", [HOSTILE[:95], HOSTILE[95:190], HOSTILE[-90:]], ids=["begin", "middle", "end"])
def test_hostile_text_in_a_reply_stays_inert(text: str) -> None:
    for reply in (
        unknown_command_comment(ask(misspelt=text)),
        refusal_comment(ask(login=text), CommandRefusal.ROLE, Role.READ),
        refusal_comment(ask(), CommandRefusal.TIME, Role.READ, text),
        pause_comment(JudgingPause(reason=text)),
    ):
        page = render(reply)
        assert set(page.tags) <= {"p", "code"}
        assert not ACTIVE.search(page.plain)
        assert not any(line.is_command for lines in paragraphs(reply) for line in lines)


def test_help_comment_is_no_command() -> None:
    assert not any(line.is_command for lines in paragraphs(help_comment()) for line in lines)


def test_documented_commands_match_the_code() -> None:
    assert commands_table() in (Path(__file__).parents[4] / "docs/using.md").read_text(encoding="utf-8")


COMMENT_LIMIT: Final = 65_535
"""GitHub's limit of a comment, in bytes."""
MARK = comment_marker("4f" * 16)


def recorded_entry(verdict: Verdict, eval_id: str = "a") -> LedgerEntry:
    return ledger_entry_of(eval_id, 1).model_copy(update={"verdict": verdict, "head_sha": verdict.subject.head_sha})


def comment_on(*verdicts: Verdict) -> str:
    return feedback_comment([recorded_entry(verdict, str(number)) for number, verdict in enumerate(verdicts)], 5)


def conditions(*texts: str, resolved: int = 0) -> tuple[ClosingCondition, ...]:
    """Closing conditions, of which the first *resolved* are met."""
    states = [ConditionState.RESOLVED if number < resolved else ConditionState.OPEN for number in range(len(texts))]
    rows = zip(texts, states, strict=True)
    return tuple(ClosingCondition(id=f"c{at}", text=text, state=state) for at, (text, state) in enumerate(rows, 1))


REFUSED: Final = "Case refused at ac_coverage[1].addressed_by (line 5 of the block): missing. Each item has criterion and addressed_by."


LOG = "____ test_503 ____\n/lgtm\nE   assert 503 == 200 @alice"
RED = CiFailure(check="unit tests", test="tests/test_retry.py::test_503", log=LOG)


def test_hostile_text_in_a_comment_mentions_no_account() -> None:
    comment = comment_on(rejected(author_agent="copilot", concern=f"{HOSTILE} {MARK} /rejudge", next_step=HOSTILE))
    assert comment.count("@copilot") == 1
    assert "@acme" not in comment
    assert "<!--" not in comment
    assert not [line for line in comment.splitlines() if line.startswith("/")]


@pytest.mark.parametrize("sign", ["x", "@", "|", "&", "漢", "`|", "<!--"])
def test_comment_fits_with_its_marker_and_keeps_every_part(sign: str) -> None:
    long = sign * 70_000
    newest = rejected(concern=long, next_step=long, closing_conditions=conditions(*[long] * 50))
    comment = comment_on(*[rejected(concern=long)] * 100, newest)
    assert len(comment.encode()) <= COMMENT_BYTES
    assert COMMENT_BYTES + len(f"\n\n{MARK}") <= COMMENT_LIMIT
    parts = ("**Next step:**", "What closes this:", "Earlier verdicts", "and again only if the verdict on it turns.")
    assert [part for part in parts if part not in comment] == []
    assert "Cut here" not in comment


WORDS = st.text(st.sampled_from("ab`|@<&*_[]-\n漢"), max_size=60).map(lambda text: text * 200 + "x")


@settings(max_examples=settings().max_examples * 3 // 10)
@given(st.lists(WORDS, min_size=3, max_size=3), st.lists(WORDS, max_size=50))
def test_comment_fits_for_any_text(texts: list[str], closing: list[str]) -> None:
    concern, step, earlier = texts
    newest = rejected(concern=concern, next_step=step, closing_conditions=conditions(*closing))
    comment = comment_on(*[rejected(concern=earlier)] * 30, newest)
    assert len(comment.encode()) <= COMMENT_BYTES


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
    misspelt = ask(CommandName.REJUDGE, misspelt="rejuge")
    yield "an unknown command is answered with the nearest", unknown_command_comment(misspelt)
    whole = JudgingPause(by="alice", at=NOON, until=EVENING, reason="load tests", repository="acme/widgets")
    resumed = (resume_comment(was_paused=was_paused) for was_paused in (True, False))
    yield "a pause is told with its end and its reason", pause_comment(whole), pause_comment(JudgingPause()), *resumed
    closing = conditions("AC1 is met", "A test calls `retry`", resolved=1)
    reject = rejected(author_agent="copilot", closing_conditions=closing, round=2)
    yield "a reject says what to do next what is open and what was said before", comment_on(accepted(), reject)
    unreadable = {"author_agent": "copilot", "case_error": REFUSED}
    verdict = abstained(AbstainReason.BUDGET, concern="The budget is used up.", **unreadable)
    yield "an invalid case is reported on an unjudged change", comment_on(verdict)
    verdicts = (rejected(**unreadable), abstained(AbstainReason.CI_FAILED, **unreadable), accepted(**unreadable))
    yield (
        "a case that cant be read is told beside a reject and beside red ci, and not beside an accept",
        *map(comment_on, verdicts),
    )
    red = abstained(AbstainReason.CI_FAILED, author_agent="copilot", ci_failure=RED, next_step="Make it pass.")
    unnamed = abstained(AbstainReason.CI_FAILED, author_agent="aider", next_step="Make CI pass.")
    comments = (comment_on(rejected(), red), comment_on(unnamed))
    yield "red ci is told with its first failing test and the log of that", *comments
    yield "an author without a mention gets a plain comment", comment_on(rejected(author_agent="aider"))
    yield "what was carried over is no earlier verdict", comment_on(rejected(), rejected(carried_from="0"), accepted())
    yield "every command is listed with what it does and who may", help_comment()
    yield "repaired ci is reported with the reason of the abstain", comment_on(abstained(AbstainReason.UNPROVEN))
    yield "an accept leaves nothing to do", comment_on(rejected(), accepted())
    undecided = abstained(AbstainReason.NEEDS_HUMAN, author_agent="copilot")
    yield "a decision by a person addresses no author", comment_on(undecided)
    overridden = feedback_comment([recorded_entry(rejected(author_agent="copilot"))], 5, is_overridden=True)
    yield "an override leaves nothing to do and lists what it overrode", overridden


def test_comments_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/comments.md", pages())
