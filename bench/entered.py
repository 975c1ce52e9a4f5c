"""Which files of the product its processes enter for one documentation-only pull request.

`assay serve` and `assay work` run as in a conversation, under a trace function that writes down each function of `app/` and
`worker/` at its first call in a process. A module's own statements and their comprehensions do not count. The start of the processes counts for all
processes, and not for the judge job, which is a fork. Does not measure time: tracing slows every call.
"""

import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
ROOMS: Final = tuple(str(ROOT / room) + os.sep for room in ("app", "worker"))
JOB_PROCESS: Final = "main_work_horse"
"""RQ's name for the life of a job in its own process."""
OF_FUNCTION: Final = 1
"""CO_OPTIMIZED of `inspect`: the code of modules and classes lacks it."""

Function = tuple[str, str, str]
"""File, first line and name."""


def run_traced(log: str, arguments: list[str]) -> None:
    """Run `assay` with these arguments, and append each first call to the file *log*."""
    to = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    seen: dict[int, CodeType] = {}
    os.register_at_fork(after_in_child=seen.clear)

    def enter(frame: FrameType, *_: object) -> None:
        code = frame.f_code
        if id(code) in seen:
            return
        seen[id(code)] = code
        is_statement = code.co_name[0] == "<" and frame.f_back and frame.f_back.f_code.co_name == "<module>"
        if code.co_filename.startswith(ROOMS) and code.co_flags & OF_FUNCTION and not is_statement:
            line = f"{os.getpid()}\t{code.co_filename}\t{code.co_firstlineno}\t{code.co_name}\n"
            os.write(to, line.encode())

    threading.settrace(enter)
    sys.settrace(enter)
    sys.argv = ["assay", *arguments]
    from app.cli.main import run  # noqa: PLC0415 - what it enters is to be seen

    run()


def documentation_only() -> tuple[set[Function], set[Function]]:
    """What the judge job enters, and what all processes enter together."""
    from bench.stage import staged  # noqa: PLC0415 - the traced process needs none of it
    from tests.world.changes import ONLY_DOCUMENTATION, PROJECT  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory(prefix="assay-entered-") as folder:
        log = Path(folder) / "calls"
        with staged({}, (sys.executable, "-I", __file__, str(log))) as world:
            world.create_repository(PROJECT)
            pull = world.agent.open_pull_request(ONLY_DOCUMENTATION, title="Document uploads", body="Adds a sentence.")
            world.wait_until_idle(180)
            assert pull.check.conclusion is not None, "it was not judged"
        by_process = read(log.read_text().splitlines())
    jobs = [functions for functions in by_process.values() if any(name == JOB_PROCESS for _, _, name in functions)]
    assert jobs, "no judge job was seen"
    return max(jobs, key=len), set[Function]().union(*by_process.values())


def read(lines: Iterable[str]) -> Mapping[str, set[Function]]:
    """The functions that each process entered."""
    by_process: dict[str, set[Function]] = defaultdict(set)
    for line in lines:
        process, path, first, name = line.split("\t")
        by_process[process].add((path, first, name))
    return by_process


if __name__ == "__main__":
    run_traced(sys.argv[1], sys.argv[2:])
