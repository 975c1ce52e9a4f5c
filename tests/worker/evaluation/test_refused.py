"""An edited rubric that keeps its version judges nothing live or locally."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.doctor import doctor
from app.cli.parser import build_parser
from tests.worker.adapters.redis.store_samples import KEY, expire_lease, judge_request, pull_ref, start_judging_new
from tests.worker.adapters.redis.test_ledger_and_events import (
    evaluation_started,
    event_kinds,
    expire_evaluation_deadlines,
)
from tests.worker.evaluation.bench.samples import STUB
from tests.worker.evaluation.live_judging import AssayCommand, dossier, events, local_dependencies, rubric
from tests.world.redis import RedisServer
from worker.adapters.redis.store import Store
from worker.domain.verdict.verdict import VersionedRubric
from worker.errors import RubricRefused
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric, load_rubric
from worker.process import SystemClock
from worker.scheduling.pipeline import judge_pull_request
from worker.settings import Settings
from worker.wiring.cli import RecordedSource, judge_locally

EDITED = load_rubric().model_copy(update={"escalation_threshold": 0.123})
CHECK_WEIGHTS = load_ci_check_rubric().model_copy(update={"passed": 0.9})
PULL_REQUEST_WEIGHTS = load_pull_request_rubric().model_copy(update={"last": 0.6})


def test_edited_rubric_ends_a_judging_as_rubric_invalid(store: Store) -> None:
    store.rubrics.admit(EDITED)
    lease, problem = start_judging_new(store).lease, store.rubrics.refusal(load_rubric())
    with pytest.raises(RubricRefused, match="raise it"):
        judge_pull_request(judge_request(), local_dependencies(store, lease, dossier(1, STUB), rubric_problem=problem))
    assert store.ledger.entries(judge_request().pull) == ()
    (_, started), (_, ended) = events(store)
    assert "judge_kind_planned" in started
    assert ended["failure_mode"] == "rubric_invalid"


def test_local_judging_records_rubric_and_refuses_edited_one(store: Store, settings: Settings, tmp_path: Path) -> None:
    source = RecordedSource(dossier(1, STUB))
    request = source.request(SystemClock().now())
    assert judge_locally(settings, store, source, request).verdict.decision == "reject"
    poison = load_rubric(rubric(tmp_path, "default", load_rubric().version, parameter_unused="0.123"))
    assert "raise it" in (store.rubrics.check(poison) or "")
    store.client.call("FLUSHALL")
    store.rubrics.admit(poison)
    with pytest.raises(RubricRefused, match="raise it"):
        judge_locally(settings, store, source, request)
    assert store.ledger.entries(request.pull) == ()


@pytest.mark.slow
@pytest.mark.parametrize("edited", [EDITED, CHECK_WEIGHTS, PULL_REQUEST_WEIGHTS], ids=lambda rubric: rubric.id)
def test_worker_refuses_an_edited_rubric(store: Store, redis_server: RedisServer, edited: VersionedRubric) -> None:
    store.rubrics.admit(edited)
    done = subprocess.run(
        [sys.executable, "-m", "worker"],
        env={"PATH": os.defpath, "REDIS_URL": redis_server.url, "ASSAY_STORE_KEYS": KEY.get_secret_value()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f'The rubric "{edited.id}" was changed but still says version' in done.stderr


def run_doctor() -> str:
    return " ".join(doctor(build_parser("doctor").parse_args(["doctor"])).text.split())


@pytest.mark.usefixtures("assay")
@pytest.mark.parametrize("edited", [EDITED, CHECK_WEIGHTS, PULL_REQUEST_WEIGHTS], ids=lambda rubric: rubric.id)
def test_doctor_reports_an_edited_rubric_and_records_nothing(store: Store, edited: VersionedRubric) -> None:
    assert "raise it" not in run_doctor()
    store.rubrics.admit(edited)
    assert "wrong Rubric" in run_doctor()
    assert "raise it" in run_doctor()


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("/nowhere.yml", "wrong Canary /nowhere.yml can't be read"),
        ("rubrics/default.yml", "judges beside the active rubric, at $0, by code alone"),
    ],
)
def test_doctor_checks_the_canary_rubric(assay: AssayCommand, file: str, line: str) -> None:
    assay.set_environment(ASSAY_CANARY_RUBRIC=file)
    assert line in run_doctor()


def test_local_judging_ends_abandoned_evaluations(store: Store, settings: Settings) -> None:
    store.events.record_started(pull_ref(), start_judging_new(store).lease.fence, evaluation_started("e"))
    expire_lease(store, pull_ref())
    expire_evaluation_deadlines(store)
    source = RecordedSource(dossier(1, STUB))
    judge_locally(settings, store, source, source.request(SystemClock().now()))
    assert event_kinds(store) == ["eval.started", "eval.failed"]
