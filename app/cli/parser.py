"""The commands and their options. A command's module is imported, and its options are created, only when it is called."""

import argparse
import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn


class Exit(IntEnum):
    ACCEPT = 0
    REJECT = 1
    USAGE = 2
    ABSTAIN = 3
    FAILED = 4
    INTERRUPTED = 130


VERDICT_EXITS: Final = {"accept": Exit.ACCEPT, "reject": Exit.REJECT, "abstain": Exit.ABSTAIN}


class CommandResult(NamedTuple):
    """The exit code, and the text for standard output: printed last, so that a closed pipe changes no exit code."""

    code: int
    text: str = ""


EXIT_CODES_HELP: Final = """\
exit codes: 0 accept, 1 reject, 2 the call or the settings have to change,
            3 abstain (not judged), 4 Assay itself failed, 130 interrupted"""

EXAMPLES: Final = """\
examples:
  assay judge --example           a tiny repository with a half finished change
  assay judge --issue ISSUE.md    this branch against its merge base
  assay judge acme/widgets#12     a pull request on GitHub; nothing is posted
"""

COMPLETION_EXAMPLES: Final = """\
examples:
  assay completion bash > ~/.local/share/bash-completion/completions/assay
  assay completion zsh > _assay                  in a folder of $fpath
"""

SOURCE_OPTIONS: Final = (
    ("--base", "REF", "what the branch started from (default: the remote's main branch)"),
    ("--head", "REF", "what to judge (default: HEAD)"),
    ("--issue", "FILE", "the issue that it answers, in Markdown; - reads standard input"),
    ("--case", "FILE", "the author's case (default: the `assay` block of --body or of the last commit)"),
    ("--body", "TEXT", "the pull request's description (default: the last commit's message)"),
    ("--save-dossier", "FILE", "keep what was judged, to judge it again with --dossier"),
)
COMPLETED: Final = {"FILE": "FILE", "DIR": "DIRECTORY"}
"""What a shell completes an argument by, which is called so, in the words of the library."""
EVAL_ID_HELP: Final = "the verdict's id, as the check and `assay judge` print it"
MOST_JOBS: Final = 256
DAY_S: Final = 86_400
RUBRIC_HELP: Final = "a rubric's file, or `default` for the one that ships with Assay"
TIME_HELP: Final = "a date or a time like 2026-11-20T15:00Z, or how long ago like 7d, 24h"
UNTIL_HELP: Final = "how long, like 90m, 2h or 3d, or a time like 2026-11-20T15:00Z"
REPOSITORY_HELP: Final = "the repository; without one: all of them"
WEEK_HELP: Final = "also estimate what the model costs for a week of this repository's pull requests"
GATE_HELP: Final = "also say what is missing in this repository for the check to be required"
TIER_HELP: Final = "code checks alone, the model too where they are not certain, or the model always"

Options = Callable[[argparse.ArgumentParser], None]


def argument_type(
    form: str, expected: str, convert: Callable[[str], Any] = str, is_allowed: Callable[[Any], bool] = lambda _: True
) -> Callable[[str], Any]:
    """What reads an argument of this *form*, a regular expression, and refuses all else."""

    def read(text: str) -> Any:
        if re.fullmatch(form, text, re.ASCII | re.DOTALL) and is_allowed(value := convert(text)):
            return value
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")

    return read


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


PATH: Final = argument_type(r".+", "a path")
"""An empty one, as from an unset shell variable, is refused."""
JOBS: Final = argument_type(r"\d{1,9}", f"a number from 1 to {MOST_JOBS}", int, lambda number: 0 < number <= MOST_JOBS)
NUMBER: Final = argument_type(r"\d{1,18}", "a number", int)
INSTALLATION: Final = argument_type(r"\d{1,18}", "an installation's number", int)
SECONDS: Final = argument_type(
    r"\d{1,5}(\.\d{1,3})?", f"seconds from 0 to {DAY_S}", float, lambda number: number <= DAY_S
)
DOLLARS: Final = argument_type(r"\d{1,6}(\.\d{1,9})?", "dollars like 2.50", _decimal)
TOKEN_NAME: Final = argument_type(r"[\w.-]{1,64}", "up to 64 letters, digits and -_.")
REPOSITORY: Final = argument_type(r"[\w.-]+/[\w.-]+", "OWNER/REPO")
PULL_REQUEST: Final = argument_type(r"[\w.-]+/[\w.-]+#\d{1,18}", "OWNER/REPO#N")


