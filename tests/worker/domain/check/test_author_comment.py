"""Who is told of a reject, and when that is news."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.adapters.redis.test_kept import entry
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
from worker.domain.verdict.verdict import AbstainReason, Subject, SubjectKind
from worker.dossier.authors import AGENTS

NEWER = "2" * 40


def judged(eval_id: str, head_sha: str = HEAD, **changes: Any) -> LedgerEntry:
    return entry(eval_id, 1, **changes).model_copy(update={"head_sha": head_sha})


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


@pytest.mark.parametrize(
    ("note", "is_told"),
    [
        (None, True),
        (CommentRecord(nonce="n"), True),
        (CommentRecord(nonce="n", comment_id=1, head_sha=NEWER), True),
        (CommentRecord(nonce="n", comment_id=1, head_sha=NEWER, is_open=False), True),
        (CommentRecord(nonce="n", comment_id=1, head_sha=HEAD, is_open=False), True),
        (CommentRecord(nonce="n", comment_id=1, head_sha=HEAD), False),
    ],
)
def test_a_reject_is_told_once_a_head(note: CommentRecord | None, *, is_told: bool) -> None:
    assert needs_update(AuthorMessage.ASKS, HEAD, note) is is_told


def test_what_asks_for_nothing_only_changes_a_comment_that_asks_for_something() -> None:
    for asking in (
        CommentRecord(nonce="n"),
        CommentRecord(nonce="n", comment_id=1, head_sha=HEAD),
        CommentRecord(nonce="n", comment_id=1, head_sha=NEWER),
    ):
        assert needs_update(AuthorMessage.OVER, HEAD, asking)
        assert not needs_update(AuthorMessage.OVER, HEAD, asking.model_copy(update={"is_open": False}))
    assert not needs_update(AuthorMessage.OVER, HEAD, None)


def test_what_nobody_judged_says_nothing_new_and_whoever_overrides_ends_what_was_asked() -> None:
    silent = {AbstainReason.CI_PENDING, AbstainReason.PAUSED}
    others = set(AbstainReason) - silent - {AbstainReason.NEEDS_HUMAN, AbstainReason.CI_FAILED}
    assert {message_to_author(abstained(reason), is_overridden=False) for reason in silent} == {None}
    assert {message_to_author(abstained(reason), is_overridden=False) for reason in others} == {AuthorMessage.CI_MENDED}
    assert message_to_author(abstained(AbstainReason.CI_FAILED), is_overridden=False) is AuthorMessage.CI_FAILED
    assert message_to_author(abstained(AbstainReason.NEEDS_HUMAN), is_overridden=False) is AuthorMessage.OVER
    assert (message_to_author(accepted(), is_overridden=False), message_to_author(rejected(), is_overridden=False)) == (
        AuthorMessage.OVER,
        AuthorMessage.ASKS,
    )
    assert (
        message_to_author(rejected(), is_overridden=True)
        is message_to_author(abstained(AbstainReason.BUDGET), is_overridden=True)
        is AuthorMessage.OVER
    )


def noted(message: AuthorMessage, head_sha: str = HEAD) -> CommentRecord:
    return CommentRecord(
        nonce="n", comment_id=1, head_sha=head_sha,
        is_open=message.is_open, is_about_ci=message.is_about_ci, is_about_case=message.is_about_case,
    )  # fmt: skip


def test_a_case_that_cant_be_read_is_told_and_that_it_was_mended() -> None:
    refused = {"case_error": "Case refused: the block is empty."}
    assert message_to_author(rejected(**refused), is_overridden=False) is AuthorMessage.ASKS_WITH_CASE
    assert (
        message_to_author(abstained(AbstainReason.UNPROVEN, **refused), is_overridden=False)
        is AuthorMessage.CASE_REFUSED
    )
    assert message_to_author(abstained(AbstainReason.NEEDS_HUMAN, **refused), is_overridden=False) is AuthorMessage.OVER
    assert message_to_author(accepted(**refused), is_overridden=False) is AuthorMessage.OVER
    assert needs_update(AuthorMessage.CASE_REFUSED, HEAD, None)
    assert needs_update(AuthorMessage.ASKS, HEAD, noted(AuthorMessage.ASKS_WITH_CASE)), (
        "the same head is rejected, with a case that can be read"
    )
    assert needs_update(AuthorMessage.CI_MENDED, HEAD, noted(AuthorMessage.CASE_REFUSED)), (
        "nothing is asked for any more"
    )
    assert not needs_update(AuthorMessage.CI_MENDED, HEAD, noted(AuthorMessage.ASKS_WITH_CASE)), (
        "the reject before still asks"
    )
    assert not needs_update(AuthorMessage.ASKS_WITH_CASE, HEAD, noted(AuthorMessage.ASKS_WITH_CASE))


@given(st.lists(st.tuples(st.sampled_from([HEAD, NEWER]), st.sampled_from([*AuthorMessage, None]))))
def test_a_head_is_told_of_once_unless_what_it_says_turns(messages: list[tuple[str, AuthorMessage | None]]) -> None:
    note, written = None, list[tuple[str, AuthorMessage]]()
    for head_sha, message in messages:
        if message is not None and needs_update(message, head_sha, note):
            written.append((head_sha, message))
            note = noted(message, head_sha)
    assert all(first != another for first, another in pairwise(written))
    assert all(message.is_open for _, message in written[:1])


def test_red_ci_is_told_once_a_head_and_that_it_is_mended_only_where_that_was_asked_for() -> None:
    red = CommentRecord(nonce="n", comment_id=1, head_sha=HEAD, is_about_ci=True)
    rejected_before = CommentRecord(nonce="n", comment_id=1, head_sha=HEAD)
    over = CommentRecord(nonce="n", comment_id=1, head_sha=HEAD, is_open=False)
    assert needs_update(AuthorMessage.CI_FAILED, HEAD, None)
    assert not needs_update(AuthorMessage.CI_FAILED, HEAD, red)
    assert needs_update(AuthorMessage.CI_FAILED, NEWER, red)
    assert needs_update(AuthorMessage.CI_FAILED, HEAD, rejected_before)
    assert needs_update(AuthorMessage.ASKS, HEAD, red)
    assert [needs_update(AuthorMessage.CI_MENDED, NEWER, note) for note in (None, red, rejected_before, over)] == [
        False,
        True,
        False,
        False,
    ]
    assert CommentRecord.model_validate_json('{"nonce": "n", "comment_id": 1, "is_open": true}').is_about_ci is False


def test_the_table_of_agents_is_the_one_that_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "using.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(@[\w-]+)` \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE)
    assert dict(rows) == AGENT_MENTIONS
