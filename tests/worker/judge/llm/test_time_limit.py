"""All questions of one judging together take no longer than they may."""

import pytest

from tests.worker.judge.courtroom import bench
from tests.worker.judge.making import accept, model_of
from worker.domain.ports import Prompt
from worker.domain.value import replace
from worker.errors import Unavailable
from worker.judge.llm.time_limit import with_time_limit

PROMPT = Prompt("system", ("turn",), {}, "v")


def test_a_question_that_comes_in_time_is_asked() -> None:
    model = model_of(accept())
    timed = with_time_limit(bench(model), lambda: 0).model
    assert timed is not None
    assert (timed.name, timed.pricing_version) == (model.name, model.pricing_version)
    assert timed.ask(PROMPT).text
    assert model.asked == [PROMPT]


def test_no_question_begins_after_the_end_whoever_is_asked_it() -> None:
    now = [1_000]
    first, second = model_of(accept()), model_of(accept())
    timed = with_time_limit(replace(bench(first), second_model=second, asking_ms=500), lambda: now[0])
    now[0] += 500
    for model in (timed.model, timed.second_model):
        assert model is not None
        with pytest.raises(Unavailable, match="took so long"):
            model.ask(PROMPT)
    assert (first.asked, second.asked) == ([], [])


def test_where_nobody_is_asked_nobody_is_timed() -> None:
    timed = with_time_limit(bench(), lambda: 0)
    assert (timed.model, timed.second_model) == (None, None)
