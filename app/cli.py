"""`assay`: the command line. Reads the arguments, starts the command, turns what went wrong into an exit code.

Does not judge, serve or print verdicts (`app.commands_*` do). Invariant: nothing heavy is imported before
a command needs it, and only a verdict ends with 1: an error of Assay's own is 4, a caller's mistake 2.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import NoReturn, Self, TextIO

from app.exits import Answer, Exit

EXITS = """\
exit codes: 0 accept, 1 reject, 2 something in the call or the settings has to change,
            3 abstain (nobody judged), 4 Assay itself failed, 130 interrupted"""

EXAMPLES = """\
examples:
  assay judge --example                  a tiny repository with a half finished change
  assay judge --issue ISSUE.md           this branch against its merge base
  assay judge acme/widgets#12            a pull request on GitHub; nothing is posted
"""

FILES_AND_TEXTS = (
    ("--base", "REF", "what the branch started from (default: the remote's main branch)"),
    ("--head", "REF", "what to judge (default: HEAD)"),
    ("--issue", "FILE", "the issue that it answers, in Markdown; - reads standard input"),
    ("--case", "FILE", "the author's case (default: the `assay` block of --body or of the last commit)"),
    ("--body", "TEXT", "the pull request's description (default: the last commit's message)"),
    ("--save-dossier", "FILE", "keep what was judged, to judge it again with --dossier"),
)
MOST_JOBS = 256
TIERS = "code checks alone, the model too where they are not certain, or the model always"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code; for `--help` and wrong arguments argparse exits by itself."""
    arguments = parser().parse_args(argv)
    with Edge() as edge:
        edge.code, text = arguments.run(arguments)
        write_out(text)
    return edge.code


def parser() -> argparse.ArgumentParser:
    """All commands and options."""
    top = argparse.ArgumentParser(
        prog="assay",
        description="Judges agent-written pull requests: a proper solution, or does it just happen to pass?",
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=ShowVersion, nargs=0, help="print the version")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _judge_options(commands.add_parser(
        "judge", help="judge a branch, a pull request or a recorded dossier; posts nothing",
        description="Judge the current branch, a pull request on GitHub, or a recorded dossier. Posts nothing.",
        epilog=EXAMPLES + EXITS, formatter_class=argparse.RawDescriptionHelpFormatter,
    ))  # fmt: skip
    _bench_options(commands.add_parser(
        "bench", help="judge recorded dossiers by the hundred, and report how right that was",
        description="Judge recorded dossiers, and report how right that was. The format of a line: docs/bench.md.",
    ))  # fmt: skip
    for name, run, words in (
        ("up", _up, "run all of Assay: Redis if none is configured, web door, dispatcher and worker"),
        ("serve", _serve, "run the web door alone"),
        ("work", _work, "run dispatcher and worker alone"),
        ("doctor", _doctor, "check every setting and connection, and say what to do"),
    ):
        command = commands.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        command.set_defaults(run=run)
        if name in {"serve", "work"}:
            command.add_argument("--end-with", type=int, metavar="PID", help=argparse.SUPPRESS)
    return top


def _judge_options(judge: argparse.ArgumentParser) -> None:
    what = judge.add_mutually_exclusive_group()
    what.add_argument(
        "target", nargs="?", metavar="TARGET",
        help="OWNER/REPO#N or a pull request's URL; none: the branch that is checked out here",
    )  # fmt: skip
    what.add_argument("--dossier", metavar="FILE", help="judge a recorded dossier; - reads standard input")
    what.add_argument("--example", action="store_true", help="make a tiny repository and judge it")
    for option, metavar, words in FILES_AND_TEXTS:
        judge.add_argument(option, metavar=metavar, help=words)
    judge.add_argument("--junit", metavar="FILE", action="append", help="JUnit XML as a result of CI; may be repeated")
    judge.add_argument("--tier", choices=("heuristic", "hybrid", "llm"), help=TIERS)
    judge.add_argument("--json", action="store_true", help="print the verdict as JSON and nothing else")
    judge.set_defaults(run=_judge)


def _bench_options(bench: argparse.ArgumentParser) -> None:
    bench.add_argument("files", nargs="+", metavar="FILE", help="JSON lines, packed with gzip or not")
    bench.add_argument(
        "--out", metavar="DIR", required=True, help="where verdicts and report go; a stopped run goes on"
    )
    bench.add_argument("--tier", choices=("heuristic", "hybrid", "llm"), help=TIERS)
    bench.add_argument("--rubric", metavar="FILE", help="judge by this rubric (default: the one that ships with Assay)")
    bench.add_argument("--against", metavar="DIR", help="compare with an earlier run, dossier by dossier")
    bench.add_argument("--jobs", type=_jobs, metavar="N", help="processes (default: one for each core)")
    bench.set_defaults(run=_bench)


def _jobs(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MOST_JOBS}, found {text!r}")
    return int(text)


def _bench(arguments: argparse.Namespace) -> Answer:
    from app.commands_bench import bench

    return bench(arguments)


def _judge(arguments: argparse.Namespace) -> Answer:
    gc.disable()  # until all is loaded (`judge` turns it on): looking for garbage in that takes a tenth of the time
    from app.commands_judge import judge

    return judge(arguments)


def _up(_: argparse.Namespace) -> Answer:
    from app.commands_up import up

    return up()


def _serve(arguments: argparse.Namespace) -> Answer:
    from app.commands_serve import serve

    return serve(arguments.end_with)


def _work(arguments: argparse.Namespace) -> Answer:
    from app.commands_serve import work

    return work(arguments.end_with)


def _doctor(_: argparse.Namespace) -> Answer:
    from app.commands_doctor import doctor

    return doctor()


class ShowVersion(argparse.Action):
    """Looks the version up only when somebody asks: that takes longer than all the rest of `--help`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"assay {version('assay')}")
        parser.exit()


class Edge:
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
                quiet(sys.stdout)
            case Exception():
                self.code = self._failed(error)
            case _:
                return False
        return True

    def _failed(self, error: Exception) -> Exit:
        from worker.errors import AssayError, Gone, LeaseLost, Unavailable

        match error:
            case LeaseLost():
                return self._say("Another process took this judging over. Judge again.", Exit.FAILED)
            case Unavailable():
                return self._say(f"{error}. Try again later.", Exit.FAILED)
            case Gone():
                return self._say(f"There is nothing to judge: {error}.", Exit.USAGE)
            case AssayError():
                return self._say(str(error), Exit.USAGE)
            case _:
                from app.commands_crash import recorded

                return self._say(f"Assay itself failed. {recorded(error)}", Exit.FAILED)

    def _say(self, words: str, code: Exit) -> Exit:
        """Tell whoever still reads; nobody there is no reason for another exit code."""
        try:
            print(f"assay: {words}", file=sys.stderr, flush=True)
        except OSError:
            quiet(sys.stderr)
        return code


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is at the bottom of it: what it interrupts may make another error of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


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

        quiet(sys.stdout)
        raise InputError(f"The result can't be written to standard output: {error.strerror}.") from error


def quiet(stream: TextIO) -> None:
    """Whoever read it has gone: write the rest nowhere, also what Python flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
