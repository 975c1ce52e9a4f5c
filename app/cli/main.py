"""`assay`: the command line. Starts the command that is called, and turns what went wrong into an exit code.

Knows no option (`app.cli.parser` does), does not judge, serve or print verdicts (`app.cli.*` do). Invariant: nothing heavy is imported before
a command needs it, and only a verdict ends with 1: an error of Assay's own is 4, a caller's mistake 2.
"""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from errno import EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS
from types import TracebackType
from typing import Final, NoReturn, Self, TextIO

from app.cli.exit_codes import Exit
from app.cli.parser import build_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code; for `--help` and wrong arguments argparse exits by itself."""
    call = sys.argv[1:] if argv is None else argv
    arguments = build_parser(call[0] if call else None).parse_args(call)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # noqa: TID251 - what is installed beside Assay must not read along, and finding it takes time
    if arguments.run.name == "judge":
        gc.disable()  # until all is loaded (`judge` turns it on): looking for garbage in that takes a tenth of the time
    with ErrorBoundary() as edge:
        if arguments.run.name != "doctor" and getattr(arguments, "end_with", None) is None:  # which tell it themselves
            warn_of_unknown_names()
        edge.code, text = arguments.run(arguments)
        write_out(text)
    return edge.code


FREE_SPACE_HINT: Final = "Free space there, or set ASSAY_DATA_DIR and TMPDIR to another disk."
FILE_LIMIT_HINT: Final = "Raise the limit of open files (`ulimit -n`)."
REMEDIES: Final[Mapping[int | None, str]] = {
    ENOSPC: FREE_SPACE_HINT,
    EDQUOT: FREE_SPACE_HINT,
    EFBIG: FREE_SPACE_HINT,
    EROFS: "Set ASSAY_DATA_DIR and TMPDIR to folders that can be written to.",
    EMFILE: FILE_LIMIT_HINT,
    ENFILE: FILE_LIMIT_HINT,
    ENOMEM: "Free memory, or raise its limit.",
}
"""What to do where the machine has no more to give."""


def machine_error_phrase(error: OSError | MemoryError) -> str | None:
    """What the machine has no more of, and what to do about it; None: the error is no matter of that."""
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {REMEDIES[ENOMEM]}"
    if str(error.strerror).startswith("No usable temporary directory"):
        return f"No temporary folder can be written to. {FREE_SPACE_HINT}"
    remedy = REMEDIES.get(error.errno)
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror}{where}. {remedy}" if remedy else None


class ErrorBoundary:
    """Where an exception becomes a line for people and an exit code."""

    code: int = Exit.FAILED

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Speak about *error*, and let nothing but an exit pass."""
        match error:
            case KeyboardInterrupt() | Exception() if is_interrupt(error):
                self.code = self._say("Interrupted.", Exit.INTERRUPTED)
            case BrokenPipeError():
                silence_stream(sys.stdout)
            case Exception():
                self.code = self._report_failure(error)
            case _:
                return False
        return True

    def _report_failure(self, error: Exception) -> Exit:
        from worker.errors import AssayError, LeaseLost, SubjectGone, Unavailable

        code = Exit.FAILED
        match error:
            case LeaseLost():
                message = "Another process took this judging over. Judge again."
            case Unavailable(service="Redis") if os.environ.get("REDIS_URL"):  # noqa: TID251 - settings may be what failed, and none are read here
                message = f"{error}. Check REDIS_URL, and that the server runs."
            case Unavailable():
                message = f"{error}. Try again later."
            case SubjectGone():
                message, code = f"There is nothing to judge: {error}.", Exit.USAGE
            case AssayError():
                message, code = str(error), Exit.USAGE
            case OSError() | MemoryError() if phrase := machine_error_phrase(error):
                message = phrase
            case _:
                from app.cli.crash import record_traceback

                message = f"Assay itself failed. {record_traceback(error)}"
        return self._say(message, code)

    def _say(self, message: str, code: Exit) -> Exit:
        """Tell whoever still reads; nobody there is no reason for another exit code."""
        try:
            print(f"assay: {message}", file=sys.stderr, flush=True)
        except OSError:
            silence_stream(sys.stderr)
        return code


def warn_of_unknown_names() -> None:
    """Say which variables nothing reads."""
    if sum(name.startswith("ASSAY_") for name in os.environ) == 0:  # noqa: TID251 - before any settings are loaded
        return
    from worker.settings import environment, unknown_variable_phrase, unknown_variables

    for name, meant in unknown_variables(environment()).items():
        print(f"assay: {unknown_variable_phrase(name, meant)}", file=sys.stderr)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is at the bottom of it: what it interrupts may make another error of it."""
    seen: set[int] = set()  # an error may be its own cause
    while error is not None and not isinstance(error, KeyboardInterrupt) and id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def write_out(text: str) -> None:
    """Print on standard output, if there is one. Raises BrokenPipeError, and InputError when it takes no more."""
    if sys.stdout is None:  # it was closed before we began
        return
    sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - TextIO's stub lacks what every real one has
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        from worker.errors import InputError

        silence_stream(sys.stdout)
        raise InputError(f"The result can't be written to standard output: {error.strerror}.") from error


def silence_stream(stream: TextIO) -> None:
    """Whoever read it has gone: write the rest nowhere, also what Python flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def run() -> NoReturn:
    """The process: one command, then the end, at once.

    Every command has closed what it opened by then. To take all modules apart would be a twentieth of `judge`.
    """
    try:
        code = main()
    except SystemExit as ended:  # `--help`, or wrong arguments
        code = ended.code if isinstance(ended.code, int) else Exit.ACCEPT
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - Python would end with 1, which is a reject
        code = Exit.FAILED
        with suppress(OSError):
            os.write(2, f"assay: Assay itself failed ({type(error).__name__}).\n".encode())
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):  # nobody reads it any more
                stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
