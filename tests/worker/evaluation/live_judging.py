"""Pull requests judged live: by a real judge, recorded in the ledger and published on the stream."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from pydantic import SecretStr

from app.cli.main import main
from tests.worker.adapters.redis.store_samples import judge_request, pull_ref
from tests.worker.evaluation.bench.samples import DONE, STUB, change_dossier
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from worker.adapters.redis.judging.pull_requests import DispatchLimits
from worker.adapters.redis.store import Store
from worker.domain.dossier import Ci, CiCheck, Dossier
from worker.domain.lifecycle.judging import Finish
from worker.domain.model import EvalId, InstallationId
from worker.domain.ports import Lease
from worker.domain.time_range import Window
from worker.domain.verdict.events import EvaluationStarted
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.dossier.assemble import complete_dossier
from worker.evaluation.recorded_verdicts import RejudgeSelection, Surveyor
from worker.evaluation.rejudge import OrderResult, RejudgeOrder, RejudgeTerms, complete_terms
from worker.judge.context import JudgeContext
from worker.judge.judge import create_header, judge_with_record
from worker.judge.rubric import load_prompt, load_rubric
from worker.process import SystemClock
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, NullStatusReporter
from worker.scheduling.record import VerdictRecorder, record
from worker.settings import ModelAccess, Settings
from worker.wiring.cli import RecordedSource
from worker.wiring.judge import open_judge_context
from worker.wiring.rejudge import open_terms, rejudger

ROOT: Final = Path(__file__).resolve().parent.parent.parent.parent
DEFAULT: Final = ROOT / "rubrics" / "default.yml"
INSTALLATION: Final = InstallationId(100)
ALL_TIME: Final = Window(0, 2**52)
SUSPICIOUS: Final = "def load(path, mode):\n    print(path)\n"
"""A change with suspicions and no fact, about which a model is asked."""


class AssayCommand(NamedTuple):
    """The command line in this process, on a store with live verdicts."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    store: Store
    settings: Settings

    def set_environment(self, **variables: str) -> None:
        for name, value in variables.items():
            self.monkeypatch.setenv(name, value)

    def use_model(self, model: FakeAnthropic) -> None:
        self.set_environment(ANTHROPIC_API_KEY="sk-ant-test", ANTHROPIC_BASE_URL=model.url, ASSAY_TIER="hybrid")

    def run(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        code = main([str(argument) for argument in arguments])
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    def judge_live(self, number: int, text: str = STUB, **more: Any) -> LedgerEntry:
        return judge_live(self.store, self.settings, number, text, **more)

    def children(self, parent: LedgerEntry) -> list[LedgerEntry]:
        return children(self.store, parent)

    def evaluate(self, *arguments: object) -> tuple[int, str, str]:
        return self.run("evaluate", "--jobs", "1", *arguments)

    def evaluate_json(self, *arguments: object) -> dict[str, Any]:
        """What `assay evaluate` prints as JSON, with its exit code."""
        code, out, err = self.evaluate("--json", *arguments)
        assert out, (code, err)
        return {"code": code, **json.loads(out)}


def settings_with_model(settings: Settings, model: FakeAnthropic) -> Settings:
    """Settings of the hybrid tier with this model."""
    return replace(settings, tier="hybrid", model=ModelAccess(SecretStr("k"), model.url, MODEL, 10, 1, 0, 8000))


def rejudge(settings: Settings, store: Store, by: RejudgeTerms, entry: LedgerEntry) -> OrderResult:
    return rejudger(settings, store, by).execute(order(entry))


def children(store: Store, parent: LedgerEntry) -> list[LedgerEntry]:
    """The re-evaluations of this verdict."""
    entries = store.ledger.entries(order(parent).pull)
    return [entry for entry in entries if entry.verdict.parent_eval_id == parent.eval_id]


def events(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """Kinds and bodies of the stream."""
    return [(entry.kind.decode(), json.loads(entry.raw)) for entry in store.events.read(INSTALLATION)]


def dossier(number: int, text: str = DONE, head: str = "b", checks: tuple[CiCheck, ...] = ()) -> Dossier:
    change = change_dossier(text)
    pull = change.pull_request.model_copy(update={"number": number, "head_sha": head * 40})
    ci = {"ci": Ci(checks=checks)} if checks else {}
    return complete_dossier(change.model_copy(update={"pull_request": pull, **ci}))


def local_dependencies(store: Store, lease: Lease, whole: Dossier, **changes: Any) -> JudgingDependencies:
    """Dependencies that judge this dossier by code alone and record the verdict."""
    source, context = RecordedSource(whole), JudgeContext(load_rubric(), load_prompt(), 0.0)
    return JudgingDependencies(
        source=source,
        status=NullStatusReporter(source),
        ledger=store.ledger,
        recorder=VerdictRecorder(store.ledger, store.archive, store.events, lease),
        context=context,
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
        **changes,
    )


def judge_live(store: Store, settings: Settings, number: int, text: str = STUB, **more: Any) -> LedgerEntry:
    """Judge this pull request live in the heuristic tier; with *checks* of CI its outcomes are recorded, too."""
    installation = more.pop("installation", 100)
    request, whole = judge_request(number, installation), dossier(number, text, **more)
    store.pulls.request_judging(request)
    job = store.pulls.next_due(request.delivery_id, DispatchLimits(1, 10))
    assert job is not None
    leased = store.pulls.take_lease(request.pull, job.fence)
    assert leased is not None
    with open_judge_context(settings, "heuristic") as context:
        header = create_header(request, whole, context, SystemClock())
        watch = store.outcomes if "checks" in more else None
        recorder = VerdictRecorder(store.ledger, store.archive, store.events, leased.lease, submissions=watch)
        rubric_id, version = context.rubric.id, context.rubric.version
        started = EvaluationStarted(header.eval_id, header.subject, rubric_id, version, context.planned_judge)
        recorder.begin(request.pull, started, whole)
        entry = record(request.pull, judge_with_record(whole, header, context), whole, recorder)
    store.pulls.finish(leased.lease, Finish.JUDGED)
    if to_open := store.pulls.next_to_open():  # else a running server would open it
        store.pulls.mark_opened(request.pull, to_open.head_sha, to_open.seq)
    return entry


def terms(settings: Settings, **changes: Any) -> RejudgeTerms:
    named = RejudgeTerms(law="", digest="", rubric_id="", rubric_version="", tier=settings.tier)
    return complete_terms(named.model_copy(update=changes), partial(open_terms, settings, None))


def order(entry: LedgerEntry) -> RejudgeOrder:
    subject = entry.verdict.subject
    subject_id = f"{subject.repository_id}/{subject.number}/{subject.head_sha}"
    pull = pull_ref(subject.number, subject.installation_id)
    return RejudgeOrder(pull=pull, eval_id=EvalId(entry.eval_id), subject_id=subject_id)


def read_survey(store: Store, judge_digest: str, **changes: Any) -> Surveyor:
    """A surveyor that has read all entries."""
    standard: dict[str, Any] = {"kind": SubjectKind.SUBMISSION, "window": ALL_TIME, "judge_digest": judge_digest}
    surveyor = Surveyor(store, RejudgeSelection(**{**standard, **changes}))
    list(surveyor.read_new())
    return surveyor


def is_answered(store: Store, by: RejudgeTerms) -> bool:
    """Whether each current verdict has a final answer by these terms."""
    return read_survey(store, by.law).survey.unanswered_verdicts == ()


def rubric(folder: Path, name: str = "candidate", version: str = "1", **replaced: str) -> Path:
    """The default rubric under another name, with the weights of *replaced* signals."""
    text = DEFAULT.read_text().replace("id: default", f"id: {name}", 1)
    text = re.sub(r'^version: "\d+"', f'version: "{version}"', text, count=1, flags=re.MULTILINE)
    for signal, weight in replaced.items():
        text += f"# {signal}\n" if f"  {signal}: " not in text else ""
        text = re.sub(rf"^  {signal}: .*$", f"  {signal}: {weight}", text, flags=re.MULTILINE)
    path = folder / f"{name}-{version}.yml"
    path.write_text(text)
    return path
