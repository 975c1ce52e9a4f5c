"""Progress on standard error: a bar on a terminal, elsewhere a line every ten seconds.

Does not print results. Invariant: what takes less than ten seconds prints nothing where nobody watches.
"""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

INTERVAL_S: Final = 10.0


@contextmanager
def show_count(total: int, unit: str) -> Generator[Callable[[int], None]]:
    """Yields what is told how many are done."""
    if sys.stderr is not None and sys.stderr.isatty():
        from tqdm import tqdm  # a pipe needs none

        with tqdm(total=total, unit=unit, file=sys.stderr, mininterval=0.5) as bar:

            def show(done: int) -> None:
                bar.update(done - bar.n)

            yield show
        return
    done = 0

    def tell(now: int) -> None:
        nonlocal done
        done = now

    with show_elapsed(lambda seconds: f"{done} of {total} {unit}s, {seconds:.0f} s"):
        yield tell


@contextmanager
def show_elapsed(message: Callable[[float], str]) -> Generator[None]:
    """Print a line every ten seconds; *message* gets the seconds that have passed."""
    is_over, began = threading.Event(), time.monotonic()

    def tell() -> None:
        while not is_over.wait(INTERVAL_S):
            print(f"assay: {message(time.monotonic() - began)}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
