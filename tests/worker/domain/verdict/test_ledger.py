"""The ledger of a pull request: rounds, frozen texts, prompt entries and closing conditions."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.worker.judge.samples import BASE, HEAD, NOW, abstain_verdict, accept_verdict, ledger_entry, reject_verdict
from worker.domain.model import Fingerprint
from worker.domain.verdict.ledger import (
    AuthorText,
    Case,
    LedgerEntry,
    TextChange,
    classify_text,
    conditions_of,
    round_of,
    select_prompt_entries,
)
from worker.domain.verdict.verdict import ClosingCondition

A, B, C = "a" * 40, "b" * 40, "c" * 40
MINUTE = timedelta(minutes=1)
CONTENT = Fingerprint("sha256:now")


def reject(head: str, *, seen: datetime = NOW, pushed: datetime | None = None, **changes: Any) -> LedgerEntry:
    verdict = reject_verdict(fingerprint=f"sha256:{head}", judge_latency_ms=30_000, **changes)
    return ledger_entry(verdict, head_sha=head, created_at=seen, pushed_at=pushed)


def entry_asking_for(*conditions: tuple[str, str, str]) -> LedgerEntry:
    fields = [{"id": name, "text": text, "state": state} for name, text, state in conditions]
    asked = [ClosingCondition.model_validate(condition) for condition in fields]
    open_conditions = [condition for condition in asked if condition.state == "open"]
    return ledger_entry(reject_verdict(closing_conditions=asked), open_conditions=open_conditions)


def condition_states(*entries: LedgerEntry) -> list[tuple[str, str, str]]:
    return [(condition.id, condition.text, condition.state) for condition in conditions_of(entries)]


# Rounds


def test_first_head_is_round_one_and_only_rejects_count() -> None:
    assert round_of((), HEAD, CONTENT) == 1
    entries = (ledger_entry(accept_verdict(), head_sha=BASE), ledger_entry(abstain_verdict(), head_sha=C))
    assert round_of(entries, HEAD, CONTENT) == 1
    assert round_of((reject(A), reject(B)), C, CONTENT) == 3


def test_one_head_and_one_content_are_one_round() -> None:
    assert round_of((reject(A),), A, CONTENT) == 1
    assert round_of((reject(A),), B, Fingerprint(f"sha256:{A}")) == 1
    assert round_of((reject(A), reject(A)), B, CONTENT) == 2


def test_push_before_the_reject_was_visible_is_in_the_same_round() -> None:
    first = reject(A)  # its judging ended half a minute later
    assert round_of((first,), B, CONTENT, NOW) == 1
    assert round_of((first,), B, CONTENT, NOW + 2 * MINUTE) == 2
    assert round_of((first,), B, CONTENT, None) == 2, "a push of unknown time counts"
    blind = reject(B, seen=NOW + MINUTE, pushed=NOW)
    assert round_of((first, blind), C, CONTENT, NOW + 5 * MINUTE) == 2
    assert round_of((first, blind), C, CONTENT, NOW) == 1


def test_time_without_a_zone_is_utc() -> None:
    bare = (NOW + 2 * MINUTE).replace(tzinfo=None)
    assert round_of((reject(A),), B, CONTENT, bare) == 2


# The author's text of a head

ONE, TWO, THREE, FOUR = (AuthorText(case=Case(summary=f"case {number}")) for number in range(4))
BROKEN, NO_BLOCK = AuthorText(is_readable=False), AuthorText()
RETRIES, REWORDED, AGAIN = (AuthorText(description=text, links=()) for text in ("retries", "reworded", "again"))
LINKED, LINKS_TWO, BY_HAND = AuthorText(links=("#7",)), AuthorText(links=("#7", "#8")), AuthorText(links=())


def judged_entry(text: AuthorText, number: int, **changes: Any) -> LedgerEntry:
    """A verdict on head A, half a minute after the one before it."""
    error = None if text.is_readable else "Case refused at summary: missing."
    made = reject_verdict(fingerprint=f"sha256:{number}", judge_latency_ms=10_000, case_error=error, **changes)
    seen, links = NOW + number * MINUTE / 2, text.links
    at = {"head_sha": A, "created_at": seen, "pushed_at": NOW}
    return ledger_entry(made, **at, case=text.case, description=text.description, links=links)


@pytest.mark.parametrize(
    ("before", "text", "turn"),
    [
        ((), ONE, "first"),
        ((ONE,), ONE, "same"),
        ((NO_BLOCK,), BROKEN, "edited"),
        ((NO_BLOCK,), ONE, "edited"),
        ((ONE,), TWO, "edited"),
        ((ONE, TWO), ONE, "same"),
        ((ONE, TWO), THREE, "frozen"),
        ((BROKEN,), ONE, "mended"),
        ((BROKEN, ONE), TWO, "edited"),
        ((BROKEN, ONE, TWO), THREE, "frozen"),
        ((BROKEN, ONE, BROKEN), TWO, "edited"),
        ((ONE, BROKEN), TWO, "frozen"),
        ((NO_BLOCK, BROKEN), ONE, "mended"),
        ((RETRIES,), REWORDED, "edited"),
        ((RETRIES, REWORDED), AGAIN, "frozen"),
        ((RETRIES, REWORDED), RETRIES, "same"),
        ((RETRIES,), LINKED, "edited"),
        ((RETRIES, LINKED), LINKS_TWO, "frozen"),
        ((RETRIES, REWORDED), LINKED, "frozen"),
        ((RETRIES,), BY_HAND, "same"),
        ((NO_BLOCK,), RETRIES, "same"),
    ],
)
def test_author_text_is_frozen_with_its_head(before: tuple[AuthorText, ...], text: AuthorText, turn: str) -> None:
    entries = [judged_entry(turn, number) for number, turn in enumerate(before)]
    assert classify_text(entries, A, text) == turn
    assert classify_text(entries, B, text) == TextChange.FIRST, "a push is another head"


def test_unjudged_text_is_not_frozen() -> None:
    assert classify_text((judged_entry(ONE, 0, carried_from="0193-first"),), A, TWO) == TextChange.FIRST
    assert classify_text((ledger_entry(abstain_verdict(), head_sha=A, case=ONE.case),), A, TWO) == TextChange.FIRST


def test_later_of_two_concurrent_edits_counts() -> None:
    before = (judged_entry(ONE, 0), judged_entry(TWO, 1))  # judged from 30 s to 40 s
    assert classify_text(before, A, THREE, NOW + timedelta(seconds=35)) == TextChange.EDITED
    assert classify_text(before, A, THREE, NOW + timedelta(seconds=41)) == TextChange.FROZEN
    many = (*before, judged_entry(THREE, 2))
    assert classify_text(many, A, FOUR, NOW + timedelta(seconds=61)) == TextChange.FROZEN, "a later text stays frozen"


def test_edit_is_a_round_and_a_mended_text_is_none() -> None:
    first, edit = judged_entry(ONE, 0), judged_entry(TWO, 1)
    assert round_of((first,), A, CONTENT) == 1
    assert round_of((first,), A, CONTENT, NOW, is_edit=True) == 2
    assert round_of((first, edit), B, CONTENT, NOW + 5 * MINUTE) == 3
    broken = judged_entry(BROKEN, 0)
    assert round_of((broken, judged_entry(ONE, 1)), B, CONTENT, NOW + 5 * MINUTE) == 2


# Entries in the prompt


def test_carried_over_verdicts_never_fill_the_prompt() -> None:
    rounds = [reject(f"{number:040x}") for number in range(7)]
    copy = ledger_entry(reject_verdict(carried_from="0193-first", fingerprint="sha256:copy"), head_sha=A)
    copies = [copy] * 9
    assert select_prompt_entries([*rounds, *copies]) == tuple(rounds[-5:])
    repeated = select_prompt_entries([rounds[0], rounds[1], rounds[0]])
    assert repeated == (rounds[1], rounds[0]), "at its last judging"
    assert select_prompt_entries([rounds[0], ledger_entry(abstain_verdict(fingerprint="sha256:ci"))]) == (rounds[0],)
    person = ledger_entry(abstain_verdict(fingerprint="sha256:open", abstain_reason="needs_human"))
    assert select_prompt_entries([rounds[0], person]) == (rounds[0], person)


# Closing conditions


def test_conditions_persist_with_the_state_of_the_newest_entry() -> None:
    first = entry_asking_for(("c1", "Assert it.", "open"), ("c2", "AC2 is met: a test", "open"))
    second = entry_asking_for(
        ("c1", "Assert it.", "resolved"), ("c2", "AC2 is met: a test", "open"), ("c3", "Log it.", "open")
    )
    states = [("c1", "Assert it.", "resolved"), ("c2", "AC2 is met: a test", "open"), ("c3", "Log it.", "open")]
    assert condition_states(first, second) == states
    silent = ledger_entry(abstain_verdict())
    assert condition_states(first, second, silent) == states, "an entry without conditions changes none"


def test_condition_id_is_never_reused() -> None:
    again = entry_asking_for(("c1", "Another thing.", "open"))
    before = (("c1", "One thing.", "open"), ("c3", "Three.", "open"))
    assert condition_states(entry_asking_for(*before), again) == [*before, ("c2", "Another thing.", "open")]
