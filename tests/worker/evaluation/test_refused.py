"""A rubric that was edited and kept its version judges nothing live, and what judging on a laptop looks after."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from app.cli.doctor import doctor
from app.cli.parser import build_parser
from tests.worker.adapters.redis.store_samples import KEY, expire_lease, judge_request, pull_ref
from tests.worker.adapters.redis.test_event_stream import evaluation_started, event_kinds, expire_evaluation_deadlines
from tests.worker.adapters.redis.test_lease_writes import start_judging_new
from tests.worker.evaluation.bench.samples import STUB
from tests.worker.evaluation.live_judging import AssayCommand, dossier, rubric
from tests.world.redis import RedisServer
from worker.adapters.redis.judging.pull_requests import DispatchLimits
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.verdict.rubric import VersionedRubric
from worker.errors import RubricRefused
from worker.judge.context import JudgeContext
from worker.judge.rubric import load_ci_check_rubric, load_prompt, load_pull_request_rubric, load_rubric
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, NullStatusReporter, judge_pull_request
from worker.scheduling.record import VerdictRecorder
from worker.settings import Settings
from worker.wiring.cli import RecordedSource, judge_locally

EDITED = load_rubric().model_copy(update={"escalation_threshold": 0.123})
CHECKS = load_ci_check_rubric().model_copy(update={"passed": 0.9})
WHOLES = load_pull_request_rubric().model_copy(update={"last": 0.6})


def test_a_judging_by_it_ends_as_rubric_invalid_and_leaves_no_verdict(store: Store) -> None:
    store.rubrics.admit(EDITED)
    store.pulls.request_judging(judge_request())
    job = store.pulls.next_due("call", DispatchLimits(1, 10))
    assert job is not None
    taken = store.pulls.take_lease(judge_request().pull, job.fence)
    assert taken is not None
    source, bench = RecordedSource(dossier(1, STUB)), JudgeContext(load_rubric(), load_prompt(), 0.0)
    deps = JudgingDependencies(
        source=source,
        status=NullStatusReporter(source),
        ledger=store.ledger,
        recorder=VerdictRecorder(store.ledger, store.archive, store.events, taken.lease),
        context=bench,
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
        rubric_problem=store.rubrics.refusal(bench.rubric),
    )
    with pytest.raises(RubricRefused, match="raise it"):
        judge_pull_request(judge_request(), deps)
    assert store.ledger.entries(judge_request().pull) == ()
    began, ended = (one.raw.decode() for one in store.events.read(judge_request().pull.installation_id))
    assert '"judge_kind_planned"' in began
    assert '"failure_mode":"rubric_invalid"' in ended


def test_a_judging_on_a_laptop_remembers_its_rubric_and_judges_by_no_edited_one(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
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
@pytest.mark.parametrize("edited", [EDITED, CHECKS, WHOLES], ids=lambda one: one.id)
def test_no_worker_starts_with_it(store: Store, redis_server: RedisServer, edited: VersionedRubric) -> None:
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


def diagnosis() -> str:
    return " ".join(doctor(build_parser("doctor").parse_args(["doctor"])).text.split())


@pytest.mark.usefixtures("assay")
@pytest.mark.parametrize("edited", [EDITED, CHECKS, WHOLES], ids=lambda rubric: rubric.id)
def test_the_doctor_says_it_and_remembers_nothing(store: Store, edited: VersionedRubric) -> None:
    assert "raise it" not in diagnosis()
    store.rubrics.admit(edited)
    assert "wrong Rubric" in diagnosis()
    assert "raise it" in diagnosis()


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/nowhere.yml", "wrong Canary /nowhere.yml can't be read"),
        ("rubrics/default.yml", "judges beside the active rubric, at $0, by code alone"),
    ],
)
def test_the_doctor_looks_at_the_canary(assay: AssayCommand, file: str, said: str) -> None:
    assay.set_environment(ASSAY_CANARY_RUBRIC=file)
    assert said in diagnosis()


def test_the_next_judging_on_a_laptop_ends_the_evaluations_whose_judges_are_dead(
    store: Store, settings: Settings
) -> None:
    store.events.record_started(pull_ref(), start_judging_new(store).lease.fence, evaluation_started("e"))
    expire_lease(store, pull_ref())
    expire_evaluation_deadlines(store)
    source = RecordedSource(dossier(1, STUB))
    judge_locally(settings, store, source, source.request(SystemClock().now()))
    assert event_kinds(store) == ["eval.started", "eval.failed"]
