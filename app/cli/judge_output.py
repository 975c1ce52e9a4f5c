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

from app.cli.exit_codes import Answer, Exit
from worker.errors import InputError
from worker.judge.task_judgement import Criteria, Ruling, criteria_from

BATCH: Final = ".jsonl"
OTHERS: Final = ("base", "head", "issue", "case", "body", "junit", "save_dossier", "tier", "format")
CODES: Final = {Ruling.PASS: Exit.ACCEPT, Ruling.FAIL: Exit.REJECT, Ruling.UNAVAILABLE: Exit.ABSTAIN}


class Task(NamedTuple):
    """One line of a batch: the result as it came, its text, and what it has to meet."""

    result: Mapping[str, object]
    output: str
    criteria: Criteria


def judge_outputs(arguments: argparse.Namespace) -> Answer:
    """Judge one output, or a batch: JSON lines with criteria of their own."""
    gc.enable()
    if other := next((name for name in OTHERS if getattr(arguments, name) is not None), None):
        raise InputError(f"--{other.replace('_', '-')} does not go with --output, which judges a text. Leave it out.")
    if arguments.output == arguments.criteria == "-":
        raise InputError("--output and --criteria can't both read standard input. Name a file for one of them.")
    criteria = _text(arguments.criteria, "--criteria") if arguments.criteria else None
    given = _text(arguments.output, "--output")
    if arguments.output.endswith(BATCH):
        return _batch([*_tasks(given, arguments.output, criteria)])
    return _single(given, criteria, is_json=arguments.json)


def _single(output: str, criteria: Criteria, *, is_json: bool) -> Answer:
    from worker.publishing.texts.judgement import told
    from worker.wiring.delegate import judge_output

    judgement = judge_output(output, criteria)
    text = f"{judgement.model_dump_json(indent=2)}\n" if is_json else told(judgement)
    return Answer(CODES[judgement.verdict], text)


def _batch(tasks: Sequence[Task]) -> Answer:
    """The same lines with `judge` added. A FAIL decides the exit code, else an output that nobody judged."""
    from worker.errors import Unavailable
    from worker.settings import from_environment
    from worker.wiring.delegate import enriched, judge_output, open_judge

    if not any(task.criteria for task in tasks):
        return Answer(Exit.ACCEPT, _lines([task.result for task in tasks]))
    try:
        with open_judge(from_environment()) as judge:
            done = [enriched(*task, judge) for task in tasks]
    except Unavailable:
        done = [enriched(*task, judge_output) for task in tasks]
    rulings = {cast("dict[str, str]", one["judge"])["verdict"] for one in done if "judge" in one}
    worst = next((one for one in (Ruling.FAIL, Ruling.UNAVAILABLE) if one in rulings), Ruling.PASS)
    return Answer(CODES[worst], _lines(done))


def _lines(results: Sequence[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in results)


def _tasks(given: str, name: str, criteria: Criteria) -> Iterator[Task]:
    for number, line in enumerate(given.split("\n"), start=1):
        if line.strip():
            yield _task(line, f"{name}:{number}", criteria)


def _task(line: str, place: str, criteria: Criteria) -> Task:
    """One task's result; *criteria* are for those that bring none. Raises InputError."""
    try:
        read: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}. Expected one JSON object a line: docs/delegate.md.") from error
    if not isinstance(read, dict):
        raise InputError(f"{place}: expected a JSON object: docs/delegate.md.")
    result = cast("dict[str, object]", read)
    output = result.get("output", result.get("summary"))
    if not isinstance(output, str):
        raise InputError(f'{place}: "output" (or "summary"): expected a text: docs/delegate.md.')
    own = result.get("acceptance_criteria")
    return Task(result, output, _usable(criteria if own is None else _own(own, place), place))


def _usable(criteria: Criteria, place: str) -> Criteria:
    """The same criteria: what can't be used of them is to be found out before anything is judged and paid for."""
    try:
        criteria_from(criteria)
    except ValueError as error:
        raise InputError(f"{place}: acceptance_criteria: {error}.") from error
    return criteria


def _own(given: object, place: str) -> Criteria:
    if isinstance(given, str):
        return given
    if isinstance(given, list) and all(isinstance(one, str) for one in cast("list[object]", given)):
        return cast("list[str]", given)
    raise InputError(f"{place}: acceptance_criteria: expected a text or a list of texts: docs/delegate.md.")


def _text(name: str, option: str) -> str:
    if name == "-" and sys.stdin is None:
        raise InputError(f"{option}: - is standard input, which is closed. Name a file.")
    try:
        return (sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()).decode()
    except OSError as error:
        raise InputError(f"{option}: {name} can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{option}: {name} is not UTF-8 at byte {error.start}. Save it as UTF-8.") from error
