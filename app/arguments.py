"""The commands and their options.

Does not run them (`app.cli` does) and imports none of them before it is called. Invariant: what a command costs to name is a
line: where one is called, only its options are made.
"""

import argparse
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn

from app.exits import Answer

EXITS: Final = """\
exit codes: 0 accept, 1 reject, 2 something in the call or the settings has to change,
            3 abstain (nobody judged), 4 Assay itself failed, 130 interrupted"""

EXAMPLES: Final = """\
examples:
  assay judge --example                  a tiny repository with a half finished change
  assay judge --issue ISSUE.md           this branch against its merge base
  assay judge acme/widgets#12            a pull request on GitHub; nothing is posted
"""

FILES_AND_TEXTS: Final = (
    ("--base", "REF", "what the branch started from (default: the remote's main branch)"),
    ("--head", "REF", "what to judge (default: HEAD)"),
    ("--issue", "FILE", "the issue that it answers, in Markdown; - reads standard input"),
    ("--case", "FILE", "the author's case (default: the `assay` block of --body or of the last commit)"),
    ("--body", "TEXT", "the pull request's description (default: the last commit's message)"),
    ("--save-dossier", "FILE", "keep what was judged, to judge it again with --dossier"),
)
EVAL_ID: Final = "the verdict's id, as the check and `assay judge` print it"
MOST_JOBS: Final = 256
WEEK: Final = "also estimate what the model costs for a week of this repository's pull requests"
TIERS: Final = "code checks alone, the model too where they are not certain, or the model always"

Options = Callable[[argparse.ArgumentParser], None]


class Command(NamedTuple):
    """`run`: the module and the function that answers it, given the arguments. `told`: what `--help` says first."""

    name: str
    words: str
    run: str
    options: Options
    told: str = ""
    ending: str | None = None

    def __call__(self, arguments: argparse.Namespace) -> Answer:
        module, _, function = self.run.partition(":")
        return getattr(import_module(module), function)(arguments)


def no_options(_: argparse.ArgumentParser) -> None:
    """The command has none."""


def judge_options(judge: argparse.ArgumentParser) -> None:
    what = judge.add_mutually_exclusive_group()
    what.add_argument(
        "target", nargs="?", metavar="TARGET",
        help="OWNER/REPO#N or a pull request's URL; none: the branch that is checked out here",
    )  # fmt: skip
    what.add_argument("--dossier", metavar="FILE", help="judge a recorded dossier; - reads standard input")
    what.add_argument(
        "--output", metavar="FILE", help="judge the output of a delegated task; FILE.jsonl: of many, with criteria each"
    )
    what.add_argument("--example", action="store_true", help="make a tiny repository and judge it")
    for option, metavar, words in FILES_AND_TEXTS:
        judge.add_argument(option, metavar=metavar, help=words)
    judge.add_argument("--criteria", metavar="FILE", help="with --output: what it has to meet, in Markdown")
    judge.add_argument("--junit", metavar="FILE", action="append", help="JUnit XML as a result of CI; may be repeated")
    judge.add_argument("--tier", choices=("heuristic", "hybrid", "llm"), help=TIERS)
    judge.add_argument("--json", action="store_true", help="print the verdict as JSON and nothing else")


def bench_options(bench: argparse.ArgumentParser) -> None:
    bench.add_argument("files", nargs="+", metavar="FILE", help="JSON lines, packed with gzip or not")
    bench.add_argument(
        "--out", metavar="DIR", required=True, help="where verdicts and report go; a stopped run goes on"
    )
    bench.add_argument("--tier", choices=("heuristic", "hybrid", "llm"), help=TIERS)
    bench.add_argument("--rubric", metavar="FILE", help="judge by this rubric (default: the one that ships with Assay)")
    bench.add_argument("--against", metavar="DIR", help="compare with an earlier run, dossier by dossier")
    bench.add_argument(
        "--max-usd",
        type=dollars,
        metavar="N",
        help="the most that models may cost this run, with all that --out cost before",
    )
    bench.add_argument("--jobs", type=jobs, metavar="N", help="processes (default: one for each core)")


def process_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--end-with", type=int, metavar="PID", help=argparse.SUPPRESS)