class CommandSpec(NamedTuple):
    """`run`: module and function that execute it. `description`: the first lines of `--help`."""

    name: str
    summary: str
    run: str
    options: Options
    description: str = ""
    epilog: str | None = None

    def __call__(self, arguments: argparse.Namespace) -> CommandResult:
        module, _, function = self.run.partition(":")
        return getattr(import_module(module), function)(arguments)


def complete(arguments: argparse.Namespace) -> CommandResult:
    """Print the completion script of a shell, made of the commands and their options."""
    import shtab

    parser = build_parser()
    for action in _walk_actions(parser):
        if completer := COMPLETED.get(str(action.metavar)):
            vars(action)["complete"] = getattr(shtab, completer)
    return CommandResult(Exit.ACCEPT, f"{shtab.complete(parser, arguments.shell)}\n")


def _walk_actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in vars(parser)["_actions"]:
        yield action
        if action.nargs == argparse.PARSER:
            for command in action.choices.values():
                yield from _walk_actions(command)


def completion_options(completion: argparse.ArgumentParser) -> None:
    completion.add_argument("shell", choices=("bash", "zsh"), metavar="bash|zsh", help="the shell it is for")


def no_options(_: argparse.ArgumentParser) -> None:
    pass


def json_option(command: argparse.ArgumentParser, printed: str = "it") -> None:
    command.add_argument("--json", action="store_true", help=f"print {printed} as JSON and nothing else")


def span_options(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument("--since", metavar="T", default=default, help=f"{TIME_HELP} (default: {default})")
    command.add_argument("--until", metavar="T", help=f"{TIME_HELP} (default: now)")


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
    for option, metavar, help_text in SOURCE_OPTIONS:
        judge.add_argument(option, metavar=metavar, help=help_text)
    judge.add_argument("--criteria", metavar="FILE", help="with --output: what it has to meet, in Markdown")
    judge.add_argument("--junit", metavar="FILE", action="append", help="JUnit XML as a result of CI; may be repeated")
    judge.add_argument("--tier", choices=("heuristic", "hybrid", "llm"), help=TIER_HELP)
    printed = judge.add_mutually_exclusive_group()
    printed.add_argument("--format", choices=("text", "json", "sarif"), help="what is printed (default: text)")
    printed.add_argument("--json", action="store_true", help="print the verdict as JSON and nothing else")


def bench_options(bench: argparse.ArgumentParser) -> None:
    bench.add_argument("files", nargs="+", metavar="FILE", help="JSON lines, packed with gzip or not")
    bench.add_argument(
        "--out", type=PATH, metavar="DIR", required=True, help="where verdicts and report go; a stopped run goes on"
    )
    bench.add_argument("--tier", choices=("heuristic", "hybrid", "llm"), help=TIER_HELP)
    bench.add_argument(
        "--rubric", type=PATH, metavar="FILE", help="judge by this rubric (default: the one that ships with Assay)"
    )
    bench.add_argument("--against", type=PATH, metavar="DIR", help="compare with an earlier run, dossier by dossier")
    bench.add_argument(
        "--max-usd",
        type=DOLLARS,
        metavar="N",
        help="the most that models may cost this run, with all that --out cost before",
    )
    bench.add_argument(
        "--record",
        action="store_true",
        help="tell of the verdicts on the stream, for `assay stats --subject benchmark`",
    )
    bench.add_argument("--jobs", type=JOBS, metavar="N", help="processes (default: one for each core)")


def evaluate_options(evaluate: argparse.ArgumentParser) -> None:
    span_options(evaluate, "7d")
    evaluate.add_argument(
        "--subject",
        choices=("submission", "merge_group", "ci_check", "pull_request"),
        default="submission",
        help="default: submission; ci_check and pull_request are rescored by code alone, at $0; the rows of a "
        "benchmark are rejudged by `assay bench`",
    )
    evaluate.add_argument(
        "--rubric",
        metavar="FILE",
        help="judge by this rubric (default: the one that ships with Assay); of a ci_check or pull_request the weights, "
        "or the rubric by which its submissions were rejudged",
    )
    evaluate.add_argument("--model", metavar="NAME", help="judge with this model (default: ASSAY_MODEL)")
    evaluate.add_argument(
        "--repository", type=REPOSITORY, metavar="OWNER/REPO", help="only what was judged in this one"
    )
    evaluate.add_argument(
        "--max-usd",
        type=DOLLARS,
        metavar="N",
        help="the most that models may cost, with what this same command has cost before",
    )
    evaluate.add_argument(
        "--override-caps", action="store_true", help="let --max-usd alone bound it: no pull request's or day's budget"
    )
    evaluate.add_argument("--dry-run", action="store_true", help="say how many and at what cost; judge nothing")
    evaluate.add_argument(
        "--jobs",
        type=JOBS,
        metavar="N",
        help="processes here (default: the workers of a running server; without one, a process for each core)",
    )
    json_option(evaluate, "what came of it")


def rubric_options(rubric: argparse.ArgumentParser) -> None:
    what = rubric.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="answer")
    check = what.add_parser("check", help="read a rubric strictly: what is wrong is named by its path")
    check.add_argument("file", metavar="FILE", help=RUBRIC_HELP)
    diff = what.add_parser("diff", help="which recorded changes two rubrics decide otherwise, at $0")
    diff.add_argument("before", metavar="A", help=RUBRIC_HELP)
    diff.add_argument("now", metavar="B", help=RUBRIC_HELP)
    diff.add_argument(
        "--prompt", metavar="FILE", help="hold what was judged with this prompt by B against what was with ours by A"
    )
    span_options(diff, "30d")
    json_option(diff)
    promote = what.add_parser("promote", help="let a signal reject alone again that demoted itself")
    promote.add_argument("signal", metavar="SIGNAL")
    promote.add_argument("--installation", metavar="N", type=NUMBER, required=True, help="as the notice names it")


