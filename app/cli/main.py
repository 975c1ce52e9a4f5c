"""`assay`: start the command that is called, and turn errors into exit codes.

Commands import what they need, so that `--help` and `--version` stay fast. Only a verdict ends with 1.
"""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from errno import EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS
from types import TracebackType
from typing import Final, NoReturn, Self, TextIO

from app.cli.parser import Exit, build_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code. Raises SystemExit for `--help` and wrong arguments."""
    call = sys.argv[1:] if argv is None else argv
    arguments = build_parser(call[0] if call else None).parse_args(call)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # noqa: TID251 - plugins of packages installed beside Assay must not read along, and finding them takes time
    if arguments.run.name == "judge":
        gc.disable()  # `judge` enables it once all is loaded: collecting what is loaded takes a tenth of the time
    with ErrorBoundary() as edge:
        if (
            arguments.run.name != "doctor" and getattr(arguments, "end_with", None) is None
        ):  # those report it themselves
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
"""What to do about a resource that the machine has run out of."""


def machine_error_phrase(error: OSError | MemoryError) -> str | None:
    """The resource that the machine has run out of, and what to do; None: the error has another cause."""
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {REMEDIES[ENOMEM]}"
    if str(error.strerror).startswith("No usable temporary directory"):
        return f"No temporary folder can be written to. {FREE_SPACE_HINT}"
    remedy = REMEDIES.get(error.errno)
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror}{where}. {remedy}" if remedy else None


class ErrorBoundary:
    """Turns an exception into a line for people and an exit code."""

    code: int = Exit.FAILED

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Report *error*, and let nothing but SystemExit pass."""
        match error:
            case KeyboardInterrupt() | Exception() if is_interrupt(error):
                self.code = self._report("Interrupted.", Exit.INTERRUPTED)
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
            case Unavailable(service="Redis") if os.environ.get("REDIS_URL"):  # noqa: TID251 - reading the settings may be what failed
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
                message = f"Assay itself failed. {record_traceback(error)}"
        return self._report(message, code)

    def _report(self, message: str, code: Exit) -> Exit:
        """Print it on standard error. A closed one changes no exit code."""
        try:
            print(f"assay: {message}", file=sys.stderr, flush=True)
        except OSError:
            silence_stream(sys.stderr)
        return code


def record_traceback(error: BaseException) -> str:
    """Write the traceback into the data folder's logs, else into the temporary folder. Returns a sentence that says where."""
    import tempfile
    import time
    from pathlib import Path
    from traceback import format_exception

    from worker.errors import SettingError
    from worker.settings import load_settings

    def write(path: Path) -> str:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return f"The traceback is in {path}."

    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"
    text = "".join(format_exception(error))
    with suppress(OSError, SettingError):
        return write(load_settings().data_dir / "logs" / name)
    try:
        return write(Path(tempfile.gettempdir()) / f"assay-{name}")
    except OSError:
        return f"No folder can be written to, so this is the traceback:\n{text}"


def warn_of_unknown_names() -> None:
    """Warn of variables that begin with ASSAY_ and are no settings."""
    if not any(name.startswith("ASSAY_") for name in os.environ):  # noqa: TID251 - before any settings are loaded
        return
    from worker.settings import environment, unknown_variable_phrase, unknown_variables

    for name, meant in unknown_variables(environment()).items():
        print(f"assay: {unknown_variable_phrase(name, meant)}", file=sys.stderr)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused the error: what it interrupts may raise another one."""
    seen: set[int] = set()  # an error may be its own cause
    while error is not None and not isinstance(error, KeyboardInterrupt) and id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def write_out(text: str) -> None:
    """Print on standard output, if it is open. Raises BrokenPipeError, and InputError where writing fails."""
    if sys.stdout is None:
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
    """Discard what is written to a stream whose reader has gone, including what Python flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def run() -> NoReturn:
    """Run one command, then end the process without tearing modules down, which takes a twentieth of `judge`."""
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
            with suppress(OSError, ValueError):  # its reader has gone
                stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
