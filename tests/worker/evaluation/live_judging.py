"""Pull requests that were judged live: judged by a real judge, on record, and told on the stream.

Does not publish. Invariant: what stands in the ledger came out of a judging.
"""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from pydantic import SecretStr

from app.cli.main import main
from tests.worker.adapters.redis.store_samples import judge_request
from tests.worker.evaluation.bench.samples import DONE, STUB, change_dossier
from tests.world.fake_anthropic import MODEL, FakeAnthropic
from worker.adapters.redis.judging.pull_requests import DispatchLimits
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.dossier import Ci, CiCheck, Dossier
from worker.domain.ids import EvalId, InstallationId
from worker.domain.lifecycle.judging import Finish
from worker.domain.time_range import Window
from worker.domain.verdict.events import EvaluationStarted
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.dossier.assemble import complete_dossier
from worker.evaluation.recorded_verdicts import RejudgeSelection, Surveyor
from worker.evaluation.rejudge import OrderResult, RejudgeOrder, RejudgeTerms, complete_terms
from worker.judge.judge import create_header, judge_with_record
from worker.scheduling.record import VerdictRecorder, record
from worker.settings import ModelAccess, Settings
from worker.wiring.judge import open_judge_context
from worker.wiring.rejudge import open_terms, rejudger

ROOT: Final = Path(__file__).resolve().parent.parent.parent.parent
DEFAULT: Final = ROOT / "rubrics" / "default.yml"
INSTALLATION: Final = InstallationId(100)
ALL_TIME: Final = Window(0, 2**52)
SUSPICIOUS: Final = "def load(path, mode):\n    print(path)\n"
"""A change with suspicions and no fact: a model is asked."""


class AssayCommand(NamedTuple):
    """The command line, in this process."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def set_environment(self, **variables: str) -> None:
        for name, value in variables.items():
            self.monkeypatch.setenv(name, value)

    def use_model(self, model: FakeAnthropic) -> None:
        """From here on it may ask this model."""
        self.set_environment(ANTHROPIC_API_KEY="sk-ant-test", ANTHROPIC_BASE_URL=model.url, ASSAY_TIER="hybrid")

    def run(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        code = main([str(argument) for argument in arguments])
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    def evaluate(self, *arguments: object) -> tuple[int, str, str]:
        return self.run("evaluate", "--jobs", "1", *arguments)

    def evaluate_json(self, *arguments: object) -> dict[str, Any]:
        """What `assay evaluate` prints as JSON, with its exit code."""
        code, out, err = self.evaluate("--json", *arguments)
        assert out, (code, err)
        return {"code": code, **json.loads(out)}


def settings_with_model(here: Settings, model: FakeAnthropic) -> Settings:
    """Settings by which this model is asked."""
    return replace(here, tier="hybrid", model=ModelAccess(SecretStr("k"), model.url, MODEL, 10, 1, 0, 8000))


def rejudge(here: Settings, store: Store, by: RejudgeTerms, made: LedgerEntry) -> OrderResult:
    return rejudger(here, store, by).execute(order(made))


def children(store: Store, made: LedgerEntry) -> list[LedgerEntry]:
    """The answers to this verdict."""
    entries = store.ledger.entries(order(made).pull)
    return [entry for entry in entries if entry.verdict.parent_eval_id == made.eval_id]


def events(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """Kinds and bodies on the stream."""
    return [(entry.kind.decode(), json.loads(entry.raw)) for entry in store.events.read(INSTALLATION)]


def dossier(number: int, text: str = DONE, head: str = "b", checks: tuple[CiCheck, ...] = ()) -> Dossier:
    made = change_dossier(text)
    pull = made.pull_request.model_copy(update={"number": number, "head_sha": head * 40})
    ci = {"ci": Ci(checks=checks)} if checks else {}
    return complete_dossier(made.model_copy(update={"pull_request": pull, **ci}))


def judge_live(store: Store, here: Settings, number: int, text: str = STUB, **more: Any) -> LedgerEntry:
    """This pull request, judged live by code alone; with *checks* of CI it is followed, too."""
    installation = more.pop("installation", 100)
    request, whole = judge_request(number, installation), dossier(number, text, **more)
    store.pulls.request_judging(request)
    job = store.pulls.next_due(request.delivery_id, DispatchLimits(1, 10))
    assert job is not None
    taken = store.pulls.take_lease(request.pull, job.fence)
    assert taken is not None
    with open_judge_context(here, "heuristic") as bench:
        opened = create_header(request, whole, bench, SystemClock())
        watch = store.outcomes if "checks" in more else None
        keepers = VerdictRecorder(store.ledger, store.archive, store.events, taken.lease, submissions=watch)
        begun = EvaluationStarted(
            opened.eval_id, opened.subject, bench.rubric.id, bench.rubric.version, bench.planned_judge
        )
        keepers.begin(request.pull, begun, whole)
        made = record(request.pull, judge_with_record(whole, opened, bench), whole, keepers)
    store.pulls.finish(taken.lease, Finish.JUDGED)
    if to_open := store.pulls.next_to_open():  # or a server opens it, has nobody judge it, and looks again
        store.pulls.mark_opened(request.pull, to_open.head_sha, to_open.seq)
    return made


def terms(here: Settings, **changes: Any) -> RejudgeTerms:
    named = RejudgeTerms(law="", digest="", rubric_id="", rubric_version="", tier=here.tier)
    return complete_terms(named.model_copy(update=changes), partial(open_terms, here, None))


def order(made: LedgerEntry) -> RejudgeOrder:
    subject = made.verdict.subject
    return RejudgeOrder(
        pull=judge_request(subject.number, subject.installation_id).pull,
        eval_id=EvalId(made.eval_id),
        subject_id=f"{subject.repository_id}/{subject.number}/{subject.head_sha}",
    )


def read_survey(store: Store, law: str, **changes: Any) -> Surveyor:
    """One that has read all there is."""
    wanted: dict[str, Any] = {"kind": SubjectKind.SUBMISSION, "window": ALL_TIME, "judge_digest": law, **changes}
    made = Surveyor(store, RejudgeSelection(**wanted))
    list(made.read_new())
    return made


def rubric(folder: Path, name: str = "candidate", version: str = "1", **replaced: str) -> Path:
    """Ours under another name; *replaced*: the weights of signals."""
    text = DEFAULT.read_text().replace("id: default", f"id: {name}", 1)
    text = re.sub(r'^version: "\d+"', f'version: "{version}"', text, count=1, flags=re.MULTILINE)
    for signal, weight in replaced.items():
        text += f"# {signal}\n" if f"  {signal}: " not in text else ""
        text = "\n".join(
            f"  {signal}: {weight}" if line.startswith(f"  {signal}: ") else line for line in text.split("\n")
        )
    path = folder / f"{name}-{version}.yml"
    path.write_text(text)
    return path
