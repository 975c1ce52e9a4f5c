"""A wait that is over at once, or goes on. Invariant: its value, its failure and its end are what they would be if awaited."""

import asyncio

import pytest

from app.web.eager_await import PendingAwait, start_awaiting


async def given(value: int) -> int:
    return value


async def later(value: int, seen: list[str]) -> int:
    try:
        for _ in range(3):
            await asyncio.sleep(0.001)
        return 12 // value
    finally:
        seen.append("over")


def test_what_is_there_already_is_had_at_once() -> None:
    assert start_awaiting(given(3)) == 3


def test_what_is_not_there_yet_is_waited_for_to_its_end() -> None:
    async def run() -> tuple[int, list[str]]:
        seen = list[str]()
        wait = start_awaiting(later(3, seen))
        assert isinstance(wait, PendingAwait)
        async with asyncio.timeout(5):
            return await wait, seen

    assert asyncio.run(run()) == (4, ["over"])


def test_a_failure_comes_where_it_is_waited_for() -> None:
    async def run() -> None:
        wait = start_awaiting(later(0, []))
        assert isinstance(wait, PendingAwait)
        await wait

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())


def test_who_is_stopped_while_it_waits_stops_what_was_begun() -> None:
    async def run() -> tuple[str, ...]:
        seen = list[str]()
        wait = start_awaiting(later(3, seen))
        assert isinstance(wait, PendingAwait)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await wait
        return tuple(seen)  # as it is now, while the wait is still known

    assert asyncio.run(run()) == ("over",)
