"""Re-evaluations and canaries by the workers of a running server."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.main import main
from tests.app.cli.assay_command import ASSAY
from tests.worker.adapters.redis.store_samples import judge_request, wait_until
from tests.worker.evaluation import live_judging as live
from tests.worker.evaluation.bench.samples import DONE, STUB
from tests.worker.evaluation.live_judging import ALL_TIME, ROOT, SUSPICIOUS
from tests.worker.scheduling.scripted_judging import ScriptedGitHub
from tests.worker.scheduling.worker_processes import WorkerProcess
from tests.world.fake_anthropic import FakeAnthropic
from tests.world.redis import RedisServer
from tests.world.replies import cannot_tell
from worker.adapters.redis.connection.client import whole
from worker.adapters.redis.store import Store
from worker.domain.dossier import CiCheck
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.recorded_verdicts import RecordedVerdict, RejudgeSelection, Surveyor
from worker.evaluation.rejudge import RejudgeRun
from worker.scheduling.queue import EVALUATE_QUEUE, EvaluateQueue, JudgeQueue
from worker.settings import Settings
from worker.settings import environment as environ

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("assay")]


def judge_history(store: Store, here: Settings) -> list[LedgerEntry]:
    return [live.judge_live(store, here, number, STUB if number % 2 else DONE) for number in range(1, 9)]


def test_workers_rejudge_a_batch(
    store: Store, settings: Settings, redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    made = judge_history(store, settings)
    with WorkerProcess.on(redis_server.url, 2, ASSAY_TIER="heuristic") as worker:
        assert wait_until(lambda: EvaluateQueue.from_settings(settings).workers() == 2)
        assert JudgeQueue(settings).workers() == 2, "live judgings have their own workers"
        assert main(["evaluate", "--json"]) == 0
        assert '"verdict re-evaluated"' in worker.log
        assert worker.popen.poll() is None
    summary = json.loads(capsys.readouterr().out)
    assert (summary["answered"], summary["earlier"], summary["left"]) == (8, 0, 0)
    assert all(len(store.ledger.entries(live.order(entry).pull)) == 2 for entry in made)
    assert main(["evaluate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["earlier"] == 8


def test_workers_rescore_checks(
    store: Store, settings: Settings, redis_server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = tuple(CiCheck(name=f"c{number}", app="a", conclusion="success") for number in range(6))
    made = live.judge_live(store, settings, 1, checks=checks)
    file = tmp_path / "strict.yml"
    shipped = (ROOT / "rubrics" / "ci_check.yml").read_text()
    file.write_text(shipped.replace("id: ci_check", "id: strict").replace("passed: 1.0", "passed: 0.9"))
    command = ["evaluate", "--subject", "ci_check", "--rubric", str(file), "--json"]
    with WorkerProcess.on(redis_server.url, 1, ASSAY_TIER="heuristic") as worker:
        assert wait_until(lambda: EvaluateQueue.from_settings(settings).workers() == 1)
        assert main(command) == 0, worker.log
        assert '"verdict re-evaluated"' in worker.log
    summary = json.loads(capsys.readouterr().out)
    assert (summary["answered"], summary["left"], summary["mean_before"], summary["mean_now"]) == (6, 0, 1.0, 0.9)
    assert len(store.ledger.entries(live.order(made).pull)) == 1 + 2 * len(checks)


def test_canary_judges_after_a_live_judging_and_changes_no_check(
    store: Store, settings: Settings, redis_server: RedisServer, tmp_path: Path
) -> None:
    made = live.judge_live(store, settings, 1)
    world, pull, file = ScriptedGitHub(store), live.order(made).pull, live.rubric(tmp_path)
    with WorkerProcess.on(redis_server.url, 1, ASSAY_TIER="heuristic", ASSAY_CANARY_RUBRIC=str(file)) as worker:
        world.script(pull, "dropped")  # the job succeeds without a new verdict
        store.pulls.request_judging(judge_request(1))
        assert wait_until(lambda: len(store.ledger.entries(pull)) == 2), worker.log
        child = store.ledger.entries(pull)[1].verdict
        assert (child.rubric_id, child.signals["canary"], child.parent_eval_id) == ("candidate", True, made.eval_id)
        assert store.archive.find(child.eval_id) is None, "only the parent keeps a dossier"
        assert set(world.checks().values()) <= {"in_progress: Judging"}, "the canary publishes no check"
        file.unlink()
        world.script(pull, "dropped")
        store.pulls.request_judging(judge_request(1))
        assert wait_until(lambda: "rubric_invalid" in stream_text(store, made)), worker.log
        assert len(world.notes("began")) == 2
        assert "Traceback" not in worker.log


def stream_text(store: Store, made: LedgerEntry) -> str:
    return "".join(event.raw.decode() for event in store.events.read(made.verdict.subject.installation_id))


def test_interrupted_batch_keeps_answers_and_resumes(store: Store, settings: Settings, model: FakeAnthropic) -> None:
    made = [live.judge_live(store, settings, number, SUSPICIOUS) for number in (1, 2, 3)]
    variables = {
        **environ(),
        "ASSAY_TIER": "hybrid",
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": model.url,
        "ASSAY_MODEL_ATTEMPTS": "1",
    }
    model.reply_with(cannot_tell())
    pending_reply = model.hold_reply(cannot_tell())
    command = [str(ASSAY), "evaluate", "--jobs", "1", "--max-usd", "1"]
    running = subprocess.Popen(command, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pending_reply.wait_for_request()
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, "1 of 3 are judged; the same command goes on from there." in err) == (130, True)
    pending_reply.release()
    assert sorted(len(store.ledger.entries(live.order(entry).pull)) for entry in made) == [1, 1, 2]
    model.reply_by(lambda _: cannot_tell())
    done = subprocess.run([*command, "--json"], env=variables, text=True, capture_output=True, check=False)
    said_now = json.loads(done.stdout)
    assert (done.returncode, said_now["answered"], said_now["earlier"]) == (0, 3, 1)
    assert sorted(len(store.ledger.entries(live.order(entry).pull)) for entry in made) == [2, 2, 2]


def count_queued(store: Store) -> int:
    return whole(store.client.call("LLEN", f"rq:queue:{EVALUATE_QUEUE}"))


def test_run_ends_when_no_workers_remain(store: Store, settings: Settings) -> None:
    orders = [live.order(entry) for entry in judge_history(store, settings)]
    by = live.terms(settings)
    run = RejudgeRun(settings, store, by, orders)
    assert list(run.run_by_workers(live.read_survey(store, by.law))) == []
    assert count_queued(store) == 0
    assert len(live.read_survey(store, by.law).survey.unanswered_verdicts) == len(orders)


def test_interrupt_removes_orders_from_the_queue(store: Store, settings: Settings) -> None:
    orders = [live.order(entry) for entry in judge_history(store, settings)]
    by = live.terms(settings)

    class Interrupted(Surveyor):
        def read_new(self) -> Iterator[RecordedVerdict]:
            assert count_queued(store) == len(orders)
            raise KeyboardInterrupt

    interrupted = Interrupted(store, RejudgeSelection(SubjectKind.SUBMISSION, ALL_TIME, by.law))
    with pytest.raises(KeyboardInterrupt):
        list(RejudgeRun(settings, store, by, orders).run_by_workers(interrupted))
    assert count_queued(store) == 0