def doctor_options(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument("repository", nargs="?", type=repository, metavar="OWNER/REPO", help=WEEK)


def show_options(show: argparse.ArgumentParser) -> None:
    show.add_argument("eval_id", metavar="EVAL_ID", help=EVAL_ID)
    show.add_argument("--json", action="store_true", help="print it as JSON and nothing else")


def replay_options(replay: argparse.ArgumentParser) -> None:
    replay.add_argument("eval_id", metavar="EVAL_ID", help=EVAL_ID)
    replay.add_argument(
        "--ask", action="store_true", help="judge anew, as a new entry; costs what asking the model does"
    )
    replay.add_argument("--model", metavar="NAME", help="judge anew with this model")
    replay.add_argument("--rubric", metavar="FILE", help="judge anew by this rubric")
    replay.add_argument("--json", action="store_true", help="print what came of it as JSON and nothing else")


def report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument("eval_id", metavar="EVAL_ID", help=EVAL_ID)
    report.add_argument("--out", metavar="FILE", help="default: assay-report-EVAL_ID.json here; - prints it")


def forget_options(forget: argparse.ArgumentParser) -> None:
    forget.add_argument("repository", metavar="OWNER/REPO")
    forget.add_argument("--yes", action="store_true", help="delete it; without this, only say what is stored")


def pause_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("repository", type=repository, metavar="OWNER/REPO")


COMMANDS: Final = (
    Command(
        "judge", "judge a branch, a pull request or a recorded dossier; posts nothing",
        "app.commands_judge:judge", judge_options,
        "Judge the current branch, a pull request on GitHub, or a recorded dossier. Posts nothing.", EXAMPLES + EXITS,
    ),
    Command(
        "bench", "judge recorded dossiers by the hundred, and report how right that was",
        "app.commands_bench:bench", bench_options,
        "Judge recorded dossiers, and report how right that was. The format of a line: docs/bench.md.",
    ),
    Command("up", "run all of Assay: Redis if none is configured, web door, dispatcher and worker", "app.commands_up:up", no_options),
    Command("serve", "run the web door alone", "app.commands_serve:serve", process_options),
    Command("work", "run dispatcher and worker alone", "app.commands_serve:work", process_options),
    Command("doctor", "check every setting and connection, and say what to do", "app.commands_doctor:doctor", doctor_options),
    Command("show", "tell all that is on record of a verdict", "app.commands_audit:show", show_options),
    Command(
        "replay", "judge a recorded dossier again: with the recorded replies at $0, or anew",
        "app.commands_audit:replay", replay_options,
    ),
    Command(
        "report", "write a verdict's dossier without its secrets, to report a wrong verdict",
        "app.commands_audit:report", report_options,
    ),
    Command("forget", "delete all that is stored about a repository", "app.commands_audit:forget", forget_options),
    Command(
        "pause", "stop all judging in one repository: its checks are neutral, no model is asked",
        "app.commands_pause:pause", pause_options,
    ),
    Command("resume", "go on judging in a repository that was paused", "app.commands_pause:resume", pause_options),
)  # fmt: skip


def parser(called: str | None = None) -> argparse.ArgumentParser:
    """The options of all commands, or of the one that is *called*, which is made sooner."""
    top = argparse.ArgumentParser(
        prog="assay",
        description="Judges agent-written pull requests: a proper solution, or does it just happen to pass?",
        epilog=EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=ShowVersion, nargs=0, help="print the version")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for one in [one for one in COMMANDS if one.name == called] or COMMANDS:
        told = one.told or f"{one.words[0].upper()}{one.words[1:]}."
        made = commands.add_parser(
            one.name, help=one.words, description=told, epilog=one.ending,
            formatter_class=argparse.RawDescriptionHelpFormatter if one.ending else argparse.HelpFormatter,
        )  # fmt: skip
        one.options(made)
        made.set_defaults(run=one)
    return top


class ShowVersion(argparse.Action):
    """Looks the version up only when somebody asks: that takes longer than all the rest of `--help`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"assay {version('assay')}")
        parser.exit()


def jobs(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MOST_JOBS:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MOST_JOBS}, found {text!r}")
    return int(text)


def dollars(text: str) -> Any:
    from decimal import Decimal

    if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"expected dollars like 2.50, found {text!r}")
    return Decimal(text)


def repository(text: str) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"expected OWNER/REPO, found {text!r}")
    return text