def explain_options(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("signal", metavar="NAME", help="a signal, as findings and docs/signals.md name it")


def config_options(config: argparse.ArgumentParser) -> None:
    what = config.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="answer")
    check = what.add_parser("check", help="read a file strictly: its mistakes by line, or every key with who sets it")
    check.add_argument("file", nargs="?", metavar="FILE", help="default: .github/assay.yml of this checkout")
    check.add_argument("--organisation", metavar="FILE", help="what holds for all repositories of the owner")
    json_option(check)
    what.add_parser("schema", help="print the JSON Schema, for editors")
    what.add_parser("reference", help="print every key with its default and an example")


def case_options(case: argparse.ArgumentParser) -> None:
    what = case.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="answer")
    new = what.add_parser("new", help="draft the block: each criterion with the changed places that speak of it")
    check = what.add_parser("check", help="say what code will say of a case: exit code 0 fine, 2 something to mend")
    check.add_argument("file", nargs="?", metavar="FILE", help="- reads standard input (default: the description)")
    for command in (new, check):
        command.set_defaults(junit=None)
        for option, metavar, help_text in SOURCE_OPTIONS:
            if option in ("--base", "--head", "--issue", "--body"):
                command.add_argument(option, metavar=metavar, help=help_text)


def process_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--end-with", type=int, metavar="PID", help=argparse.SUPPRESS)


def doctor_options(doctor: argparse.ArgumentParser) -> None:
    doctor.add_argument("repository", nargs="?", type=REPOSITORY, metavar="OWNER/REPO", help=WEEK_HELP)
    doctor.add_argument("--repo", type=REPOSITORY, metavar="OWNER/REPO", help=GATE_HELP)
    doctor.add_argument("--strict", action="store_true", help="exit 2 for warnings, too")


def show_options(show: argparse.ArgumentParser) -> None:
    show.add_argument("eval_id", metavar="EVAL_ID", help=EVAL_ID_HELP)
    json_option(show)


def replay_options(replay: argparse.ArgumentParser) -> None:
    replay.add_argument("eval_id", metavar="EVAL_ID", help=EVAL_ID_HELP)
    replay.add_argument("--ask", action="store_true", help="rejudge, as a new entry; costs what asking the model does")
    replay.add_argument("--model", metavar="NAME", help="rejudge with this model")
    replay.add_argument("--rubric", metavar="FILE", help="rejudge by this rubric")
    json_option(replay, "what came of it")


def report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument("eval_id", metavar="EVAL_ID", help=EVAL_ID_HELP)
    report.add_argument("--out", metavar="FILE", help="default: assay-report-EVAL_ID.json here; - prints it")


def forget_options(forget: argparse.ArgumentParser) -> None:
    forget.add_argument("repository", metavar="OWNER/REPO")
    forget.add_argument("--yes", action="store_true", help="delete it; without this, only say what is stored")


