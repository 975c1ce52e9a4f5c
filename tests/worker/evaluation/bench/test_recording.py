"""A finished run on the stream: counted apart, and once."""

from typing import Any

from tests.worker.evaluation.bench.made import GOOD, judged
from tests.worker.evaluation.stats.told import NOON, at, folded, started
from tests.worker.judge.verdicts import accepted
from worker.domain.ids import InstallationId
from worker.domain.verdict.events import Event
from worker.domain.verdict.verdict import SubjectKind
from worker.evaluation.bench.expectations import RowOutcome
from worker.evaluation.bench.recording import record_run
from worker.evaluation.stats import tables
from worker.evaluation.stats.queries import CountedTables as Counted
from worker.evaluation.stats.queries import answer_query
from worker.evaluation.stats.stats_query import StatsTopic, parse_query


class Stream:
    """Tells once under a name."""

    def __init__(self) -> None:
        self.told: dict[str, tuple[Event, ...]] = {}

    def publish(self, installation: InstallationId, name: str, *events: Event) -> bool:
        assert installation == 0
        return self.told.setdefault(name, events) is events

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [dict(event.body) for events in self.told.values() for event in events]


def benchmarked(outcome: RowOutcome, eval_id: str) -> RowOutcome:
    """As a bench leaves it."""
    subject = outcome.verdict.subject.model_copy(update={"kind": SubjectKind.BENCHMARK})
    return outcome._replace(verdict=outcome.verdict.model_copy(update={"eval_id": eval_id, "subject": subject}))


ROWS = (
    benchmarked(judged(accepted(score=0.7), GOOD, "a"), "e1"),
    benchmarked(judged(accepted(score=0.9), GOOD, "b"), "e2"),
)


def test_each_verdict_is_told_once_from_its_beginning_to_its_end() -> None:
    stream = Stream()
    assert (record_run(ROWS, stream), record_run(ROWS, stream)) == (2, 0)
    kinds = [event.kind for events in stream.told.values() for event in events]
    assert kinds == ["eval.started", "eval.completed"] * 2
    assert {(one["trigger"], one["subject_kind"]) for one in stream.bodies} == {("benchmark", "benchmark")}


def test_a_row_is_one_subject_in_every_run_and_no_other_rows() -> None:
    stream, again = Stream(), benchmarked(judged(accepted(), GOOD, "a"), "e3")
    record_run((*ROWS, again), stream)
    first, _, other, _, same, _ = (one["subject_id"] for one in stream.bodies)
    assert first == same != other
    assert '"a"' not in str(stream.bodies)
    elsewhere = benchmarked(judged(accepted(), GOOD, "a", file="other.jsonl"), "e4")
    record_run([elsewhere], stream)
    assert stream.bodies[-1]["subject_id"] not in {first, other}


def test_they_answer_for_themselves_and_average_into_nothing_else() -> None:
    stream = Stream()
    record_run((*ROWS, benchmarked(judged(accepted(score=0.6), GOOD, "a"), "e3")), stream)
    told = [(at(), event.kind.value.encode(), event.dump()) for events in stream.told.values() for event in events]
    cells = folded(*told, started("live")).cells
    found = Counted({name: cells.get((name, hour), {}) for name, hour in cells}, (), NOON, is_behind=False)

    def said(topic: StatsTopic, **given: str) -> dict[str, Any]:
        return answer_query(topic, parse_query({"group_by": "none", **given}, topic, NOON), found)

    [row] = said(StatsTopic.QUALITY, subject="benchmark")["data"]
    assert (row["verdict_count"], row["live"]["verdict_count"]) == (3, 0)
    assert [one["verdict_count"] for one in said(StatsTopic.QUALITY, subject="all")["data"]] == [0]
    assert [one["verdict_count"] for one in said(StatsTopic.COST)["data"]] == [0]
    assert [one["verdict_count"] for one in said(StatsTopic.COST, subject="benchmark")["data"]] == [3]
    assert not set(found.tables) & {*tables.AGREEMENTS, tables.AGENTS, tables.OVER_SIGNAL}
