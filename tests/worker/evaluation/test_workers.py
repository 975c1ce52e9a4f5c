"""Judgings anew by the workers of a running server, and the canary's, beside the live ones."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.main import main
from tests.app.cli.assay_command import ASSAY
from tests.worker.adapters.redis.store_samples import judge_request, wait_until
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import (
    ALL_TIME,
    ROOT,
    SUSPICIOUS,
    judge_live,
    order,
    read_survey,
    rubric,
    terms,
)
from tests.worker.scheduling.scripted_judging import ScriptedGitHub
from tests.worker.scheduling.worker_processes import WorkerProcess
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.redis import RedisServer
from tests.world.replies import cannot_tell
from worker.adapters.redis.store import Store
from worker.domain.dossier import CiCheck
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.recorded_verdicts import RecordedVerdict, RejudgeSelection, Surveyor
from worker.evaluation.rejudge import RejudgeRun
from worker.scheduling.queue import EvaluateQueue, JudgeQueue
from worker.settings import Settings
from worker.settings import environment as environ

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("assay")]
"""A server of several processes."""


def history(store: Store, here: Settings) -> list[LedgerEntry]:
    return [judge_live(store, here, number, STUB if number % 2 else DONE) for number in range(1, 9)]


def test_the_workers_of_a_running_server_judge_a_batch(
    store: Store, settings: Settings, redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    made = history(store, settings)
    with WorkerProcess.on(redis_server.url, 2, ASSAY_TIER="heuristic") as working:
        assert wait_until(lambda: EvaluateQueue.from_settings(settings).workers() == 2)
        assert JudgeQueue(settings).workers() == 2, "those for live judgings are others"
        assert main(["evaluate", "--json"]) == 0
        assert '"verdict re-evaluated"' in working.log
        assert working.popen.poll() is None
    said = json.loads(capsys.readouterr().out)
    assert (said["answered"], said["earlier"], said["left"]) == (8, 0, 0)
    assert all(len(store.ledger.entries(order(one).pull)) == 2 for one in made)
    assert main(["evaluate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["earlier"] == 8


def test_the_workers_of_a_running_server_weigh_checks_anew(
    store: Store, settings: Settings, redis_server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = tuple(CiCheck(name=f"c{number}", app="a", conclusion="success") for number in range(6))
    made = judge_live(store, settings, 1, checks=checks)
    file = tmp_path / "strict.yml"
    shipped = (ROOT / "rubrics" / "ci_check.yml").read_text()
    file.write_text(shipped.replace("id: ci_check", "id: strict").replace("passed: 1.0", "passed: 0.9"))
    command = ["evaluate", "--subject", "ci_check", "--rubric", str(file), "--json"]
    with WorkerProcess.on(redis_server.url, 1, ASSAY_TIER="heuristic") as working:
        assert wait_until(lambda: EvaluateQueue.from_settings(settings).workers() == 1)
        assert main(command) == 0, working.log
        assert '"verdict re-evaluated"' in working.log
    said = json.loads(capsys.readouterr().out)
    assert (said["answered"], said["left"], said["mean_before"], said["mean_now"]) == (6, 0, 1.0, 0.9)
    assert len(store.ledger.entries(order(made).pull)) == 1 + 2 * len(checks)


def test_the_canary_judges_after_a_live_judging_and_harms_none(
    store: Store, settings: Settings, redis_server: RedisServer, tmp_path: Path
) -> None:
    made = judge_live(store, settings, 1)
    world, pull, file = ScriptedGitHub(store), order(made).pull, rubric(tmp_path)
    with WorkerProcess.on(redis_server.url, 1, ASSAY_TIER="heuristic", ASSAY_CANARY_RUBRIC=str(file)) as working:
        world.script(pull, "dropped")  # the job goes well, and the verdict on record is the last one
        store.pulls.request_judging(judge_request(1))
        assert wait_until(lambda: len(store.ledger.entries(pull)) == 2), working.log
        child = store.ledger.entries(pull)[1].verdict
        assert (child.rubric_id, child.signals["canary"], child.parent_eval_id) == ("candidate", True, made.eval_id)
        assert store.archive.find(child.eval_id) is None, "what it was judged from stands beside its parent"
        assert set(world.checks().values()) <= {"in_progress: Judging"}, "nobody is shown it"
        file.unlink()
        world.script(pull, "dropped")
        store.pulls.request_judging(judge_request(1))
        assert wait_until(lambda: "rubric_invalid" in told(store, made)), working.log
        assert len(world.notes("began")) == 2
        assert "Traceback" not in working.log


def told(store: Store, made: LedgerEntry) -> str:
    return "".join(one.raw.decode() for one in store.events.read(made.verdict.subject.installation_id))


def test_a_batch_that_is_interrupted_keeps_what_is_done_and_goes_on(
    store: Store, settings: Settings, model: FakeAnthropic
) -> None:
    made = [judge_live(store, settings, number, SUSPICIOUS) for number in (1, 2, 3)]
    told = {
        **environ(),
        "ASSAY_TIER": "hybrid",
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": model.url,
        "ASSAY_MODEL_ATTEMPTS": "1",
    }
    model.reply_with(cannot_tell())
    held = model.hold_reply(cannot_tell())
    command = [str(ASSAY), "evaluate", "--jobs", "1", "--max-usd", "1"]
    running = subprocess.Popen(command, env=told, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    held.wait_for_request()
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert (running.returncode, "1 of 3 are judged; the same command goes on from there." in said) == (130, True)
    held.release()
    assert sorted(len(store.ledger.entries(order(one).pull)) for one in made) == [1, 1, 2]
    model.reply_by(lambda _: cannot_tell())
    done = subprocess.run([*command, "--json"], env=told, text=True, capture_output=True, check=False)
    said_now = json.loads(done.stdout)
    assert (done.returncode, said_now["answered"], said_now["earlier"]) == (0, 3, 1)
    assert sorted(len(store.ledger.entries(order(one).pull)) for one in made) == [2, 2, 2]


def test_workers_that_went_away_keep_nobody_waiting(store: Store, settings: Settings) -> None:
    orders = [order(one) for one in history(store, settings)]
    by = terms(settings)
    run = RejudgeRun(settings, store, by, orders)
    assert list(run.run_by_workers(read_survey(store, by.law))) == []
    names = [f"anew-{one.eval_id}-{by.law}" for one in orders]
    assert EvaluateQueue.from_settings(settings).find_unfinished(names) == set(), "nothing of it is left in the queue"
    assert len(read_survey(store, by.law).survey.unanswered_verdicts) == len(orders)


def test_an_interrupt_takes_back_what_no_worker_has_begun(store: Store, settings: Settings) -> None:
    orders = [order(one) for one in history(store, settings)]
    by = terms(settings)

    class Interrupted(Surveyor):
        def read_new(self) -> Iterator[RecordedVerdict]:
            assert len(EvaluateQueue.from_settings(settings).find_unfinished(names)) == len(orders)
            raise KeyboardInterrupt

    names = [f"anew-{one.eval_id}-{by.law}" for one in orders]
    interrupted = Interrupted(store, RejudgeSelection(SubjectKind.SUBMISSION, ALL_TIME, by.law))
    with pytest.raises(KeyboardInterrupt):
        list(RejudgeRun(settings, store, by, orders).run_by_workers(interrupted))
    assert EvaluateQueue.from_settings(settings).find_unfinished(names) == set()
