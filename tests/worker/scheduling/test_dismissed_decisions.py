"""A decision that was taken back leaves what was judged of this very change, and of no other."""

from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.played import wish
from tests.worker.evaluation.bench.made import DONE, STUB
from tests.worker.evaluation.recorded import dossier
from tests.worker.publishing.texts.samples import abstained
from worker.clock import SystemClock
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.judging import JudgingCompleted
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason
from worker.judge.context import JudgeContext
from worker.judge.judge import fingerprint_of
from worker.judge.rubric import load_prompt, load_rubric
from worker.scheduling.pipeline import CiWaitPolicy, JudgingDependencies, NullStatusReporter, show_human_decision
from worker.wiring.cli import RecordedSource


@pytest.mark.parametrize("text", [DONE, STUB], ids=["as it was", "into another base"])
def test_the_verdict_on_record_comes_back_where_it_is_of_what_is_proposed(text: str) -> None:
    bench, proposed = JudgeContext(load_rubric(), load_prompt(), 0.0), dossier(1, text)
    judged = abstained(AbstainReason.NEEDS_HUMAN).model_copy(
        update={"fingerprint": fingerprint_of(dossier(1, DONE), bench)}
    )
    entry = LedgerEntry(
        eval_id=judged.eval_id,
        created_at=judged.created_at,
        round=1,
        fence=1,
        head_sha=proposed.pull_request.head_sha,
        fingerprint=judged.fingerprint,
        diff_summary="",
        verdict=judged,
    )
    proposed = proposed.model_copy(update={"ledger": (entry,)})
    source = RecordedSource(proposed)
    nobody: Any = None
    deps = JudgingDependencies(
        source=source,
        status=NullStatusReporter(source),
        ledger=nobody,
        recorder=nobody,
        context=bench,
        clock=SystemClock(),
        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), None),
    )
    found = show_human_decision(wish(trigger=Trigger.DISMISSED), proposed, deps)
    assert (found is None) == (text == STUB)
    assert found is None or (isinstance(found, JudgingCompleted) and found.verdict is judged)
