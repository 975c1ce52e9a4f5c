"""The memory of a pull request: rounds, closing conditions, and hashes of what changed."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.worker.judge.samples import BASE, HEAD, NOW, abstain_verdict, accept_verdict, ledger_entry, reject_verdict
from worker.domain.ids import Fingerprint
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


def asking(*conditions: tuple[str, str, str]) -> LedgerEntry:
    asked = [
        ClosingCondition.model_validate({"id": name, "text": text, "state": state}) for name, text, state in conditions
    ]
    return ledger_entry(
        reject_verdict(closing_conditions=asked),
        open_conditions=[condition for condition in asked if condition.state == "open"],
    )


def stand(*entries: LedgerEntry) -> list[tuple[str, str, str]]:
    return [(condition.id, condition.text, condition.state) for condition in conditions_of(entries)]


# --- rounds ---------------------------------------------------------------------------------------


def test_the_first_head_is_round_one_and_only_rejects_count() -> None:
    assert round_of((), HEAD, CONTENT) == 1
    assert (
        round_of(
            (ledger_entry(accept_verdict(), head_sha=BASE), ledger_entry(abstain_verdict(), head_sha=C)), HEAD, CONTENT
        )
        == 1
    )
    assert round_of((reject(A), reject(B)), C, CONTENT) == 3


def test_one_head_and_one_content_are_one_round() -> None:
    assert round_of((reject(A),), A, CONTENT) == 1
    assert round_of((reject(A),), B, Fingerprint(f"sha256:{A}")) == 1
    assert round_of((reject(A), reject(A)), B, CONTENT) == 2


def test_what_was_pushed_before_the_reject_could_be_seen_is_of_the_same_round() -> None:
    first = reject(A)  # its judging ended half a minute later
    assert round_of((first,), B, CONTENT, NOW) == 1
    assert round_of((first,), B, CONTENT, NOW + 2 * MINUTE) == 2
    assert round_of((first,), B, CONTENT, None) == 2, "a push of unknown time counts"
    blind = reject(B, seen=NOW + MINUTE, pushed=NOW)
    assert round_of((first, blind), C, CONTENT, NOW + 5 * MINUTE) == 2
    assert round_of((first, blind), C, CONTENT, NOW) == 1


def test_a_time_without_a_zone_is_taken_as_utc() -> None:
    bare = (NOW + 2 * MINUTE).replace(tzinfo=None)
    assert round_of((reject(A),), B, CONTENT, bare) == 2


# --- the author's text of a head ------------------------------------------------------------------

ONE, TWO, THREE, FOUR = (AuthorText(case=Case(summary=f"case {number}")) for number in range(4))
BROKEN, NO_BLOCK = AuthorText(is_readable=False), AuthorText()
RETRIES, REWORDED, AGAIN = (AuthorText(description=text, links=()) for text in ("retries", "reworded", "again"))
LINKED, LINKS_TWO, BY_HAND = AuthorText(links=("#7",)), AuthorText(links=("#7", "#8")), AuthorText(links=())


def judged(text: AuthorText, number: int, **changes: Any) -> LedgerEntry:
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
def test_the_authors_text_is_frozen_with_its_head(before: tuple[AuthorText, ...], text: AuthorText, turn: str) -> None:
    entries = [judged(turn, number) for number, turn in enumerate(before)]
    assert classify_text(entries, A, text) == turn
    assert classify_text(entries, B, text) == TextChange.FIRST, "a push is another head"


def test_what_was_not_judged_freezes_no_text() -> None:
    assert classify_text((judged(ONE, 0, carried_from="0193-first"),), A, TWO) == TextChange.FIRST
    assert classify_text((ledger_entry(abstain_verdict(), head_sha=A, case=ONE.case),), A, TWO) == TextChange.FIRST


def test_of_two_edits_at_the_same_time_the_later_counts() -> None:
    before = (judged(ONE, 0), judged(TWO, 1))  # judged from 30 s to 40 s
    assert classify_text(before, A, THREE, NOW + timedelta(seconds=35)) == TextChange.EDITED
    assert classify_text(before, A, THREE, NOW + timedelta(seconds=41)) == TextChange.FROZEN
    many = (*before, judged(THREE, 2))
    assert classify_text(many, A, FOUR, NOW + timedelta(seconds=61)) == TextChange.FROZEN, "not for ever"


def test_an_edit_is_a_round_and_what_is_mended_is_none() -> None:
    first, edit = judged(ONE, 0), judged(TWO, 1)
    assert round_of((first,), A, CONTENT) == 1
    assert round_of((first,), A, CONTENT, NOW, is_edit=True) == 2
    assert round_of((first, edit), B, CONTENT, NOW + 5 * MINUTE) == 3
    broken = judged(BROKEN, 0)
    assert round_of((broken, judged(ONE, 1)), B, CONTENT, NOW + 5 * MINUTE) == 2


# --- what the judge is shown ----------------------------------------------------------------------


def test_copies_never_fill_the_window() -> None:
    rounds = [reject(f"{number:040x}") for number in range(7)]
    copies = [
        ledger_entry(reject_verdict(carried_from="0193-first", fingerprint="sha256:copy"), head_sha=A) for _ in range(9)
    ]
    assert select_prompt_entries([*rounds, *copies]) == tuple(rounds[-5:])
    assert select_prompt_entries([rounds[0], rounds[1], rounds[0]]) == (rounds[1], rounds[0]), (
        "where it was judged the last time"
    )
    assert select_prompt_entries([rounds[0], ledger_entry(abstain_verdict(fingerprint="sha256:ci"))]) == (rounds[0],)
    person = ledger_entry(abstain_verdict(fingerprint="sha256:open", abstain_reason="needs_human"))
    assert select_prompt_entries([rounds[0], person]) == (rounds[0], person)


# --- closing conditions ---------------------------------------------------------------------------


def test_conditions_travel_and_the_newest_entry_says_how_they_stand() -> None:
    first = asking(("c1", "Assert it.", "open"), ("c2", "AC2 is met: a test", "open"))
    second = asking(("c1", "Assert it.", "resolved"), ("c2", "AC2 is met: a test", "open"), ("c3", "Log it.", "open"))
    assert stand(first, second) == [
        ("c1", "Assert it.", "resolved"),
        ("c2", "AC2 is met: a test", "open"),
        ("c3", "Log it.", "open"),
    ]
    assert stand(first, second, ledger_entry(abstain_verdict())) == stand(first, second), (
        "what says nothing of them changes nothing"
    )


def test_an_id_is_never_given_twice() -> None:
    again = asking(("c1", "Another thing.", "open"))
    assert stand(asking(("c1", "One thing.", "open"), ("c3", "Three.", "open")), again) == [
        ("c1", "One thing.", "open"),
        ("c3", "Three.", "open"),
        ("c2", "Another thing.", "open"),
    ]
