"""Who is told of a reject, and when that is news."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of
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
from worker.domain.ids import EvalId
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason, Subject, SubjectKind, Verdict
from worker.dossier.authors import AGENTS

NEWER = "2" * 40


def judged(eval_id: str, head_sha: str = HEAD, **changes: Any) -> LedgerEntry:
    return ledger_entry_of(eval_id, 1, **changes).model_copy(update={"head_sha": head_sha})


def test_every_agent_that_is_spoken_to_is_one_that_is_known() -> None:
    assert AGENT_MENTIONS.keys() <= {entry.agent for entry in AGENTS}


def test_an_agent_listens_to_its_name_and_a_person_to_none() -> None:
    assert (find_mention("copilot"), find_mention("aider"), find_mention(None)) == ("@copilot", None, None)


def test_agents_are_told_and_people_are_not_unless_they_want_to() -> None:
    by_agent, by_person = rejected(author_agent="copilot"), rejected(author_agent=None)
    assert (is_comment_enabled(by_agent, Feedback()), is_comment_enabled(by_person, Feedback())) == (True, False)
    turned = Feedback(agents=False, people=True)
    assert (is_comment_enabled(by_agent, turned), is_comment_enabled(by_person, turned)) == (False, True)


def test_only_the_newest_head_is_told_of_and_children_are_nobodys_business() -> None:
    subject = judged("x").verdict.subject
    group = Subject.model_validate({**subject.model_dump(), "kind": SubjectKind.MERGE_GROUP})
    beside = judged("c", parent_eval_id=EvalId("b"))
    of_group = judged("d", subject=group)
    entries = (judged("a"), judged("b", NEWER), beside, of_group)
    assert [entry.eval_id for entry in submission_entries(entries)] == ["a", "b"]
    assert find_entry_for_comment(entries, HEAD) is None
    entry = find_entry_for_comment(entries, NEWER)
    assert entry is not None
    assert entry.eval_id == "b"
    assert find_entry_for_comment((), HEAD) is None


def noted(message: AuthorMessage, head_sha: str = HEAD) -> CommentRecord:
    return CommentRecord(
        nonce="n", comment_id=1, head_sha=head_sha,
        is_open=message.is_open, is_about_ci=message.is_about_ci, is_about_case=message.is_about_case,
    )  # fmt: skip


M = AuthorMessage
LOST, LOST_OVER = CommentRecord(nonce="n"), CommentRecord(nonce="n", is_open=False)


@pytest.mark.parametrize(
    ("message", "note", "is_told"),
    [
        (M.ASKS, None, True),
        (M.ASKS, LOST, True),
        (M.ASKS, LOST.model_copy(update={"head_sha": HEAD}), True),
        (M.ASKS, noted(M.ASKS, NEWER), True),
        (M.ASKS, noted(M.OVER, NEWER), True),
        (M.ASKS, noted(M.OVER), True),
        (M.ASKS, noted(M.ASKS), False),
        (M.ASKS, noted(M.CI_FAILED), True),
        (M.ASKS, noted(M.ASKS_WITH_CASE), True),
        (M.ASKS_WITH_CASE, noted(M.ASKS_WITH_CASE), False),
        (M.CASE_REFUSED, None, True),
        (M.OVER, None, False),
        (M.OVER, LOST, True),
        (M.OVER, LOST_OVER, False),
        (M.OVER, noted(M.ASKS), True),
        (M.OVER, noted(M.OVER), False),
        (M.OVER, noted(M.ASKS, NEWER), True),
        (M.OVER, noted(M.OVER, NEWER), False),
        (M.CI_FAILED, None, True),
        (M.CI_FAILED, noted(M.CI_FAILED), False),
        (M.CI_FAILED, noted(M.CI_FAILED, NEWER), True),
        (M.CI_FAILED, noted(M.ASKS), True),
        (M.CI_MENDED, None, False),
        (M.CI_MENDED, noted(M.CI_FAILED, NEWER), True),
        (M.CI_MENDED, noted(M.ASKS, NEWER), False),
        (M.CI_MENDED, noted(M.OVER, NEWER), False),
        (M.CI_MENDED, noted(M.CASE_REFUSED), True),
        (M.CI_MENDED, noted(M.ASKS_WITH_CASE), False),
    ],
)
def test_a_message_is_told_once_a_head_and_what_asks_for_nothing_where_something_was_asked(
    message: AuthorMessage, note: CommentRecord | None, *, is_told: bool
) -> None:
    assert needs_update(message, HEAD, note) is is_told


def test_a_comment_of_an_earlier_version_is_about_no_ci() -> None:
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
def test_what_a_verdict_tells_its_author_and_an_override_ends(verdict: Verdict, message: AuthorMessage | None) -> None:
    assert message_to_author(verdict, is_overridden=False) is message
    assert message_to_author(verdict, is_overridden=True) is AuthorMessage.OVER


@given(st.lists(st.tuples(st.sampled_from([HEAD, NEWER]), st.sampled_from([*AuthorMessage, None]))))
def test_a_head_is_told_of_once_unless_what_it_says_turns(messages: list[tuple[str, AuthorMessage | None]]) -> None:
    note, written = None, list[tuple[str, AuthorMessage]]()
    for head_sha, message in messages:
        if message is not None and needs_update(message, head_sha, note):
            written.append((head_sha, message))
            note = noted(message, head_sha)
    assert all(first != another for first, another in pairwise(written))
    assert all(message.is_open for _, message in written[:1])


def test_the_table_of_agents_is_the_one_that_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "using.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(@[\w-]+)` \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE)
    assert dict(rows) == AGENT_MENTIONS
