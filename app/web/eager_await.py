"""A wait that may be over at once: what is there already is had without a clock, and without a turn of the event loop.

Does not limit the wait itself (whoever goes on with it does). Invariant: nothing that was begun is lost, or begun twice; and who
is stopped while it waits, stops it.
"""

from collections.abc import Awaitable, Generator
from contextlib import closing
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PendingAwait(Generic[T]):
    """The rest of a wait. To be awaited once, by the task that began it, and before anything else is."""

    def __init__(self, steps: Generator[Any, Any, T], waits_for: object) -> None:
        self._steps = steps
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, T]:
        with closing(self._steps):
            yield self._waits_for
            return (yield from self._steps)


def start_awaiting(wait: Awaitable[T]) -> T | PendingAwait[T]:
    """What it gives, if it is there already."""
    steps = wait.__await__()
    try:
        waits_for = next(steps)
    except StopIteration as over:
        return over.value
    return PendingAwait(steps, waits_for)
