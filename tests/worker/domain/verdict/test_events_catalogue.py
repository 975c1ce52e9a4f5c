"""docs/events.md names every kind of event and every field that one has, and no other."""

import re
from pathlib import Path

from tests.worker.domain.verdict.test_events import begun, heard
from tests.worker.judge.verdicts import rejected, unjudged
from worker.domain.verdict.events import (
    EvalTrigger,
    EventKind,
    FailureMode,
    Sensitivity,
    failed_event,
    problem_events,
    started_event,
    terminal_event,
)

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "events.md").read_text()
FRAME = {"v", "eval_id", "subject_kind", "subject_id", "repository_id", "number", "sensitivity"}


def section(name: str) -> str:
    return PAGE.split(f"### {name}", 1)[1].split("\n##", 1)[0]


def named(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


def test_every_kind_and_every_way_to_fail_is_in_the_catalogue() -> None:
    table = set(re.findall(r"^\| `([a-z._]+)` \|", PAGE, re.MULTILINE))
    assert {member.value for member in EventKind} <= table
    assert {member.value for member in FailureMode} <= table
    assert {member.value for member in Sensitivity} <= set(re.findall(r"\*([a-z_]+)\*", PAGE))
    assert {member.value for member in EvalTrigger} <= named(section("eval.started"))


def test_every_field_is_in_the_catalogue_and_no_other() -> None:
    began = set(started_event(begun()).body) - FRAME
    assert began == {"rubric_id", "rubric_version", "judge_kind_planned", "trigger"}
    assert began <= named(section("eval.started"))
    fields = set(terminal_event(rejected(), EvalTrigger.BUS).body) - FRAME
    assert fields == {field for field in named(section("eval.completed")) if field != "child_eval_ids"}
    lost = set(failed_event(begun(), FailureMode.SUBJECT_NOT_FOUND).body) - FRAME
    assert lost <= named(section("eval.failed"))
    failure = set(terminal_event(unjudged(), EvalTrigger.BUS).body) - FRAME
    assert failure == fields | {"failure_mode", "error_message"}
    (trouble,) = problem_events(heard("not_json"), None)
    assert set(trouble.body) - FRAME <= named(section("case_parse_error"))
