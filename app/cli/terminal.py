"""What a command reads and writes: files and standard input, the terminal and its width, progress on standard error."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from worker.errors import InputError
from worker.publishing.texts.terminal import TerminalPage
from worker.settings import environment

INTERVAL_S: Final = 10.0
WIDTH: Final = 100
MIN_WIDTH: Final = 40


def terminal_page() -> TerminalPage:
    """Standard output's width, and whether it shows colour (see no-color.org); a file or a pipe gets none."""
    if sys.stdout is None or not sys.stdout.isatty():
        return TerminalPage(WIDTH)
    environ = environment()
    has_colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return TerminalPage(max(shutil.get_terminal_size((WIDTH, 24)).columns, MIN_WIDTH), has_colour)


@contextmanager
def show_count(total: int, unit: str) -> Generator[Callable[[int], None]]:
    """Show progress: a bar on a terminal, elsewhere a line every ten seconds. Yields what takes the count so far.

    An interrupt prints how much is judged.
    """
    done = 0
    with ExitStack() as stack:
        bar = None
        if sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm  # a pipe needs none

            bar = stack.enter_context(tqdm(total=total, unit=unit, file=sys.stderr, mininterval=0.5))
        else:
            stack.enter_context(show_elapsed(lambda seconds: f"{done} of {total} {unit}s, {seconds:.0f} s"))

        def update(count: int) -> None:
            nonlocal done
            if bar is not None:
                bar.update(count - done)
            done = count

        try:
            yield update
        except KeyboardInterrupt:
            stack.close()
            print(f"{done} of {total} are judged; the same command goes on from there.", file=sys.stderr)
            raise


@contextmanager
def show_elapsed(message: Callable[[float], str]) -> Generator[None]:
    """Print a line every ten seconds; *message* gets the seconds since the start."""
    is_over, began = threading.Event(), time.monotonic()

    def repeat() -> None:
        while not is_over.wait(INTERVAL_S):
            print(f"assay: {message(time.monotonic() - began)}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def read_text(name: str | None, option: str) -> str | None:
    """The text of a file, or of standard input for `-`; None where no file is named. Raises InputError."""
    if name is None:
        return None
    try:
        return read_bytes(name, option).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{option}: {name} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error


def read_bytes(name: str, option: str) -> bytes:
    if name == "-" and sys.stdin is None:
        raise InputError(f"{option}: - is standard input, which is closed. Name a file.")
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{option}: {name} can't be read: {error.strerror}.") from error
