"""Who is told of a reject, and when that is news."""

from pathlib import Path
from typing import Any

import pytest

from tests.worker.render.samples import HEAD, abstained, accepted, rejected
from tests.worker.store.test_kept import entry
from worker.domain.agents import AGENTS
from worker.domain.config import Feedback
from worker.domain.feedback import ADDRESSES, Note, is_news, is_wanted, mention_of, submissions, told_of
from worker.domain.ids import EvalId
from worker.domain.ledger import LedgerEntry
from worker.domain.verdict import AbstainReason, Subject, SubjectKind

NEWER = "2" * 40


def judged(eval_id: str, head_sha: str = HEAD, **changes: Any) -> LedgerEntry:
    return entry(eval_id, 1, **changes).model_copy(update={"head_sha": head_sha})


def test_every_agent_that_is_spoken_to_is_one_that_is_known() -> None:
    assert {one.agent for one in ADDRESSES} <= {one.agent for one in AGENTS}
    assert len({one.agent for one in ADDRESSES}) == len(ADDRESSES)
    assert all(one.source and one.needs for one in ADDRESSES)


def test_an_agent_listens_to_its_name_and_a_person_to_none() -> None:
    assert (mention_of("copilot"), mention_of("aider"), mention_of(None)) == ("@copilot", None, None)


def test_agents_are_told_and_people_are_not_unless_they_want_to() -> None:
    by_agent, by_person = rejected(author_agent="copilot"), rejected(author_agent=None)
    assert (is_wanted(by_agent, Feedback()), is_wanted(by_person, Feedback())) == (True, False)
    turned = Feedback(agents=False, people=True)
    assert (is_wanted(by_agent, turned), is_wanted(by_person, turned)) == (False, True)


def test_only_the_newest_head_is_told_of_and_children_are_nobodys_business() -> None:
    subject = judged("x").verdict.subject
    group = Subject.model_validate({**subject.model_dump(), "kind": SubjectKind.MERGE_GROUP})
    beside = judged("c", parent_eval_id=EvalId("b"))
    of_group = judged("d", subject=group)
    entries = (judged("a"), judged("b", NEWER), beside, of_group)
    assert [one.eval_id for one in submissions(entries)] == ["a", "b"]
    assert told_of(entries, HEAD) is None
    found = told_of(entries, NEWER)
    assert found is not None
    assert found.eval_id == "b"
    assert told_of((), HEAD) is None


@pytest.mark.parametrize(
    ("note", "is_told"),
    [
        (None, True),
        (Note(nonce="n"), True),
        (Note(nonce="n", comment_id=1, head_sha=NEWER), True),
        (Note(nonce="n", comment_id=1, head_sha=HEAD, is_open=False), True),
        (Note(nonce="n", comment_id=1, head_sha=HEAD), False),
    ],
)
def test_a_reject_is_told_once_a_head(note: Note | None, *, is_told: bool) -> None:
    assert is_news(rejected(), note) is is_told


def test_what_is_no_reject_only_changes_a_comment_that_asks_for_something() -> None:
    asking = Note(nonce="n", comment_id=1, head_sha=HEAD)
    for verdict in (accepted(), abstained(AbstainReason.NEEDS_HUMAN)):
        assert is_news(verdict, asking)
        assert not is_news(verdict, None)
        assert not is_news(verdict, asking.model_copy(update={"is_open": False}))


def test_the_table_of_agents_is_the_one_that_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
    for one in ADDRESSES:
        assert f"| {one.agent} | `{one.mention}` | {one.needs} | {one.source} |" in page
