"""What thumbs at our comment say."""

from datetime import UTC, datetime
from typing import Any

from worker.domain.verdict.reactions import Reaction, last_thumbs

AT = datetime(2026, 11, 20, tzinfo=UTC)


def given(number: int, content: str, account: int = 1, **other: Any) -> Reaction:
    return Reaction(number, account, other.get("is_bot", False), content, AT)


def test_whoever_reacts_counts_once_with_their_last_thumb() -> None:
    up, down, other = given(3, "+1"), given(5, "-1"), given(4, "+1", account=2)
    assert last_thumbs([down, up, other]) == (other, down)


def test_what_a_bot_gives_and_what_is_no_thumb_say_nothing() -> None:
    reactions = [given(1, "-1", is_bot=True)]
    reactions += [
        given(n, feeling) for n, feeling in enumerate(("laugh", "hooray", "confused", "heart", "rocket", "eyes"))
    ]
    assert last_thumbs(reactions) == ()
