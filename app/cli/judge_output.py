"""`assay judge --output`: holds the output of a delegated task, or of a batch of them, against acceptance criteria.

Does not judge itself (`worker.wiring.delegate` does). Invariant: results that bring no criteria come out as they went in, and all of a
batch is read before the first is judged.
"""

import argparse
import gc
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from app.cli.exit_codes import CommandResult, Exit
from worker.errors import InputError
from worker.judge.task_judgement import Criteria, TaskRuling, criteria_from

BATCH_SUFFIX: Final = ".jsonl"
CHECKOUT_OPTIONS: Final = ("base", "head", "issue", "case", "body", "junit", "save_dossier", "tier", "format")
EXIT_CODES: Final = {TaskRuling.PASS: Exit.ACCEPT, TaskRuling.FAIL: Exit.REJECT, TaskRuling.UNAVAILABLE: Exit.ABSTAIN}


class DelegatedTask(NamedTuple):
    """One line of a batch: the result as it came, its text, and what it has to meet."""

    result: Mapping[str, object]
    output: str
    criteria: Criteria


def judge_outputs(arguments: argparse.Namespace) -> CommandResult:
    """Judge one output, or a batch: JSON lines with criteria of their own."""
    gc.enable()
    if other := next((name for name in CHECKOUT_OPTIONS if getattr(arguments, name) is not None), None):
        raise InputError(f"--{other.replace('_', '-')} does not go with --output, which judges a text. Leave it out.")
    if arguments.output == arguments.criteria == "-":
        raise InputError("--output and --criteria can't both read standard input. Name a file for one of them.")
    criteria = _text(arguments.criteria, "--criteria") if arguments.criteria else None
    output = _text(arguments.output, "--output")
    if arguments.output.endswith(BATCH_SUFFIX):
        return _batch([*_tasks(output, arguments.output, criteria)])
    return _single(output, criteria, is_json=arguments.json)


def _single(output: str, criteria: Criteria, *, is_json: bool) -> CommandResult:
    from worker.publishing.texts.audit import judgement_report
    from worker.wiring.delegate import judge_output

    judgement = judge_output(output, criteria)
    text = f"{judgement.model_dump_json(indent=2)}\n" if is_json else judgement_report(judgement)
    return CommandResult(EXIT_CODES[judgement.verdict], text)


def _batch(tasks: Sequence[DelegatedTask]) -> CommandResult:
    """The same lines with `judge` added. A FAIL decides the exit code, else an output that nobody judged."""
    from worker.errors import Unavailable
    from worker.settings import load_settings
    from worker.wiring.delegate import add_judgement, judge_output, open_judge

    if not any(task.criteria for task in tasks):
        return CommandResult(Exit.ACCEPT, _lines([task.result for task in tasks]))
    try:
        with open_judge(load_settings()) as judge:
            done = [add_judgement(*task, judge) for task in tasks]
    except Unavailable:
        done = [add_judgement(*task, judge_output) for task in tasks]
    rulings = {cast("dict[str, str]", result["judge"])["verdict"] for result in done if "judge" in result}
    worst = next((ruling for ruling in (TaskRuling.FAIL, TaskRuling.UNAVAILABLE) if ruling in rulings), TaskRuling.PASS)
    return CommandResult(EXIT_CODES[worst], _lines(done))


def _lines(results: Sequence[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(result, ensure_ascii=False)}\n" for result in results)


def _tasks(text: str, name: str, criteria: Criteria) -> Iterator[DelegatedTask]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _task(line, f"{name}:{number}", criteria)


def _task(line: str, location: str, criteria: Criteria) -> DelegatedTask:
    """One task's result; *criteria* are for those that bring none. Raises InputError."""
    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{location}: not JSON: {error}. Expected one JSON object a line: docs/delegate.md."
        ) from error
    if not isinstance(read, dict):
        raise InputError(f"{location}: expected a JSON object: docs/delegate.md.")
    result = cast("dict[str, object]", read)
    output = result.get("output", result.get("summary"))
    if not isinstance(output, str):
        raise InputError(f'{location}: "output" (or "summary"): expected a text: docs/delegate.md.')
    own = result.get("acceptance_criteria")
    return DelegatedTask(
        result, output, _check_criteria(criteria if own is None else _task_criteria(own, location), location)
    )


def _check_criteria(criteria: Criteria, location: str) -> Criteria:
    """The same criteria: what can't be used of them is to be found out before anything is judged and paid for."""
    try:
        criteria_from(criteria)
    except ValueError as error:
        raise InputError(f"{location}: acceptance_criteria: {error}.") from error
    return criteria


def _task_criteria(value: object, location: str) -> Criteria:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value)):
        return cast("list[str]", value)
    raise InputError(f"{location}: acceptance_criteria: expected a text or a list of texts: docs/delegate.md.")


def _text(name: str, option: str) -> str:
    if name == "-" and sys.stdin is None:
        raise InputError(f"{option}: - is standard input, which is closed. Name a file.")
    try:
        return (sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()).decode()
    except OSError as error:
        raise InputError(f"{option}: {name} can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{option}: {name} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error
