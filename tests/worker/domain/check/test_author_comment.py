"""Comments to a pull request's author: whom they mention and when they are updated."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.adapters.redis.store_samples import ledger_entry_of
from tests.worker.publishing.texts.samples import HEAD, abstained, accepted, rejected
from worker.domain.check.author_comment import (
    AGENT_MENTIONS,
    AuthorMessage,
    CommentRecord,
    find_entry_for_comment,
    find_mention,
    is_comment_enabled,
    message_to_author,
    needs_update,
    submission_entries,
)
from worker.domain.config.config import Feedback
from worker.domain.model import EvalId
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason, SubjectKind, Verdict
from worker.dossier.authors import AGENTS

NEWER = "2" * 40


def judged_entry(eval_id: str, head_sha: str = HEAD, **changes: Any) -> LedgerEntry:
    return ledger_entry_of(eval_id, 1, **changes).model_copy(update={"head_sha": head_sha})


def test_every_mentioned_agent_is_a_known_agent() -> None:
    assert AGENT_MENTIONS.keys() <= {entry.agent for entry in AGENTS}


def test_mention_exists_only_for_agents_that_answer_to_one() -> None:
    assert (find_mention("copilot"), find_mention("aider"), find_mention(None)) == ("@copilot", None, None)


def test_comments_are_enabled_for_agents_and_optional_for_people() -> None:
    by_agent, by_person = rejected(author_agent="copilot"), rejected(author_agent=None)
    assert (is_comment_enabled(by_agent, Feedback()), is_comment_enabled(by_person, Feedback())) == (True, False)
    turned = Feedback(agents=False, people=True)
    assert (is_comment_enabled(by_agent, turned), is_comment_enabled(by_person, turned)) == (False, True)


def test_comment_is_about_the_newest_submission_only() -> None:
    group = judged_entry("x").verdict.subject.model_copy(update={"kind": SubjectKind.MERGE_GROUP})
    beside = judged_entry("c", parent_eval_id=EvalId("b"))
    of_group = judged_entry("d", subject=group)
    entries = (judged_entry("a"), judged_entry("b", NEWER), beside, of_group)
    assert [entry.eval_id for entry in submission_entries(entries)] == ["a", "b"]
    assert find_entry_for_comment(entries, HEAD) is None
    assert find_entry_for_comment(entries, NEWER) is entries[1]
    assert find_entry_for_comment((), HEAD) is None


def comment_record(message: AuthorMessage, head_sha: str = HEAD) -> CommentRecord:
    return CommentRecord(
        nonce="n", comment_id=1, head_sha=head_sha,
        is_open=message.is_open, is_about_ci=message.is_about_ci, is_about_case=message.is_about_case,
    )  # fmt: skip


M = AuthorMessage
LOST, LOST_OVER = CommentRecord(nonce="n"), CommentRecord(nonce="n", is_open=False)


@pytest.mark.parametrize(
    ("message", "note", "needs_comment"),
    [
        (M.ASKS, None, True),
        (M.ASKS, LOST, True),
        (M.ASKS, LOST.model_copy(update={"head_sha": HEAD}), True),
        (M.ASKS, comment_record(M.ASKS, NEWER), True),
        (M.ASKS, comment_record(M.OVER, NEWER), True),
        (M.ASKS, comment_record(M.OVER), True),
        (M.ASKS, comment_record(M.ASKS), False),
        (M.ASKS, comment_record(M.CI_FAILED), True),
        (M.ASKS, comment_record(M.ASKS_WITH_CASE), True),
        (M.ASKS_WITH_CASE, comment_record(M.ASKS_WITH_CASE), False),
        (M.CASE_REFUSED, None, True),
        (M.OVER, None, False),
        (M.OVER, LOST, True),
        (M.OVER, LOST_OVER, False),
        (M.OVER, comment_record(M.ASKS), True),
        (M.OVER, comment_record(M.OVER), False),
        (M.OVER, comment_record(M.ASKS, NEWER), True),
        (M.OVER, comment_record(M.OVER, NEWER), False),
        (M.CI_FAILED, None, True),
        (M.CI_FAILED, comment_record(M.CI_FAILED), False),
        (M.CI_FAILED, comment_record(M.CI_FAILED, NEWER), True),
        (M.CI_FAILED, comment_record(M.ASKS), True),
        (M.CI_MENDED, None, False),
        (M.CI_MENDED, comment_record(M.CI_FAILED, NEWER), True),
        (M.CI_MENDED, comment_record(M.ASKS, NEWER), False),
        (M.CI_MENDED, comment_record(M.OVER, NEWER), False),
        (M.CI_MENDED, comment_record(M.CASE_REFUSED), True),
        (M.CI_MENDED, comment_record(M.ASKS_WITH_CASE), False),
    ],
)
def test_comment_needs_an_update_once_per_head_and_message(
    message: AuthorMessage, note: CommentRecord | None, *, needs_comment: bool
) -> None:
    assert needs_update(message, HEAD, note) is needs_comment


def test_comment_record_of_an_earlier_version_is_not_about_ci() -> None:
    assert CommentRecord.model_validate_json('{"nonce": "n", "comment_id": 1, "is_open": true}').is_about_ci is False


REFUSED = {"case_error": "Case refused: the block is empty."}
SILENT = {AbstainReason.CI_PENDING, AbstainReason.PAUSED}
OTHERS = sorted(set(AbstainReason) - SILENT - {AbstainReason.NEEDS_HUMAN, AbstainReason.CI_FAILED})


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        (accepted(), M.OVER),
        (accepted(**REFUSED), M.OVER),
        (rejected(), M.ASKS),
        (rejected(**REFUSED), M.ASKS_WITH_CASE),
        *((abstained(reason), None) for reason in sorted(SILENT)),
        *((abstained(reason), M.CI_MENDED) for reason in OTHERS),
        (abstained(AbstainReason.UNPROVEN, **REFUSED), M.CASE_REFUSED),
        (abstained(AbstainReason.CI_FAILED), M.CI_FAILED),
        (abstained(AbstainReason.NEEDS_HUMAN), M.OVER),
        (abstained(AbstainReason.NEEDS_HUMAN, **REFUSED), M.OVER),
    ],
)
def test_verdict_decides_the_message_and_an_override_ends_it(verdict: Verdict, message: AuthorMessage | None) -> None:
    assert message_to_author(verdict, is_overridden=False) is message
    assert message_to_author(verdict, is_overridden=True) is AuthorMessage.OVER


@given(st.lists(st.tuples(st.sampled_from([HEAD, NEWER]), st.sampled_from([*AuthorMessage, None]))))
def test_head_gets_a_message_again_only_when_it_changes(messages: list[tuple[str, AuthorMessage | None]]) -> None:
    note, written = None, list[tuple[str, AuthorMessage]]()
    for head_sha, message in messages:
        if message is not None and needs_update(message, head_sha, note):
            written.append((head_sha, message))
            note = comment_record(message, head_sha)
    assert all(first != another for first, another in pairwise(written))
    assert all(message.is_open for _, message in written[:1])


def test_documented_agents_are_the_mentioned_ones() -> None:
    page = (Path(__file__).parents[4] / "docs" / "using.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(@[\w-]+)` \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE)
    assert dict(rows) == AGENT_MENTIONS