def pause_options(command: argparse.ArgumentParser) -> None:
    resume_options(command)
    command.add_argument("--until", metavar="T", help=f"{UNTIL_HELP} (default: until it is resumed)")
    command.add_argument("--reason", metavar="TEXT", help="why, in a sentence: it stands on every check")
    command.add_argument("--by", metavar="NAME", help="whose name stands on every check (default: yours here)")
    command.add_argument("--list", action="store_true", help="only show where judging is paused, until when, and why")


def move_options(move: argparse.ArgumentParser) -> None:
    move.add_argument("installation", type=INSTALLATION, metavar="INSTALLATION", help="its number")
    move.add_argument("--to", metavar="CELL", required=True, help="a name of ASSAY_CELLS, or main")


def resume_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("repository", nargs="?", type=REPOSITORY, metavar="OWNER/REPO", help=REPOSITORY_HELP)
    command.add_argument("--repo", type=REPOSITORY, metavar="OWNER/REPO", help="the same")


def token_options(token: argparse.ArgumentParser) -> None:
    actions = token.add_subparsers(title="what to do", metavar="create|list|revoke", required=True, dest="answer")
    create = actions.add_parser("create", help="make one, and print it once")
    create.add_argument("name", metavar="NAME", type=TOKEN_NAME, help="what it is for: letters, digits and -_.")
    create.add_argument(
        "--installation", metavar="NUMBER", type=INSTALLATION, action="append", required=True,
        help="an installation whose figures it reads; may be repeated",
    )  # fmt: skip
    actions.add_parser("list", help="all that were made and not revoked, without the tokens")
    revoke = actions.add_parser("revoke", help="revoke one")
    revoke.add_argument("name", metavar="NAME", type=TOKEN_NAME)


def stats_options(stats: argparse.ArgumentParser) -> None:
    stats.add_argument("--from", dest="since", metavar="T", help=f"{TIME_HELP} (default: 7d)")
    stats.add_argument("--to", dest="until", metavar="T", help=f"{TIME_HELP} (default: now)")
    stats.add_argument(
        "--subject", metavar="KIND", help="submission (default), merge_group, ci_check, pull_request, benchmark, all"
    )
    stats.add_argument(
        "--group-by", metavar="WHAT", help="author_agent (default), judge_kind, rubric, repository, category, none"
    )
    stats.add_argument(
        "--min-confidence", metavar="N", help="means and percentiles of verdicts at least this confident"
    )
    stats.add_argument(
        "--agreement-window", metavar="N", help="how far apart two scores may be to agree (default: 0.15)"
    )
    stats.add_argument("--view", metavar="WHICH", help="verdicts (default), opinions or canaries")
    what = stats.add_mutually_exclusive_group()
    what.add_argument(
        "--would-block", action="store_true", help="what would have been blocked, and what people did about it"
    )
    what.add_argument(
        "--overrides", action="store_true", help="what people did about rejects, by signal, category and rubric"
    )
    what.add_argument("--agents", action="store_true", help="agents' scorecards")
    installations_option(stats)
    json_option(stats, "the answers")


def history_options(history: argparse.ArgumentParser) -> None:
    history.add_argument("pull", type=PULL_REQUEST, metavar="OWNER/REPO#N")
    json_option(history)


def wait_options(wait: argparse.ArgumentParser) -> None:
    wait.add_argument("commit", metavar="OWNER/REPO@SHA")
    wait.add_argument("--timeout", type=SECONDS, default=600.0, metavar="S", help="wait so many seconds (default: 600)")
    json_option(wait)


def export_options(export: argparse.ArgumentParser) -> None:
    export.add_argument(
        "--format", choices=("jsonl", "csv", "parquet"), default="jsonl", help="default: jsonl; parquet is an extra"
    )
    export.add_argument("--since", metavar="T", help=f"{TIME_HELP} (default: 7d)")
    export.add_argument("--until", metavar="T", help=f"{TIME_HELP} (default: now)")
    export.add_argument("--out", metavar="FILE", default="-", help="default: standard output")
    installations_option(export)


def installations_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--installation", metavar="NUMBER", type=INSTALLATION, action="append",
        help="only of this installation; may be repeated",
    )  # fmt: skip


