"""`assay judge --output`: judge the output of a delegated task, or of a batch, against acceptance criteria.

All of a batch is read before the first is judged; results without criteria are printed unchanged.
"""

import argparse
import gc
import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from app.cli.exit_codes import CommandResult, Exit
from app.cli.terminal import read_text
from worker.errors import InputError
from worker.judge.task_judgement import Criteria, TaskRuling, criteria_from

BATCH_SUFFIX: Final = ".jsonl"
CHECKOUT_OPTIONS: Final = ("base", "head", "issue", "case", "body", "junit", "save_dossier", "tier", "format")
EXIT_CODES: Final = {TaskRuling.PASS: Exit.ACCEPT, TaskRuling.FAIL: Exit.REJECT, TaskRuling.UNAVAILABLE: Exit.ABSTAIN}


class DelegatedTask(NamedTuple):
    """One line of a batch: the result as received, its text, and its criteria."""

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
    criteria = read_text(arguments.criteria, "--criteria") if arguments.criteria else None
    output = read_text(arguments.output, "--output") or ""
    if arguments.output.endswith(BATCH_SUFFIX):
        lines = enumerate(output.split("\n"), start=1)
        return _batch([_task(line, f"{arguments.output}:{at}", criteria) for at, line in lines if line.strip()])
    from worker.publishing.texts.audit import judgement_report
    from worker.wiring.delegate import judge_output

    judgement = judge_output(output, criteria)
    text = f"{judgement.model_dump_json(indent=2)}\n" if arguments.json else judgement_report(judgement)
    return CommandResult(EXIT_CODES[judgement.verdict], text)


def _batch(tasks: Sequence[DelegatedTask]) -> CommandResult:
    """The same lines with `judge` added. Exit code: that of a FAIL, else that of an unavailable judgement, else 0."""
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


def _task(line: str, location: str, criteria: Criteria) -> DelegatedTask:
    """One task's result; *criteria* apply if it has none. Raises InputError."""
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
    criteria = criteria if own is None else _task_criteria(own, location)
    try:
        criteria_from(criteria)
    except ValueError as error:
        raise InputError(f"{location}: acceptance_criteria: {error}.") from error
    return DelegatedTask(result, output, criteria)


def _task_criteria(value: object, location: str) -> Criteria:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value)):
        return cast("list[str]", value)
    raise InputError(f"{location}: acceptance_criteria: expected a text or a list of texts: docs/delegate.md.")