COMMANDS: Final = (
    CommandSpec(
        "judge", "judge a branch, a pull request or a recorded dossier; posts nothing",
        "app.cli.judge:judge", judge_options,
        "Judge the current branch, a pull request on GitHub, or a recorded dossier.\nPosts nothing.", EXAMPLES + EXIT_CODES_HELP,
    ),
    CommandSpec(
        "bench", "judge recorded dossiers by the hundred, and report how right that was",
        "app.cli.bench:bench", bench_options,
        "Judge recorded dossiers, and report how right that was. The format of a line: docs/bench.md.",
    ),
    CommandSpec("up", "run all of Assay: Redis if none is configured, web server, dispatcher and worker", "app.cli.serve:up", no_options),
    CommandSpec("serve", "run the web server alone", "app.cli.serve:serve", process_options),
    CommandSpec("work", "run dispatcher and worker alone", "app.cli.serve:work", process_options),
    CommandSpec("doctor", "check every setting and connection, and say what to do", "app.cli.doctor:doctor", doctor_options),
    CommandSpec("show", "tell all that is on record of a verdict", "app.cli.audit:show", show_options),
    CommandSpec(
        "replay", "judge a recorded dossier again: with the recorded replies at $0, or by asking the model",
        "app.cli.audit:replay", replay_options,
    ),
    CommandSpec(
        "report", "write a verdict's dossier without its secrets, to report a wrong verdict",
        "app.cli.audit:report", report_options,
    ),
    CommandSpec(
        "evaluate", "rejudge the recorded changes of a window by another rubric or model, and compare",
        "app.cli.evaluate:evaluate", evaluate_options,
    ),
    CommandSpec("rubric", "check a rubric, or compare two of them on what is on record", "app.cli.rubric:rubric", rubric_options),
    CommandSpec("explain", "what a signal does, with an example and its false alarms", "app.cli.rubric:explain", explain_options),
    CommandSpec("config", "check a repository's .github/assay.yml", "app.cli.config:config", config_options),
    CommandSpec("stats", "quality, cost, agreement and backlog of what was judged", "app.cli.stats:stats", stats_options),
    CommandSpec(
        "history", "a pull request's verdicts, and what was done about them", "app.cli.stats:history", history_options
    ),
    CommandSpec(
        "case", "draft the author's case of this branch, or check one", "app.cli.case:case", case_options,
        "Draft the block that says where each criterion is met, or say what code will say of one. How to write one: docs/case.md.",
    ),
    CommandSpec("wait", "wait for the verdict on one commit", "app.cli.wait:wait", wait_options),
    CommandSpec("export", "write verdicts as lines, for other programs", "app.cli.export:export", export_options),
    CommandSpec("forget", "delete all that is stored about a repository", "app.cli.audit:forget", forget_options),
    CommandSpec(
        "pause", "stop judging in a repository or everywhere, for a while: checks are neutral, no model is asked",
        "app.cli.pause:pause", pause_options,
    ),
    CommandSpec(
        "token", "who may read the figures over HTTP: create, list, revoke",
        "app.cli.audit:token", token_options,
    ),
    CommandSpec(
        "move", "move an installation to another cell: its deliveries are refused meanwhile", "app.cli.pause:move", move_options
    ),
    CommandSpec("resume", "go on judging where it was paused", "app.cli.pause:resume", resume_options),
    CommandSpec(
        "completion", "print a script by which a shell completes commands, options and files",
        "app.cli.parser:complete", completion_options,
        "Print a script by which a shell completes commands, options and files.", COMPLETION_EXAMPLES,
    ),
)  # fmt: skip


def build_parser(command_name: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or faster, of *command_name* alone."""
    top = argparse.ArgumentParser(
        prog="assay",
        description="Judges agent-written pull requests:\na proper solution, or does it just happen to pass?",
        epilog=EXIT_CODES_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=ShowVersion, nargs=0, help="print the version")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in [command for command in COMMANDS if command.name == command_name] or COMMANDS:
        description = command.description or f"{command.summary[0].upper()}{command.summary[1:]}."
        made = commands.add_parser(
            command.name, help=command.summary, description=description, epilog=command.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter if command.epilog else argparse.HelpFormatter,
        )  # fmt: skip
        command.options(made)
        made.set_defaults(run=command)
    return top


class ShowVersion(argparse.Action):
    """Reads the version only for `--version`: that takes longer than all the rest of `--help`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"assay {version('assay')}")
        parser.exit()
